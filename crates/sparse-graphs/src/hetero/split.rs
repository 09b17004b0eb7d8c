//! Random splits of the edges of one type.

use super::{HeteroGraph, about};
use crate::split::random_edge_split;
use burn::tensor::{Int, Tensor};
use sparse_nn::EdgeType;
use sparse_ops::extend::read_all;
use sparse_ops::{CsrTensor, Result};

/// A graph of types for training a model that predicts edges of one of them.
#[derive(Clone, Debug)]
pub struct HeteroEdgeSplit {
    /// The graph with the training edges of the type only: what a model may see while it trains and is validated.
    pub train: HeteroGraph,
    /// The graph with its edges for training and validation: what a model may see while it is tested.
    pub train_val: HeteroGraph,
    /// The edges to predict in training, `[2, n]`: targets and sources.
    pub train_edges: Tensor<2, Int>,
    /// The edges to predict in validation.
    pub val_edges: Tensor<2, Int>,
    /// The edges to predict in testing.
    pub test_edges: Tensor<2, Int>,
}

impl HeteroGraph {
    /// Splits the edges of one type at random, as [`random_edge_split`] with the same arguments. If the graph has the
    /// reversed type ([`EdgeType::reversed`]), its edges are those that are left, flipped, so that no edge to predict
    /// is seen the other way. Edges of other types all stay. (PyG's `RandomLinkSplit` with `edge_types` and
    /// `rev_edge_types`.)
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::{CsrTensor, data::{HeteroGraph, TypedNodes}, ops::Reduce};
    ///
    /// let likes = CsrTensor::<2>::from_dense(Tensor::ones([4, 5], &Device::flex()));
    /// let graph = HeteroGraph::default()
    ///     .with_nodes("user", TypedNodes::new(5))
    ///     .with_nodes("item", TypedNodes::new(4))
    ///     .with_edges(("user", "likes", "item"), likes)
    ///     .with_reverse(Reduce::Amax);
    /// let split = graph.random_edge_split(("user", "likes", "item"), 0.1, 0.2, false, 7).unwrap();
    /// assert_eq!((split.val_edges.dims(), split.test_edges.dims()), ([2, 2], [2, 4]));
    /// assert_eq!(split.train.adjacency(("item", "rev_likes", "user")).nnz(), 14);
    /// ```
    ///
    /// # Errors
    ///
    /// `invalid` for a type that the graph does not have, or whose reversed type has other edges than its own flipped;
    /// those of [`random_edge_split`].
    pub fn random_edge_split(
        &self,
        edge_type: impl Into<EdgeType>,
        val: f64,
        test: f64,
        undirected: bool,
        seed: u64,
    ) -> Result<HeteroEdgeSplit> {
        const OP: &str = "HeteroGraph::random_edge_split";
        let kind = edge_type.into();
        let adjacency = self.edges_of(OP, &kind)?;
        let split = random_edge_split(adjacency, val, test, undirected, seed)?;
        let reversed = kind.reversed();
        if let Some(other) = self.edges.get(&reversed)
            && !same_pattern(&adjacency.try_transpose()?, other)
        {
            let message = format!("the edges of {reversed} must be its own, flipped, got others");
            return Err(about(OP, &kind, message));
        }
        let with = |part: CsrTensor<2>| {
            let mut graph = self.clone();
            if graph.edges.contains_key(&reversed) {
                graph.edges.insert(reversed.clone(), part.try_transpose()?);
            }
            graph.edges.insert(kind.clone(), part);
            Ok(graph)
        };
        Ok(HeteroEdgeSplit {
            train: with(split.train)?,
            train_val: with(split.train_val)?,
            train_edges: split.train_edges,
            val_edges: split.val_edges,
            test_edges: split.test_edges,
        })
    }
}

/// Whether two matrices store the same elements. Reads the patterns.
fn same_pattern(a: &CsrTensor<2>, b: &CsrTensor<2>) -> bool {
    let read = |a: &CsrTensor<2>| [a.pattern().row_ptr(), a.pattern().col_idx()].map(|list| read_all(list.clone()));
    a.dims() == b.dims() && a.nnz() == b.nnz() && read(a) == read(b)
}
