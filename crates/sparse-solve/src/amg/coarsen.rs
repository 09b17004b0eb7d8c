//! From a level to the next one: aggregates, and the prolongation before it is smoothed.

use super::config::AmgConfig;
use super::host::{id_tensor, ids_of, numbers};
use super::matrix::Matrix;
use sparse_core::graph::aggregate;
use sparse_core::multigrid::{Tentative, filtered_pattern, strength, tentative};
use sparse_ops::extend::{Parts, RowMap, by_columns};
use sparse_ops::pattern::{CsrPattern, Pattern};
use sparse_ops::{CsrTensor, Fill};
use std::sync::OnceLock;

/// What stays where only values change.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) tentative: CsrTensor<2>,
    pub(super) filter: Option<Filter>,
    transposed: OnceLock<(CsrPattern, RowMap)>,
}

/// The elements that stay where weak connections are left out.
#[derive(Debug)]
pub(super) struct Filter {
    pub(super) kept: Vec<bool>,
    /// The node of each row, if rows are unknowns of nodes.
    pub(super) nodes: Option<Vec<i64>>,
    pub(super) pattern: CsrPattern,
}

/// Near-null-space vectors of a level, and the node of each row, if rows are unknowns of nodes.
#[derive(Debug)]
pub(super) struct Candidates {
    pub(super) list: Vec<f64>,
    pub(super) k: usize,
    pub(super) nodes: Option<Vec<i64>>,
}

impl Kept {
    /// The next level of `at`, with its candidates. `None` if there are hardly fewer unknowns there: all are isolated,
    /// or aggregates have as many unknowns as rows.
    pub(super) fn coarsened(config: &AmgConfig, at: &Matrix, candidates: &Candidates) -> Option<(Self, Candidates)> {
        let Candidates { list, k, nodes } = candidates;
        let (ptr, idx, diagonal) = (at.host.ptr(), at.host.idx(), &at.diagonal);
        let how = (config.theta, diagonal.has_zeros);
        let strong = strength(ptr, idx, at.host.values(), &diagonal.numbers, how, nodes.as_deref());
        let (of_nodes, count) = match &strong.graph {
            Some((ptr, idx)) => aggregate(ids_of(ptr), ids_of(idx)),
            None => aggregate(ptr, idx),
        };
        let aggregates = match nodes {
            Some(nodes) => nodes.iter().map(|&node| of_nodes[node as usize]).collect(),
            None => of_nodes,
        };
        let found = tentative(&aggregates, count, list, *k);
        let (rows, cols) = (at.rows(), found.cols(*k));
        if cols == 0 || cols > rows - rows / 10 {
            return None;
        }
        let device = at.a.device();
        let filter = strong.kept.map(|kept| {
            let (ptr, idx) = filtered_pattern(ptr, idx, &kept);
            let [ptr, idx] = [ptr, idx].map(|list| id_tensor(list, &device));
            Filter { kept, nodes: nodes.clone(), pattern: CsrPattern::new_unchecked(ptr, idx, &[rows, rows]) }
        });
        let Tentative { ptr, idx, values, coarse, nodes } = found;
        let nnz = values.len();
        let [ptr, idx] = [ptr, idx].map(|list| id_tensor(list, &device));
        let pattern = CsrPattern::new_unchecked(ptr, idx, &[rows, cols]);
        let values = numbers(values, [nnz, 1], &device, at.a.dtype());
        let tentative = CsrTensor::from_parts(pattern, values, vec![], Fill::Zero);
        Some((Self { tentative, filter, transposed: OnceLock::new() }, Candidates { list: coarse, k: *k, nodes }))
    }

    /// The pattern of the transposed prolongation, and the places of its values there.
    pub(super) fn transposed(&self, prolong: &CsrTensor<2>) -> &(CsrPattern, RowMap) {
        self.transposed.get_or_init(|| {
            let view = by_columns(prolong.pattern()).expect("CSR of rank 2 is a matrix");
            let [rows, cols] = prolong.dims();
            let pattern = CsrPattern::new_unchecked(view.ptr.clone(), view.idx.clone(), &[cols, rows]);
            let places = view.perm.clone().expect("rows of a matrix in the order of its columns");
            (pattern, RowMap::new(places, prolong.pattern().nnz()))
        })
    }
}
