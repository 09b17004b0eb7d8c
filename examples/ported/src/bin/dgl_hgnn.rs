//! DGL's `examples/sparse/hgnn.py`: each node and its neighbours are a hyperedge, and nodes talk through hyperedges.

use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Tensor, activation::relu};
use ported::{adam, drop, drop_sparse, fit, run};
use sparse_tensor::data::Graph;
use sparse_tensor::nn::sparse_input_linear;
use std::process::ExitCode;

fn forward([theta1, theta2]: &[Linear; 2], graph: &Graph) -> Tensor<2> {
    let x = sparse_input_linear(&drop_sparse(&graph.features, 0.5), theta1);
    let x = relu(graph.adjacency.matmul(x));
    graph.adjacency.matmul(theta2.forward(drop(x, 0.5)))
}

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let mut graph = run.normal_graph("cora")?;
        // The Laplacian `D_V^-1/2 H D_E^-1 H^T D_V^-1/2` takes the place of the adjacency.
        let incidence = graph.adjacency.add_self_loops(1.0);
        let left = incidence.mul_dense(incidence.row_sums().powf_scalar(-0.5).unsqueeze_dim(1));
        let right = left.mul_dense(incidence.col_sums().recip().unsqueeze_dim(0));
        graph.adjacency = right.matmul(&left.transpose());
        let linear = |input, output| LinearConfig::new(input, output).init(&run.device);
        let model = [linear(graph.features.dims()[1], 16), linear(16, graph.labels.classes())];
        Ok(vec![fit(&graph, run.epochs(500), (model, adam(0.0).init(), 0.001), forward)?.last])
    })
}
