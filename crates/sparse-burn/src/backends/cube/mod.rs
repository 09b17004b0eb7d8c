//! CubeCL: CUDA, ROCm, Vulkan, Metal and WebGPU from one source.
//!
//! Every kernel of [`crate::kernel`] has a body here (`gpu`), in the file of its family. A training step over existing
//! patterns and plans reads nothing back. Making a pattern reads one number at a time: whether it is valid, or how many
//! elements it has.
//!
//! A few cases run on the host instead. The first time this is logged, and [`host_fallbacks`] lists the kernels:
//! - element types that the device has no kernels for, and means of integers on a device without i64;
//! - index arrays of 2^31 elements and more whose indices are i32, and arrays that reach beyond the addresses of the
//!   device;
//! - intermediate arrays that are larger than the largest buffer of the device. If a result is, it cannot return to the
//!   device: this is a panic that names the kernel and both sizes.
//!
//! A kernel binds at most 7 buffers besides the one of the sizes, which every device allows.
//!
//! Three cases use the host without a warning: validating an empty pattern, finding the entry that an error names, and
//! the levels of a triangle, which are found once for a pattern.

mod columns;
mod cumsum;
mod extremes;
mod extremum;
mod fallback;
pub mod forced;
mod hardware;
mod host_only;
mod launch;
mod parts;
mod put;
mod reduce;
mod rows;
mod sddmm;
mod softmax;
mod sort;
mod spgemm;
mod structure;
mod triangle;

pub use fallback::host_fallbacks;

use crate::any::AnyTensor;
use crate::backend::{Args, Kernel, Output, SparseBackend};
use crate::host_tensor::{HostAccess, HostTensor};
use crate::kernel_args::KernelValue;
use burn_cubecl::CubeBackend;
use fallback::{gpu_or_host, inner, wrap};

impl HostAccess for CubeBackend {
    fn to_host(tensor: AnyTensor<Self>) -> HostTensor {
        HostTensor::Data(fallback::read(inner(tensor)))
    }
}

impl SparseBackend for CubeBackend {
    fn run<K: Kernel>(args: Args<K, Self>) -> Output<K, Self> {
        <K::Output as KernelValue>::map(gpu_or_host::<K>(K::map(args, &mut inner)), &mut wrap)
    }

    #[cfg(feature = "remote")]
    const GPU: bool = true;
}
