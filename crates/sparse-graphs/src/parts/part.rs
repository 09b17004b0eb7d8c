//! The part of a graph that a rank owns.

use super::message::{Opened, Step, together};
use crate::mapped::features::FeatureStore;
use crate::mapped::graph::MappedGraph;
use burn::tensor::DType;
use sparse_core::dynamic::Ids;
use sparse_ops::{Result, SparseError};
use sparse_ranks::{Collective, agree};
use sparse_shards::{Kind, Manifest};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const OP: &str = "Partition";

/// The part of a graph that a rank owns, beside the parts of the other ranks.
///
/// A graph that is larger than a machine is cut into parts by `sparse-prepare`, which writes a folder: a manifest, and
/// for each part the rows of its nodes and their features. Rank `r` opens part `r`. The nodes of a part are contiguous:
/// part `p` owns the dense ids that follow those of part `p - 1`. So each rank knows the owner of every node, and holds
/// nothing else of other parts.
///
/// - [`PartSampler`](crate::parts::PartSampler) samples neighbours across all parts: the rank that owns a node draws
///   for it. The batch is, bit for bit, the one that a [`NeighborSampler`](crate::NeighborSampler) draws from the
///   whole graph.
/// - [`PartFeatures`](crate::parts::PartFeatures) fetches the features of a batch: own rows from the mapped file,
///   others from their owners. It keeps those that were used last.
/// - [`halo`](Self::halo) lists the nodes of other parts that own nodes have edges to.
///
/// All ranks call the same functions the same number of times, with seeds of their own. A rank without seeds takes
/// part with none: [`owned_by`](Self::owned_by) tells how many the others have. What is wrong on one rank is an error
/// on all of them, and the ranks can go on.
///
/// Needs the feature `mmap`. Source: Zheng et al., *DistDGL: distributed graph neural network training for
/// billion-scale graphs*, IA3 2020.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::data::NeighborSamplerConfig;
/// use sparse_tensor::parallel::{Collective, Partition, Threads};
/// # use sparse_shards::{About, Dtype, Features, IdKind, Kind, Manifest, Part, ShardWriter};
/// use std::time::Duration;
///
/// # let folder = std::env::temp_dir().join(format!("parts-{}", std::process::id()));
/// # fn file<T: sparse_shards::Element>(
/// #     folder: &std::path::Path,
/// #     part: usize,
/// #     kind: Kind,
/// #     width: Option<u64>,
/// #     list: &[T],
/// # ) -> sparse_shards::ShardFile {
/// #     let mut file = ShardWriter::<T>::create(folder, part, kind, width).unwrap();
/// #     file.write(list).unwrap();
/// #     file.finish().unwrap()
/// # }
/// # let features = Features { dtype: Dtype::F32, width: 2, columns: vec!["a".into(), "b".into()] };
/// # let about = About { col_idx: Dtype::I32, ids: IdKind::Int, features: Some(features), ..About::default() };
/// # let parts = [[1i32, 2], [3, 0]].into_iter().enumerate().map(|(part, columns)| {
/// #     let first = 2 * part;
/// #     let files = vec![
/// #         file(&folder, part, Kind::RowPtr, None, &[0i64, 1, 2]),
/// #         file(&folder, part, Kind::ColIdx, None, &columns),
/// #         file(&folder, part, Kind::Ids, None, &[first as i64, first as i64 + 1]),
/// #         file(&folder, part, Kind::Features, Some(2), &[first as f32, 0.0, first as f32 + 1.0, 0.0]),
/// #     ];
/// #     Part { nodes: first as u64..first as u64 + 2, edges: 2, files }
/// # });
/// # Manifest::new(about, parts.collect()).write(&folder).unwrap();
/// // A folder of two parts: 0 -> 1 -> 2 -> 3 -> 0, where part 0 owns the nodes 0 and 1.
/// let train = |mut ranks: Threads| {
///     let device = Device::flex();
///     let part = Partition::open(&mut ranks, &folder).unwrap();
///     let sampler = part.sampler(&NeighborSamplerConfig::new(vec![5, 5]), &device);
///     let features = part.features().unwrap().with_hot_rows(100);
///     // Each rank trains on its own nodes.
///     let seeds: Vec<usize> = part.owned().collect();
///     let batch = sampler.sample(&mut ranks, &seeds, 0);
///     let x: Tensor<2> = features.gather(&mut ranks, batch.nodes().ids(), &device);
///     assert_eq!(x.dims(), [4, 2]); // two seeds, and two nodes of the other part
///     part.halo(&mut ranks).unwrap()
/// };
/// let ranks = Threads::new(2, Duration::from_secs(10)).unwrap();
/// let halos: Vec<_> = std::thread::scope(|scope| {
///     let ranks: Vec<_> = ranks.into_iter().map(|rank| scope.spawn(|| train(rank))).collect();
///     ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
/// });
/// assert_eq!(halos, [[2], [0]]);
/// # std::fs::remove_dir_all(folder).unwrap();
/// ```
#[derive(Clone)]
pub struct Partition(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) rank: usize,
    pub(super) graph: MappedGraph,
    /// Where the dense ids of each part start, and the end.
    pub(super) nodes: Vec<usize>,
    /// Where the edges of each part start, and the end.
    pub(super) edges: Vec<usize>,
    pub(super) features: Option<Arc<FeatureStore>>,
    /// Of what all ranks agreed on.
    digest: u64,
    folder: PathBuf,
}

