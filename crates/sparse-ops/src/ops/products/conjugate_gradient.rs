//! Sparse linear systems.

use crate::base::checks::same_elements;
use crate::base::exact::Exact;
use crate::base::kind::{dtype_name, is_16_bit};
use crate::ops::products::masked_matmul::try_masked_matmul;
use crate::ops::structure::graph::check_square;
use crate::rows::sum_dim;
use crate::tensor::sparse::CsrTensor;
use burn::config::Config;
use burn::tensor::Tensor;
use sparse_autograd::{Erased, record};
use sparse_burn::read_data;
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

/// The solution of `A x = b` by conjugate gradients, for a symmetric positive definite `A`.
///
/// The iteration starts at 0 and ends when `|b - A x| <= tolerance |b|` for each column of `b`. Cost: one sparse x
/// dense product and two small reads of the device for each iteration; about `sqrt(condition number)` iterations.
/// (`scipy.sparse.linalg.cg`.)
///
/// Backward, by the implicit function: `d b = A^-1 d x`, which is a second solve, and `d A[i, j] = -(d b)[i] x[j]` at
/// the stored elements (SDDMM). So memory does not grow with the iterations. `A` is taken as symmetric in the backward
/// pass too; each stored element gets its own gradient.
///
/// Source: Hestenes and Stiefel, *Methods of conjugate gradients for solving linear systems*, 1952.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CsrTensor, ops::ConjugateGradientConfig};
///
/// let device = Device::flex().autodiff();
/// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[4.0, 1.0], [1.0, 3.0]], &device)).require_grad();
/// let b = Tensor::<1>::from_floats([1.0, 2.0], &device);
/// let x = ConjugateGradientConfig::new().solve(&a, b);
/// for (x, want) in x.clone().into_data().iter::<f32>().zip([1.0 / 11.0, 7.0 / 11.0]) {
///     assert!((x - want).abs() < 1e-5);
/// }
/// assert_eq!(a.grad(&x.sum().backward()).unwrap().nnz(), 4);
/// ```
#[derive(Config, Debug)]
pub struct ConjugateGradientConfig {
    /// The largest residual by the size of `b`. f32 reaches about 1e-6.
    #[config(default = 1e-5)]
    pub tolerance: f64,
    /// The most iterations. The default is that of SciPy: ten times the number of rows.
    pub max_iterations: Option<usize>,
}

impl ConjugateGradientConfig {
    /// `x` with `A x = b`: `a` `[N, N]`, `b` `[N]` or `[N, F]` (a system for each column) to the shape of `b`. f32 and
    /// f64.
    ///
    /// The backward pass ends after `max_iterations` too, with what it has then.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if `a` is not square, or `b` has other rows or more than two dims; `fill_mismatch` if the fill
    /// is not zero; `dtype_mismatch`, `unsupported_dtype`, `device_mismatch`; `invalid` if `a` is seen not to be
    /// positive definite, if a number is not finite, or if the tolerance is not reached.
    #[or_panic]
    pub fn try_solve<const D: usize>(&self, a: &CsrTensor<2>, b: Tensor<D>) -> Result<Tensor<D>> {
        const OP: &str = "ConjugateGradientConfig::solve";
        check_square(OP, a)?;
        let (shape, [rows, _]) = (b.dims(), a.dims());
        if D > 2 || D == 0 || shape[0] != rows {
            let rule = "the right-hand side {left} must be [N] or [N, F] for a matrix {right}";
            return Err(SparseError::shape_mismatch(OP, rule, shape, a.dims()));
        }
        if !a.fill.is_zero() {
            return Err(SparseError::wrong_fill(OP, "zero", &a.fill, "use with_fill"));
        }
        same_elements(OP, &a.values, &b)?;
        if is_16_bit(b.dtype()) {
            return Err(SparseError::unsupported_dtype(OP, "a linear system", dtype_name(b.dtype())));
        }
        if shape.contains(&0) {
            return Ok(b);
        }
        let b = b.reshape(Exact([rows, shape[1..].iter().product()]));
        let most = self.max_iterations.unwrap_or(10 * rows);
        let plain = off_tape(a);
        let solution = iterate(OP, &plain, b.clone().inner(), self.tolerance, most);
        let x = solution.outcome.map(|()| solution.x)?;
        let saved = Saved { matrix: plain, x: x.clone(), tolerance: self.tolerance, most };
        let parents = [Erased::from(&a.values), Erased::from(&b)];
        let x = record(x, parents, saved, |saved, grad, [a, _]| {
            let d_b = iterate(OP, &saved.matrix, grad, saved.tolerance, saved.most).x;
            let d_a = a.then(|| {
                let at = try_masked_matmul(d_b.clone().neg(), saved.x.clone().swap_dims(0, 1), &saved.matrix);
                at.expect("the sizes of the forward pass").values.into()
            });
            [d_a, Some(d_b.into())]
        });
        Ok(x.reshape(Exact(shape)))
    }
}

