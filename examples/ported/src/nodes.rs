//! Training of classifiers of nodes on a whole graph.

use crate::Trouble;
use burn::module::Module;
use burn::optim::{GradientsParams, ModuleOptimizer};
use burn::tensor::Tensor;
use sparse_tensor::data::Graph;

/// A model after training.
pub struct Fitted<M> {
    /// As it is after the last epoch.
    pub model: M,
    /// Its test accuracy.
    pub last: f64,
    /// The test accuracy of the first epoch with the best validation accuracy.
    pub best: f64,
}

/// Trains with the cross-entropy of the training nodes. `forward` gives logits of all nodes; on an autodiff device it
/// may drop.
pub fn fit<M: Module>(
    graph: &Graph,
    epochs: usize,
    (model, mut optimizer, lr): (M, ModuleOptimizer, f64),
    forward: impl Fn(&M, &Graph) -> Tensor<2>,
) -> Result<Fitted<M>, Trouble> {
    let train = graph.labelled(&graph.splits.train)?;
    let step = |model: M, _| {
        let loss = train.cross_entropy(forward(&model, graph));
        let grads = GradientsParams::from_grads(loss.backward(), &model);
        optimizer.step(lr, model, grads)
    };
    fit_steps(graph, epochs, model, step, &forward)
}

/// The same with a step of your own, which gets the number of the epoch, from 0.
pub fn fit_steps<M: Module>(
    graph: &Graph,
    epochs: usize,
    mut model: M,
    mut step: impl FnMut(M, usize) -> M,
    forward: impl Fn(&M, &Graph) -> Tensor<2>,
) -> Result<Fitted<M>, Trouble> {
    let (val, test) = (graph.labelled(&graph.splits.val)?, graph.labelled(&graph.splits.test)?);
    let evaluation = graph.valid();
    let (mut highest, mut last, mut best) = (0.0, 0.0, 0.0);
    for epoch in 0..epochs {
        model = step(model, epoch);
        let logits = forward(&model.valid(), &evaluation);
        let accuracy = val.accuracy(logits.clone());
        last = test.accuracy(logits);
        if accuracy > highest {
            (highest, best) = (accuracy, last);
        }
    }
    Ok(Fitted { model, last, best })
}
