//! The main diagonal of a matrix: building and reading it.

use crate::base::exact::Exact;
use crate::base::kind::{Kind, Numeric, dtype_name};
use crate::base::limits::{check_copies, check_dim};
use crate::ops::elementwise::broadcast::read_rows;
use crate::ops::reductions::fold_lines::{Fold, total};
use crate::ops::structure::stack::check_matrix;
use crate::pattern::diagonal::{diagonal, diagonal_column, on_diagonal};
use crate::pattern::layout::Pattern;
use crate::rows::{RowMap, move_rows};
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{Tensor, TensorCreationOptions};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

impl<P: Pattern, K: Kind> SparseTensor<P, 2, K> {
    /// The matrix `[n, n]` with `values` `[n]` on its main diagonal and fill zero: `out[i, i] = values[i]`. All of them
    /// are stored, zeros too. Backward: the gradient of the diagonal. Cost: `O(n)`. (NumPy's `diag` of a vector.)
    ///
    /// # Errors
    ///
    /// `unsupported_dtype`.
    #[or_panic]
    pub fn try_from_diagonal(values: Tensor<1, K>) -> Result<Self> {
        let [n] = values.dims();
        if !sparse_burn::is_supported(values.dtype()) {
            return Err(SparseError::unsupported_dtype("from_diagonal", "a sparse tensor", dtype_name(values.dtype())));
        }
        let pattern = diagonal(&[n, n], &values.device().inner());
        Ok(Self::from_parts(pattern, values.reshape(Exact([n, 1])), vec![], Fill::Zero))
    }

    /// The identity `[size, size]` (of Bool: true on the diagonal), on a device or with `(&device, dtype)`.
    ///
    /// ```
    /// use burn::tensor::{DType, Device};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let eye = CsrTensor::<2>::eye(2, (&Device::flex(), DType::F32));
    /// assert_eq!(eye.nnz(), 2);
    /// assert_eq!(eye.to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 0.0, 0.0, 1.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// `unsupported_dtype`; `would_densify` for a size above [the limit](crate::Limits) of a dense result.
    #[or_panic]
    pub fn try_eye(size: usize, options: impl Into<TensorCreationOptions>) -> Result<Self> {
        check_copies("eye", size as u128, 0)?;
        Self::try_from_diagonal(Tensor::ones([size], options))
    }

    /// The main diagonal `[min(M, N)]` of a matrix `[M, N]` as a dense tensor: `out[i] = self[i, i]`. Elements that are
    /// not stored give the fill.
    ///
    /// Backward: stored elements of the diagonal get their gradients; a tracked fill gets the sum of the rest. Cost:
    /// `O(min(M, N) log nnz)` the first time, after a coalesce. The positions of the elements are then kept with the
    /// pattern. (NumPy's `diagonal`.)
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 2.0, 0.0], [3.0, 0.0, 4.0]], &Device::flex()));
    /// assert_eq!(a.diagonal().into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 0.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// `undefined_fill`; `shape_mismatch` for a hybrid tensor; `would_densify` for a diagonal longer than
    /// [the limit](crate::Limits) of a matrix that is almost empty.
    #[or_panic]
    pub fn try_diagonal(&self) -> Result<Tensor<1, K>> {
        const OP: &str = "diagonal";
        let merged = self.specified(OP)?;
        let [rows, cols] = merged.dims();
        let length = rows.min(cols);
        check_dim(OP, length, merged.pattern.memo().held())?;
        let rows = move_rows(merged.values.clone(), merged.fill_row(), &on_diagonal(&merged.pattern));
        Ok(rows.reshape(Exact([length])))
    }

    /// The coalesced matrix, whose unspecified elements have a value.
    fn specified(&self, op: &'static str) -> Result<Self> {
        check_matrix(op, self)?;
        if self.fill.is_undefined() {
            return Err(SparseError::undefined_fill(op, "use with_fill to give the missing elements a value"));
        }
        Ok(self.coalesce())
    }
}

impl<P: Pattern, K: Numeric> SparseTensor<P, 2, K> {
    /// The sum of the main diagonal, `[1]`: see [`diagonal`](Self::diagonal). The sum of an empty diagonal is zero.
    /// Integers wrap.
    ///
    /// Cost: `O(nnz)`, however long the diagonal is. The elements of the diagonal are found once and kept with the
    /// pattern. Finding them reads their number from the device, so a loop reads only in its first step.
    ///
    /// # Errors
    ///
    /// `undefined_fill`; `shape_mismatch` for a hybrid tensor.
    #[or_panic]
    pub fn try_trace(&self) -> Result<Tensor<1, K>> {
        const OP: &str = "trace";
        let merged = self.specified(OP)?;
        let (pattern, map) = diagonal_column(&merged.pattern);
        let values = read_rows(merged.values.clone(), &map);
        let line = Self::from_parts(pattern, values, vec![], merged.fill);
        let sum = total(OP, &line, Fold::Sum)?;
        if line.nnz() > 0 {
            return Ok(sum);
        }
        // The stored elements take no part, but their gradient is zero and not missing. So the sum is moved by a map
        // that reads none of them.
        let missing = Tensor::zeros([1], (&line.pattern.device(), line.pattern.index_dtype()));
        Ok(move_rows(line.values, sum.reshape(Exact([1, 1])), &RowMap::new(missing, 0)).reshape(Exact([1])))
    }
}
