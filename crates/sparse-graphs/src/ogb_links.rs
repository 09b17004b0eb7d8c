//! Link-property graphs of the Open Graph Benchmark.

use super::numpy::array;
use super::ogb::{OgbOptions, both_ways, edges, found, one_count, split_folder};
use super::pickle::Value;
use super::sources::{Sources, Table, check_dtype, is_there};
use super::torch_file::TorchFile;
use super::tu::{TuGraph, each_edge, each_graph};
use burn::tensor::{TensorCreationOptions, TensorData};
use sparse_files::io::Progress;
use sparse_files::io::source::{silent, whole};
use sparse_ops::Result;
use sparse_ops::extend::check_rows;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A graph whose links are to be foretold. [`read_ogb_links`] reads one.
#[derive(Clone, Debug)]
pub struct OgbLinks {
    /// The edges, features of nodes, and what the edges have: features, weight, year.
    pub graph: TuGraph,
    /// The edges to train on.
    pub train: OgbLinkSplit,
    /// The edges on which the best epoch is chosen.
    pub val: OgbLinkSplit,
    /// The edges on which the result is measured.
    pub test: OgbLinkSplit,
}

/// The edges of a split.
#[derive(Clone, Debug, Default)]
pub struct OgbLinkSplit {
    /// Source and target of each.
    pub edges: Vec<(usize, usize)>,
    /// Pairs that are none, where the file lists them.
    pub negatives: Vec<(usize, usize)>,
    /// The other arrays of the file, such as `weight`, `year` or `target_node_neg`.
    pub arrays: BTreeMap<String, TensorData>,
}

/// Reads a link-property graph of the Open Graph Benchmark as it is downloaded and unpacked, such as `ogbl_collab/`.
/// Needs the feature `npz`.
///
/// | file | content |
/// |---|---|
/// | `raw/num-node-list.csv.gz` | the number of nodes |
/// | `raw/edge.csv.gz` | `from,to`, an edge a line |
/// | `raw/node-feat.csv.gz` | the features of a node a line; may be missing |
/// | `raw/edge-feat.csv.gz`, `edge_weight.csv.gz`, `edge_year.csv.gz` | numbers of an edge a line; may be missing |
/// | `split/{name}/train.pt`, `valid.pt`, `test.pt` | a dictionary of arrays or tensors |
///
/// A split has its edges as `edge` `[n, 2]`, or as `source_node` and `target_node`; pairs without an edge as
/// `edge_neg`. The numbers of the edges are joined in that order, as features of edges. As in
/// [`read_ogb_graphs`](super::read_ogb_graphs) an edge that is listed several times is one edge with the sum of these
/// numbers; self loops stay. OGB's own loader adds the other direction of each edge to `ogbl-ppa`, `ogbl-collab` and
/// `ogbl-ddi`: use [`OgbOptions::with_inverse_edges`]. Sets with types (`ogbl-biokg`, `ogbl-wikikg2`) are
/// [`Triples`](super::Triples). No code in the files is run. Takes `&device`, or `(&device, dtype)`.
///
/// Source: Hu et al., *Open Graph Benchmark: Datasets for Machine Learning on Graphs*, NeurIPS 2020.
///
/// ```no_run
/// use burn::tensor::Device;
/// use sparse_tensor::data::{OgbOptions, read_ogb_links};
///
/// let set = read_ogb_links("ogbl_collab", &OgbOptions::new().with_inverse_edges(), &Device::flex()).unwrap();
/// assert_eq!((set.graph.adjacency.dims()[0], set.test.edges.len()), (235_868, 46_329));
/// ```
///
/// # Errors
///
/// `invalid` for anything that cannot be read, breaks its format or contradicts another file; it names the file, and
/// the line or the array. `would_densify` for a number of nodes that nothing bears out; `unsupported_dtype`.
pub fn read_ogb_links(
    folder: impl AsRef<Path>,
    options: &OgbOptions,
    device: impl Into<TensorCreationOptions>,
) -> Result<OgbLinks> {
    read_ogb_links_with(folder, options, device, &mut silent())
}

