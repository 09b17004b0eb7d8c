//! Element types.

use crate::pattern::Pattern;
use crate::tensor::{Kind, SparseTensor};
use burn::tensor::{Bool, Float, FloatDType, Int, IntDType, Tensor};

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// Applies a linear or value-wise conversion to stored values and fill alike.
    fn convert<K2: Kind>(&self, f: impl Fn(Tensor<2, K>) -> Tensor<2, K2>) -> SparseTensor<P, D, K2> {
        let fill = match &self.fill {
            crate::Fill::Zero => crate::Fill::Zero,
            crate::Fill::Undefined => crate::Fill::Undefined,
            fill => fill.map_row(self.block(), self.dtype(), &self.device(), &f),
        };
        self.with_rows(f(self.values.clone()), fill)
    }
}

impl<P: Pattern, const D: usize> SparseTensor<P, D, Float> {
    /// The tensor in another float type, duplicates summed first. Differentiable.
    pub fn cast(&self, dtype: FloatDType) -> Self {
        self.coalesce().convert(|rows| rows.cast(dtype))
    }

    /// The tensor as integers, rounded towards zero. Duplicates are summed first.
    pub fn int(&self) -> SparseTensor<P, D, Int> {
        self.coalesce().convert(|rows| rows.int())
    }
}

impl<P: Pattern, const D: usize> SparseTensor<P, D, Int> {
    /// The tensor in another integer type.
    pub fn cast(&self, dtype: IntDType) -> Self {
        self.convert(|rows| rows.cast(dtype))
    }

    /// The tensor as floats, duplicates summed first.
    pub fn float(&self) -> SparseTensor<P, D, Float> {
        self.coalesce().convert(|rows| rows.float())
    }
}

impl<P: Pattern, const D: usize> SparseTensor<P, D, Bool> {
    /// True as 1.
    pub fn int(&self) -> SparseTensor<P, D, Int> {
        self.coalesce().convert(|rows| rows.int())
    }

    /// True as 1.0.
    pub fn float(&self) -> SparseTensor<P, D, Float> {
        self.coalesce().convert(|rows| rows.float())
    }
}
