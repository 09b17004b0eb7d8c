//! Moving rows of values.

use crate::element::Ids;
use crate::gather::{BLOCK, pick};
use crate::memory::zeroed;
use crate::par::{each, even, for_pieces, split_mut};
use crate::source::{Source, WRITES_AHEAD, prefetch_row};
use crate::{Index, Plain};

/// Bytes of a page of memory on most systems. A wrong number costs time only.
const PAGE: usize = 4096;

/// Moves rows of values by an index map: `out[k, :] = values[map[k], :]`, or `fill` if `map[k]` is the number of rows
/// of `values`.
///
/// `values` is row-major `[n, block]`, `out` is `[map.len(), block]`. `fill` holds one block; it may be empty if no
/// entry of the map asks for it. `block` may be 0. O(map.len() * block), parallel.
///
/// # Panics
///
/// When lengths disagree or an index lies outside `[0, n]`.
pub fn move_rows<T: Plain, I: Index>(values: &[T], block: usize, fill: &[T], map: &[I], out: &mut [T]) {
    assert_eq!(out.len(), map.len() * block, "move_rows: out must hold a block for every entry of the map");
    // With a fixed size the compiler copies a block with one or two register moves.
    match block {
        0 => {}
        1 => move_singles(values, fill, map, out),
        2 => move_fixed::<T, 2>(values, fill, I::list(map), out),
        3 => move_fixed::<T, 3>(values, fill, I::list(map), out),
        4 => move_fixed::<T, 4>(values, fill, I::list(map), out),
        8 => move_fixed::<T, 8>(values, fill, I::list(map), out),
        16 => move_fixed::<T, 16>(values, fill, I::list(map), out),
        _ => move_blocks(values, block, fill, I::list(map), out),
    }
}

/// [`move_rows`] for blocks of one element.
fn move_singles<T: Plain, I: Index>(values: &[T], fill: &[T], map: &[I], out: &mut [T]) {
    for_pieces(&even(map.len(), 1), out, &|r| r.len(), &|range, out| {
        for (map, out) in map[range].chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
            if !pick(values, fill.first().copied(), map, out) {
                // Panics at the entry that is out of range.
                move_piece(values, fill.first(), map, out);
            }
        }
    });
}

/// [`move_rows`] for blocks of `N` elements.
fn move_fixed<T: Plain, const N: usize>(values: &[T], fill: &[T], map: Ids<'_>, out: &mut [T]) {
    let (values, rest) = values.as_chunks::<N>();
    assert!(rest.is_empty(), "move_rows: values must hold whole blocks");
    let fill = fill.as_chunks::<N>().0.first();
    for_pieces(&even(map.len(), N), out, &|r| r.len() * N, &|range, out| {
        let out = out.as_chunks_mut::<N>().0;
        match map {
            Ids::I32(map) => move_piece(values, fill, &map[range], out),
            Ids::I64(map) => move_piece(values, fill, &map[range], out),
        }
    });
}

#[inline(always)]
fn move_piece<B: Copy, I: Index>(values: &[B], fill: Option<&B>, map: &[I], out: &mut [B]) {
    for (out, i) in out.iter_mut().zip(map) {
        let i = i.to_usize();
        *out = *values.get(i).unwrap_or_else(|| missing(fill, i, values.len()));
    }
}

/// [`move_rows`] for any block.
fn move_blocks<T: Plain>(values: &[T], block: usize, fill: &[T], map: Ids<'_>, out: &mut [T]) {
    let source = Source::new(values, block, "move_rows: values");
    let n = values.len() / block;
    let fill = (fill.len() == block).then_some(fill);
    for_pieces(&even(map.len(), block), out, &|r| r.len() * block, &|range, out| {
        for (at, k) in (0..out.len()).step_by(block).zip(range) {
            source.prefetch(map.peek(k + source.distance()));
            prefetch_row(out, at + WRITES_AHEAD * block, block);
            let i = map.at(k);
            out[at..at + block].copy_from_slice(if i < n { source.row(i) } else { missing(fill, i, n) });
        }
    });
}

