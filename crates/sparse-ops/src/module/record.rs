//! What visitors and mappers see of a parameter, those of records among them. The entries are listed in
//! [`module`](crate::module#records).
//!
//! Burn's loader of a record compares the shape of each entry with that of the module's own parameter, so it cannot
//! change a length. Here each entry but the values is a parameter that is made for the traversal and holds no tensor
//! yet. The loader fills `layout` first. Its numbers tell the lengths of the following entries, which are then offered
//! with these lengths.

use super::layout::{Layout, from_words, to_words};
use super::param::SparseParam;
use crate::base::index::{index_dtype, read};
use crate::base::kind::dtype_name;
use crate::base::scalar::scalar_f64;
use crate::kernel::Arrays;
use crate::pattern::coo::CooPattern;
use crate::pattern::csr::CsrPattern;
use crate::pattern::layout::{Pattern, Structure};
use crate::tensor::fill::{Fill, FillValue};
use burn::module::{
    Content, Devices, Module, ModuleDisplay, ModuleDisplayDefault, ModuleMapper, ModuleVisitor, Param, ParamId,
};
use burn::tensor::{DType, Device, Int, Shape, Tensor, TensorData};
use sparse_burn::read_data;
use sparse_core::Result;

const OP: &str = "SparseParam";
/// What visitors are told of the kind of module.
const CONTAINER: &str = "Struct:SparseParam";

/// Whether a visitor of modules is inside a sparse parameter: `container` is what `enter_module` tells it. What it
/// visits there are the parts of the pattern, the fill and the values.
pub fn is_sparse_param(container: &str) -> bool {
    container == CONTAINER
}

/// An entry with no tensor yet. `make` gives the module's own when a visitor asks for it.
fn entry<const R: usize>(
    id: ParamId,
    shape: [usize; R],
    device: &Device,
    make: impl FnOnce(&Device) -> Tensor<R, Int> + Send + Sync + 'static,
) -> Param<Tensor<R, Int>> {
    Param::uninitialized(id, move |device, _| make(device), device.clone(), false, Shape::from(shape))
}

/// An entry of a length that the module's own does not have. A mapper that does not fill it finds an empty tensor, so
/// nothing of a declared length is allocated.
fn awaited<const R: usize>(id: ParamId, shape: [usize; R], device: &Device, dtype: DType) -> Param<Tensor<R, Int>> {
    entry(id, shape, device, move |device| Tensor::empty([0; R], (device, dtype)))
}

fn shown<V: ModuleVisitor, const R: usize>(visitor: &mut V, name: &str, entry: &Param<Tensor<R, Int>>) {
    visitor.enter_module(name, CONTAINER);
    visitor.visit_int(entry);
    visitor.exit_module(name, CONTAINER);
}

/// Calls `f` on the mapper at the path of an entry.
fn at<M: ModuleMapper, T>(mapper: &mut M, name: &str, f: impl FnOnce(&mut M) -> T) -> T {
    mapper.enter_module(name, CONTAINER);
    let out = f(mapper);
    mapper.exit_module(name, CONTAINER);
    out
}

/// What a mapper made of an entry; `None` if it left it alone.
fn offered<M: ModuleMapper, const R: usize>(
    mapper: &mut M,
    name: &str,
    entry: Param<Tensor<R, Int>>,
) -> Option<Tensor<R, Int>> {
    let shape = entry.lazy_shape();
    let entry = at(mapper, name, |mapper| mapper.map_int(entry));
    (entry.is_initialized() && entry.val().shape() == shape).then(|| entry.val())
}

/// Tells the loader of a record that this parameter lacks something. The path of a missing entry is the only text that
/// a parameter can add to the loader's error.
fn report<M: ModuleMapper>(mapper: &mut M, what: &str, id: ParamId, device: &Device) {
    let nothing = awaited::<1>(id, [0], device, DType::I32);
    at(mapper, what, |mapper| mapper.map_int(nothing));
}

