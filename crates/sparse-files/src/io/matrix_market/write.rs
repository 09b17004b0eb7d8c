//! Entries to text.

use super::matrix::{Format, MatrixMarket, Symmetry, Values, invalid};
use crate::plain::{FILE_HINTS, check_plain};
use burn::tensor::{Tensor, TensorData};
use sparse_ops::extend::read_data;
use sparse_ops::pattern::Pattern;
use sparse_ops::{Kind, Result, SparseTensor};
use std::io::Write;
use std::path::Path;

/// What a Matrix Market file can hold.
pub trait ToMatrixMarket {
    /// The matrix on the host, ready to be written. Reads the device.
    ///
    /// # Errors
    ///
    /// `fill_mismatch` for a fill other than zero and `undefined_fill` for a missing one: the format has neither, but
    /// `io::safetensors` does. `shape_mismatch` for a tensor with dense dims.
    fn to_matrix_market(&self) -> Result<MatrixMarket>;
}

/// Writes a sparse matrix as `coordinate`, a dense one as `array`, always `general`.
///
/// Floats are written so that reading gives the same bits. Integers are written as `integer`. Booleans are written as
/// `pattern` if every stored one is true, otherwise as `integer` (0 and 1). Repeated entries are summed first.
/// `io::safetensors` (a feature) keeps what this format cannot: fills, other ranks, dense dims, dtypes.
///
/// ```
/// use burn::tensor::{Bool, Device, Tensor};
/// use sparse_tensor::{CsrTensor, Fill, io::matrix_market};
///
/// let edges = Tensor::<2, Bool>::from_data([[false, true], [true, false]], &Device::flex());
/// let a = CsrTensor::from_dense(edges);
/// let mut out = Vec::new();
/// matrix_market::write_to(&mut out, &a).unwrap();
/// assert_eq!(out, b"%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n2 1\n");
/// assert!(matrix_market::write_to(out, &a.with_fill(Fill::scalar(true))).is_err());
/// ```
///
/// # Errors
///
/// Those of [`ToMatrixMarket::to_matrix_market`]; `invalid` if the file cannot be written.
pub fn write(path: impl AsRef<Path>, matrix: &impl ToMatrixMarket) -> Result<()> {
    let matrix = matrix.to_matrix_market()?;
    let path = path.as_ref();
    let trouble = |trouble| invalid(format!("{}: cannot be written, got {trouble}", path.display()));
    sparse_disk::replace(path, trouble, |out| matrix.write_text(out).map_err(trouble))
}

/// [`write()`] to memory or to a stream.
///
/// # Errors
///
/// As [`write()`].
pub fn write_to(mut out: impl Write, matrix: &impl ToMatrixMarket) -> Result<()> {
    let matrix = matrix.to_matrix_market()?;
    matrix.write_text(&mut out).map_err(|trouble| invalid(format!("cannot be written, got {trouble}")))
}

impl<P: Pattern, K: Kind> ToMatrixMarket for SparseTensor<P, 2, K> {
    fn to_matrix_market(&self) -> Result<MatrixMarket> {
        const OP: &str = "matrix_market::write";
        check_plain(self, OP, FILE_HINTS)?;
        let merged = self.coalesce();
        let ends: Vec<i64> = read_data(merged.pattern().coordinates().clone()).convert::<i64>().iter().collect();
        let (rows, cols) = ends.split_at(merged.nnz());
        let coordinates = rows.iter().zip(cols).map(|(&row, &col)| (row as usize, col as usize)).collect();
        let values = match read_data(merged.values::<1>().inner()) {
            data if data.dtype().is_bool() && data.iter::<bool>().all(|value| value) => Values::Pattern,
            data => host_values(data),
        };
        let [rows, cols] = self.dims();
        Ok(MatrixMarket { rows, cols, format: Format::Coordinate, symmetry: Symmetry::General, coordinates, values })
    }
}

