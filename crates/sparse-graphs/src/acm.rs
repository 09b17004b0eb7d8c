//! The graph of papers ACM, as HAN's authors prepared it.

use super::graph::{Splits, with_ends};
use super::hetero::{HeteroGraph, TypedNodes};
use super::labels::Labels;
use super::numpy::{integers, triplets};
use super::pickle::Pickle;
use super::sources::check_dtype;
use burn::tensor::{Tensor, TensorCreationOptions, TensorData};
use sparse_files::io::Progress;
use sparse_files::io::source::{silent, whole};
use sparse_nn::EdgeType;
use sparse_ops::extend::check_dense;
use sparse_ops::{Result, SparseError, aligned};
use std::path::Path;

/// Reads `ACM3025.pkl`: papers, joined where they share an author and where they share a subject.
///
/// | key | content |
/// |---|---|
/// | `feature` | the words of each paper, a sparse matrix of SciPy; dense here |
/// | `label` | a sparse matrix with a 1 at the class of each paper |
/// | `PAP`, `PLP` | papers by author and by subject: from the row to the column; values do not count |
/// | `train_idx`, `val_idx`, `test_idx` | the splits |
///
/// The graph has the nodes `"paper"` and edges of the types `("paper", "PAP", "paper")` and `("paper", "PLP", "paper")`
/// with value 1: what [`HanConv`](sparse_nn::HanConv) takes. Duplicates are one edge. The file is a pickle of Python;
/// no code in it is run. Takes `&device`, or `(&device, dtype)` for the dtype of edges and features. (DGL's
/// `load_acm`.)
///
/// Source: Wang et al., *Heterogeneous graph attention network*, WWW 2019;
/// [the file](https://data.dgl.ai/dataset/ACM3025.pkl).
///
/// ```no_run
/// use burn::tensor::Device;
/// use sparse_tensor::data::read_acm;
///
/// let graph = read_acm("ACM3025.pkl", &Device::flex()).unwrap();
/// assert_eq!((graph.nodes_of("paper").count, graph.edges().len()), (3025, 2));
/// ```
///
/// # Errors
///
/// `invalid` for a file that cannot be read, breaks its format or contradicts itself; it names the file and the key.
/// `would_densify` for features of too many words; `unsupported_dtype`.
pub fn read_acm(path: impl AsRef<Path>, options: impl Into<TensorCreationOptions>) -> Result<HeteroGraph> {
    read_acm_with(path, options, &mut silent())
}

/// [`read_acm`], which reports its progress.
///
/// # Errors
///
/// As [`read_acm`].
pub fn read_acm_with(
    path: impl AsRef<Path>,
    options: impl Into<TensorCreationOptions>,
    progress: &mut Progress<'_>,
) -> Result<HeteroGraph> {
    let (path, options) = (path.as_ref(), options.into());
    check_dtype(OP, &options)?;
    let at = |message: String| SparseError::invalid(OP, message).in_file(path);
    let bytes = whole(path, progress).map_err(|trouble| at(format!("cannot be read, got {trouble}")))?;
    let pickle = Pickle::read(&bytes).map_err(at)?;
    let entries = pickle.entries(pickle.top).ok_or_else(|| at("a dictionary is due, got something else".into()))?;
    let value = |name: &str| {
        let found = entries.iter().rev().find(|&&(key, _)| pickle.text(key) == Some(name));
        found.map(|&(_, value)| value).ok_or_else(|| at(format!("there must be a {name}, got none")))
    };
    let matrix = |name: &str| {
        let own = triplets(&pickle, value(name)?).map_err(|trouble| at(format!("{name}: {trouble}")))?;
        Ok::<_, SparseError>(own)
    };
    let ([nodes, words], feature) = matrix("feature")?;
    // Every paper has a label, whatever its words.
    let cells = nodes as u128 * words.max(1) as u128;
    check_dense(OP, "the features", cells, "the words of each paper become dense (Limits::elements)")?;
    let mut x = vec![0.0; nodes * words];
    feature.iter().for_each(|&(row, col, value)| x[row * words + col] += value);
    let x = aligned(Tensor::from_data(TensorData::new(x, [nodes, words]), options.clone()));
    let each = |shape: [usize; 2], name: &str, cols: usize| match shape == [nodes, cols] {
        true => Ok(()),
        false => Err(at(format!("{name} must be [{nodes}, {cols}], got {shape:?}"))),
    };

    let ([rows, classes], label) = matrix("label")?;
    each([rows, classes], "label", classes)?;
    let mut labels = vec![Labels::MISSING; nodes];
    // Of several classes the first one, as in DGL.
    label.iter().rev().filter(|own| own.2 != 0.0).for_each(|&(node, class, _)| labels[node] = class as i64);
    let split = |name: &str| {
        let wrong = |trouble: String| at(format!("{name}: {trouble}"));
        let ids = integers(&pickle, value(name)?).map_err(wrong)?;
        let id = |id: i64| match usize::try_from(id) {
            Ok(id) if id < nodes && labels[id] >= 0 => Ok(id),
            Ok(id) if id < nodes => Err(wrong(format!("a node of a split must have a class, node {id} has none"))),
            _ => Err(wrong(format!("a node must be in [0, {nodes}), got {id}"))),
        };
        ids.into_iter().map(id).collect::<Result<Vec<_>>>()
    };
    let splits = Splits { train: split("train_idx")?, val: split("val_idx")?, test: split("test_idx")? };
    let labels = Some(Labels::new_unchecked(labels, classes, &options.device));
    let mut graph = HeteroGraph::default().with_nodes("paper", TypedNodes { labels, splits, ..TypedNodes::of(x) });
    for name in ["PAP", "PLP"] {
        let (shape, edges) = matrix(name)?;
        each(shape, name, nodes)?;
        // Rows are targets here.
        let mut ends: Vec<_> = edges.iter().map(|&(from, to, _)| (to, from)).collect();
        ends.sort_unstable();
        ends.dedup();
        let adjacency = with_ends(&ends, [nodes; 2], options.clone());
        graph = graph.with_edges(EdgeType::new("paper", name, "paper"), adjacency);
    }
    Ok(graph)
}

const OP: &str = "read_acm";
