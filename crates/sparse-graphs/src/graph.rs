//! The graph data structure.

use super::labels::Labels;
use burn::tensor::{Device, Tensor};
use sparse_ops::CsrTensor;
use sparse_ops::extend::ints;
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
        let off_tape = |matrix: &CsrTensor<2>| {
            let values = matrix.values::<1>().inner();
            CsrTensor::from_pattern(matrix.pattern().clone(), values).expect("the same number of values")
        };
        Self {
            adjacency: off_tape(&self.adjacency),
            features: off_tape(&self.features),
            labels: self.labels.valid(),
            splits: self.splits.clone(),
        }
    }
}

/// The symmetric adjacency of undirected edges, with all values 1. Each edge is given once, and none is a self loop.
pub(super) fn undirected(edges: &[(usize, usize)], nodes: usize, device: &Device) -> CsrTensor<2> {
    let mut ends: Vec<(usize, usize)> = edges.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
    ends.sort_unstable();
    let mut row_ptr = vec![0i64; nodes + 1];
    for &(row, _) in &ends {
        row_ptr[row + 1] += 1;
    }
    for row in 0..nodes {
        row_ptr[row + 1] += row_ptr[row];
    }
    let col_idx = ends.iter().map(|&(_, col)| col as i64).collect();
    csr(row_ptr, col_idx, [nodes, nodes], device)
}

/// A matrix of ones from row pointers and columns that are right by construction.
fn csr(row_ptr: Vec<i64>, col_idx: Vec<i64>, shape: [usize; 2], device: &Device) -> CsrTensor<2> {
    let plain = device.clone().inner();
    let (rows, nnz) = (row_ptr.len(), col_idx.len());
    let pattern = CsrPattern::new_unchecked(ints(row_ptr, [rows], &plain), ints(col_idx, [nnz], &plain), &shape);
    CsrTensor::from_pattern(pattern, Tensor::<1>::ones([nnz], device)).expect("one value for each column")
}

/// The identity matrix as features: each node has a feature of its own.
pub(super) fn identity(nodes: usize, device: &Device) -> CsrTensor<2> {
    csr((0..=nodes as i64).collect(), (0..nodes as i64).collect(), [nodes, nodes], device)
}
