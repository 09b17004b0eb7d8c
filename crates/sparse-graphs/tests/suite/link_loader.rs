//! Batches of edges with pairs beside them.

use burn::tensor::{Device, Int, Tensor, TensorData};
use sparse_tensor::CsrTensor;
use sparse_tensor::data::*;
use sparse_tensor::nn::{EdgeType, NodePairs};
use sparse_tensor::ops::Reduce;
use std::collections::BTreeSet;

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

/// Users and items, joined both ways.
fn shop() -> HeteroGraph {
    let relations = [(("user", "likes", "item").into(), 300, 0.8), (("user", "knows", "user").into(), 120, 0.8)];
    let graph = hetero_block_model(&[("user", 40), ("item", 30)], 4, &relations, 7, &Device::flex()).unwrap();
    graph.with_reverse(Reduce::Amax)
}

const LIKES: [(usize, usize); 5] = [(3, 0), (3, 9), (39, 29), (0, 9), (8, 8)];

/// Rows of the batch's seeds are those of the pairs' nodes, for types that differ and for one, and with a tree each.
#[test]
fn pairs_between_types_are_rows_of_both() {
    for (target, disjoint) in [("item", false), ("item", true), ("user", false), ("user", true)] {
        let config = HeteroSamplerConfig::new(vec![3, 2]).with_disjoint(disjoint);
        let sampler = config.init(&shop(), "user").with_targets(target);
        let links = LinkSampler::new(sampler, &LIKES).unwrap().with_negatives(Negatives::Targets(2));
        let batch = links.sample(&[1, 4, 1], 3);
        let near = batch.neighbors();
        let [sources, targets] = ["user", target].map(|name| near.node_ids(name));
        let rows = batch.pairs().to_pairs();
        let pairs: Vec<_> = rows.iter().map(|&(row, col)| (sources[row], targets[col])).collect();
        assert_eq!(pairs[..3], [LIKES[1], LIKES[4], LIKES[1]], "{target} {disjoint}");
        assert!(pairs[3..].iter().map(|pair| pair.0).eq([3, 3, 8, 8, 3, 3]));
        let seeds = |name: &str| near.counts(name)[0];
        let expected = match (target, disjoint) {
            ("item", true) => [9, 9],
            ("user", true) => [18, 18],
            _ => ["user", target].map(|name| {
                let nodes = pairs.iter().flat_map(|&(source, end)| match target {
                    "user" => vec![source, end],
                    _ => vec![if name == "user" { source } else { end }],
                });
                nodes.collect::<BTreeSet<_>>().len()
            }),
        };
        assert_eq!(["user", target].map(seeds), expected);
        if disjoint {
            let trees = |name, row: usize| near.trees(name)[row];
            assert!(
                rows.iter()
                    .enumerate()
                    .all(|(pair, &(row, col))| { (trees("user", row), trees(target, col)) == (pair, 9 + pair) })
            );
        }
        assert!(near.blocks().all(|edges| edges.iter().any(|(_, block)| block.nnz() > 0)));
    }
}

/// A graph of one type has the pairs of a graph without types.
#[test]
fn draws_do_not_depend_on_types() {
    let adjacency = karate(&Device::flex()).adjacency;
    let graph = HeteroGraph::default().with_nodes("node", TypedNodes::new(34));
    let graph = graph.with_edges(("node", "to", "node"), adjacency);
    let typed = LinkSampler::new(HeteroSamplerConfig::new(vec![2]).init(&graph, "node"), &edges()).unwrap();
    let (typed, plain) = (typed.with_by_degree(true), sampler(vec![2]).with_by_degree(true));
    for negatives in [Negatives::Pairs(3), Negatives::Targets(2)] {
        let typed = typed.clone().with_negatives(negatives).sample(&[6, 1], 5);
        let plain = plain.clone().with_negatives(negatives).sample(&[6, 1], 5);
        assert_eq!(typed.pairs().to_pairs(), plain.pairs().to_pairs());
        assert_eq!(typed.neighbors().node_ids("node")[..plain.neighbors().seeds().len()], seeds(&plain));
    }
}

/// The time of an edge is the number of its user, so no later user is near an earlier pair.
#[test]
fn pairs_see_nothing_later_than_their_edge() {
    let graph = shop();
    let of_edges = |(kind, edges): (EdgeType, &CsrTensor<2>)| {
        let ends = NodePairs::edges(edges).to_pairs();
        let times = ends.iter().map(|&(row, col)| (if kind.source == "user" { col } else { row }) as i64);
        let times: Vec<i64> = times.collect();
        let times = Tensor::<1, Int>::from_data(TensorData::new(times, [ends.len()]), &Device::flex());
        (kind, edges.int().with_values(times))
    };
    let times: Vec<_> = graph.edges().into_iter().map(of_edges).collect();
    let typed = HeteroSamplerConfig::new(vec![NeighborSampler::ALL; 2]).init(&graph, "user");
    let typed = typed.with_times(&times, &[0; 40], TemporalStrategy::Uniform).with_targets("item");
    let links = LinkSampler::new(typed, &LIKES).unwrap().with_negatives(Negatives::Pairs(2));
    let when = [30, 4, 39, 12, 8];
    let batch = links.clone().with_times(&when).unwrap().sample(&[0, 1, 2, 3, 4], 1);
    let near = batch.neighbors();
    // Seeds may be later: they are ends of the pairs.
    let of = |tree: usize| match tree % 15 {
        pair @ 0..5 => when[pair],
        pair => when[(pair - 5) / 2],
    };
    let drawn = near.counts("user")[0]..near.node_ids("user").len();
    assert!(drawn.len() > 40);
    assert!(drawn.clone().all(|row| near.node_ids("user")[row] as i64 <= of(near.trees("user")[row])));
    assert!(drawn.clone().any(|row| near.node_ids("user")[row] > 4));

    let text = links.try_sample(&[0], 0).unwrap_err().to_string();
    assert!(text.contains("both have times"), "{text}");
    assert_eq!(links.clone().with_times(&[1]).unwrap_err().kind(), "length_mismatch");
    let plain = sampler(vec![1]).with_times(&[1, 2, 3, 4, 5, 6, 7]).unwrap();
    assert!(plain.try_sample(&[0], 0).unwrap_err().to_string().contains("HeteroSampler"));
}

#[test]
fn ends_of_types_are_in_range() {
    let sampler = HeteroSamplerConfig::new(vec![1]).init(&shop(), "user");
    assert!(sampler.try_with_targets("tag").unwrap_err().to_string().contains("tag"));
    let sampler = sampler.with_targets("item");
    assert_eq!(LinkSampler::new(sampler.clone(), &[(40, 0)]).unwrap_err().kind(), "index_out_of_range");
    assert_eq!(LinkSampler::new(sampler.clone(), &[(0, 30)]).unwrap_err().kind(), "index_out_of_range");
    assert!(LinkSampler::new(sampler, &[(39, 29)]).is_ok());
}
