//! File formats.

mod edge_list;
pub mod files;
mod limits;
mod matrix_market;
mod npy;
mod npz;
pub mod progress;
mod safetensors;
mod sources;
