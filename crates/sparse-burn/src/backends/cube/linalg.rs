//! Products.

use super::launch::{accumulated, count, empty, flat, grid, stored, vector_size};
use super::rows::cubes;
use burn_cubecl::tensor::CubeTensor;

#[allow(missing_docs)]
mod kernels {
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    /// One unit for each vector of a row of the result.
    #[cube(launch)]
    pub fn spmm<T: Numeric, A: Numeric, I: Int, N: Size>(
        ptr: &Tensor<I>,
        idx: &Tensor<I>,
        perm: &Tensor<I>,
        values: &Tensor<T>,
        dense: &Tensor<Vector<T, N>>,
        out: &mut Tensor<Vector<T, N>>,
        columns: usize,
        units: usize,
        #[comptime] permuted: bool,
        #[define(T, A, I)] _types: [ElemType; 3],
    ) {
        if ABSOLUTE_POS >= units {
            terminate!();
        }
        let row = ABSOLUTE_POS / columns;
        let column = ABSOLUTE_POS % columns;
        let end = usize::cast_from(ptr[row + 1]);
        let mut sum = Vector::<A, N>::cast_from(0u32);
        for k in usize::cast_from(ptr[row])..end {
            let at = if permuted { usize::cast_from(perm[k]) } else { k };
            let value = Vector::<A, N>::new(A::cast_from(values[at]));
            sum += value * Vector::cast_from(dense[usize::cast_from(idx[k]) * columns + column]);
        }
        out[ABSOLUTE_POS] = Vector::cast_from(sum);
    }

