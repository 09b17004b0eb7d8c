//! Functions of the stored elements alone. The operations without `stored` in their name follow dense tensors, so they
//! map the fill too.

use crate::base::kind::{Kind, Numeric};
use crate::ops::elementwise::binary;
use crate::ops::elementwise::map::{changed_shape, rows_of};
use crate::pattern::layout::Pattern;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::Tensor;
use sparse_core::Result;
use sparse_macros::or_panic;

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// Applies `f` to the stored elements. The pattern and the fill stay. `f` is any Burn function that maps elements
    /// one by one; it gets rows of values `[n, block]`.
    ///
    /// This is the stored-only variant of [`map`](Self::map), which gives the fill `f(fill)`: `a.exp()` has the fill
    /// `exp(0) = 1`, and `a.map_stored(|rows| rows.exp())` still has the fill 0. Duplicates are summed first. Backward:
    /// that of `f`. Cost: that of `f` over the stored values.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 2.0], [3.0, 0.0]], &Device::flex()));
    /// let b = a.map_stored(|rows| rows.add_scalar(1.0));
    /// assert_eq!(b.to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), [0.0, 3.0, 4.0, 0.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if `f` gives rows of another shape.
    #[or_panic]
    pub fn try_map_stored(&self, f: impl Fn(Tensor<2, K>) -> Tensor<2, K>) -> Result<Self> {
        let merged = self.coalesce();
        let values = rows_of(&merged, &f);
        if values.dims() != merged.values.dims() {
            return Err(changed_shape("map_stored", values.dims(), merged.values.dims()));
        }
        Ok(merged.with_rows(values, merged.fill.clone()))
    }

    /// Applies `f` to the pairs of elements that both tensors store. `f` is any Burn function that combines elements
    /// one by one; it gets rows of values `[n, block]` of both tensors.
    ///
    /// The result has the intersection of the patterns. Fills take no part: that of the result is zero, or `Undefined`
    /// if one of the operands' is. The stored-only variant of [`zip_with`](Self::zip_with); GraphBLAS calls it
    /// `eWiseMult`. Duplicates are summed first. Backward: that of `f`. Cost: `O(nnz_a + nnz_b)` and that of `f`. The
    /// intersection is kept with the left pattern.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let device = Device::flex();
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 2.0], [0.0, 3.0]], &device));
    /// let b = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 5.0], [4.0, 2.0]], &device));
    /// let least = a.zip_stored(&b, |a, b| a.min_pair(b));
    /// assert_eq!(least.to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), [0.0, 2.0, 0.0, 2.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// As [`try_zip_with`](Self::try_zip_with).
    #[or_panic]
    pub fn try_zip_stored<K2: Kind, K3: Kind>(
        &self,
        other: &SparseTensor<P, D, K2>,
        f: impl Fn(Tensor<2, K>, Tensor<2, K2>) -> Tensor<2, K3>,
    ) -> Result<SparseTensor<P, D, K3>> {
        let out = self.stored_alone().zip_named("zip_stored", &other.stored_alone(), f, |_, _, _| None)?;
        Ok(self.with_common_fill(other, out))
    }

    /// The stored elements without a fill, on its tape.
    pub(crate) fn stored_alone(&self) -> Self {
        Self { fill: Fill::Undefined, values: self.fill.without_gradient(self.values.clone()), ..self.clone() }
    }

    /// A combination of the stored elements, with the fill that it has.
    fn with_common_fill<K2: Kind, K3: Kind>(
        &self,
        other: &SparseTensor<P, D, K2>,
        out: SparseTensor<P, D, K3>,
    ) -> SparseTensor<P, D, K3> {
        if self.fill.is_undefined() || other.fill.is_undefined() {
            return out;
        }
        SparseTensor { fill: Fill::Zero, ..out }
    }
}

impl<P: Pattern, const D: usize, K: Numeric> SparseTensor<P, D, K> {
    /// `self * other` at the elements that both store; elsewhere nothing is stored. Fills take no part: that of the
    /// result is zero, or `Undefined` if one of the operands' is.
    ///
    /// With zero fills this is [`mul`](Self::mul) without the zeros that it stores where only one side has an element.
    /// Backward: the dense rule at the common elements; other elements get zero. Cost: `O(nnz_a + nnz_b)`; the
    /// intersection is kept with the left pattern. Source: `eWiseMult` of GraphBLAS, SciPy's `multiply`.
    ///
    /// # Errors
    ///
    /// As [`try_mul`](Self::try_mul).
    #[or_panic]
    pub fn try_mul_stored(&self, other: &Self) -> Result<Self> {
        binary::check("mul_stored", self, other)?;
        Ok(self.with_common_fill(other, self.stored_alone().try_mul(&other.stored_alone())?))
    }

    /// `self / other` at the elements that both store; elsewhere nothing is stored. Integers are divided as f32. Fills
    /// take no part: that of the result is zero, or `Undefined` if one of the operands' is.
    ///
    /// [`div`](Self::div) of two tensors filled with zero has the fill `0 / 0`, which is NaN, and infinities where only
    /// the left one has an element. Here these places stay empty. A stored divisor of zero follows IEEE 754. Backward
    /// and cost are those of [`mul_stored`](Self::mul_stored).
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let device = Device::flex();
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 6.0], [0.0, 0.0]], &device));
    /// let b = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 3.0], [4.0, 0.0]], &device));
    /// assert_eq!(a.div_stored(&b).to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), [0.0, 2.0, 0.0, 0.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// As [`try_div`](Self::try_div).
    #[or_panic]
    pub fn try_div_stored(&self, other: &Self) -> Result<SparseTensor<P, D>> {
        binary::check("div_stored", self, other)?;
        Ok(self.with_common_fill(other, self.stored_alone().try_div(&other.stored_alone())?))
    }
}
