//! Gated sums of neighbours: an operation with a backward rule of its own, a layer, and a file format.
//!
//! Everything works on both layouts and on every backend. It is written with the public API of sparse-tensor and with
//! `sparse_tensor::extend`.

mod gated;
mod layer;
pub mod tns;

pub use gated::{gated_sum, try_gated_sum};
pub use layer::{GatedConv, GatedConvConfig};
