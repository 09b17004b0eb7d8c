//! Dropout of stored values.

use crate::pattern::layout::Pattern;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::Distribution;
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

/// Inverted dropout: each stored value becomes 0 with probability `p` and is divided by `1 - p` otherwise.
///
/// An unspecified zero stays zero either way, so this is dropout of the dense equivalent at the cost of the stored values.
/// The pattern is kept and shared: what is derived from it is not computed again. Draws come from the device's generator
/// (`Device::seed`). Unlike Burn's `Dropout` it always drops: call it in training only. Backward: kept values pass their
/// gradient on, divided by `1 - p`.
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
/// `invalid` if `p` is outside `[0, 1)`, or duplicates are not summed yet; `fill_mismatch` if the fill is not known to be
/// zero, or undefined.
#[or_panic]
pub fn try_sparse_dropout<P: Pattern, const D: usize>(x: &SparseTensor<P, D>, p: f64) -> Result<SparseTensor<P, D>> {
    const OP: &str = "sparse_dropout";
    let invalid = |message: String| Err(SparseError::Invalid { op: OP, message });
    if !(0.0..1.0).contains(&p) {
        return invalid(format!("p must be in [0, 1), got {p}"));
    }
    let fill = x.fill();
    if !fill.is_zero() && !fill.is_undefined() {
        return Err(SparseError::FillMismatch { op: OP, left: "0".into(), right: fill.to_string() });
    }
    if !x.is_coalesced() {
        return invalid("use coalesce first: duplicates must be summed, got an uncoalesced tensor".into());
    }
    if p == 0.0 {
        return Ok(x.clone());
    }
    // Uniform numbers compared, and a product: on the host Burn 0.22 takes twice as long to draw from Bernoulli, and again
    // to fill by a mask (measured on x86-64, 50,000 values).
    let kept = x.values.random_like(Distribution::Default).lower_scalar(1.0 - p);
    let factor = kept.float().cast(x.dtype()).mul_scalar(1.0 / (1.0 - p));
    Ok(x.with_rows(x.values.clone() * factor, Fill::clone(fill)))
}
