//! Gather and scatter on dense tensors, along one axis or over several.

use crate::base::checks::{as_axes, resolve_axis, same_device, same_elements};
use crate::base::empty::constant;
use crate::base::exact::Exact;
use crate::base::index::{cast_integers, short_index, signed};
use crate::base::kind::{Kind, as_float, from_float};
use crate::kernel::{self, Put};
use crate::ops::dense::put_along_axis::{PutValues, check_reduction, put, repeated, target};
use burn::tensor::{AsIndex, Int, Shape, Tensor};
use sparse_autograd::{Erased, record};
use sparse_burn::{PutTarget, Reduce};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

/// Reads the elements of `tensor` that `indices` names along `dim`.
///
/// For two dims and `dim` 0: `out[i, j] = tensor[indices[i, j], j]`. `indices` holds numbers in `[-n, n)`, and may be
/// smaller than `tensor` along the other dims, as in PyTorch. Backward: each element of `tensor` gets the sum of the
/// gradients of the places that read it, in a fixed order. Cost: one pass. `gather(dim = d)` is `gather_nd(axes = [d])`
/// of `indices.unsqueeze(-1)`.
///
/// Example B_1 of the CINN design:
///
/// ```
/// use burn::tensor::{Device, Int, Tensor};
/// use sparse_tensor::ops::gather;
///
/// let device = Device::flex();
/// let a = Tensor::<1, Int>::arange(0..12, &device).float().reshape([4, 3]);
/// let index = Tensor::<2, Int>::from_ints([[0, 1, 1], [3, 2, 0]], &device);
/// let b = gather(a, 0, index);
/// assert_eq!(b.into_data().iter::<f32>().collect::<Vec<_>>(), [0.0, 4.0, 5.0, 9.0, 7.0, 2.0]);
/// ```
///
/// # Errors
///
/// `axis_out_of_range`, `shape_mismatch`, `index_out_of_range`, `device_mismatch`.
#[or_panic]
pub fn try_gather<const D: usize, K: Kind>(
    tensor: Tensor<D, K>,
    dim: impl AsIndex,
    indices: Tensor<D, Int>,
) -> Result<Tensor<D, K>> {
    const OP: &str = "gather";
    let axis = resolve_axis(OP, dim, D)?;
    let (shape, given) = (tensor.dims(), indices.dims());
    let index = checked_index(OP, &tensor, indices, axis)?;
    if given.contains(&0) {
        return Ok(read_nothing(&tensor, given));
    }
    let mut x = tensor;
    for dim in (0..D).filter(|&dim| dim != axis && given[dim] != shape[dim]) {
        x = x.narrow(dim, 0, given[dim]);
    }
    let target = target(x.dims(), axis, given[axis], false);
    Ok(read(x, short_index(index, target), target).reshape(Exact(given)))
}

/// Replaces the elements of `tensor` that `indices` names along `dim` by those of `values`.
///
/// For two dims and `dim` 0: `out[indices[i, j], j] = values[i, j]`. Of several values for one position the last one in
/// row-major order wins. `indices` has the shape of `values`, and may be smaller than `tensor` along the other dims.
/// This assigns; for sums, products, means and extremes there is [`scatter_reduce`]. Backward: each value that won gets
/// its gradient, and `tensor` gets the gradient where nothing was replaced.
///
/// Example B_3 of the CINN design:
///
/// ```
/// use burn::tensor::{Device, Int, Tensor};
/// use sparse_tensor::ops::{gather, scatter};
///
/// let device = Device::flex();
/// let a = Tensor::<1, Int>::arange(0..12, &device).float().reshape([4, 3]);
/// let index = Tensor::<2, Int>::from_ints([[0, 1, 1], [3, 2, 0]], &device);
/// let out = scatter(Tensor::<2>::zeros([4, 3], &device), 0, index.clone(), gather(a, 0, index));
/// let expected = [0.0, 0.0, 2.0, 0.0, 4.0, 5.0, 0.0, 7.0, 0.0, 9.0, 0.0, 0.0];
/// assert_eq!(out.into_data().iter::<f32>().collect::<Vec<_>>(), expected);
/// ```
///
/// # Errors
///
/// `axis_out_of_range`, `shape_mismatch`, `dtype_mismatch`, `index_out_of_range`, `device_mismatch`.
#[or_panic]
pub fn try_scatter<const D: usize, K: Kind>(
    tensor: Tensor<D, K>,
    dim: impl AsIndex,
    indices: Tensor<D, Int>,
    values: Tensor<D, K>,
) -> Result<Tensor<D, K>> {
    let values = PutValues::Tensor(values);
    reduce_into("scatter", tensor, dim.as_index(), indices, values, (Reduce::Assign, true))
}

