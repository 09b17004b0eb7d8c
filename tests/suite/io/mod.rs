//! File formats.

mod matrix_market;
mod safetensors;
