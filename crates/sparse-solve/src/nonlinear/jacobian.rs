//! Sparse Jacobians.

use super::coloring::color_rows;
use super::equation::{Equation, Tangent};
use super::report::column;
use crate::krylov::vectors::{indicator, largest, random, read};
use crate::operator::Operator;
use burn::module::Module;
use burn::tensor::{DType, Int, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Derived, Exact, index_below, kept, read_all, read_data, same_device};
use sparse_ops::pattern::{CsrPattern, Pattern};
use sparse_ops::{CsrTensor, Result, SparseError};
use std::fmt;
use std::sync::Arc;

const OP: &str = "sparse_jacobian";

type Given<M, const D: usize> = Arc<dyn Fn(&M, Tensor<D>) -> CsrTensor<2> + Send + Sync>;
type Precondition = Arc<dyn Fn(&CsrTensor<2>) -> Result<Operator> + Send + Sync>;

/// Where [`NewtonConfig`](crate::NewtonConfig) has its Jacobian from: `[n, n]`, with a row for each element of `F(u)`
/// and a column for each of `u`, both in row-major order.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CsrTensor;
/// use sparse_tensor::solve::{Jacobian, try_jacobi};
///
/// // Of F(u) = u^3 - 8: by its formula, and with its diagonal as preconditioner.
/// let cubic = |_: &Vec<Tensor<1>>, u: Tensor<1>| CsrTensor::from_diagonal(u.square().mul_scalar(3.0));
/// let by_hand = Jacobian::given(cubic).with_preconditioner(try_jacobi);
/// // By the pattern alone.
/// let eye = CsrTensor::<2>::eye(4, &Device::flex());
/// let by_color = Jacobian::<Vec<Tensor<1>>, 1>::colored(eye.pattern());
/// ```
pub struct Jacobian<M, const D: usize> {
    source: Source<M, D>,
    preconditioner: Option<Precondition>,
}

enum Source<M, const D: usize> {
    Given(Given<M, D>),
    Colored(CsrPattern),
    Free,
}

impl<M, const D: usize> fmt::Debug for Jacobian<M, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match &self.source {
            Source::Given(_) => "given",
            Source::Colored(_) => "colored",
            Source::Free => "free",
        };
        f.debug_struct("Jacobian").field("source", &source).finish_non_exhaustive()
    }
}

/// The Jacobian at a point, and about its inverse.
pub(super) struct Linear {
    pub a: Operator,
    pub preconditioner: Option<Operator>,
}

impl<M: Module + Send + Sync + 'static, const D: usize> Jacobian<M, D> {
    /// A function that gives it, of the module and the unknown without the tape.
    pub fn given(f: impl Fn(&M, Tensor<D>) -> CsrTensor<2> + Send + Sync + 'static) -> Self {
        Self { source: Source::Given(Arc::new(f)), preconditioner: None }
    }

    /// By [`sparse_jacobian`] of a pattern that has all of its elements.
    pub fn colored(pattern: &CsrPattern) -> Self {
        Self { source: Source::Colored(pattern.clone()), preconditioner: None }
    }

    /// Nothing is stored. Products with it are forward differences of `F` (Knoll and Keyes 2004), each with one
    /// application of `F` and a relative error of about the root of the dtype's rounding, 3e-4 in f32. So ask little of
    /// the linear solver, as 1e-2. The products of the backward pass are exact. No preconditioner is made of it.
    pub fn free() -> Self {
        Self { source: Source::Free, preconditioner: None }
    }

    /// What makes a preconditioner of each Jacobian, as [`try_ilu0`](crate::try_ilu0), or a factorisation: with the
    /// inverse a Krylov method takes one or two iterations. Not used without a matrix.
    pub fn with_preconditioner(
        mut self,
        make: impl Fn(&CsrTensor<2>) -> Result<Operator> + Send + Sync + 'static,
    ) -> Self {
        self.preconditioner = Some(Arc::new(make));
        self
    }

    /// At `u`, where `value` is `F(u)`.
    pub(super) fn at(
        &self,
        op: &'static str,
        equation: &Equation<M, D>,
        u: &Tensor<D>,
        value: &Tensor<D>,
    ) -> Result<Linear> {
        let n = u.dims().iter().product();
        let matrix = match &self.source {
            Source::Given(f) => f(equation.theta(), u.clone()),
            Source::Colored(pattern) => by_rows(equation, u.clone(), value.clone(), pattern)?,
            Source::Free => {
                let tangent = Tangent::new(equation.clone(), u.clone(), value.clone(), false);
                return Ok(Linear { a: Operator::new(tangent), preconditioner: None });
            }
        };
        let matrix = Module::valid(&matrix);
        if matrix.dims() != [n, n] {
            let rule = "the Jacobian {left} must have a row and a column for each unknown, {right}";
            return Err(SparseError::shape_mismatch(op, rule, matrix.dims(), [n, n]));
        }
        let preconditioner = self.preconditioner.as_ref().map(|make| make(&matrix)).transpose()?;
        Ok(Linear { a: matrix.into(), preconditioner })
    }
}