impl<P: Pattern, const D: usize> SparseParam<P, D> {
    /// The device of the pattern.
    fn plain_device(&self) -> Device {
        self.pattern.device()
    }

    fn layout_entry(&self) -> Param<Tensor<2, Int>> {
        let numbers = Layout::of(self).numbers();
        entry(self.id(), [Layout::LEN, 2], &self.plain_device(), move |device| to_words(&numbers, device))
    }

    fn shape_entry(&self) -> Param<Tensor<2, Int>> {
        let shape = self.dims().map(|size| size as u64);
        entry(self.id(), [D, 2], &self.plain_device(), move |device| to_words(&shape, device))
    }

    /// Row pointers of which those of each matrix start at 0.
    fn row_ptr_entry(&self, row_ptr: Tensor<1, Int>, col_idx: Tensor<1, Int>) -> Param<Tensor<1, Int>> {
        let shape = self.pattern.shape().to_vec();
        let (batch, rows) = shape.split_at(shape.len() - 2);
        let length = batch.iter().product::<usize>() * (rows[0] + 1);
        entry(self.id(), [length], &self.plain_device(), move |_| {
            CsrPattern::new_unchecked(row_ptr, col_idx, &shape).split_row_ptr()
        })
    }

    fn fill_entry(&self) -> Option<Param<Tensor<2, Int>>> {
        let Fill::Value(value) = self.fill.clone() else { return None };
        let length = if let FillValue::Block(block) = &value { block.row().dims()[1] } else { 1 };
        Some(entry(self.id(), [length, 2], &self.plain_device(), move |device| {
            let numbers: Vec<f64> = match value {
                FillValue::Scalar(number) => vec![scalar_f64(number)],
                FillValue::Block(block) => read_data(block.row().clone()).convert::<f64>().iter().collect(),
            };
            to_words(&numbers.into_iter().map(f64::to_bits).collect::<Vec<_>>(), device)
        }))
    }

    /// The sizes of the `rank` dims that a mapper gives.
    fn offered_shape<M: ModuleMapper>(&self, mapper: &mut M, rank: usize) -> Option<Vec<u64>> {
        let shape = match rank {
            _ if rank == D => self.shape_entry(),
            _ => awaited(self.id(), [rank, 2], &self.plain_device(), DType::I32),
        };
        offered(mapper, "shape", shape).map(from_words)
    }

    /// The `count` numbers of the fill that a mapper gives.
    fn offered_fill<M: ModuleMapper>(&self, mapper: &mut M, count: usize) -> Option<Vec<f64>> {
        if count == 0 {
            return Some(vec![]);
        }
        let fill = match self.fill_entry() {
            Some(own) if own.lazy_shape()[0] == count => own,
            _ => awaited(self.id(), [count, 2], &self.plain_device(), DType::I32),
        };
        Some(from_words(offered(mapper, "fill", fill)?).into_iter().map(f64::from_bits).collect())
    }

    /// The pattern that a mapper gives, with `nnz` elements. `None` if it leaves out an array.
    fn offered_pattern<M: ModuleMapper>(&self, mapper: &mut M, nnz: usize) -> Result<Option<P>, String> {
        let (id, device, shape, own_length) = (self.id(), self.plain_device(), self.pattern.shape(), nnz == self.nnz());
        let invalid = |trouble| format!("pattern that is valid ({trouble})");
        match self.pattern.arrays() {
            Arrays::Coo(own) => {
                let size = [shape.len(), nnz];
                let indices = match own_length {
                    true => entry(id, size, &device, move |_| own),
                    false => awaited(id, size, &device, index_dtype(shape, nnz)),
                };
                let Some(indices) = offered(mapper, "indices", indices) else { return Ok(None) };
                let pattern = CooPattern::checked(OP, indices.to_device(&device), shape).map_err(invalid)?;
                Ok(Some(P::from_arrays(pattern.arrays(), shape, pattern.is_coalesced())))
            }
            Arrays::Csr(row_ptr, own) => {
                let Some(row_ptr) = offered(mapper, "row_ptr", self.row_ptr_entry(row_ptr, own.clone())) else {
                    return Ok(None);
                };
                let col_idx = match own_length {
                    true => entry(id, [nnz], &device, move |_| own),
                    false => awaited(id, [nnz], &device, index_dtype(shape, nnz)),
                };
                let Some(col_idx) = offered(mapper, "col_idx", col_idx) else { return Ok(None) };
                let (row_ptr, col_idx) = (row_ptr.to_device(&device), col_idx.to_device(&device));
                let pattern = CsrPattern::checked(OP, row_ptr, col_idx, shape).map_err(invalid)?;
                Ok(Some(P::from_arrays(pattern.arrays(), shape, true)))
            }
        }
    }

