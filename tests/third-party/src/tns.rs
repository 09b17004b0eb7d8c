//! FROSTT's `.tns`: a line for each stored element, its coordinates from 1 and its value. (Smith et al., *FROSTT: the
//! formidable repository of open sparse tensors and tools*, 2017.)

use burn::tensor::{Device, Tensor, TensorData};
use sparse_tensor::extend::{Allowed, index_below, read_data};
use sparse_tensor::io::source::{Lines, shown, silent, text};
use sparse_tensor::pattern::Pattern;
use sparse_tensor::{CooTensor, Result, SparseError, SparseTensor};
use std::io::{self, Write};
use std::path::Path;

fn invalid(path: &Path, message: impl std::fmt::Display) -> SparseError {
    SparseError::Invalid { op: "tns::read", message: format!("{}: {message}", path.display()) }
}

/// Reads a tensor of rank `D`; each dim has the size of its largest coordinate.
///
/// # Errors
///
/// `invalid`, with the file and the line.
pub fn read<const D: usize>(path: impl AsRef<Path>, device: &Device) -> Result<CooTensor<D>> {
    let path = path.as_ref();
    let mut progress = silent();
    let (file, _) = text(path, &mut progress).map_err(|trouble| invalid(path, trouble))?;
    let (mut lines, allowed) = (Lines::new(file), Allowed::now());
    let (mut coordinates, mut values) = (vec![vec![]; D], vec![]);
    while let Some((number, line)) = lines.next().map_err(|trouble| invalid(path, trouble))? {
        if line.starts_with(b"#") {
            continue;
        }
        let wrong = || {
            let got = shown(line);
            invalid(path, format!("line {number}: {D} coordinates and a value are due, got {got:?}"))
        };
        let words: Vec<&str> = std::str::from_utf8(line).map_err(|_| wrong())?.split_ascii_whitespace().collect();
        let (Some((value, at)), true) = (words.split_last(), words.len() == D + 1) else { return Err(wrong()) };
        for (dim, word) in coordinates.iter_mut().zip(at) {
            let place = word.parse::<usize>().ok().and_then(|place| place.checked_sub(1)).ok_or_else(wrong)?;
            dim.push(place);
        }
        values.push(value.parse::<f32>().map_err(|_| wrong())?);
        allowed.check_elements(values.len()).map_err(|trouble| invalid(path, trouble))?;
    }
    let shape: [usize; D] = std::array::from_fn(|dim| coordinates[dim].iter().max().map_or(0, |&last| last + 1));
    let (nnz, largest) = (values.len(), shape.iter().copied().max().unwrap_or(0));
    let indices = coordinates.iter().map(|dim| index_below(dim, largest, device).reshape([1, nnz as i32])).collect();
    let values = Tensor::<1>::from_data(TensorData::new(values, [nnz]), device);
    CooTensor::new(Tensor::cat(indices, 0), values, shape)
}

/// Writes the stored elements of a tensor of either layout.
///
/// # Errors
///
/// Those of `out`.
pub fn write<P: Pattern, const D: usize>(mut out: impl Write, tensor: &SparseTensor<P, D>) -> io::Result<()> {
    let (nnz, values) = (tensor.nnz(), read_data(tensor.values::<1>().inner()).convert::<f32>());
    let coordinates: Vec<i64> = read_data(tensor.pattern().coordinates().clone()).convert::<i64>().iter().collect();
    for (at, value) in values.iter::<f32>().enumerate() {
        for dim in 0..D {
            write!(out, "{} ", coordinates[dim * nnz + at] + 1)?;
        }
        writeln!(out, "{value}")?;
    }
    Ok(())
}
