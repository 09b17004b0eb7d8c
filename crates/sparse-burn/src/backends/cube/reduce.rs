//! Rows that are combined to rows: segment sums, products with a dense matrix (weighted sums), and products with an
//! extremum.
//!
//! One unit combines the elements of a row, for each vector of the result. Or a whole cube does: its units combine
//! parts of the row, and a tree reduction combines the parts.

use super::fallback::supported;
use super::forced::{self, Path};
use super::hardware::{Grid, Hardware};
use super::launch::{accumulated, arg, binds, count, empty, flat, hardware, holds, holds_rows, launch, runs, stored};
use super::parts::{ANY, MAX, MIN, SUM};
use super::sort::compress;
use crate::backend::Gpu;
use crate::carried::RowsView;
use crate::kernel::{PlaceRows, SegmentSum, Spmm};
use burn::backend::DType;
use burn_cubecl::cubecl::prelude::{Int, Numeric, Size};
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;
use kernels::{MATCHED, SHARES};
use sparse_core::Extremum;

#[allow(missing_docs)]
mod kernels;

/// Buffers that the kernels bind, without the one that has the sizes.
pub(super) const BUFFERS: usize = 8;

/// Units of a cube that share a long row.
const CUBE: usize = 256;

/// A unit sums at most this many elements. A cube shares longer rows. Rows of power-law graphs, and the segment of a
/// fill's gradient, are far longer than the mean.
const PATIENCE: usize = 512;

/// Rows that one cube searches for long ones, if most rows are short.
const GROUP: usize = 32;

/// The rows of the result, their width and number of heads, and the number of all terms.
#[derive(Clone, Copy, Debug)]
struct Problem {
    segments: usize,
    terms: usize,
    width: usize,
    heads: usize,
    dtype: DType,
}

/// How rows are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Strategy {
    path: Path,
    /// Elements of a vector, and vectors of a row.
    vector: usize,
    columns: usize,
    /// Units of a cube along a row of the result, and among its elements.
    lanes: usize,
    slices: usize,
    /// Rows with more elements than this are given to cubes.
    patience: usize,
}

fn strategy(problem: &Problem, hardware: &Hardware) -> Strategy {
    // A vector has one weight, so it must not reach beyond its head.
    let (vector, part) = hardware.vectors(problem.width / problem.heads, problem.dtype.size());
    let columns = part * problem.heads;
    let lanes = columns.next_power_of_two().min(CUBE);
    let slices = CUBE / lanes;
    let held = CUBE * vector * accumulated(problem.dtype).size();
    // Bool has the short path only.
    let cooperates = !problem.dtype.is_bool() && slices > 1 && hardware.units >= CUBE && hardware.shared >= held;
    let path = if !cooperates {
        Path::Short
    } else if problem.terms / problem.segments >= 4 * slices {
        // On average each slice has at least four terms.
        Path::Long
    } else if problem.terms > PATIENCE {
        Path::Hybrid
    } else {
        Path::Short
    };
    Strategy { path, vector, columns, lanes, slices, patience: PATIENCE }
}

impl Strategy {
    /// Applies the settings that a test forces. If a row is as wide as a cube, there are no slices.
    fn forced(self) -> Self {
        let forced = forced::now();
        let path = forced.path.filter(|_| self.slices > 1).unwrap_or(self.path);
        Self { path, patience: forced.patience.unwrap_or(self.patience), ..self }
    }

    /// The number of rows of each cube, the least number of elements of a row that it combines, and the grid.
    fn cubes(&self, segments: usize, hardware: &Hardware) -> (usize, usize, Grid) {
        let (group, least) = if self.path == Path::Long { (1, 0) } else { (GROUP, self.patience + 1) };
        (group, least, hardware.cubes(segments.div_ceil(group), CUBE))
    }
}

/// How the terms of a row are combined.
pub(super) enum Combine {
    /// They are added. Of Bool: whether any is true.
    Sum,
    /// The largest or smallest. NaN wins. A row without terms gives 0.
    Extremum(Extremum),
    /// The gradient `grad` is divided by the number of terms that equal the result `out`.
    Shares { out: CubeTensor, grad: CubeTensor },
    /// Adds the terms for which weight * dense equals the result at the term's position.
    Matched { dense: CubeTensor, out: CubeTensor },
}

