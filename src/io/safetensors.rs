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
//! `undefined`, or `value` for the array of that name). Tensors that it does not mention are skipped. Equal tensors
//! give equal bytes.
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

use super::source::{Counted, Progress, silent};
use crate::base::kind::Kind;
use crate::pattern::layout::Pattern;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::Device;
use file::{Array, Head, invalid};
use sparse_core::Result;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
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
        let Some(head) = self.heads.get(name) else {
            let names: Vec<&str> = self.names().take(8).collect();
            return Err(invalid(format!("the file must hold a sparse tensor named {name:?}, got {names:?}")));
        };
        tensor::from_arrays(head, |part| file::find(&self.arrays, name, part), device)
    }

    /// Writes a file.
    ///
    /// # Errors
    ///
    /// `invalid` if it cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let trouble = |trouble| invalid(format!("{}: cannot be written, got {trouble}", path.display()));
        let mut out = BufWriter::new(File::create(path).map_err(trouble)?);
        file::write(&mut out, &self.heads, &self.arrays).and_then(|()| out.flush()).map_err(trouble)
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
        file::read(BufReader::new(source)).map(Self::from).map_err(|trouble| invalid(format!("{name}: {trouble}")))
    }

    /// [`load`](Self::load) from memory.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read_from(bytes)
    }

    /// [`load`](Self::load) from a stream, to its end.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn read_from(source: impl Read) -> Result<Self> {
        file::read(source).map(Self::from).map_err(invalid)
    }
}

impl From<file::Parts> for Archive {
    fn from((heads, arrays): file::Parts) -> Self {
        Self { heads, arrays }
    }
}
