//! Rows of features in mapped files.

use crate::base::kind::Kind;
use crate::data::host::check_ids;
use crate::io::mapped::MappedArray;
#[cfg(feature = "safetensors")]
use crate::io::mapped::MappedFile;
use crate::io::npy::array::converted;
use burn::tensor::{Tensor, TensorCreationOptions, TensorData};
use lru::LruCache;
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

const OP: &str = "FeatureStore";

/// The features of all nodes in a file that is mapped into memory, of which a batch takes the rows of its nodes.
///
/// A batch's rows are asked for before the first one is read, as those of a [`MappedGraph`](crate::data::MappedGraph).
/// [`with_hot_rows`](Self::with_hot_rows) keeps rows that were used lately in the memory of the process. The system's
/// cache keeps pages, of which a row may be a small part: so hot rows take less memory, and stay when other files are
/// read. In a graph whose degrees differ a lot, a few nodes are in most batches.
///
/// [`NeighborBatch::stored_features`](crate::data::NeighborBatch::try_stored_features) takes the rows of a batch. Calls
/// may come from several threads at once. What the file must not suffer meanwhile is told in
/// [`MappedFile`](crate::io::MappedFile). Needs the feature `mmap`.
///
/// ```
/// use burn::tensor::{DType, Device, Tensor, TensorData};
/// use sparse_tensor::data::FeatureStore;
/// use sparse_tensor::io::npy;
///
/// let (device, path) = (Device::flex(), std::env::temp_dir().join(format!("rows-{}.npy", std::process::id())));
/// npy::save(&path, &Tensor::<2>::from_floats([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], &device)).unwrap();
/// let store = FeatureStore::open_npy(&path).unwrap().with_hot_rows(2);
/// let rows: Tensor<2> = store.gather(&[2, 0, 2], &device);
/// assert_eq!(rows.into_data(), TensorData::from([[5.0f32, 6.0], [1.0, 2.0], [5.0, 6.0]]));
/// let wide: Tensor<2> = store.gather(&[0], (&device, DType::F64)); // another dtype
/// assert_eq!((wide.dtype(), store.served()), (DType::F64, (1, 3)));
/// # std::fs::remove_file(path).unwrap();
/// ```
pub struct FeatureStore {
    array: MappedArray,
    hot: Option<Mutex<Hot>>,
}

/// Rows that were used lately.
struct Hot {
    /// Where a row lies in `memory`, in rows.
    slots: LruCache<usize, usize>,
    memory: Vec<u8>,
    hits: u64,
    misses: u64,
}

impl FeatureStore {
    /// The rows of a `.npy` array `[N, ..]`, in C order and the byte order of this machine.
    ///
    /// # Errors
    ///
    /// `invalid` if the file cannot be read, is no such array of numbers, or has another length than its header says.
    pub fn open_npy(path: impl AsRef<Path>) -> Result<Self> {
        Self::new(MappedArray::npy(path.as_ref())?)
    }

    /// The rows of the array of that name in a safetensors file. The file need not hold a sparse tensor.
    ///
    /// # Errors
    ///
    /// As [`open_npy`](Self::open_npy); also `invalid` if there is no such array.
    #[cfg(feature = "safetensors")]
    pub fn open(path: impl AsRef<Path>, name: &str) -> Result<Self> {
        let file = MappedFile::open(path)?;
        match MappedArray::safetensors(&file, name)? {
            Some(array) => Self::new(array),
            None => Err(invalid(file.path(), format!("the file must hold an array named {name:?}, got none"))),
        }
    }

    fn new(array: MappedArray) -> Result<Self> {
        if array.shape().is_empty() || array.dtype().is_bool() {
            let message = format!("rows must be numbers, got {:?} {:?}", array.dtype(), array.shape());
            return Err(invalid(array.file().path(), message));
        }
        array.file().expect_random();
        Ok(Self { array, hot: None })
    }

    /// Keeps the last `rows` rows that were used in memory; 0 keeps none. The memory is taken as it fills.
    pub fn with_hot_rows(mut self, rows: usize) -> Self {
        self.hot = NonZeroUsize::new(rows).map(|rows| {
            // `LruCache::new` would take the memory of its table at once.
            Mutex::new(Hot { slots: LruCache::sparse(rows), memory: Vec::new(), hits: 0, misses: 0 })
        });
        self
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.array.shape()[0]
    }

    /// The shape of all rows, `[N, ..]`.
    pub fn shape(&self) -> &[usize] {
        self.array.shape()
    }

    /// How many rows came from memory, and how many from the file. Both are 0 without hot rows.
    pub fn served(&self) -> (u64, u64) {
        self.with_hot(|hot| (hot.hits, hot.misses)).unwrap_or_default()
    }

    /// Asks for rows that [`gather`](Self::gather) will read, if they are not hot. Rows that do not exist are left out.
    pub fn ask(&self, ids: &[usize]) {
        let cold = |hot: &mut Hot| ids.iter().copied().filter(|id| !hot.slots.contains(id)).collect::<Vec<_>>();
        match self.with_hot(cold) {
            Some(cold) => self.ask_file(&cold),
            None => self.ask_file(ids),
        }
    }

