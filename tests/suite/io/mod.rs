//! File formats.

mod edge_list;
pub mod files;
mod matrix_market;
mod npy;
mod npz;
pub mod progress;
mod safetensors;
