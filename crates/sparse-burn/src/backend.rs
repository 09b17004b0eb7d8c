//! The extension of Burn's backends by sparse kernels.

use crate::any::AnyTensor;
use crate::host_tensor::{HostAccess, HostTensor};
use crate::kernel_args::{KernelValue, Of};
use burn::backend::Dispatch;
use burn::tensor::TensorData;

#[cfg(feature = "remote")]
use crate::codec::{Decoder, Encoder, Meta};
#[cfg(feature = "gpu")]
use burn_cubecl::tensor::CubeTensor;

/// A kernel, as backends know it.
pub trait Kernel {
    /// Its name.
    const NAME: &'static str;

    /// Its arguments with tensors of type `T`.
    type Args<T>;

    /// Its result.
    type Output: KernelValue;

    /// Converts every tensor of the arguments to another type.
    fn map<T, U>(args: Self::Args<T>, f: &mut impl FnMut(T) -> U) -> Self::Args<U>;

    /// One of the tensors.
    fn first<T>(args: &Self::Args<T>) -> &T;

    /// Runs the kernel in host memory.
    fn host(args: Self::Args<HostTensor>) -> Of<Self::Output, TensorData>;

    /// Runs the kernel on a GPU, or returns the arguments if it has no GPU code for them.
    #[cfg(feature = "gpu")]
    fn gpu(args: Self::Args<CubeTensor>) -> Gpu<Of<Self::Output, CubeTensor>, Self::Args<CubeTensor>>;

    /// Adds all arguments but the tensors to an encoder.
    #[cfg(feature = "remote")]
    fn encode<T>(args: &Self::Args<T>, encoder: &mut Encoder);

    /// The arguments that were encoded, with the tensors that came beside them.
    #[cfg(feature = "remote")]
    fn decode<T>(decoder: &mut Decoder<T>) -> Self::Args<T>;

    /// The shapes and the dtypes of the result, where the arguments' tell them. May change the arguments to those for
    /// which this is so.
    #[cfg(feature = "remote")]
    fn infer_output(args: &mut Self::Args<Meta>) -> Option<Of<Self::Output, Meta>>;
}

/// What is known of a kernel's result before it runs. Here nothing is; the arguments of most kernels have a method of
/// this name of their own, which comes first.
#[cfg(feature = "remote")]
pub(crate) trait InferOutput {
    /// The result.
    type Output: KernelValue;

    fn infer_output(&mut self) -> Option<Of<Self::Output, Meta>> {
        None
    }
}

/// A kernel's result on a GPU, or its arguments.
#[cfg(feature = "gpu")]
pub type Gpu<T, A> = Result<T, Declined<A>>;

/// The arguments of a kernel that a GPU did not run. The kernel then runs on the host.
#[cfg(feature = "gpu")]
#[derive(Debug)]
pub enum Declined<A> {
    /// The device has no kernel for them. This is logged once and listed by `host_fallbacks`.
    NoKernel(A),
    /// The host does this part of the work on purpose: patterns without elements, and the search for the entry behind
    /// an error.
    Quietly(A),
}

/// A kernel's arguments on a backend.
pub type Args<K, B> = <K as Kernel>::Args<AnyTensor<B>>;

/// A kernel's result on a backend.
pub type Output<K, B> = Of<<K as Kernel>::Output, AnyTensor<B>>;

/// A backend that runs the kernels.
pub trait SparseBackend: HostAccess {
    /// Runs a kernel, here over host memory.
    fn run<K: Kernel>(args: Args<K, Self>) -> Output<K, Self> {
        on_host::<K, Self>(args)
    }

    /// Whether its devices are GPUs.
    #[cfg(feature = "remote")]
    const GPU: bool = false;
}

/// Reads the arguments to the host, runs the kernel there and writes its result back. On Flex nothing is copied.
pub(crate) fn on_host<K: Kernel, B: HostAccess>(args: Args<K, B>) -> Output<K, B> {
    let device = K::first(&args).device();
    let out = K::host(K::map(args, &mut B::to_host));
    <K::Output as KernelValue>::map(out, &mut |data| B::to_device(data, &device))
}

/// Routes a kernel to the backend of its arguments. Burn's `#[backend_extension]` writes such an impl for methods whose
/// tensors are separate arguments. Here one method serves every kernel.
macro_rules! dispatch {
    ($($(#[$enabled:meta])* $Backend:ident),* $(,)?) => {
        impl SparseBackend for Dispatch {
            fn run<K: Kernel>(args: Args<K, Self>) -> Output<K, Self> {
                let (AnyTensor::Float(first) | AnyTensor::Int(first) | AnyTensor::Bool(first)) = K::first(&args);
                match &first.kind {
                    $($(#[$enabled])* burn::backend::DispatchTensorKind::$Backend(_) => {
                        use burn::backend::{DispatchAutodiffContext, DispatchTensor, DispatchTensorKind};
                        let args = K::map(args, &mut |tensor| match DispatchTensor::from(tensor).kind {
                            DispatchTensorKind::$Backend(tensor) => AnyTensor::<burn::backend::$Backend>::from(tensor),
                            #[allow(unreachable_patterns)]
                            _ => panic!("{}: all tensors must be on one backend, and plain", K::NAME),
                        });
                        let out = <burn::backend::$Backend as SparseBackend>::run::<K>(args);
                        <K::Output as KernelValue>::map(out, &mut |tensor: AnyTensor<burn::backend::$Backend>| {
                            let kind = DispatchTensorKind::$Backend(tensor.into());
                            DispatchTensor { kind, autodiff: DispatchAutodiffContext::Disabled }.into()
                        })
                    })*
                    #[allow(unreachable_patterns)]
                    _ => panic!("{}: tensors must be plain ones of a backend that has sparse kernels", K::NAME),
                }
            }
        }
    };
}

dispatch!(
    #[cfg(feature = "flex")]
    Flex,
    #[cfg(feature = "ndarray")]
    NdArray,
    #[cfg(feature = "gpu")]
    Cube,
    #[cfg(feature = "remote")]
    Remote,
);
