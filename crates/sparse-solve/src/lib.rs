//! Linear systems with sparse matrices, with gradients.
//!
//! | what | names |
//! |---|---|
//! | a system, or least squares | [`SolverConfig`] with a [`Method`]; [`Hints`], [`Solution`], [`Report`] |
//! | matrices by what they do | [`LinearOperator`], [`Operator`], [`Batch`] |
//! | systems with a triangle of a matrix | [`solve_triangular`] with a [`Triangle`] |
//! | scalings as preconditioners | [`jacobi`], [`block_jacobi`] |
//! | factors as preconditioners | [`ssor`], [`ic0`], [`ic0_shifted`], [`ilu0`], [`ilut`] |
//! | polynomials as preconditioners | [`polynomial`] |
//! | multigrid | [`AmgConfig`], [`Amg`], [`Smoother`], [`Cycle`] |
//! | eigenvalues, with the feature `direct` | `EigshConfig`, `EigsConfig`; `SpectrumHints`, `Which` |
//! | singular values, with the feature `direct` | `SvdsConfig`, `LowRankConfig` |
//! | factors: systems, determinants, parts of the inverse | `factorize`, `Factor`, `Factorization` (feature `direct`) |
//! | least squares by factors | `lstsq`, `ridge` (feature `direct`) |
//! | Gaussian Markov fields | `SparseGaussian` (feature `direct`) |
//! | estimates of norms | [`onenormest`] |
//! | matrices of finite differences | [`laplacian`], [`from_diagonals`] |
//! | non-linear equations | [`NewtonConfig`] with a [`Jacobian`], [`FixedPointConfig`]; [`Root`], [`NonlinearReport`] |
//! | functions of matrices | [`expm_multiply()`], [`expm_multiply_grid()`], [`FunmConfig`], [`matrix_power()`] |
//! | sparse derivatives | [`sparse_jacobian()`], [`color_columns`], [`color_rows`] |
//! | matrices of finite elements | [`Assembly`], [`from_elements`] |
//!
//! A solve runs where its tensors are. It is deterministic. Gradients reach the right-hand side and whatever the matrix
//! is made of, by the implicit function: one more solve, however many iterations the first one took.
//!
//! This is the crate `sparse-solve`, which `sparse-tensor` has as `solve` with the feature `solve`.

mod amg;
mod assembly;
mod chebyshev;
#[cfg(feature = "direct")]
mod direct;
mod finite;
mod functions;
mod gradient;
mod krylov;
mod method;
mod nonlinear;
mod norm_estimate;
mod operator;
mod preconditioner;
mod report;
mod solver;
#[cfg(feature = "direct")]
mod spectra;
mod stencil;
mod symmetric;
mod tape;
mod triangular;

pub use amg::{Amg, AmgConfig, Cycle, Smoother};
pub use assembly::{Assembly, from_elements};
#[cfg(feature = "direct")]
pub use direct::{Factor, Factorization, SparseGaussian, factorize, lstsq, ridge, try_factorize, try_lstsq, try_ridge};
pub use functions::{
    FunmConfig, expm_multiply, expm_multiply_grid, matrix_power, try_expm_multiply, try_expm_multiply_grid,
    try_matrix_power,
};
pub use krylov::watch::{Progress, Stopped};
pub use method::Method;
pub use nonlinear::{
    FixedPointConfig, Jacobian, NewtonConfig, NonlinearReport, Root, color_columns, color_rows, sparse_jacobian,
    try_sparse_jacobian,
};
pub use norm_estimate::{onenormest, try_onenormest};
pub use operator::{Batch, LinearOperator, Operator};
pub use preconditioner::{
    block_jacobi, ic0, ic0_shifted, ilu0, ilut, jacobi, polynomial, ssor, try_block_jacobi, try_ic0, try_ic0_shifted,
    try_ilu0, try_ilut, try_jacobi, try_polynomial, try_ssor,
};
pub use report::{Hints, Report, Solution};
pub use solver::SolverConfig;
#[cfg(feature = "direct")]
pub use spectra::{
    ComplexPairs, Eigenpairs, EigsConfig, EigshConfig, EigshMethod, LowRankConfig, SingularTriplets, SpectrumHints,
    SpectrumReport, SvdsConfig, Which, eigs, eigsh, pca_lowrank, svd_lowrank, svds, try_eigs, try_eigsh,
    try_pca_lowrank, try_svd_lowrank, try_svds,
};
pub use stencil::{Boundary, from_diagonals, laplacian};
pub use triangular::{Triangle, solve_triangular, try_solve_triangular};
