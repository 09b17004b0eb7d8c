//! COO to CSR and back.

use crate::base::kind::Kind;
use crate::pattern::csr::CsrPattern;
use crate::pattern::layout::{Pattern, Structure};
use crate::tensor::sparse::{CooTensor, CsrTensor};
use sparse_core::Result;
use sparse_macros::or_panic;

/// Key of the pattern in compressed rows.
#[derive(PartialEq, Eq)]
struct AsCsr;

/// Key of the pattern as coordinates.
#[derive(PartialEq, Eq)]
struct AsCoo;

impl<const D: usize, K: Kind> CooTensor<D, K> {
    /// Converts to compressed rows: duplicates are summed and rows are sorted. For 2 or 3 sparse dims, and any dense
    /// dims.
    ///
    /// The values move with their elements. A list in the order of this tensor's elements, such as attributes of edges,
    /// does not: [`coalesce_plan`](Self::coalesce_plan) brings it into the order of the result.
    ///
    /// Cost: only the row pointers for a coalesced tensor, otherwise a [`coalesce`](CooTensor::coalesce) first. The
    /// pattern of the result is kept with this one.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if there are not 2 or 3 sparse dims; `overflow` if the rows or columns of a batch exceed 64
    /// bits; `would_densify` for more than [the limit](crate::Limits) of rows that are almost all empty, since
    /// each row needs a pointer.
    #[or_panic]
    pub fn try_to_csr(&self) -> Result<CsrTensor<D, K>> {
        self.csr_for("to_csr")
    }

    /// [`try_to_csr`](Self::try_to_csr) for another operation, which errors name.
    pub(crate) fn csr_for(&self, op: &'static str) -> Result<CsrTensor<D, K>> {
        // What is held: indices and values.
        let held = self.nnz().saturating_mul(self.sparse_dims() + self.block());
        CsrPattern::check_shape(op, self.pattern.shape(), held)?;
        let merged = self.coalesce();
        let pattern = merged.pattern.memo().get(AsCsr, || {
            CsrPattern::from_coordinates(merged.pattern.indices().clone(), merged.pattern.shape(), true)
        });
        Ok(CsrTensor::from_parts(pattern, merged.values, merged.dense_shape, merged.fill))
    }
}

impl<const D: usize, K: Kind> CsrTensor<D, K> {
    /// Converts to coordinates; the result is coalesced. Cost: the row pointers are expanded once. The pattern of
    /// the result is kept with this one.
    pub fn to_coo(&self) -> CooTensor<D, K> {
        let pattern = self.pattern.memo().get(AsCoo, || self.pattern.to_coo());
        CooTensor::from_parts(pattern, self.values.clone(), self.dense_shape.clone(), self.fill.clone())
    }
}
