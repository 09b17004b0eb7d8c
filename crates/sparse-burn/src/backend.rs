//! The extension trait.

use crate::backends::host;
use crate::{
    AnyTensor, Groups, HostAccess, Joined, Merged, OptionalFloat, OptionalInt, PatternArrays, PatternList, PutRecord,
    RowsView, TensorList,
};
use burn::backend::backend_extension;
use burn::backend::tensor::{FloatTensor, IntTensor};
use sparse_core::{BinaryOp, Extremum, Reduce, Result};

/// Which elements a merged pattern has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MergeRule {
    /// Those of either.
    Union,
    /// Those of both.
    Intersection,
}

/// Where patterns are joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConcatAxis {
    /// Coordinates along a sparse dim, each part moved by its offset; `merge` where the parts are coalesced and the
    /// result must be.
    Coo {
        /// The sparse dim.
        axis: usize,
        /// Sum of the sizes before each part.
        offsets: Vec<usize>,
        /// Keep coalesced parts coalesced.
        merge: bool,
    },
    /// Compressed rows one below the other (also whole batches).
    CsrRows,
    /// Compressed rows one below the other in each matrix of a batch; rows of each part in a matrix.
    CsrBatchRows {
        /// Number of matrices.
        batch: usize,
        /// Rows of a matrix, for each part.
        rows: Vec<usize>,
    },
    /// Columns side by side, each part moved by its offset.
    CsrCols {
        /// Sum of the sizes before each part.
        offsets: Vec<usize>,
    },
}

