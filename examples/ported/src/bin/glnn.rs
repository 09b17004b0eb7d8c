//! PyG's `examples/glnn.py`: an MLP learns what a GCN says about all nodes.

use burn::optim::GradientsParams;
use burn::tensor::{
    Tensor,
    activation::{log_softmax, relu},
};
use ported::{adam, fit, fit_steps, run};
use sparse_tensor::data::Graph;
use sparse_tensor::nn::{GcnConv, GcnConvConfig, Mlp, MlpConfig, gcn_normalization};
use std::process::ExitCode;

fn teach([conv1, conv2]: &[GcnConv; 2], graph: &Graph) -> Tensor<2> {
    conv2.forward(&graph.adjacency, relu(conv1.forward_sparse(&graph.adjacency, &graph.features)))
}

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let mut graph = run.normal_graph("cora")?;
        graph.adjacency = gcn_normalization(&graph.adjacency, 1.0);
        let (features, classes) = (graph.features.dims()[1], graph.labels.classes());
        let gnn =
            [GcnConvConfig::new(features, 16).init(&run.device), GcnConvConfig::new(16, classes).init(&run.device)];
        let gnn = fit(&graph, run.epochs(200), (gnn, adam(5e-4).init(), 0.01), teach)?.model;
        let soft = log_softmax(teach(&gnn, &graph).detach(), 1);

        let mlp = MlpConfig::new(vec![features, 64, classes]).with_batch_norm(false).with_dropout(0.5);
        let mut optimizer = adam(5e-4).init();
        let step = |mlp: Mlp, _| {
            let out = log_softmax(mlp.forward_sparse(&graph.features), 1);
            let divergence = (soft.clone().exp() * (soft.clone() - out)).sum() / graph.nodes() as f64;
            let grads = GradientsParams::from_grads(divergence.backward(), &mlp);
            optimizer.step(0.01, mlp, grads)
        };
        let forward = |mlp: &Mlp, graph: &Graph| mlp.forward_sparse(&graph.features);
        Ok(vec![fit_steps(&graph, run.epochs(500), mlp.init(&run.device), step, forward)?.last])
    })
}
