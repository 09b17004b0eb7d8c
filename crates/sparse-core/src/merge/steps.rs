//! The steps of a merge of two sorted lists. A step tells, for one element of the union, which operands have it.
//!
//! Keys are compared only once, to find the steps. A step is one byte. Maps, coordinates and values then follow from
//! the steps and the positions in both lists, eight at a time. Their loops need no keys, no rows and no branches that
//! depend on the data.

use super::assert_fits;
use super::expand::{A, B, BOTH, Expand, Mask, Portable, WORD, head};
use crate::memory::{Scratch, unwritten};
use crate::{Index, Plain, par};
use core::hint::select_unpredictable;
use core::ops::Range;
use pulp::NullaryFnOnce;
#[cfg(target_arch = "x86_64")]
use pulp::x86::V3;

/// If at most this many steps remain after the last comparison, exactly this many are written. A loop over a varying
/// number of steps would mispredict its end.
const SHORT: usize = 8;

/// An operation on slices of equal length: `apply(out, x, y)`. It casts them to their element type.
pub(super) type Apply<'a, T> = &'a (dyn Fn(&mut [T], &[T], &[T]) + Sync);

/// Number of elements that are gathered into a buffer at a time.
pub(super) const CHUNK: usize = 256;

/// Where one list is this many times longer than the other, most steps are in long runs. Then each element of the
/// shorter list is searched in the longer one. Nearer to each other, a comparison for each step takes less time.
const LOPSIDED: usize = 8;

/// Whether lists of these lengths are merged by searches.
#[inline(always)]
pub(super) fn is_lopsided(n: usize, m: usize) -> bool {
    n.max(m) / LOPSIDED >= n.min(m).max(1)
}

/// Merges elements `i` of one list with elements `j` of another and returns how many they have in common. `a` and `b`
/// give the keys. Time O(i.len() + j.len()) to write the steps, with O(short * log(long / short)) comparisons if one
/// list is [`LOPSIDED`] times longer than the other.
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
    let (n, m) = (i.len(), j.len());
    if is_lopsided(n, m) {
        return if n > m { search((a, i, A), (b, j, B), steps) } else { search((b, j, B), (a, i, A), steps) };
    }
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
    n + m - rest - k
}

/// [`merge`] of a long list with a short one. Each list has its keys, its elements and its step.
#[inline(never)]
fn search<K: Ord>(
    (long, i, own): (impl Fn(usize) -> K, Range<usize>, u8),
    (short, j, other): (impl Fn(usize) -> K, Range<usize>, u8),
    steps: &mut [u8],
) -> usize {
    let (mut p, mut k, mut common) = (i.start, 0, 0);
    for q in j {
        let key = short(q);
        let at = lower_bound(&long, p..i.end, &key);
        steps[k..k + at - p].fill(own);
        k += at - p;
        let both = at < i.end && long(at) == key;
        steps[k] = if both { BOTH } else { other };
        k += 1;
        common += usize::from(both);
        p = at + usize::from(both);
    }
    steps[k..k + i.end - p].fill(own);
    common
}

/// The first element of `range` whose key is not below `key`, or its end. Looks 1, 2, 4, .. elements ahead and then
/// halves what is between (Bentley and Yao, "An almost optimal algorithm for unbounded searching", 1976).
#[inline(always)]
fn lower_bound<K: Ord>(keys: impl Fn(usize) -> K, range: Range<usize>, key: &K) -> usize {
    let (mut low, mut step) = (range.start, 1);
    while step <= range.end - low && keys(low + step - 1) < *key {
        low += step;
        step *= 2;
    }
    let mut len = range.end.min(low + step - 1) - low;
    while len > 0 {
        let half = len.div_ceil(2);
        low = select_unpredictable(keys(low + half - 1) < *key, low + half, low);
        len -= half;
    }
    low
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
                fill(self.of(piece), out, &mut Either { a: &a[d][piece.a.clone()], b: &b[d][piece.b.clone()] });
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
                    let (end_a, end_b) = (I::from_usize(self.nnz.0), I::from_usize(self.nnz.1));
                    fill(steps, map_a, &mut Positions { at: piece.a.start, side: A, missing: end_a });
                    fill(steps, map_b, &mut Positions { at: piece.b.start, side: B, missing: end_b });
                    for (d, out) in rows.iter_mut().enumerate() {
                        fill(steps, out, &mut Either { a: &a[d][piece.a.clone()], b: &b[d][piece.b.clone()] });
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
            let mut found = Located { p: 0, q: piece.b.start, missing };
            let (words, rest) = self.of(piece).as_chunks();
            for word in words {
                match u64::from_ne_bytes(*word) {
                    WORD_A => found.skip_a(map),
                    WORD_B => found.q += WORD,
                    _ => found.steps(word, map),
                }
            }
            found.steps(rest, map);
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
            let mut a = Values { list: &a[piece.a.clone()], side: A, fill: fill_a };
            let mut b = Values { list: &b[piece.b.clone()], side: B, fill: fill_b };
            let (mut x, mut y) = ([T::default(); CHUNK], [T::default(); CHUNK]);
            for (steps, out) in self.of(piece).chunks(CHUNK).zip(out.chunks_mut(CHUNK)) {
                fill(steps, &mut x[..out.len()], &mut a);
                fill(steps, &mut y[..out.len()], &mut b);
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

/// Steps of elements that only one operand has: these are copied as they are.
const WORD_A: u64 = u64::from_ne_bytes([A; WORD]);
const WORD_B: u64 = u64::from_ne_bytes([B; WORD]);

/// What follows from the steps, some elements at a time.
trait Follow<T> {
    /// The next elements. Where there is no step, anything.
    fn word(&mut self, expand: impl Expand, steps: u64) -> [T; WORD];
    /// The next elements, all of which only one operand has.
    fn run(&mut self, step: u8) -> [T; WORD];
}

/// Writes an element for each step.
fn fill<T: Plain>(steps: &[u8], out: &mut [T], from: &mut impl Follow<T>) {
    #[cfg(target_arch = "x86_64")]
    if size_of::<T>() == size_of::<u32>()
        && let Some(simd) = V3::try_new()
    {
        return simd.vectorize(Fill { expand: simd, steps, out, from });
    }
    Fill { expand: Portable, steps, out, from }.call()
}

struct Fill<'a, E, T, F> {
    expand: E,
    steps: &'a [u8],
    out: &'a mut [T],
    from: &'a mut F,
}

impl<E: Expand, T: Plain, F: Follow<T>> NullaryFnOnce for Fill<'_, E, T, F> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { expand, steps, out, from } = self;
        let (words, rest) = steps.as_chunks();
        let (runs, end) = out.as_chunks_mut();
        for (run, word) in runs.iter_mut().zip(words) {
            *run = match u64::from_le_bytes(*word) {
                WORD_A => from.run(A),
                WORD_B => from.run(B),
                word => from.word(expand, word),
            }
        }
        if !rest.is_empty() {
            let last = from.word(expand, u64::from_le_bytes(head(rest)));
            end.copy_from_slice(&last[..rest.len()]);
        }
    }
}

