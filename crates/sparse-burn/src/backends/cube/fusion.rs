//! Burn's fusion. Any crate of a build may turn it on, and then Dispatch's Cube is `Fusion<CubeBackend>`.
//!
//! Every method runs on the inner backend: the operations queued so far are launched (nothing is read), the method runs,
//! and its results enter the queue as ready tensors, whose shapes are known because they exist.

use crate::backend::{ConcatAxis, MergeRule, PutTarget, SparseBackend};
use crate::{
    AnyTensor, Groups, HostAccess, Joined, Merged, OptionalFloat, OptionalInt, PatternArrays, PatternList, PutRecord,
    RowsView, TensorList,
};
use burn::backend::TensorMetadata;
use burn::backend::tensor::{BoolTensor, FloatTensor, IntTensor};
use burn_fusion::custom::OperationIr;
use burn_fusion::stream::StreamId;
use burn_fusion::{Fusion, FusionBackend, FusionHandle, FusionTensor, NoOp, get_client};
use burn_ir::InitOperationIr;
use sparse_core::{BinaryOp, Extremum, Reduce, Result};

impl<B: FusionBackend> HostAccess for Fusion<B> {}

type Fused<B> = FusionTensor<<B as FusionBackend>::FusionRuntime>;

/// Values that cross between the fused and the inner backend.
trait Cross<B: FusionBackend> {
    type Inner;
    fn enter(self) -> Self::Inner;
    fn leave(inner: Self::Inner) -> Self;
}

fn enter_float<B: FusionBackend>(tensor: FloatTensor<Fusion<B>>) -> FloatTensor<B> {
    tensor.client.clone().resolve_tensor_float::<B>(tensor)
}

fn enter_int<B: FusionBackend>(tensor: IntTensor<Fusion<B>>) -> IntTensor<B> {
    tensor.client.clone().resolve_tensor_int::<B>(tensor)
}

fn enter_view<B: FusionBackend>(view: RowsView<Fusion<B>>) -> RowsView<B> {
    let RowsView { ptr, idx, perm } = view;
    RowsView { ptr: enter_int::<B>(ptr), idx: enter_int::<B>(idx), perm: perm.enter() }
}

fn enter_bool<B: FusionBackend>(tensor: BoolTensor<Fusion<B>>) -> BoolTensor<B> {
    tensor.client.clone().resolve_tensor_bool::<B>(tensor)
}

fn leave<B: FusionBackend, T: TensorMetadata<Device = <B as burn::backend::BackendTypes>::Device>>(
    tensor: T,
    handle: impl FnOnce(T) -> FusionHandle<B::FusionRuntime>,
) -> Fused<B> {
    let client = get_client::<B>(&tensor.device());
    let (shape, dtype) = (tensor.shape(), tensor.dtype());
    let handle = handle(tensor);
    let desc = InitOperationIr::create(shape, dtype, || client.register_tensor_handle(handle));
    let mut outputs = client.register(StreamId::current(), OperationIr::Init(desc), NoOp::<B>::new());
    outputs.pop().expect("an initialisation has one output")
}

fn leave_float<B: FusionBackend>(tensor: FloatTensor<B>) -> FloatTensor<Fusion<B>> {
    leave::<B, _>(tensor, B::float_tensor_handle)
}

fn leave_int<B: FusionBackend>(tensor: IntTensor<B>) -> IntTensor<Fusion<B>> {
    leave::<B, _>(tensor, B::int_tensor_handle)
}

fn leave_bool<B: FusionBackend>(tensor: BoolTensor<B>) -> BoolTensor<Fusion<B>> {
    leave::<B, _>(tensor, B::bool_tensor_handle)
}

/// The crossing of an enum or struct, variant by variant.
macro_rules! cross {
    ($name:ident { $($variant:ident $(($($field:ident: $kind:ident),*))?),* $(,)? }) => {
        impl<B: FusionBackend> Cross<B> for $name<Fusion<B>> {
            type Inner = $name<B>;
            fn enter(self) -> $name<B> {
                match self {
                    $(Self::$variant $(($($field),*))? => $name::$variant $(($(cross!(enter $kind $field)),*))?),*
                }
            }
            fn leave(inner: $name<B>) -> Self {
                match inner {
                    $($name::$variant $(($($field),*))? => Self::$variant $(($(cross!(leave $kind $field)),*))?),*
                }
            }
        }
    };
    (enter float $x:ident) => { enter_float::<B>($x) };
    (enter int $x:ident) => { enter_int::<B>($x) };
    (enter bool $x:ident) => { enter_bool::<B>($x) };
    (leave float $x:ident) => { leave_float::<B>($x) };
    (leave int $x:ident) => { leave_int::<B>($x) };
    (leave bool $x:ident) => { leave_bool::<B>($x) };
}

