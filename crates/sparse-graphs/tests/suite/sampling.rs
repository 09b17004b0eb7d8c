//! Parts of graphs for training: samples, subgraphs, walks, clusters, splits and batches.

use burn::tensor::{Device, Int, Tensor, TensorData};
use sparse_autograd::gradcheck;
use sparse_tensor::data::*;
use sparse_tensor::nn::row_normalization;
use sparse_tensor::ops::Reduce;
use sparse_tensor::{CooTensor, CsrTensor, Fill, SparseError};
use std::collections::BTreeSet;

fn ints<const D: usize>(tensor: Tensor<D, Int>) -> Vec<i64> {
    tensor.into_data().convert::<i64>().iter().collect()
}

fn floats<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().convert::<f32>().iter().collect()
}

/// A directed graph with the value `10 * row + col` at each edge. Node 5 has no edges, node 4 only one to itself.
fn weighted(device: &Device) -> CsrTensor<2> {
    let edges = [(0, 1), (0, 2), (0, 3), (1, 0), (2, 0), (2, 1), (3, 2), (4, 4)];
    let values: Vec<f32> = edges.iter().map(|&(row, col)| (10 * row + col) as f32).collect();
    let values = Tensor::from_data(TensorData::new(values, [edges.len()]), device);
    CooTensor::from_edges(&edges, values, 6).unwrap().to_csr()
}

fn kinds<T>(result: Result<T, SparseError>, kind: &str, parts: &[&str]) {
    let trouble = result.err().expect("an error");
    let text = trouble.to_string();
    assert!(trouble.kind() == kind && parts.iter().all(|part| text.contains(part)), "{text}: {kind} {parts:?}");
}

#[test]
fn a_full_sample_is_the_graph_within_some_hops() {
    let device = Device::flex();
    let a = weighted(&device);
    let sampler = NeighborSamplerConfig::new(vec![NeighborSampler::ALL, NeighborSampler::ALL]).init(&a);
    let batch = sampler.sample(&[3, 5], 0);
    assert_eq!(batch.nodes().ids(), [3, 5, 2, 0, 1]);
    assert_eq!((batch.counts(), batch.seeds()), (&[2, 3, 5][..], &[0, 1][..]));
    let dims: Vec<[usize; 2]> = batch.blocks().iter().map(CsrTensor::dims).collect();
    assert_eq!(dims, [[3, 5], [2, 3]]);
    let dense = |block: usize| floats(batch.blocks()[block].to_dense());
    assert_eq!(dense(1), [0.0, 0.0, 32.0, 0.0, 0.0, 0.0]);
    assert_eq!(dense(0), [0.0, 0.0, 32.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 20.0, 21.0]);
    assert_eq!(batch.edge_ids(), [6, 4, 5]);
    let whole = batch.subgraph();
    assert_eq!((whole.adjacency().dims(), whole.adjacency().nnz()), ([5, 5], 3));
    // Against the direction of the edges, and both ways.
    let columns = NeighborSamplerConfig::new(vec![9]).with_direction(Direction::Columns).init(&a);
    assert_eq!(columns.sample(&[2], 0).nodes().ids(), [2, 0, 3]);
    assert_eq!(floats(columns.sample(&[2], 0).blocks()[0].to_dense()), [0.0, 2.0, 32.0]);
    let both = NeighborSamplerConfig::new(vec![9]).with_direction(Direction::Both).init(&a);
    assert_eq!(both.sample(&[2], 0).nodes().ids(), [2, 0, 1, 3]);
    assert_eq!(floats(both.sample(&[2], 0).blocks()[0].to_dense()), [0.0, 20.0, 21.0, 32.0]);
}