impl Partition {
    /// Opens the part of this rank in a folder that `sparse-prepare` wrote. Each rank has the manifest and the files of
    /// its own part; those of other parts may be on other machines.
    ///
    /// Cost: the header of each own file, and a message of a few hundred bytes.
    ///
    /// # Errors
    ///
    /// The same on all ranks:
    ///
    /// - `invalid` if the folder has no manifest (it is unfinished then), one of another version, or one that
    ///   contradicts a file; if a file of the part is missing or has another length; if there are not as many parts as
    ///   ranks; if ranks have folders of different graphs;
    /// - `invalid_row_ptr`, `length_mismatch` for arrays that are no part of a graph;
    /// - those of the collective.
    pub fn open<C: Collective + ?Sized>(ranks: &mut C, folder: impl AsRef<Path>) -> Result<Self> {
        const OP: &str = "Partition::open";
        let (rank, size) = (ranks.rank(), ranks.size());
        let (mut lines, mut trouble) = (vec![], None);
        let opened = Manifest::open_part(folder.as_ref(), rank)
            .map_err(|error| SparseError::invalid(OP, error.to_string()))
            .and_then(|own| {
                lines = described(&own);
                Inner::new(own, rank, size)
            });
        if let Err(error) = &opened {
            trouble = Some(error.to_string());
        }
        let agreed = agree(ranks, OP, lines, trouble);
        let inner = opened?;
        Ok(Self(Arc::new(Inner { digest: agreed?, ..inner })))
    }

    /// Number of nodes of the whole graph.
    pub fn nodes(&self) -> usize {
        self.0.end()
    }

    /// Number of edges of the whole graph.
    pub fn edges(&self) -> usize {
        self.0.edges[self.0.parts()]
    }

    /// Number of parts, and of ranks.
    pub fn parts(&self) -> usize {
        self.0.parts()
    }

    /// The dense ids of the nodes that this rank owns.
    pub fn owned(&self) -> Range<usize> {
        self.owned_by(self.0.rank)
    }

    /// The dense ids of the nodes that a rank owns. Empty if there is no such rank.
    pub fn owned_by(&self, rank: usize) -> Range<usize> {
        if rank < self.parts() { self.0.nodes[rank]..self.0.nodes[rank + 1] } else { 0..0 }
    }

    /// The rank that owns a node, if there is such a node. Cost: a binary search.
    pub fn owner(&self, node: usize) -> Option<usize> {
        (node < self.nodes()).then(|| self.0.owner(node))
    }

    /// The nodes of other parts that edges of own nodes lead to: first those with the most such edges, and of equal
    /// ones the smallest id.
    ///
    /// Batches of own seeds need these features most. [`PartFeatures::warm`](crate::parts::PartFeatures::warm)
    /// fetches them ahead.
    ///
    /// All ranks must call it. Cost: the columns of the part are read once, in order; 4 bytes for each node of the
    /// graph meanwhile.
    ///
    /// # Errors
    ///
    /// - `index_out_of_range` for a column that is no node, `invalid` if the file was cut;
    /// - `invalid` if another rank has an error, or calls another function; those of the collective.
    pub fn halo<C: Collective + ?Sized>(&self, ranks: &mut C) -> Result<Vec<usize>> {
        const OP: &str = "Partition::halo";
        let (own, halo) = (&*self.0, self.0.halo(OP));
        let nothing = halo.as_ref().map(|_| vec![vec![]; own.parts()]).map_err(SparseError::clone);
        together(ranks, own.opened(), OP, Step::Halo, nothing)?;
        halo
    }

    /// The folder of the graph. `sparse_shards::Manifest` reads the original ids of its nodes.
    pub fn folder(&self) -> &Path {
        &self.0.folder
    }
}

