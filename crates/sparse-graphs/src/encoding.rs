//! Where nodes are in a graph, as features.

use burn::tensor::Tensor;
use sparse_macros::or_panic;
use sparse_nn::try_row_normalization;
use sparse_ops::extend::check_square;
use sparse_ops::{CsrTensor, Result, SparseError};

/// The random walk encoding `[N, k]`: entry `(i, s)` is the probability that a walk from node `i` is at node `i` again
/// after `s + 1` steps, `(W^(s + 1))_ii` for `W = D^-1 A` with the row sums `D`.
///
/// A walk follows edges from row to column, in proportion to their weights; from a node without edges it goes nowhere,
/// and the entries are 0. In a directed graph whose rows are targets give the transposed adjacency. Exact: powers up to
/// `(k + 1) / 2` are sparse products, and `(W^(a + b))_ii = sum_j (W^a)_ij (W^b)_ji`. So time and memory grow with the
/// pairs of nodes at most `(k + 1) / 2` steps apart: for many small graphs, or few steps. Gradients reach the weights.
/// (PyG's `AddRandomWalkPE`, which takes no weights.)
///
/// Source: Dwivedi, Luu, Laurent, Bengio and Bresson, *Graph neural networks with learnable structural and positional
/// representations*, ICLR 2022.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CsrTensor, data::random_walk_encoding};
///
/// // A triangle: back after two steps with probability 1/2, after three with 1/4.
/// let edges = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)];
/// let a = CsrTensor::from_edges(&edges, Tensor::<1>::ones([6], &Device::flex()), 3).unwrap();
/// let encoding = random_walk_encoding(&a, 3).into_data();
/// assert_eq!(encoding.iter::<f32>().take(3).collect::<Vec<_>>(), [0.0, 0.5, 0.25]);
/// ```
///
/// # Errors
///
/// `shape_mismatch` if the matrix is not square; `fill_mismatch` if its fill is not zero; `invalid` for a `k` of 0.
#[or_panic]
pub fn try_random_walk_encoding(adjacency: &CsrTensor<2>, k: usize) -> Result<Tensor<2>> {
    const OP: &str = "random_walk_encoding";
    check_square(OP, adjacency)?;
    if !adjacency.fill().is_zero() {
        return Err(SparseError::wrong_fill(OP, "zero", adjacency.fill(), "use with_fill"));
    }
    if k == 0 {
        return Err(SparseError::invalid(OP, "k must be at least 1, got 0"));
    }
    if adjacency.nnz() == 0 {
        return Ok(Tensor::zeros([adjacency.dims()[0], k], (&adjacency.device(), adjacency.dtype())));
    }
    let walk = try_row_normalization(adjacency)?;
    let mut columns = vec![walk.try_diagonal()?];
    let (mut power, mut transposed) = (walk.clone(), walk.try_transpose()?);
    for step in 2..=k {
        // `transposed` is a power behind in odd steps.
        let odd = step % 2 == 1;
        if odd {
            power = power.try_matmul(&walk)?;
        }
        columns.push(power.try_mul(&transposed)?.try_row_sums()?);
        if odd && step < k {
            transposed = power.try_transpose()?;
        }
    }
    Ok(Tensor::stack(columns, 1))
}
