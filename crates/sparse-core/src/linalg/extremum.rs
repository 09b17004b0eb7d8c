//! Sparse matrix times dense matrix with an extremum in place of the sum, and its gradients.

use super::compressed::Compressed;
use super::sddmm::SUMS;
use crate::element::Lanes;
use crate::lanes::{acc_max, add_lanes};
use crate::par::{self, by_elements, for_pieces, split_mut};
use crate::reduce::{Reducer, Source, V, Weighted, reduce_rows};
use crate::simd::dispatch;
use crate::{Element, Index};
use core::ops::Range;
use pulp::{Simd, WithSimd};

/// Which end of the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extremum {
    /// The largest.
    Max,
    /// The smallest.
    Min,
}

/// The maximum of `flip(products)`. `flip` is its own inverse: the identity, or what reverses the order (`-p` of
/// floats, `!p = -p - 1` of integers, which have no `-p` for the smallest).
#[derive(Clone, Copy)]
struct Extreme<'a, T: Element, I> {
    weights: Weighted<'a, T, I>,
    sign: T::Acc,
    offset: T::Acc,
}

impl<'a, T: Element, I> Extreme<'a, T, I> {
    fn new(extremum: Extremum, values: &'a [T], perm: Option<&'a [I]>) -> Self {
        let minus = T::sub(T::ACC_ZERO, T::ACC_ONE);
        let (sign, offset) = match extremum {
            Extremum::Max => (T::ACC_ONE, T::ACC_ZERO),
            Extremum::Min => (minus, if T::IS_FLOAT { T::ACC_ZERO } else { minus }),
        };
        Self { weights: Weighted { values, perm }, sign, offset }
    }

    #[inline(always)]
    fn shift(&self, signed: T::Acc) -> T::Acc {
        if T::IS_FLOAT { signed } else { T::add(signed, self.offset) }
    }

    #[inline(always)]
    fn shift_lanes<S: Simd>(&self, simd: S, signed: V<T, S>) -> V<T, S> {
        if T::IS_FLOAT { signed } else { T::Lanes::add(simd, signed, T::Lanes::splat(simd, self.offset)) }
    }
}

impl<T: Element, I: Index> Reducer<T> for Extreme<'_, T, I> {
    #[inline(always)]
    fn start(&self, empty: bool) -> T::Acc {
        if empty { self.finish(T::ACC_ZERO) } else { T::ACC_LOWEST }
    }
    #[inline(always)]
    fn weight(&self, k: usize) -> T::Acc {
        T::mul(self.sign, self.weights.weight(k))
    }
    #[inline(always)]
    fn prefetch_weight(&self, k: usize) {
        Reducer::<T>::prefetch_weight(&self.weights, k);
    }
    #[inline(always)]
    fn step(&self, acc: T::Acc, weight: T::Acc, x: T::Acc) -> T::Acc {
        acc_max(acc, self.shift(T::mul(weight, x)))
    }
    #[inline(always)]
    fn step_lanes<S: Simd>(&self, simd: S, acc: V<T, S>, weight: V<T, S>, x: V<T, S>) -> V<T, S> {
        T::Lanes::max(simd, acc, self.shift_lanes(simd, T::Lanes::mul(simd, weight, x)))
    }
    #[inline(always)]
    fn finish(&self, acc: T::Acc) -> T::Acc {
        self.shift(T::mul(self.sign, acc))
    }
    #[inline(always)]
    fn finish_lanes<S: Simd>(&self, simd: S, acc: V<T, S>) -> V<T, S> {
        self.shift_lanes(simd, T::Lanes::mul(simd, T::Lanes::splat(simd, self.sign), acc))
    }
}

/// The largest or smallest product of each row: `out[r, :] = max over k of value[k] * dense[idx[k], :]`.
///
/// Shapes, threads and tiles are those of [`spmm`](crate::spmm). NaN wins, an empty row gives 0; products of integers
/// wrap before they are compared. O(nnz * features) time, no memory.
///
/// # Panics
///
/// When lengths disagree, `ptr` descends or an index is out of range.
pub fn spmm_extremum<T: Element, I: Index>(
    extremum: Extremum,
    a: Compressed<'_, I>,
    values: &[T],
    dense: &[T],
    features: usize,
    out: &mut [T],
) {
    let rows = a.ptr.len().saturating_sub(1);
    assert_eq!(out.len(), rows * features, "spmm_extremum: out must be [rows, features]");
    if features > 0 {
        let dense = Source::new(dense, features, "spmm_extremum: dense");
        reduce_rows(Extreme::new(extremum, values, a.perm), a.ptr, Some(a.idx), dense, out);
    }
}

/// Whether a product, rounded as the stored results are, is the result. NaN is equal to itself.
#[inline(always)]
#[allow(clippy::eq_op)]
fn is_result<T: Element>(product: T::Acc, out: T) -> bool {
    let (product, out) = (T::round(product), out.widen());
    (product == out) | ((product != product) & (out != out))
}

