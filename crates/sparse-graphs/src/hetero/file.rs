//! Graphs of types in safetensors files.

use super::{HeteroGraph, TypedNodes};
use crate::graph::Splits;
use crate::labels::Labels;
use burn::tensor::{Device, Int, Tensor};
use sparse_files::io::Progress;
use sparse_files::io::safetensors::Archive;
use sparse_files::io::source::silent;
use sparse_nn::EdgeType;
use sparse_ops::extend::{ints, read_all};
use sparse_ops::{CooTensor, CsrTensor, Fill, Kind, Result, SparseError};
use std::path::Path;

const SPLITS: [&str; 3] = ["train", "val", "test"];

/// The name of a tensor: a list of words in JSON, so that a word may have any marks.
fn name(words: &[&str]) -> String {
    serde_json::to_string(words).expect("words are JSON")
}

/// A dense tensor as rows that are all stored.
fn rows<const D: usize, K: Kind>(list: &Tensor<D, K>) -> Result<CooTensor<D, K>> {
    let count = list.dims()[0];
    let ids = ints((0..count as i64).collect(), [1, count], &list.device().inner());
    CooTensor::new(ids, list.clone(), list.dims())
}

fn list(numbers: impl ExactSizeIterator<Item = i64>, device: &Device) -> Result<CooTensor<1, Int>> {
    let count = numbers.len();
    rows(&ints(numbers.collect(), [count], device))
}

impl HeteroGraph {
    /// Writes the graph to a safetensors file: adjacencies, counts, features, labels and splits. Needs the feature
    /// `safetensors`. Reads the device.
    ///
    /// The file is an [`Archive`](sparse_files::io::safetensors::Archive). The name of a tensor is a list in JSON:
    /// `["edges", source, relation, target]`, `["nodes", type]` (its shape is the count), and for a type of nodes
    /// `["features", type]`, `["labels", type, classes]`, and `["train", type]`, `["val", type]` and `["test", type]`.
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use sparse_tensor::data::{HeteroGraph, hetero_block_model};
    ///
    /// let device = Device::flex();
    /// let relations = [(("user", "likes", "item").into(), 20, 0.8)];
    /// let graph = hetero_block_model(&[("user", 9), ("item", 6)], 2, &relations, 7, &device).unwrap();
    /// let path = std::env::temp_dir().join(format!("graph-{}.safetensors", std::process::id()));
    /// graph.save_file(&path).unwrap();
    /// let again = HeteroGraph::load_file(&path, &device).unwrap();
    /// assert_eq!(again.to_string(), graph.to_string());
    /// # std::fs::remove_file(path).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// `invalid` if the file cannot be written.
    pub fn save_file(&self, path: impl AsRef<Path>) -> Result<()> {
        let mut archive = Archive::new();
        // Counts and splits are numbers of the host: they are written from where the graph is.
        let features = self.nodes.values().find_map(|own| own.features.as_ref().map(|features| features.device()));
        let device = self.edges.values().next().map(|own| own.device()).or(features).unwrap_or_default().inner();
        for (kind, adjacency) in self.edges() {
            archive.insert(&name(&["edges", &kind.source, &kind.relation, &kind.target]), adjacency)?;
        }
        for own in self.node_types() {
            let TypedNodes { count, features, labels, splits } = self.try_nodes_of(own)?;
            let empty = ints(vec![], [1, 0], &device);
            let count = CooTensor::<1, Int>::new(empty, ints(vec![], [0], &device), [*count])?;
            archive.insert(&name(&["nodes", own]), &count)?;
            if let Some(features) = features {
                archive.insert(&name(&["features", own]), &rows(features)?)?;
            }
            if let Some(labels) = labels {
                let classes = labels.classes().to_string();
                archive.insert(&name(&["labels", own, &classes]), &rows(&labels.tensor())?)?;
            }
            for (word, split) in SPLITS.iter().zip([&splits.train, &splits.val, &splits.test]) {
                archive.insert(&name(&[word, own]), &list(split.iter().map(|&node| node as i64), &device)?)?;
            }
        }
        archive.save(path)
    }

