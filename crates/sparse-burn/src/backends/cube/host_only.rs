//! Kernels for CPUs alone: what layers do to dense arrays between products, and attention in one walk. On a GPU callers
//! use Burn's operations, which run on all of it and which fusion can join with their neighbours, or the kernels of the
//! parts. So these come here only if they are called by themselves.

use crate::backend::{Declined, Gpu};
use crate::kernel::{Activate, ActivateBackward, Attend, BiasRelu, DropValues, Matmul, ReluBackward};
use burn_cubecl::tensor::CubeTensor;

macro_rules! on_host {
    ($($Args:ident)*: $out:ty) => {$(
        impl $Args<CubeTensor> {
            pub(crate) fn gpu(self) -> Gpu<$out, Self> {
                Err(Declined::NoKernel(self))
            }
        }
    )*};
}

on_host!(Activate ActivateBackward BiasRelu DropValues Matmul ReluBackward: CubeTensor);
on_host!(Attend: (CubeTensor, Option<CubeTensor>));
