//! Duplicates joined, coordinates sorted.

use crate::base::index::{count_up, index_tensor};
use crate::base::kind::{Kind, Numeric};
use crate::ops::dense::plan::IndexPlan;
use crate::ops::dense::put_along_axis::run;
use crate::ops::reductions::extremum::into_lines;
use crate::pattern::layout::{Pattern, Structure};
use crate::pattern::lines::Lines;
use crate::rows::{RowMap, sum_rows};
use crate::tensor::sparse::{CooTensor, SparseTensor};
use burn::tensor::Tensor;
use sparse_burn::Reduce;
use sparse_burn::index_dtype_for;
use sparse_macros::async_variant;

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// The same tensor with duplicates summed (of Bool: whether any holds) and coordinates in lexicographic order.
    ///
    /// Works where the number of elements overflows 64 bits. A coalesced tensor comes back as it is; the merged pattern
    /// is computed once and kept with the pattern. Cost: a radix sort of the coordinates, then one pass over the
    /// values.
    /// Backward: each duplicate gets the gradient of its sum.
    #[async_variant]
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

impl<const D: usize, K: Kind> CooTensor<D, K> {
    /// From the order in which the elements are given to the order in which [`coalesce`](Self::coalesce) and
    /// [`to_csr`](Self::to_csr) store them: element `k` of this tensor becomes part of stored element `index[k]`.
    ///
    /// So attributes of edges stay with their edges. [`put`](IndexPlan::put) brings them into the order stored, where
    /// [`with_values`](Self::with_values) takes them, and its reduction says what edges that repeat become;
    /// [`select`](IndexPlan::select) brings back to the order given what was computed there. Both have gradients.
    /// Cost: that of `coalesce`, which is kept with the pattern. (PyG sorts `edge_index` and `edge_attr` together.)
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::{CooTensor, ops::Reduce};
    ///
    /// let device = Device::flex();
    /// let edge_index = Tensor::from_data([[2, 0, 1], [0, 1, 2]], &device); // not in the order of rows
    /// let edges = CooTensor::<2>::new(edge_index, Tensor::<1>::ones([3], &device), [3, 3]).unwrap();
    /// let (adjacency, order) = (edges.to_csr(), edges.coalesce_plan());
    ///
    /// let edge_attr = Tensor::<1>::from_floats([20.0, 1.0, 12.0], &device);
    /// let stored = order.put(Tensor::zeros([adjacency.nnz()], &device), 0, edge_attr, Reduce::Add, true);
    /// let weighted = adjacency.with_values(stored);
    /// assert_eq!(weighted.get([2, 0]).into_scalar::<f32>(), 20.0);
    /// let given = order.select(weighted.values::<1>(), 0);
    /// assert_eq!(given.into_data().iter::<f32>().collect::<Vec<_>>(), [20.0, 1.0, 12.0]);
    /// ```
    pub fn coalesce_plan(&self) -> IndexPlan {
        let count = self.nnz();
        let Some((pattern, sums)) = self.pattern.coalesce() else {
            return IndexPlan::of_map(RowMap::permutation(count_up(count, self.pattern.indices())));
        };
        let (stored, dtype) = (pattern.nnz(), index_dtype_for(count));
        let (order, ptr) = sums.groups(count);
        let (order, ptr) = (index_tensor(order, dtype), index_tensor(ptr, dtype));
        // The last group is that of places without a row, of which there are none.
        let end = ptr.clone().narrow(0, stored, 1);
        let index = index_tensor(sums.owner(count).clone(), dtype);
        IndexPlan::of_map(RowMap::grouped(index, stored, (order, Tensor::cat(vec![ptr, end], 0))))
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
    #[async_variant]
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
