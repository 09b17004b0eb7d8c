//! The raw files of the Planetoid graphs.

use super::graph::{Graph, Splits, each_once, undirected};
use super::labels::Labels;
use super::numpy::{Rows, array};
use super::pickle::{Pickle, Value};
use super::sources::check_dtype;
use burn::tensor::{Tensor, TensorCreationOptions, TensorData};
use sparse_files::io::Progress;
use sparse_files::io::source::{Files, Lines, shown, silent, text, whole};
use sparse_ops::extend::{Allowed, ints};
use sparse_ops::{CooTensor, Result, SparseError};
use std::path::Path;

/// The files of a graph: features, classes, edges, test nodes.
const PARTS: [&str; 8] = ["x", "allx", "tx", "y", "ally", "ty", "test.index", "graph"];

/// How many nodes after those for training are for validation.
const VALIDATION: usize = 500;

/// Reads Cora, Citeseer or PubMed as they are downloaded: `ind.{name}.x`, `.tx`, `.allx`, `.y`, `.ty`, `.ally`,
/// `.graph` and `.test.index` in one folder.
///
/// Splits are those of Yang et al.: the first nodes, as many as `.y` has rows, are for training, the next 500 for
/// validation, and those of `.test.index` for testing. Edges are made symmetric; duplicates and self loops are dropped.
/// Where test ids are missing in their range (Citeseer), the nodes are kept without features, as PyG does. Their class
/// is -1, and they are in no split. (PyG says 0.)
///
/// Takes `&device`, or `(&device, dtype)` for the dtype of features and edges. The files are pickles of Python; no code
/// in them is run.
///
/// Source: Z. Yang, W. Cohen, R. Salakhutdinov, *Revisiting Semi-Supervised Learning with Graph Embeddings*, ICML 2016;
/// [the files](https://github.com/kimiyoung/planetoid/tree/master/data).
///
/// ```no_run
/// use burn::tensor::Device;
/// use sparse_tensor::data::read_planetoid;
///
/// let graph = read_planetoid("Cora/raw", "cora", &Device::flex()).unwrap();
/// assert_eq!((graph.nodes(), graph.edges(), graph.labels.classes()), (2708, 5278, 7));
/// ```
///
/// # Errors
///
/// `invalid` for a file that cannot be read, breaks its format or contradicts another one; it names the file.
/// `unsupported_dtype`.
pub fn read_planetoid(
    folder: impl AsRef<Path>,
    name: &str,
    options: impl Into<TensorCreationOptions>,
) -> Result<Graph> {
    read_planetoid_with(folder, name, options, &mut silent())
}

/// [`read_planetoid`], which reports its progress over all files.
///
/// # Errors
///
/// As [`read_planetoid`].
pub fn read_planetoid_with(
    folder: impl AsRef<Path>,
    name: &str,
    options: impl Into<TensorCreationOptions>,
    progress: &mut Progress<'_>,
) -> Result<Graph> {
    let (folder, options) = (folder.as_ref(), options.into());
    check_dtype(OP, &options)?;
    let file = |part: &str| folder.join(format!("ind.{name}.{part}"));
    let mut files =
        Files::new(folder, PARTS.map(file), progress).map_err(|message| SparseError::invalid(OP, message))?;
    let bytes = |files: &mut Files<'_, '_>, part: &str| {
        let path = file(part);
        let bytes = files.next(|progress| whole(&path, progress));
        bytes.map_err(|trouble| SparseError::invalid(OP, format!("{}: cannot be read, got {trouble}", path.display())))
    };
    let at =
        |part: &'static str| move |message: String| SparseError::invalid(OP, format!("ind.{name}.{part}: {message}"));
    let mut matrix = |part| rows(&bytes(&mut files, part)?).map_err(at(part));
    let (x, allx, tx) = (matrix("x")?, matrix("allx")?, matrix("tx")?);
    let mut classes = |part| Classes::read(&bytes(&mut files, part)?).map_err(at(part));
    let (y, ally, ty) = (classes("y")?, classes("ally")?, classes("ty")?);
    let test = files.next(|progress| read_ids(&file("test.index"), progress))?;
    for (part, left, right) in [
        ("y", x.count(), y.of.len()),
        ("ally", allx.count(), ally.of.len()),
        ("ty", tx.count(), ty.of.len()),
        ("test.index", tx.count(), test.len()),
    ] {
        if left != right {
            return Err(at(part)(format!("there must be an entry for each of {left} rows of features, got {right}")));
        }
    }
    for (part, left, right) in [
        ("tx", allx.cols, tx.cols),
        ("x", allx.cols, x.cols),
        ("ty", ally.classes, ty.classes),
        ("y", ally.classes, y.classes),
    ] {
        if left != right {
            return Err(at(part)(format!("the number of columns must be that of all nodes, {left}, got {right}")));
        }
    }
    let known = allx.count();
    if y.of.len() > known {
        let got = y.of.len();
        return Err(at("y")(format!("there must be at most as many nodes as in allx, {known}, got {got}")));
    }
    let links = bytes(&mut files, "graph")?;
    files.finish();
    let links = Links::read(&links).map_err(at("graph"))?;
    let nodes = test.iter().map(|&id| id + 1).max().unwrap_or(known);
    if let Some(&id) = test.iter().find(|&&id| id < known || id >= known + links.keys) {
        let end = known + links.keys;
        return Err(at("test.index")(format!("a test node must be in [{known}, {end}), got {id}")));
    }
    let mut labels = ally.of;
    labels.resize(nodes, Labels::MISSING);
    let mut rows: Vec<Option<(&Rows, usize)>> = (0..known).map(|row| Some((&allx, row))).collect();
    rows.resize(nodes, None);
    for (row, &id) in test.iter().enumerate() {
        if rows[id].replace((&tx, row)).is_some() {
            return Err(at("test.index")(format!("a test node must be listed once, got {id} again")));
        }
        labels[id] = ty.of[row];
    }
    let edges = links.edges(nodes).map_err(at("graph"))?;
    let (mut ends, mut cols, mut values) = (vec![], vec![], vec![]);
    for (node, row) in rows.iter().enumerate() {
        let Some((matrix, row)) = row else { continue };
        let range = matrix.ptr[*row]..matrix.ptr[row + 1];
        ends.resize(ends.len() + range.len(), node as i64);
        cols.extend_from_slice(&matrix.idx[range.clone()]);
        values.extend_from_slice(&matrix.values[range]);
    }
    let nnz = values.len();
    ends.extend(cols);
    let device = &options.device;
    let indices = ints(ends, [2, nnz], &device.clone().inner());
    let values = Tensor::<1>::from_data(TensorData::new(values, [nnz]), options.clone());
    let features = CooTensor::<2>::new(indices, values, [nodes, allx.cols])?.try_to_csr()?;
    let adjacency = undirected(&edges, nodes, device);
    let adjacency = adjacency.with_values(Tensor::<1>::ones([adjacency.nnz()], options.clone()));
    let train: Vec<usize> = (0..y.of.len()).collect();
    let val: Vec<usize> = (train.len()..known.min(train.len() + VALIDATION)).collect();
    if let Some(node) = train.iter().chain(&val).chain(&test).find(|&&node| labels[node] < 0) {
        return Err(at("ally")(format!("a node of a split must have a class, node {node} has none")));
    }
    Ok(Graph {
        adjacency,
        features,
        labels: Labels::new_unchecked(labels, ally.classes, device),
        splits: Splits { train, val, test },
    })
}

