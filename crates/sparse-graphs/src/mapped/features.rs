//! Rows of features in mapped files.

use super::hot::HotRows;
use burn::tensor::{DType, Tensor, TensorCreationOptions, TensorData};
use sparse_files::io::MappedArray;
#[cfg(feature = "safetensors")]
use sparse_files::io::MappedFile;
use sparse_macros::or_panic;
use sparse_ops::extend::{check_ids, converted};
use sparse_ops::{Kind, Result, SparseError};
use std::fmt;
use std::path::Path;

const OP: &str = "FeatureStore";

/// The features of all nodes in a file that is mapped into memory, of which a batch takes the rows of its nodes.
///
/// A batch's rows are asked for before the first one is read, as those of a [`MappedGraph`](crate::MappedGraph).
/// [`with_hot_rows`](Self::with_hot_rows) keeps rows that were used lately in the memory of the process. The system's
/// cache keeps pages, of which a row may be a small part: so hot rows take less memory, and stay when other files are
/// read. In a graph whose degrees differ a lot, a few nodes are in most batches.
///
/// [`NeighborBatch::stored_features`](crate::NeighborBatch::try_stored_features) takes the rows of a batch. Calls
/// may come from several threads at once. What the file must not suffer meanwhile is told in
/// [`MappedFile`](sparse_files::io::MappedFile). Needs the feature `mmap`.
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
    hot: HotRows,
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
            None => {
                let message = format!("the file must hold an array named {name:?}, got none");
                Err(SparseError::invalid(OP, message).in_file(file.path()))
            }
        }
    }

    fn new(array: MappedArray) -> Result<Self> {
        if array.shape().is_empty() || array.dtype().is_bool() {
            let message = format!("rows must be numbers, got {:?} {:?}", array.dtype(), array.shape());
            return Err(SparseError::invalid(OP, message).in_file(array.file().path()));
        }
        array.file().expect_random();
        Ok(Self { array, hot: HotRows::none() })
    }

    /// Keeps the last `rows` rows that were used in memory; 0 keeps none. The memory is taken as it fills.
    pub fn with_hot_rows(mut self, rows: usize) -> Self {
        self.hot = HotRows::new(rows, self.width());
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
        self.hot.served()
    }

    /// Asks for rows that [`gather`](Self::gather) will read, if they are not hot. Rows that do not exist are left out.
    pub fn ask(&self, ids: &[usize]) {
        self.ask_file(&self.hot.cold(ids));
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
        check_ids(OP, ids, self.rows())?;
        self.check_rank::<D>(OP)?;
        self.tensor(OP, self.read(OP, ids)?, ids.len(), options.into())
    }

    /// The error for a tensor of another rank than the array.
    pub(crate) fn check_rank<const D: usize>(&self, op: &'static str) -> Result<()> {
        if self.shape().len() == D {
            return Ok(());
        }
        let rule = "the array must have the rank asked for, got shape {left} for rank {right:1}";
        Err(SparseError::shape_mismatch(op, rule, self.shape(), [D]))
    }

    /// The bytes of so many rows as a tensor.
    pub(crate) fn tensor<const D: usize, K: Kind>(
        &self,
        op: &'static str,
        bytes: Vec<u8>,
        rows: usize,
        options: TensorCreationOptions,
    ) -> Result<Tensor<D, K>> {
        let mut shape = self.shape().to_vec();
        shape[0] = rows;
        let data = TensorData::from_bytes_vec(bytes, shape, self.array.dtype());
        let data = converted::<K>(op, data, options.dtype, &options.device)?;
        let dtype = data.dtype();
        Ok(Tensor::from_data(data, (&options.device, dtype)))
    }

    /// The bytes of these rows, one after the other. The ids are in range.
    pub(crate) fn read(&self, op: &'static str, ids: &[usize]) -> Result<Vec<u8>> {
        let width = self.width();
        let length = self.length(op, ids.len())?;
        self.array.file().check()?;
        if width == 0 {
            return Ok(Vec::new());
        }
        let mut out = vec![0; length];
        // No lock while the disk is waited for.
        let cold = self.hot.take(ids, &(0..ids.len()).collect::<Vec<_>>(), &mut out);
        self.ask_file(&cold.iter().map(|&k| ids[k]).collect::<Vec<_>>());
        let all = self.array.bytes();
        for &k in &cold {
            out[k * width..][..width].copy_from_slice(&all[ids[k] * width..][..width]);
        }
        self.hot.keep(cold.iter().map(|&k| (ids[k], &out[k * width..][..width])));
        Ok(out)
    }

    fn ask_file(&self, ids: &[usize]) {
        let width: usize = self.array.shape()[1..].iter().product();
        let rows = self.rows();
        self.array.ask(ids.iter().filter(|&&id| id < rows).map(|&id| id * width..(id + 1) * width));
    }

    pub(crate) fn dtype(&self) -> DType {
        self.array.dtype()
    }

    /// The bytes of so many rows, which must fit into memory.
    pub(crate) fn length(&self, op: &'static str, rows: usize) -> Result<usize> {
        let (width, limit) = (self.width(), isize::MAX as u128);
        let length = rows.checked_mul(width).filter(|&length| length as u128 <= limit);
        let got = rows as u128 * width as u128;
        length.ok_or(SparseError::overflow(op, "the bytes of the rows", limit, got))
    }

    /// Bytes of a row.
    pub(crate) fn width(&self) -> usize {
        self.array.shape()[1..].iter().product::<usize>() * self.array.dtype().size()
    }
}

impl fmt::Debug for FeatureStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hot = self.hot.rows();
        let (shape, path) = (self.shape(), self.array.file().path().display());
        write!(f, "FeatureStore({shape:?} {:?}, {hot} hot rows, {path})", self.array.dtype())
    }
}