    /// The parameter that a mapper gives after the entry `layout`. `None` if it leaves out an entry, which Burn's
    /// loader reports on its own; an error for entries that do not fit this parameter.
    ///
    /// The values come last. So a loader that is refused has an entry left, which is an error even where entries may be
    /// missing.
    fn taken<M: ModuleMapper>(&self, mapper: &mut M, layout: &[u64]) -> Result<Option<Self>, String> {
        let device = self.plain_device();
        let record = Layout::from_numbers(layout).ok_or("layout")?;
        Layout::of(self).check(&record, self.block())?;
        let own_shape = self.dims().map(|size| size as u64);
        let Some(shape) = self.offered_shape(mapper, record.rank as usize) else { return Ok(None) };
        if shape != own_shape {
            return Err(format!("shape {own_shape:?} (the record has {shape:?})"));
        }
        let nnz = record.nnz as usize;
        let Some(pattern) = self.offered_pattern(mapper, nnz)? else { return Ok(None) };
        let Some(fill) = self.offered_fill(mapper, record.fills as usize) else { return Ok(None) };
        let own_pattern = same_arrays(pattern.arrays(), self.pattern.arrays());
        let values = if own_pattern {
            at(mapper, "values", |mapper| Module::map(self.values.clone(), mapper))
        } else if self.values.adapter().is_some() {
            return Err("values without an adapter: the record has another pattern".into());
        } else {
            let Some(values) = self.awaited_values(mapper, nnz) else { return Ok(None) };
            values
        };
        let dtype = values.dtype();
        if !sparse_burn::is_supported(dtype) && !matches!(dtype, DType::QFloat(_)) {
            return Err(format!("values of a supported dtype (the record has {})", dtype_name(dtype)));
        }
        let fill = match record.fill {
            0 => Fill::Zero,
            1 => Fill::Undefined,
            2 => Fill::scalar(fill[0]),
            _ => {
                let dtype = if dtype.is_float() { dtype } else { DType::F32 };
                let row = TensorData::new(fill, [1, record.fills as usize]).convert_dtype(dtype);
                Fill::block(Tensor::from_data(row, (&device, dtype)))
            }
        };
        let pattern = if own_pattern { self.pattern.clone() } else { pattern };
        Ok(Some(Self { values, pattern, dense_shape: self.dense_shape.clone(), fill }))
    }

    /// The values of another pattern that a mapper gives.
    fn awaited_values<M: ModuleMapper>(&self, mapper: &mut M, nnz: usize) -> Option<Param<Tensor<2>>> {
        let (shape, dtype, block) = ([nnz, self.block()], self.dtype(), self.block());
        let values = Param::uninitialized(
            self.id(),
            move |device, _| Tensor::empty([0, block], (device, dtype)),
            self.device(),
            self.values.is_require_grad(),
            Shape::from(shape),
        );
        let values = at(mapper, "values", |mapper| mapper.map_float(values));
        if !values.is_initialized() || values.val().dims() != shape {
            return None;
        }
        // With the own state: whether the values are trained may be suspended by `Module::valid`.
        let (_, _, state) = self.values.clone().consume();
        Some(Param::from_mapped_value(values.id, values.val(), state))
    }

