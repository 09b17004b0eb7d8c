//! Typed calls of the backend methods. Everything that crosses here is stripped of its autodiff association first.

use crate::base::index::index_tensor;
use crate::base::kind::{Kind, of_kind};
use burn::backend::Dispatch;
use burn::tensor::{DType, Int, Tensor};
use sparse_burn::{
    AnyTensor, BinaryOp, ConcatAxis, Extremum, Groups, MergeRule, OptionalFloat, OptionalInt, PatternArrays,
    PatternList, PutRecord, PutTarget, Reduce, RowsView, SparseBackend, TensorList,
};
use sparse_core::Result;

type Any = AnyTensor<Dispatch>;
type Ints = Tensor<1, Int>;

/// The tensor without its autodiff association, of any kind and rank.
fn strip<const D: usize, K: Kind>(tensor: &Tensor<D, K>) -> Any {
    AnyTensor::from_tensor(of_kind(tensor.clone().inner()))
}

fn int<const D: usize>(tensor: &Tensor<D, Int>) -> burn::backend::DispatchTensor {
    tensor.clone().inner().into_dispatch()
}

fn optional(tensor: Option<&Ints>) -> OptionalInt<Dispatch> {
    tensor.map_or(OptionalInt::Identity, |tensor| OptionalInt::By(int(tensor)))
}

pub(crate) fn validate_coo(op: &'static str, indices: &Tensor<2, Int>, shape: &[usize]) -> Result<bool> {
    Dispatch::validate_coo(op, int(indices), shape.to_vec())
}

pub(crate) fn validate_csr(op: &'static str, row_ptr: &Ints, col_idx: &Ints, rows: usize, cols: usize) -> Result<()> {
    Dispatch::validate_csr(op, int(row_ptr), int(col_idx), rows, cols)
}

pub(crate) fn coalesce(indices: &Tensor<2, Int>, shape: &[usize]) -> (Tensor<2, Int>, Ints, Ints) {
    let (indices, order, ptr) = Dispatch::coalesce(int(indices), shape.to_vec());
    (Tensor::from_dispatch(indices), Tensor::from_dispatch(order), Tensor::from_dispatch(ptr))
}

/// `(order, ptr)`.
pub(crate) fn group_by(keys: &Ints, groups: usize) -> (Ints, Ints) {
    let (order, ptr) = Dispatch::group_by(int(keys), groups);
    (Tensor::from_dispatch(order), Tensor::from_dispatch(ptr))
}

pub(crate) fn scan(counts: &Ints) -> Ints {
    Tensor::from_dispatch(Dispatch::scan(int(counts)))
}

pub(crate) fn expand_ptr(ptr: &Ints, nnz: usize) -> Ints {
    Tensor::from_dispatch(Dispatch::expand_ptr(int(ptr), nnz))
}

pub(crate) fn compress(ids: &Ints, groups: usize) -> Ints {
    Tensor::from_dispatch(Dispatch::compress(int(ids), groups))
}

pub(crate) fn move_rows<K: Kind>(values: &Tensor<2, K>, fill: &Tensor<2, K>, map: &Ints) -> Tensor<2, K> {
    Dispatch::move_rows(strip(values), strip(fill), int(map)).into_tensor()
}

pub(crate) fn segment_sum<K: Kind>(values: &Tensor<2, K>, order: Option<&Ints>, ptr: &Ints) -> Tensor<2, K> {
    Dispatch::segment_sum(strip(values), optional(order), int(ptr)).into_tensor()
}

/// A matrix by compressed rows: pointers, columns, and where each value stands.
#[derive(Clone, Debug)]
pub(crate) struct Compressed {
    pub(crate) ptr: Ints,
    pub(crate) idx: Ints,
    pub(crate) perm: Option<Ints>,
}

impl Compressed {
    fn send(&self) -> RowsView<Dispatch> {
        RowsView { ptr: int(&self.ptr), idx: int(&self.idx), perm: optional(self.perm.as_ref()) }
    }

