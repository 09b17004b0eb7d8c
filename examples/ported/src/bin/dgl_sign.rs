//! DGL's `examples/sparse/sign.py`: features after 0, 1 and 2 steps of propagation, side by side.

use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Tensor, activation::relu};
use ported::{adam, fit, run};
use sparse_tensor::data::Graph;
use sparse_tensor::nn::{sparse_input_linear, symmetric_normalization};
use sparse_tensor::CsrTensor;
use std::process::ExitCode;

/// The features of all steps are side by side in the graph.
fn forward((theta, omega): &(Vec<Linear>, Linear), graph: &Graph) -> Tensor<2> {
    let parts: Vec<CsrTensor<2>> = graph.features.chunk(3, 1);
    let results = parts.iter().zip(theta).map(|(x, theta)| sparse_input_linear(x, theta));
    omega.forward(relu(Tensor::cat(results.collect(), 1)))
}

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let mut graph = run.normal_graph("cora")?;
        let (features, adjacency) = (graph.features.dims()[1], symmetric_normalization(&graph.adjacency, true));
        let once = adjacency.matmul(&graph.features);
        let parts = [graph.features.clone(), once.clone(), adjacency.matmul(&once)];
        graph.features = sparse_tensor::ops::concat(&parts, 1);
        let theta = (0..3).map(|_| LinearConfig::new(features, 256).init(&run.device)).collect();
        let model = (theta, LinearConfig::new(3 * 256, graph.labels.classes()).init(&run.device));
        Ok(vec![fit(&graph, run.epochs(10), (model, adam(0.0).init(), 3e-3), forward)?.last])
    })
}