/// Reduces `values` into the elements of `tensor` that `indices` names along `dim`. Nothing is broadcast.
///
/// For two dims and `dim` 0: `out[indices[i, j], j] = reduce(tensor[indices[i, j], j], values[i, j], ..)`. `indices`
/// may be smaller than `tensor` along the other dims: the elements beyond it stay. `values` has the shape of `indices`,
/// or is a number. Everything else is as in [`put_along_axis`](crate::ops::put_along_axis()): the reductions,
/// `include_self`, the gradients, and that `tensor` is taken by value. There an index of size 1 along another dim is
/// broadcast; here it is one index, as in PyTorch's `scatter_reduce`, in Paddle's `put_along_axis` with
/// `broadcast=False` and in ONNX's `ScatterElements`.
///
/// Cost: that of `put_along_axis`. If `indices` is smaller than `tensor` along another dim, the part of `tensor` that
/// it can reach is copied.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::ops::{Reduce, scatter_reduce};
///
/// let device = Device::flex();
/// let x = Tensor::<2>::from_floats([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], &device);
/// // Of the first row only.
/// let indices = Tensor::from_ints([[0, 2, -3]], &device);
/// let values = Tensor::<2>::from_floats([[10.0, 20.0, 30.0]], &device);
/// let out = scatter_reduce(x, 1, indices, values, Reduce::Add, true);
/// assert_eq!(out.into_data().iter::<f32>().collect::<Vec<_>>(), [41.0, 2.0, 23.0, 4.0, 5.0, 6.0]);
/// ```
///
/// # Errors
///
/// `axis_out_of_range`, `shape_mismatch`, `dtype_mismatch`, `index_out_of_range`, `device_mismatch`;
/// `unsupported_dtype` for a reduction of Bool other than assign.
#[or_panic]
pub fn try_scatter_reduce<const D: usize, K: Kind>(
    tensor: Tensor<D, K>,
    dim: impl AsIndex,
    indices: Tensor<D, Int>,
    values: impl Into<PutValues<D, K>>,
    reduce: Reduce,
    include_self: bool,
) -> Result<Tensor<D, K>> {
    reduce_into("scatter_reduce", tensor, dim.as_index(), indices, values.into(), (reduce, include_self))
}

fn reduce_into<const D: usize, K: Kind>(
    op: &'static str,
    tensor: Tensor<D, K>,
    dim: isize,
    indices: Tensor<D, Int>,
    values: PutValues<D, K>,
    (reduce, include_self): (Reduce, bool),
) -> Result<Tensor<D, K>> {
    let axis = resolve_axis(op, dim, D)?;
    let (shape, given) = (tensor.dims(), indices.dims());
    check_reduction(op, &tensor, reduce)?;
    let values = match values {
        PutValues::Scalar(value) => repeated(value, &tensor, given),
        PutValues::Tensor(values) => values,
    };
    check_source(op, &tensor, &values, given)?;
    let index = checked_index(op, &tensor, indices, axis)?;
    if given.contains(&0) {
        return Ok(constant(tensor, &[&values]));
    }
    let mut part = given;
    part[axis] = shape[axis];
    let target = target(part, axis, given[axis], false);
    let index = short_index(index, target);
    if part == shape {
        return Ok(put(tensor, index, values, target, reduce, include_self));
    }
    let ranges = part.map(|size| 0..size);
    let reached = put(tensor.clone().slice(ranges.clone()), index, values, target, reduce, include_self);
    Ok(tensor.slice_assign(ranges, reached))
}

/// The axes of [`gather_nd`] and [`scatter_nd`]: a list of any integers, or `None` for the first ones, as many as the
/// last dim of the indices has entries.
#[derive(Clone, Debug)]
pub struct NdAxes(Option<Vec<isize>>);

impl<A: AsIndex, const N: usize> From<[A; N]> for NdAxes {
    fn from(axes: [A; N]) -> Self {
        Self(Some(as_axes(&axes)))
    }
}

impl<A: AsIndex> From<&[A]> for NdAxes {
    fn from(axes: &[A]) -> Self {
        Self(Some(as_axes(axes)))
    }
}

impl From<Option<&[isize]>> for NdAxes {
    fn from(axes: Option<&[isize]>) -> Self {
        Self(axes.map(<[isize]>::to_vec))
    }
}

