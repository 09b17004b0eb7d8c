//! Sampled products of dense matrices (SDDMM): `out[k, h] = <x[rows[k], h], y[cols[k], h]>` for each element `k` and
//! head `h`, whose part of a row is `width` wide.
//!
//! One launch. A group of units takes [`ITEMS`] numbers of the result at a time, so that as many rows are read at once.
//! How many units it has follows from the width alone: about one for each four vectors of a head. They add their sums
//! as a tree of fixed shape, for all numbers together. So the bits of a number depend on its own two rows only. Bytes:
//! two row parts for each number, two indices for each element, and the result.
//!
//! Source: groups of units by the width, and several elements each, as in Yang, Buluc and Owens, *Design principles for
//! sparse matrix multiplication on the GPU*, Euro-Par 2018.

use super::fallback::{gpu_or_host, supported};
use super::hardware::{Grid, Hardware};
use super::launch::{
    accumulated, arg, count, dividend, divides, empty, flat, hardware, holds, launch, rows_of, runs, stored,
};
use crate::backend::Gpu;
use crate::kernel::{Sddmm, Spmm, SpmmBackward};
use crate::kernel_views::Epilogue;
use burn::backend::DType;
use burn_cubecl::cubecl::prelude::{Int, Numeric, Size};
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;

#[allow(missing_docs)]
mod kernels {
    use super::super::parts::{SUM, matched, tree};
    use super::ITEMS;
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;
    use cubecl::std::FastDivmod;

    /// The sums of a unit, one for each number that its group takes.
    type Items = Const<4>;

    /// Which products are summed: those for which the number's value times `y` equals a matrix of the shape of `x`.
    #[derive(CubeType, CubeLaunch)]
    pub struct Matching<T: Numeric, N: Size> {
        values: OwnedTensor<T>,
        result: OwnedTensor<Vector<T, N>>,
        stride: usize,
    }

    /// The elements, the two matrices, and how many vectors lie between their rows.
    #[derive(CubeType, CubeLaunch)]
    pub struct Operands<T: Numeric, I: Int, N: Size> {
        rows: OwnedTensor<I>,
        cols: OwnedTensor<I>,
        x: OwnedTensor<Vector<T, N>>,
        y: OwnedTensor<Vector<T, N>>,
        x_stride: usize,
        y_stride: usize,
        only: ComptimeOption<Matching<T, N>>,
    }

    /// Each of the `lanes` units of a group sums the products of every `lanes`-th vector.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn sddmm<T: Numeric, A: Numeric, I: Int, N: Size>(
        operands: &Operands<T, I, N>,
        out: &mut Tensor<T>,
        columns: usize,
        heads: FastDivmod<usize>,
        sums: usize,
        #[comptime] lanes: usize,
        #[comptime] cube: usize,
        #[define(T, A, I)] _types: [ElemType; 3],
    ) {
        let mut shared = Shared::<[Vector<A, Items>]>::new_slice(cube);
        let unit = UNIT_POS as usize;
        let lane = unit % lanes;
        let first = (CUBE_POS * comptime!(cube / lanes) + unit / lanes) * ITEMS;
        // Numbers beyond the last are computed as the last.
        let mut xs = Array::<usize>::new(ITEMS);
        let mut ys = Array::<usize>::new(ITEMS);
        let mut results = Array::<usize>::new(ITEMS);
        let mut sum = Array::<Vector<A, N>>::new(ITEMS);
        #[unroll]
        for item in 0..ITEMS {
            let (element, head) = heads.div_mod(min(first + item, sums - 1));
            let row = usize::cast_from(operands.rows[element]);
            xs[item] = row * operands.x_stride + head * columns;
            ys[item] = usize::cast_from(operands.cols[element]) * operands.y_stride + head * columns;
            #[comptime]
            let result = match &operands.only {
                ComptimeOption::Some(only) => row * only.stride + head * columns,
                ComptimeOption::None => row,
            };
            results[item] = result;
            sum[item] = Vector::<A, N>::cast_from(0u32);
        }
        let mut c = lane;
        while c < columns {
            #[unroll]
            for item in 0..ITEMS {
                let x = Vector::<A, N>::cast_from(operands.x[xs[item] + c]);
                let y = Vector::<A, N>::cast_from(operands.y[ys[item] + c]);
                #[comptime]
                let product = match &operands.only {
                    ComptimeOption::Some(only) => {
                        let value = A::cast_from(only.values[min(first + item, sums - 1)]);
                        let result = Vector::<A, N>::cast_from(only.result[results[item] + c]);
                        matched::<T, A, N>(Vector::<A, N>::new(value), y, result, x * y)
                    }
                    ComptimeOption::None => x * y,
                };
                sum[item] += product;
            }
            c += lanes;
        }
        let mut own = Vector::<A, Items>::cast_from(0u32);
        #[unroll]
        for item in 0..ITEMS {
            let parts = sum[item];
            let mut total = parts.extract(0usize);
            #[unroll]
            for v in 1..parts.vector_size() {
                total += parts.extract(v);
            }
            own.insert(item, total);
        }
        tree::<A, Items>(&mut shared, own, lane, lanes, 1usize, SUM, false);
        if lane == 0 {
            let totals = shared[unit];
            #[unroll]
            for item in 0..ITEMS {
                if first + item < sums {
                    out[first + item] = T::cast_from(totals.extract(item));
                }
            }
        }
    }
}

