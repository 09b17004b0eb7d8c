//! Batches of large graphs: epochs of loaders, and training on what they draw.

use super::inputs::{Rows, dense, save};
use super::report::Bench;
use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Int, Tensor, TensorData, activation::relu};
use sparse_tensor::CsrTensor;
use sparse_tensor::data::{
    GraphBatch, HeteroBatch, HeteroGraph, HeteroSamplerConfig, LinkSampler, Negatives, NeighborLoader,
    NeighborSamplerConfig, SaintDraw, SaintSampler, SampledBy, SeedSampler, ShadowSampler, TypedNodes,
};
use sparse_tensor::nn::{EdgeType, FusedAdamConfig, HeteroConv, NodeTensors, SageConv, SageConvConfig, TypeJoin};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

const BATCH: usize = 1024;
const BATCHES: usize = 8;
const WORKERS: usize = 2;
const FEATURES: usize = 64;
const CLASSES: usize = 16;

const WORKS: [&str; 8] = [
    "neighbor loader",
    "link loader",
    "saint loader",
    "shadow loader",
    "graph loader",
    "typed loader",
    "typed step",
    "typed step, batches ready",
];

pub(crate) fn run(bench: &mut Bench, folder: &Path) {
    if bench.wants_any(&WORKS[..5]) {
        one_type(bench, folder);
    }
    if bench.wants_any(&WORKS[5..]) {
        typed(bench, folder);
    }
}

/// One number for each batch of an epoch.
fn epoch<S: SeedSampler>(loader: &NeighborLoader<S>, of: impl Fn(S::Batch) -> usize) -> Vec<Tensor<1>> {
    let sizes: Vec<f32> = loader.epoch(0).map(|batch| of(batch) as f32).collect();
    vec![Tensor::from_floats(&sizes[..], &Device::flex())]
}

fn loader<S: SeedSampler>(sampler: S, seeds: &[usize], batch: usize) -> NeighborLoader<S> {
    NeighborLoader::new(sampler, seeds, batch).expect("seeds of the graph").with_workers(WORKERS)
}

/// A graph of the size of ogbn-arxiv, and 20,000 small ones.
fn one_type(bench: &mut Bench, folder: &Path) {
    const NODES: usize = 169_343;
    let graph = Rows::uniform(2, [NODES; 2], 2_332_486).shared(folder, "graph", &Device::flex());
    let x = dense(folder, "graph.dense", 20, [NODES, 128]);
    let seeds: Vec<usize> = (0..BATCH * BATCHES).map(|k| k * 7919 % NODES).collect();
    save(folder, "loader.seeds", &signed(&seeds));

    let sampler = NeighborSamplerConfig::new(vec![15, 10]).init(&graph);
    let neighbors = loader(sampler.clone(), &seeds, BATCH);
    let features = x.clone();
    bench.time("neighbor loader", "neighbor loader", Vec::new, || {
        let x = features.clone();
        let rows = neighbors.epoch_with(0, move |batch| batch.features(x.clone()).dims()[0]).map(|rows| rows as f32);
        vec![Tensor::from_floats(&rows.collect::<Vec<_>>()[..], &Device::flex())]
    });
    // The edges of the seeds' rows, as many as seeds.
    let (rows, cols, _) = graph.to_triplets::<f32>();
    let edges: Vec<(usize, usize)> = seeds.iter().map(|&at| (cols[at], rows[at])).collect();
    let links = LinkSampler::new(sampler, &edges).expect("edges").with_negatives(Negatives::Pairs(1));
    let links = loader(links, &(0..edges.len()).collect::<Vec<_>>(), BATCH);
    bench.time("link loader", "link loader", Vec::new, || epoch(&links, |batch| batch.neighbors().nodes().len()));

    let saint = SaintSampler::new(&graph, SaintDraw::Walks { roots: 4 * BATCH, length: 2 }, 1).expect("nodes");
    let saint = loader(saint, &(0..BATCHES).collect::<Vec<_>>(), 1);
    bench.time("saint loader", "saint loader", Vec::new, || epoch(&saint, |part| part.nodes().len()));
    let shadow = loader(ShadowSampler::new(&graph, 2, 5, 1).expect("a square graph"), &seeds, BATCH);
    bench.time("shadow loader", "shadow loader", Vec::new, || epoch(&shadow, |batch| batch.node_ids().len()));

    // Rings of 10 to 40 nodes with features, as molecules are.
    const GRAPHS: usize = 20_000;
    let device = Device::flex();
    let sizes: Vec<usize> = (0..GRAPHS).map(|graph| 10 + graph * 7919 % 31).collect();
    save(folder, "loader.sizes", &signed(&sizes));
    let graphs: Vec<(CsrTensor<2>, Tensor<2>)> =
        sizes.iter().map(|&nodes| (ring(nodes), Tensor::ones([nodes, FEATURES], &device))).collect();
    let join = SampledBy::new(GRAPHS, move |numbers, _| {
        let (parts, rows): (Vec<_>, Vec<_>) = numbers.iter().map(|&number| graphs[number].clone()).unzip();
        let batch = GraphBatch::new(&parts).expect("square graphs");
        batch.join_rows(&rows).dims()[0]
    });
    let join = loader(join, &(0..GRAPHS).collect::<Vec<_>>(), 256);
    bench.time("graph loader", "graph loader", Vec::new, || epoch(&join, |rows| rows));
}

