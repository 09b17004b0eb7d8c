//! Solvers against dense elimination, their gradients against central differences, their errors.

mod factor_gradients;
mod factor_uses;
mod factors;
mod gaussian;
mod gradients;
mod least_squares;
mod multigrid;
mod operators;
mod preconditioners;
mod random;
mod refused;
mod scales;
mod second;
mod solutions;
mod stencils;
mod structured;
mod triangles;
mod unsolved;
