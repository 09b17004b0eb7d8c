//! What the equivalence test does not say: known answers, wrong arguments, hostile inputs, rules against central
//! differences, sparse parameters, and what a loop over fixed patterns finds again.
//!
//! `matmul_reduce` and `gradients` run on the device in `SPARSE_TEST_DEVICE`, the others on the CPU.
#![allow(deprecated)] // NdArray is, and is tested all the same.

mod aligned;
mod answers;
mod entry;
mod gradients;
mod grids;
mod heads;
mod long_sums;
mod matmul_reduce;
mod module;
mod panics;
mod printing;
mod refused;
mod rules;
mod semiring;
mod steps;
