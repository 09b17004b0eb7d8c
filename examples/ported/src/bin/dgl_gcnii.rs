//! DGL's `examples/sparse/gcnii.py`: GCNII of 64 layers by sparse products.

use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Tensor, activation::relu};
use ported::{adam, drop, drop_sparse, fit, run};
use sparse_tensor::data::Graph;
use sparse_tensor::nn::{sparse_input_linear, symmetric_normalization};
use std::process::ExitCode;

fn forward((first, layers, last): &(Linear, Vec<Linear>, Linear), graph: &Graph) -> Tensor<2> {
    let initial = relu(sparse_input_linear(&drop_sparse(&graph.features, 0.5), first));
    let mut x = initial.clone();
    for (layer, weight) in (1..).zip(layers) {
        let beta = (0.5 / f64::from(layer) + 1.0).ln();
        let mixed = graph.adjacency.matmul(drop(x, 0.5)) * 0.8 + initial.clone() * 0.2;
        x = relu(mixed.clone() * (1.0 - beta) + weight.forward(mixed) * beta);
    }
    last.forward(drop(x, 0.5))
}

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let mut graph = run.normal_graph("cora")?;
        graph.adjacency = symmetric_normalization(&graph.adjacency, true);
        let linear = |input, output| LinearConfig::new(input, output).init(&run.device);
        let layers = (0..64).map(|_| LinearConfig::new(64, 64).with_bias(false).init(&run.device)).collect();
        let model = (linear(graph.features.dims()[1], 64), layers, linear(64, graph.labels.classes()));
        Ok(vec![fit(&graph, run.epochs(100), (model, adam(5e-4).init(), 0.01), forward)?.last])
    })
}
