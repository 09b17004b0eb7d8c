//! Data sets of many small graphs.

use super::graph::with_ends;
use super::labels::Labels;
use super::sources::{Sources, Table, check_dtype, is_there};
use burn::tensor::{Tensor, TensorCreationOptions, TensorData};
use sparse_files::io::Progress;
use sparse_files::io::source::silent;
use sparse_ops::extend::{Allowed, check_dense};
use sparse_ops::{CsrTensor, Result};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The graphs of a TUDataset folder. [`read_tu`] reads one.
#[derive(Clone, Debug)]
pub struct TuGraphs {
    /// The graphs, in the order of the files.
    pub graphs: Vec<TuGraph>,
    /// The class of each graph: the k-th smallest number of the file is class k. `None` if there is no such file.
    pub labels: Option<Labels>,
    /// `[graphs, targets]`: what a regression predicts. `None` if there is no such file.
    pub targets: Option<Tensor<2>>,
    /// How many of the first features of a node are attributes. The others are one-hot labels.
    pub node_attributes: usize,
    /// How many of the first features of an edge are attributes.
    pub edge_attributes: usize,
}

/// One of many graphs.
#[derive(Clone, Debug)]
pub struct TuGraph {
    /// `[nodes, nodes]`, with value 1 for an edge from the row to the column, and without self loops.
    pub adjacency: CsrTensor<2>,
    /// `[nodes, features]`: attributes, then one-hot labels. `None` if the data set has neither.
    pub features: Option<Tensor<2>>,
    /// `[edges, features]`, a row for each stored element of the adjacency, likewise.
    pub edge_features: Option<Tensor<2>>,
}

/// Reads a data set of TUDataset as it is unpacked, such as `MUTAG/`.
///
/// | file | content |
/// |---|---|
/// | `{name}_A.txt` | `from, to`, an edge a line; nodes are counted from 1, over all graphs |
/// | `{name}_graph_indicator.txt` | the graph of a node a line, from 1; ascending |
/// | `{name}_graph_labels.txt` | the class of a graph a line |
/// | `{name}_graph_attributes.txt` | numbers to predict for a graph |
/// | `{name}_node_labels.txt`, `_edge_labels.txt` | whole numbers of a node or an edge a line |
/// | `{name}_node_attributes.txt`, `_edge_attributes.txt` | numbers of a node or an edge a line |
///
/// The first two must be there, and one of the next two. The conventions are those of PyG's `TUDataset`: attributes
/// come before labels; each column of labels is shifted to start at 0, and becomes one-hot; self loops are dropped, and
/// the features of an edge that is listed several times are added up. It differs from PyG in three points: attributes
/// of nodes and edges are there without `use_node_attr` (`node_attributes` says how many they are), classes and targets
/// are both read, and nodes without features are counted by the indicator, so that the last ones may be isolated.
///
/// Takes `&device`, or `(&device, dtype)` for the dtype of edges and features. [`GraphBatch`](super::GraphBatch) joins
/// the graphs of a batch. Cost: up to five small tensors for each graph.
///
/// Source: Morris et al., *TUDataset: A collection of benchmark datasets for learning with graphs*, 2020;
/// [the files](https://chrsmrrs.github.io/datasets/).
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::{GraphBatch, read_tu};
///
/// let folder = std::env::temp_dir().join(format!("tu-{}", std::process::id()));
/// std::fs::create_dir_all(&folder).unwrap();
/// let files = [
///     ("A", "1, 2\n2, 1\n3, 4\n4, 3\n4, 5\n5, 4\n"),
///     ("graph_indicator", "1\n1\n2\n2\n2\n"),
///     ("graph_labels", "1\n-1\n"),
///     ("node_labels", "6\n8\n6\n6\n8\n"),
/// ];
/// for (part, text) in files {
///     std::fs::write(folder.join(format!("PAIRS_{part}.txt")), text).unwrap();
/// }
/// let set = read_tu(&folder, "PAIRS", &Device::flex()).unwrap();
/// assert_eq!(set.labels.unwrap().to_vec(), [1, 0]);
/// let picked = [1, 0, 1].map(|graph: usize| set.graphs[graph].clone());
/// let batch = GraphBatch::new(&picked.clone().map(|graph| graph.adjacency)).unwrap();
/// let x = batch.join_rows(&picked.map(|graph| graph.features.unwrap()));
/// assert_eq!((batch.adjacency().nnz(), x.dims()), (4 + 2 + 4, [3 + 2 + 3, 3]));
/// # std::fs::remove_dir_all(folder).unwrap();
/// ```
///
/// # Errors
///
/// `invalid` for anything that cannot be read, breaks its format or contradicts another file; it names the file and the
/// line. `would_densify` for one-hot labels beyond [`dense_limit`](sparse_ops::dense_limit). `unsupported_dtype`.
pub fn read_tu(folder: impl AsRef<Path>, name: &str, options: impl Into<TensorCreationOptions>) -> Result<TuGraphs> {
    read_tu_with(folder, name, options, &mut silent())
}

