//! A measure of embeddings.

use crate::Trouble;
use burn::nn::LinearConfig;
use burn::optim::{GradientsParams, LBFGSConfig, LineSearchFn};
use burn::tensor::{Device, Tensor};
use sparse_tensor::data::Graph;

/// The test accuracy of a logistic regression that is trained on embeddings `z` `[nodes, F]` of the training nodes: the
/// sum of their cross-entropies plus half the square of the weights, by L-BFGS. (scikit-learn's `LogisticRegression`.)
pub fn logistic_accuracy(graph: &Graph, z: &Tensor<2>, device: &Device) -> Result<f64, Trouble> {
    let (train, test) = (graph.labelled(&graph.splits.train)?, graph.labelled(&graph.splits.test)?);
    let linear = LinearConfig::new(z.dims()[1], graph.labels.classes()).init(device);
    let z = Tensor::from_inner(z.clone());
    let mut optimizer = LBFGSConfig::new().with_max_iter(150).with_line_search_fn(LineSearchFn::StrongWolfe).init();
    let (linear, _) = optimizer.step(1.0, linear, |linear| {
        let penalty = linear.weight.val().square().sum() * 0.5;
        let loss = train.cross_entropy(linear.forward(z.clone())) * train.len() as f64 + penalty;
        let grads = GradientsParams::from_grads(loss.backward(), &linear);
        (loss.into_scalar::<f64>(), grads)
    });
    Ok(test.accuracy(linear.forward(z).inner()))
}
