//! PyG's `examples/pmlp.py`: an MLP in training that passes messages in testing.

use burn::module::Initializer;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Tensor, activation::relu};
use ported::{adam, drop, fit, run};
use sparse_tensor::data::Graph;
use sparse_tensor::nn::{row_normalization, sparse_input_linear};
use std::process::ExitCode;

fn forward([lin1, lin2]: &[Linear; 2], graph: &Graph) -> Tensor<2> {
    let training = graph.adjacency.device().is_autodiff();
    let step = |x: Tensor<2>| if training { x } else { graph.adjacency.matmul(x) };
    let x = relu(step(sparse_input_linear(&graph.features, lin1)));
    step(lin2.forward(drop(x, 0.5)))
}

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let mut graph = run.normal_graph("cora")?;
        graph.adjacency = row_normalization(&graph.adjacency.add_self_loops(1.0));
        let linear = |input, output| {
            let start = Initializer::XavierUniform { gain: 2_f64.sqrt() };
            LinearConfig::new(input, output).with_initializer(start).init(&run.device)
        };
        let model = [linear(graph.features.dims()[1], 16), linear(16, graph.labels.classes())];
        Ok(vec![fit(&graph, run.epochs(200), (model, adam(5e-4).init(), 0.01), forward)?.best])
    })
}
