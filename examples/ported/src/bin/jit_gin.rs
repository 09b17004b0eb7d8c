//! PyG's `examples/jit/gin.py`: GIN with batch norm on IMDB-BINARY. The features of a node are its degree, one-hot.

use burn::module::Module;
use burn::nn::{BatchNorm, BatchNormConfig, Linear, LinearConfig};
use burn::tensor::{Tensor, activation::relu};
use ported::{Batch, adam, drop, fit_graphs, run};
use sparse_tensor::data::one_hot_degree;
use sparse_tensor::nn::{GinConv, GinConvConfig, Mlp, MlpConfig, global_add_pool};
use std::process::ExitCode;

#[derive(Module, Debug)]
struct Gin {
    convs: Vec<GinConv<Mlp>>,
    norms: Vec<BatchNorm>,
    lin1: Linear,
    norm1: BatchNorm,
    lin2: Linear,
}

fn forward(model: &Gin, batch: &Batch) -> Tensor<2> {
    let mut x = batch.x.clone();
    for (conv, norm) in model.convs.iter().zip(&model.norms) {
        x = relu(norm.forward(conv.forward(&batch.adjacency, x)));
    }
    let x = model.lin1.forward(global_add_pool(x, &batch.graphs));
    model.lin2.forward(drop(relu(model.norm1.forward(x)), 0.5))
}

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let sets = run.tu("IMDB-BINARY", |graph, _| one_hot_degree(&graph.adjacency, 135).to_dense())?;
        let conv = |input| {
            let mlp = MlpConfig::new(vec![input, 128, 64]).init(&run.device);
            GinConvConfig::new().with_train_eps(true).init(mlp, &run.device)
        };
        let norm = || BatchNormConfig::new(64).init(&run.device);
        let model = Gin {
            convs: [136, 64, 64].map(conv).into(),
            norms: (0..3).map(|_| norm()).collect(),
            lin1: LinearConfig::new(64, 64).init(&run.device),
            norm1: norm(),
            lin2: LinearConfig::new(64, 2).init(&run.device),
        };
        fit_graphs(run, sets, [100, 128], (model, adam(0.0).init(), 0.01), forward)
    })
}
