//! Dropout of stored values, and of dense tensors.

use super::normalization::check_fill;
use burn::nn::Dropout;
use burn::tensor::Tensor;
use sparse_macros::or_panic;
use sparse_ops::extend::{Drops, Erased, Parts, record};
use sparse_ops::pattern::Pattern;
use sparse_ops::{Result, SparseError, SparseTensor};

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
    if !(0.0..1.0).contains(&p) {
        return Err(SparseError::invalid(OP, format!("p must be in [0, 1), got {p}")));
    }
    check_fill(OP, x)?;
    if !x.is_coalesced() {
        let message = "use coalesce first: duplicates must be summed, got an uncoalesced tensor";
        return Err(SparseError::invalid(OP, message));
    }
    if p == 0.0 {
        return Ok(x.clone());
    }
    Ok(x.with_rows(dropped(x.rows().clone(), p), x.fill().clone()))
}

/// What Burn's [`Dropout`] layer does to a dense tensor, on all cores of a CPU.
///
/// Each number becomes 0 with the layer's probability `p` and is multiplied by `1 / (1 - p)` otherwise. The layer
/// applies on an autodiff device only, that is, in training, and not while it is frozen. Which numbers are dropped
/// follows from `Device::seed`. On a CPU the device's generator gives a seed and not the numbers themselves, which it
/// draws one after the other. So these are others than those of `Dropout::forward`. Kept numbers pass their gradient
/// on, times `1 / (1 - p)`. On a CPU nothing is kept for the backward pass, which makes the mask again; a GPU keeps the
/// factors.
///
/// ```
/// use burn::nn::DropoutConfig;
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::nn::dropout;
///
/// let (layer, device) = (DropoutConfig::new(0.5).init(), Device::flex());
/// let trained = dropout(Tensor::<2>::ones([4, 4], &device.clone().autodiff()), &layer);
/// assert!(trained.into_data().iter::<f32>().all(|x| x == 0.0 || x == 2.0));
/// let evaluated = dropout(Tensor::<2>::ones([4, 4], &device), &layer);
/// assert!(evaluated.into_data().iter::<f32>().all(|x| x == 1.0));
/// ```
pub fn dropout<const D: usize>(x: Tensor<D>, layer: &Dropout) -> Tensor<D> {
    if Drops::any(layer, &x) { dropped(x, layer.prob) } else { x }
}

fn dropped<const D: usize>(x: Tensor<D>, p: f64) -> Tensor<D> {
    let drops = Drops::draw(x.dims(), (&x.device().inner(), x.dtype()), p);
    let out = drops.apply(x.clone().inner());
    record(out, [Erased::from(x)], drops, |drops, grad, _| [Some(drops.apply(grad).into())])
}
