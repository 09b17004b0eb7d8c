//! The gradients of a put. All except those of products have two steps: the share of each cell, where its values are
//! counted or compared, and one unit for each value that reads the share of its cell.

use super::super::launch::{accumulated, arg, dividend, divides, empty, flat, hardware, holds, launch, runs, stored};
use super::strategy::{Problem, array_len, positions, strategy, values_len, vectors};
use super::{How, Stage, Stages, accumulator, group, holds_groups, is_nothing, reduce_cells, sizes_of};
use crate::backend::{Declined, Gpu};
use crate::kernel::PutBackward;
use crate::options::PutTarget;
use burn::backend::DType;
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;
use kernels::{Chosen, Product};
use sparse_core::Reduce;

mod kernels {
    pub use super::super::gradients::*;
    pub use super::super::product::*;
}

impl PutBackward<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<[Option<CubeTensor>; 2], Self> {
        let Self { put, grad, record, reads, needs } = self;
        let (target, reduce) = (put.target, put.reduce);
        if is_nothing(&target) {
            return Ok(nothing_backward(grad, &target, needs));
        }
        let native = runs(reads.iter().flatten().chain([&grad, &put.index]))
            && divides(&grad, positions(&target))
            && (record.is_some() || holds_groups(&put))
            && holds_gradients(&grad, &target, reduce, needs);
        if !native {
            // The host cannot read a record of the device.
            return Err(Declined::NoKernel(Self { put, grad, record: None, reads, needs }));
        }
        let groups = record.or(put.groups).unwrap_or_else(|| group(put.index.clone(), &target));
        let backward = Backward {
            index: flat(put.index),
            groups,
            grad: flat(grad),
            reads: reads.map(|read| read.map(flat)),
            target,
            reduce,
            include_self: put.include_self,
            needs,
        };
        Ok(backward.run())
    }
}

/// Gradients if there are no values or no target elements.
fn nothing_backward(grad: CubeTensor, target: &PutTarget, needs: [bool; 2]) -> [Option<CubeTensor>; 2] {
    let (device, dtype) = (grad.device.clone(), grad.dtype);
    let arr_grad = needs[0].then(|| listed(flat(grad), target));
    [arr_grad, needs[1].then(|| zeros(device, [values_len(target)].into(), dtype))]
}

/// A contiguous gradient of the array as a list.
fn listed(grad: CubeTensor, target: &PutTarget) -> CubeTensor {
    burn_cubecl::ops::reshape(grad, [array_len(target)].into())
}

/// Whether the device can hold the gradients of the values and, for each value, the two numbers that a product notes,
/// or for each cell the number of ties.
fn holds_gradients(grad: &CubeTensor, target: &PutTarget, reduce: Reduce, needs: [bool; 2]) -> bool {
    let values = values_len(target);
    let extra = match reduce {
        Reduce::Mul => hardware(grad).holds(product_notes(grad, target, needs[1]).1, wide(grad.dtype).size()),
        Reduce::Amax | Reduce::Amin => holds(grad, array_len(target), DType::U32),
        _ => true,
    };
    extra && (!needs[1] || holds(grad, values, grad.dtype))
}

/// The type of the numbers that a product's gradient notes.
fn wide(dtype: DType) -> DType {
    accumulator(dtype, Reduce::Mul)
}

/// A reduction of all values of each cell.
fn problem(grad: &CubeTensor, target: &PutTarget) -> Problem {
    Problem { target: *target, bytes: grad.dtype.size().max(wide(grad.dtype).size()), reads_all: true }
}

/// Where the notes of a product's chunks start after those of its values, in vectors, and the numbers of all notes.
fn product_notes(grad: &CubeTensor, target: &PutTarget, of_values: bool) -> (usize, usize) {
    let problem = problem(grad, target);
    let strategy = strategy(&problem, &hardware(grad)).forced(&problem);
    let values = if of_values { values_len(target).saturating_mul(2) } else { 0 };
    (values / strategy.vector, values.saturating_add(4 * strategy.notes() * strategy.vector))
}

/// Arguments of a gradient that are contiguous. `reads` are the array, the values and the result. Each is given if the
/// gradient reads it.
struct Backward {
    index: CubeTensor,
    groups: (CubeTensor, CubeTensor),
    grad: CubeTensor,
    reads: [Option<CubeTensor>; 3],
    target: PutTarget,
    reduce: Reduce,
    include_self: bool,
    needs: [bool; 2],
}

impl Backward {
    fn run(&self) -> [Option<CubeTensor>; 2] {
        if self.reduce == Reduce::Mul {
            let stages = Stages::of(&self.groups, &problem(&self.grad, &self.target));
            let of_arr = || if self.include_self { self.product(&stages, false) } else { self.kept() };
            return [self.needs[0].then(of_arr), self.needs[1].then(|| self.product(&stages, true))];
        }
        let (shares, own, chosen) = match self.reduce {
            Reduce::Amax | Reduce::Amin => {
                let (shares, own) = self.tie_shares();
                (shares, own, Chosen::Tied)
            }
            Reduce::Mean => (self.mean_shares(), None, Chosen::All),
            Reduce::Assign => (self.grad.clone(), None, Chosen::Last),
            _ => (self.grad.clone(), None, Chosen::All),
        };
        let arr_grad = self.needs[0].then(|| match own {
            Some(own) => own,
            None if self.include_self && chosen == Chosen::All => listed(shares.clone(), &self.target),
            None => self.kept(),
        });
        [arr_grad, self.needs[1].then(|| self.values_grad(&shares, chosen))]
    }

    /// Elements of a vector.
    fn vector(&self) -> usize {
        let problem = problem(&self.grad, &self.target);
        vectors(&self.target, problem.bytes, &hardware(&self.grad)).0
    }

