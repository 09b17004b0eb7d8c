//! DGL's `examples/sparse/c_and_s.py`: the errors of a linear model are spread along edges, then its predictions.

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Tensor, activation::softmax};
use ported::{adam, fit, run};
use sparse_tensor::data::{Graph, correct_predictions, smooth_predictions};
use sparse_tensor::nn::{sparse_input_linear, symmetric_normalization};
use std::process::ExitCode;

fn forward(model: &Linear, graph: &Graph) -> Tensor<2> {
    sparse_input_linear(&graph.features, model)
}

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let graph = run.normal_graph("cora")?;
        let model = LinearConfig::new(graph.features.dims()[1], graph.labels.classes()).init(&run.device);
        let model = fit(&graph, run.epochs(10), (model, adam(0.0).init(), 0.01), forward)?.model;

        let graph = graph.valid();
        let (known, test) = (graph.labelled(&graph.splits.train)?, graph.labelled(&graph.splits.test)?);
        let adjacency = symmetric_normalization(&graph.adjacency, true);
        let soft = softmax(forward(&model.valid(), &graph), 1);
        let soft = correct_predictions(&adjacency, soft, &known, 20, 0.9, None);
        Ok(vec![test.accuracy(smooth_predictions(&adjacency, soft, &known, 20, 0.9))])
    })
}
