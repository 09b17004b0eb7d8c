//! Gradients of sparse x dense with an extremum, by the kernels of [`reduce`](super::reduce) and
//! [`sddmm`](super::sddmm). They sum only the terms whose product equals the result.
//!
//! No product is stored. The backward pass computes each again, in the same arithmetic, and compares it with the
//! result.

use super::reduce::{Combine, combine_rows};
use super::sddmm::sampled;
use burn_cubecl::tensor::CubeTensor;

/// `reads` are the values, the dense operand, the result and its gradient.
pub(super) fn rows_backward(
    rows: CubeTensor,
    (ptr, cols): (CubeTensor, CubeTensor),
    [values, dense, out, grad]: [CubeTensor; 4],
    need_values: bool,
) -> (CubeTensor, Option<CubeTensor>) {
    let combine = Combine::Shares { out: out.clone(), grad };
    let shares = combine_rows(combine, ptr, Some(cols.clone()), Some((values.clone(), None)), dense.clone());
    let grads = need_values.then(|| sampled(rows, cols, shares.clone(), dense, Some((values, out))));
    (shares, grads)
}

/// `reads` are the values, the dense operand, the result and the shares.
pub(super) fn cols_backward(
    ptr: CubeTensor,
    rows: CubeTensor,
    perm: Option<CubeTensor>,
    [values, dense, out, shares]: [CubeTensor; 4],
) -> CubeTensor {
    combine_rows(Combine::Matched { dense, out }, ptr, Some(rows), Some((values, perm)), shares)
}
