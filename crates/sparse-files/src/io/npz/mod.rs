//! SciPy's sparse matrices: the `.npz` files of `scipy.sparse.save_npz` and `load_npz`. Needs the feature `npz`.
//!
//! Reads `csr`, `csc`, `coo` and `bsr`, compressed or not, in any byte order; writes `csr` and `coo`. Fills and dense
//! dims are not in the format; `io::safetensors` keeps them. Dtypes are those of [`npy`](super::npy).
//!
//! ```python
//! import scipy.sparse
//!
//! scipy.sparse.save_npz("a.npz", a, compressed=False)  # compressed files are smaller and load several times slower
//! b = scipy.sparse.load_npz("b.npz")                   # what `save` wrote
//! ```
//!
//! An archive of `numpy.savez` has any arrays: [`Archive`] gives them by name.
//!
//! ```
//! use burn::tensor::{Device, Tensor};
//! use sparse_tensor::{CooTensor, CsrTensor, io::npz};
//!
//! let device = Device::flex();
//! let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 2.0], [3.0, 0.0]], &device));
//! let bytes = npz::to_bytes(&a).unwrap();
//! // Any layout can be asked for.
//! let b: CooTensor<2> = npz::from_bytes(&bytes, &device).unwrap();
//! assert_eq!(b.to_dense().into_data(), a.to_dense().into_data());
//! ```

mod archive;
mod read;
mod write;

use super::npy::tensor;
use super::source::{Progress, silent};
use archive::{Directory, OP, invalid, memory};
use burn::tensor::{Tensor, TensorCreationOptions};
use rawzip::FileReader;
use read::Reader;
use sparse_ops::pattern::Pattern;
use sparse_ops::{Kind, Result, SparseTensor};

use std::path::Path;

/// Reads the sparse matrix of a file onto a device: `&device`, or `(&device, dtype)`.
///
/// The caller chooses layout and kind. Without a dtype the values keep that of the file, which must be of kind `K`;
/// with one they are converted as [`npy::load`](super::npy::load) does. The result is a leaf without a gradient, filled
/// with zero. Elements that repeat in a row of `csr`, `csc` or `bsr` are summed; those of `coo` are kept if
/// [`CooTensor`](sparse_ops::CooTensor) is asked for.
///
/// # Errors
///
/// - `dtype_mismatch`, `unsupported_dtype`, `overflow`, as [`npy::load`](super::npy::load);
/// - `shape_mismatch`, `length_mismatch`, `index_out_of_range`, `invalid_row_ptr`, as the constructors;
/// - `would_densify` for CSR with more than [the limit](sparse_ops::Limits) of rows that are almost all empty;
/// - `invalid` if the file cannot be read, is not such an archive, is cut off, has another format, or its checksums do
///   not fit.
///
/// # Cost
///
/// An uncompressed array whose dtype is kept is read straight into the memory of the tensor, by several threads; then
/// the indices are checked. Compressed ones are decompressed by one thread. Rows that are not sorted are sorted, and
/// `csc` is transposed.
pub fn load<P: Pattern, K: Kind>(
    path: impl AsRef<Path>,
    options: impl Into<TensorCreationOptions>,
) -> Result<SparseTensor<P, 2, K>> {
    load_with(path, options, &mut silent())
}

/// [`load`], which reports its progress.
///
/// # Errors
///
/// As [`load`].
pub fn load_with<P: Pattern, K: Kind>(
    path: impl AsRef<Path>,
    options: impl Into<TensorCreationOptions>,
    progress: &mut Progress<'_>,
) -> Result<SparseTensor<P, 2, K>> {
    let path = path.as_ref();
    Archive::open(path)?.sparse_with(options, progress).map_err(|trouble| trouble.in_file(path))
}

/// [`load`] from memory.
///
/// # Errors
///
/// As [`load`].
pub fn from_bytes<P: Pattern, K: Kind>(
    bytes: &[u8],
    options: impl Into<TensorCreationOptions>,
) -> Result<SparseTensor<P, 2, K>> {
    Archive::from_bytes(bytes)?.sparse(options)
}

/// Writes a sparse matrix uncompressed: CSR as `csr`, COO as `coo`. Reads the device.
///
/// # Errors
///
/// `fill_mismatch` for a fill other than zero and `undefined_fill` for a missing one: the format has neither, but
/// `io::safetensors` does. `shape_mismatch` for a tensor with dense dims; `unsupported_dtype` for bfloat16; `invalid`
/// if the file cannot be written.
pub fn save<P: Pattern, K: Kind>(path: impl AsRef<Path>, matrix: &SparseTensor<P, 2, K>) -> Result<()> {
    to_file(path.as_ref(), matrix, false)
}

