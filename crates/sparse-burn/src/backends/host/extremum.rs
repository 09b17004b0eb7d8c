//! Sparse x dense with an extremum, and its gradients.

use crate::host_tensor::{Given, HostTensor};
use crate::kernel::{ExtremumColsBackward, ExtremumRowsBackward, SpmmExtremum};
use burn::tensor::TensorData;
use sparse_core::dynamic;

impl SpmmExtremum<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { extremum, term, view, values, dense } = self;
        let (shape, dtype) = ([view.ptr.dims()[0] - 1, dense.dims()[1]], dense.dtype());
        let heads = values.dims()[1];
        let (values, dense) = (values.elements(), dense.elements());
        dynamic::spmm_extremum((extremum, term), view.slices(), values, dense, heads, shape[1]).data(shape, dtype)
    }
}

impl ExtremumRowsBackward<HostTensor> {
    pub(crate) fn host(self) -> (TensorData, Option<TensorData>) {
        let Self { term, view, reads: [values, dense, out], grad, need_values, .. } = self;
        let (shape, own, dtype) = (grad.dims(), values.dims(), grad.dtype());
        let reads = [&values, &dense, &out, &grad].map(HostTensor::elements);
        let pattern = (view.ptr.ids(), view.idx.ids());
        let (shares, grads) = dynamic::extremum_rows_backward(term, pattern, reads, own[1], shape[1], need_values);
        (shares.data(shape, dtype), grads.map(|grads| grads.data(own, dtype)))
    }
}

impl ExtremumColsBackward<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { term, view, reads: [values, dense, out], shares } = self;
        let (shape, heads, dtype) = (dense.dims(), values.dims()[1], dense.dtype());
        let reads = [&values, &dense, &out, &shares].map(HostTensor::elements);
        dynamic::extremum_cols_backward(term, view.slices(), reads, heads, shape[1]).data(shape, dtype)
    }
}
