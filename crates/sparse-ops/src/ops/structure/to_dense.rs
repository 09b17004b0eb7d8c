//! Conversion to a dense tensor.

use crate::base::exact::Exact;
use crate::base::kind::Kind;
use crate::base::limits::{check_bytes, dense_limit};
use crate::base::sizes::{cells, check_sizes};
use crate::kernel;
use crate::pattern::layout::Pattern;
use crate::pattern::maps::flat_index;
use crate::rows::{RowMap, move_rows};
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::Tensor;
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// The dense equivalent. A stored element is the sum of its duplicates; every other element is the fill.
    ///
    /// Backward: stored elements and the fill get the gradients of their positions. Cost: the number of elements, and
    /// one index of scratch memory for each block.
    ///
    /// # Errors
    ///
    /// `undefined_fill`; `would_densify` for more elements than [`dense_limit`]; `overflow` if a dim is empty and the
    /// others exceed 64 bits.
    #[or_panic]
    pub fn try_to_dense(&self) -> Result<Tensor<D, K>> {
        self.try_to_dense_within(dense_limit())
    }

    /// [`try_to_dense`](Self::try_to_dense) with `limit` in place of [`dense_limit`].
    ///
    /// # Errors
    ///
    /// `undefined_fill`; `would_densify` past `limit`; `overflow` as [`try_to_dense`](Self::try_to_dense).
    #[or_panic]
    pub fn try_to_dense_within(&self, limit: usize) -> Result<Tensor<D, K>> {
        let larger = "use to_dense_within or set_dense_limit for a larger limit";
        self.dense_within("to_dense", limit, larger)
    }

    /// [`try_to_dense_within`](Self::try_to_dense_within) for another operation, which errors name. `larger` says how
    /// to allow more elements.
    pub(crate) fn dense_within(&self, op: &'static str, limit: usize, larger: &'static str) -> Result<Tensor<D, K>> {
        if self.fill.is_undefined() {
            return Err(SparseError::undefined_fill(op, "use to_dense_or to give the missing elements a value"));
        }
        let elements = self.num_elements();
        if elements > limit as u128 {
            let (what, limit) = ("the dense result", limit as u128);
            return Err(SparseError::WouldDensify { op, what, elements, limit, hint: larger });
        }
        check_bytes(op, "the dense result", elements, self.dtype().size())?;
        check_sizes(op, self.pattern.shape())?;
        if elements == 0 {
            // Strides count an empty dim as one.
            let got = cells(&self.dims().map(|size| size.max(1)));
            if got > i64::MAX as u128 {
                return Err(SparseError::overflow(op, "the product of the dims that are not empty", i64::MAX, got));
            }
            // No value has an element, and the map below has a number for each block all the same.
            if cells(self.pattern.shape()) > limit as u128 {
                return Ok(self.values.clone().reshape(Exact(self.dims())));
            }
        }
        let merged = self.coalesce();
        let map = to_dense_map(&merged.pattern);
        Ok(move_rows(merged.values.clone(), merged.fill_row(), &map).reshape(Exact(self.dims())))
    }

    /// The dense equivalent with `value` for the elements that are not stored, whatever the fill is. To set a limit,
    /// use [`with_fill`](Self::with_fill) and then [`try_to_dense_within`](Self::try_to_dense_within).
    ///
    /// # Errors
    ///
    /// `would_densify`, `overflow` as [`try_to_dense`](Self::try_to_dense).
    #[or_panic]
    pub fn try_to_dense_or(&self, value: impl Into<burn::tensor::Scalar>) -> Result<Tensor<D, K>> {
        let larger = "use with_fill and to_dense_within, or set_dense_limit, for a larger limit";
        self.clone().with_fill(Fill::scalar(value)).dense_within("to_dense_or", dense_limit(), larger)
    }
}

/// The map from every coordinate to its element, with `nnz` where there is none.
fn to_dense_map<P: Pattern>(pattern: &P) -> RowMap {
    let (shape, nnz) = (pattern.shape(), pattern.nnz());
    let elements: usize = shape.iter().product();
    let dtype = sparse_burn::index_dtype_for(elements.max(nnz));
    let device = pattern.device();
    let at = flat_index(pattern, 0..shape.len(), dtype);
    if nnz == 0 {
        return RowMap::with_inverse(Tensor::full([elements], nnz as i64, (&device, dtype)), at);
    }
    // The number of elements before each coordinate is the place of its own, if there is one. (Burn 0.22 assigns by an
    // index with one unit of a GPU.)
    let before = kernel::compress(at.clone(), elements);
    let (places, after) = (before.clone().narrow(0, 0, elements), before.narrow(0, 1, elements));
    let missing = places.clone().equal(after);
    RowMap::with_inverse(places.mask_fill(missing, nnz as i64), at)
}
