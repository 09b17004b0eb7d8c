//! How many elements there are of a kind.

use crate::pattern::{Pattern, cells};
use crate::tensor::{Exact, Kind, SparseTensor, expect};
use burn::tensor::{Bool, Int, Tensor};
use sparse_core::{Result, SparseError};

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// Number of stored elements, duplicates counted once: on the host. (Of stored blocks, where there are dense dims.)
    ///
    /// Cost: that of a coalesce where there may be duplicates, which is kept with the pattern.
    pub fn count_stored(&self) -> usize {
        match self.pattern.coalesce() {
            None => self.nnz(),
            Some((pattern, _)) => pattern.nnz(),
        }
    }
}

impl<P: Pattern, K: Kind> SparseTensor<P, 2, K> {
    /// Number of stored elements of each line along `axis`, duplicates counted once: axis 1 gives one number a row,
    /// axis 0 one a column.
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`; `shape_mismatch` for a tensor with dense dims.
    pub fn try_count_stored_dim(&self, axis: isize) -> Result<Tensor<1, Int>> {
        const OP: &str = "count_stored_dim";
        let axis = self.axis(OP, axis)?;
        let merged = self.pattern.coalesce();
        let pattern = merged.as_ref().map_or(&self.pattern, |(pattern, _)| pattern);
        let matrix = pattern.matrix().filter(|_| self.dense_dims() == 0);
        let Some(matrix) = matrix else {
            let rule = "the tensor must be a matrix without dense dims";
            let (left, right) = (self.dims().to_vec(), vec![self.sparse_dims(), self.dense_dims()]);
            return Err(SparseError::ShapeMismatch { op: OP, rule, left, right });
        };
        Ok(if axis == 1 { matrix.row_counts() } else { matrix.column_counts() })
    }

    /// [`try_count_stored_dim`](Self::try_count_stored_dim), with a panic in place of an error.
    #[track_caller]
    pub fn count_stored_dim(&self, axis: isize) -> Tensor<1, Int> {
        expect(self.try_count_stored_dim(axis))
    }
}

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// Number of elements that are not zero (of Bool: that hold), `[1]`: stored ones, and the unspecified ones where
    /// the fill is not. NaN is not zero; with an `Undefined` fill only the specified elements are there. Duplicates are
    /// summed first.
    pub fn count_nonzero(&self) -> Tensor<1, Int> {
        count(&self.coalesce(), |rows| {
            let rows = rows.inner();
            if rows.dtype().is_bool() {
                return Tensor::from_dispatch(rows.into_dispatch());
            }
            rows.not_equal_scalar(0)
        })
    }
}

fn count<P: Pattern, const D: usize, K: Kind>(
    of: &SparseTensor<P, D, K>,
    holds: impl Fn(Tensor<2, K>) -> Tensor<2, Bool>,
) -> Tensor<1, Int> {
    let (nnz, block) = (of.nnz(), of.block());
    let counted = !of.fill.is_undefined() && !of.fill.is_zero();
    let most = if counted { of.num_elements() } else { nnz as u128 * block as u128 };
    let dtype = sparse_burn::index_dtype_for(usize::try_from(most).unwrap_or(usize::MAX));
    let device = of.pattern.device();
    let add = |rows: Tensor<2, K>| -> Tensor<1, Int> {
        if rows.shape().num_elements() == 0 {
            return Tensor::zeros([1], (&device, dtype));
        }
        let ones: Tensor<2, Int> = crate::pattern::index_tensor(holds(rows).int(), dtype);
        ones.sum().reshape(Exact([1]))
    };
    let stored = add(of.values.clone());
    if !counted {
        return stored;
    }
    let unspecified = cells(of.pattern.shape()) - nnz as u128;
    stored + add(of.fill_row()).mul_scalar(unspecified as i64)
}
