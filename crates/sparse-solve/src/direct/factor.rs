//! Factors, and solutions with them.

use super::core::Core;
use super::gradient::Solve;
use super::host::{each, numbers};
use super::kind::Factorization;
use super::structure::{Source, Structure, sizes_of};
use super::system::{Place, System};
use crate::finite::{place_of, told};
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Exact, Parts, same_elements};
use sparse_ops::pattern::Pattern;
use sparse_ops::{Result, SparseError, SparseTensor};
use std::fmt;
use std::sync::Arc;

/// The factors of a sparse matrix, or of each matrix of a batch: made by [`factorize`](crate::factorize()).
///
/// A [`LinearOperator`](crate::LinearOperator): the inverse. So it is a preconditioner for
/// [`Hints`](crate::Hints), and the inverse of a shifted matrix where one is asked for.
///
/// Clones share their data. The factors are f64 whatever the dtype of the matrix.
#[derive(Clone)]
pub struct Factor {
    pub(super) values: Tensor<2>,
    pub(super) core: Arc<Core>,
    pub(super) steps: usize,
}

impl fmt::Debug for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [systems, rows, cols] = self.core.structure.sizes;
        let sizes = if self.core.batched { vec![systems, rows, cols] } else { vec![rows, cols] };
        f.debug_struct("Factor").field("how", &self.core.how).field("dims", &sizes).finish_non_exhaustive()
    }
}

/// Factors a sparse matrix `[N, N]`, of [`Factorization::Qr`] `[M, N]`, or each matrix of a batch `[B, M, N]`.
///
/// The symbolic phase (the fill-reducing order and the pattern of the factors) is kept with the pattern of `a`, so that
/// other values on the same pattern take the numeric phase only. The matrices of a batch share it while patterns that
/// follow each other are equal, and are shared out to threads. f32 and f64; the factors are f64. Cost: that of faer's
/// factorisation, which uses all threads, and `O(nnz)` to read the matrix. It runs on the host: of a matrix on a GPU
/// the values are read once. With any number of threads that faer uses the last bits may differ.
///
/// `a` on the tape: solutions, determinants and inverses have gradients with respect to its stored elements. Duplicates
/// count as their sum. A fill of zero, or `Undefined`, which takes no part.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CsrTensor;
/// use sparse_tensor::solve::{Factorization, factorize};
///
/// let device = Device::flex().autodiff();
/// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[4.0, 1.0], [1.0, 3.0]], &device)).require_grad();
/// let factor = factorize(&a, Factorization::Cholesky);
/// let x = factor.solve(Tensor::<1>::from_floats([1.0, 2.0], &device));
/// for (x, want) in x.clone().into_data().iter::<f32>().zip([1.0 / 11.0, 7.0 / 11.0]) {
///     assert!((x - want).abs() < 1e-6);
/// }
/// assert!((factor.logdet().into_scalar::<f32>() - 11.0_f32.ln()).abs() < 1e-6);
/// assert_eq!(a.grad(&x.sum().backward()).unwrap().nnz(), 4);
/// ```
///
/// # Errors
///
/// `invalid` that names the row: of numbers that are not finite, of elements that differ on the sides of the diagonal
/// (by more than 1e-6 of the geometric mean of the largest of their row and of that of their column) for `Cholesky` and
/// `Ldlt`, of a pivot that is not positive or is zero, of factors whose numbers overflow, of a row (of `Qr` a column,
/// unless `M < N`) that depends on others: the first one in the order of elimination that those before it make, so of
/// two equal rows it may be either; `shape_mismatch`, `fill_mismatch`, `unsupported_dtype`.
#[or_panic]
pub fn try_factorize<P: Pattern, const D: usize>(a: &SparseTensor<P, D>, how: Factorization) -> Result<Factor> {
    const OP: &str = "factorize";
    let sizes = sizes_of(OP, a, how)?;
    let a = a.coalesce();
    let structure = Structure::of(OP, a.pattern(), sizes, how.family(), Source::Pattern)?;
    Factor::new(OP, structure, a.rows().clone(), how, D == 3)
}

impl Factor {
    pub(super) fn new(
        op: &'static str,
        structure: Arc<Structure>,
        values: Tensor<2>,
        how: Factorization,
        batched: bool,
    ) -> Result<Self> {
        let list = numbers(values.clone().inner());
        let count = structure.plans.iter().filter(|(plan, _)| plan.is_some()).count();
        let make = |system: usize, par| {
            let plan = structure.plans[system].0.clone().expect("counted");
            let place = Place { op, system: batched.then_some(system) };
            System::new(place, plan, how, list[structure.values(system)].to_vec(), par)
        };
        let systems = each(count, make).into_iter().collect::<Result<_>>()?;
        Ok(Self { values, core: Arc::new(Core { how, structure, systems, batched }), steps: 0 })
    }

    /// The factors of other values on the same pattern: the numeric phase alone. The result has gradients with respect
    /// to `a`. Another pattern object with the same elements is compared once, in `O(nnz)`, and takes the symbolic
    /// phase over.
    ///
    /// # Errors
    ///
    /// Those of [`try_factorize`]; `invalid` if other elements are stored.
    #[or_panic]
    pub fn try_refactorize<P: Pattern, const D: usize>(&self, a: &SparseTensor<P, D>) -> Result<Self> {
        const OP: &str = "Factor::refactorize";
        let (sizes, core) = (sizes_of(OP, a, self.core.how)?, &self.core);
        let a = a.coalesce();
        let structure = Structure::of(OP, a.pattern(), sizes, core.how.family(), Source::Like(&core.structure))?;
        let factor = Self::new(OP, structure, a.rows().clone(), core.how, core.batched)?;
        Ok(Self { steps: self.steps, ..factor })
    }