/// Sizes of a `put_along_axis`: values `[outer, count, inner]` into an array `[outer, len, inner]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PutTarget {
    /// Product of the dims before the axis.
    pub outer: usize,
    /// Size of the array along the axis.
    pub len: usize,
    /// Product of the dims after the axis.
    pub inner: usize,
    /// Size of the values along the axis.
    pub count: usize,
    /// Whether one index serves a whole step along the axis (`[count]`), or each value has its own.
    pub along_axis: bool,
}

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

    /// Exclusive prefix sums of counts, and their total last: `counts.len() + 1` entries.
    fn scan(counts: IntTensor<Self>) -> IntTensor<Self> {
        host::scan::<Self>(counts)
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

    /// Sparse x dense with an extremum in place of the sum: `out[r, :] = max_k values[k] * dense[idx[k], :]`. NaN wins; a row
    /// without elements gives 0.
    fn spmm_extremum(
        extremum: Extremum,
        #[extension_type] view: RowsView<Self>,
        #[extension_type] values: AnyTensor<Self>,
        #[extension_type] dense: AnyTensor<Self>,
    ) -> AnyTensor<Self> {
        host::spmm_extremum::<Self>(extremum, view, values, dense)
    }

    /// From the result `out` of `spmm_extremum` and its gradient: `shares`, the gradient divided by the number of products
    /// equal to the result, and if asked for the gradient of the values, `sum_f shares[r, f] * dense[idx[k], f]` where the
    /// product is one of them. Elements stand by ascending rows, and `rows` has the row of each.
    #[allow(clippy::too_many_arguments)]
    fn extremum_rows_backward(
        rows: IntTensor<Self>,
        #[extension_type] view: RowsView<Self>,
        values: FloatTensor<Self>,
        dense: FloatTensor<Self>,
        out: FloatTensor<Self>,
        grad: FloatTensor<Self>,
        need_values: bool,
    ) -> (FloatTensor<Self>, OptionalFloat<Self>) {
        host::extremum_rows_backward::<Self>(rows, view, [values, dense, out, grad], need_values)
    }

    /// The gradient of the dense operand: `sum_k shares[idx[k], :] * values[k]` over the elements of each column, where the
    /// product is the result. `view` is the transpose.
    fn extremum_cols_backward(
        #[extension_type] view: RowsView<Self>,
        values: FloatTensor<Self>,
        dense: FloatTensor<Self>,
        out: FloatTensor<Self>,
        shares: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        host::extremum_cols_backward::<Self>(view, [values, dense, out, shares])
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

    /// Sparse x sparse, structure and values: compressed rows of width `cols`, columns ascending. An element stands wherever
    /// a product falls. With an error (`overflow`) there is nothing in either.
    fn spgemm(
        #[extension_type] a: RowsView<Self>,
        #[extension_type] a_values: AnyTensor<Self>,
        #[extension_type] b: RowsView<Self>,
        #[extension_type] b_values: AnyTensor<Self>,
        cols: usize,
    ) -> (PatternArrays<Self>, AnyTensor<Self>, Result<()>) {
        host::spgemm::<Self>(a, a_values, b, b_values, cols)
    }

    /// The values of a sparse x sparse product whose compressed rows `c` of width `cols` are known.
    fn spgemm_values(
        #[extension_type] c: PatternArrays<Self>,
        #[extension_type] a: RowsView<Self>,
        #[extension_type] a_values: AnyTensor<Self>,
        #[extension_type] b: RowsView<Self>,
        #[extension_type] b_values: AnyTensor<Self>,
        cols: usize,
    ) -> AnyTensor<Self> {
        host::spgemm_values::<Self>(c, a, a_values, b, b_values, cols)
    }

    /// `out[e] = sum_j x[i, j] * y[k, j]` for each element `e = (i, k)` of the compressed rows `mask`; `x` and `y` have `cols`
    /// columns.
    fn spgemm_sampled(
        #[extension_type] mask: PatternArrays<Self>,
        #[extension_type] x: RowsView<Self>,
        #[extension_type] x_values: AnyTensor<Self>,
        #[extension_type] y: RowsView<Self>,
        #[extension_type] y_values: AnyTensor<Self>,
        cols: usize,
    ) -> AnyTensor<Self> {
        host::spgemm_sampled::<Self>(mask, x, x_values, y, y_values, cols)
    }

    /// Union or intersection of two coalesced patterns of one layout and shape.
    fn merge(
        rule: MergeRule,
        #[extension_type] a: PatternArrays<Self>,
        #[extension_type] b: PatternArrays<Self>,
    ) -> Merged<Self> {
        host::merge::<Self>(rule, a, b)
    }

    /// For every element of `a`, where it stands in `b`: `nnz` of `b` where it does not.
    fn locate(#[extension_type] a: PatternArrays<Self>, #[extension_type] b: PatternArrays<Self>) -> IntTensor<Self> {
        host::locate::<Self>(a, b)
    }

    /// One pattern of several.
    fn concat_patterns(#[extension_type] parts: PatternList<Self>, axis: ConcatAxis) -> Joined<Self> {
        host::concat_patterns::<Self>(parts, axis)
    }

    /// `concat_patterns` and the values in one pass, for values that need no gradient (and so no index map).
    fn concat(
        #[extension_type] parts: PatternList<Self>,
        #[extension_type] values: TensorList<Self>,
        axis: ConcatAxis,
    ) -> (PatternArrays<Self>, AnyTensor<Self>) {
        host::concat::<Self>(parts, values, axis)
    }

    /// `out[k] = op(a[map_a[k]], b[map_b[k]])`, with the fill rows `[1, block]` where a row is missing.
    #[allow(clippy::too_many_arguments)]
    fn zip_rows(
        op: BinaryOp,
        #[extension_type] a: AnyTensor<Self>,
        #[extension_type] fill_a: AnyTensor<Self>,
        #[extension_type] map_a: OptionalInt<Self>,
        #[extension_type] b: AnyTensor<Self>,
        #[extension_type] fill_b: AnyTensor<Self>,
        #[extension_type] map_b: OptionalInt<Self>,
    ) -> AnyTensor<Self> {
        host::zip_rows::<Self>(op, [a, b], [fill_a, fill_b], [map_a, map_b])
    }

    /// `merge` to the union and `zip_rows` in one pass, for values that need no gradient (and so no index maps).
    fn union_zip(
        op: BinaryOp,
        #[extension_type] a: PatternArrays<Self>,
        #[extension_type] values_a: AnyTensor<Self>,
        #[extension_type] fill_a: AnyTensor<Self>,
        #[extension_type] b: PatternArrays<Self>,
        #[extension_type] values_b: AnyTensor<Self>,
        #[extension_type] fill_b: AnyTensor<Self>,
    ) -> (PatternArrays<Self>, AnyTensor<Self>) {
        host::union_zip::<Self>(op, [a, b], [values_a, values_b], [fill_a, fill_b])
    }

    /// Checks that every index is in `[-size, size)`.
    fn check_indices(op: &'static str, axis: usize, size: usize, index: IntTensor<Self>) -> Result<()> {
        host::check_indices::<Self>(op, axis, size, index)
    }

    /// Reduces values into `arr`, whose buffer is reused where nobody shares it. Indices are checked before. With
    /// `record` a backend may also say which values were chosen, for the gradient's use. `groups` may be given for one
    /// index a step.
    #[allow(clippy::too_many_arguments)]
    fn put(
        #[extension_type] arr: AnyTensor<Self>,
        index: IntTensor<Self>,
        #[extension_type] groups: Groups<Self>,
        #[extension_type] values: AnyTensor<Self>,
        target: PutTarget,
        reduce: Reduce,
        include_self: bool,
        record: bool,
    ) -> (AnyTensor<Self>, PutRecord<Self>) {
        host::put::<Self>(arr, index, groups, values, target, reduce, include_self, record)
    }

    /// Gradients of `put` with respect to `arr` and values, as `needs` says. `arr`, `values` and `out` are given where
    /// `sparse_core::backward_reads` says so, and not where a record without ties is.
    #[allow(clippy::too_many_arguments)]
    fn put_backward(
        grad: FloatTensor<Self>,
        index: IntTensor<Self>,
        #[extension_type] groups: Groups<Self>,
        #[extension_type] record: PutRecord<Self>,
        #[extension_type] arr: OptionalFloat<Self>,
        #[extension_type] values: OptionalFloat<Self>,
        #[extension_type] out: OptionalFloat<Self>,
        target: PutTarget,
        reduce: Reduce,
        include_self: bool,
        needs: [bool; 2],
    ) -> (OptionalFloat<Self>, OptionalFloat<Self>) {
        host::put_backward::<Self>(grad, index, groups, record, [arr, values, out], target, reduce, include_self, needs)
    }

    /// `out[o, k, i] = x[o, index, i]`, flat `[outer * count * inner]`.
    fn gather(#[extension_type] x: AnyTensor<Self>, index: IntTensor<Self>, target: PutTarget) -> AnyTensor<Self> {
        host::gather::<Self>(x, index, target)
    }
}
