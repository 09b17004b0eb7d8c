//! Reductions into, and reads from, positions along an axis.
//!
//! Values are sorted by the cell they belong to, stably, so that each unit reduces a cell of its own in row-major order:
//! the same bits on every run, without atomics. The sort is the record that the gradient takes over.

use super::launch::{accumulated, arg, count, empty, flat, launch, stored};
use super::sort::group_by;
use crate::backend::PutTarget;
use burn_cubecl::cubecl::ir::{ElemType, IntKind};
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;
use sparse_core::Reduce;

#[allow(missing_docs)]
mod kernels {
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    pub const ASSIGN: u32 = 0;
    pub const ADD: u32 = 1;
    pub const MUL: u32 = 2;
    pub const MEAN: u32 = 3;
    pub const AMAX: u32 = 4;

    /// Sizes of a put, as `PutTarget`.
    #[derive(CubeType, CubeLaunch, Clone, Copy)]
    pub struct Sizes {
        pub len: usize,
        pub inner: usize,
        pub count: usize,
    }

    /// An index as a position, counting from the end where negative.
    #[cube]
    fn resolve<I: Int>(index: I, len: usize) -> usize {
        usize::cast_from(select(index < I::from_int(0), index + I::cast_from(len), index))
    }

    /// The cell of each value, or the row of each step where `along` the axis.
    #[cube(launch)]
    pub fn cells<I: Int>(
        index: &Tensor<I>,
        out: &mut Tensor<I>,
        sizes: Sizes,
        units: usize,
        #[comptime] along: bool,
        #[define(I)] _type: ElemType,
    ) {
        if ABSOLUTE_POS >= units {
            terminate!();
        }
        let j = resolve::<I>(index[ABSOLUTE_POS], sizes.len);
        let cell = if along {
            j
        } else {
            let o = ABSOLUTE_POS / sizes.inner / sizes.count;
            (o * sizes.len + j) * sizes.inner + ABSOLUTE_POS % sizes.inner
        };
        out[ABSOLUTE_POS] = I::cast_from(cell);
    }

    /// Where the values of a cell stand in the order.
    #[cube]
    fn segment(cell: usize, sizes: &Sizes, #[comptime] along: bool) -> usize {
        if along { cell / sizes.inner % sizes.len } else { cell }
    }

    /// The position of a value of a cell, from its entry in the order.
    #[cube]
    fn position(entry: usize, cell: usize, sizes: &Sizes, #[comptime] along: bool) -> usize {
        if along {
            let o = cell / sizes.inner / sizes.len;
            (o * sizes.count + entry) * sizes.inner + cell % sizes.inner
        } else {
            entry
        }
    }

    #[cube]
    fn is_nan<A: Numeric>(x: A, #[comptime] float: bool) -> bool {
        if float { f32::cast_from(x).is_nan() } else { false.runtime() }
    }

    /// Equal, with NaN equal to itself.
    #[cube]
    fn same<A: Numeric>(x: A, y: A, #[comptime] float: bool) -> bool {
        x == y || (is_nan::<A>(x, float) && is_nan::<A>(y, float))
    }

    #[cube(launch)]
    pub fn put<T: Numeric, A: Numeric, I: Int>(
        arr: &Tensor<T>,
        values: &Tensor<T>,
        order: &Tensor<I>,
        ptr: &Tensor<I>,
        out: &mut Tensor<T>,
        sizes: Sizes,
        units: usize,
        #[comptime] along: bool,
        #[comptime] reduce: u32,
        #[comptime] include_self: bool,
        #[comptime] float: bool,
        #[define(T, A, I)] _types: [ElemType; 3],
    ) {
        let cell = ABSOLUTE_POS;
        if cell >= units {
            terminate!();
        }
        let segment = segment(cell, &sizes, along);
        let start = usize::cast_from(ptr[segment]);
        let end = usize::cast_from(ptr[segment + 1]);
        if start == end {
            out[cell] = arr[cell];
        } else {
            // The group's first member: the array's own value, or else a value.
            let own = comptime!(include_self && reduce != ASSIGN);
            let first = if comptime!(reduce == ASSIGN) { end - 1 } else { start };
            let from = if own { first } else { first + 1 };
            let mut sum = A::cast_from(arr[cell]);
            if !own {
                sum = A::cast_from(values[position(usize::cast_from(order[first]), cell, &sizes, along)]);
            }
            for t in from..end {
                let value = A::cast_from(values[position(usize::cast_from(order[t]), cell, &sizes, along)]);
                if reduce == ADD || reduce == MEAN {
                    sum += value;
                } else if reduce == MUL {
                    sum *= value;
                } else {
                    let better = if reduce == AMAX { value > sum } else { value < sum };
                    if better || is_nan::<A>(value, float) {
                        sum = value;
                    }
                }
            }
            if reduce == MEAN {
                let members = if include_self { end - start + 1 } else { end - start };
                let divisor = A::cast_from(members as u32);
                let quotient = sum / divisor;
                if !float && quotient * divisor > sum {
                    // Integers round towards minus infinity.
                    sum = quotient - A::from_int(1);
                } else {
                    sum = quotient;
                }
            }
            out[cell] = T::cast_from(sum);
        }
    }

