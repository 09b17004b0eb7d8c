//! How the rows of a segment are combined: their sum, or the largest or smallest of each element.

use crate::Element;
use crate::element::Lanes;
use crate::lanes::acc_max;
use crate::sums::minus_zero;
use pulp::Simd;

/// A vector of accumulators.
pub(crate) type V<T, S> = <<T as Element>::Lanes as Lanes<T>>::V<S>;

/// How weighted source rows are combined.
pub(crate) trait Reducer<T: Element>: Copy + Sync {
    /// Whether the order of the steps changes the result, so that long segments are taken in blocks.
    const ROUNDS: bool;

    /// The initial accumulator of a segment. The result of an empty segment is `finish(start(true))`.
    fn start(&self, empty: bool) -> T::Acc;
    /// The factor of the source row for a given weight. Without weights the source row itself is the product.
    fn factor(&self, weight: T::Acc) -> T::Acc;
    /// The same on vectors.
    fn factor_lanes<S: Simd>(&self, simd: S, weights: V<T, S>) -> V<T, S>;
    /// The product of a factor and an element of a source row, or what takes its place.
    #[inline(always)]
    fn term(&self, factor: T::Acc, x: T::Acc) -> T::Acc {
        T::mul(factor, x)
    }
    /// The same on vectors.
    #[inline(always)]
    fn term_lanes<S: Simd>(&self, simd: S, factor: V<T, S>, x: V<T, S>) -> V<T, S> {
        T::Lanes::mul(simd, factor, x)
    }
    /// The term of a result, to combine it with other results of its segment.
    #[inline(always)]
    fn again(&self, result: T::Acc) -> T::Acc {
        T::mul(self.factor(T::ACC_ONE), result)
    }
    /// The accumulator after a product.
    fn step(&self, acc: T::Acc, product: T::Acc) -> T::Acc;
    /// The same on vectors.
    fn step_lanes<S: Simd>(&self, simd: S, acc: V<T, S>, product: V<T, S>) -> V<T, S>;
    /// The result of a segment, computed from its accumulator.
    fn finish(&self, acc: T::Acc) -> T::Acc;
    /// The same on vectors.
    fn finish_lanes<S: Simd>(&self, simd: S, acc: V<T, S>) -> V<T, S>;
}

/// The sum.
#[derive(Clone, Copy)]
pub(crate) enum Sum {
    /// Of stored elements, from -0: so a single element keeps its sign, also of a zero.
    Elements,
    /// Of products, from +0, as if those with elements that are not stored were added.
    Products,
}

impl<T: Element> Reducer<T> for Sum {
    const ROUNDS: bool = T::IS_FLOAT;

    #[inline(always)]
    fn start(&self, empty: bool) -> T::Acc {
        match self {
            Self::Elements if !empty => minus_zero::<T>(),
            _ => T::ACC_ZERO,
        }
    }
    #[inline(always)]
    fn factor(&self, weight: T::Acc) -> T::Acc {
        weight
    }
    #[inline(always)]
    fn factor_lanes<S: Simd>(&self, _: S, weights: V<T, S>) -> V<T, S> {
        weights
    }
    #[inline(always)]
    fn step(&self, acc: T::Acc, product: T::Acc) -> T::Acc {
        T::add(acc, product)
    }
    #[inline(always)]
    fn step_lanes<S: Simd>(&self, simd: S, acc: V<T, S>, product: V<T, S>) -> V<T, S> {
        T::Lanes::add(simd, acc, product)
    }
    #[inline(always)]
    fn finish(&self, acc: T::Acc) -> T::Acc {
        acc
    }
    #[inline(always)]
    fn finish_lanes<S: Simd>(&self, _: S, acc: V<T, S>) -> V<T, S> {
        acc
    }
}

