//! The extension trait.

use crate::backends::host;
use crate::{AnyTensor, HostAccess, OptionalInt, RowsView};
use burn::backend::backend_extension;
use burn::backend::tensor::IntTensor;
use sparse_core::Result;

/// What a backend does for sparse tensors.
///
/// Index tensors of one call share a dtype (i32 or i64). Values are `[nnz, block]`. An *index map* sends new rows to old
/// ones, with the number of old rows for "missing". Sizes that the result depends on are arguments, so that only the
/// structure methods (validation, coalesce, merges) ever read the device.
#[backend_extension(
    Flex: cfg(feature = "flex"),
    NdArray: cfg(feature = "ndarray"),
    Cube: cfg(feature = "gpu"),
)]
pub trait SparseBackend: HostAccess {
    /// Checks COO coordinates `[sparse_dims, nnz]` against `shape`; whether they ascend strictly (are coalesced).
    fn validate_coo(op: &'static str, indices: IntTensor<Self>, shape: Vec<usize>) -> Result<bool> {
        host::validate_coo::<Self>(op, indices, &shape)
    }

    /// Checks row pointers `[rows + 1]` and columns.
    fn validate_csr(
        op: &'static str,
        row_ptr: IntTensor<Self>,
        col_idx: IntTensor<Self>,
        rows: usize,
        cols: usize,
    ) -> Result<()> {
        host::validate_csr::<Self>(op, row_ptr, col_idx, rows, cols)
    }

    /// Unique coordinates in lexicographic order, and for each its old elements: `(indices, order, ptr)`.
    fn coalesce(indices: IntTensor<Self>, shape: Vec<usize>) -> (IntTensor<Self>, IntTensor<Self>, IntTensor<Self>) {
        host::coalesce::<Self>(indices, &shape)
    }

    /// Stable grouping of positions by key in `[0, groups)`: `(order, ptr)`.
    fn group_by(keys: IntTensor<Self>, groups: usize) -> (IntTensor<Self>, IntTensor<Self>) {
        host::group_by::<Self>(keys, groups)
    }

    /// The group of every element: the inverse of `compress`.
    fn expand_ptr(ptr: IntTensor<Self>, nnz: usize) -> IntTensor<Self> {
        host::expand_ptr::<Self>(ptr, nnz)
    }

    /// Group boundaries of ascending group ids.
    fn compress(ids: IntTensor<Self>, groups: usize) -> IntTensor<Self> {
        host::compress::<Self>(ids, groups)
    }

    /// Row `k` of the result is row `map[k]` of `values`, or `fill` (`[1, block]`) where it is missing.
    fn move_rows(
        #[extension_type] values: AnyTensor<Self>,
        #[extension_type] fill: AnyTensor<Self>,
        map: IntTensor<Self>,
    ) -> AnyTensor<Self> {
        host::move_rows::<Self>(values, fill, map)
    }

    /// Row `s` of the result is the sum of rows `order[ptr[s]..ptr[s + 1]]`, in that order; of Bool, whether any holds.
    fn segment_sum(
        #[extension_type] values: AnyTensor<Self>,
        #[extension_type] order: OptionalInt<Self>,
        ptr: IntTensor<Self>,
    ) -> AnyTensor<Self> {
        host::segment_sum::<Self>(values, order, ptr)
    }

    /// Sparse x dense: `out[r, :] = sum_k values[k] * dense[idx[k], :]`.
    fn spmm(
        #[extension_type] view: RowsView<Self>,
        #[extension_type] values: AnyTensor<Self>,
        #[extension_type] dense: AnyTensor<Self>,
    ) -> AnyTensor<Self> {
        host::spmm::<Self>(view, values, dense)
    }

    /// Sampled dense x dense: `out[k] = <x[rows[k], :], y[cols[k], :]>`.
    fn sddmm(
        rows: IntTensor<Self>,
        cols: IntTensor<Self>,
        #[extension_type] x: AnyTensor<Self>,
        #[extension_type] y: AnyTensor<Self>,
    ) -> AnyTensor<Self> {
        host::sddmm::<Self>(rows, cols, x, y)
    }
}
