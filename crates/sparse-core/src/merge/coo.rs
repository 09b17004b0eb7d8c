//! Merging two coalesced COO patterns of one shape.

use super::assert_fits;
use super::csr::cut;
use crate::keys::{WithKeys, rows, with_keys};
use crate::{Index, alloc::zeroed, par};
use core::hint::select_unpredictable;
use core::marker::PhantomData;
use core::ops::Range;

/// A coalesced COO pattern made of two, with a map into each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedCoo<I> {
    /// Coordinates `[sparse_dims, nnz]`, strictly ascending lexicographically.
    pub indices: Vec<I>,
    /// Number of elements (not to be had from `indices` where `sparse_dims` is 0).
    pub nnz: usize,
    /// For each element its position in `a`, or `nnz_a` where `a` lacks it.
    pub map_a: Vec<I>,
    /// For each element its position in `b`, or `nnz_b` where `b` lacks it.
    pub map_b: Vec<I>,
}

/// A stretch of the merge path: elements of `a` and of `b` that no other stretch has keys between or equal to.
type Stretch = (Range<usize>, Range<usize>);

/// Cuts the merge path into stretches of about equal length; equal keys stay together.
fn stretches<K: Ord>(a: impl Fn(usize) -> K, nnz_a: usize, b: impl Fn(usize) -> K, nnz_b: usize) -> Vec<Stretch> {
    let total = nnz_a + nnz_b;
    let (mut i0, mut j0) = (0, 0);
    let diagonals = par::ranges(total, par::pieces(total));
    let cut = |range: Range<usize>| {
        let diagonal = range.end;
        // The first i with a[i] > b[diagonal - i - 1]: everything before it and that b come first.
        let (mut low, mut high) = (diagonal.saturating_sub(nnz_b), diagonal.min(nnz_a));
        while low < high {
            let mid = low + (high - low) / 2;
            if a(mid) <= b(diagonal - mid - 1) { low = mid + 1 } else { high = mid }
        }
        let (i, mut j) = (low, diagonal - low);
        // The twin of the last element of a goes with it.
        if i > 0 && j < nnz_b && a(i - 1) == b(j) {
            j += 1;
        }
        // The cut before may have gone one further already.
        let (i, j) = (i.max(i0), j.max(j0));
        let stretch = (i0..i, j0..j);
        (i0, j0) = (i, j);
        stretch
    };
    diagonals.into_iter().map(cut).collect()
}

/// What of two patterns a merge keeps.
#[derive(Clone, Copy, PartialEq)]
enum Keep {
    Union,
    Common,
}

struct Merge<'a, I> {
    keep: Keep,
    a: &'a [&'a [I]],
    b: &'a [&'a [I]],
    nnz_a: usize,
    nnz_b: usize,
}

impl<I: Index> WithKeys for Merge<'_, I> {
    type Output = MergedCoo<I>;

    fn run<K: Ord + Copy + Send + Sync, F: Fn(usize) -> K + Sync>(self, keys: &[F]) -> MergedCoo<I> {
        let (a, b) = (&keys[0], &keys[1]);
        let stretches = stretches(a, self.nnz_a, b, self.nnz_b);
        let counts = par::map(stretches.len(), &|piece| {
            let (i, j) = &stretches[piece];
            let common = count_common(a, i.clone(), b, j.clone());
            if self.keep == Keep::Union { i.len() + j.len() - common } else { common }
        });
        let mut starts = vec![0];
        starts.extend(counts.iter().scan(0, |sum, n| {
            *sum += n;
            Some(*sum)
        }));
        let nnz = starts[counts.len()];
        assert_fits::<I>(nnz);
        let dims = self.a.len();
        let (mut map_a, mut map_b, mut indices) = (zeroed::<I>(nnz), zeroed::<I>(nnz), zeroed(nnz * dims));
        // One list of output slices a stretch, of one slice a dimension.
        let mut slots: Vec<Vec<&mut [I]>> = counts.iter().map(|_| Vec::with_capacity(dims)).collect();
        if nnz > 0 {
            for row in indices.chunks_exact_mut(nnz) {
                for (slot, piece) in slots.iter_mut().zip(cut(row, &starts)) {
                    slot.push(piece);
                }
            }
        }
        let cuts = cut(&mut map_a, &starts).into_iter().zip(cut(&mut map_b, &starts)).zip(slots);
        par::each(cuts.collect(), &|piece, ((map_a, map_b), out)| {
            let (i, j) = &stretches[piece];
            match self.keep {
                Keep::Union => {
                    fill_union((a, i.clone(), self.nnz_a), (b, j.clone(), self.nnz_b), map_a, map_b);
                }
                Keep::Common => fill_common(a, i.start, b, j.start, map_a, map_b),
            }
            for ((out, a), b) in out.into_iter().zip(self.a).zip(self.b) {
                for ((out, p), q) in out.iter_mut().zip(map_a.iter()).zip(map_b.iter()) {
                    let p = p.to_usize();
                    *out = if p < a.len() { a[p] } else { b[q.to_usize()] };
                }
            }
        });
        MergedCoo { indices, nnz, map_a, map_b }
    }
}

fn count_common<K: Ord>(a: impl Fn(usize) -> K, i: Range<usize>, b: impl Fn(usize) -> K, j: Range<usize>) -> usize {
    let (mut p, mut q, mut n) = (i.start, j.start, 0);
    while p < i.end && q < j.end {
        let (x, y) = (a(p), b(q));
        n += (x == y) as usize;
        let (take_a, take_b) = (x <= y, y <= x);
        p += take_a as usize;
        q += take_b as usize;
    }
    n
}

/// A list's keys, the range of it to merge and its number of elements.
type Run<F> = (F, Range<usize>, usize);

