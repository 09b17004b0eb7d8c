//! Singular values.

use super::adjoint::{Adjoint, Second, on_tape};
use super::bidiagonal::{Problem, Triplets};
use super::block::{Block, scaled, signs};
use super::report::{SpectrumHints, SpectrumReport, Which};
use super::task::{Task, asked};
use crate::krylov::vectors::eps;
use crate::operator::{LinearOperator, Operator, check_sizes};
use burn::config::Config;
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{associate, same_elements};
use sparse_ops::{Result, SparseError};

const OP: &str = "svds";

/// Singular values with their vectors: `A v = s u`, `A^T u = s v`.
#[derive(Debug)]
pub struct SingularTriplets {
    /// The left vectors `[M, k]`, a column for each value.
    pub left: Tensor<2>,
    /// The values `[k]`, the best one first.
    pub values: Tensor<1>,
    /// The right vectors `[N, k]`, a column for each value.
    pub right: Tensor<2>,
    /// How it went.
    pub report: SpectrumReport,
}

/// Some singular values of a matrix of any shape with their vectors, with gradients.
///
/// By Lanczos bidiagonalisation that is restarted with the triplets that are wanted (Baglama and Reichel 2005), so
/// small values keep their digits: `A^T A` is not made. A triplet has converged when `|(A v - s u, A^T u - s v)| <=
/// max(relative s, absolute, 10 eps (|A| + s))`. Of a value of 0 (up to `10 eps |A|`) only `A v` is looked at, and `u`
/// is any vector that is orthogonal to the others. The sign is that of the product of `v` with a fixed random vector.
///
/// Backward, by the implicit function: `d s = u^T dA v`; of the vectors it is that of the eigenvectors `(u, v)` of
/// `[[0, A], [A^T, 0]]`, as in [`EigshConfig`](crate::EigshConfig): one solve by `Minres` for all columns. Values that
/// are equal have no derivative each; a loss of `U f(S) V^T` with all of their vectors has one. The
/// vectors of a value of 0 have a gradient of 0.
///
/// Cost of an iteration: a product with `A` and one with `A^T`. (`scipy.sparse.linalg.svds`.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CsrTensor;
/// use sparse_tensor::solve::SvdsConfig;
///
/// let a = Tensor::<2>::from_floats([[3.0, 0.0], [0.0, 0.0], [0.0, 4.0]], &Device::flex());
/// let found = SvdsConfig::new(1).solve(&CsrTensor::<2>::from_dense(a));
/// assert!((found.values.into_scalar::<f32>() - 4.0).abs() < 1e-5);
/// assert_eq!((found.left.dims(), found.right.dims()), ([3, 1], [2, 1]));
/// ```
#[derive(Config, Debug)]
pub struct SvdsConfig {
    /// How many triplets.
    pub count: usize,
    /// [`Which::Largest`] or [`Which::Smallest`]; the smallest ones take many iterations.
    #[config(default = "Which::Largest")]
    pub which: Which,
    /// The largest residual by the size of the value.
    #[config(default = 1e-6)]
    pub relative: f64,
    /// A residual that is small enough whatever the value.
    #[config(default = 0.0)]
    pub absolute: f64,
    /// The most iterations. The default is ten times the smaller number of rows and columns, from 100 to 10,000.
    pub max_iterations: Option<usize>,
    /// How many vectors are kept. The default is `max(2 k + 8, 24)`.
    pub basis: Option<usize>,
    /// How many columns a product has. A value that is there more often may take more iterations.
    #[config(default = 2)]
    pub block: usize,
    /// Other numbers give another start.
    #[config(default = 0)]
    pub seed: usize,
    /// Gives the last triplets if not all have converged, instead of an error.
    #[config(default = false)]
    pub accept_unsolved: bool,
    /// The tolerance of the solves in the backward pass: by default 1e-5 in f32 and 1e-11 in f64.
    pub relative_gradient: Option<f64>,
    /// Takes the last point of these solves, instead of a panic. The default is `accept_unsolved`.
    pub accept_unsolved_gradient: Option<bool>,
}

/// The `count` largest singular values; see [`SvdsConfig`].
///
/// # Errors
///
/// Those of [`SvdsConfig::try_solve`].
#[or_panic]
pub fn try_svds(a: &dyn LinearOperator, count: usize) -> Result<SingularTriplets> {
    SvdsConfig::new(count).try_solve(a)
}

impl SvdsConfig {
    /// The triplets of `a` `[M, N]`. In f32, or in f64 if `a` has that.
    ///
    /// # Errors
    ///
    /// `invalid` for a count of 0 or more than `min(M, N)`, for a batch, for another part of the spectrum, if numbers
    /// are not finite, for a tolerance that is no number from 0 on, if not all triplets converge (the message is the
    /// report), and if `a` has no transposed product; `would_densify` if the matrix is hardly larger than the basis,
    /// and has more elements than [`dense_limit`](sparse_ops::dense_limit); `unsupported_dtype`; those of the products.
    ///
    /// # Panics
    ///
    /// In the backward pass, if a solve does not reach the tolerance (unless `accept_unsolved_gradient`).
    #[or_panic]
    pub fn try_solve(&self, a: &dyn LinearOperator) -> Result<SingularTriplets> {
        self.try_solve_with(a, SpectrumHints::default())
    }

