//! Unique sorted coordinates, and the entries that share each.

use super::Segments;
use super::partition::Word;
use super::sort::{Runs, Sorted, sort};
use crate::Index;
use crate::memory::unwritten;
use crate::par::{self, even, fill_with, split_mut, split_rows};

/// Result of [`coalesce`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Coalesced<I> {
    /// The `m` unique coordinates in lexicographic order, row-major `[sparse_dims, m]`.
    pub indices: Vec<I>,
    /// For each unique coordinate the original positions of its entries, in ascending order.
    pub segments: Segments<I>,
}

/// Finds the unique coordinates of a COO pattern, sorted lexicographically, and which entries share each.
///
/// `indices` is row-major `[shape.len(), nnz]`. Without sparse dimensions all entries have the same coordinate, so
/// there is one segment if there is any entry. The cost is a [`sort_coords`](crate::sort_coords) plus O(nnz * dims). It
/// runs in parallel, with the same result for any number of threads.
///
/// # Panics
///
/// When `indices` does not hold `shape.len() * nnz` entries.
pub fn coalesce<I: Index>(shape: &[usize], indices: &[I], nnz: usize) -> Coalesced<I> {
    let dims = shape.len();
    assert_eq!(indices.len(), dims * nnz, "coalesce: indices must be [sparse_dims, nnz]");
    match sort(dims, indices, nnz) {
        Sorted::Identity => compare(dims, indices, nnz, None),
        Sorted::Narrow(order, runs) => unpack(dims, order, &runs),
        Sorted::Wide(order, runs) => unpack(dims, order, &runs),
        Sorted::Order(order) => compare(dims, indices, nnz, Some(order)),
    }
}

/// Unique coordinates from the words of their runs.
fn unpack<W: Word, I: Index>(dims: usize, order: Vec<I>, runs: &Runs<W>) -> Coalesced<I> {
    let (words, layout) = (runs.words(), &runs.layout);
    let (indices, ptr) = write(dims, order.len(), &runs.counts, &|bucket, ptr, mut rows| {
        let read = |out: &mut [I], shift: u32, width: u32| {
            let words = words[bucket].iter();
            out.iter_mut().zip(words).for_each(|(out, word)| *out = I::from_usize(word.field(shift, width)));
        };
        read(ptr, 0, layout.pos);
        layout.fields.iter().zip(&mut rows).for_each(|(&(_, shift, width), row)| read(row, shift, width));
    });
    Coalesced { indices, segments: Segments { ptr, order } }
}

/// Unique coordinates of `indices` read in this order, or as they are. Neighbours are compared.
fn compare<I: Index>(dims: usize, indices: &[I], nnz: usize, order: Option<Vec<I>>) -> Coalesced<I> {
    let ranges = if nnz == 0 { Vec::new() } else { even(nnz, dims) };
    let source = order.as_deref();
    let coord = |d: usize, k: usize| indices[d * nnz + source.map_or(k, |order| order[k].to_usize())];
    let starts = |k: usize| k == 0 || (0..dims).any(|d| coord(d, k - 1) != coord(d, k));
    let counts = par::map(ranges.len(), &|c| ranges[c].clone().filter(|&k| starts(k)).count());
    let (indices, ptr) = write(dims, nnz, &counts, &|c, ptr, mut rows| {
        let mut at = 0;
        for k in ranges[c].clone() {
            // Written in any case, and again by the next entry unless this one is the first of its run: where a run
            // starts cannot be predicted. After the last run there is nothing left to write.
            if at < ptr.len() {
                ptr[at] = I::from_usize(k);
                rows.iter_mut().enumerate().for_each(|(d, row)| row[at] = coord(d, k));
            }
            at += usize::from(starts(k));
        }
    });
    let order = order.unwrap_or_else(|| fill_with(nnz, I::from_usize));
    Coalesced { indices, segments: Segments { ptr, order } }
}

/// Writes where the runs of a piece start, and each row of their coordinates.
type Fill<'a, I> = dyn Fn(usize, &mut [I], Vec<&mut [I]>) + Sync + 'a;

/// The coordinates and the pointers of runs of `n` entries: `counts[c]` runs in piece `c`, which `fill(c, ptr, rows)`
/// writes.
fn write<I: Index>(dims: usize, n: usize, counts: &[usize], fill: &Fill<'_, I>) -> (Vec<I>, Vec<I>) {
    let m: usize = counts.iter().sum();
    let (mut ptr, mut indices) = (unwritten(m + 1), unwritten(dims * m));
    ptr[m] = I::from_usize(n);
    let rows = split_rows(&mut [&mut indices[..]], m, counts);
    let jobs = split_mut(&mut ptr[..m], counts).into_iter().zip(rows).collect();
    par::each(jobs, &|c, (ptr, rows)| fill(c, ptr, rows));
    (indices, ptr)
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use super::{Coalesced, Segments};
    use crate::dynamic::slices::{AnyIndex, IdVec, Ids, with_ids};

    /// See [`coalesce`](crate::coalesce()): unique coordinates, then the order and the pointers of the entries of each.
    pub fn coalesce(shape: &[usize], indices: Ids<'_>, nnz: usize) -> (IdVec, IdVec, IdVec) {
        with_ids!(indices, I => {
            let Coalesced { indices, segments: Segments { ptr, order } } =
                super::coalesce::<I>(shape, I::ids(indices), nnz);
            (I::id_vec(indices), I::id_vec(order), I::id_vec(ptr))
        })
    }
}
