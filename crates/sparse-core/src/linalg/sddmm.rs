//! Sampled dense-dense matrix product.

use super::spmm::head_width;
use crate::element::Lanes;
use crate::lanes::add_lanes;
use crate::par::{even, for_pieces};
use crate::simd::dispatch;
use crate::source::{Source, with_width};
use crate::sums::{BLOCK, Total, parts};
use crate::{Element, Index};
use pulp::{Simd, WithSimd};

/// Number of partial sums, the same on every instruction set: element `f` of a row is added to sum `f % 32`.
pub(super) const SUMS: usize = 32;

/// Products of a block: each of the interleaved sums has [`BLOCK`] of them.
pub(super) const WHOLE: usize = SUMS * BLOCK;

/// Dot products at sampled positions: `out[k] = sum over f of x[rows[k], f] * y[cols[k], f]`.
///
/// `x` is row-major `[m, features]`, `y` is `[n, features]`. `rows` and `cols` have one entry per sample, `out` has
/// `heads` per sample. Where there are several heads, the columns of both are cut into as many parts of the same width,
/// and `out[k, h]` is the dot product of the parts `h`.
///
/// If `rows` is sorted, as for a CSR matrix, the row of `x` stays in the first-level cache. Sums are accumulated in
/// [`Element::Acc`] in 32 interleaved lanes that are added pairwise at the end, of more than 2^11 products in blocks of
/// that many. So the bits of the result depend neither on the number of threads nor on the instruction set. The `m x n`
/// product is never formed: O(nnz * features) time, parallel over the samples.
///
/// # Panics
///
/// When lengths disagree, `heads` does not divide `features` or an index is out of range.
pub fn sddmm<T: Element, I: Index>(
    rows: &[I],
    cols: &[I],
    x: &[T],
    y: &[T],
    heads: usize,
    features: usize,
    out: &mut [T],
) {
    assert_eq!(rows.len(), cols.len(), "sddmm: rows and cols must have the same length");
    assert_eq!(out.len(), rows.len() * heads, "sddmm: out must have one entry a sample and head");
    if features == 0 {
        out.fill(T::ZERO);
        return;
    }
    let width = head_width(heads, features);
    let (x, y) = (Source::new(x, features, "sddmm: x"), Source::new(y, features, "sddmm: y"));
    for_pieces(&even(rows.len(), features), out, &|r| r.len() * heads, &|range, out| {
        let (rows, cols) = (&rows[range.clone()], &cols[range]);
        dispatch::<T, I, _>(Samples { rows, cols, x, y, width, out });
    });
}

/// Starts on a cache line.
#[repr(align(64))]
struct OnLine<T, const N: usize>([T; N]);

struct Samples<'a, T, I> {
    rows: &'a [I],
    cols: &'a [I],
    x: Source<'a, T>,
    y: Source<'a, T>,
    /// Columns of a head.
    width: usize,
    out: &'a mut [T],
}

impl<T: Element, I: Index> WithSimd for Samples<'_, T, I> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if self.x.width() == 1 {
            self.products();
        } else if self.width > WHOLE {
            self.each(|x, y| Total::<T>::of(parts(x.len(), WHOLE), |own| dot::<T, S>(simd, &x[own.clone()], &y[own])));
        } else if self.width > FEW {
            with_width!(self.width, self.x.width() / self.width, T, self, dots::<S>(simd));
        } else {
            self.each(|x, y| dot_few::<T>(x, y));
        }
    }
}

