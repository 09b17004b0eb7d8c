//! DGL's `examples/sparse/hypergraphatt.py`: nodes attend to hyperedges, whose features are those of one node each.

use burn::nn::{Linear, LinearConfig};
use burn::tensor::Tensor;
use ported::{adam, fit, run};
use sparse_tensor::CsrTensor;
use sparse_tensor::data::Graph;
use sparse_tensor::nn::{Edges, elu, leaky_relu, sparse_input_linear};
use std::process::ExitCode;

/// `D_V^-1/2 H D_E^-1 H^T D_V^-1/2 z` with the attention `H`, from right to left. Its rows sum to 1, and so `D_V` is 1.
/// The score of a node and a hyperedge is a linear map of both features; `scores` has its halves.
fn attend(incidence: &CsrTensor<2>, scores: &[Linear; 2], z: Tensor<2>) -> Tensor<2> {
    let edges = Edges::new(incidence, z.clone());
    let [node, hyperedge] = scores.each_ref().map(|half| half.forward(z.clone()));
    let scores = leaky_relu(edges.read_target(node) + edges.read_source(hyperedge), 0.2);
    let attention = incidence.with_values::<1>(edges.softmax(scores).flatten(0, 1));
    let means = attention.transpose().matmul(z) / attention.col_sums().unsqueeze_dim(1);
    attention.matmul(means)
}

type Layer = (Linear, [Linear; 2]);

fn forward([(p1, scores1), (p2, scores2)]: &[Layer; 2], graph: &Graph) -> Tensor<2> {
    let z = attend(&graph.adjacency, scores1, sparse_input_linear(&graph.features, p1));
    attend(&graph.adjacency, scores2, p2.forward(elu(z, 1.0)))
}

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let mut graph = run.normal_graph("cora")?;
        graph.adjacency = graph.adjacency.add_self_loops(1.0);
        let linear = |input, output| LinearConfig::new(input, output).init(&run.device);
        let layer = |input, output| (linear(input, output), [0; 2].map(|_| linear(output, 1)));
        let model = [layer(graph.features.dims()[1], 16), layer(16, graph.labels.classes())];
        Ok(vec![fit(&graph, run.epochs(500), (model, adam(0.0).init(), 0.001), forward)?.last])
    })
}
