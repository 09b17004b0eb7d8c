//! How loops are shared among threads. No sum is split by the number of threads, so results do not depend on it. Sums
//! of long rows are split at fixed places; see [`shares`](crate::shares).

use crate::Index;
use crate::Plain;
use crate::memory::unwritten;
use core::cell::Cell;
use core::ops::Range;
use rayon::prelude::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the caller is a thread of a rayon pool. Such a thread must not wait for another thread that needs the pool.
pub fn in_pool() -> bool {
    rayon::current_thread_index().is_some()
}

/// Work on fewer elements than this (a few microseconds of streaming) is not worth waking a thread for.
const GRAIN: usize = 16 * 1024;

/// Number of pieces for `work` elements: 8 per thread, to balance pieces that take different times.
pub(crate) fn pieces(work: usize) -> usize {
    if work <= GRAIN || ALONE.get() { 1 } else { (threads() * 8).min(work.div_ceil(GRAIN)) }
}

/// Number of pieces if each needs its own memory: one per thread.
pub(crate) fn big_pieces(work: usize) -> usize {
    if work <= 2 * GRAIN { 1 } else { threads().min(work.div_ceil(GRAIN)) }
}

/// Splits `0..len` into `parts` ranges of about equal length.
pub(crate) fn ranges(len: usize, parts: usize) -> Vec<Range<usize>> {
    let at = |p: usize| (len as u128 * p as u128 / parts as u128) as usize;
    (0..parts).map(|p| at(p)..at(p + 1)).collect()
}

/// Splits `0..len` into ranges of about equal length. Their number depends on the work of `len * weight` elements.
pub(crate) fn even(len: usize, weight: usize) -> Vec<Range<usize>> {
    ranges(len, pieces(len.saturating_mul(weight.max(1))).min(len.max(1)))
}

/// Splits compressed rows into ranges of about equal cost: the number of elements plus the number of rows.
///
/// The ranges cover the rows once and in order for any `ptr`. They are balanced only if `ptr` is valid.
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

/// The length of each item.
pub(crate) fn lens<R>(items: &[R], len: impl Fn(&R) -> usize) -> Vec<usize> {
    items.iter().map(len).collect()
}

/// Splits a slice into pieces of the given lengths. Their sum is at most the length of the slice.
pub(crate) fn split_mut<'a, T>(mut slice: &'a mut [T], lens: &[usize]) -> Vec<&'a mut [T]> {
    let mut out = Vec::with_capacity(lens.len());
    for &len in lens {
        let (head, tail) = slice.split_at_mut(len);
        out.push(head);
        slice = tail;
    }
    out
}

/// Splits every row of several `[.., len]` lists into pieces of the given lengths. The result has, for each piece, its
/// slices of all rows (no slices if `len` is 0).
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

/// Runs `task(0..n)`, in parallel if `n > 1`. This is the crate's only loop over threads. The only other code that runs
/// in rayon's pool is [`sort_unstable`].
///
/// Each `task` is one piece of work, large enough for a call through a pointer. It is a trait object so that the code
/// of the thread pool is compiled once, not for every kernel, element and index type.
pub(crate) fn run(n: usize, task: &(dyn Fn(usize) + Sync)) {
    if n <= 1 {
        (0..n).for_each(task);
    } else {
        (0..n).into_par_iter().with_max_len(1).for_each(task);
    }
}

/// Runs `body(k, jobs[k])` for every job.
pub(crate) fn each<J: Send>(jobs: Vec<J>, body: &(dyn Fn(usize, J) + Sync)) {
    // The functions from here on use plain loops, because they are compiled for every type of job.
    let mut slots = Vec::with_capacity(jobs.len());
    for job in jobs {
        slots.push(Mutex::new(Some(job)));
    }
    run(slots.len(), &|k| {
        let job = slots[k].lock().ok().and_then(|mut slot| slot.take());
        body(k, job.expect("each job is taken once"));
    });
}

/// The results of `body(k)` for `k` in `0..n`, in order.
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

/// Whether `body(k)` is true for all `k` in `0..n`. After a failure the remaining calls may be skipped.
pub(crate) fn all(n: usize, body: &(dyn Fn(usize) -> bool + Sync)) -> bool {
    let holds = AtomicBool::new(true);
    run(n, &|k| {
        if holds.load(Ordering::Relaxed) && !body(k) {
            holds.store(false, Ordering::Relaxed);
        }
    });
    holds.into_inner()
}

/// Runs `body(k, chunk)` for the chunks of `len` elements of a slice. A task runs several small chunks.
pub(crate) fn chunks_mut<T: Send>(slice: &mut [T], len: usize, body: &(dyn Fn(usize, &mut [T]) + Sync)) {
    let pieces = even(slice.len() / len, len);
    for_pieces(&pieces, slice, &|range| range.len() * len, &|range, piece| {
        for (k, chunk) in range.zip(piece.chunks_exact_mut(len)) {
            body(k, chunk);
        }
    });
}

/// Runs `body(k, chunk)` for the chunks of `len` elements of a slice, on all threads. The last one may be shorter.
///
/// # Panics
///
/// If `len` is 0.
pub fn for_chunks<T: Send>(slice: &mut [T], len: usize, body: &(dyn Fn(usize, &mut [T]) + Sync)) {
    each(slice.chunks_mut(len).collect(), &|k, chunk| alone(|| body(k, chunk)));
}

/// Sorts in parallel; the order of equal elements may change.
pub(crate) fn sort_unstable<T: Ord + Send>(slice: &mut [T]) {
    slice.par_sort_unstable();
}

/// Number of threads that kernels use.
pub fn threads() -> usize {
    if ALONE.get() { 1 } else { rayon::current_num_threads() }
}

thread_local! {
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `job` on this thread alone: kernels that it calls make one piece of their work. For the parts of a loop that is
/// shared already.
pub(crate) fn alone(job: impl FnOnce()) {
    struct Back(bool);
    impl Drop for Back {
        fn drop(&mut self) {
            ALONE.set(self.0);
        }
    }
    let _back = Back(ALONE.replace(true));
    job();
}

/// Runs `body(range, piece)` for each range and its piece of `out`, in parallel if there are several.
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

/// Copies a slice into another of the same length.
pub(crate) fn copy<T: Copy + Send + Sync>(from: &[T], to: &mut [T]) {
    assert_eq!(from.len(), to.len(), "copy: both must have the same length");
    for_pieces(&even(to.len(), 1), to, &|range| range.len(), &|range, piece| piece.copy_from_slice(&from[range]));
}

/// A vector filled in parallel: element `k` is `f(k)`.
pub(crate) fn fill_with<T: Plain>(len: usize, f: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut out = unwritten(len);
    for_pieces(&even(len, 1), &mut out, &|r| r.len(), &|range, piece| {
        for (k, slot) in range.zip(piece) {
            *slot = f(k);
        }
    });
    out
}
