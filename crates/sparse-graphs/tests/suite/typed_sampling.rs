//! Samples of graphs of types, by seed and by time.

use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::{Device, Int, Tensor};
use proptest::prelude::*;
use sparse_tensor::data::*;
use sparse_tensor::nn::{EdgeType, HeteroConv, HgtConvConfig, NodeTensors, SageConv, SageConvConfig, TypeJoin};
use sparse_tensor::ops::Reduce;
use sparse_tensor::{CooTensor, CsrTensor, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

fn flex() -> Device {
    Device::flex()
}

fn told<T>(result: Result<T>, parts: &[&str]) {
    let Err(trouble) = result else { panic!("no error: {parts:?}") };
    let text = trouble.to_string();
    assert!(trouble.kind() == "invalid" && parts.iter().all(|part| text.contains(part)), "{text}: {parts:?}");
}

/// The stored elements of a matrix.
fn entries(a: &CsrTensor<2>) -> Vec<(usize, usize, f64)> {
    let dims = a.dims();
    let flat: Vec<f64> = a.to_dense().into_data().convert::<f64>().iter().collect();
    let cells = (0..dims[0]).flat_map(|row| (0..dims[1]).map(move |col| (row, col)));
    cells.zip(flat).filter(|(_, value)| *value != 0.0).map(|((row, col), value)| (row, col, value)).collect()
}

/// Values that name the edge: `1 + 100 row + col`.
fn matrix(edges: &BTreeSet<(usize, usize)>, shape: [usize; 2]) -> CsrTensor<2> {
    let edges: Vec<_> = edges.iter().copied().collect();
    let values: Vec<f32> = edges.iter().map(|&(row, col)| (1 + 100 * row + col) as f32).collect();
    let ends: Vec<i64> = edges.iter().map(|e| e.0 as i64).chain(edges.iter().map(|e| e.1 as i64)).collect();
    let ends = burn::tensor::TensorData::new(ends, [2, edges.len()]);
    let ends = Tensor::<2, Int>::from_data(ends, &flex());
    CooTensor::<2>::new(ends, Tensor::<1>::from_floats(&values[..], &flex()), shape).unwrap().to_csr()
}

const LIKES: (&str, &str, &str) = ("user", "likes", "item");
const KNOWS: (&str, &str, &str) = ("user", "knows", "user");
const LIKED: (&str, &str, &str) = ("item", "rev_likes", "user");

/// Users, items, and tags that nothing is joined to.
fn graph(
    users: usize,
    items: usize,
    likes: &BTreeSet<(usize, usize)>,
    knows: &BTreeSet<(usize, usize)>,
) -> HeteroGraph {
    let turned = likes.iter().map(|&(item, user)| (user, item)).collect();
    HeteroGraph::default()
        .with_nodes("user", TypedNodes::new(users))
        .with_nodes("item", TypedNodes::new(items))
        .with_nodes("tag", TypedNodes::new(0))
        .with_edges(LIKES, matrix(likes, [items, users]))
        .with_edges(LIKED, matrix(&turned, [users, items]))
        .with_edges(KNOWS, matrix(knows, [users, users]))
        .with_edges(("tag", "of", "item"), matrix(&BTreeSet::new(), [items, 0]))
}

type Pairs = BTreeSet<(usize, usize)>;

fn drawn() -> impl Strategy<Value = (usize, usize, Pairs, Pairs, Vec<usize>)> {
    (1..9usize, 1..7usize).prop_flat_map(|(users, items)| {
        let likes = proptest::collection::btree_set((0..items, 0..users), 0..25);
        let knows = proptest::collection::btree_set((0..users, 0..users), 0..25);
        (Just(users), Just(items), likes, knows, proptest::collection::vec(0..items, 0..5))
    })
}

/// Whether an edge comes after a seed.
type Late<'a> = &'a dyn Fn(&EdgeType, (usize, usize), usize) -> bool;

/// What a batch must be, by a loop over all edges of the graph.
fn check(
    sampler: &HeteroSampler,
    batch: &HeteroBatch,
    seeds: &[usize],
    fan_outs: &[usize],
    late: Late<'_>,
    disjoint: bool,
) {
    let tree = |name: &str, local: usize| if disjoint { batch.trees(name)[local] } else { 0 };
    for name in ["user", "item", "tag"] {
        let nodes: Vec<_> =
            (0..batch.node_ids(name).len()).map(|at| (tree(name, at), batch.node_ids(name)[at])).collect();
        assert_eq!(nodes.iter().collect::<BTreeSet<_>>().len(), nodes.len(), "a node of a tree is there once");
        assert_eq!(batch.counts(name).len(), fan_outs.len() + 1);
        assert_eq!(*batch.counts(name).last().unwrap(), nodes.len());
    }
    let own: Vec<usize> = batch.seeds().iter().map(|&seed| batch.node_ids("item")[seed]).collect();
    assert_eq!(own, seeds);
    let blocks: Vec<BTreeMap<_, _>> = batch.blocks().map(|edges| edges.into_iter().collect()).collect();
    assert_eq!(blocks.len(), fan_outs.len());
    let mut reached: BTreeSet<(String, usize)> = (0..batch.counts("item")[0]).map(|k| ("item".into(), k)).collect();
    for (hop, &fan_out) in fan_outs.iter().enumerate() {
        for (kind, whole) in sampler.graph().edges() {
            let [to, from] = [batch.counts(&kind.target), batch.counts(&kind.source)];
            let (rows, cols) = (batch.node_ids(&kind.target), batch.node_ids(&kind.source));
            let block = blocks[fan_outs.len() - 1 - hop][&kind];
            assert_eq!(block.dims(), [to[hop], from[hop + 1]]);
            let first = if hop == 0 { 0 } else { to[hop - 1] };
            let all = entries(whole);
            let found = entries(block);
            for row in first..to[hop] {
                let seed = if disjoint { seeds[tree(&kind.target, row)] } else { 0 };
                let can: BTreeMap<usize, f64> = all
                    .iter()
                    .filter(|edge| edge.0 == rows[row] && !late(&kind, (edge.0, edge.1), seed))
                    .map(|edge| (edge.1, edge.2))
                    .collect();
                let got: Vec<_> = found.iter().filter(|edge| edge.0 == row).collect();
                assert_eq!(got.len(), can.len().min(fan_out), "{kind} row {row} of hop {hop}");
                for &&(_, col, value) in &got {
                    assert_eq!(Some(&value), can.get(&cols[col]), "an edge of the graph, with its value");
                    assert_eq!(tree(&kind.source, col), tree(&kind.target, row));
                    reached.insert((kind.source.clone(), col));
                }
            }
            if hop + 1 == fan_outs.len() {
                let values: Vec<f64> = batch.edge_ids(&kind).iter().map(|&at| all[at].2).collect();
                assert_eq!(values, found.iter().map(|edge| edge.2).collect::<Vec<_>>());
            }
        }
    }
    let all: usize = ["user", "item", "tag"].iter().map(|name| batch.node_ids(name).len()).sum();
    assert_eq!(reached.len(), all, "each node is a seed or was drawn");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_batch_has_the_edges_that_a_loop_finds((users, items, likes, knows, seeds) in drawn(), fan_out in 1..4usize,
                                               disjoint: bool, draw: u64) {
        let graph = graph(users, items, &likes, &knows);
        let config = HeteroSamplerConfig::new(vec![fan_out, 2]).with_disjoint(disjoint).with_seed(5);
        let sampler = config.init(&graph, "item");
        let batch = sampler.sample(&seeds, draw);
        check(&sampler, &batch, &seeds, &[fan_out, 2], &|_, _, _| false, disjoint);
        if disjoint {
            prop_assert_eq!(batch.counts("item")[0], seeds.len());
        }
    }

    #[test]
    fn no_edge_is_later_than_its_seed((users, items, likes, knows, seeds) in drawn(), fan_out in 1..4usize, last: bool,
                                      draw: u64) {
        let graph = graph(users, items, &likes, &knows);
        let when = |row: usize, col: usize| ((row * 7 + col * 5) % 9) as i64;
        let times = by_edge(&graph, when);
        let own: Vec<i64> = (0..items).map(|item| (item % 5) as i64 * 2).collect();
        let strategy = if last { TemporalStrategy::Last } else { TemporalStrategy::Uniform };
        let sampler = HeteroSamplerConfig::new(vec![fan_out, 2]).init(&graph, "item");
        let sampler = sampler.with_times(&times, &own, strategy);
        let late = |_: &EdgeType, (row, col): (usize, usize), seed: usize| when(row, col) > own[seed];
        let batch = sampler.sample(&seeds, draw);
        check(&sampler, &batch, &seeds, &[fan_out, 2], &late, true);
        // The same at the times of the seeds, and everything at the end of time.
        let at: Vec<i64> = seeds.iter().map(|&seed| own[seed]).collect();
        let again = sampler.sample_at(&seeds, &at, draw);
        prop_assert_eq!(batch.node_ids("user"), again.node_ids("user"));
        let all = sampler.sample_at(&seeds, &vec![i64::MAX; seeds.len()], draw);
        check(&sampler, &all, &seeds, &[fan_out, 2], &|_, _, _| false, true);
        prop_assert!(sampler.sample_at(&seeds, &vec![i64::MIN; seeds.len()], draw).node_ids("user").is_empty());
    }
}

fn by_edge(graph: &HeteroGraph, when: impl Fn(usize, usize) -> i64) -> Vec<(EdgeType, CsrTensor<2, Int>)> {
    let own = |(kind, a): (EdgeType, &CsrTensor<2>)| {
        let times: Vec<i64> = entries(a).into_iter().map(|(row, col, _)| when(row, col)).collect();
        (kind, a.int().with_values(Tensor::<1, Int>::from_ints(&times[..], &flex())))
    };
    graph.edges().into_iter().map(own).collect()
}

/// One item that ten users like, at the times 0 to 9.
fn star() -> HeteroGraph {
    let likes = (0..10).map(|user| (0, user)).collect();
    graph(10, 1, &likes, &BTreeSet::new())
}

#[test]
fn last_takes_the_latest_and_uniform_takes_all_alike() {
    let graph = star();
    let times = by_edge(&graph, |row, col| (row + col) as i64);
    let config = HeteroSamplerConfig::new(vec![3]);
    let last = config.init(&graph, "item").with_times(&times, &[6], TemporalStrategy::Last);
    assert_eq!(last.sample(&[0], 0).node_ids("user"), [4, 5, 6]);
    assert_eq!(last.sample_at(&[0, 0], &[1, 9], 4).node_ids("user"), [0, 1, 7, 8, 9]);
    assert_eq!(last.sample_at(&[0, 0], &[1, 9], 4).trees("user"), [0, 0, 1, 1, 1]);
    let uniform = config.init(&graph, "item").with_times(&times, &[6], TemporalStrategy::Uniform);
    // 6,000 trees of 3 of the users 0 to 6: each in 2,571 of them, with a deviation of 38.
    let batch = uniform.sample(&[0; 6_000], 1);
    let mut counts = [0; 10];
    batch.node_ids("user").iter().for_each(|&user| counts[user] += 1);
    assert!(counts[..7].iter().all(|count| (2_420..2_720).contains(count)), "{counts:?}");
    assert_eq!(counts[7..], [0; 3]);
}

#[test]
fn samples_of_types_repeat_for_any_number_of_threads() {
    let relations = [(LIKES.into(), 4_000, 0.8), (KNOWS.into(), 2_000, 0.5)];
    let graph = hetero_block_model(&[("user", 500), ("item", 300)], 4, &relations, 7, &flex()).unwrap();
    let times = by_edge(&graph, |row, col| (row * col % 100) as i64);
    for replace in [false, true] {
        let config = HeteroSamplerConfig::new(vec![6, 4]).with_replace(replace).with_weighted(true).with_seed(3);
        let joint = config.init(&graph, "item");
        let apart = config.clone().with_disjoint(true).init(&graph, "item");
        let timed = joint.with_times(&times, &[50; 300], TemporalStrategy::Uniform);
        for sampler in [joint, apart, timed] {
            let seeds: Vec<usize> = (0..300).step_by(2).collect();
            let run = |threads: usize, draw: u64| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let batch = pool.install(|| sampler.sample(&seeds, draw));
                (batch.edge_ids(LIKES).to_vec(), batch.edge_ids(KNOWS).to_vec(), batch.node_ids("user").to_vec())
            };
            assert_eq!(run(1, 4), run(4, 4));
            assert_ne!(run(4, 4), run(4, 5));
        }
    }
}

