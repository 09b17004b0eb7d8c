//! Sparse tensors in safetensors files: every layout, dtype and fill, exactly.
//!
//! [`save`] and [`load`] are for a single tensor. An [`Archive`] holds several, by name, in one file. Needs the feature
//! `safetensors`.
//!
//! # What a file holds
//!
//! | tensor | shape | dtype |
//! |---|---|---|
//! | `indices` (COO) | `[sparse_dims, nnz]` | I32 or I64 |
//! | `row_ptr` (CSR) | `[M + 1]`, or `[B * (M + 1)]` with each matrix of a batch starting at 0 | I32 or I64 |
//! | `col_idx` (CSR) | `[nnz]` | I32 or I64 |
//! | `values` | `[nnz, dense dims..]` | F16, BF16, F32, F64, I32, I64, U8, BOOL |
//! | `fill` | `[]` for a number of the host; `[1]` or the dense dims for a tensor | that of `values` |
//!
//! In an [`Archive`] each of these names follows the tensor's own name and a dot: `graph.row_ptr`. The metadata has one
//! entry, `sparse_tensor`, which is JSON with `version` (1) and `tensors`. For each name (empty for a single tensor)
//! `tensors` has `layout` (`coo`, `csr`), `shape`, `sparse_dims`, `coalesced` (false if missing) and `fill` (`zero`,
//! `undefined`, or `value` for the array of that name). Tensors that it does not mention are skipped. A
//! pattern alone has no `values` ([`Archive::insert_pattern`]). Equal tensors give equal bytes.
//!
//! SciPy can read and write a CSR file like this:
//!
//! ```python
//! from safetensors.numpy import load_file, save_file
//! import json, scipy.sparse
//!
//! t = load_file("a.safetensors")
//! a = scipy.sparse.csr_matrix((t["values"], t["col_idx"], t["row_ptr"]), (2, 3))
//!
//! a.sort_indices()
//! head = {"layout": "csr", "shape": a.shape, "sparse_dims": 2, "fill": "zero"}
//! save_file({"row_ptr": a.indptr, "col_idx": a.indices, "values": a.data}, "b.safetensors",
//!           {"sparse_tensor": json.dumps({"version": 1, "tensors": {"": head}})})
//! ```
//!
//! (`torch.sparse_coo_tensor(t["indices"], t["values"], shape)` with `safetensors.torch`. Neither library has fills.)
//!
//! Source: the [safetensors format](https://github.com/huggingface/safetensors#format).
//!
//! ```
//! use burn::tensor::{Device, Tensor};
//! use sparse_tensor::{CsrTensor, Fill, io::safetensors};
//!
//! let device = Device::flex();
//! let dense = Tensor::<2>::from_floats([[0.0, 2.0], [3.0, 0.0]], &device);
//! let a = CsrTensor::from_dense(dense).with_fill(Fill::scalar(0.5));
//! let bytes = safetensors::to_bytes(&a).unwrap();
//! let b: CsrTensor<2> = safetensors::from_bytes(&bytes, &device).unwrap();
//! assert_eq!(b.to_dense().into_data(), a.to_dense().into_data()); // 0.5 where nothing is stored
//! ```

mod file;
mod tensor;

#[cfg(feature = "mmap")]
use super::source::Place;
use super::source::{Counted, Progress, silent};
use burn::tensor::{Bytes, Device, Tensor};
use file::{Array, Head, invalid};
use sparse_ops::pattern::Pattern;
use sparse_ops::{Kind, Result, SparseTensor};
use std::collections::BTreeMap;
use std::io::{BufReader, Read, Write};
use std::path::Path;

