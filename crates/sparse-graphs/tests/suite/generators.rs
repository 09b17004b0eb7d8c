//! Random graphs and grids: counts, and distributions within five standard deviations.

use crate::data::is_sound;
use burn::tensor::Device;
use sparse_tensor::CsrTensor;
use sparse_tensor::data::{ba_shapes, barabasi_albert, erdos_renyi, grid_2d};
use std::collections::BTreeSet;

/// The neighbours of every node of a symmetric matrix of ones without self loops.
fn neighbours(matrix: &CsrTensor<2>) -> Vec<BTreeSet<usize>> {
    let nodes = matrix.dims()[0];
    assert_eq!(matrix.dims(), [nodes, nodes]);
    let coo = matrix.to_coo();
    let ends: Vec<i64> = coo.indices().into_data().convert::<i64>().iter().collect();
    assert!(coo.values::<1>().into_data().iter::<f32>().all(|value| value == 1.0));
    let (from, to) = ends.split_at(coo.nnz());
    let mut found = vec![BTreeSet::new(); nodes];
    for (&from, &to) in from.iter().zip(to) {
        assert!(from != to && found[from as usize].insert(to as usize), "({from}, {to})");
    }
    assert!((0..nodes).all(|from| found[from].iter().all(|&to| found[to].contains(&from))));
    found
}

fn near(got: usize, mean: f64, deviation: f64) {
    assert!((got as f64 - mean).abs() < 5.0 * deviation, "{got}, not {mean} within five times {deviation}");
}

#[test]
fn pairs_are_joined_with_their_probability() {
    let device = Device::flex();
    let (nodes, p) = (2000, 0.01);
    let found = neighbours(&erdos_renyi(nodes, p, 5, &device).unwrap());
    let binomial = |pairs: f64| (pairs * p, (pairs * p * (1.0 - p)).sqrt());
    let degrees: Vec<f64> = found.iter().map(|own| own.len() as f64).collect();
    let (mean, deviation) = binomial(1_999_000.0);
    near(degrees.iter().sum::<f64>() as usize / 2, mean, deviation);
    // Pairs within the first half, and between the halves.
    let within = found[..1000].iter().flatten().filter(|&&to| to < 1000).count() / 2;
    let (mean, deviation) = binomial(499_500.0);
    near(within, mean, deviation);
    let between = found[..1000].iter().flatten().filter(|&&to| to >= 1000).count();
    let (mean, deviation) = binomial(1_000_000.0);
    near(between, mean, deviation);
    // The variance of a degree is that of 1999 draws; a regular graph of that mean has none.
    let average = degrees.iter().sum::<f64>() / nodes as f64;
    let variance = degrees.iter().map(|degree| (degree - average).powi(2)).sum::<f64>() / nodes as f64;
    assert!((variance - 19.79).abs() < 5.0 * 19.79 * (2.0 / nodes as f64).sqrt(), "{variance}");

    assert_eq!(neighbours(&erdos_renyi(nodes, p, 5, &device).unwrap()), found);
    assert_ne!(neighbours(&erdos_renyi(nodes, p, 6, &device).unwrap()), found);
    let count = |nodes, p| erdos_renyi(nodes, p, 0, &device).unwrap().nnz();
    assert_eq!([count(5, 1.0), count(5, 0.0), count(1, 1.0), count(0, 0.5)], [20, 0, 0, 0]);
    for p in [-0.1, 1.5, f64::NAN] {
        assert_eq!(erdos_renyi(3, p, 0, &device).unwrap_err().kind(), "invalid");
    }
    for (nodes, p) in [(usize::MAX, 0.0), (10_000_000, 0.5)] {
        assert_eq!(erdos_renyi(nodes, p, 0, &device).unwrap_err().kind(), "overflow");
    }
}

