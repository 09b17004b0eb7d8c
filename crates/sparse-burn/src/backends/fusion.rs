//! Burn's fusion. If any crate of a build enables it, the Cube of Dispatch is `Fusion<CubeBackend>`, and its Remote is
//! `Fusion<BackendRouter<RemoteChannel>>`.
//!
//! Every kernel runs on the inner backend. First the queued operations are launched, without a read. Then the kernel
//! runs, and its results enter the queue as initialised tensors.

use crate::any::AnyTensor;
use crate::backend::{Args, Kernel, Output, SparseBackend};
use crate::host_tensor::HostAccess;
use crate::kernel_args::KernelValue;
use burn::backend::{BackendTypes, TensorMetadata};
use burn_fusion::custom::OperationIr;
use burn_fusion::stream::StreamId;
use burn_fusion::{Fusion, FusionBackend, FusionHandle, FusionTensor, NoOp, get_client};
use burn_ir::InitOperationIr;

impl<B: FusionBackend> HostAccess for Fusion<B> {}

impl<B: FusionBackend + SparseBackend> SparseBackend for Fusion<B> {
    fn run<K: Kernel>(args: Args<K, Self>) -> Output<K, Self> {
        let out = B::run::<K>(K::map(args, &mut enter));
        <K::Output as KernelValue>::map(out, &mut leave)
    }

    #[cfg(feature = "remote")]
    const GPU: bool = B::GPU;
}

/// The inner backend's tensor.
fn enter<B: FusionBackend>(tensor: AnyTensor<Fusion<B>>) -> AnyTensor<B> {
    match tensor {
        AnyTensor::Float(tensor) => AnyTensor::Float(tensor.client.clone().resolve_tensor_float::<B>(tensor)),
        AnyTensor::Int(tensor) => AnyTensor::Int(tensor.client.clone().resolve_tensor_int::<B>(tensor)),
        AnyTensor::Bool(tensor) => AnyTensor::Bool(tensor.client.clone().resolve_tensor_bool::<B>(tensor)),
    }
}

fn leave<B: FusionBackend>(tensor: AnyTensor<B>) -> AnyTensor<Fusion<B>> {
    match tensor {
        AnyTensor::Float(tensor) => AnyTensor::Float(ready::<B, _>(tensor, B::float_tensor_handle)),
        AnyTensor::Int(tensor) => AnyTensor::Int(ready::<B, _>(tensor, B::int_tensor_handle)),
        AnyTensor::Bool(tensor) => AnyTensor::Bool(ready::<B, _>(tensor, B::bool_tensor_handle)),
    }
}

/// An initialised tensor, registered with the queue.
fn ready<B: FusionBackend, T: TensorMetadata<Device = <B as BackendTypes>::Device>>(
    tensor: T,
    handle: impl FnOnce(T) -> FusionHandle<B::FusionRuntime>,
) -> FusionTensor<B::FusionRuntime> {
    let client = get_client::<B>(&tensor.device());
    let (shape, dtype) = (tensor.shape(), tensor.dtype());
    let handle = handle(tensor);
    let desc = InitOperationIr::create(shape, dtype, || client.register_tensor_handle(handle));
    let mut outputs = client.register(StreamId::current(), OperationIr::Init(desc), NoOp::<B>::new());
    outputs.pop().expect("an initialisation has one output")
}
