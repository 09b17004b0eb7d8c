//! Indices that stay the same over a training run.

use crate::base::checks::{resolve_axis, same_device, same_elements};
use crate::base::exact::Exact;
use crate::base::kind::{Kind, Numeric};
use crate::base::sizes::check_sizes;
use crate::kernel::Put;
use crate::ops::dense::gather::read;
use crate::ops::dense::put_along_axis::{run, target};
use crate::ops::elementwise::broadcast::read_rows;
use crate::ops::structure::indices::{Checked, checked_index};
use crate::pattern::layout::Pattern;
use crate::pattern::memo::identity;
use crate::rows::RowMap;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{AsIndex, Device, Int, Tensor};
use sparse_burn::Reduce;
use sparse_core::{Result, SparseError};
use sparse_macros::{async_variant, or_panic};

/// An index into an axis that is checked once and sorted into segments once. Examples are the edges of a graph and the
/// nodes of a split.
///
/// No call checks the index again. `put` (with any reduction) and the backward pass of `select` along dim 0 work by
/// segments, without atomics, and do not read the device. `select_sparse` reads it the first time for each
/// pattern. [`unique`](crate::ops::unique()) makes the plan of ids that repeat. (The idea of PyG's sorted
/// `edge_index`.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::ops::{IndexPlan, Reduce};
///
/// let device = Device::flex();
/// // Three messages, to nodes 0, 2 and 0 of three.
/// let plan = IndexPlan::new(Tensor::from_ints([0, 2, 0], &device), 3).unwrap();
/// let messages = Tensor::<2>::from_floats([[1.0], [2.0], [3.0]], &device);
/// let sums = plan.put(Tensor::zeros([3, 1], &device), 0, messages, Reduce::Add, true);
/// assert_eq!(sums.into_data().iter::<f32>().collect::<Vec<_>>(), [4.0, 0.0, 2.0]);
/// ```
#[derive(Clone, Debug)]
pub struct IndexPlan {
    index: Tensor<1, Int>,
    size: usize,
    map: RowMap,
    /// Identifies the index in what patterns keep.
    id: u64,
}

impl IndexPlan {
    /// Checks that `index` is in `[-size, size)`, which reads the device once. [`from_list`](Self::from_list) takes a
    /// list of the host.
    ///
    /// # Errors
    ///
    /// `index_out_of_range`; `overflow` for a size beyond i64.
    #[async_variant]
    pub fn new(index: Tensor<1, Int>, size: usize) -> Result<Self> {
        check_sizes("IndexPlan::new", &[size])?;
        let index = checked_index("IndexPlan::new", 0, index, size)?;
        Ok(Self { map: RowMap::new(index.clone(), size), index, size, id: identity() })
    }

