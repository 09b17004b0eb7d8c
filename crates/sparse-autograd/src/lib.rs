//! Put a backward rule of your own on Burn's autodiff tape, and check it.
//!
//! - [`record`] attaches one joint rule to an output that was computed outside the tape;
//! - [`backward_from`] starts the backward pass from a gradient that you have;
//! - [`gradcheck`] compares the gradients of a function with central differences in f64.
//!
//! Nothing here knows of sparse tensors.
//!
//! # Why this crate exists
//!
//! Rust's orphan rule binds every `impl Trait for Autodiff<B, C>` to the crate of the trait. [`Tape`] is the only
//! trait that needs such an impl, so kernels never meet the tape and rules are ordinary code over `Tensor`s.
#![cfg_attr(feature = "ndarray", allow(deprecated))]

mod backward;
mod erased;
mod gradcheck;
mod record;
mod tape;

pub use backward::backward_from;
pub use erased::Erased;
pub use gradcheck::{Gradcheck, GradcheckError, Report, Var, gradcheck};
pub use record::record;
pub use tape::{Rule, Tape};
