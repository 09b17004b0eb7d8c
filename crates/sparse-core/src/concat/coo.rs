//! Concatenated COO patterns.

use super::{bases, check_values, concat_slices, copy_parts, count, move_run, placed, shift};
use crate::keys::{Keys, Run, keys, rows};
use crate::memory::unwritten;
use crate::{Index, Plain, par};

/// COO coordinates `[sparse_dims, nnz]` and their nnz.
pub type CooPart<'a, I> = (&'a [I], usize);

/// Pattern of COO tensors concatenated along a sparse `axis`: `(indices, map)`.
///
/// Part `p` is `(indices [sparse_dims, nnz_p], nnz_p)`. `offsets[p]` (the sum of the sizes before it) is added to its
/// coordinates along `axis`.
///
/// With `coalesced`, the parts are coalesced and so is the result. Along axis 0, or with a single part, the plain
/// concatenation is already coalesced; the map is `None`, because the values are the plain concatenation too. Otherwise
/// the parts are merged: each is already sorted, and elements with equal coordinates before the axis are ordered by
/// part. Without `coalesced` the result is the plain concatenation. Time O(sparse_dims * nnz), plus O(nnz * parts) for
/// a merge.
///
/// # Panics
/// If `axis >= sparse_dims`, a length is wrong, or nnz of the result does not fit the index type.
pub fn concat_coo<I: Index>(
    axis: usize,
    offsets: &[usize],
    parts: &[CooPart<'_, I>],
    sparse_dims: usize,
    coalesced: bool,
) -> (Vec<I>, Option<Vec<I>>) {
    let parts = CooParts::new(axis, offsets, parts, sparse_dims);
    if !parts.needs_merge(coalesced) {
        return (parts.joined(), None);
    }
    let (indices, map) = parts.merged(&|runs, map: &mut [I], start| {
        for (p, run, at) in placed(runs.iter().cloned(), start) {
            count(parts.bases[p] + run.start, &mut map[at..at + run.len()]);
        }
    });
    (indices, Some(map))
}

/// [`concat_coo`] that moves the values too, without a map: `(indices, values)`.
///
/// `values[p]` holds one value for each element of part `p`.
///
/// # Panics
/// As [`concat_coo`], and if a part does not have one value for each element.
pub fn concat_coo_values<T: Plain, I: Index>(
    axis: usize,
    offsets: &[usize],
    parts: &[CooPart<'_, I>],
    values: &[&[T]],
    sparse_dims: usize,
    coalesced: bool,
) -> (Vec<I>, Vec<T>) {
    check_values(&par::lens(parts, |part| part.1), values);
    let parts = CooParts::new(axis, offsets, parts, sparse_dims);
    if !parts.needs_merge(coalesced) {
        return (parts.joined(), concat_slices(values));
    }
    parts.merged(&|runs, out: &mut [T], start| {
        for (p, run, at) in placed(runs.iter().cloned(), start) {
            move_run(values[p], run, out, at, |v| v);
        }
    })
}

/// The parts of [`concat_coo`].
struct CooParts<'a, I> {
    axis: usize,
    offsets: &'a [usize],
    /// One slice per dimension.
    parts: Vec<Vec<&'a [I]>>,
    bases: Vec<usize>,
}

/// Writes one number for each element of adjacent runs: `write(runs, out, position in out)`. May also write what comes
/// later in `out`; the next runs overwrite that.
type WriteRuns<'a, T> = &'a (dyn Fn(&[Run], &mut [T], usize) + Sync);

impl<'a, I: Index> CooParts<'a, I> {
    fn new(axis: usize, offsets: &'a [usize], parts: &[CooPart<'a, I>], sparse_dims: usize) -> Self {
        assert!(axis < sparse_dims, "concat: axis must be a sparse one (below {sparse_dims}), got {axis}");
        assert_eq!(offsets.len(), parts.len(), "concat: each part must have an offset");
        let bases = bases::<I>(&par::lens(parts, |part| part.1));
        let parts = parts.iter().map(|&(indices, nnz)| rows(indices, sparse_dims, nnz)).collect();
        Self { axis, offsets, parts, bases }
    }

    fn needs_merge(&self, coalesced: bool) -> bool {
        self.axis > 0 && coalesced && self.parts.len() > 1
    }

    fn nnz(&self) -> usize {
        self.bases[self.parts.len()]
    }

    /// What is added to the coordinates of part `p` in dimension `d`.
    fn offset(&self, p: usize, d: usize) -> usize {
        if d == self.axis { self.offsets[p] } else { 0 }
    }

    /// The coordinates of the plain concatenation.
    fn joined(&self) -> Vec<I> {
        let (nnz, dims) = (self.nnz(), self.parts.first().map_or(0, Vec::len));
        let mut indices = unwritten(nnz * dims);
        for (d, out) in indices.chunks_exact_mut(nnz.max(1)).enumerate() {
            let slices: Vec<&[I]> = self.parts.iter().map(|part| part[d]).collect();
            copy_parts(&slices, out, &|p, src, dst| shift(src, dst, self.offset(p, d)));
        }
        indices
    }

    /// Writes the coordinates of adjacent runs, from position `start` of each dimension on.
    fn move_coordinates(&self, runs: &[Run], coordinates: &mut [&mut [I]], start: usize) {
        for (d, out) in coordinates.iter_mut().enumerate() {
            for (p, run, at) in placed(runs.iter().cloned(), start) {
                let offset = self.offset(p, d);
                move_run(self.parts[p][d], run, out, at, |c| I::from_usize(c.to_usize() + offset));
            }
        }
    }

    /// The k-way merge by the coordinates before the axis: the coordinates, and what `write` writes.
    fn merged<T: Plain>(&self, write: WriteRuns<'_, T>) -> (Vec<I>, Vec<T>) {
        let Self { axis, parts, bases, .. } = self;
        let prefixes: Vec<(&[&[I]], usize)> = parts.iter().map(|part| (&part[..*axis], part[*axis].len())).collect();
        let keys = keys(&prefixes);
        let cuts = cuts(&*keys, bases);
        let lengths: Vec<usize> =
            cuts.windows(2).map(|w| w[1].iter().sum::<usize>() - w[0].iter().sum::<usize>()).collect();
        let nnz = self.nnz();
        let (mut indices, mut written) = (unwritten(nnz * parts[0].len()), unwritten(nnz));
        let coordinates = par::split_rows(&mut [&mut indices], nnz, &lengths);
        let slots = coordinates.into_iter().zip(par::split_mut(&mut written, &lengths)).collect();
        par::each(slots, &|piece, (mut coordinates, written): (Vec<&mut [I]>, &mut [T])| {
            let mut start = 0;
            keys.runs(&cuts[piece], &cuts[piece + 1], &mut |runs| {
                write(runs, written, start);
                self.move_coordinates(runs, &mut coordinates, start);
                start += runs.iter().map(|(_, run)| run.len()).sum::<usize>();
            });
        });
        (indices, written)
    }
}

