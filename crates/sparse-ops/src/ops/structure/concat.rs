//! Concatenation.

use crate::base::checks::{resolve_axis, same_device, same_dtype};
use crate::base::empty::nothing;
use crate::base::exact::Exact;
use crate::base::kind::Kind;
use crate::pattern::concat;
use crate::pattern::layout::Pattern;
use crate::pattern::merge::{located, merged};
use crate::rows::move_rows;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{AsIndex, Tensor};
use sparse_burn::MergeRule;
use sparse_core::{Result, SparseError};
use sparse_macros::{async_variant, or_panic};

/// Joins the tensors of `parts` along `dim` in `[-rank, rank)`. Burn's `Tensor::cat` does the same, but takes a `Vec`.
///
/// The shapes must agree except along `dim`. The fills must agree, and the result has that fill. Fills held by tensors
/// are compared by value, which reads them from the device once. Copies of one [`Fill`](crate::Fill) are known to agree
/// without a read, so use those in a training step.
///
/// - COO along dim 0: coordinates are copied and shifted. Along another sparse dim, coalesced parts are merged as
///   sorted runs, and the result is coalesced. With an uncoalesced part the result is uncoalesced, and the elements of
///   each part follow those of the part before it.
/// - CSR along the rows: the rows of each part follow those of the part before it. Along the columns, the parts are
///   merged row by row. A batch can be joined along any of its three dims.
/// - Along a dense dim of a hybrid tensor: the result has the union of the patterns, and a part that has no block at
///   some coordinate gives its fill there. The fills are joined and may differ. With an `Undefined` fill the patterns
///   must be equal. Parts are coalesced first.
///
/// Backward: each part gets the gradient of its own elements, in its own order. Cost: one pass over patterns and
/// values. The joined pattern is kept with the first part's, so a loop over fixed patterns joins them once. Semantics:
/// SciPy's `vstack` and `hstack` and PyTorch's `cat`.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CsrTensor, ops::concat};
///
/// let device = Device::flex();
/// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 0.0], [0.0, 2.0]], &device));
/// let b = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0], [3.0]], &device));
/// let c = concat(&[a, b], 1);
/// assert_eq!(c.dims(), [2, 3]);
/// assert_eq!(c.to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 0.0, 0.0, 0.0, 2.0, 3.0]);
/// ```
///
/// # Errors
///
/// `empty_input`, `axis_out_of_range`, `shape_mismatch`, `layout_mismatch` (another number of dense dims),
/// `dtype_mismatch`, `fill_mismatch`, `undefined_fill`, `device_mismatch`, `overflow`.
#[async_variant]
#[or_panic]
pub fn try_concat<P: Pattern, const D: usize, K: Kind>(
    parts: &[SparseTensor<P, D, K>],
    dim: impl AsIndex,
) -> Result<SparseTensor<P, D, K>> {
    const OP: &str = "concat";
    let first = first_part(OP, parts)?;
    let axis = resolve_axis(OP, dim, D)?;
    let along_dense = axis >= first.sparse_dims();
    parts.iter().try_for_each(|part| check(OP, first, part, axis, along_dense))?;
    let size = parts.iter().try_fold(0usize, |sum, part| sum.checked_add(part.dims()[axis]));
    let Some(size) = size.filter(|&size| size <= i64::MAX as usize) else {
        let got = parts.iter().map(|part| part.dims()[axis] as u128).sum::<u128>();
        return Err(SparseError::overflow(OP, "the joined dim", i64::MAX, got));
    };
    if parts.len() == 1 {
        return Ok(first.clone());
    }
    if along_dense {
        return concat_blocks(OP, parts, axis - first.sparse_dims());
    }
    let mut shape = first.pattern.shape().to_vec();
    shape[axis] = size;
    // The row pointers of the parts take that much memory already.
    P::check_shape(OP, &shape, parts.iter().map(|part| part.pattern.memo().held()).sum())?;
    let patterns: Vec<P> = parts.iter().map(|part| part.pattern.clone()).collect();
    let values: Vec<&Tensor<2, K>> = parts.iter().map(|part| &part.values).collect();
    let (pattern, values) = concat::concat(&patterns, &values, || first.fill_row(), axis, &shape);
    Ok(SparseTensor::from_parts(pattern, values, first.dense_shape.clone(), first.fill.clone()))
}