/// The operands of a kernel, in the order of [`kernels::Operands`].
struct Operands {
    indices: [CubeTensor; 3],
    weights: CubeTensor,
    rows: [CubeTensor; 3],
}

impl Operands {
    fn args<T: Numeric, I: Int, N: Size>(&self) -> kernels::OperandsLaunch<T, I, N> {
        let ([ptr, idx, perm], [dense, own, other]) = (self.indices.each_ref().map(arg), self.rows.each_ref().map(arg));
        kernels::OperandsLaunch::new(ptr, idx, perm, arg(&self.weights), dense, own, other)
    }
}

impl PlaceRows<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { values, rows, size } = supported(self, |Self { values, rows, size }| {
            runs([values, rows])
                && binds(rows, BUFFERS)
                && holds(rows, size + 1, rows.dtype)
                && holds_rows(values, *size)
        })?;
        // Every row of the result is the sum of the one row, or of none, that belongs there.
        Ok(sum_rows(compress(rows, size), None, None, values))
    }
}

impl SegmentSum<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { values, order, ptr } = supported(self, |Self { values, order, ptr }| {
            runs([values, ptr].into_iter().chain(order)) && binds(ptr, BUFFERS) && holds_rows(values, count(ptr) - 1)
        })?;
        Ok(sum_rows(ptr, order, None, values))
    }
}

impl Spmm<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { view, values, dense } = supported(self, |args| multiplies(&args.view, &args.values, &args.dense))?;
        let RowsView { ptr, idx, perm } = view;
        Ok(sum_rows(ptr, Some(idx), Some((values, perm)), dense))
    }
}

/// Whether the device has a kernel for a sparse x dense product.
pub(super) fn multiplies(view: &RowsView<CubeTensor>, values: &CubeTensor, dense: &CubeTensor) -> bool {
    runs(view.arrays().chain([values, dense])) && binds(&view.ptr, BUFFERS) && holds_rows(dense, count(&view.ptr) - 1)
}

/// Row `s` of the result is the sum of rows `idx[k]` (or `k`) of `dense` for `k` in `ptr[s]..ptr[s + 1]`, each times
/// the weight at `perm[k]` (or `k`). If weights are `[n, heads]`, each multiplies the columns of its head. Of Bool:
/// whether any is true.
fn sum_rows(
    ptr: CubeTensor,
    idx: Option<CubeTensor>,
    weights: Option<(CubeTensor, Option<CubeTensor>)>,
    dense: CubeTensor,
) -> CubeTensor {
    combine_rows(Combine::Sum, ptr, idx, weights, dense)
}

