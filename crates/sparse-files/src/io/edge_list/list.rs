//! The edges of a file, on the host.

use burn::tensor::{Tensor, TensorCreationOptions, TensorData};
use sparse_ops::extend::has_dtype;
use sparse_ops::{CooTensor, CsrTensor, Result};

/// The edges of a file, on the host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeList {
    /// `(from, to)` of every edge, from 0, in the order of the file. Edges may repeat.
    pub edges: Vec<(usize, usize)>,
    /// A weight for each edge, if the file has them.
    pub weights: Option<Vec<f64>>,
    /// Number of nodes: one more than the largest, or what
    /// [`Options::with_nodes`](crate::io::edge_list::Options::with_nodes) said.
    pub nodes: usize,
    /// The name of every node, if the file has names; in the order in which they first occur.
    pub names: Vec<String>,
}

impl EdgeList {
    /// The adjacency `[nodes, nodes]`: the weight of an edge, or 1, at `(from, to)`. Edges that repeat are stored so.
    ///
    /// Takes `&device`, which decides the dtype, or `(&device, dtype)`. Cost: `O(edges)`.
    ///
    /// # Errors
    ///
    /// Those of [`CooTensor::from_edges`], if the public fields were changed so that they do not fit;
    /// `unsupported_dtype`.
    pub fn to_coo(&self, options: impl Into<TensorCreationOptions>) -> Result<CooTensor<2>> {
        let options = options.into();
        if let Some(dtype) = options.dtype {
            has_dtype("EdgeList::to_coo", &options.device, dtype)?;
        }
        let values = match &self.weights {
            Some(weights) => Tensor::from_data(TensorData::new(weights.clone(), [weights.len()]), options),
            None => Tensor::ones([self.edges.len()], options),
        };
        CooTensor::from_edges(&self.edges, values, self.nodes)
    }

    /// [`to_coo`](Self::to_coo) by rows, sorted; the weights of edges that repeat are summed.
    ///
    /// # Errors
    ///
    /// As [`to_coo`](Self::to_coo); `would_densify` for more than [the limit](sparse_ops::Limits) of nodes that are
    /// almost all without edges: [`Options::with_names`](crate::io::edge_list::Options::with_names) numbers only those
    /// that occur.
    pub fn to_csr(&self, options: impl Into<TensorCreationOptions>) -> Result<CsrTensor<2>> {
        self.to_coo(options)?.try_to_csr()
    }
}
