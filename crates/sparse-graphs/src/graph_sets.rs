//! Sets of many graphs with splits: OGB, UPFD.

use super::graph::Splits;
use super::ogb::{OgbOptions, both_ways, found, split_folder};
use super::sources::{Owners, Sources, check_dtype, is_there};
use super::tu::{TuGraph, each_edge, each_graph, matrix};
use burn::tensor::{Tensor, TensorCreationOptions};
use sparse_files::io::Progress;
use sparse_files::io::source::silent;
use sparse_ops::Result;
use sparse_ops::extend::Allowed;
use std::path::Path;

/// Many graphs, what is predicted of each, and their splits.
#[derive(Clone, Debug)]
pub struct GraphSet {
    /// The graphs, in the order of the files.
    pub graphs: Vec<TuGraph>,
    /// `[graphs, tasks]`: a number, or a class, of each graph for each task; NaN where it is not known.
    pub targets: Tensor<2>,
    /// The graphs for training, validation and testing.
    pub splits: Splits,
}

/// Reads a graph-property set of the Open Graph Benchmark as it is downloaded and unpacked, such as `ogbg_molhiv/`.
///
/// | file | content |
/// |---|---|
/// | `raw/num-node-list.csv.gz`, `num-edge-list.csv.gz` | the number of nodes, or of edges, of a graph a line |
/// | `raw/edge.csv.gz` | `from,to`, an edge a line, graph by graph; the nodes of each are counted from 0 |
/// | `raw/node-feat.csv.gz`, `edge-feat.csv.gz` | the features of a node, or an edge, a line; may be missing |
/// | `raw/graph-label.csv.gz` | the numbers to predict for a graph a line; `nan` where one is not known |
/// | `split/{name}/train.csv.gz`, `valid.csv.gz`, `test.csv.gz` | a graph a line |
///
/// OGB's own loader adds the other direction of each edge to all of these but `ogbg-code2`, whose labels are words and
/// are not read here: use [`OgbOptions::with_inverse_edges`]. As in [`read_tu`](super::read_tu) an edge that is listed
/// several times is one edge with the sum of the features, and self loops are left out. Without features of nodes
/// there must be no more nodes than ends of edges and graphs. Features that are numbers of
/// categories are floats here: `.int()` for an embedding. The files may be unpacked (`.csv`); compressed ones need the
/// feature `gz`. Takes `&device`, or `(&device, dtype)`.
///
/// Source: Hu et al., *Open Graph Benchmark: Datasets for Machine Learning on Graphs*, NeurIPS 2020.
///
/// ```no_run
/// use burn::tensor::Device;
/// use sparse_tensor::data::{OgbOptions, read_ogb_graphs};
///
/// let set = read_ogb_graphs("ogbg_molhiv", &OgbOptions::new().with_inverse_edges(), &Device::flex()).unwrap();
/// assert_eq!((set.graphs.len(), set.splits.train.len()), (41_127, 32_901));
/// ```
///
/// # Errors
///
/// `invalid` for anything that cannot be read, breaks its format or contradicts another file. It names the file and the
/// line. `unsupported_dtype`.
pub fn read_ogb_graphs(
    folder: impl AsRef<Path>,
    options: &OgbOptions,
    device: impl Into<TensorCreationOptions>,
) -> Result<GraphSet> {
    read_ogb_graphs_with(folder, options, device, &mut silent())
}

/// [`read_ogb_graphs`], which reports its progress over all files.
///
/// # Errors
///
/// As [`read_ogb_graphs`].
pub fn read_ogb_graphs_with(
    folder: impl AsRef<Path>,
    options: &OgbOptions,
    device: impl Into<TensorCreationOptions>,
    progress: &mut Progress<'_>,
) -> Result<GraphSet> {
    const OP: &str = "read_ogb_graphs";
    let (folder, device) = (folder.as_ref(), device.into());
    check_dtype(OP, &device)?;
    let split = split_folder(OP, &folder.join("split"), options)?;
    let names = ["num-node-list", "num-edge-list", "edge", "node-feat", "edge-feat", "graph-label"];
    let raw = names.map(|name| found(&folder.join("raw"), name));
    let parts = ["train", "valid", "test"].map(|name| found(&split, name));
    let mut files = Sources::new(OP, folder, raw.iter().chain(&parts), progress)?;
    let [node_count, edge_count, edge, node_feat, edge_feat, label] = &raw;

    let allowed = Allowed::now();
    // Where the nodes, or the edges, of each graph start.
    let mut starts = |path: &Path, what: &str| {
        let (mut starts, mut sum) = (vec![0], 0usize);
        files.lines(path, b',', |_, fields| {
            sum += fields.id(what, 0, LARGEST)?;
            allowed.check_elements(sum)?;
            starts.push(sum);
            fields.end()
        })?;
        Ok::<_, sparse_ops::SparseError>(starts)
    };
    let (nodes, ends) = (starts(node_count, "a number of nodes")?, starts(edge_count, "a number of edges")?);
    let graphs = nodes.len() - 1;
    if ends.len() != nodes.len() {
        let message = format!("there must be a line for each of {graphs} graphs, got {}", ends.len() - 1);
        return Err(files.at(edge_count, message));
    }
    let (mut edges, mut graph, all) = (vec![], 0, ends[graphs]);
    files.lines(edge, b',', |_, fields| {
        if edges.len() == all {
            return Err(format!("there must be {all} edges of all graphs, got more"));
        }
        while edges.len() == ends[graph + 1] {
            graph += 1;
        }
        let (first, count) = (nodes[graph], nodes[graph + 1] - nodes[graph]);
        edges.push((first + fields.node(count)?, first + fields.node(count)?));
        fields.end()
    })?;
    if edges.len() < all {
        return Err(files.at(edge, format!("there must be {all} edges of all graphs, got {}", edges.len())));
    }
    // What follows allocates for nodes with a line, and for ends of edges.
    if !is_there(node_feat) && nodes[graphs] > 2 * all + graphs {
        let message = format!("nodes without features must be ends of {all} edges, got {} nodes", nodes[graphs]);
        return Err(files.at(node_count, message));
    }
    let mut table = |path: &Path, rows: usize| {
        is_there(path).then(|| files.table(path, Some(rows), |fields| fields.float())).transpose()
    };
    let (features, edge_features) = (table(node_feat, nodes[graphs])?, table(edge_feat, all)?);
    let edge_features = both_ways(&mut edges, edge_features, options);
    let edge_features = each_edge(&mut edges, edge_features, false);
    let targets = files.table(label, Some(graphs), |fields| fields.target())?;
    let mut owners = Owners::new(graphs);
    let mut part = |path: &Path| {
        let mut ids = vec![];
        files.lines(path, b',', |_, fields| {
            let graph = fields.id("a graph", 0, graphs)?;
            owners.take(graph)?;
            ids.push(graph);
            fields.end()
        })?;
        Ok::<_, sparse_ops::SparseError>(ids)
    };
    let [train, val, test] = &parts;
    let splits = Splits { train: part(train)?, val: part(val)?, test: part(test)? };
    files.finish();
    Ok(GraphSet {
        graphs: each_graph(&nodes, &edges, features.as_ref(), edge_features.as_ref(), &device),
        targets: matrix(&targets, 0..graphs, &device),
        splits,
    })
}

/// Counts are below it.
const LARGEST: usize = i32::MAX as usize;