#[test]
fn fan_outs_and_directions_are_those_of_the_type() {
    let likes = [(0, 0), (0, 1), (0, 2), (1, 2)].into();
    let knows = [(0, 1), (1, 2)].into();
    let graph = graph(3, 2, &likes, &knows).select_edges(&[LIKES.into(), KNOWS.into()]);
    let config = HeteroSamplerConfig::new(vec![2, 2]).with_edge_fan_outs(vec![(KNOWS.into(), vec![0, 1])]);
    let batch = config.init(&graph, "item").sample(&[0], 3);
    assert_eq!((batch.counts("item"), batch.counts("user")[..2].to_vec()), (&[1, 1, 1][..], vec![0, 2]));
    let inner = batch.blocks().nth(1).unwrap();
    assert_eq!(inner.iter().map(|(_, a)| a.nnz()).sum::<usize>(), 2);
    // Against the edges the items are the neighbours of users.
    let turned = config.clone().with_edge_fan_outs(vec![]).with_direction(Direction::Columns).init(&graph, "user");
    let names: Vec<String> = turned.graph().edge_types().map(EdgeType::to_string).collect();
    assert_eq!(names, ["item-rev_likes-user", "user-knows-user"]);
    let batch = turned.sample(&[2], 0);
    assert_eq!((batch.node_ids("item"), batch.node_ids("user")), (&[0, 1][..], &[2, 1, 0][..]));
    let both =
        HeteroSamplerConfig::new(vec![NeighborSampler::ALL; 2]).with_direction(Direction::Both).init(&graph, "user");
    assert_eq!(both.graph().edge_types().count(), 3);
    assert_eq!(both.sample(&[0], 0).node_ids("user"), [0, 1, 2]);
}

