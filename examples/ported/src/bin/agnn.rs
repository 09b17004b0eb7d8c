//! PyG's `examples/agnn.py`: attention by cosines, without weights.

use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Tensor, activation::relu};
use ported::{adam, drop, drop_sparse, fit, run};
use sparse_tensor::data::Graph;
use sparse_tensor::nn::{AgnnConv, AgnnConvConfig, Edges, sparse_input_linear};
use std::process::ExitCode;

fn forward((lin1, props, lin2): &(Linear, [AgnnConv; 2], Linear), graph: &Graph) -> Tensor<2> {
    let mut x = relu(sparse_input_linear(&drop_sparse(&graph.features, 0.5), lin1));
    for prop in props {
        x = prop.forward(&Edges::new(&graph.adjacency, x));
    }
    lin2.forward(drop(x, 0.5))
}

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let graph = run.normal_graph("cora")?;
        let linear = |input, output| LinearConfig::new(input, output).init(&run.device);
        let props = [false, true].map(|trained| AgnnConvConfig::new().with_train_beta(trained).init(&run.device));
        let model = (linear(graph.features.dims()[1], 16), props, linear(16, graph.labels.classes()));
        Ok(vec![fit(&graph, run.epochs(200), (model, adam(5e-4).init(), 0.01), forward)?.best])
    })
}
