//! PyG's `examples/ogc.py`: a linear model, and features that move along edges and towards the known classes in turn.
//! The gradient of the squared error is written out.

use burn::module::Initializer;
use burn::tensor::Tensor;
use ported::run;
use sparse_tensor::CsrTensor;
use sparse_tensor::nn::gcn_normalization;
use sparse_tensor::ops::{IndexPlan, Reduce};
use std::process::ExitCode;

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let graph = run.normal_graph("cora")?.valid();
        let (device, nodes) = (graph.adjacency.device(), graph.nodes());
        let adjacency = gcn_normalization(&graph.adjacency, 1.0);
        let lazy = adjacency.mul_scalar(0.1).add(&CsrTensor::eye(nodes, &device).mul_scalar(0.9));
        let mask = |ids: &[usize]| -> Result<Tensor<2>, sparse_tensor::SparseError> {
            let ones = Tensor::ones([ids.len(), 1], &device);
            Ok(IndexPlan::from_list(ids, nodes, &device)?.put(
                Tensor::zeros([nodes, 1], &device),
                0,
                ones,
                Reduce::Add,
                true,
            ))
        };
        let (known, test) = (mask(&graph.splits.train)?, graph.labelled(&graph.splits.test)?);
        let seen = known.clone() + mask(&graph.splits.val)?;

        let (mut u, y) = (graph.features.to_dense(), graph.labels.one_hot());
        let start = Initializer::KaimingUniform { gain: 3_f64.sqrt().recip(), fan_out_only: false };
        let size = [u.dims()[1], graph.labels.classes()];
        let mut w: Tensor<2> = start.init_with(size, Some(size[0]), None, &device).val();
        let (mut rate, mut patience) = (0.001, 0);
        let mut last = u.clone().matmul(w.clone()).argmax(1);
        for _ in 0..run.epochs(64) {
            // A step of the weights on the nodes whose classes are seen, then one of the features.
            let error = u.clone().matmul(w.clone()) - y.clone();
            w = w - u.clone().transpose().matmul(error.clone() * seen.clone());
            u = lazy.matmul(u) - (error * known.clone()).matmul(w.clone().transpose()) * (2.0 * rate);
            rate *= 0.9;

            let predicted = u.clone().matmul(w.clone()).argmax(1);
            let same = predicted.clone().equal(last).float().mean().into_scalar::<f64>();
            last = predicted;
            patience += usize::from(same > 0.995);
            if patience > 2 {
                break;
            }
        }
        Ok(vec![test.accuracy(u.matmul(w))])
    })
}
