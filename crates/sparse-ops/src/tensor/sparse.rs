//! The sparse tensor.

use super::fill::{Fill, FillValue};
use crate::base::checks::{resolve_axis, same_device, same_elements};
use crate::base::exact::Exact;
use crate::base::kind::{Kind, dtype_name, is_tracked, of_kind};
use crate::base::sizes::cells;
use crate::pattern::coo::CooPattern;
use crate::pattern::csr::CsrPattern;
use crate::pattern::layout::Pattern;
use crate::pattern::transposed_values::TransposedValues;
use burn::tensor::{AsIndex, DType, Device, Float, Gradients, Tensor};
use sparse_burn::replay::is_dropped;
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;
use std::sync::Arc;

/// A tensor of shape `[d0, .., dn]` whose *specified* elements are stored and whose *unspecified* ones all equal the
/// [`Fill`] value.
///
/// Values are rows `[nnz, block]`: one block of the dense dims for each stored coordinate (one element if there are no
/// dense dims). They are an ordinary Burn tensor, on the autodiff tape if tracked. Cloning copies no data: clones share
/// the pattern and the values.
///
/// Use it through its two layouts, [`CooTensor`] and [`CsrTensor`].
#[derive(Clone)]
pub struct SparseTensor<P: Pattern, const D: usize, K: Kind = Float> {
    pub(crate) pattern: P,
    pub(crate) values: Tensor<2, K>,
    pub(crate) dense_shape: Vec<usize>,
    pub(crate) fill: Fill<K>,
    /// The values in the order of the columns. Clones share them.
    pub(crate) transposed: Arc<TransposedValues>,
}

/// Coordinates (COO): any rank, hybrid (with dense dims at the end), duplicates allowed.
pub type CooTensor<const D: usize, K = Float> = SparseTensor<CooPattern, D, K>;