/// Writes one tensor. Reads the device; the file is as large as the tensor.
///
/// ```
/// use burn::tensor::{Device, Int, Tensor};
/// use sparse_tensor::{CooTensor, Fill, io::safetensors};
///
/// let device = Device::flex();
/// let indices = Tensor::from_data([[0, 1], [2, 0]], &device);
/// let a = CooTensor::<2, Int>::new(indices, Tensor::<1, Int>::from_ints([5, 7], &device), [2, 3]).unwrap();
/// let path = std::env::temp_dir().join(format!("sparse-tensor-{}.safetensors", std::process::id()));
/// safetensors::save(&path, &a.with_fill(Fill::Undefined)).unwrap();
/// let b: CooTensor<2, Int> = safetensors::load(&path, &device).unwrap();
/// assert!(b.fill().is_undefined());
/// # std::fs::remove_file(path).unwrap();
/// ```
///
/// # Errors
///
/// `invalid` if the file cannot be written.
pub fn save<P: Pattern, const D: usize, K: Kind>(path: impl AsRef<Path>, tensor: &SparseTensor<P, D, K>) -> Result<()> {
    Archive::of(tensor).save(path)
}

/// [`save`] to memory.
///
/// # Errors
///
/// `invalid` if the header becomes too large for the format.
pub fn to_bytes<P: Pattern, const D: usize, K: Kind>(tensor: &SparseTensor<P, D, K>) -> Result<Vec<u8>> {
    Archive::of(tensor).to_bytes()
}

/// Reads one tensor that [`save`] wrote, onto `device`. The caller chooses layout, rank and kind; the dtype is that of
/// the file. The result is a leaf without a gradient. Everything is checked, including the indices, which may read the
/// device.
///
/// # Errors
///
/// - `layout_mismatch`, `shape_mismatch` (another rank, or arrays that do not fit it), `dtype_mismatch` (another kind);
/// - `unsupported_dtype` if the device lacks the dtype of the values or of the indices, or the library does not have
///   it;
/// - `length_mismatch`, `index_out_of_range`, `invalid_row_ptr`, `unsorted_columns`, `overflow`, as the constructors;
/// - `invalid` if the file cannot be read, is not a safetensors file, is cut off or has no such tensor.
pub fn load<P: Pattern, const D: usize, K: Kind>(
    path: impl AsRef<Path>,
    device: &Device,
) -> Result<SparseTensor<P, D, K>> {
    load_with(path, device, &mut silent())
}

/// [`load`], which reports its progress.
///
/// # Errors
///
/// As [`load`].
pub fn load_with<P: Pattern, const D: usize, K: Kind>(
    path: impl AsRef<Path>,
    device: &Device,
    progress: &mut Progress<'_>,
) -> Result<SparseTensor<P, D, K>> {
    Archive::load_with(path, progress)?.get("", device)
}

/// [`load`] from memory.
///
/// # Errors
///
/// As [`load`].
pub fn from_bytes<P: Pattern, const D: usize, K: Kind>(bytes: &[u8], device: &Device) -> Result<SparseTensor<P, D, K>> {
    Archive::from_bytes(bytes)?.get("", device)
}

/// [`from_bytes`] without a copy: on Flex the tensor's arrays are parts of `bytes`. For a file that is mapped into
/// memory see `io::MappedFile` (feature `mmap`); any other `Bytes` that can be shared will do, such as
/// `Bytes::shared` of bytes in memory.
///
/// Everything is checked as in [`load`], so every index is read once; values are read when they are used. An array is
/// copied if it is not aligned to its elements (files that [`save`] writes are), if `bytes` cannot be shared, on
/// machines of the other byte order, and if its dtype changes: row pointers of I64 become I32 where that holds them,
/// and columns of I32 become I64 for more than 2^31 - 1 elements. `data::MappedGraph` keeps both as they are.
///
/// ```
/// use burn::tensor::{Bytes, Device, Tensor};
/// use sparse_tensor::{CsrTensor, io::safetensors};
///
/// let device = Device::flex();
/// let a = CsrTensor::from_dense(Tensor::<2>::from_floats([[0.0, 2.0], [3.0, 0.0]], &device));
/// let bytes = Bytes::from_elems(safetensors::to_bytes(&a).unwrap()).shared();
/// let b: CsrTensor<2> = safetensors::from_shared(bytes, &device).unwrap();
/// assert_eq!(b.to_dense().into_data(), a.to_dense().into_data());
/// ```
///
/// # Errors
///
/// As [`load`]. Bytes that end before the header says so are an error before any array is touched.
pub fn from_shared<P: Pattern, const D: usize, K: Kind>(
    bytes: Bytes,
    device: &Device,
) -> Result<SparseTensor<P, D, K>> {
    Archive::from_shared(bytes)?.get("", device)
}

