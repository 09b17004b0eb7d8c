//! Parts of a graph that are small enough to train on: sampled neighbours, subgraphs, random walks, clusters.
//!
//! Everything random takes a seed. The result depends on the seed, not on the number of threads or workers.

mod budget;
pub(super) mod by_time;
pub(super) mod cluster;
#[cfg(feature = "dataset")]
pub(super) mod data_loader;
pub(super) mod last;
pub(super) mod links;
pub(super) mod loader;
pub(super) mod metapath;
pub(crate) mod neighbors;
pub(super) mod node_map;
pub(super) mod saint;
pub(crate) mod sampler;
pub(super) mod seeds;
pub(super) mod shadow;
pub(super) mod subgraph;
pub(super) mod typed;
pub(super) mod typed_batch;
pub(super) mod walks;
