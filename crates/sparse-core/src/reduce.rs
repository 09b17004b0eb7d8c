//! One traversal for every "gather rows, combine them per segment": SpMM, with a sum or an extremum, segment sum,
//! segment or.
//!
//! A segment's output row is computed in register tiles: all its source rows are walked for the first tile of
//! columns, then (they are in cache by then) for the next one. Each output element is accumulated by one thread in
//! the order of the segment, so the result does not depend on the number of threads.

use crate::element::Lanes;
use crate::lanes::acc_max;
use crate::par::{by_elements, for_pieces};
use crate::simd::dispatch;
use crate::{Element, Index};
use core::marker::PhantomData;
use core::ops::Range;
use pulp::{Simd, WithSimd};

pub(crate) type V<T, S> = <<T as Element>::Lanes as Lanes<T>>::V<S>;

/// How source rows combine.
pub(crate) trait Reducer<T: Element>: Copy + Sync {
    /// Where a segment starts; what `finish` makes of it is the value of an empty one.
    fn start(&self, empty: bool) -> T::Acc;
    /// Weight of element `k`.
    fn weight(&self, k: usize) -> T::Acc;
    /// Asks for the weight of element `k` to be brought into the cache, where it will not come by itself.
    #[inline(always)]
    fn prefetch_weight(&self, _k: usize) {}
    /// Accumulator after an element.
    fn step(&self, acc: T::Acc, weight: T::Acc, x: T::Acc) -> T::Acc;
    /// The same on vectors.
    fn step_lanes<S: Simd>(&self, simd: S, acc: V<T, S>, weight: V<T, S>, x: V<T, S>) -> V<T, S>;
    /// The result of a segment, from its accumulator.
    #[inline(always)]
    fn finish(&self, acc: T::Acc) -> T::Acc {
        acc
    }
    /// The same on vectors.
    #[inline(always)]
    fn finish_lanes<S: Simd>(&self, _: S, acc: V<T, S>) -> V<T, S> {
        acc
    }
}

/// Weighted sum; the weight of element `k` is `values[perm[k]]` or `values[k]`.
#[derive(Clone, Copy)]
pub(crate) struct Weighted<'a, T, I> {
    pub(crate) values: &'a [T],
    pub(crate) perm: Option<&'a [I]>,
}

impl<T: Element, I: Index> Reducer<T> for Weighted<'_, T, I> {
    #[inline(always)]
    fn start(&self, _: bool) -> T::Acc {
        T::ACC_ZERO
    }
    #[inline(always)]
    fn weight(&self, k: usize) -> T::Acc {
        self.values[self.perm.map_or(k, |p| p[k].to_usize())].widen()
    }
    #[inline(always)]
    fn prefetch_weight(&self, k: usize) {
        if let Some(perm) = self.perm
            && let Some(at) = perm.get(k)
        {
            prefetch(self.values, at.to_usize());
        }
    }
    #[inline(always)]
    fn step(&self, acc: T::Acc, weight: T::Acc, x: T::Acc) -> T::Acc {
        T::add(acc, T::mul(weight, x))
    }
    #[inline(always)]
    fn step_lanes<S: Simd>(&self, simd: S, acc: V<T, S>, weight: V<T, S>, x: V<T, S>) -> V<T, S> {
        T::Lanes::add(simd, acc, T::Lanes::mul(simd, weight, x))
    }
}

/// Plain sum.
#[derive(Clone, Copy)]
pub(crate) struct Sum;

impl<T: Element> Reducer<T> for Sum {
    #[inline(always)]
    fn start(&self, _: bool) -> T::Acc {
        T::ACC_ZERO
    }
    #[inline(always)]
    fn weight(&self, _: usize) -> T::Acc {
        T::ACC_ONE
    }
    #[inline(always)]
    fn step(&self, acc: T::Acc, _: T::Acc, x: T::Acc) -> T::Acc {
        T::add(acc, x)
    }
    #[inline(always)]
    fn step_lanes<S: Simd>(&self, simd: S, acc: V<T, S>, _: V<T, S>, x: V<T, S>) -> V<T, S> {
        T::Lanes::add(simd, acc, x)
    }
}