fn fill_union<K: Ord + Copy, I: Index>(
    (a, i, nnz_a): Run<impl Fn(usize) -> K>,
    (b, j, nnz_b): Run<impl Fn(usize) -> K>,
    map_a: &mut [I],
    map_b: &mut [I],
) {
    let (miss_a, miss_b) = (I::from_usize(nnz_a), I::from_usize(nnz_b));
    let (mut p, mut q, mut k) = (i.start, j.start, 0);
    let map_b = &mut map_b[..map_a.len()];
    while p < i.end && q < j.end {
        let (x, y) = (a(p), b(q));
        let (take_a, take_b) = (x <= y, y <= x);
        map_a[k] = select_unpredictable(take_a, I::from_usize(p), miss_a);
        map_b[k] = select_unpredictable(take_b, I::from_usize(q), miss_b);
        p += take_a as usize;
        q += take_b as usize;
        k += 1;
    }
    for (slot_a, slot_b) in map_a[k..].iter_mut().zip(&mut map_b[k..]) {
        if p < i.end {
            (*slot_a, *slot_b) = (I::from_usize(p), miss_b);
            p += 1;
        } else {
            (*slot_a, *slot_b) = (miss_a, I::from_usize(q));
            q += 1;
        }
    }
}

fn fill_common<K: Ord + Copy, I: Index>(
    a: impl Fn(usize) -> K,
    mut p: usize,
    b: impl Fn(usize) -> K,
    mut q: usize,
    map_a: &mut [I],
    map_b: &mut [I],
) {
    let mut k = 0;
    while k < map_a.len() {
        let (x, y) = (a(p), b(q));
        // Written again until both agree.
        (map_a[k], map_b[k]) = (I::from_usize(p), I::from_usize(q));
        k += (x == y) as usize;
        let (take_a, take_b) = (x <= y, y <= x);
        p += take_a as usize;
        q += take_b as usize;
    }
}

fn merge<I: Index>(
    keep: Keep,
    sparse_dims: usize,
    a_indices: &[I],
    nnz_a: usize,
    b_indices: &[I],
    nnz_b: usize,
) -> MergedCoo<I> {
    assert_fits::<I>(nnz_a.max(nnz_b));
    let lists = [rows(a_indices, sparse_dims, nnz_a), rows(b_indices, sparse_dims, nnz_b)];
    with_keys(&lists, Merge { keep, a: &lists[0], b: &lists[1], nnz_a, nnz_b })
}

/// Union of two coalesced COO patterns of one shape, with the maps into both.
///
/// `a_indices` is `[sparse_dims, nnz_a]`, `b_indices` `[sparse_dims, nnz_b]`, both row-major and strictly ascending
/// lexicographically; `sparse_dims` may be 0 (at most one element then). Right for any shape, however many elements
/// its dense form would have. Time O(sparse_dims * (nnz_a + nnz_b)).
///
/// # Panics
/// If a length does not fit or the union does not fit the index type.
pub fn union_coo<I: Index>(
    sparse_dims: usize,
    a_indices: &[I],
    nnz_a: usize,
    b_indices: &[I],
    nnz_b: usize,
) -> MergedCoo<I> {
    merge(Keep::Union, sparse_dims, a_indices, nnz_a, b_indices, nnz_b)
}

/// Intersection of two coalesced COO patterns of one shape, with the maps into both.
///
/// Shapes and cost as [`union_coo`]; no map entry is "missing".
///
/// # Panics
/// If a length does not fit.
pub fn intersect_coo<I: Index>(
    sparse_dims: usize,
    a_indices: &[I],
    nnz_a: usize,
    b_indices: &[I],
    nnz_b: usize,
) -> MergedCoo<I> {
    merge(Keep::Common, sparse_dims, a_indices, nnz_a, b_indices, nnz_b)
}

struct Locate<I> {
    nnz_a: usize,
    nnz_b: usize,
    index: PhantomData<I>,
}

impl<I: Index> WithKeys for Locate<I> {
    type Output = Vec<I>;

    fn run<K: Ord + Copy + Send + Sync, F: Fn(usize) -> K + Sync>(self, keys: &[F]) -> Vec<I> {
        let (a, b) = (&keys[0], &keys[1]);
        let Self { nnz_a, nnz_b, .. } = self;
        let stretches = stretches(a, nnz_a, b, nnz_b);
        let missing = I::from_usize(nnz_b);
        let mut map = zeroed(nnz_a);
        let pieces = par::split_mut(&mut map, &par::lens(&stretches, |s| s.0.len()));
        par::each(pieces, &|piece, map| {
            let (i, j) = &stretches[piece];
            let mut q = j.start;
            for (p, slot) in i.clone().zip(map) {
                let x = a(p);
                while q < j.end && b(q) < x {
                    q += 1;
                }
                *slot = if q < j.end && b(q) == x { I::from_usize(q) } else { missing };
            }
        });
        map
    }
}

/// For each element of `a` its position in `b`, or `nnz_b` where `b` lacks it.
///
/// Shapes as [`union_coo`]; the result has `nnz_a` entries. Time O(sparse_dims * (nnz_a + nnz_b)).
///
/// # Panics
/// If a length does not fit.
pub fn locate_coo<I: Index>(
    sparse_dims: usize,
    a_indices: &[I],
    nnz_a: usize,
    b_indices: &[I],
    nnz_b: usize,
) -> Vec<I> {
    assert_fits::<I>(nnz_b);
    let lists = [rows(a_indices, sparse_dims, nnz_a), rows(b_indices, sparse_dims, nnz_b)];
    with_keys(&lists, Locate { nnz_a, nnz_b, index: PhantomData })
}