/// Reads the elements of `tensor` at positions whose coordinates on some axes are given by `indices`.
///
/// `indices` has the shape of the result, and one more dim with an entry for each of `axes`. Each output position is
/// kept on the other axes and replaced on these: `out[p] = tensor[p with p[axes[j]] = indices[p, j]]`. The result may
/// be smaller than `tensor` along the other axes. Indices are in `[-n, n)`. Backward as [`gather`].
///
/// The name and the meaning are those of CINN. Burn's method `Tensor::gather_nd` does something else: it reads whole
/// slices, at coordinates on the first axes.
///
/// ```
/// use burn::tensor::{Device, Int, Tensor};
/// use sparse_tensor::ops::gather_nd;
///
/// let device = Device::flex();
/// let a = Tensor::<2>::from_floats([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], &device);
/// // In each row the element of one column.
/// let columns = Tensor::<3, Int>::from_ints([[[2]], [[0]]], &device);
/// assert_eq!(gather_nd(a, columns, [1]).into_data().iter::<f32>().collect::<Vec<_>>(), [3.0, 4.0]);
/// ```
///
/// # Errors
///
/// `axis_out_of_range`, `shape_mismatch` (an axis given twice included), `index_out_of_range`, `device_mismatch`.
#[or_panic]
pub fn try_gather_nd<const D: usize, const DI: usize, K: Kind>(
    tensor: Tensor<D, K>,
    indices: Tensor<DI, Int>,
    axes: impl Into<NdAxes>,
) -> Result<Tensor<D, K>> {
    const OP: &str = "gather_nd";
    let (flat, shape) = flat_positions(OP, &tensor, indices, axes.into())?;
    if shape.contains(&0) {
        return Ok(read_nothing(&tensor, shape));
    }
    let target = target([tensor.shape().num_elements()], 0, flat.dims()[0], true);
    Ok(read(tensor, flat, target).reshape(Exact(shape)))
}

/// Replaces the elements of `tensor` at positions whose coordinates on some axes are given by `indices` by those of
/// `values`.
///
/// `out[p with p[axes[j]] = indices[p, j]] = values[p]`. Of several values for one position the last one in row-major
/// order wins.
/// `indices` is as in [`gather_nd`], and `values` has its shape without the last dim. Backward as [`scatter`]. The name
/// and the meaning are those of CINN, and not those of Burn's method `Tensor::scatter_nd`.
///
/// # Errors
///
/// `axis_out_of_range`, `shape_mismatch`, `dtype_mismatch`, `index_out_of_range`, `device_mismatch`.
#[or_panic]
pub fn try_scatter_nd<const D: usize, const DI: usize, K: Kind>(
    tensor: Tensor<D, K>,
    indices: Tensor<DI, Int>,
    values: Tensor<D, K>,
    axes: impl Into<NdAxes>,
) -> Result<Tensor<D, K>> {
    const OP: &str = "scatter_nd";
    let (flat, shape) = flat_positions(OP, &tensor, indices, axes.into())?;
    check_source(OP, &tensor, &values, shape)?;
    if shape.contains(&0) {
        return Ok(constant(tensor, &[&values]));
    }
    let (dims, [elements, count]) = (tensor.dims(), [tensor.shape().num_elements(), flat.dims()[0]]);
    let (x, values) = (tensor.reshape(Exact([elements])), values.reshape(Exact([count])));
    Ok(put(x, flat, values, target([elements], 0, count, true), Reduce::Assign, true).reshape(Exact(dims)))
}

fn checked_index<const D: usize, K: Kind>(
    op: &'static str,
    x: &Tensor<D, K>,
    index: Tensor<D, Int>,
    axis: usize,
) -> Result<Tensor<D, Int>> {
    let (shape, given) = (x.dims(), index.dims());
    if (0..D).any(|dim| dim != axis && given[dim] > shape[dim]) {
        let rule = "the indices {left} must not be larger than the tensor {right} except along the dim";
        return Err(SparseError::shape_mismatch(op, rule, given, shape));
    }
    same_device(op, &x.device(), &index.device())?;
    let index = signed(index);
    kernel::check_indices(op, axis, shape[axis], &index)?;
    Ok(index)
}

fn check_source<const D: usize, K: Kind>(
    op: &'static str,
    x: &Tensor<D, K>,
    src: &Tensor<D, K>,
    shape: [usize; D],
) -> Result<()> {
    if src.dims() != shape {
        let (left, right) = (src.dims().to_vec(), shape.to_vec());
        let rule = "the values {left} must have the shape {right} of the indices";
        return Err(SparseError::shape_mismatch(op, rule, left, right));
    }
    same_elements(op, x, src)
}

/// What no indices read: a result of `shape`, which has no elements, on the tape.
fn read_nothing<const D: usize, K: Kind>(x: &Tensor<D, K>, shape: [usize; D]) -> Tensor<D, K> {
    constant(Tensor::zeros(Shape::from(shape), (&x.device().inner(), x.dtype())), &[x])
}

