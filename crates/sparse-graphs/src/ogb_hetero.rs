//! Node-property graphs of the Open Graph Benchmark whose nodes have types.

use super::graph::Splits;
use super::hetero::{HeteroGraph, TypedNodes};
use super::labels::Labels;
use super::ogb::{OgbOptions, found, split_folder};
use super::sources::{Owners, Sources, check_dtype, check_known, is_there, listed};
use burn::tensor::{Tensor, TensorCreationOptions, TensorData};
use sparse_files::io::Progress;
use sparse_files::io::source::silent;
use sparse_nn::EdgeType;
use sparse_ops::extend::Allowed;
use sparse_ops::ops::Reduce;
use sparse_ops::{CooTensor, Result, SparseError, aligned};
use std::path::{Path, PathBuf};

/// Reads a node-property graph whose nodes have types, as it is downloaded and unpacked: `ogbn_mag/` (PyG's `OGB_MAG`).
///
/// | file | content |
/// |---|---|
/// | `raw/num-node-dict.csv.gz` | a line with the types of nodes, and one with their numbers |
/// | `raw/relations/{from}___{relation}___{to}/edge.csv.gz` | `from,to`, an edge a line |
/// | `raw/node-feat/{type}/node-feat.csv.gz` | the features of a node of the type a line; may be missing |
/// | `raw/node-label/{type}/node-label.csv.gz` | its class; may be missing |
/// | `split/{name}/{type}/train.csv.gz`, `valid.csv.gz`, `test.csv.gz` | a node a line; may be missing |
///
/// The value of an edge is how often it is listed. The files may be unpacked (`.csv`); compressed ones need the feature
/// `gz`. [`OgbOptions::with_inverse_edges`] is [`HeteroGraph::with_reverse`] with the largest value. Takes `&device`,
/// or `(&device, dtype)` for the dtype of edges and features. The years of papers are not read; embeddings of the types
/// without features are files of PyTorch: set them by [`HeteroGraph::with_nodes`].
///
/// Source: Hu et al., *Open Graph Benchmark: Datasets for Machine Learning on Graphs*, NeurIPS 2020.
///
/// ```no_run
/// use burn::tensor::Device;
/// use sparse_tensor::data::{OgbOptions, read_ogb_hetero};
///
/// let mag = read_ogb_hetero("ogbn_mag", &OgbOptions::new(), &Device::flex()).unwrap();
/// assert_eq!(mag.nodes_of("paper").count, 736_389);
/// ```
///
/// # Errors
///
/// `invalid` for anything that cannot be read, breaks its format or contradicts another file. It names the file and the
/// line. `unsupported_dtype`.
pub fn read_ogb_hetero(
    folder: impl AsRef<Path>,
    options: &OgbOptions,
    device: impl Into<TensorCreationOptions>,
) -> Result<HeteroGraph> {
    read_ogb_hetero_with(folder, options, device, &mut silent())
}

