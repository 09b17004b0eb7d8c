//! Edges as seeds: the neighbours of their ends, beside pairs that are drawn to have no edge.

use super::loader::SeedSampler;
use super::neighbors::NeighborBatch;
use super::sampler::NeighborSampler;
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
/// `LinkNeighborLoader`.
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
#[derive(Clone, Debug)]
pub struct LinkSampler {
    sampler: NeighborSampler,
    edges: Arc<Vec<(usize, usize)>>,
    negatives: Negatives,
    by_degree: bool,
}

impl LinkSampler {
    /// A sampler of the neighbours of `edges`, from source to target. Without negatives until
    /// [`with_negatives`](Self::with_negatives).
    ///
    /// # Errors
    ///
    /// `index_out_of_range` for an end that is no node.
    pub fn new(sampler: NeighborSampler, edges: &[(usize, usize)]) -> Result<Self> {
        let ends: Vec<usize> = edges.iter().flat_map(|&(source, target)| [source, target]).collect();
        check_ids("LinkSampler::new", &ends, sampler.nodes())?;
        Ok(Self { sampler, edges: Arc::new(edges.to_vec()), negatives: Negatives::None, by_degree: false })
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
    /// `index_out_of_range` for a number that no edge has; `overflow` for too many nodes or pairs.
    #[or_panic]
    pub fn try_sample(&self, numbers: &[usize], draw: u64) -> Result<LinkBatch> {
        const OP: &str = "LinkSampler::sample";
        check_ids(OP, numbers, self.edges.len())?;
        let mut stream = Stream::new(mix(draw, 0x11_4e));
        let mut node = |end: fn(&(usize, usize)) -> usize| match self.by_degree {
            true => end(&self.edges[stream.below(self.edges.len())]),
            false => stream.below(self.sampler.nodes()),
        };
        let each = match self.negatives {
            Negatives::None => 0,
            Negatives::Pairs(each) | Negatives::Targets(each) => each,
        };
        if numbers.len().checked_mul(each.saturating_add(1)).is_none_or(|pairs| pairs > i32::MAX as usize) {
            let got = (numbers.len() as u128).saturating_mul(each as u128 + 1);
            return Err(SparseError::overflow(OP, "the number of pairs", i32::MAX as usize, got));
        }
        let mut pairs: Vec<(usize, usize)> = numbers.iter().map(|&number| self.edges[number]).collect();
        for edge in 0..numbers.len() * each {
            let source = match self.negatives {
                Negatives::Targets(_) => pairs[edge / each].0,
                _ => node(|edge| edge.0),
            };
            pairs.push((source, node(|edge| edge.1)));
        }
        let mut nodes: Vec<usize> = pairs.iter().flat_map(|&(source, target)| [source, target]).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let neighbors = self.sampler.try_sample(&nodes, draw)?;
        let row = |node| nodes.binary_search(&node).expect("every end is a seed");
        let pairs: Vec<_> = pairs.into_iter().map(|(source, target)| (row(source), row(target))).collect();
        let pairs = NodePairs::new(&pairs, [nodes.len(); 2], &neighbors.node_ids().device())?;
        Ok(LinkBatch { neighbors, numbers: numbers.to_vec(), pairs })
    }
}

/// Its seeds are the numbers of the edges.
impl SeedSampler for LinkSampler {
    type Batch = LinkBatch;

    fn seed_nodes(&self) -> usize {
        self.edges.len()
    }

    fn batch(&self, seeds: &[usize], draw: u64) -> LinkBatch {
        self.sample(seeds, draw)
    }
}

/// Some edges, pairs beside them, and the neighbours of all their ends.
#[derive(Clone, Debug)]
pub struct LinkBatch {
    neighbors: NeighborBatch,
    numbers: Vec<usize>,
    pairs: NodePairs,
}

impl LinkBatch {
    /// The sampled neighbours. The seeds are the ends of the pairs, ascending.
    pub fn neighbors(&self) -> &NeighborBatch {
        &self.neighbors
    }

    /// The numbers of the edges.
    pub fn edges(&self) -> &[usize] {
        &self.numbers
    }

    /// The edges, and then the pairs beside them, those of the first edge first. They are pairs of rows of
    /// [`seed_rows`](NeighborBatch::seed_rows).
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
