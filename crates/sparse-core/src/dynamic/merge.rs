//! Merged and concatenated patterns.

use super::slices::{AnyBits, AnyElement, AnyIndex, with_bits, with_elements, with_ids};
use super::{BitVec, Bits, ElementVec, Elements, IdVec, Ids};
use crate::{BinaryOp, CsrPart, zeroed};

/// Row pointers and columns.
type Csr<'a> = (Ids<'a>, Ids<'a>);

/// A pattern merged from two patterns, with an index map into each. Entry `k` of a map is the position of element `k`
/// in that operand, or the operand's number of elements if the operand does not have it.
#[derive(Debug)]
pub struct DynMerged {
    /// Row pointers of a CSR pattern; `None` for a COO pattern.
    pub row_ptr: Option<IdVec>,
    /// Columns, or coordinates `[sparse_dims, nnz]`.
    pub indices: IdVec,
    /// Position of each element in the first operand.
    pub map_a: IdVec,
    /// Position of each element in the second operand.
    pub map_b: IdVec,
}

macro_rules! coo {
    ($($name:ident)*) => {$(
        #[doc = concat!("See [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        pub fn $name(sparse_dims: usize, a: Ids<'_>, nnz_a: usize, b: Ids<'_>, nnz_b: usize) -> DynMerged {
            with_ids!(a, I => {
                let merged = crate::$name::<I>(sparse_dims, I::ids(a), nnz_a, I::ids(b), nnz_b);
                DynMerged {
                    row_ptr: None,
                    indices: I::id_vec(merged.indices),
                    map_a: I::id_vec(merged.map_a),
                    map_b: I::id_vec(merged.map_b),
                }
            })
        }
    )*};
}

macro_rules! csr {
    ($($name:ident)*) => {$(
        #[doc = concat!("See [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        pub fn $name(a: Csr<'_>, b: Csr<'_>) -> DynMerged {
            with_ids!(a.0, I => {
                let merged = crate::$name::<I>(I::ids(a.0), I::ids(a.1), I::ids(b.0), I::ids(b.1));
                DynMerged {
                    row_ptr: Some(I::id_vec(merged.row_ptr)),
                    indices: I::id_vec(merged.col_idx),
                    map_a: I::id_vec(merged.map_a),
                    map_b: I::id_vec(merged.map_b),
                }
            })
        }
    )*};
}

coo!(union_coo intersect_coo);
csr!(union_csr intersect_csr);

/// See [`locate_coo`](crate::locate_coo()).
pub fn locate_coo(sparse_dims: usize, a: Ids<'_>, nnz_a: usize, b: Ids<'_>, nnz_b: usize) -> IdVec {
    with_ids!(a, I => I::id_vec(crate::locate_coo::<I>(sparse_dims, I::ids(a), nnz_a, I::ids(b), nnz_b)))
}

/// See [`locate_csr`](crate::locate_csr()).
pub fn locate_csr(a: Csr<'_>, b: Csr<'_>) -> IdVec {
    with_ids!(a.0, I => I::id_vec(crate::locate_csr::<I>(I::ids(a.0), I::ids(a.1), I::ids(b.0), I::ids(b.1))))
}

/// A side of [`zip_rows`]: values, the fill row, and the index map.
pub type DynSide<'a> = (Elements<'a>, Elements<'a>, Option<Ids<'a>>);

fn side<'a, T: AnyElement, I: AnyIndex>((values, fill, map): DynSide<'a>) -> (&'a [T], &'a [T], Option<&'a [I]>) {
    (T::elements(values), T::elements(fill), map.map(I::ids))
}

/// See [`zip_rows`](crate::zip_rows()): `[rows, block]`.
pub fn zip_rows(op: BinaryOp, a: DynSide<'_>, b: DynSide<'_>, block: usize, rows: usize) -> ElementVec {
    let ids = a.2.or(b.2).unwrap_or(Ids::I32(&[]));
    with_ids!(ids, I => with_elements!(a.0, T => {
        let mut out = zeroed::<T>(rows * block);
        let ((a, fill_a, map_a), (b, fill_b, map_b)) = (side::<T, I>(a), side::<T, I>(b));
        crate::zip_rows::<T, I>(op, a, fill_a, map_a, b, fill_b, map_b, block, &mut out);
        T::element_vec(out)
    }))
}

/// A matrix of [`union_apply_csr`]: its pattern, its values, and its fill of one element.
pub type DynMatrix<'a> = (Csr<'a>, Elements<'a>, Elements<'a>);

fn matrix<'a, T: AnyElement, I: AnyIndex>(((ptr, col), values, fill): DynMatrix<'a>) -> (&'a [I], &'a [I], &'a [T], T) {
    (I::ids(ptr), I::ids(col), T::elements(values), T::elements(fill)[0])
}

