//! Layers against PyTorch Geometric and PyTorch, and their errors.

mod case;
mod convolutions;
mod readouts;
