//! Sampled products of dense matrices. A few units share the two rows of each element of the result.

use super::fallback::supported;
use super::hardware::{Grid, Hardware};
use super::launch::{accumulated, arg, count, empty, flat, hardware, holds, launch, runs, stored};
use crate::backend::Gpu;
use crate::kernel::Sddmm;
use burn::backend::DType;
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;

#[allow(missing_docs)]
mod kernels {
    use super::super::parts::{One, SUM, matched, tree};
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    /// `lanes` units for each element and head. Each sums the products of every `lanes`-th vector of the head's part of
    /// the two rows, then a tree reduction adds their sums. With `only` a product counts if the value times `y` equals
    /// the result.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn sddmm<T: Numeric, A: Numeric, I: Int, N: Size>(
        rows: &Tensor<I>,
        cols: &Tensor<I>,
        x: &Tensor<Vector<T, N>>,
        y: &Tensor<Vector<T, N>>,
        values: &Tensor<T>,
        result: &Tensor<Vector<T, N>>,
        out: &mut Tensor<T>,
        columns: usize,
        heads: usize,
        sums: usize,
        #[comptime] lanes: usize,
        #[comptime] cube: usize,
        #[comptime] only: bool,
        #[define(T, A, I)] _types: [ElemType; 3],
    ) {
        let mut shared = Shared::<[Vector<A, One>]>::new_slice(cube);
        let unit = UNIT_POS as usize;
        let lane = unit % lanes;
        let k = CUBE_POS * (cube / lanes) + unit / lanes;
        let mut sum = A::from_int(0);
        if k < sums {
            let element = k / heads;
            let head = k % heads;
            let row = (usize::cast_from(rows[element]) * heads + head) * columns;
            let col = (usize::cast_from(cols[element]) * heads + head) * columns;
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
        tree::<A, One>(&mut shared, Vector::<A, One>::new(sum), lane, lanes, 1usize, SUM, false);
        if lane == 0 && k < sums {
            out[k] = T::cast_from(shared[unit].extract(0usize));
        }
    }
}

/// Units of a cube, if the device allows as many.
const CUBE: usize = 256;

/// Most units that share an element.
const LANES: usize = 32;

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
    let lanes = columns.next_power_of_two().min(LANES).min(cube);
    let grid = hardware.cubes(problem.sums.div_ceil(cube / lanes), cube);
    Strategy { vector, columns, cube, lanes, grid }
}

impl Sddmm<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { rows, cols, x, y, heads } = supported(self, |Self { rows, cols, x, y, heads }| {
            runs([rows, cols, x, y]) && holds(x, count(rows).saturating_mul(*heads), x.dtype)
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
    let (rows, cols, x, y) = (flat(rows), flat(cols), flat(x), flat(y));
    let matching = only.is_some();
    // An operand that is not read is bound as another tensor of its type.
    let (values, result) = only.map_or_else(|| (x.clone(), x.clone()), |(values, result)| (flat(values), flat(result)));
    let strategy = strategy(&Problem { sums, width: width / heads, dtype }, &hardware(&out));
    let Strategy { vector, columns, cube, lanes, grid } = strategy;
    let types = [stored(dtype), accumulated(dtype), stored(rows.dtype)];
    let ([r, c, x, y], [v, o, w]) = ([&rows, &cols, &x, &y].map(arg), [&values, &result, &out].map(arg));
    launch!(sddmm, out, grid(grid), (vector, r, c, x, y, v, o, w, columns, heads, sums, lanes, cube, matching), types);
    out
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
        assert_eq!(shape(1), (1, 4));
        assert_eq!(shape(12), (4, 16));
        assert_eq!(shape(7), (8, 32));
        assert_eq!(shape(128), (32, 125));
        assert_eq!(shape(4096), (32, 125));
    }

    #[test]
    fn small_cubes_have_fewer_units() {
        let poor = Hardware { units: 96, ..SMALL };
        assert_eq!((of(1000, 128, &poor).cube, of(1000, 128, &poor).lanes), (64, 32));
        assert_eq!(of(1000, 128, &Hardware { units: 16, ..SMALL }).lanes, 16);
    }

    #[test]
    fn many_elements_take_a_grid_of_two_axes() {
        assert_eq!(of(8 * 65_535, 128, &SMALL).grid.cubes, [65_535, 1, 1]);
        assert_eq!(of(8 * 65_535 + 1, 128, &SMALL).grid.cubes, [32_768, 2, 1]);
    }
}
