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
//! | matrices of finite differences | [`laplacian`], [`from_diagonals`] |
//! | matrices of finite elements | [`Assembly`], [`from_elements`] |
//!
//! A solve runs where its tensors are. It is deterministic. Gradients reach the right-hand side and whatever the matrix
//! is made of, by the implicit function: one more solve, however many iterations the first one took.
//!
//! This is the crate `sparse-solve`, which `sparse-tensor` has as `solve` with the feature `solve`.

mod amg;
mod assembly;
mod gradient;
mod krylov;
mod method;
mod operator;
mod preconditioner;
mod report;
mod solver;
mod stencil;
mod triangular;

pub use amg::{Amg, AmgConfig, Cycle, Smoother};
pub use assembly::{Assembly, from_elements};
pub use krylov::watch::{Progress, Stopped};
pub use method::Method;
pub use operator::{Batch, LinearOperator, Operator};
pub use preconditioner::{
    block_jacobi, ic0, ic0_shifted, ilu0, ilut, jacobi, polynomial, ssor, try_block_jacobi, try_ic0, try_ic0_shifted,
    try_ilu0, try_ilut, try_jacobi, try_polynomial, try_ssor,
};
pub use report::{Hints, Report, Solution};
pub use solver::SolverConfig;
pub use stencil::{Boundary, from_diagonals, laplacian};
pub use triangular::{Triangle, solve_triangular, try_solve_triangular};
