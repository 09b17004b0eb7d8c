//! Clusters of nodes, and the graph between them.

use super::case::{device, kind, plan};
use burn::tensor::{Device, Tensor, TensorData};
use sparse_autograd::gradcheck;
use sparse_tensor::data::karate;
use sparse_tensor::nn::{NodePairs, coarsen, graclus, try_coarsen, try_graclus, try_voxel_grid, voxel_grid};
use sparse_tensor::ops::IndexPlan;
use sparse_tensor::{CooTensor, CsrTensor};
use std::collections::BTreeSet;

fn ids(plan: &IndexPlan) -> Vec<i64> {
    plan.index().to_data().iter::<i64>().collect()
}

fn graph(edges: &[(usize, usize)], values: &[f64], nodes: usize) -> CsrTensor<2> {
    CooTensor::from_edges(edges, Tensor::<1>::from_floats(values, &Device::flex()), nodes).unwrap().to_csr()
}

/// Clusters have one node, or two that an edge joins; and no edge joins two nodes that are alone.
#[test]
fn graclus_is_a_maximal_matching() {
    let adjacency = karate(&Device::flex()).adjacency;
    let edges: BTreeSet<(usize, usize)> = NodePairs::edges(&adjacency).to_pairs().into_iter().collect();
    let mut found = BTreeSet::new();
    for seed in 0..20 {
        let clusters = graclus(&adjacency, seed);
        let ids = ids(&clusters);
        let members = |cluster: i64| (0..34).filter(|&node| ids[node] == cluster).collect::<Vec<_>>();
        let groups: Vec<_> = (0..clusters.size() as i64).map(members).collect();
        assert!(groups.iter().is_sorted_by_key(|group| group[0]) && groups.iter().all(|group| group.len() <= 2));
        assert!(groups.iter().filter(|group| group.len() == 2).all(|pair| edges.contains(&(pair[0], pair[1]))));
        let alone: Vec<_> = groups.iter().filter(|group| group.len() == 1).map(|group| group[0]).collect();
        assert!(alone.iter().all(|&a| alone.iter().all(|&b| !edges.contains(&(a, b)))));
        assert_eq!(self::ids(&graclus(&adjacency, seed)), ids);
        found.insert(ids);
    }
    assert!(found.len() > 15, "the order is random");
}

/// The heaviest free neighbour; neither loops nor NaN, and of equal ones any.
#[test]
fn graclus_takes_the_largest_value() {
    let edges = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (2, 0), (3, 0)];
    let star = graph(&edges, &[9.0, 1.0, 5.0, f64::NAN, 1.0, 5.0, f64::NAN], 4);
    let taken: BTreeSet<_> = (0..40).map(|seed| ids(&graclus(&star, seed))).collect();
    // Node 1 may come first, and has one neighbour.
    assert_eq!(taken.into_iter().collect::<Vec<_>>(), [[0, 0, 1, 2], [0, 1, 0, 2]]);
    let even = graph(&edges[1..], &[2.0; 6], 4);
    assert_eq!((0..60).map(|seed| ids(&graclus(&even, seed))).collect::<BTreeSet<_>>().len(), 3);
    // Any of the three heaviest, also with a lighter one between them. 1,500 runs each, with a deviation of 35.
    let four = [(0, 1), (0, 2), (0, 3), (0, 4)];
    let hub = graph(&four, &[5.0, 5.0, 3.0, 5.0], 5);
    let mut counts = [0; 5];
    for seed in 0..6000 {
        let ids = ids(&graclus(&hub, seed));
        (1..5).filter(|&other| ids[other] == ids[0]).for_each(|other| counts[other] += 1);
    }
    let mean = (counts[1] + counts[2] + counts[4]) / 3;
    assert!([1, 2, 4].iter().all(|&at| i32::abs(counts[at] - mean) < 120), "{counts:?}");
    let nothing = CsrTensor::<2>::zeros([3, 3], &Device::flex());
    assert_eq!(ids(&graclus(&nothing, 1)), [0, 1, 2]);
    assert_eq!(graclus(&CsrTensor::zeros([0, 0], &Device::flex()), 1).size(), 0);
    assert_eq!(kind(try_graclus(&CsrTensor::zeros([2, 3], &Device::flex()), 1)), "shape_mismatch");
}

#[test]
fn voxels_are_numbered_by_graph_and_cell() {
    let points =
        || Tensor::from_floats([[0.5, -1.0], [2.4, 0.1], [0.4, 0.9], [2.6, -1.0], [1.5, -0.1]], &Device::flex());
    // Cells from (0.4, -1): columns 0, 2, 0, 2, 1 and rows 0, 1, 1, 0, 0.
    assert_eq!(ids(&voxel_grid(points(), &[1.0, 1.0], None)), [0, 4, 3, 2, 1]);
    let graphs = plan(&[1, 0, 1, 0, 1], 2);
    assert_eq!(ids(&voxel_grid(points(), &[1.0, 9.0], Some(&graphs))), [1, 0, 1, 0, 2]);
    assert_eq!(voxel_grid(Tensor::zeros([0, 2], &Device::flex()), &[1.0, 1.0], None).size(), 0);
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(kind(try_voxel_grid(points(), &[1.0, bad], None)), "invalid", "{bad}");
    }
    assert_eq!(kind(try_voxel_grid(points().mul_scalar(f64::NAN), &[1.0, 1.0], None)), "invalid");
    assert_eq!(kind(try_voxel_grid(points(), &[1.0], None)), "length_mismatch");
    assert_eq!(kind(try_voxel_grid(points(), &[1.0, 1.0], Some(&plan(&[0, 0], 1)))), "shape_mismatch");
}

/// `S^T A S` without its diagonal, with the gradient of the values.
#[test]
fn coarse_edges_are_sums() {
    let edges = [(0, 1), (0, 2), (1, 3), (2, 0), (3, 1), (3, 2), (4, 4)];
    let a = graph(&edges, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 5);
    let clusters = plan(&[0, 0, 1, 1, 2], 3);
    let want: Tensor<2> = Tensor::from_floats([[0.0, 5.0, 0.0], [9.0, 0.0, 0.0], [0.0; 3]], &Device::flex());
    assert_eq!(coarsen(&a, &clusters).to_dense().into_data(), want.into_data());
    let values = TensorData::from([0.3f64, -1.2, 0.7, 2.0, 0.4, -0.6, 1.1]);
    gradcheck(&device(), &[values], |xs| {
        let a = CsrTensor::<2>::from_pattern(a.pattern().clone(), xs[0].tensor::<1>()).unwrap();
        coarsen(&a, &clusters).values::<1>()
    })
    .unwrap();
    assert_eq!(coarsen(&CsrTensor::zeros([5, 5], &Device::flex()), &clusters).nnz(), 0);
    assert_eq!(kind(try_coarsen(&a, &plan(&[0, 0], 1))), "shape_mismatch");
    assert_eq!(kind(try_coarsen(&CsrTensor::zeros([2, 3], &Device::flex()), &plan(&[0, 0], 1))), "shape_mismatch");
}