#[test]
fn a_loader_of_types_gives_the_same_batches_for_any_number_of_workers() {
    let relations = [(LIKES.into(), 400, 0.8), (KNOWS.into(), 200, 0.5)];
    let graph = hetero_block_model(&[("user", 50), ("item", 30)], 2, &relations, 7, &flex()).unwrap();
    let sampler = HeteroSamplerConfig::new(vec![3, 2]).init(&graph, "item");
    let seeds: Vec<usize> = (0..30).step_by(2).collect();
    let loader = NeighborLoader::new(sampler.clone(), &seeds, 4).unwrap().with_seed(3);
    let run = |workers| -> Vec<(Vec<usize>, Vec<usize>)> {
        let of = |batch: HeteroBatch| (batch.node_ids("item").to_vec(), batch.edge_ids(LIKES).to_vec());
        loader.clone().with_workers(workers).epoch_with(1, of).collect()
    };
    let all = run(0);
    assert_eq!((all.len(), &all), (4, &run(3)));
    let mut found: Vec<usize> =
        loader.epoch(0).flat_map(|batch| batch.node_ids("item")[..batch.counts("item")[0]].to_vec()).collect();
    found.sort_unstable();
    assert_eq!(found, seeds);
    assert_eq!(NeighborLoader::new(sampler, &[30], 4).unwrap_err().kind(), "index_out_of_range");
}

