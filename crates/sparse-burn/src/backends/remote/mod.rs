//! Burn Remote: a backend whose tensors are those of a server.
//!
//! A kernel is one custom operation of the server. It is sent the ids of the tensors and the plain arguments, and runs
//! the kernel of its own backend. Nothing is read where [`infer_output`] knows the shapes of the results. Otherwise the
//! server writes them into a small tensor, which is read. Only an error is found here, by the default body: it reads
//! the arguments.

mod infer_output;
pub(crate) mod server;
pub(crate) mod wire;

use crate::any::AnyTensor;
use crate::backend::{Args, Kernel, Output, SparseBackend, on_host};
use crate::codec::{Decoder, Encoder, Meta, Plain};
use crate::host_tensor::{HostAccess, HostTensor};
use crate::kernel_args::{KernelValue, Of};
use crate::replay;
use burn::backend::{ExecutionError, TensorMetadata};
use burn::tensor::{DType, Shape, TensorData};
use burn_ir::{CustomOpIr, OperationIr, ScalarIr, TensorIr, TensorStatus};
use burn_remote::{RemoteChannel, RemoteDevice};
use burn_router::{BackendRouter, Client, RouterClient, RouterTensor, get_client};
use burn_std::device::{Device, DeviceId};
use std::cell::Cell;
use std::convert::identity;
use std::sync::Mutex;
use wire::{ABOUT, About, ENTRIES, MOST, Report, operation};

type Remote = BackendRouter<RemoteChannel>;
type RemoteClient = Client<RemoteChannel>;
type Handle = RouterTensor<RemoteClient>;

