//! DGL's `examples/sparse/twirls.py` without attention: sixteen steps that make an MLP's outputs of neighbours alike.

use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Tensor, activation::relu};
use ported::{adam, drop, fit, run};
use sparse_tensor::data::Graph;
use sparse_tensor::nn::sparse_input_linear;
use std::process::ExitCode;

fn forward([first, second, last]: &[Linear; 3], graph: &Graph) -> Tensor<2> {
    let x = drop(relu(sparse_input_linear(&graph.features, first)), 0.8);
    let start = second.forward(x);
    let degrees = (graph.adjacency.row_sums() + 1.0).unsqueeze_dim(1);
    let step = |y: Tensor<2>, _| {
        let target = (graph.adjacency.matmul(y.clone()) + start.clone()) / degrees.clone();
        y * 0.5 + target * 0.5
    };
    last.forward((0..16).fold(start.clone(), step))
}

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let graph = run.normal_graph("cora")?;
        let sizes = [(graph.features.dims()[1], 128), (128, 128), (128, graph.labels.classes())];
        let model = sizes.map(|(input, output)| LinearConfig::new(input, output).init(&run.device));
        Ok(vec![fit(&graph, run.epochs(300), (model, adam(0.0).init(), 5e-4), forward)?.last])
    })
}
