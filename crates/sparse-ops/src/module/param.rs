//! The parameter.

use super::constant::describe;
use crate::base::checks::same_dtype;
use crate::base::kind::{associate, dtype_name};
use crate::pattern::coo::CooPattern;
use crate::pattern::csr::CsrPattern;
use crate::pattern::layout::Pattern;
use crate::tensor::fill::{Fill, FillValue};
use crate::tensor::sparse::SparseTensor;
use burn::module::{Param, ParamId};
use burn::tensor::{DType, Device, FloatDType, Gradients, Tensor};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;
use std::fmt;

/// A sparse tensor whose values are trained: Burn's `Param` for a [`SparseTensor`].
///
/// Use it through its two layouts, [`CsrParam`] and [`CooParam`], as a field of a `#[derive(Module)]` struct
/// ([example](crate::module#example)).
///
/// - The values are one Burn parameter `[nnz, block]` (`block` is the product of the dense dims, 1 without them). Any
///   optimiser, gradient clipping, weight decay and average of parameters works on it as on a dense one.
/// - `num_params` counts the stored values.
/// - The pattern is fixed while an optimiser steps; all steps share what is derived from it.
///   [`replace_pattern`](Self::replace_pattern) changes it.
/// - The fill is a constant. To train it, hold a `Param<Tensor<1>>` as well and give it to
///   [`with_fill`](SparseTensor::with_fill) of [`val`](Self::val).
/// - Pattern, fill and values are in the module's record, and a load restores them ([records](crate::module#records)).
///
/// ```
/// use burn::module::Module;
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CsrTensor, module::CsrParam};
///
/// let device = Device::flex().autodiff();
/// let start = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 0.0], [0.0, 2.0]], &device));
/// let weight = CsrParam::from_tensor(start);
/// let y = weight.val().matmul(Tensor::<2>::ones([2, 3], &device));
/// let grads = y.sum().backward();
/// assert_eq!(weight.grad(&grads).unwrap().values::<1>().into_data().iter::<f32>().collect::<Vec<_>>(), [3.0, 3.0]);
/// assert_eq!(weight.num_params(), 2);
/// ```
#[derive(Clone)]
pub struct SparseParam<P: Pattern, const D: usize> {
    pub(super) values: Param<Tensor<2>>,
    pub(super) pattern: P,
    pub(super) dense_shape: Vec<usize>,
    /// Without autodiff association.
    pub(super) fill: Fill,
}

/// A CSR parameter: a matrix, or a batch of matrices.
pub type CsrParam<const D: usize> = SparseParam<CsrPattern, D>;

/// A COO parameter of any rank, hybrid ones included.
pub type CooParam<const D: usize> = SparseParam<CooPattern, D>;

impl<P: Pattern, const D: usize> SparseParam<P, D> {
    /// A parameter that starts as `tensor`, off any tape. It shares the pattern.
    ///
    /// Duplicates of an uncoalesced tensor are trained one by one; coalesce first to train one value per element.
    pub fn from_tensor(tensor: SparseTensor<P, D>) -> Self {
        let SparseTensor { pattern, values, dense_shape, fill, .. } = tensor;
        let values = Param::from_tensor(values.set_require_grad(false));
        Self { values, pattern, dense_shape, fill: fill.map_block(Tensor::inner) }
    }

    /// The tensor. Its values are the leaf that is trained. Cheap: nothing is copied.
    pub fn val(&self) -> SparseTensor<P, D> {
        let values = self.values.val();
        let values = if matches!(values.dtype(), DType::QFloat(_)) { values.dequantize() } else { values };
        let fill = match &self.fill {
            // A mapper has cast the values.
            Fill::Value(FillValue::Block(block)) if block.row().dtype() != values.dtype() => {
                Fill::block(block.row().clone().cast(FloatDType::from(values.dtype())))
            }
            fill => fill.clone(),
        };
        SparseTensor::from_parts(self.pattern.clone(), values, self.dense_shape.clone(), fill)
    }

