//! Graphs in parts, of which each rank owns one.

pub(super) mod features;
mod message;
pub(super) mod part;
pub(super) mod sampler;
