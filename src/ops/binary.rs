//! Element-wise `+ - * /` of two sparse tensors of one layout.

use crate::base::checks::same_device;
use crate::base::kind::{Kind, Numeric, as_float, dtype_name, from_float, is_tracked};
use crate::base::scalar::host_apply;
use crate::kernel;
use crate::pattern::layout::{Pattern, is_full};
use crate::pattern::merge::{located, merged, union_zip};
use crate::rows::{RowMap, move_rows};
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{Float, Tensor};
use sparse_autograd::{Erased, record};
use sparse_burn::{BinaryOp, MergeRule};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;
use std::borrow::Borrow;

macro_rules! operations {
    ($($name:ident $op:ident $formula:literal;)*) => {$(
        #[doc = concat!("`", $formula, "`, element by element.")]
        ///
        /// The result has the union of the two patterns, and its fill is the operation applied to the two fills. This
        /// is exactly the dense answer. Operands are coalesced first. Floats follow IEEE 754, integers wrap.
        ///
        /// If one operand has an `Undefined` fill, the result has the pattern of that operand, and the other operand is
        /// read with its own fill. If both have one, the result has the intersection of the patterns. In either case
        /// the fill of the result is `Undefined`.
        ///
        /// Backward: the dense rule, at the stored elements of both operands and at tracked fills. Cost:
        /// `O(nnz_a + nnz_b)`. The merged pattern is kept with the left pattern, so a loop over fixed patterns merges
        /// once and always has the same result pattern. On the CPU untracked values are combined in the same pass as
        /// the merge, which costs no more than reading kept index maps. Source: SciPy's binary operations on canonical
        /// CSR.
        ///
        /// # Errors
        ///
        /// `shape_mismatch`, `layout_mismatch` (another number of dense dims), `dtype_mismatch`, `device_mismatch`.
        #[or_panic]
        pub fn $name(&self, other: &Self) -> Result<Self> {
            combine(BinaryOp::$op, self, other)
        }
    )*};
}

impl<P: Pattern, const D: usize, K: Numeric> SparseTensor<P, D, K> {
    operations! {
        try_add Add "self + other";
        try_sub Sub "self - other";
        try_mul Mul "self * other";
    }
}

impl<P: Pattern, const D: usize, K: Numeric> SparseTensor<P, D, K> {
    /// `self / other`, element by element. Integers are divided as f32. Patterns, fills and gradients follow the rules
    /// of [`try_add`](Self::try_add).
    ///
    /// # Errors
    ///
    /// As [`try_add`](Self::try_add).
    #[or_panic]
    pub fn try_div(&self, other: &Self) -> Result<SparseTensor<P, D, Float>> {
        check("div", self, other)?;
        combine(BinaryOp::Div, &self.real(), &other.real())
    }
}

pub(super) fn check<P: Pattern, const D: usize, K: Kind>(
    op: &'static str,
    a: &SparseTensor<P, D, K>,
    b: &SparseTensor<P, D, K>,
) -> Result<()> {
    same_structure(op, a, b)?;
    if a.dtype() != b.dtype() {
        return Err(SparseError::DtypeMismatch { op, left: dtype_name(a.dtype()), right: dtype_name(b.dtype()) });
    }
    Ok(())
}

/// Checks that two tensors agree in shape, in the split into sparse and dense dims, and in device. Their kinds may
/// differ.
pub(super) fn same_structure<P: Pattern, const D: usize, K: Kind, K2: Kind>(
    op: &'static str,
    a: &SparseTensor<P, D, K>,
    b: &SparseTensor<P, D, K2>,
) -> Result<()> {
    if a.dims() != b.dims() {
        let (left, right) = (a.dims().to_vec(), b.dims().to_vec());
        let rule = "the second tensor {right} must have the shape {left} of the first (expand repeats dims of size 1)";
        return Err(SparseError::ShapeMismatch { op, rule, left, right });
    }
    if a.dense_dims() != b.dense_dims() {
        let name = |dims: usize| format!("{} with {dims} dense dims", P::LAYOUT);
        return Err(SparseError::LayoutMismatch { op, left: name(a.dense_dims()), right: name(b.dense_dims()) });
    }
    same_device(op, &a.device(), &b.device())
}

/// The pattern of a result, and for each operand the map that says where its rows come from (`None`: they stay in
/// place).
type Meeting<P> = (P, [Option<RowMap>; 2]);