    /// The rows in another index dtype.
    pub(crate) fn cast(&self, dtype: DType) -> Self {
        let cast = |list: &Ints| index_tensor(list.clone(), dtype);
        Self { ptr: cast(&self.ptr), idx: cast(&self.idx), perm: self.perm.as_ref().map(cast) }
    }

    /// Pointers and columns, without the order of the values.
    fn pattern(&self) -> PatternArrays<Dispatch> {
        PatternArrays::Csr(int(&self.ptr), int(&self.idx))
    }
}

pub(crate) fn spmm<K: Kind>(view: &Compressed, values: &Tensor<2, K>, dense: &Tensor<2, K>) -> Tensor<2, K> {
    Dispatch::spmm(view.send(), strip(values), strip(dense)).into_tensor()
}

/// Sparse x dense with an extremum in place of the sum.
pub(crate) fn spmm_extremum<K: Kind>(
    extremum: Extremum,
    view: &Compressed,
    values: &Tensor<2, K>,
    dense: &Tensor<2, K>,
) -> Tensor<2, K> {
    Dispatch::spmm_extremum(extremum, view.send(), strip(values), strip(dense)).into_tensor()
}

/// What the gradients of [`spmm_extremum`] read: the values, the dense operand and the result.
pub(crate) type ExtremumReads<'a> = [&'a Tensor<2>; 3];

/// The gradient of the result divided by the number of products that tie, and that of the values if needed. `rows` has
/// the row of every element; they ascend.
pub(crate) fn extremum_rows_backward(
    rows: &Ints,
    view: &Compressed,
    reads: ExtremumReads<'_>,
    grad: Tensor<2>,
    need_values: bool,
) -> (Tensor<2>, Option<Tensor<2>>) {
    let [values, dense, out] = reads.map(|read| read.clone().inner().into_dispatch());
    let (rows, grad) = (int(rows), grad.into_dispatch());
    let (shares, values) = Dispatch::extremum_rows_backward(rows, view.send(), values, dense, out, grad, need_values);
    let values = match values {
        OptionalFloat::Absent => None,
        OptionalFloat::Given(tensor) => Some(Tensor::from_dispatch(tensor)),
    };
    (Tensor::from_dispatch(shares), values)
}

/// The gradient of the dense operand, from those shares; `view` is the transpose.
pub(crate) fn extremum_cols_backward(view: &Compressed, reads: ExtremumReads<'_>, shares: Tensor<2>) -> Tensor<2> {
    let [values, dense, out] = reads.map(|read| read.clone().inner().into_dispatch());
    let shares = shares.into_dispatch();
    Tensor::from_dispatch(Dispatch::extremum_cols_backward(view.send(), values, dense, out, shares))
}

/// Compressed rows and the values of elements by them.
pub(crate) type Factor<'a, K> = (&'a Compressed, &'a Tensor<2, K>);

/// Pattern and values of a sparse x sparse product.
pub(crate) fn spgemm<K: Kind>(a: Factor<'_, K>, b: Factor<'_, K>, cols: usize) -> Result<(Compressed, Tensor<2, K>)> {
    let (pattern, values, checked) = Dispatch::spgemm(a.0.send(), strip(a.1), b.0.send(), strip(b.1), cols);
    checked?;
    let PatternArrays::Csr(ptr, idx) = pattern else { unreachable!("products are by compressed rows") };
    let view = Compressed { ptr: Tensor::from_dispatch(ptr), idx: Tensor::from_dispatch(idx), perm: None };
    Ok((view, values.into_tensor()))
}

/// Values of a sparse x sparse product with a known pattern.
pub(crate) fn spgemm_values<K: Kind>(c: &Compressed, a: Factor<'_, K>, b: Factor<'_, K>, cols: usize) -> Tensor<2, K> {
    let (left, right) = (a.0.send(), b.0.send());
    Dispatch::spgemm_values(c.pattern(), left, strip(a.1), right, strip(b.1), cols).into_tensor()
}

/// `X Y^T` at the elements of `mask`, in the order of its rows.
pub(crate) fn spgemm_sampled<K: Kind>(
    mask: &Compressed,
    x: Factor<'_, K>,
    y: Factor<'_, K>,
    cols: usize,
) -> Tensor<2, K> {
    let (left, right) = (x.0.send(), y.0.send());
    Dispatch::spgemm_sampled(mask.pattern(), left, strip(x.1), right, strip(y.1), cols).into_tensor()
}

