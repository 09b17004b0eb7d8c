//! Softmax within segments, one thread for each segment.

mod columns;
mod groups;
mod single;

use crate::Index;
use crate::element::Float;
use groups::each_group;

/// `exp(x - m) / sum exp(x - m)` over the rows of each segment, with `m` the largest `x`; or the logarithm of that. A
/// row has `block` elements, and each column is on its own. Segment `s` is the rows `ptr[s]..ptr[s + 1]`; together the
/// segments cover all rows. NaN makes its column of the segment NaN.
///
/// # Panics
///
/// If the segments do not cover all rows.
pub fn segment_softmax<T: Float, I: Index>(values: &[T], block: usize, ptr: &[I], log: bool, out: &mut [T]) {
    let ptr = I::list(ptr);
    if block == 1 {
        each_group([values; 2], block, ptr, out, single::GROUP, single::Memory::new, &|[x, _], ends, out, memory| {
            T::dispatch(single::Softmax { x, ends, log, out, memory });
        });
    } else {
        each_group([values; 2], block, ptr, out, columns::GROUP, columns::Memory::new, &|[x, _], ends, out, memory| {
            columns::softmax(x, ends, block, log, out, memory);
        });
    }
}

/// The gradient of the values of [`segment_softmax`], from its result `y` and the gradient of that.
///
/// # Panics
///
/// If the segments do not cover all rows.
pub fn segment_softmax_backward<T: Float, I: Index>(
    y: &[T],
    grad: &[T],
    block: usize,
    ptr: &[I],
    log: bool,
    out: &mut [T],
) {
    let ptr = I::list(ptr);
    if block == 1 {
        each_group([y, grad], block, ptr, out, single::GROUP, single::Memory::new, &|[y, grad], ends, out, memory| {
            T::dispatch(single::Backward { y, grad, ends, log, out, memory });
        });
    } else {
        each_group([y, grad], block, ptr, out, columns::GROUP, columns::Memory::new, &|lists, ends, out, memory| {
            columns::backward(lists, ends, block, log, out, memory);
        });
    }
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use crate::dynamic::slices::{AnyElement, AnyIndex, ElementVec, Elements, Ids, with_floats, with_ids};
    use crate::memory::unwritten;

    /// See [`segment_softmax`](crate::segment_softmax()).
    pub fn segment_softmax(values: Elements<'_>, block: usize, ptr: Ids<'_>, log: bool) -> ElementVec {
        with_ids!(ptr, I => with_floats!(values, T => {
            let mut out = unwritten::<T>(values.len());
            super::segment_softmax::<T, I>(T::elements(values), block, I::ids(ptr), log, &mut out);
            T::element_vec(out)
        }))
    }

    /// See [`segment_softmax_backward`](crate::segment_softmax_backward()).
    pub fn segment_softmax_backward(
        y: Elements<'_>,
        grad: Elements<'_>,
        block: usize,
        ptr: Ids<'_>,
        log: bool,
    ) -> ElementVec {
        with_ids!(ptr, I => with_floats!(y, T => {
            let mut out = unwritten::<T>(y.len());
            let (y, grad) = (T::elements(y), T::elements(grad));
            super::segment_softmax_backward::<T, I>(y, grad, block, I::ids(ptr), log, &mut out);
            T::element_vec(out)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::single::{Backward, GROUP, Memory, Softmax};
    use super::*;
    use crate::element::Ids;
    use half::f16;
    use pulp::WithSimd;

    /// The values and the gradient, the ends of the segments, and whether to take the logarithm.
    struct Job<'a, T>([&'a [T]; 2], &'a [i32], bool);

    impl<T: Float> Job<'_, T> {
        /// The result and the gradient, as the kernels compute them on the instruction set that `run` takes.
        fn on(&self, set: impl Set + Sync) -> [Vec<T>; 2] {
            let Self([x, grad], ptr, log) = *self;
            let (mut y, mut slope) = (vec![T::ONE; x.len()], vec![T::ONE; x.len()]);
            each_group([x; 2], 1, Ids::I32(ptr), &mut y, GROUP, Memory::new, &|[x, _], ends, out, memory| {
                set.run(Softmax { x, ends, log, out, memory });
            });
            each_group(
                [&y, grad],
                1,
                Ids::I32(ptr),
                &mut slope,
                GROUP,
                Memory::new,
                &|[y, grad], ends, out, memory| {
                    set.run(Backward { y, grad, ends, log, out, memory });
                },
            );
            [y, slope]
        }
    }

    trait Set {
        fn run<J: WithSimd>(&self, job: J) -> J::Output;
    }
    struct Best;
    impl Set for Best {
        fn run<J: WithSimd>(&self, job: J) -> J::Output {
            crate::simd::on_any(job)
        }
    }
    struct Avx2;
    impl Set for Avx2 {
        fn run<J: WithSimd>(&self, job: J) -> J::Output {
            crate::simd::on_two(job)
        }
    }
    struct Baseline;
    impl Set for Baseline {
        fn run<J: WithSimd>(&self, job: J) -> J::Output {
            crate::simd::on_baseline(job)
        }
    }

    /// Segments of every short length, and some longer than a group.
    fn check<T: Float>(of: impl Fn(f32) -> T) {
        let mut ptr = vec![0];
        for length in (0..70).chain([5000, 0, 1023, 1024, 1025]).chain((0..70).rev()) {
            ptr.push(ptr[ptr.len() - 1] + length);
        }
        let list =
            |step: f32| -> Vec<T> { (0..ptr[ptr.len() - 1]).map(|k| of((k as f32 * step).sin() * 9.0)).collect() };
        let (x, grad) = (list(0.37), list(0.73));
        for log in [false, true] {
            let job = Job([&x, &grad], &ptr, log);
            let plain = job.on(Baseline);
            assert!(plain == job.on(Best), "log {log}");
            assert!(plain == job.on(Avx2), "log {log}, on AVX2");
        }
    }

    #[test]
    fn same_bits_of_softmax_on_every_instruction_set() {
        check(|x| x);
        check(f64::from);
        check(f16::from_f32);
    }

    #[test]
    fn nan_and_infinity_stay_in_their_segment() {
        let (nan, infinity) = (f32::NAN, f32::INFINITY);
        let x = [1.0, 1.0, nan, 2.0, infinity, 0.0, -infinity, -infinity, -infinity, 3.0];
        let mut out = [9.0; 10];
        segment_softmax(&x, 1, &[0, 2, 4, 6, 8, 10], false, &mut out);
        assert_eq!([out[0], out[1], out[8], out[9]], [0.5, 0.5, 0.0, 1.0]);
        assert!(out[2].is_nan() && out[3].is_nan() && out[4].is_nan() && out[6].is_nan() && out[7].is_nan());
    }
}
