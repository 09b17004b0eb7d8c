//! What kernels are generic over: the element with its vectors, and the index.

use crate::bits::OfBits;
use core::fmt::{Debug, Display};
use pulp::{Simd, WithSimd};
use std::borrow::Cow;

/// A value that kernels can add, multiply and order.
///
/// Sums run in [`Acc`](Element::Acc): f32 for f16 and bf16, the type itself otherwise. Integers wrap, as Burn's do.
pub trait Element: OfBits + Copy + Default + PartialEq + PartialOrd + Debug + Display + Send + Sync + 'static {
    /// Type that sums and products are accumulated in.
    type Acc: Copy + Default + PartialEq + PartialOrd + Debug + Send + Sync + 'static;

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
    /// Whether sums and products run in the type itself.
    const EXACT: bool = size_of::<Self>() == size_of::<Self::Acc>();
    /// Whether the type is a float.
    const IS_FLOAT: bool;
    /// Smallest value: minus infinity for floats.
    const LOWEST: Self;
    /// Largest value: infinity for floats.
    const HIGHEST: Self;

    /// Widens to the accumulator.
    fn widen(self) -> Self::Acc;
    /// Rounds the accumulator back.
    fn narrow(acc: Self::Acc) -> Self;
    /// The accumulator rounded to a value that the type has: `widen(narrow(acc))`, without branches.
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
    /// The same with zeros from element `len` on; `x` holds `lanes` elements all the same.
    fn load_head<S: Simd>(simd: S, x: &[T], len: usize) -> Self::V<S>;
    /// The sum of all lanes: the upper half added to the lower one until one is left.
    fn sum<S: Simd>(simd: S, a: Self::V<S>) -> T::Acc;
    /// `a + b`.
    fn add<S: Simd>(simd: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S>;
    /// `a * b`, rounded.
    fn mul<S: Simd>(simd: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S>;
    /// The larger one; NaN wins.
    fn max<S: Simd>(simd: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S>;
    /// Rounds into the first `lanes` elements of `out`.
    fn store<S: Simd>(simd: S, v: Self::V<S>, out: &mut [T]);
    /// Writes the first `lanes` elements of `out`, as they are.
    fn store_acc<S: Simd>(simd: S, v: Self::V<S>, out: &mut [T::Acc]);
}

/// A list of indices. Its type is asked for at each access, which costs a branch that is always predicted.
#[derive(Clone, Copy, Debug)]
pub enum Ids<'a> {
    /// Of `i32`.
    I32(&'a [i32]),
    /// Of `i64`.
    I64(&'a [i64]),
}

/// An index type: i32 or i64.
pub trait Index: Copy + Default + Ord + Debug + Display + Send + Sync + 'static {
    /// Largest index that fits, as a `usize`.
    const MAX: usize;

    /// To `usize`; a negative index becomes a value beyond any length, so that a slice access panics.
    fn to_usize(self) -> usize;
    /// To `i64`, for messages and signed arithmetic.
    fn to_i64(self) -> i64;
    /// From a `usize` that is known to fit (callers check sizes against [`Index::MAX`] first).
    fn from_usize(n: usize) -> Self;
    /// The indices as i32: as they are where they are i32. One that i32 cannot hold becomes -1, out of any range.
    #[doc(hidden)]
    fn narrow(list: &[Self]) -> Cow<'_, [i32]>;
    /// Runs a kernel over elements `T` on an instruction set that it is compiled for.
    #[doc(hidden)]
    fn dispatch<T: Element, J: WithSimd>(job: J) -> J::Output;
    /// Indices that are i32.
    #[doc(hidden)]
    fn widen(list: Vec<i32>) -> Vec<Self>;
    /// The indices without their type.
    #[doc(hidden)]
    fn list(list: &[Self]) -> Ids<'_>;
}
