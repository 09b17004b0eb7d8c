//! Constructors. They check their input unless their name says otherwise.

mod coo;
mod csr;
pub(crate) mod host;

use super::fill::Fill;
use super::sparse::{SparseTensor, value_rows};
use crate::base::checks::{has_dtype, same_device};
use crate::base::kind::Kind;
use crate::pattern::layout::Pattern;
use burn::tensor::{Tensor, TensorCreationOptions};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// A tensor of zeros: nothing is stored. `options` are a device, or a device and a dtype, as for Burn's own.
    ///
    /// ```
    /// use burn::tensor::{DType, Device};
    /// use sparse_tensor::{CooTensor, CsrTensor};
    ///
    /// let device = Device::flex();
    /// assert_eq!(CooTensor::<4>::zeros([2, 3, 4, 5], &device).nnz(), 0);
    /// assert_eq!(CsrTensor::<2>::zeros([2, 3], (&device, DType::F64)).dtype(), DType::F64);
    /// assert_eq!(CsrTensor::<4>::try_zeros([2, 3, 4, 5], &device).unwrap_err().kind(), "shape_mismatch");
    /// ```
    ///
    /// # Errors
    ///
    /// `overflow` for a size beyond 64 bits, `shape_mismatch` for a rank that the layout does not have,
    /// `unsupported_dtype`, `would_densify` for more compressed rows than [the limit](crate::Limits).
    #[or_panic]
    pub fn try_zeros(shape: [usize; D], options: impl Into<TensorCreationOptions>) -> Result<Self> {
        const OP: &str = "zeros";
        P::check_shape(OP, &shape, 0)?;
        let options = options.into();
        if let Some(dtype) = options.dtype {
            has_dtype(OP, &options.device, dtype)?;
        }
        let values = value_rows(OP, Tensor::<2, K>::empty([0, 1], options), 0, &[1])?;
        let indices = Tensor::empty([D, 0], &values.device().inner());
        let pattern = P::from_coordinates(indices, &shape, true);
        Ok(Self::from_parts(pattern, values, vec![], Fill::Zero))
    }

    /// The tensor of an existing pattern and values `[nnz, dense dims..]`. Its rank is that of the pattern and the
    /// number of dense dims together.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let device = Device::flex();
    /// let edges = CsrTensor::<2>::eye(3, &device);
    /// // Weights of 8 heads for each edge.
    /// let heads = CsrTensor::<3>::from_pattern(edges.pattern().clone(), Tensor::<2>::ones([3, 8], &device)).unwrap();
    /// assert_eq!((heads.dims(), heads.dense_dims()), ([3, 3, 8], 1));
    /// ```
    ///
    /// # Errors
    ///
    /// `length_mismatch` or `shape_mismatch` if the values do not fit; `unsupported_dtype`, `device_mismatch`.
    pub fn from_pattern<const R: usize>(pattern: P, values: Tensor<R, K>) -> Result<Self> {
        const OP: &str = "from_pattern";
        let dims = values.dims();
        if pattern.shape().len() + R != D + 1 {
            let rule = "the pattern's dims {left} and those of the values must make the rank {right:1}";
            return Err(SparseError::shape_mismatch(OP, rule, pattern.shape(), [D]));
        }
        let rows = value_rows(OP, values, pattern.nnz(), &dims[1..])?;
        same_device(OP, &pattern.device(), &rows.device())?;
        Ok(Self::from_parts(pattern, rows, dims[1..].to_vec(), Fill::Zero))
    }
}

/// The size of a dim with this largest index.
fn size_for(op: &'static str, axis: usize, largest: i64) -> Result<usize> {
    match largest.checked_add(1) {
        Some(size @ 0..) => Ok(size as usize),
        Some(_) => Err(SparseError::index_out_of_range(op, axis, 0, largest, 0)),
        None => Err(SparseError::overflow(op, "a dimension", i64::MAX, i64::MAX as u128 + 1)),
    }
}