impl<T: Element, I: Index> Samples<'_, T, I> {
    /// Of one column: a loop without prefetches, since no read depends on another one.
    #[inline(always)]
    fn products(self) {
        let Self { rows, cols, x, y, out, .. } = self;
        for ((r, c), out) in rows.iter().zip(cols).zip(out) {
            let (x, y) = (x.row(r.to_usize())[0], y.row(c.to_usize())[0]);
            *out = T::narrow(T::add(T::ACC_ZERO, T::mul(x.widen(), y.widen())));
        }
    }

    #[inline(always)]
    fn dots<S: Simd, const WIDTH: usize>(self, simd: S) {
        let (x, y) = (self.x.of_width(WIDTH), self.y.of_width(WIDTH));
        let width = if WIDTH == 0 { self.width } else { WIDTH };
        let samples = Self { x, y, width, ..self };
        if WIDTH == 0 {
            return samples.each(|x, y| dot::<T, S>(simd, x, y));
        }
        // A row of x has mostly several samples. Its copy starts on a cache line, so each vector is on one line.
        let (mut own, mut copied) = (OnLine([T::ZERO; WIDTH]), core::ptr::null());
        samples.each(|x, y| {
            if copied != x.as_ptr() {
                own.0.copy_from_slice(x);
                copied = x.as_ptr();
            }
            dot::<T, S>(simd, &own.0, y)
        });
    }

    #[inline(always)]
    fn each(self, mut dot: impl FnMut(&[T], &[T]) -> T::Acc) {
        let Self { rows, cols, x, y, width, out } = self;
        let (x_ahead, y_ahead) = (x.distance(), y.distance());
        let heads = x.width() / width;
        for (k, ((r, c), out)) in rows.iter().zip(cols).zip(out.chunks_exact_mut(heads)).enumerate() {
            if let Some(next) = cols.get(k + y_ahead) {
                y.prefetch(next.to_usize());
            }
            // Once for each run of equal rows.
            if let Some([before, next]) = rows.get(k + x_ahead..k + x_ahead + 2)
                && next != before
            {
                x.prefetch(next.to_usize());
            }
            let (mut x, mut y) = (x.row(r.to_usize()), y.row(c.to_usize()));
            for out in out {
                let ((own_x, rest_x), (own_y, rest_y)) = (x.split_at(width), y.split_at(width));
                *out = T::narrow(dot(own_x, own_y));
                (x, y) = (rest_x, rest_y);
            }
        }
    }
}

/// Heads of at most this width have their products in as many sums. The others of the [`SUMS`] would be zero, so the
/// bits are the same.
pub(super) const FEW: usize = 8;

/// Dot product of two rows of the same length, at most [`FEW`].
#[inline(always)]
pub(super) fn dot_few<T: Element>(x: &[T], y: &[T]) -> T::Acc {
    let mut sums = [T::ACC_ZERO; FEW];
    if let (Ok(x), Ok(y)) = (<&[T; FEW]>::try_from(x), <&[T; FEW]>::try_from(y)) {
        for j in 0..FEW {
            sums[j] = T::add(T::ACC_ZERO, T::mul(x[j].widen(), y[j].widen()));
        }
    } else {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum = T::add(T::ACC_ZERO, T::mul(x.widen(), y.widen()));
        }
    }
    add_lanes::<T, FEW>(sums)
}

/// Dot product of two rows of the same length.
#[inline(always)]
fn dot<T: Element, S: Simd>(simd: S, x: &[T], y: &[T]) -> T::Acc {
    let lanes = T::Lanes::lanes::<S>();
    let (x_whole, x_rest) = x.as_chunks::<SUMS>();
    let (y_whole, y_rest) = y.as_chunks::<SUMS>();
    // Only the first `SUMS / lanes` are used. The instruction set determines that number.
    let mut acc = [T::Lanes::splat(simd, T::ACC_ZERO); SUMS];
    for (x, y) in x_whole.iter().zip(y_whole) {
        for (j, acc) in acc[..SUMS / lanes].iter_mut().enumerate() {
            let (x, y) = (T::Lanes::load(simd, &x[j * lanes..]), T::Lanes::load(simd, &y[j * lanes..]));
            *acc = T::Lanes::add(simd, *acc, T::Lanes::mul(simd, x, y));
        }
    }
    let whole = whole(x_rest.len(), lanes);
    for (j, acc) in acc[..SUMS / lanes].iter_mut().enumerate() {
        if (j + 1) * lanes <= whole {
            let (x, y) = (T::Lanes::load(simd, &x_rest[j * lanes..]), T::Lanes::load(simd, &y_rest[j * lanes..]));
            *acc = T::Lanes::add(simd, *acc, T::Lanes::mul(simd, x, y));
        }
    }
    finish_dot::<T, S>(simd, acc, &x_rest[whole..], &y_rest[whole..])
}

