//! Random walks.

use crate::host::HostRows;
use crate::host::signed;
use burn::tensor::{Device, Int, Tensor, TensorData};
use sparse_core::graph::{WalkBias, mix, random_walks};
use sparse_macros::or_panic;
use sparse_ops::extend::{check_ids, check_square, index_dtype_for};
use sparse_ops::{CsrTensor, Result, SparseError};
use std::fmt;
use std::sync::Arc;

/// Random walks over a graph, for embeddings of its nodes (DeepWalk, node2vec).
///
/// A walk follows edges from row to column, each with the same probability; values do not count. At a node without
/// edges it stays. With [`with_bias`](Self::with_bias) it is the second-order walk of node2vec.
///
/// Walks depend on the seed, the number of the draw and the place in the list of starts: the bits are the same for any
/// number of threads. The pattern is read to the host once. Cost: a random read for each step; with a bias also a
/// binary search for each proposal. (PyG's `random_walk`.)
///
/// Source: Perozzi, Al-Rfou and Skiena, *DeepWalk*, KDD 2014; Grover and Leskovec, *node2vec*, KDD 2016.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::{RandomWalks, karate};
///
/// let graph = karate(&Device::flex());
/// let walks = RandomWalks::new(&graph.adjacency, 7).unwrap().with_bias(1.0, 0.5).unwrap();
/// assert_eq!(walks.sample(&[0, 0, 33], 5, 0).dims(), [3, 6]);
/// ```
#[derive(Clone)]
pub struct RandomWalks {
    rows: Arc<HostRows>,
    nodes: usize,
    device: Device,
    bias: Option<WalkBias>,
    seed: u64,
}

impl RandomWalks {
    /// Unbiased walks over the stored elements of `adjacency` `[N, N]`.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if the adjacency is not square.
    pub fn new(adjacency: &CsrTensor<2>, seed: u64) -> Result<Self> {
        check_square("RandomWalks::new", adjacency)?;
        let rows = Arc::new(HostRows::of(adjacency.pattern()));
        Ok(Self { rows, nodes: adjacency.dims()[0], device: adjacency.device().inner(), bias: None, seed })
    }

    /// The walk of node2vec. From `v`, which was reached from `t`, the step to a neighbour `x` of `v` has a probability
    /// in proportion to `1 / p` if `x` is `t`, to 1 if there is an edge from `t` to `x`, and to `1 / q` otherwise.
    ///
    /// # Errors
    ///
    /// `invalid` if `p` or `q` is not finite and above 0.
    pub fn with_bias(mut self, p: f64, q: f64) -> Result<Self> {
        for (name, value) in [("p", p), ("q", q)] {
            // 1 / value must be a number too.
            if !value.is_normal() || value <= 0.0 {
                let message = format!("{name} must be finite and above 0, got {value}");
                return Err(SparseError::invalid("RandomWalks::with_bias", message));
            }
        }
        self.bias = ((p, q) != (1.0, 1.0)).then_some(WalkBias { p, q });
        Ok(self)
    }

    /// A walk of `length` steps from each of `starts`, which may repeat: nodes `[starts, length + 1]`, the start first.
    /// `draw` numbers the calls: another number gives other walks.
    ///
    /// # Errors
    ///
    /// `index_out_of_range` for a start that is no node; `invalid` for walks of more nodes than memory can hold.
    #[or_panic]
    pub fn try_sample(&self, starts: &[usize], length: usize, draw: u64) -> Result<Tensor<2, Int>> {
        const OP: &str = "RandomWalks::sample";
        check_ids(OP, starts, self.nodes)?;
        let width = length.saturating_add(1);
        if Vec::<i64>::new().try_reserve_exact(starts.len().saturating_mul(width)).is_err() || length == usize::MAX {
            let message = format!("walks must fit in memory, got {} of {length} steps", starts.len());
            return Err(SparseError::invalid(OP, message));
        }
        let (ptr, idx) = (self.rows.ptr(), self.rows.idx());
        let walks = random_walks(ptr, idx, &signed(starts), length, self.bias, mix(self.seed, draw));
        let dtype = index_dtype_for(self.nodes);
        let data = TensorData::new(walks, [starts.len(), width]).convert_dtype(dtype);
        Ok(Tensor::from_data(data, (&self.device, dtype)))
    }
}

impl fmt::Debug for RandomWalks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RandomWalks({} nodes, {:?}, seed {})", self.nodes, self.bias, self.seed)
    }
}