impl Inner {
    fn new(manifest: Manifest, rank: usize, size: usize) -> Result<Self> {
        if manifest.parts.len() != size {
            let parts = manifest.parts.len();
            let message = format!("there must be a part for each rank, got {parts} parts for {size} ranks");
            return Err(SparseError::invalid(OP, message));
        }
        let at_most = |got: u64, limit: usize, what: &'static str| match usize::try_from(got) {
            Ok(number) if number <= limit => Ok(number),
            _ => Err(SparseError::overflow(OP, what, limit, got)),
        };
        let (mut nodes, mut edges, mut sum) = (vec![0], vec![0], 0u64);
        for part in &manifest.parts {
            // A sample has 4 bytes for each node.
            nodes.push(at_most(part.nodes.end, isize::MAX as usize / 4, "the number of nodes")?);
            sum = sum.saturating_add(part.edges);
            edges.push(at_most(sum, isize::MAX as usize, "the number of edges")?);
        }
        let due = |kind| {
            let path = manifest.path(rank, kind);
            path.ok_or_else(|| SparseError::invalid(OP, format!("a part must have a file of {kind:?}, got none")))
        };
        let values = manifest.path(rank, Kind::Values);
        let graph = MappedGraph::open_npy(due(Kind::RowPtr)?, due(Kind::ColIdx)?, values.as_deref())?;
        let graph = graph.part(nodes[rank], nodes[size]);
        let features = match (&manifest.about.features, manifest.path(rank, Kind::Features)) {
            (Some(about), Some(path)) => {
                let store = FeatureStore::open_npy(path)?;
                let due = vec![nodes[rank + 1] - nodes[rank], usize::try_from(about.width).unwrap_or(usize::MAX)];
                if store.shape() != due || store.dtype() != DType::F32 {
                    let rule = "the features of a part must be f32 of the shape of the manifest, {right}, got {left}";
                    return Err(SparseError::shape_mismatch(OP, rule, store.shape(), due));
                }
                Some(Arc::new(store))
            }
            _ => None,
        };
        Ok(Self { rank, graph, nodes, edges, features, digest: 0, folder: manifest.folder().to_path_buf() })
    }

    pub(super) fn parts(&self) -> usize {
        self.nodes.len() - 1
    }

    pub(super) fn opened(&self) -> Opened {
        Opened { rank: self.rank, parts: self.parts(), digest: self.digest }
    }

    fn halo(&self, op: &'static str) -> Result<Vec<usize>> {
        let mut counts = vec![0u32; self.end()];
        let mut count = |columns: &mut dyn Iterator<Item = i64>| {
            for (position, index) in columns.enumerate() {
                let found = usize::try_from(index).ok().and_then(|column| counts.get_mut(column));
                let Some(count) = found else {
                    return Err(SparseError::index_out_of_range(op, 1, self.end(), index, position));
                };
                *count = count.saturating_add(1);
            }
            Ok(())
        };
        self.graph.in_order(|columns| match columns {
            Ids::I32(columns) => count(&mut columns.iter().map(|&column| i64::from(column))),
            Ids::I64(columns) => count(&mut columns.iter().copied()),
        })?;
        counts[self.owned()].fill(0);
        let mut halo: Vec<usize> = (0..counts.len()).filter(|&node| counts[node] > 0).collect();
        halo.sort_by_key(|&node| std::cmp::Reverse(counts[node]));
        Ok(halo)
    }

    /// Number of nodes of the whole graph.
    pub(super) fn end(&self) -> usize {
        self.nodes[self.nodes.len() - 1]
    }

    pub(super) fn owned(&self) -> Range<usize> {
        self.nodes[self.rank]..self.nodes[self.rank + 1]
    }

    /// The rank that owns a node. Parts without nodes own none.
    pub(super) fn owner(&self, node: usize) -> usize {
        self.nodes[1..].partition_point(|&end| end <= node)
    }
}

/// What the manifests of all ranks must say.
fn described(manifest: &Manifest) -> Vec<String> {
    let mut lines = vec![format!("graph: {:?}", manifest.about)];
    for (p, part) in manifest.parts.iter().enumerate() {
        lines.push(format!("part {p}: nodes {:?}, {} edges", part.nodes, part.edges));
        let mut files: Vec<_> = part.files.iter().map(|file| (&file.name, &file.checksum)).collect();
        files.sort_unstable();
        lines.push(format!("part {p}: {files:?}"));
    }
    lines
}

impl fmt::Debug for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rank, parts, owned, nodes) = (self.0.rank, self.parts(), self.owned(), self.nodes());
        write!(f, "Partition({rank} of {parts}, nodes {owned:?} of {nodes}, {})", self.0.folder.display())
    }
}
