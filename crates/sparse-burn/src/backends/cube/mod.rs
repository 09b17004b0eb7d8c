//! CubeCL: CUDA, ROCm, Vulkan, Metal and WebGPU from one source.
//!
//! Values and gradients have kernels of their own, and so do grouping, compression and sorting; nothing that a training
//! step does over existing patterns and plans leaves the device. Still on the host, each once for a pattern: validation,
//! coalescing, merging, joining and locating patterns ([`host_fallbacks`] lists what ran). A dtype that the device has
//! no kernels for (8-bit integers on WebGPU) goes there too. Positions are 32-bit: larger arrays go through the host.

mod fallback;
mod fusion;
mod launch;
mod linalg;
mod put;
mod rows;
mod sort;

pub use fallback::{device_reads, host_fallbacks};

use crate::backend::{ConcatAxis, MergeRule, PutTarget, SparseBackend};
use crate::backends::host;
use crate::{
    AnyTensor, Groups, HostAccess, HostTensor, Joined, Merged, OptionalFloat, OptionalInt, PatternArrays, PatternList,
    PutRecord, RowsView, TensorList,
};
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn_cubecl::CubeBackend;
use burn_cubecl::tensor::CubeTensor;
use fallback::fallback;
use launch::{count, runs};
use sparse_core::{BinaryOp, Reduce, Result};

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
    match like {
        dtype if dtype.is_float() => AnyTensor::Float(tensor),
        dtype if dtype.is_bool() => AnyTensor::Bool(tensor),
        _ => AnyTensor::Int(tensor),
    }
}

fn given(tensor: &OptionalInt<CubeBackend>) -> Option<&CubeTensor> {
    match tensor {
        OptionalInt::Identity => None,
        OptionalInt::By(tensor) => Some(tensor),
    }
}

fn take(tensor: OptionalInt<CubeBackend>) -> Option<CubeTensor> {
    match tensor {
        OptionalInt::Identity => None,
        OptionalInt::By(tensor) => Some(tensor),
    }
}

impl SparseBackend for CubeBackend {
    fn validate_coo(op: &'static str, indices: IntTensor<Self>, shape: Vec<usize>) -> Result<bool> {
        fallback("validate_coo");
        host::validate_coo::<Self>(op, indices, &shape)
    }

    fn validate_csr(
        op: &'static str,
        row_ptr: IntTensor<Self>,
        col_idx: IntTensor<Self>,
        rows: usize,
        cols: usize,
    ) -> Result<()> {
        fallback("validate_csr");
        host::validate_csr::<Self>(op, row_ptr, col_idx, rows, cols)
    }

    fn coalesce(indices: IntTensor<Self>, shape: Vec<usize>) -> (IntTensor<Self>, IntTensor<Self>, IntTensor<Self>) {
        fallback("coalesce");
        host::coalesce::<Self>(indices, &shape)
    }

    fn group_by(keys: IntTensor<Self>, groups: usize) -> (IntTensor<Self>, IntTensor<Self>) {
        if runs([&keys]) {
            return sort::group_by(keys, groups);
        }
        fallback("group_by");
        host::group_by::<Self>(keys, groups)
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
        if runs([view(&values), &ptr]) && addressable(count(&ptr), view(&values)) {
            return wrap(values.dtype(), rows::segment_sum(inner(values), take(order), ptr));
        }
        fallback("segment_sum");
        host::segment_sum::<Self>(values, order, ptr)
    }

    fn spmm(rows: RowsView<Self>, values: AnyTensor<Self>, dense: AnyTensor<Self>) -> AnyTensor<Self> {
        if runs([view(&values), view(&dense), &rows.ptr]) && addressable(count(&rows.ptr), view(&dense)) {
            let view = (rows.ptr, rows.idx, take(rows.perm));
            return wrap(values.dtype(), linalg::spmm(view, inner(values), inner(dense)));
        }
        fallback("spmm");
        host::spmm::<Self>(rows, values, dense)
    }

    fn sddmm(rows: IntTensor<Self>, cols: IntTensor<Self>, x: AnyTensor<Self>, y: AnyTensor<Self>) -> AnyTensor<Self> {
        if runs([&rows, view(&x), view(&y)]) {
            return wrap(x.dtype(), linalg::sddmm(rows, cols, inner(x), inner(y)));
        }
        fallback("sddmm");
        host::sddmm::<Self>(rows, cols, x, y)
    }

    fn merge(rule: MergeRule, a: PatternArrays<Self>, b: PatternArrays<Self>) -> Merged<Self> {
        fallback("merge");
        host::merge::<Self>(rule, a, b)
    }

    fn locate(a: PatternArrays<Self>, b: PatternArrays<Self>) -> IntTensor<Self> {
        fallback("locate");
        host::locate::<Self>(a, b)
    }

    fn concat_patterns(parts: PatternList<Self>, axis: ConcatAxis) -> Joined<Self> {
        fallback("concat_patterns");
        host::concat_patterns::<Self>(parts, axis)
    }

    fn concat(
        parts: PatternList<Self>,
        values: TensorList<Self>,
        axis: ConcatAxis,
    ) -> (PatternArrays<Self>, AnyTensor<Self>) {
        fallback("concat");
        host::concat::<Self>(parts, values, axis)
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
        let maps = [OptionalInt::By(map_a), OptionalInt::By(map_b)];
        let [map_a, map_b] = maps;
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
        if runs([view(&arr), view(&values), &index]) && put::launches(&target) && put::fits(index.dtype) {
            let dtype = arr.dtype();
            let (order, ptr) = match groups {
                Groups::Given(order, ptr) => (order, ptr),
                Groups::Unknown => put::group(index, &target),
            };
            let groups = (order.clone(), ptr.clone());
            let out = put::put(inner(arr), inner(values), groups, target, reduce, include_self);
            return (wrap(dtype, out), if record { PutRecord::Given(order, ptr) } else { PutRecord::Absent });
        }
        if !put::launches(&target) {
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
        if runs([&grad, &index]) && put::launches(&target) {
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
        if count(&grad) > 0 {
            fallback("put_backward");
        }
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
        if runs([view(&x), &index]) {
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
