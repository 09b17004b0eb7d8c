//! Softmax within segments. On a GPU it is a chain of other kernels, so these two are not called there.

use crate::backend::{Declined, Gpu};
use crate::kernel::{SegmentSoftmax, SegmentSoftmaxBackward};
use burn_cubecl::tensor::CubeTensor;

impl SegmentSoftmax<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        Err(Declined::NoKernel(self))
    }
}

impl SegmentSoftmaxBackward<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        Err(Declined::NoKernel(self))
    }
}
