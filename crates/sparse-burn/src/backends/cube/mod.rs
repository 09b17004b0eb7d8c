//! CubeCL: CUDA, ROCm, Vulkan, Metal and WebGPU from one source.
//!
//! Every method has kernels. A training step over existing patterns and plans reads nothing back; making a pattern reads
//! at most one number at a time (whether it is valid, how large a merge or a coalesced pattern is). What still goes
//! through the host, and is logged once and listed by [`host_fallbacks`]: dtypes that the device has no kernels for
//! (8-bit integers on WebGPU), means of integers where it has none of 64 bits, arrays of 2^31 elements and more (positions
//! are 32-bit), the gradient of a product whose notes (two numbers for each value) no buffer holds, and sums, products of
//! matrices and gradients where a kernel may bind fewer than 9 buffers (10 for sparse x sparse). Quietly, the validation
//! of patterns without elements and the search for the wrong entry behind an error do.

mod extremum;
mod fallback;
pub mod forced;
mod fusion;
mod hardware;
mod launch;
mod parts;
mod put;
mod reduce;
mod rows;
mod sddmm;
mod sort;
mod spgemm;
mod structure;

pub(crate) use fallback::count_read;
pub use fallback::{device_reads, host_fallbacks};

use crate::backend::{ConcatAxis, MergeRule, PutTarget, SparseBackend};
use crate::backends::host;
use crate::{
    AnyTensor, Groups, HostAccess, HostTensor, Joined, Merged, OptionalFloat, OptionalInt, PatternArrays, PatternList,
    PutRecord, RowsView, TensorList,
};
use burn::backend::ops::{BoolTensorOps, FloatTensorOps, IntTensorOps};
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn_cubecl::CubeBackend;
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;
use fallback::fallback;
use launch::{binds, count, runs, take};
use sparse_core::{BinaryOp, Extremum, Reduce, Result};
use std::convert::identity;

impl HostAccess for CubeBackend {
    fn to_host(tensor: AnyTensor<Self>) -> HostTensor {
        fallback::count_read();
        crate::host_tensor::read::<Self>(tensor)
    }
}

/// The tensor of any kind.
fn inner(tensor: AnyTensor<CubeBackend>) -> CubeTensor {
    let (AnyTensor::Float(tensor) | AnyTensor::Int(tensor) | AnyTensor::Bool(tensor)) = tensor;
    tensor
}

fn view(tensor: &AnyTensor<CubeBackend>) -> &CubeTensor {
    let (AnyTensor::Float(tensor) | AnyTensor::Int(tensor) | AnyTensor::Bool(tensor)) = tensor;
    tensor
}

/// A result of the kind of `like`.
fn wrap(like: burn::backend::DType, tensor: CubeTensor) -> AnyTensor<CubeBackend> {
    AnyTensor::of_dtype(like, tensor, identity, identity, identity)
}

fn given(tensor: &OptionalInt<CubeBackend>) -> Option<&CubeTensor> {
    match tensor {
        OptionalInt::Identity => None,
        OptionalInt::By(tensor) => Some(tensor),
    }
}

impl SparseBackend for CubeBackend {
    fn validate_coo(op: &'static str, indices: IntTensor<Self>, shape: Vec<usize>) -> Result<bool> {
        // The host says which coordinate is wrong, and looks at patterns of nothing.
        if count(&indices) > 0 {
            if !runs([&indices]) {
                fallback("validate_coo");
            } else if let Some(ascends) = structure::validate_coo(indices.clone(), &shape) {
                return Ok(ascends);
            }
        }
        host::validate_coo::<Self>(op, indices, &shape)
    }

    fn validate_csr(
        op: &'static str,
        row_ptr: IntTensor<Self>,
        col_idx: IntTensor<Self>,
        rows: usize,
        cols: usize,
    ) -> Result<()> {
        if count(&row_ptr) == rows + 1 && count(&col_idx) > 0 {
            if !runs([&row_ptr, &col_idx]) {
                fallback("validate_csr");
            } else if structure::validate_csr(row_ptr.clone(), col_idx.clone(), rows, cols) {
                return Ok(());
            }
        }
        host::validate_csr::<Self>(op, row_ptr, col_idx, rows, cols)
    }