    #[cube(launch)]
    pub fn put_backward<T: Float, A: Float, I: Int>(
        grad: &Tensor<T>,
        arr: &Tensor<T>,
        values: &Tensor<T>,
        result: &Tensor<T>,
        order: &Tensor<I>,
        ptr: &Tensor<I>,
        arr_grad: &mut Tensor<T>,
        values_grad: &mut Tensor<T>,
        sizes: Sizes,
        units: usize,
        #[comptime] along: bool,
        #[comptime] reduce: u32,
        #[comptime] include_self: bool,
        #[comptime] need_arr: bool,
        #[comptime] need_values: bool,
        #[define(T, A, I)] _types: [ElemType; 3],
    ) {
        let cell = ABSOLUTE_POS;
        if cell >= units {
            terminate!();
        }
        let segment = segment(cell, &sizes, along);
        let start = usize::cast_from(ptr[segment]);
        let end = usize::cast_from(ptr[segment + 1]);
        let g = A::cast_from(grad[cell]);
        let zero = A::from_int(0);
        // What the array's own value gets.
        let mut own = zero;
        if reduce == ASSIGN {
            if need_values {
                for t in start..end {
                    let mut share = zero;
                    if t + 1 == end {
                        share = g;
                    }
                    values_grad[position(usize::cast_from(order[t]), cell, &sizes, along)] = T::cast_from(share);
                }
            }
        } else if reduce == ADD || reduce == MEAN {
            let mut share = g;
            if reduce == MEAN {
                let members = if include_self { end - start + 1 } else { end - start };
                share = g / A::cast_from(max(members, 1) as u32);
            }
            if include_self {
                own = share;
            }
            if need_values {
                for t in start..end {
                    values_grad[position(usize::cast_from(order[t]), cell, &sizes, along)] = T::cast_from(share);
                }
            }
        } else if reduce == MUL {
            // The product of those before, then times that of those behind: no division, so zeros are nothing special.
            let mut product = A::from_int(1);
            if include_self {
                product = A::cast_from(arr[cell]);
            }
            if need_values {
                for t in start..end {
                    let at = position(usize::cast_from(order[t]), cell, &sizes, along);
                    values_grad[at] = T::cast_from(product);
                    product *= A::cast_from(values[at]);
                }
            }
            let mut behind = A::from_int(1);
            for back in start..end {
                let at = position(usize::cast_from(order[end - 1 - (back - start)]), cell, &sizes, along);
                if need_values {
                    values_grad[at] = T::cast_from(A::cast_from(values_grad[at]) * behind * g);
                }
                behind *= A::cast_from(values[at]);
            }
            if include_self {
                own = g * behind;
            }
        } else {
            let y = A::cast_from(result[cell]);
            let mut ties = 0u32;
            let mut own_ties = false;
            if include_self {
                own_ties = same::<A>(A::cast_from(arr[cell]), y, true);
                if own_ties {
                    ties = 1u32;
                }
            }
            for t in start..end {
                let at = position(usize::cast_from(order[t]), cell, &sizes, along);
                if same::<A>(A::cast_from(values[at]), y, true) {
                    ties += 1;
                }
            }
            let share = g / A::cast_from(max(ties, 1u32));
            if own_ties {
                own = share;
            }
            if need_values {
                for t in start..end {
                    let at = position(usize::cast_from(order[t]), cell, &sizes, along);
                    let mut mine = zero;
                    if same::<A>(A::cast_from(values[at]), y, true) {
                        mine = share;
                    }
                    values_grad[at] = T::cast_from(mine);
                }
            }
        }
        if need_arr {
            if start == end {
                own = g;
            }
            arr_grad[cell] = T::cast_from(own);
        }
    }

    #[cube(launch)]
    pub fn gather<T: Numeric, I: Int>(
        x: &Tensor<T>,
        index: &Tensor<I>,
        out: &mut Tensor<T>,
        sizes: Sizes,
        units: usize,
        #[comptime] along: bool,
        #[define(T, I)] _types: [ElemType; 2],
    ) {
        if ABSOLUTE_POS >= units {
            terminate!();
        }
        let step = ABSOLUTE_POS / sizes.inner;
        let at = if along { step % sizes.count } else { ABSOLUTE_POS };
        let j = resolve::<I>(index[at], sizes.len);
        out[ABSOLUTE_POS] = x[(step / sizes.count * sizes.len + j) * sizes.inner + ABSOLUTE_POS % sizes.inner];
    }
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

fn sizes(target: &PutTarget) -> kernels::SizesLaunch {
    kernels::SizesLaunch::new(target.len, target.inner, target.count)
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
    let sizes = sizes(target);
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
    // A sum of integers that is to be divided must not wrap.
    let wide = ElemType::Int(IntKind::I64);
    let wide =
        (reduce == Reduce::Mean && dtype.is_int() && arr.client.properties().supports_type(wide)).then_some(wide);
    let types = [stored(dtype), wide.unwrap_or(accumulated(dtype)), stored(ptr.dtype)];
    let (arr, values) = (flat(arr), flat(values));
    let (sizes, along) = (sizes(&target), target.along_axis);
    launch!(
        put,
        out,
        units,
        (
            arg(&arr),
            arg(&values),
            arg(&order),
            arg(&ptr),
            arg(&out),
            sizes,
            units,
            along,
            code(reduce),
            include_self,
            dtype.is_float(),
        ),
        types
    );
    burn_cubecl::ops::reshape(out, shape)
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
    let (sizes, along) = (sizes(&target), target.along_axis);
    launch!(
        put_backward,
        grad,
        units,
        (
            arg(&grad),
            arg(&arr),
            arg(&values),
            arg(&result),
            arg(&order),
            arg(&ptr),
            arg(&arr_grad),
            arg(&values_grad),
            sizes,
            units,
            along,
            code(reduce),
            include_self,
            needs[0],
            needs[1],
        ),
        types
    );
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
    let (sizes, along) = (sizes(&target), target.along_axis);
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