fn ones(graph: &HeteroGraph) -> NodeTensors {
    let own = |name: &str| (name.to_string(), Tensor::ones([graph.nodes_of(name).count, 4], &flex()));
    graph.node_types().map(own).collect()
}

#[test]
fn a_model_over_a_full_sample_of_types_gives_what_it_gives_over_the_graph() {
    let relations = [(LIKES.into(), 60, 0.8), (KNOWS.into(), 40, 0.5)];
    let graph = hetero_block_model(&[("user", 30), ("item", 20)], 2, &relations, 7, &flex()).unwrap();
    let graph = graph.with_reverse(Reduce::Amax);
    let kinds: Vec<EdgeType> = graph.edge_types().cloned().collect();
    let random = |(name, x): (String, Tensor<2>)| (name, x.random_like(burn::tensor::Distribution::Uniform(-1.0, 1.0)));
    let x: NodeTensors = ones(&graph).into_iter().map(random).collect();
    let sage = || {
        let own = kinds.iter().map(|kind| (kind.clone(), SageConvConfig::new(4, 4).init(&flex())));
        HeteroConv::<SageConv>::new(own.collect::<Vec<_>>(), TypeJoin::Mean)
    };
    let layers = [sage(), sage()];
    let widths = ["user", "item"].map(|name| (name.to_string(), 4)).into();
    let hgt = HgtConvConfig::new(widths, 4, kinds.clone()).init(&flex());
    let sampler = HeteroSamplerConfig::new(vec![NeighborSampler::ALL; 2]).init(&graph, "item");
    let seeds = [7, 3, 7];
    let rows = Tensor::<1, Int>::from_ints(seeds.map(|seed| seed as i64), &flex());
    for disjoint in [false, true] {
        let config = HeteroSamplerConfig::new(vec![NeighborSampler::ALL; 2]).with_disjoint(disjoint);
        let sampler = if disjoint { config.init(&graph, "item") } else { sampler.clone() };
        let batch = sampler.sample(&seeds, 0);
        let close = |got: &NodeTensors, want: &NodeTensors| {
            let got = batch.seed_rows(got["item"].clone()).into_data();
            let want = want["item"].clone().select(0, rows.clone()).into_data();
            got.assert_approx_eq::<f32>(&want, burn::tensor::Tolerance::absolute(1e-5));
        };
        let all = |layer: &HeteroConv<SageConv>, x: &NodeTensors| layer.forward(&graph.edges(), x);
        let want = all(&layers[1], &all(&layers[0], &x));
        let got = batch.blocks().zip(&layers).fold(batch.features(&x), |x, (edges, layer)| layer.forward(&edges, &x));
        close(&got, &want);
        let want = hgt.forward(&graph.edges(), &hgt.forward(&graph.edges(), &x));
        let got = batch.blocks().fold(batch.features(&x), |x, edges| hgt.forward(&edges, &x));
        close(&got, &want);
        let labels: Vec<i64> = batch
            .labels(graph.nodes_of("item").labels.as_ref().unwrap().tensor())
            .into_data()
            .convert::<i64>()
            .iter()
            .collect();
        assert_eq!((labels.len(), labels[0]), (3, labels[2]));
    }
}

