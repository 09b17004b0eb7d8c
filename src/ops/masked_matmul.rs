//! Dense x dense, sampled at a pattern.

use crate::base::checks::{same_device, same_elements};
use crate::base::exact::Exact;
use crate::base::kind::{Kind, Numeric, as_float, from_float};
use crate::kernel;
use crate::pattern::layout::Pattern;
use crate::pattern::view::View;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{Int, Tensor};
use sparse_autograd::{Erased, record};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

/// `x x y` at the pattern of `mask`, whose values do not matter: `[M, F] x [F, N]`, and batches of these.
///
/// `out[k] = <x[r_k, :], y[:, c_k]>` (SDDMM). The result has the mask's pattern, in its order, and fill zero. A mask
/// may be uncoalesced: each duplicate gets the product. Backward: `d x = G x y^T` and `d y = x^T x G` with `G` the
/// sparse gradient, by SpMM. Cost: `2 * nnz * F` operations. Nothing of size `M x N` is formed.
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
    let fits = |matrix: &_| {
        let _: &crate::pattern::matrix::Matrix = matrix;
        left[D - 1] == right[D - 2]
            && left[..D - 1] == shape[..D - 1]
            && right[D - 1] == shape[D - 1]
            && right[..D - 2] == shape[..D - 2]
    };
    let Some(matrix) = matrix.filter(|matrix| fits(matrix)) else {
        return Err(SparseError::ShapeMismatch {
            op: OP,
            rule: "x [.., M, F] x y [.., F, N] must have the shape [.., M, N] of the mask, got {left} (of x, then of \
                   y) and {right}",
            left: left.iter().chain(&right).copied().collect(),
            right: shape.to_vec(),
        });
    };
    same_elements(OP, &x, &y)?;
    same_device(OP, &x.device(), &mask.device())?;
    let batch: usize = shape[..D - 2].iter().product();
    let (m, f, n) = (left[D - 2], left[D - 1], right[D - 1]);
    let x = x.reshape(Exact([batch * m, f]));
    let y = y.swap_dims(D - 2, D - 1).reshape(Exact([batch * n, f]));
    let values = sddmm(matrix, x, y);
    Ok(SparseTensor::from_parts(mask.pattern.clone(), values, vec![], Fill::Zero))
}

#[derive(Debug)]
struct Saved {
    by_row: Option<View>,
    by_col: Option<View>,
    x: Option<Tensor<2>>,
    y: Option<Tensor<2>>,
}

/// `out[k] = <x[row_k, :], y[col_k, :]>` for flat operands.
fn sddmm<K: Numeric>(matrix: &crate::pattern::matrix::Matrix, x: Tensor<2, K>, y: Tensor<2, K>) -> Tensor<2, K> {
    let (rows, cols): (&Tensor<1, Int>, _) = (matrix.row_ids(), matrix.col_ids());
    let out = kernel::sddmm(rows, cols, &x, &y);
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
                view.rows(|lines| kernel::spmm(lines, &grad, other)).into()
            })
        };
        [side(x, &saved.by_row, &saved.y), side(y, &saved.by_col, &saved.x)]
    }))
}
