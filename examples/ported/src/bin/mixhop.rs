//! PyG's `examples/mixhop.py`: three layers that see each node's neighbours at distances 0, 1 and 2.

use burn::module::Module;
use burn::nn::{BatchNorm, BatchNormConfig, Linear, LinearConfig};
use burn::optim::decay::WeightDecayConfig;
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::Tensor;
use ported::{drop, drop_sparse, fit_steps, run};
use sparse_tensor::data::Graph;
use sparse_tensor::nn::{gcn_normalization, sparse_input_linear};
use std::process::ExitCode;

#[derive(Module, Debug)]
struct MixHop {
    convs: Vec<Vec<Linear>>,
    norms: Vec<BatchNorm>,
    linear: Linear,
}

fn forward(model: &MixHop, graph: &Graph) -> Tensor<2> {
    let features = drop_sparse(&graph.features, 0.7);
    let mut x = None;
    for (conv, norm) in model.convs.iter().zip(&model.norms) {
        let hop = |(power, weight): (usize, &Linear)| {
            let x = x.clone().map_or_else(|| sparse_input_linear(&features, weight), |x| weight.forward(x));
            (0..power).fold(x, |x, _| graph.adjacency.matmul(x))
        };
        let hops = Tensor::cat(conv.iter().enumerate().map(hop).collect(), 1);
        x = Some(drop(norm.forward(hops), 0.9));
    }
    model.linear.forward(x.expect("at least one layer"))
}

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let mut graph = run.graph("cora")?;
        graph.adjacency = gcn_normalization(&graph.adjacency, 1.0);
        let train = graph.labelled(&graph.splits.train)?;
        let linear = |input, output| LinearConfig::new(input, output).init(&run.device);
        let conv = |input| (0..3).map(|_| linear(input, 60)).collect();
        let model = MixHop {
            convs: [graph.features.dims()[1], 180, 180].map(conv).into(),
            norms: (0..3).map(|_| BatchNormConfig::new(180).init(&run.device)).collect(),
            linear: linear(180, graph.labels.classes()),
        };
        let mut optimizer = SgdConfig::new().with_weight_decay(Some(WeightDecayConfig::new(0.005))).init();
        let step = |model: MixHop, epoch| {
            let loss = train.cross_entropy(forward(&model, &graph));
            let grads = GradientsParams::from_grads(loss.backward(), &model);
            optimizer.step(0.5 * 0.01_f64.powi(epoch as i32 / 40), model, grads)
        };
        Ok(vec![fit_steps(&graph, run.epochs(100), model, step, forward)?.best])
    })
}
