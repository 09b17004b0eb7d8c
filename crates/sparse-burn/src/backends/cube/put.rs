//! Reductions into, and reads from, positions along an axis.
//!
//! Values are sorted by the cell they belong to, stably, so that each unit reduces a cell of its own in row-major order:
//! the same bits on every run, without atomics. The sort is the record that the gradient takes over. Cells of very many
//! values are found on the device and left to whole cubes: a second launch of the same kernel, in slices.

use super::launch::{accumulated, arg, count, empty, flat, launch, stored};
use super::sort::{group_by, long_groups};
use crate::options::PutTarget;
use burn::backend::DType;
use burn_cubecl::cubecl::ir::{ElemType, IntKind};
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;
use sparse_core::Reduce;

#[allow(missing_docs)]
mod kernels;
#[allow(missing_docs)]
mod parts;

/// Buffers that the kernels of gradients bind.
pub(super) const BUFFERS: usize = 8;

/// Units of a cube that share a long group.
const CUBE: usize = 256;

/// Values that one unit reduces at most, where a cube can take over: several for each of its slices, as of rows that are summed.
const PATIENCE: usize = 512;

/// Neighbours along a line that a cube takes side by side, so that they are read together.
const LANES: usize = 32;

/// What a sum of integers that is to be divided is kept in: it must not wrap.
const WIDE: ElemType = ElemType::Int(IntKind::I64);

fn divides_ints(dtype: DType, reduce: Reduce) -> bool {
    reduce == Reduce::Mean && dtype.is_int()
}

/// Whether the device has the type that sums are kept in.
pub(super) fn sums(arr: &CubeTensor, reduce: Reduce) -> bool {
    !divides_ints(arr.dtype, reduce) || arr.client.properties().supports_type(WIDE)
}

fn code(reduce: Reduce) -> u32 {
    match reduce {
        Reduce::Assign => kernels::ASSIGN,
        Reduce::Add => kernels::ADD,
        Reduce::Mul => kernels::MUL,
        Reduce::Mean => kernels::MEAN,
        Reduce::Amax => kernels::AMAX,
        Reduce::Amin => kernels::AMAX + 1,
    }
}

fn sizes_of(target: &PutTarget) -> kernels::SizesLaunch {
    kernels::SizesLaunch::new(target.len, target.inner, target.count)
}

/// A unit for each cell, but for those that are `shared`.
fn alone(target: &PutTarget, shared: Option<&Shared>) -> kernels::WorkLaunch {
    let most = if shared.is_some() { PATIENCE } else { i32::MAX as usize };
    kernels::WorkLaunch::new(array_len(target), most, 1, 1, 1)
}

/// Groups that cubes take, one or more for each.
struct Shared {
    /// The groups, with their starts and ends.
    long: CubeTensor,
    /// Neighbours side by side, and how many times that a line needs.
    lanes: usize,
    tiles: usize,
    /// Lines of the array.
    lines: usize,
}

impl Shared {
    /// What there may be of groups of more than [`PATIENCE`] values, on a device that has cubes for them.
    fn of(ptr: &CubeTensor, target: &PutTarget) -> Option<Self> {
        let (values, lanes) = match target.along_axis {
            true => (target.count, target.inner.next_power_of_two().min(LANES)),
            false => (values_len(target), 1),
        };
        let limit = ptr.client.properties().hardware.max_units_per_cube as usize;
        if values <= PATIENCE || limit < CUBE {
            return None;
        }
        let (tiles, lines) = match target.along_axis {
            true => (target.inner.div_ceil(lanes), target.outer),
            false => (1, 1),
        };
        Some(Self { long: long_groups(ptr, values, PATIENCE), lanes, tiles, lines })
    }

    fn cubes(&self) -> usize {
        self.probes() * self.lines * self.tiles
    }

    /// Entries of the list.
    fn probes(&self) -> usize {
        self.long.meta.shape()[0]
    }

    /// Slices and lanes of a cube.
    fn shape(&self) -> [usize; 2] {
        [CUBE / self.lanes, self.lanes]
    }

    fn work(&self, target: &PutTarget) -> kernels::WorkLaunch {
        let (probes, parts) = (self.probes(), self.lines * self.tiles);
        kernels::WorkLaunch::new(array_len(target), PATIENCE, probes, parts, self.tiles)
    }
}