    /// The rows of these ids `[ids, ..]` on a device: `&device`, or `(&device, dtype)` to convert them. Ids may repeat.
    ///
    /// Cost: the rows that are not hot are read from the file, and all are copied once.
    ///
    /// # Errors
    ///
    /// - `index_out_of_range` for a row that does not exist;
    /// - `shape_mismatch` if the array has another rank, `dtype_mismatch` for another kind, `unsupported_dtype` if the
    ///   device lacks the dtype;
    /// - `invalid` if the file was cut; `overflow` if the rows are larger than any memory.
    #[or_panic]
    pub fn try_gather<const D: usize, K: Kind>(
        &self,
        ids: &[usize],
        options: impl Into<TensorCreationOptions>,
    ) -> Result<Tensor<D, K>> {
        const OP: &str = "FeatureStore::gather";
        let options = options.into();
        check_ids(OP, ids, self.rows())?;
        let mut shape = self.shape().to_vec();
        if shape.len() != D {
            let rule = "the array must have the rank asked for, got shape {left} for rank {right:1}";
            return Err(SparseError::ShapeMismatch { op: OP, rule, left: shape, right: vec![D] });
        }
        shape[0] = ids.len();
        let data = TensorData::from_bytes_vec(self.read(OP, ids)?, shape, self.array.dtype());
        let data = converted::<K>(OP, data, options.dtype, &options.device)?;
        let dtype = data.dtype();
        Ok(Tensor::from_data(data, (&options.device, dtype)))
    }

    /// The bytes of these rows, one after the other.
    fn read(&self, op: &'static str, ids: &[usize]) -> Result<Vec<u8>> {
        let width = self.width();
        let length = ids.len().checked_mul(width).filter(|&length| length <= isize::MAX as usize);
        let length = length.ok_or(SparseError::Overflow {
            op,
            what: "the bytes of the rows",
            limit: isize::MAX as u128,
            got: ids.len() as u128 * width as u128,
        })?;
        self.array.file().check()?;
        if width == 0 {
            return Ok(Vec::new());
        }
        let mut out = vec![0; length];
        let cold = self.with_hot(|hot| {
            let mut cold = Vec::new();
            for (k, (&id, out)) in ids.iter().zip(out.chunks_exact_mut(width)).enumerate() {
                match hot.slots.get(&id) {
                    Some(&slot) => out.copy_from_slice(&hot.memory[slot * width..][..width]),
                    None => cold.push(k),
                }
            }
            hot.misses += cold.len() as u64;
            hot.hits += (ids.len() - cold.len()) as u64;
            cold
        });
        let all = self.array.bytes();
        let Some(cold) = cold else {
            self.ask_file(ids);
            for (&id, out) in ids.iter().zip(out.chunks_exact_mut(width)) {
                out.copy_from_slice(&all[id * width..][..width]);
            }
            return Ok(out);
        };
        // No lock while the disk is waited for.
        self.ask_file(&cold.iter().map(|&k| ids[k]).collect::<Vec<_>>());
        for &k in &cold {
            out[k * width..][..width].copy_from_slice(&all[ids[k] * width..][..width]);
        }
        self.with_hot(|hot| cold.iter().for_each(|&k| hot.keep(ids[k], &out[k * width..][..width])));
        Ok(out)
    }

    fn ask_file(&self, ids: &[usize]) {
        let width: usize = self.array.shape()[1..].iter().product();
        let rows = self.rows();
        self.array.ask(ids.iter().filter(|&&id| id < rows).map(|&id| id * width..(id + 1) * width));
    }

    fn with_hot<T>(&self, work: impl FnOnce(&mut Hot) -> T) -> Option<T> {
        self.hot.as_ref().map(|hot| work(&mut hot.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Bytes of a row.
    fn width(&self) -> usize {
        self.array.shape()[1..].iter().product::<usize>() * self.array.dtype().size()
    }
}

impl Hot {
    /// Keeps a row, in place of the one that was used longest ago if there is no more room.
    fn keep(&mut self, id: usize, row: &[u8]) {
        // Another thread may have read the same row, or the batch names it twice.
        if self.slots.contains(&id) {
            return;
        }
        let full = self.slots.len() == self.slots.cap().get();
        match if full { self.slots.pop_lru() } else { None } {
            Some((_, slot)) => {
                self.memory[slot * row.len()..][..row.len()].copy_from_slice(row);
                self.slots.put(id, slot);
            }
            None => {
                self.slots.put(id, self.slots.len());
                self.memory.extend_from_slice(row);
            }
        }
    }
}

impl fmt::Debug for FeatureStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hot = self.with_hot(|hot| hot.slots.cap().get()).unwrap_or(0);
        let (shape, path) = (self.shape(), self.array.file().path().display());
        write!(f, "FeatureStore({shape:?} {:?}, {hot} hot rows, {path})", self.array.dtype())
    }
}

fn invalid(path: &Path, message: String) -> SparseError {
    SparseError::Invalid { op: OP, message: format!("{}: {message}", path.display()) }
}