#[test]
fn a_step_on_sampled_types_lowers_the_loss() {
    let device = flex().autodiff();
    let relations = [(LIKES.into(), 600, 0.9), (KNOWS.into(), 300, 0.9)];
    let graph = hetero_block_model(&[("user", 60), ("item", 40)], 2, &relations, 7, &flex()).unwrap();
    let graph = graph.with_reverse(Reduce::Amax);
    let x: NodeTensors = graph
        .node_types()
        .map(|name| {
            let own = graph.nodes_of(name).labels.as_ref().unwrap().tensor();
            (name.to_string(), Tensor::from_inner(own.one_hot(2).float()))
        })
        .collect();
    let kinds: Vec<EdgeType> = graph.edge_types().cloned().collect();
    let graph = graph.to_device(&device);
    let own = kinds.iter().map(|kind| (kind.clone(), SageConvConfig::new(2, 2).init(&device)));
    let mut model = HeteroConv::<SageConv>::new(own.collect::<Vec<_>>(), TypeJoin::Sum);
    let sampler = HeteroSamplerConfig::new(vec![4]).init(&graph, "item");
    let batch = sampler.sample(&(0..40).collect::<Vec<_>>(), 0);
    let labels = batch.labels(graph.nodes_of("item").labels.as_ref().unwrap().tensor());
    let mut optim = SgdConfig::new().init();
    let mut losses = vec![];
    for _ in 0..5 {
        let edges = batch.blocks().next().unwrap();
        let out = model.forward(&edges, &batch.features(&x))["item"].clone();
        let loss = burn::nn::loss::CrossEntropyLossConfig::new().init(&device).forward(out, labels.clone());
        losses.push(loss.clone().into_scalar::<f32>());
        let grads = GradientsParams::from_grads(loss.backward(), &model);
        model = optim.step(0.5, model, grads);
    }
    assert!(losses.windows(2).all(|pair| pair[1] < pair[0]), "{losses:?}");
}

