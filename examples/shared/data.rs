//! Opens what a user has: graphs in every form that the library reads.

use crate::console::progress;
use burn::tensor::{DType, Device, Int, Tensor, TensorCreationOptions};
use sparse_tensor::data::{
    Graph, Labels, OgbOptions, Splits, random_split_per_class, read_folder_with, read_ogb_with, read_planetoid_with,
};
use sparse_tensor::io::npz::Archive;
use sparse_tensor::nn::try_row_normalization;
use sparse_tensor::{CsrTensor, Kind, SparseError};
use std::path::Path;

/// What `--data` takes.
const FORMS: &str = "a folder of plain text (with adjacency.mtx), Planetoid's raw folder (with ind.NAME.graph) or the \
    folder around it, OGB's folder of a graph (with raw/edge.csv.gz), or an .npz file (with adj_indices, attr_indices \
    and labels)";

/// What is read of an .npz file. The weights of the edges are not.
const ARRAYS: [&str; 8] =
    ["adj_indices", "adj_indptr", "adj_shape", "attr_data", "attr_indices", "attr_indptr", "attr_shape", "labels"];

/// The row and the column of an element.
type Place = (usize, usize);

/// How many nodes of each class of an .npz file are for training and for validation: Shchur et al. (2018).
const TRAIN: usize = 20;
const VALIDATION: usize = 30;

/// Reads the graph at `path`, in the form that its content tells.
///
/// - A folder of plain text, Planetoid's folder and OGB's: `read_folder`, `read_planetoid` and `read_ogb`.
/// - `.npz`: the layout of Shchur et al., *Pitfalls of Graph Neural Network Evaluation*, 2018. PyG's `Amazon` and
///   `Coauthor` download such files. As there, edges become undirected without self loops, and features above 0
///   become 1. The file has no split, so nodes are drawn: the same ones each time.
///
/// The features of a node sum to 1, as is usual for counts of words. Word vectors, which have negative numbers too,
/// stay as they are.
pub(crate) fn open(path: &Path, quiet: bool, device: &Device) -> Result<Graph, String> {
    let is_npz = path.is_file() && path.extension().is_some_and(|end| end.eq_ignore_ascii_case("npz"));
    let bar = progress(quiet, 0, "bytes");
    let mut heard = |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    };
    let graph = if is_npz { read_npz(path, device, &mut heard) } else { read(path, device, &mut heard) };
    bar.finish_and_clear();
    let graph = graph?;
    let values = graph.features.values::<1>().inner();
    if graph.features.nnz() > 0 && values.min().into_scalar::<f32>() < 0.0 {
        return Ok(graph);
    }
    Ok(Graph { features: try_row_normalization(&graph.features).map_err(text)?, ..graph })
}

/// Reads a folder.
fn read(path: &Path, device: &Device, heard: &mut dyn FnMut(u64, u64)) -> Result<Graph, String> {
    let wrong = |got: &str| Err(format!("--data {}: must be {FORMS}; got {got}", path.display()));
    if !path.exists() {
        return wrong("nothing of that name");
    }
    if !path.is_dir() {
        return wrong("another file");
    }
    let raw = path.join("raw");
    let holds = |name: &str| raw.join(name).is_file() || raw.join(format!("{name}.gz")).is_file();
    if path.join("adjacency.mtx").is_file() {
        return read_folder_with(path, device, heard).map_err(text);
    }
    if holds("edge.csv") || holds("num-node-list.csv") {
        return read_ogb_with(path, &OgbOptions::new(), device, heard).and_then(|graph| graph.to_graph()).map_err(text);
    }
    for folder in [path, &raw] {
        match &planetoid_names(folder)[..] {
            [] => {}
            [name] => return read_planetoid_with(folder, name, device, heard).map_err(text),
            names => {
                let (folder, names) = (folder.display(), names.join(", "));
                return Err(format!("--data {folder}: a folder must have one graph of Planetoid, got {names}"));
            }
        }
    }
    wrong("a folder with none of these files")
}

/// The names of the graphs in a folder of Planetoid.
fn planetoid_names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let name = |file: &str| Some(file.strip_prefix("ind.")?.strip_suffix(".graph")?.to_string());
    let mut names: Vec<String> = entries.filter_map(|entry| name(entry.file_name().to_str()?)).collect();
    names.sort();
    names
}

/// Reads an archive of arrays.
fn read_npz(path: &Path, device: &Device, heard: &mut dyn FnMut(u64, u64)) -> Result<Graph, String> {
    let archive = Archive::open(path).map_err(text)?;
    let total = path.metadata().map_or(0, |data| data.len());
    let mut arrays = Arrays { archive, device: device.clone().inner(), done: 0, total, heard };
    arrays.graph(device).map_err(|trouble| format!("{}: {trouble}", path.display()))
}

/// The arrays of a graph.
struct Arrays<'a> {
    archive: Archive<'static>,
    /// Off the tape.
    device: Device,
    /// Bytes of the arrays that were read, and of the file.
    done: u64,
    total: u64,
    heard: &'a mut dyn FnMut(u64, u64),
}

