//! Graphs and features in files that are larger than memory.

pub(super) mod features;
pub(super) mod graph;