/// [`read_tu`], which reports its progress over all files.
///
/// # Errors
///
/// As [`read_tu`].
pub fn read_tu_with(
    folder: impl AsRef<Path>,
    name: &str,
    options: impl Into<TensorCreationOptions>,
    progress: &mut Progress<'_>,
) -> Result<TuGraphs> {
    let (folder, options) = (folder.as_ref(), options.into());
    check_dtype(OP, &options)?;
    let path = |part: &str| folder.join(format!("{name}_{part}.txt"));
    let [edge, indicator] = ["A", "graph_indicator"].map(path);
    let [classes, targets] = ["graph_labels", "graph_attributes"].map(path);
    let nodes_own = ["node_attributes", "node_labels"].map(path);
    let edges_own = ["edge_attributes", "edge_labels"].map(path);
    let own = nodes_own.iter().chain(&edges_own);
    let all = [&edge, &indicator, &classes, &targets].into_iter().chain(own);
    let mut files = Sources::new(OP, folder, all, progress)?;

    let labels = is_there(&classes).then(|| ranks(&mut files, &classes)).transpose()?;
    let known = labels.as_ref().map(Vec::len);
    let targets_read = is_there(&targets).then(|| files.table(&targets, known, |fields| fields.float())).transpose()?;
    let Some(graphs) = known.or(targets_read.as_ref().map(|table| table.rows)) else {
        return Err(files.at(&classes, "cannot be read, nor graph_attributes, got no file of these names"));
    };
    // The graph of each node, and where the nodes of each graph start.
    let (mut of, mut starts, allowed) = (vec![], vec![0], Allowed::now());
    files.lines(&indicator, b',', |_, fields| {
        let graph = fields.id("a graph", 1, graphs)?;
        if graph + 1 < starts.len() {
            return Err(format!("the graphs of nodes must ascend, got {} after {}", graph + 1, starts.len()));
        }
        starts.resize(graph + 1, of.len());
        of.push(graph);
        allowed.check_elements(of.len())?;
        fields.end()
    })?;
    let nodes = of.len();
    starts.resize(graphs + 1, nodes);
    let mut edges = vec![];
    files.lines(&edge, b',', |_, fields| {
        let (from, to) = (fields.id("a node", 1, nodes)?, fields.id("a node", 1, nodes)?);
        if of[from] != of[to] {
            let [from_graph, to_graph] = [of[from] + 1, of[to] + 1];
            return Err(format!("an edge must be in one graph, got one from graph {from_graph} to {to_graph}"));
        }
        edges.push((from, to));
        allowed.check_elements(edges.len())?;
        fields.end()
    })?;
    let (node_attributes, features) = features(&mut files, &nodes_own, nodes)?;
    let (edge_attributes, edge_features) = features_of_edges(&mut files, &edges_own, &mut edges)?;
    files.finish();

    let list = each_graph(&starts, &edges, features.as_ref(), edge_features.as_ref(), &options);
    let labels = labels.map(|labels| Labels::from_list(&labels, None, &options.device)).transpose()?;
    let targets = targets_read.as_ref().map(|table| matrix(table, 0..graphs, &options));
    Ok(TuGraphs { graphs: list, labels, targets, node_attributes, edge_attributes })
}

/// Some rows of a table.
pub(super) fn matrix(table: &Table<f32>, rows: Range<usize>, options: &TensorCreationOptions) -> Tensor<2> {
    let values = table.values[rows.start * table.cols..rows.end * table.cols].to_vec();
    Tensor::from_data(TensorData::new(values, [rows.len(), table.cols]), options.clone())
}

