//! Solvers against dense elimination, their gradients against central differences, their errors.

mod assembly;
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