/// Reads `x` through checked indices, on the tape; flat.
pub(crate) fn read<const D: usize, const DI: usize, K: Kind>(
    x: Tensor<D, K>,
    index: Tensor<DI, Int>,
    target: PutTarget,
) -> Tensor<1, K> {
    let out = kernel::gather(&x, &index, target);
    let (Some(x), Some(out_float)) = (as_float(&x), as_float(&out)) else { return out };
    let saved = (index, target, x.dims());
    from_float(record(out_float, [Erased::from(x)], saved, |(index, target, shape), grad, _| {
        let zeros = Tensor::<1>::zeros([shape.iter().product::<usize>()], (&grad.device(), grad.dtype()));
        let put = Put { index: index.clone(), target: *target, reduce: Reduce::Add, include_self: true, groups: None };
        let (sums, _) = kernel::put(&put, zeros, &grad, false);
        [Some(sums.reshape(Exact(*shape)).into())]
    }))
}

impl NdAxes {
    /// The axes, checked for a tensor of shape `dims` and indices of shape `given`.
    fn checked(self, op: &'static str, dims: &[usize], given: &[usize]) -> Result<Vec<usize>> {
        let rank = dims.len();
        let mismatch = |rule: &'static str| Err(SparseError::shape_mismatch(op, rule, given, dims));
        if given.len() != rank + 1 {
            return mismatch("the indices {left} must have one dim more than the tensor {right}");
        }
        let named = given[rank];
        let axes: Vec<usize> = match self.0 {
            Some(axes) => axes.into_iter().map(|axis| resolve_axis(op, axis, rank)).collect::<Result<_>>()?,
            None if named <= rank => (0..named).collect(),
            None => {
                return mismatch("the last dim of the indices {left} must not exceed the rank of the tensor {right}");
            }
        };
        let repeated = axes.iter().enumerate().any(|(k, axis)| axes[..k].contains(axis));
        if repeated || axes.len() != named {
            let rule =
                "the last dim of the indices {left} must have one entry for each of the axes {right}, each named once";
            return Err(SparseError::shape_mismatch(op, rule, given, axes));
        }
        if (0..rank).any(|dim| !axes.contains(&dim) && given[dim] > dims[dim]) {
            return mismatch("the indices {left} must not be larger than the tensor {right} except along the axes");
        }
        Ok(axes)
    }
}

/// The row-major positions in `x` that checked arguments name, and the shape of the result.
fn flat_positions<const D: usize, const DI: usize, K: Kind>(
    op: &'static str,
    x: &Tensor<D, K>,
    index: Tensor<DI, Int>,
    axes: NdAxes,
) -> Result<(Tensor<1, Int>, [usize; D])> {
    same_device(op, &x.device(), &index.device())?;
    let (dims, given) = (x.dims(), index.dims());
    let axes = axes.checked(op, &dims, &given)?;
    let shape: [usize; D] = std::array::from_fn(|dim| given[dim]);
    let (elements, count): (usize, usize) = (dims.iter().product(), shape.iter().product());
    let (device, dtype) = (index.device().inner(), sparse_burn::index_dtype_for(elements.max(count)));
    // Nothing to compute, which some devices cannot launch over.
    if count == 0 {
        return Ok((Tensor::empty([0], (&device, dtype)), shape));
    }
    let index = signed(index);
    let mut flat = Tensor::<D, Int>::zeros(shape, (&device, dtype));
    for (dim, size) in dims.into_iter().enumerate() {
        let coordinate = if let Some(entry) = axes.iter().position(|&axis| axis == dim) {
            let named = index.clone().narrow(DI - 1, entry, 1).reshape(Exact(shape));
            kernel::check_indices(op, dim, size, &named).map_err(|error| among(axes.len(), entry, error))?;
            let named: Tensor<D, Int> = cast_integers(named, dtype);
            // Negative indices count from the end.
            let from_end = cast_integers(named.clone().lower_elem(0).int(), dtype);
            named + from_end.mul_scalar(size as i64)
        } else {
            let line: [usize; D] = std::array::from_fn(|at| if at == dim { shape[dim] } else { 1 });
            let own = Tensor::<1, Int>::arange(0..shape[dim] as i64, (&device, dtype));
            own.reshape(Exact(line)).expand(Shape::from(shape))
        };
        flat = flat.mul_scalar(size as i64) + coordinate;
    }
    Ok((flat.reshape(Exact([count])), shape))
}

/// The error of one coordinate, with the position in the indices as they were given: each has `named` coordinates.
fn among(named: usize, entry: usize, mut error: SparseError) -> SparseError {
    if let SparseError::IndexOutOfRange { position, .. } = &mut error {
        *position = *position * named + entry;
    }
    error
}
