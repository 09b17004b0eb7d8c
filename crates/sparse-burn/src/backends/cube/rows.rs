//! Rows that move, and rows that meet.

use super::launch::{accumulated, count, empty, flat, grid, stored, vector_size};
use burn_cubecl::tensor::CubeTensor;
use sparse_core::BinaryOp;

#[allow(missing_docs)]
mod kernels {
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    #[cube(launch)]
    pub fn move_rows<T: Numeric, I: Int, N: Size>(
        values: &Tensor<Vector<T, N>>,
        fill: &Tensor<Vector<T, N>>,
        map: &Tensor<I>,
        out: &mut Tensor<Vector<T, N>>,
        old: usize,
        columns: usize,
        units: usize,
        #[define(T, I)] _types: [ElemType; 2],
    ) {
        if ABSOLUTE_POS >= units {
            terminate!();
        }
        let column = ABSOLUTE_POS % columns;
        let row = usize::cast_from(map[ABSOLUTE_POS / columns]);
        if row < old {
            out[ABSOLUTE_POS] = values[row * columns + column];
        } else {
            out[ABSOLUTE_POS] = fill[column];
        }
    }

    /// One unit for each vector of a row of the result.
    #[cube(launch)]
    pub fn segment_sum<T: Numeric, A: Numeric, I: Int, N: Size>(
        values: &Tensor<Vector<T, N>>,
        order: &Tensor<I>,
        ptr: &Tensor<I>,
        out: &mut Tensor<Vector<T, N>>,
        columns: usize,
        units: usize,
        #[comptime] ordered: bool,
        #[comptime] any: bool,
        #[define(T, A, I)] _types: [ElemType; 3],
    ) {
        if ABSOLUTE_POS >= units {
            terminate!();
        }
        let segment = ABSOLUTE_POS / columns;
        let column = ABSOLUTE_POS % columns;
        let end = usize::cast_from(ptr[segment + 1]);
        let mut sum = Vector::<A, N>::cast_from(0u32);
        for k in usize::cast_from(ptr[segment])..end {
            let row = if ordered { usize::cast_from(order[k]) } else { k };
            let value = Vector::<A, N>::cast_from(values[row * columns + column]);
            if any {
                sum = max(sum, value);
            } else {
                sum += value;
            }
        }
        out[ABSOLUTE_POS] = Vector::cast_from(sum);
    }

    /// One cube for each row of the result: `slices` parts of the segment are summed side by side, then as a tree, whose
    /// shape depends on nothing but the launch.
    #[cube(launch)]
    pub fn segment_sum_long<T: Numeric, A: Numeric, I: Int, N: Size>(
        values: &Tensor<Vector<T, N>>,
        order: &Tensor<I>,
        ptr: &Tensor<I>,
        out: &mut Tensor<Vector<T, N>>,
        columns: usize,
        segments: usize,
        fold: usize,
        #[comptime] slices: usize,
        #[comptime] lanes: usize,
        #[comptime] ordered: bool,
        #[define(T, A, I)] _types: [ElemType; 3],
    ) {
        let segment = min(CUBE_POS, segments - 1);
        let mut sums = Shared::<[Vector<A, N>]>::new_slice(slices * lanes);
        let unit = UNIT_POS as usize;
        let slice = unit / lanes;
        let column = unit % lanes;
        let mut sum = Vector::<A, N>::cast_from(0u32);
        if column < columns {
            let end = usize::cast_from(ptr[segment + 1]);
            let mut k = usize::cast_from(ptr[segment]) + slice;
            while k < end {
                let row = if ordered { usize::cast_from(order[k]) } else { k };
                sum += Vector::cast_from(values[row * columns + column]);
                k += slices;
            }
        }
        sums[unit] = sum;
        sync_cube();
        let mut half = fold;
        while half > 0 {
            if slice < half {
                let other = sums[unit + half * lanes];
                sums[unit] += other;
            }
            sync_cube();
            half /= 2;
        }
        if slice == 0 && column < columns && CUBE_POS < segments {
            out[segment * columns + column] = Vector::cast_from(sums[unit]);
        }
    }

    /// `op` 0 to 3: `+ - * /`.
    #[cube(launch)]
    pub fn zip_rows<T: Numeric, A: Numeric, I: Int, N: Size>(
        a: &Tensor<Vector<T, N>>,
        fill_a: &Tensor<Vector<T, N>>,
        map_a: &Tensor<I>,
        b: &Tensor<Vector<T, N>>,
        fill_b: &Tensor<Vector<T, N>>,
        map_b: &Tensor<I>,
        out: &mut Tensor<Vector<T, N>>,
        old_a: usize,
        old_b: usize,
        columns: usize,
        units: usize,
        #[comptime] op: u32,
        #[comptime] mapped_a: bool,
        #[comptime] mapped_b: bool,
        #[define(T, A, I)] _types: [ElemType; 3],
    ) {
        if ABSOLUTE_POS >= units {
            terminate!();
        }
        let row = ABSOLUTE_POS / columns;
        let column = ABSOLUTE_POS % columns;
        let row_a = if mapped_a { usize::cast_from(map_a[row]) } else { row };
        let row_b = if mapped_b { usize::cast_from(map_b[row]) } else { row };
        let mut x = Vector::<A, N>::cast_from(fill_a[column]);
        if row_a < old_a {
            x = Vector::cast_from(a[row_a * columns + column]);
        }
        let mut y = Vector::<A, N>::cast_from(fill_b[column]);
        if row_b < old_b {
            y = Vector::cast_from(b[row_b * columns + column]);
        }
        let result = if op == 0 {
            x + y
        } else if op == 1 {
            x - y
        } else if op == 2 {
            x * y
        } else {
            x / y
        };
        out[ABSOLUTE_POS] = Vector::cast_from(result);
    }
}

