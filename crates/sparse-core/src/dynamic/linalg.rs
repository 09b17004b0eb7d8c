//! Products of sparse and dense matrices.

use super::slices::{AnyElement, AnyIndex, with_elements, with_floats, with_ids};
use super::{ElementVec, Elements, IdVec, Ids};
use crate::{Compressed, Extremum, Result, zeroed};

/// [`Compressed`] rows.
#[derive(Clone, Copy, Debug)]
pub struct DynCompressed<'a> {
    /// Where each row starts, then the end of the last row: `rows + 1` entries.
    pub ptr: Ids<'a>,
    /// Column of every element.
    pub idx: Ids<'a>,
    /// Position of the value of every element; `None` if the values are in order.
    pub perm: Option<Ids<'a>>,
}

impl<'a> DynCompressed<'a> {
    fn rows(&self) -> usize {
        self.ptr.len().saturating_sub(1)
    }

    fn of<I: AnyIndex>(self) -> Compressed<'a, I> {
        Compressed { ptr: I::ids(self.ptr), idx: I::ids(self.idx), perm: self.perm.map(I::ids) }
    }
}

/// See [`spmm`](crate::spmm()): `[rows, features]`.
pub fn spmm(a: DynCompressed<'_>, values: Elements<'_>, dense: Elements<'_>, features: usize) -> ElementVec {
    with_ids!(a.ptr, I => with_elements!(values, T => {
        let mut out = zeroed::<T>(a.rows() * features);
        crate::spmm::<T, I>(a.of(), T::elements(values), T::elements(dense), features, &mut out);
        T::element_vec(out)
    }))
}

/// See [`sddmm`](crate::sddmm()): one value per sample.
pub fn sddmm(rows: Ids<'_>, cols: Ids<'_>, x: Elements<'_>, y: Elements<'_>, features: usize) -> ElementVec {
    with_ids!(rows, I => with_elements!(x, T => {
        let mut out = zeroed::<T>(rows.len());
        crate::sddmm::<T, I>(I::ids(rows), I::ids(cols), T::elements(x), T::elements(y), features, &mut out);
        T::element_vec(out)
    }))
}

/// See [`spmm_extremum`](crate::spmm_extremum()): `[rows, features]`.
pub fn spmm_extremum(
    extremum: Extremum,
    a: DynCompressed<'_>,
    values: Elements<'_>,
    dense: Elements<'_>,
    features: usize,
) -> ElementVec {
    with_ids!(a.ptr, I => with_elements!(values, T => {
        let mut out = zeroed::<T>(a.rows() * features);
        crate::spmm_extremum::<T, I>(extremum, a.of(), T::elements(values), T::elements(dense), features, &mut out);
        T::element_vec(out)
    }))
}

/// See [`extremum_rows_backward`](crate::extremum_rows_backward()): the shares `[rows, features]` and, if needed, the
/// gradient of the values. `reads` holds the values, the dense operand, the result and the gradient of the result.
pub fn extremum_rows_backward(
    (ptr, idx): (Ids<'_>, Ids<'_>),
    reads: [Elements<'_>; 4],
    features: usize,
    need_values: bool,
) -> (ElementVec, Option<ElementVec>) {
    with_ids!(ptr, I => with_floats!(reads[0], T => {
        let [values, dense, out, grad] = reads.map(T::elements);
        let mut shares = zeroed::<T>((ptr.len() - 1) * features);
        let mut value_grads = need_values.then(|| zeroed::<T>(idx.len()));
        let pattern = (I::ids(ptr), I::ids(idx));
        let grads = value_grads.as_deref_mut();
        crate::extremum_rows_backward::<T, I>(pattern, values, dense, out, grad, features, &mut shares, grads);
        (T::element_vec(shares), value_grads.map(T::element_vec))
    }))
}

/// See [`extremum_cols_backward`](crate::extremum_cols_backward()): `[cols, features]`. `reads` holds the values, the
/// dense operand, the result and the shares.
pub fn extremum_cols_backward(a: DynCompressed<'_>, reads: [Elements<'_>; 4], features: usize) -> ElementVec {
    with_ids!(a.ptr, I => with_floats!(reads[0], T => {
        let [values, dense, out, shares] = reads.map(T::elements);
        let mut grad = zeroed::<T>(dense.len());
        crate::extremum_cols_backward::<T, I>(a.of(), values, dense, out, shares, features, &mut grad);
        T::element_vec(grad)
    }))
}

/// See [`spgemm`](crate::spgemm()): row pointers, columns, values.
///
/// # Errors
///
/// `overflow`, as in [`spgemm`](crate::spgemm()).
pub fn spgemm(
    a: DynCompressed<'_>,
    a_values: Elements<'_>,
    b: DynCompressed<'_>,
    b_values: Elements<'_>,
    cols: usize,
) -> Result<(IdVec, IdVec, ElementVec)> {
    with_ids!(a.ptr, I => with_elements!(a_values, T => {
        let (ptr, idx, values) =
            crate::spgemm::<T, I>(a.of(), T::elements(a_values), b.of(), T::elements(b_values), cols)?;
        Ok((I::id_vec(ptr), I::id_vec(idx), T::element_vec(values)))
    }))
}

/// See [`spgemm_values`](crate::spgemm_values()): one value for each element of `c`.
pub fn spgemm_values(
    c: (Ids<'_>, Ids<'_>),
    a: DynCompressed<'_>,
    a_values: Elements<'_>,
    b: DynCompressed<'_>,
    b_values: Elements<'_>,
    cols: usize,
) -> ElementVec {
    with_ids!(c.0, I => with_elements!(a_values, T => {
        let mut out = zeroed::<T>(c.1.len());
        let (own, left, right) = ((I::ids(c.0), I::ids(c.1)), T::elements(a_values), T::elements(b_values));
        crate::spgemm_values::<T, I>(own, a.of(), left, b.of(), right, cols, &mut out);
        T::element_vec(out)
    }))
}

/// See [`spgemm_sampled`](crate::spgemm_sampled()): one value for each element of `mask`.
pub fn spgemm_sampled(
    mask: (Ids<'_>, Ids<'_>),
    x: DynCompressed<'_>,
    x_values: Elements<'_>,
    y: DynCompressed<'_>,
    y_values: Elements<'_>,
    cols: usize,
) -> ElementVec {
    with_ids!(mask.0, I => with_elements!(x_values, T => {
        let mut out = zeroed::<T>(mask.1.len());
        let (own, left, right) = ((I::ids(mask.0), I::ids(mask.1)), T::elements(x_values), T::elements(y_values));
        crate::spgemm_sampled::<T, I>(own, x.of(), left, y.of(), right, cols, &mut out);
        T::element_vec(out)
    }))
}