/// Positions in each part where the merge is split. All elements with the same key are in the same piece.
fn cuts(keys: &dyn Keys, bases: &[usize]) -> Vec<Vec<usize>> {
    let lengths: Vec<usize> = bases.windows(2).map(|w| w[1] - w[0]).collect();
    let (longest, &len) = lengths.iter().enumerate().max_by_key(|&(_, n)| n).expect("at least one part");
    let pieces = par::ranges(len, par::pieces(bases[lengths.len()]).min(len.max(1)));
    let mut cuts = vec![vec![0; lengths.len()]];
    cuts.extend(pieces[1..].iter().map(|piece| keys.before(longest, piece.start, &lengths)));
    cuts.push(lengths);
    cuts
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use crate::dynamic::slices::{AnyBits, AnyIndex, BitVec, Bits, IdVec, Ids, with_bits, with_ids};

    /// See [`concat_coo`](crate::concat_coo()): coordinates, and the map unless it is the identity.
    pub fn concat_coo(
        axis: usize,
        offsets: &[usize],
        parts: &[(Ids<'_>, usize)],
        sparse_dims: usize,
        coalesced: bool,
    ) -> (IdVec, Option<IdVec>) {
        with_ids!(parts[0].0, I => {
            let parts: Vec<_> = parts.iter().map(|&(indices, nnz)| (I::ids(indices), nnz)).collect();
            let (indices, map) = super::concat_coo::<I>(axis, offsets, &parts, sparse_dims, coalesced);
            (I::id_vec(indices), map.map(I::id_vec))
        })
    }

    /// See [`concat_coo_values`](crate::concat_coo_values()): coordinates, values.
    pub fn concat_coo_values(
        axis: usize,
        offsets: &[usize],
        parts: &[(Ids<'_>, usize)],
        values: &[Bits<'_>],
        sparse_dims: usize,
        coalesced: bool,
    ) -> (IdVec, BitVec) {
        with_ids!(parts[0].0, I => with_bits!(values[0], T => {
            let parts: Vec<_> = parts.iter().map(|&(indices, nnz)| (I::ids(indices), nnz)).collect();
            let values: Vec<&[T]> = values.iter().map(|part| T::bits(*part)).collect();
            let (indices, out) =
                super::concat_coo_values::<T, I>(axis, offsets, &parts, &values, sparse_dims, coalesced);
            (I::id_vec(indices), T::bit_vec(out))
        }))
    }
}
