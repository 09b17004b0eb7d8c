//! Counts of elements.

use crate::base::checks::as_axes;
use crate::base::exact::Exact;
use crate::base::index::index_tensor;
use crate::base::kind::{Kind, nonzero};
use crate::base::limits::check_dim;
use crate::base::scalar::host_float;
use crate::base::sizes::cells;
use crate::ops::reductions::along::Along;
use crate::ops::stored::Stored;
use crate::ops::structure::stack::check_matrix;
use crate::pattern::layout::Pattern;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{AsIndex, DType, Device, Int, Scalar, Shape, Tensor};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

impl<P: Pattern, const D: usize, K: Kind> Stored<P, D, K> {
    /// The number of stored elements, on the host. Duplicates count once. With dense dims it is the number of stored
    /// blocks.
    ///
    /// Cost: that of a coalesce if there may be duplicates. Its result is kept with the pattern.
    pub fn count(&self) -> usize {
        match self.0.pattern.coalesce() {
            None => self.0.nnz(),
            Some((pattern, _)) => pattern.nnz(),
        }
    }

    /// The number of stored elements along `dims`, sparse or dense. The dims stay with size 1. Duplicates count once,
    /// and each element of a stored block counts. The fill of the result is zero: lines without a stored element are
    /// not stored. For the rows or columns of a matrix see [`SparseTensor::row_counts`].
    ///
    /// Cost: the lines are found once and kept with the pattern.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CooTensor;
    ///
    /// let device = Device::flex();
    /// let a = CooTensor::<3>::from_dense(Tensor::from_floats([[[1.0, 0.0], [2.0, 3.0]]], &device), 0);
    /// let counts = a.stored().count_dims(&[0, -1]);
    /// assert_eq!(counts.dims(), [1, 2, 1]);
    /// assert_eq!(counts.to_dense().into_data().convert::<i64>().iter::<i64>().collect::<Vec<_>>(), [1, 2]);
    /// ```
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`; `shape_mismatch` for a dim given twice; `overflow` if a count may not fit the integers of
    /// the device.
    #[or_panic]
    pub fn try_count_dims(&self, dims: &[impl AsIndex]) -> Result<SparseTensor<P, D, Int>> {
        let of = &self.0;
        const OP: &str = "count_dims";
        let along = Along::new(OP, of, &as_axes(dims))?;
        let merged = of.pattern.coalesce();
        let pattern = merged.as_ref().map_or(&of.pattern, |(pattern, _)| pattern);
        let most = (pattern.nnz() as u128).saturating_mul(along.blocks.size as u128);
        let dtype = count_dtype(OP, most, &pattern.device())?;
        if along.is_trivial() || pattern.nnz() == 0 {
            return Ok(along.empty_result(of, dtype, Fill::Zero));
        }
        let (pattern, counts) = match along.of(pattern) {
            None => (pattern.clone(), Tensor::ones([pattern.nnz()], (&pattern.device(), dtype))),
            Some(lines) => (lines.pattern.clone(), index_tensor(lines.counts(), dtype)),
        };
        let rows: Tensor<2, Int> = counts.mul_scalar(along.blocks.size as i64).reshape(Exact([pattern.nnz(), 1]));
        let rows = rows.expand(Shape::from([pattern.nnz(), along.blocks.kept()]));
        Ok(SparseTensor::from_parts(pattern, rows, along.blocks.shape, Fill::Zero))
    }
}

impl<P: Pattern, K: Kind> SparseTensor<P, 2, K> {
    /// The number of stored elements in each row of a matrix `[M, N]`, as `[M]`. Duplicates count once. These are the
    /// degrees of an adjacency without weights (out-degrees if rows are the senders). For other ranks, or several dims,
    /// see [`Stored::count_dims`].
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0], [3.0, 2.0]], &Device::flex()));
    /// assert_eq!(a.row_counts().into_data().convert::<i64>().iter::<i64>().collect::<Vec<_>>(), [1, 2]);
    /// assert_eq!(a.col_counts().into_data().convert::<i64>().iter::<i64>().collect::<Vec<_>>(), [1, 2]);
    /// ```
    ///
    /// # Errors
    ///
    /// `shape_mismatch` for a tensor with dense dims; `would_densify` for more rows than
    /// [the limit](crate::Limits) of which almost all are empty.
    #[or_panic]
    pub fn try_row_counts(&self) -> Result<Tensor<1, Int>> {
        self.stored_counts("row_counts", 0)
    }

    /// The number of stored elements in each column of a matrix `[M, N]`, as `[N]`. Duplicates count once. See
    /// [`row_counts`](Self::row_counts).
    ///
    /// # Errors
    ///
    /// As [`try_row_counts`](Self::try_row_counts).
    #[or_panic]
    pub fn try_col_counts(&self) -> Result<Tensor<1, Int>> {
        self.stored_counts("col_counts", 1)
    }

    /// One number for each index of `dim`.
    fn stored_counts(&self, op: &'static str, dim: usize) -> Result<Tensor<1, Int>> {
        check_matrix(op, self)?;
        let merged = self.pattern.coalesce();
        let pattern = merged.as_ref().map_or(&self.pattern, |(pattern, _)| pattern);
        let matrix = pattern.matrix().expect("the rank is 2");
        check_dim(op, matrix.size()[dim], pattern.memo().held())?;
        Ok(if dim == 0 { matrix.row_counts() } else { matrix.column_counts() })
    }
}

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// The number of elements that are not zero (of Bool: that are true), `[1]`. Unspecified elements count if the fill
    /// is not zero. With an `Undefined` fill only stored elements count. NaN is not zero. Duplicates are summed first.
    ///
    /// # Errors
    ///
    /// `overflow` if the number may not fit the integers of the device.
    #[or_panic]
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
    Err(SparseError::overflow(op, "the number of elements that may count", limit, most))
}
