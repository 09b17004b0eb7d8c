//! The graph data structure.

use super::labels::Labels;
use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorCreationOptions};
use sparse_ops::CsrTensor;
use sparse_ops::extend::{ints, read_all};
use sparse_ops::pattern::CsrPattern;

/// A graph whose nodes have features and, in part, known classes.
///
/// Everything lives on one device; [`valid`](Self::valid) gives the same graph off the autodiff tape.
#[derive(Clone, Debug)]
pub struct Graph {
    /// `[nodes, nodes]`, symmetric and without self loops.
    pub adjacency: CsrTensor<2>,
    /// `[nodes, features]`.
    pub features: CsrTensor<2>,
    /// The class of every node. Nodes of the splits have one.
    pub labels: Labels,
    /// The nodes for training, validation and testing.
    pub splits: Splits,
}

/// Node ids, from 0. No node is in two splits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Splits {
    /// Nodes whose classes are used in training.
    pub train: Vec<usize>,
    /// Nodes on which the best epoch is chosen.
    pub val: Vec<usize>,
    /// Nodes on which the result is measured.
    pub test: Vec<usize>,
}

impl Graph {
    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.adjacency.dims()[0]
    }

    /// Number of undirected edges.
    pub fn edges(&self) -> usize {
        self.adjacency.nnz() / 2
    }

    /// The same graph without an autodiff association, for evaluation. The patterns are shared.
    pub fn valid(&self) -> Self {
        Self {
            adjacency: Module::valid(&self.adjacency),
            features: Module::valid(&self.features),
            labels: self.labels.valid(),
            splits: self.splits.clone(),
        }
    }
}

/// The symmetric adjacency of undirected edges, with all values 1. Each edge is given once, and none is a self loop.
pub(super) fn undirected(edges: &[(usize, usize)], nodes: usize, device: &Device) -> CsrTensor<2> {
    let mut ends: Vec<(usize, usize)> = edges.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
    ends.sort_unstable();
    with_ends(&ends, [nodes, nodes], device)
}

/// The symmetric adjacency of an adjacency's edges, with all values 1 and without self loops. Reads the edges.
pub(super) fn symmetric(adjacency: &CsrTensor<2>) -> CsrTensor<2> {
    let ends = read_all(adjacency.to_coo().indices());
    let (from, to) = ends.split_at(adjacency.nnz());
    let edges = from.iter().zip(to).map(|(&from, &to)| (from as usize, to as usize));
    let plain = undirected(&each_once(edges), adjacency.dims()[0], &adjacency.device());
    let ones = Tensor::<1>::ones([plain.nnz()], (&adjacency.device(), adjacency.dtype()));
    plain.with_values(ones)
}

/// Each undirected edge once, without self loops.
pub(super) fn each_once(edges: impl Iterator<Item = (usize, usize)>) -> Vec<(usize, usize)> {
    let ends = edges.filter(|(from, to)| from != to);
    let mut edges: Vec<_> = ends.map(|(from, to)| (from.min(to), from.max(to))).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// The matrix with ones at these places, which ascend and are below the sizes.
pub(super) fn with_ends(
    ends: &[(usize, usize)],
    shape: [usize; 2],
    options: impl Into<TensorCreationOptions>,
) -> CsrTensor<2> {
    let mut row_ptr = vec![0i64; shape[0] + 1];
    for &(row, _) in ends {
        row_ptr[row + 1] += 1;
    }
    for row in 0..shape[0] {
        row_ptr[row + 1] += row_ptr[row];
    }
    let col_idx = ends.iter().map(|&(_, col)| col as i64).collect();
    csr(row_ptr, col_idx, shape, options.into())
}

/// A matrix of ones from row pointers and columns that are right by construction.
fn csr(row_ptr: Vec<i64>, col_idx: Vec<i64>, shape: [usize; 2], options: TensorCreationOptions) -> CsrTensor<2> {
    let plain = options.device.clone().inner();
    let (rows, nnz) = (row_ptr.len(), col_idx.len());
    let pattern = CsrPattern::new_unchecked(ints(row_ptr, [rows], &plain), ints(col_idx, [nnz], &plain), &shape);
    CsrTensor::from_pattern(pattern, Tensor::<1>::ones([nnz], options)).expect("one value for each column")
}

/// The identity matrix as features: each node has a feature of its own.
pub(super) fn identity(nodes: usize, device: &Device) -> CsrTensor<2> {
    csr((0..=nodes as i64).collect(), (0..nodes as i64).collect(), [nodes, nodes], device.into())
}
