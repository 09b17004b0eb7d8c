//! Dropout of stored values.

use super::normalization::check_fill;
use crate::kernel;
use crate::pattern::layout::Pattern;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::Tensor;
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

/// Inverted dropout: each stored value becomes 0 with probability `p` and is divided by `1 - p` otherwise.
///
/// An unspecified zero stays zero in any case, so this equals dropout of the dense equivalent, at the cost of the
/// stored values. The result shares the pattern, so nothing that was derived from it is computed again. Which
/// values are dropped follows from `Device::seed`. Unlike Burn's `Dropout` this always drops, so call it only in
/// training. Backward: kept values pass their gradient on, divided by `1 - p`.
///
/// Source: Srivastava et al., *Dropout: a simple way to prevent neural networks from overfitting*, 2014.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CsrTensor, nn::sparse_dropout};
///
/// let x = CsrTensor::<2>::from_dense(Tensor::ones([4, 4], &Device::flex()));
/// let dropped = sparse_dropout(&x, 0.5).values::<1>().into_data();
/// assert!(dropped.iter::<f32>().all(|value| value == 0.0 || value == 2.0));
/// ```
///
/// # Errors
///
/// `invalid` if `p` is outside `[0, 1)`, or duplicates are not summed yet; `fill_mismatch` if the fill is neither known
/// to be zero nor undefined.
#[or_panic]
pub fn try_sparse_dropout<P: Pattern, const D: usize>(x: &SparseTensor<P, D>, p: f64) -> Result<SparseTensor<P, D>> {
    const OP: &str = "sparse_dropout";
    let invalid = |message: String| Err(SparseError::Invalid { op: OP, message });
    if !(0.0..1.0).contains(&p) {
        return invalid(format!("p must be in [0, 1), got {p}"));
    }
    check_fill(OP, x)?;
    if !x.is_coalesced() {
        return invalid("use coalesce first: duplicates must be summed, got an uncoalesced tensor".into());
    }
    if p == 0.0 {
        return Ok(x.clone());
    }
    let factor = kernel::dropout_factors(x.values.dims(), p, &x.values.device(), x.dtype());
    let factor = if x.values.device().is_autodiff() { Tensor::from_inner(factor) } else { factor };
    Ok(x.with_rows(x.values.clone() * factor, x.fill().clone()))
}
