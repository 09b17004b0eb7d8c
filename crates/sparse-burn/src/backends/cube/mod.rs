//! CubeCL: CUDA, ROCm, Vulkan, Metal and WebGPU from one source.
//!
//! Every kernel of [`crate::kernel`] has a body here (`gpu`). A training step over existing patterns and plans reads nothing back; making a pattern reads
//! at most one number at a time (whether it is valid, how large a merge or a coalesced pattern is). What still goes
//! through the host, and is logged once and listed by [`host_fallbacks`]: dtypes that the device has no kernels for
//! (8-bit integers on WebGPU), means of integers where it has none of 64 bits, arrays of 2^31 elements and more (positions
//! are 32-bit), the gradient of a product whose notes (two numbers for each value) no buffer holds, and sums, products of
//! matrices and gradients where a kernel may bind fewer than 9 buffers (10 for sparse x sparse). Quietly, the validation
//! of patterns without elements and the search for the wrong entry behind an error do.

mod cumsum;
mod extremum;
mod fallback;
mod fusion;
mod gpu;
mod launch;
mod put;
mod reduce;
mod rows;
mod sddmm;
mod sort;
mod spgemm;
mod structure;

pub(crate) use fallback::count_read;
pub use fallback::{device_reads, host_fallbacks};

use crate::any::AnyTensor;
use crate::backend::{Args, Declined, Kernel, Output, SparseBackend, on_host};
use crate::carried::{Carried, Of};
use crate::host_tensor::{HostAccess, HostTensor};
use burn::backend::ops::IntTensorOps;
use burn::tensor::TensorData;
use burn_cubecl::CubeBackend;
use burn_cubecl::tensor::CubeTensor;
use std::convert::identity;

impl HostAccess for CubeBackend {
    fn to_host(tensor: AnyTensor<Self>) -> HostTensor {
        fallback::count_read();
        crate::host_tensor::read::<Self>(tensor)
    }
}

impl SparseBackend for CubeBackend {
    fn run<K: Kernel>(args: Args<K, Self>) -> Output<K, Self> {
        <K::Output as Carried>::map(gpu_or_host::<K>(K::map(args, &mut inner)), &mut wrap)
    }
}

/// Runs a kernel on the device, or on the host where the device has none for these arguments.
fn gpu_or_host<K: Kernel>(args: K::Args<CubeTensor>) -> Of<K::Output, CubeTensor> {
    let args = match K::gpu(args) {
        Ok(out) => return out,
        Err(Declined::NoKernel(args)) => {
            fallback::fallback(K::NAME);
            args
        }
        Err(Declined::Quietly(args)) => args,
    };
    let out = on_host::<K, CubeBackend>(K::map(args, &mut wrap));
    <K::Output as Carried>::map(out, &mut inner)
}

fn inner(tensor: AnyTensor<CubeBackend>) -> CubeTensor {
    let (AnyTensor::Float(tensor) | AnyTensor::Int(tensor) | AnyTensor::Bool(tensor)) = tensor;
    tensor
}

fn wrap(tensor: CubeTensor) -> AnyTensor<CubeBackend> {
    AnyTensor::of_dtype(tensor.dtype, tensor, identity, identity, identity)
}

/// A few numbers of the host, as a tensor like another.
fn upload(list: &[i64], like: &CubeTensor) -> CubeTensor {
    let data = TensorData::new(list.to_vec(), [list.len()]).convert_dtype(like.dtype);
    CubeBackend::int_from_data(data, &like.device)
}
