//! Reductions into, and reads from, positions along an axis.
//!
//! A stable sort groups the values by their cell. Each unit then reduces the values of one cell, in row-major order.
//! This gives the same bits on every run, without atomics. The gradient reuses the groups. Cells with very many values
//! are found on the device, and whole cubes reduce them in a second launch of the same kernel.

use super::fallback::bounds;
use super::forced::{self, Path};
use super::hardware::{Grid, Hardware};
use super::launch::{accumulated, arg, count, empty, flat, hardware, holds, launch, runs, stored};
use super::sort::{group_by, long_groups};
use crate::backend::{Declined, Gpu};
use crate::carried::Put;
use crate::kernel::{CheckIndices, PutRows};
use crate::options::PutTarget;
use burn::backend::DType;
use burn_cubecl::cubecl::ir::{ElemType, IntKind};
use burn_cubecl::cubecl::prelude::Int;
use burn_cubecl::tensor::CubeTensor;
use sparse_core::{Reduce, Result};
use work::Share;

mod backward;
mod gather;
#[allow(missing_docs)]
mod kernels;
#[allow(missing_docs)]
mod scaled;
#[allow(missing_docs)]
mod work;

/// Units of a cube that share a long group.
const CUBE: usize = 256;

/// A unit reduces at most this many values. Cubes share longer groups.
const PATIENCE: usize = 512;

/// Most adjacent cells of a cube. Their units read adjacent values at the same time.
const LANES: usize = 32;

/// Accumulator of integer means. 64 bits, so that the sum does not wrap.
const WIDE: ElemType = ElemType::Int(IntKind::I64);

/// The sizes of a put, and whether all values of a group are read. An assignment reads one.
#[derive(Clone, Copy, Debug)]
struct Problem {
    target: PutTarget,
    reads_all: bool,
}

/// How cells are reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strategy {
    /// By one unit each.
    Alone,
    /// By one unit each, except that cubes share long groups.
    Shared(Shared),
}

/// How cubes share long groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shared {
    /// Values that one unit reduces at most.
    patience: usize,
    /// Most long groups that there can be: one for every `patience` values.
    probes: usize,
    /// Adjacent cells of a cube.
    lanes: usize,
    /// Cubes that cover the `inner` cells of a step, and outer indices.
    tiles: usize,
    outer: usize,
}

fn strategy(problem: &Problem, hardware: &Hardware) -> Strategy {
    let shared = Shared::of(&problem.target, PATIENCE);
    // `scaled::beside` shares two numbers of at most eight bytes for each unit, and runs twice.
    let cooperates = hardware.units >= CUBE && hardware.shared >= 32 * CUBE;
    if problem.reads_all && cooperates && shared.probes > 1 { Strategy::Shared(shared) } else { Strategy::Alone }
}

impl Strategy {
    /// Applies the settings that a test forces.
    fn forced(self, problem: &Problem) -> Self {
        let forced = forced::now();
        match (forced.path, forced.patience) {
            (Some(Path::Short), _) => Self::Alone,
            (Some(_), patience) if problem.reads_all => {
                Self::Shared(Shared::of(&problem.target, patience.unwrap_or(PATIENCE)))
            }
            _ => self,
        }
    }
}

impl Shared {
    /// A long group must have a value for each slice of a cube.
    fn of(target: &PutTarget, patience: usize) -> Self {
        let lanes = if target.along_axis { target.inner.next_power_of_two().min(LANES) } else { 1 };
        let patience = patience.max(CUBE / lanes);
        if !target.along_axis {
            return Self { patience, probes: values_len(target).div_ceil(patience), lanes, tiles: 1, outer: 1 };
        }
        let (probes, tiles) = (target.count.div_ceil(patience), target.inner.div_ceil(lanes));
        Self { patience, probes, lanes, tiles, outer: target.outer }
    }

    fn grid(&self, hardware: &Hardware) -> Grid {
        hardware.cubes(self.probes * self.outer * self.tiles, CUBE)
    }
}

/// A launch of a kernel over the cells of an array.
struct Launch {
    grid: Grid,
    share: Share,
    /// Pointers of the groups, or the list of the long ones.
    groups: CubeTensor,
    /// The fields of `work::Work`.
    work: [usize; 5],
}

/// A launch for the cells that one unit reduces, and a launch for those that cubes share.
fn launches_of(order: &CubeTensor, ptr: &CubeTensor, problem: &Problem) -> Vec<Launch> {
    let (target, hardware) = (&problem.target, hardware(order));
    let (units, along) = (array_len(target), target.along_axis);
    let alone = |most| Launch {
        grid: hardware.units(units),
        share: Share { slices: 1, lanes: 1, along },
        groups: ptr.clone(),
        work: [units, most, 1, 1, 1],
    };
    let Strategy::Shared(shared) = strategy(problem, &hardware).forced(problem) else {
        return vec![alone(i32::MAX as usize)];
    };
    forced::note("cells that cubes share");
    let Shared { patience, probes, lanes, tiles, outer } = shared;
    let values = if along { target.count } else { values_len(target) };
    let together = Launch {
        grid: shared.grid(&hardware),
        share: Share { slices: CUBE / lanes, lanes, along },
        groups: long_groups(ptr, values, patience),
        work: [units, patience, probes, outer * tiles, tiles],
    };
    vec![alone(patience), together]
}

impl Launch {
    fn cells<I: Int>(&self, order: &CubeTensor, target: &PutTarget) -> work::CellsLaunch<I> {
        let [units, most, probes, parts, tiles] = self.work;
        let work = work::WorkLaunch::new(units, most, probes, parts, tiles);
        work::CellsLaunch::new(arg(order), arg(&self.groups), sizes_of(target), work)
    }
}

