//! Sparse matrix times dense matrix with a maximum or minimum in place of the sum, and its gradients.

mod cols;
mod forward;
mod rows;
mod winners;

pub use cols::extremum_cols_backward;
pub use forward::{Extremum, spmm_extremum};
pub use rows::extremum_rows_backward;
pub use winners::spmm_extremum_recorded;

/// For types that are known at run time.
pub(super) mod dynamic {
    use super::Extremum;
    use crate::dynamic::slices::{
        AnyElement, AnyIndex, ElementVec, Elements, Ids, with_elements, with_floats, with_ids,
    };
    use crate::linalg::compressed::dynamic::DynCompressed;
    use crate::memory::unwritten;

    /// See [`spmm_extremum`](crate::spmm_extremum()): `[rows, features]`.
    pub fn spmm_extremum(
        extremum: Extremum,
        a: DynCompressed<'_>,
        values: Elements<'_>,
        dense: Elements<'_>,
        heads: usize,
        features: usize,
    ) -> ElementVec {
        with_ids!(a.ptr, I => with_elements!(values, T => {
            let mut out = unwritten::<T>(a.rows() * features);
            let (values, dense) = (T::elements(values), T::elements(dense));
            super::spmm_extremum::<T, I>(extremum, a.of(), values, dense, heads, features, &mut out);
            T::element_vec(out)
        }))
    }

    /// See [`spmm_extremum_recorded`](crate::spmm_extremum_recorded()): the result and the winners.
    pub fn spmm_extremum_recorded(
        extremum: Extremum,
        a: DynCompressed<'_>,
        values: Elements<'_>,
        dense: Elements<'_>,
        heads: usize,
        features: usize,
    ) -> (ElementVec, Vec<u8>) {
        with_ids!(a.ptr, I => with_floats!(values, T => {
            let (mut out, mut winners) = (unwritten::<T>(a.rows() * features), unwritten::<u8>(a.rows() * features));
            let (values, dense) = (T::elements(values), T::elements(dense));
            let (own, won) = (&mut out[..], &mut winners[..]);
            super::spmm_extremum_recorded::<T, I>(extremum, a.of(), values, dense, heads, features, own, won);
            (T::element_vec(out), winners)
        }))
    }

    /// See [`extremum_rows_backward`](crate::extremum_rows_backward()): the shares `[rows, features]` and, if needed,
    /// the gradient of the values. `reads` holds the values, the dense operand, the result and the gradient of the
    /// result.
    pub fn extremum_rows_backward(
        (ptr, idx): (Ids<'_>, Ids<'_>),
        reads: [Elements<'_>; 4],
        heads: usize,
        features: usize,
        winners: Option<&[u8]>,
        need_values: bool,
    ) -> (ElementVec, Option<ElementVec>) {
        with_ids!(ptr, I => with_floats!(reads[0], T => {
            let [values, dense, out, grad] = reads.map(T::elements);
            let mut shares = unwritten::<T>((ptr.len() - 1) * features);
            let mut value_grads = need_values.then(|| unwritten::<T>(values.len()));
            let pattern = (I::ids(ptr), I::ids(idx));
            let (shared, own) = (&mut shares[..], value_grads.as_deref_mut());
            super::extremum_rows_backward::<T, I>(
                pattern, values, dense, out, grad, heads, features, winners, shared, own,
            );
            (T::element_vec(shares), value_grads.map(T::element_vec))
        }))
    }

    /// See [`extremum_cols_backward`](crate::extremum_cols_backward()): `[cols, features]`. `reads` holds the values,
    /// the dense operand, the result and the shares.
    pub fn extremum_cols_backward(
        a: DynCompressed<'_>,
        reads: [Elements<'_>; 4],
        heads: usize,
        features: usize,
        record: Option<(Ids<'_>, &[u8])>,
    ) -> ElementVec {
        with_ids!(a.ptr, I => with_floats!(reads[0], T => {
            let [values, dense, out, shares] = reads.map(T::elements);
            let mut grad = unwritten::<T>(dense.len());
            let record = record.map(|(ptr, winners)| (I::ids(ptr), winners));
            let own = &mut grad[..];
            super::extremum_cols_backward::<T, I>(a.of(), values, dense, out, shares, heads, features, record, own);
            T::element_vec(grad)
        }))
    }
}