/// See [`union_apply_csr`](crate::union_apply_csr()): row pointers, columns, values.
pub fn union_apply_csr(op: BinaryOp, a: DynMatrix<'_>, b: DynMatrix<'_>) -> (IdVec, IdVec, ElementVec) {
    with_ids!(a.0.0, I => with_elements!(a.1, T => {
        let ((ptr_a, col_a, a, fill_a), (ptr_b, col_b, b, fill_b)) = (matrix::<T, I>(a), matrix::<T, I>(b));
        let (ptr, col, out) = crate::union_apply_csr::<T, I>(op, ptr_a, col_a, a, fill_a, ptr_b, col_b, b, fill_b);
        (I::id_vec(ptr), I::id_vec(col), T::element_vec(out))
    }))
}

/// See [`concat_coo`](crate::concat_coo()): coordinates, and the map unless it is the identity.
pub fn concat_coo(
    axis: usize,
    offsets: &[usize],
    parts: &[(Ids<'_>, usize)],
    sparse_dims: usize,
    coalesced: bool,
) -> (IdVec, Option<IdVec>) {
    with_ids!(parts[0].0, I => {
        let parts: Vec<_> = parts.iter().map(|&(indices, nnz)| (I::ids(indices), nnz)).collect();
        let (indices, map) = crate::concat_coo::<I>(axis, offsets, &parts, sparse_dims, coalesced);
        (I::id_vec(indices), map.map(I::id_vec))
    })
}

/// See [`concat_coo_values`](crate::concat_coo_values()): coordinates, values.
pub fn concat_coo_values(
    axis: usize,
    offsets: &[usize],
    parts: &[(Ids<'_>, usize)],
    values: &[Bits<'_>],
    sparse_dims: usize,
    coalesced: bool,
) -> (IdVec, BitVec) {
    with_ids!(parts[0].0, I => with_bits!(values[0], T => {
        let parts: Vec<_> = parts.iter().map(|&(indices, nnz)| (I::ids(indices), nnz)).collect();
        let values: Vec<&[T]> = values.iter().map(|part| T::bits(*part)).collect();
        let (indices, out) = crate::concat_coo_values::<T, I>(axis, offsets, &parts, &values, sparse_dims, coalesced);
        (I::id_vec(indices), T::bit_vec(out))
    }))
}

/// Typed row pointers and columns of every part.
fn typed<'a, I: AnyIndex>(parts: &[Csr<'a>]) -> Vec<CsrPart<'a, I>> {
    parts.iter().map(|&(ptr, col)| (I::ids(ptr), I::ids(col))).collect()
}

/// See [`concat_csr_rows`](crate::concat_csr_rows()): row pointers and columns.
pub fn concat_csr_rows(parts: &[Csr<'_>]) -> (IdVec, IdVec) {
    with_ids!(parts[0].0, I => {
        let (ptr, col) = crate::concat_csr_rows::<I>(&typed(parts));
        (I::id_vec(ptr), I::id_vec(col))
    })
}

/// See [`concat_csr_cols`](crate::concat_csr_cols()): row pointers, columns and the map.
pub fn concat_csr_cols(parts: &[Csr<'_>], col_offsets: &[usize]) -> (IdVec, IdVec, IdVec) {
    with_ids!(parts[0].0, I => {
        let (ptr, col, map) = crate::concat_csr_cols::<I>(&typed(parts), col_offsets);
        (I::id_vec(ptr), I::id_vec(col), I::id_vec(map))
    })
}

/// See [`concat_csr_cols_values`](crate::concat_csr_cols_values()): row pointers, columns, values.
pub fn concat_csr_cols_values(parts: &[Csr<'_>], values: &[Bits<'_>], col_offsets: &[usize]) -> (IdVec, IdVec, BitVec) {
    with_ids!(parts[0].0, I => with_bits!(values[0], T => {
        let values: Vec<&[T]> = values.iter().map(|part| T::bits(*part)).collect();
        let (ptr, col, out) = crate::concat_csr_cols_values::<T, I>(&typed(parts), &values, col_offsets);
        (I::id_vec(ptr), I::id_vec(col), T::bit_vec(out))
    }))
}

/// See [`interleave_csr_rows`](crate::interleave_csr_rows()): row pointers, columns and the map. `rows` is the number
/// of rows per batch of each part.
pub fn interleave_csr_rows(batch: usize, rows: &[usize], parts: &[Csr<'_>]) -> (IdVec, IdVec, IdVec) {
    with_ids!(parts[0].0, I => {
        let parts: Vec<_> =
            rows.iter().zip(parts).map(|(&rows, &(ptr, col))| (rows, I::ids(ptr), I::ids(col))).collect();
        let (ptr, col, map) = crate::interleave_csr_rows::<I>(batch, &parts);
        (I::id_vec(ptr), I::id_vec(col), I::id_vec(map))
    })
}
