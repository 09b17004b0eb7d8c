//! Solvers against dense elimination, their gradients against central differences, their errors.

mod gradients;
mod operators;
mod random;
mod refused;
mod solutions;
mod stencils;