impl<K: Kind> ToMatrixMarket for Tensor<2, K> {
    fn to_matrix_market(&self) -> Result<MatrixMarket> {
        let [rows, cols] = self.dims();
        let values = host_values(read_data(self.clone().inner()));
        let nonzero = |at: usize| match &values {
            // The bits of -0.0 differ from those of zero.
            Values::Real(values) => values[at] != 0.0 || values[at].is_sign_negative(),
            Values::Integer(values) => values[at] != 0,
            Values::Pattern => true,
        };
        let kept: Vec<usize> = (0..rows * cols).filter(|&at| nonzero(at)).collect();
        let coordinates = kept.iter().map(|&at| (at / cols, at % cols)).collect();
        let values = match &values {
            Values::Real(values) => Values::Real(kept.iter().map(|&at| values[at]).collect()),
            Values::Integer(values) => Values::Integer(kept.iter().map(|&at| values[at]).collect()),
            Values::Pattern => Values::Pattern,
        };
        Ok(MatrixMarket { rows, cols, format: Format::Array, symmetry: Symmetry::General, coordinates, values })
    }
}

impl ToMatrixMarket for MatrixMarket {
    fn to_matrix_market(&self) -> Result<MatrixMarket> {
        Ok(self.clone())
    }
}

fn host_values(data: TensorData) -> Values {
    match data.dtype() {
        dtype if dtype.is_float() => Values::Real(data.iter::<f64>().collect()),
        dtype if dtype.is_bool() => Values::Integer(data.iter::<bool>().map(i64::from).collect()),
        _ => Values::Integer(data.iter::<i64>().collect()),
    }
}

impl MatrixMarket {
    /// The text. `coordinates` are expanded already, so the symmetry is always `general`.
    fn write_text(&self, out: &mut impl Write) -> std::io::Result<()> {
        let (rows, cols, entries) = (self.rows, self.cols, self.coordinates.len());
        let lengths = match &self.values {
            Values::Real(values) => values.len(),
            Values::Integer(values) => values.len(),
            Values::Pattern => entries,
        };
        let inside = self.coordinates.iter().all(|&(row, col)| row < rows && col < cols);
        if lengths != entries || !inside {
            let rule = "the matrix must have one value for each coordinate, inside its sizes";
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, rule));
        }
        // A pattern has no values to list in full.
        let format = if matches!(self.values, Values::Pattern) { Format::Coordinate } else { self.format };
        writeln!(out, "%%MatrixMarket matrix {format} {} general", self.field())?;
        if format == Format::Array {
            writeln!(out, "{rows} {cols}")?;
            return self.write_array(out);
        }
        writeln!(out, "{rows} {cols} {entries}")?;
        for (at, &(row, col)) in self.coordinates.iter().enumerate() {
            write!(out, "{} {}", row + 1, col + 1)?;
            match &self.values {
                Values::Real(values) => writeln!(out, " {:?}", values[at])?,
                Values::Integer(values) => writeln!(out, " {}", values[at])?,
                Values::Pattern => writeln!(out)?,
            }
        }
        Ok(())
    }

    fn write_array(&self, out: &mut impl Write) -> std::io::Result<()> {
        // A file may have any number of empty columns.
        if self.rows == 0 {
            return Ok(());
        }
        let mut order: Vec<usize> = (0..self.coordinates.len()).collect();
        order.sort_by_key(|&at| (self.coordinates[at].1, self.coordinates[at].0));
        let mut order = order.into_iter().peekable();
        for col in 0..self.cols {
            for row in 0..self.rows {
                let (mut real, mut integer) = (None, 0i64);
                while let Some(at) = order.next_if(|&at| self.coordinates[at] == (row, col)) {
                    match &self.values {
                        Values::Real(values) => real = Some(real.map_or(values[at], |sum: f64| sum + values[at])),
                        Values::Integer(values) => integer = integer.wrapping_add(values[at]),
                        Values::Pattern => integer += 1,
                    }
                }
                match self.values {
                    Values::Real(_) => writeln!(out, "{:?}", real.unwrap_or(0.0))?,
                    _ => writeln!(out, "{integer}")?,
                }
            }
        }
        Ok(())
    }
}
