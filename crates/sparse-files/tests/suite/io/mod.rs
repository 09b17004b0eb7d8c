//! File formats.

mod edge_list;
mod limits;
mod matrix_market;
mod npy;
mod npz;
mod progress;
mod safetensors;
mod sources;