    /// Solutions with `steps` of iterative refinement: `x + A^-1 (b - A x)`, where the residual is f64. One step is
    /// enough where the factors are any good; of `Ldlt` and of small pivots it gets digits back.
    pub fn with_refinement(self, steps: usize) -> Self {
        Self { steps, ..self }
    }

    /// Which factors they are.
    pub fn kind(&self) -> Factorization {
        self.core.how
    }

    /// `x` with `A x = b`: `b` `[M]` or `[M, F]` (a system for each column) to `[N]` or `[N, F]`; of a batch `[B, M]`
    /// or `[B, M, F]`. Of [`Factorization::Qr`] the solution of least squares, or the shortest one.
    ///
    /// Backward: `d b = A^-T d x` with the factors that exist, and `d a_ij = -(d b)_i x_j` at the stored elements
    /// (SDDMM). Of a symmetric matrix each stored element gets its own gradient. Of least squares `A` has a second term
    /// (Golub and Pereyra 1973): with `l = d b`, `r (A^+ l)^T` of a tall matrix with `r = b - A x`, and
    /// `y (d x - A^T l)^T` with `y = (A^+)^T x` of a wide one. Memory: `O(nnz + n F)`, beside the factors.
    ///
    /// Cost: `O(F)` times the elements of the factors, forward and backward each. Rounding in f64 only; the result has
    /// the dtype of `b`, which must be that of `A`.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `dtype_mismatch`, `device_mismatch`; `invalid` for a number of `b` that is not finite, with
    /// its row. (As an operator a factor gives NaN there, and so does the backward pass.)
    #[or_panic]
    pub fn try_solve<const D: usize>(&self, b: Tensor<D>) -> Result<Tensor<D>> {
        self.solution("Factor::solve", b, false)
    }

    /// `x` with `A^T x = b`; of [`Factorization::Qr`] `(A^+)^T b`. Gradients as in [`try_solve`](Self::try_solve).
    ///
    /// # Errors
    ///
    /// Those of [`try_solve`](Self::try_solve).
    #[or_panic]
    pub fn try_solve_transposed<const D: usize>(&self, b: Tensor<D>) -> Result<Tensor<D>> {
        self.solution("Factor::solve_transposed", b, true)
    }

    fn solution<const D: usize>(&self, op: &'static str, b: Tensor<D>, transposed: bool) -> Result<Tensor<D>> {
        let [systems, rows, cols] = self.core.structure.sizes;
        let [rows, cols] = if transposed { [cols, rows] } else { [rows, cols] };
        let head = if self.core.batched { vec![systems, rows] } else { vec![rows] };
        let dims = b.dims();
        if D < head.len() || D > head.len() + 1 || dims[..head.len()] != head[..] {
            let rule = "the right-hand side {left} must have the rows of {right}, and columns or none";
            return Err(SparseError::shape_mismatch(op, rule, dims, head));
        }
        same_elements(op, &self.values, &b)?;
        let width = dims[head.len()..].iter().product();
        let mut out_dims = dims;
        out_dims[head.len() - 1] = cols;
        let b = b.reshape(Exact([systems * rows, width]));
        let list = numbers(b.clone().inner());
        if let Some(at) = list.iter().position(|number| !number.is_finite()) {
            let place = place_of(at, [rows, width], self.core.batched.then_some(0));
            return Err(told(op, "the numbers of the right-hand side", &place));
        }
        Ok(self.solved(b, &list, transposed).reshape(Exact(out_dims)))
    }

    /// Of columns `[systems * rows, F]`, on the tape. What is not finite gives NaN.
    pub(super) fn columns(&self, b: Tensor<2>, transposed: bool) -> Tensor<2> {
        let list = numbers(b.clone().inner());
        self.solved(b, &list, transposed)
    }

    fn solved(&self, b: Tensor<2>, list: &[f64], transposed: bool) -> Tensor<2> {
        Solve { core: self.core.clone(), steps: self.steps, transposed }.on_tape(&self.values, b, list)
    }

    /// The device of the matrix.
    pub(super) fn home(&self) -> Device {
        self.values.device()
    }

    /// The same without the tape.
    pub(super) fn plain(&self) -> Self {
        Self { values: self.values.clone().inner(), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Factorization, Source, Structure, factorize};
    use crate::{Boundary, laplacian};
    use burn::tensor::Device;
    use sparse_ops::CsrTensor;
    use std::sync::Arc;

    /// Other patterns with the same elements take the symbolic phase over, and keep it; an error is not kept.
    #[test]
    fn taken_over_by_an_equal_pattern() {
        let grid = || -> CsrTensor<2> { laplacian(&[4, 3], Boundary::Dirichlet, &Device::flex()).unwrap() };
        let factor = factorize(&grid(), Factorization::Lu);
        let other = grid();
        let again = factor.refactorize(&other);
        assert!(Arc::ptr_eq(&again.core.systems[0].plan, &factor.core.systems[0].plan));
        assert!(Arc::ptr_eq(&factor.refactorize(&other).core.structure, &again.core.structure));
        let of = |a: &CsrTensor<2>| {
            Structure::of("test", a.pattern(), [1, 12, 12], Factorization::Lu.family(), Source::Pattern)
        };
        let eye = CsrTensor::<2>::eye(12, &Device::flex());
        assert!(factor.try_refactorize(&eye).is_err());
        assert!(of(&eye).is_ok());
        assert!(factor.try_refactorize(&eye).is_err());
    }
}
