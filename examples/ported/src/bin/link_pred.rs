//! PyG's `examples/link_pred.py`: a GCN trained to tell edges from other pairs of nodes.

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::activation::log_sigmoid;
use ported::{adam, encode, run};
use sparse_tensor::nn::{GcnConvConfig, dot_decoder, negative_sampling};
use std::process::ExitCode;

fn main() -> ExitCode {
    run("test AUC", |run| {
        let graph = run.normal_graph("cora")?;
        let plain = graph.valid().features;
        let [train, val, test] = run.link_split(&graph.adjacency)?;
        let mut model = [
            GcnConvConfig::new(graph.features.dims()[1], 128).init(&run.device),
            GcnConvConfig::new(128, 64).init(&run.device),
        ];
        let (mut optimizer, mut highest, mut best) = (adam(0.0).init(), 0.0, 0.0);
        for epoch in 0..run.epochs(100) as u64 {
            let z = encode(&model, &train.adjacency, &graph.features);
            let others = negative_sampling(&train.adjacency, train.edges.len(), run.seed << 32 | epoch);
            let score = |pairs| dot_decoder(z.clone(), z.clone(), pairs);
            // As many edges as other pairs: the mean over all is the mean of both means.
            let loss = -log_sigmoid(score(&train.edges)).mean() - log_sigmoid(-score(&others)).mean();
            let grads = GradientsParams::from_grads((loss * 0.5).backward(), &model);
            model = optimizer.step(0.01, model, grads);

            let [val, test] = [&val, &test].map(|part| {
                let z = encode(&model.valid(), &part.adjacency, &plain);
                part.auc(|pairs| dot_decoder(z.clone(), z.clone(), pairs))
            });
            if val > highest {
                (highest, best) = (val, test);
            }
        }
        Ok(vec![best])
    })
}
