//! Running sums along a dim.

use crate::base::kind::{Kind, Numeric, as_float, from_float};
use crate::kernel;
use crate::ops::reductions::along::Along;
use crate::ops::stored::Stored;
use crate::pattern::layout::Pattern;
use crate::rows::RowSums;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{AsIndex, Tensor};
use sparse_autograd::{Erased, record};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

impl<P: Pattern, const D: usize, K: Numeric> Stored<P, D, K> {
    /// `y[.., i, ..] = sum_{j <= i} x[.., j, ..]` along `dim`, at the stored elements.
    ///
    /// Along a sparse dim elements that are not stored add nothing, and the pattern is kept. So there is no result at
    /// the elements that are not stored, and the fill must be `Zero` or `Undefined`. Along a dense dim the result is
    /// the dense answer. Duplicates are summed first. Integers wrap. Long lines are
    /// summed in chunks of a fixed size. A float sum may therefore be rounded differently than a sum from left to
    /// right, but in the same way on every run.
    ///
    /// Backward: the running sum of the gradient from the other end. Cost: two passes over the values, and two moves of
    /// them unless the dim is the last sparse dim; the lines are found once and kept with the pattern.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let x = Tensor::from_floats([[1.0, 0.0, 2.0], [0.0, 5.0, 0.0]], &Device::flex());
    /// let sums = CsrTensor::<2>::from_dense(x).stored().cumsum(1);
    /// assert_eq!(sums.values::<1>().into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 3.0, 5.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`; `would_densify` for another fill than `Zero` or `Undefined`.
    #[or_panic]
    pub fn try_cumsum(&self, dim: impl AsIndex) -> Result<SparseTensor<P, D, K>> {
        const OP: &str = "cumsum";
        let of = &self.0;
        let (at, sparse) = (of.axis(OP, dim)?, of.sparse_dims());
        if matches!(of.fill, Fill::Value(_)) {
            let hint = "use with_fill(Fill::Undefined) before stored(): with another fill the running sum differs at \
                        every element";
            return Err(SparseError::would_densify(OP, of.num_elements(), hint));
        }
        let own = of.coalesce();
        if own.nnz() * own.block() == 0 {
            return Ok(own);
        }
        let Some(lines) = Along::new(OP, &own, &[at as isize])?.of(&own.pattern) else {
            let dense = at - sparse;
            return Ok(own.map_blocks(dense, own.dense_shape[dense], |rows| rows.cumsum(1)));
        };
        Ok(own.with_rows(running_sums(own.values.clone(), &lines.sums), own.fill.clone()))
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
