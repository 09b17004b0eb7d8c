//! Graphs whose edges join unlike nodes, with ten splits.

use super::graph::{Graph, Splits, symmetric, with_ends};
use super::labels::Labels;
use super::sources::{Owners, Sources, check_dtype, check_known};
use burn::tensor::{DType, Int, Tensor, TensorCreationOptions, TensorData};
use sparse_files::io::Progress;
use sparse_files::io::npz::Archive;
use sparse_files::io::source::silent;
use sparse_ops::extend::{Allowed, read_all};
use sparse_ops::{CooTensor, CsrTensor, Result, SparseError};
use std::path::{Path, PathBuf};

/// How a folder of Geom-GCN writes the features of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeomFeatures {
    /// The value of every feature: cornell, texas, wisconsin, chameleon, squirrel.
    Values,
    /// The numbers, from 0, of the features that are 1: film (PyG's `Actor`).
    Ids,
}

/// A graph of a Geom-GCN folder: directed, with several splits. [`read_geom_gcn`] reads one.
///
/// [`to_graph`](Self::to_graph) makes it a [`Graph`].
#[derive(Clone, Debug)]
pub struct GeomGraph {
    /// `[nodes, nodes]`, with value 1 for an edge from the row to the column. Self loops are kept.
    pub adjacency: CsrTensor<2>,
    /// `[nodes, features]`, not normalised.
    pub features: CsrTensor<2>,
    /// The class of every node.
    pub labels: Labels,
    /// The splits of the folder, in the order of their numbers.
    pub splits: Vec<Splits>,
}

impl GeomGraph {
    /// The graph with undirected edges of weight 1, without self loops, and with the split of this number. Reads the
    /// edges from the device.
    ///
    /// # Errors
    ///
    /// `index_out_of_range` if there is no such split.
    pub fn to_graph(&self, split: usize) -> Result<Graph> {
        sparse_ops::extend::check_ids("GeomGraph::to_graph", &[split], self.splits.len())?;
        Ok(Graph {
            adjacency: symmetric(&self.adjacency),
            features: self.features.clone(),
            labels: self.labels.clone(),
            splits: self.splits[split].clone(),
        })
    }
}

/// Reads a graph of Geom-GCN as it is downloaded, such as `texas/`. Needs the feature `npz`.
///
/// | file | content |
/// |---|---|
/// | `out1_node_feature_label.txt` | after a line of titles, a node a line in any order: id, features, class |
/// | `out1_graph_edges.txt` | after a line of titles, an edge a line: from, to |
/// | `{any}_split_{any}_{k}.npz` | the k-th split, from 0: arrays `train_mask`, `val_mask` and `test_mask` |
///
/// Columns are separated by tabs and features by commas. As in PyG's `WebKB` and `Actor`, edges stay directed, one
/// that is listed several times is one edge, and the width of features that are ids is one more than the largest id.
/// There may be no splits at all.
///
/// Takes `&device`, or `(&device, dtype)` for the dtype of edges and features.
///
/// Source: Pei et al., *Geom-GCN: Geometric Graph Convolutional Networks*, ICLR 2020;
/// [the files](https://github.com/graphdml-uiuc-jlu/geom-gcn) (`new_data` and `splits`).
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::{GeomFeatures, read_geom_gcn};
///
/// let folder = std::env::temp_dir().join(format!("geom-{}", std::process::id()));
/// std::fs::create_dir_all(&folder).unwrap();
/// let nodes = "node_id\tfeature\tlabel\n1\t0,2\t1\n0\t2\t0\n2\t1\t0\n";
/// std::fs::write(folder.join("out1_node_feature_label.txt"), nodes).unwrap();
/// std::fs::write(folder.join("out1_graph_edges.txt"), "node_id\tnode_id\n0\t1\n2\t1\n").unwrap();
/// let graph = read_geom_gcn(&folder, GeomFeatures::Ids, &Device::flex()).unwrap();
/// assert_eq!((graph.adjacency.nnz(), graph.features.dims()), (2, [3, 3]));
/// assert_eq!(graph.labels.to_vec(), [0, 1, 0]);
/// # std::fs::remove_dir_all(folder).unwrap();
/// ```
///
/// # Errors
///
/// `invalid` for anything that cannot be read, breaks its format or contradicts another file; it names the file, and
/// the line of a text. `shape_mismatch`, `dtype_mismatch` for a mask that is no list of integers or booleans.
/// `unsupported_dtype`.
pub fn read_geom_gcn(
    folder: impl AsRef<Path>,
    features: GeomFeatures,
    options: impl Into<TensorCreationOptions>,
) -> Result<GeomGraph> {
    read_geom_gcn_with(folder, features, options, &mut silent())
}