/// The largest or smallest product, computed as `flip(max(flip(product)))`. `flip` is its own inverse. It is the
/// identity, or it reverses the order: `-p` for floats, `!p = -p - 1` for integers, whose smallest value has no `-p`.
///
/// With `SUM` of sums in place of products. The result of an empty segment is then what no sum changes: the lowest
/// number of a maximum, the highest of a minimum; for floats an infinity.
#[derive(Clone, Copy)]
pub(crate) struct Extreme<A, const SUM: bool = false> {
    sign: A,
    offset: A,
}

impl<A: Copy> Extreme<A> {
    pub(crate) fn largest<T: Element<Acc = A>>() -> Self {
        Self { sign: T::ACC_ONE, offset: T::ACC_ZERO }
    }

    pub(crate) fn smallest<T: Element<Acc = A>>() -> Self {
        let minus = T::sub(T::ACC_ZERO, T::ACC_ONE);
        Self { sign: minus, offset: if T::IS_FLOAT { T::ACC_ZERO } else { minus } }
    }

    pub(crate) fn of_sums(self) -> Extreme<A, true> {
        Extreme { sign: self.sign, offset: self.offset }
    }
}

impl<A: Copy, const SUM: bool> Extreme<A, SUM> {
    #[inline(always)]
    fn shift<T: Element<Acc = A>>(&self, signed: A) -> A {
        if T::IS_FLOAT { signed } else { T::add(signed, self.offset) }
    }

    #[inline(always)]
    fn shift_lanes<T: Element<Acc = A>, S: Simd>(&self, simd: S, signed: V<T, S>) -> V<T, S> {
        if T::IS_FLOAT { signed } else { T::Lanes::add(simd, signed, T::Lanes::splat(simd, self.offset)) }
    }
}

impl<T: Element, const SUM: bool> Reducer<T> for Extreme<T::Acc, SUM> {
    const ROUNDS: bool = false;

    #[inline(always)]
    fn start(&self, empty: bool) -> T::Acc {
        if empty && !SUM { Reducer::<T>::finish(self, T::ACC_ZERO) } else { T::ACC_LOWEST }
    }
    #[inline(always)]
    fn factor(&self, weight: T::Acc) -> T::Acc {
        if SUM { weight } else { T::mul(self.sign, weight) }
    }
    #[inline(always)]
    fn factor_lanes<S: Simd>(&self, simd: S, weights: V<T, S>) -> V<T, S> {
        if SUM { weights } else { T::Lanes::mul(simd, T::Lanes::splat(simd, self.sign), weights) }
    }
    #[inline(always)]
    fn term(&self, factor: T::Acc, x: T::Acc) -> T::Acc {
        if SUM { T::mul(self.sign, T::add(factor, x)) } else { T::mul(factor, x) }
    }
    #[inline(always)]
    fn term_lanes<S: Simd>(&self, simd: S, factor: V<T, S>, x: V<T, S>) -> V<T, S> {
        match SUM {
            true => T::Lanes::mul(simd, T::Lanes::splat(simd, self.sign), T::Lanes::add(simd, factor, x)),
            false => T::Lanes::mul(simd, factor, x),
        }
    }
    #[inline(always)]
    fn again(&self, result: T::Acc) -> T::Acc {
        T::mul(self.sign, result)
    }
    #[inline(always)]
    fn step(&self, acc: T::Acc, product: T::Acc) -> T::Acc {
        acc_max(acc, self.shift::<T>(product))
    }
    #[inline(always)]
    fn step_lanes<S: Simd>(&self, simd: S, acc: V<T, S>, product: V<T, S>) -> V<T, S> {
        T::Lanes::max(simd, acc, self.shift_lanes::<T, S>(simd, product))
    }
    #[inline(always)]
    fn finish(&self, acc: T::Acc) -> T::Acc {
        self.shift::<T>(T::mul(self.sign, acc))
    }
    #[inline(always)]
    fn finish_lanes<S: Simd>(&self, simd: S, acc: V<T, S>) -> V<T, S> {
        self.shift_lanes::<T, S>(simd, T::Lanes::mul(simd, T::Lanes::splat(simd, self.sign), acc))
    }
}