/// The pattern alone of what [`from_shared`] reads: the file may have no values ([`Archive::insert_pattern`]).
///
/// ```
/// use burn::tensor::{Bytes, Device, Tensor};
/// use sparse_tensor::pattern::{CsrPattern, Pattern};
/// use sparse_tensor::{CsrTensor, io::safetensors};
///
/// let device = Device::flex();
/// let a = CsrTensor::from_dense(Tensor::<2>::from_floats([[0.0, 2.0], [3.0, 0.0]], &device));
/// let mut archive = safetensors::Archive::new();
/// archive.insert_pattern("", a.pattern()).unwrap();
/// let bytes = Bytes::from_elems(archive.to_bytes().unwrap()).shared();
/// let pattern: CsrPattern = safetensors::pattern_from_shared(bytes, &device).unwrap();
/// assert_eq!((pattern.shape(), pattern.nnz()), (&[2, 2][..], 2));
/// ```
///
/// # Errors
///
/// As [`load`], without those of values.
pub fn pattern_from_shared<P: Pattern>(bytes: Bytes, device: &Device) -> Result<P> {
    Archive::from_shared(bytes)?.get_pattern("", device)
}

/// A dense array of a safetensors file by its name, such as the features of a graph's nodes. On Flex it is a part of
/// `bytes`, as [`from_shared`] says. The file need not hold a sparse tensor.
///
/// ```
/// use burn::tensor::{Bytes, Device, Tensor};
/// use sparse_tensor::{CooTensor, io::safetensors};
///
/// let device = Device::flex();
/// let a = CooTensor::<1>::from_dense(Tensor::from_floats([0.0, 2.0, 5.0], &device), 0);
/// let bytes = Bytes::from_elems(safetensors::to_bytes(&a).unwrap()).shared();
/// let values: Tensor<1> = safetensors::dense_from_shared(bytes, "values", &device).unwrap();
/// assert_eq!(values.into_data(), burn::tensor::TensorData::from([2.0f32, 5.0]));
/// ```
///
/// # Errors
///
/// - `invalid` if the bytes are no safetensors file, are cut off, or have no such array;
/// - `shape_mismatch` for another rank, `dtype_mismatch` for another kind;
/// - `unsupported_dtype` if the device or the library lacks the dtype.
pub fn dense_from_shared<const D: usize, K: Kind>(bytes: Bytes, name: &str, device: &Device) -> Result<Tensor<D, K>> {
    let (_, mut places) = file::places(&bytes).map_err(invalid)?;
    let Some((dtype, shape, range)) = places.remove(name) else {
        let names: Vec<&String> = places.keys().take(8).collect();
        return Err(invalid(format!("the file must hold an array named {name:?}, got {names:?}")));
    };
    tensor::dense(name, &Array { dtype, shape, bytes: file::part(&bytes, range) }, device)
}

/// The place of an array of a file, if there is one of that name.
#[cfg(feature = "mmap")]
pub(crate) fn mapped(bytes: &[u8], name: &str) -> Result<Option<Place>, String> {
    let (_, mut places) = file::places(bytes)?;
    let Some((dtype, shape, range)) = places.remove(name) else { return Ok(None) };
    if cfg!(target_endian = "big") {
        return Err("a file can be used where it lies on little-endian machines only, got a big-endian one".into());
    }
    match tensor::dtype(dtype) {
        Some(dtype) => Ok(Some(Place { shape, dtype, range })),
        None => Err(format!("`{name}`: the elements must be those of a tensor, got {dtype}")),
    }
}

