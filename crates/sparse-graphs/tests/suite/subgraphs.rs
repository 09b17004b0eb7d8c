//! Subgraphs by GraphSAINT and ShaDow, and loaders of other batches.

use burn::tensor::{Device, Tensor};
use sparse_tensor::CsrTensor;
use sparse_tensor::data::*;
use std::collections::BTreeSet;

fn dense(adjacency: &CsrTensor<2>) -> Vec<Vec<f32>> {
    let width = adjacency.dims()[1];
    let flat: Vec<f32> = adjacency.to_dense().into_data().iter().collect();
    flat.chunks(width).map(<[f32]>::to_vec).collect()
}

/// Different values, no symmetry, a node without edges out (9) and one without any (11).
fn graph() -> CsrTensor<2> {
    let cell = |row: usize, col: usize| match (row * 7 + col * 5) % 6 {
        0 | 1 if row != 9 && row.max(col) < 11 => (1 + 12 * row + col) as f32,
        _ => 0.0,
    };
    let cells: Vec<f32> = (0..144).map(|at| cell(at / 12, at % 12)).collect();
    CsrTensor::from_dense(Tensor::<1>::from_floats(&cells[..], &Device::flex()).reshape([12, 12]))
}

const DRAWS: [SaintDraw; 3] = [SaintDraw::Nodes(4), SaintDraw::Edges(3), SaintDraw::Walks { roots: 3, length: 2 }];

#[test]
fn saint_subgraphs_are_induced_by_their_nodes() {
    for draw in DRAWS {
        let (graph, mut seen) = (graph(), BTreeSet::new());
        let sampler = SaintSampler::new(&graph, draw, 3).unwrap();
        for number in 0..60 {
            let part = sampler.sample(number);
            let whole = induced_subgraph(&graph, part.nodes().ids());
            assert!(part.nodes().ids().is_sorted() && !part.nodes().is_empty());
            assert_eq!((dense(part.adjacency()), part.edge_ids()), (dense(whole.adjacency()), whole.edge_ids()));
            assert_eq!(part.nodes().ids(), sampler.sample(number).nodes().ids());
            seen.extend(part.nodes().ids().to_vec());
        }
        // Only walks reach a node without edges; draws of nodes are of rows with edges.
        let never: &[usize] = match draw {
            SaintDraw::Nodes(_) => &[9, 11],
            SaintDraw::Edges(_) => &[11],
            SaintDraw::Walks { .. } => &[],
        };
        assert!((0..12).filter(|node| !never.contains(node)).eq(seen), "{draw:?}");
    }
}

/// With the weights, sums over subgraphs are those over the graph on average: what GraphSAINT promises.
#[test]
fn saint_weights_undo_the_bias() {
    let graph = graph();
    let x: Vec<f64> = (0..12).map(|node| f64::from(node * node)).collect();
    let values = dense(&graph);
    for draw in DRAWS {
        let sampler = SaintSampler::new(&graph, draw, 5).unwrap();
        let norms = sampler.norms(4000);
        let weighted = sampler.with_adjacency(&graph.with_values(graph.values::<1>() * norms.edges)).unwrap();
        let weights: Vec<f32> = norms.nodes.into_data().iter().collect();
        let (mut sum, mut rows, mut times) = (0.0, vec![0.0; 12], [0.0; 12]);
        let samples = 6000;
        for number in 0..samples {
            let part = weighted.sample(number);
            let ids = part.nodes().ids();
            sum += ids.iter().map(|&node| f64::from(weights[node]) * x[node]).sum::<f64>();
            for (&node, row) in ids.iter().zip(dense(part.adjacency())) {
                rows[node] += row.iter().zip(ids).map(|(a, &col)| f64::from(*a) * x[col]).sum::<f64>();
                times[node] += 1.0;
            }
        }
        let reached: Vec<usize> = (0..12).filter(|&node| times[node] > 0.0).collect();
        let mean = reached.iter().map(|&node| x[node]).sum::<f64>() / 12.0;
        let close = |got: f64, want: f64| (got - want).abs() <= 0.08 * want.abs().max(1.0);
        assert!(close(sum / samples as f64, mean), "{draw:?}: {} {mean}", sum / samples as f64);
        // The mean over the subgraphs that have the node is its message from all nodes that can be drawn.
        for &node in &reached {
            let message: f64 = reached.iter().map(|&col| f64::from(values[node][col]) * x[col]).sum();
            assert!(close(rows[node] / times[node], message), "{draw:?}: node {node}");
        }
    }
}

#[test]
fn saint_says_what_cannot_be_drawn() {
    let (graph, device) = (graph(), Device::flex());
    let kind = |graph: &CsrTensor<2>, draw| SaintSampler::new(graph, draw, 0).unwrap_err().kind();
    assert_eq!(kind(&graph, SaintDraw::Nodes(0)), "invalid");
    assert_eq!(kind(&graph, SaintDraw::Walks { roots: 0, length: 5 }), "invalid");
    assert_eq!(kind(&graph, SaintDraw::Walks { roots: 1 << 31, length: usize::MAX }), "overflow");
    let none = CsrTensor::from_dense(Tensor::zeros([3, 3], &device));
    assert_eq!(kind(&none, SaintDraw::Edges(2)), "invalid");
    assert!(SaintSampler::new(&none, SaintDraw::Walks { roots: 2, length: 1 }, 0).is_ok());
    let wide = CsrTensor::from_dense(Tensor::ones([3, 4], &device));
    assert_eq!(kind(&wide, SaintDraw::Nodes(2)), "shape_mismatch");
    let sampler = SaintSampler::new(&graph, SaintDraw::Nodes(2), 0).unwrap();
    assert_eq!(sampler.try_norms(0).unwrap_err().kind(), "invalid");
    assert_eq!(sampler.with_adjacency(&none).unwrap_err().kind(), "invalid");
    // As many edges elsewhere.
    assert_eq!(sampler.with_adjacency(&graph.transpose()).unwrap_err().kind(), "invalid");
}

