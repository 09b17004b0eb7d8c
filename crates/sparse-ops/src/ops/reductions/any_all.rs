//! Whether any element along a dim is true, or all are.

use crate::base::checks::as_axes;
use crate::base::exact::Exact;
use crate::kernel;
use crate::ops::reductions::along::Along;
use crate::pattern::layout::Pattern;
use crate::tensor::fill::{Fill, FillValue};
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{AsIndex, Bool, Shape, Tensor};
use sparse_core::Result;
use sparse_macros::or_panic;

impl<P: Pattern, const D: usize> SparseTensor<P, D, Bool> {
    /// Whether any element along `dim` is true. The dim stays with size 1.
    ///
    /// Unspecified elements count with the fill. With an `Undefined` fill only the stored elements count, and a line
    /// without them stays unspecified. For a line of size 0 the answer is false. Cost: one pass over the values.
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`.
    #[or_panic]
    pub fn try_any_dim(&self, dim: impl AsIndex) -> Result<Self> {
        any("any_dim", self, &[dim.as_index()])
    }

    /// Whether all elements along `dim` are true. The dim stays with size 1. For a line of size 0 the answer is true.
    ///
    /// The fill counts as in [`try_any_dim`](Self::try_any_dim).
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`.
    #[or_panic]
    pub fn try_all_dim(&self, dim: impl AsIndex) -> Result<Self> {
        Ok(any("all_dim", &self.coalesce().opposite(), &[dim.as_index()])?.opposite())
    }

    /// [`any_dim`](Self::any_dim) along several dims at once.
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`; `shape_mismatch` for a dim given twice.
    #[or_panic]
    pub fn try_any_dims(&self, dims: &[impl AsIndex]) -> Result<Self> {
        any("any_dims", self, &as_axes(dims))
    }

    /// [`all_dim`](Self::all_dim) along several dims at once.
    ///
    /// # Errors
    ///
    /// As [`try_any_dims`](Self::try_any_dims).
    #[or_panic]
    pub fn try_all_dims(&self, dims: &[impl AsIndex]) -> Result<Self> {
        Ok(any("all_dims", &self.coalesce().opposite(), &as_axes(dims))?.opposite())
    }

    /// Whether any element is true.
    pub fn any(&self) -> Tensor<1, Bool> {
        let axes: Vec<isize> = (0..D as isize).collect();
        let out = any("any", self, &axes).expect("every axis once");
        let row =
            if out.nnz() == 1 && out.block() == 1 { out.values } else { out.fill.row(1, out.dtype(), &out.device()) };
        row.reshape(Exact([1]))
    }

    /// Whether all elements are true.
    pub fn all(&self) -> Tensor<1, Bool> {
        self.coalesce().opposite().any().bool_not()
    }

    /// The negation of every element and of the fill.
    fn opposite(&self) -> Self {
        let fill = match &self.fill {
            Fill::Zero => Fill::scalar(true),
            Fill::Value(FillValue::Scalar(_)) if self.fill.is_zero() => Fill::scalar(true),
            Fill::Value(FillValue::Scalar(_)) => Fill::Zero,
            fill => fill.map_row(self.block(), self.dtype(), &self.device(), Tensor::bool_not),
        };
        let none = self.values.shape().num_elements() == 0;
        self.with_rows(if none { self.values.clone() } else { self.values.clone().bool_not() }, fill)
    }
}

fn any<P: Pattern, const D: usize>(
    op: &'static str,
    of: &SparseTensor<P, D, Bool>,
    axes: &[isize],
) -> Result<SparseTensor<P, D, Bool>> {
    let along = Along::new(op, of, axes)?;
    let undefined = of.fill.is_undefined();
    if along.is_trivial() {
        return Ok(along.empty_result(of, of.dtype(), if undefined { Fill::Undefined } else { Fill::Zero }));
    }
    let counted = !undefined && !of.fill.is_zero();
    // Without sparse dims all stored elements are duplicates of one element.
    let own = if counted || of.sparse_dims() == 0 { of.coalesce() } else { of.clone() };
    let within = |rows: Tensor<2, Bool>| along.blocks.fold(rows, |rows| rows.any_dim(1));
    let fill = match &own.fill {
        Fill::Value(FillValue::Block(_)) => Fill::block(within(own.fill_row())),
        other => other.clone(),
    };
    let lines = along.of(&own.pattern);
    let pattern = lines.as_ref().map_or_else(|| own.pattern.clone(), |lines| lines.pattern.clone());
    let values = if own.nnz() == 0 {
        Tensor::empty([0, along.blocks.kept()], (&own.device(), own.dtype()))
    } else {
        let mut values = within(own.values.clone());
        if let Some(lines) = &lines {
            values = kernel::segment_sum(&values, lines.sums.order(), lines.sums.ptr());
            if counted {
                let shape = Shape::from(values.dims());
                let missing: Tensor<2, Bool> = lines.missing().greater_scalar(0).expand(shape.clone());
                let filled: Tensor<2, Bool> = within(own.fill_row().inner()).expand(shape);
                values = values.bool_or(filled.bool_and(missing));
            }
        }
        values
    };
    Ok(SparseTensor::from_parts(pattern, values, along.blocks.shape, fill))
}
