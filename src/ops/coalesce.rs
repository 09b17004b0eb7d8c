//! Duplicates summed, coordinates sorted.

use crate::base::kind::Kind;
use crate::pattern::layout::Pattern;
use crate::rows::sum_rows;
use crate::tensor::sparse::SparseTensor;

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// The same tensor with duplicates summed (of Bool: whether any holds) and coordinates in lexicographic order.
    ///
    /// Works where the number of elements overflows 64 bits. A coalesced tensor comes back as it is; the merged pattern
    /// is computed once and kept with the pattern. Cost: a radix sort of the coordinates, then one pass over the
    /// values.
    /// Backward: each duplicate gets the gradient of its sum.
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
