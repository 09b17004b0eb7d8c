//! PyG's `examples/tagcn.py`: `sum_k P^k X W_k` for k up to 3, twice.

use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Tensor, activation::relu};
use ported::{adam, drop, fit, run};
use sparse_tensor::CsrTensor;
use sparse_tensor::data::Graph;
use sparse_tensor::nn::{sparse_input_linear, symmetric_normalization};
use std::process::ExitCode;

/// By Horner's rule, so that all products have the width of the output.
fn tag(adjacency: &CsrTensor<2>, weights: &[Linear], x: impl Fn(&Linear) -> Tensor<2>) -> Tensor<2> {
    let terms = weights.iter().rev().map(x);
    terms.reduce(|sum, term| adjacency.matmul(sum) + term).expect("at least one weight")
}

fn forward([conv1, conv2]: &[Vec<Linear>; 2], graph: &Graph) -> Tensor<2> {
    let x = relu(tag(&graph.adjacency, conv1, |weight| sparse_input_linear(&graph.features, weight)));
    let x = drop(x, 0.5);
    tag(&graph.adjacency, conv2, |weight| weight.forward(x.clone()))
}

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let mut graph = run.normal_graph("cora")?;
        graph.adjacency = symmetric_normalization(&graph.adjacency, false);
        let layer = |input, output| {
            let linear = |k| LinearConfig::new(input, output).with_bias(k == 0).init(&run.device);
            (0..=3).map(linear).collect::<Vec<_>>()
        };
        let model = [layer(graph.features.dims()[1], 16), layer(16, graph.labels.classes())];
        Ok(vec![fit(&graph, run.epochs(200), (model, adam(5e-4).init(), 0.01), forward)?.best])
    })
}
