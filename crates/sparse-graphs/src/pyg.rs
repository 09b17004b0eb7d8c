//! Graphs that PyG processed or that were saved with PyTorch.

use super::pickle::{Node, Value};
use super::sources::{Table, check_dtype};
use super::torch_file::TorchFile;
use super::tu::{TuGraph, each_edge, each_graph};
use burn::tensor::{TensorCreationOptions, TensorData};
use sparse_files::io::Progress;
use sparse_files::io::source::{silent, whole};
use sparse_ops::extend::{Allowed, check_rows};
use sparse_ops::{Result, SparseError};
use std::collections::BTreeMap;
use std::path::Path;

/// One of the graphs of a file of PyG, and what else the file has of it. [`read_pyg`] reads them.
#[derive(Clone, Debug)]
pub struct PygGraph {
    /// Edges (`edge_index`), features of nodes (`x`) and of edges (`edge_attr`).
    pub graph: TuGraph,
    /// The other arrays, such as `y`, `pos` or `train_mask`, as they are in the file.
    pub arrays: BTreeMap<String, TensorData>,
}

impl PygGraph {
    /// One of the other arrays, for `Tensor::from_data`.
    ///
    /// # Errors
    ///
    /// `invalid` if there is none of this name; it lists them.
    pub fn array(&self, name: &str) -> Result<TensorData> {
        self.arrays.get(name).cloned().ok_or_else(|| {
            let names: Vec<&String> = self.arrays.keys().collect();
            SparseError::invalid("PygGraph::array", format!("the arrays are {names:?}, got {name:?}"))
        })
    }
}

/// Reads graphs that PyG saved: the files in a data set's folder `processed/`, or any file of `torch.save` that holds a
/// `Data`, a list of them, or a list of dictionaries of tensors. Needs the feature `npz`.
///
/// So data whose raw form only Python reads (RDKit, MATLAB, pickles) are had after PyG made them once:
/// `QM9("folder")`, `MNISTSuperpixels`, `MoleculeNet`, `PCQM4Mv2`, `FAUST`, `ZINC`, `LINKXDataset`, `GraphLandDataset`
/// and others whose graphs have one type of nodes and edges. No code in the file is run.
///
/// | entry | becomes |
/// |---|---|
/// | `edge_index` `[2, edges]` | the adjacency, with value 1 for an edge from the row to the column |
/// | `x` `[nodes, features]` | the features of the nodes, as floats |
/// | `edge_attr` `[edges, features]` | the features of the edges, as floats |
/// | any other tensor | an array of the graph, `edge_index` among them |
///
/// As in [`read_tu`](super::read_tu) an edge that is listed several times is one edge with the sum of the features;
/// self loops stay. The arrays have the file's order. The number of nodes is that of `num_nodes`, of the rows of `x`,
/// `pos` or `z`, or one more than the largest node. Entries that are no tensors are left out. Takes `&device`, or
/// `(&device, dtype)` for the dtype of edges and features.
///
/// Cost: the file is read whole, and each tensor copied once.
///
/// ```no_run
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::data::read_pyg;
///
/// let device = Device::flex();
/// let molecules = read_pyg("QM9/processed/data_v3.pt", &device).unwrap();
/// let targets = Tensor::<2>::from_data(molecules[0].array("y").unwrap(), &device); // [1, 19]
/// ```
///
/// # Errors
///
/// `invalid` for anything that cannot be read, breaks its format or contradicts another part; it names the file, the
/// graph and the array. `would_densify` for a number of nodes that nothing in the file bears out; `unsupported_dtype`.
pub fn read_pyg(path: impl AsRef<Path>, options: impl Into<TensorCreationOptions>) -> Result<Vec<PygGraph>> {
    read_pyg_with(path, options, &mut silent())
}

/// [`read_pyg`], which reports its progress.
///
/// # Errors
///
/// As [`read_pyg`].
pub fn read_pyg_with(
    path: impl AsRef<Path>,
    options: impl Into<TensorCreationOptions>,
    progress: &mut Progress<'_>,
) -> Result<Vec<PygGraph>> {
    let (path, options) = (path.as_ref(), options.into());
    check_dtype(OP, &options)?;
    let at = |message: String| SparseError::invalid(OP, message).in_file(path);
    let bytes = whole(path, progress).map_err(|trouble| at(format!("cannot be read, got {trouble}")))?;
    let file = TorchFile::read(&bytes).map_err(at)?;
    let parts = parts(&file).map_err(at)?;
    Allowed::now().check_elements(parts.len()).map_err(at)?;
    let graph = |(number, part): (usize, Part)| part.graph(number, &options, &at);
    parts.into_iter().enumerate().map(graph).collect()
}