#[test]
fn nodes_with_many_edges_get_more() {
    let device = Device::flex();
    let (nodes, m) = (20_000, 2);
    let graph = barabasi_albert(nodes, m, 3, &device).unwrap();
    let found = neighbours(&graph);
    assert_eq!(graph.nnz(), 2 * m * (nodes - m));
    // A node joins `m` that were there before it.
    assert!((m + 1..nodes).all(|node| found[node].range(..node).count() == m));
    // Uniform choices would give shares 1/3, 2/9, 4/27 for degrees 2, 3, 4, and a largest degree below 50.
    for (degree, share) in [(2, 1.0 / 2.0), (3, 1.0 / 5.0), (4, 1.0 / 10.0)] {
        let got = found.iter().filter(|own| own.len() == degree).count();
        near(got, share * nodes as f64, (nodes as f64 * share * (1.0 - share)).sqrt());
    }
    assert!(found.iter().map(BTreeSet::len).max() > Some(100));
    assert_eq!(neighbours(&barabasi_albert(nodes, m, 3, &device).unwrap()), found);
    assert_ne!(neighbours(&barabasi_albert(nodes, m, 4, &device).unwrap()), found);
    // A star.
    assert_eq!(neighbours(&barabasi_albert(4, 3, 0, &device).unwrap())[3], BTreeSet::from([0, 1, 2]));
    for (nodes, attach) in [(3, 0), (3, 3), (0, 0), (0, 1)] {
        let text = sparse_dev::told(barabasi_albert(nodes, attach, 0, &device));
        assert!(text.contains(&format!("[1, {nodes})")) && text.ends_with(&format!("got {attach}")), "{text}");
    }
    assert_eq!(barabasi_albert(usize::MAX, 1, 0, &device).unwrap_err().kind(), "overflow");
}

#[test]
fn grids_join_what_is_beside() {
    let device = Device::flex();
    let found = neighbours(&grid_2d(4, 6, &device).unwrap());
    for (node, own) in found.iter().enumerate() {
        let (row, col) = (node / 6, node % 6);
        let beside = (0..24usize).filter(|other| (other / 6).abs_diff(row) + (other % 6).abs_diff(col) == 1);
        assert_eq!(*own, beside.collect(), "{node}");
    }
    let edges = |height, width| grid_2d(height, width, &device).unwrap().nnz() / 2;
    assert_eq!([edges(1, 5), edges(5, 1), edges(1, 1), edges(0, 5), edges(5, 0)], [4, 4, 0, 0, 0]);
    for (height, width) in [(usize::MAX, usize::MAX), (1 << 15, 1 << 15), (30_000, 30_000)] {
        assert_eq!(grid_2d(height, width, &device).unwrap_err().kind(), "overflow");
    }
}

#[test]
fn houses_are_joined_to_a_scale_free_graph() {
    let device = Device::flex();
    let (base, attach, houses) = (300, 5, 80);
    let graph = ba_shapes(base, attach, houses, 1, &device).unwrap();
    is_sound(&graph);
    let found = neighbours(&graph.adjacency);
    assert_eq!((found.len(), graph.edges()), (700, 5 * 295 + 80 * 7));
    let labels = graph.labels.to_vec();
    assert_eq!([0, 1, 2, 3].map(|class| labels.iter().filter(|&&label| label == class).count()), [300, 160, 160, 80]);
    let (mut hosts, mut places) = (BTreeSet::new(), BTreeSet::new());
    for first in (base..700).step_by(5) {
        let (roof, walls) = (first + 4, [first, first + 1]);
        assert_eq!(labels[first..first + 5], [1, 1, 2, 2, 3]);
        let inside = |node: usize| found[node].range(first..first + 5).copied().collect::<BTreeSet<_>>();
        // The roof is on both walls, which are joined; below are the two nodes of the floor.
        assert_eq!(inside(roof), BTreeSet::from(walls));
        let degrees = [0, 1, 2, 3, 4].map(|place| inside(first + place).len());
        assert_eq!(degrees, [3, 3, 2, 2, 2]);
        assert!(found[first].contains(&walls[1]) && found[first + 2].contains(&(first + 3)));
        let outside = (first..first + 5).flat_map(|node| found[node].range(..first).map(move |&host| (host, node)));
        let outside: Vec<_> = outside.collect();
        assert!(outside.len() == 1 && outside[0].0 < base && hosts.insert(outside[0].0), "{outside:?}");
        places.insert(outside[0].1 - first);
    }
    assert_eq!(places, BTreeSet::from([0, 1, 2, 3, 4]));
    assert!(hosts.last() > Some(&200), "houses are everywhere");
    assert_eq!((graph.features.dims(), graph.features.nnz()), ([700, 1], 700));
    let sizes = [&graph.splits.train, &graph.splits.val, &graph.splits.test].map(Vec::len);
    assert_eq!(sizes, [560, 70, 70]);
    assert_eq!(neighbours(&ba_shapes(base, attach, houses, 1, &device).unwrap().adjacency), found);
    assert_ne!(neighbours(&ba_shapes(base, attach, houses, 2, &device).unwrap().adjacency), found);
    assert!(sparse_dev::told(ba_shapes(6, 5, 7, 0, &device)).contains("at most one house for each of 6 nodes, got 7"));
    assert!(sparse_dev::told(ba_shapes(5, 5, 0, 0, &device)).contains("attach"));
}
