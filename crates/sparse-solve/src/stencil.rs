//! Matrices of finite differences.

use burn::tensor::{Tensor, TensorCreationOptions};
use sparse_ops::extend::{Exact, RowMap, check_rows, index_below, nothing, read_rows};
use sparse_ops::pattern::CsrPattern;
use sparse_ops::{CsrTensor, Result, SparseError};

/// What lies beyond the ends of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boundary {
    /// Zeros.
    Dirichlet,
    /// The point at the end again, so nothing flows out.
    Neumann,
    /// The other end.
    Periodic,
}

/// The negative Laplacian of a grid `[n]`, `[n, m]`, .. by second differences: `2 D u_i - sum of the neighbours of i`
/// in `D` dims, with a distance of 1. Points are numbered in row-major order. Symmetric; positive definite with
/// [`Boundary::Dirichlet`], else semidefinite: constants are mapped to 0. (`scipy.sparse.linalg.LaplacianNd`, times
/// -1.)
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::solve::{Boundary, laplacian};
///
/// let a = laplacian(&[3], Boundary::Dirichlet, &Device::flex()).unwrap();
/// let rows = [[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 2.0]];
/// assert_eq!(a.to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), rows.concat());
/// ```
///
/// # Errors
///
/// `empty_input` for a grid without dims; `overflow` if its points overflow; `unsupported_dtype`.
pub fn laplacian(
    grid: &[usize],
    boundary: Boundary,
    options: impl Into<TensorCreationOptions>,
) -> Result<CsrTensor<2>> {
    const OP: &str = "laplacian";
    if grid.is_empty() {
        return Err(SparseError::empty_input(OP, "the grid must have at least one dim"));
    }
    // Of a grid without points the others are not multiplied: that may overflow.
    let grid = if grid.contains(&0) { &[0][..] } else { grid };
    let each = 2 * grid.len() as u128 + 1;
    let elements = grid.iter().try_fold(each, |all, &n| all.checked_mul(n as u128)).unwrap_or(u128::MAX);
    let limit = (i64::MAX as u128 / 2).min(usize::MAX as u128);
    if elements > limit {
        return Err(SparseError::overflow(OP, "the number of elements", limit, elements));
    }
    let points: usize = grid.iter().product();
    let (mut rows, mut cols, mut values) = (vec![], vec![], vec![]);
    let mut at = vec![0; grid.len()];
    for point in 0..points {
        let mut own = 0.0;
        let mut put = |col: usize, value: f64| {
            rows.push(point);
            cols.push(col);
            values.push(value);
        };
        let mut stride = points;
        for (&n, &k) in grid.iter().zip(&at) {
            stride /= n;
            let neighbours = [
                (k > 0, point.wrapping_sub(stride), point + stride * (n - 1)),
                (k + 1 < n, point + stride, point.wrapping_sub(stride * (n - 1))),
            ];
            for (inside, next, other_end) in neighbours {
                match (inside, boundary) {
                    (true, _) => put(next, -1.0),
                    (false, Boundary::Periodic) => put(other_end, -1.0),
                    (false, Boundary::Dirichlet) => {}
                    (false, Boundary::Neumann) => continue,
                }
                own += 1.0;
            }
        }
        put(point, own);
        for dim in (0..grid.len()).rev() {
            at[dim] += 1;
            if at[dim] < grid[dim] {
                break;
            }
            at[dim] = 0;
        }
    }
    CsrTensor::from_triplets(&rows, &cols, &values, [points, points], options)
}

/// The matrix with the rows of `diagonals` `[k, width]` on its diagonals: element `(i, j)` with `j - i = offsets[d]` is
/// `diagonals[d, j]`, for `j < width`. Gradients reach the diagonals. (`scipy.sparse.dia_array`, `spdiags`.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::solve::from_diagonals;
///
/// let diagonals = Tensor::<2>::from_floats([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], &Device::flex());
/// let a = from_diagonals(diagonals, &[0, 1], [2, 3]).unwrap();
/// assert_eq!(a.to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 5.0, 0.0, 0.0, 2.0, 6.0]);
/// ```
///
/// # Errors
///
/// `length_mismatch` if there is not one offset for each diagonal; `invalid` for one that is there twice;
/// `would_densify` if almost all of very many rows are empty.
pub fn from_diagonals(diagonals: Tensor<2>, offsets: &[i64], dims: [usize; 2]) -> Result<CsrTensor<2>> {
    const OP: &str = "from_diagonals";
    let ([count, width], [rows, cols]) = (diagonals.dims(), dims);
    if offsets.len() != count {
        return Err(SparseError::length_mismatch(OP, "the list of offsets", count, offsets.len()));
    }
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_unstable_by_key(|&d| offsets[d]);
    if let Some(pair) = order.windows(2).find(|pair| offsets[pair[0]] == offsets[pair[1]]) {
        let message = format!("each offset must be there once, got {} again", offsets[pair[0]]);
        return Err(SparseError::invalid(OP, message));
    }
    check_rows(OP, rows, count * width)?;
    let end = cols.min(width);
    let (mut row_ptr, mut col_idx, mut from) = (vec![0], vec![], vec![]);
    for row in 0..rows {
        for &d in &order {
            let col = i128::from(offsets[d]) + row as i128;
            if (0..end as i128).contains(&col) {
                col_idx.push(col as usize);
                from.push(d * width + col as usize);
            }
        }
        row_ptr.push(col_idx.len());
    }
    let (device, held) = (diagonals.device().inner(), count * width);
    let largest = rows.max(cols).max(from.len() + 1);
    let pattern = CsrPattern::new_unchecked(
        index_below(&row_ptr, largest, &device),
        index_below(&col_idx, largest, &device),
        &dims,
    );
    let values = match from.len() {
        0 => nothing([0], diagonals.dtype(), &[&diagonals]),
        nnz => {
            let map = RowMap::new(index_below(&from, held, &device), held);
            read_rows(diagonals.reshape(Exact([held, 1])), &map).reshape(Exact([nnz]))
        }
    };
    CsrTensor::from_pattern(pattern, values)
}
