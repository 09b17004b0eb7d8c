//! `put_along_axis`: values reduced into positions of a dense tensor along one axis.

use crate::base::checks::{resolve_axis, same_device, same_elements};
use crate::base::exact::Exact;
use crate::base::index::{short_index, signed};
use crate::base::kind::{Kind, as_float, associate, dtype_name, from_float};
use crate::kernel::{self, Put, Record};
use crate::tensor::fill::Fill;
use burn::tensor::{AsIndex, Int, Scalar, Shape, Tensor};
use sparse_autograd::{Erased, record as on_tape};
use sparse_burn::{PutTarget, Reduce};
use sparse_core::{Result, SparseError, backward_reads};
use sparse_macros::or_panic;

/// The values of a [`put_along_axis`]: a tensor, or one number for every position.
#[derive(Clone, Debug)]
pub enum PutValues<const D: usize, K: Kind> {
    /// A tensor, which is broadcast to the broadcast indices.
    Tensor(Tensor<D, K>),
    /// One number.
    Scalar(Scalar),
}

impl<const D: usize, K: Kind> From<Tensor<D, K>> for PutValues<D, K> {
    fn from(values: Tensor<D, K>) -> Self {
        Self::Tensor(values)
    }
}

macro_rules! from_number {
    ($($number:ty),*) => {$(
        impl<const D: usize, K: Kind> From<$number> for PutValues<D, K> {
            fn from(value: $number) -> Self {
                Self::Scalar(value.into())
            }
        }
    )*};
}
from_number!(f32, f64, i32, i64, u8, bool);

/// Reduces `values` into the positions of `arr` that `indices` names along `axis`.
///
/// For two dims and `axis` 0: `out[indices[i, j], j] = reduce(arr[indices[i, j], j], values[i, j], ..)`.
///
/// - `indices` broadcasts to `arr` on every dim but `axis`. It holds numbers in `[-n, n)`, all of which are checked
///   before anything is written. If `indices` has size 1 on every other dim, each of its entries is used for a whole
///   slice of `values`, and no full-size index is made. [`scatter_reduce`](crate::ops::scatter_reduce()) broadcasts
///   nothing, and takes an index smaller than `arr`.
/// - `values` is a tensor or a number, and broadcasts to the broadcast indices.
/// - `reduce` is assign, add, mul, mean (integers are rounded down), amax or amin (NaN wins). With assign, the last
///   write in row-major order of the broadcast indices wins.
/// - With `include_self = false` the element of `arr` takes no part at a position that is written. Other positions keep
///   theirs.
///
/// `arr` is taken by value: on CPUs its buffer is reused if nobody else holds it. On an error nothing was written; keep
/// a clone, which is a handle, if `arr` is needed then. f16 and bf16 accumulate in f32.
///
/// Backward, to `arr` and to `values` (summed over the dims that were broadcast):
/// - assign: the gradient goes to the winner only;
/// - add: the gradient;
/// - mean: the gradient divided by the count;
/// - mul: the gradient times the product of the others, exact with any number of zeros;
/// - amax, amin: the gradient shared evenly among ties. `arr` is one of them only with `include_self`.
///
/// Saved: the index (on a CPU a long i64 one as a copy in i32, 4 bytes for each value); for mul the values and the
/// result; for assign, amax and amin which value won (and with ties the values and the result); for mean how many
/// values arrived, unless an index serves a whole slice. Deterministic.
/// Semantics of NumPy's and Paddle's `put_along_axis`.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::ops::{Reduce, put_along_axis};
///
/// let device = Device::flex();
/// let arr = Tensor::<1>::from_floats([10.0, 20.0, 30.0], &device);
/// let indices = Tensor::from_ints([0, 2, -1], &device);
/// let values = Tensor::<1>::from_floats([1.0, 2.0, 3.0], &device);
/// let out = put_along_axis(arr, indices, values, 0, Reduce::Add, true);
/// assert_eq!(out.into_data().iter::<f32>().collect::<Vec<_>>(), [11.0, 20.0, 35.0]);
/// ```
///
/// # Errors
///
/// `axis_out_of_range`, `shape_mismatch`, `dtype_mismatch`, `device_mismatch`, `index_out_of_range`;
/// `unsupported_dtype` for a reduction of Bool other than assign.
#[or_panic]
pub fn try_put_along_axis<const D: usize, K: Kind>(
    arr: Tensor<D, K>,
    indices: Tensor<D, Int>,
    values: impl Into<PutValues<D, K>>,
    axis: impl AsIndex,
    reduce: Reduce,
    include_self: bool,
) -> Result<Tensor<D, K>> {
    const OP: &str = "put_along_axis";
    let axis = resolve_axis(OP, axis, D)?;
    let (shape, given) = (arr.dims(), indices.dims());
    let mut full = shape;
    full[axis] = given[axis];
    if (0..D).any(|dim| dim != axis && given[dim] != full[dim] && given[dim] != 1) {
        let rule = "indices {left} must broadcast to arr {right} on every dim but `axis`";
        return Err(SparseError::shape_mismatch(OP, rule, given, shape));
    }
    check_reduction(OP, &arr, reduce)?;
    let values = match values.into() {
        PutValues::Scalar(value) => repeated(value, &arr, full),
        PutValues::Tensor(values) => broadcast(OP, values, full)?,
    };
    same_elements(OP, &arr, &values)?;
    same_device(OP, &arr.device(), &indices.device())?;
    let indices = signed(indices);
    kernel::check_indices(OP, axis, shape[axis], &indices)?;
    let along_axis = (0..D).all(|dim| dim == axis || given[dim] == 1);
    let target = target(shape, axis, full[axis], along_axis);
    let indices = short_index(indices, target);
    let indices = if along_axis || given == full { indices } else { indices.expand(Shape::from(full)) };
    Ok(put(arr, indices, values, target, reduce, include_self))
}

