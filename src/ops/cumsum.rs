//! Running sums along a dim.

use super::reduce::Along;
use crate::kernel;
use crate::pattern::Pattern;
use crate::rows::RowSums;
use crate::tensor::{Fill, Kind, Numeric, SparseTensor, as_float, expect, from_float};
use burn::tensor::Tensor;
use sparse_autograd::{Erased, record};
use sparse_core::{Result, SparseError};

impl<P: Pattern, const D: usize, K: Numeric> SparseTensor<P, D, K> {
    /// `y[.., i, ..] = sum_{j <= i} x[.., j, ..]` along `axis`, at the stored elements.
    ///
    /// Stored-only along a sparse dim: elements that are not stored add nothing, and the pattern is kept, so the result says
    /// nothing of the sum between two stored elements. The fill must be `Zero` or `Undefined`. Along a dense dim it is the
    /// dense answer. Duplicates are summed first. Integers wrap. Long lines are summed in chunks of a fixed size, so a
    /// float sum may be rounded otherwise than one from left to right, and always alike.
    ///
    /// Backward: the running sum of the gradient from the other end. Cost: two passes over the values, and two moves of
    /// them unless the axis is the last sparse dim; the lines are found once and kept with the pattern.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let x = Tensor::from_floats([[1.0, 0.0, 2.0], [0.0, 5.0, 0.0]], &Device::flex());
    /// let sums = CsrTensor::<2>::from_dense(x).stored_cumsum(1);
    /// assert_eq!(sums.values::<1>().into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 3.0, 5.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`; `would_densify` for another fill than `Zero` or `Undefined`.
    pub fn try_stored_cumsum(&self, axis: isize) -> Result<Self> {
        const OP: &str = "stored_cumsum";
        let (at, sparse) = (self.axis(OP, axis)?, self.sparse_dims());
        if matches!(self.fill, Fill::Value(_)) {
            let hint = "running sums of another fill than Zero or Undefined differ from element to element";
            return Err(SparseError::WouldDensify { op: OP, elements: self.num_elements(), limit: 0, hint });
        }
        let own = self.coalesce();
        if own.nnz() * own.block() == 0 {
            return Ok(own);
        }
        let Some(lines) = Along::new(OP, &own, &[axis])?.of(&own.pattern) else {
            let dim = at - sparse;
            return Ok(own.map_blocks(dim, own.dense_shape[dim], |rows| rows.cumsum(1)));
        };
        Ok(own.with_rows(running_sums(own.values.clone(), &lines.sums), own.fill.clone()))
    }

    /// [`try_stored_cumsum`](Self::try_stored_cumsum), with a panic in place of an error.
    #[track_caller]
    pub fn stored_cumsum(&self, axis: isize) -> Self {
        expect(self.try_stored_cumsum(axis))
    }
}

/// The running sums of rows (not none) along their lines.
fn running_sums<K: Kind>(rows: Tensor<2, K>, lines: &RowSums) -> Tensor<2, K> {
    let out = summed(&rows, lines, false);
    let (Some(parent), Some(sums)) = (as_float(&rows), as_float(&out)) else { return out };
    from_float(record(sums, [Erased::from(parent)], lines.clone(), |lines, grad, _| {
        [Some(summed(&grad, lines, true).into())]
    }))
}

fn summed<K: Kind>(rows: &Tensor<2, K>, lines: &RowSums, reverse: bool) -> Tensor<2, K> {
    let sums = kernel::segment_cumsum(rows, lines.order(), lines.ptr(), reverse);
    match lines.places() {
        None => sums,
        Some(places) => {
            let none = Tensor::zeros([1, sums.dims()[1]], (&sums.device(), sums.dtype()));
            kernel::move_rows(&sums, none, places)
        }
    }
}