    /// The id under which optimisers keep their state.
    pub fn id(&self) -> ParamId {
        self.values.id
    }

    /// Shape, sparse dims first.
    pub fn dims(&self) -> [usize; D] {
        let mut dims = self.pattern.shape().iter().chain(&self.dense_shape);
        std::array::from_fn(|_| *dims.next().expect("the rank is D"))
    }

    /// Number of stored elements (of stored blocks, where there are dense dims).
    pub fn nnz(&self) -> usize {
        self.pattern.nnz()
    }

    /// The positions of the stored elements.
    pub fn pattern(&self) -> &P {
        &self.pattern
    }

    /// The value of the unspecified elements.
    pub fn fill(&self) -> &Fill {
        &self.fill
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.values.dtype()
    }

    /// Device of the values, with their autodiff association.
    pub fn device(&self) -> Device {
        self.values.device()
    }

    /// Elements of a value block.
    pub(super) fn block(&self) -> usize {
        self.dense_shape.iter().product()
    }

    /// The gradient of the values, on the pattern. `None` if they are not trained, or took no part in the loss.
    pub fn grad(&self, grads: &Gradients) -> Option<SparseTensor<P, D>> {
        self.val().grad(grads)
    }

    /// The same parameter with other values: `f` of the rows `[nnz, block]`, off the tape. For an initialisation of
    /// one's own, a projection, or averaged values.
    ///
    /// Id, pattern and fill stay, and so does whether the values are trained. (`Module::map` takes a mapper; it visits
    /// all parameters.)
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if `f` gives rows of another shape; `dtype_mismatch`; `invalid` if the values are
    /// reparameterized (LoRA).
    #[or_panic]
    pub fn try_map(self, f: impl FnOnce(Tensor<2>) -> Tensor<2>) -> Result<Self> {
        const OP: &str = "map";
        let (shape, dtype) = (self.values.dims(), self.values.dtype());
        let values = updated(OP, self.values, |rows| {
            let rows = f(rows);
            if rows.dims() != shape {
                let rule = "the function must keep the shape of the rows, got {left} for {right}";
                return Err(SparseError::shape_mismatch(OP, rule, rows.dims(), shape));
            }
            same_dtype(OP, rows.dtype(), dtype)?;
            Ok(rows)
        })?;
        Ok(Self { values, ..self })
    }

    /// The parameter on one line, up to the closing brace.
    pub(super) fn line(&self) -> String {
        // Not by `dims`: a load shows the parameter in its error.
        let dims = [self.pattern.shape(), &self.dense_shape].concat();
        describe::<P, _>("SparseParam", &dims, self.nnz(), self.dtype(), &self.fill)
    }
}

/// Other rows of values for a parameter, which is a leaf again afterwards, trained if it was. `f` works off the tape.
pub(super) fn updated(
    op: &'static str,
    values: Param<Tensor<2>>,
    f: impl FnOnce(Tensor<2>) -> Result<Tensor<2>>,
) -> Result<Param<Tensor<2>>> {
    if values.adapter().is_some() {
        let message = "use Module::materialize first: the values must not be reparameterized, got an adapter";
        return Err(SparseError::invalid(op, message));
    }
    if !values.dtype().is_float() {
        return Err(SparseError::unsupported_dtype(op, "a change of quantized values", dtype_name(values.dtype())));
    }
    let (id, rows, mapper) = values.consume();
    let (device, trained) = (rows.device(), rows.is_require_grad());
    let rows = f(rows.set_require_grad(false))?;
    // Rows made on the plain device get the parameter's own association, its checkpointing strategy included.
    let rows = associate(rows.inner(), &device);
    Ok(Param::from_mapped_value(id, rows.set_require_grad(trained), mapper))
}

impl<P: Pattern, const D: usize> fmt::Display for SparseParam<P, D> {
    /// Layout, shape, nnz, dtype, fill and id. Does not read the device.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, id: {}}}", self.line(), self.id())
    }
}

impl<P: Pattern, const D: usize> fmt::Debug for SparseParam<P, D> {
    /// The same as `Display`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