    fn coalesce(indices: IntTensor<Self>, shape: Vec<usize>) -> (IntTensor<Self>, IntTensor<Self>, IntTensor<Self>) {
        if runs([&indices]) && count(&indices) > 0 {
            let [indices, order, ptr] = structure::coalesce(indices, &shape);
            return (indices, order, ptr);
        }
        if count(&indices) > 0 {
            fallback("coalesce");
        }
        host::coalesce::<Self>(indices, &shape)
    }

    fn group_by(keys: IntTensor<Self>, groups: usize) -> (IntTensor<Self>, IntTensor<Self>) {
        if runs([&keys]) {
            return sort::group_by(keys, groups);
        }
        fallback("group_by");
        host::group_by::<Self>(keys, groups)
    }

    fn scan(counts: IntTensor<Self>) -> IntTensor<Self> {
        if runs([&counts]) {
            return sort::scan_to_ptr(counts);
        }
        fallback("scan");
        host::scan::<Self>(counts)
    }

    fn expand_ptr(ptr: IntTensor<Self>, nnz: usize) -> IntTensor<Self> {
        if runs([&ptr]) {
            return sort::expand_ptr(ptr, nnz);
        }
        fallback("expand_ptr");
        host::expand_ptr::<Self>(ptr, nnz)
    }

    fn compress(ids: IntTensor<Self>, groups: usize) -> IntTensor<Self> {
        if runs([&ids]) {
            return sort::compress(ids, groups);
        }
        fallback("compress");
        host::compress::<Self>(ids, groups)
    }

    fn move_rows(values: AnyTensor<Self>, fill: AnyTensor<Self>, map: IntTensor<Self>) -> AnyTensor<Self> {
        if runs([view(&values), &map]) && addressable(count(&map), view(&values)) {
            return wrap(values.dtype(), rows::move_rows(inner(values), inner(fill), map));
        }
        fallback("move_rows");
        host::move_rows::<Self>(values, fill, map)
    }

    fn segment_sum(values: AnyTensor<Self>, order: OptionalInt<Self>, ptr: IntTensor<Self>) -> AnyTensor<Self> {
        if runs([view(&values), &ptr]) && binds(&ptr, reduce::BUFFERS) && addressable(count(&ptr), view(&values)) {
            return wrap(values.dtype(), reduce::sum_rows(ptr, take(order), None, inner(values)));
        }
        fallback("segment_sum");
        host::segment_sum::<Self>(values, order, ptr)
    }

    fn spmm(rows: RowsView<Self>, values: AnyTensor<Self>, dense: AnyTensor<Self>) -> AnyTensor<Self> {
        if runs([view(&values), view(&dense), &rows.ptr])
            && binds(&rows.ptr, reduce::BUFFERS)
            && addressable(count(&rows.ptr), view(&dense))
        {
            let weights = Some((inner(values), take(rows.perm)));
            return wrap(dense.dtype(), reduce::sum_rows(rows.ptr, Some(rows.idx), weights, inner(dense)));
        }
        fallback("spmm");
        host::spmm::<Self>(rows, values, dense)
    }

    fn spmm_extremum(
        extremum: Extremum,
        rows: RowsView<Self>,
        values: AnyTensor<Self>,
        dense: AnyTensor<Self>,
    ) -> AnyTensor<Self> {
        if runs([view(&values), view(&dense), &rows.ptr])
            && binds(&rows.ptr, reduce::BUFFERS)
            && addressable(count(&rows.ptr), view(&dense))
        {
            let (combine, weights) = (reduce::Combine::Extremum(extremum), Some((inner(values), take(rows.perm))));
            return wrap(dense.dtype(), reduce::combine_rows(combine, rows.ptr, Some(rows.idx), weights, inner(dense)));
        }
        fallback("spmm_extremum");
        host::spmm_extremum::<Self>(extremum, rows, values, dense)
    }

