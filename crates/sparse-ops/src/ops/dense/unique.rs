//! Distinct ids.

use crate::base::exact::Exact;
use crate::base::index::{index_tensor, read_all, signed};
use crate::kernel;
use crate::ops::dense::plan::IndexPlan;
use crate::rows::{RowMap, RowSums};
use burn::tensor::{DType, Int, Tensor};
use sparse_burn::index_dtype_for;
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

/// The distinct numbers of `ids` `[N]`, ascending `[U]`, and the plan that maps every position of `ids` to its number:
/// `ids[k] = distinct[index[k]]`, where `index` is that of the plan. This is NumPy's `unique` with
/// `return_inverse=True`.
///
/// A batch that names rows of a table more than once reads each row once: select the distinct rows, and the plan's
/// [`select`](IndexPlan::select) along dim 0 gives each position its row. Its backward pass sums the gradients of equal
/// ids by segments, which the plan has already. The plan's [`put`](IndexPlan::put) reduces values of the positions to
/// the distinct ids.
///
/// Ids may be of any integer dtype, which the result keeps, and may be negative. The same bits on every run. Cost: a
/// radix sort, `O(N)`; reads the smallest and largest id and `U` from the device.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::ops::unique;
///
/// let device = Device::flex();
/// let table = Tensor::<2>::from_floats([[0.0], [10.0], [20.0], [30.0]], &device);
/// let (ids, plan) = unique(Tensor::from_ints([3, 1, 3], &device));
/// assert_eq!(ids.to_data().convert::<i64>().iter::<i64>().collect::<Vec<_>>(), [1, 3]);
/// let rows = table.select(0, ids); // each once: [10], [30]
/// let all = plan.select(rows, 0);
/// assert_eq!(all.into_data().iter::<f32>().collect::<Vec<_>>(), [30.0, 10.0, 30.0]);
/// ```
///
/// # Errors
///
/// `overflow` for a u64 of 2^63 - 1 and more.
#[or_panic]
pub fn try_unique(ids: Tensor<1, Int>) -> Result<(Tensor<1, Int>, IndexPlan)> {
    const OP: &str = "unique";
    let (own, count) = (ids.dtype(), ids.dims()[0]);
    let keys = signed(ids);
    if count == 0 {
        let map = RowMap::new(index_tensor(keys.clone(), index_dtype_for(0)), 0);
        return Ok((index_tensor(keys, own), IndexPlan::of_map(map)));
    }
    let ends = read_all(kernel::extremes(keys.clone()));
    let (least, largest) = (ends[0], ends[1]);
    if own == DType::U64 && largest == i64::MAX {
        return Err(SparseError::overflow(OP, "an id", i64::MAX as u128 - 1, i64::MAX));
    }
    let row = |list: Tensor<1, Int>| list.reshape(Exact([1, count]));
    let (distinct, order, ptr) = if least >= 0 {
        let (distinct, order, ptr) = kernel::coalesce(row(keys), &[largest as usize + 1][..]);
        (distinct.flatten(0, 1), order, ptr)
    } else {
        // Coordinates are not negative. So an id becomes its half, the negative numbers or the others, and its place in
        // that half: the bits without the sign.
        let top = if keys.dtype() == DType::I32 { i64::from(i32::MAX) } else { i64::MAX };
        let half = index_tensor(keys.clone().greater_equal_elem(0).int(), keys.dtype());
        let halves = Tensor::cat(vec![row(half), row(keys.clone().bitwise_and_scalar(top))], 0);
        let (distinct, order, ptr) = kernel::coalesce(halves, &[2, top as usize + 1][..]);
        // The first position of each.
        let first = order.clone().select(0, ptr.clone().narrow(0, 0, distinct.dims()[1]));
        (keys.select(0, first), order, ptr)
    };
    let unique = distinct.dims()[0];
    let dtype = index_dtype_for(count);
    let (order, ptr) = (index_tensor(order, dtype), index_tensor(ptr, dtype));
    let index = RowSums::new(Some(order.clone()), ptr.clone()).owner(count).clone();
    // The last group is that of places without a row, of which there are none.
    let end = ptr.clone().narrow(0, unique, 1);
    let map = RowMap::grouped(index, unique, (order, Tensor::cat(vec![ptr, end], 0)));
    Ok((index_tensor(distinct, own), IndexPlan::of_map(map)))
}
