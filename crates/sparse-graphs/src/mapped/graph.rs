//! Graphs in mapped files.

use burn::tensor::DType;
use sparse_core::dynamic::Ids;
use sparse_core::graph::{Ahead, GraphStore, Slices};
use sparse_files::io::MappedArray;
use sparse_files::io::MappedCsr;
#[cfg(feature = "safetensors")]
use sparse_files::io::MappedFile;
use sparse_ops::{Result, SparseError};
use std::fmt;
use std::ops::Range;
use std::path::Path;

const OP: &str = "MappedGraph";

/// A graph in a file that is mapped into memory: what neighbours are sampled from if it is larger than memory.
///
/// `open` (feature `safetensors`) takes a CSR matrix as `io::safetensors` describes it, with or without values;
/// [`open_npy`](Self::open_npy) takes NumPy's arrays. Row pointers and columns may be i32 and i64 in any combination:
/// with pointers of i64 and columns of i32 an edge takes 4 bytes, however many there are.
///
/// A sampler tells the store what a hop will read: first the pointers of all its nodes, then the columns of all its
/// draws. The store asks the system for all these pages before it reads the first one. So the disk serves them at the
/// same time, and not one after the other, each with its own delay. The pages belong to the system's cache: the process
/// itself takes the memory of its batches only, and 4 bytes for each node of the graph for each batch being sampled.
///
/// Opening looks at the header, the lengths, and the first and last pointer. What is read later is checked then: a
/// column that is no node, or pointers that descend, are errors of [`sample`](crate::NeighborSampler::try_sample)
/// that name the place. [`check`](Self::check) reads all. What the file must not suffer meanwhile is told in
/// [`MappedFile`](sparse_files::io::MappedFile).
///
/// Needs the feature `mmap`.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::data::{FeatureStore, MappedGraph, NeighborLoader, NeighborSamplerConfig, karate};
/// use sparse_tensor::io::npy;
/// use std::sync::Arc;
///
/// // In life these files exist already, and are large.
/// let (device, folder) = (Device::flex(), std::env::temp_dir().join(format!("mapped-{}", std::process::id())));
/// std::fs::create_dir_all(&folder).unwrap();
/// let [ptr, idx, x] = ["ptr.npy", "idx.npy", "x.npy"].map(|name| folder.join(name));
/// let graph = karate(&device);
/// npy::save(&ptr, graph.adjacency.pattern().row_ptr()).unwrap();
/// npy::save(&idx, graph.adjacency.pattern().col_idx()).unwrap();
/// npy::save(&x, &Tensor::<2>::ones([34, 8], &device)).unwrap();
///
/// let store = Arc::new(MappedGraph::open_npy(&ptr, &idx, None).unwrap());
/// let features = FeatureStore::open_npy(&x).unwrap().with_hot_rows(10);
/// let sampler = NeighborSamplerConfig::new(vec![5, 5]).init_store(store, &device);
/// let loader = NeighborLoader::new(sampler, &graph.splits.test, 10).unwrap();
/// for (batch, x) in loader.epoch_with(0, move |batch| {
///     let x: Tensor<2> = batch.stored_features(&features, &device);
///     (batch, x)
/// }) {
///     assert_eq!(x.dims(), [batch.nodes().len(), 8]);
/// }
/// # std::fs::remove_dir_all(folder).unwrap();
/// ```
#[derive(Clone)]
pub struct MappedGraph {
    ptr: MappedArray,
    idx: MappedArray,
    values: Option<MappedArray>,
    /// Which nodes the rows are, of how many. A file of the whole graph has them all.
    first: usize,
    nodes: usize,
}

