//! PyG's `examples/gat.py`: two layers of attention, of eight heads and of one.

use burn::tensor::Tensor;
use ported::{adam, drop, drop_sparse, fit, run};
use sparse_tensor::data::Graph;
use sparse_tensor::nn::{GatConv, GatConvConfig, elu};
use std::process::ExitCode;

fn forward([conv1, conv2]: &[GatConv; 2], graph: &Graph) -> Tensor<2> {
    let x = drop_sparse(&graph.features, 0.6);
    let x = elu(conv1.forward_sparse(&graph.adjacency, &x), 1.0);
    conv2.forward(&graph.adjacency, drop(x, 0.6))
}

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let graph = run.normal_graph("cora")?;
        let layer = |input, output| GatConvConfig::new(input, output).with_dropout(0.6);
        let model = [
            layer(graph.features.dims()[1], 8).with_heads(8).init(&run.device),
            layer(8 * 8, graph.labels.classes()).with_concat(false).init(&run.device),
        ];
        Ok(vec![fit(&graph, run.epochs(200), (model, adam(5e-4).init(), 0.005), forward)?.best])
    })
}