/// Units of a cube, if the device allows as many.
const CUBE: usize = 256;

/// Most units that share a number.
const LANES: usize = 32;

/// Vectors of a head that a unit reads, where the head is not wider than [`LANES`] units read so.
const VECTORS: usize = 4;

/// Numbers that a group takes at a time.
const ITEMS: usize = 4;

/// Numbers of the result (one for each element and head), and the width of a head.
#[derive(Clone, Copy, Debug)]
struct Problem {
    sums: usize,
    width: usize,
    dtype: DType,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Strategy {
    /// Elements of a vector, and vectors of a head.
    vector: usize,
    columns: usize,
    /// Units of a cube, and units that share a number of the result.
    cube: usize,
    lanes: usize,
    grid: Grid,
}

fn strategy(problem: &Problem, hardware: &Hardware) -> Strategy {
    let (vector, columns) = hardware.vectors(problem.width, problem.dtype.size());
    let cube = CUBE.min(1 << hardware.units.ilog2());
    let lanes = columns.div_ceil(VECTORS).next_power_of_two().min(LANES).min(cube);
    let grid = hardware.cubes(problem.sums.div_ceil(cube / lanes * ITEMS), cube);
    Strategy { vector, columns, cube, lanes, grid }
}

impl SpmmBackward<CubeTensor> {
    /// Two kernels: each gradient has its own way to share rows among units.
    pub(crate) fn gpu(self) -> Gpu<(CubeTensor, CubeTensor), Self> {
        let Self { view, values, dense, grad, rows, cols, .. } = self;
        let heads = values.meta.shape()[1];
        let epilogue = Epilogue::default();
        let of_dense =
            gpu_or_host::<Spmm<()>>(Spmm { view, plan: None, values, dense: grad.clone(), batch: 1, epilogue });
        Ok((of_dense, gpu_or_host::<Sddmm<()>>(Sddmm { rows, cols, x: grad, y: dense, heads })))
    }
}

impl Sddmm<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { rows, cols, x, y, heads } = supported(self, |Self { rows, cols, x, y, heads }| {
            let sums = count(rows).saturating_mul(*heads);
            runs([rows, cols, x, y]) && holds(x, sums, x.dtype) && divides(x, sums)
        })?;
        Ok(sampled(rows, cols, x, y, heads, None))
    }
}

