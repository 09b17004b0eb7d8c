//! PyG's `examples/dir_gnn.py`, on Texas in place of Chameleon: a layer for each direction of the edges. With its alpha
//! of 1 only the edges against their direction count.

use burn::tensor::{Tensor, activation::relu};
use ported::{adam, fit, run};
use sparse_tensor::data::Graph;
use sparse_tensor::nn::{GcnConv, GcnConvConfig, bipartite_normalization, row_normalization};
use std::process::ExitCode;

const ALPHA: f64 = 1.0;

fn forward(model: &[[GcnConv; 2]; 2], graph: &Graph) -> Tensor<2> {
    let (adjacency, reverse) = (&graph.adjacency, &graph.adjacency.transpose());
    let [[in1, out1], [in2, out2]] = model;
    let x = in1.forward_sparse(adjacency, &graph.features) * (1.0 - ALPHA);
    let x = relu(x + out1.forward_sparse(reverse, &graph.features) * ALPHA);
    in2.forward(adjacency, x.clone()) * (1.0 - ALPHA) + out2.forward(reverse, x) * ALPHA
}

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let geom = run.geom("texas")?;
        // A row has the edges that reach its node.
        let adjacency = bipartite_normalization(&geom.adjacency.transpose());
        let graph = Graph { adjacency, features: row_normalization(&geom.features), ..geom.to_graph(run.split())? };
        let layer = |input, output| [0; 2].map(|_| GcnConvConfig::new(input, output).init(&run.device));
        let model = [layer(graph.features.dims()[1], 128), layer(128, graph.labels.classes())];
        Ok(vec![fit(&graph, run.epochs(1000), (model, adam(0.0).init(), 0.01), forward)?.best])
    })
}
