//! Functions of the stored elements alone. The operations of a tensor itself follow dense tensors: they map and count
//! the fill too.

use crate::base::kind::{Kind, Numeric};
use crate::ops::elementwise::map::{changed_shape, rows_of};
use crate::pattern::layout::Pattern;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{AsIndex, Float, Tensor, kind};
use sparse_core::Result;
use sparse_macros::or_panic;

/// A view of the stored elements of a tensor: see [`SparseTensor::stored`].
#[derive(Clone, Debug)]
pub struct Stored<P: Pattern, const D: usize, K: Kind = Float>(pub(crate) SparseTensor<P, D, K>);

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// A view of the stored elements: its functions leave the fill out, as those of PyTorch's sparse tensors and of
    /// GraphBLAS do. It copies nothing.
    ///
    /// - [`map`](Stored::map): a function of the stored elements. Pattern and fill stay. [`cumsum`](Stored::cumsum):
    ///   running sums, of tensors whose fill is zero or `Undefined`.
    /// - [`mul`](Stored::mul), [`div`](Stored::div), [`zip`](Stored::zip): a function of the elements that two tensors
    ///   store.
    /// - [`sum_dim`](Stored::sum_dim) and the other reductions: only stored elements count.
    /// - [`count`](Stored::count), [`count_dims`](Stored::count_dims): how many there are.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, -2.0], [-3.0, -1.0]], &Device::flex()));
    /// let list = |x: Tensor<2>| x.into_data().iter::<f32>().collect::<Vec<_>>();
    /// assert_eq!(list(a.max_dim(1).to_dense()), [0.0, -1.0]);
    /// assert_eq!(list(a.stored().max_dim(1).to_dense_or(0.0)), [-2.0, -1.0]);
    /// assert_eq!(list(a.stored().map(|x| x.add_scalar(1.0)).to_dense()), [0.0, -1.0, -2.0, 0.0]);
    /// ```
    pub fn stored(&self) -> Stored<P, D, K> {
        Stored(self.clone())
    }

    /// The stored elements without a fill, on its tape.
    fn without_fill(&self) -> Self {
        Self { fill: Fill::Undefined, values: self.fill.without_gradient(self.values.clone()), ..self.clone() }
    }

    /// A combination of stored elements, with the fill that it has.
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

impl<P: Pattern, const D: usize, K: Kind> Stored<P, D, K> {
    /// Applies `f` to the stored elements. The pattern and the fill stay. `f` is any Burn function that maps elements
    /// one by one; it gets rows of values `[n, block]`.
    ///
    /// [`SparseTensor::map`] gives the fill `f(fill)`: `a.exp()` has the fill `exp(0) = 1`, and
    /// `a.stored().map(|rows| rows.exp())` still has the fill 0. Duplicates are summed first. Backward: that of `f`.
    /// Cost: that of `f` over the stored values.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if `f` gives rows of another shape.
    #[or_panic]
    pub fn try_map(&self, f: impl Fn(Tensor<2, K>) -> Tensor<2, K>) -> Result<SparseTensor<P, D, K>> {
        let merged = self.0.coalesce();
        let values = rows_of(&merged, &f);
        if values.dims() != merged.values.dims() {
            return Err(changed_shape("map", values.dims(), merged.values.dims()));
        }
        Ok(merged.with_rows(values, merged.fill.clone()))
    }

    /// Applies `f` to the pairs of elements that both tensors store. `f` is any Burn function that combines elements
    /// one by one; it gets rows of values `[n, block]` of both tensors.
    ///
    /// The result has the intersection of the patterns. Fills take no part: that of the result is zero, or `Undefined`
    /// if one of the operands' is. GraphBLAS calls it `eWiseMult`. Duplicates are summed first. Backward: that of `f`.
    /// Cost: `O(nnz_a + nnz_b)` and that of `f`. The intersection is kept with the left pattern.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let device = Device::flex();
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 2.0], [0.0, 3.0]], &device));
    /// let b = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 5.0], [4.0, 2.0]], &device));
    /// let least = a.stored().zip(&b, |a, b| a.min_pair(b));
    /// assert_eq!(least.to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), [0.0, 2.0, 0.0, 2.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// As [`SparseTensor::try_zip_with`].
    #[or_panic]
    pub fn try_zip<K2: Kind, K3: Kind>(
        &self,
        other: &SparseTensor<P, D, K2>,
        f: impl Fn(Tensor<2, K>, Tensor<2, K2>) -> Tensor<2, K3>,
    ) -> Result<SparseTensor<P, D, K3>> {
        let out = self.0.without_fill().zip_named("zip", &other.without_fill(), f, |_, _, _| None)?;
        Ok(self.0.with_common_fill(other, out))
    }
}

