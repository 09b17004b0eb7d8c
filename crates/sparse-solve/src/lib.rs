//! Linear systems with sparse matrices, with gradients.
//!
//! | what | names |
//! |---|---|
//! | a system, or least squares | [`SolverConfig`] with a [`Method`]; [`Hints`], [`Solution`], [`Report`] |
//! | matrices by what they do | [`LinearOperator`], [`Operator`], [`Batch`] |
//! | preconditioners | [`jacobi`]; multigrid: [`AmgConfig`], [`Amg`], [`Smoother`], [`Cycle`] |
//! | matrices of finite differences | [`laplacian`], [`from_diagonals`] |
//!
//! A solve runs where its tensors are. It is deterministic. Gradients reach the right-hand side and whatever the matrix
//! is made of, by the implicit function: one more solve, however many iterations the first one took.
//!
//! This is the crate `sparse-solve`, which `sparse-tensor` has as `solve` with the feature `solve`.

mod amg;
mod gradient;
mod krylov;
mod method;
mod operator;
mod preconditioner;
mod report;
mod solver;
mod stencil;

pub use amg::{Amg, AmgConfig, Cycle, Smoother};
pub use krylov::watch::{Progress, Stopped};
pub use method::Method;
pub use operator::{Batch, LinearOperator, Operator};
pub use preconditioner::{jacobi, try_jacobi};
pub use report::{Hints, Report, Solution};
pub use solver::SolverConfig;
pub use stencil::{Boundary, from_diagonals, laplacian};