    /// The parameter with its pattern and fill on the device of its values.
    fn settled(self) -> Self {
        let device = self.values.device().inner();
        if self.pattern.device() == device {
            return self;
        }
        Self { pattern: self.pattern.to_device(&device), fill: self.fill.to_device(&device), ..self }
    }
}

fn same_arrays(a: Arrays, b: Arrays) -> bool {
    fn equal<const R: usize>(a: Tensor<R, Int>, b: Tensor<R, Int>) -> bool {
        a.dims() == b.dims() && (a.shape().num_elements() == 0 || read(a.not_equal(b).any().int()) == 0)
    }
    match (a, b) {
        (Arrays::Coo(a), Arrays::Coo(b)) => equal(a, b),
        (Arrays::Csr(ptr_a, col_a), Arrays::Csr(ptr_b, col_b)) => equal(ptr_a, ptr_b) && equal(col_a, col_b),
        _ => false,
    }
}

impl<P: Pattern, const D: usize> Module for SparseParam<P, D> {
    fn visit<V: ModuleVisitor>(&self, visitor: &mut V) {
        shown(visitor, "layout", &self.layout_entry());
        shown(visitor, "shape", &self.shape_entry());
        let (id, device) = (self.id(), self.plain_device());
        match self.pattern.arrays() {
            Arrays::Coo(indices) => shown(visitor, "indices", &entry(id, indices.dims(), &device, move |_| indices)),
            Arrays::Csr(row_ptr, col_idx) => {
                shown(visitor, "row_ptr", &self.row_ptr_entry(row_ptr, col_idx.clone()));
                shown(visitor, "col_idx", &entry(id, col_idx.dims(), &device, move |_| col_idx));
            }
        }
        if let Some(fill) = self.fill_entry() {
            shown(visitor, "fill", &fill);
        }
        visitor.enter_module("values", CONTAINER);
        Module::visit(&self.values, visitor);
        visitor.exit_module("values", CONTAINER);
    }

    fn map<M: ModuleMapper>(self, mapper: &mut M) -> Self {
        let Some(layout) = offered(mapper, "layout", self.layout_entry()).map(from_words) else {
            // Not a record: an optimiser, for example.
            let values = at(mapper, "values", |mapper| Module::map(self.values, mapper));
            return Self { values, ..self }.settled();
        };
        match self.taken(mapper, &layout) {
            Ok(Some(taken)) => taken.settled(),
            Ok(None) => self,
            Err(lacking) => {
                report(mapper, &lacking, self.id(), &self.plain_device());
                self
            }
        }
    }

    fn to_device(self, device: &Device) -> Self {
        let values = Module::to_device(self.values, device);
        Self { values, ..self }.settled()
    }

    fn fork(self, device: &Device) -> Self {
        let values = Module::fork(self.values, device);
        Self { values, ..self }.settled()
    }

    fn collect_devices(&self, devices: Devices) -> Devices {
        Module::collect_devices(&self.values, devices)
    }

    fn materialize(self) -> Self {
        Self { values: Module::materialize(self.values), ..self }
    }

    fn valid(&self) -> Self {
        Self { values: Module::valid(&self.values), ..self.clone() }
    }

    fn train(self) -> Self {
        Self { values: Module::train(self.values), ..self }
    }
}

impl<P: Pattern, const D: usize> ModuleDisplayDefault for SparseParam<P, D> {
    /// Does not read the device.
    fn content(&self, content: Content) -> Option<Content> {
        let line = self.line();
        let shown = match content.display_settings.show_param_id() {
            true => format!("{line}, id: {}}}", self.id()),
            false => format!("{line}}}"),
        };
        content.add_formatted(&shown).optional()
    }

    fn num_params(&self) -> usize {
        Module::num_params(self)
    }
}

impl<P: Pattern, const D: usize> ModuleDisplay for SparseParam<P, D> {}