fn ring(nodes: usize) -> CsrTensor<2> {
    let ptr: Vec<i32> = (0..=nodes).map(|row| 2 * row as i32).collect();
    let cols = (0..nodes).flat_map(|row| {
        let mut ends = [(row + nodes - 1) % nodes, (row + 1) % nodes].map(|node| node as i32);
        ends.sort_unstable();
        ends
    });
    let values = vec![1.0; 2 * nodes];
    Rows { ptr, col: cols.collect(), values, shape: [nodes; 2] }.tensor(&Device::flex())
}

fn signed(list: &[usize]) -> Vec<i64> {
    list.iter().map(|&id| id as i64).collect()
}

/// 500,000 nodes of four types and 10,000,000 edges of six.
const TYPES: [(&str, usize); 4] = [("item", 150_000), ("shop", 50_000), ("tag", 100_000), ("user", 200_000)];
const RELATIONS: [[&str; 3]; 3] = [["user", "buys", "item"], ["item", "has", "tag"], ["shop", "sells", "item"]];

#[derive(Module, Debug)]
struct Model {
    layers: Vec<HeteroConv<SageConv>>,
}

impl Model {
    fn new(kinds: &[EdgeType], device: &Device) -> Self {
        let layer = |out| {
            let layers = kinds.iter().map(|kind| (kind.clone(), SageConvConfig::new(FEATURES, out).init(device)));
            HeteroConv::new(layers, TypeJoin::Sum)
        };
        Self { layers: vec![layer(FEATURES), layer(CLASSES)] }
    }
}

fn typed(bench: &mut Bench, folder: &Path) {
    const EDGES: usize = 10_000_000 / 6;
    let device = Device::flex().autodiff();
    let count = BTreeMap::from(TYPES);
    let mut graph = HeteroGraph::default();
    let mut x = NodeTensors::new();
    for (seed, (name, nodes)) in TYPES.into_iter().enumerate() {
        graph = graph.with_nodes(name, TypedNodes::new(nodes));
        let features = dense(folder, &format!("typed.{name}"), seed as u64, [nodes, FEATURES]);
        x.insert(name.into(), features.autodiff());
    }
    let mut kinds = vec![];
    for (seed, [source, relation, target]) in RELATIONS.into_iter().enumerate() {
        let kind = EdgeType::new(source, relation, target);
        for (way, kind) in [kind.clone(), kind.reversed()].into_iter().enumerate() {
            let shape = [count[&kind.target[..]], count[&kind.source[..]]];
            let name = format!("typed.{relation}{way}");
            let edges = Rows::uniform(10 + 2 * seed as u64 + way as u64, shape, EDGES);
            graph = graph.with_edges(&kind, edges.shared(folder, &name, &Device::flex()));
            kinds.push(kind);
        }
    }
    let items = count["item"];
    let seeds: Vec<usize> = (0..BATCH * BATCHES).map(|k| k * 7919 % items).collect();
    save(folder, "typed.seeds", &signed(&seeds));
    let labels: Vec<i64> = (0..items).map(|item| (item * 7919 % CLASSES) as i64).collect();
    let labels = Tensor::<1, Int>::from_data(TensorData::new(labels, [items]), &device);
    let batches = loader(HeteroSamplerConfig::new(vec![10, 5]).init(&graph, "item"), &seeds, BATCH);
    let prepared = || {
        let (x, labels) = (x.clone(), labels.clone());
        batches.epoch_with(0, move |batch| {
            let (x, labels) = (batch.features(&x), batch.labels(labels.clone()));
            (batch, x, labels)
        })
    };
    bench.time("typed loader", "typed loader", Vec::new, || {
        let rows: Vec<f32> = prepared().map(|(_, x, _)| x["item"].dims()[0] as f32).collect();
        vec![Tensor::from_floats(&rows[..], &Device::flex())]
    });
    let state = RefCell::new((Model::new(&kinds, &device), FusedAdamConfig::new().init()));
    let loss = CrossEntropyLossConfig::new().init(&device);
    let train = |batches: &mut dyn Iterator<Item = (HeteroBatch, NodeTensors, Tensor<1, Int>)>| -> Vec<Tensor<1>> {
        let (model, adam) = &mut *state.borrow_mut();
        let mut last = None;
        for (batch, x, labels) in batches {
            let mut h = x;
            for (at, (layer, edges)) in model.layers.iter().zip(batch.blocks()).enumerate() {
                h = layer.forward(&edges, &h);
                if at == 0 {
                    h.values_mut().for_each(|h| *h = relu(h.clone()));
                }
            }
            let own = loss.forward(h["item"].clone(), labels);
            let grads = GradientsParams::from_grads(own.backward(), model);
            *model = adam.step(0.01, model.clone(), grads);
            last = Some(own.inner());
        }
        last.into_iter().collect()
    };
    bench.time("typed step", "typed step", Vec::new, || train(&mut prepared()));
    if bench.wants("typed step, batches ready") {
        let ready: Vec<_> = prepared().collect();
        bench.time("typed step, batches ready", "", Vec::new, || train(&mut ready.iter().cloned()));
    }
}
