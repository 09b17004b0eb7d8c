//! A matrix of weights for each row, by its group.

use burn::tensor::{Int, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Exact, index_below, index_dtype_for, index_tensor, read_all};
use sparse_ops::pattern::CsrPattern;
use sparse_ops::{CsrTensor, Result, SparseError};

/// `out_i = x_i W_{g(i)}`: rows `x` `[N, K]`, the group of each `[N]`, and a matrix for each group `[G, K, M]`, to
/// `[N, M]`. In any order of the groups, and without a loop over them.
///
/// It is one product with a sparse matrix `[N, G K]` that has row `x_i` in the columns of its group. Backward: to the
/// rows and to the matrices, deterministic. Cost: `O(N K M)`, and `O(N K)` indices. A dense product for each group has
/// less to read where groups have many rows: write the loop for a few large groups. (DGL's and pyg-lib's `gather_mm`.)
///
/// ```
/// use burn::tensor::{Device, Int, Tensor};
/// use sparse_tensor::nn::gather_mm;
///
/// let device = Device::flex();
/// let x = Tensor::<2>::from_floats([[1.0, 2.0], [3.0, 4.0]], &device);
/// let weights = Tensor::<3>::from_floats([[[1.0], [0.0]], [[0.0], [10.0]]], &device);
/// let out = gather_mm(x, Tensor::<1, Int>::from_ints([1, 0], &device), weights);
/// assert_eq!(out.into_data().to_vec::<f32>().unwrap(), [20.0, 3.0]);
/// ```
///
/// # Errors
///
/// `shape_mismatch` for another `K`; `length_mismatch` if there is not one group for each row; `index_out_of_range` for
/// a group without a matrix; `dtype_mismatch`, `device_mismatch`, `unsupported_dtype`.
#[or_panic]
pub fn try_gather_mm(x: Tensor<2>, groups: Tensor<1, Int>, weights: Tensor<3>) -> Result<Tensor<2>> {
    const OP: &str = "gather_mm";
    if groups.dims() != [x.dims()[0]] {
        return Err(SparseError::length_mismatch(OP, "the list of groups", x.dims()[0], groups.dims()[0]));
    }
    // What is out of range is next to it, so that no product of a group and a width wraps.
    let near = groups.clone().inner().clamp(-1, weights.dims()[0] as i64);
    let (row_ptr, col_idx, shape) = places(OP, &x, near, &weights)?;
    let width = x.dims()[1].max(1);
    let wrong = |trouble| match trouble {
        SparseError::IndexOutOfRange { position, .. } => {
            let row = position / width;
            SparseError::index_out_of_range(OP, 0, weights.dims()[0], read_all(groups.inner())[row], row)
        }
        other => other,
    };
    product(CsrPattern::new(row_ptr, col_idx, &shape).map_err(wrong)?, x, weights)
}

/// [`gather_mm`] of rows that are sorted by their groups: group `g` has the rows from `ptr[g]` to `ptr[g + 1]`.
/// (DGL's and pyg-lib's `segment_mm`.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::nn::segment_mm;
///
/// let device = Device::flex();
/// let x = Tensor::<2>::from_floats([[1.0], [2.0], [3.0]], &device);
/// let weights = Tensor::<3>::from_floats([[[1.0]], [[5.0]], [[10.0]]], &device);
/// let out = segment_mm(x, &[0, 2, 2, 3], weights);
/// assert_eq!(out.into_data().to_vec::<f32>().unwrap(), [1.0, 2.0, 30.0]);
/// ```
///
/// # Errors
///
/// `invalid` for pointers that do not ascend from 0 to the number of rows; `length_mismatch` if there is not one more
/// of them than matrices; else those of [`try_gather_mm`].
#[or_panic]
pub fn try_segment_mm(x: Tensor<2>, ptr: &[usize], weights: Tensor<3>) -> Result<Tensor<2>> {
    const OP: &str = "segment_mm";
    let ([rows, _], [count, ..]) = (x.dims(), weights.dims());
    if ptr.len() != count + 1 {
        return Err(SparseError::length_mismatch(OP, "the list of pointers", count + 1, ptr.len()));
    }
    if ptr[0] != 0 || ptr[count] != rows || !ptr.is_sorted() {
        return Err(SparseError::invalid(OP, format!("the pointers must ascend from 0 to {rows}, got {ptr:?}")));
    }
    let groups: Vec<usize> =
        ptr.windows(2).enumerate().flat_map(|(group, ends)| std::iter::repeat_n(group, ends[1] - ends[0])).collect();
    let groups = index_below(&groups, count, &x.device().inner());
    let (row_ptr, col_idx, shape) = places(OP, &x, groups, &weights)?;
    product(CsrPattern::new_unchecked(row_ptr, col_idx, &shape), x, weights)
}

/// Row pointers, columns and shape of the matrix that has each row of `x` in the columns of its group.
fn places(
    op: &'static str,
    x: &Tensor<2>,
    groups: Tensor<1, Int>,
    weights: &Tensor<3>,
) -> Result<(Tensor<1, Int>, Tensor<1, Int>, [usize; 2])> {
    let ([rows, width], [count, own, _]) = (x.dims(), weights.dims());
    if width != own {
        let rule = "the matrices {right} must have a row for each column of the rows {left}";
        return Err(SparseError::shape_mismatch(op, rule, x.dims(), weights.dims()));
    }
    let wide = |a: usize, b: usize| {
        a.checked_mul(b)
            .filter(|&size| size <= i64::MAX as usize)
            .ok_or_else(|| SparseError::overflow(op, "the number of indices", i64::MAX as u128, a as u128 * b as u128))
    };
    let (cols, nnz) = (wide(count, width)?, wide(rows, width)?);
    let (dtype, device) = (index_dtype_for(cols.saturating_add(width).max(nnz)), x.device().inner());
    let steps = |end: usize| Tensor::<1, Int>::arange(0..end as i64, (&device, dtype));
    let row_ptr = steps(rows + 1).mul_scalar(width as i64);
    if nnz == 0 {
        return Ok((row_ptr, Tensor::zeros([0], (&device, dtype)), [rows, cols]));
    }
    let first = index_tensor(groups.inner(), dtype).mul_scalar(width as i64).reshape(Exact([rows, 1]));
    let col_idx = first + steps(width).reshape(Exact([1, width]));
    Ok((row_ptr, col_idx.reshape(Exact([nnz])), [rows, cols]))
}

fn product(pattern: CsrPattern, x: Tensor<2>, weights: Tensor<3>) -> Result<Tensor<2>> {
    let (elements, [count, width, out]) = (x.dims().iter().product(), weights.dims());
    let matrix = CsrTensor::<2>::from_pattern(pattern, x.reshape(Exact([elements])))?;
    matrix.try_matmul(weights.reshape(Exact([count * width, out])))
}
