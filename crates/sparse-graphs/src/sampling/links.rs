//! Edges as seeds: the neighbours of their ends, beside pairs that are drawn to have no edge.

use super::neighbors::NeighborBatch;
use super::sampler::NeighborSampler;
use super::seeds::{LinkEnds, SeedSampler};
#[cfg(doc)]
use super::typed::HeteroSampler;
use burn::tensor::{Device, Tensor, TensorData};
use sparse_core::graph::{Stream, mix};
use sparse_macros::or_panic;
use sparse_nn::NodePairs;
use sparse_ops::extend::check_ids;
use sparse_ops::{Result, SparseError};
use std::sync::Arc;

/// The pairs that a [`LinkSampler`] draws beside its edges. Such a pair may have an edge by chance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Negatives {
    /// None.
    #[default]
    None,
    /// So many pairs for each edge, with both ends at random. (PyG's `"binary"`.)
    Pairs(usize),
    /// So many other targets for the source of each edge. (PyG's `"triplet"`.)
    Targets(usize),
}

/// A sampler whose seeds are edges. With a [`NeighborLoader`](super::loader::NeighborLoader) it is PyG's
/// `LinkNeighborLoader`, also of types and by time.
///
/// The edges need not be those of the sampled graph, which should have none that the model is to foretell.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::{LinkSampler, Negatives, NeighborLoader, NeighborSamplerConfig, karate};
/// use sparse_tensor::nn::dot_decoder;
///
/// let device = Device::flex();
/// let graph = karate(&device);
/// let sampler = NeighborSamplerConfig::new(vec![5, 5]).init(&graph.adjacency);
/// let edges = [(0, 1), (2, 3), (32, 33), (8, 30)];
/// let sampler = LinkSampler::new(sampler, &edges).unwrap().with_negatives(Negatives::Targets(2));
/// for batch in NeighborLoader::new(sampler, &[0, 1, 2, 3], 2).unwrap().epoch(0) {
///     let near = batch.neighbors();
///     // A layer for each block; here products alone.
///     let out = near.blocks().iter().fold(near.features(graph.features.to_dense()), |x, block| block.matmul(x));
///     let z = near.seed_rows(out);
///     let scores = dot_decoder(z.clone(), z, batch.pairs()); // of two edges and four other pairs
///     assert_eq!((scores.dims(), batch.labels(&device).dims()), ([6], [6]));
/// }
/// ```
///
/// Edges from users to items, with the neighbours of both:
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::data::{HeteroSamplerConfig, LinkSampler, Negatives, hetero_block_model};
/// use sparse_tensor::{nn::dot_decoder, ops::Reduce};
///
/// let device = Device::flex();
/// let relations = [(("user", "likes", "item").into(), 400, 0.8)];
/// let graph = hetero_block_model(&[("user", 60), ("item", 40)], 4, &relations, 7, &device).unwrap();
/// let sampler = HeteroSamplerConfig::new(vec![5]).init(&graph.with_reverse(Reduce::Amax), "user");
/// let links = LinkSampler::new(sampler.with_targets("item"), &[(3, 0), (3, 9), (8, 9)]).unwrap();
/// let batch = links.with_negatives(Negatives::Pairs(1)).sample(&[0, 2], 0);
/// // What layers give for users, and for items; here ones.
/// let [users, items] = ["user", "item"].map(|name| Tensor::ones([batch.neighbors().counts(name)[0], 8], &device));
/// assert_eq!(dot_decoder(users, items, batch.pairs()).dims(), [4]);
/// ```
#[derive(Clone, Debug)]
pub struct LinkSampler<S = NeighborSampler> {
    sampler: S,
    edges: Arc<Vec<(usize, usize)>>,
    times: Option<Arc<Vec<i64>>>,
    negatives: Negatives,
    by_degree: bool,
}

impl<S: LinkEnds> LinkSampler<S> {
    /// A sampler of the neighbours of `edges`, from source to target. Without negatives until
    /// [`with_negatives`](Self::with_negatives).
    ///
    /// # Errors
    ///
    /// `index_out_of_range` for an end that is no node.
    pub fn new(sampler: S, edges: &[(usize, usize)]) -> Result<Self> {
        let (sources, targets): (Vec<_>, Vec<_>) = edges.iter().copied().unzip();
        for (ends, count) in [sources, targets].iter().zip(sampler.counts()) {
            check_ids("LinkSampler::new", ends, count)?;
        }
        let edges = Arc::new(edges.to_vec());
        Ok(Self { sampler, edges, times: None, negatives: Negatives::None, by_degree: false })
    }