const OP: &str = "read_pyg";

/// The entries of a graph.
#[derive(Default)]
struct Part {
    nodes: Option<usize>,
    arrays: BTreeMap<String, TensorData>,
}

impl Part {
    fn graph(
        mut self,
        number: usize,
        options: &TensorCreationOptions,
        at: &impl Fn(String) -> SparseError,
    ) -> Result<PygGraph> {
        let at = |message: String| at(format!("graph {number}: {message}"));
        let edges = self.arrays.get("edge_index").ok_or_else(|| at("there must be an edge_index, got none".into()))?;
        let [2, count] = edges.shape()[..] else {
            return Err(at(format!("edge_index must be [2, edges], got {:?}", &edges.shape()[..])));
        };
        let ends: Vec<i64> = edges.iter().collect();
        let rows = |name| self.arrays.get(name).and_then(|array: &TensorData| array.shape().first().copied());
        let largest = || ends.iter().max().map_or(0, |&node| node.max(-1).saturating_add(1) as usize);
        let nodes = self.nodes.or_else(|| ["x", "pos", "z"].into_iter().find_map(rows)).unwrap_or_else(largest);
        let held: usize = self.arrays.values().map(TensorData::num_elements).sum();
        check_rows(OP, nodes, held)?;
        if let Some(node) = ends.iter().find(|node| !(0..nodes as i64).contains(*node)) {
            return Err(at(format!("edge_index: a node must be in [0, {nodes}), got {node}")));
        }
        let mut edges: Vec<_> = (0..count).map(|edge| (ends[edge] as usize, ends[count + edge] as usize)).collect();
        let mut table = |name, rows| self.arrays.remove(name).map(|array| table(name, rows, &array)).transpose();
        let x = table("x", nodes).map_err(at)?;
        let own = each_edge(&mut edges, table("edge_attr", count).map_err(at)?, true);
        let graph = each_graph(&[0, nodes], &edges, x.as_ref(), own.as_ref(), options);
        let graph = graph.into_iter().next().expect("one graph");
        Ok(PygGraph { graph, arrays: self.arrays })
    }
}

/// Features as floats: a row for each of so many, of one number if the array has one dim.
fn table(name: &str, rows: usize, array: &TensorData) -> Result<Table<f32>, String> {
    let cols = match array.shape()[..] {
        [own] if own == rows => 1,
        [own, cols] if own == rows => cols,
        _ => return Err(format!("{name} must have a row for each of {rows}, got {:?}", &array.shape()[..])),
    };
    Ok(Table { cols, rows, values: array.iter().collect() })
}

/// The graphs of a file: joined with the slices that undo it, one alone, or a list.
fn parts(file: &TorchFile<'_>) -> Result<Vec<Part>, String> {
    let top = file.pickle.top;
    if let Some(entries) = entries(file, top) {
        return Ok(vec![part(file, entries)?]);
    }
    const RULE: &str = "a Data of PyG, a list of them, or what InMemoryDataset saves is due, got something else";
    let list = file.pickle.list(top).ok_or(RULE)?;
    if let Some(slices) = list.get(1).copied().filter(|_| list.len() <= 3) {
        let joined = || entries(file, list[0]).ok_or(RULE);
        if matches!(slices, Value::None) {
            return Ok(vec![part(file, joined()?)?]);
        }
        // Those of a second graph are a matrix.
        let edges = |slices| entry(file, slices, "edge_index").map(|value| file.tensor(value));
        let slices = entries(file, slices).map(|slices| (slices, edges(slices)));
        if let Some((slices, Some(edges))) = slices
            && edges?.is_some_and(|edges| edges.rank() == 1)
        {
            return split(file, joined()?, slices);
        }
    }
    // A list of lists: the parts of a data set.
    let mut parts = vec![];
    for &value in list {
        let own = match entries(file, value) {
            Some(_) => std::slice::from_ref(&value),
            None => file.pickle.list(value).ok_or(RULE)?,
        };
        for &value in own {
            parts.push(part(file, entries(file, value).ok_or(RULE)?)?);
        }
    }
    Ok(parts)
}

