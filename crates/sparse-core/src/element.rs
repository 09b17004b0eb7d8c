//! The types that kernels are generic over: the element with its SIMD vectors, and the index.

use crate::bits::OfBits;
use core::fmt::{Debug, Display};
use pulp::{Simd, WithSimd};
use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A value that kernels can add, multiply and order.
///
/// Sums are accumulated in [`Acc`](Element::Acc): f32 for f16 and bf16, the type itself otherwise. Integer arithmetic
/// wraps, as in Burn.
pub trait Element: OfBits + Copy + Default + PartialEq + PartialOrd + Debug + Display + Send + Sync + 'static {
    /// Type that sums and products are accumulated in.
    type Acc: Element<Acc = Self::Acc>;

    /// The SIMD vectors of the accumulator.
    #[doc(hidden)]
    type Lanes: Lanes<Self>;

    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// Zero of the accumulator.
    const ACC_ZERO: Self::Acc;
    /// One of the accumulator.
    const ACC_ONE: Self::Acc;
    /// Smallest value of the accumulator.
    const ACC_LOWEST: Self::Acc;
    /// Whether sums and products are accumulated in the type itself.
    const EXACT: bool = size_of::<Self>() == size_of::<Self::Acc>();
    /// Whether the type is a float.
    const IS_FLOAT: bool;
    /// Smallest value: minus infinity for floats.
    const LOWEST: Self;
    /// Largest value: infinity for floats.
    const HIGHEST: Self;

    /// Widens to the accumulator.
    fn widen(self) -> Self::Acc;
    /// Rounds the accumulator to the element type.
    fn narrow(acc: Self::Acc) -> Self;
    /// The accumulator rounded to a value of the element type: `widen(narrow(acc))`, without branches.
    fn round(acc: Self::Acc) -> Self::Acc;
    /// `a + b`.
    fn add(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// `a - b`.
    fn sub(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// `a * b`.
    fn mul(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// `a / b`; integers round towards minus infinity.
    fn div(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// A count as an accumulator.
    fn from_count(n: usize) -> Self::Acc;
    /// Runs a kernel on an instruction set that it is compiled for.
    #[doc(hidden)]
    fn dispatch<J: WithSimd>(job: J) -> J::Output;
    /// Whether the value is NaN.
    fn is_nan(self) -> bool {
        #[allow(clippy::eq_op)]
        {
            self != self
        }
    }
}

/// A float. Its exponential is computed in [`Acc`](Element::Acc).
pub trait Float: Element {
    /// `e^x` of each number.
    fn exp_all(list: &mut [Self::Acc]);
    /// `e^x`.
    fn exp(x: Self::Acc) -> Self::Acc;
    /// `e^x - 1` for `x <= 0`, without cancellation near zero.
    fn exp_m1(x: Self::Acc) -> Self::Acc;
    /// The square root.
    fn sqrt(x: Self::Acc) -> Self::Acc;
    /// The number as f64, for sums of many terms.
    fn wide(x: Self::Acc) -> f64;
    /// The nearest number of the accumulator's type.
    fn nearest(sum: f64) -> Self::Acc;
}

/// Vectors that hold [`Element::Acc`] of `T`.
pub trait Lanes<T: Element>: 'static {
    /// A vector.
    type V<S: Simd>: Copy;
    /// Number of lanes of `V<S>`.
    fn lanes<S: Simd>() -> usize;
    /// All lanes `x`.
    fn splat<S: Simd>(simd: S, x: T::Acc) -> Self::V<S>;
    /// Widens the first `lanes` elements of `x`.
    fn load<S: Simd>(simd: S, x: &[T]) -> Self::V<S>;
    /// The first `lanes` accumulators of `x`.
    fn load_acc<S: Simd>(simd: S, x: &[T::Acc]) -> Self::V<S>;
    /// Like [`load`](Lanes::load), with `other` from element `len` on. `x` must still hold `lanes` elements.
    fn load_head<S: Simd>(simd: S, x: &[T], len: usize, other: T::Acc) -> Self::V<S>;
    /// The sum of all lanes. The upper half is added to the lower half until one lane is left.
    fn sum<S: Simd>(simd: S, a: Self::V<S>) -> T::Acc;
    /// The largest lane, if none is NaN.
    fn largest<S: Simd>(simd: S, a: Self::V<S>) -> T::Acc;
    /// `a + b`.
    fn add<S: Simd>(simd: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S>;
    /// `a * b`, rounded.
    fn mul<S: Simd>(simd: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S>;
    /// The maximum; NaN if either is NaN.
    fn max<S: Simd>(simd: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S>;
    /// Rounds into the first `lanes` elements of `out`.
    fn store<S: Simd>(simd: S, v: Self::V<S>, out: &mut [T]);
    /// Writes the lanes without rounding into the first `lanes` elements of `out`.
    fn store_acc<S: Simd>(simd: S, v: Self::V<S>, out: &mut [T::Acc]);
}

/// A list of indices. Each access checks the index type, at the cost of a branch that is always predicted.
#[derive(Clone, Copy, Debug)]
pub enum Ids<'a> {
    /// Of `i32`.
    I32(&'a [i32]),
    /// Of `i64`.
    I64(&'a [i64]),
}

static NARROW: AtomicUsize = AtomicUsize::new(i32::MAX as usize);

/// The largest number that an index of 32 bits may be: `i32::MAX`, except in a test.
#[doc(hidden)]
pub fn narrow_limit() -> usize {
    NARROW.load(Ordering::Relaxed)
}

/// For tests: 32-bit indices end at `limit`, in the whole process. So small tensors take the code paths of those
/// that need 64 bits.
#[doc(hidden)]
pub fn set_narrow_limit(limit: usize) {
    NARROW.store(limit.min(i32::MAX as usize), Ordering::Relaxed);
}

/// An index type: i32 or i64.
pub trait Index: bytemuck::Pod + Default + Ord + Debug + Display + Send + Sync + 'static {
    /// Largest index that fits, as a `usize`.
    const MAX: usize;

    /// The largest number that a kernel may count or address with it: [`Index::MAX`], except in a test.
    #[doc(hidden)]
    fn limit() -> usize {
        if size_of::<Self>() == size_of::<i32>() { narrow_limit() } else { Self::MAX }
    }

    /// To `usize`. A negative index becomes a value larger than any length, so that a slice access panics.
    fn to_usize(self) -> usize;
    /// The index without its sign, in one instruction for a whole vector: a negative one becomes larger than
    /// [`Index::MAX`].
    #[doc(hidden)]
    fn place(self) -> usize;
    /// To `i64`, for messages and signed arithmetic.
    fn to_i64(self) -> i64;
    /// From an `i64`. One that does not fit wraps, as a cast in Burn does.
    fn from_i64(n: i64) -> Self;
    /// From a `usize` that must fit. Callers check sizes first.
    fn from_usize(n: usize) -> Self;
    /// The indices as i32, without a copy if they are i32. An index that does not fit i32 becomes -1, which is out of
    /// any range.
    #[doc(hidden)]
    fn narrow(list: &[Self]) -> Cow<'_, [i32]>;
    /// Runs a kernel over elements `T` on an instruction set that it is compiled for.
    #[doc(hidden)]
    fn dispatch<T: Element, J: WithSimd>(job: J) -> J::Output;
    /// Converts a list of i32.
    #[doc(hidden)]
    fn widen(list: Vec<i32>) -> Vec<Self>;
    /// The indices without their type.
    #[doc(hidden)]
    fn list(list: &[Self]) -> Ids<'_>;
}
