//! Nodes in another order.

use super::host::{HostRows, take, unsigned};
use burn::tensor::{Device, Int, Tensor};
use sparse_core::graph::{TwoWay, reverse_cuthill_mckee};
use sparse_macros::or_panic;
use sparse_ops::extend::{check_ids, check_square, index_below};
use sparse_ops::ops::IndexPlan;
use sparse_ops::pattern::Pattern;
use sparse_ops::{CsrTensor, Kind, Result, SparseError, SparseTensor};

/// A permutation of the nodes of a graph: new node `k` is old node `order()[k]`.
///
/// An order in which neighbours are close together makes products faster, since rows of features are read from the
/// cache. The permutation is kept, so that features and labels follow, and results can be put back.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::data::{Reordering, karate};
///
/// let graph = karate(&Device::flex());
/// let order = Reordering::reverse_cuthill_mckee(&graph.adjacency).unwrap();
/// assert!(order.bandwidth(&graph.adjacency) < 33);
/// let x = Tensor::<2>::ones([34, 4], &Device::flex());
/// let y = order.adjacency(&graph.adjacency).matmul(order.rows(x.clone()));
/// let same = graph.adjacency.matmul(x);
/// assert_eq!(order.restore_rows(y).into_data(), same.into_data());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reordering {
    order: Vec<usize>,
    inverse: Vec<usize>,
}

impl Reordering {
    /// From the old node of each new one.
    ///
    /// # Errors
    ///
    /// `invalid` unless every node below the length is listed once.
    pub fn new(order: Vec<usize>) -> Result<Self> {
        let mut inverse = vec![usize::MAX; order.len()];
        for (new, &old) in order.iter().enumerate() {
            match inverse.get_mut(old) {
                Some(slot) if *slot == usize::MAX => *slot = new,
                _ => {
                    let count = order.len();
                    let message = format!("an order must list each of {count} nodes once, got {old} at position {new}");
                    return Err(SparseError::invalid("Reordering::new", message));
                }
            }
        }
        Ok(Self { order, inverse })
    }

    /// The reverse Cuthill-McKee order of `adjacency` `[N, N]`, with edges in both directions: neighbours are close
    /// together, and the matrix has a small bandwidth.
    ///
    /// Each component is walked breadth first from a node at its rim, neighbours by ascending degree, and the order is
    /// reversed. Cost: the pattern is read to the host; `O(N + nnz log degree)`. (SciPy's `reverse_cuthill_mckee`,
    /// which starts at nodes of least degree.) Source: Cuthill and McKee 1969; George and Liu 1979.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if the adjacency is not square; `overflow` for more than 2^31 - 1 nodes.
    pub fn reverse_cuthill_mckee<K: Kind>(adjacency: &CsrTensor<2, K>) -> Result<Self> {
        const OP: &str = "Reordering::reverse_cuthill_mckee";
        check_square(OP, adjacency)?;
        let rows = HostRows::of(adjacency.pattern());
        Self::new(unsigned(reverse_cuthill_mckee(&TwoWay::new(OP, rows.ptr(), rows.idx())?)))
    }

    /// The nodes by descending number of stored neighbours, equal ones by ascending id. The nodes that are read most
    /// often are then together.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if the adjacency is not square.
    pub fn by_degree<K: Kind>(adjacency: &CsrTensor<2, K>) -> Result<Self> {
        check_square("Reordering::by_degree", adjacency)?;
        let degrees: Vec<usize> = HostRows::of(adjacency.pattern()).degrees().collect();
        let mut order: Vec<usize> = (0..degrees.len()).collect();
        order.sort_by_key(|&node| std::cmp::Reverse(degrees[node]));
        Self::new(order)
    }

    /// The old node of each new one.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// The new node of each old one.
    pub fn inverse(&self) -> &[usize] {
        &self.inverse
    }

    /// The largest distance `|i - j|` of the ends of an edge in the new order; 0 without edges.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if the adjacency is not `[N, N]` for the `N` nodes here.
    #[or_panic]
    pub fn try_bandwidth<K: Kind>(&self, adjacency: &CsrTensor<2, K>) -> Result<usize> {
        self.check_size("Reordering::bandwidth", adjacency)?;
        let rows = HostRows::of(adjacency.pattern());
        let (ptr, idx) = (rows.ptr(), rows.idx());
        let width = |row: usize| {
            let ends = (ptr.at(row)..ptr.at(row + 1)).map(|at| self.inverse[idx.at(at)].abs_diff(self.inverse[row]));
            ends.max().unwrap_or(0)
        };
        Ok((0..self.order.len()).map(width).max().unwrap_or(0))
    }

    /// The adjacency `[N, N]` of the new nodes: `out[i, j] = adjacency[order[i], order[j]]`. Gradients reach its
    /// values.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if the adjacency is not `[N, N]` for the `N` nodes here.
    #[or_panic]
    pub fn try_adjacency<P: Pattern, K: Kind>(
        &self,
        adjacency: &SparseTensor<P, 2, K>,
    ) -> Result<SparseTensor<P, 2, K>> {
        self.check_size("Reordering::adjacency", adjacency)?;
        let order = self.tensor(&self.order, &adjacency.device());
        let plan = IndexPlan::new(order, self.order.len())?;
        plan.try_select_sparse(&plan.try_select_sparse(adjacency, 0)?, 1)
    }

    /// Features, labels or masks `[N, ..]` in the new order: `out[k] = x[order[k]]`.
    ///
    /// # Errors
    ///
    /// `length_mismatch` if there is not a row for each node.
    #[or_panic]
    pub fn try_rows<const D: usize, K: Kind>(&self, x: Tensor<D, K>) -> Result<Tensor<D, K>> {
        self.permuted("Reordering::rows", x, &self.order)
    }

    /// Rows of the new nodes back in the old order. The inverse of [`try_rows`](Self::try_rows).
    ///
    /// # Errors
    ///
    /// As [`try_rows`](Self::try_rows).
    #[or_panic]
    pub fn try_restore_rows<const D: usize, K: Kind>(&self, x: Tensor<D, K>) -> Result<Tensor<D, K>> {
        self.permuted("Reordering::restore_rows", x, &self.inverse)
    }

    /// The new ids of old nodes, for example those of a split.
    ///
    /// # Errors
    ///
    /// `index_out_of_range` for what is no node.
    pub fn to_new(&self, nodes: &[usize]) -> Result<Vec<usize>> {
        check_ids("Reordering::to_new", nodes, self.inverse.len())?;
        Ok(nodes.iter().map(|&node| self.inverse[node]).collect())
    }

    fn permuted<const D: usize, K: Kind>(
        &self,
        op: &'static str,
        x: Tensor<D, K>,
        ids: &[usize],
    ) -> Result<Tensor<D, K>> {
        let (expected, got) = (self.order.len(), x.dims()[0]);
        if expected != got {
            return Err(SparseError::length_mismatch(op, "the list of rows", expected, got));
        }
        let ids = self.tensor(ids, &x.device());
        Ok(take(x, &ids))
    }

    fn tensor(&self, ids: &[usize], device: &Device) -> Tensor<1, Int> {
        index_below(ids, self.order.len(), device)
    }

    fn check_size<P: Pattern, K: Kind>(&self, op: &'static str, adjacency: &SparseTensor<P, 2, K>) -> Result<()> {
        check_square(op, adjacency)?;
        let (nodes, got) = (self.order.len(), adjacency.dims());
        if got[0] == nodes {
            return Ok(());
        }
        let rule = "the adjacency {left} must have the nodes of the order, {right:1}";
        Err(SparseError::shape_mismatch(op, rule, got, [nodes]))
    }
}