/// [`read_geom_gcn`], which reports its progress over all files.
///
/// # Errors
///
/// As [`read_geom_gcn`].
pub fn read_geom_gcn_with(
    folder: impl AsRef<Path>,
    features: GeomFeatures,
    options: impl Into<TensorCreationOptions>,
    progress: &mut Progress<'_>,
) -> Result<GeomGraph> {
    let (folder, options) = (folder.as_ref(), options.into());
    check_dtype(OP, &options)?;
    let [node, edge] = ["out1_node_feature_label.txt", "out1_graph_edges.txt"].map(|name| folder.join(name));
    let masks = split_files(folder)?;
    let mut files = Sources::new(OP, folder, [&node, &edge].into_iter().chain(&masks), progress)?;

    let (mut rows, mut width, mut stored, allowed) = (vec![], None, 0, Allowed::now());
    files.lines(&node, b'\t', |number, fields| {
        if number == 1 {
            return Ok(());
        }
        let id = fields.id("a node", 0, LARGEST)?;
        let mut list = fields.list("a list of features", b',')?;
        let (mut own, mut count) = (vec![], 0);
        while list.has_more() {
            match features {
                GeomFeatures::Ids => own.push((list.id("a feature", 0, LARGEST)?, 1.0)),
                GeomFeatures::Values => match list.float()? {
                    0.0 => (),
                    value => own.push((count, value)),
                },
            }
            count += 1;
        }
        if features == GeomFeatures::Values && *width.get_or_insert(count) != count {
            return Err(format!("a node must have {} features as the first, got {count}", width.unwrap_or(0)));
        }
        own.sort_unstable_by_key(|&(col, _)| col);
        own.dedup_by_key(|&mut (col, _)| col);
        stored += own.len();
        allowed.check_elements(stored)?;
        rows.push((id, own, fields.class()?));
        fields.end()
    })?;
    let nodes = rows.len();
    rows.sort_by_key(|&(id, ..)| id);
    if let Some((at, &(got, ..))) = rows.iter().enumerate().find(|&(at, &(id, ..))| id != at) {
        let message = format!("the ids of {nodes} nodes must be those from 0, each once, got {got} in place of {at}");
        return Err(files.at(&node, message));
    }
    let mut edges = vec![];
    files.lines(&edge, b'\t', |number, fields| {
        if number == 1 {
            return Ok(());
        }
        edges.push((fields.node(nodes)?, fields.node(nodes)?));
        allowed.check_elements(edges.len())?;
        fields.end()
    })?;
    edges.sort_unstable();
    edges.dedup();
    let labels: Vec<i64> = rows.iter().map(|&(_, _, class)| class).collect();
    let mut splits = vec![];
    for path in &masks {
        let split = files.next(|progress| read_split(path, nodes, &options, progress));
        let split = split.map_err(|trouble| trouble.in_file(path))?;
        check_known(&split, &labels).map_err(|message| files.at(path, message))?;
        splits.push(split);
    }
    files.finish();

    let last = rows.iter().filter_map(|(_, own, _)| own.last()).map(|&(col, _)| col + 1).max();
    let cols = width.or(last).unwrap_or(0);
    let flat = || rows.iter().flat_map(|(id, own, _)| own.iter().map(|&(col, value)| ((*id, col), value)));
    let ends: Vec<_> = flat().map(|(end, _)| end).collect();
    let values = TensorData::new(flat().map(|(_, value)| value).collect::<Vec<f32>>(), [ends.len()]);
    let values = Tensor::<1>::from_data(values, options.clone());
    Ok(GeomGraph {
        adjacency: with_ends(&edges, [nodes, nodes], options.clone()),
        features: CooTensor::from_edges(&ends, values, [nodes, cols])?.try_to_csr()?,
        labels: Labels::from_list(&labels, None, &options.device)?,
        splits,
    })
}

const OP: &str = "read_geom_gcn";

/// Ids are below it.
const LARGEST: usize = i32::MAX as usize;

/// The archives whose names say that they are splits, by their numbers.
fn split_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let at = |trouble| SparseError::invalid(OP, format!("cannot be read, got {trouble}")).in_file(folder);
    let number = |path: &Path| {
        let name = path.file_name()?.to_str()?.strip_suffix(".npz")?;
        let (_, rest) = name.split_once("_split_")?;
        rest.rsplit('_').next()?.parse::<u32>().ok()
    };
    let mut found = vec![];
    for entry in std::fs::read_dir(folder).map_err(at)? {
        let path = entry.map_err(at)?.path();
        found.extend(number(&path).map(|number| (number, path)));
    }
    found.sort();
    for (k, (number, path)) in found.iter().enumerate() {
        if *number as usize != k {
            let message = format!("splits must be numbered from 0, each once, got {number} in place of {k}");
            return Err(SparseError::invalid(OP, message).in_file(path));
        }
    }
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

fn read_split(
    path: &Path,
    nodes: usize,
    options: &TensorCreationOptions,
    progress: &mut Progress<'_>,
) -> Result<Splits> {
    let mut archive = Archive::open(path)?;
    let mut owners = Owners::new(nodes);
    let mut part = |name: &str| {
        // Some masks are booleans and others bytes.
        let plain = (&options.device.clone().inner(), DType::I32);
        let mask = read_all(archive.dense_with::<1, Int>(name, plain, progress)?);
        let trouble = |message: String| SparseError::invalid(OP, format!("{name}: {message}"));
        if mask.len() != nodes {
            return Err(trouble(format!("there must be a number for each of {nodes} nodes, got {}", mask.len())));
        }
        if let Some(other) = mask.iter().find(|&&member| member != 0 && member != 1) {
            return Err(trouble(format!("a mask must have zeros and ones, got {other}")));
        }
        let ids: Vec<usize> = (0..nodes).filter(|&node| mask[node] == 1).collect();
        ids.iter().try_for_each(|&node| owners.take(node)).map_err(trouble)?;
        Ok(ids)
    };
    Ok(Splits { train: part("train_mask")?, val: part("val_mask")?, test: part("test_mask")? })
}
