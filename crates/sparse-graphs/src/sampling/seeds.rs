//! What samplers have in common: seeds that are nodes, and seeds that are edges.

#[cfg(doc)]
use super::links::LinkSampler;
#[cfg(doc)]
use super::loader::{NeighborLoader, SampledBy};
#[cfg(doc)]
use super::sampler::NeighborSampler;
#[cfg(doc)]
use super::typed::HeteroSampler;
use sparse_nn::NodePairs;
use sparse_ops::Result;

/// What a [`NeighborLoader`] draws from: [`NeighborSampler`], [`HeteroSampler`], [`SampledBy`] a function, or a sampler
/// of your own.
pub trait SeedSampler: Clone + Send + Sync + 'static {
    /// What is drawn around some seeds.
    type Batch: Send + 'static;

    /// Number of nodes that can be seeds (of edges, where edges are the seeds).
    fn seed_nodes(&self) -> usize;

    /// A batch around `seeds`, which are nodes. The same `draw` gives the same batch.
    ///
    /// # Panics
    ///
    /// Where there is no batch, for instance for too many nodes.
    fn batch(&self, seeds: &[usize], draw: u64) -> Self::Batch;
}

/// What a [`LinkSampler`] draws from: [`NeighborSampler`], [`HeteroSampler`], or a sampler of your own.
pub trait LinkEnds: Clone + Send + Sync + 'static {
    /// What is drawn around the ends of some pairs.
    type Batch: Send + 'static;

    /// Number of nodes that can be sources, and of those that can be targets.
    fn counts(&self) -> [usize; 2];

    /// A batch around the ends of `pairs`, which are in range, and the pairs as rows of its seeds. `times` has the time
    /// of each pair. The same `draw` gives the same batch.
    ///
    /// # Errors
    ///
    /// Where there is no batch, for instance for too many nodes, or for times that mean nothing to this sampler.
    fn around(&self, pairs: &[(usize, usize)], times: Option<&[i64]>, draw: u64) -> Result<(Self::Batch, NodePairs)>;
}

/// The nodes, ascending and each of them once.
pub(super) fn different(mut nodes: Vec<usize>) -> Vec<usize> {
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}