/// The shape of the CSR tensor of that name, which must have two sparse dims.
#[cfg(feature = "mmap")]
pub(crate) fn mapped_matrix(bytes: &[u8], name: &str) -> Result<[usize; 2], String> {
    let (header, _) = file::places(bytes)?;
    let heads = file::read_heads(&header)?;
    match heads.get(name) {
        Some(Head { layout: file::Layout::Csr, shape, sparse_dims: 2, .. }) if shape.len() == 2 => {
            Ok([shape[0], shape[1]])
        }
        Some(_) => Err(format!("{name:?} must be a CSR matrix, got another tensor")),
        None => {
            let names: Vec<&String> = heads.keys().take(8).collect();
            Err(format!("the file must hold a sparse tensor named {name:?}, got {names:?}"))
        }
    }
}

/// The name of an array of a tensor in a file.
#[cfg(feature = "mmap")]
pub(crate) fn array_name(name: &str, part: &str) -> String {
    file::key(name, part)
}

/// Sparse tensors by name, on the host: the content of one file.
///
/// ```
/// use burn::tensor::{Bool, Device, Tensor};
/// use sparse_tensor::{CooTensor, CsrTensor, io::safetensors::Archive};
///
/// let device = Device::flex();
/// let graph = CsrTensor::<2>::from_dense(Tensor::ones([3, 3], &device));
/// let mask = CooTensor::<1, Bool>::from_dense(Tensor::from_data([true, false, true], &device), 0);
/// let mut archive = Archive::new();
/// archive.insert("graph", &graph).unwrap();
/// archive.insert("mask", &mask).unwrap();
///
/// let archive = Archive::from_bytes(&archive.to_bytes().unwrap()).unwrap();
/// assert_eq!(archive.names().collect::<Vec<_>>(), ["graph", "mask"]);
/// let mask: CooTensor<1, Bool> = archive.get("mask", &device).unwrap();
/// assert_eq!(mask.nnz(), 2);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Archive {
    heads: BTreeMap<String, Head>,
    arrays: BTreeMap<String, Array>,
}

impl Archive {
    /// An empty archive.
    pub fn new() -> Self {
        Self::default()
    }

    fn of<P: Pattern, const D: usize, K: Kind>(tensor: &SparseTensor<P, D, K>) -> Self {
        let mut archive = Self::new();
        archive.put("", tensor);
        archive
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.heads.keys().map(String::as_str)
    }

    /// Adds a copy of a tensor. Reads the device. The empty name is that of a single tensor, which [`load`] reads.
    ///
    /// # Errors
    ///
    /// `invalid` if the name is taken.
    pub fn insert<P: Pattern, const D: usize, K: Kind>(
        &mut self,
        name: &str,
        tensor: &SparseTensor<P, D, K>,
    ) -> Result<()> {
        if self.heads.contains_key(name) {
            return Err(invalid(format!("every name must be used once, got {name:?} again")));
        }
        self.put(name, tensor);
        Ok(())
    }

    fn put<P: Pattern, const D: usize, K: Kind>(&mut self, name: &str, tensor: &SparseTensor<P, D, K>) {
        let (head, arrays) = tensor::to_arrays(tensor);
        self.heads.insert(name.into(), head);
        self.arrays.extend(arrays.into_iter().map(|(part, array)| (file::key(name, part), array)));
    }

    /// Adds a copy of a pattern, without values: [`get_pattern`](Self::get_pattern) reads it. Reads the device.
    ///
    /// # Errors
    ///
    /// `invalid` if the name is taken.
    pub fn insert_pattern<P: Pattern>(&mut self, name: &str, pattern: &P) -> Result<()> {
        if self.heads.contains_key(name) {
            return Err(invalid(format!("every name must be used once, got {name:?} again")));
        }
        let (head, arrays) = tensor::pattern_arrays(pattern);
        self.heads.insert(name.into(), head);
        self.arrays.extend(arrays.into_iter().map(|(part, array)| (file::key(name, part), array)));
        Ok(())
    }

