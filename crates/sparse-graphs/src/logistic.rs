//! Classes from embeddings, without a graph.

use super::host::number;
use super::labelled::LabelledNodes;
use burn::config::Config;
use burn::module::{Module, Param};
use burn::optim::{GradientsParams, LBFGSConfig, LineSearchFn};
use burn::tensor::Tensor;
use sparse_macros::or_panic;
use sparse_ops::extend::{associate, sum_dim};
use sparse_ops::{Result, SparseError};

/// Logistic regression: how much a linear model finds in embeddings that were trained without labels.
///
/// It minimises `1/n sum_i -log softmax(x_i W + b)[y_i] + |W|^2 / (2 c n)` over the `n` labelled nodes. Of two classes
/// there is one logit, that of class 1, and a sigmoid. The minimum is unique; L-BFGS of Burn with a line search goes
/// there from zero. (scikit-learn's `LogisticRegression`.)
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::{LogisticRegressionConfig, karate, random_split_per_class};
///
/// let graph = karate(&Device::flex());
/// let x = graph.adjacency.to_dense();
/// let splits = random_split_per_class(&graph.labels.to_vec(), 6, 0, 22, 7).unwrap();
/// let [train, test] = [&splits.train, &splits.test].map(|nodes| graph.labelled(nodes).unwrap());
/// let model = LogisticRegressionConfig::new().fit(x.clone(), &train);
/// assert!(test.accuracy(model.logits(x)) > 0.8);
/// ```
#[derive(Config, Debug)]
pub struct LogisticRegressionConfig {
    /// The weight of the examples against the penalty on `W`: the larger, the less regularised.
    #[config(default = 1.0)]
    pub c: f64,
    /// The most iterations.
    #[config(default = 100)]
    pub max_iterations: usize,
    /// It ends when no derivative is larger.
    #[config(default = 1e-4)]
    pub tolerance: f64,
}

/// A fitted linear model. [`LogisticRegressionConfig`] fits one.
#[derive(Module, Debug)]
pub struct LogisticRegression {
    /// `[F, classes]`; of two classes `[F, 1]`.
    pub weight: Param<Tensor<2>>,
    /// `[1, classes]`; of two classes `[1, 1]`.
    pub bias: Param<Tensor<2>>,
}

impl LogisticRegressionConfig {
    /// The model of the embeddings `x` `[N, F]` of all nodes, of which the nodes of `train` are read.
    ///
    /// Nothing is drawn at random, and nothing of `x` stays on the tape. Cost: about 1.25 forward and backward passes
    /// over `N` rows for each iteration.
    ///
    /// # Errors
    ///
    /// `invalid` for a `c` or tolerance that is not above 0, and embeddings that are not finite; those of
    /// [`LabelledNodes::try_cross_entropy`].
    #[or_panic]
    pub fn try_fit(&self, x: Tensor<2>, train: &LabelledNodes) -> Result<LogisticRegression> {
        const OP: &str = "LogisticRegressionConfig::fit";
        for (name, value) in [("c", self.c), ("the tolerance", self.tolerance)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(SparseError::invalid(OP, format!("{name} must be above 0 and finite, got {value}")));
            }
        }
        let x = x.inner();
        let ([_, features], classes) = (x.dims(), train.classes());
        let width = if classes == 2 { 1 } else { classes };
        let options = (&x.device().autodiff(), x.dtype());
        let zeros = |shape| Param::from_tensor(Tensor::<2>::zeros(shape, options));
        let model = LogisticRegression { weight: zeros([features, width]), bias: zeros([1, width]) };
        // What does not fit, and NaN, end here.
        train.try_cross_entropy(model.valid().logits(x.clone()))?;
        let sizes: f64 = number(sum_dim(sum_dim(x.clone().abs(), 1), 0));
        if !sizes.is_finite() {
            return Err(SparseError::invalid(OP, format!("embeddings must be finite, got a sum of sizes of {sizes}")));
        }
        let penalty = 0.5 / (self.c * train.len() as f64);
        let x = associate(x, &options.0.clone());
        let mut steps = LBFGSConfig::new()
            .with_max_iter(self.max_iterations)
            .with_history_size(10)
            .with_tolerance_grad(self.tolerance)
            // The loss is this near to its minimum where the derivatives are that small.
            .with_tolerance_change(self.tolerance * self.tolerance * 0.01)
            .with_line_search_fn(LineSearchFn::StrongWolfe)
            .init();
        let (model, _) = steps.step(1.0, model, |model: LogisticRegression| {
            let squares = model.weight.val().powi_scalar(2).sum();
            let loss = train.cross_entropy(model.logits(x.clone())) + squares.mul_scalar(penalty);
            let value = number(loss.clone());
            (value, GradientsParams::from_grads(loss.backward(), &model))
        });
        Ok(model.valid())
    }
}

impl LogisticRegression {
    /// The logits `[N, classes]` of embeddings `[N, F]`, as [`LabelledNodes`] takes them.
    ///
    /// Panics if the widths differ.
    pub fn logits(&self, x: Tensor<2>) -> Tensor<2> {
        let logits = x.matmul(self.weight.val()) + self.bias.val();
        match self.bias.val().dims() {
            [_, 1] => Tensor::cat(vec![logits.zeros_like(), logits], 1),
            _ => logits,
        }
    }
}