    fn extremum_rows_backward(
        rows: IntTensor<Self>,
        view: RowsView<Self>,
        values: FloatTensor<Self>,
        dense: FloatTensor<Self>,
        out: FloatTensor<Self>,
        grad: FloatTensor<Self>,
        need_values: bool,
    ) -> (FloatTensor<Self>, OptionalFloat<Self>) {
        let reads = [values, dense, out, grad];
        if runs(reads.iter().chain([&rows, &view.ptr])) && binds(&rows, reduce::BUFFERS) {
            let (shares, grads) = extremum::rows_backward(rows, (view.ptr, view.idx), reads, need_values);
            return (shares, grads.map_or(OptionalFloat::Absent, OptionalFloat::Given));
        }
        fallback("extremum_rows_backward");
        host::extremum_rows_backward::<Self>(rows, view, reads, need_values)
    }

    fn extremum_cols_backward(
        view: RowsView<Self>,
        values: FloatTensor<Self>,
        dense: FloatTensor<Self>,
        out: FloatTensor<Self>,
        shares: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let reads = [values, dense, out, shares];
        if runs(reads.iter().chain([&view.ptr])) && binds(&view.ptr, reduce::BUFFERS) {
            return extremum::cols_backward(view.ptr, view.idx, take(view.perm), reads);
        }
        fallback("extremum_cols_backward");
        host::extremum_cols_backward::<Self>(view, reads)
    }

    fn sddmm(rows: IntTensor<Self>, cols: IntTensor<Self>, x: AnyTensor<Self>, y: AnyTensor<Self>) -> AnyTensor<Self> {
        if runs([&rows, view(&x), view(&y)]) {
            return wrap(x.dtype(), sddmm::sddmm(rows, cols, inner(x), inner(y)));
        }
        fallback("sddmm");
        host::sddmm::<Self>(rows, cols, x, y)
    }

    fn spgemm(
        a: RowsView<Self>,
        a_values: AnyTensor<Self>,
        b: RowsView<Self>,
        b_values: AnyTensor<Self>,
        cols: usize,
    ) -> (PatternArrays<Self>, AnyTensor<Self>, Result<()>) {
        if runs([view(&a_values), view(&b_values), &a.ptr])
            && binds(&a.ptr, spgemm::BUFFERS)
            && let Some((ptr, idx)) = spgemm::pattern(&a, &b, cols)
        {
            let dtype = a_values.dtype();
            let values = spgemm::values(&ptr, &idx, a, inner(a_values), b, inner(b_values));
            return (PatternArrays::Csr(ptr, idx), wrap(dtype, values), Ok(()));
        }
        fallback("spgemm");
        host::spgemm::<Self>(a, a_values, b, b_values, cols)
    }

    fn spgemm_values(
        c: PatternArrays<Self>,
        a: RowsView<Self>,
        a_values: AnyTensor<Self>,
        b: RowsView<Self>,
        b_values: AnyTensor<Self>,
        cols: usize,
    ) -> AnyTensor<Self> {
        match &c {
            PatternArrays::Csr(ptr, idx)
                if runs([view(&a_values), view(&b_values), ptr, idx]) && binds(ptr, spgemm::BUFFERS) =>
            {
                let dtype = a_values.dtype();
                wrap(dtype, spgemm::values(ptr, idx, a, inner(a_values), b, inner(b_values)))
            }
            _ => {
                fallback("spgemm_values");
                host::spgemm_values::<Self>(c, a, a_values, b, b_values, cols)
            }
        }
    }

    fn spgemm_sampled(
        mask: PatternArrays<Self>,
        x: RowsView<Self>,
        x_values: AnyTensor<Self>,
        y: RowsView<Self>,
        y_values: AnyTensor<Self>,
        cols: usize,
    ) -> AnyTensor<Self> {
        match &mask {
            PatternArrays::Csr(ptr, idx)
                if runs([view(&x_values), view(&y_values), ptr, idx]) && binds(ptr, spgemm::BUFFERS) =>
            {
                let dtype = x_values.dtype();
                wrap(dtype, spgemm::sampled(ptr, idx, x, inner(x_values), y, inner(y_values)))
            }
            _ => {
                fallback("spgemm_sampled");
                host::spgemm_sampled::<Self>(mask, x, x_values, y, y_values, cols)
            }
        }
    }

