//! Functions of matrices, times vectors.

mod expm;
mod funm;
mod power;
mod taylor;
mod tridiagonal;

pub use expm::{expm_multiply, expm_multiply_grid, try_expm_multiply, try_expm_multiply_grid};
pub use funm::FunmConfig;
pub use power::{matrix_power, try_matrix_power};
