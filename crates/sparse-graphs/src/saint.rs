//! The large graphs of GraphSAINT.

use super::graph::Splits;
use super::ogb::OgbGraph;
use super::sources::{Owners, Sources, check_dtype};
use burn::tensor::{DType, Tensor, TensorCreationOptions, TensorData};
use serde::Deserialize;
use sparse_files::io::Progress;
use sparse_files::io::source::silent;
use sparse_files::io::{npy, npz};
use sparse_ops::extend::Allowed;
use sparse_ops::{CsrTensor, Result, aligned};
use std::collections::BTreeMap;
use std::path::Path;

/// Reads a graph of GraphSAINT as it is downloaded: Flickr, Reddit (PyG's `Reddit2`), Yelp, Amazon (PyG's
/// `AmazonProducts`). Needs the feature `npz`.
///
/// | file | content |
/// |---|---|
/// | `adj_full.npz` | the edges, a matrix of SciPy; its values do not count |
/// | `feats.npy` | the features of a node a row |
/// | `class_map.json` | the class of each node, `{"0": 3, ..}`, or a 0 or 1 for each class, `{"0": [1, 0, ..], ..}` |
/// | `role.json` | the splits: lists of nodes `tr`, `va` and `te` |
///
/// The result is an [`OgbGraph`] with features, whose edges have value 1. Its labels are `[nodes, 1]`, or
/// `[nodes, classes]` with zeros and ones where a node may have several classes (Yelp, Amazon). Takes `&device`, or
/// `(&device, dtype)` for the dtype of edges and features: features in f64 become floats of the device without one.
/// `adj_train.npz` is `graph.adjacency` of the training nodes ([`induced_subgraph`](super::induced_subgraph())).
///
/// Source: Zeng et al., *GraphSAINT: Graph Sampling Based Inductive Learning Method*, ICLR 2020;
/// [the files](https://github.com/GraphSAINT/GraphSAINT#datasets).
///
/// ```no_run
/// use burn::tensor::Device;
/// use sparse_tensor::data::read_graph_saint;
///
/// let flickr = read_graph_saint("flickr", &Device::flex()).unwrap();
/// assert_eq!((flickr.nodes(), flickr.adjacency.nnz()), (89_250, 899_756));
/// ```
///
/// # Errors
///
/// `invalid` for anything that cannot be read, breaks its format or contradicts another file; it names the file, and
/// the line and column of a JSON. Those of [`npz::load`] and [`npy::load`].
pub fn read_graph_saint(folder: impl AsRef<Path>, options: impl Into<TensorCreationOptions>) -> Result<OgbGraph> {
    read_graph_saint_with(folder, options, &mut silent())
}

/// [`read_graph_saint`], which reports its progress over all files.
///
/// # Errors
///
/// As [`read_graph_saint`].
pub fn read_graph_saint_with(
    folder: impl AsRef<Path>,
    options: impl Into<TensorCreationOptions>,
    progress: &mut Progress<'_>,
) -> Result<OgbGraph> {
    let (folder, options) = (folder.as_ref(), options.into());
    check_dtype(OP, &options)?;
    let paths = ["adj_full.npz", "feats.npy", "class_map.json", "role.json"].map(|name| folder.join(name));
    let mut files = Sources::new(OP, folder, &paths, progress)?;
    let [edges, feats, classes, roles] = &paths;

    let loaded: CsrTensor<2> = files.next(|progress| npz::load_with(edges, (&options.device, DType::F32), progress))?;
    let [nodes, cols] = loaded.dims();
    if nodes != cols {
        return Err(files.at(edges, format!("an adjacency must be square, got {nodes} x {cols}")));
    }
    let adjacency = loaded.with_values(Tensor::<1>::ones([loaded.nnz()], options.clone()));
    let dtype = adjacency.dtype();
    let features: Tensor<2> = files.next(|progress| npy::load_with(feats, (&options.device, dtype), progress))?;
    if features.dims()[0] != nodes {
        let got = features.dims()[0];
        return Err(files.at(feats, format!("there must be a row for each of {nodes} nodes, got {got}")));
    }
    let map: BTreeMap<String, Class> = files.json(classes)?;
    let (tasks, labels) = flat(map, nodes).map_err(|message| files.at(classes, message))?;
    let roles_read: Roles = files.json(roles)?;
    let mut owners = Owners::new(nodes);
    let mut all = roles_read.tr.iter().chain(&roles_read.va).chain(&roles_read.te);
    all.try_for_each(|&node| owners.take(node)).map_err(|message| files.at(roles, message))?;
    files.finish();

    let labels = Tensor::from_data(TensorData::new(labels, [nodes, tasks]), &options.device);
    let splits = Splits { train: roles_read.tr, val: roles_read.va, test: roles_read.te };
    Ok(OgbGraph { adjacency, features: Some(aligned(features)), edge_features: None, labels, splits })
}

const OP: &str = "read_graph_saint";

/// What a node is in `class_map.json`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Class {
    One(u32),
    Several(Vec<u8>),
}

#[derive(Deserialize)]
struct Roles {
    tr: Vec<usize>,
    va: Vec<usize>,
    te: Vec<usize>,
}

/// The number of labels of a node, and the labels of all nodes.
fn flat(map: BTreeMap<String, Class>, nodes: usize) -> Result<(usize, Vec<i64>), String> {
    if map.len() != nodes {
        return Err(format!("there must be an entry for each of {nodes} nodes, got {}", map.len()));
    }
    let (several, tasks) = match map.values().next() {
        Some(Class::Several(list)) => (true, list.len()),
        _ => (false, 1),
    };
    let mut owners = Owners::new(nodes);
    // As many numbers as the file has, if all lists are as long as the first.
    let count = map.values().map(|class| if let Class::Several(list) = class { list.len() } else { 1 }).sum::<usize>();
    Allowed::now().check_elements(count)?;
    if nodes.checked_mul(tasks) != Some(count) {
        return Err(format!("all nodes must have {tasks} labels as one of them, got {count} of {nodes} nodes"));
    }
    let mut labels = vec![0; count];
    for (name, class) in map {
        let node = name.parse::<usize>().map_err(|_| format!("a node must be a whole number, got {name:?}"))?;
        owners.take(node)?;
        let own = &mut labels[node * tasks..(node + 1) * tasks];
        match class {
            Class::One(class) if !several && class <= i32::MAX as u32 => own[0] = i64::from(class),
            Class::Several(list) if several && list.len() == tasks && list.iter().all(|&member| member <= 1) => {
                own.iter_mut().zip(list).for_each(|(label, member)| *label = i64::from(member));
            }
            _ => return Err(format!("a node must have a class, or {tasks} zeros and ones, got others for {node}")),
        }
    }
    Ok((tasks, labels))
}
