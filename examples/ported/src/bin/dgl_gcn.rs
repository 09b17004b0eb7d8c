//! DGL's `examples/sparse/gcn.py`: a GCN by sparse products, without dropout.

use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Tensor, activation::relu};
use ported::{adam, fit, run};
use sparse_tensor::data::Graph;
use sparse_tensor::nn::{sparse_input_linear, symmetric_normalization};
use std::process::ExitCode;

fn forward([w1, w2]: &[Linear; 2], graph: &Graph) -> Tensor<2> {
    let x = relu(graph.adjacency.matmul(sparse_input_linear(&graph.features, w1)));
    graph.adjacency.matmul(w2.forward(x))
}

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let mut graph = run.normal_graph("cora")?;
        graph.adjacency = symmetric_normalization(&graph.adjacency, true);
        let linear = |input, output| LinearConfig::new(input, output).init(&run.device);
        let model = [linear(graph.features.dims()[1], 16), linear(16, graph.labels.classes())];
        Ok(vec![fit(&graph, run.epochs(200), (model, adam(5e-4).init(), 0.01), forward)?.last])
    })
}
