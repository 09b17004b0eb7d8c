//! How loops are shared among threads: fixed cuts of the work, never of a sum.

use crate::Index;
use crate::alloc::zeroed;
use core::ops::Range;
use rayon::prelude::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Work below this many elements is not worth waking a thread for (a few microseconds of streaming).
const GRAIN: usize = 16 * 1024;

/// Number of pieces to cut `work` elements into: 8 a thread, so that uneven pieces even out.
pub(crate) fn pieces(work: usize) -> usize {
    if work <= GRAIN { 1 } else { (threads() * 8).min(work.div_ceil(GRAIN)) }
}

/// Number of pieces when each costs memory of its own: one a thread.
pub(crate) fn big_pieces(work: usize) -> usize {
    if work <= 2 * GRAIN { 1 } else { threads().min(work.div_ceil(GRAIN)) }
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

/// The length of each.
pub(crate) fn lens<R>(items: &[R], len: impl Fn(&R) -> usize) -> Vec<usize> {
    items.iter().map(len).collect()
}

/// Cuts a slice into pieces of these lengths, which add up to at most the slice.
pub(crate) fn split_mut<'a, T>(mut slice: &'a mut [T], lens: &[usize]) -> Vec<&'a mut [T]> {
    let mut out = Vec::with_capacity(lens.len());
    for &len in lens {
        let (head, tail) = slice.split_at_mut(len);
        out.push(head);
        slice = tail;
    }
    out
}

/// Cuts every row of some `[.., len]` lists into pieces of the given lengths: for each piece its slices of all rows (of
/// none where `len` is 0).
pub(crate) fn split_rows<'a, T>(lists: &mut [&'a mut [T]], len: usize, lens: &[usize]) -> Vec<Vec<&'a mut [T]>> {
    let mut pieces: Vec<Vec<&mut [T]>> = lens.iter().map(|_| Vec::new()).collect();
    for list in lists {
        for row in core::mem::take(list).chunks_exact_mut(len.max(1)) {
            for (slices, piece) in pieces.iter_mut().zip(split_mut(row, lens)) {
                slices.push(piece);
            }
        }
    }
    pieces
}

/// Runs `task(0..n)`, in parallel where there are several: the only loop over threads of the crate.
///
/// Each `task` is one piece of work, large enough to be worth a call through a pointer. It is a trait object so that the
/// thread pool's code is compiled once and not for every kernel, element and index type.
pub(crate) fn run(n: usize, task: &(dyn Fn(usize) + Sync)) {
    if n <= 1 {
        (0..n).for_each(task);
    } else {
        (0..n).into_par_iter().with_max_len(1).for_each(task);
    }
}

/// Runs `body(k, jobs[k])` for every job.
pub(crate) fn each<J: Send>(jobs: Vec<J>, body: &(dyn Fn(usize, J) + Sync)) {
    // Plain loops here and below: these functions are compiled for every type of job.
    let mut slots = Vec::with_capacity(jobs.len());
    for job in jobs {
        slots.push(Mutex::new(Some(job)));
    }
    run(slots.len(), &|k| {
        let job = slots[k].lock().ok().and_then(|mut slot| slot.take());
        body(k, job.expect("each job is taken once"));
    });
}

/// `body(k)` for `k` in `0..n`, in order.
pub(crate) fn map<R: Send>(n: usize, body: &(dyn Fn(usize) -> R + Sync)) -> Vec<R> {
    let mut slots = Vec::with_capacity(n);
    for _ in 0..n {
        slots.push(Mutex::new(None));
    }
    run(n, &|k| {
        let result = body(k);
        *slots[k].lock().expect("held only while a result is put in") = Some(result);
    });
    let mut out = Vec::with_capacity(n);
    for slot in slots {
        out.extend(slot.into_inner().ok().flatten());
    }
    out
}

/// The first `Some` of `body(k)` for `k` in `0..n`.
pub(crate) fn find_first<R: Send>(n: usize, body: &(dyn Fn(usize) -> Option<R> + Sync)) -> Option<R> {
    map(n, body).into_iter().flatten().next()
}

/// Whether `body(k)` holds for all `k` in `0..n`; what comes after a failure may be left out.
pub(crate) fn all(n: usize, body: &(dyn Fn(usize) -> bool + Sync)) -> bool {
    let holds = AtomicBool::new(true);
    run(n, &|k| {
        if holds.load(Ordering::Relaxed) && !body(k) {
            holds.store(false, Ordering::Relaxed);
        }
    });
    holds.into_inner()
}

/// Runs `body(k, chunk)` for the chunks of `len` elements of a slice, several to a task where they are small.
pub(crate) fn chunks_mut<T: Send>(slice: &mut [T], len: usize, body: &(dyn Fn(usize, &mut [T]) + Sync)) {
    let pieces = even(slice.len() / len, len);
    for_pieces(&pieces, slice, &|range| range.len() * len, &|range, piece| {
        for (k, chunk) in range.zip(piece.chunks_exact_mut(len)) {
            body(k, chunk);
        }
    });
}

/// Sorts in parallel; equal elements may change places.
pub(crate) fn sort_unstable<T: Ord + Send>(slice: &mut [T]) {
    slice.par_sort_unstable();
}

/// Number of threads that [`run`] shares work among.
pub(crate) fn threads() -> usize {
    rayon::current_num_threads()
}

/// Runs `body(range, piece)` for each range and its piece of `out`, in parallel when there are several.
pub(crate) fn for_pieces<T: Send>(
    ranges: &[Range<usize>],
    out: &mut [T],
    len: &dyn Fn(&Range<usize>) -> usize,
    body: &(dyn Fn(Range<usize>, &mut [T]) + Sync),
) {
    let mut pieces = Vec::with_capacity(ranges.len());
    let mut rest = out;
    for range in ranges {
        let (piece, tail) = rest.split_at_mut(len(range));
        pieces.push(piece);
        rest = tail;
    }
    each(pieces, &|k, piece| body(ranges[k].clone(), piece));
}

/// A vector filled in parallel: element `k` is `f(k)`.
pub(crate) fn fill_with<T: Copy + Default + Send>(len: usize, f: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut out = zeroed(len);
    for_pieces(&even(len, 1), &mut out, &|r| r.len(), &|range, piece| {
        for (k, slot) in range.zip(piece) {
            *slot = f(k);
        }
    });
    out
}
