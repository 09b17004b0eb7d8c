//! NumPy's `.npy`, with a header of a fixed length: it can be written before the number of elements is known.
//!
//! Source: NumPy, NEP 1.

use serde::{Deserialize, Serialize};

/// Bytes before the first element. It is a multiple of 64, so that mapped elements are aligned.
pub const HEADER: u64 = 128;

/// Element types of the arrays of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// 8 bits without sign.
    U8,
    /// 32 bits with sign.
    I32,
    /// 64 bits with sign.
    I64,
    /// 32 bits, floating.
    F32,
}

impl Dtype {
    /// Bytes of an element.
    ///
    /// ```
    /// assert_eq!(sparse_shards::Dtype::I64.size(), 8);
    /// ```
    pub fn size(self) -> u64 {
        match self {
            Self::U8 => 1,
            Self::I32 | Self::F32 => 4,
            Self::I64 => 8,
        }
    }

    /// What the columns of a graph of so many nodes are: [`I32`](Self::I32) if every dense id fits one, so up to 2^31
    /// nodes, else [`I64`](Self::I64).
    ///
    /// ```
    /// use sparse_shards::Dtype;
    ///
    /// // The greatest id is 2^31 - 1.
    /// assert_eq!(Dtype::of_ids(1 << 31), Dtype::I32);
    /// assert_eq!(Dtype::of_ids((1 << 31) + 1), Dtype::I64);
    /// ```
    pub fn of_ids(nodes: u64) -> Self {
        if nodes.saturating_sub(1) > i32::MAX as u64 { Self::I64 } else { Self::I32 }
    }

    fn descr(self) -> &'static str {
        match self {
            Self::U8 => "|u1",
            Self::I32 => "<i4",
            Self::I64 => "<i8",
            Self::F32 => "<f4",
        }
    }
}

mod own {
    pub trait Sealed {}
}

/// A type whose elements an array of a folder can have: `u8`, `i32`, `i64`, `f32`.
pub trait Element: Copy + own::Sealed {
    /// Its name.
    const DTYPE: Dtype;
    /// Appends elements, little-endian.
    fn put(elements: &[Self], out: &mut Vec<u8>);
    /// The element of exactly [`Dtype::size`] bytes, little-endian.
    fn take(bytes: &[u8]) -> Self;
}

macro_rules! element {
    ($($of:ty => $dtype:ident),*) => {$(
        impl own::Sealed for $of {}
        impl Element for $of {
            const DTYPE: Dtype = Dtype::$dtype;
            fn put(elements: &[Self], out: &mut Vec<u8>) {
                elements.iter().for_each(|element| out.extend_from_slice(&element.to_le_bytes()));
            }
            fn take(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<$of>()];
                own.copy_from_slice(bytes);
                Self::from_le_bytes(own)
            }
        }
    )*};
}

element!(u8 => U8, i32 => I32, i64 => I64, f32 => F32);

/// The header of an array, of [`HEADER`] bytes: as NumPy writes it, with more spaces.
pub(crate) fn header(dtype: Dtype, shape: &[u64]) -> Vec<u8> {
    let dims: String = shape.iter().map(|dim| format!("{dim}, ")).collect();
    // A tuple of one needs its comma, a longer one must not end with one.
    let dims = dims.strip_suffix(if shape.len() == 1 { " " } else { ", " }).unwrap_or(&dims);
    let text = format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({dims}), }}", dtype.descr());
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend_from_slice(&(HEADER as u16 - 10).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
    out.resize(HEADER as usize - 1, b' ');
    out.push(b'\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_have_one_length_and_numpys_form() {
        let text = |dtype, shape: &[u64]| {
            let bytes = header(dtype, shape);
            assert_eq!(bytes.len() as u64, HEADER);
            assert_eq!(&bytes[..10], b"\x93NUMPY\x01\x00\x76\x00");
            String::from_utf8(bytes[10..].to_vec()).unwrap().trim_end().to_owned()
        };
        assert_eq!(text(Dtype::I64, &[5]), "{'descr': '<i8', 'fortran_order': False, 'shape': (5,), }");
        assert_eq!(text(Dtype::F32, &[0, 7]), "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 7), }");
        assert!(text(Dtype::U8, &[u64::MAX, u64::MAX]).ends_with("}"));
    }
}