/// The product of row `rows[k]` of `x` and row `cols[k]` of `y`, for each `k` and each of the `heads` parts of the
/// rows: `[nnz, heads]`. With values and a result (of the shape of `x`), only the products `x[r, f] * y[c, f]` are
/// summed for which `value * y[c, f]` equals `result[r, f]`.
pub(super) fn sampled(
    rows: CubeTensor,
    cols: CubeTensor,
    x: CubeTensor,
    y: CubeTensor,
    heads: usize,
    only: Option<(CubeTensor, CubeTensor)>,
) -> CubeTensor {
    let (nnz, width, dtype) = (count(&rows), x.meta.shape()[1], x.dtype);
    let sums = nnz * heads;
    if sums == 0 {
        return empty(&x, [nnz, heads], dtype);
    }
    if width == 0 {
        return zeros(x.device.clone(), [nnz, heads].into(), dtype);
    }
    let out = empty(&x, [nnz, heads], dtype);
    let strategy = strategy(&Problem { sums, width: width / heads, dtype }, &hardware(&out));
    let Strategy { vector, columns, cube, lanes, grid } = strategy;
    let [(x, x_stride), (y, y_stride)] = [x, y].map(|matrix| rows_of(matrix, vector));
    let operands = Operands {
        lists: [flat(rows), flat(cols)],
        matrices: [x, y],
        strides: [x_stride, y_stride],
        only: only.map(|(values, result)| (flat(values), rows_of(result, vector))),
    };
    let types = [stored(dtype), accumulated(dtype), stored(operands.lists[0].dtype)];
    let [x, y] = &operands.matrices;
    launch!(
        sddmm,
        ([x, y, &operands.lists[0], &out], dividend(sums)),
        grid(grid),
        (vector, operands.args(), arg(&out), columns, heads, sums, lanes, cube),
        types
    );
    out
}

/// What [`kernels::Operands`] has.
struct Operands {
    lists: [CubeTensor; 2],
    matrices: [CubeTensor; 2],
    strides: [usize; 2],
    only: Option<(CubeTensor, (CubeTensor, usize))>,
}

impl Operands {
    fn args<T: Numeric, I: Int, N: Size>(&self) -> kernels::OperandsLaunch<T, I, N> {
        let ([rows, cols], [x, y]) = (self.lists.each_ref().map(arg), self.matrices.each_ref().map(arg));
        let only = self
            .only
            .as_ref()
            .map(|(values, (result, stride))| kernels::MatchingLaunch::<T, N>::new(arg(values), arg(result), *stride));
        kernels::OperandsLaunch::new(rows, cols, x, y, self.strides[0], self.strides[1], only.into())
    }
}

#[cfg(test)]
mod tests {
    use super::super::hardware::tests::SMALL;
    use super::*;

    fn of(sums: usize, width: usize, hardware: &Hardware) -> Strategy {
        strategy(&Problem { sums, width, dtype: DType::F32 }, hardware)
    }

    #[test]
    fn units_share_an_element_by_the_width_of_its_rows() {
        let shape = |width| (of(1000, width, &SMALL).lanes, of(1000, width, &SMALL).grid.cubes[0]);
        assert_eq!(shape(1), (1, 1));
        assert_eq!(shape(7), (2, 2));
        assert_eq!(shape(40), (4, 4));
        assert_eq!(shape(47), (16, 16));
        assert_eq!(shape(100), (8, 8));
        assert_eq!(shape(128), (8, 8));
        assert_eq!(shape(500), (32, 32));
        assert_eq!(shape(4096), (32, 32));
    }

    #[test]
    fn small_cubes_have_fewer_units() {
        let poor = Hardware { units: 96, ..SMALL };
        assert_eq!((of(1000, 512, &poor).cube, of(1000, 512, &poor).lanes), (64, 32));
        assert_eq!(of(1000, 512, &Hardware { units: 16, ..SMALL }).lanes, 16);
    }

    #[test]
    fn many_elements_take_a_grid_of_two_axes() {
        assert_eq!(of(32 * 65_535, 512, &SMALL).grid.cubes, [65_535, 1, 1]);
        assert_eq!(of(32 * 65_535 + 1, 512, &SMALL).grid.cubes, [32_768, 2, 1]);
    }
}
