//! Training of graph networks: a step is forward, backward and Adam; an epoch is a step and an evaluation.

use super::bounds::{Part, stream};
use super::inputs::{Rows, dense, save};
use super::products::{product, with_gradients};
use super::report::Bench;
use burn::module::{Module, ModuleDisplay};
use burn::nn::{Dropout, DropoutConfig};
use burn::optim::{GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, Tensor};
use sparse_tensor::CsrTensor;
use sparse_tensor::data::{Graph, LabelledNodes, read_folder};
use sparse_tensor::nn::{
    FusedAdamConfig, GatConvConfig, GcnConv, GcnConvConfig, GinConv, GinConvConfig, MlpConfig, SageConv,
    SageConvConfig, dropout, elu, row_normalization, sparse_dropout, symmetric_normalization,
};
use std::cell::RefCell;
use std::path::Path;

pub(crate) fn run(bench: &mut Bench, folder: &Path) {
    let device = Device::flex().autodiff();
    if let Some(data) = std::env::var_os("SPARSE_DATA_DIR")
        && bench.wants_any(&["gat step", "gcn epoch"])
    {
        cora(bench, folder, &Path::new(&data).join("cora"), &device);
    }
    if bench.wants_any(&["gcn epoch, large", "gat step, large", "sage step, large", "gin step, large"]) {
        large(bench, folder, &device);
    }
}

/// A model and its optimizer.
type Trained<M> = RefCell<(M, ModuleOptimizer)>;

fn trained<M: Module>(model: M, decay: f32) -> Trained<M> {
    RefCell::new((model, FusedAdamConfig::new().with_weight_decay(decay).init()))
}

/// One step. The loss.
fn step<M: Module + Clone>(state: &Trained<M>, rate: f64, loss: impl FnOnce(&M) -> Tensor<1>) -> Vec<Tensor<1>> {
    let (model, optimizer) = &mut *state.borrow_mut();
    let loss = loss(model);
    let grads = GradientsParams::from_grads(loss.backward(), model);
    *model = optimizer.step(rate, model.clone(), grads);
    vec![loss.inner()]
}

/// A step of two layers on a graph and the features of its nodes.
fn graph_step<L: Module + ModuleDisplay>(
    state: &Trained<Layers<L>>,
    forward: fn(&L, &CsrTensor<2>, Tensor<2>) -> Tensor<2>,
    (graph, x): (&CsrTensor<2>, &Tensor<2>),
    train: &LabelledNodes,
) -> Vec<Tensor<1>> {
    step(state, 0.01, |Layers { first, second, dropout: drops }| {
        train.cross_entropy(forward(second, graph, dropout(forward(first, graph, x.clone()), drops)))
    })
}

/// Two layers, and dropout between them: GCN as of Kipf and Welling (2017), GAT as of Veličković et al. (2018), whose
/// first layer has heads side by side and the second one, GraphSAGE, GIN.
#[derive(Module, Debug)]
struct Layers<L: Module> {
    first: L,
    second: L,
    dropout: Dropout,
}

impl<L: Module> Layers<L> {
    fn new(first: L, second: L, dropout: f64) -> Self {
        Self { first, second, dropout: DropoutConfig::new(dropout).init() }
    }
}

fn gcn([input, hidden, classes]: [usize; 3], device: &Device) -> Layers<GcnConv> {
    let first = GcnConvConfig::new(input, hidden).with_relu(true).init(device);
    Layers::new(first, GcnConvConfig::new(hidden, classes).init(device), 0.5)
}

/// The citation graph, with the features of its nodes as a sparse matrix.
fn cora(bench: &mut Bench, folder: &Path, data: &Path, device: &Device) {
    let graph = read_folder(data, device).expect("the folder of Cora");
    let (rows, cols, _) = graph.adjacency.to_triplets::<f32>();
    let (nodes, words, _) = graph.features.to_triplets::<f32>();
    let signed = |list: &[usize]| list.iter().map(|&id| id as i64).collect::<Vec<_>>();
    for (name, list) in [("rows", &rows), ("cols", &cols), ("nodes", &nodes), ("words", &words)] {
        save(folder, &format!("cora.{name}"), &signed(list));
    }
    let input = graph.features.dims()[1];
    save(folder, "cora.dims", &signed(&[graph.features.dims()[0], input, graph.labels.classes()]));
    save(folder, "cora.train", &signed(&graph.splits.train));
    let labels: Vec<i64> = graph.labels.to_vec();
    save(folder, "cora.labels", &labels);
    let train = graph.labelled(&graph.splits.train).expect("labelled nodes");
    let graph = Graph { features: row_normalization(&graph.features), ..graph };

    let first = GatConvConfig::new(input, 8).with_heads(8).with_dropout(0.6).init(device);
    let second = GatConvConfig::new(64, graph.labels.classes()).with_concat(false).with_dropout(0.6).init(device);
    let gat = trained(Layers::new(first, second, 0.6), 5e-4);
    bench.time("gat step", "gat step", Vec::new, || {
        step(&gat, 0.005, |model| {
            let features = sparse_dropout(&graph.features, 0.6);
            let hidden = elu(model.first.forward_sparse(&graph.adjacency, &features), 1.0);
            train.cross_entropy(model.second.forward(&graph.adjacency, dropout(hidden, &model.dropout)))
        })
    });
    let gcn = trained(gcn([input, 16, graph.labels.classes()], device), 5e-4);
    let normal = symmetric_normalization(&graph.adjacency, true);
    let [adjacency, features] = [normal.valid(), graph.features.valid()];
    bench.time("gcn epoch", "gcn epoch", Vec::new, || {
        let loss = step(&gcn, 0.01, |model| {
            let dropped = sparse_dropout(&graph.features, 0.5);
            let hidden = dropout(model.first.forward_sparse(&normal, &dropped), &model.dropout);
            train.cross_entropy(model.second.forward(&normal, hidden))
        });
        let model = gcn.borrow().0.valid();
        drop(model.second.forward(&adjacency, model.first.forward_sparse(&adjacency, &features)));
        loss
    });
}

