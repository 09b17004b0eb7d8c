//! Self loops of a matrix that is a graph.

use crate::base::kind::{Kind, Numeric};
use crate::base::limits::check_dim;
use crate::ops::elementwise::broadcast::read_rows;
use crate::ops::elementwise::scalar::{ScalarArg, one_number};
use crate::ops::structure::stack::check_matrix;
use crate::pattern::diagonal::{off_diagonal, with_diagonal};
use crate::pattern::layout::Pattern;
use crate::rows::move_rows;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::Tensor;
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

impl<P: Pattern, K: Numeric> SparseTensor<P, 2, K> {
    /// `A + value * I` for an adjacency `A` `[N, N]`. Missing self loops are stored, and those that `A` has gain
    /// `value`.
    ///
    /// A missing self loop starts at the fill, or at 0 if the fill is `Undefined`. The fill stays. `value` is a number
    /// or a tensor `[1]`. Duplicates are summed first. Backward: `A` gets the gradient, a tensor `value` its sum over
    /// the diagonal, and a tracked fill its sum over the missing loops. Cost: `O(nnz + N)`; the pattern is kept with
    /// that of `A`. (PyG's `add_self_loops`, but a loop that `A` already has stays one edge.)
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0], [0.0, 2.0]], &Device::flex()));
    /// let b = a.add_self_loops(1.0);
    /// assert_eq!(b.values::<1>().into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 1.0, 3.0]);
    /// assert_eq!(b.remove_self_loops().nnz(), 1);
    /// ```
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if this is not a square matrix of two sparse dims, or a tensor `value` is not `[1]`;
    /// `dtype_mismatch`, `device_mismatch`; `would_densify` for more than [the limit](crate::Limits) of loops of
    /// a matrix that is almost empty.
    #[or_panic]
    pub fn try_add_self_loops(&self, value: impl Into<ScalarArg<K>>) -> Result<Self> {
        const OP: &str = "add_self_loops";
        check_square(OP, self)?;
        let value = match value.into() {
            ScalarArg::Host(value) => Fill::<K>::scalar(value).row(1, self.dtype(), &self.device()),
            ScalarArg::Tensor(value) => one_number(OP, &self.values, value)?,
        };
        let own = self.coalesce();
        check_dim(OP, own.dims()[0], own.pattern.memo().held())?;
        let (pattern, [map, on]) = with_diagonal(&own.pattern);
        if pattern.nnz() == 0 {
            return Ok(own);
        }
        let zero = Tensor::zeros([1, 1], (&self.device().inner(), self.dtype()));
        let values = move_rows(own.values.clone(), own.fill_row(), &map) + move_rows(value, zero, &on);
        Ok(Self::from_parts(pattern, values, vec![], own.fill))
    }
}

impl<P: Pattern, K: Kind> SparseTensor<P, 2, K> {
    /// The adjacency `[N, N]` without its stored self loops. They are unspecified afterwards and read as the fill,
    /// which is kept.
    ///
    /// Backward: kept elements get their gradients. Cost: `O(nnz)`. The new pattern is kept with this one. Finding it
    /// reads its number of elements from the device, so a loop reads only in its first step. (PyG's
    /// `remove_self_loops`.)
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if this is not a square matrix of two sparse dims.
    #[or_panic]
    pub fn try_remove_self_loops(&self) -> Result<Self> {
        check_square("remove_self_loops", self)?;
        if self.nnz() == 0 {
            return Ok(self.clone());
        }
        let (pattern, map) = off_diagonal(&self.pattern);
        Ok(Self::from_parts(pattern, read_rows(self.values.clone(), &map), vec![], self.fill.clone()))
    }
}

/// Checks that a matrix without dense dims is square.
///
/// # Errors
///
/// `shape_mismatch`.
pub fn check_square<P: Pattern, K: Kind>(op: &'static str, matrix: &SparseTensor<P, 2, K>) -> Result<()> {
    check_matrix(op, matrix)?;
    let [rows, cols] = matrix.dims();
    if rows == cols {
        return Ok(());
    }
    let rule = "the matrix must be square, got {left:1} rows and {right:1} columns";
    Err(SparseError::shape_mismatch(op, rule, [rows], [cols]))
}
