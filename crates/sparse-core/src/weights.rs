//! The factors of the source rows of a segment: none, one for each row, or one for each head.

use crate::Element;
use crate::element::{Ids, Lanes};
use crate::reducer::{Reducer, V};
use crate::source::{NEAR, prefetch};
use core::iter::Empty;
use core::ops::Range;
use pulp::Simd;

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

/// The factors of the source rows for several heads: `heads` weights for each element, next to each other. The columns
/// of a source row are cut into as many parts of the same width. Weight `h` multiplies part `h`.
#[derive(Clone, Copy)]
pub(crate) struct Heads<'a, T> {
    weights: Weights<'a, T>,
    heads: usize,
    /// Columns of a head.
    width: usize,
}

impl<'a, T> Heads<'a, T> {
    /// `columns` is the width of a source row, a multiple of `heads >= 1`.
    pub(crate) fn new(weights: Weights<'a, T>, heads: usize, columns: usize) -> Self {
        Self { weights, heads, width: columns / heads }
    }
}

/// [`Weights`], [`Heads`], or `()`, which means no weights: nothing is multiplied. The choice is a type, because a
/// branch in the loop over a segment would prevent narrow rows from being vectorised.
pub(crate) trait Weigh<T: Element>: Copy + Sync {
    /// The weights of an element.
    type Own: Copy;
    /// Whether products are compiled for AVX-512.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    const ON_AVX512: bool = T::IS_FLOAT;
    /// Whether products are compiled for AVX2.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    const ON_AVX2: bool = true;

    /// The weights of element `k`.
    fn own(&self, k: usize) -> Self::Own;
    /// Those of these elements, if they are next to each other.
    #[inline(always)]
    fn in_order(&self, _: Range<usize>) -> Option<impl Iterator<Item = Self::Own>> {
        None::<Empty<Self::Own>>
    }
    /// [`Weights::prefetch`].
    fn fetch(&self, k: usize);
    /// Whether it is worth the time: they are permuted, and not in a near cache.
    fn is_far(&self) -> bool;
    /// Columns of a source row that tiles share. A tile must not reach beyond them. `lanes` is the width of a vector.
    fn span(&self, columns: usize, lanes: usize) -> usize;
    /// Which of its element's weights a column has.
    fn place(&self, column: usize) -> usize;
    /// The product of a vector of a source row. Its first column has the weight `place`.
    fn times<R: Reducer<T>, S: Simd>(&self, simd: S, reducer: &R, own: Self::Own, place: usize, x: V<T, S>) -> V<T, S>;
    /// The product of column `j` of several whose first one has the weight `place`.
    fn times_one<R: Reducer<T>>(&self, reducer: &R, own: Self::Own, place: usize, j: usize, x: T::Acc) -> T::Acc;
}

impl<T: Element> Weigh<T> for Weights<'_, T> {
    type Own = T::Acc;

    #[inline(always)]
    fn own(&self, k: usize) -> T::Acc {
        self.at(k)
    }
    #[inline(always)]
    fn in_order(&self, elements: Range<usize>) -> Option<impl Iterator<Item = T::Acc>> {
        self.perm.is_none().then(|| self.values[elements].iter().map(|x| x.widen()))
    }
    #[inline(always)]
    fn fetch(&self, k: usize) {
        self.prefetch(k);
    }
    #[inline(always)]
    fn is_far(&self) -> bool {
        self.perm.is_some() && size_of_val(self.values) > NEAR
    }
    #[inline(always)]
    fn span(&self, columns: usize, _: usize) -> usize {
        columns
    }
    #[inline(always)]
    fn place(&self, _: usize) -> usize {
        0
    }
    #[inline(always)]
    fn times<R: Reducer<T>, S: Simd>(&self, simd: S, reducer: &R, own: T::Acc, _: usize, x: V<T, S>) -> V<T, S> {
        reducer.term_lanes(simd, T::Lanes::splat(simd, reducer.factor(own)), x)
    }
    #[inline(always)]
    fn times_one<R: Reducer<T>>(&self, reducer: &R, own: T::Acc, _: usize, _: usize, x: T::Acc) -> T::Acc {
        reducer.term(reducer.factor(own), x)
    }
}

impl<'a, T: Element> Weigh<T> for Heads<'a, T> {
    type Own = &'a [T];
    /// Heads are narrow, so longer vectors than those of AVX2 would not pay for their compilation.
    const ON_AVX512: bool = false;
    /// Integers with heads are rare.
    const ON_AVX2: bool = T::IS_FLOAT;

    #[inline(always)]
    fn own(&self, k: usize) -> &'a [T] {
        let Weights { values, perm } = self.weights;
        &values[perm.map_or(k, |perm| perm.at(k)).saturating_mul(self.heads)..][..self.heads]
    }
    #[inline(always)]
    fn fetch(&self, k: usize) {
        if let Some(perm) = self.weights.perm {
            prefetch(self.weights.values, perm.peek(k).saturating_mul(self.heads));
        }
    }
    #[inline(always)]
    fn is_far(&self) -> bool {
        self.weights.is_far()
    }
    /// All columns, if every vector has one weight, or each of its columns a weight of its own.
    #[inline(always)]
    fn span(&self, columns: usize, lanes: usize) -> usize {
        if self.width == 1 || self.width.is_multiple_of(lanes) { columns } else { self.width }
    }
    #[inline(always)]
    fn place(&self, column: usize) -> usize {
        column / self.width
    }
    #[inline(always)]
    fn times<R: Reducer<T>, S: Simd>(&self, simd: S, reducer: &R, own: &'a [T], place: usize, x: V<T, S>) -> V<T, S> {
        let factor = if self.width == 1 {
            reducer.factor_lanes(simd, T::Lanes::load(simd, &own[place..]))
        } else {
            T::Lanes::splat(simd, reducer.factor(own[place].widen()))
        };
        reducer.term_lanes(simd, factor, x)
    }
    #[inline(always)]
    fn times_one<R: Reducer<T>>(&self, reducer: &R, own: &'a [T], place: usize, j: usize, x: T::Acc) -> T::Acc {
        let place = if self.width == 1 { place + j } else { place };
        reducer.term(reducer.factor(own[place].widen()), x)
    }
}

impl<T: Element> Weigh<T> for () {
    type Own = ();

    #[inline(always)]
    fn own(&self, _: usize) {}
    #[inline(always)]
    fn fetch(&self, _: usize) {}
    #[inline(always)]
    fn is_far(&self) -> bool {
        false
    }
    #[inline(always)]
    fn span(&self, columns: usize, _: usize) -> usize {
        columns
    }
    #[inline(always)]
    fn place(&self, _: usize) -> usize {
        0
    }
    #[inline(always)]
    fn times<R: Reducer<T>, S: Simd>(&self, _: S, _: &R, (): (), _: usize, x: V<T, S>) -> V<T, S> {
        x
    }
    #[inline(always)]
    fn times_one<R: Reducer<T>>(&self, _: &R, (): (), _: usize, _: usize, x: T::Acc) -> T::Acc {
        x
    }
}
