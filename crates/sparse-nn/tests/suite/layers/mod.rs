//! Layers against PyTorch Geometric and PyTorch, and their errors.

mod aggregations;
mod attention;
mod case;
mod convolutions;
mod errors;
mod knowledge;
mod links;
mod messages;
mod readouts;
