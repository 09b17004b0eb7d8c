//! PyG's `examples/arma.py`: two auto-regressive moving average filters of three stacks.

use burn::tensor::{Tensor, activation::relu};
use ported::{adam, drop, fit, run};
use sparse_tensor::data::Graph;
use sparse_tensor::nn::{ArmaConv, ArmaConvConfig, Edges, symmetric_normalization};
use std::process::ExitCode;

fn forward([conv1, conv2]: &[ArmaConv; 2], graph: &Graph) -> Tensor<2> {
    let x = drop(graph.features.to_dense(), 0.5);
    let x = relu(conv1.forward(&Edges::new(&graph.adjacency, x)));
    conv2.forward(&Edges::new(&graph.adjacency, drop(x, 0.5)))
}

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let mut graph = run.normal_graph("cora")?;
        graph.adjacency = symmetric_normalization(&graph.adjacency, false);
        let layer = |input, output, relu| {
            let config = ArmaConvConfig::new(input, output).with_stacks(3).with_layers(2).with_shared_weights(true);
            config.with_dropout(0.25).with_relu(relu).init(&run.device)
        };
        let model = [layer(graph.features.dims()[1], 16, true), layer(16, graph.labels.classes(), false)];
        Ok(vec![fit(&graph, run.epochs(400), (model, adam(5e-4).init(), 0.01), forward)?.best])
    })
}
