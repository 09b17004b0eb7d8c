//! Sums, means, products and extremes along dims; the fill counts.

use crate::base::checks::{as_axes, plain_name};
use crate::base::kind::Numeric;
use crate::ops::reductions::fold_lines::{Fold, dense, reduce, total};
use crate::pattern::layout::Pattern;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{AsIndex, Float, Tensor, kind};
use sparse_core::Result;
use sparse_macros::or_panic;

macro_rules! along {
    ($fold:ident, $kind:ident, $what:literal, $rule:literal, $errors:literal, $of_nothing:literal;
     $dim:ident $dims:ident $dense:ident $stored_dim:ident $stored_dims:ident $stored:ident) => {
        #[doc = concat!($what, " along `dim`, sparse or dense. The dim stays with size 1.")]
        ///
        /// The result is the dense answer. A *line* is the set of elements that are reduced to one. Unspecified
        /// elements count with the fill. Lines without stored elements are not stored; their value is the fill of the
        /// result, which is the reduction of a line of fills. With an `Undefined` fill only stored elements count, and
        /// lines without any stay unspecified. Duplicates are summed first.
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
        #[doc = concat!("[`", stringify!($dim), "`](Self::", stringify!($dim), "). `to_dense` makes the result dense.")]
        ///
        /// # Errors
        ///
        /// As for one dim; `shape_mismatch` for a dim given twice.
        #[or_panic]
        pub fn $dims(&self, dims: &[impl AsIndex]) -> Result<Self> {
            reduce(plain_name(stringify!($dims)), self, &as_axes(dims), Fold::$fold)
        }

        #[doc = concat!($what, " along `dim` as an ordinary (dense) tensor. The dim stays with size 1.")]
        ///
        #[doc = concat!("The dense equivalent of [`", stringify!($dim), "`](Self::", stringify!($dim), "), with the")]
        /// same gradients.
        #[doc = concat!("With an `Undefined` fill a line without specified elements has ", $of_nothing, ".")]
        /// Cost: that of the reduction and of the result, which has as many elements as the tensor without `dim`.
        ///
        /// # Errors
        ///
        #[doc = $errors]
        /// `would_densify` for a result of more than [`dense_limit`](crate::dense_limit) elements.
        #[or_panic]
        pub fn $dense(&self, dim: impl AsIndex) -> Result<Tensor<D, $kind>> {
            const NAME: &str = stringify!($dense);
            dense(plain_name(NAME), reduce(plain_name(NAME), self, &[dim.as_index()], Fold::$fold)?, Fold::$fold)
        }

        #[doc = concat!($what, " along `dim` over the stored elements only, whatever the fill is.")]
        ///
        /// Lines without stored elements are not stored in the result, whose fill is `Undefined`. The rules are those
        #[doc = concat!("of [`", stringify!($dim), "`](Self::", stringify!($dim), ") with an `Undefined` fill.")]
        ///
        /// # Errors
        ///
        /// `axis_out_of_range`.
        #[or_panic]
        pub fn $stored_dim(&self, dim: impl AsIndex) -> Result<Self> {
            reduce(plain_name(stringify!($stored_dim)), &self.stored_alone(), &[dim.as_index()], Fold::$fold)
        }

        #[doc = concat!($what, " along several dims at once over the stored elements only, whatever the fill is.")]
        ///
        #[doc = concat!("See [`", stringify!($stored_dim), "`](Self::", stringify!($stored_dim), ").")]
        ///
        /// # Errors
        ///
        /// `axis_out_of_range`; `shape_mismatch` for a dim given twice.
        #[or_panic]
        pub fn $stored_dims(&self, dims: &[impl AsIndex]) -> Result<Self> {
            reduce(plain_name(stringify!($stored_dims)), &self.stored_alone(), &as_axes(dims), Fold::$fold)
        }

        #[doc = concat!($what, " of all stored elements, whatever the fill is.")]
        ///
        /// # Errors
        ///
        /// As for all elements of a tensor with an `Undefined` fill.
        #[or_panic]
        pub fn $stored(&self) -> Result<Tensor<1, $kind>> {
            total(plain_name(stringify!($stored)), &self.stored_alone(), Fold::$fold)
        }
    };
}

impl<P: Pattern, const D: usize, K: Numeric + kind::Ordered> SparseTensor<P, D, K> {
    along! {
        Sum, K, "The sum",
        "Backward: every element gets the gradient of its line; the fill gets that of the unspecified ones. Integers \
         wrap.",
        "`axis_out_of_range`; `overflow` if the number of unspecified elements that count does not fit an index.",
        "the sum 0";
        try_sum_dim try_sum_dims try_sum_dim_dense try_stored_sum_dim try_stored_sum_dims try_stored_sum
    }
    along! {
        Prod, K, "The product",
        "Beside an unspecified zero the product is zero, unless NaN or infinity is stored. Where the stored elements \
         or the power of another fill alone overflow or underflow, that power is shared out among the stored elements \
         before they are multiplied. Backward: the gradient times the product of the others, exact with any \
         zeros; the fill gets one too. Integers wrap.",
        "`axis_out_of_range`; `overflow` as for sums.",
        "the product 1";
        try_prod_dim try_prod_dims try_prod_dim_dense try_stored_prod_dim try_stored_prod_dims try_stored_prod
    }
    along! {
        Max, K, "The largest element",
        "NaN wins. Backward: shared evenly by all that tie. The part of unspecified ones goes to the fill.",
        "`axis_out_of_range`; `empty_input` if the dim has size 0.",
        "no answer: `undefined_fill`";
        try_max_dim try_max_dims try_max_dim_dense try_stored_max_dim try_stored_max_dims try_stored_max
    }
    along! {
        Min, K, "The smallest element",
        "NaN wins. Backward: shared evenly by all that tie. The part of unspecified ones goes to the fill.",
        "`axis_out_of_range`; `empty_input` if the dim has size 0.",
        "no answer: `undefined_fill`";
        try_min_dim try_min_dims try_min_dim_dense try_stored_min_dim try_stored_min_dims try_stored_min
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
        Mean, Float, "The mean",
        "The mean of no elements is NaN. Backward: that of the sum, divided by the number of elements that count.",
        "`axis_out_of_range`; `overflow` as for sums.",
        "the mean NaN";
        try_mean_dim try_mean_dims try_mean_dim_dense try_stored_mean_dim try_stored_mean_dims try_stored_mean
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