#[derive(Debug)]
struct Saved {
    matrix: CsrTensor<2>,
    x: Tensor<2>,
    tolerance: f64,
    most: usize,
}

fn off_tape(a: &CsrTensor<2>) -> CsrTensor<2> {
    CsrTensor::from_parts(a.pattern.clone(), a.values.clone().inner(), vec![], a.fill.clone())
}

/// The last iterate, and whether it solves the system.
struct Solution {
    x: Tensor<2>,
    outcome: Result<()>,
}

/// Conjugate gradients for all columns of `b` `[N, F]` side by side. If numbers are not finite, `x` is NaN.
fn iterate(op: &'static str, a: &CsrTensor<2>, b: Tensor<2>, tolerance: f64, most: usize) -> Solution {
    // Columns whose largest number is 1: squares of very small or large ones would be 0 or infinite.
    let scale = b.clone().abs().max_dim(0);
    let scale = scale.clone().mask_fill(scale.equal_scalar(0.0), 1.0);
    let Solution { x, outcome } = iterate_scaled(op, a, b / scale.clone(), tolerance, most);
    Solution { x: x * scale, outcome }
}

fn iterate_scaled(op: &'static str, a: &CsrTensor<2>, b: Tensor<2>, tolerance: f64, most: usize) -> Solution {
    let trouble = |message: String| Err(SparseError::invalid(op, message));
    let mut x = b.zeros_like();
    let (mut residual, mut direction) = (b.clone(), b.clone());
    let mut size = sum_dim(b.clone().powi_scalar(2), 0);
    let goal = size.clone().mul_scalar(tolerance.powi(2));
    let goals = numbers(goal.clone());
    for step in 0..=most {
        let left = numbers(size.clone());
        if left.iter().any(|left| !left.is_finite()) {
            let outcome = trouble("numbers must be finite, got others in the iteration".into());
            return Solution { x: x.full_like(f64::NAN), outcome };
        }
        if left.iter().zip(&goals).all(|(left, goal)| left <= goal) {
            return Solution { x, outcome: Ok(()) };
        }
        if step == most {
            break;
        }
        let image = match a.try_matmul(direction.clone()) {
            Ok(image) => image,
            Err(trouble) => return Solution { x, outcome: Err(trouble) },
        };
        let curvature = sum_dim(direction.clone() * image.clone(), 0);
        let signs = numbers(curvature.clone());
        let open = signs.iter().zip(left.iter().zip(&goals)).filter(|(_, (left, goal))| left > goal);
        if let Some((curvature, _)) = open.into_iter().find(|(curvature, _)| **curvature <= 0.0) {
            let message = format!("the matrix must be symmetric positive definite, got d^T A d = {curvature:e}");
            return Solution { x, outcome: trouble(message) };
        }
        // A column that is solved stays: its direction would vanish while others are open.
        let solved = size.clone().lower_equal(goal.clone());
        let length = (size.clone() / curvature).mask_fill(solved, 0.0);
        x = x + direction.clone() * length.clone();
        residual = residual - image * length;
        let next = sum_dim(residual.clone().powi_scalar(2), 0);
        let divisor = size.clone().mask_fill(size.equal_scalar(0.0), 1.0);
        direction = residual.clone() + direction * (next.clone() / divisor);
        size = next;
    }
    let worst = numbers(size).iter().zip(&goals).map(|(left, goal)| (left / goal).sqrt()).fold(0.0, f64::max);
    let message = format!(
        "use a larger tolerance than {tolerance:e}, or more than {most} iterations: the residual is {worst:.1} times \
         too large"
    );
    Solution { x, outcome: trouble(message) }
}

fn numbers(row: Tensor<2>) -> Vec<f64> {
    read_data(row).convert::<f64>().iter().collect()
}
