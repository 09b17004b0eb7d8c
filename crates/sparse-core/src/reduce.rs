//! One traversal for all kernels that gather rows and combine them per segment: SpMM with a sum or an extremum, segment
//! sum, segment any.
//!
//! The output row of a segment is computed in register tiles. All source rows are read for the first tile of columns,
//! then again for the next tile; they are in the cache by then. Each output element is accumulated by one thread in the
//! order of the segment, so the result does not depend on the number of threads.

use crate::element::Ids;
use crate::element::Lanes;
use crate::par::for_pieces;
use crate::reducer::{Reducer, V};
use crate::source::{Source, prefetch};
use crate::{Element, Index, simd};
use core::marker::PhantomData;
use core::ops::Range;
use pulp::{Simd, WithSimd};

/// The factors of the source rows. The weight of element `k` is `values[perm[k]]`, or `values[k]` without a
/// permutation.
#[derive(Clone, Copy)]
pub(crate) struct Weights<'a, T> {
    pub(crate) values: &'a [T],
    pub(crate) perm: Option<Ids<'a>>,
}

impl<T: Element> Weights<'_, T> {
    #[inline(always)]
    pub(crate) fn at(&self, k: usize) -> T::Acc {
        self.values[self.perm.map_or(k, |perm| perm.at(k))].widen()
    }

    /// Prefetches the weight of element `k` if the weights are permuted. The hardware prefetches weights that are in
    /// order.
    #[inline(always)]
    pub(crate) fn prefetch(&self, k: usize) {
        if let Some(perm) = self.perm {
            prefetch(self.values, perm.peek(k));
        }
    }
}

/// [`Weights`] or `()`, which means no weights: nothing is multiplied. The choice is a type, because a branch in the
/// loop over a segment would prevent narrow rows from being vectorised.
pub(crate) trait Weigh<T: Element>: Copy + Sync {
    /// The weight of element `k`, if there are weights.
    fn weight(&self, k: usize) -> Option<T::Acc>;
    /// [`Weights::prefetch`].
    fn fetch(&self, k: usize);
}

impl<T: Element> Weigh<T> for Weights<'_, T> {
    #[inline(always)]
    fn weight(&self, k: usize) -> Option<T::Acc> {
        Some(self.at(k))
    }
    #[inline(always)]
    fn fetch(&self, k: usize) {
        self.prefetch(k);
    }
}

impl<T: Element> Weigh<T> for () {
    #[inline(always)]
    fn weight(&self, _: usize) -> Option<T::Acc> {
        None
    }
    #[inline(always)]
    fn fetch(&self, _: usize) {}
}

/// Adjacent output elements that are accumulated together in registers.
trait Tile<T: Element, S: Simd>: Copy {
    fn width() -> usize;
    fn init(simd: S, value: T::Acc) -> Self;
    fn step<R: Reducer<T>>(&mut self, simd: S, reducer: &R, factor: Option<T::Acc>, x: &[T]);
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
    fn step<R: Reducer<T>>(&mut self, simd: S, reducer: &R, factor: Option<T::Acc>, x: &[T]) {
        let lanes = T::Lanes::lanes::<S>();
        let x = &x[..N * lanes];
        if let Some(factor) = factor {
            let factor = T::Lanes::splat(simd, factor);
            for (j, acc) in self.0.iter_mut().enumerate() {
                let product = T::Lanes::mul(simd, factor, T::Lanes::load(simd, &x[j * lanes..]));
                *acc = reducer.step_lanes(simd, *acc, product);
            }
        } else {
            for (j, acc) in self.0.iter_mut().enumerate() {
                *acc = reducer.step_lanes(simd, *acc, T::Lanes::load(simd, &x[j * lanes..]));
            }
        }
    }
    #[inline(always)]
    fn store<R: Reducer<T>>(self, simd: S, reducer: &R, out: &mut [T]) {
        let lanes = T::Lanes::lanes::<S>();
        for j in 0..N {
            T::Lanes::store(simd, reducer.finish_lanes(simd, self.0[j]), &mut out[j * lanes..]);
        }
    }
}