/// The logical or of 0 and 1: their maximum, 0 of none.
#[derive(Clone, Copy)]
pub(crate) struct Any;

impl<T: Element> Reducer<T> for Any {
    #[inline(always)]
    fn start(&self, _: bool) -> T::Acc {
        T::ACC_ZERO
    }
    #[inline(always)]
    fn weight(&self, _: usize) -> T::Acc {
        T::ACC_ONE
    }
    #[inline(always)]
    fn step(&self, acc: T::Acc, _: T::Acc, x: T::Acc) -> T::Acc {
        acc_max(acc, x)
    }
    #[inline(always)]
    fn step_lanes<S: Simd>(&self, simd: S, acc: V<T, S>, _: V<T, S>, x: V<T, S>) -> V<T, S> {
        T::Lanes::max(simd, acc, x)
    }
}

/// Adjacent output elements that are accumulated together, in registers.
trait Tile<T: Element, S: Simd>: Copy {
    fn width() -> usize;
    fn init(simd: S, value: T::Acc) -> Self;
    fn step<R: Reducer<T>>(&mut self, simd: S, reducer: &R, weight: T::Acc, x: &[T]);
    fn store<R: Reducer<T>>(self, simd: S, reducer: &R, out: &mut [T]);
}

/// `N` native vectors.
#[derive(Clone, Copy)]
struct Vectors<T, X, const N: usize>([X; N], PhantomData<T>);

impl<T: Element, S: Simd, const N: usize> Tile<T, S> for Vectors<T, V<T, S>, N> {
    #[inline(always)]
    fn width() -> usize {
        N * T::Lanes::lanes::<S>()
    }
    #[inline(always)]
    fn init(simd: S, value: T::Acc) -> Self {
        Self([T::Lanes::splat(simd, value); N], PhantomData)
    }
    #[inline(always)]
    fn step<R: Reducer<T>>(&mut self, simd: S, reducer: &R, weight: T::Acc, x: &[T]) {
        let lanes = T::Lanes::lanes::<S>();
        let x = &x[..N * lanes];
        let weight = T::Lanes::splat(simd, weight);
        for (j, acc) in self.0.iter_mut().enumerate() {
            *acc = reducer.step_lanes(simd, *acc, weight, T::Lanes::load(simd, &x[j * lanes..]));
        }
    }
    #[inline(always)]
    fn store<R: Reducer<T>>(self, simd: S, reducer: &R, out: &mut [T]) {
        let lanes = T::Lanes::lanes::<S>();
        for (j, acc) in self.0.into_iter().enumerate() {
            T::Lanes::store(simd, reducer.finish_lanes(simd, acc), &mut out[j * lanes..]);
        }
    }
}

/// `N` elements, fewer than a native vector holds.
#[derive(Clone, Copy)]
struct Few<A, const N: usize>([A; N]);

impl<T: Element, S: Simd, const N: usize> Tile<T, S> for Few<T::Acc, N> {
    #[inline(always)]
    fn width() -> usize {
        N
    }
    #[inline(always)]
    fn init(_: S, value: T::Acc) -> Self {
        Self([value; N])
    }
    #[inline(always)]
    fn step<R: Reducer<T>>(&mut self, _: S, reducer: &R, weight: T::Acc, x: &[T]) {
        let x = &x[..N];
        for (acc, x) in self.0.iter_mut().zip(x) {
            *acc = reducer.step(*acc, weight, x.widen());
        }
    }
    #[inline(always)]
    fn store<R: Reducer<T>>(self, _: S, reducer: &R, out: &mut [T]) {
        for (out, acc) in out[..N].iter_mut().zip(self.0) {
            *out = T::narrow(reducer.finish(acc));
        }
    }
}

/// The segments `rows` and their part of the output.
struct Job<'a, T, I, R> {
    reducer: R,
    ptr: &'a [I],
    idx: Option<&'a [I]>,
    source: Source<'a, T>,
    rows: Range<usize>,
    out: &'a mut [T],
}

/// Row-major source rows.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a, T> {
    data: &'a [T],
    rows: usize,
    width: usize,
}

