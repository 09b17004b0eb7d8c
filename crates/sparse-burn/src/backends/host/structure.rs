//! Validation, coalescing, grouping, and segments.

use super::{index_dtype, list};
use crate::host_tensor::{Given, HostTensor};
use crate::kernel::{
    CastIds, CastInts, Coalesce, Compress, ExpandPtr, Extremes, GroupBy, GroupWith, Scan, ValidateCoo, ValidateCsr,
};
use crate::replay::is_dropped;
use burn::tensor::TensorData;
use sparse_core::dynamic::{IdVec, Ids};
use sparse_core::{Result, dynamic};

#[cfg(feature = "flex")]
use burn::backend::{Flex, ops::IntTensorOps};

impl ValidateCoo<HostTensor> {
    pub(crate) fn host(self) -> Result<bool> {
        let Self { op, indices, shape } = self;
        dynamic::validate_coo(op, &shape, indices.ids(), indices.dims()[1])
    }
}

impl ValidateCsr<HostTensor> {
    pub(crate) fn host(self) -> Result<()> {
        let Self { op, row_ptr, col_idx, rows, cols } = self;
        dynamic::validate_csr(op, rows, cols, row_ptr.ids(), col_idx.ids())
    }
}

impl Coalesce<HostTensor> {
    pub(crate) fn host(self) -> (TensorData, TensorData, TensorData) {
        let Self { indices, shape } = self;
        let (dims, nnz) = (indices.dims()[0], indices.dims()[1]);
        let (unique, order, ptr) = dynamic::coalesce(&shape, indices.ids(), nnz);
        let dtype = index_dtype(&unique);
        (unique.data([dims, ptr.len() - 1], dtype), list(order), list(ptr))
    }
}

impl GroupBy<HostTensor> {
    pub(crate) fn host(self) -> (TensorData, TensorData) {
        let (order, ptr) = dynamic::group_by(self.keys.ids(), self.groups);
        (list(order), list(ptr))
    }
}

impl GroupWith<HostTensor> {
    pub(crate) fn host(self) -> (TensorData, TensorData, TensorData) {
        let (order, ptr, others) = dynamic::group_with(self.keys.ids(), self.others.ids(), self.groups);
        (list(order), list(ptr), list(others))
    }
}

impl Scan<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        list(dynamic::scan(self.counts.ids()))
    }
}

impl ExpandPtr<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let out = match self.ptr.ids() {
            // A run that is dropped read zeros for the pointers.
            Ids::I32(_) if is_dropped() => IdVec::I32(vec![0; self.nnz]),
            Ids::I64(_) if is_dropped() => IdVec::I64(vec![0; self.nnz]),
            ptr => dynamic::expand_ptr(ptr, self.nnz),
        };
        let dtype = index_dtype(&out);
        out.data([self.nnz], dtype)
    }
}

impl CastIds<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        list(dynamic::cast_ids(self.ids.ids()))
    }
}

impl CastInts<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { values, dtype } = self;
        match values {
            HostTensor::Data(data) => data.convert_dtype(dtype),
            #[cfg(feature = "flex")]
            HostTensor::Flex(tensor) => {
                let cast = HostTensor::Flex(Flex::int_cast(tensor, dtype.into()));
                let dims = cast.dims();
                TensorData::from_bytes(cast.into_bytes(), dims, dtype)
            }
        }
    }
}

impl Extremes<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        list(dynamic::extremes(self.ints.ids()))
    }
}

impl Compress<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        list(dynamic::compress(self.ids.ids(), self.groups))
    }
}