impl MappedGraph {
    /// The matrix of a file that [`save`](sparse_files::io::safetensors::save) wrote, or of one of the same form.
    /// Without `values` all values are 1.
    ///
    /// # Errors
    ///
    /// - `invalid` if the file cannot be read, is not of the format, has another version or another length than its
    ///   header says, holds no CSR matrix without dense dims, or has arrays that are not aligned;
    /// - `length_mismatch`, `invalid_row_ptr`.
    #[cfg(feature = "safetensors")]
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_named(path, "")
    }

    /// As [`open`](Self::open), for the matrix of that name in an [`Archive`](sparse_files::io::safetensors::Archive).
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    #[cfg(feature = "safetensors")]
    pub fn open_named(path: impl AsRef<Path>, name: &str) -> Result<Self> {
        let file = MappedFile::open(path)?;
        let MappedCsr { shape, row_ptr, col_idx, values } = MappedCsr::open(&file, name)?;
        let own = Self::new(row_ptr, col_idx, values)?;
        if own.nodes() != shape[0] {
            return Err(SparseError::length_mismatch(OP, "row_ptr", shape[0].saturating_add(1), own.nodes() + 1));
        }
        Ok(own.with_columns(shape[1]))
    }

    /// The square matrix of row pointers `[N + 1]`, columns `[nnz]` and values `[nnz]`, a `.npy` file each. Without
    /// values all are 1.
    ///
    /// # Errors
    ///
    /// - `invalid` if a file cannot be read, is no array of integers (of floats for the values) of one dim, or has
    ///   another length than its header says;
    /// - `length_mismatch`, `invalid_row_ptr`.
    pub fn open_npy(row_ptr: impl AsRef<Path>, col_idx: impl AsRef<Path>, values: Option<&Path>) -> Result<Self> {
        let values = values.map(MappedArray::npy).transpose()?;
        Self::new(MappedArray::npy(row_ptr.as_ref())?, MappedArray::npy(col_idx.as_ref())?, values)
    }

    /// The same rows with columns that are nodes of another kind, of which there are so many: a type of edges for
    /// [`HeteroSamplerConfig::try_init_stores`](crate::HeteroSamplerConfig::try_init_stores).
    pub fn with_columns(self, columns: usize) -> Self {
        Self { nodes: columns, ..self }
    }

    /// These rows as those of the nodes from `first` on, in a graph of so many nodes.
    pub(crate) fn part(self, first: usize, nodes: usize) -> Self {
        Self { first, nodes, ..self }
    }

    /// What is done with all columns, which are read in order.
    pub(crate) fn in_order<T>(&self, work: impl FnOnce(Ids<'_>) -> Result<T>) -> Result<T> {
        let file = self.idx.file();
        file.check()?;
        file.expect_in_order();
        let done = work(ids(&self.idx));
        file.expect_random();
        done
    }

    fn new(ptr: MappedArray, idx: MappedArray, values: Option<MappedArray>) -> Result<Self> {
        for (what, array) in [("row_ptr", &ptr), ("col_idx", &idx)] {
            if !matches!(array.dtype(), DType::I32 | DType::I64) || array.shape().len() != 1 {
                let message =
                    format!("{what} must be i32 or i64 in one dim, got {:?} {:?}", array.dtype(), array.shape());
                return Err(SparseError::invalid(OP, message).in_file(array.file().path()));
            }
        }
        let nnz = idx.shape()[0];
        if let Some(array) = &values {
            if !array.dtype().is_float() || array.shape().len() != 1 {
                let message = format!("values must be floats in one dim, got {:?} {:?}", array.dtype(), array.shape());
                return Err(SparseError::invalid(OP, message).in_file(array.file().path()));
            }
            if array.shape()[0] != nnz {
                return Err(SparseError::length_mismatch(OP, "values", nnz, array.shape()[0]));
            }
        }
        [Some(&ptr), Some(&idx), values.as_ref()].into_iter().flatten().for_each(|array| array.file().expect_random());
        Slices::new(OP, ids(&ptr), ids(&idx), None)?;
        let nodes = ptr.shape()[0] - 1;
        Ok(Self { ptr, idx, values, first: 0, nodes })
    }

    /// Reads all pointers and columns and checks them: pointers must not descend, columns must be nodes and ascend
    /// strictly in a row. Cost: the whole file is read once, in order.
    ///
    /// # Errors
    ///
    /// `invalid_row_ptr`, `index_out_of_range`, `unsorted_columns`; `invalid` if the file was cut.
    pub fn check(&self) -> Result<()> {
        let files = [self.ptr.file(), self.idx.file()];
        files.iter().try_for_each(|file| file.check())?;
        files.iter().for_each(|file| file.expect_in_order());
        let checked = self.slices().check();
        files.iter().for_each(|file| file.expect_random());
        checked
    }

    fn slices(&self) -> Slices<'_> {
        Slices::opened(OP, ids(&self.ptr), ids(&self.idx), None).part(self.first, self.nodes)
    }
}

fn ids(array: &MappedArray) -> Ids<'_> {
    match array.dtype() {
        DType::I32 => Ids::I32(array.elements()),
        _ => Ids::I64(array.elements()),
    }
}

impl GraphStore for MappedGraph {
    fn nodes(&self) -> usize {
        self.nodes
    }

    fn edges(&self) -> usize {
        self.idx.shape()[0]
    }

    fn spans(&self, nodes: &[i64], out: &mut Vec<Range<usize>>) -> Result<()> {
        self.ptr.file().check()?;
        self.slices().spans(nodes, out)
    }

    fn columns(&self, positions: &[usize], out: &mut Vec<usize>) -> Result<()> {
        self.idx.file().check()?;
        self.slices().columns(positions, out)
    }

    fn has_values(&self) -> bool {
        self.values.is_some()
    }

    fn values(&self, positions: &[usize], out: &mut Vec<f32>) -> Result<()> {
        match &self.values {
            None => out.resize(out.len() + positions.len(), 1.0),
            Some(values) => {
                values.file().check()?;
                out.reserve(positions.len());
                positions.iter().for_each(|&at| values.floats_of(at..at + 1, out));
            }
        }
        Ok(())
    }

    fn span_values(&self, spans: &[Range<usize>], out: &mut Vec<f32>) -> Result<()> {
        match &self.values {
            None => out.resize(out.len() + spans.iter().map(Range::len).sum::<usize>(), 1.0),
            Some(values) => {
                values.file().check()?;
                spans.iter().for_each(|span| values.floats_of(span.clone(), out));
            }
        }
        Ok(())
    }

    fn ask(&self, ahead: Ahead<'_>) {
        let each = |positions: &[usize], array: &MappedArray| array.ask(positions.iter().map(|&at| at..at + 1));
        match (ahead, &self.values) {
            (Ahead::Rows(nodes), _) => {
                let rows = nodes.iter().map(|&node| (node as usize).wrapping_sub(self.first));
                self.ptr.ask(rows.map(|row| row..row.saturating_add(2)));
            }
            (Ahead::Columns(positions), _) => each(positions, &self.idx),
            (Ahead::Values(positions), Some(values)) => each(positions, values),
            (Ahead::Spans(spans), Some(values)) => values.ask(spans.iter().cloned()),
            (Ahead::Values(_) | Ahead::Spans(_), None) => {}
        }
    }
}

impl fmt::Debug for MappedGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MappedGraph({} nodes, {} edges, {})", self.nodes(), self.edges(), self.idx.file().path().display())
    }
}