/// Each seed has all edges between the nodes that were drawn around it, and all neighbours with a large fan-out.
#[test]
fn shadow_graphs_are_induced_around_their_seeds() {
    let graph = graph();
    for (hops, fan_out) in [(1, NeighborSampler::ALL), (2, NeighborSampler::ALL), (2, 2)] {
        let sampler = ShadowSampler::new(&graph, hops, fan_out, 3).unwrap();
        let seeds = [5, 9, 0, 5, 11];
        let batch = sampler.sample(&seeds, 4);
        let parts = batch.graphs().split_adjacency(batch.graphs().adjacency());
        assert_eq!((parts.len(), batch.graphs().adjacency().nnz()), (5, batch.edge_ids().len()));
        for (graph_id, part) in parts.iter().enumerate() {
            let nodes = &batch.node_ids()[batch.graphs().nodes_of(graph_id)];
            let whole = induced_subgraph(&graph, nodes);
            assert_eq!((nodes[0], dense(part)), (seeds[graph_id], dense(whole.adjacency())));
            let within = k_hop_subgraph(&graph, &seeds[graph_id..=graph_id], hops);
            let (found, all): (BTreeSet<_>, BTreeSet<_>) =
                (nodes.iter().collect(), within.nodes().ids().iter().collect());
            let right = if fan_out == 2 { found.is_subset(&all) && found.len() <= 7 } else { found == all };
            assert!(right && found.len() == nodes.len(), "{hops} hops of {fan_out} around {}", seeds[graph_id]);
        }
        let positions = batch.graphs().adjacency().values::<1>().into_data();
        let values: Vec<f32> = graph.values::<1>().into_data().iter().collect();
        assert!(positions.iter::<f32>().eq(batch.edge_ids().iter().map(|&at| values[at])));
        let x = Tensor::<1>::from_floats([0., 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11.], &Device::flex());
        let rows = batch.seed_rows(batch.features(x.clone())).into_data();
        assert!(rows.iter::<f32>().eq(seeds.iter().map(|&seed| seed as f32)));
        assert_eq!(batch.try_features(Tensor::<1>::ones([11], &x.device())).unwrap_err().kind(), "length_mismatch");
        assert_eq!(batch.try_seed_rows(x).unwrap_err().kind(), "length_mismatch");
    }
    let sampler = ShadowSampler::new(&graph, 1, 2, 3).unwrap();
    assert_eq!(sampler.try_sample(&[], 0).unwrap_err().kind(), "empty_input");
    assert_eq!(sampler.try_sample(&[12], 0).unwrap_err().kind(), "index_out_of_range");
    assert_eq!(ShadowSampler::new(&graph, 0, 2, 3).unwrap_err().kind(), "invalid");
}

/// Workers change nothing: all kinds of loaders go through the same code.
#[test]
fn batches_do_not_depend_on_workers() {
    let saint = SaintSampler::new(&graph(), DRAWS[2], 3).unwrap();
    let shadow = ShadowSampler::new(&graph(), 2, 2, 3).unwrap();
    let run = |workers| {
        let saint = NeighborLoader::new(saint.clone(), &[0, 1, 2, 3, 4], 1).unwrap().with_workers(workers);
        let shadow = NeighborLoader::new(shadow.clone(), &[3, 7, 11], 2).unwrap().with_workers(workers);
        let saint: Vec<_> = saint.epoch(2).map(|part| part.nodes().ids().to_vec()).collect();
        (saint, shadow.epoch(2).map(|batch| batch.node_ids().to_vec()).collect::<Vec<_>>())
    };
    let one = run(0);
    assert!(one.0.iter().collect::<BTreeSet<_>>().len() > 1, "steps differ");
    assert_eq!((run(1), run(3)), (one.clone(), one));
}

#[test]
fn weights_choose_the_seeds() {
    let echo = SampledBy::new(100, |seeds, _| seeds.to_vec());
    let seeds: Vec<usize> = (10..20).collect();
    let loader = NeighborLoader::new(echo, &seeds, 4).unwrap();
    let drawn = |loader: &NeighborLoader<_>, epochs| -> Vec<usize> {
        (0..epochs).flat_map(|e| loader.epoch(e)).flatten().collect()
    };
    let weights = [0.0, 1.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let weighted = loader.clone().with_weights(&weights).unwrap();
    let got = drawn(&weighted, 400);
    let count = |seed| got.iter().filter(|own| **own == seed).count();
    // Of 4000 draws a quarter, and the others: five standard deviations.
    assert_eq!((count(11) + count(14), weighted.epoch(0).len()), (4000, 3));
    assert!(count(11).abs_diff(1000) < 137, "{}", count(11));
    assert_ne!(drawn(&weighted, 1), got[got.len() - 10..], "epochs differ");
    let mut all = drawn(&loader, 1);
    all.sort_unstable();
    assert_eq!(all, seeds);

    for (weights, kind) in [
        (&[1.0][..], "length_mismatch"),
        (&[0.0; 10], "invalid"),
        (&[1.0, 1.0, 1.0, -1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], "invalid"),
        (&[f64::NAN; 10], "invalid"),
    ] {
        assert_eq!(loader.clone().with_weights(weights).unwrap_err().kind(), kind);
    }
}
