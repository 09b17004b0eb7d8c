//! Sparse matrix times dense matrix with a maximum or minimum in place of the sum, and its gradients.

use super::compressed::{Compressed, View};
use super::sddmm::{FEW, SUMS, WHOLE};
use super::spmm::{head_width, reduce_products};
use super::term::{Join, Product, Sum, Term, is_result};
use crate::element::Ids;
use crate::epilogue::Epilogue;
use crate::lanes::add_lanes;
use crate::par::{self, for_pieces, split_mut};
use crate::reducer::Extreme;
use crate::source::{Source, prefetch};
use crate::sums::{Cascade, Total, add_blocks, blocks, parts};
use crate::{Element, Index};
use core::marker::PhantomData;
use core::ops::Range;
use pulp::{Simd, WithSimd};

/// Maximum or minimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extremum {
    /// The largest.
    Max,
    /// The smallest.
    Min,
}

/// The largest or smallest term of each row: `out[r, :] = max over k of value[k] * dense[idx[k], :]`, or of `value[k] +
/// dense[idx[k], :]` for [`Term::Sum`].
///
/// Shapes, heads, threads and tiles are as in [`spmm`](crate::spmm). If any term is NaN, the result is NaN. An empty
/// row gives 0; of sums the lowest number for a maximum and the highest for a minimum, which are infinities of floats.
/// Integer terms wrap before they are compared. O(nnz * features) time, no extra memory.
///
/// # Panics
///
/// When lengths disagree, `heads` does not divide `features`, `ptr` descends or an index is out of range.
pub fn spmm_extremum<T: Element, I: Index>(
    (extremum, term): (Extremum, Term),
    a: Compressed<'_, I>,
    values: &[T],
    dense: &[T],
    heads: usize,
    features: usize,
    out: &mut [T],
) {
    let reducer = match extremum {
        Extremum::Max => Extreme::largest::<T>(),
        Extremum::Min => Extreme::smallest::<T>(),
    };
    let a = a.view();
    assert_eq!(out.len(), a.ptr.rows() * features, "spmm_extremum: out must be [rows, features]");
    if features > 0 {
        let dense = Source::new(dense, features, "spmm_extremum: dense");
        match term {
            Term::Product => reduce_products(reducer, a, values, dense, heads, Epilogue::default(), out),
            Term::Sum => reduce_products(reducer.of_sums(), a, values, dense, heads, Epilogue::default(), out),
        }
    }
}

/// The first half of the gradient of [`spmm_extremum`] for floats, computed row by row, and the gradient of its values.
/// The formulas are those of products. For [`Term::Sum`] read "sum" for "product", and `shares[r, f]` alone for its
/// product with an operand.
///
/// The values `[nnz, heads]` of the compressed rows `(ptr, idx)` are in order. `out` is the result and `grad` its
/// gradient, both row-major `[rows, features]`. `shares[r, f]` becomes `grad[r, f]` divided by the number of products
/// of row `r` that are equal to `out[r, f]` (by 1 if there are none). `value_grads[k, h]` becomes the sum of `shares[r,
/// f] * dense[idx[k], f]` over the `f` of head `h` where the product of element `k` is equal to `out[r, f]`. Sums are
/// accumulated in [`Element::Acc`] in 32 interleaved lanes. O(nnz * features) time, parallel over rows weighted by
/// their elements; each thread needs memory for one row.
///
/// # Panics
///
/// When lengths disagree, `heads` does not divide `features`, `ptr` descends or an index is out of range.
#[allow(clippy::too_many_arguments)]
pub fn extremum_rows_backward<T: Element, I: Index>(
    term: Term,
    (ptr, idx): (&[I], &[I]),
    values: &[T],
    dense: &[T],
    out: &[T],
    grad: &[T],
    heads: usize,
    features: usize,
    shares: &mut [T],
    value_grads: Option<&mut [T]>,
) {
    let pattern = (I::list(ptr), I::list(idx));
    let reads = [values, dense, out, grad];
    match term {
        Term::Product => rows_backward::<T, Product>(pattern, reads, heads, features, shares, value_grads),
        Term::Sum => rows_backward::<T, Sum>(pattern, reads, heads, features, shares, value_grads),
    }
}

