//! Least squares with the factors `Q R`.

use super::factor::try_factorize;
use super::kind::Factorization;
use burn::tensor::{DType, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Derived, Parts, kept_result, same_elements};
use sparse_ops::ops::try_concat;
use sparse_ops::pattern::Pattern;
use sparse_ops::{Fill, Result, SparseError, SparseTensor};

/// `x` with the least `|b - A x|`, of a matrix with more columns than rows the shortest one with `A x = b`: `a` `[M,
/// N]`, `b` `[M]` or `[M, F]` to `[N]` or `[N, F]`.
///
/// By [`Factorization::Qr`], with gradients to both; see [`Factor::solve`](crate::Factor::solve). The factors are of no
/// use to others: keep a [`Factor`](crate::Factor) for more right-hand sides. Iterative methods for it:
/// [`Method::Lsmr`](crate::Method::Lsmr).
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CsrTensor;
/// use sparse_tensor::solve::lstsq;
///
/// let device = Device::flex();
/// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], &device));
/// // The line through (0, 1), (1, 3), (2, 5).
/// let x = lstsq(&a, Tensor::<1>::from_floats([1.0, 3.0, 5.0], &device));
/// for (x, want) in x.into_data().iter::<f32>().zip([1.0, 2.0]) {
///     assert!((x - want).abs() < 1e-5);
/// }
/// ```
///
/// # Errors
///
/// `invalid` that names a column, or a row of a wide matrix, without which the rank is not full: its diagonal in `R` is
/// below `eps max(M, N)` times the length of its column (of a wide matrix its row) in `A`, with the `eps` of f64; take
/// [`ridge`](crate::ridge()) there. Those of [`try_factorize`](crate::try_factorize()) and of a solve.
#[or_panic]
pub fn try_lstsq<P: Pattern, const D: usize>(a: &SparseTensor<P, 2>, b: Tensor<D>) -> Result<Tensor<D>> {
    check_rows("lstsq", a, &b)?;
    try_factorize(a, Factorization::Qr)?.try_solve(b)
}

/// Before the matrix is factored.
fn check_rows<P: Pattern, const D: usize>(op: &'static str, a: &SparseTensor<P, 2>, b: &Tensor<D>) -> Result<()> {
    match (1..=2).contains(&D) && b.dims()[0] == a.dims()[0] {
        true => same_elements(op, a.rows(), b),
        false => {
            let rule = "the right-hand side {left} must have the rows of {right}, and columns or none";
            Err(SparseError::shape_mismatch(op, rule, b.dims(), a.dims()))
        }
    }
}

/// The pattern of the identity that stands below a matrix, kept with its pattern: so the joined pattern, which both of
/// them are the key of, and its symbolic phase are made once.
#[derive(Clone)]
struct Identity<P>(P);

impl<P: Pattern> Derived for Identity<P> {
    fn held(&self) -> usize {
        3 * self.0.nnz()
    }
}

#[derive(PartialEq, Eq)]
struct Below;

/// `A` above `root I`.
fn above_identity<P: Pattern>(a: &SparseTensor<P, 2>, root: f64) -> Result<SparseTensor<P, 2>> {
    let (cols, options) = (a.dims()[1], (&a.device(), a.dtype()));
    let make = || SparseTensor::<P, 2>::try_eye(cols, options).map(|eye| Identity(eye.pattern().clone()));
    let below = kept_result(a.pattern(), Below, make)?.0;
    let below = SparseTensor::from_parts(below, Tensor::full([cols, 1], root, options), vec![], Fill::Zero);
    try_concat(&[a.clone().with_fill(Fill::Zero), below], 0)
}

/// `x` with the least `|b - A x|^2 + penalty |x|^2`: `(A^T A + penalty I)^-1 A^T b`, by the factors `Q R` of `A` with
/// `sqrt(penalty) I` below it. Shapes and gradients as of [`lstsq`](crate::lstsq()). Any rank, if the penalty is not 0.
/// The symbolic phase is kept with the pattern of `a`, whatever the penalty.
///
/// # Errors
///
/// Those of [`try_lstsq`]; `invalid` for a penalty that is no number from 0 on, or whose root is 0, infinite or
/// subnormal in the dtype.
#[or_panic]
pub fn try_ridge<P: Pattern, const D: usize>(a: &SparseTensor<P, 2>, b: Tensor<D>, penalty: f64) -> Result<Tensor<D>> {
    const OP: &str = "ridge";
    check_rows(OP, a, &b)?;
    if !(penalty >= 0.0 && penalty.is_finite()) {
        return Err(SparseError::invalid(OP, format!("the penalty must be a number from 0 on, got {penalty}")));
    }
    let (root, mut dims) = (penalty.sqrt(), b.dims());
    let fits = a.dtype() != DType::F32 || (root as f32).is_normal() || penalty == 0.0;
    if !fits {
        return Err(SparseError::invalid(OP, format!("the root of the penalty must be a number of f32, got {root:e}")));
    }
    let (all, cols) = (above_identity(a, root)?, a.dims()[1]);
    dims[0] = cols;
    let zeros = Tensor::<D>::zeros(dims, (&b.device(), b.dtype()));
    try_factorize(&all, Factorization::Qr)?.try_solve(Tensor::cat(vec![b, zeros], 0))
}

#[cfg(test)]
mod tests {
    use super::above_identity;
    use crate::direct::structure::{Source, Structure};
    use crate::{Boundary, Factorization, laplacian};
    use burn::tensor::Device;
    use std::sync::Arc;

    #[test]
    fn the_symbolic_phase_of_ridge_is_kept() {
        let a = laplacian(&[4, 3], Boundary::Dirichlet, &Device::flex()).unwrap();
        let of = |root: f64| {
            let all = above_identity(&a.clone().mul_scalar(root), root).unwrap();
            Structure::of("test", all.pattern(), [1, 24, 12], Factorization::Qr.family(), Source::Pattern).unwrap()
        };
        assert!(Arc::ptr_eq(&of(1.0), &of(2.0)));
    }
}
