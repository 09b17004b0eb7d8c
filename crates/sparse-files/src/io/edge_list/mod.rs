//! Edge lists: a line of text for each edge, with two nodes and perhaps a weight.
//!
//! Reads comma-, semicolon-, tab- and space-separated files, also compressed by gzip (with the feature `gz`): those of
//! SNAP, KONECT, NetworkX (`write_weighted_edgelist`, or `write_edgelist` with `data=False`) and spreadsheets. Lines
//! that start with `#`, `%` or `//` are comments; blank lines are skipped. What differs from file to file is detected,
//! or given in [`Options`].
//!
//! ```
//! use burn::tensor::Device;
//! use sparse_tensor::io::edge_list::{self, Options};
//!
//! let text = "# who calls whom\nfrom,to,calls\n0,1,3\n2,1,1\n";
//! let edges = edge_list::parse(text.as_bytes(), &Options::new()).unwrap();
//! assert_eq!((edges.edges.as_slice(), edges.nodes), ([(0, 1), (2, 1)].as_slice(), 3));
//! let a = edges.to_csr(&Device::flex()).unwrap();
//! assert_eq!((a.dims(), a.nnz()), ([3, 3], 2));
//!
//! let text = "anna bob\nbob carl\n";
//! let edges = edge_list::parse(text.as_bytes(), &Options::new().with_names()).unwrap();
//! assert_eq!(edges.names, ["anna", "bob", "carl"]);
//! ```

mod list;
mod parse;

use super::source::{Limited, Progress, silent, text};
use parse::{OP, parse_list};
use sparse_ops::{Result, SparseError};
use std::io::BufRead;
use std::path::Path;

pub use list::EdgeList;
pub use parse::Options;

/// Reads a file. Cost: one pass; memory for the edges that it holds.
///
/// # Errors
///
/// `invalid`: the file cannot be read, or breaks its own form; the message names the file, the line and what was found.
pub fn read(path: impl AsRef<Path>, options: &Options) -> Result<EdgeList> {
    read_with(path, options, &mut silent())
}

/// [`read`], which reports its progress.
///
/// # Errors
///
/// As [`read`].
pub fn read_with(path: impl AsRef<Path>, options: &Options, progress: &mut Progress<'_>) -> Result<EdgeList> {
    let path = path.as_ref();
    let open = |trouble| SparseError::invalid(OP, format!("cannot be read, got {trouble}")).in_file(path);
    let (file, _) = text(path, progress).map_err(open)?;
    parse_list(file, options).map_err(|trouble| trouble.in_file(path))
}

/// [`read`] from memory or from a stream.
///
/// # Errors
///
/// As [`read`].
pub fn parse(reader: impl BufRead, options: &Options) -> Result<EdgeList> {
    parse_list(Limited::new(reader, 0), options)
}
