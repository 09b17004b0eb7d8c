//! Patterns as masks and as sets.

use crate::base::checks::same_device;
use crate::base::exact::Exact;
use crate::base::kind::{Kind, dtype_name};
use crate::ops::elementwise::binary::same_structure;
use crate::ops::elementwise::broadcast::read_rows;
use crate::pattern::layout::Pattern;
use crate::pattern::maps::from_dense_map;
use crate::pattern::merge::{located, merged};
use crate::pattern::select::{kept, subset};
use crate::rows::move_rows;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::Tensor;
use sparse_burn::MergeRule;
use sparse_core::{Result, SparseError};
use sparse_macros::{async_variant, or_panic};

/// The elements of `dense` at the pattern of `mask`, with fill zero. The values of `mask` do not matter and may be of
/// any kind.
///
/// `out[k] = dense[coordinates[k]]`; for a hybrid mask each is a block. Duplicates of the mask count once. Backward:
/// the gradient at the stored positions, zero elsewhere. Cost: one pass over the stored elements. Their positions are
/// kept with the mask's pattern. (PyTorch's `sparse_mask`.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CsrTensor, ops::sparse_mask};
///
/// let device = Device::flex();
/// let mask = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 0.0], [0.0, 1.0]], &device));
/// let out = sparse_mask(Tensor::<2>::from_floats([[5.0, 6.0], [7.0, 8.0]], &device), &mask);
/// assert_eq!(out.values::<1>().into_data().iter::<f32>().collect::<Vec<_>>(), [5.0, 8.0]);
/// ```
///
/// # Errors
///
/// `shape_mismatch`, `unsupported_dtype`, `device_mismatch`.
#[async_variant]
#[or_panic]
pub fn try_sparse_mask<P: Pattern, const D: usize, K: Kind, KM: Kind>(
    dense: Tensor<D, K>,
    mask: &SparseTensor<P, D, KM>,
) -> Result<SparseTensor<P, D, K>> {
    const OP: &str = "sparse_mask";
    if dense.dims() != mask.dims() {
        let (left, right) = (dense.dims().to_vec(), mask.dims().to_vec());
        let rule = "the dense tensor {left} must have the shape {right} of the mask";
        return Err(SparseError::shape_mismatch(OP, rule, left, right));
    }
    if !sparse_burn::is_supported(dense.dtype()) {
        return Err(SparseError::unsupported_dtype(OP, "a sparse tensor", dtype_name(dense.dtype())));
    }
    same_device(OP, &dense.device(), &mask.device())?;
    let pattern = coalesced(&mask.pattern);
    let rows = pattern.shape().iter().product();
    let block = mask.dense_shape.iter().product();
    let values = read_rows(dense.reshape(Exact([rows, block])), &from_dense_map(&pattern));
    Ok(SparseTensor::from_parts(pattern, values, mask.dense_shape.clone(), Fill::Zero))
}

/// The key of a pattern without the elements of another one.
#[derive(PartialEq, Eq)]
struct Without(u64);

/// Patterns as sets of coordinates. The values of `other` do not matter, and its kind may be another. Duplicates on
/// either side are merged first. Results are kept with the patterns, so a loop over fixed patterns computes each once.
impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// The elements that are stored both here and in `other`: the result has the intersection of the patterns. The
    /// other elements are unspecified afterwards and read as the fill, which is kept.
    ///
    /// Backward: kept elements get their gradients. Cost: `O(nnz + nnz of other)`.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `layout_mismatch` (another number of dense dims), `device_mismatch`.
    #[async_variant]
    #[or_panic]
    pub fn try_intersect_with<KM: Kind>(&self, other: &SparseTensor<P, D, KM>) -> Result<Self> {
        same_structure("intersect_with", self, other)?;
        let (own, other) = (self.coalesce(), coalesced(&other.pattern));
        if own.pattern.is_same(&other) {
            return Ok(own);
        }
        let (pattern, [map, _]) = merged(MergeRule::Intersection, &own.pattern, &other);
        Ok(Self::from_parts(pattern, read_rows(own.values, &map), own.dense_shape, own.fill))
    }

    /// The same tensor, stored on the union of both patterns. New elements get the value of the fill, so the dense
    /// equivalent stays.
    ///
    /// Backward: old elements get their gradients, and a tracked fill gets the sum over the new ones. Cost:
    /// `O(nnz + nnz of other)`.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let device = Device::flex();
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 0.0, 3.0]], &device));
    /// let b = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 1.0, 0.0]], &device));
    /// let values = |c: CsrTensor<2>| c.values::<1>().into_data().iter::<f32>().collect::<Vec<_>>();
    /// assert_eq!(values(a.union_with(&b)), [1.0, 0.0, 3.0]);
    /// assert_eq!(values(a.intersect_with(&b)), [1.0]);
    /// assert_eq!(values(a.difference(&b)), [3.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// As [`try_intersect_with`](Self::try_intersect_with); `undefined_fill` if a new element would have no value.
    #[async_variant]
    #[or_panic]
    pub fn try_union_with<KM: Kind>(&self, other: &SparseTensor<P, D, KM>) -> Result<Self> {
        const OP: &str = "union_with";
        same_structure(OP, self, other)?;
        let (own, other) = (self.coalesce(), coalesced(&other.pattern));
        if own.pattern.is_same(&other) {
            return Ok(own);
        }
        let (pattern, [map, _]) = merged(MergeRule::Union, &own.pattern, &other);
        if own.fill.is_undefined() && pattern.nnz() != own.nnz() {
            return Err(SparseError::undefined_fill(OP, "use with_fill to give the new elements a value"));
        }
        let values = move_rows(own.values.clone(), own.fill_row(), &map);
        Ok(Self::from_parts(pattern, values, own.dense_shape, own.fill))
    }

    /// The elements that are stored here and not in `other`. The other elements are unspecified afterwards and read as
    /// the fill, which is kept.
    ///
    /// Backward: kept elements get their gradients. Cost: `O(nnz log(nnz of other))`. The first time, one number is
    /// read from the device.
    ///
    /// # Errors
    ///
    /// As [`try_intersect_with`](Self::try_intersect_with).
    #[async_variant]
    #[or_panic]
    pub fn try_difference<KM: Kind>(&self, other: &SparseTensor<P, D, KM>) -> Result<Self> {
        same_structure("difference", self, other)?;
        let (own, other) = (self.coalesce(), coalesced(&other.pattern));
        if own.nnz() == 0 {
            return Ok(own);
        }
        let (pattern, map) = own.pattern.memo().get(Without(other.memo().id()), || {
            let missing = located(&own.pattern, &other).map().clone().greater_equal_elem(other.nnz() as i64);
            subset(&own.pattern, &kept(missing, own.pattern.index_dtype()))
        });
        Ok(Self::from_parts(pattern, read_rows(own.values, &map), own.dense_shape, own.fill))
    }
}

/// The pattern after a coalesce.
fn coalesced<P: Pattern>(pattern: &P) -> P {
    pattern.coalesce().map_or_else(|| pattern.clone(), |(pattern, _)| pattern)
}
