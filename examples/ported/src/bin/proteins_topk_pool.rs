//! PyG's `examples/proteins_topk_pool.py`: after each of three layers the best 0.8 of the nodes stay.

use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Tensor, activation::relu};
use ported::{Batch, adam, drop, fit_graphs, run};
use sparse_tensor::nn::global_mean_pool;
use sparse_tensor::nn::{Aggregation, SageConv, SageConvConfig, TopKPool, TopKPoolConfig, global_max_pool};
use std::process::ExitCode;

type Net = (Vec<(SageConv, TopKPool)>, [Linear; 3]);

fn forward((layers, [lin1, lin2, lin3]): &Net, batch: &Batch) -> Tensor<2> {
    let (mut adjacency, mut graphs) = (batch.adjacency.clone(), batch.graphs.clone());
    let (mut x, mut sum) = (batch.x.clone(), Tensor::zeros([batch.graphs.size(), 256], &batch.x.device()));
    for (conv, pool) in layers {
        let pooled = pool.forward(&adjacency, relu(conv.forward(&adjacency, x)), &graphs);
        (adjacency, x, graphs) = (pooled.adjacency, pooled.x, pooled.graphs);
        let read = [global_max_pool(x.clone(), &graphs), global_mean_pool(x.clone(), &graphs)];
        sum = sum + Tensor::cat(read.into(), 1);
    }
    let x = drop(relu(lin1.forward(sum)), 0.5);
    lin3.forward(relu(lin2.forward(x)))
}

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let sets = run.tu("PROTEINS", |_, labels| labels.expect("nodes have labels"))?;
        let layer = |input| {
            let conv = SageConvConfig::new(input, 128).with_aggregation(Aggregation::Add).init(&run.device);
            (conv, TopKPoolConfig::new(128).with_ratio(0.8).init(&run.device))
        };
        let layers = [sets[0][0].x.dims()[1], 128, 128].map(layer).into();
        let linears = [(256, 128), (128, 64), (64, 2)];
        let linears = linears.map(|(input, output)| LinearConfig::new(input, output).init(&run.device));
        fit_graphs(run, sets, [200, 60], ((layers, linears), adam(0.0).init(), 0.0005), forward)
    })
}
