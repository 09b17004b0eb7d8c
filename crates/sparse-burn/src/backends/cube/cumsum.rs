//! Running sums within segments.
//!
//! Each unit sums a few rows. The sums of the units are summed in the same way, level by level. Then each unit starts
//! from the sum of the rows before its own. No unit reads a whole long segment.

use super::fallback::supported;
use super::forced;
use super::launch::{accumulated, arg, count, empty, flat, holds, launch, runs, stored};
use super::sort::expand_ptr;
use crate::backend::Gpu;
use crate::kernel::SegmentCumsum;
use burn::backend::DType;
use burn_cubecl::cubecl::ir::AddressType;
use burn_cubecl::cubecl::prelude::{Int, Numeric};
use burn_cubecl::tensor::CubeTensor;

#[allow(missing_docs)]
mod kernels {
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;
    use cubecl::std::FastDivmod;

    /// Rows that are summed: those of the values, or the sums of `stride` of them each.
    #[derive(CubeType, CubeLaunch)]
    pub struct Level<T: Numeric, I: Int> {
        values: OwnedTensor<T>,
        order: OwnedTensor<I>,
        /// The segment of each row of the values.
        owner: OwnedTensor<I>,
        length: usize,
        columns: usize,
        by_columns: FastDivmod<usize>,
        stride: usize,
        rows: usize,
        units: usize,
    }

    /// Compile-time settings.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct How {
        /// Rows that a unit sums.
        pub step: usize,
        /// Whether rows are read in `order`.
        pub ordered: bool,
        /// Whether rows are read from their end.
        pub flipped: bool,
        /// Whether the first level is read from its end. Later levels are in the order in which they were written.
        pub reverse: bool,
    }

    /// The sum up to a row, the segment of that row, and where the sum is written.
    #[derive(CubeType, Clone, Copy)]
    struct Running<A: Numeric, I: Int> {
        sum: A,
        segment: I,
        at: usize,
    }

    /// An element of a level sums `stride` rows, but only those in the same segment as the last row. Returns that
    /// segment.
    #[cube]
    fn segment<T: Numeric, I: Int>(level: &Level<T, I>, k: usize, #[comptime] how: How) -> I {
        let end = min((k + 1) * level.stride, level.rows);
        let at = if comptime!(how.reverse) { level.rows - end } else { end - 1 };
        level.owner[at]
    }

    /// Adds row `k` to the sum of the rows before it. A new segment starts from zero.
    #[cube]
    fn add<T: Numeric, A: Numeric, I: Int>(
        level: &Level<T, I>,
        sum: A,
        before: I,
        k: usize,
        column: usize,
        #[comptime] how: How,
    ) -> Running<A, I> {
        let segment = segment::<T, I>(level, k, how);
        let at = if comptime!(how.flipped) { level.length - 1 - k } else { k };
        let row = if comptime!(how.ordered) { usize::cast_from(level.order[at]) } else { at };
        let start = select(segment == before, sum, A::from_int(0));
        Running::<A, I> { sum: start + A::cast_from(level.values[row * level.columns + column]), segment, at }
    }

    /// The sum of each unit's rows since the last start of a segment.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn tails<T: Numeric, A: Numeric, I: Int>(
        level: &Level<T, I>,
        sums: &mut Tensor<A>,
        #[comptime] how: How,
        #[define(T, A, I)] _types: [ElemType; 3],
    ) {
        if ABSOLUTE_POS >= level.units {
            terminate!();
        }
        let (unit, column) = level.by_columns.div_mod(ABSOLUTE_POS);
        let first = unit * how.step;
        let mut own = segment::<T, I>(level, first, how);
        let mut sum = A::from_int(0);
        for k in first..min(first + how.step, level.length) {
            let next = add::<T, A, I>(level, sum, own, k, column, how);
            sum = next.sum;
            own = next.segment;
        }
        sums[ABSOLUTE_POS] = sum;
    }

    /// The running sums. `before` has the running sums of the units, which end where the next unit starts.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn running<T: Numeric, A: Numeric, I: Int>(
        level: &Level<T, I>,
        before: &Tensor<A>,
        out: &mut Tensor<T>,
        #[comptime] how: How,
        #[define(T, A, I)] _types: [ElemType; 3],
    ) {
        if ABSOLUTE_POS >= level.units {
            terminate!();
        }
        let columns = level.columns;
        let (unit, column) = level.by_columns.div_mod(ABSOLUTE_POS);
        let first = unit * how.step;
        let mut own = segment::<T, I>(level, first, how);
        let mut sum = A::from_int(0);
        if unit > 0 {
            own = segment::<T, I>(level, first - 1, how);
            sum = before[(unit - 1) * columns + column];
        }
        for k in first..min(first + how.step, level.length) {
            let next = add::<T, A, I>(level, sum, own, k, column, how);
            sum = next.sum;
            own = next.segment;
            out[next.at * columns + column] = T::cast_from(sum);
        }
    }
}

/// Rows that a unit sums.
const STEP: usize = 32;