    fn merge(rule: MergeRule, a: PatternArrays<Self>, b: PatternArrays<Self>) -> Merged<Self> {
        if let Some([nnz_a, nnz_b]) = sides("merge", &a, &b) {
            if nnz_a == 0 || nnz_b == 0 {
                // All of the other side, or nothing.
                let union = rule == MergeRule::Union;
                let total = if union { nnz_a + nnz_b } else { 0 };
                let (all, none) = (structure::positions(total, indices(&a)), structure::missing(total, indices(&a)));
                let (map_a, map_b) = if nnz_a == 0 { (none, all) } else { (all, none) };
                let pattern = if (nnz_a == 0) == union { b } else { a };
                return Merged { pattern, map_a, map_b };
            }
            let (first, ptr, [map_a, map_b]) = structure::merge(rule, &side(a), &side(b));
            let pattern = match ptr {
                None => PatternArrays::Coo(first),
                Some(ptr) => PatternArrays::Csr(ptr, first),
            };
            return Merged { pattern, map_a, map_b };
        }
        host::merge::<Self>(rule, a, b)
    }

    fn locate(a: PatternArrays<Self>, b: PatternArrays<Self>) -> IntTensor<Self> {
        if let Some([nnz_a, nnz_b]) = sides("locate", &a, &b) {
            if nnz_a == 0 || nnz_b == 0 {
                return structure::missing(nnz_a, indices(&a));
            }
            return structure::locate(&side(a), &side(b));
        }
        host::locate::<Self>(a, b)
    }

    fn concat_patterns(parts: PatternList<Self>, axis: ConcatAxis) -> Joined<Self> {
        if let Some(joined) = joined(&parts, &axis) {
            return joined;
        }
        fallback("concat_patterns");
        host::concat_patterns::<Self>(parts, axis)
    }

    fn concat(
        parts: PatternList<Self>,
        values: TensorList<Self>,
        axis: ConcatAxis,
    ) -> (PatternArrays<Self>, AnyTensor<Self>) {
        let values: Vec<AnyTensor<Self>> = values.0;
        let dtype = values[0].dtype();
        let Joined { pattern, map } = Self::concat_patterns(parts, axis);
        let joined = wrap(dtype, cat(values.into_iter().map(inner).collect()));
        match map {
            OptionalInt::Identity => (pattern, joined),
            OptionalInt::By(map) => {
                let block = view(&joined).meta.shape()[1];
                let fill = wrap(dtype, zeros(map.device.clone(), [1, block].into(), dtype));
                (pattern, Self::move_rows(joined, fill, map))
            }
        }
    }

    fn zip_rows(
        op: BinaryOp,
        a: AnyTensor<Self>,
        fill_a: AnyTensor<Self>,
        map_a: OptionalInt<Self>,
        b: AnyTensor<Self>,
        fill_b: AnyTensor<Self>,
        map_b: OptionalInt<Self>,
    ) -> AnyTensor<Self> {
        let maps = [&map_a, &map_b].into_iter().filter_map(given);
        if runs([view(&a), view(&b)].into_iter().chain(maps)) {
            let dtype = a.dtype();
            let (a, b) = ((inner(a), inner(fill_a), take(map_a)), (inner(b), inner(fill_b), take(map_b)));
            return wrap(dtype, rows::zip_rows(op, a, b));
        }
        fallback("zip_rows");
        host::zip_rows::<Self>(op, [a, b], [fill_a, fill_b], [map_a, map_b])
    }

    fn union_zip(
        op: BinaryOp,
        a: PatternArrays<Self>,
        values_a: AnyTensor<Self>,
        fill_a: AnyTensor<Self>,
        b: PatternArrays<Self>,
        values_b: AnyTensor<Self>,
        fill_b: AnyTensor<Self>,
    ) -> (PatternArrays<Self>, AnyTensor<Self>) {
        let Merged { pattern, map_a, map_b } = Self::merge(MergeRule::Union, a, b);
        let (map_a, map_b) = (OptionalInt::By(map_a), OptionalInt::By(map_b));
        (pattern, Self::zip_rows(op, values_a, fill_a, map_a, values_b, fill_b, map_b))
    }