fn rows_backward<T: Element, J: Join<T>>(
    (ptr, idx): (Ids<'_>, Ids<'_>),
    [values, dense, out, grad]: [&[T]; 4],
    heads: usize,
    features: usize,
    shares: &mut [T],
    value_grads: Option<&mut [T]>,
) {
    const OP: &str = "extremum_rows_backward";
    let whole = [out.len(), grad.len(), shares.len()] == [ptr.rows() * features; 3];
    assert!(whole, "{OP}: out, grad and shares must be [rows, features]");
    let counts = [values.len(), value_grads.as_ref().map_or(values.len(), |grads| grads.len())];
    assert_eq!(counts, [idx.len() * heads; 2], "{OP}: values and their gradients must have one entry for each head");
    if features == 0 {
        value_grads.into_iter().for_each(|grads| grads.fill(T::ZERO));
        return;
    }
    head_width(heads, features);
    let dense = Source::new(dense, features, "extremum_rows_backward: dense");
    let [out, grad] = [Source::new(out, features, OP), Source::new(grad, features, OP)];
    let ranges = ptr.cuts(2 * features);
    let shares = split_mut(shares, &par::lens(&ranges, |rows| rows.len() * features));
    let value_grads =
        value_grads.map(|grads| split_mut(grads, &par::lens(&ranges, |rows| ptr.spans(rows).len() * heads)));
    let mut value_grads = value_grads.unwrap_or_default().into_iter();
    let jobs = shares.into_iter().map(|shares| (shares, value_grads.next())).collect();
    par::each(jobs, &|piece, (shares, value_grads)| {
        let rows = ranges[piece].clone();
        T::dispatch(Rows {
            ptr,
            idx,
            values,
            dense,
            out,
            grad,
            heads,
            rows,
            shares,
            value_grads,
            join: PhantomData::<J>,
        });
    });
}

/// A range of rows, with its part of the outputs.
struct Rows<'a, T, J> {
    ptr: Ids<'a>,
    idx: Ids<'a>,
    values: &'a [T],
    dense: Source<'a, T>,
    out: Source<'a, T>,
    grad: Source<'a, T>,
    heads: usize,
    rows: Range<usize>,
    shares: &'a mut [T],
    value_grads: Option<&'a mut [T]>,
    join: PhantomData<J>,
}

impl<T: Element, J: Join<T>> WithSimd for Rows<'_, T, J> {
    type Output = ();

    // Plain loops: the compiler vectorises them for the instruction set of the dispatch.
    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _: S) {
        let Self { ptr, idx, values, dense, heads, .. } = self;
        let (width, first) = (self.out.width(), self.rows.start);
        let part = width / heads;
        let start = ptr.at(first);
        let mut ties = vec![0u32; width];
        for (row, shares) in self.rows.zip(self.shares.chunks_exact_mut(width)) {
            let elements = ptr.span(row);
            let out = self.out.row(row);
            ties.fill(0);
            for k in elements.clone() {
                dense.prefetch(idx.peek(k + dense.distance()));
                let x = dense.row(idx.at(k));
                for (head, value) in values[k * heads..][..heads].iter().enumerate() {
                    let (own, value) = (head * part..(head + 1) * part, value.widen());
                    for ((ties, x), out) in ties[own.clone()].iter_mut().zip(&x[own.clone()]).zip(&out[own]) {
                        *ties += u32::from(is_result(J::term(value, x.widen()), *out));
                    }
                }
            }
            for ((share, grad), &ties) in shares.iter_mut().zip(self.grad.row(row)).zip(&ties) {
                *share = T::narrow(T::div(grad.widen(), T::from_count(ties.max(1) as usize)));
            }
            if let Some(grads) = &mut self.value_grads {
                for k in elements {
                    let x = dense.row(idx.at(k));
                    for head in 0..heads {
                        let (own, value) = (head * part..(head + 1) * part, values[k * heads + head].widen());
                        let (x, out, shares) = (&x[own.clone()], &out[own.clone()], &shares[own]);
                        let sum = if part > FEW {
                            Total::<T>::of(parts(part, WHOLE), |own| {
                                let (x, out, shares) = (&x[own.clone()], &out[own.clone()], &shares[own]);
                                matched_dot::<T, J, SUMS>(value, x, out, shares)
                            })
                        } else {
                            matched_dot::<T, J, FEW>(value, x, out, shares)
                        };
                        grads[(k - start) * heads + head] = T::narrow(sum);
                    }
                }
            }
        }
    }
}