/// Cache lines to have under way at once: 16 rows of 128 f32. Measured on Zen 5 while other jobs loaded the memory: with
/// half as many SDDMM takes up to a third longer, without prefetching three times as long.
const LINES_AHEAD: usize = 128;

impl<'a, T> Source<'a, T> {
    /// `data` as rows of `width >= 1` elements.
    pub(crate) fn new(data: &'a [T], width: usize, what: &str) -> Self {
        assert!(data.len().is_multiple_of(width), "{what} must hold whole rows of {width}, got {}", data.len());
        Self { data, rows: data.len() / width, width }
    }

    /// Row `r`.
    #[inline(always)]
    pub(crate) fn row(&self, r: usize) -> &'a [T] {
        if r >= self.rows {
            out_of_range(r, self.rows);
        }
        &self.data[r * self.width..][..self.width]
    }

    /// How many rows ahead to prefetch.
    pub(crate) fn distance(&self) -> usize {
        (LINES_AHEAD / (self.width * size_of::<T>()).div_ceil(64)).clamp(4, 32)
    }

    /// Asks for row `r`, if it exists, to be brought into the cache.
    #[inline(always)]
    pub(crate) fn prefetch(&self, r: usize) {
        #[cfg(all(target_arch = "x86_64", target_feature = "sse"))]
        if r < self.rows {
            let row = &self.data[r * self.width..][..self.width];
            for x in row.iter().step_by(64 / size_of::<T>()) {
                safe_arch::prefetch_t0(x);
            }
            // The last line of a row that does not start on one.
            safe_arch::prefetch_t0(&row[row.len() - 1]);
        }
        #[cfg(not(all(target_arch = "x86_64", target_feature = "sse")))]
        let _ = r;
    }
}

/// Asks for `data[at]`, if it exists, to be brought into the cache.
#[inline(always)]
pub(crate) fn prefetch<T>(data: &[T], at: usize) {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse"))]
    if let Some(x) = data.get(at) {
        safe_arch::prefetch_t0(x);
    }
    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse")))]
    let _ = (data, at);
}

#[cold]
#[inline(never)]
fn out_of_range(row: usize, rows: usize) -> ! {
    panic!("row index must be in [0, {rows}), got {}", row as isize)
}

impl<T: Element, I: Index, R: Reducer<T>> Job<'_, T, I, R> {
    /// One tile of a segment: columns `at ..` of its rows, combined. `AHEAD` prefetches on the way.
    #[inline(always)]
    fn tile<S: Simd, X: Tile<T, S>, const AHEAD: bool>(&mut self, simd: S, row: usize, at: usize, distance: usize) {
        let (low, high) = (self.ptr[row].to_usize(), self.ptr[row + 1].to_usize());
        let mut tile = X::init(simd, self.reducer.start(low == high));
        if let Some(all) = self.idx {
            for (k, i) in (low..high).zip(&all[low..high]) {
                if AHEAD && let Some(next) = all.get(k + distance) {
                    self.source.prefetch(next.to_usize());
                    self.reducer.prefetch_weight(k + distance);
                }
                tile.step(simd, &self.reducer, self.reducer.weight(k), &self.source.row(i.to_usize())[at..]);
            }
        } else {
            assert!(low <= high, "row pointers must not descend");
            for k in low..high {
                tile.step(simd, &self.reducer, self.reducer.weight(k), &self.source.row(k)[at..]);
            }
        }
        let width = self.source.width;
        tile.store(simd, &self.reducer, &mut self.out[(row - self.rows.start) * width + at..]);
    }

    /// A tile of the given width that starts at `at`, or further left where it would not fit: the elements computed
    /// twice get the same bits. Returns where the next tile starts.
    #[inline(always)]
    fn place<S: Simd, X: Tile<T, S>>(&mut self, simd: S, row: usize, at: usize, distance: usize) -> usize {
        let start = at.min(self.source.width - X::width());
        if at == 0 {
            self.tile::<S, X, true>(simd, row, start, distance);
        } else {
            self.tile::<S, X, false>(simd, row, start, distance);
        }
        start + X::width()
    }
}

