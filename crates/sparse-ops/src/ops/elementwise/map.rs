//! A function of one element, applied to all, and what it does to the fill.

use crate::base::empty::{constant, nothing};
use crate::base::kind::Kind;
use crate::pattern::layout::{Pattern, is_full};
use crate::tensor::fill::{Fill, FillValue};
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{Bool, DType, Scalar, Tensor};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// Applies `f` to every element, the fill included. `f` is any Burn function that maps elements one by one. It gets
    /// rows of values `[n, block]`.
    ///
    /// The pattern stays. The new fill is `f` of the old one, on the tape if the old one is tracked; `Undefined` stays.
    /// [`Stored::map`](crate::ops::Stored::map) leaves every fill as it is. Duplicates are summed first. Backward: that
    /// of `f`. Cost: that of `f` over the stored values.
    ///
    /// It takes the tensor, as Burn's operations do (clones are cheap). Otherwise `Module::map` would be called in its
    /// place wherever Burn's prelude is imported.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CooTensor;
    ///
    /// let device = Device::flex();
    /// let a = CooTensor::<1>::from_dense(Tensor::from_floats([0.0, 2.0, 0.0], &device), 0);
    /// let b = a.map(|rows| rows.mul_scalar(3.0).add_scalar(1.0));
    /// assert_eq!(b.nnz(), 1);
    /// assert_eq!(b.to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 7.0, 1.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if `f` gives rows of another shape, also for the one row of the fill. A function that holds a
    /// row for each stored element is one for [`Stored::map`](crate::ops::Stored::map).
    #[or_panic]
    pub fn try_map<K2: Kind>(self, f: impl Fn(Tensor<2, K>) -> Tensor<2, K2>) -> Result<SparseTensor<P, D, K2>> {
        let merged = self.coalesce();
        let values = rows_of(&merged, &f);
        if values.dims() != merged.values.dims() {
            return Err(changed_shape("map", values.dims(), merged.values.dims()));
        }
        let own = merged.fill.clone().counting(is_full(&merged.pattern));
        let fill = own.map_row(merged.block(), merged.dtype(), &merged.device(), f);
        check_fill("map", &fill, merged.block())?;
        Ok(merged.with_rows(values, fill))
    }

    /// [`map`](Self::map) to Bool. A fill that is a number on the host is computed there, so that `false` stays known.
    pub(crate) fn map_to_bool(
        &self,
        f: impl Fn(Tensor<2, K>) -> Tensor<2, Bool>,
        host: impl Fn(Scalar, DType) -> bool,
    ) -> SparseTensor<P, D, Bool> {
        let Some(fill) = self.fill.host() else { return self.clone().map(f) };
        let merged = self.coalesce();
        let values = rows_of(&merged, &f);
        merged.with_rows(values, bool_fill(host(fill, merged.dtype())))
    }

    /// [`map`](Self::map) with a function that is known to keep zero, and its sign.
    pub(crate) fn map_keeping_zero(&self, f: impl Fn(Tensor<2, K>) -> Tensor<2, K>) -> Self {
        self.map_zero(self.fill.clone(), f)
    }

    /// [`map`](Self::map) with a function that is known to give zero without a sign for zero.
    pub(crate) fn map_to_plain_zero(&self, f: impl Fn(Tensor<2, K>) -> Tensor<2, K>) -> Self {
        self.map_zero(Fill::Zero, f)
    }

    /// [`map`](Self::map) with a function whose value at a zero of either sign is known, and exact on every device.
    pub(crate) fn map_zero(&self, at_zero: Fill<K>, f: impl Fn(Tensor<2, K>) -> Tensor<2, K>) -> Self {
        if !self.fill.is_zero() {
            return self.clone().map(f);
        }
        let merged = self.coalesce();
        let values = rows_of(&merged, &f);
        merged.with_rows(values, at_zero)
    }
}

/// A fill of Bool: false is [`Fill::Zero`].
pub(crate) fn bool_fill(value: bool) -> Fill<Bool> {
    if value { Fill::scalar(true) } else { Fill::Zero }
}

pub(crate) fn changed_shape(op: &'static str, got: [usize; 2], expected: [usize; 2]) -> SparseError {
    let rule = "the function must keep the shape of the rows, got {left} for {right}";
    SparseError::shape_mismatch(op, rule, got, expected)
}

/// Checks the row that a function gave for the fill.
pub(crate) fn check_fill<K: Kind>(op: &'static str, fill: &Fill<K>, block: usize) -> Result<()> {
    let Fill::Value(FillValue::Block(own)) = fill else { return Ok(()) };
    if own.row().dims() == [1, block] {
        return Ok(());
    }
    let rule = "the function must keep the shape of the fill's row too, got {left} for {right} (map and \
                zip of stored() leave fills out)";
    Err(SparseError::shape_mismatch(op, rule, own.row().dims(), [1, block]))
}

/// `f` of the stored values. Without any, `f` is not called on them: some devices cannot launch over nothing.
pub(crate) fn rows_of<P: Pattern, const D: usize, K: Kind, K2: Kind>(
    merged: &SparseTensor<P, D, K>,
    f: &impl Fn(Tensor<2, K>) -> Tensor<2, K2>,
) -> Tensor<2, K2> {
    let shape = merged.values.dims();
    if shape[0] * shape[1] > 0 {
        return f(merged.values.clone());
    }
    // With the width of a row, which what `f` captured may have.
    let like = f(Tensor::zeros([1, shape[1].max(1)], (&merged.device(), merged.dtype())));
    // Not on the tape of `like`: a zero gradient times an infinite slope of `f` at zero would be NaN.
    let other = Tensor::<2, K2>::zeros([1, 1], (&like.device(), like.dtype()));
    constant(nothing(shape, like.dtype(), &[&merged.values]), &[&other])
}
