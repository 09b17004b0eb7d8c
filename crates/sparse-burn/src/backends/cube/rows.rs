//! Moving rows by an index map, and combining the rows of two operands: `out[k] = values[map[k]]`, or the fill where
//! the map has no row; `out[k] = a[map_a[k]] op b[map_b[k]]`.
//!
//! One launch, with one unit for each vector of the result. Rows are read where they are, also if they are apart in
//! memory. Bytes: the rows of the result once for each operand that has them, the maps, and the result.

use super::fallback::supported;
use super::hardware::Hardware;
use super::launch::{
    Rows, accumulated, arg, count, dividend, divides, divisor, empty, flat, hardware, holds_rows, launch, runs, stored,
};
use crate::backend::Gpu;
use crate::kernel::{MoveRows, SwapRows, ZipRows};
use burn::backend::DType;
use burn_cubecl::cubecl::prelude::{Int, Numeric, Size};
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::ops::{permute, reshape};
use burn_cubecl::tensor::CubeTensor;
use sparse_core::BinaryOp;

#[allow(missing_docs)]
mod kernels {
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;
    use cubecl::std::FastDivmod;

    /// `stride` vectors lie between the starts of two old rows.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn move_rows<T: Numeric, I: Int, N: Size>(
        values: &Tensor<Vector<T, N>>,
        fill: &Tensor<Vector<T, N>>,
        map: &Tensor<I>,
        out: &mut Tensor<Vector<T, N>>,
        old: usize,
        stride: usize,
        columns: FastDivmod<usize>,
        units: usize,
        #[define(T, I)] _types: [ElemType; 2],
    ) {
        if ABSOLUTE_POS >= units {
            terminate!();
        }
        let (at, column) = columns.div_mod(ABSOLUTE_POS);
        let row = usize::cast_from(map[at]);
        if row < old {
            out[ABSOLUTE_POS] = values[row * stride + column];
        } else {
            out[ABSOLUTE_POS] = fill[column];
        }
    }

    /// Rows of an operand, and what is read where the map (without one: the operand) has no row.
    #[derive(CubeType, CubeLaunch)]
    pub struct Side<T: Numeric, I: Int, N: Size> {
        values: OwnedTensor<Vector<T, N>>,
        fill: OwnedTensor<Vector<T, N>>,
        map: ComptimeOption<OwnedTensor<I>>,
        old: usize,
        stride: usize,
    }

    #[cube]
    fn read<T: Numeric, A: Numeric, I: Int, N: Size>(side: &Side<T, I, N>, at: usize, column: usize) -> Vector<A, N> {
        #[comptime]
        let row = match &side.map {
            ComptimeOption::Some(map) => usize::cast_from(map[at]),
            ComptimeOption::None => at,
        };
        let mut x = Vector::<A, N>::cast_from(side.fill[column]);
        if row < side.old {
            x = Vector::cast_from(side.values[row * side.stride + column]);
        }
        x
    }

    /// `op` 0 to 3: `+ - * /`.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn zip_rows<T: Numeric, A: Numeric, I: Int, N: Size>(
        a: &Side<T, I, N>,
        b: &Side<T, I, N>,
        out: &mut Tensor<Vector<T, N>>,
        columns: FastDivmod<usize>,
        units: usize,
        #[comptime] op: u32,
        #[define(T, A, I)] _types: [ElemType; 3],
    ) {
        if ABSOLUTE_POS >= units {
            terminate!();
        }
        let (at, column) = columns.div_mod(ABSOLUTE_POS);
        let x = read::<T, A, I, N>(a, at, column);
        let y = read::<T, A, I, N>(b, at, column);
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

/// The rows of the result. Vectors must divide `common`: the width, and the distances between the operands' rows.
#[derive(Clone, Copy, Debug)]
struct Problem {
    rows: usize,
    width: usize,
    common: usize,
    dtype: DType,
}

/// Elements of a vector, vectors of a row, and units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Strategy {
    vector: usize,
    columns: usize,
    units: usize,
}

fn strategy(problem: &Problem, hardware: &Hardware) -> Strategy {
    let (vector, _) = hardware.vectors(problem.common, problem.dtype.size());
    let columns = problem.width / vector;
    Strategy { vector, columns, units: problem.rows * columns }
}

/// Whether the device can hold the rows of the result, and divide the positions of its elements.
fn reaches(values: &CubeTensor, rows: usize) -> bool {
    holds_rows(values, rows) && divides(values, rows.saturating_mul(values.meta.shape()[1]))
}

impl MoveRows<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { values, fill, map } =
            supported(self, |Self { values, map, .. }| runs([values, map]) && reaches(values, count(map)))?;
        Ok(move_rows(values, fill, map))
    }
}

impl SwapRows<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { values, outer } = supported(self, |Self { values, .. }| runs([values]) && count(values) > 0)?;
        Ok(swap_rows(values, outer))
    }
}

/// Rows `[outer, inner]` in the order `[inner, outer]`, of a matrix that is not empty.
pub(super) fn swap_rows(values: CubeTensor, outer: usize) -> CubeTensor {
    let shape = values.meta.shape().clone();
    let split = reshape(values, [outer, shape[0] / outer, shape[1]].into());
    reshape(permute(split, &[1, 0, 2]), shape)
}

