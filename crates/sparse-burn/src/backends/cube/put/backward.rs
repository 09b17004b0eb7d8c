//! The gradients of a put.

use super::super::launch::{accumulated, arg, binds, empty, flat, hardware, holds, launch, runs, stored};
use super::{Problem, array_len, group, holds_groups, is_nothing, kernels, launches_of, values_len};
use crate::backend::{Declined, Gpu};
use crate::kernel::PutBackward;
use crate::options::PutTarget;
use burn::backend::DType;
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;
use sparse_core::Reduce;

/// Buffers that the kernels bind, without the one that has the sizes.
const BUFFERS: usize = 8;

impl PutBackward<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<[Option<CubeTensor>; 2], Self> {
        let Self { put, grad, record, reads, needs } = self;
        let (target, reduce) = (put.target, put.reduce);
        if is_nothing(&target) {
            return Ok(nothing_backward(grad, &target, needs));
        }
        let native = runs(reads.iter().flatten().chain([&grad, &put.index]))
            && binds(&grad, BUFFERS)
            && (record.is_some() || holds_groups(&put))
            && (!needs[1] || holds_gradients(&grad, &target, reduce));
        if !native {
            // The host cannot read a record of the device.
            return Err(Declined::NoKernel(Self { put, grad, record: None, reads, needs }));
        }
        let groups = record.or(put.groups).unwrap_or_else(|| group(put.index, &target));
        Ok(put_backward(grad, groups, reads, target, reduce, put.include_self, needs))
    }
}

/// Gradients if there are no values or no target elements.
fn nothing_backward(grad: CubeTensor, target: &PutTarget, needs: [bool; 2]) -> [Option<CubeTensor>; 2] {
    let (device, dtype) = (grad.device.clone(), grad.dtype);
    let arr_grad = needs[0].then(|| burn_cubecl::ops::reshape(flat(grad), [array_len(target)].into()));
    [arr_grad, needs[1].then(|| zeros(device, [values_len(target)].into(), dtype))]
}

/// The type of the two numbers that a product's gradient stores for each value.
fn wide(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        _ => dtype,
    }
}

/// Whether the device can hold the gradients of the values, and two numbers for each value where these are of a
/// product.
fn holds_gradients(grad: &CubeTensor, target: &PutTarget, reduce: Reduce) -> bool {
    let values = values_len(target);
    let notes = reduce != Reduce::Mul || hardware(grad).holds(2 * values, wide(grad.dtype).size());
    holds(grad, values, grad.dtype) && notes
}

/// `reads` are the array, the values and the result. Each is given if the gradient reads it.
fn put_backward(
    grad: CubeTensor,
    (order, ptr): (CubeTensor, CubeTensor),
    reads: [Option<CubeTensor>; 3],
    target: PutTarget,
    reduce: Reduce,
    include_self: bool,
    needs: [bool; 2],
) -> [Option<CubeTensor>; 2] {
    let dtype = grad.dtype;
    let grad = flat(grad);
    let arr_grad = empty(&grad, [if needs[0] { array_len(&target) } else { 1 }], dtype);
    let values_grad = empty(&grad, [if needs[1] { values_len(&target) } else { 1 }], dtype);
    let [arr, values, result] = reads.map(|read| read.map_or_else(|| grad.clone(), flat));
    let types = [stored(dtype), accumulated(dtype), stored(ptr.dtype)];
    // For each value the product of those before it, if the reduction is a product.
    let before = match reduce {
        Reduce::Mul => empty(&grad, [if needs[1] { 2 * values_len(&target) } else { 1 }], wide(dtype)),
        _ => grad.clone(),
    };
    // Steps that bring any number of the type into the range of `scaled`.
    let steps = if dtype == DType::F64 { 17 } else { 2 };
    for launch in launches_of(&order, &ptr, &Problem { target, reads_all: true }) {
        let (grid, share) = (launch.grid, launch.share);
        let ([g, a, v, y], [da, dv, b]) =
            ([&grad, &arr, &values, &result].map(arg), [&arr_grad, &values_grad, &before].map(arg));
        if reduce == Reduce::Mul {
            let (cells, how) = (launch.cells(&order, &target), kernels::Product { include_self, needs, steps });
            launch!(product_backward, grad, grid(grid), (cells, g, a, v, b, da, dv, share, how), types);
        } else {
            let cells = launch.cells(&order, &target);
            launch!(
                put_backward,
                grad,
                grid(grid),
                (cells, g, a, v, y, da, dv, share, reduce, include_self, needs),
                types
            );
        }
    }
    [needs[0].then_some(arr_grad), needs[1].then_some(values_grad)]
}