/// Each element, from an operand that has it.
struct Either<'a, I> {
    a: &'a [I],
    b: &'a [I],
}

impl<I: Index> Follow<I> for Either<'_, I> {
    #[inline(always)]
    fn word(&mut self, expand: impl Expand, steps: u64) -> [I; WORD] {
        let [in_a, in_b] = [A, B].map(|side| Mask::of(steps, side));
        let (a, b) = (head(self.a), head(self.b));
        self.a = &self.a[in_a.count()..];
        self.b = &self.b[in_b.count()..];
        // An element of both is that of `a`.
        expand.expand(a, in_a, expand.expand(b, in_b, b))
    }

    #[inline(always)]
    fn run(&mut self, step: u8) -> [I; WORD] {
        next(if step == A { &mut self.a } else { &mut self.b })
    }
}

/// The first elements of a list, which loses them.
#[inline(always)]
fn next<T: Copy>(list: &mut &[T]) -> [T; WORD] {
    let (run, rest) = list.split_first_chunk().expect("an element for each step");
    *list = rest;
    *run
}

/// The position of each element in the operand `side`, or `missing`.
struct Positions<I> {
    at: usize,
    side: u8,
    missing: I,
}

impl<I: Index> Positions<I> {
    #[inline(always)]
    fn next(&self) -> [I; WORD] {
        // Those behind the end of the operand are not used, and may wrap.
        core::array::from_fn(|k| I::from_i64((self.at + k) as i64))
    }
}

impl<I: Index> Follow<I> for Positions<I> {
    #[inline(always)]
    fn word(&mut self, expand: impl Expand, steps: u64) -> [I; WORD] {
        let own = Mask::of(steps, self.side);
        let positions = expand.expand(self.next(), own, [self.missing; WORD]);
        self.at += own.count();
        positions
    }

    #[inline(always)]
    fn run(&mut self, step: u8) -> [I; WORD] {
        if step != self.side {
            return [self.missing; WORD];
        }
        let run = self.next();
        self.at += WORD;
        run
    }
}

/// The values of the operand `side`, with the fill for missing elements.
struct Values<'a, T> {
    list: &'a [T],
    side: u8,
    fill: T,
}

impl<T: Plain> Follow<T> for Values<'_, T> {
    #[inline(always)]
    fn word(&mut self, expand: impl Expand, steps: u64) -> [T; WORD] {
        let own = Mask::of(steps, self.side);
        let values = expand.expand(head(self.list), own, [self.fill; WORD]);
        self.list = &self.list[own.count()..];
        values
    }

    #[inline(always)]
    fn run(&mut self, step: u8) -> [T; WORD] {
        if step == self.side { next(&mut self.list) } else { [self.fill; WORD] }
    }
}

/// Where the elements of `a` are in `b`, up to a step.
struct Located<I> {
    p: usize,
    q: usize,
    missing: I,
}

impl<I: Index> Located<I> {
    #[inline(always)]
    fn steps(&mut self, steps: &[u8], map: &mut [I]) {
        for &step in steps {
            // A step without `a` is overwritten by the next one.
            let Some(slot) = map.get_mut(self.p) else { break };
            *slot = select_unpredictable(step == BOTH, I::from_usize(self.q), self.missing);
            self.p += usize::from(step & A);
            self.q += usize::from(step >> 1);
        }
    }

    /// A run of `a`.
    #[inline(always)]
    fn skip_a(&mut self, map: &mut [I]) {
        map[self.p..self.p + WORD].fill(self.missing);
        self.p += WORD;
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
