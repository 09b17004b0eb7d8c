//! CubeCL: CUDA, ROCm, Vulkan, Metal and WebGPU from one source.
//!
//! Every kernel of [`crate::kernel`] has a body here (`gpu`). A training step over existing patterns and plans reads
//! nothing back; making a pattern reads at most one number at a time (whether it is valid, how large a merge or a coalesced
//! pattern is). What still goes through the host, and is logged once and listed by [`host_fallbacks`]: dtypes that the
//! device has no kernels for (8-bit integers on WebGPU), means of integers where it has none of 64 bits, arrays of 2^31 elements and more (positions
//! are 32-bit), the gradient of a product whose notes (two numbers for each value) no buffer holds, and sums, products of
//! matrices and gradients where a kernel may bind fewer than 9 buffers (10 for sparse x sparse). Quietly, the validation
//! of patterns without elements and the search for the wrong entry behind an error do.

mod cumsum;
mod extremum;
mod fallback;
pub mod forced;
mod fusion;
mod gpu;
mod hardware;
mod launch;
mod parts;
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
use crate::backend::{Args, Kernel, Output, SparseBackend};
use crate::carried::Carried;
use crate::host_tensor::{HostAccess, HostTensor};
use burn_cubecl::CubeBackend;
use fallback::{gpu_or_host, inner, wrap};

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
