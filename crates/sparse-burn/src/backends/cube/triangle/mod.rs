//! Triangular systems, level by level (Anderson and Saad, "Solving sparse triangular linear systems on parallel
//! computers", 1989): the rows of a level need rows of the levels before it only.
//!
//! A wide level is a launch of many cubes. Narrow levels that follow each other are one launch, in which a cube has all
//! rows of its columns and waits for its units after each level; other cubes have the other columns. A row is solved by
//! one unit for each column, or by some that add the products of every so many elements and then their sums as a tree.
//! How many follows from the pattern, the number of columns and the device. So the bits are the same in every run.
//!
//! The levels are found on the host once for a pattern, and are then on the device. Nothing is read in a solve but
//! whether the diagonal has a zero, where the caller does not know it. Bytes: the triangle, twice `x`, and for each
//! element a number of each column.

#[allow(missing_docs)]
mod kernels;

use super::extremes::bounds;
use super::fallback::supported;
use super::hardware::{Grid, Hardware};
use super::launch::{arg, count, empty, flat, hardware, holds, launch, runs, stored};
use crate::backend::{Declined, Gpu};
use crate::kernel::{LevelTriangle, SolveTriangular};
use crate::kernel_views::RowsView;
use burn_cubecl::cubecl::prelude::{Int, Numeric};
use burn_cubecl::tensor::CubeTensor;
use core::ops::Range;
use kernels::How;
use sparse_core::{Result, Triangle};

/// Units of a cube, if the device allows as many.
const CUBE: usize = 256;

/// Most columns that a cube takes side by side.
const LANES: usize = 32;

/// A level with no more rows than a cube takes in so many turns is narrow.
const TURNS: usize = 4;

/// Most levels of a launch: a device may end one that takes seconds.
const LEVELS: usize = 1024;

/// Units that share a row of at most so many elements.
const SLICES: [(usize, usize); 3] = [(16, 1), (256, 8), (usize::MAX, 32)];

/// Where each level begins and where the last one ends, the elements of the longest row of each, and columns.
#[derive(Clone, Copy, Debug)]
struct Problem<'a> {
    starts: &'a [usize],
    longest: &'a [usize],
    width: usize,
}

/// A launch.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Strategy {
    levels: Range<usize>,
    lanes: usize,
    slices: usize,
    cube: usize,
    /// Tiles of the columns, and cubes that share each.
    tiles: usize,
    cubes: usize,
    grid: Grid,
}

fn strategy(problem: &Problem<'_>, hardware: &Hardware) -> Vec<Strategy> {
    let cube = CUBE.min(1 << hardware.units.ilog2());
    let lanes = problem.width.next_power_of_two().min(LANES).min(cube);
    let tiles = problem.width.div_ceil(lanes);
    let mut list: Vec<Strategy> = vec![];
    for (level, longest) in problem.longest.iter().enumerate() {
        let slices = SLICES.iter().find(|(most, _)| longest <= most).map_or(1, |(_, slices)| *slices);
        let slices = slices.min(cube / lanes);
        let turns = (problem.starts[level + 1] - problem.starts[level]).div_ceil(cube / (lanes * slices));
        let cubes = if turns <= TURNS { 1 } else { turns };
        match list.last_mut() {
            Some(last) if (last.slices, last.cubes, cubes) == (slices, 1, 1) && last.levels.len() < LEVELS => {
                last.levels.end = level + 1;
            }
            _ => {
                let grid = hardware.cubes(tiles * cubes, cube);
                list.push(Strategy { levels: level..level + 1, lanes, slices, cube, tiles, cubes, grid });
            }
        }
    }
    list
}

impl LevelTriangle<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<(CubeTensor, Vec<usize>, Vec<usize>), Self> {
        Err(Declined::Quietly(self))
    }
}

impl SolveTriangular<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<Result<CubeTensor>, Self> {
        let args = supported(self, |Self { view, values, levels, b, .. }| {
            let lists = view.arrays().chain(levels.as_ref().map(|levels| &levels.0));
            (levels.is_some() || count(b) == 0)
                && runs(lists.chain([values, b]))
                && values.dtype == b.dtype
                && holds(&view.ptr, count(&view.ptr), view.ptr.dtype)
        })?;
        let rows = count(&args.view.ptr) - 1;
        let matrix = (count(&args.view.idx) > 0).then(|| Matrix::of(&args.view, &args.values));
        let asked = !args.triangle.unit && !args.known && rows > 0;
        if asked && matrix.as_ref().is_none_or(Matrix::has_zero_pivots) {
            // The host finds the row that the error names.
            return Err(Declined::Quietly(args));
        }
        let Self { triangle, levels, b, .. } = args;
        Ok(Ok(match (matrix, levels) {
            (Some(matrix), Some(levels)) if count(&b) > 0 => {
                let b = flat(b);
                // A copy may have rows with gaps.
                let x = if b.can_mut() { b } else { flat(b.copy()) };
                matrix.substitute(triangle, levels, &x);
                x
            }
            // Nothing to solve, or a diagonal of 1 alone.
            _ => b,
        }))
    }
}

