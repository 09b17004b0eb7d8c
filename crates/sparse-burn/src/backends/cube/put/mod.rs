//! Reductions into, and reads from, positions along an axis.
//!
//! A stable sort groups the values by their cell. A unit reduces the values of a cell in row-major order, if there are
//! at most [`PATIENCE`]. A whole cube reduces more. More than about [`CHUNK`] are cut into chunks, counted from the
//! start of the group: a cube reduces each, and another combines the results (Harris, "Optimizing parallel reduction in
//! CUDA", 2007, with cuts that do not depend on the device). So the bits of a cell depend on its own values, the width
//! of a step and the dtype, and on nothing else in the array. There are no atomics. The gradients use the same groups.
//!
//! Where an index serves a whole step along the axis, a unit has a vector of adjacent cells. Where each value has its
//! own index, adjacent cells have values at unrelated positions, and a unit has one cell.

use super::extremes::bounds;
use super::forced;
use super::hardware::Grid;
use super::launch::{
    accumulated, arg, count, dividend, divides, empty, flat, hardware, holds, launch, runs, stored, summed,
};
use super::sort::group_by;
use crate::backend::{Declined, Gpu};
use crate::kernel::{CheckIndices, PutRows};
use crate::kernel_views::Put;
use crate::options::PutTarget;
use burn::backend::DType;
use burn_cubecl::cubecl::prelude::Int;
use burn_cubecl::tensor::CubeTensor;
use kernels::How;
use sparse_core::{Reduce, Result};
use strategy::{CHUNK, CUBE, PATIENCE, Problem, Shared, Strategy, array_len, positions, strategy, values_len};
use work::Share;

mod backward;
mod gather;
#[allow(missing_docs)]
mod gradients;
// A condition at compile time stands before one of the device, not beside it.
#[allow(missing_docs, clippy::collapsible_if, clippy::collapsible_else_if)]
mod kernels;
#[allow(missing_docs)]
mod product;
#[allow(missing_docs)]
mod scaled;
mod strategy;
#[allow(missing_docs)]
mod work;

/// A launch of a kernel over the cells of an array.
struct Stage {
    grid: Grid,
    share: Share,
    /// Pointers of the groups, or those that the probes found.
    groups: CubeTensor,
    /// The fields of `work::Work`.
    work: [usize; 6],
}

/// The launches of a reduction.
struct Stages {
    target: PutTarget,
    order: CubeTensor,
    vector: usize,
    /// Entries of the notes of all chunks.
    notes: usize,
    /// For the cells that one unit reduces.
    alone: Stage,
    /// For the chunks of long groups.
    chunks: Option<Stage>,
    /// For the groups of several chunks.
    fold: Option<Stage>,
}

impl Stages {
    fn of((order, ptr): &(CubeTensor, CubeTensor), problem: &Problem) -> Self {
        let (target, hardware) = (problem.target, hardware(order));
        let strategy = strategy(problem, &hardware).forced(problem);
        let Strategy { vector, columns, shared } = strategy;
        let (units, along) = (target.outer * target.len * columns, target.along_axis);
        let alone = |most| Stage {
            grid: hardware.units(units),
            share: Share { slices: 1, lanes: 1, along, patience: PATIENCE, chunk: CHUNK },
            groups: ptr.clone(),
            work: [units, most, 1, 1, 1, 1],
        };
        let (notes, order) = (strategy.notes(), order.clone());
        let Some(shared) = shared else {
            let alone = alone(values_len(&target));
            return Self { target, order, vector, notes, alone, chunks: None, fold: None };
        };
        forced::note("cells that cubes share");
        let Shared { patience, chunk, lanes, tiles, outer, .. } = shared;
        let found = probe(ptr, shared.probes(), patience);
        let stage = |probes| Stage {
            grid: shared.grid(probes, &hardware),
            share: Share { slices: CUBE / lanes, lanes, along, patience, chunk },
            groups: found.clone(),
            work: [units, patience, probes, if along { outer * columns } else { 1 }, outer * tiles, tiles],
        };
        let fold = shared.folds().then(|| {
            forced::note("groups of several chunks");
            stage(shared.chunks())
        });
        Self { target, order, vector, notes, alone: alone(patience), chunks: Some(stage(shared.probes())), fold }
    }

    fn cells<I: Int>(&self, stage: &Stage) -> work::CellsLaunch<I> {
        let [units, most, probes, width, parts, tiles] = stage.work;
        let work = work::WorkLaunch::new(units, most, probes, width, parts, tiles);
        work::CellsLaunch::new(arg(&self.order), arg(&stage.groups), sizes_of(&self.target, self.vector), work)
    }
}

/// The groups of every `step`-th entry, where they have more than `step` entries.
fn probe(ptr: &CubeTensor, probes: usize, step: usize) -> CubeTensor {
    let (groups, out) = (count(ptr) - 1, empty(ptr, [probes, 3], ptr.dtype));
    launch!(probe, [ptr, &out], probes, (arg(ptr), arg(&out), groups, step, probes), stored(ptr.dtype));
    out
}

fn divides_ints(dtype: DType, reduce: Reduce) -> bool {
    reduce == Reduce::Mean && dtype.is_int()
}

/// The dtype of accumulators. The sum of an integer mean has 64 bits, so that it does not wrap.
fn accumulator(dtype: DType, reduce: Reduce) -> DType {
    match dtype {
        _ if divides_ints(dtype, reduce) => DType::I64,
        other => summed(other),
    }
}

