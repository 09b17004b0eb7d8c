//! The graphs of types that MAGNN prepared.

use super::graph::{Splits, with_ends};
use super::hetero::{HeteroGraph, TypedNodes};
use super::labels::Labels;
use super::sources::{Owners, Sources, check_dtype, check_known, is_there};
use burn::tensor::{DType, Device, Int, Tensor, TensorCreationOptions};
use sparse_files::io::Progress;
use sparse_files::io::npz::Archive;
use sparse_files::io::source::silent;
use sparse_files::io::{npy, npz};
use sparse_nn::EdgeType;
use sparse_ops::extend::read_all;
use sparse_ops::{CsrTensor, Result, SparseError};
use std::path::{Path, PathBuf};

/// Reads a graph that MAGNN prepared: IMDB, DBLP (PyG's data sets of these names). Needs the feature `npz`.
///
/// `node_types` names the types of nodes in the order of their numbers in the files: `["movie", "director", "actor"]`
/// of IMDB, `["author", "paper", "term", "conference"]` of DBLP. The first one has classes.
///
/// | file | content |
/// |---|---|
/// | `adjM.npz` | the edges between all nodes, a matrix of SciPy: from the row to the column; its values do not count |
/// | `features_{i}.npz`, `features_{i}.npy` | the features of the nodes of type `i`, sparse or dense; may be missing |
/// | `node_types.npy` | the number of the type of each node, in ascending order; may be missing if all have features |
/// | `labels.npy` | the classes of the nodes of the first type |
/// | `train_val_test_idx.npz` | the splits: arrays `train_idx`, `val_idx` and `test_idx` |
///
/// The edges from one type to another, if there are any, have the type `{from}-to-{to}` and value 1. Takes `&device`,
/// or `(&device, dtype)` for the dtype of edges and features.
///
/// Source: Fu et al., *MAGNN: metapath aggregated graph neural network for heterogeneous graph embedding*, WWW 2020;
/// [the files](https://github.com/cynricfu/MAGNN).
///
/// ```no_run
/// use burn::tensor::Device;
/// use sparse_tensor::data::read_magnn;
///
/// let imdb = read_magnn("IMDB_processed", &["movie", "director", "actor"], &Device::flex()).unwrap();
/// assert_eq!(imdb.nodes_of("movie").count, 4278);
/// ```
///
/// # Errors
///
/// `invalid` for anything that cannot be read, breaks its format or contradicts another file; it names the file. Those
/// of [`npz::load`] and [`npy::load`]; `would_densify` for sparse features of too many nodes.
pub fn read_magnn(
    folder: impl AsRef<Path>,
    node_types: &[&str],
    options: impl Into<TensorCreationOptions>,
) -> Result<HeteroGraph> {
    read_magnn_with(folder, node_types, options, &mut silent())
}

