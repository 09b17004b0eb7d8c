//! The symbolic phase: row pointers and columns of a product.

use super::super::fallback::{last, read};
use super::super::hardware::Hardware;
use super::super::launch::{arg, coordinates, count, empty, flat, hardware, holds, launch, number, stored};
use super::super::rows::follow;
use super::super::sort::{expand_ptr, group_by, scan_to_ptr, sort};
use super::super::structure::coalesce;
use super::bins::{self, BINS, Bin, bins, is_wide, mean, room};
use crate::kernel_views::RowsView;
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;
use sparse_core::narrow_limit;
use std::ops::Range;

#[allow(missing_docs)]
mod kernels;

/// Units that bound the work of a row together, and those of their cube.
const LANES: usize = 8;
const CUBE: usize = 64;

/// Columns of a tile of a long row, where that makes few tiles.
const TILE: usize = 32_768;

/// Tiles of a long row for which it is not worthwhile to number the columns of B again.
const TILES: usize = 64;

/// The columns that rows may have.
#[derive(Clone, Copy, Debug)]
struct Problem {
    cols: usize,
}

/// How a long row is cut into ranges of columns: each a bitmap in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Tiling {
    /// Words of a bitmap, of 32 columns each.
    words: usize,
    tiles: usize,
}

fn strategy(problem: &Problem, hardware: &Hardware) -> Tiling {
    let held = 1 << (8 * room(hardware)).max(32).ilog2();
    let mut width = held.min(TILE);
    while problem.cols.div_ceil(width) > TILES && width < held {
        width *= 2;
    }
    Tiling { words: width / 32, tiles: problem.cols.div_ceil(width) }
}

/// The operands of the kernels, and the rows in the order of their bins.
struct Rows {
    order: CubeTensor,
    a_ptr: CubeTensor,
    spans: CubeTensor,
    b_idx: CubeTensor,
}

impl Rows {
    /// Runs through the rows of a bin. Writes how many columns each has, or with `ptr` the columns.
    fn distinct(&self, bin: Bin, range: &Range<usize>, ptr: Option<&CubeTensor>, out: &CubeTensor) {
        if range.is_empty() {
            return;
        }
        let Self { order, a_ptr, spans, b_idx } = self;
        let (first, rows, grid) =
            (range.start, range.len(), hardware(out).cubes(range.len().div_ceil(bin.rows), bin.cube()));
        let [o, a, s, b] = [order, a_ptr, spans, b_idx].map(arg);
        // Pointers that are not read are bound as another tensor of their type.
        let (c, writes) = (arg(ptr.unwrap_or(a_ptr)), ptr.is_some());
        let tensors = [order, spans, b_idx, out];
        launch!(
            distinct,
            tensors,
            grid(grid),
            (o, a, s, b, c, arg(out), first, rows, bin, writes),
            stored(order.dtype)
        );
    }

    /// Runs through the long rows. Writes how many columns each tile has, or with `starts` the columns.
    fn mark(&self, bin: Bin, range: &Range<usize>, tiling: Tiling, starts: Option<&CubeTensor>, out: &CubeTensor) {
        let Self { order, a_ptr, spans, b_idx } = self;
        let (first, rows, tiles) = (range.start, range.len(), tiling.tiles);
        let grid = hardware(out).cubes(rows * tiles, bin.units);
        let [o, a, s, b] = [order, a_ptr, spans, b_idx].map(arg);
        let (c, writes) = (arg(starts.unwrap_or(a_ptr)), starts.is_some());
        let tensors = [order, spans, b_idx, starts.unwrap_or(a_ptr), out];
        launch!(
            mark,
            tensors,
            grid(grid),
            (o, a, s, b, c, arg(out), first, rows, tiles, tiling.words, bin, writes),
            stored(order.dtype)
        );
    }

    /// Sums of the long rows' tiles to the counts of rows, or with `ptr` the place of each tile in the result.
    fn place(&self, range: &Range<usize>, tiles: &CubeTensor, rows: &CubeTensor, starts: bool) {
        let (first, units, each) = (range.start, range.len(), tiles.meta.shape()[1]);
        let (o, t, r) = (arg(&self.order), arg(tiles), arg(rows));
        launch!(place, [tiles, rows, &self.order], units, (o, t, r, first, each, units, starts), stored(rows.dtype));
    }
}

