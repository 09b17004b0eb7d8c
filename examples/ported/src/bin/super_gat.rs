//! PyG's `examples/super_gat.py`: attention that also learns which edges exist. The pairs without an edge are as many
//! as PyG draws: half of 0.8 times the edges. All edges are in its loss; PyG takes a share of 0.8 of them.

use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use ported::{adam, drop, fit_steps, run};
use sparse_tensor::data::Graph;
use sparse_tensor::nn::{Edges, NodePairs, SuperGatConv, SuperGatConvConfig, elu, negative_sampling};
use std::process::ExitCode;

/// Logits, and the loss of the edges.
fn forward([conv1, conv2]: &[SuperGatConv; 2], graph: &Graph, others: &NodePairs) -> (Tensor<2>, Tensor<1>) {
    let x = drop(graph.features.to_dense(), 0.6);
    let (x, loss1) = conv1.forward_with_loss(&Edges::new(&graph.adjacency, x), others);
    let x = drop(elu(x, 1.0), 0.6);
    let (x, loss2) = conv2.forward_with_loss(&Edges::new(&graph.adjacency, x), others);
    (x, loss1 + loss2)
}

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let graph = run.normal_graph("cora")?;
        let train = graph.labelled(&graph.splits.train)?;
        let layer = |input, output| SuperGatConvConfig::new(input, output).with_heads(8).with_dropout(0.6);
        let model = [
            layer(graph.features.dims()[1], 8).init(&run.device),
            layer(64, graph.labels.classes()).with_concat(false).init(&run.device),
        ];
        let mut optimizer = adam(5e-4).init();
        let step = |model: [SuperGatConv; 2], epoch| {
            let others = negative_sampling(
                &graph.adjacency,
                (graph.adjacency.nnz() + graph.nodes()) * 2 / 5,
                run.seed << 32 | epoch as u64,
            );
            let (logits, edges) = forward(&model, &graph, &others);
            let loss = train.cross_entropy(logits) + edges * 4.0;
            let grads = GradientsParams::from_grads(loss.backward(), &model);
            optimizer.step(0.005, model, grads)
        };
        let none = NodePairs::new(&[], [graph.nodes(); 2], &run.device)?;
        let none = &none;
        let logits = |model: &_, graph: &Graph| forward(model, graph, none).0;
        Ok(vec![fit_steps(&graph, run.epochs(500), model, step, logits)?.last])
    })
}
