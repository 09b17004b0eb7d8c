//! Groups of columns or rows that do not meet.

use burn::tensor::{DType, TensorData};
use sparse_core::dynamic::Ids;
use sparse_core::graph;
use sparse_ops::extend::read_data;
use sparse_ops::pattern::CsrPattern;
use sparse_ops::{Result, SparseError};

/// A colour from 0 on for each column of a pattern `[M, N]`, so that no two columns of one colour have an element in
/// the same row. So a Jacobian of this pattern is known from its products with one vector for each colour, the sum of
/// the colour's unit vectors.
///
/// Greedy, columns with the most neighbours first; at least as many colours as the longest row has elements, and of a
/// stencil few more. Cost: the pattern is read to the host; `O(nnz L)` for rows of at most `L` elements. Source:
/// Curtis, Powell and Reid 1974; Coleman and More 1983.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::solve::{Boundary, color_columns, laplacian};
///
/// // A tridiagonal matrix has three colours, whatever its size.
/// let a = laplacian(&[9], Boundary::Dirichlet, &Device::flex()).unwrap();
/// assert_eq!(color_columns(a.pattern()).unwrap().into_iter().max(), Some(2));
/// ```
///
/// # Errors
///
/// `shape_mismatch` for a batch.
pub fn color_columns(pattern: &CsrPattern) -> Result<Vec<usize>> {
    colored("color_columns", pattern, graph::color_columns)
}

/// The same of rows: no two rows of one colour have an element in the same column. So a Jacobian is known from its
/// products `J^T w`, of which the backward pass of a tape is one, with one `w` for each colour.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CsrTensor;
/// use sparse_tensor::solve::{color_columns, color_rows};
///
/// // A row that has every column: each column has its own colour, and each row but that one the same.
/// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 1.0, 1.0], [0.0, 1.0, 0.0]], &Device::flex()));
/// assert_eq!(color_columns(a.pattern()).unwrap(), [0, 1, 2]);
/// assert_eq!(color_rows(a.pattern()).unwrap(), [0, 1]);
/// ```
///
/// # Errors
///
/// `shape_mismatch` for a batch.
pub fn color_rows(pattern: &CsrPattern) -> Result<Vec<usize>> {
    colored("color_rows", pattern, graph::color_rows)
}

fn colored(
    op: &'static str,
    pattern: &CsrPattern,
    color: fn(Ids<'_>, Ids<'_>, usize) -> Vec<usize>,
) -> Result<Vec<usize>> {
    if pattern.batch() != 1 {
        let rule = "the pattern must be one matrix {right}, got {left}";
        let sizes = [pattern.batch(), pattern.rows(), pattern.cols()];
        return Err(SparseError::shape_mismatch(op, rule, sizes, [pattern.rows(), pattern.cols()]));
    }
    let (ptr, idx) = (read_data(pattern.row_ptr().clone()), read_data(pattern.col_idx().clone()));
    Ok(color(ids(&ptr), ids(&idx), pattern.cols()))
}

fn ids(data: &TensorData) -> Ids<'_> {
    match data.dtype() {
        DType::I32 => Ids::I32(data.as_slice().expect("its dtype")),
        _ => Ids::I64(data.as_slice().expect("a pattern has i32 or i64 indices")),
    }
}
