//! Dense products whose results lie in memory that is used again, with a bias and ReLU while a panel is in the cache.
//!
//! Burn's own product calls `gemm` too. But its result is new memory, and the page faults of a large one take about as
//! long as a third of the product. The call is here and not in `sparse-core` because it needs `unsafe` code.

use crate::host_tensor::{Given, HostTensor};
use crate::kernel::{Matmul, SpmmMatmul};
use burn::tensor::TensorData;
use gemm::Parallelism;
use sparse_core::dynamic::{self, ElementVec, Elements};
use sparse_core::{Epilogue, Float, bias_relu, for_chunks, recycle, threads, unwritten};
use std::ops::Range;

/// Products of fewer multiplications than this run on one thread, as in Burn.
const SHARED: usize = 192 * 192 * 192;

/// Rows of a panel of the result. It stays in the second-level cache, if it is not wide, until its epilogue is done.
const PANEL: usize = 1 << 10;

/// Numbers to which rows are added at once, in the first-level cache.
const BLOCK: usize = 1 << 12;

/// Terms of a part of a long sum. `gemm` shares rows and columns among threads, which wait for each other at every
/// block of terms.
const PART: usize = 1 << 12;

/// Most elements of such a result.
const SMALL: usize = 1 << 16;

impl Matmul<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { x, y, transposed, rows: onto, epilogue } = self;
        let size = |tensor: &HostTensor, transposed: bool| {
            let dims = tensor.dims();
            if transposed { [dims[1], dims[0]] } else { [dims[0], dims[1]] }
        };
        let ([m, k], [rows, n]) = (size(&x, transposed[0]), size(&y, transposed[1]));
        assert_eq!(k, rows, "matmul: the first factor must have as many columns as the second one has rows");
        assert!(
            onto.as_ref().is_none_or(|rows| rows.dims() == [m, n]),
            "matmul: rows must have the shape of the product"
        );
        let sizes = Sizes { m, k, n, transposed };
        let [bias, onto] = [epilogue.bias.as_ref(), onto.as_ref()].map(|list| list.map(HostTensor::elements));
        macro_rules! of {
            ($Of:ident, $x:ident) => {{
                let [y, bias, rows] = [Some(y.elements()), bias, onto].map(|list| match list {
                    Some(Elements::$Of(list)) => Some(list),
                    None => None,
                    _ => panic!("{MIXED}"),
                });
                let then = After { rows, then: Epilogue { bias, relu: epilogue.relu } };
                product($x, y.expect("it is given"), sizes, then).into()
            }};
        }
        let out: ElementVec = match x.elements() {
            Elements::F32(x) => of!(F32, x),
            Elements::F64(x) => of!(F64, x),
            _ => panic!("{MIXED}"),
        };
        out.data([m, n], x.dtype())
    }
}

impl SpmmMatmul<HostTensor> {
    pub(crate) fn host(self) -> (TensorData, Option<TensorData>) {
        let Self { view, values, dense, weight, epilogue, keep } = self;
        let sizes = [view.ptr.dims()[0] - 1, dense.dims()[1], weight.dims()[1]];
        assert_eq!(weight.dims()[0], sizes[1], "spmm_matmul: the weight must have a row for each column before it");
        let (a, dtype, relu) = (view.slices(), dense.dtype(), epilogue.relu);
        let bias = epilogue.bias.as_ref().map(HostTensor::elements);
        let (values, dense) = (values.elements(), dense.elements());
        let gather = |rows| dynamic::spmm(a.part(rows), None, values, dense, [1, 1, sizes[1]], None, false);
        let panels = panels(sizes, &|row| a.ptr.at(row));
        macro_rules! of {
            ($Of:ident, $weight:ident) => {{
                let gather = |rows| if let ElementVec::$Of(list) = gather(rows) { list } else { panic!("{MIXED}") };
                let bias = bias.map(|bias| if let Elements::$Of(bias) = bias { bias } else { panic!("{MIXED}") });
                let (out, kept) = by_panel(sizes, &panels, &gather, $weight, Epilogue { bias, relu }, keep);
                (out.into(), kept.map(Into::into))
            }};
        }
        let (out, kept): (ElementVec, Option<ElementVec>) = match weight.elements() {
            Elements::F32(weight) => of!(F32, weight),
            Elements::F64(weight) => of!(F64, weight),
            _ => panic!("{MIXED}"),
        };
        let [rows, terms, columns] = sizes;
        (out.data([rows, columns], dtype), kept.map(|kept| kept.data([rows, terms], dtype)))
    }
}

