//! One model trained by several processes or threads: the wing [`sparse_ranks`], whose page says how; and a graph in
//! parts, of which each rank owns one (feature `mmap`).

#[cfg(feature = "mmap")]
pub use sparse_graphs::parts::{PartFeatures, PartSampler, Partition};
pub use sparse_ranks::*;