/// The Jacobian `[M, N]` of a function from `N` to `M` elements at `u`, on a pattern that has all of its elements.
/// Exact to rounding, and not on the tape: Burn's derivatives are of first order.
///
/// `theta` is the module of the function, as for [`NewtonConfig::try_solve`](crate::NewtonConfig::try_solve). Rows are
/// grouped by [`color_rows`], and each group takes one application of `f` on a tape and its backward pass: `J^T w`,
/// with `w` 1 in the rows of the group. So it costs as many of these as there are colours, and one more with random
/// numbers, by which it is checked that no element lies outside the pattern: of each column it sees what is more than
/// 1e-3 (f64: 1e-7) of the column's sum of absolute terms and 1e-4 (1e-10) of the largest one: that much rounding
/// within `f` may be. Colours are kept with
/// the pattern. Memory: `O(nnz + colours N)`.
/// Differences with grouped columns (`scipy.optimize.approx_derivative`) would need less of the function and have half
/// the digits.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::solve::{Boundary, laplacian, sparse_jacobian};
///
/// // F(u) = A u + u^2, whose Jacobian is A + 2 diag(u).
/// let a = laplacian(&[3], Boundary::Dirichlet, &Device::flex()).unwrap();
/// let pattern = a.pattern().clone();
/// let u = Tensor::<1>::from_floats([1.0, 2.0, 3.0], &Device::flex());
/// let jacobian = sparse_jacobian(&a, |a, u: Tensor<1>| a.matmul(u.clone()) + u.square(), u, &pattern);
/// let diagonal: Vec<f32> = jacobian.diagonal().into_data().iter().collect();
/// assert_eq!(diagonal, [4.0, 6.0, 8.0]);
/// ```
///
/// # Errors
///
/// `shape_mismatch` if the pattern has not a row for each element of the result and a column for each of `u`;
/// `unsupported_dtype` for others than f32 and f64, `dtype_mismatch`, `device_mismatch`; `invalid` for derivatives that
/// are not finite, and if some of them lie outside the pattern: the message names the column.
#[or_panic]
pub fn try_sparse_jacobian<M, F, const D: usize, const E: usize>(
    theta: &M,
    f: F,
    u: Tensor<D>,
    pattern: &CsrPattern,
) -> Result<CsrTensor<2>>
where
    M: Module + Send + Sync + 'static,
    F: Fn(&M, Tensor<D>) -> Tensor<E> + Send + Sync + 'static,
{
    let u = if u.is_autodiff() { u.inner() } else { u };
    let equation = Equation::new(OP, theta, f, &u)?;
    let value = equation.eval(u.clone())?;
    by_rows(&equation, u, value, pattern)
}

/// The colours of a pattern's rows, and where its elements are among the products of all colours.
#[derive(Clone)]
struct Plan {
    count: usize,
    colors: Tensor<1, Int>,
    places: Tensor<1, Int>,
}

impl Derived for Plan {
    fn held(&self) -> usize {
        self.colors.dims()[0] + self.places.dims()[0]
    }
}