    /// Reads a graph that [`save_file`](Self::save_file) wrote. Needs the feature `safetensors`.
    ///
    /// # Errors
    ///
    /// `invalid` for a file that cannot be read, a name that means nothing, or parts that do not fit each other; it
    /// names the file and the type. Those of [`Archive::get`](sparse_files::io::safetensors::Archive::get).
    pub fn load_file(path: impl AsRef<Path>, device: &Device) -> Result<Self> {
        Self::load_file_with(path, device, &mut silent())
    }

    /// [`load_file`](Self::load_file), which reports its progress.
    ///
    /// # Errors
    ///
    /// As [`load_file`](Self::load_file).
    pub fn load_file_with(path: impl AsRef<Path>, device: &Device, progress: &mut Progress<'_>) -> Result<Self> {
        const OP: &str = "HeteroGraph::load_file";
        let path = path.as_ref();
        let wrong = |name: &str, message: String| SparseError::invalid(OP, format!("{name}: {message}")).in_file(path);
        let archive = Archive::load_with(path, progress)?;
        let mut names = vec![];
        for name in archive.names() {
            let words: Vec<String> = serde_json::from_str(name)
                .map_err(|_| wrong(name, "the name must be a list of words in JSON".into()))?;
            names.push((name, words));
        }
        // Nodes come before what belongs to them.
        names.sort_by_key(|(_, words)| words.first().is_none_or(|word| word != "nodes"));
        let mut graph = Self::default();
        for (name, words) in &names {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let at = |trouble: SparseError| match trouble {
                SparseError::Invalid { message, .. } => wrong(name, message),
                other => other,
            };
            if let ["edges", source, relation, target] = words[..] {
                let adjacency: CsrTensor<2> = archive.get(name, device)?;
                graph = graph.try_with_edges(EdgeType::new(source, relation, target), adjacency).map_err(at)?;
                continue;
            }
            let (["nodes" | "features" | "train" | "val" | "test", own] | ["labels", own, _]) = words[..] else {
                return Err(wrong(name, "the name must be that of edges or of what nodes have".into()));
            };
            if words[0] == "nodes" {
                let [count] = archive.get::<_, 1, Int>(name, device).map(|list: CooTensor<1, Int>| list.dims())?;
                graph = graph.try_with_nodes(own, TypedNodes::new(count)).map_err(at)?;
                continue;
            }
            let mut nodes = graph.try_nodes_of(own).map_err(at)?.clone();
            match words[0] {
                "features" => nodes.features = Some(whole(archive.get(name, device)?).map_err(at)?),
                "labels" => {
                    let classes = words[2].parse().map_err(|_| wrong(name, "the classes must be a number".into()))?;
                    let labels = whole::<1, Int>(archive.get(name, device)?).map_err(at)?;
                    nodes.labels = Some(Labels::new(labels, classes).map_err(at)?);
                }
                split => {
                    let ids = read_all(whole::<1, Int>(archive.get(name, device)?).map_err(at)?);
                    let ids = ids.into_iter().map(usize::try_from).collect::<std::result::Result<_, _>>();
                    let ids = ids.map_err(|_| wrong(name, "a node must not be negative".into()))?;
                    let Splits { train, val, test } = &mut nodes.splits;
                    *(match split {
                        "train" => train,
                        "val" => val,
                        _ => test,
                    }) = ids;
                }
            }
            graph = graph.try_with_nodes(own, nodes).map_err(at)?;
        }
        Ok(graph)
    }
}

/// The dense tensor of [`rows`].
fn whole<const D: usize, K: Kind>(rows: CooTensor<D, K>) -> Result<Tensor<D, K>> {
    let in_order = |rows: &CooTensor<D, K>| read_all(rows.indices()).into_iter().eq(0..rows.dims()[0] as i64);
    if rows.sparse_dims() != 1 || !in_order(&rows) || !matches!(rows.fill(), Fill::Zero) {
        return Err(SparseError::invalid(
            "HeteroGraph::load_file",
            "each row must be stored once and in order, and the fill must be zero",
        ));
    }
    rows.try_to_dense()
}