#[test]
fn a_model_over_a_full_sample_gives_what_it_gives_over_the_graph() {
    let device = Device::flex();
    let graph = karate(&device);
    let x = Tensor::<2>::random([34, 3], burn::tensor::Distribution::Default, &device);
    let layer = |a: &CsrTensor<2>, x: Tensor<2>| {
        let own = x.clone().narrow(0, 0, a.dims()[0]);
        (own + row_normalization(a).matmul(x)).tanh()
    };
    let whole = layer(&graph.adjacency, layer(&graph.adjacency, x.clone()));
    let sampler = NeighborSamplerConfig::new(vec![NeighborSampler::ALL; 2]).init(&graph.adjacency);
    // A seed twice is one node.
    let batch = sampler.sample(&[30, 2, 30, 11], 0);
    let out = batch.blocks().iter().fold(batch.features(x), |x, block| layer(block, x));
    assert_eq!((out.dims(), batch.seeds()), ([3, 3], &[0, 1, 0, 2][..]));
    let want = whole.select(0, Tensor::from_ints([30, 2, 30, 11], &device));
    batch.seed_rows(out).into_data().assert_approx_eq::<f32>(&want.into_data(), burn::tensor::Tolerance::default());
    assert_eq!(ints(batch.labels(graph.labels.tensor())), [1, 0, 1, 0]);
    assert_eq!(ints(batch.node_ids()).len(), batch.nodes().len());
}

#[test]
fn samples_repeat_by_seed_and_number() {
    let device = Device::flex();
    let graph = stochastic_block_model(&[300, 300], 0.1, 0.05, 3, &device).unwrap();
    let seeds: Vec<usize> = (0..600).step_by(3).collect();
    for (replace, weighted) in [(false, false), (true, false), (false, true), (true, true)] {
        let config = NeighborSamplerConfig::new(vec![6, 4]).with_replace(replace).with_weighted(weighted);
        let config = config.with_seed(8);
        let values: Vec<f32> = (0..graph.adjacency.nnz()).map(|k| (k % 5) as f32).collect();
        let a = graph.adjacency.with_values(Tensor::<1>::from_floats(&values[..], &device));
        let run = |threads: usize, draw: u64| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let batch = config.init(&a).sample(&seeds, draw);
                let values = floats(batch.blocks()[0].values::<1>());
                (batch.nodes().ids().to_vec(), batch.edge_ids().to_vec(), values)
            })
        };
        let one = run(1, 0);
        assert_eq!(one, run(2, 0));
        assert_eq!(one, run(8, 0));
        assert_ne!(one.1, run(2, 1).1);
        let other = config.clone().with_seed(9).init(&a).sample(&seeds, 0);
        assert_ne!(one.1, other.edge_ids());
        // Values are those of the edges, times the number of draws.
        for (&edge, &value) in one.1.iter().zip(&one.2) {
            let own = values[edge];
            assert!(if replace { own == 0.0 || value % own == 0.0 } else { value == own }, "{value} {own}");
            assert!(!weighted || own > 0.0);
        }
    }
}

#[test]
fn gradients_reach_the_values_of_sampled_edges() {
    let device = Device::flex().autodiff();
    let pattern = weighted(&device.clone().inner()).pattern().clone();
    let values = TensorData::from([1.0f64, 2.0, 1.5, 2.5, 3.0, 0.5, 0.7, 0.2]);
    for replace in [false, true] {
        let config = NeighborSamplerConfig::new(vec![2, 2]).with_replace(replace);
        gradcheck(&device, std::slice::from_ref(&values), |xs| {
            let a = CsrTensor::<2>::from_pattern(pattern.clone(), xs[0].tensor::<1>()).unwrap();
            let batch = config.init(&a).sample(&[0, 4, 5], 1);
            let x = Tensor::<2>::ones([batch.nodes().len(), 1], &xs[0].tensor::<1>().device())
                .cast(xs[0].tensor::<1>().dtype());
            batch.blocks().iter().fold(x, |x, block| block.matmul(x).powf_scalar(2.0)).reshape([-1])
        })
        .unwrap();
    }
    gradcheck(&device, &[values], |xs| {
        let a = CsrTensor::<2>::from_pattern(pattern.clone(), xs[0].tensor::<1>()).unwrap();
        k_hop_subgraph(&a, &[2], 1).adjacency().values::<1>()
    })
    .unwrap();
}