cross!(AnyTensor { Float(x: float), Int(x: int), Bool(x: bool) });
cross!(OptionalFloat { Absent, Given(x: float) });
cross!(OptionalInt { Identity, By(x: int) });
cross!(PatternArrays { Coo(x: int), Csr(x: int, y: int) });
cross!(Groups { Unknown, Given(x: int, y: int) });
cross!(PutRecord { Absent, Given(x: int, y: int) });

fn enter_pattern<B: FusionBackend>(pattern: PatternArrays<Fusion<B>>) -> PatternArrays<B> {
    pattern.enter()
}

impl<B: FusionBackend + SparseBackend> SparseBackend for Fusion<B> {
    fn validate_coo(op: &'static str, indices: IntTensor<Self>, shape: Vec<usize>) -> Result<bool> {
        B::validate_coo(op, enter_int::<B>(indices), shape)
    }

    fn validate_csr(
        op: &'static str,
        row_ptr: IntTensor<Self>,
        col_idx: IntTensor<Self>,
        rows: usize,
        cols: usize,
    ) -> Result<()> {
        B::validate_csr(op, enter_int::<B>(row_ptr), enter_int::<B>(col_idx), rows, cols)
    }

    fn coalesce(indices: IntTensor<Self>, shape: Vec<usize>) -> (IntTensor<Self>, IntTensor<Self>, IntTensor<Self>) {
        let (indices, order, ptr) = B::coalesce(enter_int::<B>(indices), shape);
        (leave_int::<B>(indices), leave_int::<B>(order), leave_int::<B>(ptr))
    }

    fn group_by(keys: IntTensor<Self>, groups: usize) -> (IntTensor<Self>, IntTensor<Self>) {
        let (order, ptr) = B::group_by(enter_int::<B>(keys), groups);
        (leave_int::<B>(order), leave_int::<B>(ptr))
    }

    fn scan(counts: IntTensor<Self>) -> IntTensor<Self> {
        leave_int::<B>(B::scan(enter_int::<B>(counts)))
    }

    fn expand_ptr(ptr: IntTensor<Self>, nnz: usize) -> IntTensor<Self> {
        leave_int::<B>(B::expand_ptr(enter_int::<B>(ptr), nnz))
    }

    fn compress(ids: IntTensor<Self>, groups: usize) -> IntTensor<Self> {
        leave_int::<B>(B::compress(enter_int::<B>(ids), groups))
    }

    fn move_rows(values: AnyTensor<Self>, fill: AnyTensor<Self>, map: IntTensor<Self>) -> AnyTensor<Self> {
        AnyTensor::leave(B::move_rows(values.enter(), fill.enter(), enter_int::<B>(map)))
    }

    fn segment_sum(values: AnyTensor<Self>, order: OptionalInt<Self>, ptr: IntTensor<Self>) -> AnyTensor<Self> {
        AnyTensor::leave(B::segment_sum(values.enter(), order.enter(), enter_int::<B>(ptr)))
    }

    fn spmm(view: RowsView<Self>, values: AnyTensor<Self>, dense: AnyTensor<Self>) -> AnyTensor<Self> {
        AnyTensor::leave(B::spmm(enter_view(view), values.enter(), dense.enter()))
    }

    fn spmm_extremum(
        extremum: Extremum,
        view: RowsView<Self>,
        values: AnyTensor<Self>,
        dense: AnyTensor<Self>,
    ) -> AnyTensor<Self> {
        AnyTensor::leave(B::spmm_extremum(extremum, enter_view(view), values.enter(), dense.enter()))
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
        let [values, dense, out, grad] = [values, dense, out, grad].map(enter_float::<B>);
        let (rows, view) = (enter_int::<B>(rows), enter_view(view));
        let (shares, values) = B::extremum_rows_backward(rows, view, values, dense, out, grad, need_values);
        (leave_float::<B>(shares), OptionalFloat::leave(values))
    }

    fn extremum_cols_backward(
        view: RowsView<Self>,
        values: FloatTensor<Self>,
        dense: FloatTensor<Self>,
        out: FloatTensor<Self>,
        shares: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let [values, dense, out, shares] = [values, dense, out, shares].map(enter_float::<B>);
        leave_float::<B>(B::extremum_cols_backward(enter_view(view), values, dense, out, shares))
    }

    fn spgemm(
        a: RowsView<Self>,
        a_values: AnyTensor<Self>,
        b: RowsView<Self>,
        b_values: AnyTensor<Self>,
        cols: usize,
    ) -> (PatternArrays<Self>, AnyTensor<Self>, Result<()>) {
        let (a, b) = (enter_view(a), enter_view(b));
        let (pattern, values, checked) = B::spgemm(a, a_values.enter(), b, b_values.enter(), cols);
        (PatternArrays::leave(pattern), AnyTensor::leave(values), checked)
    }

