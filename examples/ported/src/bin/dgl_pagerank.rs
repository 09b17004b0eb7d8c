//! DGL's `examples/sparse/pagerank.py`: ten steps of PageRank on a random graph. The measure is how far the ranks then
//! are from those at the end, together.

use burn::tensor::Tensor;
use ported::run;
use sparse_tensor::data::{erdos_renyi, pagerank};
use std::process::ExitCode;

fn main() -> ExitCode {
    run("sum of distances", |run| {
        let device = run.device.clone().inner();
        let adjacency = erdos_renyi(100, 0.05, 10086 + run.seed, &device)?;
        let degrees = adjacency.col_sums();
        let mut ranks = Tensor::<1>::full([100], 0.01, &device);
        for _ in 0..run.epochs(10) {
            ranks = adjacency.matmul(ranks / degrees.clone()) * 0.85 + 0.15 / 100.0;
        }
        Ok(vec![(ranks - pagerank(&adjacency)).abs().sum().into_scalar::<f64>()])
    })
}