    fn check_indices(op: &'static str, axis: usize, size: usize, index: IntTensor<Self>) -> Result<()> {
        if count(&index) == 0 {
            return Ok(());
        }
        // Two numbers are read; the index itself only to say which entry is wrong.
        let (low, high) = fallback::bounds(index.clone());
        if low >= -(size as i64) && high < size as i64 {
            return Ok(());
        }
        host::check_indices::<Self>(op, axis, size, index)
    }

    fn put(
        arr: AnyTensor<Self>,
        index: IntTensor<Self>,
        groups: Groups<Self>,
        values: AnyTensor<Self>,
        target: PutTarget,
        reduce: Reduce,
        include_self: bool,
        record: bool,
    ) -> (AnyTensor<Self>, PutRecord<Self>) {
        let dtype = arr.dtype();
        if runs([view(&arr), view(&values), &index]) && put::launches(&target) && put::sums(view(&arr), reduce) {
            let (order, ptr) = match groups {
                Groups::Given(order, ptr) => (order, ptr),
                Groups::Unknown => put::group(index, &target),
            };
            let groups = (order.clone(), ptr.clone());
            let out = put::put(inner(arr), inner(values), groups, target, reduce, include_self);
            return (wrap(dtype, out), if record { PutRecord::Given(order, ptr) } else { PutRecord::Absent });
        }
        if put::is_nothing(&target) {
            // Nothing arrives, or there is nowhere to arrive.
            return (arr, PutRecord::Absent);
        }
        fallback("put");
        // A record of the host's would be taken for one of the device's.
        (host::put::<Self>(arr, index, groups, values, target, reduce, include_self, false).0, PutRecord::Absent)
    }

    fn put_backward(
        grad: FloatTensor<Self>,
        index: IntTensor<Self>,
        groups: Groups<Self>,
        record: PutRecord<Self>,
        arr: OptionalFloat<Self>,
        values: OptionalFloat<Self>,
        out: OptionalFloat<Self>,
        target: PutTarget,
        reduce: Reduce,
        include_self: bool,
        needs: [bool; 2],
    ) -> (OptionalFloat<Self>, OptionalFloat<Self>) {
        if runs([&grad, &index])
            && binds(&grad, put::BUFFERS)
            && put::launches(&target)
            && (!needs[1] || put::notes(&grad, &target, reduce))
        {
            let groups = match (record, groups) {
                (PutRecord::Given(order, ptr), _) | (_, Groups::Given(order, ptr)) => (order, ptr),
                _ => put::group(index, &target),
            };
            let reads = [arr, values, out].map(|read| match read {
                OptionalFloat::Absent => None,
                OptionalFloat::Given(tensor) => Some(tensor),
            });
            let grads = put::put_backward(grad, groups, reads, target, reduce, include_self, needs);
            let [arr, values] = grads.map(|grad| grad.map_or(OptionalFloat::Absent, OptionalFloat::Given));
            return (arr, values);
        }
        if put::is_nothing(&target) {
            let grads = put::nothing_backward(grad, &target, needs);
            let [arr, values] = grads.map(|grad| grad.map_or(OptionalFloat::Absent, OptionalFloat::Given));
            return (arr, values);
        }
        fallback("put_backward");
        host::put_backward::<Self>(
            grad,
            index,
            groups,
            PutRecord::Absent,
            [arr, values, out],
            target,
            reduce,
            include_self,
            needs,
        )
    }

    fn gather(x: AnyTensor<Self>, index: IntTensor<Self>, target: PutTarget) -> AnyTensor<Self> {
        if runs([view(&x), &index]) && put::fits(&target) {
            return wrap(x.dtype(), put::gather(inner(x), index, target));
        }
        fallback("gather");
        host::gather::<Self>(x, index, target)
    }
}