#[test]
fn wrong_samples_are_errors() {
    let a = weighted(&Device::flex());
    kinds(NeighborSamplerConfig::new(vec![]).try_init(&a), "invalid", &["fan-out for each layer"]);
    kinds(NeighborSamplerConfig::new(vec![3, 0]).try_init(&a), "invalid", &["ALL", "got 0 for hop 1"]);
    let repeated = NeighborSamplerConfig::new(vec![2, NeighborSampler::ALL]).with_replace(true);
    kinds(repeated.try_init(&a), "invalid", &["below 2^31"]);
    let wide = CsrTensor::<2>::zeros([2, 3], &Device::flex());
    kinds(NeighborSamplerConfig::new(vec![3]).try_init(&wide), "shape_mismatch", &["square"]);
    for bad in [-1.0, f32::NAN, f32::INFINITY] {
        let values = Tensor::<1>::from_floats([1.0, 1.0, 1.0, 1.0, bad, 1.0, 1.0, 1.0], &Device::flex());
        let b = a.with_values(values);
        kinds(NeighborSamplerConfig::new(vec![3]).with_weighted(true).try_init(&b), "invalid", &["at position 4"]);
        assert!(NeighborSamplerConfig::new(vec![3]).try_init(&b).is_ok());
    }
    let sampler = NeighborSamplerConfig::new(vec![3, 3]).init(&a);
    kinds(sampler.try_sample(&[0, 6], 0), "index_out_of_range", &["[0, 6)", "6 at position 1"]);
    kinds(sampler.try_sample(&[usize::MAX], 0), "index_out_of_range", &[]);
    kinds(sampler.sample(&[0], 0).try_labels(Tensor::<1, Int>::zeros([5], &Device::flex())), "length_mismatch", &["6"]);
    kinds(sampler.sample(&[0], 0).try_features(Tensor::<2>::zeros([7, 1], &Device::flex())), "length_mismatch", &["6"]);
    // A batch without seeds, an isolated seed, and a graph without nodes.
    let none = sampler.sample(&[], 0);
    assert_eq!((none.nodes().len(), none.counts()), (0, &[0, 0, 0][..]));
    assert!(none.blocks().iter().all(|block| block.dims() == [0, 0]));
    assert_eq!(none.features(Tensor::<2>::ones([6, 4], &Device::flex())).dims(), [0, 4]);
    assert_eq!(none.subgraph().adjacency().dims(), [0, 0]);
    let alone = sampler.sample(&[5], 0);
    let x = alone.blocks().iter().fold(Tensor::<2>::ones([1, 2], &Device::flex()), |x, block| block.matmul(x));
    assert_eq!(floats(x), [0.0, 0.0]);
    let empty = CsrTensor::<2>::zeros([0, 0], &Device::flex());
    let sampler = NeighborSamplerConfig::new(vec![3]).init(&empty);
    assert_eq!(sampler.sample(&[], 0).nodes().len(), 0);
    kinds(sampler.try_sample(&[0], 0), "index_out_of_range", &[]);
}

