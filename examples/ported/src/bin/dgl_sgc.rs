//! DGL's `examples/sparse/sgc.py`: features after two steps of propagation, and a linear map.

use burn::nn::{Linear, LinearConfig};
use burn::tensor::Tensor;
use ported::{adam, fit, run};
use sparse_tensor::data::Graph;
use sparse_tensor::nn::{sparse_input_linear, symmetric_normalization};
use std::process::ExitCode;

fn forward(model: &Linear, graph: &Graph) -> Tensor<2> {
    sparse_input_linear(&graph.features, model)
}

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let mut graph = run.normal_graph("cora")?;
        let adjacency = symmetric_normalization(&graph.adjacency, true);
        graph.features = adjacency.matmul(&adjacency.matmul(&graph.features));
        let model = LinearConfig::new(graph.features.dims()[1], graph.labels.classes()).init(&run.device);
        Ok(vec![fit(&graph, run.epochs(20), (model, adam(5e-6).init(), 0.2), forward)?.last])
    })
}