#[test]
fn what_a_typed_sampler_cannot_use_is_refused_with_its_type() {
    let graph = star();
    let config = HeteroSamplerConfig::new(vec![3, 2]);
    told(config.try_init(&graph, "author"), &["\"author\"", "item"]);
    told(HeteroSamplerConfig::new(vec![]).try_init(&graph, "item"), &["fan-out for each layer"]);
    let with = |own: Vec<(EdgeType, Vec<usize>)>| config.clone().with_edge_fan_outs(own).try_init(&graph, "item");
    told(with(vec![(("a", "b", "c").into(), vec![1, 1])]), &["a-b-c", "user-likes-item"]);
    told(with(vec![(LIKES.into(), vec![1])]), &["user-likes-item", "2 hops", "got 1"]);
    told(with(vec![(LIKES.into(), vec![1, 1]), (LIKES.into(), vec![1, 1])]), &["user-likes-item", "again"]);
    told(HeteroSamplerConfig::new(vec![NeighborSampler::ALL]).with_replace(true).try_init(&graph, "item"), &["2^31"]);
    let bad = matrix(&[(0, 0)].into(), [1, 10]).with_values(Tensor::<1>::from_floats([-1.0], &flex()));
    let weighted = config.clone().with_weighted(true);
    told(weighted.try_init(&graph.clone().with_edges(LIKES, bad), "item"), &["user-likes-item", "got -1"]);
    let sampler = config.init(&graph, "item");
    told(sampler.try_sample(&[1], 0), &["item", "got 1"]);
    let batch = sampler.sample(&[0], 0);
    told(batch.try_node_ids("x"), &["\"x\"", "item"]);
    told(batch.try_edge_ids(("x", "y", "z")), &["x-y-z", "user-likes-item"]);
    told(batch.try_features(&NodeTensors::new()), &["item", "features"]);
    let mut x = ones(&graph);
    x.insert("user".into(), Tensor::ones([9, 4], &flex()));
    told(batch.try_features(&x), &["user", "10 nodes", "got 9"]);
    told(batch.try_labels(Tensor::<1>::ones([2], &flex())), &["item", "1 nodes", "got 2"]);
    told(batch.try_seed_rows(Tensor::<1>::ones([0], &flex())), &["item", "1 seeds", "got 0"]);
    // A type without nodes in the batch needs no features, and a batch may have no seeds.
    let mut x = ones(&graph);
    x.remove("tag");
    assert_eq!(batch.features(&x)["item"].dims()[1], 4);
    let none = sampler.sample(&[], 0);
    assert_eq!((none.node_ids("item").len(), none.blocks().count()), (0, 2));
    // Times.
    let times = by_edge(&graph, |row, col| (row + col) as i64);
    let last = TemporalStrategy::Last;
    told(sampler.try_with_times(&times[1..], &[0], last), &[&times[0].0.to_string(), "got none"]);
    let mut wrong = times.clone();
    wrong[0].1 = wrong[0].1.narrow(1, 0, 0).clone();
    told(sampler.try_with_times(&wrong, &[0], last), &[&wrong[0].0.to_string(), "pattern"]);
    wrong[0].0 = EdgeType::new("x", "y", "z");
    told(sampler.try_with_times(&wrong, &[0], last), &["x-y-z"]);
    assert_eq!(sampler.try_with_times(&times, &[], last).unwrap_err().kind(), "length_mismatch");
    told(sampler.try_sample_at(&[0], &[3], 0), &["with_times"]);
    let timed = sampler.with_times(&times, &[3], last);
    assert_eq!(timed.try_sample_at(&[0], &[], 0).unwrap_err().kind(), "length_mismatch");
}

#[test]
fn a_budget_sample_has_all_edges_between_its_nodes() {
    let relations = [(LIKES.into(), 4_000, 0.8), (KNOWS.into(), 2_000, 0.5)];
    let graph = hetero_block_model(&[("user", 500), ("item", 300), ("tag", 0)], 4, &relations, 7, &flex()).unwrap();
    let graph = graph.with_reverse(Reduce::Amax);
    let sampler = HeteroSamplerConfig::new(vec![1]).with_seed(2).init(&graph, "item");
    let batch = sampler.sample_budget(&[4, 2, 4], &[10, 20], 0);
    assert_eq!((batch.counts("item"), batch.seeds()), (&[2, 2, 22][..], &[0, 1, 0][..]));
    assert_eq!((batch.counts("user"), batch.counts("tag")), (&[0, 10, 30][..], &[0, 0, 0][..]));
    for (kind, whole) in graph.edges() {
        let [rows, cols] = [&kind.target, &kind.source].map(|name| batch.node_ids(name));
        let place = |ids: &[usize], id: usize| ids.iter().position(|&own| own == id);
        let want: BTreeSet<(usize, usize)> =
            entries(whole).iter().filter_map(|edge| Some((place(rows, edge.0)?, place(cols, edge.1)?))).collect();
        for edges in batch.blocks() {
            let block = edges.iter().find(|own| own.0 == kind).unwrap().1;
            assert_eq!(block.dims(), [rows.len(), cols.len()]);
            assert_eq!(entries(block).iter().map(|edge| (edge.0, edge.1)).collect::<BTreeSet<_>>(), want);
        }
        assert_eq!(batch.edge_ids(&kind).len(), want.len());
    }
    let apart = HeteroSamplerConfig::new(vec![1]).with_disjoint(true).init(&graph, "item");
    told(apart.try_sample_budget(&[0], &[1], 0), &["disjoint"]);
    told(sampler.try_sample_budget(&[0], &[], 0), &["each layer"]);
    told(sampler.try_sample_budget(&[300], &[1], 0), &["item", "got 300"]);
}

