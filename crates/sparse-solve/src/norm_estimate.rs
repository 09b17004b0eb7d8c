//! Estimates of norms by products.

use crate::operator::LinearOperator;
use burn::tensor::{Tensor, TensorCreationOptions, TensorData};
use sparse_macros::or_panic;
use sparse_ops::Result;
use sparse_ops::extend::read_data;

/// About the 1-norm of a matrix, its largest sum of sizes in a column, from below: by products with it and with its
/// transpose, of which there are at most 5 each, with two vectors. In most cases it is exact, and seldom less than a
/// third. (Higham and Tisseur 2000; `scipy.sparse.linalg.onenormest`, with fixed starts.)
///
/// `options` are the device and the dtype of the vectors, as those of the operator. Cost: at most 9 products and as
/// many reads of the device. No gradient.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::solve::{Boundary, laplacian, onenormest};
///
/// let a = laplacian(&[30], Boundary::Dirichlet, &Device::flex()).unwrap();
/// assert_eq!(onenormest(&a, &Device::flex()), 4.0);
/// ```
///
/// # Errors
///
/// Those of the products; `invalid` if the operator has no transposed product.
#[or_panic]
pub fn try_onenormest(a: &dyn LinearOperator, options: impl Into<TensorCreationOptions>) -> Result<f64> {
    let (a, options) = (a.without_tape(), options.into());
    let transposed = a.try_transposed()?;
    let [rows, cols] = a.dims();
    let apply = |own: &dyn LinearOperator, list: Vec<f64>, shape: [usize; 2]| {
        let x = Tensor::<2>::from_data(TensorData::new(list, shape), options.clone());
        Ok(read_data(own.try_apply(x)?.inner()).iter::<f64>().collect())
    };
    estimate([rows, cols], &mut |list, width| apply(&a, list, [cols, width]), &mut |list, width| {
        apply(&transposed, list, [rows, width])
    })
}

/// Products with columns, row by row `[n, width]`.
pub(crate) type Apply<'a> = &'a mut dyn FnMut(Vec<f64>, usize) -> Result<Vec<f64>>;

/// Vectors in each product.
const WIDTH: usize = 2;

/// The 1-norm of a matrix of these dims by its products.
pub(crate) fn estimate([rows, cols]: [usize; 2], apply: Apply<'_>, transposed: Apply<'_>) -> Result<f64> {
    if rows * cols == 0 {
        return Ok(0.0);
    }
    if cols <= 2 * WIDTH {
        let eye = (0..cols * cols).map(|cell| f64::from(u8::from(cell % (cols + 1) == 0))).collect();
        return Ok(sums(&apply(eye, cols)?, cols).into_iter().fold(0.0, larger));
    }
    let mut random = Signs(1);
    let share = 1.0 / cols as f64;
    // The first column has one sign.
    let start = (0..cols * WIDTH).map(|cell| if cell % WIDTH == 0 { share } else { share * random.next() }).collect();
    let (mut x, mut tried, mut best): (Vec<f64>, Vec<usize>, Option<usize>) = (start, vec![], None);
    let (mut most, mut signs): (f64, Vec<f64>) = (0.0, vec![]);
    let mut own: Vec<usize> = vec![];
    for step in 0..5 {
        let y = apply(x, WIDTH)?;
        let lengths = sums(&y, WIDTH);
        let at = (0..WIDTH).fold(0, |best, at| if lengths[at] > lengths[best] { at } else { best });
        if !lengths[at].is_finite() {
            return Ok(lengths[at]);
        }
        if step > 0 && lengths[at] <= most {
            break;
        }
        most = lengths[at];
        best = own.get(at).copied().or(best);
        let mut next: Vec<f64> = y.iter().map(|y| if *y < 0.0 { -1.0 } else { 1.0 }).collect();
        if step > 0 && (0..WIDTH).all(|at| is_parallel(&next, at, &signs, WIDTH)) {
            break;
        }
        for at in 0..WIDTH {
            // At most so many tries.
            for _ in 0..4 {
                if !(is_parallel(&next, at, &next, at) || is_parallel(&next, at, &signs, WIDTH)) {
                    break;
                }
                (0..rows).for_each(|row| next[row * WIDTH + at] = random.next());
            }
        }
        if step == 4 {
            break;
        }
        signs = next.clone();
        let z = transposed(next, WIDTH)?;
        let sizes: Vec<f64> = z.chunks(WIDTH).map(|row| row.iter().map(|z| z.abs()).fold(0.0, larger)).collect();
        let largest = sizes.iter().copied().fold(0.0, larger);
        if step > 0 && best.is_some_and(|best| sizes[best] == largest) {
            break;
        }
        let mut order: Vec<usize> = (0..cols).collect();
        order.sort_by(|&one, &two| sizes[two].total_cmp(&sizes[one]));
        if order[..WIDTH].iter().all(|at| tried.contains(at)) {
            break;
        }
        own = order.into_iter().filter(|at| !tried.contains(at)).take(WIDTH).collect();
        tried.extend(&own);
        x = vec![0.0; cols * WIDTH];
        own.iter().enumerate().for_each(|(at, &row)| x[row * WIDTH + at] = 1.0);
    }
    Ok(most)
}

fn larger(one: f64, two: f64) -> f64 {
    if two > one || two.is_nan() { two } else { one }
}

/// The sums of sizes of columns.
fn sums(list: &[f64], width: usize) -> Vec<f64> {
    let mut out = vec![0.0; width];
    list.chunks(width).for_each(|row| out.iter_mut().zip(row).for_each(|(sum, own)| *sum += own.abs()));
    out
}

/// Whether column `at` of signs is one of the first `others` columns of `signs`, but for its sign.
fn is_parallel(own: &[f64], at: usize, signs: &[f64], others: usize) -> bool {
    let rows = own.len() / WIDTH;
    !signs.is_empty()
        && (0..others).any(|other| {
            let sum: f64 = (0..rows).map(|row| own[row * WIDTH + at] * signs[row * WIDTH + other]).sum();
            sum.abs() == rows as f64
        })
}

/// Signs without a pattern (Marsaglia 2003), the same each time.
struct Signs(u64);

impl Signs {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        if self.0 & (1 << 40) == 0 { 1.0 } else { -1.0 }
    }
}