    /// When each edge was: a sampler with times ([`HeteroSampler::with_times`]) takes only what is not later. The pairs
    /// beside an edge have its time. (PyG's `edge_label_time`.)
    ///
    /// # Errors
    ///
    /// `length_mismatch` if there is not a time for each edge.
    pub fn with_times(self, times: &[i64]) -> Result<Self> {
        if times.len() != self.edges.len() {
            let (expected, got) = (self.edges.len(), times.len());
            return Err(SparseError::length_mismatch("LinkSampler::with_times", "the times", expected, got));
        }
        Ok(Self { times: Some(Arc::new(times.to_vec())), ..self })
    }

    /// Which pairs are drawn beside the edges.
    pub fn with_negatives(self, negatives: Negatives) -> Self {
        Self { negatives, ..self }
    }

    /// Whether nodes of these pairs are drawn by how often they are such an end of the edges, and not uniformly.
    pub fn with_by_degree(self, by_degree: bool) -> Self {
        Self { by_degree, ..self }
    }

    /// The edges.
    pub fn edges(&self) -> &[(usize, usize)] {
        &self.edges
    }

    /// A batch of the edges with these numbers. The same `draw` gives the same batch.
    ///
    /// # Errors
    ///
    /// `index_out_of_range` for a number that no edge has; `overflow` for too many nodes or pairs; `invalid` if only
    /// one of the edges and the sampler has times.
    #[or_panic]
    pub fn try_sample(&self, numbers: &[usize], draw: u64) -> Result<LinkBatch<S::Batch>> {
        const OP: &str = "LinkSampler::sample";
        check_ids(OP, numbers, self.edges.len())?;
        let each = match self.negatives {
            Negatives::None => 0,
            Negatives::Pairs(each) | Negatives::Targets(each) => each,
        };
        if numbers.len().checked_mul(each.saturating_add(1)).is_none_or(|pairs| pairs > i32::MAX as usize) {
            let got = (numbers.len() as u128).saturating_mul(each as u128 + 1);
            return Err(SparseError::overflow(OP, "the number of pairs", i32::MAX as usize, got));
        }
        let (mut stream, counts) = (Stream::new(mix(draw, 0x11_4e)), self.sampler.counts());
        let mut node = |end: fn(&(usize, usize)) -> usize, count| match self.by_degree {
            true => end(&self.edges[stream.below(self.edges.len())]),
            false => stream.below(count),
        };
        // The edge of each pair.
        let of = (0..numbers.len()).chain((0..numbers.len()).flat_map(|edge| std::iter::repeat_n(edge, each)));
        let of: Vec<usize> = of.map(|at| numbers[at]).collect();
        let pair = |(at, &edge): (usize, &usize)| match (at < numbers.len(), self.negatives) {
            (true, _) => self.edges[edge],
            (_, Negatives::Targets(_)) => (self.edges[edge].0, node(|edge| edge.1, counts[1])),
            _ => (node(|edge| edge.0, counts[0]), node(|edge| edge.1, counts[1])),
        };
        let pairs: Vec<_> = of.iter().enumerate().map(pair).collect();
        let times = self.times.as_ref().map(|times| of.iter().map(|&edge| times[edge]).collect::<Vec<_>>());
        let (neighbors, pairs) = self.sampler.around(&pairs, times.as_deref(), draw)?;
        Ok(LinkBatch { neighbors, numbers: numbers.to_vec(), pairs })
    }
}

/// Its seeds are the numbers of the edges.
impl<S: LinkEnds> SeedSampler for LinkSampler<S> {
    type Batch = LinkBatch<S::Batch>;

    fn seed_nodes(&self) -> usize {
        self.edges.len()
    }

    fn batch(&self, seeds: &[usize], draw: u64) -> Self::Batch {
        self.sample(seeds, draw)
    }
}

/// Some edges, pairs beside them, and the neighbours of all their ends.
#[derive(Clone, Debug)]
pub struct LinkBatch<B = NeighborBatch> {
    neighbors: B,
    numbers: Vec<usize>,
    pairs: NodePairs,
}

impl<B> LinkBatch<B> {
    /// The sampled neighbours. The seeds are the ends of the pairs, ascending; in a disjoint batch they are the sources
    /// and then the targets, in the order of the pairs.
    pub fn neighbors(&self) -> &B {
        &self.neighbors
    }

    /// The numbers of the edges.
    pub fn edges(&self) -> &[usize] {
        &self.numbers
    }

    /// The edges, and then the pairs beside them, those of the first edge first. They are pairs of rows of the seeds:
    /// of [`seed_rows`](NeighborBatch::seed_rows), or the first rows of what a batch of types has for the type of the
    /// sources and for that of the targets.
    pub fn pairs(&self) -> &NodePairs {
        &self.pairs
    }

    /// 1 for the edges and 0 for the pairs beside them, `[pairs]`.
    pub fn labels(&self, device: &Device) -> Tensor<1> {
        let edges = self.numbers.len();
        let labels: Vec<f32> = (0..self.pairs.len()).map(|pair| f32::from(u8::from(pair < edges))).collect();
        let count = labels.len();
        Tensor::from_data(TensorData::new(labels, [count]), device)
    }
}
