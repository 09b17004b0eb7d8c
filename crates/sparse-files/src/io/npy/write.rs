//! Arrays to bytes, as NumPy writes them.

use super::header::MAGIC;
use burn::tensor::{DType, TensorData};
use sparse_ops::{Result, SparseError, dtype_name};
use std::io::{self, Write};

/// Name of a dtype in a header. NumPy has no bfloat16.
pub(crate) fn descr(op: &'static str, dtype: DType) -> Result<&'static str> {
    Ok(match dtype {
        DType::F16 => "<f2",
        DType::F32 => "<f4",
        DType::F64 => "<f8",
        DType::I8 => "|i1",
        DType::I16 => "<i2",
        DType::I32 => "<i4",
        DType::I64 => "<i8",
        DType::U8 => "|u1",
        DType::U16 => "<u2",
        DType::U32 => "<u4",
        DType::U64 => "<u8",
        DType::Bool(_) => "|b1",
        other => {
            return Err(SparseError::unsupported_dtype(op, "NumPy", dtype_name(other)));
        }
    })
}

/// A header, padded as NumPy pads it: the elements start at a multiple of 64 bytes.
pub(crate) fn header(descr: &str, shape: &[usize]) -> Vec<u8> {
    let sizes: String = match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    };
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {sizes}, }}");
    // Magic, version, length, and the line feed at the end.
    let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend((length as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.resize(10 + length - 1, b' ');
    bytes.push(b'\n');
    bytes
}

/// The elements, little-endian, row-major.
pub(crate) fn elements(data: TensorData, out: &mut dyn Write) -> io::Result<()> {
    if data.dtype().is_bool() {
        // Backends keep booleans in several widths; a file has bytes.
        return out.write_all(&data.iter::<bool>().map(u8::from).collect::<Vec<u8>>());
    }
    if cfg!(target_endian = "big") {
        let mut bytes = data.as_bytes().to_vec();
        bytes.chunks_exact_mut(data.dtype().size()).for_each(<[u8]>::reverse);
        return out.write_all(&bytes);
    }
    out.write_all(data.as_bytes())
}
