//! Small dense matrices of the host, in f64 whatever the dtype of the vectors.

use burn::tensor::{Tensor, TensorData};
use faer::Side;
use sparse_ops::extend::{Exact, read_data};
use sparse_ops::{Result, SparseError};

pub type Small = faer::Mat<f64>;

/// Matrices of the device, in one read.
pub fn read<const N: usize>(list: [&Tensor<2>; N]) -> [Small; N] {
    let dims = list.map(Tensor::dims);
    let flat = list.iter().zip(dims).filter(|(_, [rows, cols])| rows * cols > 0);
    let flat: Vec<Tensor<1>> = flat.map(|(own, [rows, cols])| (*own).clone().reshape(Exact([rows * cols]))).collect();
    let numbers: Vec<f64> = match flat.is_empty() {
        true => vec![],
        false => read_data(Tensor::cat(flat, 0)).convert::<f64>().iter().collect(),
    };
    let mut start = 0;
    dims.map(|[rows, cols]| {
        let own = Small::from_fn(rows, cols, |i, j| numbers[start + i * cols + j]);
        start += rows * cols;
        own
    })
}

/// On the device and in the dtype of `like`.
pub fn to_device(matrix: &Small, like: &Tensor<2>) -> Tensor<2> {
    let (rows, cols) = (matrix.nrows(), matrix.ncols());
    if rows * cols == 0 {
        return Tensor::zeros([rows, cols], (&like.device(), like.dtype()));
    }
    let list: Vec<f64> = (0..rows * cols).map(|at| matrix[(at / cols, at % cols)]).collect();
    Tensor::from_data(TensorData::new(list, [rows, cols]), (&like.device(), like.dtype()))
}

pub fn diagonal(list: &[f64]) -> Small {
    Small::from_fn(list.len(), list.len(), |i, j| if i == j { list[i] } else { 0.0 })
}

/// A part of a matrix.
pub fn part(matrix: &Small, rows: std::ops::Range<usize>, cols: std::ops::Range<usize>) -> Small {
    Small::from_fn(rows.len(), cols.len(), |i, j| matrix[(rows.start + i, cols.start + j)])
}

/// Columns of a matrix in this order.
pub fn columns(matrix: &Small, order: &[usize]) -> Small {
    Small::from_fn(matrix.nrows(), order.len(), |i, j| matrix[(i, order[j])])
}

/// One matrix above the other.
pub fn above(top: &Small, bottom: &Small) -> Small {
    let (rows, cols) = (top.nrows(), top.ncols().max(bottom.ncols()));
    Small::from_fn(rows + bottom.nrows(), cols, |i, j| if i < rows { top[(i, j)] } else { bottom[(i - rows, j)] })
}

/// One matrix beside the other.
pub fn beside(left: &Small, right: &Small) -> Small {
    let (rows, cols) = (left.nrows().max(right.nrows()), left.ncols());
    Small::from_fn(rows, cols + right.ncols(), |i, j| if j < cols { left[(i, j)] } else { right[(i, j - cols)] })
}

/// The largest absolute value; NaN if there is one.
pub fn largest(matrix: &Small) -> f64 {
    let mut most = 0.0f64;
    for j in 0..matrix.ncols() {
        for i in 0..matrix.nrows() {
            let own = matrix[(i, j)].abs();
            most = if own.is_nan() || own > most { own } else { most };
            if most.is_nan() {
                return most;
            }
        }
    }
    most
}

pub fn column_norm(matrix: &Small, col: usize) -> f64 {
    (0..matrix.nrows()).map(|i| matrix[(i, col)].powi(2)).sum::<f64>().sqrt()
}

/// # Errors
///
/// `invalid` if a number is not finite: the message says of which iteration.
pub fn check_finite(op: &'static str, matrix: &Small, iteration: usize) -> Result<()> {
    match largest(matrix).is_finite() {
        true => Ok(()),
        false => {
            let message = format!("the products must be finite, got others in iteration {iteration}");
            Err(SparseError::invalid(op, message))
        }
    }
}

fn failed(op: &'static str) -> SparseError {
    SparseError::invalid(op, "the small dense eigenvalue problem must converge, got one that does not")
}

/// The eigenvalues, ascending, and the eigenvectors of the symmetric part.
///
/// # Errors
///
/// `invalid` if it does not converge.
pub fn eigh(op: &'static str, matrix: &Small) -> Result<(Vec<f64>, Small)> {
    if matrix.nrows() == 0 {
        return Ok((vec![], Small::zeros(0, 0)));
    }
    let even = Small::from_fn(matrix.nrows(), matrix.ncols(), |i, j| 0.5 * (matrix[(i, j)] + matrix[(j, i)]));
    let found = even.self_adjoint_eigen(Side::Lower).map_err(|_| failed(op))?;
    Ok((found.S().column_vector().iter().copied().collect(), found.U().to_owned()))
}

/// The eigenvalues and the eigenvectors, each by its real and its imaginary part.
pub struct Pairs {
    pub values: Vec<[f64; 2]>,
    pub vectors: [Small; 2],
}

/// Of any square matrix.
///
/// # Errors
///
/// `invalid` if it does not converge.
pub fn eig(op: &'static str, matrix: &Small) -> Result<Pairs> {
    let found = matrix.eigen().map_err(|_| failed(op))?;
    let values = found.S().column_vector().iter().map(|own| [own.re, own.im]).collect();
    let n = matrix.nrows();
    let vectors =
        [Small::from_fn(n, n, |i, j| found.U()[(i, j)].re), Small::from_fn(n, n, |i, j| found.U()[(i, j)].im)];
    Ok(Pairs { values, vectors })
}

/// `A = U diag(s) V^T`, the largest first.
///
/// # Errors
///
/// `invalid` if it does not converge.
pub fn svd(op: &'static str, matrix: &Small) -> Result<(Small, Vec<f64>, Small)> {
    if matrix.nrows() * matrix.ncols() == 0 {
        return Ok((Small::zeros(matrix.nrows(), 0), vec![], Small::zeros(matrix.ncols(), 0)));
    }
    let found = matrix.thin_svd().map_err(|_| failed(op))?;
    Ok((found.U().to_owned(), found.S().column_vector().iter().copied().collect(), found.V().to_owned()))
}

/// An orthonormal basis of the columns, of which a column that depends on those before is noise.
pub fn orthonormal(matrix: &Small) -> Small {
    matrix.qr().compute_thin_Q()
}

/// The inverse of the upper factor `R` of `G = R^T R`, and `None` if `G` is not positive definite.
pub fn inverse_factor(gram: &Small) -> Option<Small> {
    let n = gram.nrows();
    let lower = gram.llt(Side::Lower).ok()?;
    let upper = lower.L().transpose().to_owned();
    let mut inverse = Small::identity(n, n);
    upper.solve_upper_triangular_in_place(inverse.as_mut());
    largest(&inverse).is_finite().then_some(inverse)
}