impl<T: Element, I: Index, R: Reducer<T>> WithSimd for Job<'_, T, I, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let (width, lanes, distance) = (self.source.width, T::Lanes::lanes::<S>(), self.source.distance());
        for row in self.rows.clone() {
            let mut at = 0;
            while at < width {
                // The smallest tile that covers the rest, if the row is as wide as it; else the largest that fits.
                let rest = width - at;
                let covers = |n: usize| rest > n / 2 * lanes && n * lanes <= width;
                at = if covers(8) {
                    self.place::<S, Vectors<T, V<T, S>, 8>>(simd, row, at, distance)
                } else if covers(4) {
                    self.place::<S, Vectors<T, V<T, S>, 4>>(simd, row, at, distance)
                } else if covers(2) {
                    self.place::<S, Vectors<T, V<T, S>, 2>>(simd, row, at, distance)
                } else if lanes <= width {
                    self.place::<S, Vectors<T, V<T, S>, 1>>(simd, row, at, distance)
                } else if width >= 8 {
                    self.place::<S, Few<T::Acc, 8>>(simd, row, at, distance)
                } else if width >= 4 {
                    self.place::<S, Few<T::Acc, 4>>(simd, row, at, distance)
                } else if width >= 2 {
                    self.place::<S, Few<T::Acc, 2>>(simd, row, at, distance)
                } else {
                    self.place::<S, Few<T::Acc, 1>>(simd, row, at, distance)
                };
            }
        }
    }
}

/// `out[s, :]` = all rows `idx[k]` (or `k`) of `source` for `k` in `ptr[s]..ptr[s + 1]`, combined in order.
pub(crate) fn reduce_rows<T: Element, I: Index, R: Reducer<T>>(
    reducer: R,
    ptr: &[I],
    idx: Option<&[I]>,
    source: Source<'_, T>,
    out: &mut [T],
) {
    let width = source.width;
    let ranges = by_elements(ptr, width);
    for_pieces(&ranges, out, &|r| r.len() * width, &|rows, out| {
        dispatch::<T, I, _>(Job { reducer, ptr, idx, source, rows, out });
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::bf16;
    use pulp::Arch;

    /// Segment sums and weighted sums of fractions on one instruction set.
    fn run<T: Element, S: Simd>(simd: S, data: &[T], width: usize) -> Vec<T> {
        let ptr = [0i32, 3, 3, 7];
        let idx = [4i32, 0, 2, 1, 1, 3, 0];
        let source = Source::new(data, width, "data");
        let mut out = vec![T::ZERO; 9 * width];
        let (a, rest) = out.split_at_mut(3 * width);
        let (b, c) = rest.split_at_mut(3 * width);
        let (ptr, idx, rows) = (&ptr[..], Some(&idx[..]), 0..3);
        let weights = Weighted::<T, i32> { values: data, perm: None };
        simd.vectorize(Job { reducer: weights, ptr, idx, source, rows: rows.clone(), out: a });
        simd.vectorize(Job { reducer: Sum, ptr, idx, source, rows: rows.clone(), out: b });
        simd.vectorize(Job { reducer: Any, ptr, idx, source, rows, out: c });
        out
    }

    fn every_instruction_set<T: Element>(of: impl Fn(f32) -> T) {
        for width in 2..140 {
            let data: Vec<T> = (0..5 * width).map(|k| of((k as f32 * 0.37).sin() * 50.0)).collect();
            let plain = run(pulp::Scalar, &data, width);
            // Whatever this machine has.
            struct Op<'a, T>(&'a [T], usize);
            impl<T: Element> WithSimd for Op<'_, T> {
                type Output = Vec<T>;
                fn with_simd<S: Simd>(self, simd: S) -> Vec<T> {
                    run(simd, self.0, self.1)
                }
            }
            assert_eq!(Arch::new().dispatch(Op(&data, width)), plain, "width {width}");
            #[cfg(target_arch = "x86_64")]
            if let Some(simd) = pulp::x86::V3::try_new() {
                assert_eq!(run(simd, &data, width), plain, "width {width} on AVX2");
            }
        }
    }

    #[test]
    fn same_bits_on_every_instruction_set() {
        every_instruction_set(|x| x);
        every_instruction_set(f64::from);
        every_instruction_set(bf16::from_f32);
        every_instruction_set(|x| x as i32);
    }
}
