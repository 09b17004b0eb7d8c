//! Layers against PyTorch Geometric and PyTorch, their errors, their rules against central differences.
#![allow(deprecated)] // NdArray is, and is tested all the same.

mod clip;
mod fused_adam;
mod gradients;
mod group_mm;
mod layers;
mod nn;
mod row_table;
