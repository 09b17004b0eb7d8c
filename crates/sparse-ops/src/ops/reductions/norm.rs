//! Norms.

use crate::base::checks::as_axes;
use crate::base::exact::Exact;
use crate::base::float::in_float;
use crate::ops::elementwise::cast::widened;
use crate::ops::reductions::fold_lines::{Fold, reduce, total};
use crate::pattern::layout::Pattern;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{AsIndex, Tensor};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

impl<P: Pattern, const D: usize> SparseTensor<P, D> {
    /// The norm of order `p` along `dim`, which stays with size 1: `sum(|x|^p)^(1/p)`, for infinity the largest `|x|`.
    ///
    /// The fill counts as in [`sum_dim`](Self::sum_dim). The norm of a line of size 0 is 0.
    ///
    /// Backward: the dense rule. It gives 0 where an element, or the norm itself, is 0.
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`, `overflow`; `invalid` if `p` is not above 0.
    #[or_panic]
    pub fn try_norm_dim(&self, p: f64, dim: impl AsIndex) -> Result<Self> {
        self.norm_along("norm_dim", p, &[dim.as_index()])
    }

    /// [`norm_dim`](Self::norm_dim) along several dims at once.
    ///
    /// # Errors
    ///
    /// As for one dim; `shape_mismatch` for a dim given twice.
    #[or_panic]
    pub fn try_norm_dims(&self, p: f64, dims: &[impl AsIndex]) -> Result<Self> {
        self.norm_along("norm_dims", p, &as_axes(dims))
    }

    fn norm_along(&self, op: &'static str, p: f64, axes: &[isize]) -> Result<Self> {
        check(op, p)?;
        let nothing =
            axes.iter().try_fold(false, |nothing, &axis| Ok(nothing | (self.dims()[self.axis(op, axis)?] == 0)))?;
        let own = self.coalesce();
        if !keeps_precision(p)
            && let Some((own, back)) = widened(&own)
        {
            return Ok(own.norm_along(op, p, axes)?.in_float(back));
        }
        let powers = own.powers(p);
        if p == f64::INFINITY && !nothing {
            return reduce(op, &powers, axes, Fold::Max);
        }
        Ok(reduce(op, &powers, axes, Fold::Sum)?.each(|rows| root(rows, p)))
    }

    /// The norm of order `p` of all elements (2: the Frobenius norm of a matrix): see [`norm_dim`](Self::norm_dim).
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[3.0, 0.0], [0.0, -4.0]], &Device::flex()));
    /// assert_eq!(a.norm(2.0).into_scalar::<f32>(), 5.0);
    /// assert_eq!(a.norm(f64::INFINITY).into_scalar::<f32>(), 4.0);
    /// ```
    ///
    /// # Errors
    ///
    /// `overflow`; `invalid` if `p` is not above 0.
    #[or_panic]
    pub fn try_norm(&self, p: f64) -> Result<Tensor<1>> {
        check("norm", p)?;
        let own = self.coalesce();
        if !keeps_precision(p)
            && let Some((own, back)) = widened(&own)
        {
            return Ok(in_float(&own.try_norm(p)?, back));
        }
        let powers = own.powers(p);
        if p == f64::INFINITY && self.num_elements() > 0 && !(self.fill.is_undefined() && self.nnz() == 0) {
            return total("norm", &powers, Fold::Max);
        }
        let sum = total("norm", &powers, Fold::Sum)?;
        Ok(root(sum.reshape(Exact([1, 1])), p).reshape(Exact([1])))
    }

    /// `|x|^p` (`|x|` for infinity) of every element of a coalesced tensor.
    fn powers(&self, p: f64) -> Self {
        self.each(|rows| match p {
            2.0 => rows.clone() * rows,
            1.0 | f64::INFINITY => rows.abs(),
            _ => without_zeros(rows.abs(), |rows| power(rows, p)),
        })
    }

    /// Applies a function that keeps zero to stored values and fill.
    fn each(&self, f: impl Fn(Tensor<2>) -> Tensor<2>) -> Self {
        let fill = match &self.fill {
            fill if fill.is_zero() => Fill::Zero,
            fill => fill.map_row(self.block(), self.dtype(), &self.device(), &f),
        };
        let values = if self.values.shape().num_elements() == 0 { self.values.clone() } else { f(self.values.clone()) };
        self.with_rows(values, fill)
    }
}

fn check(op: &'static str, p: f64) -> Result<()> {
    if p > 0.0 {
        return Ok(());
    }
    Err(SparseError::invalid(op, format!("the order of a norm must be above 0, got {p}")))
}

/// Whether the steps of the norm before and after its sum, or maximum, do not round. If they do, 16-bit floats are
/// computed in f32.
fn keeps_precision(p: f64) -> bool {
    p == 1.0 || p == f64::INFINITY
}

fn root(sums: Tensor<2>, p: f64) -> Tensor<2> {
    match p {
        1.0 | f64::INFINITY => sums,
        2.0 => without_zeros(sums, Tensor::sqrt),
        _ => without_zeros(sums, |sums| power(sums, 1.0 / p)),
    }
}

/// `x^p`, with `p` in the precision of the rows: some backends convert a power that is a number to f32.
fn power(rows: Tensor<2>, p: f64) -> Tensor<2> {
    let exponent = Tensor::full(rows.dims(), p, (&rows.device().inner(), rows.dtype()));
    rows.powf(exponent)
}

/// `f` of the rows where they are not 0, and 0 elsewhere. `f` gets 1 in place of a zero, where its slope may be NaN.
fn without_zeros(rows: Tensor<2>, f: impl Fn(Tensor<2>) -> Tensor<2>) -> Tensor<2> {
    let zero = rows.clone().equal_scalar(0.0);
    f(rows.mask_fill(zero.clone(), 1.0)).mask_fill(zero, 0.0)
}