/// [`read_ogb_links`], which reports its progress over all files.
///
/// # Errors
///
/// As [`read_ogb_links`].
pub fn read_ogb_links_with(
    folder: impl AsRef<Path>,
    options: &OgbOptions,
    device: impl Into<TensorCreationOptions>,
    progress: &mut Progress<'_>,
) -> Result<OgbLinks> {
    const OP: &str = "read_ogb_links";
    let (folder, device) = (folder.as_ref(), device.into());
    check_dtype(OP, &device)?;
    let split = split_folder(OP, &folder.join("split"), options)?;
    let names = ["num-node-list", "edge", "node-feat", "edge-feat", "edge_weight", "edge_year"];
    let raw = names.map(|name| found(&folder.join("raw"), name));
    let splits = ["train", "valid", "test"].map(|name| split.join(format!("{name}.pt")));
    let mut files = Sources::new(OP, folder, raw.iter().chain(&splits), progress)?;
    let [count, edge, feat, of_edges @ ..] = &raw;

    let nodes = one_count(&mut files, count)?;
    let mut edges = edges(&mut files, edge, nodes, options)?;
    let x = is_there(feat).then(|| files.table(feat, Some(nodes), |fields| fields.float())).transpose()?;
    check_rows(OP, nodes, 2 * edges.len() + x.as_ref().map_or(0, |x| x.values.len()))?;
    let mut own: Option<Table<f32>> = None;
    for path in of_edges.iter().filter(|path| is_there(path)) {
        let other = files.table(path, Some(edges.len()), |fields| fields.float())?;
        own = Some(match own {
            Some(own) => side_by_side(&own, &other),
            None => other,
        });
    }
    let own = both_ways(&mut edges, own, options);
    let own = each_edge(&mut edges, own, true);
    let mut graphs = each_graph(&[0, nodes], &edges, x.as_ref(), own.as_ref(), &device);
    let mut read = |path: &PathBuf| {
        let bytes =
            files.next(|progress| whole(path, progress)).map_err(|trouble| format!("cannot be read, got {trouble}"));
        bytes.and_then(|bytes| links(&bytes, nodes)).map_err(|message| files.at(path, message))
    };
    let [train, val, test] = [read(&splits[0])?, read(&splits[1])?, read(&splits[2])?];
    files.finish();
    Ok(OgbLinks { graph: graphs.remove(0), train, val, test })
}

/// The columns of both, a row for each edge.
fn side_by_side(left: &Table<f32>, right: &Table<f32>) -> Table<f32> {
    let rows =
        (0..left.rows).flat_map(|row| [left, right].map(|own| &own.values[row * own.cols..(row + 1) * own.cols]));
    Table { cols: left.cols + right.cols, rows: left.rows, values: rows.flatten().copied().collect() }
}

/// The arrays of a split.
fn links(bytes: &[u8], nodes: usize) -> Result<OgbLinkSplit, String> {
    let file = TorchFile::read(bytes)?;
    let entries = file.pickle.entries(file.pickle.top).ok_or("a dictionary of arrays is due, got something else")?;
    let mut arrays = BTreeMap::new();
    for &(key, value) in entries {
        let Some(name) = file.pickle.text(key) else { continue };
        if let Some(array) = any_array(&file, value).map_err(|trouble| format!("{name}: {trouble}"))? {
            arrays.insert(name.to_string(), array);
        }
    }
    let mut list = |name: &str, dims: &[usize]| {
        let Some(array) = arrays.remove(name) else { return Ok(None) };
        if array.rank() != dims.len() + 1 || array.shape()[1..] != *dims {
            return Err(format!("{name} must be [edges{}], got {:?}", ", 2".repeat(dims.len()), &array.shape()[..]));
        }
        let node = |node: i64| match usize::try_from(node).ok().filter(|&node| node < nodes) {
            Some(node) => Ok(node),
            None => Err(format!("{name}: a node must be in [0, {nodes}), got {node}")),
        };
        array.iter::<i64>().map(node).collect::<Result<Vec<usize>, String>>().map(Some)
    };
    let pairs = |ends: Option<Vec<usize>>| ends.iter().flatten().copied().collect::<Vec<_>>();
    let [own, negatives] = [list("edge", &[2])?, list("edge_neg", &[2])?].map(pairs);
    let joined = |ends: Vec<usize>| ends.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    let (mut edges, negatives): (Vec<_>, _) = (joined(own), joined(negatives));
    if let (Some(sources), Some(targets)) = (list("source_node", &[])?, list("target_node", &[])?) {
        if sources.len() != targets.len() {
            return Err(format!("there must be {} targets as there are sources, got {}", sources.len(), targets.len()));
        }
        edges.extend(sources.into_iter().zip(targets));
    }
    Ok(OgbLinkSplit { edges, negatives, arrays })
}

/// A tensor of PyTorch or an array of NumPy.
fn any_array(file: &TorchFile<'_>, value: Value) -> Result<Option<TensorData>, String> {
    if !file.pickle.class(value).is_some_and(|class| class.ends_with("multiarray _reconstruct")) {
        return file.tensor(value);
    }
    let (shape, fortran, elements) = array(&file.pickle, value)?;
    if fortran && shape.len() > 1 {
        return Err("an array must be in C order, got Fortran order".into());
    }
    let (bytes, _, dtype) = elements.into_parts();
    TensorData::try_from_bytes(bytes, shape, dtype).map(Some).map_err(|trouble| trouble.to_string())
}