    /// The tensors that a launch over the array is for, and vectors of the array.
    fn over_cells(&self) -> (usize, usize, (&CubeTensor, usize)) {
        let vector = self.vector();
        (vector, array_len(&self.target) / vector, (&self.grad, dividend(positions(&self.target))))
    }

    /// The gradient of an array whose elements are not among the values.
    fn kept(&self) -> CubeTensor {
        let ((vector, units, tensors), ptr) = (self.over_cells(), &self.groups.1);
        let (out, sizes) =
            (empty(&self.grad, [array_len(&self.target)], self.grad.dtype), sizes_of(&self.target, vector));
        let ([p, g, o], types) = ([ptr, &self.grad, &out].map(arg), [self.grad.dtype, ptr.dtype].map(stored));
        launch!(kept, tensors, units, (vector, p, g, o, sizes, units, self.target.along_axis), types);
        out
    }

    fn mean_shares(&self) -> CubeTensor {
        let ((vector, units, tensors), ptr) = (self.over_cells(), &self.groups.1);
        let (out, sizes) =
            (empty(&self.grad, [array_len(&self.target)], self.grad.dtype), sizes_of(&self.target, vector));
        let [p, g, o] = [ptr, &self.grad, &out].map(arg);
        let types = [stored(self.grad.dtype), accumulated(self.grad.dtype), stored(ptr.dtype)];
        let (along, own) = (self.target.along_axis, self.include_self);
        launch!(mean_shares, tensors, units, (vector, p, g, o, sizes, units, along, own), types);
        out
    }

    /// The share of each tie, and the gradient of the array if it is needed.
    fn tie_shares(&self) -> (CubeTensor, Option<CubeTensor>) {
        let (vector, units, tensors) = self.over_cells();
        let [arr, values, result] = self.reads.each_ref().map(|read| read.as_ref().unwrap_or(&self.grad));
        let how = How { reduce: self.reduce, include_self: false, ties: true, float: true };
        let stages = Stages::of(&self.groups, &problem(&self.grad, &self.target));
        let ties = reduce_cells(&stages, result, values, how, [DType::U32; 2]);
        let [shares, own] = [true, self.needs[0]]
            .map(|needed| empty(&self.grad, [if needed { array_len(&self.target) } else { vector }], self.grad.dtype));
        let [t, g, a, y, s, o] = [&ties, &self.grad, arr, result, &shares, &own].map(arg);
        let types = [stored(self.grad.dtype), accumulated(self.grad.dtype)];
        let (include, needs) = (self.include_self, self.needs[0]);
        launch!(tie_shares, tensors, units, (vector, t, g, a, y, s, o, units, include, needs), types);
        (shares, needs.then_some(own))
    }

    /// The gradient of each value, given the share of its cell.
    fn values_grad(&self, shares: &CubeTensor, chosen: Chosen) -> CubeTensor {
        let ((vector, ..), (order, ptr)) = (self.over_cells(), &self.groups);
        let [_, values, result] = self.reads.each_ref().map(|read| read.as_ref().unwrap_or(shares));
        let out = empty(&self.grad, [values_len(&self.target)], self.grad.dtype);
        let (units, sizes) = (values_len(&self.target) / vector, sizes_of(&self.target, vector));
        let [i, r, p, s, v, y, o] = [&self.index, order, ptr, shares, values, result, &out].map(arg);
        let (kind, position, given) = (self.grad.dtype, stored(ptr.dtype), stored(self.index.dtype));
        let types = [stored(kind), accumulated(kind), position, given];
        let (tensors, along) = (([shares, &out], dividend(positions(&self.target))), self.target.along_axis);
        launch!(put_backward, tensors, units, (vector, i, r, p, s, v, y, o, sizes, units, along, chosen), types);
        out
    }

    /// The gradient of the values, or of the array, of a product.
    fn product(&self, stages: &Stages, of_values: bool) -> CubeTensor {
        let (dtype, vector, index) = (self.grad.dtype, stages.vector, stages.order.dtype);
        let length = if of_values { values_len(&self.target) } else { array_len(&self.target) };
        let (tail, notes) = product_notes(&self.grad, &self.target, of_values);
        let (out, before) = (empty(&self.grad, [length], dtype), empty(&self.grad, [notes.max(vector)], wide(dtype)));
        let [arr, values, _] = self.reads.each_ref().map(|read| read.as_ref().unwrap_or(&self.grad));
        // Steps that bring any number of the type into the range of `scaled`.
        let steps = if dtype == DType::F64 { 17 } else { 2 };
        let how = Product { include_self: self.include_self, of_values, steps };
        let types = [stored(dtype), accumulated(dtype), stored(index)];
        let tensors = ([values, &out, &before], dividend(positions(&self.target)));
        if let (Some(chunks), Some(fold)) = (&stages.chunks, &stages.fold) {
            let ([v, b], cells, share) = ([values, &before].map(arg), stages.cells(chunks), chunks.share);
            launch!(product_chunks, tensors, grid(chunks.grid), (vector, cells, v, b, tail, share, steps), types);
            let (b, cells, types) = (arg(&before), stages.cells(fold), [types[1], types[2]]);
            launch!(product_fold, tensors, grid(fold.grid), (vector, cells, b, tail, fold.share), types);
        }
        let launch = |stage: &Stage| {
            let ([g, a, v, b, o], share) = ([&self.grad, arr, values, &before, &out].map(arg), stage.share);
            let args = stages.cells(stage);
            launch!(
                product_backward,
                tensors,
                grid(stage.grid),
                (vector, args, g, a, v, b, o, tail, share, how),
                types
            );
        };
        launch(&stages.alone);
        stages.chunks.iter().for_each(launch);
        out
    }
}
