//! `* /` with a vector along an axis, or with a dense tensor: stored-only operations, which keep the pattern.

use super::binary::apply;
use crate::base::checks::{expect, same_device};
use crate::base::exact::Exact;
use crate::base::kind::{Kind, Numeric, dtype_name};
use crate::pattern::layout::Pattern;
use crate::pattern::maps::{axis_map, from_dense_map};
use crate::rows::{RowMap, move_rows};
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{Float, FloatDType, Int, Tensor};
use sparse_burn::BinaryOp;
use sparse_core::{Result, SparseError};

macro_rules! along {
    ($kind:ident: $try_name:ident $name:ident $op:ident $formula:literal) => {
        #[doc = concat!("`", $formula, "` at the stored elements, with a vector along a sparse `axis`.")]
        ///
        /// For a matrix, axis 0 takes one number a row and axis 1 one a column: row-normalising an adjacency is one call.
        /// Stored-only: the pattern is kept, so the fill must be `Zero` or `Undefined` for a product or a quotient (and a
        /// zero divisor or an infinite factor does not reach the elements that are not stored), `Undefined` for a sum or a
        /// difference. The usual case is D^-1 A of a graph (as PyG's `gcn_norm`).
        ///
        /// Backward: to the values as usual; to the vector the segment sum over each of its elements' stored ones,
        /// without atomics. Cost: one pass over the values.
        ///
        /// # Errors
        ///
        /// `axis_out_of_range`, `shape_mismatch`, `dtype_mismatch`, `would_densify` for another fill.
        pub fn $try_name(&self, vector: Tensor<1, $kind>, axis: isize) -> Result<Self> {
            self.along(BinaryOp::$op, vector, axis)
        }

        #[doc = concat!("[`", stringify!($try_name), "`](Self::", stringify!($try_name), "), with a panic in place of an error.")]
        #[track_caller]
        pub fn $name(&self, vector: Tensor<1, $kind>, axis: isize) -> Self {
            expect(self.$try_name(vector, axis))
        }
    };
}

macro_rules! with_dense {
    ($kind:ident: $try_name:ident $name:ident $op:ident $formula:literal) => {
        #[doc = concat!("`", $formula, "` at the stored elements, with a dense tensor of the same shape.")]
        ///
        /// Stored-only, as with a vector. Backward: to the values as usual; to the dense tensor the gradient at the stored positions.
        ///
        /// # Errors
        ///
        /// `shape_mismatch`, `dtype_mismatch`, `would_densify` for another fill than `Zero` or `Undefined`.
        pub fn $try_name(&self, dense: Tensor<D, $kind>) -> Result<Self> {
            self.with_dense(BinaryOp::$op, dense)
        }

        #[doc = concat!("[`", stringify!($try_name), "`](Self::", stringify!($try_name), "), with a panic in place of an error.")]
        #[track_caller]
        pub fn $name(&self, dense: Tensor<D, $kind>) -> Self {
            expect(self.$try_name(dense))
        }
    };
}

impl<P: Pattern, const D: usize, K: Numeric> SparseTensor<P, D, K> {
    along!(K: try_mul_along mul_along Mul "self * vector");
    along!(K: try_add_along add_along Add "self + vector");
    along!(K: try_sub_along sub_along Sub "self - vector");
    with_dense!(K: try_mul_dense mul_dense Mul "self * dense");
    with_dense!(K: try_add_dense add_dense Add "self + dense");
    with_dense!(K: try_sub_dense sub_dense Sub "self - dense");

    fn along(&self, op: BinaryOp, vector: Tensor<1, K>, axis: isize) -> Result<Self> {
        let name = ["add_along", "sub_along", "mul_along", "div_along"][op as usize];
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
        self.check_stored_only(op, name, vector.dtype(), &vector.device())?;
        let own = self.summed(op);
        let read = read_rows(vector.reshape(Exact([size, 1])), &axis_map(&own.pattern, axis));
        Ok(own.with_rows(apply(op, own.values.clone(), read), own.fill.clone()))
    }

