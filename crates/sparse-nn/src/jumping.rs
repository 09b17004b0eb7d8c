//! Jumping knowledge.

use burn::config::Config;
use burn::module::Module;
use burn::nn::{BiLstm, BiLstmConfig, Linear, LinearConfig};
use burn::tensor::activation::softmax;
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::same_elements;
use sparse_ops::{Result, SparseError, dtype_name};

/// How [`JumpingKnowledge`] joins the outputs of the layers.
#[derive(Config, Debug, Copy, PartialEq, Eq)]
pub enum Jump {
    /// Side by side: `[N, layers * F]`.
    Cat,
    /// The largest of each feature: `[N, F]`.
    Max,
    /// A weighted mean, `[N, F]`, whose weights come from a bidirectional LSTM over the layers of each node.
    Lstm,
}

/// Configuration of a [`JumpingKnowledge`].
#[derive(Config, Debug)]
pub struct JumpingKnowledgeConfig {
    /// How the outputs are joined.
    pub mode: Jump,
    /// Number of features of each output.
    pub features: usize,
    /// Number of layers.
    pub layers: usize,
}

/// Jumping knowledge: joins what several layers say about a node, so that each node may use a neighbourhood of its own
/// size.
///
/// With an LSTM: `out_i = sum_l softmax_l(W [f_l, b_l] + c) x_i^l`, where `f` and `b` are the hidden states over
/// `x_i^1, .., x_i^L` in both directions, `layers * features / 2` (rounded down) numbers each. Burn's LSTM has only the
/// default float type of its device. (PyG's `JumpingKnowledge`.)
///
/// Source: Xu et al., *Representation learning on graphs with jumping knowledge networks*, ICML 2018.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::nn::{Jump, JumpingKnowledgeConfig};
///
/// let device = Device::flex();
/// let outputs = [Tensor::<2>::ones([5, 4], &device), Tensor::zeros([5, 4], &device)];
/// let layer = JumpingKnowledgeConfig::new(Jump::Max, 4, 2).init(&device);
/// assert_eq!(layer.forward(&outputs).sum().into_scalar::<f32>(), 20.0);
/// ```
#[derive(Module, Debug)]
pub struct JumpingKnowledge {
    /// The LSTM of [`Jump::Lstm`].
    pub lstm: Option<BiLstm>,
    /// `W` and `c` of [`Jump::Lstm`], `[2 * hidden, 1]`.
    pub attention: Option<Linear>,
    #[module(skip)]
    mode: Jump,
    features: usize,
    layers: usize,
}

impl JumpingKnowledgeConfig {
    /// A layer on `device`.
    ///
    /// # Errors
    ///
    /// `invalid` for 0 layers, and for an LSTM without hidden numbers.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<JumpingKnowledge> {
        const OP: &str = "JumpingKnowledgeConfig::init";
        let hidden = self.layers * self.features / 2;
        let lstm = self.mode == Jump::Lstm;
        if self.layers == 0 || (lstm && hidden == 0) {
            let (layers, features) = (self.layers, self.features);
            let message = format!("there must be layers with features, got {layers} layers of {features}");
            return Err(SparseError::invalid(OP, message));
        }
        Ok(JumpingKnowledge {
            lstm: lstm.then(|| BiLstmConfig::new(self.features, hidden, true).init(device)),
            attention: lstm.then(|| LinearConfig::new(2 * hidden, 1).init(device)),
            mode: self.mode,
            features: self.features,
            layers: self.layers,
        })
    }
}

impl JumpingKnowledge {
    /// Joins the outputs of all layers, each `[N, features]`: `[N, layers * features]` for [`Jump::Cat`], else
    /// `[N, features]`.
    ///
    /// # Errors
    ///
    /// `length_mismatch` if there is not one output for each layer; `shape_mismatch`, `dtype_mismatch`,
    /// `device_mismatch`; `unsupported_dtype`, with an LSTM for every type but the default of the device.
    #[or_panic]
    pub fn try_forward(&self, outputs: &[Tensor<2>]) -> Result<Tensor<2>> {
        const OP: &str = "JumpingKnowledge::forward";
        if outputs.len() != self.layers {
            return Err(SparseError::length_mismatch(OP, "the list of outputs", self.layers, outputs.len()));
        }
        let nodes = outputs[0].dims()[0];
        for output in outputs {
            if output.dims() != [nodes, self.features] {
                let rule = "each output {left} must have the shape {right}";
                return Err(SparseError::shape_mismatch(OP, rule, output.dims(), [nodes, self.features]));
            }
            same_elements(OP, &outputs[0], output)?;
        }
        // Burn's LSTM joins its states in this type.
        let default = Tensor::<1>::empty([1], &outputs[0].device()).dtype();
        if self.lstm.is_some() && outputs[0].dtype() != default {
            let what = format!("the LSTM of a device whose default is {}", dtype_name(default));
            return Err(SparseError::unsupported_dtype(OP, what, dtype_name(outputs[0].dtype())));
        }
        let stacked = || Tensor::stack::<3>(outputs.to_vec(), 1);
        Ok(match (&self.lstm, &self.attention) {
            _ if nodes == 0 => {
                let width = if self.mode == Jump::Cat { self.layers * self.features } else { self.features };
                Tensor::zeros([0, width], (&outputs[0].device(), outputs[0].dtype()))
            }
            (Some(lstm), Some(attention)) => {
                let x = stacked();
                let (states, _) = lstm.forward(x.clone(), None);
                let share = softmax(attention.forward(states), 1);
                (x * share).sum_dim(1).squeeze_dim(1)
            }
            _ if self.mode == Jump::Cat => Tensor::cat(outputs.to_vec(), 1),
            _ => outputs[1..].iter().cloned().fold(outputs[0].clone(), Tensor::max_pair),
        })
    }
}