/// Whether the device has the type of the accumulator.
fn sums(arr: &CubeTensor, reduce: Reduce) -> bool {
    !divides_ints(arr.dtype, reduce) || arr.client.properties().supports_type(stored(DType::I64))
}

/// Sizes in vectors.
fn sizes_of(target: &PutTarget, vector: usize) -> work::SizesLaunch {
    let (len, count, columns) = (target.len, target.count, target.inner / vector);
    work::SizesLaunch::new(len, count, columns, len, count, columns)
}

/// The numbers of values and of cells, or of steps along the axis and of rows: the first are grouped by the second.
fn grouped(target: &PutTarget) -> (usize, usize) {
    match target.along_axis {
        true => (target.count, target.len),
        false => (values_len(target), array_len(target)),
    }
}

/// Whether the device can hold the groups, where there are none yet: their keys, and their pointers.
fn holds_groups(put: &Put<CubeTensor>) -> bool {
    let (keys, groups) = grouped(&put.target);
    put.groups.is_some() || holds(&put.index, keys.max(groups + 1), put.index.dtype)
}

/// Values (or steps along the axis) grouped by the cell (or row) they belong to.
fn group(index: CubeTensor, target: &PutTarget) -> (CubeTensor, CubeTensor) {
    let (units, groups) = grouped(target);
    let keys = empty(&index, [units], index.dtype);
    let index = flat(index);
    let (sizes, along) = (sizes_of(target, 1), target.along_axis);
    let tensors = (&keys, dividend(positions(target)));
    launch!(cells, tensors, units, (arg(&index), arg(&keys), sizes, units, along), stored(index.dtype));
    group_by(keys, groups)
}

impl CheckIndices<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<Result<()>, Self> {
        if count(&self.index) == 0 {
            return Ok(Ok(()));
        }
        // Two numbers are read. The host reads the index only to find the entry that the error names.
        let (low, high) = bounds(self.index.clone());
        let size = self.size as i64;
        if low >= -size && high < size { Ok(Ok(())) } else { Err(Declined::Quietly(self)) }
    }
}

impl PutRows<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<(CubeTensor, Option<(CubeTensor, CubeTensor)>), Self> {
        let Self { put, arr, values, record } = self;
        let (target, reduce) = (put.target, put.reduce);
        if is_nothing(&target) {
            return Ok((arr, None));
        }
        let native = runs([&arr, &values, &put.index]) && sums(&arr, reduce) && divides(&arr, positions(&target));
        if !(native && holds_groups(&put)) {
            // The gradient on the device could not read a record of the host.
            return Err(Declined::NoKernel(Self { put, arr, values, record: false }));
        }
        let groups = put.groups.unwrap_or_else(|| group(put.index, &target));
        let out = put_groups(arr, values, &groups, target, reduce, put.include_self);
        Ok((out, record.then_some(groups)))
    }
}

/// Reduces the values of each group into its cell.
fn put_groups(
    arr: CubeTensor,
    values: CubeTensor,
    groups: &(CubeTensor, CubeTensor),
    target: PutTarget,
    reduce: Reduce,
    include_self: bool,
) -> CubeTensor {
    let (dtype, shape) = (arr.dtype, arr.meta.shape().clone());
    let acc = accumulator(dtype, reduce);
    let problem = Problem { target, bytes: dtype.size().max(acc.size()), reads_all: reduce != Reduce::Assign };
    let how = How { reduce, include_self, ties: false, float: dtype.is_float() };
    let out = reduce_cells(&Stages::of(groups, &problem), &flat(arr), &flat(values), how, [acc, dtype]);
    burn_cubecl::ops::reshape(out, shape)
}

/// Reduces the values of each group with an accumulator of a dtype, to a result of a dtype. `arr` is the array, or for
/// ties the result that is compared with.
fn reduce_cells(
    stages: &Stages,
    arr: &CubeTensor,
    values: &CubeTensor,
    how: How,
    [acc, result]: [DType; 2],
) -> CubeTensor {
    let (Stages { target, vector, alone, chunks, fold, .. }, index) = (stages, stages.order.dtype);
    let out = empty(arr, [array_len(target)], result);
    let [wide, last, position] = [acc, result, index].map(stored);
    let types = [stored(arr.dtype), accumulated(arr.dtype), wide, last, position];
    let tensors = ([values, &out], dividend(positions(target)));
    let [a, v, o] = [arr, values, &out].map(arg);
    launch!(put, tensors, grid(alone.grid), (*vector, stages.cells(alone), a, v, o, alone.share, how), types);
    if let Some(chunks) = chunks {
        let notes = empty(arr, [stages.notes.max(1) * vector], acc);
        let [a, v, n, o] = [arr, values, &notes, &out].map(arg);
        let (cells, share) = (stages.cells(chunks), chunks.share);
        launch!(put_chunks, tensors, grid(chunks.grid), (*vector, cells, a, v, n, o, share, how), types);
        if let Some(fold) = fold {
            let [n, o] = [&notes, &out].map(arg);
            let (cells, types) = (stages.cells(fold), [wide, last, position]);
            launch!(put_fold, tensors, grid(fold.grid), (*vector, cells, n, o, fold.share, how), types);
        }
    }
    out
}

/// Whether there are no values or no target elements.
fn is_nothing(target: &PutTarget) -> bool {
    array_len(target) == 0 || values_len(target) == 0
}
