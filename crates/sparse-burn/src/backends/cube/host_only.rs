//! Kernels for CPUs alone: what layers do to dense arrays between products, and attention in one walk. On a GPU callers
//! use Burn's operations, which run on all of it and which fusion can join with their neighbours, or the kernels of the
//! parts. So these come here only if they are called by themselves. Incomplete factors are chains of rows, each of
//! which needs the ones before: they read what they need and run on the host. So do products of two sparse matrices
//! with an extremum in place of the sum.

use crate::backend::{Declined, Gpu};
use crate::kernel::{
    Activate, ActivateBackward, Attend, BiasRelu, DropValues, Factorize, Matmul, ReluBackward, SampledExtremum,
    SampledExtremumBackward, ShiftRows, SortTriangle, SpgemmExtremum, SpgemmExtremumBackward, SpmmMatmul, StepAdam,
};
use crate::kernel_views::RowsView;
use burn_cubecl::tensor::CubeTensor;
use sparse_core::{Result, ShiftedRows, TrianglePlan};

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
on_host!(SampledExtremum SampledExtremumBackward SpgemmExtremum SpgemmExtremumBackward: CubeTensor);
on_host!(Attend SpmmMatmul: (CubeTensor, Option<CubeTensor>));
on_host!(StepAdam: (CubeTensor, CubeTensor, CubeTensor));
on_host!(ShiftRows: Option<ShiftedRows>);
on_host!(SortTriangle: Option<TrianglePlan>);
on_host!(Factorize: Result<(RowsView<CubeTensor>, CubeTensor)>);
