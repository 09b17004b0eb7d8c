//! Opens what a user has: graphs without labels, and other sparse matrices.
#![allow(dead_code)] // An example may need some of it only.

use crate::console::progress;
use burn::tensor::{DType, Device};
use sparse_tensor::io::edge_list::{self, EdgeList, Options};
use sparse_tensor::io::npz::{self, Archive};
use sparse_tensor::io::{Progress, matrix_market};
use sparse_tensor::{CsrTensor, SparseError};
use std::path::Path;

/// Whether `path` holds more than edges: a folder, or an .npz file with the arrays of a graph with labels. These are
/// for the reader of graphs with labels.
pub(crate) fn is_labelled(path: &Path) -> bool {
    path.is_dir() || Archive::open(path).is_ok_and(|file| file.names().any(|name| name == "adj_indices"))
}

/// What a file holds.
pub(crate) enum Opened {
    Matrix(CsrTensor<2>),
    Edges(EdgeList),
}

/// Opens `.npz` of SciPy, `.mtx` and `.mtx.gz` of Matrix Market, and everything else as an edge list.
pub(crate) fn open(path: &Path, options: &Options, quiet: bool, device: &Device) -> Result<Opened, SparseError> {
    let bar = progress(quiet, 0, "bytes");
    let opened = read(path, options, device, &mut |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    });
    bar.finish_and_clear();
    opened
}

fn read(path: &Path, options: &Options, device: &Device, bar: &mut Progress<'_>) -> Result<Opened, SparseError> {
    let name = path.to_string_lossy().to_lowercase();
    if name.ends_with(".npz") {
        // Whatever the file has: whole numbers and booleans too.
        return Ok(Opened::Matrix(npz::load_with(path, (device, DType::F32), bar)?));
    }
    if name.ends_with(".mtx") || name.ends_with(".mtx.gz") {
        return Ok(Opened::Matrix(matrix_market::read_with(path, bar)?.to_csr(device)?));
    }
    Ok(Opened::Edges(edge_list::read_with(path, options, bar)?))
}

impl Opened {
    /// The adjacency `[nodes, nodes]`, and the names of the nodes if the file has any.
    pub(crate) fn into_graph(self, device: &Device) -> Result<(CsrTensor<2>, Vec<String>), SparseError> {
        let (adjacency, names) = match self {
            Self::Matrix(matrix) => (matrix, vec![]),
            Self::Edges(list) => (list.to_csr(device)?, list.names),
        };
        let [rows, cols] = adjacency.dims();
        if rows == cols {
            return Ok((adjacency, names));
        }
        let message = format!("the matrix of a graph must be square, got {rows} x {cols}");
        Err(SparseError::Invalid { op: "--data", message })
    }
}