/// The attributes of a dictionary, or of a `Data` (whose storage has them in a dictionary since PyG 2.0).
fn entries<'a>(file: &'a TorchFile<'_>, value: Value) -> Option<&'a [(Value, Value)]> {
    let pickle = &file.pickle;
    if let Node::Dict(own) = pickle.node(value)? {
        return Some(own);
    }
    let state = pickle.entries(pickle.object(value)?.state?)?;
    let Some(store) = entry(file, state, "_store") else { return Some(state) };
    let state = pickle.entries(pickle.object(store)?.state?)?;
    pickle.entries(entry(file, state, "_mapping")?)
}

/// The last value of that name.
fn entry(file: &TorchFile<'_>, entries: &[(Value, Value)], name: &str) -> Option<Value> {
    entries.iter().rev().find(|&&(key, _)| file.pickle.text(key) == Some(name)).map(|&(_, value)| value)
}

fn count(value: Value) -> Option<usize> {
    match value {
        Value::Int(count) => usize::try_from(count).ok(),
        _ => None,
    }
}

/// A graph that is not joined with others.
fn part(file: &TorchFile<'_>, entries: &[(Value, Value)]) -> Result<Part, String> {
    let mut part = Part { nodes: entry(file, entries, "num_nodes").and_then(count), ..Part::default() };
    for &(key, value) in entries {
        let Some(name) = file.pickle.text(key) else { continue };
        if let Some(array) = file.tensor(value).map_err(|trouble| format!("{name}: {trouble}"))? {
            part.arrays.insert(name.into(), array);
        }
    }
    Ok(part)
}

/// Graphs that were joined: the array of each is between two slices, along the last dim where PyG joins indices.
fn split(file: &TorchFile<'_>, joined: &[(Value, Value)], slices: &[(Value, Value)]) -> Result<Vec<Part>, String> {
    let mut parts: Vec<Part> = vec![];
    for (name, array) in part(file, joined)?.arrays {
        let places = entry(file, slices, &name).and_then(|value| file.tensor(value).transpose()).transpose()?;
        // What is there once for all graphs.
        let Some(places) = places else { continue };
        let wrong = |rule: String| format!("{name}: the slices must {rule}");
        if places.rank() != 1 || places.num_elements() == 0 {
            return Err(wrong(format!("be a list, got shape {:?}", &places.shape()[..])));
        }
        let places: Vec<i64> = places.iter().collect();
        if parts.is_empty() {
            parts.resize_with(places.len() - 1, Part::default);
        }
        if places.len() != parts.len() + 1 {
            return Err(wrong(format!("be {} as those of the arrays before, got {}", parts.len() + 1, places.len())));
        }
        let dim = if name.contains("index") || name == "face" { array.rank().saturating_sub(1) } else { 0 };
        let size = array.shape().get(dim).copied().unwrap_or(0);
        if places[0] != 0 || !places.is_sorted() || places.last() != Some(&(size as i64)) {
            return Err(wrong(format!("ascend from 0 to the {size} of dim {dim}")));
        }
        for (part, ends) in parts.iter_mut().zip(places.windows(2)) {
            part.arrays.insert(name.clone(), slice(&array, dim, ends[0] as usize, ends[1] as usize)?);
        }
    }
    if let Some(list) = entry(file, joined, "_num_nodes").and_then(|value| file.pickle.list(value)) {
        if list.len() != parts.len() {
            return Err(format!(
                "there must be a number of nodes for each of {} graphs, got {}",
                parts.len(),
                list.len()
            ));
        }
        parts.iter_mut().zip(list).for_each(|(part, &nodes)| part.nodes = count(nodes));
    }
    Ok(parts)
}

/// What lies between two places of a dim.
fn slice(array: &TensorData, dim: usize, from: usize, to: usize) -> Result<TensorData, String> {
    let mut shape = array.shape().to_vec();
    let inner = shape[dim + 1..].iter().product::<usize>() * array.dtype().size();
    let (step, own) = (shape[dim] * inner, from * inner..to * inner);
    shape[dim] = to - from;
    let bytes = match step {
        0 => vec![],
        _ => array.as_bytes().chunks_exact(step).flat_map(|row| &row[own.clone()]).copied().collect(),
    };
    TensorData::try_from_bytes_vec(bytes, shape, array.dtype()).map_err(|trouble| trouble.to_string())
}
