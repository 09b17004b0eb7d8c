//! What the equivalence test does not say: known answers, wrong arguments, hostile inputs, rules against central
//! differences, files, layers, training, what a loop over fixed patterns finds again, and the links of the book.
//!
//! `matmul_reduce`, `gradients` and `io::safetensors` run on the device in `SPARSE_TEST_DEVICE`, the others on the CPU.
#![allow(deprecated)] // NdArray is, and is tested all the same.

mod algorithms;
mod answers;
mod api;
mod book;
mod data;
#[cfg(feature = "dataset")]
mod data_loader;
mod defaults;
#[path = "../common/device.rs"]
mod device;
mod draw;
mod entry;
mod gradients;
mod heads;
mod io;
mod labelled;
mod layers;
mod long_sums;
mod mapped;
mod matmul_reduce;
mod mistakes;
mod module;
mod nn;
mod panics;
mod parallel;
mod partition;
#[path = "../common/parts.rs"]
mod parts;
mod plot;
mod printing;
mod ranking;
mod raw_graphs;
mod refused;
mod row_table;
mod rules;
mod sampling;
#[path = "../common/shares.rs"]
mod shares;
mod solve;
mod steps;
mod training;
