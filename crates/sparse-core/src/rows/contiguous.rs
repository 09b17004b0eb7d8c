//! Sums of contiguous segments with one value per element, for example row sums of CSR.
//!
//! A loop over short segments of different lengths would mispredict a branch in each. So the rest of a segment is read
//! as whole vectors, and the lanes after its end are set to zero. No branch depends on the length if it is at most
//! [`LANES`].

use crate::Element;
use crate::element::Ids;
use crate::element::Lanes;
use crate::reducer::V;
use crate::shares::{Share, run, shares, sum};
use crate::source::{fetch_ahead, prefetch};
use crate::sums::{Total, parts};
use core::ops::Range;
use pulp::{Simd, WithSimd};

/// Number of interleaved partial sums of a segment, which are added pairwise at the end. It is the same on every
/// instruction set, so the bits of the result are the same.
pub(crate) const LANES: usize = 16;

/// How many values ahead to prefetch. Masked loads do not trigger the hardware prefetcher: on Zen 5, rows of 5 values
/// in 20 MB take three times as long without this.
const AHEAD: usize = 512;

/// Values of a block: each of the interleaved sums has [`BLOCK`](crate::sums::BLOCK) of them.
pub(crate) const WHOLE: usize = LANES * crate::sums::BLOCK;

/// Segments whose ends are read together, so that their type and bounds are checked once.
const ROWS: usize = 64;

/// `out[s] = sum of values[ptr[s]..ptr[s + 1]]`.
pub(crate) fn contiguous_sums<T: Element>(values: &[T], ptr: Ids<'_>, out: &mut [T]) {
    let body = |share: &Share, out: &mut [T]| {
        let ends = share.ends();
        let (ptr, rows) = if share.cut { (Ids::I64(&ends), 0..1) } else { (ptr, share.rows.clone()) };
        T::dispatch(ContiguousSums { values, ptr, rows, out });
    };
    run(&shares(ptr, values.len(), 1, T::EXACT), 1, out, &body, sum);
}

struct ContiguousSums<'a, T> {
    values: &'a [T],
    ptr: Ids<'a>,
    rows: Range<usize>,
    out: &'a mut [T],
}

impl<T: Element> WithSimd for ContiguousSums<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { values, ptr, rows, out } = self;
        let mut ends = [0; ROWS + 1];
        for (start, out) in rows.step_by(ROWS).zip(out.chunks_mut(ROWS)) {
            let ends = &mut ends[..=out.len()];
            ptr.read(start, ends);
            for ((out, &low), &high) in out.iter_mut().zip(&*ends).zip(&ends[1..]) {
                prefetch(values, low.wrapping_add(AHEAD));
                // Of shorter ones one line is all, and of smaller values the additions take longer than the memory.
                let length = high.wrapping_sub(low);
                if size_of::<T>() == 8 && length > LANES {
                    fetch_ahead(values, low, length.min(WHOLE));
                }
                *out = T::narrow(segment::<T, S>(simd, values, low, high));
            }
        }
    }
}

/// [`contiguous_sum`] with the fewest instructions for a short segment that does not end near that of the values.
#[inline(always)]
pub(crate) fn segment<T: Element, S: Simd>(simd: S, values: &[T], low: usize, high: usize) -> T::Acc {
    let length = high.wrapping_sub(low);
    if length <= LANES
        && let Some(x) = values.get(low..).and_then(<[T]>::first_chunk::<LANES>)
    {
        return LaneSums::<T, S>::new(simd).finish_with(simd, x, length);
    }
    contiguous_sum::<T, S>(simd, values, low, high)
}

/// The sum of `values[low..high]`.
#[inline(always)]
pub(crate) fn contiguous_sum<T: Element, S: Simd>(simd: S, values: &[T], low: usize, high: usize) -> T::Acc {
    assert!(low <= high && high <= values.len(), "segment_sum: ptr must ascend within the values");
    if high - low <= WHOLE {
        return LaneSums::<T, S>::new(simd).finish(simd, values, low, high);
    }
    Total::<T>::of(parts(high - low, WHOLE), |own| {
        LaneSums::<T, S>::new(simd).finish(simd, values, low + own.start, low + own.end)
    })
}

/// The partial sums of a segment. Only the first `LANES / lanes` are used; the instruction set determines that number.
#[derive(Clone, Copy)]
pub(crate) struct LaneSums<T: Element, S: Simd>([V<T, S>; LANES]);

impl<T: Element, S: Simd> LaneSums<T, S> {
    #[inline(always)]
    pub(crate) fn new(simd: S) -> Self {
        Self([T::Lanes::splat(simd, T::ACC_ZERO); LANES])
    }

