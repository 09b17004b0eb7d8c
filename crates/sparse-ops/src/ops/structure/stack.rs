//! Joining several tensors along a new dim, or along the diagonal.

use crate::base::checks::{resolve_axis, same_device, same_dtype};
use crate::base::empty::cat_rows;
use crate::base::kind::Kind;
use crate::base::sizes::cells;
use crate::ops::structure::concat::{check, first_part, try_concat};
use crate::pattern::concat;
use crate::pattern::layout::Pattern;
use crate::rows::move_rows;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{AsIndex, Tensor};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

/// Stacks the tensors of `parts`, all of one shape, along a new `dim` in `[-rank - 1, rank + 1)`:
/// `out[.., k, ..] = parts[k][.., ..]`. The rank `D2` is `D + 1`.
///
/// The fills must agree, as for [`concat`](crate::ops::concat()), and the result has that fill. In a hybrid tensor a
/// new dim after a dense one is dense, and one right after the sparse dims is sparse. Along a dense dim the result has
/// the union of the patterns and the fills are joined, as [`concat`](crate::ops::concat()) does. CSR matrices give a
/// batch (dim 0), or a CSR tensor of rank 3 with the new dim second or last.
///
/// Backward: each part gets the gradient of its own elements. Cost: one pass over patterns and values; the stacked
/// pattern is kept with the first part's. Semantics of PyTorch's `stack`.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CsrTensor, ops::stack};
///
/// let device = Device::flex();
/// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 0.0]], &device));
/// let b = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 2.0]], &device));
/// let batch: CsrTensor<3> = stack(&[a, b], 0);
/// assert_eq!(batch.dims(), [2, 1, 2]);
/// assert_eq!(batch.to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 0.0, 0.0, 2.0]);
/// ```
///
/// # Errors
///
/// `empty_input`, `axis_out_of_range`, `shape_mismatch` (also where `D2` is not `D + 1`, or CSR would have another rank
/// than 2 or 3), `layout_mismatch` (another number of dense dims), `dtype_mismatch`, `fill_mismatch`, `undefined_fill`,
/// `device_mismatch`, `overflow`; `would_densify` for CSR with more than [the limit](crate::Limits) of rows that
/// are almost all empty.
#[or_panic]
pub fn try_stack<P: Pattern, const D: usize, const D2: usize, K: Kind>(
    parts: &[SparseTensor<P, D, K>],
    dim: impl AsIndex,
) -> Result<SparseTensor<P, D2, K>> {
    const OP: &str = "stack";
    let first = first_part(OP, parts)?;
    check_rank::<P>(OP, D, D2)?;
    let axis = resolve_axis(OP, dim, D2)?;
    let sparse = first.sparse_dims();
    let along_dense = axis > sparse;
    // No dim of the parts may differ.
    parts.iter().try_for_each(|part| check(OP, first, part, D, along_dense))?;
    if along_dense {
        let unsqueezed = parts.iter().map(|part| {
            let mut dense_shape = part.dense_shape.clone();
            dense_shape.insert(axis - sparse, 1);
            SparseTensor::from_parts(part.pattern.clone(), part.values.clone(), dense_shape, part.fill.clone())
        });
        return try_concat(&unsqueezed.collect::<Vec<_>>(), axis);
    }
    let mut shape = first.pattern.shape().to_vec();
    shape.insert(axis, parts.len());
    P::check_shape(OP, &shape, parts.iter().map(|part| part.pattern.memo().held()).sum())?;
    let patterns: Vec<P> = parts.iter().map(|part| part.pattern.clone()).collect();
    let (pattern, map) = concat::stack(&patterns, axis, &shape);
    let values = joined_values(parts);
    let values = match map {
        None => values,
        Some(map) => move_rows(values, first.fill_row(), &map),
    };
    Ok(SparseTensor::from_parts(pattern, values, first.dense_shape.clone(), first.fill.clone()))
}

