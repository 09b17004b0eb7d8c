//! The steps of a merge of two sorted lists. A step tells, for one element of the union, which operands have it.
//!
//! Keys are compared only once, to find the steps. A step is one byte. Maps, coordinates and values then follow from
//! the steps and the positions in both lists. Their loops need no keys, no rows and no branches that depend on the
//! data.

use super::assert_fits;
use crate::memory::{Scratch, unwritten};
use crate::{Index, Plain, par};
use core::hint::select_unpredictable;
use core::ops::Range;

/// The first operand has the element.
const A: u8 = 1;
/// The second operand has it.
const B: u8 = 2;
/// Both operands have it.
const BOTH: u8 = A | B;

/// If at most this many steps remain after the last comparison, exactly this many are written. A loop over a varying
/// number of steps would mispredict its end.
const SHORT: usize = 8;

/// An operation on slices of equal length: `apply(out, x, y)`. It casts them to their element type.
pub(super) type Apply<'a, T> = &'a (dyn Fn(&mut [T], &[T], &[T]) + Sync);

/// Number of elements that are gathered into a buffer at a time.
pub(super) const CHUNK: usize = 256;

/// Merges elements `i` of one list with elements `j` of another and returns how many they have in common. `a` and `b`
/// give the keys.
///
/// May also write up to [`SHORT`] bytes after the last step.
#[inline(always)]
pub(crate) fn merge<K: Ord>(
    a: impl Fn(usize) -> K,
    i: Range<usize>,
    b: impl Fn(usize) -> K,
    j: Range<usize>,
    steps: &mut [u8],
) -> usize {
    let (mut p, mut q, mut k) = (i.start, j.start, 0);
    while p < i.end && q < j.end {
        let (x, y) = (a(p), b(q));
        let (take_a, take_b) = (u8::from(x <= y), u8::from(y <= x));
        steps[k] = (take_a * A) | (take_b * B);
        p += usize::from(take_a);
        q += usize::from(take_b);
        k += 1;
    }
    let (rest, step) = if p < i.end { (i.end - p, A) } else { (j.end - q, B) };
    match steps.get_mut(k..k + SHORT) {
        Some(short) if rest <= SHORT => short.fill(step),
        _ => steps[k..k + rest].fill(step),
    }
    i.len() + j.len() - rest - k
}

/// Which elements a merge keeps.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Keep {
    Union,
    Common,
}

/// A range of elements of both operands. No other piece has keys between these or equal to them.
pub(super) struct Piece {
    pub(super) a: Range<usize>,
    pub(super) b: Range<usize>,
    common: usize,
}

/// A merge: its pieces and their steps. The steps of a piece start at `a.start + b.start`.
pub(super) struct Steps {
    steps: Scratch<u8>,
    nnz: (usize, usize),
    pieces: Vec<Piece>,
}

/// The coordinates of a merged pattern and the maps into its operands.
pub(super) struct Merged<I> {
    pub(super) nnz: usize,
    pub(super) indices: Vec<I>,
    pub(super) map_a: Vec<I>,
    pub(super) map_b: Vec<I>,
}

impl Steps {
    /// Finds the steps of the pieces in parallel. `merge(k, job, steps)` writes the steps of piece `k` and returns the
    /// number of common elements.
    pub(super) fn find<J: Send>(
        ranges: Vec<(Range<usize>, Range<usize>)>,
        jobs: Vec<J>,
        merge: &(dyn Fn(usize, J, &mut [u8]) -> usize + Sync),
    ) -> Self {
        let lens = par::lens(&ranges, |(a, b)| a.len() + b.len());
        let nnz = ranges.last().map_or((0, 0), |(a, b)| (a.end, b.end));
        let mut steps = Scratch::unwritten(nnz.0 + nnz.1);
        let mut pieces: Vec<Piece> = ranges.into_iter().map(|(a, b)| Piece { a, b, common: 0 }).collect();
        let jobs = par::split_mut(&mut steps, &lens).into_iter().zip(&mut pieces).zip(jobs).collect();
        par::each(jobs, &|k, ((steps, piece), job)| piece.common = merge(k, job, steps));
        Self { steps, nnz, pieces }
    }

    /// The number of elements that each piece keeps.
    pub(super) fn lens(&self, keep: Keep) -> Vec<usize> {
        par::lens(&self.pieces, |piece| if keep == Keep::Union { piece.union() } else { piece.common })
    }

    fn of(&self, piece: &Piece) -> &[u8] {
        &self.steps[piece.a.start + piece.b.start..][..piece.union()]
    }

    /// The coordinates `[dims, nnz]` of the union. `a` and `b` have one slice per dimension.
    pub(super) fn indices<I: Index>(&self, a: &[&[I]], b: &[&[I]]) -> Vec<I> {
        let lens = self.lens(Keep::Union);
        let nnz: usize = lens.iter().sum();
        assert_fits::<I>(nnz);
        let mut indices = unwritten(nnz * a.len());
        par::each(par::split_rows(&mut [&mut indices], nnz, &lens), &|k, rows| {
            let piece = &self.pieces[k];
            for (d, out) in rows.into_iter().enumerate() {
                either(self.of(piece), &a[d][piece.a.clone()], &b[d][piece.b.clone()], out);
            }
        });
        indices
    }