fn array_len(target: &PutTarget) -> usize {
    target.outer * target.len * target.inner
}

fn values_len(target: &PutTarget) -> usize {
    target.outer * target.count * target.inner
}

/// Values (or steps along the axis) grouped by the cell (or row) they belong to.
pub(super) fn group(index: CubeTensor, target: &PutTarget) -> (CubeTensor, CubeTensor) {
    let (units, groups) = match target.along_axis {
        true => (target.count, target.len),
        false => (values_len(target), array_len(target)),
    };
    let keys = empty(&index, [units], index.dtype);
    let index = flat(index);
    let sizes = sizes_of(target);
    launch!(cells, index, units, (arg(&index), arg(&keys), sizes, units, target.along_axis), stored(index.dtype));
    group_by(keys, groups)
}

pub(super) fn put(
    arr: CubeTensor,
    values: CubeTensor,
    (order, ptr): (CubeTensor, CubeTensor),
    target: PutTarget,
    reduce: Reduce,
    include_self: bool,
) -> CubeTensor {
    let units = array_len(&target);
    let (dtype, shape) = (arr.dtype, arr.meta.shape().clone());
    let out = empty(&arr, [units], dtype);
    let acc = if divides_ints(dtype, reduce) { WIDE } else { accumulated(dtype) };
    let types = [stored(dtype), acc, stored(ptr.dtype)];
    let (arr, values) = (flat(arr), flat(values));
    let (code, float, along) = (code(reduce), dtype.is_float(), target.along_axis);
    // An assignment has one value, however many there are.
    let shared = if reduce == Reduce::Assign { None } else { Shared::of(&ptr, &target) };
    let inputs = |groups| (arg(&arr), arg(&values), arg(&order), arg(groups), arg(&out));
    let (a, v, o, g, r) = inputs(&ptr);
    let (sizes, work) = (sizes_of(&target), alone(&target, shared.as_ref()));
    launch!(put, out, units, (a, v, o, g, r, sizes, work, 1, 1, along, code, include_self, float), types);
    if let Some(shared) = shared {
        let (a, v, o, g, r) = inputs(&shared.long);
        let (sizes, work, [slices, lanes]) = (sizes_of(&target), shared.work(&target), shared.shape());
        launch!(
            put,
            out,
            cubes(shared.cubes(), CUBE),
            (a, v, o, g, r, sizes, work, slices, lanes, along, code, include_self, float),
            types
        );
    }
    burn_cubecl::ops::reshape(out, shape)
}

/// The gradients where nothing arrives, or there is nowhere to arrive.
pub(super) fn nothing_backward(grad: CubeTensor, target: &PutTarget, needs: [bool; 2]) -> [Option<CubeTensor>; 2] {
    let (device, dtype) = (grad.device.clone(), grad.dtype);
    let arr_grad = needs[0].then(|| burn_cubecl::ops::reshape(flat(grad), [array_len(target)].into()));
    [arr_grad, needs[1].then(|| zeros(device, [values_len(target)].into(), dtype))]
}

/// The type of what a product's gradient notes for each value.
fn noted(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        _ => dtype,
    }
}

/// Whether the device has a buffer for what the gradient of a product notes: two numbers for each value.
pub(super) fn notes(grad: &CubeTensor, target: &PutTarget, reduce: Reduce) -> bool {
    let bytes = 2 * values_len(target) as u64 * noted(grad.dtype).size() as u64;
    reduce != Reduce::Mul || bytes <= grad.client.properties().memory.max_page_size
}