    /// The plan of a list of the host, for tensors on `device`. The check reads nothing.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::ops::IndexPlan;
    ///
    /// let device = Device::flex();
    /// let seeds: Vec<usize> = vec![2, 0];
    /// let plan = IndexPlan::from_list(&seeds, 3, &device).unwrap();
    /// let x = Tensor::<2>::from_floats([[1.0], [2.0], [3.0]], &device);
    /// assert_eq!(plan.select(x, 0).into_data().iter::<f32>().collect::<Vec<_>>(), [3.0, 1.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn from_list(index: &[usize], size: usize, device: &Device) -> Result<Self> {
        const OP: &str = "IndexPlan::from_list";
        check_sizes(OP, &[size])?;
        Ok(Self::of_map(RowMap::new(index.checked(OP, 0, size, device)?, size)))
    }

    /// The plan of a map whose numbers are right by construction. None of them is missing.
    pub(crate) fn of_map(map: RowMap) -> Self {
        Self { index: map.map().clone(), size: map.old(), map, id: identity() }
    }

    /// Number of indices.
    pub fn len(&self) -> usize {
        self.index.dims()[0]
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Size of the axis that the index addresses.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The indices, in `[0, size)`.
    pub fn index(&self) -> &Tensor<1, Int> {
        &self.index
    }

    fn check<const D: usize>(
        &self,
        op: &'static str,
        dims: [usize; D],
        axis: impl AsIndex,
        size: usize,
    ) -> Result<usize> {
        let axis = resolve_axis(op, axis, D)?;
        if dims[axis] == size {
            return Ok(axis);
        }
        let rule = "the dim must have the size {right:1} of the plan, got shape {left}";
        Err(SparseError::shape_mismatch(op, rule, dims, [size]))
    }

    /// The slices of `tensor` that the index names along `dim`; for dim 0 `out[k, ..] = tensor[index[k], ..]`. This is
    /// Burn's `select`, but deterministic.
    ///
    /// Backward: each slice of `tensor` gets the sum of the gradients of the places that read it, by segments.
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`, `shape_mismatch`, `unsupported_dtype`.
    #[or_panic]
    pub fn try_select<const D: usize, K: Kind>(&self, tensor: Tensor<D, K>, dim: impl AsIndex) -> Result<Tensor<D, K>> {
        const OP: &str = "IndexPlan::select";
        let (dims, x) = (tensor.dims(), tensor);
        let axis = self.check(OP, dims, dim, self.size)?;
        same_elements(OP, &x, &x)?;
        let mut shape = dims;
        shape[axis] = self.len();
        if axis > 0 {
            return Ok(read(x, self.index.clone(), target(dims, axis, self.len(), true)).reshape(Exact(shape)));
        }
        let block = dims[1..].iter().product();
        let rows = read_rows(x.reshape(Exact([self.size, block])), &self.map);
        Ok(rows.reshape(Exact(shape)))
    }

    /// The slices of a sparse tensor that the index names along `dim`. This is its [`select`](SparseTensor::select)
    /// without the check.
    ///
    /// The pattern of the result is kept with that of `tensor`. So a loop over fixed patterns finds it, and reads the
    /// device, in its first step only.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::{CsrTensor, ops::IndexPlan, pattern::Pattern};
    ///
    /// let device = Device::flex();
    /// let plan = IndexPlan::new(Tensor::from_ints([2, 0], &device), 3).unwrap();
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]], &device));
    /// let b = plan.select_sparse(&a, 0);
    /// assert_eq!(b.to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), [3.0, 4.0, 1.0, 0.0]);
    /// assert!(b.pattern().is_same(plan.select_sparse(&a, 0).pattern()));
    /// ```
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`, `shape_mismatch`, `device_mismatch`, `overflow`.
    #[or_panic]
    pub fn try_select_sparse<P: Pattern, const D: usize, K: Kind>(
        &self,
        tensor: &SparseTensor<P, D, K>,
        dim: impl AsIndex,
    ) -> Result<SparseTensor<P, D, K>> {
        const OP: &str = "IndexPlan::select_sparse";
        let axis = self.check(OP, tensor.dims(), dim, self.size)?;
        same_device(OP, &tensor.device(), &self.index.device())?;
        tensor.slices(OP, axis, &self.index, Some(self.id))
    }

    /// [`put_along_axis`](crate::ops::put_along_axis) with one destination for each slice of `values` along `dim`.
    ///
    /// Gradients are those of `put_along_axis`. The segments serve every reduction, forward and backward.
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`, `shape_mismatch`, `dtype_mismatch`, `unsupported_dtype`, `device_mismatch`.
    #[or_panic]
    pub fn try_put<const D: usize, K: Numeric>(
        &self,
        tensor: Tensor<D, K>,
        dim: impl AsIndex,
        values: Tensor<D, K>,
        reduce: Reduce,
        include_self: bool,
    ) -> Result<Tensor<D, K>> {
        const OP: &str = "IndexPlan::put";
        let dims = tensor.dims();
        let axis = self.check(OP, dims, dim, self.size)?;
        let given = values.dims();
        self.check(OP, given, axis, self.len())?;
        if (0..D).any(|dim| dim != axis && given[dim] != dims[dim]) {
            let rule = "the values {left} must have the shape {right} of the tensor except along the dim";
            return Err(SparseError::shape_mismatch(OP, rule, given, dims));
        }
        same_elements(OP, &tensor, &values)?;
        let (order, ptr) = self.map.groups();
        let put = Put {
            index: self.index.clone().reshape(axis_shape(axis, self.len())),
            target: target(dims, axis, self.len(), true),
            reduce,
            include_self,
            groups: Some((order.clone(), ptr.clone().narrow(0, 0, self.size + 1))),
        };
        Ok(run(put, tensor, values))
    }
}

/// The shape of an index that varies along one axis.
fn axis_shape<const D: usize>(axis: usize, length: usize) -> Exact<D> {
    let mut shape = [1; D];
    shape[axis] = length;
    Exact(shape)
}