/// The block-diagonal matrix `[sum of rows, sum of columns]` of the matrices `parts`, whose shapes may differ. It makes
/// one graph of a batch of graphs.
///
/// Elements outside the blocks are zero, so all fills must be zero. If all are `Undefined`, so is that of the result.
///
/// Backward: each part gets the gradient of its own elements. Cost: a copy of coordinates and values; the pattern is
/// kept with the first part's. Semantics of SciPy's `block_diag`.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CsrTensor, ops::block_diag};
///
/// let device = Device::flex();
/// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0]], &device));
/// let b = CsrTensor::<2>::from_dense(Tensor::from_floats([[2.0, 3.0]], &device));
/// let c = block_diag(&[a, b]);
/// assert_eq!(c.to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 0.0, 0.0, 0.0, 2.0, 3.0]);
/// ```
///
/// # Errors
///
/// `empty_input`, `shape_mismatch` for what is no matrix of two sparse dims, `dtype_mismatch`, `fill_mismatch`,
/// `device_mismatch`, `would_densify` for another fill than `Zero` or `Undefined`, `overflow`.
#[or_panic]
pub fn try_block_diag<P: Pattern, K: Kind>(parts: &[SparseTensor<P, 2, K>]) -> Result<SparseTensor<P, 2, K>> {
    const OP: &str = "block_diag";
    let first = first_part(OP, parts)?;
    let mut shape = [0u128; 2];
    for part in parts {
        check_matrix(OP, part)?;
        same_dtype(OP, first.dtype(), part.dtype())?;
        same_device(OP, &first.device(), &part.device())?;
        let [rows, cols] = part.dims();
        shape = [shape[0] + rows as u128, shape[1] + cols as u128];
    }
    let limit = i64::MAX as u128;
    if let Some(&got) = shape.iter().find(|&&size| size > limit) {
        return Err(SparseError::overflow(OP, "a dimension", limit, got));
    }
    let shape = shape.map(|size| size as usize);
    for part in parts {
        check_vanishing(OP, part, &shape)?;
        if first.fill.is_undefined() != part.fill.is_undefined() {
            return Err(SparseError::fill_mismatch(OP, &first.fill, &part.fill));
        }
    }
    if parts.len() == 1 {
        return Ok(first.clone());
    }
    let patterns: Vec<P> = parts.iter().map(|part| part.pattern.clone()).collect();
    let pattern = concat::block_diag(&patterns, &shape);
    let fill = if first.fill.is_undefined() { Fill::Undefined } else { Fill::Zero };
    Ok(SparseTensor::from_parts(pattern, joined_values(parts), vec![], fill))
}

fn joined_values<P: Pattern, const D: usize, K: Kind>(parts: &[SparseTensor<P, D, K>]) -> Tensor<2, K> {
    cat_rows(parts.iter().map(|part| part.values.clone()))
}

fn check_rank<P: Pattern>(op: &'static str, rank: usize, result: usize) -> Result<()> {
    let rule = if result != rank + 1 {
        "the result must have one dim more, got parts of rank {left:1} for a result of rank {right:1}"
    } else if !P::has_rank(result) {
        "CSR must have rank 2 or 3 (use COO for any other), got parts of rank {left:1} for a result of rank {right:1}"
    } else {
        return Ok(());
    };
    Err(SparseError::shape_mismatch(op, rule, [rank], [result]))
}

/// Checks that both dims of a tensor of rank 2 are sparse.
pub(crate) fn check_matrix<P: Pattern, K: Kind>(op: &'static str, matrix: &SparseTensor<P, 2, K>) -> Result<()> {
    if matrix.dense_dims() == 0 {
        return Ok(());
    }
    let rule = "both dims of a matrix must be sparse, got shape {left} with [sparse, dense] dims {right}";
    Err(SparseError::shape_mismatch(op, rule, matrix.dims(), [matrix.sparse_dims(), matrix.dense_dims()]))
}

/// Checks that elements that become zero may be unspecified in a result of `shape`.
pub(crate) fn check_vanishing<P: Pattern, const D: usize, K: Kind>(
    op: &'static str,
    tensor: &SparseTensor<P, D, K>,
    shape: &[usize],
) -> Result<()> {
    if tensor.fill.is_undefined() || tensor.fill.is_zero() {
        return Ok(());
    }
    let hint =
        "use to_dense first, or with_fill(Fill::Undefined): elements become zero, and the fill is another number";
    Err(SparseError::would_densify(op, cells(shape), hint))
}