pub(crate) fn sddmm<K: Kind>(rows: &Ints, cols: &Ints, x: &Tensor<2, K>, y: &Tensor<2, K>) -> Tensor<2, K> {
    Dispatch::sddmm(int(rows), int(cols), strip(x), strip(y)).into_tensor()
}

/// The index arrays of a pattern.
#[derive(Clone, Debug)]
pub(crate) enum Arrays {
    Coo(Tensor<2, Int>),
    Csr(Ints, Ints),
}

impl Arrays {
    /// The arrays in another index dtype.
    pub(crate) fn cast(self, dtype: DType) -> Self {
        match self {
            Self::Coo(indices) => Self::Coo(index_tensor(indices, dtype)),
            Self::Csr(ptr, col) => Self::Csr(index_tensor(ptr, dtype), index_tensor(col, dtype)),
        }
    }

    fn send(&self) -> PatternArrays<Dispatch> {
        match self {
            Self::Coo(indices) => PatternArrays::Coo(int(indices)),
            Self::Csr(ptr, col) => PatternArrays::Csr(int(ptr), int(col)),
        }
    }

    fn receive(arrays: PatternArrays<Dispatch>) -> Self {
        match arrays {
            PatternArrays::Coo(indices) => Self::Coo(Tensor::from_dispatch(indices)),
            PatternArrays::Csr(ptr, col) => Self::Csr(Tensor::from_dispatch(ptr), Tensor::from_dispatch(col)),
        }
    }
}

/// The merged pattern, and where its rows come from on either side.
pub(crate) fn merge(rule: MergeRule, a: &Arrays, b: &Arrays) -> (Arrays, Ints, Ints) {
    let merged = Dispatch::merge(rule, a.send(), b.send());
    let (map_a, map_b) = (Tensor::from_dispatch(merged.map_a), Tensor::from_dispatch(merged.map_b));
    (Arrays::receive(merged.pattern), map_a, map_b)
}

pub(crate) fn locate(a: &Arrays, b: &Arrays) -> Ints {
    Tensor::from_dispatch(Dispatch::locate(a.send(), b.send()))
}

/// The joined pattern, and where its rows come from in the concatenation of the parts' rows (`None`: they stay).
pub(crate) fn concat_patterns(parts: &[Arrays], axis: ConcatAxis) -> (Arrays, Option<Ints>) {
    let joined = Dispatch::concat_patterns(PatternList(parts.iter().map(Arrays::send).collect()), axis);
    let map = match joined.map {
        OptionalInt::Identity => None,
        OptionalInt::By(map) => Some(Tensor::from_dispatch(map)),
    };
    (Arrays::receive(joined.pattern), map)
}

/// The joined pattern and values, in one pass.
pub(crate) fn concat<K: Kind>(parts: &[Arrays], values: &[&Tensor<2, K>], axis: ConcatAxis) -> (Arrays, Tensor<2, K>) {
    let values = TensorList(values.iter().map(|values| strip(values)).collect());
    let (pattern, values) = Dispatch::concat(PatternList(parts.iter().map(Arrays::send).collect()), values, axis);
    (Arrays::receive(pattern), values.into_tensor())
}

/// Rows of one operand: values, the fill row, and the index map.
pub(crate) struct Side<'a, K: Kind> {
    pub(crate) values: &'a Tensor<2, K>,
    pub(crate) fill: &'a Tensor<2, K>,
    pub(crate) map: Option<&'a Ints>,
}

pub(crate) fn zip_rows<K: Kind>(op: BinaryOp, a: Side<'_, K>, b: Side<'_, K>) -> Tensor<2, K> {
    let (map_a, map_b) = (optional(a.map), optional(b.map));
    Dispatch::zip_rows(op, strip(a.values), strip(a.fill), map_a, strip(b.values), strip(b.fill), map_b).into_tensor()
}

