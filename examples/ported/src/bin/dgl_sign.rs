//! DGL's `examples/sparse/sign.py`: features after 0, 1 and 2 steps of propagation, side by side.

use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Tensor, activation::relu};
use ported::{adam, fit, run};
use sparse_tensor::data::Graph;
use sparse_tensor::nn::{sparse_input_linear, symmetric_normalization};
use std::process::ExitCode;

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let graph = run.normal_graph("cora")?;
        let adjacency = symmetric_normalization(&graph.adjacency, true);
        let once = adjacency.matmul(&graph.features);
        let steps = [graph.features.clone(), once.clone(), adjacency.matmul(&once)];
        let plain = steps.each_ref().map(|x| x.clone().to_device(&graph.valid().features.device()));
        let forward = |(theta, omega): &([Linear; 3], Linear), graph: &Graph| {
            let steps = if graph.features.device().is_autodiff() { &steps } else { &plain };
            let results = steps.iter().zip(theta).map(|(x, theta)| sparse_input_linear(x, theta));
            omega.forward(relu(Tensor::cat(results.collect(), 1)))
        };
        let linear = |input, output| LinearConfig::new(input, output).init(&run.device);
        let theta = [0; 3].map(|_| linear(graph.features.dims()[1], 256));
        let model = (theta, linear(3 * 256, graph.labels.classes()));
        Ok(vec![fit(&graph, run.epochs(10), (model, adam(0.0).init(), 3e-3), forward)?.last])
    })
}
