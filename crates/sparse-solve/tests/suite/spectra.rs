//! Eigenvalues and singular values.

mod edges;
mod general;
pub mod helpers;
mod singular;
mod symmetric;
mod symmetric_gradients;
mod symmetric_refused;
