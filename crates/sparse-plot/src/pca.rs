//! Principal components.

use burn::tensor::{DType, Tensor, TensorData};
use sparse_macros::or_panic;
use sparse_ops::extend::read_data;
use sparse_ops::{Result, SparseError};

/// Steps of the iteration, and the change at which it ends before.
const STEPS: usize = 200;
const SMALL: f64 = 1e-12;

/// The first two principal components of points `[N, F]`, as `[N, 2]` f32: the plane in which the points differ most.
///
/// Subtracts the mean of each column. The sign of a component is that for which its largest coefficient is positive, so
/// equal points give equal pictures. A row with a number that is not finite does not count and becomes NaN. One column
/// gives a second component of zeros, and no column gives zeros. Not on the autodiff tape.
///
/// Two vectors by orthogonal iteration on the host: `O(N F)` for each of at most 200 steps, `O(N F)` memory. (sklearn's
/// `PCA(2)`.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::plot::pca;
///
/// let line = Tensor::<2>::from_floats([[0.0, 0.0, 3.0], [3.0, 4.0, 3.0], [6.0, 8.0, 3.0]], &Device::flex());
/// let x: Vec<f32> = pca(line).into_data().iter().collect();
/// assert!(x.iter().zip([-5.0, 0.0, 0.0, 0.0, 5.0, 0.0]).all(|(got, expected)| (got - expected).abs() < 1e-4));
/// ```
///
/// Source: Golub and Van Loan, *Matrix computations*, section 8.2.4.
///
/// # Errors
///
/// `overflow` for points that have no memory as f64.
#[or_panic]
pub fn try_pca(points: Tensor<2>) -> Result<Tensor<2>> {
    let ([count, dims], device) = (points.dims(), points.device().inner());
    let mut table: Vec<f64> = Vec::new();
    if table.try_reserve_exact(count * dims).is_err() {
        let got = count as u128 * dims as u128;
        return Err(SparseError::overflow("pca", "the number of elements", isize::MAX as u128 / 8, got));
    }
    if dims > 0 {
        table.extend(read_data(points.inner()).iter::<f64>());
    }
    let plane = to_plane(table, count, dims);
    Ok(Tensor::from_data(TensorData::new(plane, [count, 2]), (&device, DType::F32)))
}

fn to_plane(mut table: Vec<f64>, count: usize, dims: usize) -> Vec<f32> {
    if dims == 0 {
        return vec![0.0; 2 * count];
    }
    let finite: Vec<bool> = table.chunks(dims).map(|row| row.iter().all(|x| x.is_finite())).collect();
    let used = finite.iter().filter(|finite| **finite).count().max(1) as f64;
    let mut mean = vec![0.0; dims];
    for (row, _) in table.chunks_mut(dims).zip(&finite).filter(|(_, finite)| **finite) {
        mean.iter_mut().zip(row).for_each(|(mean, x)| *mean += *x / used);
    }
    for (row, finite) in table.chunks_mut(dims).zip(&finite) {
        row.iter_mut().zip(&mean).for_each(|(x, mean)| *x = if *finite { *x - mean } else { 0.0 });
    }
    let axes = axes(&table, dims);
    let along = |row: &[f64]| [0, 1].map(|at| dot(row, &axes[at]) as f32);
    let rows = table.chunks(dims).zip(finite);
    rows.flat_map(|(row, finite)| if finite { along(row) } else { [f32::NAN; 2] }).collect()
}

/// Orthonormal vectors along which the rows differ most; zeros where they do not differ.
fn axes(table: &[f64], dims: usize) -> [Vec<f64>; 2] {
    // Starts without symmetry: no component worth finding is orthogonal to them.
    let start = |part: f64| (1..=dims).map(|at| (at as f64 * part).fract() - 0.45).collect::<Vec<f64>>();
    let mut axes = [start(0.618_034), start(0.414_214)];
    // Numbers of any size have squares then.
    let scale = table.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    if scale <= f64::MIN_POSITIVE {
        return [vec![0.0; dims], vec![0.0; dims]];
    }
    orthonormal(&mut axes);
    for _ in 0..STEPS {
        let mut next = [vec![0.0; dims], vec![0.0; dims]];
        for row in table.chunks(dims) {
            for (axis, next) in axes.iter().zip(&mut next) {
                let share = row.iter().zip(axis).map(|(x, axis)| x / scale * axis).sum::<f64>();
                next.iter_mut().zip(row).for_each(|(next, x)| *next += share * (x / scale));
            }
        }
        orthonormal(&mut next);
        let change = axes.iter().zip(&next).map(|(old, new)| 1.0 - dot(old, new).abs()).fold(0.0, f64::max);
        axes = next;
        if change < SMALL {
            break;
        }
    }
    for axis in &mut axes {
        let largest = axis.iter().copied().fold(0.0, |most: f64, x| if x.abs() > most.abs() { x } else { most });
        axis.iter_mut().for_each(|x| *x *= largest.signum());
    }
    axes
}

/// Gram and Schmidt. A vector that depends on the one before becomes zeros.
fn orthonormal(axes: &mut [Vec<f64>; 2]) {
    let [first, second] = axes;
    let before = dot(second, second).sqrt();
    unit(first, 0.0);
    // Twice is enough (Kahan and Parlett).
    for _ in 0..2 {
        let share = dot(first, second);
        second.iter_mut().zip(&*first).for_each(|(x, first)| *x -= share * first);
    }
    unit(second, before * 1e-12);
}

fn unit(vector: &mut [f64], least: f64) {
    let norm = dot(vector, vector).sqrt();
    let factor = if norm > least.max(1e-150) { 1.0 / norm } else { 0.0 };
    vector.iter_mut().for_each(|x| *x *= factor);
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
