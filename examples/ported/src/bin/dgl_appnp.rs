//! DGL's `examples/sparse/appnp.py`: an MLP, and ten steps of personalised PageRank.

use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Tensor, activation::relu};
use ported::{adam, drop, drop_sparse, fit, run};
use sparse_tensor::data::Graph;
use sparse_tensor::nn::{sparse_input_linear, symmetric_normalization};
use std::process::ExitCode;

fn forward([first, second]: &[Linear; 2], graph: &Graph) -> Tensor<2> {
    let x = relu(sparse_input_linear(&drop_sparse(&graph.features, 0.1), first));
    let start = second.forward(drop(x, 0.1));
    let step = |z, _| drop_sparse(&graph.adjacency, 0.1).matmul(z) * 0.9 + start.clone() * 0.1;
    (0..10).fold(start.clone(), step)
}

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let mut graph = run.normal_graph("cora")?;
        graph.adjacency = symmetric_normalization(&graph.adjacency, true);
        let linear = |input, output| LinearConfig::new(input, output).init(&run.device);
        let model = [linear(graph.features.dims()[1], 64), linear(64, graph.labels.classes())];
        Ok(vec![fit(&graph, run.epochs(50), (model, adam(5e-4).init(), 0.01), forward)?.last])
    })
}
