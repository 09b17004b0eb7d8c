//! How loops are shared among threads: fixed cuts of the work, never of a sum.

use crate::Index;
use crate::alloc::zeroed;
use core::ops::Range;
use rayon::prelude::*;

/// Work below this many elements is not worth waking a thread for (a few microseconds of streaming).
const GRAIN: usize = 16 * 1024;

/// Number of pieces to cut `work` elements into: 8 a thread, so that uneven pieces even out.
pub(crate) fn pieces(work: usize) -> usize {
    if work <= GRAIN { 1 } else { (rayon::current_num_threads() * 8).min(work.div_ceil(GRAIN)) }
}

/// Number of pieces when each costs memory of its own: one a thread.
pub(crate) fn big_pieces(work: usize) -> usize {
    if work <= 2 * GRAIN { 1 } else { rayon::current_num_threads().min(work.div_ceil(GRAIN)) }
}

/// `0..len` in `parts` even ranges.
pub(crate) fn ranges(len: usize, parts: usize) -> Vec<Range<usize>> {
    let at = |p: usize| (len as u128 * p as u128 / parts as u128) as usize;
    (0..parts).map(|p| at(p)..at(p + 1)).collect()
}

/// Even ranges of `0..len`, as many as the work of `len * weight` elements deserves.
pub(crate) fn even(len: usize, weight: usize) -> Vec<Range<usize>> {
    ranges(len, pieces(len.saturating_mul(weight.max(1))).min(len.max(1)))
}

/// Ranges of compressed rows with about the same number of elements (plus rows) each.
///
/// Any `ptr` gives ranges that cover the rows once and in order; only a valid one gives balanced ranges.
pub(crate) fn by_elements<I: Index>(ptr: &[I], weight: usize) -> Vec<Range<usize>> {
    let rows = ptr.len().saturating_sub(1);
    if rows == 0 {
        return Vec::new();
    }
    let cost = |r: usize| ptr[r].to_usize().wrapping_sub(ptr[0].to_usize()).wrapping_add(r) as u128;
    let total = cost(rows);
    let work = usize::try_from(total).unwrap_or(usize::MAX).saturating_mul(weight.max(1));
    let parts = pieces(work).min(rows);
    let mut cuts = Vec::with_capacity(parts);
    let mut start = 0;
    for p in 1..=parts {
        let end = if p == parts {
            rows
        } else {
            let target = total * p as u128 / parts as u128;
            let (mut low, mut high) = (start, rows);
            while low < high {
                let mid = low + (high - low) / 2;
                if cost(mid) < target { low = mid + 1 } else { high = mid }
            }
            low
        };
        if end > start {
            cuts.push(start..end);
        }
        start = end;
    }
    cuts
}

/// Cuts a slice into one piece a range; piece `i` has `len(range i)` elements. The lengths add up to at most the slice.
pub(crate) fn split_mut<'a, T, R>(mut slice: &'a mut [T], ranges: &[R], len: impl Fn(&R) -> usize) -> Vec<&'a mut [T]> {
    let mut out = Vec::with_capacity(ranges.len());
    for range in ranges {
        let (head, tail) = slice.split_at_mut(len(range));
        out.push(head);
        slice = tail;
    }
    out
}

/// Runs `body(range, piece)` for each range and its piece of `out`, in parallel when there are several.
pub(crate) fn for_pieces<T: Send>(
    ranges: &[Range<usize>],
    out: &mut [T],
    len: impl Fn(&Range<usize>) -> usize,
    body: impl Fn(Range<usize>, &mut [T]) + Sync,
) {
    let out = split_mut(out, ranges, len);
    if out.len() == 1 {
        out.into_iter().for_each(|piece| body(ranges[0].clone(), piece));
    } else {
        out.into_par_iter().zip(ranges).with_max_len(1).for_each(|(piece, range)| body(range.clone(), piece));
    }
}

/// A vector filled in parallel: element `k` is `f(k)`.
pub(crate) fn fill_with<T: Copy + Default + Send>(len: usize, f: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut out = zeroed(len);
    for_pieces(
        &even(len, 1),
        &mut out,
        |r| r.len(),
        |range, piece| {
            for (k, slot) in range.zip(piece) {
                *slot = f(k);
            }
        },
    );
    out
}
