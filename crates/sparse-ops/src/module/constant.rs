//! Sparse tensors as constants of a module.

use crate::base::kind::{Kind, dtype_name};
use crate::pattern::layout::Pattern;
use crate::tensor::fill::{Fill, FillValue};
use crate::tensor::sparse::SparseTensor;
use burn::module::{Content, Devices, Module, ModuleDisplay, ModuleDisplayDefault, ModuleMapper, ModuleVisitor};
use burn::tensor::{DType, Device, Tensor};

/// A constant, as Burn's own tensors are: moved with the module, neither optimised nor in its record.
///
/// [`SparseParam`](crate::module::SparseParam) is a parameter.
impl<P: Pattern, const D: usize, K: Kind> Module for SparseTensor<P, D, K> {
    fn visit<V: ModuleVisitor>(&self, _visitor: &mut V) {}

    fn map<M: ModuleMapper>(self, _mapper: &mut M) -> Self {
        self
    }

    fn to_device(self, device: &Device) -> Self {
        SparseTensor::to_device(self, device)
    }

    fn fork(self, device: &Device) -> Self {
        SparseTensor::to_device(self, device)
    }

    fn collect_devices(&self, mut devices: Devices) -> Devices {
        let device = self.device();
        if !devices.contains(&device) {
            devices.push(device);
        }
        devices
    }

    fn materialize(self) -> Self {
        self
    }

    fn valid(&self) -> Self {
        self.with_rows(self.values.clone().inner(), self.fill.map_block(Tensor::inner))
    }

    fn train(self) -> Self {
        let fill = self.fill.map_block(Tensor::from_inner);
        self.with_rows(Tensor::from_inner(self.values.clone()), fill)
    }
}

impl<P: Pattern, const D: usize, K: Kind> ModuleDisplayDefault for SparseTensor<P, D, K> {
    /// Does not read the device.
    fn content(&self, content: Content) -> Option<Content> {
        let shown = describe::<P, K>("SparseTensor", &self.dims(), self.nnz(), self.dtype(), self.fill());
        content.add_formatted(&format!("{shown}}}")).optional()
    }
}

impl<P: Pattern, const D: usize, K: Kind> ModuleDisplay for SparseTensor<P, D, K> {}

/// `Name {layout: CSR, shape: [2, 3], nnz: 4, dtype: f32`, with the fill if it is not zero. The caller closes the
/// brace.
pub(super) fn describe<P: Pattern, K: Kind>(
    name: &str,
    dims: &[usize],
    nnz: usize,
    dtype: DType,
    fill: &Fill<K>,
) -> String {
    let dtype = dtype_name(dtype);
    let head = format!("{name} {{layout: {}, shape: {dims:?}, nnz: {nnz}, dtype: {dtype}", P::LAYOUT);
    match fill {
        Fill::Zero => head,
        // Its numbers are on the device.
        Fill::Value(FillValue::Block(_)) => format!("{head}, fill: a tensor"),
        fill => format!("{head}, fill: {fill}"),
    }
}
