//! `* /` with a vector along an axis, or with a dense tensor: stored-only operations, which keep the pattern.

use super::binary::apply;
use crate::pattern::{Pattern, axis_map, dense_map};
use crate::rows::{RowMap, move_rows};
use crate::tensor::{Exact, Fill, Kind, Numeric, SparseTensor, dtype_name, expect, same_device};
use burn::tensor::{Float, Tensor};
use sparse_burn::BinaryOp;
use sparse_core::{Result, SparseError};

macro_rules! along {
    ($try_name:ident $name:ident $op:ident $formula:literal) => {
        #[doc = concat!("`", $formula, "` at the stored elements, with a vector along a sparse `axis`.")]
        ///
        /// For a matrix, axis 0 takes one number a row and axis 1 one a column: row-normalising an adjacency is one call.
        /// Stored-only: the pattern is kept, so the fill must be `Zero` or `Undefined` (and a zero divisor or an infinite
        /// factor does not reach the elements that are not stored).
        ///
        /// Backward: to the values as usual; to the vector the segment sum over each of its elements' stored ones,
        /// without atomics. Cost: one pass over the values.
        ///
        /// # Errors
        ///
        /// `axis_out_of_range`, `shape_mismatch`, `dtype_mismatch`, `would_densify` for another fill.
        pub fn $try_name(&self, vector: Tensor<1, K>, axis: isize) -> Result<Self> {
            self.along(BinaryOp::$op, vector, axis)
        }

        #[doc = concat!("[`", stringify!($try_name), "`](Self::", stringify!($try_name), "), with a panic in place of an error.")]
        #[track_caller]
        pub fn $name(&self, vector: Tensor<1, K>, axis: isize) -> Self {
            expect(self.$try_name(vector, axis))
        }
    };
}

macro_rules! with_dense {
    ($try_name:ident $name:ident $op:ident $formula:literal) => {
        #[doc = concat!("`", $formula, "` at the stored elements, with a dense tensor of the same shape.")]
        ///
        /// Stored-only, as the product with a vector. Backward: to the dense tensor the gradient at the stored positions.
        ///
        /// # Errors
        ///
        /// `shape_mismatch`, `dtype_mismatch`, `would_densify` for another fill than `Zero` or `Undefined`.
        pub fn $try_name(&self, dense: Tensor<D, K>) -> Result<Self> {
            self.with_dense(BinaryOp::$op, dense)
        }

        #[doc = concat!("[`", stringify!($try_name), "`](Self::", stringify!($try_name), "), with a panic in place of an error.")]
        #[track_caller]
        pub fn $name(&self, dense: Tensor<D, K>) -> Self {
            expect(self.$try_name(dense))
        }
    };
}

impl<P: Pattern, const D: usize, K: Numeric> SparseTensor<P, D, K> {
    along!(try_mul_along mul_along Mul "self * vector");
    with_dense!(try_mul_dense mul_dense Mul "self * dense");

    fn along(&self, op: BinaryOp, vector: Tensor<1, K>, axis: isize) -> Result<Self> {
        let name = if op == BinaryOp::Mul { "mul_along" } else { "div_along" };
        let axis = self.axis(name, axis)?;
        let (sparse, size) = (self.sparse_dims(), self.dims()[axis]);
        if axis >= sparse || vector.dims()[0] != size {
            return Err(SparseError::ShapeMismatch {
                op: name,
                rule: "the vector must have the length of a sparse axis",
                left: vector.dims().to_vec(),
                right: self.dims()[..sparse].to_vec(),
            });
        }
        self.check_stored_only(name, vector.dtype(), &vector.device())?;
        let map = axis_map(&self.pattern, axis);
        let read = read_rows(vector.reshape(Exact([size, 1])), &map);
        Ok(self.with_rows(apply(op, self.values.clone(), read), self.fill.clone()))
    }

    fn with_dense(&self, op: BinaryOp, dense: Tensor<D, K>) -> Result<Self> {
        let name = if op == BinaryOp::Mul { "mul_dense" } else { "div_dense" };
        if dense.dims() != self.dims() {
            let (left, right) = (self.dims().to_vec(), dense.dims().to_vec());
            return Err(SparseError::ShapeMismatch { op: name, rule: "shapes must agree", left, right });
        }
        self.check_stored_only(name, dense.dtype(), &dense.device())?;
        let rows = self.pattern.shape().iter().product();
        let read = read_rows(dense.reshape(Exact([rows, self.block()])), &dense_map(&self.pattern));
        Ok(self.with_rows(apply(op, self.values.clone(), read), self.fill.clone()))
    }

    fn check_stored_only(
        &self,
        op: &'static str,
        dtype: burn::tensor::DType,
        device: &burn::tensor::Device,
    ) -> Result<()> {
        if self.dtype() != dtype {
            return Err(SparseError::DtypeMismatch { op, left: dtype_name(self.dtype()), right: dtype_name(dtype) });
        }
        same_device(op, &self.device(), device)?;
        if matches!(self.fill, Fill::Zero | Fill::Undefined) || self.fill.is_zero() {
            return Ok(());
        }
        let hint = "a fill other than zero has another value at every element: to_dense says so";
        Err(SparseError::WouldDensify { op, elements: self.num_elements(), limit: 0, hint })
    }
}

impl<P: Pattern, const D: usize, K: Numeric> SparseTensor<P, D, K>
where
    K: IsFloat,
{
    along!(try_div_along div_along Div "self / vector");
    with_dense!(try_div_dense div_dense Div "self / dense");
}

/// Kinds whose division is a true one.
pub trait IsFloat {}
impl IsFloat for Float {}

/// Row `map[k]` of `rows`, none missing.
pub(crate) fn read_rows<K: Kind>(rows: Tensor<2, K>, map: &RowMap) -> Tensor<2, K> {
    let fill = Tensor::zeros([1, rows.dims()[1]], (&rows.device().inner(), rows.dtype()));
    move_rows(rows, fill, map)
}