/// The sum of `x * shares` where `value * x` is the result, or what [`Join`] makes of them, in `N` sums.
#[inline(always)]
fn matched_dot<T: Element, J: Join<T>, const N: usize>(value: T::Acc, x: &[T], out: &[T], shares: &[T]) -> T::Acc {
    let add = |sum: &mut T::Acc, x: T, out: T, share: T| {
        let x = x.widen();
        let term = if is_result(J::term(value, x), out) { J::slope(x, share.widen()) } else { T::ACC_ZERO };
        *sum = T::add(*sum, term);
    };
    let mut sums = [T::ACC_ZERO; N];
    let ((x, x_rest), (out, out_rest)) = (x.as_chunks::<N>(), out.as_chunks::<N>());
    let (shares, shares_rest) = shares.as_chunks::<N>();
    for ((x, out), shares) in x.iter().zip(out).zip(shares) {
        for j in 0..N {
            add(&mut sums[j], x[j], out[j], shares[j]);
        }
    }
    for (((sum, x), out), share) in sums.iter_mut().zip(x_rest).zip(out_rest).zip(shares_rest) {
        add(sum, *x, *out, *share);
    }
    add_lanes::<T, N>(sums)
}

/// The second half of the gradient of [`spmm_extremum`] for floats: the gradient of its dense operand.
///
/// `a` is the transpose: its row `c` holds the elements of column `c`, and `idx[k]` is the row of element `k`. `values`
/// are `[nnz, heads]`. `dense_grad[c, f]` becomes the sum of `shares[idx[k], f] * value[k]` over the elements `k` where
/// `value[k] * dense[c, f]` is equal to `out[idx[k], f]`; for [`Term::Sum`] see [`extremum_rows_backward`]. `shares`
/// comes from [`extremum_rows_backward`]. Sums are accumulated in [`Element::Acc`] in the order of the column, in
/// blocks of 64. O(nnz * features) time, parallel over columns weighted by their elements; each thread needs memory for
/// one row.
///
/// # Panics
///
/// When lengths disagree, `heads` does not divide `features`, `ptr` descends or an index is out of range.
#[allow(clippy::too_many_arguments)]
pub fn extremum_cols_backward<T: Element, I: Index>(
    term: Term,
    a: Compressed<'_, I>,
    values: &[T],
    dense: &[T],
    out: &[T],
    shares: &[T],
    heads: usize,
    features: usize,
    dense_grad: &mut [T],
) {
    let reads = [values, dense, out, shares];
    match term {
        Term::Product => cols_backward::<T, Product>(a.view(), reads, heads, features, dense_grad),
        Term::Sum => cols_backward::<T, Sum>(a.view(), reads, heads, features, dense_grad),
    }
}

fn cols_backward<T: Element, J: Join<T>>(
    a: View<'_>,
    [values, dense, out, shares]: [&[T]; 4],
    heads: usize,
    features: usize,
    dense_grad: &mut [T],
) {
    const OP: &str = "extremum_cols_backward";
    let whole = dense.len() == a.ptr.rows() * features && dense_grad.len() == dense.len();
    assert!(whole, "{OP}: dense and its gradient must be [cols, features]");
    assert_eq!(out.len(), shares.len(), "{OP}: out and shares must be [rows, features]");
    if features == 0 {
        return;
    }
    head_width(heads, features);
    let source = |data| Source::new(data, features, OP);
    let [dense, out, shares] = [source(dense), source(out), source(shares)];
    for_pieces(&a.ptr.cuts(2 * features), dense_grad, &|cols| cols.len() * features, &|cols, grads| {
        T::dispatch(Cols { a, values, dense, out, shares, heads, cols, grads, join: PhantomData::<J> });
    });
}

/// A range of columns, with its part of the gradient.
struct Cols<'a, T, J> {
    a: View<'a>,
    values: &'a [T],
    dense: Source<'a, T>,
    out: Source<'a, T>,
    shares: Source<'a, T>,
    heads: usize,
    cols: Range<usize>,
    grads: &'a mut [T],
    join: PhantomData<J>,
}