const MIXED: &str = "matmul: the factors and what is added must be f32, or f64";

/// Numbers of a panel and of its result: half a second-level cache of f32.
const CACHED: usize = 1 << 17;

/// Panels of rows of nearly the same length, or none where threads could not share them evenly. `at` is where the
/// elements of a row begin.
fn panels([m, k, n]: [usize; 3], at: &dyn Fn(usize) -> usize) -> Vec<Range<usize>> {
    let count = m / (CACHED / (k + n).max(1)).clamp(64, PANEL);
    let panels: Vec<_> = (0..count).map(|panel| panel * m / count..(panel + 1) * m / count).collect();
    let most = panels.iter().map(|rows| at(rows.end) - at(rows.start)).max().unwrap_or(0);
    let even = count >= 4 * threads() && most.saturating_mul(2 * threads()) <= at(m) - at(0);
    if even { panels } else { vec![] }
}

/// `gather(rows) y` and what follows it, panel by panel. Gives the rows of `gather` too, to `keep` them. Without panels
/// one product follows the other.
fn by_panel<T: Float>(
    [m, k, n]: [usize; 3],
    panels: &[Range<usize>],
    gather: &(dyn Fn(Range<usize>) -> Vec<T> + Sync),
    y: &[T],
    then: Epilogue<'_, T>,
    keep: bool,
) -> (Vec<T>, Option<Vec<T>>) {
    if panels.is_empty() {
        let between = gather(0..m);
        let out = product(&between, y, Sizes { m, k, n, transposed: [false; 2] }, After { rows: None, then });
        return (out, keep.then_some(between));
    }
    let (y, mut out) = (Factor::new(y, [k, n], false), unwritten::<T>(m * n));
    let mut kept = keep.then(|| unwritten::<T>(m * k));
    let (mut outs, mut keeps) = (&mut out[..], kept.as_deref_mut());
    let mut jobs = Vec::with_capacity(panels.len());
    for rows in panels {
        let out = outs.split_off_mut(..rows.len() * n).expect("a panel is within the result");
        let kept = keeps.as_mut().map(|all| all.split_off_mut(..rows.len() * k).expect("as many rows"));
        jobs.push((rows.clone(), out, kept));
    }
    for_chunks(&mut jobs, 1, &|_, job| {
        let (rows, out, kept) = &mut job[0];
        let between = gather(rows.clone());
        let x = Factor::new(&between, [rows.len(), k], false);
        multiply([rows.len(), k, n], x, y, out, [n, 1], Parallelism::None);
        bias_relu(None, out, n, then);
        if let Some(kept) = kept {
            kept.copy_from_slice(&between);
        }
        recycle(between);
    });
    (out, kept)
}

#[derive(Clone, Copy)]
struct Sizes {
    m: usize,
    k: usize,
    n: usize,
    /// Which factors are stored transposed.
    transposed: [bool; 2],
}

/// What follows a product.
#[derive(Clone, Copy, Default)]
struct After<'a, T> {
    /// Added to the product, and as large.
    rows: Option<&'a [T]>,
    then: Epilogue<'a, T>,
}

impl<T: Float> After<'_, T> {
    /// Of some rows of the product, of `n` columns; the first one is `first`.
    fn apply(&self, first: usize, out: &mut [T], n: usize) {
        let Some(rows) = self.rows else { return bias_relu(None, out, n, self.then) };
        let height = (BLOCK / n).max(1);
        for_chunks(out, height * n, &|block, out| {
            let own = &rows[(first + block * height) * n..][..out.len()];
            out.iter_mut().zip(own).for_each(|(sum, term)| *sum = T::narrow(T::add(sum.widen(), term.widen())));
            bias_relu(None, out, n, self.then);
        });
    }
}