/// [`read_ogb_hetero`], which reports its progress over all files.
///
/// # Errors
///
/// As [`read_ogb_hetero`].
pub fn read_ogb_hetero_with(
    folder: impl AsRef<Path>,
    options: &OgbOptions,
    device: impl Into<TensorCreationOptions>,
    progress: &mut Progress<'_>,
) -> Result<HeteroGraph> {
    let (folder, device) = (folder.as_ref(), device.into());
    check_dtype(OP, &device)?;
    let raw = folder.join("raw");
    let split = split_folder(OP, &folder.join("split"), options)?;
    let (count, relations) = (found(&raw, "num-node-dict"), folders(&raw.join("relations"))?);
    let edges: Vec<PathBuf> = relations.iter().map(|(_, path)| found(path, "edge")).collect();
    let of_types = [raw.join("node-feat"), raw.join("node-label"), split.clone()];
    let mut paths = vec![count.clone()];
    paths.extend(edges.iter().cloned());
    for place in of_types.iter().filter(|place| is_there(place)) {
        for (_, path) in folders(place)? {
            paths.extend(FILES.map(|name| found(&path, name)).into_iter().filter(|path| is_there(path)));
        }
    }
    let mut files = Sources::new(OP, folder, &paths, progress)?;

    let (mut names, mut counts) = (vec![], vec![]);
    files.lines(&count, b',', |line, fields| {
        while fields.has_more() {
            match line {
                1 => names.push(fields.name("a type of nodes")?.to_string()),
                _ => counts.push(fields.id("a number of nodes", 0, LARGEST)?),
            }
        }
        Ok(())
    })?;
    if names.len() != counts.len() {
        let message = format!("there must be a number for each of {} types, got {}", names.len(), counts.len());
        return Err(files.at(&count, message));
    }
    let mut graph = HeteroGraph::default();
    for (name, &nodes) in names.iter().zip(&counts) {
        if graph.node_types().any(|other| other == name) {
            return Err(files.at(&count, format!("{name}: a type of nodes must be listed once, got it again")));
        }
        let [feat, label] =
            [("node-feat", 0), ("node-label", 1)].map(|(place, at)| found(&raw.join(place).join(name), FILES[at]));
        let mut own = TypedNodes::new(nodes);
        if is_there(&feat) {
            let features = files.table(&feat, Some(nodes), |fields| fields.float())?;
            let data = TensorData::new(features.values, [nodes, features.cols]);
            own.features = Some(aligned(Tensor::from_data(data, device.clone())));
        }
        let mut labels = None;
        if is_there(&label) {
            let table = files.table(&label, Some(nodes), |fields| fields.class())?;
            if table.cols > 1 {
                return Err(files.at(&label, format!("there must be one class of a node, got {}", table.cols)));
            }
            own.labels = Some(Labels::from_list(&table.values, None, &device.device)?);
            labels = Some(table.values);
        }
        let place = split.join(name);
        if is_there(&place) {
            // What follows allocates for the nodes that were met, not for those that were claimed.
            let Some(known) = labels else {
                return Err(files.at(&place, format!("{name}: nodes of a split must have classes, got none")));
            };
            let mut owners = Owners::new(nodes);
            let mut part = |file: &str| {
                let (path, mut ids) = (found(&place, file), vec![]);
                files.lines(&path, b',', |_, fields| {
                    let node = fields.node(nodes)?;
                    owners.take(node)?;
                    ids.push(node);
                    fields.end()
                })?;
                Ok::<_, SparseError>(ids)
            };
            own.splits = Splits { train: part("train")?, val: part("valid")?, test: part("test")? };
            check_known(&own.splits, &known).map_err(|message| files.at(&place, message))?;
        }
        graph = graph.try_with_nodes(name, own)?;
    }
    let allowed = Allowed::now();
    for ((name, place), path) in relations.iter().zip(&edges) {
        let parts: Vec<&str> = name.split("___").collect();
        let &[from, relation, to] = &parts[..] else {
            return Err(files.at(place, "a folder must be named from___relation___to, got another name"));
        };
        let size = |name: &str| {
            let at = names.iter().position(|other| other == name);
            at.map(|at| counts[at])
                .ok_or_else(|| files.at(place, format!("a type of nodes must be one of {names:?}, got {name:?}")))
        };
        let (sources, targets) = (size(from)?, size(to)?);
        let mut ends = vec![];
        files.lines(path, b',', |_, fields| {
            let (source, target) = (fields.node(sources)?, fields.node(targets)?);
            ends.push((target, source));
            allowed.check_elements(ends.len())?;
            fields.end()
        })?;
        let ones = Tensor::<1>::ones([ends.len()], device.clone());
        let adjacency = CooTensor::from_edges(&ends, ones, [targets, sources])?.try_to_csr()?;
        graph = graph.try_with_edges(EdgeType::new(from, relation, to), adjacency)?;
    }
    files.finish();
    if options.inverse() { graph.try_with_reverse(Reduce::Amax) } else { Ok(graph) }
}

const OP: &str = "read_ogb_hetero";

/// Counts are below it.
const LARGEST: usize = i32::MAX as usize;

/// The files of one type, of whichever folder.
const FILES: [&str; 5] = ["node-feat", "node-label", "train", "valid", "test"];

/// The folders in a folder and their names, in order.
fn folders(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    Ok(listed(OP, folder)?.into_iter().filter(|(_, path)| path.is_dir()).collect())
}