/// `N` elements, fewer than the lanes of a native vector.
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
    fn step<R: Reducer<T>>(&mut self, _: S, reducer: &R, factor: Option<T::Acc>, x: &[T]) {
        let x = &x[..N];
        if let Some(factor) = factor {
            for (acc, x) in self.0.iter_mut().zip(x) {
                *acc = reducer.step(*acc, T::mul(factor, x.widen()));
            }
        } else {
            for (acc, x) in self.0.iter_mut().zip(x) {
                *acc = reducer.step(*acc, x.widen());
            }
        }
    }
    #[inline(always)]
    fn store<R: Reducer<T>>(self, _: S, reducer: &R, out: &mut [T]) {
        for (out, acc) in out[..N].iter_mut().zip(&self.0) {
            *out = T::narrow(reducer.finish(*acc));
        }
    }
}

/// The inputs of the traversal. Each tile works on a copy, so that the compiler knows that they do not change.
#[derive(Clone, Copy)]
struct Inputs<'a, T, R, W> {
    reducer: R,
    weights: W,
    idx: Option<Ids<'a>>,
    source: Source<'a, T>,
}

/// The segments `rows` and their part of the output.
struct Job<'a, T, R, W> {
    inputs: Inputs<'a, T, R, W>,
    ptr: Ids<'a>,
    rows: Range<usize>,
    out: &'a mut [T],
}

impl<T: Element, R: Reducer<T>, W: Weigh<T>> Inputs<'_, T, R, W> {
    /// Prefetches the weight of element `k` and its source row `i`.
    #[inline(always)]
    fn prefetch(&self, k: usize, i: usize) {
        self.source.prefetch(i);
        self.weights.fetch(k);
    }

    /// Adds element `k` of a segment to the tile: source row `i`, from column `start` on.
    #[inline(always)]
    fn step<S: Simd, X: Tile<T, S>>(&self, simd: S, tile: &mut X, k: usize, i: usize, start: usize) {
        let factor = self.weights.weight(k).map(|weight| self.reducer.factor(weight));
        tile.step(simd, &self.reducer, factor, &self.source.row(i)[start..]);
    }
}

impl<T: Element, R: Reducer<T>, W: Weigh<T>> Job<'_, T, R, W> {
    /// Computes one tile of the segment `elements`: the columns from `at` on. If the tile does not fit there, it starts
    /// further left; columns that are computed twice get the same bits. Returns where the next tile starts.
    #[inline(always)]
    fn tile<S: Simd, X: Tile<T, S>>(&mut self, simd: S, row: usize, elements: Range<usize>, at: usize) -> usize {
        let inputs = self.inputs;
        let (width, distance) = (inputs.source.width(), inputs.source.distance());
        let start = at.min(width - X::width());
        let mut tile = X::init(simd, inputs.reducer.start(elements.is_empty()));
        match inputs.idx {
            Some(Ids::I32(idx)) => {
                for (k, i) in elements.clone().zip(&idx[elements]) {
                    // The rows are in the cache after the first tile.
                    if at == 0
                        && let Some(next) = idx.get(k + distance)
                    {
                        inputs.prefetch(k + distance, next.to_usize());
                    }
                    inputs.step(simd, &mut tile, k, i.to_usize(), start);
                }
            }
            idx => {
                for k in elements {
                    inputs.step(simd, &mut tile, k, idx.map_or(k, |idx| idx.at(k)), start);
                }
            }
        }
        let first = (row - self.rows.start) * width;
        tile.store(simd, &inputs.reducer, &mut self.out[first + start..]);
        start + X::width()
    }

    /// Rows narrower than a native vector. On AVX-512 they may fill the shorter vectors of AVX2.
    #[inline(never)]
    fn narrow(self) {
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new()
            && self.inputs.source.width() >= T::Lanes::lanes::<pulp::x86::V3>()
        {
            return Simd::vectorize(simd, self);
        }
        simd::on_two(Narrow(self));
    }
}

/// A job of rows that are narrower than a native vector.
struct Narrow<'a, T, R, W>(Job<'a, T, R, W>);