    /// The same with a start, of right vectors `[N, any]`, or left ones `[M, any]` if `M < N`, and a callback.
    ///
    /// # Errors
    ///
    /// Those of [`try_solve`](Self::try_solve); `shape_mismatch`, `dtype_mismatch` or `device_mismatch` if the start
    /// does not fit; `invalid` for other hints.
    pub fn try_solve_with(&self, a: &dyn LinearOperator, hints: SpectrumHints<'_>) -> Result<SingularTriplets> {
        let [rows, cols] = a.dims();
        let small = rows.min(cols);
        let asked = asked!(OP, self, small);
        asked.check()?;
        if !matches!(self.which, Which::Largest | Which::Smallest) {
            return Err(SparseError::invalid(OP, "singular values are the largest or the smallest ones"));
        }
        let others = [hints.mass, hints.preconditioner, hints.inverse];
        if others.iter().any(Option::is_some) || hints.deflate.is_some() {
            return Err(SparseError::invalid(OP, "singular values take a start and a callback, and no other hints"));
        }
        let task = Task::new(asked, a, hints.start.as_ref(), false, hints.progress)?;
        let plain = &task.plain;
        task.asked.check_count(small, "rows or columns")?;
        let start = hints.start.map(|start| start.inner());
        if let Some(start) = &start {
            check_sizes(OP, [small; 2], start)?;
            same_elements(OP, &plain.like, start)?;
        }
        let tall = rows >= cols;
        let (own, transposed) = (plain.a.clone(), plain.a.try_transposed()?);
        let (a_tall, transposed) = if tall { (own, transposed) } else { (transposed, own) };
        let smallest = self.which == Which::Smallest;
        let problem = Problem { task: &task, a: a_tall, transposed, smallest };
        let width = self.block.max(1);
        let size = super::lanczos::basis_size(self.basis, self.count, width);
        let found = match small <= size {
            true => problem.dense()?,
            false => problem.run(start, (size, width))?,
        };
        let residuals = problem.residuals(&found)?;
        let report = task.report(found.stopped, found.iterations, &residuals)?;
        let Triplets { left, values, right, .. } = found;
        let (left, right) = if tall { (left, right) } else { (right, left) };
        let values = values.iter().map(|value| value * plain.size).collect();
        let errors = report.residuals.clone();
        triplets_on_tape(a, task.second(), [left, right], (values, errors), report)
    }
}

/// Triplets on the tape of `A V` and `A^T U`: the eigenpairs `(u, v) / sqrt(2)` of `[[0, A], [A^T, 0]]`, with the
/// others `(u, -v) / sqrt(2)` known as well. `errors` are how wrong the values may be, beside rounding.
///
/// # Errors
///
/// Those of the products.
pub fn triplets_on_tape(
    a: &dyn LinearOperator,
    second: Second,
    [left, right]: [Block; 2],
    (values, errors): (Vec<f64>, Vec<f64>),
    report: SpectrumReport,
) -> Result<SingularTriplets> {
    let [rows, cols] = a.dims();
    let signs = signs(&right);
    let (left, right) = (scaled(&left, &signs), scaled(&right, &signs));
    let root = std::f64::consts::FRAC_1_SQRT_2;
    let vectors = Tensor::cat(
        vec![Tensor::cat(vec![left.clone(), left], 1), Tensor::cat(vec![right.clone(), right.mul_scalar(-1.0)], 1)],
        0,
    );
    let vectors = vectors.mul_scalar(root);
    let transposed = a.try_transposed()?;
    let both = Both { a, transposed: &transposed };
    let zero = 10.0 * eps(vectors.dtype()) * second.norm;
    let zeros: Vec<f64> = values.iter().map(|value| if *value <= zero { 1.0 } else { 0.0 }).collect();
    let adjoint = Adjoint {
        second,
        a: both.without_tape(),
        b: None,
        preconditioner: None,
        inverse: None,
        count: values.len(),
        errors: [errors.clone(), errors].concat(),
        values: values.iter().copied().chain(values.iter().map(|value| -value)).collect(),
        mass: vectors.clone(),
        vectors,
        deflated: None,
    };
    let fixed = adjoint.vectors.clone().narrow(1, 0, values.len());
    let (values, vectors) = on_tape(&both, None, adjoint)?;
    let vectors = match zeros.contains(&1.0) {
        // Vectors of values of 0 may be others.
        true => {
            let constant = match vectors.device().is_autodiff() {
                true => associate(scaled(&fixed, &zeros), &vectors.device()),
                false => scaled(&fixed, &zeros),
            };
            let kept: Vec<f64> = zeros.iter().map(|zero| 1.0 - zero).collect();
            scaled(&vectors, &kept) + constant
        }
        false => vectors,
    };
    let vectors = vectors.mul_scalar(root.recip());
    let [left, right] = [(0, rows), (rows, cols)].map(|(from, count)| vectors.clone().narrow(0, from, count));
    Ok(SingularTriplets { left, values, right, report })
}

/// `[[0, A], [A^T, 0]]`.
#[derive(Debug)]
struct Both<'a> {
    a: &'a dyn LinearOperator,
    transposed: &'a Operator,
}

impl LinearOperator for Both<'_> {
    fn dims(&self) -> [usize; 2] {
        [self.a.dims().iter().sum(); 2]
    }

    fn device(&self) -> Option<Device> {
        self.a.device()
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        let [rows, cols] = self.a.dims();
        let (top, bottom) = (x.clone().narrow(0, 0, rows), x.narrow(0, rows, cols));
        Ok(Tensor::cat(vec![self.a.try_apply(bottom)?, self.transposed.try_apply(top)?], 0))
    }

    fn try_transposed(&self) -> Result<Operator> {
        Operator::try_blocks(vec![
            vec![None, Some(self.transposed.try_transposed()?)],
            vec![Some(self.transposed.clone()), None],
        ])
    }

    fn without_tape(&self) -> Operator {
        let (a, transposed) = (self.a.without_tape(), self.transposed.without_tape());
        Operator::try_blocks(vec![vec![None, Some(a)], vec![Some(transposed), None]]).expect("blocks that fit")
    }
}