/// A graph of the size of ogbn-arxiv, whose edges and features it does not have.
fn large(bench: &mut Bench, folder: &Path, device: &Device) {
    const NODES: usize = 169_343;
    const CLASSES: usize = 40;
    let plain = Rows::uniform(2, [NODES; 2], 2_332_486).shared(folder, "graph", &Device::flex());
    let inputs = dense(folder, "graph.dense", 20, [NODES, 128]);
    let nodes: Vec<usize> = (0..NODES).step_by(2).collect();
    let labels: Vec<i64> = nodes.iter().map(|node| (node * 7919 % CLASSES) as i64).collect();
    let train = LabelledNodes::new(&nodes, &labels, NODES, CLASSES, device).expect("labelled nodes");
    let tracked: CsrTensor<2> = plain.clone().to_device(device);
    let x = inputs.clone().autodiff();
    // So many hidden features of a step, once written and once read in each pass, and their gradient.
    let between = |width| stream(3 * NODES * width * 4, 2 * NODES * width * 4);
    let first = GatConvConfig::new(128, 16).with_heads(8).init(device);
    let second = GatConvConfig::new(128, CLASSES).with_concat(false).init(device);
    let gat = trained(Layers::new(first, second, 0.5), 0.0);
    // A step has no gradient of the features.
    let attention = || {
        let dense = Part::Flops(2.0 * flops([NODES, 128, 128]) + 3.0 * flops([NODES, 128, CLASSES]));
        let products = [128, CLASSES].into_iter().flat_map(|width| with_gradients(&plain, width));
        products.chain([dense, between(2 * 128)]).collect()
    };
    bench.time("gat step, large", "gat step, large", attention, || {
        step(&gat, 0.005, |model| {
            let hidden = elu(model.first.forward(&tracked, x.clone()), 1.0);
            train.cross_entropy(model.second.forward(&tracked, dropout(hidden, &model.dropout)))
        })
    });
    drop(gat);
    let first = SageConvConfig::new(128, 256).with_relu(true).init(device);
    let sage = trained(Layers::new(first, SageConvConfig::new(256, CLASSES).init(device), 0.5), 0.0);
    // The first layer multiplies by the adjacency first, the second one last; both multiply the nodes themselves too.
    let neighbours = || {
        let dense = Part::Flops(4.0 * flops([NODES, 128, 256]) + 6.0 * flops([NODES, 256, CLASSES]));
        let products = [128, CLASSES, CLASSES].into_iter().flat_map(|width| product(&plain, width));
        products.chain([dense, between(256)]).collect()
    };
    bench.time("sage step, large", "sage step, large", neighbours, || {
        graph_step(&sage, SageConv::forward, (&tracked, &x), &train)
    });
    drop(sage);
    let [first, second] = [(128, false), (CLASSES, true)].map(|(width, last)| {
        let network = MlpConfig::new(vec![128, 128, width]).with_batch_norm(false).with_plain_last(last);
        GinConvConfig::new().init(network.init(device), device)
    });
    let gin = trained(Layers::new(first, second, 0.5), 0.0);
    // A step has no gradient of the features.
    let networks = || {
        let dense = Part::Flops(8.0 * flops([NODES, 128, 128]) + 3.0 * flops([NODES, 128, CLASSES]));
        (0..3).flat_map(|_| product(&plain, 128)).chain([dense, between(3 * 128)]).collect()
    };
    bench.time("gin step, large", "gin step, large", networks, || {
        graph_step(&gin, GinConv::forward, (&tracked, &x), &train)
    });
    drop(gin);
    let gcn = trained(gcn([128, 256, CLASSES], device), 0.0);
    let normal = symmetric_normalization(&tracked, true);
    let adjacency = normal.valid();
    // The first layer multiplies by the adjacency first, the second one last.
    let epoch = || {
        let (first, second) = (flops([NODES, 128, 256]), flops([NODES, 256, CLASSES]));
        let dense = Part::Flops(3.0 * first + 4.0 * second);
        let products = [128, CLASSES, CLASSES, 128, CLASSES].into_iter().flat_map(|width| product(&plain, width));
        // The hidden rows of the evaluation too.
        let hidden = NODES * 256 * 4;
        products.chain([dense, between(256), stream(hidden, hidden)]).collect()
    };
    bench.time("gcn epoch, large", "gcn epoch, large", epoch, || {
        let loss = graph_step(&gcn, GcnConv::forward, (&normal, &x), &train);
        let model = gcn.borrow().0.valid();
        drop(model.second.forward(&adjacency, model.first.forward(&adjacency, inputs.clone())));
        loss
    });
}

/// Of a dense product.
fn flops(sizes: [usize; 3]) -> f64 {
    2.0 * sizes.map(|size| size as f64).iter().product::<f64>()
}