/// [`read_magnn`], which reports its progress over all files.
///
/// # Errors
///
/// As [`read_magnn`].
pub fn read_magnn_with(
    folder: impl AsRef<Path>,
    node_types: &[&str],
    options: impl Into<TensorCreationOptions>,
    progress: &mut Progress<'_>,
) -> Result<HeteroGraph> {
    let (folder, options) = (folder.as_ref(), options.into());
    check_dtype(OP, &options)?;
    if node_types.is_empty() {
        return Err(SparseError::invalid(OP, "there must be a type of nodes, got none"));
    }
    if let Some((_, name)) = node_types.iter().enumerate().find(|(at, name)| node_types[..*at].contains(name)) {
        return Err(SparseError::invalid(OP, format!("{name}: a type of nodes must be listed once, got it again")));
    }
    let features: Vec<PathBuf> = (0..node_types.len())
        .map(|at| {
            let sparse = folder.join(format!("features_{at}.npz"));
            if is_there(&sparse) { sparse } else { folder.join(format!("features_{at}.npy")) }
        })
        .collect();
    let names = ["adjM.npz", "node_types.npy", "labels.npy", "train_val_test_idx.npz"];
    let [edge, kind, label, split] = names.map(|name| folder.join(name));
    let mut files = Sources::new(OP, folder, [&edge, &kind, &label, &split].into_iter().chain(&features), progress)?;
    let plain = options.device.clone().inner();

    let edges: CsrTensor<2> = files.next(|progress| npz::load_with(&edge, (&plain, DType::F32), progress))?;
    let [all, cols] = edges.dims();
    if all != cols {
        return Err(files.at(&edge, format!("an adjacency must be square, got {all} x {cols}")));
    }
    let counted = match is_there(&kind) {
        true => Some(counts(&mut files, &kind, &plain, [node_types.len(), all])?),
        false => None,
    };
    let mut nodes = vec![];
    for (at, (name, path)) in node_types.iter().zip(&features).enumerate() {
        let own = match (is_there(path), &counted) {
            (true, _) => TypedNodes::of(files.next(|progress| read_features(path, &options, progress))?),
            (false, Some(counts)) => TypedNodes::new(counts[at]),
            (false, None) => {
                let message =
                    format!("{name}: the number of nodes must follow from features or node_types.npy, got none");
                return Err(files.at(path, message));
            }
        };
        if let Some(counts) = counted.as_ref().filter(|counts| counts[at] != own.count) {
            let message =
                format!("there must be a row for each of {} nodes of type {name}, got {}", counts[at], own.count);
            return Err(files.at(path, message));
        }
        nodes.push(own);
    }
    let sum: usize = nodes.iter().map(|own| own.count).sum();
    if sum != all {
        return Err(files.at(&edge, format!("there must be a row for each of {sum} nodes of all types, got {all}")));
    }
    let count = nodes[0].count;
    let classes: Tensor<1, Int> = files.next(|progress| npy::load_with(&label, (&plain, DType::I32), progress))?;
    let classes = read_all(classes);
    if classes.len() != count {
        return Err(files.at(&label, format!("there must be a class for each of {count} nodes, got {}", classes.len())));
    }
    let labels = Labels::from_list(&classes, None, &options.device).map_err(|trouble| trouble.in_file(&label))?;
    let splits = files.next(|progress| read_splits(&split, count, &plain, progress));
    let splits = splits.map_err(|trouble| trouble.in_file(&split))?;
    check_known(&splits, &classes).map_err(|message| files.at(&split, message))?;
    (nodes[0].splits, nodes[0].labels) = (splits, Some(labels));
    files.finish();

    let starts: Vec<usize> =
        nodes.iter().scan(0, |next, own| Some(std::mem::replace(next, *next + own.count))).collect();
    let counts: Vec<usize> = nodes.iter().map(|own| own.count).collect();
    let mut graph = HeteroGraph::default();
    for (name, own) in node_types.iter().zip(nodes) {
        graph = graph.try_with_nodes(*name, own)?;
    }
    // The ends as (target, source), by the types of source and target.
    let mut parts = vec![vec![]; counts.len() * counts.len()];
    let type_of = |node: usize| starts.partition_point(|&start| start <= node) - 1;
    let ends = read_all(edges.to_coo().indices());
    let (from, to) = ends.split_at(edges.nnz());
    for (&from, &to) in from.iter().zip(to) {
        let [from, to] = [from as usize, to as usize];
        let [source, target] = [type_of(from), type_of(to)];
        parts[source * counts.len() + target].push((to - starts[target], from - starts[source]));
    }
    for (at, mut ends) in parts.into_iter().enumerate().filter(|(_, ends)| !ends.is_empty()) {
        let (source, target) = (at / counts.len(), at % counts.len());
        ends.sort_unstable();
        ends.dedup();
        let kind = EdgeType::new(node_types[source], "to", node_types[target]);
        graph = graph.try_with_edges(kind, with_ends(&ends, [counts[target], counts[source]], options.clone()))?;
    }
    Ok(graph)
}

const OP: &str = "read_magnn";

/// How many nodes of each type there are.
fn counts(files: &mut Sources<'_, '_>, path: &Path, plain: &Device, [types, all]: [usize; 2]) -> Result<Vec<usize>> {
    let of: Tensor<1, Int> = files.next(|progress| npy::load_with(path, (plain, DType::I32), progress))?;
    let of = read_all(of);
    if of.len() != all {
        return Err(files.at(path, format!("there must be a type for each of {all} nodes, got {}", of.len())));
    }
    if !of.is_sorted() {
        return Err(files.at(path, "the types of nodes must ascend, got a smaller one after a larger one"));
    }
    let mut counts = vec![0; types];
    for own in of {
        let Some(count) = usize::try_from(own).ok().and_then(|own| counts.get_mut(own)) else {
            return Err(files.at(path, format!("a type must be in [0, {types}), got {own}")));
        };
        *count += 1;
    }
    Ok(counts)
}

fn read_features(path: &Path, options: &TensorCreationOptions, progress: &mut Progress<'_>) -> Result<Tensor<2>> {
    let dtype = options.dtype.unwrap_or_else(|| Tensor::<1>::empty([1], &options.device).dtype());
    let options = (&options.device, dtype);
    if path.extension().is_some_and(|name| name == "npy") {
        return npy::load_with(path, options, progress);
    }
    let matrix: CsrTensor<2> = npz::load_with(path, options, progress)?;
    matrix.try_to_dense().map_err(|trouble| trouble.in_file(path))
}

fn read_splits(path: &Path, nodes: usize, plain: &Device, progress: &mut Progress<'_>) -> Result<Splits> {
    let mut archive = Archive::open(path)?;
    let mut owners = Owners::new(nodes);
    let mut part = |name: &str| {
        let ids = read_all(archive.dense_with::<1, Int>(name, (plain, DType::I32), progress)?);
        let take = |id: i64| {
            let node = usize::try_from(id).map_err(|_| format!("a node must be in [0, {nodes}), got {id}"))?;
            owners.take(node).map(|()| node)
        };
        let ids: Result<Vec<usize>, String> = ids.into_iter().map(take).collect();
        ids.map_err(|message| SparseError::invalid(OP, format!("{name}: {message}")))
    };
    Ok(Splits { train: part("train_idx")?, val: part("val_idx")?, test: part("test_idx")? })
}