    fn with_dense(&self, op: BinaryOp, dense: Tensor<D, K>) -> Result<Self> {
        let name = ["add_dense", "sub_dense", "mul_dense", "div_dense"][op as usize];
        if dense.dims() != self.dims() {
            let (left, right) = (self.dims().to_vec(), dense.dims().to_vec());
            return Err(SparseError::ShapeMismatch { op: name, rule: "shapes must agree", left, right });
        }
        self.check_stored_only(op, name, dense.dtype(), &dense.device())?;
        let own = self.summed(op);
        let rows = own.pattern.shape().iter().product();
        let read = read_rows(dense.reshape(Exact([rows, own.block()])), &from_dense_map(&own.pattern));
        Ok(own.with_rows(apply(op, own.values.clone(), read), own.fill.clone()))
    }

    /// Without duplicates, unless each may be scaled alone.
    fn summed(&self, op: BinaryOp) -> Self {
        if op == BinaryOp::Mul { self.clone() } else { self.coalesce() }
    }

    fn check_stored_only(
        &self,
        what: BinaryOp,
        op: &'static str,
        dtype: burn::tensor::DType,
        device: &burn::tensor::Device,
    ) -> Result<()> {
        if self.dtype() != dtype {
            return Err(SparseError::DtypeMismatch { op, left: dtype_name(self.dtype()), right: dtype_name(dtype) });
        }
        same_device(op, &self.device(), device)?;
        let scales = matches!(what, BinaryOp::Mul | BinaryOp::Div);
        if self.fill.is_undefined() || (scales && self.fill.is_zero()) {
            return Ok(());
        }
        let hint = if scales {
            "a fill other than zero has another value at every element: to_dense says so"
        } else {
            "a sum has another value at every element that is not stored: to_dense says so"
        };
        Err(SparseError::WouldDensify { op, elements: self.num_elements(), limit: 0, hint })
    }
}

impl<P: Pattern, const D: usize> SparseTensor<P, D> {
    along!(Float: try_div_along div_along Div "self / vector");
    with_dense!(Float: try_div_dense div_dense Div "self / dense");
}

impl<P: Pattern, const D: usize> SparseTensor<P, D, Int> {
    /// `self / vector` at the stored elements, with a vector along a sparse `axis`: a true division in f32 (see that of
    /// floats).
    ///
    /// # Errors
    ///
    /// As for floats.
    pub fn try_div_along(&self, vector: Tensor<1, Int>, axis: isize) -> Result<SparseTensor<P, D>> {
        let vector = vector.float().cast(FloatDType::F32);
        self.coalesce().float().cast(FloatDType::F32).try_div_along(vector, axis)
    }

    /// [`try_div_along`](Self::try_div_along), with a panic in place of an error.
    #[track_caller]
    pub fn div_along(&self, vector: Tensor<1, Int>, axis: isize) -> SparseTensor<P, D> {
        expect(self.try_div_along(vector, axis))
    }

    /// `self / dense` at the stored elements: a true division in f32 (see that of floats).
    ///
    /// # Errors
    ///
    /// As for floats.
    pub fn try_div_dense(&self, dense: Tensor<D, Int>) -> Result<SparseTensor<P, D>> {
        let dense = dense.float().cast(FloatDType::F32);
        self.coalesce().float().cast(FloatDType::F32).try_div_dense(dense)
    }

    /// [`try_div_dense`](Self::try_div_dense), with a panic in place of an error.
    #[track_caller]
    pub fn div_dense(&self, dense: Tensor<D, Int>) -> SparseTensor<P, D> {
        expect(self.try_div_dense(dense))
    }
}

/// Row `map[k]` of `rows`, none missing.
pub(crate) fn read_rows<K: Kind>(rows: Tensor<2, K>, map: &RowMap) -> Tensor<2, K> {
    let fill = Tensor::zeros([1, rows.dims()[1]], (&rows.device().inner(), rows.dtype()));
    move_rows(rows, fill, map)
}
