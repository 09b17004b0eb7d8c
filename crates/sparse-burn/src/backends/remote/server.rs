//! The server's side: the custom operations.

use super::wire::{ABOUT, About, MOST, Report, operation};
use crate::any::AnyTensor;
use crate::backend::{Kernel, SparseBackend};
use crate::codec::{Decoder, Encoder, Meta};
use crate::kernel::{Visitor, visit};
use crate::kernel_args::KernelValue;
use burn::backend::{TensorMetadata, get_device_settings};
use burn_ir::{BackendIr, CustomOpIr, HandleContainer, TensorId, TensorIr};
use burn_router::CustomOpRegistry;

type Handles<B> = HandleContainer<<B as BackendIr>::Handle>;

/// Every kernel as a custom operation for a server whose devices are of backend `B`. Each runs the kernel that `B` has.
///
/// # Errors
///
/// An operation panics if the client sends arguments that a kernel cannot have. Burn's server then ends the session of
/// this client and says why in its log.
pub fn registry<B: BackendIr + SparseBackend>() -> CustomOpRegistry<B> {
    struct Fill<B: BackendIr>(CustomOpRegistry<B>);

    impl<B: BackendIr + SparseBackend> Visitor for Fill<B> {
        fn visit<K: Kernel + 'static>(&mut self) {
            self.0.register(&operation(K::NAME), run::<K, B>);
        }
    }

    let mut fill = Fill(CustomOpRegistry::new());
    visit(&mut fill);
    fill.0.register(ABOUT, |handles, op, device| {
        let about = B::to_device(About::own(B::GPU).write(), device);
        register::<B>(handles, op.outputs[0].id, about);
    });
    fill.0
}

/// Runs a kernel.
fn run<K: Kernel, B: BackendIr + SparseBackend>(handles: &mut Handles<B>, op: &CustomOpIr, device: &B::Device) {
    let inputs = op.inputs.iter().map(|input| take::<B>(handles, input, device)).collect();
    let mut decoder = Decoder::new(op.scalars.clone(), inputs);
    let asks: bool = decoder.plain();
    let args = K::decode(&mut decoder);
    decoder.close();
    let out = B::run::<K>(args);

    let (mut encoder, mut tensors) = (Encoder::default(), vec![]);
    K::Output::encode(&out, &mut encoder);
    K::Output::map(out, &mut |tensor| tensors.push(tensor));
    let metas: Vec<Meta> = tensors.iter().map(meta).collect();
    let mut outputs = op.outputs.iter();
    if asks {
        assert!(metas.len() <= MOST, "{}: a result must have at most {MOST} tensors, got {}", K::NAME, metas.len());
        let report = outputs.next().expect("the first output is the report");
        register::<B>(handles, report.id, B::to_device(Report::write(&metas, encoder), device));
    } else {
        let agrees = |(meta, output): (&Meta, &TensorIr)| {
            let bools = meta.dtype.is_bool() && output.dtype.is_bool();
            meta.dims == output.shape.to_vec() && (meta.dtype == output.dtype || bools)
        };
        let inferred = metas.len() == op.outputs.len() && metas.iter().zip(&op.outputs).all(agrees);
        assert!(inferred, "{}: the result must be as inferred, got {metas:?} and {:?}", K::NAME, op.outputs);
    }
    outputs.zip(tensors).for_each(|(output, tensor)| register::<B>(handles, output.id, tensor));
}

fn meta<B: BackendIr>(tensor: &AnyTensor<B>) -> Meta {
    let (dims, dtype) = match tensor {
        AnyTensor::Float(tensor) => (tensor.shape().to_vec(), tensor.dtype()),
        AnyTensor::Int(tensor) => (tensor.shape().to_vec(), tensor.dtype()),
        AnyTensor::Bool(tensor) => (tensor.shape().to_vec(), tensor.dtype()),
    };
    Meta { dims, dtype }
}

/// The tensor of an input.
fn take<B: BackendIr>(handles: &mut Handles<B>, input: &TensorIr, device: &B::Device) -> AnyTensor<B> {
    match input.dtype {
        dtype if dtype.is_float() => AnyTensor::Float(handles.get_float_tensor::<B>(input)),
        dtype if dtype.is_bool() => {
            let tensor = handles.get_bool_tensor::<B>(input);
            if tensor.dtype().is_bool() {
                return AnyTensor::Bool(tensor);
            }
            // Flex gives the results of some operations on Bool as u8. See `of_kind`.
            let settings = get_device_settings::<B>(device);
            let ints = B::bool_into_int(tensor, settings.int_dtype);
            AnyTensor::Bool(B::int_not_equal_elem(ints, 0.into(), settings.bool_dtype))
        }
        _ => AnyTensor::Int(handles.get_int_tensor::<B>(input)),
    }
}

fn register<B: BackendIr>(handles: &mut Handles<B>, id: TensorId, tensor: AnyTensor<B>) {
    match tensor {
        AnyTensor::Float(tensor) => handles.register_float_tensor::<B>(&id, tensor),
        AnyTensor::Int(tensor) => handles.register_int_tensor::<B>(&id, tensor),
        AnyTensor::Bool(tensor) => handles.register_bool_tensor::<B>(&id, tensor),
    }
}
