//! How compressed rows are shared among threads, where one row may have most of the elements.
//!
//! A row of more than [`LONG`] elements is cut into pieces of that many, the unit of work of Merrill and Garland's
//! merge path ("Merge-based parallel sparse matrix-vector multiplication", SC 2016) where it matters: inside a row. The
//! cuts do not depend on the number of threads. A piece is a part of the tree of [`sums`](crate::sums), which goes on
//! over their results. So a result does not depend on threads or cuts.

use crate::element::Ids;
use crate::memory::Scratch;
use crate::par::{self, split_mut};
use crate::sums::Cascade;
use crate::{Element, Plain};
use core::ops::Range;

/// Elements of a row that one thread combines: a power of two of blocks. With 128 features that takes about a
/// millisecond.
const LONG: usize = 1 << 14;

/// Whole rows, or a piece of one row.
pub(crate) struct Share {
    pub(crate) rows: Range<usize>,
    pub(crate) elements: Range<usize>,
    /// Whether this is a piece of a row.
    pub(crate) cut: bool,
    /// Whether this is a piece of a row, and not its first.
    pub(crate) continues: bool,
}

/// Shares of about equal work, in the order of the elements, of which there are `count`. Rows are cut only if `cut`.
pub(crate) fn shares(ptr: Ids<'_>, count: usize, weight: usize, cut: bool) -> Vec<Share> {
    if ptr.rows() > 0 {
        let all = ptr.spans(&(0..ptr.rows()));
        assert!(all.end <= count, "row pointers must end within the {count} elements, got {}", all.end as isize);
    }
    let long = if cut { long_rows(ptr) } else { Vec::new() };
    let mut shares = Vec::new();
    let mut start = 0;
    for row in long {
        whole_rows(ptr, start..row, weight, &mut shares);
        let all = ptr.span(row);
        assert!(all.end <= count, "row pointers must not descend");
        for first in all.clone().step_by(LONG) {
            let elements = first..all.end.min(first + LONG);
            shares.push(Share { rows: row..row + 1, elements, cut: true, continues: first > all.start });
        }
        start = row + 1;
    }
    whole_rows(ptr, start..ptr.rows(), weight, &mut shares);
    shares
}

/// The rows of more than [`LONG`] elements.
fn long_rows(ptr: Ids<'_>) -> Vec<usize> {
    // By halves: of rows that together are not long none is. That reads fewer pointers than to search for each piece.
    // Pointers that descend are found by the kernels.
    fn find(ptr: Ids<'_>, rows: Range<usize>, long: &mut Vec<usize>) {
        if rows.is_empty() || ptr.spans(&rows).len() <= LONG {
            return;
        }
        let mid = rows.start + rows.len() / 2;
        match rows.len() {
            1 => long.push(rows.start),
            _ => [rows.start..mid, mid..rows.end].into_iter().for_each(|half| find(ptr, half, long)),
        }
    }
    let mut long = Vec::new();
    find(ptr, 0..ptr.rows(), &mut long);
    long
}

fn whole_rows(ptr: Ids<'_>, rows: Range<usize>, weight: usize, shares: &mut Vec<Share>) {
    if !rows.is_empty() {
        for cut in ptr.slice(rows.start..rows.end + 1).cuts(weight) {
            let rows = rows.start + cut.start..rows.start + cut.end;
            shares.push(Share { elements: ptr.spans(&rows), rows, cut: false, continues: false });
        }
    }
}

impl Share {
    /// The ends of a piece, as row pointers.
    pub(crate) fn ends(&self) -> [i64; 2] {
        [self.elements.start as i64, self.elements.end as i64]
    }
}

/// Runs `body` for each share, with its results of `width` numbers a row, and combines those of pieces. Returns the
/// rows that had several.
pub(crate) fn run<T: Plain>(
    shares: &[Share],
    width: usize,
    out: &mut [T],
    body: &(dyn Fn(&Share, &mut [T]) + Sync),
    combine: impl Fn(T, T) -> T + Copy,
) -> Vec<usize> {
    let mut more = Scratch::unwritten(extra(shares) * width);
    par::each(split(shares, width, out, &mut more), &|k, out| body(&shares[k], out));
    join(shares, width, out, &more, combine)
}

/// Number of results that [`split`] needs besides those of the rows.
pub(crate) fn extra(shares: &[Share]) -> usize {
    shares.iter().filter(|share| share.continues).count()
}

/// Where each share writes its results of `width` numbers a row. The first piece of a row writes into the row, each
/// other one into `extra`.
pub(crate) fn split<'a, T>(shares: &[Share], width: usize, out: &'a mut [T], extra: &'a mut [T]) -> Vec<&'a mut [T]> {
    let len = |continues: bool| -> Vec<usize> {
        let own = shares.iter().filter(|share| share.continues == continues);
        own.map(|share| share.rows.len() * width).collect()
    };
    let (mut own, mut more) = (split_mut(out, &len(false)).into_iter(), split_mut(extra, &len(true)).into_iter());
    shares.iter().filter_map(|share| if share.continues { more.next() } else { own.next() }).collect()
}

/// Combines the results of the pieces of each row, in pairs. Returns the rows that had several.
pub(crate) fn join<T: Copy>(
    shares: &[Share],
    width: usize,
    out: &mut [T],
    extra: &[T],
    combine: impl Fn(T, T) -> T + Copy,
) -> Vec<usize> {
    let (mut rows, mut sums, mut extra) = (Vec::new(), Cascade::new(), extra.chunks_exact(width));
    let mut pieces = shares.iter().filter(|share| share.cut).peekable();
    let mut number = 0;
    while let Some(share) = pieces.next() {
        let out = &mut out[share.rows.start * width..][..width];
        sums.push(number, if share.continues { extra.next().expect("one for each") } else { out }, combine);
        number += 1;
        if pieces.peek().is_none_or(|next| !next.continues) {
            sums.finish(out, combine);
            rows.push(share.rows.start);
            number = 0;
        }
    }
    rows
}

/// The sum of two results of pieces.
pub(crate) fn sum<T: Element>(a: T, b: T) -> T {
    T::narrow(T::add(a.widen(), b.widen()))
}
