//! Moving rows by an index map, and combining the rows of two operands. One unit for each vector of the result.

use super::fallback::supported;
use super::hardware::Hardware;
use super::launch::{accumulated, arg, count, empty, flat, hardware, holds_rows, launch, runs, stored};
use crate::backend::Gpu;
use crate::kernel::{MoveRows, ZipRows};
use burn::backend::DType;
use burn_cubecl::tensor::CubeTensor;
use sparse_core::BinaryOp;

#[allow(missing_docs)]
mod kernels {
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    #[cube(launch, launch_unchecked, address_type = "dynamic")]
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

    /// `op` 0 to 3: `+ - * /`.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
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

/// The rows of the result.
#[derive(Clone, Copy, Debug)]
struct Problem {
    rows: usize,
    width: usize,
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
    let (vector, columns) = hardware.vectors(problem.width, problem.dtype.size());
    Strategy { vector, columns, units: problem.rows * columns }
}

impl MoveRows<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { values, fill, map } =
            supported(self, |Self { values, map, .. }| runs([values, map]) && holds_rows(values, count(map)))?;
        Ok(move_rows(values, fill, map))
    }
}

pub(super) fn move_rows(values: CubeTensor, fill: CubeTensor, map: CubeTensor) -> CubeTensor {
    let (old, width) = (values.meta.shape()[0], values.meta.shape()[1]);
    let problem = Problem { rows: count(&map), width, dtype: values.dtype };
    let out = empty(&values, [problem.rows, width], values.dtype);
    if problem.rows * width == 0 {
        return out;
    }
    let fill = flat(fill);
    // An empty buffer cannot be bound. It is not read either.
    let values = if old == 0 { fill.clone() } else { flat(values) };
    let Strategy { vector, columns, units } = strategy(&problem, &hardware(&out));
    let (types, map) = ([stored(out.dtype), stored(map.dtype)], flat(map));
    launch!(
        move_rows,
        out,
        units,
        (vector, arg(&values), arg(&fill), arg(&map), arg(&out), old, columns, units),
        types
    );
    out
}

impl ZipRows<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { op, values, fills, maps } = supported(self, |Self { values, maps, .. }| {
            let rows = maps[0].as_ref().map_or(values[0].meta.shape()[0], count);
            runs(values.iter().chain(maps.iter().flatten())) && holds_rows(&values[0], rows)
        })?;
        let ([a, b], [fill_a, fill_b], [map_a, map_b]) = (values, fills, maps);
        Ok(zip_rows(op, (a, fill_a, map_a), (b, fill_b, map_b)))
    }
}

/// Values, fill row and index map of an operand.
type Side = (CubeTensor, CubeTensor, Option<CubeTensor>);

fn zip_rows(op: BinaryOp, a: Side, b: Side) -> CubeTensor {
    let width = a.0.meta.shape()[1];
    let rows = a.2.as_ref().map_or(a.0.meta.shape()[0], count);
    let problem = Problem { rows, width, dtype: a.0.dtype };
    let out = empty(&a.0, [rows, width], a.0.dtype);
    if rows * width == 0 {
        return out;
    }
    let index = [&a.2, &b.2].into_iter().flatten().next().map_or(DType::I32, |map| map.dtype);
    let side = |(values, fill, map): Side| {
        let old = values.meta.shape()[0];
        let fill = flat(fill);
        // An operand that is not read is bound as another tensor.
        let values = if old == 0 { fill.clone() } else { flat(values) };
        let mapped = map.is_some();
        (values.clone(), fill, map.map_or(values, flat), old, mapped)
    };
    let (a, b) = (side(a), side(b));
    let Strategy { vector, columns, units } = strategy(&problem, &hardware(&out));
    let types = [stored(out.dtype), accumulated(out.dtype), stored(index)];
    let code = match op {
        BinaryOp::Add => 0,
        BinaryOp::Sub => 1,
        BinaryOp::Mul => 2,
        BinaryOp::Div => 3,
    };
    launch!(
        zip_rows,
        out,
        units,
        (
            vector,
            arg(&a.0),
            arg(&a.1),
            arg(&a.2),
            arg(&b.0),
            arg(&b.1),
            arg(&b.2),
            arg(&out),
            a.3,
            b.3,
            columns,
            units,
            code,
            a.4,
            b.4,
        ),
        types
    );
    out
}

#[cfg(test)]
mod tests {
    use super::super::hardware::tests::SMALL;
    use super::*;

    #[test]
    fn a_unit_moves_a_vector() {
        let of = |rows, width, dtype| strategy(&Problem { rows, width, dtype }, &SMALL);
        assert_eq!(of(10, 12, DType::F32), Strategy { vector: 4, columns: 3, units: 30 });
        assert_eq!(of(10, 12, DType::F64), Strategy { vector: 2, columns: 6, units: 60 });
        assert_eq!(of(10, 7, DType::F16), Strategy { vector: 1, columns: 7, units: 70 });
    }
}
