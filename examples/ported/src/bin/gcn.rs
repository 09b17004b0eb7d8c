//! PyG's `examples/gcn.py`, without GDC: two graph convolutions, weight decay of the first one only.

use burn::module::ParamGroup;
use burn::tensor::{Tensor, activation::relu};
use ported::{adam, drop, drop_sparse, fit, run};
use sparse_tensor::data::Graph;
use sparse_tensor::nn::{GcnConv, GcnConvConfig, gcn_normalization};
use std::process::ExitCode;

fn forward([conv1, conv2]: &[GcnConv; 2], graph: &Graph) -> Tensor<2> {
    let x = drop_sparse(&graph.features, 0.5);
    let x = relu(conv1.forward_sparse(&graph.adjacency, &x));
    conv2.forward(&graph.adjacency, drop(x, 0.5))
}

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let mut graph = run.normal_graph("cora")?;
        graph.adjacency = gcn_normalization(&graph.adjacency, 1.0);
        let model = [
            GcnConvConfig::new(graph.features.dims()[1], 16).init(&run.device),
            GcnConvConfig::new(16, graph.labels.classes()).init(&run.device),
        ];
        let first = ParamGroup::ids_from_module(model[0].clone());
        let optimizer = adam(0.0).init().with_group(first, adam(5e-4).build(), None);
        Ok(vec![fit(&graph, run.epochs(200), (model, optimizer, 0.01), forward)?.best])
    })
}
