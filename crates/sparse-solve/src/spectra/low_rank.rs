//! Approximations of low rank by random products.

use super::bidiagonal::{Problem, Triplets, basis, completed};
use super::block::{Block, join, random_block, times};
use super::plain::Plain;
use super::small::{Small, columns, svd};
use super::svds::{SingularTriplets, triplets_on_tape};
use super::task::{Asked, Task, most};
use crate::krylov::watch::Stopped;
use crate::operator::{LinearOperator, Operator, device_of};
use burn::config::Config;
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::associate;
use sparse_ops::{Result, SparseError};

const OP: &str = "svd_lowrank";

/// An approximation `A = U S V^T` of a rank, by products with a few random columns (Halko, Martinsson and Tropp 2011,
/// algorithms 4.4 and 5.1), and principal components of the rows.
///
/// It is near the best one where the singular values fall; more `iterations` help where they fall slowly. It is no
/// iteration to a tolerance: the report has the residuals `|(A v - s u, A^T u - s v)|`, and which of them are small.
/// For exact triplets use [`SvdsConfig`](crate::SvdsConfig).
///
/// Backward: as of [`SvdsConfig`](crate::SvdsConfig), so a gradient of vectors is as exact as the triplets are; that of
/// a value is `u^T dA v`.
///
/// Cost: `2 iterations + 2` products with `rank` columns. (`torch.svd_lowrank`, `torch.pca_lowrank`.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CsrTensor;
/// use sparse_tensor::solve::{pca_lowrank, svd_lowrank};
///
/// let a = Tensor::<2>::from_floats([[2.0, 0.0], [4.0, 0.0], [0.0, 1.0]], &Device::flex());
/// let a = CsrTensor::<2>::from_dense(a);
/// let found = svd_lowrank(&a, 1);
/// assert!((found.values.into_scalar::<f32>() - 20.0f32.sqrt()).abs() < 1e-3);
/// // Of rows whose mean is taken off, of which no dense matrix is made.
/// assert_eq!(pca_lowrank(&a, 1).right.dims(), [2, 1]);
/// ```
#[derive(Config, Debug)]
pub struct LowRankConfig {
    /// How many triplets. A few more than are of use make these better.
    pub rank: usize,
    /// How often the random columns are multiplied with `A A^T`.
    #[config(default = 2)]
    pub iterations: usize,
    /// Whether principal components are those of rows without their mean.
    #[config(default = true)]
    pub center: bool,
    /// Other numbers give other random columns.
    #[config(default = 0)]
    pub seed: usize,
    /// The tolerance of the solves in the backward pass: by default 1e-5 in f32 and 1e-11 in f64.
    pub relative_gradient: Option<f64>,
    /// Takes the last point of these solves, instead of a panic.
    #[config(default = false)]
    pub accept_unsolved_gradient: bool,
}

/// An approximation of a rank; see [`LowRankConfig`].
///
/// # Errors
///
/// Those of [`LowRankConfig::try_svd`].
#[or_panic]
pub fn try_svd_lowrank(a: &dyn LinearOperator, rank: usize) -> Result<SingularTriplets> {
    LowRankConfig::new(rank).try_svd(a)
}

/// Principal components of the rows: the columns of `right`; see [`LowRankConfig`].
///
/// # Errors
///
/// Those of [`LowRankConfig::try_pca`].
#[or_panic]
pub fn try_pca_lowrank(a: &dyn LinearOperator, rank: usize) -> Result<SingularTriplets> {
    LowRankConfig::new(rank).try_pca(a)
}

impl LowRankConfig {
    /// About the largest triplets of `a` `[M, N]`. In f32, or in f64 if `a` has that.
    ///
    /// # Errors
    ///
    /// `invalid` for a rank of 0 or more than `min(M, N)`, for a batch, if numbers are not finite, and if `a` has no
    /// transposed product; those of the products.
    ///
    /// # Panics
    ///
    /// In the backward pass, if a solve does not reach the tolerance (unless `accept_unsolved_gradient`).
    #[or_panic]
    pub fn try_svd(&self, a: &dyn LinearOperator) -> Result<SingularTriplets> {
        let [rows, cols] = a.dims();
        let asked = Asked {
            op: OP,
            count: self.rank,
            relative: 1e-6,
            absolute: 0.0,
            most: most(None, rows.min(cols)),
            seed: self.seed,
            basis: None,
            accept_unsolved: true,
            relative_gradient: self.relative_gradient,
            accept_unsolved_gradient: self.accept_unsolved_gradient,
        };
        asked.check()?;
        let task = Task::new(asked, a, None, false, None)?;
        let plain = &task.plain;
        task.asked.check_count(rows.min(cols), "rows or columns")?;
        let (own, transposed) = (plain.a.clone(), plain.a.try_transposed()?);
        let problem = Problem { task: &task, a: own, transposed, smallest: false };
        let found = self.find(&problem)?;
        let residuals = problem.residuals(&found)?;
        let report = task.report(found.stopped, found.iterations, &residuals)?;
        let Triplets { left, values, right, .. } = found;
        let values = values.iter().map(|value| value * plain.size).collect();
        // Residuals say little about values that come of a projection: equal are those that differ by rounding.
        let errors = vec![0.0; self.rank];
        triplets_on_tape(a, task.second(), [left, right], (values, errors), report)
    }