/// A matrix by rows, with elements.
struct Matrix {
    ptr: CubeTensor,
    idx: CubeTensor,
    perm: Option<CubeTensor>,
    values: CubeTensor,
}

impl Matrix {
    fn of(view: &RowsView<CubeTensor>, values: &CubeTensor) -> Self {
        let RowsView { ptr, idx, perm } = view.clone().map(flat);
        Self { ptr, idx, perm, values: flat(values.clone()) }
    }

    fn values<T: Numeric, I: Int>(&self) -> kernels::ValuesLaunch<T, I> {
        kernels::ValuesLaunch::new(arg(&self.values), self.perm.as_ref().map(arg).into())
    }

    /// Whether an element of the diagonal is zero or not stored. One read.
    fn has_zero_pivots(&self) -> bool {
        let Self { ptr, idx, values, .. } = self;
        let rows = count(ptr) - 1;
        let codes = empty(ptr, [rows], ptr.dtype);
        launch!(
            zero_pivots,
            [ptr, idx],
            rows,
            (arg(ptr), arg(idx), self.values(), arg(&codes), rows),
            [stored(values.dtype), stored(ptr.dtype)]
        );
        bounds(codes).1 > 0
    }

    /// Solves in the place of the right-hand side.
    fn substitute(
        &self,
        triangle: Triangle,
        (levels, starts, longest): (CubeTensor, Vec<usize>, Vec<usize>),
        x: &CubeTensor,
    ) {
        let Self { ptr, idx, values, .. } = self;
        let (levels, width) = (flat(levels), x.meta.shape()[1]);
        for own in strategy(&Problem { starts: &starts, longest: &longest, width }, &hardware(x)) {
            let Strategy { levels: span, lanes, slices, cube, tiles, cubes, grid } = own;
            let how = How { upper: triangle.upper, unit: triangle.unit, lanes, slices, cube, several: span.len() > 1 };
            let span = kernels::SpanLaunch::new(span.start, span.end, longest.len(), width, tiles, cubes);
            launch!(
                substitute,
                [idx, x, &levels],
                grid(grid, count(x)),
                (arg(ptr), arg(idx), self.values(), arg(&levels), arg(x), span, how),
                [stored(values.dtype), stored(ptr.dtype)]
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::hardware::tests::SMALL;
    use super::*;

    /// The launches: levels, units that share a row, cubes of each tile.
    fn of(counts: &[usize], longest: &[usize], width: usize) -> Vec<(Range<usize>, usize, usize)> {
        let starts: Vec<usize> = (0..=counts.len()).map(|end| counts[..end].iter().sum()).collect();
        let list = strategy(&Problem { starts: &starts, longest, width }, &SMALL);
        list.into_iter().map(|own| (own.levels, own.slices, own.cubes)).collect()
    }

    #[test]
    fn narrow_levels_share_a_launch() {
        assert_eq!(of(&[3, 1024, 5], &[0, 2, 2], 1), [(0..3, 1, 1)]);
        assert_eq!(of(&[3, 1025, 5], &[0, 2, 2], 1), [(0..1, 1, 1), (1..2, 1, 5), (2..3, 1, 1)]);
        // With columns a cube takes fewer rows at once.
        assert_eq!(of(&[3, 1024, 5], &[0, 2, 2], 2), [(0..1, 1, 1), (1..2, 1, 8), (2..3, 1, 1)]);
        assert_eq!(of(&[], &[], 1), []);
    }

    #[test]
    fn long_rows_are_shared_by_units() {
        assert_eq!(of(&[1, 1, 1], &[16, 17, 257], 1), [(0..1, 1, 1), (1..2, 8, 1), (2..3, 32, 1)]);
        // A row and its columns fit in a cube.
        assert_eq!(of(&[1], &[1000], 100), [(0..1, 8, 1)]);
    }

    #[test]
    fn a_launch_has_an_end() {
        let (counts, longest) = (vec![1; 2500], vec![1; 2500]);
        let ends: Vec<usize> = of(&counts, &longest, 1).into_iter().map(|(levels, ..)| levels.end).collect();
        assert_eq!(ends, [1024, 2048, 2500]);
    }
}