thread_local! {
    static DEFAULT_BODIES: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f` with the default bodies in place of the custom operations: every kernel that this thread calls reads its
/// arguments, runs here and writes its result. For measurements.
pub fn with_default_bodies<R>(f: impl FnOnce() -> R) -> R {
    struct End(bool);
    impl Drop for End {
        fn drop(&mut self) {
            DEFAULT_BODIES.set(self.0);
        }
    }
    let _end = End(DEFAULT_BODIES.replace(true));
    f()
}

impl HostAccess for Remote {
    fn to_host(tensor: AnyTensor<Self>) -> HostTensor {
        let tensor = inner(tensor);
        let (shape, dtype, client) = (tensor.shape(), tensor.dtype(), tensor.client.clone());
        let data = async move { readable(&client.device(), client.read_tensor_async(tensor.into_ir()).await) };
        HostTensor::Data(replay::read(shape, dtype, data))
    }
}

impl SparseBackend for Remote {
    fn run<K: Kernel>(args: Args<K, Self>) -> Output<K, Self> {
        if DEFAULT_BODIES.get() {
            return on_host::<K, Self>(args);
        }
        let (AnyTensor::Float(first) | AnyTensor::Int(first) | AnyTensor::Bool(first)) = K::first(&args);
        let client = first.client.clone();
        let device = client.device();
        ask(&device).unwrap_or_else(|trouble| panic!("{}: {trouble}", K::NAME));
        let mut tensors = vec![];
        let mut metas = K::map(args, &mut |tensor| {
            let tensor = inner(tensor);
            assert!(tensor.client.device() == device, "{}: all tensors must be on one device", K::NAME);
            let meta = Meta { dims: tensor.shape().to_vec(), dtype: tensor.dtype() };
            tensors.push(tensor);
            meta
        });
        let inferred = K::infer_output(&mut metas);
        let mut encoder = Encoder::default();
        inferred.is_none().put(&mut encoder.numbers);
        K::encode(&metas, &mut encoder);
        let call = Call { client, id: operation(K::NAME), scalars: encoder.numbers };
        if let Some(out) = inferred {
            return call.send::<K::Output>(tensors, out);
        }
        // An error is made here, from the arguments.
        let kept = if K::Output::FAILS { tensors.clone() } else { vec![] };
        let Some(mut answer) = call.ask(tensors) else {
            let mut kept = kept.into_iter();
            return on_host::<K, Self>(K::map(metas, &mut |_| {
                wrap(kept.next().expect("the tensors of the arguments"))
            }));
        };
        let out = K::Output::decode(&mut answer);
        answer.close();
        out
    }
}

/// A custom operation without its tensors.
struct Call {
    client: RemoteClient,
    id: String,
    scalars: Vec<ScalarIr>,
}

impl Call {
    /// Sends it. Its result looks like `out`.
    fn send<C: KernelValue>(self, tensors: Vec<Handle>, out: Of<C, Meta>) -> Of<C, AnyTensor<Remote>> {
        let mut outputs = vec![];
        let client = self.client.clone();
        let out = C::map(out, &mut |Meta { dims, dtype }| {
            let (id, shape) = (client.create_empty_handle(), Shape::from(dims));
            outputs.push(TensorIr::uninit(id, shape.clone(), dtype));
            wrap(RouterTensor::new(id, shape, dtype, client.clone()))
        });
        if !outputs.is_empty() {
            self.register(tensors, outputs);
        }
        out
    }

    /// Sends it and reads what its result looks like; `None` for an error.
    fn ask(self, tensors: Vec<Handle>) -> Option<Decoder<AnyTensor<Remote>>> {
        let client = self.client.clone();
        let report = TensorIr::uninit(client.create_empty_handle(), Shape::from([ENTRIES]), DType::I32);
        // If the read unwinds (`without_blocking`), they are dropped, and the server drops its tensors.
        let places: [Handle; MOST] = std::array::from_fn(|_| {
            RouterTensor::new(client.create_empty_handle(), Shape::from([0]), DType::I32, client.clone())
        });
        let outputs = places.iter().map(|place| TensorIr::uninit(place.id(), Shape::from([0]), DType::I32));
        self.register(tensors, [report.clone()].into_iter().chain(outputs).collect());
        let answer = client.read_tensor_async(TensorIr { status: TensorStatus::ReadWrite, ..report });
        let device = client.device();
        let data = async move { readable(&device, answer.await) };
        let report = Report::read(&replay::read(Shape::from([ENTRIES]), DType::I32, data));
        // The server has no more of these than the report has. Their representation is not dropped there.
        let ids = places.map(|place| place.into_ir().id);
        let Report { metas, numbers } = report?;
        let tensors = ids
            .into_iter()
            .zip(metas)
            .map(|(id, Meta { dims, dtype })| wrap(RouterTensor::new(id, Shape::from(dims), dtype, client.clone())));
        Some(Decoder::new(numbers, tensors.collect()))
    }

    fn register(self, tensors: Vec<Handle>, outputs: Vec<TensorIr>) {
        let Self { client, id, scalars } = self;
        let inputs = tensors.into_iter().map(RouterTensor::into_ir).collect();
        client.register_op(OperationIr::Custom(CustomOpIr { id, inputs, outputs, scalars }));
    }
}

fn inner(tensor: AnyTensor<Remote>) -> Handle {
    let (AnyTensor::Float(tensor) | AnyTensor::Int(tensor) | AnyTensor::Bool(tensor)) = tensor;
    tensor
}

fn wrap(tensor: Handle) -> AnyTensor<Remote> {
    AnyTensor::of_dtype(tensor.dtype(), tensor, identity, identity, identity)
}

/// What was read.
///
/// # Panics
///
/// If the session has ended.
fn readable(device: &RemoteDevice, data: Result<TensorData, ExecutionError>) -> TensorData {
    data.unwrap_or_else(|trouble| panic!("{}", ended(device, &trouble)))
}

fn ended(device: &RemoteDevice, trouble: &ExecutionError) -> String {
    format!(
        "remote: the session with the server of {device:?} must be open, got {trouble}; the server stopped, or an \
         operation failed there and its log says why"
    )
}

/// What the servers of devices tell about themselves.
static KNOWN: Mutex<Vec<(DeviceId, About)>> = Mutex::new(vec![]);

/// What the server of a device tells about itself. It is asked once.
pub(crate) fn ask(device: &RemoteDevice) -> Result<About, String> {
    const HELD: &str = "no panic while it is held";
    let id = device.to_id();
    if let Some((_, known)) = KNOWN.lock().expect(HELD).iter().find(|(known, _)| *known == id) {
        return Ok(*known);
    }
    let client = get_client::<RemoteChannel>(device);
    let report = TensorIr::uninit(client.create_empty_handle(), Shape::from([ENTRIES]), DType::I32);
    let outputs = vec![report.clone()];
    let op = CustomOpIr { id: ABOUT.into(), inputs: vec![], outputs, scalars: vec![] };
    client.register_op(OperationIr::Custom(op));
    let answer = client.read_tensor_async(TensorIr { status: TensorStatus::ReadWrite, ..report });
    let data = replay::wait(answer).map_err(|trouble| {
        format!(
            "the server of {device:?} must run and have sparse kernels (`sparse_tensor::remote::server`), got {trouble}"
        )
    })?;
    let about = About::read(&data);
    about.check().map_err(|trouble| format!("{trouble}, at {device:?}"))?;
    KNOWN.lock().expect(HELD).push((id, about));
    Ok(about)
}

/// Whether a device of a server is a GPU.
///
/// # Panics
///
/// If the server is not there, or has other kernels.
pub(crate) fn is_gpu(device: &RemoteDevice) -> bool {
    ask(device).unwrap_or_else(|trouble| panic!("remote: {trouble}")).gpu
}
