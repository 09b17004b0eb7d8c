//! Node-property graphs of the Open Graph Benchmark.

use super::graph::{Graph, Splits, symmetric};
use super::labels::Labels;
use super::sources::{Owners, Sources, Table, check_dtype, check_known, is_there};
use super::tu::{each_edge, matrix};
use burn::tensor::{Int, Tensor, TensorCreationOptions, TensorData};
use sparse_files::io::Progress;
use sparse_files::io::source::silent;
use sparse_ops::extend::{Allowed, read_all};
use sparse_ops::{CooTensor, CsrTensor, Result, SparseError, aligned};
use std::path::{Path, PathBuf};

/// What the folder of a graph does not say itself.
#[derive(Clone, Debug, Default)]
pub struct OgbOptions {
    split: Option<String>,
    inverse: bool,
}

impl OgbOptions {
    /// The only folder in `split/`; edges as they are listed.
    pub fn new() -> Self {
        Self::default()
    }

    /// The folder in `split/` to read, if there are several.
    pub fn with_split(mut self, name: impl Into<String>) -> Self {
        self.split = Some(name.into());
        self
    }

    pub(super) fn inverse(&self) -> bool {
        self.inverse
    }

    /// Each edge also the other way: OGB's own loader does so for `ogbn-products` and `ogbn-proteins`, whose files list
    /// an edge once.
    pub fn with_inverse_edges(mut self) -> Self {
        self.inverse = true;
        self
    }
}

/// A graph of the Open Graph Benchmark: directed, with dense features and several labels for each node.
///
/// [`to_graph`](Self::to_graph) makes it a [`Graph`].
#[derive(Clone, Debug)]
pub struct OgbGraph {
    /// `[nodes, nodes]`: how often the edge from the row to the column is listed.
    pub adjacency: CsrTensor<2>,
    /// `[nodes, features]`, if the graph has them.
    pub features: Option<Tensor<2>>,
    /// `[nnz, features]`, a row for each stored edge, if the graph has them. Those of an edge that is listed several
    /// times are added up.
    pub edge_features: Option<Tensor<2>>,
    /// `[nodes, tasks]`: the class of every node for every task; -1 where it is not known. [`to_graph`](Self::to_graph)
    /// makes [`Labels`] of those of one task.
    pub labels: Tensor<2, Int>,
    /// The nodes for training, validation and testing.
    pub splits: Splits,
}

impl OgbGraph {
    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.adjacency.dims()[0]
    }

    /// The graph with undirected edges of weight 1, without self loops, and with sparse features (the identity matrix
    /// if there are none). Reads edges and labels from the device.
    ///
    /// # Errors
    ///
    /// `invalid` if there are labels for several tasks, or if a node of a split has none.
    pub fn to_graph(&self) -> Result<Graph> {
        let [nodes, tasks] = self.labels.dims();
        if tasks != 1 {
            return Err(SparseError::invalid(OP, format!("the labels must be those of one task, got {tasks}")));
        }
        let device = self.adjacency.device();
        let labels = read_all(self.labels.clone());
        check_known(&self.splits, &labels).map_err(|message| SparseError::invalid(OP, message))?;
        let features = match &self.features {
            Some(features) => CsrTensor::try_from_dense(features.clone())?,
            None => super::graph::identity(nodes, &device),
        };
        Ok(Graph {
            adjacency: symmetric(&self.adjacency),
            features,
            labels: Labels::from_list(&labels, None, &device)?,
            splits: self.splits.clone(),
        })
    }
}

/// Reads a node-property graph as it is downloaded and unpacked, such as `ogbn_arxiv/`.
///
/// | file | content |
/// |---|---|
/// | `raw/num-node-list.csv.gz` | the number of nodes |
/// | `raw/edge.csv.gz` | `from,to`, an edge a line |
/// | `raw/node-feat.csv.gz` | the features of a node a line; may be missing |
/// | `raw/edge-feat.csv.gz` | the features of an edge a line; may be missing |
/// | `raw/node-label.csv.gz` | the classes of a node a line; `nan` where one is not known |
/// | `split/{name}/train.csv.gz`, `valid.csv.gz`, `test.csv.gz` | a node a line |
///
/// The files may be unpacked (`.csv`); compressed ones need the feature `gz`. Takes `&device`, or `(&device, dtype)`
/// for the dtype of edges and features. Graphs of several types of nodes (`ogbn-mag`) have other files:
/// [`read_ogb_hetero`](super::read_ogb_hetero).
///
/// Source: Hu et al., *Open Graph Benchmark: Datasets for Machine Learning on Graphs*, NeurIPS 2020.
///
/// ```no_run
/// use burn::tensor::Device;
/// use sparse_tensor::data::{OgbOptions, read_ogb};
///
/// let arxiv = read_ogb("ogbn_arxiv", &OgbOptions::new(), &Device::flex()).unwrap();
/// assert_eq!(arxiv.nodes(), 169_343);
/// let graph = arxiv.to_graph().unwrap();
/// ```
///
/// # Errors
///
/// `invalid` for anything that cannot be read, breaks its format or contradicts another file. It names the file and the
/// line. `unsupported_dtype`.
pub fn read_ogb(
    folder: impl AsRef<Path>,
    options: &OgbOptions,
    device: impl Into<TensorCreationOptions>,
) -> Result<OgbGraph> {
    read_ogb_with(folder, options, device, &mut silent())
}