/// The first half of the gradient of [`spmm_extremum`] over floats, row by row, and the gradient of its values.
///
/// The elements of the compressed rows `(ptr, idx)` have their values in order. `out` is the result and `grad` its
/// gradient, both row-major `[rows, features]`. `shares[r, f]` becomes `grad[r, f]` divided by the number of products
/// of row `r` that are equal to `out[r, f]` (1 for none), and `value_grads[k]` the sum over `f` of
/// `shares[r, f] * dense[idx[k], f]` where the product of element `k` is one of them. Sums run in [`Element::Acc`] in
/// 32 interleaved lanes. O(nnz * features) time, parallel over rows by their elements; memory of one row a thread.
///
/// # Panics
///
/// When lengths disagree, `ptr` descends or an index is out of range.
#[allow(clippy::too_many_arguments)]
pub fn extremum_rows_backward<T: Element, I: Index>(
    (ptr, idx): (&[I], &[I]),
    values: &[T],
    dense: &[T],
    out: &[T],
    grad: &[T],
    features: usize,
    shares: &mut [T],
    value_grads: Option<&mut [T]>,
) {
    const OP: &str = "extremum_rows_backward";
    let rows = ptr.len().saturating_sub(1);
    let whole = [out.len(), grad.len(), shares.len()].iter().all(|&len| len == rows * features);
    assert!(whole, "{OP}: out, grad and shares must be [rows, features]");
    let counts = [values.len(), value_grads.as_ref().map_or(idx.len(), |grads| grads.len())];
    assert_eq!(counts, [idx.len(); 2], "{OP}: values and their gradients must have one entry an element");
    if features == 0 {
        value_grads.into_iter().for_each(|grads| grads.fill(T::ZERO));
        return;
    }
    let source = |data, what| Source::new(data, features, what);
    let dense = source(dense, "extremum_rows_backward: dense");
    let [out, grad] = [out, grad].map(|data| source(data, OP));
    let ranges = by_elements(ptr, 2 * features);
    let shares = split_mut(shares, &par::lens(&ranges, |rows| rows.len() * features));
    let elements = |rows: &Range<usize>| ptr[rows.end].to_usize().wrapping_sub(ptr[rows.start].to_usize());
    let value_grads: Vec<Option<&mut [T]>> = match value_grads {
        Some(grads) => split_mut(grads, &par::lens(&ranges, elements)).into_iter().map(Some).collect(),
        None => ranges.iter().map(|_| None).collect(),
    };
    par::each(shares.into_iter().zip(value_grads).collect(), &|piece, (shares, value_grads)| {
        let rows = ranges[piece].clone();
        dispatch::<T, I, _>(Rows { ptr, idx, values, dense, out, grad, rows, shares, value_grads });
    });
}

/// Some rows, with their part of the outputs.
struct Rows<'a, T, I> {
    ptr: &'a [I],
    idx: &'a [I],
    values: &'a [T],
    dense: Source<'a, T>,
    out: Source<'a, T>,
    grad: Source<'a, T>,
    rows: Range<usize>,
    shares: &'a mut [T],
    value_grads: Option<&'a mut [T]>,
}

impl<T: Element, I: Index> WithSimd for Rows<'_, T, I> {
    type Output = ();

    // Plain loops: the compiler vectorises them for the instruction set of the dispatch.
    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _: S) {
        let Self { ptr, idx, values, dense, .. } = self;
        let (width, distance, first) = (self.out.row(self.rows.start).len(), dense.distance(), self.rows.start);
        let start = ptr[first].to_usize();
        let mut ties = vec![0u32; width];
        for (row, shares) in self.rows.zip(self.shares.chunks_exact_mut(width)) {
            let (low, high) = (ptr[row].to_usize(), ptr[row + 1].to_usize());
            let out = self.out.row(row);
            ties.fill(0);
            for ((k, i), value) in (low..high).zip(&idx[low..high]).zip(&values[low..high]) {
                if let Some(next) = idx.get(k + distance) {
                    dense.prefetch(next.to_usize());
                }
                let value = value.widen();
                for ((ties, x), out) in ties.iter_mut().zip(dense.row(i.to_usize())).zip(out) {
                    *ties += u32::from(is_result(T::mul(value, x.widen()), *out));
                }
            }
            for ((share, grad), &ties) in shares.iter_mut().zip(self.grad.row(row)).zip(&ties) {
                *share = T::narrow(T::div(grad.widen(), T::from_count(ties.max(1) as usize)));
            }
            if let Some(grads) = &mut self.value_grads {
                let grads = &mut grads[low - start..high - start];
                for ((slot, i), value) in grads.iter_mut().zip(&idx[low..high]).zip(&values[low..high]) {
                    *slot = T::narrow(matched_dot(value.widen(), dense.row(i.to_usize()), out, shares));
                }
            }
        }
    }
}

