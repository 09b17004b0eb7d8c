//! Sums, means, products and extremes along dims; the fill counts.

use crate::base::checks::{as_axes, plain_name};
use crate::base::kind::Numeric;
use crate::ops::reductions::fold_lines::{Fold, reduce, total};
use crate::pattern::layout::Pattern;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{AsIndex, Float, Tensor, kind};
use sparse_core::Result;
use sparse_macros::or_panic;

macro_rules! along {
    ($fold:ident, $what:literal, $rule:literal, $errors:literal; $dim:ident $dims:ident) => {
        #[doc = concat!($what, " along `dim`, sparse or dense. The dim stays with size 1.")]
        ///
        /// The result is the dense answer. A *line* is the set of elements that are reduced to one. Unspecified
        /// elements count with the fill. Lines without stored elements are not stored; their value is the fill of the
        /// result, which is the reduction of a line of fills. With an `Undefined` fill only stored elements count, and
        /// lines without any stay unspecified ([`stored`](Self::stored) does this for any fill). Duplicates are summed
        /// first. [`to_dense`](Self::to_dense) makes the result an ordinary tensor.
        ///
        #[doc = $rule]
        /// Cost: one pass over the values. The lines are found once and kept with the pattern.
        ///
        /// # Errors
        ///
        #[doc = $errors]
        #[or_panic]
        pub fn $dim(&self, dim: impl AsIndex) -> Result<Self> {
            reduce(plain_name(stringify!($dim)), self, &[dim.as_index()], Fold::$fold)
        }

        #[doc = concat!($what, " along several dims at once: see")]
        #[doc = concat!("[`", stringify!($dim), "`](Self::", stringify!($dim), ").")]
        ///
        /// # Errors
        ///
        /// As for one dim; `shape_mismatch` for a dim given twice.
        #[or_panic]
        pub fn $dims(&self, dims: &[impl AsIndex]) -> Result<Self> {
            reduce(plain_name(stringify!($dims)), self, &as_axes(dims), Fold::$fold)
        }
    };
}

impl<P: Pattern, const D: usize, K: Numeric + kind::Ordered> SparseTensor<P, D, K> {
    along! {
        Sum, "The sum",
        "Backward: every element gets the gradient of its line; the fill gets that of the unspecified ones. Integers \
         wrap.",
        "`axis_out_of_range`; `overflow` if the number of unspecified elements that count does not fit an index.";
        try_sum_dim try_sum_dims
    }
    along! {
        Prod, "The product",
        "Beside an unspecified zero the product is zero, unless NaN or infinity is stored. Where the stored elements \
         or the power of another fill alone overflow or underflow, that power is shared out among the stored elements \
         before they are multiplied. Backward: the gradient times the product of the others, exact with any \
         zeros; the fill gets one too. Integers wrap.",
        "`axis_out_of_range`; `overflow` as for sums.";
        try_prod_dim try_prod_dims
    }
    along! {
        Max, "The largest element",
        "NaN wins. Backward: shared evenly by all that tie. The part of unspecified ones goes to the fill.",
        "`axis_out_of_range`; `empty_input` if the dim has size 0.";
        try_max_dim try_max_dims
    }
    along! {
        Min, "The smallest element",
        "NaN wins. Backward: shared evenly by all that tie. The part of unspecified ones goes to the fill.",
        "`axis_out_of_range`; `empty_input` if the dim has size 0.";
        try_min_dim try_min_dims
    }

    /// The sum of all elements; unspecified ones count with the fill. The sum of no elements is 0. See
    /// [`sum_dim`](Self::sum_dim).
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::{CsrTensor, Fill};
    ///
    /// let device = Device::flex();
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 0.0], [0.0, 2.0]], &device));
    /// assert_eq!(a.sum().into_scalar::<f32>(), 3.0);
    /// assert_eq!(a.with_fill(Fill::scalar(0.5)).sum().into_scalar::<f32>(), 4.0);
    /// ```
    ///
    /// # Errors
    ///
    /// `overflow` if the number of unspecified elements that count does not fit an index.
    #[or_panic]
    pub fn try_sum(&self) -> Result<Tensor<1, K>> {
        total("sum", self, Fold::Sum)
    }

    /// The product of all elements; that of no elements is 1. See [`prod_dim`](Self::prod_dim).
    ///
    /// # Errors
    ///
    /// `overflow` if the number of unspecified elements that count does not fit an index.
    #[or_panic]
    pub fn try_prod(&self) -> Result<Tensor<1, K>> {
        total("prod", self, Fold::Prod)
    }

    /// The largest element: see [`max_dim`](Self::max_dim).
    ///
    /// # Errors
    ///
    /// `empty_input` if there are no elements.
    #[or_panic]
    pub fn try_max(&self) -> Result<Tensor<1, K>> {
        total("max", self, Fold::Max)
    }

    /// The smallest element: see [`min_dim`](Self::min_dim).
    ///
    /// # Errors
    ///
    /// `empty_input` if there are no elements.
    #[or_panic]
    pub fn try_min(&self) -> Result<Tensor<1, K>> {
        total("min", self, Fold::Min)
    }
}

impl<P: Pattern, const D: usize> SparseTensor<P, D, Float> {
    along! {
        Mean, "The mean",
        "The mean of no elements is NaN. Backward: that of the sum, divided by the number of elements that count.",
        "`axis_out_of_range`; `overflow` as for sums.";
        try_mean_dim try_mean_dims
    }

    /// The mean of all elements; that of no elements is NaN. See [`mean_dim`](Self::mean_dim).
    ///
    /// # Errors
    ///
    /// `overflow` if the number of unspecified elements that count does not fit an index.
    #[or_panic]
    pub fn try_mean(&self) -> Result<Tensor<1>> {
        total("mean", self, Fold::Mean)
    }
}