    /// One cube for each row of the result: parts of the row side by side, then a tree of a fixed shape.
    #[cube(launch)]
    pub fn spmm_long<T: Numeric, A: Numeric, I: Int, N: Size>(
        ptr: &Tensor<I>,
        idx: &Tensor<I>,
        perm: &Tensor<I>,
        values: &Tensor<T>,
        dense: &Tensor<Vector<T, N>>,
        out: &mut Tensor<Vector<T, N>>,
        columns: usize,
        rows: usize,
        fold: usize,
        #[comptime] slices: usize,
        #[comptime] lanes: usize,
        #[comptime] permuted: bool,
        #[define(T, A, I)] _types: [ElemType; 3],
    ) {
        let row = min(CUBE_POS, rows - 1);
        let mut sums = Shared::<[Vector<A, N>]>::new_slice(slices * lanes);
        let unit = UNIT_POS as usize;
        let slice = unit / lanes;
        let column = unit % lanes;
        let mut sum = Vector::<A, N>::cast_from(0u32);
        if column < columns {
            let end = usize::cast_from(ptr[row + 1]);
            let mut k = usize::cast_from(ptr[row]) + slice;
            while k < end {
                let at = if permuted { usize::cast_from(perm[k]) } else { k };
                let value = Vector::<A, N>::new(A::cast_from(values[at]));
                sum += value * Vector::cast_from(dense[usize::cast_from(idx[k]) * columns + column]);
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
        if slice == 0 && column < columns && CUBE_POS < rows {
            out[row * columns + column] = Vector::cast_from(sums[unit]);
        }
    }

    /// `lanes` units for each element: each takes every `lanes`-th vector of the two rows, then they add up as a tree.
    #[cube(launch)]
    pub fn sddmm<T: Numeric, A: Numeric, I: Int, N: Size>(
        rows: &Tensor<I>,
        cols: &Tensor<I>,
        x: &Tensor<Vector<T, N>>,
        y: &Tensor<Vector<T, N>>,
        out: &mut Tensor<T>,
        columns: usize,
        nnz: usize,
        fold: usize,
        #[comptime] lanes: usize,
        #[comptime] cube: usize,
        #[define(T, A, I)] _types: [ElemType; 3],
    ) {
        let mut sums = Shared::<[A]>::new_slice(cube);
        let unit = UNIT_POS as usize;
        let lane = unit % lanes;
        let k = CUBE_POS * (cube / lanes) + unit / lanes;
        let mut sum = A::from_int(0);
        if k < nnz {
            let row = usize::cast_from(rows[k]) * columns;
            let col = usize::cast_from(cols[k]) * columns;
            let mut c = lane;
            while c < columns {
                let product = Vector::<A, N>::cast_from(x[row + c]) * Vector::cast_from(y[col + c]);
                #[unroll]
                for v in 0..product.vector_size() {
                    sum += product.extract(v);
                }
                c += lanes;
            }
        }
        sums[unit] = sum;
        sync_cube();
        let mut half = fold;
        while half > 0 {
            if lane < half {
                let other = sums[unit + half];
                sums[unit] += other;
            }
            sync_cube();
            half /= 2;
        }
        if lane == 0 && k < nnz {
            out[k] = T::cast_from(sums[unit]);
        }
    }
}

const CUBE: usize = 256;

/// Rows of a sparse matrix: pointers, columns, and where the value of each element stands.
pub(super) type View = (CubeTensor, CubeTensor, Option<CubeTensor>);

pub(super) fn spmm((ptr, idx, perm): View, values: CubeTensor, dense: CubeTensor) -> CubeTensor {
    let rows = count(&ptr) - 1;
    let (nnz, width) = (count(&idx), dense.meta.shape()[1]);
    if rows * width == 0 {
        return empty(&dense, [rows, width], dense.dtype);
    }
    if nnz == 0 {
        return burn_cubecl::ops::numeric::zeros(dense.device.clone(), [rows, width].into(), dense.dtype);
    }
    let out = empty(&dense, [rows, width], dense.dtype);
    let (ptr, idx, values, dense) = (flat(ptr), flat(idx), flat(values), flat(dense));
    let permuted = perm.is_some();
    let perm = perm.map_or_else(|| idx.clone(), flat);
    let size = vector_size(width, &[&out]);
    let columns = width / size;
    let types = [stored(out.dtype), accumulated(out.dtype), stored(ptr.dtype)];
    let lanes = columns.next_power_of_two().min(CUBE);
    let slices = CUBE / lanes;
    let cube_limit = out.client.properties().hardware.max_units_per_cube as usize;
    if slices > 1 && nnz / rows >= 4 * slices && cube_limit >= CUBE {
        let (cubes, dim) = cubes(&out, rows);
        kernels::spmm_long::launch(
            &out.client.clone(),
            cubes,
            dim,
            size,
            ptr.into_tensor_arg(),
            idx.into_tensor_arg(),
            perm.into_tensor_arg(),
            values.into_tensor_arg(),
            dense.into_tensor_arg(),
            out.clone().into_tensor_arg(),
            columns,
            rows,
            slices / 2,
            slices,
            lanes,
            permuted,
            types,
        );
        return out;
    }
    let units = rows * columns;
    let (cubes, dim) = grid(&out.client, units);
    kernels::spmm::launch(
        &out.client.clone(),
        cubes,
        dim,
        size,
        ptr.into_tensor_arg(),
        idx.into_tensor_arg(),
        perm.into_tensor_arg(),
        values.into_tensor_arg(),
        dense.into_tensor_arg(),
        out.clone().into_tensor_arg(),
        columns,
        units,
        permuted,
        types,
    );
    out
}

pub(super) fn sddmm(rows: CubeTensor, cols: CubeTensor, x: CubeTensor, y: CubeTensor) -> CubeTensor {
    let (nnz, width) = (count(&rows), x.meta.shape()[1]);
    if nnz == 0 {
        return empty(&x, [0, 1], x.dtype);
    }
    if width == 0 {
        return burn_cubecl::ops::numeric::zeros(x.device.clone(), [nnz, 1].into(), x.dtype);
    }
    let out = empty(&x, [nnz, 1], x.dtype);
    let (rows, cols, x, y) = (flat(rows), flat(cols), flat(x), flat(y));
    let size = vector_size(width, &[&x]);
    let columns = width / size;
    let limit = out.client.properties().hardware.max_units_per_cube as usize;
    let cube = CUBE.min((limit + 1).next_power_of_two() / 2);
    let lanes = columns.next_power_of_two().min(32).min(cube);
    let types = [stored(out.dtype), accumulated(out.dtype), stored(rows.dtype)];
    let dim = burn_cubecl::cubecl::CubeDim::new_1d(cube as u32);
    let cubes = burn_cubecl::cubecl::calculate_cube_count_elemwise(&out.client, nnz * lanes, dim);
    kernels::sddmm::launch(
        &out.client.clone(),
        cubes,
        dim,
        size,
        rows.into_tensor_arg(),
        cols.into_tensor_arg(),
        x.into_tensor_arg(),
        y.into_tensor_arg(),
        out.clone().into_tensor_arg(),
        columns,
        nnz,
        lanes / 2,
        lanes,
        cube,
        types,
    );
    out
}
