//! A matrix as an iteration sees it.

use super::block::{Block, lengths, random_block, vectors};
use super::report::Which;
use super::small::{check_finite, read};
use crate::krylov::vectors::eps;
use crate::operator::{Batch, LinearOperator, Operator, device_of};
use crate::symmetric;
use burn::tensor::{DType, Tensor};
use sparse_ops::extend::{has_dtype, same_device};
use sparse_ops::{Result, SparseError};
use std::cell::Cell;

/// A matrix without the tape, divided by a power of 2 where its numbers are very large or small.
pub struct Plain {
    pub a: Operator,
    pub size: f64,
    /// Of the divided matrix, from below.
    pub norm: Cell<f64>,
    /// An empty block with the device and the dtype.
    pub like: Block,
}

impl Plain {
    /// Looks at products with two random columns, and whether these say that it is not symmetric.
    ///
    /// # Errors
    ///
    /// `invalid` for a batch, for products that are not finite, and if it has no device; that of the products;
    /// `invalid` if it must be symmetric and is not.
    pub fn new(op: &'static str, a: &dyn LinearOperator, given: Option<&Tensor<2>>, symmetric: bool) -> Result<Self> {
        if let Batch::Systems(_) = a.batch() {
            return Err(SparseError::invalid(op, "the matrix must be one, got a batch"));
        }
        let [rows, cols] = a.dims();
        if symmetric && rows != cols {
            return Err(SparseError::shape_mismatch(op, "the matrix must be square", [rows, cols], [cols; 2]));
        }
        let plain = a.without_tape();
        let Some(device) = device_of([given.map(Tensor::device), plain.device()]).map(|device| device.inner()) else {
            return Err(SparseError::invalid(op, "give a start, since the matrix is made of no tensors"));
        };
        if let Some(own) = plain.device() {
            same_device(op, &device, &own)?;
        }
        let dtypes = given.map_or(vec![DType::F32, DType::F64], |own| vec![own.dtype()]);
        if let Some(wrong) = dtypes.iter().find(|dtype| !matches!(dtype, DType::F32 | DType::F64)) {
            return Err(SparseError::unsupported_dtype(op, "eigenvalues", format!("{wrong:?}").to_lowercase()));
        }
        for dtype in dtypes.into_iter().filter(|dtype| has_dtype(op, &device, *dtype).is_ok()) {
            let like = Tensor::zeros([0, 0], (&device, dtype));
            let probe = random_block(0, [cols, 2], &like);
            match plain.try_apply(probe.clone()) {
                Ok(image) => return Self::of(op, plain, probe, image, symmetric, like),
                // The matrix has another one. Of a start that is an error.
                Err(trouble) if trouble.kind() == "dtype_mismatch" && given.is_none() => {}
                Err(trouble) => return Err(trouble),
            }
        }
        Err(SparseError::unsupported_dtype(op, "eigenvalues of a matrix", "another dtype than f32 and f64"))
    }

    fn of(op: &'static str, a: Operator, probe: Block, image: Block, symmetric: bool, like: Block) -> Result<Self> {
        if probe.dims()[0] == 0 || image.dims()[0] == 0 {
            return Ok(Self { a, size: 1.0, norm: Cell::new(0.0), like });
        }
        let most = image.clone().abs().max_dim(0);
        let [most] = read([&most]);
        check_finite(op, &most, 0)?;
        let most = most[(0, 0)].max(most[(0, 1)]);
        let limit = if like.dtype() == DType::F64 { 1000.0 } else { 120.0 };
        let far = most != 0.0 && !(1e-6..=1e6).contains(&most);
        let size = if far { most.log2().round().clamp(-limit, limit).exp2() } else { 1.0 };
        let (a, image) = if far { (a * size.recip(), image.mul_scalar(size.recip())) } else { (a, image) };
        let [images, sizes] = lengths([&image, &probe]);
        let norm = images.iter().zip(&sizes).map(|(image, size)| image / size).fold(0.0, f64::max);
        if symmetric {
            check_symmetric(op, "the matrix", &probe, &image)?;
        }
        Ok(Self { a, size, norm: Cell::new(norm), like })
    }

    /// What is wanted of the divided matrix, and of [`Which::Near`] its inverse there: the one that is given of the
    /// other matrix, or `make` of the number.
    ///
    /// # Errors
    ///
    /// `invalid` if the number is not finite; those of `make`.
    pub fn near(
        &self,
        op: &'static str,
        which: Which,
        given: Option<&dyn LinearOperator>,
        make: impl FnOnce(f64) -> Result<Operator>,
    ) -> Result<(Which, Option<Operator>)> {
        let Which::Near(sigma) = which else { return Ok((which, None)) };
        if !sigma.is_finite() {
            return Err(SparseError::invalid(op, "the number that values are to be near must be finite"));
        }
        let sigma = sigma / self.size;
        let inverse = given.map_or_else(|| make(sigma), |own| Ok(own.without_tape() * self.size))?;
        Ok((Which::Near(sigma), Some(inverse)))
    }

    pub fn saw(&self, norm: f64) {
        if norm > self.norm.get() {
            self.norm.set(norm);
        }
    }
}

/// # Errors
///
/// `invalid` if products with two vectors say that it is not.
pub fn check_symmetric(op: &'static str, what: &str, x: &Block, image: &Block) -> Result<()> {
    let columns = |own: &Block| [0, 1].map(|column| vectors(own).narrow(2, column, 1));
    let ([x, y], [of_x, of_y], share) = (columns(x), columns(image), 100.0 * eps(x.dtype()));
    symmetric::check_symmetric(op, what, [&x, &y], [&of_x, &of_y], share, |_| "random vectors".to_string())
}
