//! Moving rows, and reducing rows per segment.

use super::slices::{AnyBits, AnyElement, AnyIndex, with_bits, with_elements, with_ids};
use super::{BitVec, Bits, ElementVec, Elements, Ids};
use crate::{rows, zeroed};

/// See [`move_rows`](crate::move_rows()): `[map.len(), block]`.
pub fn move_rows(values: Bits<'_>, block: usize, fill: Bits<'_>, map: Ids<'_>) -> BitVec {
    with_ids!(map, I => with_bits!(values, T => {
        let mut out = zeroed::<T>(map.len() * block);
        rows::move_rows::<T, I>(T::bits(values), block, T::bits(fill), I::ids(map), &mut out);
        T::bit_vec(out)
    }))
}

/// See [`place_rows`](crate::place_rows()): `[size, block]`.
pub fn place_rows(values: Bits<'_>, block: usize, rows: Ids<'_>, size: usize) -> BitVec {
    with_ids!(rows, I => with_bits!(values, T => {
        T::bit_vec(rows::place_rows::<T, I>(T::bits(values), block, I::ids(rows), size))
    }))
}

/// See [`join_rows`](crate::join_rows()): `[map.len(), block]`.
pub fn join_rows(parts: &[Bits<'_>], block: usize, map: Ids<'_>) -> BitVec {
    with_ids!(map, I => with_bits!(parts[0], T => {
        let parts: Vec<&[T]> = parts.iter().map(|part| T::bits(*part)).collect();
        let mut out = zeroed::<T>(map.len() * block);
        crate::join_rows::<T, I>(&parts, block, I::ids(map), &mut out);
        T::bit_vec(out)
    }))
}

/// See [`concat_slices`](crate::concat_slices()).
pub fn concat_slices(parts: &[Bits<'_>]) -> BitVec {
    with_bits!(parts[0], T => {
        let parts: Vec<&[T]> = parts.iter().map(|part| T::bits(*part)).collect();
        T::bit_vec(crate::concat_slices::<T>(&parts))
    })
}

/// See [`segment_sum`](crate::segment_sum()): `[ptr.len() - 1, block]`.
pub fn segment_sum(values: Elements<'_>, block: usize, order: Option<Ids<'_>>, ptr: Ids<'_>) -> ElementVec {
    with_ids!(ptr, I => with_elements!(values, T => {
        let mut out = zeroed::<T>((ptr.len() - 1) * block);
        rows::segment_sum::<T, I>(T::elements(values), block, order.map(I::ids), I::ids(ptr), &mut out);
        T::element_vec(out)
    }))
}

/// Whether any element of a segment is nonzero, for Bool stored as `u8` or `i32`; see
/// [`segment_any`](crate::segment_any()).
pub fn segment_any(values: Elements<'_>, block: usize, order: Option<Ids<'_>>, ptr: Ids<'_>) -> ElementVec {
    macro_rules! run {
        ($T:ty) => {
            with_ids!(ptr, I => {
                let mut out = zeroed::<$T>((ptr.len() - 1) * block);
                rows::segment_any::<$T, I>(<$T>::elements(values), block, order.map(I::ids), I::ids(ptr), &mut out);
                <$T>::element_vec(out)
            })
        };
    }
    match values {
        Elements::U8(_) => run!(u8),
        Elements::I32(_) => run!(i32),
        other => panic!("segment_any: Bool must be stored as u8 or i32, got {other:?}"),
    }
}

/// See [`segment_cumsum`](crate::segment_cumsum()): one row for each entry of the segments.
pub fn segment_cumsum(
    values: Elements<'_>,
    block: usize,
    order: Option<Ids<'_>>,
    ptr: Ids<'_>,
    reverse: bool,
) -> ElementVec {
    with_ids!(ptr, I => with_elements!(values, T => {
        let mut out = zeroed::<T>(values.len());
        crate::segment_cumsum::<T, I>(T::elements(values), block, order.map(I::ids), I::ids(ptr), reverse, &mut out);
        T::element_vec(out)
    }))
}
