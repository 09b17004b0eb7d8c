//! Sparse matrices to archives, as SciPy's `save_npz` writes them.

use super::archive::{OP, invalid};
use crate::io::npy::write::descr;
use crate::io::npy::write::elements;
use crate::io::npy::write::header;
use crate::plain::{FILE_HINTS, check_plain};
use burn::tensor::TensorData;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use rawzip::{CompressionMethod, Crc32Option, DataDescriptorOutput, ZipArchiveWriter};
use sparse_ops::extend;
use sparse_ops::extend::{Arrays, along, read_data};
use sparse_ops::pattern::Pattern;
use sparse_ops::{Kind, Result, SparseTensor};
use std::io::{self, Write};

/// The arrays of a file in SciPy's order: name, header and elements.
pub(super) fn arrays<P: Pattern, K: Kind>(tensor: &SparseTensor<P, 2, K>) -> Result<Vec<(&'static str, Array)>> {
    check_plain(tensor, OP, FILE_HINTS)?;
    let array = |tensor: TensorData| Array::new(tensor);
    let (format, mut arrays) = match extend::arrays(tensor.pattern()) {
        Arrays::Csr(row_ptr, col_idx) => {
            let (indices, row_ptr) = (array(read_data(col_idx))?, array(read_data(row_ptr))?);
            ("csr", vec![("indices", indices), ("indptr", row_ptr)])
        }
        Arrays::Coo(indices) => {
            let row = |dim| array(read_data(along(&indices, dim)));
            ("coo", vec![("row", row(0)?), ("col", row(1)?)])
        }
    };
    arrays.push(("format", Array { header: header("|S3", &[]), elements: Elements::Text(format) }));
    let shape: Vec<i64> = tensor.dims().iter().map(|&size| size as i64).collect();
    arrays.push(("shape", array(TensorData::new(shape, [2]))?));
    arrays.push(("data", array(read_data(tensor.values::<1>().inner()))?));
    Ok(arrays)
}

/// An array of an archive.
pub(super) struct Array {
    header: Vec<u8>,
    elements: Elements,
}

enum Elements {
    Numbers(TensorData),
    Text(&'static str),
}

impl Array {
    fn new(data: TensorData) -> Result<Self> {
        let header = header(descr(OP, data.dtype())?, data.shape());
        Ok(Self { header, elements: Elements::Numbers(data) })
    }

    fn write(self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.header)?;
        match self.elements {
            Elements::Numbers(data) => elements(data, out),
            Elements::Text(text) => out.write_all(text.as_bytes()),
        }
    }
}

/// Writes an archive.
pub(super) fn write(out: impl Write, arrays: Vec<(&'static str, Array)>, compressed: bool) -> Result<()> {
    let written = (|| -> Result<(), Box<dyn std::error::Error>> {
        let mut archive = ZipArchiveWriter::new(out);
        for (name, array) in arrays {
            let method = if compressed { CompressionMethod::DEFLATE } else { CompressionMethod::STORE };
            let path = format!("{name}.npy");
            let file = archive.new_file(path.as_str()).compression_method(method).crc32(Crc32Option::Skip);
            let (mut entry, _) = file.start()?;
            // This checksum is several times faster than that of the archive's writer.
            let summed = if compressed {
                let mut summed = Summed::new(DeflateEncoder::new(&mut entry, Compression::default()));
                array.write(&mut summed)?;
                let (encoder, summed) = summed.finish();
                encoder.finish()?;
                summed
            } else {
                let mut summed = Summed::new(&mut entry);
                array.write(&mut summed)?;
                summed.finish().1
            };
            entry.finish(summed)?;
        }
        archive.finish()?.flush()?;
        Ok(())
    })();
    written.map_err(|trouble| invalid(format!("cannot be written, got {trouble}")))
}

/// Counts and sums the bytes that pass.
struct Summed<W> {
    inner: W,
    crc: flate2::Crc,
    bytes: u64,
}

impl<W: Write> Summed<W> {
    fn new(inner: W) -> Self {
        Self { inner, crc: flate2::Crc::new(), bytes: 0 }
    }

    fn finish(self) -> (W, DataDescriptorOutput) {
        (self.inner, DataDescriptorOutput::new(self.crc.sum(), self.bytes))
    }
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(buffer)?;
        self.crc.update(&buffer[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