fn divides_ints(dtype: DType, reduce: Reduce) -> bool {
    reduce == Reduce::Mean && dtype.is_int()
}

/// Whether the device has the type of the accumulator.
fn sums(arr: &CubeTensor, reduce: Reduce) -> bool {
    !divides_ints(arr.dtype, reduce) || arr.client.properties().supports_type(WIDE)
}

fn sizes_of(target: &PutTarget) -> work::SizesLaunch {
    work::SizesLaunch::new(target.len, target.inner, target.count)
}

fn array_len(target: &PutTarget) -> usize {
    target.outer * target.len * target.inner
}

fn values_len(target: &PutTarget) -> usize {
    target.outer * target.count * target.inner
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
    let sizes = sizes_of(target);
    launch!(cells, index, units, (arg(&index), arg(&keys), sizes, units, target.along_axis), stored(index.dtype));
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
        if !(runs([&arr, &values, &put.index]) && sums(&arr, reduce) && holds_groups(&put)) {
            // The gradient on the device could not read a record of the host.
            return Err(Declined::NoKernel(Self { put, arr, values, record: false }));
        }
        let (order, ptr) = put.groups.unwrap_or_else(|| group(put.index, &target));
        let groups = (order.clone(), ptr.clone());
        let out = put_groups(arr, values, groups, target, reduce, put.include_self);
        Ok((out, record.then_some((order, ptr))))
    }
}

/// Reduces the values of each group into its cell.
fn put_groups(
    arr: CubeTensor,
    values: CubeTensor,
    (order, ptr): (CubeTensor, CubeTensor),
    target: PutTarget,
    reduce: Reduce,
    include_self: bool,
) -> CubeTensor {
    let (dtype, shape) = (arr.dtype, arr.meta.shape().clone());
    let out = empty(&arr, [array_len(&target)], dtype);
    let acc = if divides_ints(dtype, reduce) { WIDE } else { accumulated(dtype) };
    let types = [stored(dtype), acc, stored(ptr.dtype)];
    let (arr, values, float) = (flat(arr), flat(values), dtype.is_float());
    for launch in launches_of(&order, &ptr, &Problem { target, reads_all: reduce != Reduce::Assign }) {
        let (cells, [a, v, o]) = (launch.cells(&order, &target), [&arr, &values, &out].map(arg));
        launch!(put, out, grid(launch.grid), (cells, a, v, o, launch.share, reduce, include_self, float), types);
    }
    burn_cubecl::ops::reshape(out, shape)
}

/// Whether there are no values or no target elements.
fn is_nothing(target: &PutTarget) -> bool {
    array_len(target) == 0 || values_len(target) == 0
}

#[cfg(test)]
mod tests {
    use super::super::hardware::tests::SMALL;
    use super::*;

    fn target(outer: usize, inner: usize, count: usize, along_axis: bool) -> PutTarget {
        PutTarget { outer, len: 5, inner, count, along_axis }
    }

    fn of(target: PutTarget) -> Strategy {
        strategy(&Problem { target, reads_all: true }, &SMALL)
    }

    #[test]
    fn cubes_share_cells_that_more_values_may_belong_to_than_a_unit_takes() {
        assert_eq!(of(target(2, 4, 64, false)), Strategy::Alone);
        let shared = |probes| Strategy::Shared(Shared { patience: 512, probes, lanes: 1, tiles: 1, outer: 1 });
        assert_eq!(of(target(1, 1, 513, false)), shared(2));
        assert_eq!(of(target(2, 4, 65, false)), shared(2));
        // An assignment reads one value of a cell.
        let problem = Problem { target: target(1, 1, 513, false), reads_all: false };
        assert_eq!(strategy(&problem, &SMALL), Strategy::Alone);
    }

    #[test]
    fn steps_along_an_axis_have_cells_side_by_side() {
        // The steps count, not their values.
        assert_eq!(of(target(100, 100, 512, true)), Strategy::Alone);
        let shared = |lanes, tiles| Strategy::Shared(Shared { patience: 512, probes: 2, lanes, tiles, outer: 3 });
        assert_eq!(of(target(3, 1, 513, true)), shared(1, 1));
        assert_eq!(of(target(3, 5, 513, true)), shared(8, 1));
        assert_eq!(of(target(3, 40, 513, true)), shared(32, 2));
    }

    #[test]
    fn every_slice_of_a_long_group_has_a_value() {
        assert_eq!(Shared::of(&target(1, 1, 900, false), 4).patience, 256);
        assert_eq!(Shared::of(&target(1, 5, 900, true), 4).patience, 32);
    }

    #[test]
    fn many_long_groups_take_a_grid_of_two_axes() {
        let Strategy::Shared(shared) = of(target(65_536, 1, 513, true)) else { panic!("cells are shared") };
        assert_eq!(shared.grid(&SMALL).cubes, [43_691, 3, 1]);
    }

    #[test]
    fn cubes_share_cells_where_the_device_has_them() {
        let problem = Problem { target: target(1, 1, 1 << 20, false), reads_all: true };
        for poor in [Hardware { units: 128, ..SMALL }, Hardware { shared: 8191, ..SMALL }] {
            assert_eq!(strategy(&problem, &poor), Strategy::Alone);
        }
        assert!(matches!(strategy(&problem, &Hardware { shared: 8192, ..SMALL }), Strategy::Shared(_)));
    }
}