/// Compressed rows (CSR): 2 sparse dims, or 3 for a batch, and dense dims at the end. So rank 3 is a batch of matrices,
/// or a matrix with one dense dim: [`sparse_dims`](SparseTensor::sparse_dims) tells them apart.
pub type CsrTensor<const D: usize, K = Float> = SparseTensor<CsrPattern, D, K>;

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// The result of an operation, from parts that are right by construction.
    pub(crate) fn from_parts(pattern: P, values: Tensor<2, K>, dense_shape: Vec<usize>, fill: Fill<K>) -> Self {
        debug_assert_eq!(pattern.shape().len() + dense_shape.len(), D);
        // In a run that will be dropped zeros stand for numbers that say how many elements there are.
        debug_assert!(is_dropped() || values.dims() == [pattern.nnz(), dense_shape.iter().product()]);
        let values = of_kind(values);
        let fill = fill.of_dtype(values.dtype());
        Self { pattern, values, dense_shape, fill, transposed: Arc::default() }
    }

    /// The values in the order of the columns, where products may keep them: constants, one for each element.
    pub(crate) fn transposed(&self) -> Option<&Arc<TransposedValues>> {
        (self.dense_shape.is_empty() && !is_tracked(&self.values)).then_some(&self.transposed)
    }

    /// The same structure with other rows of values and another fill, perhaps of another kind.
    pub(crate) fn with_rows<K2: Kind>(&self, values: Tensor<2, K2>, fill: Fill<K2>) -> SparseTensor<P, D, K2> {
        SparseTensor::from_parts(self.pattern.clone(), values, self.dense_shape.clone(), fill)
    }

    /// Shape, sparse dims first.
    pub fn dims(&self) -> [usize; D] {
        let mut dims = self.pattern.shape().iter().chain(&self.dense_shape);
        std::array::from_fn(|_| *dims.next().expect("the rank is D"))
    }

    /// Number of stored elements (of stored blocks, where there are dense dims). Duplicates count.
    pub fn nnz(&self) -> usize {
        self.pattern.nnz()
    }

    /// Number of leading sparse dims.
    pub fn sparse_dims(&self) -> usize {
        self.pattern.shape().len()
    }

    /// Number of trailing dense dims.
    pub fn dense_dims(&self) -> usize {
        self.dense_shape.len()
    }

    /// Elements of a value block: the product of the dense dims.
    pub(crate) fn block(&self) -> usize {
        self.values.dims()[1]
    }

    /// Number of elements of the dense equivalent (at most 2^128 - 1).
    pub fn num_elements(&self) -> u128 {
        cells(&self.dims())
    }

    /// The positions of the stored elements.
    pub fn pattern(&self) -> &P {
        &self.pattern
    }

    /// Whether no coordinate is stored twice and all are in lexicographic order. CSR always is coalesced.
    pub fn is_coalesced(&self) -> bool {
        self.pattern.is_coalesced()
    }

    /// The value of the unspecified elements.
    pub fn fill(&self) -> &Fill<K> {
        &self.fill
    }

    /// The fill as a row `[1, block]`.
    pub(crate) fn fill_row(&self) -> Tensor<2, K> {
        self.fill.row(self.block(), self.dtype(), &self.device())
    }

    /// The same tensor with another fill.
    ///
    /// # Errors
    ///
    /// For a fill held by a tensor: `shape_mismatch` if it is not one number, of the shape of the dense dims, or a list
    /// of their elements; `dtype_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_with_fill(mut self, fill: Fill<K>) -> Result<Self> {
        const OP: &str = "with_fill";
        let fill = fill.fitted(OP, &self.dense_shape)?;
        if let Fill::Value(FillValue::Block(given)) = &fill {
            same_elements(OP, &self.values, given.row())?;
        }
        self.fill = fill.of_dtype(self.dtype());
        Ok(self)
    }

    /// The stored values: `[nnz]`, or `[nnz, dense dims..]` for a hybrid tensor. `R` is 1 + the number of dense dims.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if `R` is another rank.
    #[or_panic]
    pub fn try_values<const R: usize>(&self) -> Result<Tensor<R, K>> {
        if R != 1 + self.dense_shape.len() {
            let rule =
                "values have rank 1 + the number of dense dims: ask for values::<{right:1}>, got values::<{left:1}>";
            return Err(SparseError::shape_mismatch("values", rule, [R], [1 + self.dense_shape.len()]));
        }
        let mut shape = [self.nnz(); R];
        shape[1..].copy_from_slice(&self.dense_shape);
        Ok(self.values.clone().reshape(Exact(shape)))
    }

    /// The same pattern and fill with other values `[nnz, dense dims..]`. Use this to reuse a pattern without a copy.
    ///
    /// Value `k` goes to the `k`-th stored element, and elements are stored by rows: after
    /// [`to_csr`](crate::CooTensor::to_csr) or [`coalesce`](Self::coalesce) that is not the order in which edges were
    /// given. [`coalesce_plan`](crate::CooTensor::coalesce_plan) brings attributes of edges into the order stored.
    ///
    /// # Errors
    ///
    /// `length_mismatch` or `shape_mismatch` if the values do not fit the pattern; `dtype_mismatch` if a fill held by a
    /// tensor has another dtype; `unsupported_dtype`, `device_mismatch`.
    #[or_panic]
    pub fn try_with_values<const R: usize>(&self, values: Tensor<R, K>) -> Result<Self> {
        const OP: &str = "with_values";
        let values = value_rows(OP, values, self.nnz(), &self.dense_shape)?;
        same_device(OP, &self.device(), &values.device())?;
        if let Fill::Value(FillValue::Block(fill)) = &self.fill {
            same_elements(OP, &values, fill.row())?;
        }
        Ok(self.with_rows(values, self.fill.clone()))
    }

    /// The same pattern and fill with a block of values for each stored element: `[nnz, dense dims..]`, whatever dense
    /// dims this tensor has. So the weights of several heads share the pattern of a graph. `D2` is the number of sparse
    /// dims and of the new dense dims together.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let device = Device::flex();
    /// let edges = CsrTensor::<2>::eye(3, &device);
    /// let heads: CsrTensor<3> = edges.with_head_values(Tensor::<2>::ones([3, 8], &device));
    /// assert_eq!(heads.matmul(Tensor::<3>::ones([3, 8, 16], &device)).dims(), [3, 8, 16]);
    /// ```
    ///
    /// # Errors
    ///
    /// `length_mismatch` for another number of values; `shape_mismatch` if `D2` is another rank, or a fill held by a
    /// tensor does not fit the dense dims; `dtype_mismatch` if such a fill has another dtype; `unsupported_dtype`,
    /// `device_mismatch`.
    #[or_panic]
    pub fn try_with_head_values<const R: usize, const D2: usize>(
        &self,
        values: Tensor<R, K>,
    ) -> Result<SparseTensor<P, D2, K>> {
        const OP: &str = "with_head_values";
        let (dims, sparse) = (values.dims(), self.pattern.shape());
        if sparse.len() + R != D2 + 1 {
            let rule = "the sparse dims {left} and the dims of the values after nnz must make the rank {right:1}";
            return Err(SparseError::shape_mismatch(OP, rule, sparse, [D2]));
        }
        let rows = value_rows(OP, values, self.nnz(), &dims[1..])?;
        same_device(OP, &self.device(), &rows.device())?;
        let fill = self.fill.clone().fitted(OP, &dims[1..])?;
        if let Fill::Value(FillValue::Block(given)) = &fill {
            same_elements(OP, &rows, given.row())?;
        }
        Ok(SparseTensor::from_parts(self.pattern.clone(), rows, dims[1..].to_vec(), fill))
    }

    /// Device of the values, with their autodiff association.
    pub fn device(&self) -> Device {
        self.values.device()
    }

    /// The tensor on another device, with its autodiff association. Each call copies the pattern, so tensors that share
    /// one here have copies of their own there. On its own device the tensor keeps its pattern.
    ///
    /// It takes the tensor, as Burn's does. Otherwise `Module::to_device` would be called in its place wherever Burn's
    /// prelude is imported.
    pub fn to_device(self, device: &Device) -> Self {
        let plain = device.clone().inner();
        let pattern = if self.pattern.device() == plain { self.pattern } else { self.pattern.to_device(&plain) };
        let (values, fill) = (self.values.to_device(device), self.fill.to_device(device));
        Self { pattern, values, dense_shape: self.dense_shape, fill, transposed: Arc::default() }
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.values.dtype()
    }

    /// Resolves an axis in `[-rank, rank)`.
    pub(crate) fn axis(&self, op: &'static str, axis: impl AsIndex) -> Result<usize> {
        resolve_axis(op, axis, D)
    }
}