#[test]
fn a_loader_goes_through_every_seed_once() {
    let graph = stochastic_block_model(&[60, 60], 0.2, 0.05, 3, &Device::flex()).unwrap();
    let seeds: Vec<usize> = (0..120).step_by(2).collect();
    let sampler = NeighborSamplerConfig::new(vec![4, 4]).with_seed(1).init(&graph.adjacency);
    let loader = NeighborLoader::new(sampler.clone(), &seeds, 7).unwrap().with_seed(5);
    assert_eq!((loader.len(), loader.epoch(0).len()), (9, 9));
    let epoch = |loader: &NeighborLoader, epoch: u64| -> Vec<(Vec<usize>, Vec<usize>, Vec<usize>)> {
        let part = |batch: NeighborBatch| {
            let own = batch.nodes().ids()[..batch.counts()[0]].to_vec();
            (own, batch.nodes().ids().to_vec(), batch.edge_ids().to_vec())
        };
        loader.epoch(epoch).map(part).collect()
    };
    let first = epoch(&loader.clone().with_workers(0), 0);
    let mut all: Vec<usize> = first.iter().flat_map(|batch| batch.0.clone()).collect();
    assert_ne!(all, seeds);
    all.sort_unstable();
    assert_eq!(all, seeds);
    for (workers, prefetch) in [(1, 1), (2, 1), (3, 4), (20, 2)] {
        assert_eq!(first, epoch(&loader.clone().with_workers(workers).with_prefetch(prefetch), 0));
    }
    assert_ne!(first, epoch(&loader, 1));
    assert_ne!(first, epoch(&loader.clone().with_seed(6), 0));
    let fixed = loader.clone().with_shuffle(false).with_drop_last(true);
    assert_eq!((fixed.len(), epoch(&fixed, 3).concat_seeds()), (8, seeds[..56].to_vec()));
    // The same node in two epochs, without shuffling, has other neighbours.
    assert_ne!(epoch(&fixed, 0)[0].2, epoch(&fixed, 1)[0].2);
    // Dropped before its end, and without any seeds.
    assert_eq!(loader.epoch(0).next().unwrap().nodes().ids(), first[0].1);
    let none = NeighborLoader::new(sampler.clone(), &[], 7).unwrap();
    assert!(none.is_empty() && none.epoch(0).next().is_none());
    kinds(NeighborLoader::new(sampler.clone(), &seeds, 0), "invalid", &["batch size"]);
    kinds(NeighborLoader::new(sampler, &[3, 120], 5), "index_out_of_range", &["120", "position 1"]);
}

trait ConcatSeeds {
    fn concat_seeds(self) -> Vec<usize>;
}

impl ConcatSeeds for Vec<(Vec<usize>, Vec<usize>, Vec<usize>)> {
    fn concat_seeds(self) -> Vec<usize> {
        self.into_iter().flat_map(|(seeds, ..)| seeds).collect()
    }
}