const OP: &str = "read_planetoid";

/// One number a line.
fn read_ids(path: &Path, progress: &mut Progress<'_>) -> Result<Vec<usize>> {
    let at = |message: String| SparseError::invalid(OP, message).in_file(path);
    let (file, _) = text(path, progress).map_err(|trouble| at(format!("cannot be read, got {trouble}")))?;
    let (mut lines, mut ids) = (Lines::new(file), vec![]);
    while let Some((number, line)) = lines.next().map_err(at)? {
        let id = std::str::from_utf8(line).ok().and_then(|text| text.parse::<u32>().ok());
        let id =
            id.ok_or_else(|| at(format!("line {number}: a node must be a whole number, got {:?}", shown(line))))?;
        ids.push(id as usize);
    }
    Ok(ids)
}

/// The features of some nodes.
fn rows(bytes: &[u8]) -> Result<Rows, String> {
    let pickle = Pickle::read(bytes)?;
    Rows::read(&pickle, pickle.top, "csr")
}

/// The classes of nodes, one column for each class in the file.
struct Classes {
    classes: usize,
    /// The first class whose column is greatest; -1 if all are 0.
    of: Vec<i64>,
}

impl Classes {
    fn read(bytes: &[u8]) -> Result<Self, String> {
        let pickle = Pickle::read(bytes)?;
        let (shape, fortran, elements) = array(&pickle, pickle.top)?;
        let &[nodes, classes] = &shape[..] else {
            return Err(format!("classes must be a matrix, got shape {:?}", shape));
        };
        let values: Vec<f64> = elements.iter().collect();
        let value = |node, class| {
            if fortran { values[class * nodes + node] } else { values[node * classes + class] }
        };
        let class = |node| {
            let mut best = (-1, 0.0);
            for class in 0..classes {
                if value(node, class) > best.1 {
                    best = (class as i64, value(node, class));
                }
            }
            best.0
        };
        // Rows without columns take no bytes, so their number proves nothing.
        let of = if classes == 0 { vec![] } else { (0..nodes).map(class).collect() };
        Ok(Self { classes, of })
    }
}

/// The neighbours of every node, from a dictionary of lists.
struct Links {
    keys: usize,
    pairs: Vec<(i64, i64)>,
}

impl Links {
    fn read(bytes: &[u8]) -> Result<Self, String> {
        let pickle = Pickle::read(bytes)?;
        let entries = pickle.entries(pickle.top).ok_or("a dictionary of lists is due, got something else")?;
        let mut pairs = Vec::new();
        for &(key, list) in entries {
            let Value::Int(from) = key else { return Err(format!("a node must be a whole number, got {key:?}")) };
            let list = pickle.list(list).ok_or_else(|| format!("node {from} must have a list of nodes"))?;
            // A list may be named again and again: count its items only while they can all be in the file.
            if pairs.len() + list.len() > bytes.len() {
                return Err("the lists must have fewer nodes than the file has bytes, got more".into());
            }
            Allowed::now().check_elements(pairs.len() + list.len())?;
            for &to in list {
                let Value::Int(to) = to else { return Err(format!("a node must be a whole number, got {to:?}")) };
                pairs.push((from, to));
            }
        }
        Ok(Self { keys: entries.len(), pairs })
    }

    /// Every undirected edge once, without self loops.
    fn edges(self, nodes: usize) -> Result<Vec<(usize, usize)>, String> {
        let inside = |node: i64| (0..nodes as i64).contains(&node);
        if let Some((from, to)) = self.pairs.iter().find(|&&(from, to)| !inside(from) || !inside(to)) {
            return Err(format!("a node must be in [0, {nodes}), got the edge ({from}, {to})"));
        }
        Ok(each_once(self.pairs.into_iter().map(|(from, to)| (from as usize, to as usize))))
    }
}
