//! COO to CSR and back.

use super::blocks::check_layout;
use crate::pattern::{CooPattern, CsrPattern, Pattern, sealed::Sealed};
use crate::tensor::{CooTensor, CsrTensor, Kind, expect};

impl<const D: usize, K: Kind> CooTensor<D, K> {
    /// The tensor by compressed rows: duplicates are summed, rows sorted. Rank 2 or 3, no dense dims.
    ///
    /// Cost: nothing but the row pointers for a coalesced tensor, else a [`coalesce`](CooTensor::coalesce).
    ///
    /// # Panics
    ///
    /// If the rank is not 2 or 3, or there are dense dims; `would_densify` for more rows than
    /// [`dense_limit`](crate::dense_limit) of which almost all are empty, since each needs a pointer.
    pub fn to_csr(&self) -> CsrTensor<D, K> {
        assert!(D == 2 || D == 3, "to_csr: CSR must have rank 2 or 3, got {D}");
        assert!(self.dense_dims() == 0, "to_csr: CSR must have no dense dims, got {}", self.dense_dims());
        expect(check_layout::<CsrPattern>("to_csr", self.pattern.shape(), self.nnz()));
        let merged = self.coalesce();
        let pattern = CsrPattern::from_coo(merged.pattern.clone());
        CsrTensor::from_parts(pattern, merged.values, vec![], merged.fill)
    }
}

impl<const D: usize, K: Kind> CsrTensor<D, K> {
    /// The tensor by coordinates, coalesced. Cost: the row pointers are expanded once and kept with the pattern.
    pub fn to_coo(&self) -> CooTensor<D, K> {
        let pattern: CooPattern = self.pattern.to_coo();
        CooTensor::from_parts(pattern, self.values.clone(), vec![], self.fill.clone())
    }
}
