//! Constructors of compressed rows.

use super::size_for;
use crate::base::checks::{expect, same_device};
use crate::base::index::{read_all, signed};
use crate::base::kind::Kind;
use crate::pattern::csr::CsrPattern;
use crate::pattern::layout::{Pattern, Structure};
use crate::tensor::fill::Fill;
use crate::tensor::sparse::{CooTensor, CsrTensor, value_rows};
use burn::tensor::{Int, Tensor};
use sparse_core::Result;
use sparse_macros::{async_variant, or_panic};

impl<const D: usize, K: Kind> CsrTensor<D, K> {
    /// A matrix `[M, N]`, or a batch `[B, M, N]`, from row pointers `[B * (M + 1)]` (each matrix starting at 0),
    /// columns `[nnz]` and values `[nnz]`, filled with zero. Columns ascend strictly in a row. SciPy has the same lists
    /// in another order: data (values), indices (columns), indptr (row pointers). The check reads one number from the
    /// device, for a batch two.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let device = Device::flex();
    /// let row_ptr = Tensor::from_data([0, 1, 3], &device);
    /// let col_idx = Tensor::from_data([2, 0, 2], &device);
    /// let values = Tensor::<1>::from_floats([1.0, 2.0, 3.0], &device);
    /// let a = CsrTensor::<2>::new(row_ptr, col_idx, values, [2, 3]).unwrap();
    /// assert_eq!(a.nnz(), 3);
    /// ```
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `length_mismatch`, `invalid_row_ptr`, `index_out_of_range`, `unsorted_columns`,
    /// `unsupported_dtype`, `device_mismatch`, `overflow`.
    #[async_variant]
    pub fn new(
        row_ptr: Tensor<1, Int>,
        col_idx: Tensor<1, Int>,
        values: Tensor<1, K>,
        shape: [usize; D],
    ) -> Result<Self> {
        const OP: &str = "CsrTensor::new";
        same_device(OP, &col_idx.device(), &values.device())?;
        // The pointers first: their error knows an order of arguments that also leaves the values too many or too few.
        let pattern = CsrPattern::in_order(OP, row_ptr, col_idx, &shape)?;
        let values = value_rows(OP, values, pattern.nnz(), &[])?;
        Ok(Self::from_parts(pattern, values, vec![], Fill::Zero))
    }

    /// The tensor without a check of the indices (see [`CsrPattern::new_unchecked`] for the form of `row_ptr`).
    ///
    /// # Panics
    ///
    /// If the values do not fit the number of columns.
    #[track_caller]
    pub fn new_unchecked(
        row_ptr: Tensor<1, Int>,
        col_idx: Tensor<1, Int>,
        values: Tensor<1, K>,
        shape: [usize; D],
    ) -> Self {
        let values = expect(value_rows("CsrTensor::new_unchecked", values, col_idx.dims()[0], &[]));
        Self::from_parts(CsrPattern::new_unchecked(row_ptr, col_idx, &shape), values, vec![], Fill::Zero)
    }

    /// The elements of `dense` that are not zero (not false). NaN is not zero. Reads their number from the device.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if the rank is not 2 or 3.
    #[async_variant]
    #[or_panic]
    pub fn try_from_dense(dense: Tensor<D, K>) -> Result<Self> {
        let stored = CooTensor::try_from_dense(dense, 0)?;
        let indices = stored.pattern.indices().clone();
        CsrPattern::check_shape("from_dense", stored.pattern.shape(), stored.nnz())?;
        Ok(Self::from_parts(
            CsrPattern::from_coordinates(indices, stored.pattern.shape(), true),
            stored.values,
            vec![],
            Fill::Zero,
        ))
    }

    /// Row pointers in the form that [`new`](Self::new) takes: `[M + 1]`, or `[B * (M + 1)]` with each matrix starting
    /// at 0.
    pub fn row_ptr(&self) -> Tensor<1, Int> {
        self.pattern.split_row_ptr()
    }

    /// Columns `[nnz]`.
    pub fn col_idx(&self) -> Tensor<1, Int> {
        self.pattern.col_idx().clone()
    }
}

impl<K: Kind> CsrTensor<2, K> {
    /// [`new`](Self::new) with the smallest shape that holds all elements. There is a row for each pointer but the
    /// last, and one more column than the largest index (0 if there is none). This is PyTorch's `sparse_csr_tensor`
    /// without a size.
    ///
    /// Reads the largest column from the device, besides the check.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let device = Device::flex();
    /// let (row_ptr, col_idx) = (Tensor::from_data([0, 1, 3], &device), Tensor::from_data([2, 0, 2], &device));
    /// let a = CsrTensor::new_inferred(row_ptr, col_idx, Tensor::<1>::ones([3], &device)).unwrap();
    /// assert_eq!(a.dims(), [2, 3]);
    /// ```
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    #[async_variant]
    pub fn new_inferred(row_ptr: Tensor<1, Int>, col_idx: Tensor<1, Int>, values: Tensor<1, K>) -> Result<Self> {
        let rows = row_ptr.dims()[0].saturating_sub(1);
        let cols = if col_idx.dims()[0] == 0 {
            0
        } else {
            size_for("CsrTensor::new_inferred", 1, read_all(signed(col_idx.clone()).max_dim(0))[0])?
        };
        Self::new(row_ptr, col_idx, values, [rows, cols])
    }
}
