//! Both gradients of sparse x dense in one walk over the elements.

use super::compressed::{Compressed, View};
use super::sddmm::{FEW, SUMS, WHOLE, dot_few, finish_dot, whole};
use super::spmm::{head_width, in_order};
use crate::element::{Ids, Lanes};
use crate::memory::Scratch;
use crate::par::{self, split_mut};
use crate::reducer::V;
use crate::rows::move_rows;
use crate::shares::{extra, join, shares, split, sum};
use crate::source::{Source, with_width};
use crate::sums::{Cascade, Total, add_blocks, blocks, parts};
use crate::{Element, Index};
use bytemuck::{cast_slice, cast_slice_mut};
use core::ops::Range;
use pulp::{Simd, WithSimd};

/// The gradients of [`spmm`](crate::spmm) with respect to its dense operand and its values.
///
/// `a` is the transpose: its row `c` has the elements of column `c`, and `idx[k]` is the row of element `k`. `places`
/// is the inverse of its permutation, if it has one. `values` are `[nnz, heads]`, `dense` is `[cols, features]`, `grad`
/// is the gradient of the product, `[rows, features]`.
///
/// - `dense_grad[c, f]` becomes the sum of `value[k, h] * grad[idx[k], f]` over the elements `k` of column `c`, with
///   `h` the head of `f`;
/// - `value_grads[k, h]` becomes the dot product of the parts `h` of `dense[c, :]` and `grad[idx[k], :]`.
///
/// These are [`spmm`](crate::spmm) with the transpose and [`sddmm`](crate::sddmm), with the same bits from two features
/// on. Both would read a row of `grad` for each element, which takes most of their time; this reads it once.
/// O(nnz * features) time, parallel over columns weighted by their elements. Memory for two values for each element and
/// head where there is a permutation, and for one row for each thread and each piece of a long column.
///
/// # Panics
///
/// When lengths disagree, `heads` does not divide `features`, `ptr` descends or does not cover all elements, or an
/// index is out of range.
#[allow(clippy::too_many_arguments)]
pub fn spmm_backward<T: Element, I: Index>(
    a: Compressed<'_, I>,
    places: Option<&[I]>,
    values: &[T],
    dense: &[T],
    grad: &[T],
    heads: usize,
    features: usize,
    dense_grad: &mut [T],
    value_grads: &mut [T],
) {
    let ordered = in_order(a, values, heads);
    let values = ordered.as_deref().unwrap_or(values);
    let reads = [values, dense, grad];
    let a = Compressed { perm: None, ..a };
    let Some(places) = places else { return backward(a, reads, heads, features, dense_grad, value_grads) };
    assert_eq!(places.len(), a.idx.len(), "{OP}: places must have one entry for each element");
    let mut dots = Scratch::unwritten(value_grads.len());
    backward(a, reads, heads, features, dense_grad, &mut dots);
    move_rows::<T::Bits, I>(cast_slice(&dots), heads, &[], places, cast_slice_mut(value_grads));
}

const OP: &str = "spmm_backward";

/// For values in the order of `a`, whose gradients are in that order too.
fn backward<T: Element, I: Index>(
    a: Compressed<'_, I>,
    [values, dense, grad]: [&[T]; 3],
    heads: usize,
    features: usize,
    dense_grad: &mut [T],
    value_grads: &mut [T],
) {
    let View { ptr, idx, .. } = a.view();
    let all = if ptr.rows() == 0 { 0..0 } else { ptr.spans(&(0..ptr.rows())) };
    assert_eq!(all, 0..idx.len(), "{OP}: row pointers must cover all elements");
    let whole = [dense.len(), dense_grad.len()] == [ptr.rows() * features; 2];
    assert!(whole, "{OP}: dense and its gradient must be [cols, features]");
    let counts = [values.len(), value_grads.len()] == [idx.len() * heads; 2];
    assert!(counts, "{OP}: values and their gradients must have one entry for each head");
    if features == 0 {
        value_grads.fill(T::ZERO);
        return;
    }
    head_width(heads, features);
    let [dense, grad] = [Source::new(dense, features, OP), Source::new(grad, features, OP)];
    let shares = shares(ptr, idx.len(), 2 * features, T::EXACT);
    let mut more = Scratch::unwritten(extra(&shares) * features);
    let dense_grads = split(&shares, features, dense_grad, &mut more);
    let dots = split_mut(value_grads, &par::lens(&shares, |share| share.elements.len() * heads));
    par::each(dense_grads.into_iter().zip(dots).collect(), &|k, (dense_grads, dots)| {
        let (cols, ends) = (&shares[k].rows, shares[k].ends());
        let (ptr, first, cols) =
            if shares[k].cut { (Ids::I64(&ends), cols.start, 0..1) } else { (ptr, 0, cols.clone()) };
        T::dispatch(Columns { ptr, idx, values, dense, grad, heads, first, cols, dense_grads, dots });
    });
    join(&shares, features, dense_grad, &more, sum);
}

