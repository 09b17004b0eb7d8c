//! Sparse matrix times dense matrix.

use super::compressed::{Compressed, View};
use super::spmv::spmv;
use crate::reduce::{Weights, reduce_rows};
use crate::reducer::Sum;
use crate::source::Source;
use crate::{Element, Index};

/// Sparse x dense: `out[r, :] = sum over k of value[k] * dense[idx[k], :]`.
///
/// `dense` is row-major `[cols, features]`, `out` is `[rows, features]`. Every element of `out` is overwritten; an
/// empty row gives 0. Sums are accumulated in [`Element::Acc`] in the order of the row, whatever the number of threads
/// and the instruction set. One feature is a sparse matrix-vector product and has its own code path.
///
/// Each thread gets rows with about the same number of elements, not the same number of rows. A wide row is computed in
/// register tiles of 8 vectors, with the dense rows prefetched (the scheme of Yang, Buluc and Owens, "Design principles
/// for sparse matrix multiplication on the GPU", Euro-Par 2018, applied to SIMD lanes). O(nnz * features) time, no
/// extra memory.
///
/// # Panics
///
/// When lengths disagree, `ptr` descends or an index is out of range.
pub fn spmm<T: Element, I: Index>(a: Compressed<'_, I>, values: &[T], dense: &[T], features: usize, out: &mut [T]) {
    assert_eq!(out.len(), I::list(a.ptr).rows() * features, "spmm: out must be [rows, features]");
    match features {
        0 => {}
        1 => spmv(a, values, dense, out),
        _ => {
            let View { ptr, idx, perm } = a.view();
            let dense = Source::new(dense, features, "spmm: dense");
            reduce_rows(Sum, Weights { values, perm }, ptr, Some(idx), dense, out);
        }
    }
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use super::super::compressed::dynamic::DynCompressed;
    use crate::alloc::zeroed;
    use crate::dynamic::slices::{AnyElement, ElementVec, Elements, Ids, with_elements, with_ids};

    /// See [`spmm`](crate::spmm()): `[rows, features]`.
    pub fn spmm(a: DynCompressed<'_>, values: Elements<'_>, dense: Elements<'_>, features: usize) -> ElementVec {
        with_ids!(a.ptr, I => with_elements!(values, T => {
            let mut out = zeroed::<T>(a.rows() * features);
            super::spmm::<T, I>(a.of(), T::elements(values), T::elements(dense), features, &mut out);
            T::element_vec(out)
        }))
    }
}
