//! A pass over columns: linear combinations of vectors, and dot products of what comes of it; and products of tall
//! blocks with small matrices.
//!
//! A pass is one launch, and one more if there are dot products. A cube takes a block of the rows, does every step of
//! each element in registers, and adds its terms of the dot products: each unit a few rows, then the units of a column
//! as a tree. The second launch adds the sums of the blocks in the same way. How columns are cut follows from their
//! sizes alone, so the bits are the same in every run. Bytes: the vectors that are given and those that are kept, once
//! each.
//!
//! A launch binds every vector, scale and result. Where a device does not bind as many, a pass takes several launches,
//! and what one of them has made is read by the next ones.

#[allow(missing_docs)]
mod kernels;
mod parts;

use super::fallback::supported;
use super::hardware::{Grid, Hardware};
use super::launch::{arg, count, empty, flat, hardware, holds, launch, runs, stored};
use crate::backend::Gpu;
use crate::kernel::{CombineColumns, PassColumns};
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;
use kernels::Share;
use parts::{Part, parts};

/// Units of a cube, if the device allows as many.
const CUBE: usize = 256;

/// The most columns of a tile. The other units of a cube have rows of their own.
const LANES: usize = 32;

/// Rows that a unit reads.
const ITEMS: usize = 8;

/// `[systems, rows, width]`.
#[derive(Clone, Copy, Debug)]
struct Problem {
    systems: usize,
    rows: usize,
    width: usize,
    dots: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Strategy {
    share: Share,
    /// Blocks of the rows of a system, and tiles of its columns.
    blocks: usize,
    tiles: usize,
    /// Cubes of the steps, and of the sums.
    grid: Grid,
    sums: Grid,
}

fn strategy(problem: &Problem, hardware: &Hardware) -> Strategy {
    let Problem { systems, rows, width, dots } = *problem;
    let cube = CUBE.min(1 << hardware.units.ilog2());
    let lanes = width.next_power_of_two().min(LANES).min(cube);
    let share = Share { lanes, slices: cube / lanes, items: ITEMS };
    let (blocks, tiles) = (rows.div_ceil(share.slices * ITEMS), width.div_ceil(lanes));
    let grid = |each: usize| hardware.cubes(systems * each * tiles, cube);
    Strategy { share, blocks, tiles, grid: grid(blocks), sums: grid(dots) }
}

/// The sizes of columns.
fn dims(vectors: &[CubeTensor]) -> [usize; 3] {
    let shape = vectors[0].meta.shape();
    [shape[0], shape[1], shape[2]]
}

impl PassColumns<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<Vec<CubeTensor>, Self> {
        let Self { pass, vectors, scales } = supported(self, |Self { pass, vectors, scales }| {
            let (first, [systems, rows, width]) = (&vectors[0], dims(vectors));
            let blocks = match count(first) {
                0 => 0,
                _ => strategy(&Problem { systems, rows, width, dots: pass.dots.len() }, &hardware(first)).blocks,
            };
            let sums = (systems * blocks).saturating_mul(pass.dots.len() * width);
            runs(vectors.iter().chain(scales))
                && vectors.iter().chain(scales).all(|own| own.dtype == first.dtype)
                && holds(first, sums, first.dtype)
        })?;
        let [vectors, scales] = [vectors, scales].map(|list| list.into_iter().map(flat).collect::<Vec<_>>());
        let ([systems, rows, width], lengths) =
            (dims(&vectors), |list: &[CubeTensor]| list.iter().map(count).collect::<Vec<_>>());
        pass.check(&lengths(&vectors), &lengths(&scales), [systems, rows, width]);
        let (first, given) = (vectors[0].clone(), vectors.len());
        if count(&first) == 0 {
            let kept = pass.kept.iter().map(|_| empty(&first, [systems, rows, width], first.dtype));
            let sum = |_| match systems * width {
                0 => empty(&first, [systems, 1, width], first.dtype),
                _ => zeros(first.device.clone(), [systems, 1, width].into(), first.dtype),
            };
            return Ok(kept.chain(pass.dots.iter().map(sum)).collect());
        }
        let mut known: Vec<Option<CubeTensor>> = vectors.into_iter().map(Some).collect();
        known.resize(given + pass.steps.len(), None);
        let mut dots = vec![];
        for part in parts(&pass, given, hardware(&first).bindings) {
            dots.extend(run(&part, &mut known, given, &scales, [systems, rows, width]));
        }
        let kept = pass.kept.iter().map(|step| known[given + step].clone().expect("a step was done"));
        Ok(kept.chain(dots).collect())
    }
}