impl<T: Element, R: Reducer<T>, W: Weigh<T>> WithSimd for Narrow<'_, T, R, W> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self(mut job) = self;
        let width = job.inputs.source.width();
        for row in job.rows.clone() {
            let elements = job.ptr.span(row);
            let mut at = 0;
            while at < width {
                let elements = elements.clone();
                at = if width >= 4 {
                    job.tile::<S, Few<T::Acc, 4>>(simd, row, elements, at)
                } else if width >= 2 {
                    job.tile::<S, Few<T::Acc, 2>>(simd, row, elements, at)
                } else {
                    job.tile::<S, Few<T::Acc, 1>>(simd, row, elements, at)
                };
            }
        }
    }
}

impl<T: Element, R: Reducer<T>, W: Weigh<T>> WithSimd for Job<'_, T, R, W> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let (width, lanes) = (self.inputs.source.width(), T::Lanes::lanes::<S>());
        if width < lanes {
            return self.narrow();
        }
        for row in self.rows.clone() {
            let elements = self.ptr.span(row);
            let mut at = 0;
            while at < width {
                // The smallest tile that covers the remaining columns, if the row is at least that wide; else the
                // largest tile that fits.
                let rest = width - at;
                let covers = |n: usize| rest > n / 2 * lanes && n * lanes <= width;
                let elements = elements.clone();
                at = if covers(8) {
                    self.tile::<S, Vectors<T, V<T, S>, 8>>(simd, row, elements, at)
                } else if covers(4) {
                    self.tile::<S, Vectors<T, V<T, S>, 4>>(simd, row, elements, at)
                } else if covers(2) {
                    self.tile::<S, Vectors<T, V<T, S>, 2>>(simd, row, elements, at)
                } else {
                    self.tile::<S, Vectors<T, V<T, S>, 1>>(simd, row, elements, at)
                };
            }
        }
    }
}

/// `out[s, :]` = the rows `idx[k]` (or `k`) of `source` for `k` in `ptr[s]..ptr[s + 1]`, combined in order.
pub(crate) fn reduce_rows<T: Element, R: Reducer<T>, W: Weigh<T>>(
    reducer: R,
    weights: W,
    ptr: Ids<'_>,
    idx: Option<Ids<'_>>,
    source: Source<'_, T>,
    out: &mut [T],
) {
    let width = source.width();
    for_pieces(&ptr.cuts(width), out, &|r| r.len() * width, &|rows, out| {
        T::dispatch(Job { inputs: Inputs { reducer, weights, idx, source }, ptr, rows, out });
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reducer::{Extreme, Sum};
    use half::bf16;
    use pulp::Arch;

    /// Weighted sums, sums and maxima of fractions on one instruction set.
    fn run<T: Element, S: Simd>(simd: S, data: &[T], width: usize) -> Vec<T> {
        let ptr = [0i32, 3, 3, 7];
        let idx = [4i32, 0, 2, 1, 1, 3, 0];
        let source = Source::new(data, width, "data");
        let mut out = vec![T::ZERO; 9 * width];
        let (a, rest) = out.split_at_mut(3 * width);
        let (b, c) = rest.split_at_mut(3 * width);
        let (ptr, idx) = (Ids::I32(&ptr), Some(Ids::I32(&idx)));
        let weights = Weights { values: data, perm: None };
        let (largest, rows) = (Extreme::largest::<T>(), || 0..3);
        simd.vectorize(Job { inputs: Inputs { reducer: Sum, weights, idx, source }, ptr, rows: rows(), out: a });
        simd.vectorize(Job { inputs: Inputs { reducer: Sum, weights: (), idx, source }, ptr, rows: rows(), out: b });
        simd.vectorize(Job {
            inputs: Inputs { reducer: largest, weights: (), idx, source },
            ptr,
            rows: rows(),
            out: c,
        });
        out
    }

    fn every_instruction_set<T: Element>(of: impl Fn(f32) -> T) {
        for width in 2..140 {
            let data: Vec<T> = (0..5 * width).map(|k| of((k as f32 * 0.37).sin() * 50.0)).collect();
            let plain = run(pulp::Scalar, &data, width);
            // The best instruction set of this machine.
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
