//! How many elements there are of a kind.

use super::reduce::Along;
use crate::base::checks::expect;
use crate::base::exact::Exact;
use crate::base::index::index_tensor;
use crate::base::kind::Kind;
use crate::base::limits::check_dim;
use crate::base::scalar::host_float;
use crate::base::sizes::cells;
use crate::pattern::layout::Pattern;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{Bool, DType, Device, Int, Scalar, Shape, Tensor};
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
    /// Number of stored elements of each line of a matrix along `axis`, duplicates counted once, as a list: axis 1 gives
    /// one number a row, axis 0 one a column. (For any rank, and several axes:
    /// [`try_count_stored_dims`](Self::try_count_stored_dims).)
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`; `shape_mismatch` for a tensor with dense dims; `would_densify` for more lines than
    /// [`dense_limit`](crate::dense_limit) of which almost all are empty.
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
        check_dim(OP, matrix.size()[1 - axis], pattern.memo().held())?;
        Ok(if axis == 1 { matrix.row_counts() } else { matrix.column_counts() })
    }

    /// [`try_count_stored_dim`](Self::try_count_stored_dim), with a panic in place of an error.
    #[track_caller]
    pub fn count_stored_dim(&self, axis: isize) -> Tensor<1, Int> {
        expect(self.try_count_stored_dim(axis))
    }
}

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// Number of stored elements along `axes`, sparse or dense, which stay with size 1; duplicates counted once, and each
    /// element of a stored block. With fill zero: lines without a stored element are not stored in the result.
    ///
    /// Cost: the lines are found once and kept with the pattern.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CooTensor;
    ///
    /// let device = Device::flex();
    /// let a = CooTensor::<3>::from_dense(Tensor::from_floats([[[1.0, 0.0], [2.0, 3.0]]], &device), 0);
    /// let counts = a.count_stored_dims(&[0, -1]);
    /// assert_eq!(counts.dims(), [1, 2, 1]);
    /// assert_eq!(counts.to_dense().into_data().convert::<i64>().iter::<i64>().collect::<Vec<_>>(), [1, 2]);
    /// ```
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`; `shape_mismatch` for an axis given twice; `overflow` if there are more than an integer of the
    /// device can say.
    pub fn try_count_stored_dims(&self, axes: &[isize]) -> Result<SparseTensor<P, D, Int>> {
        const OP: &str = "count_stored_dims";
        let along = Along::new(OP, self, axes)?;
        let merged = self.pattern.coalesce();
        let pattern = merged.as_ref().map_or(&self.pattern, |(pattern, _)| pattern);
        let most = (pattern.nnz() as u128).saturating_mul(along.blocks.size as u128);
        let dtype = count_dtype(OP, most, &pattern.device())?;
        if along.is_trivial() || pattern.nnz() == 0 {
            return Ok(along.empty_result(self, dtype, Fill::Zero));
        }
        let (pattern, counts) = match along.of(pattern) {
            None => (pattern.clone(), Tensor::ones([pattern.nnz()], (&pattern.device(), dtype))),
            Some(lines) => (lines.pattern.clone(), index_tensor(lines.counts(), dtype)),
        };
        let rows: Tensor<2, Int> = counts.mul_scalar(along.blocks.size as i64).reshape(Exact([pattern.nnz(), 1]));
        let rows = rows.expand(Shape::from([pattern.nnz(), along.blocks.kept()]));
        Ok(SparseTensor::from_parts(pattern, rows, along.blocks.shape, Fill::Zero))
    }

    /// [`try_count_stored_dims`](Self::try_count_stored_dims), with a panic in place of an error.
    #[track_caller]
    pub fn count_stored_dims(&self, axes: &[isize]) -> SparseTensor<P, D, Int> {
        expect(self.try_count_stored_dims(axes))
    }

    /// Number of elements that are not zero (of Bool: that hold), `[1]`: stored ones, and the unspecified ones where
    /// the fill is not. NaN is not zero; with an `Undefined` fill only the specified elements are there. Duplicates are
    /// summed first.
    ///
    /// # Errors
    ///
    /// `overflow` if there may be more than an integer of the device can say.
    pub fn try_count_nonzero(&self) -> Result<Tensor<1, Int>> {
        const OP: &str = "count_nonzero";
        let own = self.coalesce();
        let (nnz, block, device) = (own.nnz() as u128, own.block() as u128, own.pattern.device());
        let unspecified = cells(own.pattern.shape()) - nnz;
        let filled = match own.fill.host() {
            Some(fill) => is_nonzero(fill, own.dtype()),
            None => !own.fill.is_undefined(),
        };
        let most = if filled { own.num_elements() } else { nnz * block };
        let dtype = count_dtype(OP, most, &device)?;
        let count = |rows: Tensor<2, K>| -> Tensor<1, Int> {
            if rows.shape().num_elements() == 0 {
                return Tensor::zeros([1], (&device, dtype));
            }
            index_tensor(nonzero(rows.inner()).int(), dtype).sum().reshape(Exact([1]))
        };
        let stored = count(own.values.clone());
        Ok(match own.fill.host() {
            _ if !filled => stored,
            Some(_) => stored.add_scalar((unspecified * block) as i64),
            None => stored + count(own.fill_row()).mul_scalar(unspecified as i64),
        })
    }

    /// [`try_count_nonzero`](Self::try_count_nonzero), with a panic in place of an error.
    #[track_caller]
    pub fn count_nonzero(&self) -> Tensor<1, Int> {
        expect(self.try_count_nonzero())
    }
}

fn nonzero<K: Kind>(rows: Tensor<2, K>) -> Tensor<2, Bool> {
    if rows.dtype().is_bool() { Tensor::from_dispatch(rows.into_dispatch()) } else { rows.not_equal_scalar(0) }
}

/// Whether a number of the host is not zero as an element of `dtype`.
fn is_nonzero(value: Scalar, dtype: DType) -> bool {
    if dtype.is_float() { host_float(value, dtype) != 0.0 } else { value.elem::<i64>() != 0 }
}

/// The dtype that counts up to `most`.
fn count_dtype(op: &'static str, most: u128, device: &Device) -> Result<DType> {
    let dtype = sparse_burn::index_dtype_for(usize::try_from(most).unwrap_or(usize::MAX));
    let limit = match dtype {
        DType::I64 if device.supports_dtype(dtype) => i64::MAX as u128,
        _ => i32::MAX as u128,
    };
    if most <= limit {
        return Ok(dtype);
    }
    Err(SparseError::Overflow { op, what: "the number of elements that may count", limit, got: most })
}
