//! Graphs of proteins.

use super::graph::{Splits, each_once, undirected};
use super::ogb::OgbGraph;
use super::sources::{Sources, check_dtype};
use burn::tensor::{DType, Int, Tensor, TensorCreationOptions, TensorData};
use serde::Deserialize;
use sparse_files::io::Progress;
use sparse_files::io::npy;
use sparse_files::io::source::silent;
use sparse_ops::extend::{Allowed, read_all, read_data};
use sparse_ops::{Result, aligned};
use std::path::Path;

/// Reads one of the three sets of graphs of PPI as they are downloaded: `train` (20 graphs), `valid` or `test` (2
/// each).
///
/// | file | content |
/// |---|---|
/// | `{set}_graph.json` | `{"links": [{"source": 0, "target": 372}, ..], ..}`; nodes are counted over all graphs |
/// | `{set}_feats.npy` | the features of a node a row |
/// | `{set}_labels.npy` | a 0 or 1 for each class a row |
/// | `{set}_graph_id.npy` | the graph of a node; ascending |
///
/// Each graph is an [`OgbGraph`] without splits, with edges both ways and without self loops, and with labels
/// `[nodes, classes]` of zeros and ones. As in PyG's `PPI`, a link between two graphs is left out. A graph without
/// nodes is none here. Takes `&device`, or `(&device, dtype)` for the dtype of edges and features: features in f64
/// become floats of the device without one.
///
/// Source: Zitnik and Leskovec, *Predicting multicellular function through multi-layer tissue networks*, 2017;
/// the split: Hamilton et al., *Inductive Representation Learning on Large Graphs*, NeurIPS 2017;
/// [the files](https://data.dgl.ai/dataset/ppi.zip).
///
/// ```no_run
/// use burn::tensor::Device;
/// use sparse_tensor::data::{GraphBatch, read_ppi};
///
/// let graphs = read_ppi("ppi", "train", &Device::flex()).unwrap();
/// assert_eq!(graphs.len(), 20);
/// let batch = GraphBatch::new(&[graphs[0].adjacency.clone(), graphs[1].adjacency.clone()]).unwrap();
/// ```
///
/// # Errors
///
/// `invalid` for anything that cannot be read, breaks its format or contradicts another file; it names the file, and
/// the line and column of a JSON. Those of [`npy::load`].
pub fn read_ppi(
    folder: impl AsRef<Path>,
    set: &str,
    options: impl Into<TensorCreationOptions>,
) -> Result<Vec<OgbGraph>> {
    read_ppi_with(folder, set, options, &mut silent())
}

/// [`read_ppi`], which reports its progress over all files.
///
/// # Errors
///
/// As [`read_ppi`].
pub fn read_ppi_with(
    folder: impl AsRef<Path>,
    set: &str,
    options: impl Into<TensorCreationOptions>,
    progress: &mut Progress<'_>,
) -> Result<Vec<OgbGraph>> {
    let (folder, options) = (folder.as_ref(), options.into());
    check_dtype(OP, &options)?;
    let device = &options.device;
    let plain = device.clone().inner();
    let dtype = Tensor::<1>::empty([0], options.clone()).dtype();
    let names = ["graph_id.npy", "feats.npy", "labels.npy", "graph.json"];
    let paths = names.map(|name| folder.join(format!("{set}_{name}")));
    let mut files = Sources::new(OP, folder, &paths, progress)?;
    let [ids, feats, labels, links] = &paths;

    let of: Tensor<1, Int> = files.next(|progress| npy::load_with(ids, &plain, progress))?;
    let of = read_all(of);
    let nodes = of.len();
    if !of.is_sorted() {
        return Err(files.at(ids, "the graphs of nodes must ascend, got a smaller one after a larger one"));
    }
    let features: Tensor<2> = files.next(|progress| npy::load_with(feats, (device, dtype), progress))?;
    // Integers in one download, floats in another.
    let classes: Tensor<2> = files.next(|progress| npy::load_with(labels, (&plain, DType::F32), progress))?;
    for (path, got) in [(feats, features.dims()[0]), (labels, classes.dims()[0])] {
        if got != nodes {
            return Err(files.at(path, format!("there must be a row for each of {nodes} nodes, got {got}")));
        }
    }
    let width = classes.dims()[1];
    let classes: Vec<f32> = read_data(classes).iter().collect();
    if let Some(other) = classes.iter().find(|&&member| member != 0.0 && member != 1.0) {
        return Err(files.at(labels, format!("labels must be zeros and ones, got {other}")));
    }
    let graph: Links = files.json(links)?;
    let edges = graph.check(nodes).map_err(|message| files.at(links, message))?;
    files.finish();

    // Sorted by the first node, and so by graph.
    let edges = each_once(edges.filter(|&(from, to)| of[from] == of[to]));
    let (mut start, mut first) = (0, 0);
    let part = |group: &[i64]| {
        let end = start + group.len();
        let count = edges[first..].partition_point(|edge| edge.0 < end);
        let local = edges[first..first + count].iter().map(|&(from, to)| (from - start, to - start));
        let adjacency = undirected(&local.collect::<Vec<_>>(), group.len(), device);
        let ones = Tensor::<1>::ones([adjacency.nnz()], options.clone());
        let own = classes[start * width..end * width].iter().map(|&member| member as i64).collect::<Vec<_>>();
        let part = OgbGraph {
            adjacency: adjacency.with_values(ones),
            features: Some(aligned(features.clone().narrow(0, start, group.len()))),
            edge_features: None,
            labels: Tensor::from_data(TensorData::new(own, [group.len(), width]), device),
            splits: Splits::default(),
        };
        (start, first) = (end, first + count);
        part
    };
    Ok(of.chunk_by(|a, b| a == b).map(part).collect())
}

const OP: &str = "read_ppi";

#[derive(Deserialize)]
struct Links {
    links: Vec<Link>,
}

#[derive(Deserialize)]
struct Link {
    source: usize,
    target: usize,
}

impl Links {
    /// The links, whose ends are below `nodes`.
    fn check(&self, nodes: usize) -> Result<impl Iterator<Item = (usize, usize)>, String> {
        Allowed::now().check_elements(self.links.len())?;
        let ends = self.links.iter().map(|link| (link.source, link.target));
        match ends.clone().enumerate().find(|(_, (from, to))| from.max(to) >= &nodes) {
            Some((at, (from, to))) => {
                Err(format!("a node must be in [0, {nodes}), got ({from}, {to}) as link {at}, counted from 0"))
            }
            None => Ok(ends),
        }
    }
}