/// Units of a cube that work on one row together.
const CUBE: usize = 256;

pub(super) fn move_rows(values: CubeTensor, fill: CubeTensor, map: CubeTensor) -> CubeTensor {
    let (old, block) = (values.meta.shape()[0], values.meta.shape()[1]);
    let rows = count(&map);
    let out = empty(&values, [rows, block], values.dtype);
    if rows * block == 0 {
        return out;
    }
    let fill = flat(fill);
    // A buffer of nothing cannot be bound; it is not read either.
    let values = if old == 0 { fill.clone() } else { flat(values) };
    let size = vector_size(block, &[&out]);
    let (columns, units) = (block / size, rows * block / size);
    let (cubes, dim) = grid(&out.client, units);
    let types = [stored(out.dtype), stored(map.dtype)];
    kernels::move_rows::launch(
        &out.client.clone(),
        cubes,
        dim,
        size,
        values.into_tensor_arg(),
        fill.into_tensor_arg(),
        flat(map).into_tensor_arg(),
        out.clone().into_tensor_arg(),
        old,
        columns,
        units,
        types,
    );
    out
}

pub(super) fn segment_sum(values: CubeTensor, order: Option<CubeTensor>, ptr: CubeTensor) -> CubeTensor {
    let (old, block) = (values.meta.shape()[0], values.meta.shape()[1]);
    let segments = count(&ptr) - 1;
    let any = values.dtype.is_bool();
    if segments * block == 0 {
        return empty(&values, [segments, block], values.dtype);
    }
    if old == 0 {
        return burn_cubecl::ops::numeric::zeros(values.device.clone(), [segments, block].into(), values.dtype);
    }
    let out = empty(&values, [segments, block], values.dtype);
    let ordered = order.is_some();
    let total = order.as_ref().map_or(old, count);
    let (ptr, values) = (flat(ptr), flat(values));
    let order = order.filter(|order| count(order) > 0).map_or_else(|| ptr.clone(), flat);
    let size = vector_size(block, &[&out]);
    let columns = block / size;
    let types = [stored(out.dtype), accumulated(out.dtype), stored(ptr.dtype)];
    // A cube for a row where rows are long enough to give each slice several elements.
    let lanes = columns.next_power_of_two().min(CUBE);
    let slices = CUBE / lanes;
    let cube_limit = out.client.properties().hardware.max_units_per_cube as usize;
    if !any && slices > 1 && total / segments >= 4 * slices && cube_limit >= CUBE {
        let (cubes, dim) = cubes(&out, segments);
        kernels::segment_sum_long::launch(
            &out.client.clone(),
            cubes,
            dim,
            size,
            values.into_tensor_arg(),
            order.into_tensor_arg(),
            ptr.into_tensor_arg(),
            out.clone().into_tensor_arg(),
            columns,
            segments,
            slices / 2,
            slices,
            lanes,
            ordered,
            types,
        );
        return out;
    }
    let units = segments * columns;
    let (cubes, dim) = grid(&out.client, units);
    kernels::segment_sum::launch(
        &out.client.clone(),
        cubes,
        dim,
        size,
        values.into_tensor_arg(),
        order.into_tensor_arg(),
        ptr.into_tensor_arg(),
        out.clone().into_tensor_arg(),
        columns,
        units,
        ordered,
        any,
        types,
    );
    out
}

/// A grid of `number` cubes of [`CUBE`] units.
pub(super) fn cubes(
    like: &CubeTensor,
    number: usize,
) -> (burn_cubecl::cubecl::CubeCount, burn_cubecl::cubecl::CubeDim) {
    let dim = burn_cubecl::cubecl::CubeDim::new_1d(CUBE as u32);
    (burn_cubecl::cubecl::calculate_cube_count_elemwise(&like.client, number * CUBE, dim), dim)
}

/// Values, fill row and index map of an operand.
pub(super) type Side = (CubeTensor, CubeTensor, Option<CubeTensor>);

pub(super) fn zip_rows(op: BinaryOp, a: Side, b: Side) -> CubeTensor {
    let block = a.0.meta.shape()[1];
    let rows = a.2.as_ref().map_or(a.0.meta.shape()[0], count);
    let out = empty(&a.0, [rows, block], a.0.dtype);
    if rows * block == 0 {
        return out;
    }
    let index = [&a.2, &b.2].into_iter().flatten().next().map_or(burn::backend::DType::I32, |map| map.dtype);
    let side = |(values, fill, map): Side| {
        let old = values.meta.shape()[0];
        let fill = flat(fill);
        // What is not read is bound as anything there is.
        let values = if old == 0 { fill.clone() } else { flat(values) };
        let mapped = map.is_some();
        (values.clone(), fill, map.map_or(values, flat), old, mapped)
    };
    let (a, b) = (side(a), side(b));
    let size = vector_size(block, &[&out]);
    let (columns, units) = (block / size, rows * block / size);
    let (cubes, dim) = grid(&out.client, units);
    let types = [stored(out.dtype), accumulated(out.dtype), stored(index)];
    let code = match op {
        BinaryOp::Add => 0,
        BinaryOp::Sub => 1,
        BinaryOp::Mul => 2,
        BinaryOp::Div => 3,
    };
    kernels::zip_rows::launch(
        &out.client.clone(),
        cubes,
        dim,
        size,
        a.0.into_tensor_arg(),
        a.1.into_tensor_arg(),
        a.2.into_tensor_arg(),
        b.0.into_tensor_arg(),
        b.1.into_tensor_arg(),
        b.2.into_tensor_arg(),
        out.clone().into_tensor_arg(),
        a.3,
        b.3,
        columns,
        units,
        code,
        a.4,
        b.4,
        types,
    );
    out
}
