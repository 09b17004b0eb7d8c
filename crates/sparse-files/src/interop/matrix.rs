//! Matrices of other crates to tensors.

use burn::tensor::{Element, TensorCreationOptions};
#[cfg(feature = "petgraph")]
use petgraph::{
    EdgeType,
    graph::{Graph, IndexType},
};
use sparse_ops::extend::from_entries;
use sparse_ops::pattern::Pattern;
use sparse_ops::{Kind, Result, SparseTensor};

/// A sparse matrix in host memory: what [`from_matrix`](Interop::from_matrix) reads.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::{CsrTensor, interop::{HostMatrix, Interop}};
///
/// /// A matrix `[n, n]` with these numbers on its diagonal.
/// struct Diagonal(Vec<f32>);
///
/// impl HostMatrix for Diagonal {
///     type Value = f32;
///
///     fn dims(&self) -> [usize; 2] {
///         [self.0.len(); 2]
///     }
///
///     fn entries(&self) -> impl Iterator<Item = (usize, usize, f32)> {
///         self.0.iter().enumerate().map(|(at, &value)| (at, at, value))
///     }
/// }
///
/// let a = CsrTensor::<2>::from_matrix(&Diagonal(vec![2.0, 3.0]), &Device::flex()).unwrap();
/// assert_eq!(a.to_triplets::<f32>(), (vec![0, 1], vec![0, 1], vec![2.0, 3.0]));
/// ```
pub trait HostMatrix {
    /// The type of the values.
    type Value: Element;

    /// Numbers of rows and columns.
    fn dims(&self) -> [usize; 2];

    /// Row, column and value of every stored element, in any order. Elements that repeat are summed.
    fn entries(&self) -> impl Iterator<Item = (usize, usize, Self::Value)>;
}

/// Sparse tensors from matrices and graphs of other crates: methods of matrices of both layouts.
///
/// Sealed: `from_petgraph` is there with its feature only.
pub trait Interop: Sealed + Sized {
    /// The matrix of another crate, or of your own ([`HostMatrix`]), filled with zero. Stored zeros stay stored.
    ///
    /// `options` are a device, or a device and a dtype. Without a dtype the values keep theirs and their bits; with one
    /// they are converted as [`from_triplets`](SparseTensor::from_triplets) does. Entries may be in any order and may
    /// repeat: COO keeps them as they are given, CSR sorts and sums them.
    ///
    /// Cost: a pass over the entries, which are copied to the device; for CSR a sort if they are not in order, such as
    /// those of compressed columns. [`HostMatrix`] has an example, and [`interop`](crate::interop) one for each crate.
    ///
    /// # Errors
    ///
    /// `dtype_mismatch` if the values are not of kind `K`, and no dtype says to convert them; `unsupported_dtype` for
    /// values such as u16, for which a dtype must be given; `index_out_of_range`; `overflow` for an integer that the
    /// dtype cannot hold. For CSR also `would_densify`: more than [the limit](sparse_ops::Limits) of rows that are
    /// almost all empty.
    fn from_matrix(matrix: &impl HostMatrix, options: impl Into<TensorCreationOptions>) -> Result<Self>;

    /// The adjacency `[n, n]` of a graph of `petgraph` with `n` nodes; `weight` gives the value of an edge. Needs the
    /// feature `petgraph`.
    ///
    /// An edge from node `i` to node `j` is the element at row `i` and column `j`, as in
    /// [`from_edges`](SparseTensor::from_edges). In layers a row is the node that receives, so they take the transpose.
    /// An undirected edge is in both rows, with one value; a self loop is one element. Parallel edges are kept by COO
    /// and summed by CSR.
    ///
    /// `options` are as for [`from_matrix`](Self::from_matrix), which has the rules for values, too. Other graphs of
    /// petgraph become a `Graph` first: `Graph::from(stable_graph)`, `graph_map.into_graph()`.
    ///
    /// Cost: a pass over the edges, which are copied to the device; for CSR a sort.
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use petgraph::graph::UnGraph;
    /// use sparse_tensor::{CsrTensor, interop::Interop};
    ///
    /// let path = UnGraph::<(), ()>::from_edges([(0u32, 1u32), (1, 2)]);
    /// let a = CsrTensor::<2>::from_petgraph(&path, |()| 1.0f32, &Device::flex()).unwrap();
    /// assert_eq!(a.to_triplets::<f32>(), (vec![0, 1, 1, 2], vec![1, 0, 2, 1], vec![1.0; 4]));
    /// ```
    ///
    /// # Errors
    ///
    /// `dtype_mismatch`, `unsupported_dtype` and `overflow` as [`from_matrix`](Self::from_matrix).
    #[cfg(feature = "petgraph")]
    fn from_petgraph<N, W, Ty: EdgeType, Ix: IndexType, E: Element>(
        graph: &Graph<N, W, Ty, Ix>,
        weight: impl FnMut(&W) -> E,
        options: impl Into<TensorCreationOptions>,
    ) -> Result<Self>;
}

/// What makes [`Interop`] a trait of this crate alone.
pub trait Sealed {}

impl<P: Pattern, K: Kind> Sealed for SparseTensor<P, 2, K> {}

impl<P: Pattern, K: Kind> Interop for SparseTensor<P, 2, K> {
    fn from_matrix(matrix: &impl HostMatrix, options: impl Into<TensorCreationOptions>) -> Result<Self> {
        from_entries("from_matrix", matrix.entries(), matrix.dims(), options.into())
    }

    #[cfg(feature = "petgraph")]
    fn from_petgraph<N, W, Ty: EdgeType, Ix: IndexType, E: Element>(
        graph: &Graph<N, W, Ty, Ix>,
        weight: impl FnMut(&W) -> E,
        options: impl Into<TensorCreationOptions>,
    ) -> Result<Self> {
        super::petgraph::adjacency(graph, weight, options.into())
    }
}