    fn spgemm_values(
        c: PatternArrays<Self>,
        a: RowsView<Self>,
        a_values: AnyTensor<Self>,
        b: RowsView<Self>,
        b_values: AnyTensor<Self>,
        cols: usize,
    ) -> AnyTensor<Self> {
        let (a, b) = (enter_view(a), enter_view(b));
        AnyTensor::leave(B::spgemm_values(c.enter(), a, a_values.enter(), b, b_values.enter(), cols))
    }

    fn spgemm_sampled(
        mask: PatternArrays<Self>,
        x: RowsView<Self>,
        x_values: AnyTensor<Self>,
        y: RowsView<Self>,
        y_values: AnyTensor<Self>,
        cols: usize,
    ) -> AnyTensor<Self> {
        let (x, y) = (enter_view(x), enter_view(y));
        AnyTensor::leave(B::spgemm_sampled(mask.enter(), x, x_values.enter(), y, y_values.enter(), cols))
    }

    fn sddmm(rows: IntTensor<Self>, cols: IntTensor<Self>, x: AnyTensor<Self>, y: AnyTensor<Self>) -> AnyTensor<Self> {
        AnyTensor::leave(B::sddmm(enter_int::<B>(rows), enter_int::<B>(cols), x.enter(), y.enter()))
    }

    fn merge(rule: MergeRule, a: PatternArrays<Self>, b: PatternArrays<Self>) -> Merged<Self> {
        let Merged { pattern, map_a, map_b } = B::merge(rule, a.enter(), b.enter());
        Merged { pattern: PatternArrays::leave(pattern), map_a: leave_int::<B>(map_a), map_b: leave_int::<B>(map_b) }
    }

    fn locate(a: PatternArrays<Self>, b: PatternArrays<Self>) -> IntTensor<Self> {
        leave_int::<B>(B::locate(a.enter(), b.enter()))
    }

    fn concat_patterns(parts: PatternList<Self>, axis: ConcatAxis) -> Joined<Self> {
        let parts = PatternList(parts.0.into_iter().map(enter_pattern).collect());
        let Joined { pattern, map } = B::concat_patterns(parts, axis);
        Joined { pattern: PatternArrays::leave(pattern), map: OptionalInt::leave(map) }
    }

    fn concat(
        parts: PatternList<Self>,
        values: TensorList<Self>,
        axis: ConcatAxis,
    ) -> (PatternArrays<Self>, AnyTensor<Self>) {
        let parts = PatternList(parts.0.into_iter().map(enter_pattern).collect());
        let values = TensorList(values.0.into_iter().map(Cross::enter).collect());
        let (pattern, values) = B::concat(parts, values, axis);
        (PatternArrays::leave(pattern), AnyTensor::leave(values))
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
        let (a, fill_a, map_a) = (a.enter(), fill_a.enter(), map_a.enter());
        AnyTensor::leave(B::zip_rows(op, a, fill_a, map_a, b.enter(), fill_b.enter(), map_b.enter()))
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
        let (a, values_a, fill_a) = (a.enter(), values_a.enter(), fill_a.enter());
        let (pattern, values) = B::union_zip(op, a, values_a, fill_a, b.enter(), values_b.enter(), fill_b.enter());
        (PatternArrays::leave(pattern), AnyTensor::leave(values))
    }

    fn check_indices(op: &'static str, axis: usize, size: usize, index: IntTensor<Self>) -> Result<()> {
        B::check_indices(op, axis, size, enter_int::<B>(index))
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
        let (arr, index, values) = (arr.enter(), enter_int::<B>(index), values.enter());
        let (out, record) = B::put(arr, index, groups.enter(), values, target, reduce, include_self, record);
        (AnyTensor::leave(out), PutRecord::leave(record))
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
        let (grad, index) = (enter_float::<B>(grad), enter_int::<B>(index));
        let (groups, record) = (groups.enter(), record.enter());
        let (arr, values, out) = (arr.enter(), values.enter(), out.enter());
        let (arr, values) =
            B::put_backward(grad, index, groups, record, arr, values, out, target, reduce, include_self, needs);
        (OptionalFloat::leave(arr), OptionalFloat::leave(values))
    }

    fn gather(x: AnyTensor<Self>, index: IntTensor<Self>, target: PutTarget) -> AnyTensor<Self> {
        AnyTensor::leave(B::gather(x.enter(), enter_int::<B>(index), target))
    }
}
