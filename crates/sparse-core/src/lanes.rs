//! SIMD vectors of accumulators: one trait for all element types.
//!
//! Products are rounded before they are added (no fused multiply-add), and every output element has its own lane. So
//! results have the same bits on every instruction set, and the same bits as the plain scalar loop.

use crate::element::{Element, Lanes};
use pulp::Simd;

/// Maximum of accumulators; NaN if either is NaN.
#[inline(always)]
#[allow(clippy::eq_op)]
pub(crate) fn acc_max<A: Copy + PartialOrd>(a: A, b: A) -> A {
    if b > a || b != b { b } else { a }
}

/// The sum of the lanes, added as a tree. `N` is a power of two; it alone determines the order of the additions.
#[inline(always)]
pub(crate) fn add_lanes<T: Element, const N: usize>(mut sums: [T::Acc; N]) -> T::Acc {
    let mut half = N / 2;
    while half > 0 {
        let (left, right) = sums.split_at_mut(half);
        left.iter_mut().zip(right).for_each(|(sum, other)| *sum = T::add(*sum, *other));
        half /= 2;
    }
    sums[0]
}

macro_rules! float_lanes {
    ($name:ident, $acc:ty, $vec:ident, $count:ident, $as:ident, $as_mut:ident, $splat:ident, $add:ident, $mul:ident,
     $less:ident, $equal:ident, $not:ident, $or:ident, $select:ident, $sum:ident, $largest:ident) => {
        #[doc = concat!("Native vectors of ", stringify!($acc), ".")]
        pub struct $name;

        impl<T: Element<Acc = $acc>> Lanes<T> for $name {
            type V<S: Simd> = S::$vec;
            #[inline(always)]
            fn lanes<S: Simd>() -> usize {
                S::$count
            }
            #[inline(always)]
            fn splat<S: Simd>(simd: S, x: $acc) -> S::$vec {
                simd.$splat(x)
            }
            #[inline(always)]
            fn load<S: Simd>(_: S, x: &[T]) -> S::$vec {
                // No instruction set has more than 16 lanes. The copy compiles to a register move (f32, f64) or to the
                // widening itself (f16, bf16).
                let mut wide: [$acc; 16] = [0.0; 16];
                let wide = &mut wide[..S::$count];
                for (w, x) in wide.iter_mut().zip(&x[..S::$count]) {
                    *w = x.widen();
                }
                S::$as(wide).0[0]
            }
            #[inline(always)]
            fn load_acc<S: Simd>(_: S, x: &[$acc]) -> S::$vec {
                S::$as(&x[..S::$count]).0[0]
            }
            #[inline(always)]
            fn load_head<S: Simd>(simd: S, x: &[T], len: usize, other: $acc) -> S::$vec {
                const LANE: [$acc; 16] = [0., 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., 12., 13., 14., 15.];
                let lane = S::$as(&LANE[..S::$count]).0[0];
                let within = simd.$less(lane, simd.$splat(len.min(16) as $acc));
                simd.$select(within, Self::load(simd, x), simd.$splat(other))
            }
            #[inline(always)]
            fn sum<S: Simd>(simd: S, a: S::$vec) -> $acc {
                simd.$sum(a)
            }
            #[inline(always)]
            fn largest<S: Simd>(simd: S, a: S::$vec) -> $acc {
                simd.$largest(a)
            }
            #[inline(always)]
            fn add<S: Simd>(simd: S, a: S::$vec, b: S::$vec) -> S::$vec {
                simd.$add(a, b)
            }
            #[inline(always)]
            fn mul<S: Simd>(simd: S, a: S::$vec, b: S::$vec) -> S::$vec {
                simd.$mul(a, b)
            }
            #[inline(always)]
            fn max<S: Simd>(simd: S, a: S::$vec, b: S::$vec) -> S::$vec {
                simd.$select(simd.$or(simd.$less(a, b), simd.$not(simd.$equal(b, b))), b, a)
            }
            #[inline(always)]
            fn store<S: Simd>(_: S, v: S::$vec, out: &mut [T]) {
                let mut wide: [$acc; 16] = [0.0; 16];
                let wide = &mut wide[..S::$count];
                S::$as_mut(wide).0[0] = v;
                for (out, w) in out[..S::$count].iter_mut().zip(wide) {
                    *out = T::narrow(*w);
                }
            }
            #[inline(always)]
            fn store_acc<S: Simd>(_: S, v: S::$vec, out: &mut [$acc]) {
                S::$as_mut(&mut out[..S::$count]).0[0] = v;
            }
        }
    };
}

