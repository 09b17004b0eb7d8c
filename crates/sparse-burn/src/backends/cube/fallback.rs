//! Reads of the device, and kernels that run on the host.

use super::forced;
use super::launch::count;
use crate::any::AnyTensor;
use crate::backend::{Declined, Kernel};
use crate::host_tensor::{HostAccess, data};
use crate::kernel_args::{KernelValue, Of};
use crate::replay;
use burn::tensor::TensorData;
use burn_cubecl::CubeBackend;
use burn_cubecl::tensor::CubeTensor;
use std::collections::BTreeSet;
use std::convert::identity;
use std::sync::Mutex;

static RAN: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());

/// Notes that a kernel runs on the host for tensors of a GPU. The first time this is logged.
fn fallback(kernel: &'static str) {
    // A limit that a test forces says nothing about the device.
    if forced::now().buffer.is_none() && RAN.lock().expect("no panic while it is held").insert(kernel) {
        log::warn!("sparse-burn: {kernel} has no kernel for these tensors on this device and runs on the host");
    }
}

/// The arguments of a kernel, unless the device has no code for them.
pub(super) fn supported<A>(args: A, supports: impl FnOnce(&A) -> bool) -> Result<A, Declined<A>> {
    if supports(&args) { Ok(args) } else { Err(Declined::NoKernel(args)) }
}

/// Runs a kernel on the device, or on the host where the device has none for these arguments.
pub(super) fn gpu_or_host<K: Kernel>(args: K::Args<CubeTensor>) -> Of<K::Output, CubeTensor> {
    let args = match K::gpu(args) {
        Ok(out) => return out,
        Err(Declined::NoKernel(args)) => {
            fallback(K::NAME);
            args
        }
        Err(Declined::Quietly(args)) => args,
    };
    let first = K::first(&args);
    let (device, limit) = (first.device.clone(), first.client.properties().memory.max_page_size);
    let out = K::host(K::map(args, &mut |tensor| {
        // What Burn could not allocate shows when it is read. Nor could the contiguous copy of a broadcast tensor be.
        check_size(K::NAME, "an operand", (count(&tensor) * tensor.dtype.size()) as u64, limit);
        CubeBackend::to_host(wrap(tensor))
    }));
    <K::Output as KernelValue>::map(out, &mut |data| {
        check_size(K::NAME, "a result", data.as_bytes().len() as u64, limit);
        inner(CubeBackend::to_device(data, &device))
    })
}

/// Fails if an operand cannot be read, or a result of the host cannot return to the device.
fn check_size(kernel: &str, what: &str, bytes: u64, limit: u64) {
    assert!(bytes <= limit, "{kernel}: {what} must fit in a buffer of the device, at most {limit} bytes, got {bytes}");
}

pub(super) fn inner(tensor: AnyTensor<CubeBackend>) -> CubeTensor {
    let (AnyTensor::Float(tensor) | AnyTensor::Int(tensor) | AnyTensor::Bool(tensor)) = tensor;
    tensor
}

pub(super) fn wrap(tensor: CubeTensor) -> AnyTensor<CubeBackend> {
    AnyTensor::of_dtype(tensor.dtype, tensor, identity, identity, identity)
}

/// The kernels that ran on the host for a GPU tensor since the program started.
pub fn host_fallbacks() -> Vec<&'static str> {
    RAN.lock().expect("no panic while it is held").iter().copied().collect()
}

/// The data of a tensor of the device.
pub(super) fn read(tensor: CubeTensor) -> TensorData {
    let (shape, dtype) = (tensor.meta.shape().clone(), tensor.dtype);
    replay::read(shape, dtype, data(wrap(tensor)))
}

/// The last of some integers, in one read.
pub(super) fn last(tensor: &CubeTensor) -> i64 {
    let length = count(tensor);
    let end = length - 1..length;
    let one = burn_cubecl::kernel::slice(tensor.clone(), std::slice::from_ref(&end));
    read(one).iter::<i64>().next().expect("one number")
}

#[cfg(test)]
mod tests {
    use super::check_size;

    #[test]
    #[should_panic(expected = "spmm: a result must fit in a buffer of the device, at most 1024 bytes, got 1028")]
    fn results_that_no_buffer_holds_are_errors() {
        check_size("spmm", "a result", 1024, 1024);
        check_size("spmm", "a result", 1028, 1024);
    }
}