/// Rows of values at their places among `size` rows of zeros: `out[rows[k], :] = values[k, :]`.
///
/// `values` is row-major `[rows.len(), block]`, the result `[size, block]`. `rows` ascend strictly. The zeros are not
/// written: of a large result the operating system maps the pages that get a row, so the cost of few rows is
/// O(rows.len() * block) and not O(size * block). Parallel.
///
/// # Panics
///
/// When lengths disagree, or `rows` do not ascend strictly within `[0, size)`.
pub fn place_rows<T: Plain, I: Index>(values: &[T], block: usize, rows: &[I], size: usize) -> Vec<T> {
    let count = rows.len();
    assert_eq!(values.len(), count * block, "place_rows: values must hold a block for every row");
    // Few rows are on few pages, and huge pages would map, and so write, far more. So this is no `zeroed` then.
    let pages = size * block * size_of::<T>() / PAGE;
    let mut out = if count >= pages / 2 {
        zeroed(size * block)
    } else {
        // One element more: a block of such a size is not kept, for most of its pages are not there.
        let mut out = vec![T::default(); size * block + 1];
        out.truncate(size * block);
        out
    };
    // Each piece of the rows owns the result from its first row to that of the next piece.
    let ranges = even(count, block);
    let starts: Vec<usize> =
        ranges.iter().map(|range| if range.start == 0 { 0 } else { rows[range.start].to_usize() }).collect();
    let ends = starts.iter().copied().skip(1).chain([size]);
    let lens: Vec<usize> = starts.iter().zip(ends).map(|(&start, end)| ascending(start, end) * block).collect();
    each(split_mut(&mut out, &lens), &|piece, out| {
        let mut least = starts[piece];
        for k in ranges[piece].clone() {
            let row = rows[k].to_usize();
            assert!(row >= least, "place_rows: rows must ascend strictly, got {row} where {least} is the least");
            least = row + 1;
            let from = (row - starts[piece]) * block;
            out[from..from + block].copy_from_slice(&values[k * block..][..block]);
        }
    });
    out
}

fn ascending(start: usize, end: usize) -> usize {
    end.checked_sub(start).expect("place_rows: rows must ascend strictly within the size")
}

/// The fill if the index is exactly the number of rows, else a panic.
#[inline]
fn missing<F>(fill: Option<F>, index: usize, rows: usize) -> F {
    match fill {
        Some(fill) if index == rows => fill,
        _ => no_such_row(index, rows),
    }
}

#[cold]
#[inline(never)]
fn no_such_row(index: usize, rows: usize) -> ! {
    panic!("move_rows: index must be in [0, {rows}], and {rows} needs a fill of one block, got {}", index as isize)
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use crate::dynamic::slices::{AnyBits, AnyIndex, BitVec, Bits, Ids, with_bits, with_ids};
    use crate::memory::unwritten;

    /// See [`move_rows`](crate::move_rows()): `[map.len(), block]`.
    pub fn move_rows(values: Bits<'_>, block: usize, fill: Bits<'_>, map: Ids<'_>) -> BitVec {
        with_ids!(map, I => with_bits!(values, T => {
            let mut out = unwritten::<T>(map.len() * block);
            super::move_rows::<T, I>(T::bits(values), block, T::bits(fill), I::ids(map), &mut out);
            T::bit_vec(out)
        }))
    }

    /// See [`place_rows`](crate::place_rows()): `[size, block]`.
    pub fn place_rows(values: Bits<'_>, block: usize, rows: Ids<'_>, size: usize) -> BitVec {
        with_ids!(rows, I => with_bits!(values, T => {
            T::bit_vec(super::place_rows::<T, I>(T::bits(values), block, I::ids(rows), size))
        }))
    }
}
