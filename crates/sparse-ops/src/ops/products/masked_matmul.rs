//! Dense x dense, sampled at a pattern.

use crate::base::checks::{same_device, same_elements};
use crate::base::exact::Exact;
use crate::base::kind::{Kind, Numeric, as_float, from_float};
use crate::kernel;
use crate::ops::products::matmul::matrix;
use crate::ops::products::operand::broadcast;
use crate::pattern::layout::Pattern;
use crate::pattern::matrix::Matrix;
use crate::pattern::view::View;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{Shape, Tensor};
use sparse_autograd::{Erased, record};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

/// `x x y` at the pattern of `mask`, whose values do not matter: `[M, F] x [F, N]`, and batches of these.
///
/// `out[k] = <x[r_k, :], y[:, c_k]>` (SDDMM). The result has the mask's pattern, in its order, and fill zero. A mask
/// may be uncoalesced: each duplicate gets the product. Backward: `d x = G x y^T` and `d y = x^T x G` with `G` the
/// sparse gradient, by SpMM. Cost: `2 * nnz * F` operations. Nothing of size `M x N` is formed. [`head_sddmm`] is the
/// same for several heads.
///
/// # Errors
///
/// `shape_mismatch`, `dtype_mismatch`, `unsupported_dtype`, `device_mismatch`.
#[or_panic]
pub fn try_masked_matmul<P: Pattern, const D: usize, K: Numeric, KM: Kind>(
    x: Tensor<D, K>,
    y: Tensor<D, K>,
    mask: &SparseTensor<P, D, KM>,
) -> Result<SparseTensor<P, D, K>> {
    const OP: &str = "masked_matmul";
    let (left, right, shape) = (x.dims(), y.dims(), mask.dims());
    let matrix = if mask.dense_dims() == 0 { mask.pattern.matrix() } else { None };
    let fits = |_: &&Matrix| {
        left[D - 1] == right[D - 2]
            && left[..D - 1] == shape[..D - 1]
            && right[D - 1] == shape[D - 1]
            && right[..D - 2] == shape[..D - 2]
    };
    let Some(matrix) = matrix.filter(fits) else {
        let rule = "x [.., M, F] x y [.., F, N] must have the shape [.., M, N] of the mask, got {left} (of x, then of \
                    y) and {right}";
        return Err(SparseError::shape_mismatch(OP, rule, [left, right].concat(), shape));
    };
    same_elements(OP, &x, &y)?;
    same_device(OP, &x.device(), &mask.device())?;
    let batch: usize = shape[..D - 2].iter().product();
    let (m, f, n) = (left[D - 2], left[D - 1], right[D - 1]);
    let x = x.reshape(Exact([batch * m, f]));
    let y = y.swap_dims(D - 2, D - 1).reshape(Exact([batch * n, f]));
    let values = sddmm(matrix, x, y, 1);
    Ok(SparseTensor::from_parts(mask.pattern.clone(), values, vec![], Fill::Zero))
}

