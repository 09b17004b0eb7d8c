//! PyG's `examples/mutag_gin.py`: five layers of GIN, and the sum of the nodes of each graph.

use burn::tensor::{Tensor, activation::relu};
use ported::{Batch, adam, fit_graphs, run};
use sparse_tensor::nn::{GinConv, GinConvConfig, Mlp, MlpConfig, global_add_pool};
use std::process::ExitCode;

fn forward((convs, mlp): &(Vec<GinConv<Mlp>>, Mlp), batch: &Batch) -> Tensor<2> {
    let x = convs.iter().fold(batch.x.clone(), |x, conv| relu(conv.forward(&batch.adjacency, x)));
    mlp.forward(global_add_pool(x, &batch.graphs))
}

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let sets = run.tu("MUTAG", |_, labels| labels.expect("nodes have labels"))?;
        let conv = |input| {
            let mlp = MlpConfig::new(vec![input, 32, 32]).init(&run.device);
            GinConvConfig::new().init(mlp, &run.device)
        };
        let convs = [sets[0][0].x.dims()[1], 32, 32, 32, 32].map(conv).into();
        let mlp = MlpConfig::new(vec![32, 32, 2]).with_batch_norm(false).with_dropout(0.5).init(&run.device);
        fit_graphs(run, sets, [100, 128], ((convs, mlp), adam(0.0).init(), 0.01), forward)
    })
}
