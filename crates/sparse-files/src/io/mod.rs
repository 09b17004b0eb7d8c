//! File formats.
//!
//! | module | files | feature |
//! |---|---|---|
//! | [`matrix_market`] | `.mtx`: the exchange format of sparse matrices: text, rank 2, filled with zero | |
//! | `safetensors` | every tensor exactly: layout, rank, dense dims, dtype and fill | `safetensors` |
//! | `npz` | SciPy's sparse matrices, and NumPy's archives | `npz` |
//! | [`npy`] | NumPy's dense arrays | |
//! | [`edge_list`] | a line for each edge: `.csv`, `.tsv`, text | |
//! | [`source`] | what a reader of your own is made of | |
//!
//! `MappedFile` (feature `mmap`) maps a file into memory. What is larger than the memory is read where it lies.
//!
//! Text files may be compressed by gzip if the feature `gz` is on. No content of a file causes a panic, and the size
//! that a header claims is not allocated unless the file is that large. [`Limits`](sparse_ops::Limits) bounds what a
//! reader takes. A writer leaves a whole file, or what was there before. Every function that reads a file has a variant
//! that ends in `_with` and reports its [`Progress`].

pub mod edge_list;
#[cfg(feature = "mmap")]
pub(crate) mod mapped;
pub mod matrix_market;
pub mod npy;
#[cfg(feature = "npz")]
pub mod npz;
#[cfg(feature = "safetensors")]
pub mod safetensors;
pub mod source;

#[cfg(all(feature = "mmap", feature = "safetensors"))]
pub use mapped::MappedCsr;
#[cfg(feature = "mmap")]
pub use mapped::{MappedArray, MappedFile};
#[doc(no_inline)]
pub use matrix_market::MatrixMarket;
pub use source::Progress;