/// Row pointers and columns of a product of non-empty matrices, `cols` wide. `None` if the result, or the counts of the
/// long rows' tiles, are more than the index dtype counts or a buffer holds. `spans` as [`bins::spans`] gives them.
///
/// Reads two numbers: how many rows each bin has, and how many elements the result. A third if they could be more than
/// 32 bits count, and a fourth if the columns of B are numbered again.
pub fn pattern(
    a: &RowsView<CubeTensor>,
    b: &RowsView<CubeTensor>,
    spans: &CubeTensor,
    cols: usize,
) -> Option<(CubeTensor, CubeTensor)> {
    let (rows, dtype, hardware) = (count(&a.ptr) - 1, a.ptr.dtype, hardware(&a.ptr));
    let mean = mean(count(&b.idx), count(&b.ptr) - 1);
    // A slot of the table and half a slot of the list that is sorted, twice.
    let bins = bins(&bins::Problem { bytes: 12, mean }, &hardware);
    let (a_ptr, b_idx) = (flat(a.ptr.clone()), flat(b.idx.clone()));
    let (order, ranges) = classes(&a_ptr, spans, bins.map(|bin| bin.cap));
    let (binned, long) = (&ranges[1..=BINS], &ranges[BINS + 1]);
    let (mut cols, mut tiling, mut names) = (cols, strategy(&Problem { cols }, &hardware), None);
    let (mut b_idx, many) = (b_idx, !long.is_empty() && tiling.tiles > TILES && count(&b.idx) < cols);
    if is_wide(cols) || many {
        let (places, unique) = number_again(b_idx, cols);
        (b_idx, cols) = (places, count(&unique));
        (tiling, names) = (strategy(&Problem { cols }, &hardware), Some(unique));
    }
    if !holds(&a_ptr, long.len().saturating_mul(tiling.tiles), dtype) {
        return None;
    }
    let zeros = |length: usize| zeros(a_ptr.device.clone(), [length].into(), dtype);
    let counts = zeros(rows);
    let operands = Rows { order, a_ptr: a_ptr.clone(), spans: spans.clone(), b_idx };
    for (&bin, range) in bins.iter().zip(binned) {
        operands.distinct(bin, range, None, &counts);
    }
    let tiles = (!long.is_empty()).then(|| {
        let tiles = empty(&a_ptr, [long.len(), tiling.tiles], dtype);
        operands.mark(bins[BINS - 1], long, tiling, None, &tiles);
        operands.place(long, &tiles, &counts, false);
        tiles
    });
    // As many elements as there are at most.
    let held = bins.iter().zip(binned).fold(0usize, |sum, (bin, range)| sum.saturating_add(range.len() * bin.cap));
    let most = held.saturating_add(long.len().saturating_mul(cols));
    let fits = |elements: usize| holds(&a_ptr, elements, dtype);
    if dtype.size() == 4 && most >= narrow_limit() && !fits(limited_sum(counts.clone(), narrow_limit())) {
        return None;
    }
    let ptr = scan_to_ptr(counts);
    let nnz = last(&ptr) as usize;
    if nnz == 0 || !fits(nnz) {
        return (nnz == 0).then(|| (ptr, zeros(0)));
    }
    let idx = empty(&a_ptr, [nnz], dtype);
    for (&bin, range) in bins.iter().zip(binned) {
        operands.distinct(bin, range, Some(&ptr), &idx);
    }
    if let Some(tiles) = tiles {
        operands.place(long, &tiles, &ptr, true);
        operands.mark(bins[BINS - 1], long, tiling, Some(&tiles), &idx);
    }
    Some((ptr, names.map_or_else(|| idx.clone(), |names| follow(names, &idx))))
}

/// The rows in the order of their bins, and the range of each bin there. Bin 0 has the rows without elements, bin `k`
/// those with at most `caps[k - 1]` products, and the last one all others.
fn classes(a_ptr: &CubeTensor, spans: &CubeTensor, caps: [usize; BINS]) -> (CubeTensor, Vec<Range<usize>>) {
    let (rows, dtype) = (count(a_ptr) - 1, a_ptr.dtype);
    let out = empty(a_ptr, [rows], dtype);
    let grid = hardware(a_ptr).cubes(rows.div_ceil(CUBE / LANES), CUBE);
    let (a, s, o) = (arg(a_ptr), arg(spans), arg(&out));
    launch!(classes, [a_ptr, spans, &out], grid(grid), (a, s, o, rows, caps), stored(dtype));
    let (order, ptr) = group_by(out, BINS + 2);
    let ends: Vec<usize> = read(ptr).iter::<i64>().map(|end| end as usize).collect();
    (order, ends.windows(2).map(|pair| pair[0]..pair[1]).collect())
}

/// The sum of counts, or `limit` if that is less.
fn limited_sum(mut counts: CubeTensor, limit: usize) -> usize {
    while count(&counts) > 1 {
        let length = count(&counts);
        let units = length.div_ceil(64);
        let out = empty(&counts, [units], counts.dtype);
        let (kind, limit) = (stored(counts.dtype), number(limit, &counts));
        launch!(limited_sums, counts, units, (arg(&counts), arg(&out), limit, length, units), kind);
        counts = out;
    }
    (last(&counts) as usize).min(limit)
}

/// The columns that occur, in order, and the number of each element's column among them. For matrices so wide that
/// columns need more than 32 bits, or that few of them occur.
fn number_again(idx: CubeTensor, cols: usize) -> (CubeTensor, CubeTensor) {
    let nnz = count(&idx);
    let list = burn_cubecl::ops::reshape(idx, [1, nnz].into());
    let [unique, order, ptr] = coalesce(list, &[cols]);
    let (_, sorted) = sort(order, nnz);
    (follow(expand_ptr(ptr, nnz), &sorted), coordinates(&unique, 0))
}

#[cfg(test)]
mod tests {
    use super::super::super::hardware::tests::SMALL;
    use super::*;

    #[test]
    fn tiles_widen_where_there_would_be_many() {
        let of = |cols, shared| strategy(&Problem { cols }, &Hardware { shared, ..SMALL });
        assert_eq!(of(1, 16 << 10), Tiling { words: 1024, tiles: 1 });
        assert_eq!(of(TILE, 16 << 10).tiles, 1);
        assert_eq!(of(TILE + 1, 16 << 10), Tiling { words: 1024, tiles: 2 });
        assert_eq!(of(TILE * TILES, 16 << 10), Tiling { words: 1024, tiles: TILES });
        assert_eq!(of(TILE * TILES + 1, 16 << 10), Tiling { words: 2048, tiles: 33 });
        // As wide as the memory allows.
        assert_eq!(of(TILE * 256, 16 << 10), Tiling { words: 2048, tiles: 128 });
        assert_eq!(of(TILE * 256, 48 << 10), Tiling { words: 4096, tiles: 64 });
        assert_eq!(of(10_000, 3072), Tiling { words: 128, tiles: 3 });
        assert_eq!(of(10_000, 0), Tiling { words: 1, tiles: 313 });
    }
}