/// Runs a part, whose results become known. Returns its dot products.
fn run(
    part: &Part,
    known: &mut [Option<CubeTensor>],
    given: usize,
    scales: &[CubeTensor],
    [systems, rows, width]: [usize; 3],
) -> Vec<CubeTensor> {
    let vectors: Vec<CubeTensor> =
        part.reads.iter().map(|&number| known[number].clone().expect("a vector before it is read")).collect();
    let (like, dots) = (&vectors[0], part.dots.len());
    let Strategy { share, blocks, tiles, grid, sums: for_sums } =
        strategy(&Problem { systems, rows, width, dots }, &hardware(like));
    let new = |dims: [usize; 3]| empty(like, dims, like.dtype);
    let kept: Vec<CubeTensor> = part.kept.iter().map(|_| new([systems, rows, width])).collect();
    let sums = (dots > 0).then(|| new([systems * blocks, dots, width]));
    let (kind, sizes) = (stored(like.dtype), || kernels::SizesLaunch::new(systems, rows, width, blocks, tiles));
    // Cubes also compute rows after the last one, which they leave out.
    let last = blocks * share.slices * share.items;
    let reach = count(like).max(sums.as_ref().map_or(0, count)).max(last);
    launch!(
        column_pass,
        like,
        grid(grid, reach),
        (
            vectors.iter().map(arg).collect(),
            part.scales.iter().map(|&scale| arg(&scales[scale])).collect(),
            kept.iter().map(arg).collect(),
            sums.as_ref().map(arg).into(),
            sizes(),
            part.plan.clone(),
            share,
        ),
        kind
    );
    part.kept.iter().zip(kept).for_each(|(step, own)| known[given + step] = Some(own));
    let Some(sums) = sums else { return vec![] };
    let out: Vec<CubeTensor> = (0..dots).map(|_| new([systems, 1, width])).collect();
    launch!(
        column_sums,
        sums,
        grid(for_sums, systems * dots * width),
        (arg(&sums), out.iter().map(arg).collect(), sizes(), dots, share),
        kind
    );
    out
}

impl CombineColumns<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<Vec<CubeTensor>, Self> {
        let Self { blocks, matrices } = supported(self, |Self { blocks, matrices }| {
            let (first, rows) = (&blocks[0], blocks[0].meta.shape()[0]);
            let result = |matrix: &CubeTensor| holds(first, rows.saturating_mul(matrix.meta.shape()[1]), first.dtype);
            runs(blocks.iter().chain(matrices))
                && blocks.iter().chain(matrices).all(|own| own.dtype == first.dtype)
                && matrices.iter().all(result)
        })?;
        let [blocks, matrices] = [blocks, matrices].map(|list| list.into_iter().map(flat).collect::<Vec<_>>());
        Ok(matrices.iter().map(|matrix| combined(&blocks, matrix)).collect())
    }
}

/// The blocks side by side, times a matrix.
fn combined(blocks: &[CubeTensor], matrix: &CubeTensor) -> CubeTensor {
    let (rows, width, dtype) = (blocks[0].meta.shape()[0], matrix.meta.shape()[1], matrix.dtype);
    let lines = |own: &CubeTensor| own.meta.shape()[1];
    assert!(
        blocks.iter().all(|own| own.meta.shape()[0] == rows)
            && matrix.meta.shape()[0] == blocks.iter().map(lines).sum::<usize>(),
        "combine_columns: blocks must have {rows} rows and matrices {} ones",
        blocks.iter().map(lines).sum::<usize>()
    );
    let units = rows * width;
    // An empty buffer cannot be bound.
    let some: Vec<&CubeTensor> = blocks.iter().filter(|own| count(own) > 0).collect();
    if units == 0 {
        return empty(matrix, [rows, width], dtype);
    }
    if some.is_empty() {
        return zeros(matrix.device.clone(), [rows, width].into(), dtype);
    }
    let (mut out, mut first): (Option<CubeTensor>, usize) = (None, 0);
    // Beside the matrix, the sum so far and the result.
    for own in some.chunks(hardware(matrix).bindings.saturating_sub(3).max(1)) {
        let (before, sum) = (out.take(), empty(matrix, [rows, width], dtype));
        let reach = own.iter().map(|block| count(block)).max().unwrap_or(0).max(count(matrix));
        launch!(
            combine_columns,
            (&sum, reach),
            units,
            (
                own.iter().map(|block| arg(block)).collect(),
                arg(matrix),
                before.as_ref().map(arg).into(),
                arg(&sum),
                own.iter().map(|block| lines(block)).collect(),
                first,
                width,
                units,
                own.len(),
            ),
            stored(dtype)
        );
        first += own.iter().map(|block| lines(block)).sum::<usize>();
        out = Some(sum);
    }
    out.expect("a block")
}

#[cfg(test)]
mod tests {
    use super::super::hardware::tests::SMALL;
    use super::*;

    fn of(systems: usize, rows: usize, width: usize) -> Strategy {
        strategy(&Problem { systems, rows, width, dots: 2 }, &SMALL)
    }

    #[test]
    fn a_block_has_as_many_rows_as_its_units_take() {
        let one = of(1, 2048, 1);
        assert_eq!((one.share, one.blocks, one.tiles), (Share { lanes: 1, slices: 256, items: 8 }, 1, 1));
        assert_eq!(of(1, 2049, 1).blocks, 2);
        assert_eq!((of(1, 2048, 3).share.lanes, of(1, 2048, 3).blocks), (4, 4));
        assert_eq!((of(1, 65, 600).share.slices, of(1, 65, 600).blocks, of(1, 65, 600).tiles), (8, 2, 19));
        assert_eq!((of(5, 2049, 1).grid.cubes[0], of(5, 2049, 1).sums.cubes[0]), (10, 10));
    }

    #[test]
    fn small_cubes_have_fewer_units() {
        let share = strategy(&Problem { systems: 1, rows: 9, width: 300, dots: 0 }, &Hardware { units: 96, ..SMALL });
        assert_eq!((share.share.lanes, share.share.slices, share.tiles), (32, 2, 10));
    }
}