/// An operand of [`union_zip`]: pattern, values, fill row.
pub(crate) type Whole<'a, K> = (&'a Arrays, &'a Tensor<2, K>, &'a Tensor<2, K>);

/// The union of two patterns and the operation on it, in one pass.
pub(crate) fn union_zip<K: Kind>(op: BinaryOp, a: Whole<'_, K>, b: Whole<'_, K>) -> (Arrays, Tensor<2, K>) {
    let (pattern, values) =
        Dispatch::union_zip(op, a.0.send(), strip(a.1), strip(a.2), b.0.send(), strip(b.1), strip(b.2));
    (Arrays::receive(pattern), values.into_tensor())
}

pub(crate) fn check_indices<const D: usize>(
    op: &'static str,
    axis: usize,
    size: usize,
    index: &Tensor<D, Int>,
) -> Result<()> {
    Dispatch::check_indices(op, axis, size, int(index))
}

/// A reduction into positions along an axis: everything of it but the tensors of values.
#[derive(Clone, Debug)]
pub(crate) struct Put<const DI: usize> {
    pub(crate) index: Tensor<DI, Int>,
    pub(crate) target: PutTarget,
    pub(crate) reduce: Reduce,
    pub(crate) include_self: bool,
    /// `(order, ptr)` of a plan, for one index a step along the axis.
    pub(crate) groups: Option<(Ints, Ints)>,
}

/// Which values a put chose, and where ties were seen.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    winners: Ints,
    pub(crate) tied: Ints,
}

impl<const DI: usize> Put<DI> {
    fn groups(&self) -> Groups<Dispatch> {
        self.groups.as_ref().map_or(Groups::Unknown, |(order, ptr)| Groups::Given(int(order), int(ptr)))
    }

    /// `arr` is taken by value: its buffer is reused where nobody else holds it. A record may be made if asked for.
    pub(crate) fn run<const D: usize, K: Kind>(
        &self,
        arr: Tensor<D, K>,
        values: &Tensor<D, K>,
        record: bool,
    ) -> (Tensor<D, K>, Option<Record>) {
        let arr = AnyTensor::from_tensor(arr.inner());
        let (index, values) = (int(&self.index), strip(values));
        let (out, record) =
            Dispatch::put(arr, index, self.groups(), values, self.target, self.reduce, self.include_self, record);
        let record = match record {
            PutRecord::Absent => None,
            PutRecord::Given(winners, tied) => {
                Some(Record { winners: Tensor::from_dispatch(winners), tied: Tensor::from_dispatch(tied) })
            }
        };
        (out.into_tensor(), record)
    }

    /// Gradients to `arr` and values, flat. `reads` is what is read beside the incoming one, where given.
    pub(crate) fn backward<const D: usize>(
        &self,
        grad: Tensor<D>,
        record: Option<&Record>,
        reads: [Option<&Tensor<D>>; 3],
        needs: [bool; 2],
    ) -> [Option<Tensor<1>>; 2] {
        let [arr, values, out] = reads.map(|read| match read {
            None => OptionalFloat::Absent,
            Some(tensor) => OptionalFloat::Given(tensor.clone().inner().into_dispatch()),
        });
        let record = match record {
            None => PutRecord::Absent,
            Some(record) => PutRecord::Given(int(&record.winners), int(&record.tied)),
        };
        let (grad, index) = (grad.into_dispatch(), int(&self.index));
        let &Self { target, reduce, include_self, .. } = self;
        let (arr, values) = Dispatch::put_backward(
            grad,
            index,
            self.groups(),
            record,
            arr,
            values,
            out,
            target,
            reduce,
            include_self,
            needs,
        );
        [arr, values].map(|grad| match grad {
            OptionalFloat::Absent => None,
            OptionalFloat::Given(tensor) => Some(Tensor::from_dispatch(tensor)),
        })
    }
}

/// Flat `[outer * count * inner]`.
pub(crate) fn gather<const D: usize, const DI: usize, K: Kind>(
    x: &Tensor<D, K>,
    index: &Tensor<DI, Int>,
    target: PutTarget,
) -> Tensor<1, K> {
    Dispatch::gather(strip(x), int(index), target).into_tensor()
}
