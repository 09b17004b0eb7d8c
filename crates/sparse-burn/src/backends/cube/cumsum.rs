//! Running sums within segments.
//!
//! A segment is cut into chunks, counted from its own start. So its bits do not depend on where it lies. Each chunk
//! that another one follows is summed, and these sums are summed up in the same way, level by level. Then each chunk
//! starts from the sum of those before it. No unit reads a whole long segment.
//!
//! Among `step` items that begin at a multiple of `step`, at most one chunk starts that another one follows: chunks of
//! a segment are `step` apart, and the next segment starts after the last one. So the sums of chunks need no list of
//! chunks. Item `k` of a level is the sum of the chunk that starts among the items from `k * step` on. If none does, it
//! is a gap, which belongs to no segment.

use super::fallback::supported;
use super::forced;
use super::launch::{accumulated, arg, count, dividend, divides, empty, flat, holds, launch, runs, stored, summed};
use super::sort::expand_ptr;
use crate::backend::Gpu;
use crate::kernel::SegmentCumsum;
use burn_cubecl::cubecl::prelude::{Int, Numeric};
use burn_cubecl::tensor::CubeTensor;

#[allow(missing_docs, clippy::collapsible_if)]
mod kernels {
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;
    use cubecl::std::FastDivmod;

    /// Items that are summed: rows of the values, or sums of chunks of the level before.
    #[derive(CubeType, CubeLaunch)]
    pub struct Level<T: Numeric, I: Int> {
        values: OwnedTensor<T>,
        order: ComptimeOption<OwnedTensor<I>>,
        /// The segment of each row of the values.
        owner: OwnedTensor<I>,
        ptr: OwnedTensor<I>,
        /// Items of this level.
        length: usize,
        columns: usize,
        by_columns: FastDivmod<usize>,
        /// Rows from the start of an item to that of the next one.
        stride: usize,
        rows: usize,
        units: usize,
    }

    /// Compile-time settings.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct How {
        /// Items of a chunk.
        pub step: usize,
        /// Levels before this one.
        pub depth: u32,
        /// Whether rows count from their end.
        pub reverse: bool,
    }

    /// The items of a segment.
    #[derive(CubeType, Clone, Copy)]
    struct Span {
        start: usize,
        end: usize,
    }

    /// The segment of item `k`, which starts at `k` or before. If it ends there or before, the item is a gap.
    #[cube]
    fn span<T: Numeric, I: Int>(level: &Level<T, I>, k: usize, #[comptime] how: How) -> Span {
        // The chunk of an item that is no gap reaches its last row.
        let last = min((k + 1) * level.stride, level.rows) - 1;
        let at = if comptime!(how.reverse) { level.rows - 1 - last } else { last };
        let segment = usize::cast_from(level.owner[at]);
        let (first, end) = (usize::cast_from(level.ptr[segment]), usize::cast_from(level.ptr[segment + 1]));
        let mut start = if comptime!(how.reverse) { level.rows - end } else { first };
        let mut length = end - first;
        #[unroll]
        for _ in 0..how.depth {
            start /= how.step;
            // Without the last chunk, which none follows.
            length = (max(length, 1) - 1) / how.step;
        }
        Span { start, end: start + length }
    }

    /// Where the first chunk starts at item `k` or after.
    #[cube]
    fn first_chunk<T: Numeric, I: Int>(level: &Level<T, I>, k: usize, #[comptime] how: How) -> usize {
        let mut first = level.length;
        if k < level.length {
            let span = span::<T, I>(level, k, how);
            first = k;
            if k < span.end {
                first = min(span.start + (k - span.start).div_ceil(how.step) * how.step, span.end);
            }
        }
        first
    }

    /// The row at which an item is read and written.
    #[cube]
    fn place<T: Numeric, I: Int>(level: &Level<T, I>, k: usize, #[comptime] how: How) -> usize {
        if comptime!(how.reverse && how.depth == 0) { level.length - 1 - k } else { k }
    }

    #[cube]
    fn value<T: Numeric, A: Numeric, I: Int>(level: &Level<T, I>, at: usize, column: usize) -> A {
        #[comptime]
        let row = match &level.order {
            ComptimeOption::Some(order) => usize::cast_from(order[at]),
            ComptimeOption::None => at,
        };
        A::cast_from(level.values[row * level.columns + column])
    }

    /// The items of the next level: the sum of each chunk that another one follows.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn chunks<T: Numeric, A: Numeric, I: Int>(
        level: &Level<T, I>,
        sums: &mut Tensor<A>,
        #[comptime] how: How,
        #[define(T, A, I)] _types: [ElemType; 3],
    ) {
        if ABSOLUTE_POS >= level.units {
            terminate!();
        }
        let (unit, column) = level.by_columns.div_mod(ABSOLUTE_POS);
        // A chunk that another one follows reaches the last item of the unit.
        let last = min((unit + 1) * how.step, level.length) - 1;
        let own = span::<T, I>(level, last, how);
        let mut sum = A::from_int(0);
        if last < own.end {
            let start = last - (last - own.start) % how.step;
            if start + how.step < own.end {
                for k in start..start + how.step {
                    sum += value::<T, A, I>(level, place::<T, I>(level, k, how), column);
                }
            }
        }
        sums[ABSOLUTE_POS] = sum;
    }

    /// The running sums. `before` has those of the chunks. A unit sums the chunks that start among its items.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn running<T: Numeric, A: Numeric, I: Int>(
        level: &Level<T, I>,
        before: &ComptimeOption<OwnedTensor<A>>,
        out: &mut Tensor<T>,
        #[comptime] how: How,
        #[define(T, A, I)] _types: [ElemType; 3],
    ) {
        if ABSOLUTE_POS >= level.units {
            terminate!();
        }
        let columns = level.columns;
        let (unit, column) = level.by_columns.div_mod(ABSOLUTE_POS);
        let first = first_chunk::<T, I>(level, unit * how.step, how);
        let end = first_chunk::<T, I>(level, (unit + 1) * how.step, how);
        // The items of the segment of item `k`.
        let mut from = 0usize;
        let mut to = 0usize;
        let mut sum = A::from_int(0);
        for k in first..end {
            if k >= to {
                let own = span::<T, I>(level, k, how);
                from = own.start;
                to = own.end;
            }
            if k < to {
                let done = k - from;
                if done.is_multiple_of(how.step) {
                    sum = A::from_int(0);
                    #[comptime]
                    if let ComptimeOption::Some(before) = before {
                        if done > 0 {
                            sum = before[(from / how.step + done / how.step - 1) * columns + column];
                        }
                    }
                }
                let at = place::<T, I>(level, k, how);
                sum += value::<T, A, I>(level, at, column);
                out[at * columns + column] = T::cast_from(sum);
            }
        }
    }
}