/// The union of the patterns; if one fill is `Undefined`, the pattern of that operand; if both are, the intersection.
pub(super) fn meet<P: Pattern>(a: (&P, bool), b: (&P, bool)) -> Meeting<P> {
    let both = |rule| {
        let (pattern, maps) = merged(rule, a.0, b.0);
        (pattern, maps.map(Some))
    };
    match (a.1, b.1) {
        _ if a.0.is_same(b.0) => (a.0.clone(), [None, None]),
        (false, false) => both(MergeRule::Union),
        (true, true) => both(MergeRule::Intersection),
        (true, false) => (a.0.clone(), [None, Some(located(a.0, b.0))]),
        (false, true) => (b.0.clone(), [Some(located(b.0, a.0)), None]),
    }
}

fn combine<P: Pattern, const D: usize, K: Numeric>(
    op: BinaryOp,
    a: &SparseTensor<P, D, K>,
    b: &SparseTensor<P, D, K>,
) -> Result<SparseTensor<P, D, K>> {
    check(op.name(), a, b)?;
    let (a, b) = (a.coalesce(), b.coalesce());
    let (fill_a, fill_b) = (a.fill_row(), b.fill_row());
    let union = !a.fill.is_undefined() && !b.fill.is_undefined();
    let at_once =
        union.then(|| union_zip(op, (&a.pattern, &a.values, &fill_a), (&b.pattern, &b.values, &fill_b))).flatten();
    let (pattern, values) = at_once.unwrap_or_else(|| {
        let (pattern, [map_a, map_b]) = meet((&a.pattern, a.fill.is_undefined()), (&b.pattern, b.fill.is_undefined()));
        (pattern, zip(op, (&a.values, fill_a, map_a), (&b.values, fill_b, map_b)))
    });
    let fill = combine_fills(op, &a, &b).counting(is_full(&pattern));
    Ok(SparseTensor::from_parts(pattern, values, a.dense_shape.clone(), fill))
}

/// The dense operation on rows.
pub(crate) fn apply<K: Numeric>(op: BinaryOp, a: Tensor<2, K>, b: Tensor<2, K>) -> Tensor<2, K> {
    // An empty tensor is returned as it is: some devices cannot launch over it, here or in the backward pass.
    if a.shape().num_elements() == 0 {
        return a;
    }
    match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div => a / b,
    }
}

pub(super) type Operand<'a, K> = (&'a Tensor<2, K>, Tensor<2, K>, Option<RowMap>);

#[derive(Debug)]
struct Saved {
    op: BinaryOp,
    maps: [Option<RowMap>; 2],
    /// Values and fill of each side, where the other side's gradient reads them.
    sides: [Option<(Tensor<2>, Tensor<2>)>; 2],
}

/// `op` of rows that are read through index maps. This is one fused pass if no fill is tracked. With a tracked fill a
/// side has two parents, so the operation is composed of moves.
pub(super) fn zip<K: Numeric>(op: BinaryOp, a: Operand<'_, K>, b: Operand<'_, K>) -> Tensor<2, K> {
    let rows = |operand: &Operand<'_, K>| operand.2.as_ref().map_or(operand.0.dims()[0], |map| map.map().dims()[0]);
    if rows(&a) == 0
        && let (Some(values_a), Some(values_b)) = (as_float(a.0), as_float(b.0))
    {
        return empty(values_a, values_b);
    }
    if is_tracked(&a.1) || is_tracked(&b.1) {
        let moved = |(values, fill, map): Operand<'_, K>| match map {
            None => values.clone(),
            Some(map) => move_rows(values.clone(), fill, &map),
        };
        return apply(op, moved(a), moved(b));
    }
    let side = |operand: &Operand<'_, K>| -> Option<(Tensor<2>, Tensor<2>)> {
        Some((as_float(operand.0)?.inner(), as_float(&operand.1)?.inner()))
    };
    let maps = [&a.2, &b.2].map(|map| map.as_ref().map(RowMap::map));
    let out = kernel::zip_rows(op, [a.0, b.0], [&a.1, &b.1], maps);
    let (Some(values_a), Some(values_b)) = (as_float(a.0), as_float(b.0)) else { return out };
    let out = as_float(&out).expect("the kind of the values");
    let nonlinear = matches!(op, BinaryOp::Mul | BinaryOp::Div);
    let reads_a = nonlinear && values_b.is_tracked();
    let reads_b = nonlinear && (values_a.is_tracked() || op == BinaryOp::Div);
    let sides = [if reads_a { side(&a) } else { None }, if reads_b { side(&b) } else { None }];
    let saved = Saved { op, maps: [a.2, b.2], sides };
    from_float(record(out, [Erased::from(values_a), Erased::from(values_b)], saved, backward))
}

