//! Graphs with parts left out at random, for training.

use super::host::{HostRows, check_probability, keep};
use burn::tensor::{Bool, Tensor, TensorData};
use sparse_core::graph::mix;
use sparse_macros::or_panic;
use sparse_ops::extend::check_square;
use sparse_ops::{CsrTensor, Kind, Result};

/// The adjacency without some of its edges: each is left out with probability `p`.
///
/// `undirected`: an edge and its reverse are left out together. Values of the others stay as they are; gradients reach
/// them. The result depends on the seed only, so give each step of training its own. Cost: the pattern is read to the
/// host; `O(nnz)`. [`sparse_dropout`](sparse_nn::sparse_dropout()) keeps the pattern and scales the values instead.
/// (PyG's `dropout_edge`.)
///
/// Source: Rong, Huang, Xu and Huang, *DropEdge*, ICLR 2020.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::{dropout_edge, karate};
///
/// let graph = karate(&Device::flex());
/// let fewer = dropout_edge(&graph.adjacency, 0.5, true, 7);
/// assert!((40..120).contains(&fewer.nnz()) && fewer.nnz() % 2 == 0); // of 156
/// ```
///
/// # Errors
///
/// `invalid` for a `p` outside `[0, 1]`; `shape_mismatch` for an undirected graph that is not square.
#[or_panic]
pub fn try_dropout_edge<K: Kind>(
    adjacency: &CsrTensor<2, K>,
    p: f64,
    undirected: bool,
    seed: u64,
) -> Result<CsrTensor<2, K>> {
    const OP: &str = "dropout_edge";
    check_probability(OP, "p", p)?;
    if undirected {
        check_square(OP, adjacency)?;
    }
    Ok(edges_where(adjacency, |row, col| {
        let (row, col) = if undirected { (row.min(col), row.max(col)) } else { (row, col) };
        !drops(mix(seed, row as u64), col, p)
    }))
}

/// The adjacency `[N, N]` without the edges of some nodes: each node is left out with probability `p`. With it the
/// nodes that stay, `[N]`; ids of nodes do not change.
///
/// Else as [`dropout_edge`]. (PyG's `dropout_node`. Its `mask_feature` is a `mask_fill` of Burn, as here.)
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use sparse_tensor::data::{dropout_node, karate};
///
/// let (device, graph) = (Device::flex(), karate(&Device::flex()));
/// let (fewer, stay) = dropout_node(&graph.adjacency, 0.2, 7);
/// assert!(fewer.nnz() < 156 && stay.dims() == [34]);
///
/// // Features with some columns masked.
/// let x = Tensor::<2>::ones([34, 8], &device);
/// let columns = Tensor::<2>::random([1, 8], Distribution::Bernoulli(0.3), &device).bool();
/// assert_eq!(x.mask_fill(columns.expand([34, 8]), 0.0).dims(), [34, 8]);
/// ```
///
/// # Errors
///
/// `invalid` for a `p` outside `[0, 1]`; `shape_mismatch` if the adjacency is not square.
#[or_panic]
pub fn try_dropout_node<K: Kind>(
    adjacency: &CsrTensor<2, K>,
    p: f64,
    seed: u64,
) -> Result<(CsrTensor<2, K>, Tensor<1, Bool>)> {
    const OP: &str = "dropout_node";
    check_square(OP, adjacency)?;
    check_probability(OP, "p", p)?;
    let nodes = adjacency.dims()[0];
    let stay: Vec<bool> = (0..nodes).map(|node| !drops(seed, node, p)).collect();
    let fewer = edges_where(adjacency, |row, col| stay[row] && stay[col]);
    Ok((fewer, Tensor::from_data(TensorData::new(stay, [nodes]), &adjacency.device().inner())))
}

/// Whether a draw in `[0, 1)`, of 53 bits, is below `p`.
fn drops(key: u64, number: usize, p: f64) -> bool {
    ((mix(key, number as u64) >> 11) as f64) < p * (1u64 << 53) as f64
}

/// The stored elements for whose row and column `stays` holds.
fn edges_where<K: Kind>(adjacency: &CsrTensor<2, K>, stays: impl Fn(usize, usize) -> bool) -> CsrTensor<2, K> {
    let rows = HostRows::of(adjacency.pattern());
    let (ptr, idx) = (rows.ptr(), rows.idx());
    let of_row = |row| (ptr.at(row)..ptr.at(row + 1)).map(move |at| (row, at));
    let all = (0..adjacency.dims()[0]).flat_map(of_row);
    let positions: Vec<usize> = all.filter(|&(row, at)| stays(row, idx.at(at))).map(|(_, at)| at).collect();
    keep(adjacency, &rows, &positions)
}
