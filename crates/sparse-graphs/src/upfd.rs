//! Trees of how news spread.

use super::graph::Splits;
use super::graph_sets::GraphSet;
use super::sources::{Owners, Sources, Table, check_dtype};
use super::tu::{each_edge, each_graph, matrix};
use burn::tensor::{DType, Int, Tensor, TensorCreationOptions};
use sparse_files::io::Progress;
use sparse_files::io::source::silent;
use sparse_files::io::{npy, npz};
use sparse_ops::extend::{Allowed, read_all, read_data};
use sparse_ops::{CsrTensor, Result, SparseError};
use std::path::Path;

/// Reads a data set of UPFD as it is unpacked: `politifact/raw/` or `gossipcop/raw/`. Needs the feature `npz`.
///
/// | file | content |
/// |---|---|
/// | `A.txt` | `from, to`, an edge a line; nodes are counted from 0, over all graphs |
/// | `node_graph_id.npy` | the graph of a node; ascending |
/// | `graph_labels.npy` | 1 for a graph of fake news, else 0 |
/// | `new_{feature}_feature.npz` | the features of a node a row, a matrix of SciPy |
/// | `train_idx.npy`, `val_idx.npy`, `test_idx.npy` | the graphs of a split |
///
/// The `feature` is `profile`, `spacy`, `bert` or `content`. Node 0 of a graph is the news itself; the others are users
/// who passed it on. Edges point away from it. Features are dense. Takes `&device`, or `(&device, dtype)` for the dtype
/// of edges and features. (PyG's `UPFD`.)
///
/// Source: Dou et al., *User preference-aware fake news detection*, SIGIR 2021;
/// [the files](https://github.com/safe-graph/GNN-FakeNews).
///
/// ```no_run
/// use burn::tensor::Device;
/// use sparse_tensor::data::read_upfd;
///
/// let set = read_upfd("politifact/raw", "bert", &Device::flex()).unwrap();
/// assert_eq!((set.graphs.len(), set.splits.train.len()), (314, 62));
/// ```
///
/// # Errors
///
/// `invalid` for anything that cannot be read, breaks its format or contradicts another file; it names the file, and
/// the line of a text. Those of [`npz::load`] and [`npy::load`]; `would_densify`.
pub fn read_upfd(
    folder: impl AsRef<Path>,
    feature: &str,
    options: impl Into<TensorCreationOptions>,
) -> Result<GraphSet> {
    read_upfd_with(folder, feature, options, &mut silent())
}

/// [`read_upfd`], which reports its progress over all files.
///
/// # Errors
///
/// As [`read_upfd`].
pub fn read_upfd_with(
    folder: impl AsRef<Path>,
    feature: &str,
    options: impl Into<TensorCreationOptions>,
    progress: &mut Progress<'_>,
) -> Result<GraphSet> {
    const OP: &str = "read_upfd";
    let (folder, options) = (folder.as_ref(), options.into());
    check_dtype(OP, &options)?;
    let own = format!("new_{feature}_feature.npz");
    let names =
        ["A.txt", &own, "node_graph_id.npy", "graph_labels.npy", "train_idx.npy", "val_idx.npy", "test_idx.npy"];
    let paths = names.map(|name| folder.join(name));
    let mut files = Sources::new(OP, folder, &paths, progress)?;
    let [edge, feat, graph_of, label, parts @ ..] = &paths;
    let plain = options.device.clone().inner();

    let list = |files: &mut Sources<'_, '_>, path: &Path| {
        let list: Tensor<1, Int> = files.next(|progress| npy::load_with(path, &plain, progress))?;
        Ok::<_, SparseError>(read_all(list))
    };
    let of = list(&mut files, graph_of)?;
    let labels = list(&mut files, label)?;
    let graphs = labels.len();
    if !of.is_sorted() || of.iter().any(|&graph| !(0..graphs as i64).contains(&graph)) {
        return Err(files.at(graph_of, format!("the graphs of nodes must ascend and be in [0, {graphs})")));
    }
    let nodes = of.len();
    let features: CsrTensor<2> = files.next(|progress| npz::load_with(feat, (&plain, DType::F32), progress))?;
    let [rows, cols] = features.dims();
    if rows != nodes {
        return Err(files.at(feat, format!("there must be a row for each of {nodes} nodes, got {rows}")));
    }
    let values = read_data(features.try_to_dense()?).iter::<f32>().collect();
    let features = Table { cols, rows, values };
    let (mut edges, allowed) = (vec![], Allowed::now());
    files.lines(edge, b',', |_, fields| {
        let (from, to) = (fields.node(nodes)?, fields.node(nodes)?);
        if of[from] != of[to] {
            return Err(format!("an edge must be in one graph, got one from graph {} to {}", of[from], of[to]));
        }
        edges.push((from, to));
        allowed.check_elements(edges.len())?;
        fields.end()
    })?;
    each_edge(&mut edges, None, true);
    let mut owners = Owners::new(graphs);
    let mut part = |path: &Path| {
        let ids = list(&mut files, path)?.into_iter().map(|graph| usize::try_from(graph).unwrap_or(usize::MAX));
        let ids: Vec<usize> = ids.collect();
        let taken = ids.iter().try_for_each(|&graph| owners.take(graph));
        taken.map_err(|message| files.at(path, message))?;
        Ok::<_, SparseError>(ids)
    };
    let [train, val, test] = parts;
    let splits = Splits { train: part(train)?, val: part(val)?, test: part(test)? };
    files.finish();
    let starts: Vec<usize> = (0..=graphs).map(|graph| of.partition_point(|&own| own < graph as i64)).collect();
    let targets = Table { cols: 1, rows: graphs, values: labels.iter().map(|&label| label as f32).collect() };
    Ok(GraphSet {
        graphs: each_graph(&starts, &edges, Some(&features), None, &options),
        targets: matrix(&targets, 0..graphs, &options),
        splits,
    })
}