/// [`save`], compressed: `save_npz`'s default. Smaller, and several times slower to write and to read.
///
/// # Errors
///
/// As [`save`].
pub fn save_compressed<P: Pattern, K: Kind>(path: impl AsRef<Path>, matrix: &SparseTensor<P, 2, K>) -> Result<()> {
    to_file(path.as_ref(), matrix, true)
}

/// [`save`] to memory.
///
/// # Errors
///
/// As [`save`].
pub fn to_bytes<P: Pattern, K: Kind>(matrix: &SparseTensor<P, 2, K>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    write::write(&mut bytes, write::arrays(matrix)?, false)?;
    Ok(bytes)
}

fn to_file<P: Pattern, K: Kind>(path: &Path, matrix: &SparseTensor<P, 2, K>, compressed: bool) -> Result<()> {
    let arrays = write::arrays(matrix)?;
    let trouble = |trouble| invalid(format!("{}: cannot be written, got {trouble}", path.display()));
    sparse_disk::replace(path, trouble, |out| {
        write::write(out, arrays, compressed).map_err(|trouble| trouble.in_file(path))
    })
}

/// The arrays of a `.npz` file, by name. Each is read when it is asked for.
///
/// ```
/// use burn::tensor::{Device, Int, Tensor};
/// use sparse_tensor::{CooTensor, io::npz};
///
/// let device = Device::flex();
/// let a = CooTensor::<2>::from_dense(Tensor::from_floats([[0.0, 2.0]], &device), 0);
/// let bytes = npz::to_bytes(&a).unwrap();
/// let mut archive = npz::Archive::from_bytes(&bytes).unwrap();
/// assert_eq!(archive.names().collect::<Vec<_>>(), ["col", "data", "format", "row", "shape"]);
/// let shape: Tensor<1, Int> = archive.dense("shape", &device).unwrap();
/// assert_eq!(shape.into_data().convert::<i64>().to_vec::<i64>().unwrap(), [1, 2]);
/// ```
pub struct Archive<'a> {
    directory: Directory<'a>,
}

impl Archive<'static> {
    /// Opens a file and reads its directory.
    ///
    /// # Errors
    ///
    /// `invalid` if the file cannot be read, is not a zip archive, or has a directory that contradicts it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let trouble = |trouble| invalid(format!("{}: cannot be read, got {trouble}", path.display()));
        let file = sparse_disk::open(path).map_err(trouble)?;
        let length = file.metadata().map_err(trouble)?.len();
        let directory = Directory::open(Box::new(FileReader::from(file)), length);
        let directory = directory.map_err(|message| invalid(message).in_file(path))?;
        Ok(Self { directory })
    }
}

impl<'a> Archive<'a> {
    /// [`open`](Archive::open) for bytes in memory.
    ///
    /// # Errors
    ///
    /// As [`open`](Archive::open).
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self> {
        let directory = Directory::open(memory(bytes), bytes.len() as u64).map_err(invalid)?;
        Ok(Self { directory })
    }

    /// The names of the arrays, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.directory.names()
    }

    /// The dense array of that name.
    ///
    /// # Errors
    ///
    /// As [`npy::load`](super::npy::load); `invalid` if there is no such array.
    pub fn dense<const D: usize, K: Kind>(
        &mut self,
        name: &str,
        options: impl Into<TensorCreationOptions>,
    ) -> Result<Tensor<D, K>> {
        self.dense_with(name, options, &mut silent())
    }

    /// [`dense`](Self::dense), which reports its progress: of this array, not of the file.
    ///
    /// # Errors
    ///
    /// As [`dense`](Self::dense).
    pub fn dense_with<const D: usize, K: Kind>(
        &mut self,
        name: &str,
        options: impl Into<TensorCreationOptions>,
        progress: &mut Progress<'_>,
    ) -> Result<Tensor<D, K>> {
        let options = options.into();
        self.directory.start(Some(name));
        let array = self.directory.array(name, progress, |header, input| tensor(OP, header, input, options))?;
        self.directory.finish(progress);
        Ok(array)
    }

    /// The sparse matrix whose parts the archive holds.
    ///
    /// # Errors
    ///
    /// As [`load`].
    pub fn sparse<P: Pattern, K: Kind>(
        &mut self,
        options: impl Into<TensorCreationOptions>,
    ) -> Result<SparseTensor<P, 2, K>> {
        self.sparse_with(options, &mut silent())
    }

    /// [`sparse`](Self::sparse), which reports its progress.
    ///
    /// # Errors
    ///
    /// As [`load`].
    pub fn sparse_with<P: Pattern, K: Kind>(
        &mut self,
        options: impl Into<TensorCreationOptions>,
        progress: &mut Progress<'_>,
    ) -> Result<SparseTensor<P, 2, K>> {
        self.directory.start(None);
        let matrix = Reader { directory: &mut self.directory, options: options.into(), progress }.matrix()?;
        self.directory.finish(progress);
        Ok(matrix)
    }
}
