//! Dense references where Burn's own operation differs by choice, or does not answer for a size of 0.

use burn::tensor::{Int, Tensor, TensorData};
use sparse_tensor::{Kind, Numeric};

/// Zeros (of Bool: false) beside `x`.
pub fn zeros<const D: usize, const D2: usize, K: Kind>(x: &Tensor<D, K>, shape: [usize; D2]) -> Tensor<D2, K> {
    Tensor::zeros(shape, (&x.device(), x.dtype()))
}

/// Positions of another shape and order: element `k` of the result is element `from[k]` of `x`, of which `None` is 0.
pub fn take<const D: usize, const D2: usize, K: Kind>(
    x: Tensor<D, K>,
    from: &[Option<usize>],
    shape: [usize; D2],
) -> Tensor<D2, K> {
    let count = x.shape().num_elements();
    if from.is_empty() || count == 0 {
        return zeros(&x, shape);
    }
    let at: Vec<i64> = from.iter().map(|from| from.unwrap_or(count) as i64).collect();
    let at = Tensor::<1, Int>::from_data(TensorData::new(at, [from.len()]), &x.device().inner());
    let mut line = x.reshape([count]);
    if from.contains(&None) {
        let zero = zeros(&line, [1]);
        line = Tensor::cat(vec![line, zero], 0);
    }
    line.select(0, at).reshape(shape)
}

/// The elements for which the mask holds, zero elsewhere.
pub fn keep<const D: usize, K: Kind>(x: Tensor<D, K>, kept: impl IntoIterator<Item = bool>) -> Tensor<D, K> {
    let shape = x.dims();
    let from: Vec<Option<usize>> = kept.into_iter().enumerate().map(|(at, kept)| kept.then_some(at)).collect();
    take(x, &from, shape)
}

/// Every position of `shape`, in row-major order.
pub fn positions<const D: usize>(shape: [usize; D]) -> impl Iterator<Item = [usize; D]> {
    (0..shape.iter().product()).map(move |flat| crate::draw::unravel(flat, &shape).try_into().expect("the rank"))
}

/// Where a position stands in row-major order.
pub fn flat<const D: usize>(at: [usize; D], shape: [usize; D]) -> usize {
    at.iter().zip(&shape).fold(0, |flat, (index, size)| flat * size + index)
}

/// The axis from the start.
pub fn from_start(axis: isize, rank: usize) -> usize {
    if axis < 0 { (axis + rank as isize) as usize } else { axis as usize }
}

pub fn matmul<const D: usize>(a: Tensor<D>, b: Tensor<D>) -> Tensor<D> {
    let (left, right) = (a.dims(), b.dims());
    if left.contains(&0) || right.contains(&0) {
        let mut shape = left;
        shape[D - 1] = right[D - 1];
        return zeros(&a, shape);
    }
    a.matmul(b)
}

pub fn sum_dim<const D: usize, K: Numeric>(x: Tensor<D, K>, axis: usize) -> Tensor<D, K> {
    let mut shape = x.dims();
    if shape.contains(&0) {
        shape[axis] = 1;
        return zeros(&x, shape);
    }
    x.sum_dim(axis)
}

pub fn sum_dims<const D: usize, K: Numeric>(x: Tensor<D, K>, axes: &[usize]) -> Tensor<D, K> {
    axes.iter().fold(x, |x, &axis| sum_dim(x, axis))
}

/// The product factor by factor, whose gradient is exact at zeros.
pub fn prod_dim<const D: usize, K: Numeric>(x: Tensor<D, K>, axis: usize) -> Tensor<D, K> {
    let mut shape = x.dims();
    let size = shape[axis];
    shape[axis] = 1;
    if shape.contains(&0) || size == 0 {
        return zeros(&x, shape).add_scalar(1);
    }
    (1..size).fold(x.clone().narrow(axis, 0, 1), |out, k| out * x.clone().narrow(axis, k, 1))
}

/// The largest (or smallest) along some axes, whose gradient is shared evenly by all that are tied.
pub fn extreme_dims<const D: usize>(x: Tensor<D>, axes: &[usize], largest: bool) -> Tensor<D> {
    let shape = x.dims();
    let best = axes.iter().fold(
        x.clone().detach(),
        |best, &axis| {
            if largest { best.max_dim(axis) } else { best.min_dim(axis) }
        },
    );
    let tied = x.clone().detach().equal(best.expand(shape)).float().cast(x.dtype());
    sum_dims(x * tied.clone(), axes) / sum_dims(tied, axes)
}

/// The product of all factors along some axes.
pub fn prod_dims<const D: usize, K: Numeric>(x: Tensor<D, K>, axes: &[usize]) -> Tensor<D, K> {
    axes.iter().fold(x, |x, &axis| prod_dim(x, axis))
}

/// The same elements in another shape, sizes of 0 included.
pub fn reshape<const D: usize, const D2: usize, K: Kind>(x: Tensor<D, K>, shape: [usize; D2]) -> Tensor<D2, K> {
    if shape.contains(&0) { zeros(&x, shape) } else { x.reshape(shape) }
}

/// Sizes of 1 repeated, sizes of 0 included.
pub fn spread<const D: usize>(x: Tensor<D>, shape: [usize; D]) -> Tensor<D> {
    if shape.contains(&0) { zeros(&x, shape) } else { x.expand(shape) }
}

/// Elements along an axis by their index.
pub fn pick<const D: usize, K: Kind>(x: Tensor<D, K>, axis: usize, index: &[usize]) -> Tensor<D, K> {
    let mut shape = x.dims();
    let from = shape;
    shape[axis] = index.len();
    let read = positions(shape).map(|mut at| {
        at[axis] = index[at[axis]];
        Some(flat(at, from))
    });
    take(x, &read.collect::<Vec<_>>(), shape)
}

/// A mask of zeros and ones as a tensor beside `x`.
pub fn mask<const D: usize>(x: &Tensor<D>, keep: impl Iterator<Item = bool>) -> Tensor<D> {
    let keep: Vec<f64> = keep.map(|keep| f64::from(u8::from(keep))).collect();
    Tensor::from_data(TensorData::new(keep, x.dims()), (&x.device(), x.dtype()))
}

/// The dense tensor with a number where nothing is stored; `specified` is of zeros and ones.
pub fn elsewhere<const D: usize>(dense: Tensor<D>, specified: &Tensor<D>, number: f64) -> Tensor<D> {
    dense.mask_fill(specified.clone().equal_elem(0.0), number)
}
