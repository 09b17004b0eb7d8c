//! A graph convolution with a gate on each edge.

use crate::try_gated_sum;
use burn::config::Config;
use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor};
use sparse_tensor::pattern::Pattern;
use sparse_tensor::{Result, SparseTensor};

/// Configuration of a [`GatedConv`].
#[derive(Config, Debug)]
pub struct GatedConvConfig {
    /// Number of input features of a node.
    pub d_input: usize,
    /// Number of output features.
    pub d_output: usize,
}

/// `out_i = sum_j a_ij sigmoid(<s, x_i> + <t, x_j>) W x_j`.
#[derive(Module, Debug)]
pub struct GatedConv {
    /// `W`
    pub linear: Linear,
    /// `s` and `t`, `[d_input, 2]`
    pub gates: Linear,
}

impl GatedConvConfig {
    /// A layer on `device`.
    pub fn init(&self, device: &Device) -> GatedConv {
        GatedConv {
            linear: LinearConfig::new(self.d_input, self.d_output).with_bias(false).init(device),
            gates: LinearConfig::new(self.d_input, 2).with_bias(false).init(device),
        }
    }
}

impl GatedConv {
    /// `adjacency [N, N]` of either layout, `x [N, d_input]`, to `[N, d_output]`.
    ///
    /// # Errors
    ///
    /// As [`try_gated_sum`].
    pub fn try_forward<P: Pattern>(&self, adjacency: &SparseTensor<P, 2>, x: Tensor<2>) -> Result<Tensor<2>> {
        let gates = self.gates.forward(x.clone());
        let gate = |at: usize| gates.clone().narrow(1, at, 1).squeeze_dim::<1>(1);
        try_gated_sum(adjacency, [gate(0), gate(1)], self.linear.forward(x))
    }
}