#[test]
fn a_budget_draws_by_squares_of_shares() {
    // Two items; one user likes both, two like one each. Shares are 1/2 + 1/2, 1/2 and 1/2, squares 4 : 1 : 1.
    let graph = graph(3, 2, &[(0, 0), (1, 0), (0, 1), (1, 2)].into(), &BTreeSet::new());
    let sampler = HeteroSamplerConfig::new(vec![1]).init(&graph, "item");
    let mut counts = [0; 3];
    for draw in 0..3_000 {
        counts[sampler.sample_budget(&[0, 1], &[1], draw).node_ids("user")[0]] += 1;
    }
    // 2,000, with a deviation of 26, and 500, with one of 20.
    assert!((1_900..2_100).contains(&counts[0]) && (420..580).contains(&counts[1]), "{counts:?}");
}

#[test]
fn walks_follow_the_types_of_their_path() {
    let likes: EdgeType = LIKES.into();
    let relations = [(likes.clone(), 400, 0.8), (likes.reversed(), 60, 0.8)];
    let graph = hetero_block_model(&[("user", 60), ("item", 30)], 2, &relations, 7, &flex()).unwrap();
    let walks = MetapathWalks::new(&graph, &[likes.clone(), likes.reversed()], 3).unwrap();
    assert_eq!((walks.rows(), walks.range("item"), walks.range("user")), (91, 0..30, 30..90));
    let starts: Vec<usize> = (0..60).chain(0..60).collect();
    let list = |draw| -> Vec<i64> { walks.sample(&starts, 5, draw).into_data().convert::<i64>().iter().collect() };
    let all = list(0);
    assert!(all == list(0) && all != list(1));
    let joined = |kind: &EdgeType, from: usize, to: usize| {
        entries(graph.adjacency(kind)).iter().any(|edge| (edge.0, edge.1) == (to, from))
    };
    let mut ended = 0;
    for (walk, start) in all.chunks(6).zip(&starts) {
        assert_eq!(walk[0], 30 + *start as i64);
        for (step, pair) in walk.windows(2).enumerate() {
            let there = step % 2 == 0;
            let own = if there { likes.clone() } else { likes.reversed() };
            match pair {
                [90, 90] => (),
                [from, 90] => {
                    let from = *from as usize - if there { 30 } else { 0 };
                    assert!(entries(graph.adjacency(&own)).iter().all(|edge| edge.1 != from));
                    ended += 1;
                }
                [from, to] if there => assert!(joined(&own, *from as usize - 30, *to as usize)),
                [from, to] => assert!(joined(&own, *from as usize, *to as usize - 30)),
                _ => unreachable!("windows of two"),
            }
        }
    }
    assert!(ended > 0);
    assert_eq!(walks.sample(&[], 2, 0).dims(), [0, 3]);
    told(MetapathWalks::new(&graph, &[], 0), &["got none"]);
    told(MetapathWalks::new(&graph, &[likes.clone(), likes.clone()], 0), &["user-likes-item", "\"item\"", "\"user\""]);
    told(MetapathWalks::new(&graph, &[("a", "b", "c").into()], 0), &["a-b-c"]);
    told(walks.try_range("tag"), &["\"tag\""]);
    told(walks.try_sample(&[60], 2, 0), &["got 60"]);
    told(walks.try_sample(&[0], usize::MAX, 0), &["memory"]);
    let open = MetapathWalks::new(&graph, &[likes], 3).unwrap();
    told(open.try_sample(&[0], 2, 0), &["up to 1", "got 2"]);
}

/// A sampler of the same graph in a mapped file.
fn mapped(config: &HeteroSamplerConfig, graph: &HeteroGraph, path: &std::path::Path) -> HeteroSampler {
    graph.save_file(path).unwrap();
    let store = |kind: &EdgeType| {
        let name = format!("[\"edges\",\"{}\",\"{}\",\"{}\"]", kind.source, kind.relation, kind.target);
        Arc::new(MappedGraph::open_named(path, &name).unwrap()) as Arc<dyn GraphStore>
    };
    let nodes: Vec<(&str, usize)> = graph.node_types().map(|name| (name, graph.nodes_of(name).count)).collect();
    let edges = graph.edges().into_iter().map(|(kind, _)| (kind.clone(), store(&kind))).collect();
    config.init_stores(&nodes, edges, "item", &flex())
}

