//! How a hierarchy is made.

use burn::config::Config;
use serde::{Deserialize, Serialize};
use sparse_ops::{Result, SparseError};

/// Names the set-up in errors.
pub(super) const OP: &str = "AmgConfig::setup";

/// The order in which levels are visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cycle {
    /// Each level once down and once up.
    V,
    /// Each level corrects twice: more robust, and slower on a GPU, where coarse levels are many small launches.
    W,
}

/// What damps the rough part of an error. Both are polynomials in `D^-1 A`, with `D` the diagonal, so a cycle with as
/// many sweeps before as after the correction is symmetric, and each sweep is a sparse product on any device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Smoother {
    /// `x += w D^-1 (b - A x)`, with `w` this number over a bound of the spectral radius of `D^-1 A`: above 0, below 2.
    /// The bound is the smaller one of the largest row sum (Gershgorin), which is always safe, and 1.1 times what ten
    /// Lanczos steps find from below. A cycle is positive definite as long as no eigenvalue is larger than it.
    Jacobi(f64),
    /// Chebyshev's polynomial of this degree over the upper part of the spectrum of `D^-1 A`, from a tenth of that
    /// bound to the bound (Adams, Brezina, Hu and Tuminaro 2003). A sweep has as many products as the degree.
    Chebyshev(usize),
}

/// Algebraic multigrid by smoothed aggregation, for symmetric positive (semi)definite matrices: a preconditioner for
/// `Cg` whose iterations hardly grow with the size, and a solver of its own by
/// [`Amg::try_cycle`](crate::Amg::try_cycle).
///
/// On each level unknowns that are strongly connected, `|a_ij| >= theta sqrt(a_ii a_jj)`, form aggregates. The
/// tentative prolongation `T` has the near-null-space candidates in orthonormal parts, one part in each aggregate. It
/// is smoothed, `P = (I - omega / rho D^-1 A_F) T`, with the diagonal `D` and a bound `rho` of the spectral radius of
/// `D^-1 A_F` as in [`Smoother::Jacobi`]. `A_F` is `A` without its weak connections, which are added to the diagonal;
/// with several unknowns of a node each is added to the element of its row and its component inside the row's node, and
/// left out where that is not stored. The next matrix is `P^T A P`. The coarsest system is solved by the pseudo-inverse
/// of `D^-1/2 A D^-1/2`, scaled back, so singular matrices (Neumann's) work. Where coarsening ends above `max_coarse`
/// rows, the coarsest level is smoothed instead.
///
/// A symmetric matrix is asked for, and not checked. No gradient reaches it through the preconditioner; solutions that
/// were found with one have their gradients.
///
/// Cost: the set-up reads the matrix of each level from the device, and runs partly on the host. `O(nnz)` time and
/// memory of about twice the matrices, and for the coarsest system `O(max_coarse^3)` time, serial, and a dense matrix
/// of up to `max_coarse^2` numbers. [`Amg::try_refresh`](crate::Amg::try_refresh) repeats it with other values in less
/// time. A cycle reads nothing. With the defaults it has four sparse products a level: the residual, to the next level,
/// back, and the sweep after it; the sweep before starts from 0 and has none. (PyAMG's
/// `smoothed_aggregation_solver`.) Source: Vanek, Mandel and Brezina, *Algebraic multigrid by smoothed aggregation for
/// second and fourth order elliptic problems*, Computing 56, 1996.
///
/// ```
/// use burn::tensor::{DType, Device, Tensor};
/// use sparse_tensor::solve::{AmgConfig, Boundary, Hints, Method, SolverConfig, laplacian};
///
/// let options = (&Device::flex(), DType::F64);
/// let a = laplacian(&[40, 40], Boundary::Dirichlet, options).unwrap();
/// let amg = AmgConfig::new().setup(&a);
/// assert!(amg.operator_complexity() < 1.5);
/// let hints = Hints { preconditioner: Some(&amg), ..Hints::default() };
/// let solution = SolverConfig::new(Method::Cg).try_solve_with(&a, Tensor::<1>::ones([1600], options), hints).unwrap();
/// assert!(solution.report.iterations < 15);
/// ```
#[derive(Config, Debug)]
pub struct AmgConfig {
    /// Weaker connections than this are left out: 0 for none, about 0.1 to 0.5 for anisotropic matrices.
    #[config(default = 0.0)]
    pub theta: f64,
    /// The most levels.
    #[config(default = 10)]
    pub max_levels: usize,
    /// A level of at most this many rows is the coarsest, and is solved by a dense pseudo-inverse.
    #[config(default = 200)]
    pub max_coarse: usize,
    /// Sweeps of the smoother before the correction.
    #[config(default = 1)]
    pub pre_sweeps: usize,
    /// Sweeps after it. A preconditioner of `Cg` needs as many as before.
    #[config(default = 1)]
    pub post_sweeps: usize,
    /// The order of the levels.
    #[config(default = "Cycle::V")]
    pub cycle: Cycle,
    /// The smoother.
    #[config(default = "Smoother::Jacobi(4.0 / 3.0)")]
    pub smoother: Smoother,
    /// How much the prolongation is smoothed: from 0 (not at all) to below 2.
    #[config(default = "4.0 / 3.0")]
    pub omega: f64,
    /// Unknowns of a node, which stand one behind the other: the dimension for displacements. They share an aggregate,
    /// and without other candidates there is a constant for each of them.
    #[config(default = 1)]
    pub unknowns: usize,
}

impl AmgConfig {
    /// # Errors
    ///
    /// `invalid` for a setting out of its range.
    pub(super) fn check(&self, rows: usize) -> Result<()> {
        let wrong = |rule: &str, got: String| Err(SparseError::invalid(OP, format!("{rule}, got {got}")));
        if !(0.0..1.0).contains(&self.theta) {
            return wrong("theta must be in [0, 1)", self.theta.to_string());
        }
        if !(0.0..2.0).contains(&self.omega) {
            return wrong("omega must be in [0, 2)", self.omega.to_string());
        }
        match self.smoother {
            Smoother::Jacobi(factor) if !(factor > 0.0 && factor < 2.0) => {
                return wrong("the factor of Jacobi must be in (0, 2)", factor.to_string());
            }
            Smoother::Chebyshev(0) => return wrong("the degree of Chebyshev must be at least 1", "0".to_string()),
            _ => {}
        }
        if self.max_levels == 0 {
            return wrong("there must be at least one level", "max_levels 0".to_string());
        }
        if self.pre_sweeps + self.post_sweeps == 0 {
            return wrong("there must be at least one sweep", "none before and none after".to_string());
        }
        if self.unknowns == 0 || !rows.is_multiple_of(self.unknowns) {
            let got = format!("{rows} rows for {} unknowns of a node", self.unknowns);
            return wrong("the rows must be those of whole nodes", got);
        }
        Ok(())
    }
}
