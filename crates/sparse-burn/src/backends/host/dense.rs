//! What layers do to dense arrays between products.

use super::elements_mut;
use crate::host_tensor::{Given, HostTensor};
use crate::kernel::{
    Activate, ActivateBackward, BiasRelu, CombineColumns, DropValues, PassColumns, ReluBackward, StepAdam,
};
use burn::tensor::TensorData;
use sparse_core::Kept;
use sparse_core::dynamic::{self, ElementVec, Values};

/// The values after `kernel`: in their own memory, unless others use it too.
fn changed(values: HostTensor, kernel: impl FnOnce(Values<'_>) -> Option<ElementVec>) -> TensorData {
    let (shape, dtype) = (values.dims(), values.dtype());
    if values.is_shared() {
        return kernel(Values::Shared(values.elements())).expect("a copy").data(shape, dtype);
    }
    let mut bytes = values.into_bytes();
    kernel(Values::Owned(elements_mut(&mut bytes, dtype)));
    TensorData::from_bytes(bytes, shape, dtype)
}

impl DropValues<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { values, rule } = self;
        changed(values, |values| dynamic::dropout(values, rule))
    }
}

impl BiasRelu<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { values, bias, relu } = self;
        let (width, bias) = (values.dims()[1], bias.as_ref().map(HostTensor::elements));
        changed(values, |values| dynamic::bias_relu(values, width, bias, relu))
    }
}

impl PassColumns<HostTensor> {
    pub(crate) fn host(self) -> Vec<TensorData> {
        let Self { pass, vectors, scales } = self;
        let Some(first) = vectors.first() else { return vec![] };
        let ([systems, rows, width], dtype) = ([0, 1, 2].map(|d| first.dims()[d]), first.dtype());
        let scales: Vec<_> = scales.iter().map(HostTensor::elements).collect();
        // The memory of those that nobody else reads.
        let bytes = |own: HostTensor| (own.dtype(), own.into_bytes());
        let mut lists: Vec<_> =
            vectors.into_iter().map(|own| if own.is_shared() { Err(own) } else { Ok(Some(bytes(own))) }).collect();
        let mut columns = vec![];
        for list in &mut lists {
            columns.push(match list {
                Ok(own) => {
                    let (dtype, bytes) = own.as_mut().expect("not yet taken");
                    Values::Owned(elements_mut(bytes, *dtype))
                }
                Err(own) => Values::Shared(own.elements()),
            });
        }
        let (kept, dots) = dynamic::column_pass(&pass, columns, &scales, [systems, rows, width]);
        let kept = kept.into_iter().map(|own| match own {
            Kept::New(list) => list.data([systems, rows, width], dtype),
            Kept::Over(at) => {
                let (_, bytes) = lists[at].as_mut().ok().and_then(Option::take).expect("a vector is written over once");
                TensorData::from_bytes(bytes, [systems, rows, width], dtype)
            }
        });
        kept.chain(dots.into_iter().map(|list| list.data([systems, 1, width], dtype))).collect()
    }
}

impl CombineColumns<HostTensor> {
    pub(crate) fn host(self) -> Vec<TensorData> {
        let Self { blocks, matrices } = self;
        let Some(first) = blocks.first() else { return vec![] };
        let (rows, dtype) = (first.dims()[0], first.dtype());
        let [left, right] =
            [&blocks, &matrices].map(|list| list.iter().map(|own| (own.elements(), own.dims()[1])).collect::<Vec<_>>());
        let results = dynamic::combine_columns(&left, &right, rows);
        results.into_iter().zip(&right).map(|(list, (_, width))| list.data([rows, *width], dtype)).collect()
    }
}

impl ReluBackward<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { out, grad } = self;
        changed(grad, |grad| dynamic::relu_backward(out.elements(), grad))
    }
}

impl Activate<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { values, how } = self;
        changed(values, |values| dynamic::activate(values, how))
    }
}

impl ActivateBackward<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { x, grad, how } = self;
        changed(grad, |grad| dynamic::activate_backward(x.elements(), grad, how))
    }
}

impl StepAdam<HostTensor> {
    pub(crate) fn host(self) -> (TensorData, TensorData, TensorData) {
        let Self { x, first, second, grad, step } = self;
        let shape = x.dims();
        let mut lists = [first, second, grad].map(|own| {
            let dims = own.dims();
            assert!(dims == shape, "adam_step: all tensors must have the parameter's shape {shape:?}, got {dims:?}");
            (own.dtype(), own.into_bytes())
        });
        let [first, second, grad] = lists.each_mut().map(|(dtype, bytes)| elements_mut(bytes, *dtype));
        dynamic::adam_step(x.elements(), [first, second], grad, step);
        let [first, second, x] = lists.map(|(dtype, bytes)| TensorData::from_bytes(bytes, shape.clone(), dtype));
        (x, first, second)
    }
}