/// Nodes, edges and values of a batch.
fn contents(batch: &HeteroBatch) -> String {
    let nodes = ["user", "item", "tag"].map(|name| (batch.node_ids(name), batch.counts(name), batch.trees(name)));
    let edges = [LIKES, KNOWS, LIKED].map(|kind| batch.edge_ids(kind));
    let blocks: Vec<Vec<_>> =
        batch.blocks().map(|edges| edges.iter().map(|(kind, a)| (kind.clone(), entries(a))).collect()).collect();
    format!("{nodes:?} {edges:?} {blocks:?}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_mapped_graph_gives_the_samples_of_one_in_memory((users, items, likes, knows, seeds) in drawn(),
                                                         fan_out in 1..4usize, [disjoint, weighted, last]: [bool; 3],
                                                         draw: u64) {
        let graph = graph(users, items, &likes, &knows);
        let folder = tempfile::tempdir().unwrap();
        let config = HeteroSamplerConfig::new(vec![fan_out, 2]).with_disjoint(disjoint).with_weighted(weighted);
        let [own, stored] = [config.init(&graph, "item"), mapped(&config, &graph, &folder.path().join("graph"))];
        prop_assert_eq!(contents(&own.sample(&seeds, draw)), contents(&stored.sample(&seeds, draw)));
        if !disjoint {
            let [own, stored] = [&own, &stored].map(|sampler| sampler.sample_budget(&seeds, &[3, 2], draw));
            prop_assert_eq!(contents(&own), contents(&stored));
        }
        let times = by_edge(&graph, |row, col| ((row * 7 + col * 5) % 9) as i64);
        let read = |(kind, times): &(EdgeType, CsrTensor<2, Int>)| {
            let list: Vec<i64> = times.values::<1>().into_data().iter().collect();
            let read = move |span: Range<usize>, out: &mut Vec<i64>| {
                out.extend_from_slice(&list[span]);
                Ok(())
            };
            (kind.clone(), Arc::new(read) as EdgeTimes)
        };
        let when: Vec<i64> = (0..items).map(|item| (item % 5) as i64 * 2).collect();
        let strategy = if last { TemporalStrategy::Last } else { TemporalStrategy::Uniform };
        let own = own.with_times(&times, &when, strategy);
        let stored = stored.with_stored_times(&times.iter().map(read).collect::<Vec<_>>(), &when, strategy);
        prop_assert_eq!(contents(&own.sample(&seeds, draw)), contents(&stored.sample(&seeds, draw)));
    }
}

#[test]
fn stores_that_do_not_fit_are_refused_with_their_type() {
    let graph = star();
    let folder = tempfile::tempdir().unwrap();
    let config = HeteroSamplerConfig::new(vec![3]);
    let sampler = mapped(&config, &graph, &folder.path().join("graph"));
    let store = || {
        let name = "[\"edges\",\"user\",\"likes\",\"item\"]";
        let store = MappedGraph::open_named(folder.path().join("graph"), name).unwrap();
        vec![(EdgeType::from(LIKES), Arc::new(store) as Arc<dyn GraphStore>)]
    };
    let init = |config: &HeteroSamplerConfig, nodes: &[(&str, usize)], edges: Vec<_>| {
        config.try_init_stores(nodes, edges, "item", &flex())
    };
    let nodes = [("user", 10), ("item", 1)];
    assert!(init(&config, &nodes, store()).is_ok());
    told(init(&config, &[("user", 11), ("item", 1)], store()), &["user-likes-item", "11 columns"]);
    told(init(&config, &[("user", 10), ("item", 2)], store()), &["user-likes-item", "2 rows"]);
    told(init(&config, &[("user", 10), ("item", 0)], store()), &["user-likes-item", "0 rows"]);
    told(init(&config, &[("item", 1)], store()), &["user-likes-item", "user"]);
    told(init(&config, &[("user", 10)], store()), &["item"]);
    told(init(&config, &[("item", 1), ("item", 1)], vec![]), &["item", "again"]);
    told(init(&config, &nodes, [store(), store()].concat()), &["user-likes-item", "again"]);
    told(init(&config.clone().with_direction(Direction::Both), &nodes, store()), &["store the transpose"]);
    let other = config.clone().with_edge_fan_outs(vec![(KNOWS.into(), vec![1])]);
    told(init(&other, &nodes, store()), &["user-knows-user"]);
    let times = by_edge(&graph, |_, _| 0);
    told(sampler.try_with_times(&times, &[0], TemporalStrategy::Last), &["with_stored_times"]);
    let short = |_: Range<usize>, _: &mut Vec<i64>| Ok(());
    let short: Vec<_> = times.iter().map(|(kind, _)| (kind.clone(), Arc::new(short) as EdgeTimes)).collect();
    told(sampler.try_with_stored_times(&short[1..], &[0], TemporalStrategy::Last), &["got none"]);
    let trouble = sampler.with_stored_times(&short, &[0], TemporalStrategy::Last).try_sample(&[0], 0).unwrap_err();
    assert!(trouble.to_string().contains("user-likes-item"), "{trouble}");
}
