//! Sparse matrix times sparse matrix with an extremum in place of the sum, and its gradient.

use super::compressed::{Compressed, View};
use super::extremum::Extremum;
use super::places::{Columns, Right, position, prefetch_next};
use super::term::{Join, Product, Sum, Term, is_result};
use crate::element::Ids;
use crate::par::for_pieces;
use crate::reducer::{Extreme, Reducer};
use crate::{Element, Index};

/// Sparse x sparse of a semiring, at the elements of the pattern `c`, which must be all of the product: `C[i, j] = max
/// over k of A[i, k] * B[k, j]`, over the `k` that both store; of `A[i, k] + B[k, j]` for [`Term::Sum`]. `cols` is the
/// width of C.
///
/// If any term is NaN, the result is NaN. Each row is reduced in a dense one, as in [`spgemm`](crate::spgemm()).
/// O(products + elements) time, and memory for one dense row per thread. For few elements of a product
/// [`sampled_extremum`](crate::sampled_extremum()) takes less.
///
/// # Panics
///
/// When lengths disagree, pointers descend or an index is out of range.
pub fn spgemm_extremum<T: Element, I: Index>(
    (extremum, term): (Extremum, Term),
    c: (&[I], &[I]),
    (a, a_values): (Compressed<'_, I>, &[T]),
    (b, b_values): (Compressed<'_, I>, &[T]),
    cols: usize,
    out: &mut [T],
) {
    let reducer = match extremum {
        Extremum::Max => Extreme::largest::<T>(),
        Extremum::Min => Extreme::smallest::<T>(),
    };
    let columns = Columns::of(b.idx, cols);
    let (own, other) = (columns.places(c.1), columns.places(b.idx));
    let (c, b) = ((I::list(c.0), &own[..]), (Right::of(b, &other, &columns), b_values));
    match term {
        Term::Product => reduce(reducer, c, (a.view(), a_values), b, out),
        Term::Sum => reduce(reducer.of_sums(), c, (a.view(), a_values), b, out),
    }
}

fn reduce<T: Element, R: Reducer<T>>(
    reducer: R,
    (ptr, places): (Ids<'_>, &[i32]),
    a: (View<'_>, &[T]),
    b: (Right<'_>, &[T]),
    out: &mut [T],
) {
    assert_eq!(out.len(), places.len(), "spgemm_extremum: out must have an element for each of the pattern");
    assert_eq!(ptr.rows(), a.0.ptr.rows(), "spgemm_extremum: A must have the rows of the pattern");
    for_pieces(&ptr.cuts(8), out, &|rows| ptr.spans(rows).len(), &|rows, out| {
        let (first, mut row) = (ptr.at(rows.start), vec![T::ACC_ZERO; b.0.width]);
        for r in rows {
            let own = ptr.span(r);
            places[own.clone()].iter().for_each(|place| row[place.to_usize()] = reducer.start(false));
            for e in a.0.ptr.span(r) {
                prefetch_next(b.0.ptr, a.0.idx, e, b.0.places);
                let factor = reducer.factor(a.1[position(a.0.perm, e)].widen());
                for e in b.0.ptr.span(a.0.idx.at(e)) {
                    let acc = &mut row[b.0.places[e].to_usize()];
                    *acc = reducer.step(*acc, reducer.term(factor, b.1[position(b.0.perm, e)].widen()));
                }
            }
            for (out, place) in out[own.start - first..own.end - first].iter_mut().zip(&places[own]) {
                *out = T::narrow(reducer.finish(row[place.to_usize()]));
            }
        }
    });
}

/// The gradient of A of [`spgemm_extremum`] for floats, in the order of its compressed rows. That of B is the same for
/// `C^T = B^T A^T`.
///
/// `out` is the result and `grad` its gradient, at the positions that the permutation of `c` names. Gradients are
/// shared as by [`sampled_extremum_backward`](crate::sampled_extremum_backward()). Sums are accumulated in
/// [`Element::Acc`] in the order of B's row. Twice the time of the forward pass.
///
/// # Panics
///
/// When lengths disagree, pointers descend or an index is out of range.
pub fn spgemm_extremum_backward<T: Element, I: Index>(
    term: Term,
    c: Compressed<'_, I>,
    (a, a_values): (Compressed<'_, I>, &[T]),
    (b, b_values): (Compressed<'_, I>, &[T]),
    cols: usize,
    results: (&[T], &[T]),
    a_grads: &mut [T],
) {
    let columns = Columns::of(b.idx, cols);
    let (own, other) = (columns.places(c.idx), columns.places(b.idx));
    let (c, b) = (Right::of(c, &own, &columns), (Right::of(b, &other, &columns), b_values));
    match term {
        Term::Product => backward::<T, Product>(c, (a.view(), a_values), b, results, a_grads),
        Term::Sum => backward::<T, Sum>(c, (a.view(), a_values), b, results, a_grads),
    }
}

/// An element of a row of C: the result, how many terms equal it, and then the share of each.
#[derive(Clone, Copy)]
struct Cell<T: Element> {
    out: T,
    ties: u32,
    share: T::Acc,
}

fn backward<T: Element, J: Join<T>>(
    c: Right<'_>,
    (a, a_values): (View<'_>, &[T]),
    (b, b_values): (Right<'_>, &[T]),
    (out, grad): (&[T], &[T]),
    a_grads: &mut [T],
) {
    const OP: &str = "spgemm_extremum_backward";
    assert_eq!([out.len(), grad.len()], [c.places.len(); 2], "{OP}: out and grad must have an element for each of C");
    assert_eq!(a_grads.len(), a.idx.len(), "{OP}: the gradient must have an element for each of A");
    assert_eq!(c.ptr.rows(), a.ptr.rows(), "{OP}: A must have the rows of C");
    let (value, other) = (|e| a_values[position(a.perm, e)].widen(), |e| b_values[position(b.perm, e)].widen());
    for_pieces(&a.ptr.cuts(8), a_grads, &|rows| a.ptr.spans(rows).len(), &|rows, a_grads| {
        let first = a.ptr.at(rows.start);
        let mut row = vec![Cell { out: T::ZERO, ties: 0, share: T::ACC_ZERO }; b.width];
        for r in rows {
            for e in c.ptr.span(r) {
                row[c.places[e].to_usize()] = Cell { out: out[position(c.perm, e)], ties: 0, share: T::ACC_ZERO };
            }
            for e in a.ptr.span(r) {
                prefetch_next(b.ptr, a.idx, e, b.places);
                let x = value(e);
                for e in b.ptr.span(a.idx.at(e)) {
                    let cell = &mut row[b.places[e].to_usize()];
                    cell.ties += u32::from(is_result(J::term(x, other(e)), cell.out));
                }
            }
            for e in c.ptr.span(r) {
                let cell = &mut row[c.places[e].to_usize()];
                let ties = T::from_count(cell.ties.max(1) as usize);
                cell.share = T::round(T::div(grad[position(c.perm, e)].widen(), ties));
            }
            for e in a.ptr.span(r) {
                let (x, mut sum) = (value(e), T::ACC_ZERO);
                for e in b.ptr.span(a.idx.at(e)) {
                    let (y, cell) = (other(e), row[b.places[e].to_usize()]);
                    if is_result(J::term(x, y), cell.out) {
                        sum = T::add(sum, J::slope(y, cell.share));
                    }
                }
                a_grads[e - first] = T::narrow(sum);
            }
        }
    });
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use super::super::compressed::dynamic::DynCompressed;
    use super::{Extremum, Term};
    use crate::dynamic::slices::{
        AnyElement, AnyIndex, ElementVec, Elements, Ids, with_elements, with_floats, with_ids,
    };
    use crate::memory::unwritten;

    /// See [`spgemm_extremum`](crate::spgemm_extremum()): one value for each element of `c`.
    pub fn spgemm_extremum(
        how: (Extremum, Term),
        c: (Ids<'_>, Ids<'_>),
        (a, a_values): (DynCompressed<'_>, Elements<'_>),
        (b, b_values): (DynCompressed<'_>, Elements<'_>),
        cols: usize,
    ) -> ElementVec {
        with_ids!(c.0, I => with_elements!(a_values, T => {
            let mut out = unwritten::<T>(c.1.len());
            let (a, b) = ((a.of(), T::elements(a_values)), (b.of(), T::elements(b_values)));
            super::spgemm_extremum::<T, I>(how, (I::ids(c.0), I::ids(c.1)), a, b, cols, &mut out);
            T::element_vec(out)
        }))
    }

    /// See [`spgemm_extremum_backward`](crate::spgemm_extremum_backward()): one value for each element of `a`.
    pub fn spgemm_extremum_backward(
        term: Term,
        c: DynCompressed<'_>,
        (a, a_values): (DynCompressed<'_>, Elements<'_>),
        (b, b_values): (DynCompressed<'_>, Elements<'_>),
        cols: usize,
        results: (Elements<'_>, Elements<'_>),
    ) -> ElementVec {
        with_ids!(c.ptr, I => with_floats!(a_values, T => {
            let mut grads = unwritten::<T>(a.idx.len());
            let (a, b) = ((a.of(), T::elements(a_values)), (b.of(), T::elements(b_values)));
            let results = (T::elements(results.0), T::elements(results.1));
            super::spgemm_extremum_backward::<T, I>(term, c.of(), a, b, cols, results, &mut grads);
            T::element_vec(grads)
        }))
    }
}