/// The product of `x [m, k]` and `y [k, n]`, row-major, and what follows it.
///
/// Panels of rows are shared among threads; where these are few, parts of the sums are, and are added in their order.
/// So the bits do not depend on the number of threads.
fn product<T: Float>(x: &[T], y: &[T], Sizes { m, k, n, transposed }: Sizes, after: After<'_, T>) -> Vec<T> {
    let count = |rows: usize, cols: usize| rows.checked_mul(cols).expect("a matrix must fit the address space");
    assert_eq!((x.len(), y.len()), (count(m, k), count(k, n)), "matmul: a factor must have all of its elements");
    let (x, y) = (Factor::new(x, [m, k], transposed[0]), Factor::new(y, [k, n], transposed[1]));
    let shared = m.saturating_mul(k).saturating_mul(n) >= SHARED;
    let mut out = unwritten::<T>(count(m, n));
    if out.is_empty() {
        return out;
    }
    if k == 0 {
        out.fill(T::ZERO);
    } else if shared && m >= 2 * PANEL {
        each_chunk(&mut out, PANEL * n, &|panel, own, threads| {
            let rows = own.len() / n;
            multiply([rows, k, n], x.part([panel * PANEL, 0]), y, own, [n, 1], threads);
            after.apply(panel * PANEL, own, n);
        });
        return out;
    } else if shared && k >= 2 * PART && m * n <= SMALL {
        // `gemm` is faster with the longer side of a result first.
        let strides = if m > n { [1, m] } else { [n, 1] };
        let mut parts = unwritten::<T>(k.div_ceil(PART) * m * n);
        each_chunk(&mut parts, m * n, &|part, own, threads| {
            let first = part * PART;
            let sizes = [m, PART.min(k - first), n];
            multiply(sizes, x.part([0, first]), y.part([first, 0]), own, strides, threads);
        });
        let (sum, rest) = parts.split_at_mut(m * n);
        for part in rest.chunks_exact(m * n) {
            sum.iter_mut().zip(part).for_each(|(sum, term)| *sum = T::narrow(T::add(sum.widen(), term.widen())));
        }
        for (at, out) in out.iter_mut().enumerate() {
            *out = sum[at / n * strides[0] + at % n * strides[1]];
        }
        recycle(parts);
    } else {
        let threads = if shared { Parallelism::Rayon(0) } else { Parallelism::None };
        multiply([m, k, n], x, y, &mut out, [n, 1], threads);
    }
    after.apply(0, &mut out, n);
    out
}

/// Shares chunks among threads, or each chunk where they are too few for even shares. The bits are the same: threads
/// share what is written, not the sums.
fn each_chunk<T: Float>(list: &mut [T], len: usize, body: &(dyn Fn(usize, &mut [T], Parallelism) + Sync)) {
    if list.len().div_ceil(len) < 4 * threads() {
        list.chunks_mut(len).enumerate().for_each(|(at, chunk)| body(at, chunk, Parallelism::Rayon(0)));
    } else {
        for_chunks(list, len, &|at, chunk| body(at, chunk, Parallelism::None));
    }
}

/// A matrix, from one of its elements on.
#[derive(Clone, Copy)]
struct Factor<'a, T> {
    elements: &'a [T],
    /// From one row to the next, and from one column to the next.
    strides: [usize; 2],
}

impl<'a, T> Factor<'a, T> {
    fn new(elements: &'a [T], [rows, cols]: [usize; 2], transposed: bool) -> Self {
        Self { elements, strides: if transposed { [1, rows] } else { [cols, 1] } }
    }

    fn part(self, [row, col]: [usize; 2]) -> Self {
        Self { elements: &self.elements[row * self.strides[0] + col * self.strides[1]..], ..self }
    }
}

/// Where the last element of a matrix of this size is.
fn last(strides: [usize; 2], [rows, cols]: [usize; 2]) -> usize {
    (rows - 1) * strides[0] + (cols - 1) * strides[1]
}

