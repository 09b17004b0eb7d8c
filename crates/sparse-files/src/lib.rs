//! Files of sparse tensors, and the matrices and graphs of other crates: a wing of
//! [sparse-tensor](https://docs.rs/sparse-tensor).

#[cfg(any(feature = "sprs", feature = "nalgebra", feature = "faer", feature = "petgraph"))]
pub mod interop;
pub mod io;
mod plain;
