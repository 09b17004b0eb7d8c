//! Matrix Market: the text format of SuiteSparse, SciPy and the Planetoid graphs in this project's documentation.
//!
//! Reads `coordinate` and `array`; `real`, `integer` and `pattern`; `general`, `symmetric`, `skew-symmetric` and
//! `hermitian`; comments, blank lines and any letter case. Of `complex` values a [`Reader`] gives a part. What breaks
//! the format is an error that names the line and what was found there, but what SciPy reads and has a clear meaning is
//! read; [`Reader::strict`] lists that, and refuses it.
//!
//! Source: Boisvert, Pozo, Remington, *The Matrix Market Exchange Formats*, NISTIR 5935, 1996.
//!
//! ```
//! use burn::tensor::Device;
//! use sparse_tensor::io::matrix_market;
//!
//! let text = "%%MatrixMarket matrix coordinate real symmetric\n% a comment\n3 3 2\n1 1 4.5\n3 1 -1\n";
//! let file = matrix_market::parse(text.as_bytes()).unwrap();
//! let a = file.to_csr(&Device::flex()).unwrap();
//! assert_eq!((a.dims(), a.nnz()), ([3, 3], 3)); // (2, 0) and its mirror (0, 2)
//!
//! let mut out = Vec::new();
//! matrix_market::write_to(&mut out, &a).unwrap();
//! assert_eq!(matrix_market::parse(&out[..]).unwrap().coordinates, [(0, 0), (0, 2), (2, 0)]);
//! ```

mod header;
mod lines;
pub(crate) mod matrix;
mod parse;
pub(crate) mod reader;
mod write;

pub use matrix::{ComplexPart, Field, Format, MatrixMarket, Symmetry, Values};
pub use reader::Reader;
pub use write::{ToMatrixMarket, write, write_to};

use super::source::Progress;
use sparse_ops::Result;
use std::io::BufRead;
use std::path::Path;

/// Reads a file, also one that is compressed by gzip (`.mtx.gz`; needs the feature `gz`).
///
/// # Errors
///
/// `invalid`: the file cannot be opened, or breaks the format; the message names the file, the line and what was found.
pub fn read(path: impl AsRef<Path>) -> Result<MatrixMarket> {
    Reader::new().read(path)
}

/// [`read`], which reports its progress.
///
/// # Errors
///
/// As [`read`].
pub fn read_with(path: impl AsRef<Path>, progress: &mut Progress<'_>) -> Result<MatrixMarket> {
    Reader::new().read_with(path, progress)
}

/// Reads from memory or from a stream.
///
/// # Errors
///
/// `invalid`; the message names the line and what was found.
pub fn parse(reader: impl BufRead) -> Result<MatrixMarket> {
    Reader::new().parse(reader)
}
