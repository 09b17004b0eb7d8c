//! DGL's `examples/sparse/gat.py`: attention by a softmax of sparse rows, of eight heads and of one.

use burn::module::{Initializer, Module, Param};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor};
use ported::{adam, drop, fit, run};
use sparse_tensor::CsrTensor;
use sparse_tensor::data::Graph;
use sparse_tensor::nn::{Edges, elu, leaky_relu};
use std::process::ExitCode;

#[derive(Module, Debug)]
struct GatLayer {
    linear: Linear,
    /// `[heads, features]`, for the node that attends and for its neighbour.
    attention: [Param<Tensor<2>>; 2],
}

impl GatLayer {
    fn new([input, output, heads]: [usize; 3], device: &Device) -> Self {
        let start = Initializer::XavierNormal { gain: 2_f64.sqrt() };
        let linear = LinearConfig::new(input, output * heads).with_initializer(start.clone()).init(device);
        // PyTorch's fans of a tensor `[1, features, heads]`.
        let fans = (Some(output * heads), Some(heads));
        Self { linear, attention: [0; 2].map(|_| start.init_with([heads, output], fans.0, fans.1, device)) }
    }

    /// `[nodes, heads, features]`.
    fn forward(&self, adjacency: &CsrTensor<2>, x: Tensor<2>) -> Tensor<3> {
        let [heads, output] = self.attention[0].dims();
        let x = self.linear.forward(drop(x, 0.6));
        let edges = Edges::new(adjacency, x.clone());
        let x = x.reshape([0, heads as i64, output as i64]);
        let [own, other] =
            self.attention.each_ref().map(|a| (x.clone() * a.val().unsqueeze()).sum_dim(2).squeeze_dim(2));
        let scores = leaky_relu(edges.read_target(own) + edges.read_source(other), 0.01);
        let weights = drop(edges.softmax(scores), 0.6);
        adjacency.with_head_values::<2, 3>(weights).matmul(x)
    }
}

fn forward([first, last]: &[GatLayer; 2], graph: &Graph) -> Tensor<2> {
    let x = elu(first.forward(&graph.adjacency, graph.features.to_dense()).flatten(1, 2), 1.0);
    last.forward(&graph.adjacency, x).squeeze_dim(1)
}

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let mut graph = run.normal_graph("cora")?;
        graph.adjacency = graph.adjacency.add_self_loops(1.0);
        let sizes = [[graph.features.dims()[1], 8, 8], [8 * 8, graph.labels.classes(), 1]];
        let model = sizes.map(|size| GatLayer::new(size, &run.device));
        Ok(vec![fit(&graph, run.epochs(50), (model, adam(5e-4).init(), 0.01), forward)?.last])
    })
}
