//! Batches of edges with pairs beside them.

use burn::tensor::Device;
use sparse_tensor::data::{LinkBatch, LinkSampler, Negatives, NeighborLoader, NeighborSamplerConfig, karate};

fn edges() -> Vec<(usize, usize)> {
    vec![(0, 1), (2, 3), (33, 32), (0, 8), (8, 30), (30, 8), (0, 0)]
}

fn sampler(fan_outs: Vec<usize>) -> LinkSampler {
    LinkSampler::new(NeighborSamplerConfig::new(fan_outs).init(&karate(&Device::flex()).adjacency), &edges()).unwrap()
}

/// The seeds as nodes of the graph.
fn seeds(batch: &LinkBatch) -> Vec<usize> {
    let ids = batch.neighbors().nodes().ids();
    batch.neighbors().seeds().iter().map(|&row| ids[row]).collect()
}

/// The pairs as nodes of the graph.
fn nodes(batch: &LinkBatch) -> Vec<(usize, usize)> {
    let seeds = seeds(batch);
    batch.pairs().to_pairs().into_iter().map(|(source, target)| (seeds[source], seeds[target])).collect()
}

#[test]
fn pairs_are_the_edges_and_then_others() {
    let all = edges();
    let plain = sampler(vec![3]).sample(&[2, 0, 2], 7);
    assert_eq!((nodes(&plain), plain.edges()), (vec![all[2], all[0], all[2]], &[2, 0, 2][..]));
    assert_eq!(seeds(&plain), [0, 1, 32, 33]);
    let triples = sampler(vec![3]).with_negatives(Negatives::Targets(4)).sample(&[3, 1], 7);
    let pairs = nodes(&triples);
    assert_eq!((&pairs[..2], pairs.len()), (&[all[3], all[1]][..], 10));
    assert!(pairs[2..6].iter().all(|pair| pair.0 == 0) && pairs[6..].iter().all(|pair| pair.0 == 2));
    let labels: Vec<f32> = triples.labels(&Device::flex()).into_data().iter().collect();
    assert_eq!(labels, [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let none = sampler(vec![3]).with_negatives(Negatives::Pairs(2)).sample(&[], 7);
    assert_eq!((none.pairs().len(), none.neighbors().seeds().len()), (0, 0));
}

/// All neighbours of all ends, as a sampler of nodes has them.
#[test]
fn neighbours_are_those_of_the_ends() {
    let batch = sampler(vec![40, 40]).with_negatives(Negatives::Pairs(1)).sample(&[0, 4], 3);
    let nodes_only = NeighborSamplerConfig::new(vec![40, 40]).init(&karate(&Device::flex()).adjacency);
    let other = nodes_only.sample(&seeds(&batch), 3);
    assert_eq!(batch.neighbors().nodes().ids(), other.nodes().ids());
    for (block, other) in batch.neighbors().blocks().iter().zip(other.blocks()) {
        assert_eq!(block.to_dense().into_data(), other.to_dense().into_data());
    }
}

#[test]
fn nodes_are_drawn_uniformly_or_by_their_edges() {
    let count = |by_degree| {
        let sampler = sampler(vec![1]).with_negatives(Negatives::Pairs(7000)).with_by_degree(by_degree);
        let pairs = nodes(&sampler.sample(&[0], 1));
        let of = |end: fn(&(usize, usize)) -> usize, node| pairs[1..].iter().filter(|pair| end(pair) == node).count();
        [of(|pair| pair.0, 0), of(|pair| pair.1, 8), of(|pair| pair.1, 20)]
    };
    // Of seven edges three begin at node 0, and two end at node 8; of 34 nodes each is one. Four standard deviations.
    let (degrees, uniform) = (count(true), count(false));
    assert!(degrees[0].abs_diff(3000) < 166 && degrees[1].abs_diff(2000) < 152 && degrees[2] == 0, "{degrees:?}");
    assert!(uniform.iter().all(|count| count.abs_diff(7000 / 34) < 57), "{uniform:?}");
}

#[test]
fn epochs_have_the_same_bits_for_any_number_of_workers() {
    let run = |workers| {
        let sampler = sampler(vec![2, 2]).with_negatives(Negatives::Pairs(1));
        let loader = NeighborLoader::new(sampler, &[0, 1, 2, 3, 4, 5, 6], 3).unwrap().with_workers(workers);
        let batches = loader.epoch(1).map(|batch| (nodes(&batch), batch.neighbors().nodes().ids().to_vec()));
        batches.collect::<Vec<_>>()
    };
    let one = run(0);
    assert_eq!(one.iter().map(|(pairs, _)| pairs.len()).collect::<Vec<_>>(), [6, 6, 2]);
    assert!([1, 3].into_iter().all(|workers| run(workers) == one));
}

#[test]
fn what_is_no_edge_is_an_error() {
    let inner = NeighborSamplerConfig::new(vec![1]).init(&karate(&Device::flex()).adjacency);
    assert_eq!(LinkSampler::new(inner, &[(0, 34)]).unwrap_err().kind(), "index_out_of_range");
    assert_eq!(sampler(vec![1]).try_sample(&[7], 0).unwrap_err().kind(), "index_out_of_range");
    let many = sampler(vec![1]).with_negatives(Negatives::Targets(usize::MAX));
    assert_eq!(many.try_sample(&[1], 0).unwrap_err().kind(), "overflow");
    assert_eq!(NeighborLoader::new(sampler(vec![1]), &[7], 1).unwrap_err().kind(), "index_out_of_range");
}