    /// The coordinates of the elements that are kept, and the maps.
    pub(super) fn merged<I: Index>(&self, keep: Keep, a: &[&[I]], b: &[&[I]]) -> Merged<I> {
        let lens = self.lens(keep);
        let nnz: usize = lens.iter().sum();
        assert_fits::<I>(nnz);
        let (mut indices, mut map_a, mut map_b) = (unwritten(nnz * a.len()), unwritten(nnz), unwritten(nnz));
        let slots = par::split_rows(&mut [&mut map_a, &mut map_b, &mut indices], nnz, &lens);
        par::each(slots, &|k, mut slots: Vec<&mut [I]>| {
            let piece = &self.pieces[k];
            let steps = self.of(piece);
            let [map_a, map_b, rows @ ..] = &mut slots[..] else { return };
            match keep {
                Keep::Union => {
                    positions(steps, 0, piece.a.start, self.nnz.0, map_a);
                    positions(steps, 1, piece.b.start, self.nnz.1, map_b);
                    for (d, out) in rows.iter_mut().enumerate() {
                        either(steps, &a[d][piece.a.clone()], &b[d][piece.b.clone()], out);
                    }
                }
                Keep::Common => {
                    common(steps, piece.a.start, map_a, piece.b.start, map_b);
                    for (d, out) in rows.iter_mut().enumerate() {
                        for (out, p) in out.iter_mut().zip(map_a.iter()) {
                            *out = a[d][p.to_usize()];
                        }
                    }
                }
            }
        });
        Merged { nnz, indices, map_a, map_b }
    }

    /// For each element of `a` its position in `b`, or the number of elements of `b` if `b` does not have it.
    pub(super) fn located<I: Index>(&self) -> Vec<I> {
        let missing = I::from_usize(self.nnz.1);
        let mut map = unwritten(self.nnz.0);
        let jobs = par::split_mut(&mut map, &par::lens(&self.pieces, |piece| piece.a.len()));
        par::each(jobs, &|k, map| {
            let piece = &self.pieces[k];
            let (mut p, mut q) = (0, piece.b.start);
            for &step in self.of(piece) {
                // A step without `a` is overwritten by the next one.
                let Some(slot) = map.get_mut(p) else { break };
                *slot = select_unpredictable(step == BOTH, I::from_usize(q), missing);
                p += usize::from(step & A);
                q += usize::from(step >> 1);
            }
        });
        map
    }

    /// Writes the values of the union to `out` with `apply(out, x, y)`. `x` and `y` are chunks of the operands' values,
    /// with the fill for missing elements.
    pub(super) fn values<T: Plain>(
        &self,
        (a, fill_a): (&[T], T),
        (b, fill_b): (&[T], T),
        out: &mut [T],
        apply: Apply<'_, T>,
    ) {
        par::each(par::split_mut(out, &self.lens(Keep::Union)), &|k, out| {
            let piece = &self.pieces[k];
            let (mut a, mut b) = (&a[piece.a.clone()], &b[piece.b.clone()]);
            let (mut x, mut y) = ([T::default(); CHUNK], [T::default(); CHUNK]);
            for (steps, out) in self.of(piece).chunks(CHUNK).zip(out.chunks_mut(CHUNK)) {
                a = &a[pick(steps, 0, a, fill_a, &mut x)..];
                b = &b[pick(steps, 1, b, fill_b, &mut y)..];
                apply(out, &x[..out.len()], &y[..out.len()]);
            }
        });
    }
}

impl Piece {
    fn union(&self) -> usize {
        self.a.len() + self.b.len() - self.common
    }
}

/// Takes each element from an operand that has it.
fn either<I: Index>(steps: &[u8], a: &[I], b: &[I], out: &mut [I]) {
    let (mut p, mut q) = (0, 0);
    for (out, step) in out.iter_mut().zip(steps) {
        let (list, k) = select_unpredictable(step & A != 0, (a, p), (b, q));
        *out = list[k];
        p += usize::from(step & A);
        q += usize::from(step >> 1);
    }
}

/// The position of each element in operand `side`, or `missing`.
fn positions<I: Index>(steps: &[u8], side: u32, start: usize, missing: usize, out: &mut [I]) {
    let (mut p, missing) = (start, I::from_usize(missing));
    for (out, step) in out.iter_mut().zip(steps) {
        let has = step >> side & 1;
        *out = select_unpredictable(has != 0, I::from_usize(p), missing);
        p += usize::from(has);
    }
}

/// The positions of the common elements in both operands.
fn common<I: Index>(steps: &[u8], mut p: usize, map_a: &mut [I], mut q: usize, map_b: &mut [I]) {
    // If the patterns overlap little, many stretches have no common element and are skipped.
    const STRETCH: usize = 32;
    let mut k = 0;
    for steps in steps.chunks(STRETCH) {
        if !steps.iter().fold(false, |any, &step| any | (step == BOTH)) {
            let n = usize::from(steps.iter().map(|step| step & A).sum::<u8>());
            p += n;
            q += steps.len() - n;
            continue;
        }
        for &step in steps {
            // A step that is not common is overwritten by the next one.
            let (Some(at_a), Some(at_b)) = (map_a.get_mut(k), map_b.get_mut(k)) else { return };
            (*at_a, *at_b) = (I::from_usize(p), I::from_usize(q));
            k += usize::from(step == BOTH);
            p += usize::from(step & A);
            q += usize::from(step >> 1);
        }
    }
}

/// The values of operand `side`, with the fill for missing elements. Returns how many values were read.
fn pick<T: Plain>(steps: &[u8], side: u32, values: &[T], fill: T, out: &mut [T]) -> usize {
    let mut p = 0;
    for (out, step) in out.iter_mut().zip(steps) {
        let has = step >> side & 1;
        *out = select_unpredictable(has != 0, values.get(p).copied().unwrap_or(fill), fill);
        p += usize::from(has);
    }
    p
}
