//! About the inverse of a matrix. Preconditioners take no gradient, and are not on the tape.

mod block_jacobi;
mod factors;
mod ic0;
mod ilu0;
mod ilut;
mod jacobi;
mod polynomial;
mod spectrum;
mod ssor;

pub use block_jacobi::{block_jacobi, try_block_jacobi};
pub use ic0::{ic0, ic0_shifted, try_ic0, try_ic0_shifted};
pub use ilu0::{ilu0, try_ilu0};
pub use ilut::{ilut, try_ilut};
pub use jacobi::{jacobi, try_jacobi};
pub use polynomial::{polynomial, try_polynomial};
pub use ssor::{ssor, try_ssor};