/// A range of columns, with its part of the gradients.
struct Columns<'a, T> {
    ptr: Ids<'a>,
    idx: Ids<'a>,
    values: &'a [T],
    dense: Source<'a, T>,
    grad: Source<'a, T>,
    heads: usize,
    /// Column of the first pointer.
    first: usize,
    cols: Range<usize>,
    dense_grads: &'a mut [T],
    dots: &'a mut [T],
}

impl<T: Element> WithSimd for Columns<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        with_width!(self.dense.width(), self.heads, T, self, columns::<S>(simd));
    }
}

impl<T: Element> Columns<'_, T> {
    #[inline(always)]
    fn columns<S: Simd, const WIDTH: usize>(self, simd: S) {
        let Self { ptr, idx, values, first, cols, dense_grads, dots, .. } = self;
        let (dense, grad) = (self.dense.of_width(WIDTH), self.grad.of_width(WIDTH));
        let width = dense.width();
        let heads = if WIDTH == 0 { self.heads } else { 1 };
        let part = width / heads;
        let mut sums = vec![T::ACC_ZERO; width];
        let mut more = Cascade::new();
        let mut dots = dots.chunks_exact_mut(heads);
        for (col, out) in cols.zip(dense_grads.chunks_exact_mut(width)) {
            let x = dense.row(first + col);
            sums.fill(T::ACC_ZERO);
            add_blocks::<T>(blocks(ptr.span(col), T::IS_FLOAT), &mut sums, &mut more, |elements, sums| {
                for (k, dots) in elements.zip(&mut dots) {
                    grad.prefetch(idx.peek(k + grad.distance()));
                    let g = grad.row(idx.at(k));
                    let values = &values[k * heads..][..heads];
                    for (head, (value, dot)) in values.iter().zip(dots).enumerate() {
                        let (own, value) = (head * part..(head + 1) * part, value.widen());
                        let (g, x, sums) = (&g[own.clone()], &x[own.clone()], &mut sums[own]);
                        if part <= FEW {
                            *dot = T::narrow(add_and_dot_few::<T>(value, g, x, sums));
                            continue;
                        }
                        if part <= WHOLE {
                            *dot = T::narrow(add_and_dot::<T, S>(simd, value, g, x, sums));
                            continue;
                        }
                        *dot = T::narrow(Total::<T>::of(parts(part, WHOLE), |own| {
                            add_and_dot::<T, S>(simd, value, &g[own.clone()], &x[own.clone()], &mut sums[own])
                        }));
                    }
                }
            });
            for (out, sum) in out.iter_mut().zip(&sums) {
                *out = T::narrow(*sum);
            }
        }
    }
}