impl<T: Element, J: Join<T>> WithSimd for Cols<'_, T, J> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { a: View { ptr, idx, perm }, values, dense, out, shares, heads, cols, grads, .. } = self;
        let width = dense.width();
        let part = width / heads;
        let (mut sums, mut more) = (vec![T::ACC_ZERO; width], Cascade::new());
        for (col, grads) in cols.zip(grads.chunks_exact_mut(width)) {
            let x = dense.row(col);
            sums.fill(T::ACC_ZERO);
            add_blocks::<T>(blocks(ptr.span(col), T::IS_FLOAT), &mut sums, &mut more, |elements, sums| {
                for k in elements {
                    let next = idx.peek(k + shares.distance());
                    out.prefetch(next);
                    shares.prefetch(next);
                    if let Some(perm) = perm {
                        prefetch(values, perm.peek(k + shares.distance()).saturating_mul(heads));
                    }
                    let (out, shares) = (out.row(idx.at(k)), shares.row(idx.at(k)));
                    let values = &values[perm.map_or(k, |perm| perm.at(k)).saturating_mul(heads)..][..heads];
                    for (head, value) in values.iter().enumerate() {
                        let (own, value) = (head * part..(head + 1) * part, value.widen());
                        let (sums, x) = (&mut sums[own.clone()], &x[own.clone()]);
                        for (((sum, x), out), share) in sums.iter_mut().zip(x).zip(&out[own.clone()]).zip(&shares[own])
                        {
                            let matched = is_result(J::term(value, x.widen()), *out);
                            let term = if matched { J::slope(value, share.widen()) } else { T::ACC_ZERO };
                            *sum = T::add(*sum, term);
                        }
                    }
                }
            });
            for (grad, sum) in grads.iter_mut().zip(&sums) {
                *grad = T::narrow(*sum);
            }
        }
    }
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use super::super::compressed::dynamic::DynCompressed;
    use super::{Extremum, Term};
    use crate::dynamic::slices::{
        AnyElement, AnyIndex, ElementVec, Elements, Ids, with_elements, with_floats, with_ids,
    };
    use crate::memory::unwritten;

    /// See [`spmm_extremum`](crate::spmm_extremum()): `[rows, features]`.
    pub fn spmm_extremum(
        how: (Extremum, Term),
        a: DynCompressed<'_>,
        values: Elements<'_>,
        dense: Elements<'_>,
        heads: usize,
        features: usize,
    ) -> ElementVec {
        with_ids!(a.ptr, I => with_elements!(values, T => {
            let mut out = unwritten::<T>(a.rows() * features);
            let (values, dense) = (T::elements(values), T::elements(dense));
            super::spmm_extremum::<T, I>(how, a.of(), values, dense, heads, features, &mut out);
            T::element_vec(out)
        }))
    }

    /// See [`extremum_rows_backward`](crate::extremum_rows_backward()): the shares `[rows, features]` and, if needed,
    /// the gradient of the values. `reads` holds the values, the dense operand, the result and the gradient of the
    /// result.
    pub fn extremum_rows_backward(
        term: Term,
        (ptr, idx): (Ids<'_>, Ids<'_>),
        reads: [Elements<'_>; 4],
        heads: usize,
        features: usize,
        need_values: bool,
    ) -> (ElementVec, Option<ElementVec>) {
        with_ids!(ptr, I => with_floats!(reads[0], T => {
            let [values, dense, out, grad] = reads.map(T::elements);
            let mut shares = unwritten::<T>((ptr.len() - 1) * features);
            let mut value_grads = need_values.then(|| unwritten::<T>(values.len()));
            let pattern = (I::ids(ptr), I::ids(idx));
            let (shared, own) = (&mut shares[..], value_grads.as_deref_mut());
            super::extremum_rows_backward::<T, I>(
                term, pattern, values, dense, out, grad, heads, features, shared, own,
            );
            (T::element_vec(shares), value_grads.map(T::element_vec))
        }))
    }

    /// See [`extremum_cols_backward`](crate::extremum_cols_backward()): `[cols, features]`. `reads` holds the values,
    /// the dense operand, the result and the shares.
    pub fn extremum_cols_backward(
        term: Term,
        a: DynCompressed<'_>,
        reads: [Elements<'_>; 4],
        heads: usize,
        features: usize,
    ) -> ElementVec {
        with_ids!(a.ptr, I => with_floats!(reads[0], T => {
            let [values, dense, out, shares] = reads.map(T::elements);
            let mut grad = unwritten::<T>(dense.len());
            super::extremum_cols_backward::<T, I>(
                term, a.of(), values, dense, out, shares, heads, features, &mut grad,
            );
            T::element_vec(grad)
        }))
    }
}
