//! A step of training of a graph attention network on Cora: forward, backward and Adam.

use burn::module::Module;
use burn::nn::{Dropout, DropoutConfig};
use burn::optim::decay::WeightDecayConfig;
use burn::optim::{AdamConfig, GradientsParams, ModuleOptimizer};
use burn::tensor::activation::elu;
use burn::tensor::{Device, Tensor};
use sparse_tensor::data::{Graph, LabelledNodes, read_folder};
use sparse_tensor::nn::{GatConv, GatConvConfig, row_normalization, sparse_dropout};
use std::cell::RefCell;
use std::path::Path;

/// The set-up of Veličković et al. (2018): 8 heads of 8 features, then one; dropout 0.6.
#[derive(Module, Debug)]
struct Gat {
    first: GatConv,
    second: GatConv,
    dropout: Dropout,
}

/// What a step starts from.
pub(crate) struct Training {
    graph: Graph,
    train: LabelledNodes,
    state: RefCell<(Gat, ModuleOptimizer)>,
}

impl Training {
    /// The graph of `SPARSE_DATA_DIR/cora`, which the peer gets too; none if the variable is not set.
    pub(crate) fn make(folder: &Path, save: impl Fn(&Path, &str, &[i64])) -> Option<Self> {
        let device = Device::flex().autodiff();
        let cora = Path::new(&std::env::var_os("SPARSE_DATA_DIR")?).join("cora");
        let graph = read_folder(cora, &device).expect("the folder of Cora");
        let (rows, cols, _) = graph.adjacency.to_triplets::<f32>();
        let (nodes, words, _) = graph.features.to_triplets::<f32>();
        let signed = |list: &[usize]| list.iter().map(|&id| id as i64).collect::<Vec<_>>();
        for (name, list) in [("rows", &rows), ("cols", &cols), ("nodes", &nodes), ("words", &words)] {
            save(folder, &format!("cora.{name}"), &signed(list));
        }
        save(folder, "cora.dims", &signed(&[graph.features.dims()[0], graph.features.dims()[1], graph.classes]));
        save(folder, "cora.train", &signed(&graph.splits.train));
        let labels: Vec<i64> = graph.labels.clone().into_data().convert::<i64>().iter().collect();
        save(folder, "cora.labels", &labels);
        let model = Gat {
            first: GatConvConfig::new(graph.features.dims()[1], 8).with_heads(8).with_dropout(0.6).init(&device),
            second: GatConvConfig::new(64, graph.classes).with_concat(false).with_dropout(0.6).init(&device),
            dropout: DropoutConfig::new(0.6).init(),
        };
        let optimizer = AdamConfig::new().with_weight_decay(Some(WeightDecayConfig::new(5e-4))).init();
        Some(Self {
            train: graph.labelled(&graph.splits.train).expect("labelled nodes"),
            graph: Graph { features: row_normalization(&graph.features), ..graph },
            state: RefCell::new((model, optimizer)),
        })
    }

    /// One step. The loss.
    pub(crate) fn step(&self) -> Vec<Tensor<1>> {
        let (model, optimizer) = &mut *self.state.borrow_mut();
        let features = sparse_dropout(&self.graph.features, 0.6);
        let hidden = elu(model.first.forward_sparse(&self.graph.adjacency, &features), 1.0);
        let logits = model.second.forward(&self.graph.adjacency, model.dropout.forward(hidden));
        let loss = self.train.cross_entropy(logits);
        let grads = GradientsParams::from_grads(loss.backward(), model);
        *model = optimizer.step(0.005, model.clone(), grads);
        vec![loss.inner()]
    }
}
