//! Memory-based pooling.

use super::dense_pool::{check_dense, kept};
use super::features::{check_width, linear_map};
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::{Initializer, Linear};
use burn::tensor::activation::softmax;
use burn::tensor::{Bool, Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Exact, expand, same_elements};
use sparse_ops::{Result, SparseError};

/// Configuration of a [`MemoryPool`].
#[derive(Config, Debug)]
pub struct MemoryPoolConfig {
    /// Number of features of a node.
    pub d_input: usize,
    /// Number of features of a cluster.
    pub d_output: usize,
    /// Number of heads, each with keys of its own.
    pub heads: usize,
    /// Number of clusters.
    pub clusters: usize,
    /// The degrees of freedom of Student's t distribution.
    #[config(default = 1.0)]
    pub tau: f64,
}

/// Memory-based pooling: clusters are keys that nodes are compared with.
///
/// `S = softmax(sum_h w_h C_h)` over the clusters, where row `i` of `C_h` has the shares of
/// `(1 + |x_i - k_hj|^2 / tau)^(-(tau + 1) / 2)` among all clusters `j`; then the clusters are `S^T X W`. The weights
/// `w`, the keys and `W` are trained; [`memory_loss`] is the loss of the keys. (PyG's `MemPooling`.)
///
/// Cost: `O(B M d_input heads clusters)`.
///
/// Source: Khasahmadi et al., *Memory-based graph networks*, ICLR 2020.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::nn::{DenseBatch, MemoryPoolConfig, memory_loss};
/// use sparse_tensor::ops::IndexPlan;
///
/// let device = Device::flex();
/// let graphs = IndexPlan::from_list(&[0, 0, 1], 2, &device).unwrap();
/// let batch = DenseBatch::new(Tensor::ones([3, 4], &device), &graphs);
/// let pool = MemoryPoolConfig::new(4, 8, 2, 3).init(&device);
/// let (x, assignment) = pool.forward(batch.x, Some(batch.mask));
/// assert_eq!((x.dims(), assignment.dims()), ([2, 3, 8], [2, 2, 3]));
/// assert!(memory_loss(assignment).into_scalar::<f32>() > -1e-5); // a divergence, rounded
/// ```
#[derive(Module, Debug)]
pub struct MemoryPool {
    /// The keys, `[heads, clusters, d_input]` (PyG's `k`).
    pub keys: Param<Tensor<3>>,
    /// `w`, `[heads]` (PyG's `conv`).
    pub heads: Param<Tensor<1>>,
    /// `W` (PyG's `lin`).
    pub linear: Linear,
    tau: f64,
}

impl MemoryPoolConfig {
    /// A layer on `device`. Keys start uniform in `[-1, 1]`, `w` in `±1 / sqrt(heads)`, `W` as Burn's `Linear` does.
    ///
    /// # Errors
    ///
    /// `invalid` for no heads, clusters or features, or a `tau` that is not above 0.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<MemoryPool> {
        const OP: &str = "MemoryPoolConfig::init";
        let Self { d_input, d_output, heads, clusters, tau } = *self;
        if [d_input, d_output, heads, clusters].contains(&0) {
            let message = format!(
                "there must be features, heads and clusters, got {d_input} and {d_output} features, {heads} heads, \
                 {clusters} clusters"
            );
            return Err(SparseError::invalid(OP, message));
        }
        if tau.is_nan() || tau <= 0.0 {
            return Err(SparseError::invalid(OP, format!("tau must be above 0, got {tau}")));
        }
        let uniform = |most: f64| Initializer::Uniform { min: -most, max: most };
        Ok(MemoryPool {
            keys: uniform(1.0).init([heads, clusters, d_input], device),
            heads: uniform(1.0 / (heads as f64).sqrt()).init([heads], device),
            linear: linear_map(d_input, d_output, false, device),
            tau,
        })
    }
}

impl MemoryPool {
    /// `x [B, M, d_input]` and where nodes are, to the clusters `[B, clusters, d_output]` and the share of each node in
    /// each, `[B, M, clusters]`. The clusters of a graph without nodes are 0.
    ///
    /// # Errors
    ///
    /// `empty_input` for no graphs or places; `shape_mismatch`, `dtype_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_forward(&self, x: Tensor<3>, mask: Option<Tensor<2, Bool>>) -> Result<(Tensor<3>, Tensor<3>)> {
        const OP: &str = "MemoryPool::forward";
        let [batch, places, width] = check_dense(OP, &x, mask.as_ref())?;
        let keys = self.keys.val();
        let [heads, clusters, d_input] = keys.dims();
        check_width(OP, [batch * places, width], d_input)?;
        same_elements(OP, &x, &keys)?;
        let rows: Tensor<2> = x.clone().reshape(Exact([batch * places, width]));
        let keys: Tensor<2> = keys.reshape(Exact([heads * clusters, width]));
        let shape = [batch * places, heads * clusters];
        let squares = |x: &Tensor<2>| x.clone().powi_scalar(2).sum_dim(1);
        let both = expand(squares(&rows), shape) + expand(squares(&keys).swap_dims(0, 1), shape);
        let distance = (both - rows.matmul(keys.swap_dims(0, 1)).mul_scalar(2.0)).clamp_min(0.0);
        let near = distance.div_scalar(self.tau).add_scalar(1.0).powf_scalar(-(self.tau + 1.0) / 2.0);
        let shape = [batch * places, heads, clusters];
        let near: Tensor<3> = near.reshape(Exact(shape));
        let shares = near.clone() / expand(near.sum_dim(2), shape);
        let weighted = shares * expand(self.heads.val().reshape(Exact([1, heads, 1])), shape);
        let shares: Tensor<3> = softmax(weighted.sum_dim(1), 2).reshape(Exact([batch, places, clusters]));
        let shares = kept(shares, mask.as_ref());
        let pooled = shares.clone().swap_dims(1, 2).matmul(kept(x, mask.as_ref()));
        Ok((self.linear.forward(pooled), shares))
    }
}

/// The loss of a [`MemoryPool`] by the assignment `S` `[B, M, clusters]` that it gives: the divergence
/// `KL(P | S) = sum P log(P / S) / B` from the sharper `P`, where `P_ij` is `S_ij^2 / sum_i S_ij`, divided by its sum
/// over the clusters. Places without nodes add 0. (PyG's `MemPooling.kl_loss`.)
pub fn memory_loss(assignment: Tensor<3>) -> Tensor<1> {
    let dims @ [batch, ..] = assignment.dims();
    if dims.contains(&0) {
        return Tensor::zeros([1], (&assignment.device(), assignment.dtype()));
    }
    let or_one = |sums: Tensor<3>| {
        let none = sums.clone().equal_scalar(0.0);
        expand(sums.mask_fill(none, 1.0), dims)
    };
    let sharp = assignment.clone().powi_scalar(2) / or_one(assignment.clone().sum_dim(1));
    let sharp = (sharp.clone() / or_one(sharp.sum_dim(2))).clamp_min(LEAST);
    let given = assignment.clamp_min(LEAST);
    (sharp.clone() * (sharp.log() - given.log())).sum().div_scalar(batch as f64)
}

/// What a share is at least, so that it has a logarithm.
const LEAST: f64 = 1e-15;
