//! Solvers against dense elimination, their gradients against central differences, their errors.

mod assembly;
mod factor_gradients;
mod factor_uses;
mod factors;
mod functions;
mod gaussian;
mod gradients;
mod groups;
mod least_squares;
mod multigrid;
mod newton;
mod nonlinear;
mod not_finite;
mod operators;
mod preconditioners;
mod random;
mod refused;
mod scales;
mod scipy_cases;
mod second;
mod solutions;
mod spectra;
mod stencils;
mod structured;
mod triangles;
mod unsolved;