/// [`read_ogb`], which reports its progress over all files.
///
/// # Errors
///
/// As [`read_ogb`].
pub fn read_ogb_with(
    folder: impl AsRef<Path>,
    options: &OgbOptions,
    device: impl Into<TensorCreationOptions>,
    progress: &mut Progress<'_>,
) -> Result<OgbGraph> {
    let (folder, device) = (folder.as_ref(), device.into());
    check_dtype(OP, &device)?;
    let raw = folder.join("raw");
    let split = split_folder(OP, &folder.join("split"), options)?;
    let edge_feat = found(&raw, "edge-feat");
    let paths = [
        found(&raw, "num-node-list"),
        found(&raw, "node-label"),
        found(&raw, "edge"),
        found(&raw, "node-feat"),
        found(&split, "train"),
        found(&split, "valid"),
        found(&split, "test"),
    ];
    let mut files = Sources::new(OP, folder, paths.iter().chain([&edge_feat]), progress)?;
    let [count, label, edge, feat, splits @ ..] = &paths;

    let nodes = one_count(&mut files, count)?;
    // What follows allocates for the nodes that were met, not for those that were claimed.
    let labels = files.table(label, Some(nodes), |fields| fields.class())?;
    let mut edges = edges(&mut files, edge, nodes, options)?;
    let rows = Some(edges.len());
    let own = is_there(&edge_feat).then(|| files.table(&edge_feat, rows, |fields| fields.float())).transpose()?;
    let own = both_ways(&mut edges, own, options);
    let has_features = is_there(feat);
    let features = if has_features { Some(files.table(feat, Some(nodes), |fields| fields.float())?) } else { None };
    let mut owners = Owners::new(nodes);
    let mut ids = [vec![], vec![], vec![]];
    for (path, ids) in splits.iter().zip(&mut ids) {
        files.lines(path, b',', |_, fields| {
            let node = fields.node(nodes)?;
            owners.take(node)?;
            ids.push(node);
            fields.end()
        })?;
    }
    let [train, val, test] = ids;
    files.finish();

    let ones = Tensor::<1>::ones([edges.len()], device.clone());
    let adjacency = CooTensor::from_edges(&edges, ones, nodes)?.try_to_csr()?;
    // In the order of that.
    let edge_features = own.and_then(|own| each_edge(&mut edges, Some(own), true));
    let edge_features = edge_features.map(|table| matrix(&table, 0..table.rows, &device));
    let features = features.map(|features| {
        let data = TensorData::new(features.values, [nodes, features.cols]);
        aligned(Tensor::from_data(data, device.clone()))
    });
    let labels = Tensor::from_data(TensorData::new(labels.values, [nodes, labels.cols]), &device.device);
    Ok(OgbGraph { adjacency, features, edge_features, labels, splits: Splits { train, val, test } })
}

const OP: &str = "read_ogb";

/// The number of nodes of the only graph.
pub(super) fn one_count(files: &mut Sources<'_, '_>, path: &Path) -> Result<usize> {
    let mut counts = Vec::new();
    files.lines(path, b',', |_, fields| {
        counts.push(fields.int()?);
        Ok(())
    })?;
    match counts[..] {
        [nodes] if nodes >= 0 => Ok(nodes as usize),
        _ => Err(files.at(path, format!("there must be one graph, got {} numbers of nodes", counts.len()))),
    }
}

/// The edges as they are listed.
pub(super) fn edges(
    files: &mut Sources<'_, '_>,
    path: &Path,
    nodes: usize,
    options: &OgbOptions,
) -> Result<Vec<(usize, usize)>> {
    let (mut edges, allowed): (Vec<(usize, usize)>, _) = (Vec::new(), Allowed::now());
    files.lines(path, b',', |_, fields| {
        edges.push((fields.node(nodes)?, fields.node(nodes)?));
        allowed.check_elements(if options.inverse { 2 * edges.len() } else { edges.len() })?;
        fields.end()
    })?;
    Ok(edges)
}

/// Edges also the other way, if that is asked for, with the same features.
pub(super) fn both_ways(
    edges: &mut Vec<(usize, usize)>,
    table: Option<Table<f32>>,
    options: &OgbOptions,
) -> Option<Table<f32>> {
    if !options.inverse {
        return table;
    }
    edges.extend_from_within(..);
    let half = edges.len() / 2;
    edges[half..].iter_mut().for_each(|ends| *ends = (ends.1, ends.0));
    table.map(|mut table| {
        table.values.extend_from_within(..);
        Table { rows: 2 * table.rows, ..table }
    })
}

fn at(op: &'static str, path: &Path, message: String) -> SparseError {
    SparseError::invalid(op, message).in_file(path)
}

/// The file of that name, compressed or not.
pub(super) fn found(folder: &Path, name: &str) -> PathBuf {
    let unpacked = folder.join(format!("{name}.csv"));
    if unpacked.exists() { unpacked } else { folder.join(format!("{name}.csv.gz")) }
}

/// The folder of the splits that are asked for.
pub(super) fn split_folder(op: &'static str, folder: &Path, options: &OgbOptions) -> Result<PathBuf> {
    if let Some(name) = &options.split {
        return Ok(folder.join(name));
    }
    let entries =
        std::fs::read_dir(folder).map_err(|trouble| at(op, folder, format!("cannot be read, got {trouble}")))?;
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    match &mut folders[..] {
        [one] => Ok(std::mem::take(one)),
        several => {
            let names: Vec<_> = several.iter().filter_map(|path| path.file_name()).take(8).collect();
            Err(at(op, folder, format!("there must be one split (with_split chooses one), got {names:?}")))
        }
    }
}