/// The products of the rows of `x` and `y`, head by head, at the pattern of `mask`: `[M, heads, F]` and `[N, heads, F]`
/// give a sparse tensor `[M, N, heads]`.
///
/// `out[k, h] = <x[r_k, h, :], y[c_k, h, :]>`: the scores of attention with several heads. The values of the mask do
/// not matter, and neither do its dense dims. The result has the mask's pattern, in its order, and fill zero; its dense
/// dims are those between the rows and the features. Any number of them; without any this is `masked_matmul` with the
/// second operand transposed. Those of size 1 broadcast. For a batch of masks `[B, M, N]`: `[B, M, heads, F]` and
/// `[B, N, heads, F]`, where a `B` of 1 broadcasts.
///
/// One pass over the pattern does all heads, and the same holds for each gradient: `d x[r, h, :] = sum_k d out[k, h] *
/// y[c_k, h, :]` over the elements of row `r`, and `d y` likewise over those of a column (SpMM). Nothing of size
/// `nnz x heads x F` is formed. Cost: `2 * nnz * heads * F` operations. This is `bsddmm` of dgl.sparse, with the
/// features last.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CsrTensor, Fill, ops};
///
/// let device = Device::flex();
/// let edges = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 1.0], [0.0, 1.0]], &device));
/// let [query, key, value] = [1.0, 2.0, 3.0].map(|x| Tensor::<3>::full([2, 4, 8], x, &device));
///
/// let scores = ops::head_sddmm(query, key, &edges);
/// assert_eq!(scores.dims(), [2, 2, 4]);
/// let attention = (scores / 8.0_f64.sqrt()).with_fill(Fill::Undefined).softmax(1);
/// assert_eq!(attention.matmul(value).dims(), [2, 4, 8]);
/// ```
///
/// # Errors
///
/// `shape_mismatch` if the mask is not a matrix or a batch of matrices, or sizes do not fit; `dtype_mismatch`,
/// `unsupported_dtype`, `device_mismatch`.
#[or_panic]
pub fn try_head_sddmm<P: Pattern, const D: usize, const DM: usize, K: Numeric, KM: Kind>(
    x: Tensor<D, K>,
    y: Tensor<D, K>,
    mask: &SparseTensor<P, DM, KM>,
) -> Result<SparseTensor<P, D, K>> {
    const OP: &str = "head_sddmm";
    let matrix = matrix(OP, mask)?;
    let shape = mask.pattern.shape();
    let Some([left, right]) = head_shapes(shape, x.dims(), y.dims()) else {
        let rule = "x [.., M, heads.., F] and y [.., N, heads.., F] must fit the sparse dims [.., M, N] of the mask, \
                    got {left} (of x, then of y) and {right}";
        return Err(SparseError::shape_mismatch(OP, rule, [x.dims(), y.dims()].concat(), shape));
    };
    same_elements(OP, &x, &y)?;
    same_device(OP, &x.device(), &mask.device())?;
    let rows = shape.len() - 1;
    let heads = left[rows..D - 1].to_vec();
    let count: usize = heads.iter().product();
    let values = sddmm(matrix, flat(x, left, rows), flat(y, right, rows), count);
    Ok(SparseTensor::from_parts(mask.pattern.clone(), values, heads, Fill::Zero))
}

/// The sizes of both operands after broadcasting, if they fit a pattern of this shape.
pub(crate) fn head_shapes<const D: usize>(pattern: &[usize], x: [usize; D], y: [usize; D]) -> Option<[[usize; D]; 2]> {
    let batched = pattern.len() - 2;
    if D < pattern.len() || [x[batched], y[batched]] != pattern[batched..] || x[D - 1] != y[D - 1] {
        return None;
    }
    let (mut left, mut right) = (x, y);
    for dim in (0..batched).chain(batched + 1..D - 1) {
        let both = broadcast(x[dim], y[dim])?;
        let size =
            if dim < batched { broadcast(both, pattern[dim]).filter(|&size| size == pattern[dim])? } else { both };
        (left[dim], right[dim]) = (size, size);
    }
    Some([left, right])
}

/// A dense operand, repeated to the shape `full` whose first `rows` dims are those of the rows: `[rows, heads * F]`.
pub(crate) fn flat<const D: usize, K: Numeric>(dense: Tensor<D, K>, full: [usize; D], rows: usize) -> Tensor<2, K> {
    let dense = if dense.dims() == full { dense } else { dense.expand(Shape::from(full)) };
    dense.reshape(Exact([full[..rows].iter().product(), full[rows..].iter().product()]))
}

#[derive(Debug)]
struct Saved {
    by_row: Option<View>,
    by_col: Option<View>,
    x: Option<Tensor<2>>,
    y: Option<Tensor<2>>,
}

/// `out[k, h] = <x[row_k, h, :], y[col_k, h, :]>` for flat operands `[rows, heads * F]` and `[cols, heads * F]`.
pub(crate) fn sddmm<K: Numeric>(matrix: &Matrix, x: Tensor<2, K>, y: Tensor<2, K>, heads: usize) -> Tensor<2, K> {
    let out = kernel::sddmm(matrix.row_ids(), matrix.col_ids(), &x, &y, heads);
    let (Some(x), Some(y)) = (as_float(&x), as_float(&y)) else { return out };
    let out = as_float(&out).expect("the kind of the factors");
    let saved = Saved {
        by_row: x.is_tracked().then(|| matrix.row_view()),
        by_col: y.is_tracked().then(|| matrix.col_view()),
        x: y.is_tracked().then(|| x.clone().inner()),
        y: x.is_tracked().then(|| y.clone().inner()),
    };
    from_float(record(out, [Erased::from(x), Erased::from(y)], saved, |saved, grad, [x, y]| {
        let side = |needed: bool, view: &Option<View>, other: &Option<Tensor<2>>| {
            needed.then(|| {
                let view = view.as_ref().expect("saved for a tracked factor");
                let other = other.as_ref().expect("saved with the view");
                view.times(&grad, other, 1).into()
            })
        };
        [side(x, &saved.by_row, &saved.y), side(y, &saved.by_col, &saved.x)]
    }))
}