    /// The tensor of that name, on `device`, as [`load`] gives it.
    ///
    /// # Errors
    ///
    /// As [`load`].
    pub fn get<P: Pattern, const D: usize, K: Kind>(
        &self,
        name: &str,
        device: &Device,
    ) -> Result<SparseTensor<P, D, K>> {
        let head = self.head(name)?;
        tensor::from_arrays(head, |part| file::find(&self.arrays, name, part), device)
    }

    /// The pattern of the tensor of that name, or the pattern that was [inserted](Self::insert_pattern). Values are not
    /// touched.
    ///
    /// # Errors
    ///
    /// As [`load`], without those of values.
    pub fn get_pattern<P: Pattern>(&self, name: &str, device: &Device) -> Result<P> {
        tensor::pattern_from_arrays(self.head(name)?, |part| file::find(&self.arrays, name, part), device)
    }

    fn head(&self, name: &str) -> Result<&Head> {
        self.heads.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.names().take(8).collect();
            invalid(format!("the file must hold a sparse tensor named {name:?}, got {names:?}"))
        })
    }

    /// Writes a file.
    ///
    /// # Errors
    ///
    /// `invalid` if it cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let trouble = |trouble| invalid(format!("{}: cannot be written, got {trouble}", path.display()));
        sparse_disk::replace(path, trouble, |out| file::write(out, &self.heads, &self.arrays).map_err(trouble))
    }

    /// [`save`](Self::save) to memory.
    ///
    /// # Errors
    ///
    /// `invalid` if the header becomes too large for the format.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.write_to(&mut bytes)?;
        Ok(bytes)
    }

    /// [`save`](Self::save) to a stream.
    ///
    /// # Errors
    ///
    /// `invalid` if it cannot be written.
    pub fn write_to(&self, mut out: impl Write) -> Result<()> {
        let trouble = |trouble| invalid(format!("cannot be written, got {trouble}"));
        file::write(&mut out, &self.heads, &self.arrays).map_err(trouble)
    }

    /// Reads a file. The elements are not checked yet.
    ///
    /// # Errors
    ///
    /// `invalid` if the file cannot be read, is not a safetensors file, is cut off, or names no sparse tensors.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::load_with(path, &mut silent())
    }

    /// [`load`](Self::load), which reports its progress.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn load_with(path: impl AsRef<Path>, progress: &mut Progress<'_>) -> Result<Self> {
        let name = path.as_ref().display();
        let trouble = |trouble| invalid(format!("{name}: cannot be read, got {trouble}"));
        let source = Counted::open(path.as_ref(), progress).map_err(trouble)?;
        let length = source.total();
        file::read(BufReader::new(source), length)
            .map(Self::from)
            .map_err(|trouble| invalid(format!("{name}: {trouble}")))
    }

    /// [`load`](Self::load) from memory.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        file::read(bytes, bytes.len() as u64).map(Self::from).map_err(invalid)
    }

    /// [`from_bytes`](Self::from_bytes) without a copy, if `bytes` can be shared: see
    /// [`from_shared`].
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn from_shared(bytes: Bytes) -> Result<Self> {
        file::share(&bytes).map(Self::from).map_err(invalid)
    }

    /// [`load`](Self::load) from a stream, to its end: 1 GiB at most, unless
    /// [`Limits::bytes`](sparse_ops::Limits::bytes) says otherwise.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn read_from(source: impl Read) -> Result<Self> {
        file::read(source, 0).map(Self::from).map_err(invalid)
    }
}

impl From<file::Parts> for Archive {
    fn from((heads, arrays): file::Parts) -> Self {
        Self { heads, arrays }
    }
}
