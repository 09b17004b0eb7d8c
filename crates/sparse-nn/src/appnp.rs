//! Personalised propagation of predictions.

use super::dropout::try_sparse_dropout;
use super::features::{Features, check_dropout, check_square};
use burn::config::Config;
use burn::module::Module;
use burn::nn::{Dropout, DropoutConfig};
use burn::tensor::Tensor;
use sparse_macros::or_panic;
use sparse_ops::extend::Drops;
use sparse_ops::{CsrTensor, Result, SparseError};

/// Configuration of an [`Appnp`].
#[derive(Config, Debug)]
pub struct AppnpConfig {
    /// Number of steps.
    pub k: usize,
    /// The probability of a return to the node's own prediction, in `[0, 1]`.
    pub alpha: f64,
    /// The probability with which an edge is dropped in each step of training.
    #[config(default = 0.0)]
    pub dropout: f64,
}

/// Personalised propagation of neural predictions: `k` times `Z = (1 - alpha) A Z + alpha X`, from `Z = X`.
///
/// `A` `[N, N]` is a normalised adjacency (see [`gcn_normalization`](super::gcn_normalization)), and `X` has the
/// predictions of a network for each node. The layer has no parameters. In training, that is on an autodiff device
/// with a layer that is not frozen, each step drops edges of its own. Gradients reach `X` and the values of `A`. Cost:
/// `O(k * nnz * F)`. (PyG's `APPNP`, which normalises in the layer.)
///
/// Source: Gasteiger, Bojchevski, Günnemann, *Predict then propagate: graph neural networks meet personalized
/// PageRank*, ICLR 2019.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{data::karate, nn::{AppnpConfig, symmetric_normalization}};
///
/// let device = Device::flex();
/// let adjacency = symmetric_normalization(&karate(&device).adjacency, true);
/// let layer = AppnpConfig::new(10, 0.1).init();
/// assert_eq!(layer.forward(&adjacency, Tensor::ones([34, 4], &device)).dims(), [34, 4]);
/// ```
#[derive(Module, Debug)]
pub struct Appnp {
    /// Number of steps.
    pub k: usize,
    /// The probability of a return.
    pub alpha: f64,
    /// Dropout of edges.
    pub dropout: Dropout,
}

impl AppnpConfig {
    /// The layer.
    ///
    /// # Errors
    ///
    /// `invalid` for an `alpha` outside `[0, 1]` or a dropout outside `[0, 1)`.
    #[or_panic]
    pub fn try_init(&self) -> Result<Appnp> {
        const OP: &str = "AppnpConfig::init";
        if !(0.0..=1.0).contains(&self.alpha) {
            return Err(SparseError::invalid(OP, format!("alpha must be in [0, 1], got {}", self.alpha)));
        }
        check_dropout(OP, self.dropout)?;
        Ok(Appnp { k: self.k, alpha: self.alpha, dropout: DropoutConfig::new(self.dropout).init() })
    }
}

impl Appnp {
    /// `adjacency [N, N]`, `x [N, F]` to `[N, F]`.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `dtype_mismatch`, `unsupported_dtype`, `device_mismatch`; with dropout, `fill_mismatch` for an
    /// adjacency whose fill is not zero or undefined.
    #[or_panic]
    pub fn try_forward(&self, adjacency: &CsrTensor<2>, x: Tensor<2>) -> Result<Tensor<2>> {
        const OP: &str = "Appnp::forward";
        check_square(OP, adjacency)?;
        Features::Dense(x.clone()).check(OP, adjacency, x.dims()[1])?;
        let drops = Drops::any(&self.dropout, &x);
        let own = x.clone().mul_scalar(self.alpha);
        let mut z = x;
        for _ in 0..self.k {
            let kept = if drops { &try_sparse_dropout(adjacency, self.dropout.prob)? } else { adjacency };
            z = kept.try_matmul(z)?.mul_scalar(1.0 - self.alpha) + own.clone();
        }
        Ok(z)
    }
}
