//! PyG's `examples/label_prop.py`, on Cora in place of ogbn-arxiv: known classes flow along edges, without training.

use ported::run;
use sparse_tensor::data::label_propagation;
use sparse_tensor::nn::symmetric_normalization;
use std::process::ExitCode;

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let graph = run.graph("cora")?;
        let known = graph.labelled(&graph.splits.train)?;
        let adjacency = symmetric_normalization(&graph.adjacency, false);
        let out = label_propagation(&adjacency, &known, 3, 0.9);
        Ok(vec![graph.labelled(&graph.splits.test)?.accuracy(out)])
    })
}