/// The first of the tensors to join.
pub(crate) fn first_part<'a, T>(op: &'static str, parts: &'a [T]) -> Result<&'a T> {
    let what = "at least one tensor is needed, got an empty list";
    parts.first().ok_or_else(|| SparseError::empty_input(op, what))
}

/// Checks that a part can be joined to the first one along an axis, or along a new one (`axis` is the rank).
pub(crate) fn check<P: Pattern, const D: usize, K: Kind>(
    op: &'static str,
    first: &SparseTensor<P, D, K>,
    part: &SparseTensor<P, D, K>,
    axis: usize,
    along_dense: bool,
) -> Result<()> {
    let (left, right) = (first.dims(), part.dims());
    if (0..D).any(|dim| dim != axis && left[dim] != right[dim]) {
        let rule = "each part must have the sizes {left} of the first one except along the joined dim, got {right}";
        return Err(SparseError::shape_mismatch(op, rule, left, right));
    }
    if first.dense_dims() != part.dense_dims() {
        let name = |dims: usize| format!("{} with {dims} dense dims", P::LAYOUT);
        return Err(SparseError::layout_mismatch(op, name(first.dense_dims()), name(part.dense_dims())));
    }
    same_dtype(op, first.dtype(), part.dtype())?;
    same_device(op, &first.device(), &part.device())?;
    let same = if along_dense {
        first.fill.is_undefined() == part.fill.is_undefined()
    } else {
        first.fill.same(&part.fill, first.dtype())
    };
    if same {
        return Ok(());
    }
    Err(SparseError::fill_mismatch(op, &first.fill, &part.fill))
}

/// Along a dense dim: every part is brought to the union of the patterns, then the blocks are joined.
fn concat_blocks<P: Pattern, const D: usize, K: Kind>(
    op: &'static str,
    parts: &[SparseTensor<P, D, K>],
    dim: usize,
) -> Result<SparseTensor<P, D, K>> {
    let parts: Vec<SparseTensor<P, D, K>> = parts.iter().map(SparseTensor::coalesce).collect();
    let first = &parts[0];
    let mut union = first.pattern.clone();
    for part in &parts[1..] {
        if !union.is_same(&part.pattern) {
            union = merged(MergeRule::Union, &union, &part.pattern).0;
        }
    }
    if first.fill.is_undefined() && parts.iter().any(|part| part.nnz() != union.nnz()) {
        let hint =
            "use with_fill, or intersect_with to give all parts one pattern: along a dense dim theirs must be equal";
        return Err(SparseError::undefined_fill(op, hint));
    }
    let mut dense_shape = first.dense_shape.clone();
    dense_shape[dim] = parts.iter().map(|part| part.dense_shape[dim]).sum();
    let outer: usize = dense_shape[..dim].iter().product();
    let rows = parts.iter().map(|part| {
        if union.is_same(&part.pattern) {
            return part.values.clone();
        }
        move_rows(part.values.clone(), part.fill_row(), &located(&union, &part.pattern))
    });
    let values = join(rows.collect(), outer);
    let fill = match &first.fill {
        Fill::Undefined => Fill::Undefined,
        _ if parts.iter().all(|part| matches!(part.fill, Fill::Zero)) => Fill::Zero,
        _ => Fill::block(join(parts.iter().map(SparseTensor::fill_row).collect(), outer)),
    };
    Ok(SparseTensor::from_parts(union, values, dense_shape, fill))
}

/// Joins the rows of parts, whose blocks are `[outer, size of the part * inner]`, along the last dim.
fn join<K: Kind>(rows: Vec<Tensor<2, K>>, outer: usize) -> Tensor<2, K> {
    let (count, width) = (rows[0].dims()[0], rows.iter().map(|rows| rows.dims()[1]).sum());
    if count == 0 || width == 0 {
        // Some devices cannot join empty tensors.
        return nothing([count, width], rows[0].dtype(), &rows.iter().collect::<Vec<_>>());
    }
    let split = rows.into_iter().map(|rows| {
        let width = rows.dims()[1].checked_div(outer).unwrap_or(0);
        rows.reshape(Exact([count, outer, width]))
    });
    let joined: Tensor<3, K> = Tensor::cat(split.collect(), 2);
    joined.reshape(Exact([count, width]))
}
