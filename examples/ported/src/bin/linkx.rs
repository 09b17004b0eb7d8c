//! PyG's `examples/linkx.py`, on Texas in place of Penn94: the adjacency and the features each go through a network of
//! their own.

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Tensor, activation::relu};
use ported::{adam, fit, run};
use sparse_tensor::data::Graph;
use sparse_tensor::nn::sparse_input_linear;
use std::process::ExitCode;

#[derive(Module, Debug)]
struct Linkx {
    edges: Linear,
    nodes: Linear,
    cat: [Linear; 2],
    last: Linear,
}

fn forward(model: &Linkx, graph: &Graph) -> Tensor<2> {
    let edges = sparse_input_linear(&graph.adjacency, &model.edges);
    let nodes = sparse_input_linear(&graph.features, &model.nodes);
    let out = edges.clone() + model.cat[0].forward(edges) + nodes.clone() + model.cat[1].forward(nodes);
    model.last.forward(relu(out))
}

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let geom = run.geom("texas")?;
        let graph = Graph {
            adjacency: geom.adjacency.transpose(),
            features: geom.features.clone(),
            ..geom.to_graph(run.split())?
        };
        let linear = |input, output| LinearConfig::new(input, output).init(&run.device);
        let model = Linkx {
            edges: linear(graph.nodes(), 32),
            nodes: linear(graph.features.dims()[1], 32),
            cat: [0; 2].map(|_| linear(32, 32)),
            last: linear(32, graph.labels.classes()),
        };
        Ok(vec![fit(&graph, run.epochs(200), (model, adam(1e-3).init(), 0.01), forward)?.best])
    })
}
