//! PyG's `examples/gcn2_cora.py`: GCNII of 64 layers.

use burn::module::ParamGroup;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Tensor, activation::relu};
use ported::{adam, drop, drop_sparse, fit, run};
use sparse_tensor::data::Graph;
use sparse_tensor::nn::{Edges, Gcn2Conv, Gcn2ConvConfig, gcn_normalization, sparse_input_linear};
use std::process::ExitCode;

fn forward(([lin1, lin2], convs): &([Linear; 2], Vec<Gcn2Conv>), graph: &Graph) -> Tensor<2> {
    let first = relu(sparse_input_linear(&drop_sparse(&graph.features, 0.6), lin1));
    let x = convs
        .iter()
        .fold(first.clone(), |x, conv| relu(conv.forward(&Edges::new(&graph.adjacency, drop(x, 0.6)), first.clone())));
    lin2.forward(drop(x, 0.6))
}

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let mut graph = run.normal_graph("cora")?;
        graph.adjacency = gcn_normalization(&graph.adjacency, 1.0);
        let linear = |input, output| LinearConfig::new(input, output).init(&run.device);
        let conv = |layer| Gcn2ConvConfig::new(64, 0.1).with_theta(Some(0.5)).with_layer(layer).init(&run.device);
        let lins = [linear(graph.features.dims()[1], 64), linear(64, graph.labels.classes())];
        let model = (lins, (1..=64).map(conv).collect::<Vec<_>>());
        let convs = ParamGroup::ids_from_module(model.1.clone());
        let optimizer = adam(5e-4).init().with_group(convs, adam(0.01).build(), None);
        Ok(vec![fit(&graph, run.epochs(1000), (model, optimizer, 0.01), forward)?.best])
    })
}