/// Adds `value * g` to the sums, and returns the dot product of `g` and `x` with the order of additions of
/// [`sddmm`](crate::sddmm).
#[inline(always)]
fn add_and_dot<T: Element, S: Simd>(simd: S, value: T::Acc, g: &[T], x: &[T], sums: &mut [T::Acc]) -> T::Acc {
    let lanes = T::Lanes::lanes::<S>();
    let ((g, g_rest), (x, x_rest)) = (g.as_chunks::<SUMS>(), x.as_chunks::<SUMS>());
    let (sums, sums_rest) = sums.as_chunks_mut::<SUMS>();
    let weight = T::Lanes::splat(simd, value);
    let mut dots = [T::Lanes::splat(simd, T::ACC_ZERO); SUMS];
    for ((g, x), sums) in g.iter().zip(x).zip(sums) {
        for (j, dot) in dots[..SUMS / lanes].iter_mut().enumerate() {
            *dot = step::<T, S>(simd, weight, *dot, &g[j * lanes..], &x[j * lanes..], &mut sums[j * lanes..]);
        }
    }
    let whole = whole(g_rest.len(), lanes);
    for (j, dot) in dots[..SUMS / lanes].iter_mut().enumerate() {
        if (j + 1) * lanes <= whole {
            let (g, x, sums) = (&g_rest[j * lanes..], &x_rest[j * lanes..], &mut sums_rest[j * lanes..]);
            *dot = step::<T, S>(simd, weight, *dot, g, x, sums);
        }
    }
    let (g_rest, x_rest) = (&g_rest[whole..], &x_rest[whole..]);
    for (sum, g) in sums_rest[whole..].iter_mut().zip(g_rest) {
        *sum = T::add(*sum, T::mul(value, g.widen()));
    }
    finish_dot::<T, S>(simd, dots, g_rest, x_rest)
}

/// The same for at most [`FEW`] columns.
#[inline(always)]
fn add_and_dot_few<T: Element>(value: T::Acc, g: &[T], x: &[T], sums: &mut [T::Acc]) -> T::Acc {
    if let (Ok(g), Ok(sums)) = (<&[T; FEW]>::try_from(g), <&mut [T::Acc; FEW]>::try_from(&mut *sums)) {
        for j in 0..FEW {
            sums[j] = T::add(sums[j], T::mul(value, g[j].widen()));
        }
    } else {
        for (sum, g) in sums.iter_mut().zip(g) {
            *sum = T::add(*sum, T::mul(value, g.widen()));
        }
    }
    dot_few::<T>(g, x)
}

/// [`add_and_dot`] for one vector: `dot` plus the products.
#[inline(always)]
fn step<T: Element, S: Simd>(simd: S, weight: V<T, S>, dot: V<T, S>, g: &[T], x: &[T], sums: &mut [T::Acc]) -> V<T, S> {
    let (g, x, sum) = (T::Lanes::load(simd, g), T::Lanes::load(simd, x), T::Lanes::load_acc(simd, sums));
    T::Lanes::store_acc(simd, T::Lanes::add(simd, sum, T::Lanes::mul(simd, weight, g)), sums);
    T::Lanes::add(simd, dot, T::Lanes::mul(simd, g, x))
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use super::super::compressed::dynamic::DynCompressed;
    use crate::dynamic::slices::{AnyElement, AnyIndex, ElementVec, Elements, Ids, with_floats, with_ids};
    use crate::memory::unwritten;

    /// See [`spmm_backward`](crate::spmm_backward()): the gradients of the dense operand `[cols, features]` and of the
    /// values.
    #[allow(clippy::too_many_arguments)]
    pub fn spmm_backward(
        a: DynCompressed<'_>,
        places: Option<Ids<'_>>,
        values: Elements<'_>,
        dense: Elements<'_>,
        grad: Elements<'_>,
        heads: usize,
        features: usize,
    ) -> (ElementVec, ElementVec) {
        with_ids!(a.ptr, I => with_floats!(values, T => {
            let [values, dense, grad] = [values, dense, grad].map(T::elements);
            let (mut dense_grad, mut value_grads) = (unwritten::<T>(dense.len()), unwritten::<T>(values.len()));
            let (of_dense, of_values) = (&mut dense_grad[..], &mut value_grads[..]);
            let places = places.map(I::ids);
            super::spmm_backward::<T, I>(a.of(), places, values, dense, grad, heads, features, of_dense, of_values);
            (T::element_vec(dense_grad), T::element_vec(value_grads))
        }))
    }
}
