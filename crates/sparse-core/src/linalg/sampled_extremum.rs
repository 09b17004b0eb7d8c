//! Sparse matrix times transposed sparse matrix at the elements of a mask, with an extremum in place of the sum, and
//! its gradient.

use super::compressed::{Compressed, View};
use super::extremum::Extremum;
use super::places::{Columns, Right, position, prefetch_next};
use super::term::{Join, Product, Sum, Term, is_result};
use crate::par::for_pieces;
use crate::reducer::{Extreme, Reducer};
use crate::{Element, Index};

/// Sampled sparse x sparse^T of a semiring: `out[e] = max over j of X[i, j] * Y[k, j]` for each element `e = (i, k)` of
/// `mask`, over the `j` that row `i` of X and row `k` of Y both store; of `X[i, j] + Y[k, j]` for [`Term::Sum`]. `cols`
/// is the width of both.
///
/// Where no elements meet, it is what [`spmm_extremum`](crate::spmm_extremum()) gives for an empty row. If any term is
/// NaN, the result is NaN. The columns of row `i` of X are marked in a dense row, where the rows of Y look for them.
/// O(nnz of X + elements of the rows of Y for each of the mask) time, and memory for one dense row per thread.
///
/// # Panics
///
/// When lengths disagree, pointers descend or an index is out of range.
pub fn sampled_extremum<T: Element, I: Index>(
    (extremum, term): (Extremum, Term),
    mask: (&[I], &[I]),
    (x, x_values): (Compressed<'_, I>, &[T]),
    (y, y_values): (Compressed<'_, I>, &[T]),
    cols: usize,
    out: &mut [T],
) {
    let reducer = match extremum {
        Extremum::Max => Extreme::largest::<T>(),
        Extremum::Min => Extreme::smallest::<T>(),
    };
    let mask = Compressed { ptr: mask.0, idx: mask.1, perm: None }.view();
    let columns = Columns::of(x.idx, cols);
    let (own, other) = (columns.places(x.idx), columns.places(y.idx));
    let (x, y) = ((Right::of(x, &own, &columns), x_values), (Right::of(y, &other, &columns), y_values));
    match term {
        Term::Product => sample(reducer, mask, x, y, out),
        Term::Sum => sample(reducer.of_sums(), mask, x, y, out),
    }
}

/// The elements of a row of X, found by their places.
struct Marked<A> {
    /// One more than the number of the element, 0 for none.
    marks: Vec<u32>,
    values: Vec<A>,
}

impl<A: Copy> Marked<A> {
    fn new(width: usize) -> Self {
        Self { marks: vec![0; width], values: Vec::new() }
    }

    fn set<T: Element<Acc = A>>(&mut self, (x, x_values): (Right<'_>, &[T]), row: usize) {
        self.values.clear();
        for e in x.ptr.span(row) {
            self.values.push(x_values[position(x.perm, e)].widen());
            self.marks[x.places[e].to_usize()] = self.values.len() as u32;
        }
    }

    fn unset(&mut self, x: Right<'_>, row: usize) {
        x.places[x.ptr.span(row)].iter().for_each(|place| self.marks[place.to_usize()] = 0);
    }

    /// Calls `meet(number, value of X, value of Y)` for the elements of a row of Y that meet one.
    #[inline(always)]
    fn meet<T: Element<Acc = A>>(
        &self,
        (y, y_values): (Right<'_>, &[T]),
        row: usize,
        mut meet: impl FnMut(usize, A, A),
    ) {
        for e in y.ptr.span(row) {
            if let Some(number) = (self.marks[y.places[e].to_usize()] as usize).checked_sub(1) {
                meet(number, self.values[number], y_values[position(y.perm, e)].widen());
            }
        }
    }
}

fn sample<T: Element, R: Reducer<T>>(
    reducer: R,
    View { ptr, idx, .. }: View<'_>,
    x: (Right<'_>, &[T]),
    y: (Right<'_>, &[T]),
    out: &mut [T],
) {
    assert_eq!(out.len(), idx.len(), "sampled_extremum: out must have an element for each of the mask");
    for_pieces(&ptr.cuts(8), out, &|rows| ptr.spans(rows).len(), &|rows, out| {
        let (first, mut marked) = (ptr.at(rows.start), Marked::new(x.0.width));
        for r in rows {
            marked.set(x, r);
            for e in ptr.span(r) {
                prefetch_next(y.0.ptr, idx, e, y.0.places);
                let (mut acc, mut met) = (reducer.start(false), false);
                marked.meet(y, idx.at(e), |_, x, y| {
                    acc = reducer.step(acc, reducer.term(reducer.factor(x), y));
                    met = true;
                });
                out[e - first] = T::narrow(reducer.finish(if met { acc } else { reducer.start(true) }));
            }
            marked.unset(x.0, r);
        }
    });
}

/// The gradient of X of [`sampled_extremum`] for floats, in the order of its compressed rows. That of Y is the same
/// with the roles of both swapped and the mask transposed.
///
/// `out` is the result and `grad` its gradient, at the positions that the mask's permutation names. The gradient of an
/// element of the result is shared evenly by the terms that equal it. An element of X gets the sum of its shares, each
/// times the element of Y (for [`Term::Sum`] the shares alone). Sums are accumulated in [`Element::Acc`] in the order
/// of the mask's row. Twice the time of the forward pass.
///
/// # Panics
///
/// When lengths disagree, pointers descend or an index is out of range.
pub fn sampled_extremum_backward<T: Element, I: Index>(
    term: Term,
    mask: Compressed<'_, I>,
    (x, x_values): (Compressed<'_, I>, &[T]),
    (y, y_values): (Compressed<'_, I>, &[T]),
    cols: usize,
    results: (&[T], &[T]),
    x_grads: &mut [T],
) {
    let columns = Columns::of(x.idx, cols);
    let (own, other) = (columns.places(x.idx), columns.places(y.idx));
    let (x, y) = ((Right::of(x, &own, &columns), x_values), (Right::of(y, &other, &columns), y_values));
    match term {
        Term::Product => backward::<T, Product>(mask.view(), x, y, results, x_grads),
        Term::Sum => backward::<T, Sum>(mask.view(), x, y, results, x_grads),
    }
}

fn backward<T: Element, J: Join<T>>(
    View { ptr, idx, perm }: View<'_>,
    x: (Right<'_>, &[T]),
    y: (Right<'_>, &[T]),
    (out, grad): (&[T], &[T]),
    x_grads: &mut [T],
) {
    const OP: &str = "sampled_extremum_backward";
    assert_eq!([out.len(), grad.len()], [idx.len(); 2], "{OP}: out and grad must have an element for each of the mask");
    assert_eq!(x_grads.len(), x.0.places.len(), "{OP}: the gradient must have an element for each of X");
    assert_eq!(ptr.rows(), x.0.ptr.rows(), "{OP}: X must have the rows of the mask");
    for_pieces(&ptr.cuts(8), x_grads, &|rows| x.0.ptr.spans(rows).len(), &|rows, x_grads| {
        let (first, mut marked, mut sums) = (x.0.ptr.at(rows.start), Marked::new(x.0.width), Vec::new());
        for r in rows {
            let own = x.0.ptr.span(r);
            marked.set(x, r);
            sums.clear();
            sums.resize(own.len(), T::ACC_ZERO);
            for e in ptr.span(r) {
                prefetch_next(y.0.ptr, idx, e, y.0.places);
                let (at, other) = (position(perm, e), idx.at(e));
                let (out, mut ties) = (out[at], 0);
                marked.meet(y, other, |_, x, y| ties += usize::from(is_result(J::term(x, y), out)));
                if ties == 0 {
                    continue;
                }
                let share = T::round(T::div(grad[at].widen(), T::from_count(ties)));
                marked.meet(y, other, |number, x, y| {
                    if is_result(J::term(x, y), out) {
                        sums[number] = T::add(sums[number], J::slope(y, share));
                    }
                });
            }
            marked.unset(x.0, r);
            let grads = &mut x_grads[own.start - first..own.end - first];
            grads.iter_mut().zip(&sums).for_each(|(grad, sum)| *grad = T::narrow(*sum));
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

    /// See [`sampled_extremum`](crate::sampled_extremum()): one value for each element of `mask`.
    pub fn sampled_extremum(
        how: (Extremum, Term),
        mask: (Ids<'_>, Ids<'_>),
        (x, x_values): (DynCompressed<'_>, Elements<'_>),
        (y, y_values): (DynCompressed<'_>, Elements<'_>),
        cols: usize,
    ) -> ElementVec {
        with_ids!(mask.0, I => with_elements!(x_values, T => {
            let mut out = unwritten::<T>(mask.1.len());
            let (x, y) = ((x.of(), T::elements(x_values)), (y.of(), T::elements(y_values)));
            super::sampled_extremum::<T, I>(how, (I::ids(mask.0), I::ids(mask.1)), x, y, cols, &mut out);
            T::element_vec(out)
        }))
    }

    /// See [`sampled_extremum_backward`](crate::sampled_extremum_backward()): one value for each element of `x`.
    pub fn sampled_extremum_backward(
        term: Term,
        mask: DynCompressed<'_>,
        (x, x_values): (DynCompressed<'_>, Elements<'_>),
        (y, y_values): (DynCompressed<'_>, Elements<'_>),
        cols: usize,
        results: (Elements<'_>, Elements<'_>),
    ) -> ElementVec {
        with_ids!(mask.ptr, I => with_floats!(x_values, T => {
            let mut grads = unwritten::<T>(x.idx.len());
            let (x, y) = ((x.of(), T::elements(x_values)), (y.of(), T::elements(y_values)));
            let results = (T::elements(results.0), T::elements(results.1));
            super::sampled_extremum_backward::<T, I>(term, mask.of(), x, y, cols, results, &mut grads);
            T::element_vec(grads)
        }))
    }
}