/// Whether `rows` rows as wide as those of `like` can be addressed.
fn addressable(rows: usize, like: &CubeTensor) -> bool {
    rows.saturating_mul(like.meta.shape()[1]) < i32::MAX as usize
}

/// Rows one below the other.
fn cat(parts: Vec<CubeTensor>) -> CubeTensor {
    let rows: usize = parts.iter().map(|part| part.meta.shape()[0]).sum();
    let filled: Vec<CubeTensor> = parts.iter().filter(|part| count(part) > 0).cloned().collect();
    match &filled[..] {
        [] => launch::empty(&parts[0], [rows, parts[0].meta.shape()[1]], parts[0].dtype),
        [one, ..] if one.dtype.is_float() => CubeBackend::float_cat(filled, 0),
        [one, ..] if one.dtype.is_bool() => CubeBackend::bool_cat(filled, 0),
        _ => CubeBackend::int_cat(filled, 0),
    }
}

/// The coordinates of a pattern, or its columns.
fn indices(pattern: &PatternArrays<CubeBackend>) -> &CubeTensor {
    let (PatternArrays::Coo(indices) | PatternArrays::Csr(_, indices)) = pattern;
    indices
}

fn side(pattern: PatternArrays<CubeBackend>) -> structure::Side {
    match pattern {
        PatternArrays::Coo(indices) => structure::Side::coo(indices),
        PatternArrays::Csr(ptr, col) => structure::Side::csr(ptr, col),
    }
}

/// The numbers of elements of both patterns, where `method` has kernels for them.
fn sides(method: &'static str, a: &PatternArrays<CubeBackend>, b: &PatternArrays<CubeBackend>) -> Option<[usize; 2]> {
    let runs = [a, b].into_iter().all(|pattern| match pattern {
        PatternArrays::Coo(indices) => runs([indices]),
        PatternArrays::Csr(ptr, col) => runs([ptr, col]),
    });
    let nnz = [a, b].map(|pattern| indices(pattern).meta.shape().last().copied().unwrap_or(0));
    // Positions in a union are 32-bit.
    let runs = runs && nnz[0] + nnz[1] < i32::MAX as usize;
    if !runs {
        fallback(method);
    }
    runs.then_some(nnz)
}

/// Whether 32-bit positions address this many elements together.
fn positions(counts: impl Iterator<Item = usize>) -> bool {
    counts.fold(0, usize::saturating_add) < i32::MAX as usize
}

/// The parts joined, where there are kernels for them and for what they come to.
fn joined(parts: &PatternList<CubeBackend>, axis: &ConcatAxis) -> Option<Joined<CubeBackend>> {
    let map = |map: Option<CubeTensor>| map.map_or(OptionalInt::Identity, OptionalInt::By);
    if let ConcatAxis::Coo { axis, offsets, merge } = axis {
        let parts: Option<Vec<CubeTensor>> = parts
            .0
            .iter()
            .map(|part| match part {
                PatternArrays::Coo(indices) if runs([indices]) => Some(indices.clone()),
                _ => None,
            })
            .collect();
        let parts = parts.filter(|parts| positions(parts.iter().map(count)))?;
        let (indices, order) = structure::concat_coo(&parts, *axis, offsets, *merge);
        return Some(Joined { pattern: PatternArrays::Coo(indices), map: map(order) });
    }
    let parts: Option<Vec<(CubeTensor, CubeTensor)>> = parts
        .0
        .iter()
        .map(|part| match part {
            PatternArrays::Csr(ptr, col) if runs([ptr, col]) => Some((ptr.clone(), col.clone())),
            _ => None,
        })
        .collect();
    let parts = parts.filter(|parts| positions(parts.iter().map(|(_, col)| count(col))))?;
    // Rows side by side are no more than those of a part.
    let below = !matches!(axis, ConcatAxis::CsrCols { .. });
    if below && !positions(parts.iter().map(|(ptr, _)| count(ptr))) {
        return None;
    }
    let (ptr, col, order) = structure::concat_csr(&parts, axis);
    Some(Joined { pattern: PatternArrays::Csr(ptr, col), map: map(order) })
}
