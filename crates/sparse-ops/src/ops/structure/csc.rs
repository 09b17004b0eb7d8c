//! Compressed columns, the layout of SciPy's CSC, as arrays.

use crate::base::checks::same_device;
use crate::base::kind::Kind;
use crate::pattern::csr::CsrPattern;
use crate::pattern::layout::Pattern;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::{CsrTensor, value_rows};
use burn::tensor::{Int, Tensor};
use sparse_core::Result;
use sparse_macros::or_panic;

impl<K: Kind> CsrTensor<2, K> {
    /// The matrix `[M, N]` by compressed columns (CSC): pointers to the columns `[N + 1]`, the row of each element
    /// `[nnz]`, ascending in a column, and the values `[nnz]`. The fill is not part of it.
    ///
    /// Backward: the gradient of the values passes to this tensor. Cost: a counting sort of the elements by column,
    /// `O(nnz + N)`, whose result is kept with the pattern; then one pass over the values.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 2.0, 3.0], [4.0, 0.0, 5.0]], &Device::flex()));
    /// let (col_ptr, row_idx, values) = a.to_csc_parts();
    /// assert_eq!(values.to_data().iter::<f32>().collect::<Vec<_>>(), [4.0, 2.0, 3.0, 5.0]);
    /// let back = CsrTensor::from_csc_parts(col_ptr, row_idx, values, [2, 3]).unwrap();
    /// assert_eq!(back.to_triplets::<f32>(), a.to_triplets());
    /// ```
    ///
    /// # Errors
    ///
    /// `would_densify` for more than [the limit](crate::Limits) of columns that are almost all empty, since each
    /// needs a pointer.
    #[or_panic]
    pub fn try_to_csc_parts(&self) -> Result<(Tensor<1, Int>, Tensor<1, Int>, Tensor<1, K>)> {
        let columns = self.swapped("to_csc_parts", 0, 1)?;
        Ok((columns.row_ptr(), columns.col_idx(), columns.values()))
    }

    /// The matrix `shape = [M, N]` of compressed columns (CSC): pointers to the columns `[N + 1]`, the row of each
    /// element `[nnz]`, ascending strictly in a column, and the values `[nnz]`. Filled with zero. The inverse of
    /// [`to_csc_parts`](Self::to_csc_parts).
    ///
    /// Backward: the gradient passes to `values`. Cost: the check reads one number from the device; then a counting
    /// sort by rows, `O(nnz + M)`.
    ///
    /// # Errors
    ///
    /// As [`CsrTensor::new`] of the transpose, whose rows are the columns: `length_mismatch`, `invalid_row_ptr`,
    /// `index_out_of_range`, `unsorted_columns`, `unsupported_dtype`, `device_mismatch`, `overflow`. `would_densify`
    /// for more than [the limit](crate::Limits) of rows that are almost all empty.
    pub fn from_csc_parts(
        col_ptr: Tensor<1, Int>,
        row_idx: Tensor<1, Int>,
        values: Tensor<1, K>,
        shape: [usize; 2],
    ) -> Result<Self> {
        // The name says what a message calls a row.
        const OP: &str = "from_csc_parts (by rows of the transpose)";
        let [rows, cols] = shape;
        same_device(OP, &row_idx.device(), &values.device())?;
        let pattern = CsrPattern::in_order(OP, col_ptr, row_idx, &[cols, rows])?;
        let values = value_rows(OP, values, pattern.nnz(), &[])?;
        CsrTensor::<2, K>::from_parts(pattern, values, vec![], Fill::Zero).swapped(OP, 0, 1)
    }
}
