//! Matrices that are hardly larger than the basis of an iteration, as dense ones on the host.

use super::block::{Block, times};
use super::pencil::Pencil;
use super::report::Which;
use super::small::{Small, check_finite, columns, eigh, inverse_factor, part, read, to_device};
use crate::operator::{LinearOperator, Operator};
use burn::tensor::Tensor;
use sparse_ops::extend::check_dense;
use sparse_ops::{Result, SparseError};

/// All elements, by the products with the identity.
///
/// # Errors
///
/// `would_densify` if there are more of them than [`dense_limit`](sparse_ops::dense_limit); `invalid` if they are not
/// finite.
pub fn elements(op: &'static str, a: &Operator, like: &Block) -> Result<Small> {
    let [rows, cols] = a.dims();
    let elements = rows.max(cols) as u128 * cols as u128;
    let what = "a matrix hardly larger than the basis of the iteration";
    check_dense(op, what, elements, "ask for fewer values or a smaller basis")?;
    let image = a.try_apply(to_device(&Small::identity(cols, cols), like))?;
    let [all] = read([&image]);
    check_finite(op, &all, 0)?;
    Ok(all)
}

/// The positions of the eigenvalues that are wanted, the best first.
pub fn wanted(values: &[f64], which: Which, count: usize) -> Vec<usize> {
    let key = |value: f64| match which {
        Which::Smallest => value,
        Which::Largest => -value,
        Which::Magnitude | Which::Imaginary => -value.abs(),
        Which::Near(sigma) => (value - sigma).abs(),
    };
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| key(values[i]).total_cmp(&key(values[j])));
    order.truncate(count);
    order
}

/// The eigenvalues of the divided matrix and the vectors.
///
/// # Errors
///
/// `invalid` if numbers are not finite, or `B` is not positive definite.
pub fn symmetric(pencil: &Pencil<'_, '_>, which: Which) -> Result<(Vec<f64>, Block)> {
    let (op, n, like) = (pencil.op(), pencil.n(), &pencil.task.plain.like);
    pencil.task.count_products(n);
    let mut a = elements(op, &pencil.task.plain.a, like)?;
    let mut b = match &pencil.b {
        Some(b) => elements(op, b, like)?,
        None => Small::identity(n, n),
    };
    let mut basis = None;
    if let Some([_, image]) = &pencil.deflated {
        let [image] = read([image]);
        let z = part(&image.qr().compute_Q(), 0..n, image.ncols()..n);
        (a, b) = (z.transpose() * &a * &z, z.transpose() * &b * &z);
        basis = Some(z);
    }
    let Some(inverse) = inverse_factor(&b) else {
        // Beside vectors that are left out the rows are others.
        let row = (0..b.nrows()).find(|&at| basis.is_none() && b[(at, at)] <= 0.0);
        let got = match row {
            Some(row) => format!("a diagonal that is not in row {row}"),
            None => format!("one with {n} rows that is not"),
        };
        return Err(SparseError::invalid(op, format!("the mass must be positive definite, got {got}")));
    };
    let (values, vectors) = eigh(op, &(inverse.transpose() * &a * &inverse))?;
    if pencil.b.is_none() {
        pencil.task.plain.saw(values.iter().fold(0.0f64, |most, value| most.max(value.abs())));
    }
    let order = wanted(&values, which, pencil.task.asked.count);
    let vectors = &inverse * columns(&vectors, &order);
    let vectors = basis.map_or(vectors.clone(), |basis| basis * &vectors);
    let identity: Tensor<2> = to_device(&vectors, like);
    Ok((order.iter().map(|&at| values[at]).collect(), times(&identity, &Small::identity(order.len(), order.len()))))
}