    /// The same of the rows without their mean (unless `center` is off), as `A - 1 c^T`: nothing dense is made.
    ///
    /// # Errors
    ///
    /// Those of [`try_svd`](Self::try_svd).
    ///
    /// # Panics
    ///
    /// As [`svd`](Self::svd).
    #[or_panic]
    pub fn try_pca(&self, a: &dyn LinearOperator) -> Result<SingularTriplets> {
        if !self.center || a.dims().contains(&0) {
            return self.try_svd(a);
        }
        let plain = Plain::new(OP, a, None, false)?;
        let [rows, _] = a.dims();
        let mut ones = Tensor::<2>::ones([rows, 1], (&plain.like.device(), plain.like.dtype()));
        if let Some(device) = device_of([a.device()]).filter(Device::is_autodiff) {
            ones = associate(ones, &device);
        }
        let means = a.try_transposed()?.try_apply(ones.clone())?.div_scalar(rows as f64);
        self.try_svd(&Centred { a, ones, means })
    }

    fn find(&self, problem: &Problem<'_, '_>) -> Result<Triplets> {
        let [rows, cols] = problem.a.dims();
        let orthonormal = |x: Block| basis(OP, x.dims()[0], 0, vec![]).orthogonalised(x, 0).map(|(_, found)| found);
        let mut q =
            problem.apply(&random_block(self.seed.wrapping_add(2), [cols, self.rank], &problem.task.plain.like))?;
        for _ in 0..self.iterations {
            let other = orthonormal(problem.apply_transposed(&orthonormal(q)?.q)?)?.q;
            q = problem.apply(&other)?;
        }
        let left = orthonormal(q)?.q;
        // `Q^T A = R^T V^T`.
        let found = orthonormal(problem.apply_transposed(&left)?)?;
        let small = found.r.transpose().to_owned();
        let (p, mut values, w) = match small.nrows() * small.ncols() {
            0 => (Small::zeros(small.nrows(), 0), vec![], Small::zeros(small.ncols(), 0)),
            _ => svd(OP, &small)?,
        };
        // What is missing has values of 0.
        let whole = |basis: &Block, c: &Small, rows: usize| {
            let own = times(basis, &columns(c, &(0..c.ncols()).collect::<Vec<_>>()));
            let missing = Tensor::zeros([rows, self.rank - c.ncols()], (&own.device(), own.dtype()));
            completed(OP, join(own, missing), self.rank)
        };
        let (left, right) = (whole(&left, &p, rows)?, whole(&found.q, &w, cols)?);
        values.resize(self.rank, 0.0);
        Ok(Triplets { left, values, right, stopped: Stopped::Iterations, iterations: self.iterations })
    }
}

/// `A - 1 c^T`.
#[derive(Debug)]
struct Centred<'a> {
    a: &'a dyn LinearOperator,
    ones: Block,
    /// The mean of each column of `A`, as a column.
    means: Block,
}

impl Centred<'_> {
    fn update(ones: Block, means: Block) -> Operator {
        Operator::from(ones) * Operator::from(means.swap_dims(0, 1)) * -1.0
    }
}

impl LinearOperator for Centred<'_> {
    fn dims(&self) -> [usize; 2] {
        self.a.dims()
    }

    fn device(&self) -> Option<Device> {
        device_of([self.a.device(), Some(self.ones.device())])
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        if x.dtype() != self.ones.dtype() {
            return Err(SparseError::dtype_mismatch(
                OP,
                format!("{:?}", self.ones.dtype()).to_lowercase(),
                format!("{:?}", x.dtype()).to_lowercase(),
            ));
        }
        let own = Self::update(self.ones.clone(), self.means.clone());
        Ok(self.a.try_apply(x.clone())? + own.try_apply(x)?)
    }

    fn try_transposed(&self) -> Result<Operator> {
        Ok(self.a.try_transposed()? + Self::update(self.ones.clone(), self.means.clone()).try_transposed()?)
    }

    fn without_tape(&self) -> Operator {
        self.a.without_tape() + Self::update(self.ones.clone().inner(), self.means.clone().inner())
    }
}
