//! Every rule against central differences in f64, on every CPU backend of the build, with and without gradient
//! checkpointing.
//!
//! With `SPARSE_TEST_DEVICE` set to a GPU: every rule there, in f32, against Flex in f64.

mod arithmetic;
mod dense;
mod functions;
mod graph;
mod heads;
mod nothing;
mod patterns;
mod reductions;
mod selection;
mod structure;
mod wide;
