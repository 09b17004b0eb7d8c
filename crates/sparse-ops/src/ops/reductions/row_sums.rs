//! Sums of the rows and of the columns of a matrix, as vectors.

use crate::base::exact::Exact;
use crate::base::kind::{Numeric, as_float, from_float};
use crate::base::limits::check_dim;
use crate::kernel;
use crate::ops::structure::stack::check_matrix;
use crate::pattern::layout::Pattern;
use crate::pattern::maps::axis_map;
use crate::rows::RowMap;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::Tensor;
use sparse_autograd::{Erased, record};
use sparse_core::Result;
use sparse_macros::or_panic;

impl<P: Pattern, K: Numeric> SparseTensor<P, 2, K> {
    /// The sum of each row of a matrix `[M, N]`: `out[i] = sum_j self[i, j]`, `[M]`. These are the degrees of an
    /// adjacency: out-degrees if rows are the senders, in-degrees if rows receive.
    ///
    /// This is `sum_dim(1)` as an ordinary vector. Unspecified elements count with the fill. With an `Undefined` fill
    /// only stored elements count, and a row without any has the sum 0. `a.div_dense(a.sum_dim(1).to_dense())`
    /// normalises rows.
    ///
    /// Backward: each element gets the gradient of its sum, and the fill gets that of the unspecified elements. Cost:
    /// one pass over the values, by segments that are kept with the pattern, without atomics. (PyG's weighted
    /// `degree`.)
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0], [3.0, 2.0]], &Device::flex()));
    /// assert_eq!(a.row_sums().into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 5.0]);
    /// assert_eq!(a.col_sums().into_data().iter::<f32>().collect::<Vec<_>>(), [3.0, 3.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// `shape_mismatch` for a hybrid tensor; `would_densify` for more than [the limit](crate::Limits) of rows
    /// that are almost all empty.
    #[or_panic]
    pub fn try_row_sums(&self) -> Result<Tensor<1, K>> {
        self.sums_at("row_sums", 0)
    }

    /// The sum of each column of a matrix `[M, N]`: `out[j] = sum_i self[i, j]`, `[N]`. These are the in-degrees of an
    /// adjacency. See [`row_sums`](Self::row_sums).
    ///
    /// # Errors
    ///
    /// As [`try_row_sums`](Self::try_row_sums).
    #[or_panic]
    pub fn try_col_sums(&self) -> Result<Tensor<1, K>> {
        self.sums_at("col_sums", 1)
    }

    /// One sum for each index of `dim`.
    fn sums_at(&self, op: &'static str, dim: usize) -> Result<Tensor<1, K>> {
        check_matrix(op, self)?;
        let size = self.dims()[dim];
        check_dim(op, size, self.pattern.memo().held())?;
        let sums = if self.fill.is_undefined() || self.fill.is_zero() {
            sum_by(self.values.clone(), &axis_map(&self.pattern, dim), size)
        } else {
            self.try_sum_dim(1 - dim)?.try_to_dense()?
        };
        Ok(sums.reshape(Exact([size])))
    }
}

/// Rows `[size, 1]`: each is the sum of the values that read it through `map`. This is the transpose of a move, by the
/// segments that the map keeps for its backward pass. Its own backward pass is a move.
fn sum_by<K: Numeric>(values: Tensor<2, K>, map: &RowMap, size: usize) -> Tensor<2, K> {
    let (order, ptr) = map.groups();
    // The last group is for missing rows, of which there are none.
    let out = kernel::segment_sum(&values, Some(order), ptr.clone().narrow(0, 0, size + 1));
    let Some(parent) = as_float(&values) else { return out };
    let out = as_float(&out).expect("the kind of the values");
    from_float(record(out, [Erased::from(parent)], map.clone(), |map, grad, _| {
        let zero = Tensor::zeros([1, 1], (&grad.device(), grad.dtype()));
        [Some(kernel::move_rows(&grad, &zero, map.map()).into())]
    }))
}