impl Plan {
    fn of(pattern: &CsrPattern) -> Result<Self> {
        let (colors, device) = (color_rows(pattern)?, pattern.device());
        let count = colors.iter().max().map_or(0, |most| most + 1);
        let [rows, cols] = [pattern.row_ids(), pattern.col_idx()].map(|ids| read_all(ids.clone()));
        let place = |(row, col): (i64, i64)| colors[row as usize] * pattern.cols() + col as usize;
        let places: Vec<usize> = rows.into_iter().zip(cols).map(place).collect();
        let places = index_below(&places, (count * pattern.cols()).max(1), &device);
        Ok(Self { count, colors: index_below(&colors, count.max(1), &device), places })
    }
}

#[derive(PartialEq, Eq)]
struct Rows;

fn by_rows<M: Module + Send + Sync + 'static, const D: usize, const E: usize>(
    equation: &Equation<M, D, E>,
    u: Tensor<D>,
    value: Tensor<E>,
    pattern: &CsrPattern,
) -> Result<CsrTensor<2>> {
    let [rows, cols] = [value.dims().iter().product(), u.dims().iter().product()];
    if pattern.shape() != [rows, cols] {
        let rule = "the pattern {left} must have a row for each element of F(u) and a column for each of u, {right}";
        return Err(SparseError::shape_mismatch(OP, rule, pattern.shape().to_vec(), [rows, cols]));
    }
    same_device(OP, &pattern.device(), &u.device())?;
    if pattern.nnz() == 0 && rows * cols == 0 {
        return CsrTensor::from_pattern(pattern.clone(), Tensor::<1>::zeros([0], (&u.device(), u.dtype())));
    }
    // A pattern that is no matrix was refused above, so there is nothing else that fails.
    let plan = kept(pattern, Rows, || Plan::of(pattern).expect("a matrix"));
    let product = |weights: Tensor<1>| {
        let out = equation.vjp(u.clone(), weights.reshape(Exact(value.dims())));
        out.reshape(Exact([cols]))
    };
    let group = |color: usize| {
        let own = plan.colors.clone().equal_elem(color as i64);
        let zeros = Tensor::<1>::zeros([rows], (&u.device(), u.dtype()));
        product(zeros.mask_fill(own, 1.0))
    };
    let values = match pattern.nnz() {
        0 => Tensor::zeros([0], (&u.device(), u.dtype())),
        _ => Tensor::cat((0..plan.count).map(group).collect(), 0).select(0, plan.places.clone()),
    };
    let out = CsrTensor::from_pattern(pattern.clone(), values)?;
    check(&out, product, &value)?;
    Ok(out)
}

/// Compares `J^T w` of the matrix with that of the function, for a `w` of random numbers: each column by the size of
/// its own terms, so that a small one is seen beside large ones.
fn check<const E: usize>(
    matrix: &CsrTensor<2>,
    product: impl Fn(Tensor<1>) -> Tensor<1>,
    value: &Tensor<E>,
) -> Result<()> {
    let [rows, _] = matrix.dims();
    let weights = random(0, rows, &column(value.clone())).reshape(Exact([rows]));
    let terms = column(matrix.abs().transpose().matmul(weights.clone().abs()));
    let (want, own) = (product(weights.clone()), matrix.transpose().matmul(weights));
    let (differences, want) = (column(want.clone() - own), column(want));
    let (share, rounding) = if value.dtype() == DType::F64 { (1e-7, 1e-10) } else { (1e-3, 1e-4) };
    let excess = differences.clone().abs() - terms.clone().mul_scalar(share) - largest(&terms).mul_scalar(rounding);
    // Not where it is no number.
    let fits = indicator(excess.clone().lower_equal_elem(0.0), &excess).min_dim(1);
    if read([&fits])[0] == [1.0] {
        return Ok(());
    }
    let list = |all: Tensor<3>| read_data(all).convert::<f64>().iter::<f64>().collect::<Vec<_>>();
    let [differences, want, excess] = [differences, want, excess].map(list);
    if let Some(col) = want.iter().chain(&differences).position(|number| !number.is_finite()) {
        let message = format!("the derivatives must be finite, got others in column {}", col % want.len());
        return Err(SparseError::invalid(OP, message));
    }
    let worst = (0..want.len()).max_by(|&a, &b| excess[a].total_cmp(&excess[b]));
    let message = format!(
        "the pattern must have every element of the Jacobian, got others in column {}",
        worst.expect("one that does not fit")
    );
    Err(SparseError::invalid(OP, message))
}