/// Items of a chunk.
const STEP: usize = 32;

#[derive(Clone, Copy, Debug)]
struct Problem {
    rows: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Strategy {
    /// Items of a chunk.
    step: usize,
    /// Items of each level: the rows of the values, the sums of chunks, and so on, until one chunk has them all.
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

/// A level on the device.
struct Level {
    values: CubeTensor,
    order: Option<CubeTensor>,
    length: usize,
    stride: usize,
    how: kernels::How,
}

/// What the levels share.
struct Segments {
    ptr: CubeTensor,
    owner: CubeTensor,
    columns: usize,
}

impl Level {
    /// Units of a column.
    fn parts(&self) -> usize {
        self.length.div_ceil(self.how.step)
    }

    fn args<T: Numeric, I: Int>(&self, segments: &Segments) -> kernels::LevelLaunch<T, I> {
        let Segments { ptr, owner, columns } = segments;
        let order = self.order.as_ref().map(arg).into();
        let (length, columns, stride, rows) = (self.length, *columns, self.stride, count(owner));
        let (values, owner, ptr, units) = (arg(&self.values), arg(owner), arg(ptr), self.parts() * columns);
        kernels::LevelLaunch::new(values, order, owner, ptr, length, columns, columns, stride, rows, units)
    }
}

impl SegmentCumsum<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { values, order, ptr, reverse } = supported(self, |Self { values, order, ptr, .. }| {
            runs([values, ptr].into_iter().chain(order))
                && divides(values, count(values))
                && holds(ptr, values.meta.shape()[0], ptr.dtype)
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
    let ptr = flat(ptr);
    let segments = Segments { owner: expand_ptr(ptr.clone(), rows), ptr, columns };
    let far = dividend(count(&values));
    let types = |stored_as| [stored(stored_as), accumulated(dtype), stored(segments.owner.dtype)];
    let how = kernels::How { step, depth: 0, reverse };
    let mut level = Level { values: flat(values), order: order.map(flat), length: rows, stride: 1, how };
    let mut below = vec![];
    for length in levels.into_iter().skip(1) {
        let sums = empty(&level.values, [length, columns], summed(dtype));
        let units = length * columns;
        let (tensors, kinds) = (([&level.values, &sums], far), types(level.values.dtype));
        launch!(chunks, tensors, units, (level.args(&segments), arg(&sums), level.how), kinds);
        let how = kernels::How { depth: level.how.depth + 1, ..how };
        let next = Level { values: sums, order: None, length, stride: level.stride * step, how };
        below.push(std::mem::replace(&mut level, next));
    }
    // A segment of the last level is one chunk, which has nothing before it.
    let mut before = None;
    loop {
        let (own, out) = (level.values.dtype, empty(&level.values, [level.length, columns], level.values.dtype));
        let units = level.parts() * columns;
        let args = level.args(&segments);
        let sums = before.as_ref().map(arg).into();
        launch!(running, (&out, far), units, (args, sums, arg(&out), level.how), types(own));
        let Some(next) = below.pop() else { return out };
        (level, before) = (next, Some(out));
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
