//! Parts of an output row that are accumulated in registers.

use crate::Element;
use crate::element::Lanes;
use crate::reducer::{Reducer, V};
use crate::weights::Weigh;
use core::marker::PhantomData;
use core::ops::Range;
use pulp::Simd;

/// Adjacent output elements that are accumulated together in registers.
pub(crate) trait Tile<T: Element, S: Simd>: Copy {
    /// The weight of each vector of the tile, see [`Weigh::place`].
    type Places: Copy;

    /// The fewest and the most columns that it has.
    fn widths() -> (usize, usize);
    fn init(simd: S, value: T::Acc) -> Self;
    /// The places of the tile that has these columns.
    fn places<W: Weigh<T>>(weights: &W, columns: Range<usize>) -> Self::Places;
    /// Adds a row, of which `x` has the columns of the tile.
    fn step<R: Reducer<T>, W: Weigh<T>>(
        &mut self,
        simd: S,
        reducer: &R,
        weights: &W,
        own: W::Own,
        places: Self::Places,
        x: &[T],
    );
    /// Writes the results. `out` has the columns of the tile.
    fn store<R: Reducer<T>>(self, simd: S, reducer: &R, out: &mut [T]);
    /// Writes the accumulators.
    fn keep(self, simd: S, out: &mut [T::Acc]);
}

/// `N` native vectors.
#[derive(Clone, Copy)]
pub(crate) struct Vectors<T, X, const N: usize>([X; N], PhantomData<T>);

impl<T: Element, S: Simd, const N: usize> Tile<T, S> for Vectors<T, V<T, S>, N> {
    type Places = [usize; N];

    #[inline(always)]
    fn widths() -> (usize, usize) {
        let width = N * T::Lanes::lanes::<S>();
        (width, width)
    }
    #[inline(always)]
    fn init(simd: S, value: T::Acc) -> Self {
        Self([T::Lanes::splat(simd, value); N], PhantomData)
    }
    #[inline(always)]
    fn places<W: Weigh<T>>(weights: &W, columns: Range<usize>) -> [usize; N] {
        core::array::from_fn(|j| weights.place(columns.start + j * T::Lanes::lanes::<S>()))
    }
    #[inline(always)]
    fn step<R: Reducer<T>, W: Weigh<T>>(
        &mut self,
        simd: S,
        reducer: &R,
        weights: &W,
        own: W::Own,
        places: [usize; N],
        x: &[T],
    ) {
        let lanes = T::Lanes::lanes::<S>();
        let x = &x[..N * lanes];
        for (j, acc) in self.0.iter_mut().enumerate() {
            let x = T::Lanes::load(simd, &x[j * lanes..]);
            *acc = reducer.step_lanes(simd, *acc, weights.times(simd, reducer, own, places[j], x));
        }
    }
    #[inline(always)]
    fn store<R: Reducer<T>>(self, simd: S, reducer: &R, out: &mut [T]) {
        let lanes = T::Lanes::lanes::<S>();
        for j in 0..N {
            T::Lanes::store(simd, reducer.finish_lanes(simd, self.0[j]), &mut out[j * lanes..]);
        }
    }
    #[inline(always)]
    fn keep(self, simd: S, out: &mut [T::Acc]) {
        let lanes = T::Lanes::lanes::<S>();
        for j in 0..N {
            T::Lanes::store_acc(simd, self.0[j], &mut out[j * lanes..]);
        }
    }
}

/// `N` elements, fewer than the lanes of a native vector.
#[derive(Clone, Copy)]
pub(crate) struct Few<A, const N: usize>([A; N]);

impl<T: Element, S: Simd, const N: usize> Tile<T, S> for Few<T::Acc, N> {
    type Places = usize;

    #[inline(always)]
    fn widths() -> (usize, usize) {
        (N, N)
    }
    #[inline(always)]
    fn init(_: S, value: T::Acc) -> Self {
        Self([value; N])
    }
    #[inline(always)]
    fn places<W: Weigh<T>>(weights: &W, columns: Range<usize>) -> usize {
        weights.place(columns.start)
    }
    #[inline(always)]
    fn step<R: Reducer<T>, W: Weigh<T>>(&mut self, _: S, reducer: &R, weights: &W, own: W::Own, place: usize, x: &[T]) {
        for (j, (acc, x)) in self.0.iter_mut().zip(&x[..N]).enumerate() {
            *acc = reducer.step(*acc, weights.times_one(reducer, own, place, j, x.widen()));
        }
    }
    #[inline(always)]
    fn store<R: Reducer<T>>(self, _: S, reducer: &R, out: &mut [T]) {
        for (out, acc) in out[..N].iter_mut().zip(&self.0) {
            *out = T::narrow(reducer.finish(*acc));
        }
    }
    #[inline(always)]
    fn keep(self, _: S, out: &mut [T::Acc]) {
        out[..N].copy_from_slice(&self.0);
    }
}

/// Two tiles. The second one ends where the columns do, so the two overlap unless there are twice as many as one has.
/// Columns of both are computed twice, with the same bits. That costs less than a pass over the elements for the rest.
#[derive(Clone, Copy)]
pub(crate) struct Pair<X>([X; 2]);

impl<T: Element, S: Simd, X: Tile<T, S>> Tile<T, S> for Pair<X> {
    /// Those of each, and where the second one starts.
    type Places = ([X::Places; 2], usize);

    #[inline(always)]
    fn widths() -> (usize, usize) {
        let (width, _) = X::widths();
        (width, 2 * width)
    }
    #[inline(always)]
    fn init(simd: S, value: T::Acc) -> Self {
        Self([X::init(simd, value); 2])
    }
    #[inline(always)]
    fn places<W: Weigh<T>>(weights: &W, columns: Range<usize>) -> Self::Places {
        let (width, _) = X::widths();
        let second = columns.end - width;
        let places = [columns.start, second].map(|start| X::places(weights, start..start + width));
        (places, second - columns.start)
    }
    #[inline(always)]
    fn step<R: Reducer<T>, W: Weigh<T>>(
        &mut self,
        simd: S,
        reducer: &R,
        weights: &W,
        own: W::Own,
        ([first, second], start): Self::Places,
        x: &[T],
    ) {
        self.0[0].step(simd, reducer, weights, own, first, x);
        self.0[1].step(simd, reducer, weights, own, second, &x[start..]);
    }
    #[inline(always)]
    fn store<R: Reducer<T>>(self, simd: S, reducer: &R, out: &mut [T]) {
        let (width, _) = X::widths();
        let second = out.len() - width;
        self.0[0].store(simd, reducer, out);
        self.0[1].store(simd, reducer, &mut out[second..]);
    }
    #[inline(always)]
    fn keep(self, simd: S, out: &mut [T::Acc]) {
        let (width, _) = X::widths();
        let second = out.len() - width;
        self.0[0].keep(simd, out);
        self.0[1].keep(simd, &mut out[second..]);
    }
}
