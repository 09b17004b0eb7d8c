//! What layers do to dense arrays between products. On a GPU callers use Burn's operations, which run on all of it and
//! which fusion can join with their neighbours. So these kernels come here only if they are called by themselves.

use crate::backend::{Declined, Gpu};
use crate::kernel::{Activate, ActivateBackward, BiasRelu, DropValues, Matmul, ReluBackward};
use burn_cubecl::tensor::CubeTensor;

macro_rules! on_host {
    ($($Args:ident)*) => {$(
        impl $Args<CubeTensor> {
            pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
                Err(Declined::NoKernel(self))
            }
        }
    )*};
}

on_host!(Activate ActivateBackward BiasRelu DropValues Matmul ReluBackward);
