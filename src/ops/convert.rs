//! COO to CSR and back.

use crate::base::kind::Kind;
use crate::pattern::csr::CsrPattern;
use crate::pattern::layout::Pattern;
use crate::tensor::sparse::{CooTensor, CsrTensor};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

impl<const D: usize, K: Kind> CooTensor<D, K> {
    /// The tensor by compressed rows: duplicates are summed, rows sorted. Rank 2 or 3, no dense dims.
    ///
    /// Cost: nothing but the row pointers for a coalesced tensor, else a [`coalesce`](CooTensor::coalesce).
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if the rank is not 2 or 3, or there are dense dims; `overflow` where the rows or columns of a
    /// batch pass 64 bits; `would_densify` for more rows than [`dense_limit`](crate::dense_limit) of which almost all are
    /// empty, since each needs a pointer.
    #[or_panic]
    pub fn try_to_csr(&self) -> Result<CsrTensor<D, K>> {
        const OP: &str = "to_csr";
        if self.dense_dims() > 0 {
            let (left, right) = (self.dims().to_vec(), vec![self.sparse_dims(), self.dense_dims()]);
            let rule = "CSR must have no dense dims, got shape {left} with [sparse, dense] dims {right}";
            return Err(SparseError::ShapeMismatch { op: OP, rule, left, right });
        }
        CsrPattern::check_shape(OP, self.pattern.shape(), self.nnz())?;
        let merged = self.coalesce();
        let pattern = CsrPattern::from_coordinates(merged.pattern.indices().clone(), merged.pattern.shape(), true);
        Ok(CsrTensor::from_parts(pattern, merged.values, vec![], merged.fill))
    }
}

impl<const D: usize, K: Kind> CsrTensor<D, K> {
    /// The tensor by coordinates, coalesced. Cost: the row pointers are expanded once and kept with the pattern.
    pub fn to_coo(&self) -> CooTensor<D, K> {
        CooTensor::from_parts(self.pattern.to_coo(), self.values.clone(), vec![], self.fill.clone())
    }
}
