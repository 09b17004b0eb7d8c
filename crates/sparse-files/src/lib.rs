//! Files of sparse tensors, and the matrices and graphs of other crates.
//!
//! This is the crate `sparse-files`, which `sparse-tensor` has as `io` with the feature `io`, and as `interop` with a
//! feature for each of the other crates.

#[cfg(any(feature = "sprs", feature = "nalgebra", feature = "faer", feature = "petgraph"))]
pub mod interop;
pub mod io;
mod plain;