/// `reads` are the array, the values and the result, where the reduction reads them.
pub(super) fn put_backward(
    grad: CubeTensor,
    (order, ptr): (CubeTensor, CubeTensor),
    reads: [Option<CubeTensor>; 3],
    target: PutTarget,
    reduce: Reduce,
    include_self: bool,
    needs: [bool; 2],
) -> [Option<CubeTensor>; 2] {
    let (units, dtype) = (array_len(&target), grad.dtype);
    let grad = flat(grad);
    let arr_grad = empty(&grad, [if needs[0] { units } else { 1 }], dtype);
    let values_grad = empty(&grad, [if needs[1] { values_len(&target) } else { 1 }], dtype);
    let [arr, values, result] = reads.map(|read| read.map_or_else(|| grad.clone(), flat));
    let types = [stored(dtype), accumulated(dtype), stored(ptr.dtype)];
    let (code, along, [need_arr, need_values]) = (code(reduce), target.along_axis, needs);
    let shared = Shared::of(&ptr, &target);
    if reduce == Reduce::Mul {
        // Numbers as wide as a product's exponent, whatever its factors: see `parts::Scaled`.
        let steps = if dtype == DType::F64 { 17 } else { 2 };
        let before = empty(&grad, [if need_values { 2 * values_len(&target) } else { 1 }], noted(dtype));
        let inputs = |groups| (arg(&grad), arg(&arr), arg(&values), arg(&order), arg(groups), arg(&before));
        let (sizes, work) = (sizes_of(&target), alone(&target, shared.as_ref()));
        let ((g, a, v, o, p, b), (da, dv)) = (inputs(&ptr), (arg(&arr_grad), arg(&values_grad)));
        launch!(
            product_backward,
            grad,
            units,
            (g, a, v, o, p, b, da, dv, sizes, work, 1, 1, along, include_self, need_arr, need_values, steps),
            types
        );
        if let Some(shared) = shared {
            let ((g, a, v, o, p, b), (da, dv)) = (inputs(&shared.long), (arg(&arr_grad), arg(&values_grad)));
            let (sizes, work, [slices, lanes]) = (sizes_of(&target), shared.work(&target), shared.shape());
            launch!(
                product_backward,
                grad,
                cubes(shared.cubes(), CUBE),
                (
                    g,
                    a,
                    v,
                    o,
                    p,
                    b,
                    da,
                    dv,
                    sizes,
                    work,
                    slices,
                    lanes,
                    along,
                    include_self,
                    need_arr,
                    need_values,
                    steps
                ),
                types
            );
        }
        return [needs[0].then_some(arr_grad), needs[1].then_some(values_grad)];
    }
    let reads = || (arg(&grad), arg(&arr), arg(&values), arg(&result), arg(&order));
    let writes = || (arg(&arr_grad), arg(&values_grad));
    let ((g, a, v, y, o), p, (da, dv)) = (reads(), arg(&ptr), writes());
    let (sizes, work) = (sizes_of(&target), alone(&target, shared.as_ref()));
    launch!(
        put_backward,
        grad,
        units,
        (g, a, v, y, o, p, da, dv, sizes, work, 1, 1, along, code, include_self, need_arr, need_values),
        types
    );
    if let Some(shared) = shared {
        let ((g, a, v, y, o), p, (da, dv)) = (reads(), arg(&shared.long), writes());
        let (sizes, work, [slices, lanes]) = (sizes_of(&target), shared.work(&target), shared.shape());
        launch!(
            put_backward,
            grad,
            cubes(shared.cubes(), CUBE),
            (g, a, v, y, o, p, da, dv, sizes, work, slices, lanes, along, code, include_self, need_arr, need_values),
            types
        );
    }
    [needs[0].then_some(arr_grad), needs[1].then_some(values_grad)]
}

pub(super) fn gather(x: CubeTensor, index: CubeTensor, target: PutTarget) -> CubeTensor {
    let units = values_len(&target);
    let out = empty(&x, [units], x.dtype);
    if units == 0 {
        return out;
    }
    if count(&x) == 0 {
        return zeros(x.device.clone(), [units].into(), x.dtype);
    }
    let types = [stored(x.dtype), stored(index.dtype)];
    let (x, index) = (flat(x), flat(index));
    let (sizes, along) = (sizes_of(&target), target.along_axis);
    launch!(gather, out, units, (arg(&x), arg(&index), arg(&out), sizes, units, along), types);
    out
}

/// Whether a put over these sizes has anything to do, in arrays that 32-bit positions address.
pub(super) fn launches(target: &PutTarget) -> bool {
    !is_nothing(target) && fits(target)
}

/// Whether nothing arrives, or there is nowhere to arrive.
pub(super) fn is_nothing(target: &PutTarget) -> bool {
    array_len(target) == 0 || values_len(target) == 0
}

/// Whether 32-bit positions address both sides.
pub(super) fn fits(target: &PutTarget) -> bool {
    array_len(target).max(values_len(target)) < i32::MAX as usize
}
