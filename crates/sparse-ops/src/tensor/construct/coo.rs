//! Constructors of coordinates.

use super::size_for;
use crate::base::checks::{expect, same_device};
use crate::base::coordinates::{join_dims, unravel};
use crate::base::exact::Exact;
use crate::base::index::{read_all, signed};
use crate::base::kind::{Kind, nonzero};
use crate::pattern::coo::CooPattern;
use crate::pattern::select::kept;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::{CooTensor, value_rows};
use burn::tensor::{Int, Tensor};
use sparse_core::{Result, SparseError};
use sparse_macros::{async_variant, or_panic};

impl<const D: usize, K: Kind> CooTensor<D, K> {
    /// A tensor from coordinates `[sparse_dims, nnz]` and values `[nnz, dense dims..]`, filled with zero.
    ///
    /// `sparse_dims` is the number of rows of `indices`; the rest of `shape` are dense dims. Duplicates are legal: an
    /// element is the sum of its duplicates. The coordinates are checked, which reads the device once. Negative indices
    /// are errors here.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CooTensor;
    ///
    /// let device = Device::flex();
    /// let indices = Tensor::from_data([[0, 1, 1], [2, 0, 2]], &device);
    /// let values = Tensor::<1>::from_floats([1.0, 2.0, 3.0], &device);
    /// let a = CooTensor::<2>::new(indices, values, [2, 3]).unwrap();
    /// assert_eq!(a.nnz(), 3);
    /// ```
    ///
    /// Without a shape: [`new_inferred`](Self::new_inferred).
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `length_mismatch`, `index_out_of_range`, `unsupported_dtype`, `device_mismatch`, `overflow`.
    #[async_variant]
    pub fn new<const R: usize>(indices: Tensor<2, Int>, values: Tensor<R, K>, shape: [usize; D]) -> Result<Self> {
        const OP: &str = "CooTensor::new";
        let [sparse_dims, nnz] = indices.dims();
        if sparse_dims > D {
            let rule = "indices {left} must have one row for each sparse dim of the shape {right}, and no more";
            return Err(SparseError::shape_mismatch(OP, rule, [sparse_dims, nnz], shape));
        }
        let values = value_rows(OP, values, nnz, &shape[sparse_dims..])?;
        same_device(OP, &indices.device(), &values.device())?;
        let pattern = CooPattern::checked(OP, indices, &shape[..sparse_dims])?;
        Ok(Self::from_parts(pattern, values, shape[sparse_dims..].to_vec(), Fill::Zero))
    }

    /// [`new`](Self::new) with the smallest shape that holds all coordinates. A sparse dim has one more than its
    /// largest coordinate (0 if there is none); the dense dims are those of the values. This is PyTorch's
    /// `sparse_coo_tensor` without a size.
    ///
    /// Reads the largest coordinates from the device, besides the check.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CooTensor;
    ///
    /// let device = Device::flex();
    /// let indices = Tensor::from_data([[0, 1, 1], [2, 0, 2]], &device);
    /// let a = CooTensor::<2>::new_inferred(indices, Tensor::<1>::ones([3], &device)).unwrap();
    /// assert_eq!(a.dims(), [2, 3]);
    /// ```
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new); `index_out_of_range` for a negative coordinate.
    #[async_variant]
    pub fn new_inferred<const R: usize>(indices: Tensor<2, Int>, values: Tensor<R, K>) -> Result<Self> {
        const OP: &str = "CooTensor::new_inferred";
        let [sparse_dims, nnz] = indices.dims();
        if sparse_dims + R != D + 1 {
            let rule =
                "the rank must be the rows of indices and the dense dims together, got rank {right:1} for {left}";
            return Err(SparseError::shape_mismatch(OP, rule, [sparse_dims, R - 1], [D]));
        }
        let mut shape = [0; D];
        shape[sparse_dims..].copy_from_slice(&values.dims()[1..]);
        if sparse_dims * nnz > 0 {
            let largest = read_all(signed(indices.clone()).max_dim(1));
            for (dim, &index) in largest.iter().enumerate() {
                shape[dim] = size_for(OP, dim, index)?;
            }
        }
        Self::new(indices, values, shape)
    }

    /// The tensor without a check of the coordinates (see [`CooPattern::new_unchecked`]).
    ///
    /// # Panics
    ///
    /// If the values do not fit the number of coordinates.
    #[track_caller]
    pub fn new_unchecked<const R: usize>(
        indices: Tensor<2, Int>,
        values: Tensor<R, K>,
        shape: [usize; D],
        coalesced: bool,
    ) -> Self {
        let [sparse_dims, nnz] = indices.dims();
        let values = expect(value_rows("CooTensor::new_unchecked", values, nnz, &shape[sparse_dims..]));
        let pattern = CooPattern::new_unchecked(indices, &shape[..sparse_dims], coalesced);
        Self::from_parts(pattern, values, shape[sparse_dims..].to_vec(), Fill::Zero)
    }

    /// The elements of `dense` that are not zero (not false). The last `dense_dims` dims stay dense: a block is stored
    /// if any of its elements is not zero. NaN is not zero. Reads the number of them from the device.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` for more dense dims than dims.
    #[async_variant]
    #[or_panic]
    pub fn try_from_dense(dense: Tensor<D, K>, dense_dims: usize) -> Result<Self> {
        if dense_dims > D {
            let rule = "dense_dims must be at most the rank {right:1}, got {left:1}";
            return Err(SparseError::shape_mismatch("from_dense", rule, [dense_dims], [D]));
        }
        let shape = dense.dims();
        let (sparse, tail) = shape.split_at(D - dense_dims);
        let (rows, block): (usize, usize) = (sparse.iter().product(), tail.iter().product());
        let flat = dense.reshape(Exact([rows, block]));
        let stored = nonzero_rows(&flat);
        let nnz = stored.dims()[0];
        let coordinates = if nnz == 0 { vec![] } else { unravel(stored.clone(), sparse) };
        let pattern = CooPattern::new_unchecked(join_dims(coordinates, sparse, nnz, &stored), sparse, true);
        let rows = flat.select(0, stored);
        Ok(Self::from_parts(pattern, rows, tail.to_vec(), Fill::Zero))
    }

    /// Coordinates `[sparse_dims, nnz]`.
    pub fn indices(&self) -> Tensor<2, Int> {
        self.pattern.indices().clone()
    }
}

/// Positions of the rows of `flat` with an element that is not zero, ascending. Reads their number from the device.
fn nonzero_rows<K: Kind>(flat: &Tensor<2, K>) -> Tensor<1, Int> {
    let ([rows, block], device) = (flat.dims(), flat.device().inner());
    let dtype = sparse_burn::index_dtype_for(rows);
    if rows == 0 || block == 0 {
        return Tensor::empty([0], (&device, dtype));
    }
    let hit = nonzero(flat.clone().inner());
    let hit = if block == 1 { hit } else { hit.any_dim(1) };
    kept(hit.reshape(Exact([rows])), dtype)
}