#[derive(Clone, Copy, Debug)]
struct Problem {
    rows: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Strategy {
    /// Rows that a unit sums.
    step: usize,
    /// Rows of each level: those of the values, their sums, and so on, until one unit sums them all.
    levels: Vec<usize>,
}

/// The same on every device.
fn strategy(problem: &Problem) -> Strategy {
    Strategy::of(problem, STEP)
}

impl Strategy {
    fn of(problem: &Problem, step: usize) -> Self {
        let mut levels = vec![problem.rows];
        while let Some(&last) = levels.last().filter(|&&last| last > step) {
            levels.push(last.div_ceil(step));
        }
        Self { step, levels }
    }

    /// Applies the settings that a test forces. A unit that sums one row would add levels without end.
    fn forced(self, problem: &Problem) -> Self {
        forced::now().items.map_or(self, |items| Self::of(problem, items.max(2)))
    }
}

/// The type that the sums of the units are stored in.
fn wide(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        DType::U8 => DType::I32,
        other => other,
    }
}

/// A position that addresses must reach, so that `FastDivmod` divides those of all values: it takes half of the range.
fn farthest(values: &CubeTensor) -> usize {
    count(values).saturating_mul(2)
}

/// A level on the device.
struct Level {
    values: CubeTensor,
    order: Option<CubeTensor>,
    length: usize,
    stride: usize,
    how: kernels::How,
}

impl Level {
    /// Units of a column.
    fn parts(&self) -> usize {
        self.length.div_ceil(self.how.step)
    }

    fn args<T: Numeric, I: Int>(&self, owner: &CubeTensor, columns: usize) -> kernels::LevelLaunch<T, I> {
        // An order that is not read is bound as another tensor of its type.
        let order = arg(self.order.as_ref().unwrap_or(owner));
        let (length, stride, units) = (self.length, self.stride, self.parts() * columns);
        let (values, owner, rows) = (arg(&self.values), arg(owner), count(owner));
        kernels::LevelLaunch::new(values, order, owner, length, columns, columns, stride, rows, units)
    }
}

impl SegmentCumsum<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { values, order, ptr, reverse } = supported(self, |Self { values, order, ptr, .. }| {
            let reaches = values.client.properties().supports_address(AddressType::from_len(farthest(values)));
            runs([values, ptr].into_iter().chain(order)) && reaches && holds(ptr, values.meta.shape()[0], ptr.dtype)
        })?;
        Ok(segment_cumsum(values, order, ptr, reverse))
    }
}

/// Row `k` of the result is the sum of rows `order[j]` (or `j`) of the values, from the start of its segment to `k`, or
/// with `reverse` from `k` to its end.
fn segment_cumsum(values: CubeTensor, order: Option<CubeTensor>, ptr: CubeTensor, reverse: bool) -> CubeTensor {
    if count(&values) == 0 {
        return values;
    }
    let (rows, columns, dtype) = (values.meta.shape()[0], values.meta.shape()[1], values.dtype);
    let problem = Problem { rows };
    let Strategy { step, levels } = strategy(&problem).forced(&problem);
    if levels.len() > 2 {
        forced::note("running sums of three levels");
    }
    let (owner, far) = (expand_ptr(ptr, rows), farthest(&values));
    let types = |stored_as| [stored(stored_as), accumulated(dtype), stored(owner.dtype)];
    let how = kernels::How { step, ordered: order.is_some(), flipped: reverse, reverse };
    let mut level = Level { values: flat(values), order: order.map(flat), length: rows, stride: 1, how };
    let mut below = vec![];
    for length in levels.into_iter().skip(1) {
        let sums = empty(&level.values, [length, columns], wide(dtype));
        let units = length * columns;
        let (tensors, kinds) = (([&level.values, &sums], far), types(level.values.dtype));
        launch!(tails, tensors, units, (level.args(&owner, columns), arg(&sums), level.how), kinds);
        let how = kernels::How { ordered: false, flipped: false, ..how };
        let next = Level { values: sums, order: None, length, stride: level.stride * step, how };
        below.push(std::mem::replace(&mut level, next));
    }
    // The last level has one unit for each column, which has nothing before it. One element is bound and not read.
    let mut before = empty(&level.values, [1], wide(dtype));
    loop {
        let (own, out) = (level.values.dtype, empty(&level.values, [level.length, columns], level.values.dtype));
        let units = level.parts() * columns;
        let args = level.args(&owner, columns);
        launch!(running, (&out, far), units, (args, arg(&before), arg(&out), level.how), types(own));
        let Some(next) = below.pop() else { return out };
        (level, before) = (next, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_sums_the_sums_of_the_one_before() {
        let levels = |rows| strategy(&Problem { rows }).levels;
        assert_eq!(levels(1), [1]);
        assert_eq!(levels(32), [32]);
        assert_eq!(levels(33), [33, 2]);
        assert_eq!(levels(1024), [1024, 32]);
        assert_eq!(levels(1025), [1025, 33, 2]);
        assert_eq!(Strategy::of(&Problem { rows: 9 }, 2).levels, [9, 5, 3, 2]);
    }
}