/// `out = x y`, of at least one element and one term.
fn multiply<T: Float>(
    [m, k, n]: [usize; 3],
    x: Factor<'_, T>,
    y: Factor<'_, T>,
    out: &mut [T],
    strides: [usize; 2],
    threads: Parallelism,
) {
    assert!(last(x.strides, [m, k]) < x.elements.len(), "matmul: the first factor must have all of its elements");
    assert!(last(y.strides, [k, n]) < y.elements.len(), "matmul: the second factor must have all of its elements");
    assert!(last(strides, [m, n]) < out.len(), "matmul: the result must have room for all elements");
    let (to, [x_row, x_col], [y_row, y_col]) = (out.as_mut_ptr(), x.strides, y.strides);
    let (x, y, [row, col]) = (x.elements.as_ptr(), y.elements.as_ptr(), strides);
    let signed = |stride: usize| stride as isize;
    // SAFETY: the sizes and strides reach no element behind the last ones, which were checked. The result overlaps
    // neither factor. It is written and not read.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            to,
            signed(col),
            signed(row),
            false,
            x,
            signed(x_col),
            signed(x_row),
            y,
            signed(y_col),
            signed(y_row),
            T::ZERO,
            T::ONE,
            false,
            false,
            false,
            threads,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Panels of any number of rows, with the bits of the whole product.
    #[test]
    fn panels_are_the_whole_product() {
        let [m, k, n] = [3000, 130, 40];
        let between: Vec<f32> = (0..m * k).map(|at| (at as f32 * 0.37).sin()).collect();
        let y: Vec<f32> = (0..k * n).map(|at| (at as f32 * 0.73).cos()).collect();
        let gather = |rows: Range<usize>| between[rows.start * k..rows.end * k].to_vec();
        let then = Epilogue { bias: Some(&y[..n]), relu: true };
        let (want, kept) = by_panel([m, k, n], &[], &gather, &y, then, true);
        assert!(kept.as_deref() == Some(&between[..]));
        for cuts in
            [vec![0, 64, 1000, 3000], (0..=10).map(|at| at * 300).collect(), (0..=30).map(|at| at * 100).collect()]
        {
            let panels: Vec<_> = cuts.windows(2).map(|ends| ends[0]..ends[1]).collect();
            let (out, kept) = by_panel([m, k, n], &panels, &gather, &y, then, true);
            assert!(out == want && kept.as_deref() == Some(&between[..]), "{panels:?}");
            assert!(by_panel([m, k, n], &panels, &gather, &y, then, false).0 == want, "{panels:?}");
        }
    }

    /// They cover all rows, and there are none where one thread would have most of the elements.
    #[test]
    fn panels_are_even() {
        let rows = 300 * 4 * threads();
        let found = panels([rows, 256, 256], &|row| 5 * row);
        assert!(found.len() >= 4 * threads() && found.iter().all(|own| own.len() >= 64));
        assert_eq!((found[0].start, found[found.len() - 1].end), (0, rows));
        assert!(found.windows(2).all(|pair| pair[0].end == pair[1].start));
        let hub = |row: usize| if row > 100 { 5 * row + 100 * rows } else { 5 * row };
        assert!(panels([rows, 256, 256], &hub).is_empty());
        assert!(panels([300, 256, 256], &|row| row).is_empty());
    }

    /// Sizes of one block, of several panels, of sums in parts, of several threads, and without elements.
    #[test]
    fn is_the_plain_product_of_each_form() {
        let (panels, parts) = (2 * PANEL + 5, 2 * PART + 3);
        let sizes = [[1, 1, 1], [3, 5, 2], [4, 0, 3], [0, 3, 2], [2, 3, 0], [70, 33, 65], [200, 190, 210]];
        for [m, k, n] in sizes.into_iter().chain([[panels, 70, 60], [30, parts, 40], [40, parts, 30]]) {
            let x: Vec<f64> = (0..m * k).map(|at| (at as f64 * 0.37).sin()).collect();
            let y: Vec<f64> = (0..k * n).map(|at| (at as f64 * 0.73).cos()).collect();
            let bias: Vec<f64> = (0..n).map(|at| at as f64 - 0.5 * n as f64).collect();
            let transpose = |list: &[f64], rows: usize, cols: usize| -> Vec<f64> {
                (0..rows * cols).map(|at| list[at % rows * cols + at / rows]).collect()
            };
            let sum = |at: usize| (0..k).map(|j| x[at / n * k + j] * y[j * n + at % n]).sum::<f64>();
            let want: Vec<f64> = (0..m * n).map(|at| (sum(at) + bias[at % n]).max(0.0)).collect();
            for transposed in [[false, false], [true, false], [false, true], [true, true]] {
                let x = if transposed[0] { transpose(&x, m, k) } else { x.clone() };
                let y = if transposed[1] { transpose(&y, k, n) } else { y.clone() };
                let then = Epilogue { bias: Some(&bias), relu: true };
                let out = product(&x, &y, Sizes { m, k, n, transposed }, After { rows: None, then });
                assert_eq!(out.len(), m * n);
                for (out, want) in out.iter().zip(&want) {
                    assert!((out - want).abs() < 1e-9, "{m} x {k} x {n}, {transposed:?}: {out} and {want}");
                }
                let plain = product(&x, &y, Sizes { m, k, n, transposed }, After::default());
                let rows: Vec<f64> = (0..m * n).map(|at| (at as f64 * 0.11).sin()).collect();
                let onto = product(&x, &y, Sizes { m, k, n, transposed }, After { rows: Some(&rows), then });
                let want = (0..m * n).map(|at| (plain[at] + rows[at] + bias[at % n]).max(0.0));
                assert!(onto.into_iter().eq(want), "{m} x {k} x {n}, {transposed:?}, with rows");
            }
        }
    }
}
