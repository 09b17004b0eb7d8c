//! Matrices of a graph, scaled by degrees.

use crate::base::exact::Exact;
use crate::pattern::coo::CooPattern;
use crate::pattern::layout::Pattern;
use crate::rows::{RowMap, RowSums, move_rows, sum_rows};
use crate::tensor::sparse::{CooTensor, CsrTensor};
use burn::tensor::{Int, Tensor};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

/// `D^-1/2 (A + I) D^-1/2`, with `D` the diagonal matrix of the row sums of `A + I`; without `self_loops`, of `A` alone.
///
/// The value at `(i, j)` becomes `a_ij / sqrt(d_i d_j)`. A node of degree 0 (isolated, and without self loops) gets zeros.
/// Edge weights should not be negative: a node whose degree is 0 or less counts as isolated. Self loops that `A` has
/// already gain 1. `A` is expected symmetric; of another matrix the row sums serve both sides.
///
/// Float `[N, N]` with fill zero (or undefined, which stays), graphs without nodes or edges included. Differentiable in
/// the values of `A`. Cost: `O(nnz + N)` and, with self loops, a sort; call it once for a fixed graph.
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
#[or_panic]
pub fn try_symmetric_normalization(adjacency: &CsrTensor<2>, self_loops: bool) -> Result<CsrTensor<2>> {
    const OP: &str = "symmetric_normalization";
    let [rows, cols] = adjacency.dims();
    if rows != cols {
        let rule = "an adjacency must be square, got {left:1} rows and {right:1} columns";
        return Err(SparseError::ShapeMismatch { op: OP, rule, left: vec![rows], right: vec![cols] });
    }
    check_fill(OP, adjacency)?;
    let matrix = if self_loops { with_self_loops(adjacency, rows) } else { adjacency.clone() };
    let factor = inverse(row_sums(&matrix), |degree| degree.sqrt());
    let left = spread(&factor, matrix.pattern().row_ids());
    let right = spread(&factor, matrix.pattern().col_idx());
    let values = matrix.values.clone() * left * right;
    Ok(matrix.with_rows(values, matrix.fill().clone()))
}

/// Every row divided by its sum, `x_ij / sum_k x_ik`: how bag-of-words features are usually given. A row whose sum is 0 or
/// less becomes zeros. Differentiable. Cost: `O(nnz + M)`.
///
/// # Errors
///
/// `fill_mismatch` if the fill is not zero (or undefined).
#[or_panic]
pub fn try_row_normalization(x: &CsrTensor<2>) -> Result<CsrTensor<2>> {
    check_fill("row_normalization", x)?;
    let factor = inverse(row_sums(x), |sum| sum);
    Ok(x.with_rows(x.values.clone() * spread(&factor, x.pattern().row_ids()), x.fill().clone()))
}

fn check_fill(op: &'static str, matrix: &CsrTensor<2>) -> Result<()> {
    let fill = matrix.fill();
    if fill.is_undefined() || fill.is_zero() {
        return Ok(());
    }
    Err(SparseError::FillMismatch { op, left: "0".into(), right: fill.to_string() })
}

/// `A + I`, by the sum of duplicates.
fn with_self_loops(adjacency: &CsrTensor<2>, nodes: usize) -> CsrTensor<2> {
    let entries = adjacency.pattern().coordinates().clone();
    let dtype = entries.dtype();
    let diagonal = Tensor::<1, Int>::arange(0..nodes as i64, (&entries.device(), dtype)).reshape(Exact([1, nodes]));
    let diagonal = Tensor::cat(vec![diagonal.clone(), diagonal], 0);
    let ones = Tensor::ones([nodes, 1], (&adjacency.device(), adjacency.dtype()));
    let pattern = CooPattern::new_unchecked(Tensor::cat(vec![entries, diagonal], 1), &[nodes, nodes], false);
    let values = Tensor::cat(vec![adjacency.values.clone(), ones], 0);
    CooTensor::from_parts(pattern, values, vec![], adjacency.fill().clone()).to_csr()
}

/// `[rows, 1]`.
fn row_sums(matrix: &CsrTensor<2>) -> Tensor<2> {
    sum_rows(matrix.values.clone(), &RowSums::new(None, matrix.pattern().row_ptr().clone()))
}

/// `1 / f(sum)`, and 0 where the sum is not above 0. The masked sums never meet `f`, so no gradient of theirs is NaN.
fn inverse(sums: Tensor<2>, f: impl Fn(Tensor<2>) -> Tensor<2>) -> Tensor<2> {
    let empty = sums.clone().lower_equal_scalar(0.0);
    f(sums.mask_fill(empty.clone(), 1.0)).recip().mask_fill(empty, 0.0)
}

/// The factor `[rows, 1]` of every element's row, by an index map whose backward is a segment sum: no float atomics.
fn spread(factor: &Tensor<2>, ids: &Tensor<1, Int>) -> Tensor<2> {
    let none = Tensor::zeros([1, 1], (&factor.device(), factor.dtype()));
    move_rows(factor.clone(), none, &RowMap::new(ids.clone(), factor.dims()[0]))
}