/// The graphs of a long list of nodes and edges. Graph `k` has the nodes from `starts[k]` to `starts[k + 1]`, no edge
/// leaves its graph, and edges ascend.
pub(super) fn each_graph(
    starts: &[usize],
    edges: &[(usize, usize)],
    features: Option<&Table<f32>>,
    edge_features: Option<&Table<f32>>,
    options: &TensorCreationOptions,
) -> Vec<TuGraph> {
    let mut first = 0;
    let graph = |ends: &[usize]| {
        let (from, to) = (ends[0], ends[1]);
        let count = edges[first..].partition_point(|edge| edge.0 < to);
        let here = first..first + count;
        first = here.end;
        let local: Vec<_> = edges[here.clone()].iter().map(|&(a, b)| (a - from, b - from)).collect();
        TuGraph {
            adjacency: with_ends(&local, [to - from; 2], options.clone()),
            features: features.map(|table| matrix(table, from..to, options)),
            edge_features: edge_features.map(|table| matrix(table, here, options)),
        }
    };
    starts.windows(2).map(graph).collect()
}

const OP: &str = "read_tu";

/// The place of each number among the different ones.
fn ranks(files: &mut Sources<'_, '_>, path: &Path) -> Result<Vec<i64>> {
    let mut numbers = vec![];
    files.lines(path, b',', |_, fields| {
        numbers.push(fields.int()?);
        Allowed::now().check_elements(numbers.len())?;
        fields.end()
    })?;
    let mut different = numbers.clone();
    different.sort_unstable();
    different.dedup();
    Ok(numbers.iter().map(|number| different.partition_point(|other| other < number) as i64).collect())
}

/// Attributes and one-hot labels of `rows` nodes or edges, and how many columns are attributes.
fn features(
    files: &mut Sources<'_, '_>,
    [attributes, labels]: &[PathBuf; 2],
    rows: usize,
) -> Result<(usize, Option<Table<f32>>)> {
    let attributes =
        is_there(attributes).then(|| files.table(attributes, Some(rows), |fields| fields.float())).transpose()?;
    let own = attributes.as_ref().map_or(0, |table| table.cols);
    if !is_there(labels) {
        return Ok((own, attributes));
    }
    let labels = files.table(labels, Some(rows), |fields| fields.int())?;
    // For each column of labels the smallest one, and the column of the table where it goes.
    let (mut shifts, mut cols) = (vec![], own as u128);
    for col in 0..labels.cols {
        let column = || labels.values[col..].iter().step_by(labels.cols).map(|&label| i128::from(label));
        let (low, high) = (column().min().unwrap_or(0), column().max().unwrap_or(0));
        shifts.push((low, cols));
        cols += (high - low + 1) as u128;
    }
    let cells = cols.saturating_mul(rows as u128);
    let hint = "one-hot labels need a column for every number from the smallest to the largest (Limits::elements)";
    check_dense(OP, "the features", cells, hint)?;
    let cols = cols as usize;
    let mut values = vec![0.0; cells as usize];
    for row in 0..rows {
        let place = &mut values[row * cols..(row + 1) * cols];
        if let Some(table) = &attributes {
            place[..own].copy_from_slice(&table.values[row * own..(row + 1) * own]);
        }
        for (&label, &(low, start)) in labels.values[row * labels.cols..].iter().zip(&shifts) {
            place[(start as i128 + i128::from(label) - low) as usize] = 1.0;
        }
    }
    Ok((own, Some(Table { cols, rows, values })))
}

/// [`features`] of edges. The edges are sorted, and each is left once, without self loops.
fn features_of_edges(
    files: &mut Sources<'_, '_>,
    paths: &[PathBuf; 2],
    edges: &mut Vec<(usize, usize)>,
) -> Result<(usize, Option<Table<f32>>)> {
    let (attributes, table) = features(files, paths, edges.len())?;
    Ok((attributes, each_edge(edges, table, false)))
}

/// Edges in order, each once, and the sums of the rows that a table has for each; self loops only if they are kept.
pub(super) fn each_edge(
    edges: &mut Vec<(usize, usize)>,
    table: Option<Table<f32>>,
    self_loops: bool,
) -> Option<Table<f32>> {
    let mut order: Vec<usize> = (0..edges.len()).filter(|&at| self_loops || edges[at].0 != edges[at].1).collect();
    order.sort_by_key(|&at| edges[at]);
    let groups = || order.chunk_by(|&a, &b| edges[a] == edges[b]);
    let table = table.map(|table| {
        let mut values = vec![];
        for group in groups() {
            let start = values.len();
            values.resize(start + table.cols, 0.0);
            for &at in group {
                let row = &table.values[at * table.cols..(at + 1) * table.cols];
                values[start..].iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
            }
        }
        Table { cols: table.cols, rows: groups().count(), values }
    });
    let left = groups().map(|group| edges[group[0]]).collect();
    *edges = left;
    table
}