/// Combines the terms of [`sum_rows`]. Only a sum may have no weights.
pub(super) fn combine_rows(
    combine: Combine,
    ptr: CubeTensor,
    idx: Option<CubeTensor>,
    weights: Option<(CubeTensor, Option<CubeTensor>)>,
    dense: CubeTensor,
) -> CubeTensor {
    let terms = idx.as_ref().map_or(dense.meta.shape()[0], count);
    let (segments, width, dtype) = (count(&ptr) - 1, dense.meta.shape()[1], dense.dtype);
    if segments * width == 0 {
        return empty(&dense, [segments, width], dtype);
    }
    if terms == 0 {
        return zeros(dense.device.clone(), [segments, width].into(), dtype);
    }
    let (ptr, dense) = (flat(ptr), flat(dense));
    let out = empty(&dense, [segments, width], dtype);
    let (rule, own, other) = match combine {
        Combine::Sum if dtype.is_bool() => (ANY, None, None),
        Combine::Sum => (SUM, None, None),
        Combine::Extremum(Extremum::Max) => (MAX, None, None),
        Combine::Extremum(Extremum::Min) => (MIN, None, None),
        Combine::Shares { out, grad } => (SHARES, Some(out), Some(grad)),
        Combine::Matched { dense, out } => (MATCHED, Some(dense), Some(out)),
    };
    let (indexed, weighted) = (idx.is_some(), weights.is_some());
    let heads = weights.as_ref().map_or(1, |(weights, _)| weights.meta.shape()[1]);
    let (weights, perm) = weights.unzip();
    let perm = perm.flatten();
    let (permuted, float) = (perm.is_some(), dtype.is_float());
    let how = kernels::How { rule, indexed, weighted, permuted, several: heads > 1, float };
    // An operand that is not read is bound as another tensor of its type.
    let [idx, perm] = [idx, perm].map(|read| read.map_or_else(|| ptr.clone(), flat));
    let [weights, own, other] = [weights, own, other].map(|read| read.map_or_else(|| dense.clone(), flat));
    let operands = Operands { indices: [ptr, idx, perm], weights, rows: [dense, own, other] };
    let hardware = hardware(&out);
    let strategy = strategy(&Problem { segments, terms, width, heads, dtype }, &hardware).forced();
    let Strategy { path, vector, columns, lanes, slices, patience } = strategy;
    let types = [stored(dtype), accumulated(dtype), stored(operands.indices[0].dtype)];
    if path != Path::Long {
        let units = segments * columns;
        let most = if path == Path::Short { terms } else { patience };
        launch!(short, out, units, (vector, operands.args(), arg(&out), columns, heads, units, most, how), types);
    }
    if path != Path::Short {
        let (group, least, grid) = strategy.cubes(segments, &hardware);
        launch!(
            long,
            out,
            grid(grid),
            (vector, operands.args(), arg(&out), columns, heads, segments, least, group, slices, lanes, how),
            types
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::hardware::tests::SMALL;
    use super::*;
    use burn::tensor::BoolStore;

    fn of(segments: usize, terms: usize, width: usize, dtype: DType) -> Strategy {
        strategy(&Problem { segments, terms, width, heads: 1, dtype }, &SMALL)
    }

    #[test]
    fn rows_are_short_until_one_may_be_long() {
        assert_eq!(of(100, 512, 8, DType::F32).path, Path::Short);
        assert_eq!(of(100, 513, 8, DType::F32).path, Path::Hybrid);
    }

    #[test]
    fn rows_are_long_where_every_slice_has_four_elements() {
        // 2 vectors of a row: 128 slices.
        let (before, after) = (of(10, 5119, 8, DType::F32), of(10, 5120, 8, DType::F32));
        assert_eq!((before.path, before.lanes, before.slices), (Path::Hybrid, 2, 128));
        assert_eq!(after.path, Path::Long);
        assert_eq!(of(1, 1024, 1, DType::F16).path, Path::Long);
    }

    #[test]
    fn a_vector_has_one_head() {
        let of = |heads| {
            let problem = Problem { segments: 100, terms: 200, width: 24, heads, dtype: DType::F32 };
            let Strategy { vector, columns, .. } = strategy(&problem, &SMALL);
            (vector, columns)
        };
        assert_eq!([1, 3, 4, 8, 24].map(of), [(4, 6), (4, 6), (2, 12), (1, 24), (1, 24)]);
    }

    #[test]
    fn wide_rows_and_bool_have_a_unit_for_each_vector() {
        let (narrow, wide) = (of(1, 1 << 20, 512, DType::F32), of(1, 1 << 20, 516, DType::F32));
        assert_eq!((narrow.path, narrow.columns, narrow.slices), (Path::Long, 128, 2));
        assert_eq!((wide.path, wide.columns, wide.slices), (Path::Short, 129, 1));
        assert_eq!(of(1, 1 << 20, 8, DType::Bool(BoolStore::U32)).path, Path::Short);
    }

    #[test]
    fn cubes_share_rows_where_the_device_has_them() {
        let problem = Problem { segments: 1, terms: 1 << 20, width: 8, heads: 1, dtype: DType::F32 };
        for poor in [Hardware { units: 128, ..SMALL }, Hardware { shared: 4095, ..SMALL }] {
            assert_eq!(strategy(&problem, &poor).path, Path::Short);
        }
        assert_eq!(strategy(&problem, &Hardware { shared: 4096, ..SMALL }).path, Path::Long);
    }

    #[test]
    fn cubes_look_through_rows_or_have_one_each() {
        let (long, hybrid) = (of(10, 5120, 8, DType::F32), of(3_000_000, 12_000_000, 8, DType::F32));
        assert_eq!(long.cubes(10, &SMALL), (1, 0, SMALL.cubes(10, 256)));
        // So many that they need a second axis.
        let (group, least, grid) = hybrid.cubes(3_000_000, &SMALL);
        assert_eq!((group, least, grid.cubes), (32, 513, [46_875, 2, 1]));
    }
}
