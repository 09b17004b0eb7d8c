//! Duplicates joined, coordinates sorted.

use super::extremum::into_lines;
use super::put_along_axis::run;
use crate::base::kind::{Kind, Numeric};
use crate::pattern::layout::Pattern;
use crate::pattern::lines::Lines;
use crate::rows::sum_rows;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::Tensor;
use sparse_burn::Reduce;
use sparse_macros::async_twin;

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// The same tensor with duplicates summed (of Bool: whether any holds) and coordinates in lexicographic order.
    ///
    /// Works where the number of elements overflows 64 bits. A coalesced tensor comes back as it is; the merged pattern
    /// is computed once and kept with the pattern. Cost: a radix sort of the coordinates, then one pass over the
    /// values.
    /// Backward: each duplicate gets the gradient of its sum.
    #[async_twin]
    pub fn coalesce(&self) -> Self {
        match self.pattern.coalesce() {
            None => self.clone(),
            Some((pattern, sums)) => {
                let values = sum_rows(self.values.clone(), &sums);
                Self::from_parts(pattern, values, self.dense_shape.clone(), self.fill.clone())
            }
        }
    }
}

impl<P: Pattern, const D: usize, K: Numeric> SparseTensor<P, D, K> {
    /// [`coalesce`](Self::coalesce) with another rule for duplicates than their sum: their mean, product, largest or
    /// smallest value, or (`Assign`) the last of them in the order in which they are stored.
    ///
    /// Everywhere else in the library an element is the sum of its duplicates. So call this before any other operation.
    /// The fill stays. Rules and gradients are those of [`put_along_axis`](crate::ops::put_along_axis()) with
    /// `include_self = false`: a tie shares the gradient evenly, NaN wins, and the mean of integers is rounded down.
    /// Cost: as `coalesce`; the groups are kept with the pattern. (PyG's `coalesce`.)
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::{CooTensor, ops::Reduce};
    ///
    /// let weights = Tensor::<1>::from_floats([1.0, 5.0, 3.0], &Device::flex());
    /// let a = CooTensor::from_edges(&[(0, 1), (1, 0), (0, 1)], weights, None).unwrap();
    /// let largest = a.coalesce_with(Reduce::Amax);
    /// assert_eq!(largest.values::<1>().into_data().iter::<f32>().collect::<Vec<_>>(), [3.0, 5.0]);
    /// ```
    #[async_twin]
    pub fn coalesce_with(&self, reduce: Reduce) -> Self {
        if self.is_coalesced() || self.nnz() == 0 || reduce == Reduce::Add {
            return self.coalesce();
        }
        let lines = Lines::of(&self.pattern, &vec![false; self.sparse_dims()]);
        let put = into_lines(&lines, reduce, self.values.dims());
        let start = Tensor::zeros([lines.len(), self.block()], (&self.device(), self.dtype()));
        let values = run(put, start, self.values.clone());
        Self::from_parts(lines.pattern.clone(), values, self.dense_shape.clone(), self.fill.clone())
    }
}