/// How many of so many columns are computed as vectors: all, where they are whole vectors, as those of narrow heads, or
/// none. A loop over columns from the middle of the sums on takes longer than one from their start.
#[inline(always)]
pub(super) fn whole(columns: usize, lanes: usize) -> usize {
    if columns.is_multiple_of(lanes) { columns } else { 0 }
}

/// Adds the last products of a dot product to its sums, and these as a tree.
#[inline(always)]
pub(super) fn finish_dot<T: Element, S: Simd>(
    simd: S,
    mut acc: [<T::Lanes as Lanes<T>>::V<S>; SUMS],
    x_rest: &[T],
    y_rest: &[T],
) -> T::Acc {
    let lanes = T::Lanes::lanes::<S>();
    if x_rest.is_empty() {
        let mut half = SUMS / lanes / 2;
        while half > 0 {
            for j in 0..half {
                acc[j] = T::Lanes::add(simd, acc[j], acc[j + half]);
            }
            half /= 2;
        }
        return T::Lanes::sum(simd, acc[0]);
    }
    let mut sums = [T::ACC_ZERO; SUMS];
    for (j, acc) in acc[..SUMS / lanes].iter().enumerate() {
        T::Lanes::store_acc(simd, *acc, &mut sums[j * lanes..]);
    }
    for ((sum, x), y) in sums.iter_mut().zip(x_rest).zip(y_rest) {
        *sum = T::add(*sum, T::mul(x.widen(), y.widen()));
    }
    add_lanes::<T, SUMS>(sums)
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use crate::dynamic::slices::{AnyElement, AnyIndex, ElementVec, Elements, Ids, with_elements, with_ids};
    use crate::memory::unwritten;

    /// See [`sddmm`](crate::sddmm()): `heads` values per sample.
    pub fn sddmm(
        rows: Ids<'_>,
        cols: Ids<'_>,
        x: Elements<'_>,
        y: Elements<'_>,
        heads: usize,
        features: usize,
    ) -> ElementVec {
        with_ids!(rows, I => with_elements!(x, T => {
            let mut out = unwritten::<T>(rows.len() * heads);
            let (rows, cols, x, y) = (I::ids(rows), I::ids(cols), T::elements(x), T::elements(y));
            super::sddmm::<T, I>(rows, cols, x, y, heads, features, &mut out);
            T::element_vec(out)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pulp::Arch;

    fn run<S: Simd>(simd: S, x: &[f32], features: usize) -> Vec<f32> {
        let x = Source::new(x, features, "x");
        let mut out = vec![0.0; 3];
        let (rows, cols) = (&[0, 1, 1], &[1, 2, 0]);
        simd.vectorize(Samples { rows, cols, x, y: x, width: features, out: &mut out });
        // Three heads, where they divide the features.
        if features.is_multiple_of(3) {
            let mut heads = vec![0.0; 9];
            simd.vectorize(Samples { rows, cols, x, y: x, width: features / 3, out: &mut heads });
            out.extend(heads);
        }
        out
    }

    #[test]
    fn same_bits_on_every_instruction_set() {
        for features in 1..140 {
            let x: Vec<f32> = (0..3 * features).map(|k| (k as f32 * 0.37).sin() * 50.0).collect();
            let plain = run(pulp::Scalar, &x, features);
            struct Op<'a>(&'a [f32], usize);
            impl WithSimd for Op<'_> {
                type Output = Vec<f32>;
                fn with_simd<S: Simd>(self, simd: S) -> Vec<f32> {
                    run(simd, self.0, self.1)
                }
            }
            assert_eq!(Arch::new().dispatch(Op(&x, features)), plain, "{features} features");
            #[cfg(target_arch = "x86_64")]
            if let Some(simd) = pulp::x86::V3::try_new() {
                assert_eq!(run(simd, &x, features), plain, "{features} features on AVX2");
            }
        }
    }
}