float_lanes!(
    F32Lanes,
    f32,
    f32s,
    F32_LANES,
    as_simd_f32s,
    as_mut_simd_f32s,
    splat_f32s,
    add_f32s,
    mul_f32s,
    less_than_f32s,
    equal_f32s,
    not_m32s,
    or_m32s,
    select_f32s,
    reduce_sum_f32s,
    reduce_max_f32s
);
float_lanes!(
    F64Lanes,
    f64,
    f64s,
    F64_LANES,
    as_simd_f64s,
    as_mut_simd_f64s,
    splat_f64s,
    add_f64s,
    mul_f64s,
    less_than_f64s,
    equal_f64s,
    not_m64s,
    or_m64s,
    select_f64s,
    reduce_sum_f64s,
    reduce_max_f64s
);

/// Number of lanes of [`ArrayLanes`].
const ARRAY: usize = 8;

/// Vectors of integers: arrays that the compiler vectorises.
pub struct ArrayLanes;

#[inline(always)]
fn each<A: Copy>(mut f: impl FnMut(usize) -> A) -> [A; ARRAY] {
    [f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7)]
}

impl<T: Element> Lanes<T> for ArrayLanes {
    type V<S: Simd> = [T::Acc; ARRAY];
    #[inline(always)]
    fn lanes<S: Simd>() -> usize {
        ARRAY
    }
    #[inline(always)]
    fn splat<S: Simd>(_: S, x: T::Acc) -> [T::Acc; ARRAY] {
        [x; ARRAY]
    }
    #[inline(always)]
    fn load<S: Simd>(_: S, x: &[T]) -> [T::Acc; ARRAY] {
        let x = &x[..ARRAY];
        each(|j| x[j].widen())
    }
    #[inline(always)]
    fn load_acc<S: Simd>(_: S, x: &[T::Acc]) -> [T::Acc; ARRAY] {
        let x = &x[..ARRAY];
        each(|j| x[j])
    }
    #[inline(always)]
    fn load_head<S: Simd>(_: S, x: &[T], len: usize, other: T::Acc) -> [T::Acc; ARRAY] {
        let x = &x[..ARRAY];
        each(|j| if j < len { x[j].widen() } else { other })
    }
    #[inline(always)]
    fn sum<S: Simd>(_: S, a: [T::Acc; ARRAY]) -> T::Acc {
        add_lanes::<T, ARRAY>(a)
    }
    #[inline(always)]
    fn largest<S: Simd>(_: S, a: [T::Acc; ARRAY]) -> T::Acc {
        a[1..].iter().fold(a[0], |largest, &x| acc_max(largest, x))
    }
    #[inline(always)]
    fn add<S: Simd>(_: S, a: [T::Acc; ARRAY], b: [T::Acc; ARRAY]) -> [T::Acc; ARRAY] {
        each(|j| T::add(a[j], b[j]))
    }
    #[inline(always)]
    fn mul<S: Simd>(_: S, a: [T::Acc; ARRAY], b: [T::Acc; ARRAY]) -> [T::Acc; ARRAY] {
        each(|j| T::mul(a[j], b[j]))
    }
    #[inline(always)]
    fn max<S: Simd>(_: S, a: [T::Acc; ARRAY], b: [T::Acc; ARRAY]) -> [T::Acc; ARRAY] {
        each(|j| acc_max(a[j], b[j]))
    }
    #[inline(always)]
    fn store<S: Simd>(_: S, v: [T::Acc; ARRAY], out: &mut [T]) {
        for (out, v) in out[..ARRAY].iter_mut().zip(v) {
            *out = T::narrow(v);
        }
    }
    #[inline(always)]
    fn store_acc<S: Simd>(_: S, v: [T::Acc; ARRAY], out: &mut [T::Acc]) {
        out[..ARRAY].copy_from_slice(&v);
    }
}
