//! Coordinate patterns.

use super::layout::{Pattern, Structure, describe};
use super::matrix::{Matrix, coordinates};
use super::memo::Memo;
use super::select::ordered;
use crate::base::coordinates::along;
use crate::base::index::{index_dtype, index_tensor, signed};
use crate::base::lazy::Lazy;
use crate::base::sizes::{check_sizes, offsets};
use crate::kernel::{self, Arrays, Compressed};
use crate::rows::{RowMap, RowSums};
use burn::tensor::{DType, Device, Int, Tensor};
use sparse_burn::ConcatAxis;
use sparse_core::{Result, SparseError};
use sparse_macros::async_variant;
use std::fmt;
use std::sync::Arc;

/// The coordinates of the stored elements: `indices [sparse_dims, nnz]`.
///
/// Duplicates are legal: an element is the sum of its duplicates.
#[derive(Clone)]
pub struct CooPattern(Arc<CooData>);

struct CooData {
    shape: Vec<usize>,
    indices: Tensor<2, Int>,
    coalesced: bool,
    merged: Lazy<(CooPattern, RowSums)>,
    matrix: Lazy<Matrix>,
    memo: Memo,
}

impl CooPattern {
    /// Checks coordinates `[sparse_dims, nnz]` against the sizes of the sparse dims. Reads the device once.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if `indices` does not have one row for each dim of `shape`; `index_out_of_range`, `overflow`.
    #[async_variant]
    pub fn new(indices: Tensor<2, Int>, shape: &[usize]) -> Result<Self> {
        Self::checked("CooPattern::new", indices, shape)
    }

    /// [`new`](Self::new), with the name of the operation for errors.
    pub(crate) fn checked(op: &'static str, indices: Tensor<2, Int>, shape: &[usize]) -> Result<Self> {
        check_sizes(op, shape)?;
        let [dims, nnz] = indices.dims();
        if dims != shape.len() {
            let rule = "indices {left} must have one row for each sparse dim of {right}";
            return Err(SparseError::shape_mismatch(op, rule, [dims, nnz], shape));
        }
        let indices = signed(indices);
        let coalesced = kernel::validate_coo(op, &indices, shape)?;
        Ok(Self::new_unchecked(indices, shape, coalesced))
    }

    /// The pattern without a check of the coordinates. Wrong ones cause wrong answers, a panic or a request for
    /// much memory later, never memory errors.
    pub fn new_unchecked(indices: Tensor<2, Int>, shape: &[usize], coalesced: bool) -> Self {
        let nnz = indices.dims()[1];
        let dtype = index_dtype(shape, nnz);
        Self(Arc::new(CooData {
            shape: shape.to_vec(),
            indices: index_tensor(indices, dtype),
            coalesced,
            merged: Lazy::new(),
            matrix: Lazy::new(),
            memo: Memo::new(nnz),
        }))
    }

    /// The coordinates `[sparse_dims, nnz]`.
    pub fn indices(&self) -> &Tensor<2, Int> {
        &self.0.indices
    }

    fn to_matrix(&self) -> Matrix {
        let shape = &self.0.shape;
        let last = shape.len() - 1;
        let batch: usize = shape[..last - 1].iter().product();
        let size = [batch * shape[last - 1], batch * shape[last]];
        let dtype = index_dtype(&size, self.nnz());
        let ids = |dim| index_tensor(along(&self.0.indices, dim), dtype);
        let (mut row_ids, mut col_ids) = (ids(last - 1), ids(last));
        if last == 2 {
            row_ids = row_ids + ids(0).mul_scalar(shape[1] as i64);
            col_ids = col_ids + ids(0).mul_scalar(shape[2] as i64);
        }
        Matrix::new(size, row_ids, col_ids, self.0.coalesced)
    }

    /// The coalesced pattern, computed once.
    fn merged(&self) -> (Self, RowSums) {
        self.0.merged.read(|| {
            let (indices, order, ptr) = kernel::coalesce(&self.0.indices, &self.0.shape);
            let merged = Self::new_unchecked(indices, &self.0.shape, true);
            self.0.memo.deepen(&merged.0.memo);
            (merged, RowSums::new(Some(order), ptr))
        })
    }
}

