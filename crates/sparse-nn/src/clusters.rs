//! Clusters of nodes, and the graph between them.

use super::pooling::check_nodes;
use burn::tensor::{Device, Tensor};
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use sparse_macros::or_panic;
use sparse_ops::extend::{Parts, check_square, ints, read_all, read_data};
use sparse_ops::ops::IndexPlan;
use sparse_ops::{CooTensor, CsrTensor, Result, SparseError};
use std::collections::BTreeMap;

/// Graclus: the cluster of each node, which has it and at most one neighbour.
///
/// Nodes come in a random order, by the seed. Each one that is free takes the free neighbour with the largest value of
/// its row, of equal ones a random one; loops and NaN do not count. Clusters are numbered by their first nodes. In an
/// undirected graph the adjacency is symmetric, and for the normalised cut its values are `w (1 / d_i + 1 / d_j)`.
///
/// Features of the clusters are [`global_max_pool`](super::global_max_pool)`(x, &clusters)` and its like, the edges
/// between them are [`coarsen`]. The pattern and values are read from the device. Cost: `O(nnz)`. (PyG's `graclus`; its
/// `max_pool` is both.)
///
/// Source: Dhillon, Guan, Kulis, *Weighted graph cuts without eigenvectors: a multilevel approach*, TPAMI 2007.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::karate;
/// use sparse_tensor::nn::{coarsen, global_max_pool, graclus};
///
/// let graph = karate(&Device::flex());
/// let clusters = graclus(&graph.adjacency, 7);
/// let half = coarsen(&graph.adjacency, &clusters);
/// let x = global_max_pool(graph.features.to_dense(), &clusters);
/// assert!((17..34).contains(&clusters.size()));
/// assert_eq!((half.dims()[0], x.dims()[0]), (clusters.size(), clusters.size()));
/// ```
///
/// # Errors
///
/// `shape_mismatch` if the adjacency is not square.
#[or_panic]
pub fn try_graclus(adjacency: &CsrTensor<2>, seed: u64) -> Result<IndexPlan> {
    check_square("graclus", adjacency)?;
    let (nodes, pattern) = (adjacency.dims()[0], adjacency.pattern());
    let ptr = read_all(pattern.row_ptr().clone());
    let (cols, values): (Vec<i64>, Vec<f64>) = match adjacency.nnz() {
        0 => (vec![], vec![]),
        _ => {
            let values = read_data(adjacency.rows().clone().inner()).convert::<f64>().iter().collect();
            (read_all(pattern.col_idx().clone()), values)
        }
    };
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut order: Vec<usize> = (0..nodes).collect();
    order.shuffle(&mut rng);
    let mut first_of: Vec<Option<usize>> = vec![None; nodes];
    for node in order {
        if first_of[node].is_some() {
            continue;
        }
        let (mut best, mut ties): (Option<(f64, usize)>, u32) = (None, 0);
        for at in ptr[node] as usize..ptr[node + 1] as usize {
            let (other, value) = (cols[at] as usize, values[at]);
            if other == node || value.is_nan() || first_of[other].is_some() {
                continue;
            }
            match best {
                Some((most, _)) if value < most => {}
                // Each of the heaviest edges so far is kept with the same probability.
                Some((most, _)) if value == most => {
                    ties += 1;
                    if rng.random_range(0..ties) == 0 {
                        best = Some((value, other));
                    }
                }
                _ => (best, ties) = (Some((value, other)), 1),
            }
        }
        let other = best.map_or(node, |(_, other)| other);
        let first = node.min(other);
        (first_of[node], first_of[other]) = (Some(first), Some(first));
    }
    numbered(&first_of, &adjacency.device())
}

