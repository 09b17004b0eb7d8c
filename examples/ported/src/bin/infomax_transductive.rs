//! PyG's `examples/infomax_transductive.py`: embeddings that tell true nodes from shuffled ones, measured by a logistic
//! regression.

use burn::module::{Initializer, Module};
use burn::nn::{Linear, LinearConfig, PRelu, PReluConfig};
use burn::optim::GradientsParams;
use burn::tensor::{
    Distribution, Tensor,
    activation::{log_sigmoid, sigmoid},
};
use ported::{adam, run};
use sparse_tensor::CsrTensor;
use sparse_tensor::data::LogisticRegressionConfig;
use sparse_tensor::nn::{GcnConv, GcnConvConfig, gcn_normalization};
use std::process::ExitCode;

#[derive(Module, Debug)]
struct Infomax {
    conv: GcnConv,
    prelu: PRelu,
    weight: Linear,
}

impl Infomax {
    fn encode(&self, adjacency: &CsrTensor<2>, x: &CsrTensor<2>) -> Tensor<2> {
        self.prelu.forward(self.conv.forward_sparse(adjacency, x))
    }
}

fn main() -> ExitCode {
    run("test accuracy", |run| {
        let mut graph = run.graph("cora")?;
        graph.adjacency = gcn_normalization(&graph.adjacency, 1.0);
        let start = Initializer::Uniform { min: -1.0 / 512_f64.sqrt(), max: 1.0 / 512_f64.sqrt() };
        let mut model = Infomax {
            conv: GcnConvConfig::new(graph.features.dims()[1], 512).init(&run.device),
            prelu: PReluConfig::new().with_num_parameters(512).init(&run.device),
            weight: LinearConfig::new(512, 512).with_bias(false).with_initializer(start).init(&run.device),
        };
        let mut optimizer = adam(0.0).init();
        for _ in 0..run.epochs(300) {
            let (_, order) =
                Tensor::<1>::random([graph.nodes()], Distribution::Default, &run.device).sort_with_indices(0);
            let shuffled = graph.features.select(0, order);
            let [yes, no] = [&graph.features, &shuffled].map(|x| model.encode(&graph.adjacency, x));
            let summary = model.weight.forward(sigmoid(yes.clone().mean_dim(0))).transpose();
            let loss = -log_sigmoid(yes.matmul(summary.clone())).mean() - log_sigmoid(-no.matmul(summary)).mean();
            let grads = GradientsParams::from_grads(loss.backward(), &model);
            model = optimizer.step(0.001, model, grads);
        }
        let plain = graph.valid();
        let z = model.valid().encode(&plain.adjacency, &plain.features);
        let (train, test) = (plain.labelled(&plain.splits.train)?, plain.labelled(&plain.splits.test)?);
        let regression = LogisticRegressionConfig::new().fit(z.clone(), &train);
        Ok(vec![test.accuracy(regression.logits(z))])
    })
}