impl Arrays<'_> {
    fn graph(&mut self, device: &Device) -> Result<Graph, String> {
        if let Some(name) = ARRAYS.iter().find(|name| !self.archive.names().any(|other| other == **name)) {
            return Err(format!("must have the arrays {}; got no {name}", ARRAYS.join(", ")));
        }
        let (edges, [nodes, cols]) = self.elements("adj")?;
        let (places, shape) = self.elements("attr")?;
        let counts: Tensor<1> = self.list("attr_data", (device, DType::F32).into())?;
        let labels = self.numbers("labels")?;
        if cols != nodes || shape[0] != nodes || labels.len() != nodes {
            let (features, labels) = (shape[0], labels.len());
            return Err(format!(
                "there must be a column, a row of features and a label for each of {nodes} nodes, got {cols}, \
                 {features} and {labels}"
            ));
        }

        if let Some(label) = labels.iter().find(|&&label| !(-1..nodes as i64).contains(&label)) {
            return Err(format!("labels: must be classes in [0, {nodes}), or -1 if they are not known, got {label}"));
        }
        let ends = edges.into_iter().filter(|(from, to)| from != to);
        let mut edges: Vec<Place> = ends.flat_map(|(from, to)| [(from, to), (to, from)]).collect();
        edges.sort_unstable();
        edges.dedup();
        let ones = Tensor::<1>::ones([edges.len()], device);
        let present = counts.clone().mask_fill(counts.greater_scalar(0.0), 1.0);
        Ok(Graph {
            adjacency: CsrTensor::from_edges(&edges, ones, nodes).map_err(text)?,
            features: CsrTensor::from_edges(&places, present, shape).map_err(text)?,
            splits: split(&labels).map_err(text)?,
            labels: Labels::from_list(&labels, None, device).map_err(text)?,
        })
    }

    /// The elements of a CSR matrix, and its shape. The columns of a row may be in any order.
    fn elements(&mut self, name: &str) -> Result<(Vec<Place>, [usize; 2]), String> {
        let cols = self.sizes(&format!("{name}_indices"))?;
        let pointers = self.sizes(&format!("{name}_indptr"))?;
        let shape = self.sizes(&format!("{name}_shape"))?;
        let Ok(shape) = <[usize; 2]>::try_from(&shape[..]) else {
            return Err(format!("{name}_shape: must be two sizes, got {} numbers", shape.len()));
        };
        let ascend = pointers.is_sorted() && pointers.first() == Some(&0) && pointers.last() == Some(&cols.len());
        if !ascend || pointers.len() - 1 != shape[0] {
            let (rows, count, got) = (shape[0], cols.len(), pointers.len());
            return Err(format!(
                "{name}_indptr: must ascend from 0 to the {count} elements, with a number for each of {rows} rows and \
                 one more, got {got} numbers"
            ));
        }
        if let Some(col) = cols.iter().find(|&&col| col >= shape[1]) {
            return Err(format!("{name}_indices: must be in [0, {}), got {col}", shape[1]));
        }
        let ends = pointers.windows(2).enumerate();
        let places = ends.flat_map(|(row, ends)| cols[ends[0]..ends[1]].iter().map(move |&col| (row, col)));
        Ok((places.collect(), shape))
    }

    fn sizes(&mut self, name: &str) -> Result<Vec<usize>, String> {
        let size = |number| usize::try_from(number).map_err(|_| format!("{name}: must not be negative, got {number}"));
        self.numbers(name)?.into_iter().map(size).collect()
    }

    fn numbers(&mut self, name: &str) -> Result<Vec<i64>, String> {
        let numbers: Tensor<1, Int> = self.list(name, (&self.device.clone()).into())?;
        Ok(numbers.into_data().convert::<i64>().iter().collect())
    }

    fn list<K: Kind>(&mut self, name: &str, options: TensorCreationOptions) -> Result<Tensor<1, K>, String> {
        let (before, total) = (self.done, self.total);
        let (done, heard) = (&mut self.done, &mut self.heard);
        let mut progress = |bytes, _| {
            *done = before + bytes;
            heard(*done, total.max(*done));
        };
        self.archive.dense_with(name, options, &mut progress).map_err(text)
    }
}

/// Some nodes of each class for training, others for validation, and the rest for testing.
fn split(labels: &[i64]) -> Result<Splits, SparseError> {
    let mut left = labels.to_vec();
    let mut draw = |count, seed| -> Result<Vec<usize>, SparseError> {
        let nodes = random_split_per_class(&left, count, 0, 0, seed)?.train;
        nodes.iter().for_each(|&node| left[node] = -1);
        Ok(nodes)
    };
    let (train, val) = (draw(TRAIN, 0)?, draw(VALIDATION, 1)?);
    Ok(Splits { train, val, test: (0..left.len()).filter(|&node| left[node] >= 0).collect() })
}

fn text(trouble: SparseError) -> String {
    trouble.to_string()
}
