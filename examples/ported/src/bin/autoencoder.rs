//! PyG's `examples/autoencoder.py` with its defaults: a GCN whose embeddings multiply to edges.

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::activation::log_sigmoid;
use ported::{adam, encode, run};
use sparse_tensor::nn::{GcnConvConfig, dot_decoder, negative_sampling};
use std::process::ExitCode;

fn main() -> ExitCode {
    run("test AUC", |run| {
        let graph = run.normal_graph("cora")?;
        let [train, _, test] = run.link_split(&graph.adjacency)?;
        let mut model = [
            GcnConvConfig::new(graph.features.dims()[1], 32).init(&run.device),
            GcnConvConfig::new(32, 16).init(&run.device),
        ];
        let mut optimizer = adam(0.0).init();
        for epoch in 0..run.epochs(400) as u64 {
            let z = encode(&model, &train.adjacency, &graph.features);
            let others = negative_sampling(&train.adjacency, train.edges.len(), run.seed << 32 | epoch);
            let score = |pairs| dot_decoder(z.clone(), z.clone(), pairs);
            let loss = -log_sigmoid(score(&train.edges)).mean() - log_sigmoid(-score(&others)).mean();
            let grads = GradientsParams::from_grads(loss.backward(), &model);
            model = optimizer.step(0.01, model, grads);
        }
        let z = encode(&model.valid(), &test.adjacency, &graph.valid().features);
        Ok(vec![test.auc(|pairs| dot_decoder(z.clone(), z.clone(), pairs))])
    })
}