/// The sum of `x * shares` where `value * x` is the result.
#[inline(always)]
fn matched_dot<T: Element>(value: T::Acc, x: &[T], out: &[T], shares: &[T]) -> T::Acc {
    let add = |sum: &mut T::Acc, x: T, out: T, share: T| {
        let x = x.widen();
        let term = if is_result(T::mul(value, x), out) { T::mul(x, share.widen()) } else { T::ACC_ZERO };
        *sum = T::add(*sum, term);
    };
    let mut sums = [T::ACC_ZERO; SUMS];
    let ((x, x_rest), (out, out_rest)) = (x.as_chunks::<SUMS>(), out.as_chunks::<SUMS>());
    let (shares, shares_rest) = shares.as_chunks::<SUMS>();
    for ((x, out), shares) in x.iter().zip(out).zip(shares) {
        for j in 0..SUMS {
            add(&mut sums[j], x[j], out[j], shares[j]);
        }
    }
    for (((sum, x), out), share) in sums.iter_mut().zip(x_rest).zip(out_rest).zip(shares_rest) {
        add(sum, *x, *out, *share);
    }
    add_lanes::<T, SUMS>(sums)
}

/// The second half of the gradient of [`spmm_extremum`] over floats: that of its dense operand.
///
/// `a` is the transpose: row `c` of it holds the elements of column `c`, and `idx[k]` is the row of element `k`.
/// `dense_grad[c, f]` becomes the sum over `k` of `shares[idx[k], f] * value[k]` where `value[k] * dense[c, f]` is
/// equal to `out[idx[k], f]`; `shares` are those of [`extremum_rows_backward`]. Sums run in [`Element::Acc`] in the
/// order of the column.
/// O(nnz * features) time, parallel over columns by their elements; memory of one row a thread.
///
/// # Panics
///
/// When lengths disagree, `ptr` descends or an index is out of range.
pub fn extremum_cols_backward<T: Element, I: Index>(
    a: Compressed<'_, I>,
    values: &[T],
    dense: &[T],
    out: &[T],
    shares: &[T],
    features: usize,
    dense_grad: &mut [T],
) {
    const OP: &str = "extremum_cols_backward";
    let cols = a.ptr.len().saturating_sub(1);
    let whole = dense.len() == cols * features && dense_grad.len() == dense.len();
    assert!(whole, "{OP}: dense and its gradient must be [cols, features]");
    assert_eq!(out.len(), shares.len(), "{OP}: out and shares must be [rows, features]");
    if features == 0 {
        return;
    }
    let [dense, out, shares] = [dense, out, shares].map(|data| Source::new(data, features, OP));
    let weights = Weighted { values, perm: a.perm };
    for_pieces(&by_elements(a.ptr, 2 * features), dense_grad, &|cols| cols.len() * features, &|cols, grads| {
        dispatch::<T, I, _>(Cols { a, weights, dense, out, shares, cols, grads });
    });
}

/// Some columns, with their part of the gradient.
struct Cols<'a, T, I> {
    a: Compressed<'a, I>,
    weights: Weighted<'a, T, I>,
    dense: Source<'a, T>,
    out: Source<'a, T>,
    shares: Source<'a, T>,
    cols: Range<usize>,
    grads: &'a mut [T],
}

impl<T: Element, I: Index> WithSimd for Cols<'_, T, I> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { a: Compressed { ptr, idx, .. }, weights, dense, out, shares, cols, grads } = self;
        let (width, distance) = (dense.row(cols.start).len(), dense.distance());
        let mut sums = vec![T::ACC_ZERO; width];
        for (col, grads) in cols.zip(grads.chunks_exact_mut(width)) {
            let (low, high) = (ptr[col].to_usize(), ptr[col + 1].to_usize());
            let x = dense.row(col);
            sums.fill(T::ACC_ZERO);
            for (k, i) in (low..high).zip(&idx[low..high]) {
                if let Some(next) = idx.get(k + distance) {
                    out.prefetch(next.to_usize());
                    shares.prefetch(next.to_usize());
                    Reducer::<T>::prefetch_weight(&weights, k + distance);
                }
                let value = weights.weight(k);
                let (out, shares) = (out.row(i.to_usize()), shares.row(i.to_usize()));
                for (((sum, x), out), share) in sums.iter_mut().zip(x).zip(out).zip(shares) {
                    let matched = is_result(T::mul(value, x.widen()), *out);
                    let term = if matched { T::mul(value, share.widen()) } else { T::ACC_ZERO };
                    *sum = T::add(*sum, term);
                }
            }
            for (grad, sum) in grads.iter_mut().zip(&sums) {
                *grad = T::narrow(*sum);
            }
        }
    }
}
