//! Element types.

use crate::base::checks::has_dtype;
use crate::base::float::in_float;
use crate::base::index::cast_integers;
use crate::base::kind::{Kind, Numeric, is_16_bit};
use crate::base::scalar::host_float;
use crate::ops::elementwise::map::rows_of;
use crate::pattern::layout::{Pattern, is_full};
use crate::tensor::fill::{Fill, FillValue};
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{Bool, Float, FloatDType, Int, IntDType, Tensor};
use sparse_core::Result;
use sparse_macros::or_panic;
use std::any::Any;

/// A tensor of 16-bit floats in f32, and the type to convert back to. For operations of several steps: a sum that is
/// divided, say, is neither rounded nor infinite in between.
pub(crate) fn widened<P: Pattern, const D: usize, K: Numeric>(
    of: &SparseTensor<P, D, K>,
) -> Option<(SparseTensor<P, D, K>, FloatDType)> {
    is_16_bit(of.dtype()).then(|| (of.in_float(FloatDType::F32), FloatDType::from(of.dtype())))
}

impl<P: Pattern, const D: usize, K: Numeric> SparseTensor<P, D, K> {
    /// The tensor with its float values, and a float fill in a tensor, in another float type. Duplicates stay.
    pub(crate) fn in_float(&self, dtype: FloatDType) -> Self {
        let fill = match &self.fill {
            Fill::Value(FillValue::Block(block)) => Fill::block(in_float(block.row(), dtype)),
            Fill::Value(FillValue::Scalar(value)) => Fill::scalar(host_float(*value, self.dtype())),
            other => other.clone(),
        };
        self.with_rows(in_float(&self.values, dtype), fill)
    }
}

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// Applies a linear or value-wise conversion to stored values and fill alike.
    fn convert<K2: Kind>(&self, f: impl Fn(Tensor<2, K>) -> Tensor<2, K2>) -> SparseTensor<P, D, K2> {
        // Every conversion maps zero to zero, so a fill that is known to be zero stays known.
        let fill = match self.fill.host().filter(|_| self.fill.is_zero()) {
            Some(zero) => Fill::scalar(zero),
            None => self.fill.map_row(self.block(), self.dtype(), &self.device(), &f),
        };
        self.with_rows(rows_of(self, &f), fill)
    }
}

impl<P: Pattern, const D: usize, K: Numeric> SparseTensor<P, D, K> {
    /// The operand of a division. Floats stay as they are. Integers are converted to f32, with duplicates summed first.
    pub(crate) fn real(&self) -> SparseTensor<P, D, Float> {
        let any: &dyn Any = self;
        match (any.downcast_ref::<SparseTensor<P, D, Float>>(), any.downcast_ref::<SparseTensor<P, D, Int>>()) {
            (Some(floats), _) => floats.clone(),
            (_, Some(integers)) => integers.float().cast(FloatDType::F32),
            _ => unreachable!("numbers are floats or integers"),
        }
    }
}

impl<P: Pattern, const D: usize> SparseTensor<P, D, Float> {
    /// The tensor in another float type. Duplicates are summed first. Differentiable.
    ///
    /// # Errors
    ///
    /// `unsupported_dtype` if the device does not have the type.
    #[or_panic]
    pub fn try_cast(&self, dtype: FloatDType) -> Result<Self> {
        has_dtype("cast", &self.device(), dtype.into())?;
        Ok(self.coalesce().convert(|rows| rows.cast(dtype)))
    }

    /// The tensor as integers, rounded towards zero. Duplicates are summed first.
    pub fn int(&self) -> SparseTensor<P, D, Int> {
        let own = self.coalesce();
        // NdArray refuses to convert an infinity or NaN. A fill that no element has must not make it.
        let wild = own.fill.host().is_some_and(|fill| !fill.elem::<f64>().is_finite());
        let own = if wild && is_full(&own.pattern) { own.with_fill(Fill::Zero) } else { own };
        own.convert(|rows| rows.int())
    }
}

impl<P: Pattern, const D: usize> SparseTensor<P, D, Int> {
    /// The tensor in another integer type.
    ///
    /// # Errors
    ///
    /// `unsupported_dtype` if the device does not have the type.
    #[or_panic]
    pub fn try_cast(&self, dtype: IntDType) -> Result<Self> {
        has_dtype("cast", &self.device(), dtype.into())?;
        Ok(self.convert(|rows| cast_integers(rows, dtype.into())))
    }

    /// The tensor as floats. Duplicates are summed first.
    pub fn float(&self) -> SparseTensor<P, D, Float> {
        self.coalesce().convert(|rows| rows.float())
    }
}

impl<P: Pattern, const D: usize> SparseTensor<P, D, Bool> {
    /// The tensor as integers: true becomes 1.
    pub fn int(&self) -> SparseTensor<P, D, Int> {
        self.coalesce().convert(|rows| rows.int())
    }

    /// The tensor as floats: true becomes 1.0.
    pub fn float(&self) -> SparseTensor<P, D, Float> {
        self.coalesce().convert(|rows| rows.float())
    }
}