    /// Adds values, a multiple of [`LANES`].
    #[inline(always)]
    pub(crate) fn add_whole(&mut self, simd: S, values: &[T]) {
        let lanes = T::Lanes::lanes::<S>();
        let (groups, _) = values.as_chunks::<LANES>();
        for x in groups {
            for j in 0..LANES / lanes {
                self.0[j] = T::Lanes::add(simd, self.0[j], T::Lanes::load(simd, &x[j * lanes..]));
            }
        }
    }

    /// The sum with the last values of the segment, `values[low..high]`.
    #[inline(always)]
    pub(crate) fn finish(mut self, simd: S, values: &[T], mut low: usize, high: usize) -> T::Acc {
        let whole = (high - low).saturating_sub(1) / LANES * LANES;
        self.add_whole(simd, &values[low..low + whole]);
        low += whole;
        let rest = high - low;
        match values.get(low..low + LANES) {
            Some(x) => self.finish_with(simd, x, rest),
            None => {
                let mut copy = [T::ZERO; LANES];
                copy[..rest].copy_from_slice(&values[low..high]);
                self.finish_with(simd, &copy, rest)
            }
        }
    }

    /// The sum with the first `rest` of [`LANES`] values.
    #[inline(always)]
    fn finish_with(mut self, simd: S, x: &[T], rest: usize) -> T::Acc {
        let lanes = T::Lanes::lanes::<S>();
        for j in 0..LANES / lanes {
            let head = T::Lanes::load_head(simd, &x[j * lanes..], rest.saturating_sub(j * lanes), T::ACC_ZERO);
            self.0[j] = T::Lanes::add(simd, self.0[j], head);
        }
        let mut half = LANES / lanes / 2;
        while half > 0 {
            for j in 0..half {
                self.0[j] = T::Lanes::add(simd, self.0[j], self.0[j + half]);
            }
            half /= 2;
        }
        T::Lanes::sum(simd, self.0[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;
    use pulp::Arch;

    fn sums_on<T: Element, S: Simd>(simd: S, values: &[T], ptr: &[i32]) -> Vec<T> {
        let mut out = vec![T::ONE; ptr.len() - 1];
        let rows = 0..ptr.len() - 1;
        simd.vectorize(ContiguousSums { values, ptr: Ids::I32(ptr), rows, out: &mut out });
        out
    }

    struct Whatever<'a, T>(&'a [T], &'a [i32]);
    impl<T: Element> WithSimd for Whatever<'_, T> {
        type Output = Vec<T>;
        fn with_simd<S: Simd>(self, simd: S) -> Vec<T> {
            sums_on(simd, self.0, self.1)
        }
    }

    /// Segments of every length up to more than four rounds of the loop, at every distance from the end of the values.
    fn lengths() -> Vec<i32> {
        let mut ptr = vec![0];
        for length in (0..70).chain((0..70).rev()) {
            ptr.push(ptr[ptr.len() - 1] + length);
        }
        ptr
    }

    fn check<T: Element>(of: impl Fn(f32) -> T, close: impl Fn(T, f64) -> bool) {
        let ptr = lengths();
        let values: Vec<T> = (0..ptr[ptr.len() - 1]).map(|k| of((k as f32 * 0.37).sin() * 50.0)).collect();
        let plain = sums_on(pulp::Scalar, &values, &ptr);
        for (pair, sum) in ptr.windows(2).zip(&plain) {
            let line = &values[pair[0] as usize..pair[1] as usize];
            let expected = line.iter().map(|x| format!("{x}").parse::<f64>().unwrap()).sum();
            assert!(close(*sum, expected), "{} values: {sum} {expected}", line.len());
        }
        assert_eq!(Arch::new().dispatch(Whatever(&values, &ptr)), plain);
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            assert_eq!(sums_on(simd, &values, &ptr), plain, "on AVX2");
        }
    }

    #[test]
    fn sums_and_same_bits_on_every_instruction_set() {
        check(|x| x, |sum, expected| (f64::from(sum) - expected).abs() < 1e-3);
        check(f64::from, |sum, expected| (sum - expected).abs() < 1e-10);
        check(f16::from_f32, |sum, expected| (sum.to_f64() - expected).abs() < 1.0);
        check(|x| x as i32, |sum, expected| f64::from(sum) == expected);
        check(|x| x as i64, |sum, expected| sum as f64 == expected);
    }

    #[test]
    fn neighbours_take_no_part() {
        let values = [f32::NAN, 1.0, 2.0, f32::INFINITY, 3.0];
        let mut out = [0.0; 4];
        contiguous_sums(&values, Ids::I64(&[1, 3, 3, 4, 5]), &mut out);
        assert_eq!(out, [3.0, 0.0, f32::INFINITY, 3.0]);
    }
}
