//! Validation, grouping, compression.

use super::ints;
use crate::dtype::with_index;
use crate::host_tensor::{HostTensor, host_data};
use crate::kernel::{Coalesce, Compress, ExpandPtr, GroupBy, Scan, ValidateCoo, ValidateCsr};
use burn::tensor::TensorData;
use sparse_core::Result;

impl ValidateCoo<HostTensor> {
    pub(crate) fn host(self) -> Result<bool> {
        let Self { op, indices, shape } = self;
        let nnz = indices.dims()[1];
        with_index!(op, indices.dtype(), I => sparse_core::validate_coo::<I>(op, &shape, indices.slice(), nnz))
    }
}

impl ValidateCsr<HostTensor> {
    pub(crate) fn host(self) -> Result<()> {
        let Self { op, row_ptr, col_idx, rows, cols } = self;
        with_index!(op, row_ptr.dtype(), I => {
            sparse_core::validate_csr::<I>(op, rows, cols, row_ptr.slice(), col_idx.slice())
        })
    }
}

impl Coalesce<HostTensor> {
    pub(crate) fn host(self) -> (TensorData, TensorData, TensorData) {
        let Self { indices, shape } = self;
        let (dims, nnz, dtype) = (indices.dims()[0], indices.dims()[1], indices.dtype());
        with_index!("coalesce", dtype, I => {
            let out = sparse_core::coalesce::<I>(&shape, indices.slice(), nnz);
            let (order, ptr) = (out.segments.order, out.segments.ptr);
            let unique = ptr.len() - 1;
            (host_data(out.indices, [dims, unique], dtype), ints(order, dtype), ints(ptr, dtype))
        })
    }
}

impl GroupBy<HostTensor> {
    pub(crate) fn host(self) -> (TensorData, TensorData) {
        let dtype = self.keys.dtype();
        with_index!("group_by", dtype, I => {
            let out = sparse_core::group_by::<I>(self.keys.slice(), self.groups);
            (ints(out.order, dtype), ints(out.ptr, dtype))
        })
    }
}

impl Scan<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let dtype = self.counts.dtype();
        with_index!("scan", dtype, I => ints(sparse_core::scan::<I>(self.counts.slice()), dtype))
    }
}

impl ExpandPtr<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let dtype = self.ptr.dtype();
        with_index!("expand_ptr", dtype, I => {
            host_data(sparse_core::expand_ptr::<I>(self.ptr.slice()), [self.nnz], dtype)
        })
    }
}

impl Compress<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let dtype = self.ids.dtype();
        with_index!("compress", dtype, I => ints(sparse_core::compress::<I>(self.ids.slice(), self.groups), dtype))
    }
}