impl<P: Pattern, const D: usize> SparseTensor<P, D> {
    /// Makes the stored values a leaf of the autodiff tape. The device must be an autodiff one.
    pub fn require_grad(mut self) -> Self {
        self.values = self.values.require_grad();
        self
    }

    /// Whether the values take part in a recorded graph.
    pub fn is_tracked(&self) -> bool {
        self.values.is_tracked()
    }

    /// The gradient with respect to this tensor, on its own pattern. `None` if the values are not a leaf with a
    /// gradient.
    pub fn grad(&self, grads: &Gradients) -> Option<Self> {
        let values = self.values.grad(grads)?;
        Some(self.with_rows(values, Fill::Zero))
    }

    /// The gradient with respect to the fill, as a list of the dense dims' elements. `None` if the fill is not a leaf
    /// with one.
    pub fn fill_grad(&self, grads: &Gradients) -> Option<Tensor<1>> {
        match &self.fill {
            Fill::Value(FillValue::Block(block)) => block.row().grad(grads).map(|row| row.flatten(0, 1)),
            _ => None,
        }
    }

    /// The tensor as a constant: no gradient reaches what it was made from, nor the tensor itself. It stays on its
    /// device.
    ///
    /// Burn's dense `detach` of a leaf gives another leaf, whose graph is recorded and used up by `backward`. This one
    /// gives a constant of a leaf, too, as in PyTorch.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let device = Device::flex().autodiff();
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 0.0], [2.0, 3.0]], &device)).require_grad();
    /// let constant = a.clone().detach();
    /// assert!(a.is_tracked() && !constant.is_tracked());
    /// assert_eq!(constant.device(), a.device());
    /// ```
    pub fn detach(mut self) -> Self {
        self.values = self.values.set_require_grad(false);
        self.fill = self.fill.detach();
        self
    }
}

/// Values `[nnz, dense dims..]` as rows `[nnz, block]`.
pub(crate) fn value_rows<const R: usize, K: Kind>(
    op: &'static str,
    values: Tensor<R, K>,
    nnz: usize,
    dense_shape: &[usize],
) -> Result<Tensor<2, K>> {
    let dims = values.dims();
    if !sparse_burn::is_supported(values.dtype()) {
        return Err(SparseError::unsupported_dtype(op, "a sparse tensor", dtype_name(values.dtype())));
    }
    if dims[0] != nnz {
        return Err(SparseError::length_mismatch(op, "values", nnz, dims[0]));
    }
    if dims[1..] != *dense_shape {
        let rule = "values must have the shape {right} of the dense dims after nnz, got {left}";
        return Err(SparseError::shape_mismatch(op, rule, &dims[1..], dense_shape));
    }
    Ok(values.reshape(Exact([nnz, dense_shape.iter().product()])))
}
