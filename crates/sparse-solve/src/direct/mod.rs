//! Factors of sparse matrices on the host, by faer.

mod blocks;
mod condition;
mod core;
mod determinant;
mod factor;
mod gaussian;
mod gradient;
mod host;
mod inverse;
mod kind;
mod least_squares;
mod operator;
mod plan;
mod qr;
mod saved;
mod selected;
mod structure;
mod system;
mod unsymmetric;

pub use factor::{Factor, factorize, try_factorize};
pub use gaussian::SparseGaussian;
pub use kind::Factorization;
pub use least_squares::{lstsq, ridge, try_lstsq, try_ridge};