#[test]
fn subgraphs_keep_ids_values_and_fill() {
    let device = Device::flex();
    let a = weighted(&device).with_fill(Fill::Undefined);
    let part = k_hop_subgraph(&a, &[3], 1);
    assert_eq!((part.nodes().ids(), part.edge_ids()), (&[2, 3][..], &[6][..]));
    assert!(part.adjacency().fill().is_undefined());
    assert_eq!(k_hop_subgraph(&a, &[3], 0).nodes().ids(), [3]);
    assert_eq!(k_hop_subgraph(&a, &[3], 100).nodes().ids(), [0, 1, 2, 3]);
    assert_eq!(k_hop_subgraph(&a, &[], 2).nodes().len(), 0);
    let part = induced_subgraph(&a, &[2, 0, 5]);
    assert_eq!(floats(part.adjacency().to_dense_or(0.0)), [0.0, 20.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(part.nodes().to_local(&[5, 2]).unwrap(), [2, 0]);
    kinds(part.nodes().to_local(&[5, 1]), "invalid", &["got 1 at position 1"]);
    let x = Tensor::<2>::from_floats([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], &device);
    assert_eq!(floats(part.features(x.clone())), [2.0, 0.0, 5.0]);
    kinds(part.try_features(x.narrow(0, 0, 5)), "index_out_of_range", &["5"]);
    kinds(try_induced_subgraph(&a, &[2, 0, 2]), "invalid", &["got 2 twice"]);
    kinds(try_induced_subgraph(&a, &[6]), "index_out_of_range", &["6"]);
    kinds(try_k_hop_subgraph(&a, &[6], 1), "index_out_of_range", &["6"]);
}

#[test]
fn walks_repeat_by_seed() {
    let graph = karate(&Device::flex());
    let walks = RandomWalks::new(&graph.adjacency, 3).unwrap();
    let starts: Vec<usize> = (0..34).collect();
    let first = ints(walks.sample(&starts, 4, 0));
    assert_eq!(first, ints(walks.sample(&starts, 4, 0)));
    assert_ne!(first, ints(walks.sample(&starts, 4, 1)));
    assert_ne!(first, ints(RandomWalks::new(&graph.adjacency, 4).unwrap().sample(&starts, 4, 0)));
    let dense = floats(graph.adjacency.to_dense());
    for walk in first.chunks_exact(5) {
        assert!(walk.windows(2).all(|step| dense[step[0] as usize * 34 + step[1] as usize] == 1.0));
    }
    assert_eq!(walks.sample(&[], 4, 0).dims(), [0, 5]);
    kinds(walks.try_sample(&[34], 4, 0), "index_out_of_range", &["34"]);
    kinds(walks.try_sample(&[0], usize::MAX, 0), "invalid", &["memory"]);
    for (p, q) in [(0.0, 1.0), (1.0, -2.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)] {
        kinds(walks.clone().with_bias(p, q), "invalid", &["above 0"]);
    }
    // A large p never goes back while there is another way.
    let biased = walks.with_bias(1e30, 1.0).unwrap();
    let walk = ints(biased.sample(&[0; 200], 2, 0));
    assert!(walk.chunks_exact(3).all(|walk| walk[2] != 0 || walk[1] == 11));
}

#[test]
fn clusters_are_balanced_and_cover_the_graph() {
    let graph = stochastic_block_model(&[80, 80, 80, 80], 0.25, 0.002, 3, &Device::flex()).unwrap();
    let clusters = ClusterPartition::new(&graph.adjacency, 4).unwrap();
    let sizes: Vec<usize> = clusters.members().iter().map(Vec::len).collect();
    assert!(sizes.iter().all(|size| (72..=88).contains(size)), "{sizes:?}");
    // The blocks are joined by few edges, and the clusters are the blocks.
    assert!(
        clusters.cut_edges() * 20 < graph.adjacency.nnz(),
        "{sizes:?} {} of {}",
        clusters.cut_edges(),
        graph.adjacency.nnz()
    );
    let batches: Vec<Subgraph> = clusters.batches(3, 1, 0).unwrap().collect();
    assert_eq!(batches.len(), 2);
    let nodes: BTreeSet<usize> = batches.iter().flat_map(|batch| batch.nodes().ids().to_vec()).collect();
    assert_eq!(nodes.len(), 320);
    assert!(batches.iter().all(|batch| batch.nodes().ids().is_sorted()));
    let firsts = |seed, epoch| -> Vec<usize> {
        clusters.batches(1, seed, epoch).unwrap().map(|batch| batch.nodes().ids()[0]).collect()
    };
    assert_eq!(firsts(1, 0), firsts(1, 0));
    assert!((0..8).any(|epoch| firsts(1, epoch) != firsts(1, 0)));
    kinds(clusters.batches(0, 0, 0), "invalid", &["above 0"]);
    kinds(ClusterPartition::new(&graph.adjacency, 0), "invalid", &["[1, 320]", "got 0"]);
    kinds(ClusterPartition::new(&graph.adjacency, 321), "invalid", &["got 321"]);
}

#[test]
fn splits_are_disjoint_and_repeat() {
    for count in [0, 1, 10, 101] {
        let splits = random_split(count, 0.6, 0.2, 4).unwrap();
        let mut all = [&splits.train[..], &splits.val, &splits.test].concat();
        all.sort_unstable();
        assert_eq!(all, (0..count).collect::<Vec<_>>());
        assert_eq!((splits.train.len(), splits.val.len()), (count * 6 / 10, count * 2 / 10));
        assert_eq!(splits, random_split(count, 0.6, 0.2, 4).unwrap());
    }
    assert_ne!(random_split(50, 0.5, 0.5, 1).unwrap(), random_split(50, 0.5, 0.5, 2).unwrap());
    assert!(random_split(50, 0.9, 0.1, 1).unwrap().test.is_empty());
    kinds(random_split(50, 1.1, 0.0, 1), "invalid", &["train", "1.1"]);
    kinds(random_split(50, 0.5, f64::NAN, 1), "invalid", &["val"]);
    kinds(random_split(50, 0.6, 0.5, 1), "invalid", &["0.6 and 0.5"]);
    let splits = random_split(10, 0.5, 0.2, 4).unwrap();
    let masks = splits.masks(10, &Device::flex()).unwrap();
    for (mask, ids) in masks.iter().zip([&splits.train, &splits.val, &splits.test]) {
        let marked: Vec<usize> =
            ints(mask.clone().int()).iter().enumerate().filter(|(_, m)| **m == 1).map(|(k, _)| k).collect();
        assert_eq!(&marked, ids);
    }
    kinds(splits.masks(9, &Device::flex()), "index_out_of_range", &["9"]);
    let labels: Vec<i64> = (0..60).map(|node| if node % 6 == 5 { -1 } else { node % 6 % 3 }).collect();
    let splits = random_split_per_class(&labels, 4, 10, 20, 1).unwrap();
    for class in 0..3 {
        assert_eq!(splits.train.iter().filter(|&&node| labels[node] == class).count(), 4);
    }
    assert_eq!((splits.val.len(), splits.test.len()), (10, 20));
    let all: BTreeSet<usize> = [&splits.train[..], &splits.val, &splits.test].concat().into_iter().collect();
    assert!(all.len() == 42 && all.iter().all(|&node| labels[node] >= 0));
    kinds(random_split_per_class(&labels, 4, 30, 30, 1), "invalid", &["30 + 30", "got 38"]);
    kinds(random_split_per_class(&[0, -2], 1, 0, 0, 1), "invalid", &["-2 for node 1"]);
    assert_eq!(random_split_per_class(&[0, 1, 0], 9, 0, 0, 1).unwrap().train, [0, 1, 2]);
}

#[test]
fn edges_are_split_without_a_leak() {
    let device = Device::flex().autodiff();
    let graph = karate(&device);
    let split = random_edge_split(&graph.adjacency, 0.2, 0.3, true, 9).unwrap();
    let pairs = |edges: &Tensor<2, Int>| -> BTreeSet<(i64, i64)> {
        let ends = ints(edges.clone());
        let (rows, cols) = ends.split_at(ends.len() / 2);
        rows.iter().copied().zip(cols.iter().copied()).collect()
    };
    let of = |a: &CsrTensor<2>| pairs(&a.to_coo().indices());
    let (train, val, test) = (pairs(&split.train_edges), pairs(&split.val_edges), pairs(&split.test_edges));
    assert_eq!((train.len(), val.len(), test.len()), (40, 15, 23));
    let both = |parts: &[&BTreeSet<(i64, i64)>]| -> BTreeSet<(i64, i64)> {
        parts.iter().flat_map(|part| part.iter().flat_map(|&(a, b)| [(a, b), (b, a)])).collect()
    };
    assert_eq!(of(&graph.adjacency), both(&[&train, &val, &test]));
    assert_eq!(of(&split.train), both(&[&train]));
    assert_eq!(of(&split.train_val), both(&[&train, &val]));
    assert!(CsrTensor::<2>::new(split.train.row_ptr(), split.train.col_idx(), split.train.values(), [34, 34]).is_ok());
    let a = weighted(&device);
    kinds(random_edge_split(&a, 0.2, 0.2, true, 1), "invalid", &["to_undirected", "(0, 3)"]);
    let split = random_edge_split(&a, 0.25, 0.25, false, 1).unwrap();
    assert_eq!((split.train.nnz(), split.val_edges.dims(), split.test_edges.dims()), (4, [2, 2], [2, 2]));
    for (&(row, col), value) in of(&split.train).iter().zip(floats(split.train.values::<1>())) {
        assert_eq!(value, (10 * row + col) as f32);
    }
    let none = random_edge_split(&CsrTensor::zeros([3, 3], &device), 0.5, 0.5, true, 1).unwrap();
    assert_eq!((none.train.nnz(), none.test_edges.dims()), (0, [2, 0]));
    kinds(random_edge_split(&a, -0.1, 0.2, false, 1), "invalid", &["val"]);
}

#[test]
fn graphs_are_joined_and_parted() {
    let device = Device::flex().autodiff();
    let empty = CsrTensor::<2>::zeros([0, 0], &device);
    let parts = [weighted(&device), empty.clone(), karate(&device).adjacency, CsrTensor::zeros([2, 2], &device)];
    let batch = GraphBatch::new(&parts).unwrap();
    assert_eq!((batch.graphs(), batch.adjacency().dims()), (4, [42, 42]));
    let ids = ints(batch.graph_ids());
    assert_eq!([0, 1, 2, 3].map(|id| ids.iter().filter(|&&own| own == id).count()), [6, 0, 34, 2]);
    assert_eq!((batch.nodes_of(1), batch.nodes_of(2)), (6..6, 6..40));
    for (own, part) in batch.split_adjacency(batch.adjacency()).iter().zip(&parts) {
        assert_eq!(own.dims(), part.dims());
        assert_eq!(ints(own.row_ptr()), ints(part.row_ptr()));
        assert_eq!(ints(own.col_idx()), ints(part.col_idx()));
        assert_eq!(floats(own.values::<1>()), floats(part.values::<1>()));
    }
    let xs: Vec<Tensor<2>> = [6, 0, 34, 2].map(|nodes| Tensor::full([nodes, 2], nodes as f32, &device)).into();
    let rows = batch.join_rows(&xs);
    assert_eq!(rows.dims(), [42, 2]);
    for (own, x) in batch.split_rows(rows.clone()).into_iter().zip(&xs) {
        assert_eq!(own.dims(), x.dims());
        assert_eq!(floats(own), floats(x.clone()));
    }
    kinds(GraphBatch::new(&[]), "empty_input", &["at least one"]);
    kinds(GraphBatch::new(&[CsrTensor::zeros([2, 3], &device)]), "shape_mismatch", &["square"]);
    kinds(batch.try_join_rows(&xs[..3]), "length_mismatch", &["4"]);
    kinds(
        batch.try_join_rows(&[xs[0].clone(), xs[0].clone(), xs[2].clone(), xs[3].clone()]),
        "length_mismatch",
        &["0"],
    );
    let other = Tensor::<2>::zeros([34, 3], &device);
    kinds(batch.try_join_rows(&[xs[0].clone(), xs[1].clone(), other, xs[3].clone()]), "shape_mismatch", &["dims"]);
    kinds(batch.try_split_rows(rows.narrow(0, 0, 41)), "length_mismatch", &["42"]);
    kinds(batch.try_split_adjacency(&empty), "invalid", &["[42, 42]"]);
    let alone = GraphBatch::new(&[empty]).unwrap();
    assert_eq!((alone.graphs(), ints(alone.graph_ids()).len()), (1, 0));
}

#[test]
fn duplicates_are_joined_by_any_rule() {
    let device = Device::flex().autodiff();
    // Two places: values 3, 1, 3 in storage order at (0, 1); 2 at (1, 0).
    let a = |values: Tensor<1>| {
        CooTensor::from_edges(&[(0, 1), (1, 0), (0, 1), (0, 1)], values, None).unwrap().with_fill(Fill::Undefined)
    };
    let own = a(Tensor::from_floats([3.0, 2.0, 1.0, 3.0], &device));
    let cases = [
        (Reduce::Add, 7.0),
        (Reduce::Mean, 7.0 / 3.0),
        (Reduce::Mul, 9.0),
        (Reduce::Amax, 3.0),
        (Reduce::Amin, 1.0),
        (Reduce::Assign, 3.0),
    ];
    for (reduce, want) in cases {
        let joined = own.coalesce_with(reduce);
        assert!(joined.is_coalesced() && joined.fill().is_undefined());
        assert_eq!(ints(joined.indices()), [0, 1, 1, 0]);
        assert_eq!(floats(joined.values::<1>()), [want, 2.0], "{reduce:?}");
        // It finds the same pattern again.
        assert_eq!(floats(joined.coalesce_with(reduce).values::<1>()), [want, 2.0]);
        gradcheck(&device, &[TensorData::from([3.0f64, 2.0, 1.0, 4.0])], |xs| {
            a(xs[0].tensor()).coalesce_with(reduce).values::<1>()
        })
        .unwrap();
    }
    // Blocks, and integers.
    let indices = Tensor::<2, Int>::from_ints([[1, 0, 1]], &device);
    let blocks = Tensor::<2>::from_floats([[1.0, 8.0], [2.0, 3.0], [5.0, 4.0]], &device);
    let joined = CooTensor::<2>::new(indices.clone(), blocks, [2, 2]).unwrap().coalesce_with(Reduce::Amax);
    assert_eq!(floats(joined.values::<2>()), [2.0, 3.0, 5.0, 8.0]);
    let whole = CooTensor::<1, Int>::new(indices, Tensor::<1, Int>::from_ints([7, 1, 2], &device), [2]).unwrap();
    assert_eq!(ints(whole.coalesce_with(Reduce::Mean).values::<1>()), [1, 4]);
    let none = CooTensor::<2>::zeros([3, 3], &device).coalesce_with(Reduce::Amax);
    assert_eq!(none.nnz(), 0);
}

#[test]
fn undirected_graphs_have_both_directions() {
    let device = Device::flex().autodiff();
    let a = weighted(&device);
    let dense = a.to_dense();
    let sum = to_undirected(&a, Reduce::Add);
    assert_eq!(floats(sum.to_dense()), floats(dense.clone() + dense.clone().transpose()));
    let most = to_undirected(&a.to_coo(), Reduce::Amax);
    assert_eq!(floats(most.to_dense()), floats(dense.clone().max_pair(dense.transpose())));
    assert_eq!(floats(to_undirected(&most, Reduce::Mean).to_dense()), floats(most.to_dense()));
    let values = TensorData::from([1.0f64, 2.0, 1.5, 2.5, 3.0, 0.5, 0.7, 0.2]);
    gradcheck(&device, &[values], |xs| {
        let a = CsrTensor::<2>::from_pattern(a.pattern().clone(), xs[0].tensor::<1>()).unwrap();
        to_undirected(&a, Reduce::Mean).values::<1>()
    })
    .unwrap();
    assert_eq!(to_undirected(&CsrTensor::<2>::zeros([3, 3], &device), Reduce::Add).nnz(), 0);
    kinds(try_to_undirected(&CsrTensor::<2>::zeros([3, 2], &device), Reduce::Add), "shape_mismatch", &["square"]);
}

/// Batches so large that a worker's own loop is parallel, taken by the only thread of a pool.
#[test]
fn a_loader_in_a_pool_draws_by_itself() {
    let device = Device::flex();
    let nodes = 20_000;
    let edges: Vec<(usize, usize)> = (0..nodes).flat_map(|k| [(k, (k + 1) % nodes), (k, (k * 7) % nodes)]).collect();
    let values = Tensor::<1>::ones([edges.len()], &device);
    let graph = CsrTensor::from_edges(&edges, values, nodes).unwrap();
    let seeds: Vec<usize> = (0..nodes).collect();
    let loader = NeighborLoader::new(NeighborSamplerConfig::new(vec![2]).init(&graph), &seeds, nodes).unwrap();
    let loader = loader.with_prefetch(usize::MAX);
    let outside: Vec<Vec<usize>> = loader.epoch(1).map(|batch| batch.seeds().to_vec()).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let inside: Vec<Vec<usize>> = pool.install(|| loader.epoch(1).map(|batch| batch.seeds().to_vec()).collect());
    assert_eq!(inside, outside);
}

#[test]
fn walks_and_clusters_of_any_size_are_asked_for() {
    let a = weighted(&Device::flex());
    let walks = RandomWalks::new(&a, 0).unwrap();
    kinds(walks.try_sample(&[0], 1 << 60, 0), "invalid", &["memory"]);
    kinds(walks.try_sample(&[], usize::MAX, 0), "invalid", &["memory"]);
    let parts = ClusterPartition::new(&a, 2).unwrap();
    let nodes: usize = parts.batches(usize::MAX, 0, 0).unwrap().map(|part| part.nodes().len()).sum();
    assert_eq!(nodes, 6);
}