/// The cluster of each point `[N, D]`: those of one cell of a grid, whose cells have these sizes.
///
/// The grid begins at the smallest coordinates of all points. With `graphs`, points of two graphs are never in one
/// cluster. Clusters are numbered by graph, then by cell, where the first coordinate changes fastest. The points are
/// read from the device. Cost: `O(N D log N)`. (PyG's `voxel_grid`, then `consecutive_cluster`.)
///
/// Source: Simonovsky and Komodakis, *Dynamic edge-conditioned filters in convolutional neural networks on graphs*,
/// CVPR 2017.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::nn::voxel_grid;
///
/// let points = Tensor::from_floats([[0.0, 0.0], [5.1, 0.2], [0.9, 0.9]], &Device::flex());
/// let clusters = voxel_grid(points, &[1.0, 1.0], None);
/// assert_eq!(clusters.index().to_data().iter::<i64>().collect::<Vec<_>>(), [0, 1, 0]);
/// ```
///
/// # Errors
///
/// `invalid` for a size that is not above 0, or a point that is not finite; `length_mismatch` if there is not a size
/// for each coordinate; `shape_mismatch` if there is not a point for each node.
#[or_panic]
pub fn try_voxel_grid(points: Tensor<2>, sizes: &[f64], graphs: Option<&IndexPlan>) -> Result<IndexPlan> {
    const OP: &str = "voxel_grid";
    let [count, dims] = points.dims();
    if sizes.len() != dims {
        return Err(SparseError::length_mismatch(OP, "the sizes of a cell", dims, sizes.len()));
    }
    if let Some(size) = sizes.iter().find(|size| !(size.is_finite() && **size > 0.0)) {
        return Err(SparseError::invalid(OP, format!("the size of a cell must be above 0, got {size}")));
    }
    if let Some(graphs) = graphs {
        check_nodes(OP, &points, graphs)?;
    }
    let device = points.device().inner();
    let ids = graphs.filter(|_| count > 0).map_or(vec![0; count], |graphs| read_all(graphs.index().clone()));
    let values: Vec<f64> = match count * dims {
        0 => vec![],
        _ => read_data(points.inner()).convert::<f64>().iter().collect(),
    };
    if let Some(value) = values.iter().find(|value| !value.is_finite()) {
        return Err(SparseError::invalid(OP, format!("points must be finite, got {value}")));
    }
    let least = |axis: usize| values.iter().skip(axis).step_by(dims).copied().fold(f64::INFINITY, f64::min);
    let starts: Vec<f64> = (0..dims).map(least).collect();
    // From the slowest part to the fastest one. Whole numbers that are not below 0 have the order of their bits.
    let cell = |node: usize, axis: usize| ((values[node * dims + axis] - starts[axis]) / sizes[axis]).floor().to_bits();
    let key = |node: usize| (ids[node], (0..dims).rev().map(|axis| cell(node, axis)).collect::<Vec<u64>>());
    numbered(&(0..count).map(key).collect::<Vec<_>>(), &device)
}

/// The graph between clusters: the value of an edge is the sum of the edges from one cluster to the other. There are no
/// loops. Gradients reach the values. (What PyG's `max_pool` and `avg_pool` do with edges.)
///
/// In a batch, the ids of the graphs of the clusters are
/// `clusters.put(Tensor::zeros([clusters.size()], &device), 0, ids, Reduce::Amax, false)`. Cost: `O(nnz log nnz)`.
///
/// # Errors
///
/// `shape_mismatch` if the adjacency is not square, or there is not a cluster for each node; `device_mismatch`,
/// `overflow`.
#[or_panic]
pub fn try_coarsen(adjacency: &CsrTensor<2>, clusters: &IndexPlan) -> Result<CsrTensor<2>> {
    const OP: &str = "coarsen";
    check_square(OP, adjacency)?;
    let (nodes, count, pattern) = (adjacency.dims()[0], clusters.size(), adjacency.pattern());
    if clusters.len() != nodes {
        let rule = "there must be a cluster for each of the nodes {right}, got {left}";
        return Err(SparseError::shape_mismatch(OP, rule, [clusters.len()], [nodes]));
    }
    if adjacency.nnz() == 0 {
        let none = CsrTensor::zeros([count, count], &adjacency.device());
        return Ok(none.with_values(adjacency.values::<1>()));
    }
    let ends = [pattern.row_ids(), pattern.col_idx()].map(|ends| clusters.index().clone().select(0, ends.clone()));
    let edges = CooTensor::<2>::new(Tensor::stack(ends.to_vec(), 0), adjacency.values::<1>(), [count, count])?;
    edges.coalesce().try_remove_self_loops()?.try_to_csr()
}

/// Keys as numbers from 0 on, in their order.
fn numbered<K: Ord>(keys: &[K], device: &Device) -> Result<IndexPlan> {
    let mut numbers: BTreeMap<&K, i64> = keys.iter().map(|key| (key, 0)).collect();
    numbers.values_mut().zip(0..).for_each(|(number, next)| *number = next);
    let ids = keys.iter().map(|key| numbers[key]).collect();
    IndexPlan::new(ints(ids, [keys.len()], &device.clone().inner()), numbers.len())
}
