//! Normalisation of graph matrices by degrees.

use burn::tensor::Tensor;
use sparse_macros::{async_variant, or_panic};
use sparse_ops::extend::{Exact, Parts, check_square, move_rows, read_at, with_diagonal};
use sparse_ops::pattern::Pattern;
use sparse_ops::{CsrTensor, Result, SparseError, SparseTensor};

/// `D^-1/2 (A + I) D^-1/2`, with `D` the diagonal matrix of the row sums of `A + I`. Without `self_loops`, `A` takes
/// the place of `A + I`.
///
/// The value at `(i, j)` becomes `a_ij / sqrt(d_i d_j)`. A node of degree 0 (isolated, and without self loops) gets
/// zeros. Edge weights should not be negative: a node of negative degree counts as isolated. Self loops that `A`
/// already has gain 1, as the formula has it; PyG keeps their weight, and so does [`gcn_normalization`]. `A` should be
/// symmetric, since the row sums are used on both sides.
///
/// `A` is a Float matrix `[N, N]` with a fill of zero, or `Undefined`, which stays. Graphs without nodes or edges are
/// allowed. Differentiable in the values of `A`. Cost: `O(nnz + N)` and, with self loops, a sort. For a fixed graph
/// call it once.
///
/// Source: Kipf and Welling, *Semi-supervised classification with graph convolutional networks*, ICLR 2017, section 2.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CsrTensor, nn::symmetric_normalization};
///
/// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0], [1.0, 0.0]], &Device::flex()));
/// let values = symmetric_normalization(&a, true).values::<1>().into_data();
/// assert!(values.iter::<f32>().all(|value| (value - 0.5).abs() < 1e-6));
/// ```
///
/// # Errors
///
/// `shape_mismatch` if the matrix is not square; `fill_mismatch`.
#[async_variant]
#[or_panic]
pub fn try_symmetric_normalization(adjacency: &CsrTensor<2>, self_loops: bool) -> Result<CsrTensor<2>> {
    const OP: &str = "symmetric_normalization";
    check_square(OP, adjacency)?;
    check_fill(OP, adjacency)?;
    let matrix = if self_loops { adjacency.try_add_self_loops(1.0)? } else { adjacency.clone() };
    by_degrees(&matrix)
}

/// `D^-1/2 A D^-1/2` for the row sums `D` of a square matrix.
fn by_degrees(matrix: &CsrTensor<2>) -> Result<CsrTensor<2>> {
    let sums = matrix.try_row_sums()?;
    Ok(by_both_degrees(matrix, [sums.clone(), sums]))
}

/// `D^-1/2 A E^-1/2`.
fn by_both_degrees(matrix: &CsrTensor<2>, degrees: [Tensor<1>; 2]) -> CsrTensor<2> {
    let [rows, cols] = degrees.map(|sums| inverse(sums, Tensor::sqrt));
    let values = matrix.rows().clone() * at_elements(&rows, matrix, 0) * at_elements(&cols, matrix, 1);
    matrix.with_rows(values, matrix.fill().clone())
}

/// `D^-1/2 (A + L) D^-1/2` as [`GcnConv`](super::GcnConv) uses it: `L` is a self loop of `loop_weight` at each node
/// that has none, and `D` the diagonal matrix of the row sums of `A + L`.
///
/// Unlike in [`symmetric_normalization`], a self loop that `A` has keeps its weight. 1 is the weight of the paper; the
/// improved variant of PyG takes 2. Everything else is as there. (PyG's `gcn_norm`.) Differentiable in the values of
/// `A`.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CsrTensor, nn::gcn_normalization};
///
/// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0], [1.0, 3.0]], &Device::flex()));
/// let values = gcn_normalization(&a, 1.0).values::<1>().into_data();
/// assert_eq!(values.iter::<f32>().last(), Some(0.75));
/// ```
///
/// # Errors
///
/// `shape_mismatch` if the matrix is not square; `fill_mismatch`.
#[async_variant]
#[or_panic]
pub fn try_gcn_normalization(adjacency: &CsrTensor<2>, loop_weight: f64) -> Result<CsrTensor<2>> {
    const OP: &str = "gcn_normalization";
    check_square(OP, adjacency)?;
    check_fill(OP, adjacency)?;
    adjacency.check_dim(OP, adjacency.dims()[0])?;
    let (pattern, [map, _]) = with_diagonal(adjacency.pattern());
    if pattern.nnz() == 0 {
        return Ok(adjacency.clone());
    }
    let weight = Tensor::full([1, 1], loop_weight, (&adjacency.device().inner(), adjacency.dtype()));
    let values = move_rows(adjacency.rows().clone(), weight, &map);
    by_degrees(&CsrTensor::from_parts(pattern, values, vec![], adjacency.fill().clone()))
}

