//! Validation, grouping, compression.

use super::slices::{AnyIndex, with_ids};
use super::{IdVec, Ids};
use crate::{Coalesced, Result, Segments};

/// See [`validate_coo`](crate::validate_coo()).
pub fn validate_coo(op: &'static str, shape: &[usize], indices: Ids<'_>, nnz: usize) -> Result<bool> {
    with_ids!(indices, I => crate::validate_coo::<I>(op, shape, I::ids(indices), nnz))
}

/// See [`validate_csr`](crate::validate_csr()).
pub fn validate_csr(op: &'static str, rows: usize, cols: usize, row_ptr: Ids<'_>, col_idx: Ids<'_>) -> Result<()> {
    with_ids!(row_ptr, I => crate::validate_csr::<I>(op, rows, cols, I::ids(row_ptr), I::ids(col_idx)))
}

/// See [`coalesce`](crate::coalesce()): unique coordinates, then the order and the pointers of the entries of each.
pub fn coalesce(shape: &[usize], indices: Ids<'_>, nnz: usize) -> (IdVec, IdVec, IdVec) {
    with_ids!(indices, I => {
        let Coalesced { indices, segments: Segments { ptr, order } } =
            crate::coalesce::<I>(shape, I::ids(indices), nnz);
        (I::id_vec(indices), I::id_vec(order), I::id_vec(ptr))
    })
}

/// See [`group_by`](crate::group_by()): `(order, ptr)`.
pub fn group_by(keys: Ids<'_>, groups: usize) -> (IdVec, IdVec) {
    with_ids!(keys, I => {
        let Segments { ptr, order } = crate::group_by::<I>(I::ids(keys), groups);
        (I::id_vec(order), I::id_vec(ptr))
    })
}

/// See [`scan`](crate::scan()).
pub fn scan(counts: Ids<'_>) -> IdVec {
    with_ids!(counts, I => I::id_vec(crate::scan::<I>(I::ids(counts))))
}

/// See [`expand_ptr`](crate::expand_ptr()).
pub fn expand_ptr(ptr: Ids<'_>) -> IdVec {
    with_ids!(ptr, I => I::id_vec(crate::expand_ptr::<I>(I::ids(ptr))))
}

/// See [`compress`](crate::compress()).
pub fn compress(ids: Ids<'_>, groups: usize) -> IdVec {
    with_ids!(ids, I => I::id_vec(crate::compress::<I>(I::ids(ids), groups)))
}
