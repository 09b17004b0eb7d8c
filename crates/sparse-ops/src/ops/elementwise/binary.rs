//! Element-wise `+ - * /` of two sparse tensors of one layout.

use crate::base::checks::{same_device, same_dtype};
use crate::base::kind::{Kind, Numeric};
use crate::base::scalar::host_apply;
use crate::pattern::layout::{Pattern, is_full};
use crate::pattern::merge::{Operand, zip};
use crate::rows::zip::apply;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::Float;
use sparse_burn::BinaryOp;
use sparse_core::{Result, SparseError};
use sparse_macros::{async_variant, or_panic};
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
        /// once and always has the same result pattern. On the CPU the first operation combines untracked values in the
        /// same pass as the merge. The second one makes index maps, which later ones read. Source: SciPy's binary
        /// operations on canonical CSR.
        ///
        /// # Errors
        ///
        /// `shape_mismatch`, `layout_mismatch` (another number of dense dims), `dtype_mismatch`, `device_mismatch`.
        #[async_variant]
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
    /// of [`try_add`](Self::try_add). So two zero fills give the fill 0 / 0, which is NaN, as the dense answer has it.
    /// [`Stored::div`](crate::ops::Stored::div) divides stored elements alone.
    ///
    /// # Errors
    ///
    /// As [`try_add`](Self::try_add).
    #[async_variant]
    #[or_panic]
    pub fn try_div(&self, other: &Self) -> Result<SparseTensor<P, D, Float>> {
        check("div", self, other)?;
        combine(BinaryOp::Div, &self.real(), &other.real())
    }
}

pub(crate) fn check<P: Pattern, const D: usize, K: Kind>(
    op: &'static str,
    a: &SparseTensor<P, D, K>,
    b: &SparseTensor<P, D, K>,
) -> Result<()> {
    same_structure(op, a, b)?;
    same_dtype(op, a.dtype(), b.dtype())?;
    Ok(())
}

/// Checks that two tensors agree in shape, in the split into sparse and dense dims, and in device. Their kinds may
/// differ.
pub(crate) fn same_structure<P: Pattern, const D: usize, K: Kind, K2: Kind>(
    op: &'static str,
    a: &SparseTensor<P, D, K>,
    b: &SparseTensor<P, D, K2>,
) -> Result<()> {
    if a.dims() != b.dims() {
        let (left, right) = (a.dims().to_vec(), b.dims().to_vec());
        let rule = "the second tensor {right} must have the shape {left} of the first (expand repeats dims of size 1)";
        return Err(SparseError::shape_mismatch(op, rule, left, right));
    }
    if a.dense_dims() != b.dense_dims() {
        let name = |dims: usize| format!("{} with {dims} dense dims", P::LAYOUT);
        return Err(SparseError::layout_mismatch(op, name(a.dense_dims()), name(b.dense_dims())));
    }
    same_device(op, &a.device(), &b.device())
}

fn combine<P: Pattern, const D: usize, K: Numeric>(
    op: BinaryOp,
    a: &SparseTensor<P, D, K>,
    b: &SparseTensor<P, D, K>,
) -> Result<SparseTensor<P, D, K>> {
    check(op.name(), a, b)?;
    let (a, b) = (a.coalesce(), b.coalesce());
    let (pattern, mut values) = zip(op, operand(&a), operand(&b));
    if a.fill.is_undefined() || b.fill.is_undefined() {
        // The other fill may take no part.
        values = a.fill.without_gradient(b.fill.without_gradient(values));
    }
    let full = is_full(&pattern);
    let counted = |tensor: SparseTensor<P, D, K>| SparseTensor { fill: tensor.fill.counting(full), ..tensor };
    let (a, b) = (counted(a), counted(b));
    let fill = combine_fills(op, &a, &b);
    Ok(SparseTensor::from_parts(pattern, values, a.dense_shape.clone(), fill))
}

fn operand<P: Pattern, const D: usize, K: Numeric>(tensor: &SparseTensor<P, D, K>) -> Operand<'_, P, K> {
    let SparseTensor { pattern, values, fill, .. } = tensor;
    Operand { pattern, values, fill: tensor.fill_row(), undefined: fill.is_undefined() }
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
