//! Formats, printing, graphs, layers and the training that they are for.
#![allow(missing_docs)]

#[path = "gcn/data.rs"]
mod data;
#[path = "common/device.rs"]
mod device;
#[path = "gcn/matrix_market.rs"]
mod matrix_market;
#[path = "gcn/nn.rs"]
mod nn;
#[path = "gcn/printing.rs"]
mod printing;
#[path = "gcn/safetensors.rs"]
mod safetensors;
#[path = "gcn/training.rs"]
mod training;
