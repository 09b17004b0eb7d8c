//! Sampled products of dense matrices.

use super::launch::{accumulated, arg, count, empty, flat, launch, stored, vector_size};
use burn_cubecl::tensor::CubeTensor;

#[allow(missing_docs)]
mod kernels {
    use super::super::extremum::kernels::matched;
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    /// `lanes` units for each element: each takes every `lanes`-th vector of the two rows, then they add up as a
    /// tree. With `only`, products of the rows count where the value times `y` is the result.
    #[cube(launch)]
    pub fn sddmm<T: Numeric, A: Numeric, I: Int, N: Size>(
        rows: &Tensor<I>,
        cols: &Tensor<I>,
        x: &Tensor<Vector<T, N>>,
        y: &Tensor<Vector<T, N>>,
        values: &Tensor<T>,
        result: &Tensor<Vector<T, N>>,
        out: &mut Tensor<T>,
        columns: usize,
        nnz: usize,
        fold: usize,
        #[comptime] lanes: usize,
        #[comptime] cube: usize,
        #[comptime] only: bool,
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
                let y = Vector::<A, N>::cast_from(y[col + c]);
                let mut product = Vector::<A, N>::cast_from(x[row + c]) * y;
                if only {
                    let value = Vector::<A, N>::new(A::cast_from(values[k]));
                    product = matched::<T, A, N>(value, y, Vector::<A, N>::cast_from(result[row + c]), product);
                }
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

/// Units of a cube, where the device has as many.
const CUBE: usize = 256;

pub(super) fn sddmm(rows: CubeTensor, cols: CubeTensor, x: CubeTensor, y: CubeTensor) -> CubeTensor {
    sampled(rows, cols, x, y, None)
}

/// [`sddmm`]; with values and a result (of the shape of `x`), sums only what belongs to the result: `x[r, f] * y[c, f]`
/// where `value * y[c, f]` is `result[r, f]`.
pub(super) fn sampled(
    rows: CubeTensor,
    cols: CubeTensor,
    x: CubeTensor,
    y: CubeTensor,
    only: Option<(CubeTensor, CubeTensor)>,
) -> CubeTensor {
    let (nnz, width) = (count(&rows), x.meta.shape()[1]);
    if nnz == 0 {
        return empty(&x, [0, 1], x.dtype);
    }
    if width == 0 {
        return burn_cubecl::ops::numeric::zeros(x.device.clone(), [nnz, 1].into(), x.dtype);
    }
    let out = empty(&x, [nnz, 1], x.dtype);
    let (rows, cols, x, y) = (flat(rows), flat(cols), flat(x), flat(y));
    let matching = only.is_some();
    // What is not read is bound as something of its type.
    let (values, result) = only.map_or_else(|| (x.clone(), x.clone()), |(values, result)| (flat(values), flat(result)));
    let size = vector_size(width, &[&x]);
    let columns = width / size;
    let limit = out.client.properties().hardware.max_units_per_cube as usize;
    let cube = CUBE.min((limit + 1).next_power_of_two() / 2);
    let lanes = columns.next_power_of_two().min(32).min(cube);
    let types = [stored(out.dtype), accumulated(out.dtype), stored(rows.dtype)];
    launch!(
        sddmm,
        out,
        cubes(nnz.div_ceil(cube / lanes), cube),
        (
            size,
            arg(&rows),
            arg(&cols),
            arg(&x),
            arg(&y),
            arg(&values),
            arg(&result),
            arg(&out),
            columns,
            nnz,
            lanes / 2,
            lanes,
            cube,
            matching,
        ),
        types
    );
    out
}
