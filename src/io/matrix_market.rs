//! Matrix Market: the text format of SuiteSparse, SciPy and the Planetoid graphs in this project's documentation.
//!
//! Reads `coordinate` and `array`; `real`, `integer` and `pattern`; `general`, `symmetric` and `skew-symmetric`;
//! comments, blank lines and any letter case. `complex` and `hermitian` are errors, and so is everything that breaks
//! the format. Each error names the line and what was found there.
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

pub(crate) mod matrix;
mod parse;
mod write;

pub use write::{ToMatrixMarket, write, write_to};

use super::source::{Progress, silent, text};
use matrix::invalid;
use sparse_core::{Result, SparseError};
use std::io::BufRead;
use std::path::Path;

pub use matrix::{Field, Format, MatrixMarket, Symmetry, Values};
pub(crate) use parse::{Entry, parse_checked};

/// Reads a file, also one that is compressed by gzip (`.mtx.gz`; needs the feature `gz`).
///
/// # Errors
///
/// `invalid`: the file cannot be opened, or breaks the format; the message names the file, the line and what was found.
pub fn read(path: impl AsRef<Path>) -> Result<MatrixMarket> {
    read_with(path, &mut silent())
}

/// [`read`], which reports its progress.
///
/// # Errors
///
/// As [`read`].
pub fn read_with(path: impl AsRef<Path>, progress: &mut Progress<'_>) -> Result<MatrixMarket> {
    read_checked(path.as_ref(), progress, |_| Ok(()))
}

/// Reads from memory or from a stream.
///
/// # Errors
///
/// `invalid`; the message names the line and what was found.
pub fn parse(reader: impl BufRead) -> Result<MatrixMarket> {
    parse_checked(reader, 0, |_| Ok(()))
}

/// [`read_with`] with an additional check of every entry. The text of its error follows the name of the line.
pub(crate) fn read_checked(
    path: &Path,
    progress: &mut Progress<'_>,
    check: impl FnMut(Entry) -> Result<(), String>,
) -> Result<MatrixMarket> {
    let name = path.display();
    let open = |trouble| invalid(format!("{name}: cannot be read, got {trouble}"));
    let (file, bytes) = text(path, progress).map_err(open)?;
    parse_checked(file, bytes, check).map_err(|trouble| match trouble {
        SparseError::Invalid { op, message } => SparseError::Invalid { op, message: format!("{name}: {message}") },
        other => other,
    })
}
