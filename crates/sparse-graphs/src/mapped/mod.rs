//! Graphs and features in files that are larger than memory.

pub(crate) mod features;
pub(crate) mod graph;
pub(crate) mod hot;