/// Checks that there is such a reduction of these elements.
pub(crate) fn check_reduction<const D: usize, K: Kind>(
    op: &'static str,
    arr: &Tensor<D, K>,
    reduce: Reduce,
) -> Result<()> {
    if !arr.dtype().is_bool() || reduce == Reduce::Assign {
        return Ok(());
    }
    Err(SparseError::unsupported_dtype(op, format!("the reduction {}", reduce.name()), dtype_name(arr.dtype())))
}

/// One number for every place of `shape`, as an element of `like`.
pub(crate) fn repeated<const D: usize, K: Kind>(value: Scalar, like: &Tensor<D, K>, shape: [usize; D]) -> Tensor<D, K> {
    let one: Tensor<2, K> = Fill::scalar(value).row(1, like.dtype(), &like.device().inner());
    one.reshape(Exact([1; D])).expand(Shape::from(shape))
}

fn broadcast<const D: usize, K: Kind>(
    op: &'static str,
    values: Tensor<D, K>,
    full: [usize; D],
) -> Result<Tensor<D, K>> {
    let given = values.dims();
    if given == full {
        return Ok(values);
    }
    if (0..D).any(|dim| given[dim] != full[dim] && given[dim] != 1) {
        let rule = "values {left} must broadcast to the broadcast indices {right}";
        return Err(SparseError::shape_mismatch(op, rule, given, full));
    }
    Ok(values.expand(Shape::from(full)))
}

/// Sizes of a put into `shape` along `axis`.
pub(crate) fn target<const D: usize>(shape: [usize; D], axis: usize, count: usize, along_axis: bool) -> PutTarget {
    let (outer, inner) = (shape[..axis].iter().product(), shape[axis + 1..].iter().product());
    PutTarget { outer, len: shape[axis], inner, count, along_axis }
}

#[derive(Debug)]
struct Saved<const D: usize> {
    put: Put<D>,
    record: Option<Record>,
    reads: [Option<Tensor<D>>; 3],
    shapes: [[usize; D]; 2],
}

/// The put of checked arguments, on the tape.
pub(crate) fn put<const D: usize, K: Kind>(
    arr: Tensor<D, K>,
    index: Tensor<D, Int>,
    values: Tensor<D, K>,
    target: PutTarget,
    reduce: Reduce,
    include_self: bool,
) -> Tensor<D, K> {
    run(Put { index, target, reduce, include_self, groups: None }, arr, values)
}

/// The put, on the tape.
pub(crate) fn run<const D: usize, K: Kind>(put: Put<D>, arr: Tensor<D, K>, values: Tensor<D, K>) -> Tensor<D, K> {
    let Some(values_float) = as_float(&values) else {
        return kernel::put(&put, arr, &values, false).0;
    };
    drop(values);
    let values = values_float;
    let arr: Tensor<D> = Tensor::from_dispatch(arr.into_dispatch());
    let shapes = [arr.dims(), values.dims()];
    if !arr.is_tracked() && !values.is_tracked() {
        // No handle to `arr` is kept here, so the kernel may write into its buffer.
        let like = [arr.device(), values.device()].into_iter().find(|device| device.is_autodiff());
        let (out, _) = kernel::put(&put, arr, &values, false);
        return from_float(match like {
            None => out,
            Some(device) => associate(out, &device),
        });
    }
    let parent = arr.is_tracked().then(|| Erased::from(&arr));
    let reads = backward_reads(put.reduce, put.include_self);
    let kept_arr = reads.arr.then(|| arr.clone().inner());
    let (out, record) = kernel::put(&put, arr, &values, true);
    let reads = if record.as_ref().is_some_and(|(_, tied)| tied.dims()[0] == 0) {
        [None, None, None]
    } else {
        [kept_arr, reads.values.then(|| values.clone().inner()), reads.out.then(|| out.clone())]
    };
    let saved = Saved { put, record, reads, shapes };
    let values = Erased::from(values);
    from_float(match parent {
        Some(arr) => on_tape(out, [arr, values], saved, |saved, grad, needs| saved.backward(grad, needs)),
        None => on_tape(out, [values], saved, |saved, grad, [needed]| {
            let [_, values] = saved.backward(grad, [false, needed]);
            [values]
        }),
    })
}

impl<const D: usize> Saved<D> {
    fn backward(&self, grad: Tensor<D>, needs: [bool; 2]) -> [Option<Erased>; 2] {
        // The gradient of the array of a plain sum is the incoming one.
        let own: Option<Erased> =
            (needs[0] && self.put.reduce == Reduce::Add && self.put.include_self).then(|| grad.clone().into());
        let needs = [needs[0] && own.is_none(), needs[1]];
        if needs == [false, false] {
            return [own, None];
        }
        let reads = self.reads.each_ref().map(Option::as_ref);
        let [arr, values] = kernel::put_backward(&self.put, grad, self.record.as_ref(), reads, needs);
        let shaped = |grad: Option<Tensor<1>>, shape: [usize; D]| grad.map(|grad| grad.reshape(Exact(shape)).into());
        [own.or_else(|| shaped(arr, self.shapes[0])), shaped(values, self.shapes[1])]
    }
}