/// The result of two tensors without elements. Some devices cannot launch over nothing, here or in the backward pass.
fn empty<K: Kind>(a: Tensor<2>, b: Tensor<2>) -> Tensor<2, K> {
    let out = Tensor::<2>::empty([0, a.dims()[1]], (&a.device().inner(), a.dtype()));
    let shapes = [a.dims(), b.dims()];
    from_float(record(out, [Erased::from(a), Erased::from(b)], shapes, |shapes, grad, needs| {
        let zeros = |side: usize| Tensor::<2>::zeros(shapes[side], (&grad.device(), grad.dtype()));
        [needs[0].then(|| zeros(0).into()), needs[1].then(|| zeros(1).into())]
    }))
}

fn backward(saved: &Saved, grad: Tensor<2>, needs: [bool; 2]) -> [Option<Erased>; 2] {
    let moved = |side: usize| {
        let (values, fill) = saved.sides[side].as_ref().expect("saved where the other side is tracked");
        saved.maps[side].as_ref().map_or(values.clone(), |map| kernel::move_rows(values, fill, map.map()))
    };
    let (to_a, to_b): (Option<Tensor<2>>, Option<Tensor<2>>) = match saved.op {
        BinaryOp::Add => (needs[0].then(|| grad.clone()), needs[1].then_some(grad)),
        BinaryOp::Sub => (needs[0].then(|| grad.clone()), needs[1].then(|| grad.neg())),
        BinaryOp::Mul => (needs[0].then(|| grad.clone() * moved(1)), needs[1].then(|| grad * moved(0))),
        BinaryOp::Div => {
            let divisor = moved(1);
            (
                needs[0].then(|| grad.clone() / divisor.clone()),
                needs[1].then(|| (grad * (moved(0) / divisor.clone() / divisor)).neg()),
            )
        }
    };
    let back = |grad: Option<Tensor<2>>, map: &Option<RowMap>| {
        let grad = grad?;
        match map {
            None => Some(Erased::from(grad)),
            Some(map) => map.back(&grad, true, false)[0].clone().map(Erased::from),
        }
    };
    [back(to_a, &saved.maps[0]), back(to_b, &saved.maps[1])]
}

fn combine_fills<P: Pattern, const D: usize, K: Numeric>(
    op: BinaryOp,
    a: &SparseTensor<P, D, K>,
    b: &SparseTensor<P, D, K>,
) -> Fill<K> {
    match (&a.fill, &b.fill) {
        (Fill::Undefined, _) | (_, Fill::Undefined) => Fill::Undefined,
        (Fill::Zero, Fill::Zero) if op != BinaryOp::Div => Fill::Zero,
        (fill_a, fill_b) => match (fill_a.host(), fill_b.host()) {
            (Some(x), Some(y)) => Fill::scalar(host_apply(op, x, y, a.dtype())),
            _ => Fill::block(apply(op, a.fill_row(), b.fill_row())),
        },
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $kind:path => $out:path, $($own:tt)*) => {
        operator!(@one $trait, $method, $kind => $out, [&] [&], $($own)*);
        operator!(@one $trait, $method, $kind => $out, [] [], $($own)*);
        operator!(@one $trait, $method, $kind => $out, [&] [], $($own)*);
        operator!(@one $trait, $method, $kind => $out, [] [&], $($own)*);
    };
    (@one $trait:ident, $method:ident, $kind:path => $out:path, [$($left:tt)?] [$($right:tt)?], $($own:tt)*) => {
        impl<P: Pattern, const D: usize, $($own)*> std::ops::$trait<$($right)? SparseTensor<P, D, $kind>>
            for $($left)? SparseTensor<P, D, $kind>
        {
            type Output = SparseTensor<P, D, $out>;
            #[track_caller]
            fn $method(self, other: $($right)? SparseTensor<P, D, $kind>) -> Self::Output {
                let right: &SparseTensor<P, D, $kind> = other.borrow();
                SparseTensor::<P, D, $kind>::$method(self.borrow(), right)
            }
        }
    };
}

operator!(Add, add, K => K, K: Numeric);
operator!(Sub, sub, K => K, K: Numeric);
operator!(Mul, mul, K => K, K: Numeric);
operator!(Div, div, K => Float, K: Numeric);