impl<P: Pattern, const D: usize, K: Numeric> Stored<P, D, K> {
    /// `self * other` at the elements that both store; elsewhere nothing is stored. Fills take no part: that of the
    /// result is zero, or `Undefined` if one of the operands' is.
    ///
    /// With zero fills this is [`SparseTensor::mul`] without the zeros that it stores where only one side has an
    /// element. Backward: the dense rule at the common elements; other elements get zero. Cost: `O(nnz_a + nnz_b)`; the
    /// intersection is kept with the left pattern. Source: `eWiseMult` of GraphBLAS, SciPy's `multiply`.
    ///
    /// # Errors
    ///
    /// As [`SparseTensor::try_mul`].
    #[or_panic]
    pub fn try_mul(&self, other: &SparseTensor<P, D, K>) -> Result<SparseTensor<P, D, K>> {
        let out = self.0.without_fill().try_mul(&other.without_fill())?;
        Ok(self.0.with_common_fill(other, out))
    }

    /// `self / other` at the elements that both store; elsewhere nothing is stored. Integers are divided as f32. Fills
    /// take no part: that of the result is zero, or `Undefined` if one of the operands' is.
    ///
    /// [`SparseTensor::div`] of two tensors filled with zero has the fill `0 / 0`, which is NaN, and infinities where
    /// only the left one has an element. Here these places stay empty. A stored divisor of zero follows IEEE 754.
    /// Backward and cost are those of [`mul`](Self::mul).
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let device = Device::flex();
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 6.0], [0.0, 0.0]], &device));
    /// let b = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 3.0], [4.0, 0.0]], &device));
    /// let quotient = a.stored().div(&b).to_dense();
    /// assert_eq!(quotient.into_data().iter::<f32>().collect::<Vec<_>>(), [0.0, 2.0, 0.0, 0.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// As [`SparseTensor::try_div`].
    #[or_panic]
    pub fn try_div(&self, other: &SparseTensor<P, D, K>) -> Result<SparseTensor<P, D>> {
        let out = self.0.without_fill().try_div(&other.without_fill())?;
        Ok(self.0.with_common_fill(other, out))
    }
}

macro_rules! reductions {
    ($kind:ident: $($what:literal $dim:ident $dims:ident $all:ident;)*) => {$(
        #[doc = concat!($what, " along `dim` over the stored elements only, whatever the fill is.")]
        ///
        /// Lines without stored elements are not stored in the result, whose fill is `Undefined`: `to_dense_or` gives
        /// them a value.
        #[doc = concat!("The rules are those of [`SparseTensor::", stringify!($dim), "`] with an `Undefined` fill.")]
        ///
        /// # Errors
        ///
        /// `axis_out_of_range`.
        #[or_panic]
        pub fn $dim(&self, dim: impl AsIndex) -> Result<SparseTensor<P, D, $kind>> {
            self.0.without_fill().$dim(dim)
        }

        #[doc = concat!($what, " along several dims at once over the stored elements only: see")]
        #[doc = concat!("[`", stringify!($dim), "`](Self::", stringify!($dim), ").")]
        ///
        /// # Errors
        ///
        /// `axis_out_of_range`; `shape_mismatch` for a dim given twice.
        #[or_panic]
        pub fn $dims(&self, dims: &[impl AsIndex]) -> Result<SparseTensor<P, D, $kind>> {
            self.0.without_fill().$dims(dims)
        }

        #[doc = concat!($what, " of all stored elements, whatever the fill is.")]
        ///
        /// # Errors
        ///
        /// As for all elements of a tensor with an `Undefined` fill.
        #[or_panic]
        pub fn $all(&self) -> Result<Tensor<1, $kind>> {
            self.0.without_fill().$all()
        }
    )*};
}

impl<P: Pattern, const D: usize, K: Numeric + kind::Ordered> Stored<P, D, K> {
    reductions! { K:
        "The sum" try_sum_dim try_sum_dims try_sum;
        "The product" try_prod_dim try_prod_dims try_prod;
        "The largest element" try_max_dim try_max_dims try_max;
        "The smallest element" try_min_dim try_min_dims try_min;
    }
}

impl<P: Pattern, const D: usize> Stored<P, D> {
    reductions! { Float: "The mean" try_mean_dim try_mean_dims try_mean; }
}