/// `D^-1/2 A E^-1/2` of a bipartite graph, with `D` the diagonal matrix of the row sums of `A`, the degrees of the
/// targets, and `E` that of its column sums, the degrees of the sources.
///
/// The value at `(i, j)` becomes `a_ij / sqrt(d_i e_j)`; a node of degree 0 or less gets zeros. `A` is a Float matrix
/// `[M, N]` with a fill of zero, or `Undefined`, which stays. This is the block `[M, N]` of
/// [`symmetric_normalization`], without self loops, of the graph with all nodes of both kinds and its edges in both
/// directions. A directed graph is normalised so by DGL: its `GraphConv` with `norm="both"`. Differentiable in the
/// values of `A`. Cost: `O(nnz + M + N)`.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CsrTensor, nn::bipartite_normalization};
///
/// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 3.0, 0.0]], &Device::flex()));
/// let values = bipartite_normalization(&a).values::<1>().into_data();
/// let expected = [1.0 / 4f32.sqrt(), 3.0 / 12f32.sqrt()];
/// assert!(values.iter::<f32>().zip(expected).all(|(value, expected)| (value - expected).abs() < 1e-6));
/// ```
///
/// # Errors
///
/// `fill_mismatch`.
#[or_panic]
pub fn try_bipartite_normalization(adjacency: &CsrTensor<2>) -> Result<CsrTensor<2>> {
    check_fill("bipartite_normalization", adjacency)?;
    Ok(by_both_degrees(adjacency, [adjacency.try_row_sums()?, adjacency.try_col_sums()?]))
}

/// Divides every row by its sum: `x_ij / sum_k x_ik`. Bag-of-words features are usually given like this. A row whose
/// sum is 0 or less becomes zeros. Differentiable. Cost: `O(nnz + M)`.
///
/// # Errors
///
/// `fill_mismatch` if the fill is not zero (or undefined).
#[or_panic]
pub fn try_row_normalization(x: &CsrTensor<2>) -> Result<CsrTensor<2>> {
    check_fill("row_normalization", x)?;
    let factor = inverse(x.try_row_sums()?, |sum| sum);
    Ok(x.with_rows(x.rows().clone() * at_elements(&factor, x, 0), x.fill().clone()))
}

pub(super) fn check_fill<P: Pattern, const D: usize>(op: &'static str, tensor: &SparseTensor<P, D>) -> Result<()> {
    let fill = tensor.fill();
    if fill.is_undefined() || fill.is_zero() {
        return Ok(());
    }
    Err(SparseError::wrong_fill(op, "zero or undefined", fill, "use with_fill"))
}

/// `1 / f(sum)` of each sum, `[n, 1]`, and 0 if the sum is not above 0. `f` gets 1 in place of such a sum, so that the
/// gradient is not NaN.
pub(super) fn inverse(sums: Tensor<1>, f: impl Fn(Tensor<2>) -> Tensor<2>) -> Tensor<2> {
    let [count] = sums.dims();
    let sums = sums.reshape(Exact([count, 1]));
    let empty = sums.clone().lower_equal_scalar(0.0);
    f(sums.mask_fill(empty.clone(), 1.0)).recip().mask_fill(empty, 0.0)
}

/// For every element the factor of its row (`dim` 0) or column (`dim` 1).
pub(super) fn at_elements(factor: &Tensor<2>, matrix: &CsrTensor<2>, dim: usize) -> Tensor<2> {
    read_at(matrix.pattern(), dim, factor.clone())
}