impl fmt::Debug for CooPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(self, f)
    }
}

impl Pattern for CooPattern {
    const LAYOUT: &'static str = "COO";

    fn shape(&self) -> &[usize] {
        &self.0.shape
    }
    fn nnz(&self) -> usize {
        self.0.indices.dims()[1]
    }
    fn is_coalesced(&self) -> bool {
        self.0.coalesced
    }
    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
    fn device(&self) -> Device {
        self.0.indices.device()
    }
    fn to_device(&self, device: &Device) -> Self {
        Self::new_unchecked(self.0.indices.clone().to_device(device), &self.0.shape, self.0.coalesced)
    }
    fn index_dtype(&self) -> DType {
        self.0.indices.dtype()
    }
    fn coordinates(&self) -> &Tensor<2, Int> {
        &self.0.indices
    }
}

impl Structure for CooPattern {
    const HOLDS_DUPLICATES: bool = true;

    fn has_rank(_rank: usize) -> bool {
        true
    }

    fn check_shape(op: &'static str, shape: &[usize], _held: usize) -> Result<()> {
        check_sizes(op, shape)
    }

    fn from_coordinates(coordinates: Tensor<2, Int>, shape: &[usize], coalesced: bool) -> Self {
        Self::new_unchecked(coordinates, shape, coalesced)
    }

    fn from_rows(rows: &Compressed, shape: &[usize]) -> Self {
        Self::new_unchecked(coordinates(rows, shape), shape, true)
    }

    fn coalesce(&self) -> Option<(Self, RowSums)> {
        (!self.0.coalesced).then(|| self.merged())
    }

    fn matrix(&self) -> Option<&Matrix> {
        // A batch is one block-diagonal matrix, whose numbers of rows and columns must fit an index.
        let fits = |size: usize, other: usize| size.checked_mul(other).is_some_and(|rows| rows <= i64::MAX as usize);
        let is_matrix = match *self.0.shape {
            [_, _] => true,
            [batch, rows, cols] => fits(batch, rows) && fits(batch, cols),
            _ => false,
        };
        is_matrix.then(|| self.0.matrix.get(|| self.to_matrix()))
    }

    fn arrays(&self) -> Arrays {
        Arrays::Coo(self.0.indices.clone())
    }

    fn from_arrays(arrays: Arrays, shape: &[usize], coalesced: bool) -> Self {
        let Arrays::Coo(indices) = arrays else { unreachable!("kernels keep the layout") };
        Self::new_unchecked(indices, shape, coalesced)
    }

    fn memo(&self) -> &Memo {
        &self.0.memo
    }

    fn concat_axis(parts: &[Self], axis: usize, shape: &[usize]) -> (ConcatAxis, DType) {
        let offsets = offsets(parts.iter().map(|part| part.0.shape[axis]));
        let merge = parts.iter().all(Pattern::is_coalesced);
        (ConcatAxis::Coo { axis, offsets, merge }, index_dtype(shape, parts.iter().map(Pattern::nnz).sum()))
    }

    fn permute(&self, axes: &[usize]) -> (Self, Option<RowMap>) {
        let shape: Vec<usize> = axes.iter().map(|&axis| self.0.shape[axis]).collect();
        let rows = axes.iter().map(|&axis| self.0.indices.clone().narrow(0, axis, 1)).collect();
        let indices = if axes.is_empty() { self.0.indices.clone() } else { Tensor::cat(rows, 0) };
        if !self.0.coalesced || axes.is_sorted() {
            return (Self::new_unchecked(indices, &shape, self.0.coalesced), None);
        }
        // All coordinates are distinct, so the order of the sort is the index map.
        let (indices, order) = ordered(&indices, &shape);
        (Self::new_unchecked(indices, &shape, true), Some(RowMap::new(order, self.nnz())))
    }

    fn unsqueezed(&self, _axis: usize) -> Option<Self> {
        None
    }
}