pub(super) fn move_rows(values: CubeTensor, fill: CubeTensor, map: CubeTensor) -> CubeTensor {
    let (old, width, dtype) = (values.meta.shape()[0], values.meta.shape()[1], values.dtype);
    let rows = count(&map);
    let out = empty(&values, [rows, width], dtype);
    if rows * width == 0 {
        return out;
    }
    let (fill, map) = (flat(fill), flat(map));
    let values = readable(values, &fill);
    let problem = Problem { rows, width, common: divisor(width, [&values]), dtype };
    let Strategy { vector, columns, units } = strategy(&problem, &hardware(&out));
    let (types, stride) = ([stored(dtype), stored(map.dtype)], values.stride / vector);
    launch!(
        move_rows,
        ([&values.tensor, &map, &out], dividend(units)),
        units,
        (vector, arg(&values.tensor), arg(&fill), arg(&map), arg(&out), old, stride, columns, units),
        types
    );
    out
}

/// `list[map[k]]` for each `k`.
pub(super) fn follow(list: CubeTensor, map: &CubeTensor) -> CubeTensor {
    let fill = zeros(list.device.clone(), [1, 1].into(), list.dtype);
    let column = burn_cubecl::ops::reshape(list.clone(), [count(&list), 1].into());
    burn_cubecl::ops::reshape(move_rows(column, fill, map.clone()), [count(map)].into())
}

/// The rows of an operand. An empty buffer cannot be bound: the fill takes its place, and is not read as such.
fn readable(values: CubeTensor, fill: &CubeTensor) -> Rows {
    Rows::of(if values.meta.shape()[0] == 0 { fill.clone() } else { values })
}

impl ZipRows<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { op, values, fills, maps } = supported(self, |Self { values, maps, .. }| {
            let rows = maps[0].as_ref().map_or(values[0].meta.shape()[0], count);
            runs(values.iter().chain(maps.iter().flatten())) && reaches(&values[0], rows)
        })?;
        let ([a, b], [fill_a, fill_b], [map_a, map_b]) = (values, fills, maps);
        Ok(zip_rows(op, (a, fill_a, map_a), (b, fill_b, map_b)))
    }
}

/// Values, fill row and index map of an operand.
type Side = (CubeTensor, CubeTensor, Option<CubeTensor>);

fn zip_rows(op: BinaryOp, a: Side, b: Side) -> CubeTensor {
    let (width, dtype) = (a.0.meta.shape()[1], a.0.dtype);
    let rows = a.2.as_ref().map_or(a.0.meta.shape()[0], count);
    let out = empty(&a.0, [rows, width], dtype);
    if rows * width == 0 {
        return out;
    }
    let index = [&a.2, &b.2].into_iter().flatten().next().map_or(DType::I32, |map| map.dtype);
    let (a, b) = (Operand::new(a), Operand::new(b));
    let problem = Problem { rows, width, common: divisor(width, [&a.values, &b.values]), dtype };
    let Strategy { vector, columns, units } = strategy(&problem, &hardware(&out));
    let types = [stored(dtype), accumulated(dtype), stored(index)];
    let code = match op {
        BinaryOp::Add => 0,
        BinaryOp::Sub => 1,
        BinaryOp::Mul => 2,
        BinaryOp::Div => 3,
    };
    launch!(
        zip_rows,
        ([&a.values.tensor, &b.values.tensor, &out], dividend(units)),
        units,
        (vector, a.args(vector), b.args(vector), arg(&out), columns, units, code),
        types
    );
    out
}

/// What [`kernels::Side`] has.
struct Operand {
    values: Rows,
    fill: CubeTensor,
    map: Option<CubeTensor>,
    old: usize,
}

impl Operand {
    fn new((values, fill, map): Side) -> Self {
        let (old, fill) = (values.meta.shape()[0], flat(fill));
        Self { values: readable(values, &fill), fill, map: map.map(flat), old }
    }

    fn args<T: Numeric, I: Int, N: Size>(&self, vector: usize) -> kernels::SideLaunch<T, I, N> {
        let Self { values: Rows { tensor, stride }, fill, map, old } = self;
        kernels::SideLaunch::new(arg(tensor), arg(fill), map.as_ref().map(arg).into(), *old, stride / vector)
    }
}

#[cfg(test)]
mod tests {
    use super::super::hardware::tests::SMALL;
    use super::*;

    #[test]
    fn a_unit_moves_a_vector() {
        let of = |width, common, dtype| strategy(&Problem { rows: 10, width, common, dtype }, &SMALL);
        assert_eq!(of(12, 12, DType::F32), Strategy { vector: 4, columns: 3, units: 30 });
        assert_eq!(of(12, 12, DType::F64), Strategy { vector: 2, columns: 6, units: 60 });
        assert_eq!(of(7, 7, DType::F16), Strategy { vector: 1, columns: 7, units: 70 });
        // Rows that are 14 elements apart.
        assert_eq!(of(12, 2, DType::F32), Strategy { vector: 2, columns: 6, units: 60 });
    }
}
