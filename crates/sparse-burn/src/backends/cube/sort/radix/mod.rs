//! Stable radix sort, least significant digit first, with eight bits in each pass (Satish, Harris and Garland,
//! "Designing efficient sorting algorithms for manycore GPUs", 2009; Merrill and Grimshaw, "High performance and
//! scalable radix sorting", 2011).
//!
//! A pass has three launches. A cube counts the digits of each tile of 4096 keys. A cube for each digit scans its
//! counts over the tiles. Then each tile is sorted in shared memory by four bits and by four more, and moved: the keys
//! with one digit go to adjacent places. If there is one tile, its order is the order of all, and a pass has one
//! launch. The passes of a single-pass sort (Adinets and Merrill, "Onesweep", 2022) would be one launch each, but there
//! cubes wait for others, which not every device lets make progress.
//!
//! Bytes of a pass for each key of 32 bits and its position: 4 are read to count, 8 to move, 8 are written, and 1 goes
//! to counts. That is 21, and 17 in the first pass, whose positions are not read. On an H200 (4.8 TB/s) 10^7 keys of 32
//! bits take 4 passes of at least 0.044 ms, 0.17 ms in all or 60 Gkeys/s. Shared memory is accessed about 16 times for
//! each key in a pass. At one access of 32 units in each cycle of 132 multiprocessors that is 0.025 ms if no banks
//! conflict, beside the 0.044 ms. With 3 to 5 us for each of 12 launches, 0.25 to 0.35 ms are expected. Onesweep
//! reports 29.4 Gkeys/s for keys alone on an A100 (1.6 TB/s), 1.5 times the rate of CUB before it. Scaled by bandwidth,
//! that rate of CUB would be 60 Gkeys/s for keys alone. This is arithmetic, not a measurement.

use super::super::fallback::supported;
use super::super::hardware::Hardware;
use super::super::launch::{arg, count, divides, empty, flat, hardware, holds, launch, runs, stored};
use super::super::rows::follow;
use super::scan::scan_rows;
use super::segments::pointers;
use super::tile::Tile;
use crate::backend::Gpu;
use crate::kernel::{GroupBy, GroupWith};
use burn::backend::DType;
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;
use kernels::{BITS, DIGITS, How, OffsetsLaunch};

#[allow(missing_docs)]
mod kernels;

/// The number of keys and of their bits, and the bytes of a position.
#[derive(Clone, Copy, Debug)]
struct Problem {
    length: usize,
    bits: usize,
    bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Strategy {
    tile: Tile,
    tiles: usize,
    passes: usize,
}

fn strategy(problem: &Problem, hardware: &Hardware) -> Strategy {
    // The scan of the digits' places and its result, besides the words of the tile.
    let shared = |tile: Tile| 4 * tile.words() + problem.bytes * (2 * tile.units + DIGITS);
    Strategy::of(problem, Tile::of(hardware, shared))
}

impl Strategy {
    fn of(problem: &Problem, tile: Tile) -> Self {
        let passes = problem.bits.div_ceil(BITS).max(1);
        Self { tile, tiles: problem.length.div_ceil(tile.len()), passes }
    }

    /// Applies the settings that a test forces.
    fn forced(self, problem: &Problem) -> Self {
        Self::of(problem, self.tile.forced())
    }
}

/// Bits of the numbers below a bound.
pub fn bits_below(bound: u128) -> usize {
    (u128::BITS - bound.saturating_sub(1).leading_zeros()) as usize
}

/// Keys below `bound` in ascending order, and the old position of each. Equal keys keep their order. The sorted keys
/// are u32 if all such keys fit.
pub fn sort(keys: CubeTensor, bound: usize) -> (CubeTensor, CubeTensor) {
    let dtype = keys.dtype;
    sort_bits(keys, bits_below(bound as u128), None, dtype)
}

/// [`sort`] for keys of so many bits, whose positions are `positions` (of `dtype`), or if there are none, their own.
pub fn sort_bits(
    keys: CubeTensor,
    bits: usize,
    positions: Option<CubeTensor>,
    dtype: DType,
) -> (CubeTensor, CubeTensor) {
    let (length, hardware) = (count(&keys), hardware(&keys));
    let problem = Problem { length, bits, bytes: dtype.size() };
    let Strategy { tile, tiles, passes } = strategy(&problem, &hardware).forced(&problem);
    let (grid, reach) = (hardware.cubes(tiles, tile.units), tiles * tile.len());
    let (wide_keys, wide_positions) = (bits > 32, length > u32::MAX as usize);
    let (kept, how) = (if wide_keys { keys.dtype } else { DType::U32 }, How { tile, wide_keys, wide_positions });
    let (mut keys, mut positions) = (flat(keys), positions.map(flat));
    for pass in 0..passes {
        let (shift, kind) = ((pass * BITS) as u32, [keys.dtype, kept, dtype].map(stored));
        let offsets = (tiles > 1).then(|| {
            let counts = empty(&keys, [DIGITS * tiles], dtype);
            let (types, [k, c]) = ([kind[0], kind[2]], [&keys, &counts].map(arg));
            launch!(count_digits, [&keys, &counts], grid(grid, reach), (k, c, length, tiles, shift, tile), types);
            scan_rows(&counts, DIGITS, tiles)
        });
        let tables = offsets.as_ref().map(|[before, totals]| OffsetsLaunch::new(arg(before), arg(totals)));
        let (sorted, order) = (empty(&keys, [length], kept), empty(&keys, [length], dtype));
        let ([k, s, o], p) = ([&keys, &sorted, &order].map(arg), positions.as_ref().map(arg));
        let args = (k, p.into(), tables.into(), s, o);
        launch!(
            move_digits,
            keys,
            grid(grid, reach),
            (args.0, args.1, args.2, args.3, args.4, length, tiles, shift, how),
            kind
        );
        (keys, positions) = (sorted, Some(order));
    }
    (keys, positions.expect("there is a pass at least"))
}

impl GroupBy<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<(CubeTensor, CubeTensor), Self> {
        let Self { keys, groups } =
            supported(self, |Self { keys, groups }| runs([keys]) && holds(keys, groups + 1, keys.dtype))?;
        Ok(group_by(keys, groups))
    }
}

impl GroupWith<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<(CubeTensor, CubeTensor, CubeTensor), Self> {
        let Self { keys, others, groups } = supported(self, |Self { keys, others, groups }| {
            runs([keys, others]) && holds(keys, groups + 1, keys.dtype) && divides(others, count(keys))
        })?;
        let (order, ptr) = group_by(keys, groups);
        let others = follow(others, &order);
        Ok((order, ptr, others))
    }
}

/// The order that sorts keys, and where each group starts in it.
pub fn group_by(keys: CubeTensor, groups: usize) -> (CubeTensor, CubeTensor) {
    let dtype = keys.dtype;
    if count(&keys) == 0 {
        let ptr = zeros(keys.device.clone(), [groups + 1].into(), dtype);
        return (keys, ptr);
    }
    let (sorted, order) = sort(keys, groups);
    (order, pointers(sorted, groups, dtype))
}

#[cfg(test)]
mod tests {
    use super::super::super::hardware::tests::SMALL;
    use super::*;

    fn of(length: usize, bits: usize, bytes: usize, hardware: &Hardware) -> Strategy {
        strategy(&Problem { length, bits, bytes }, hardware)
    }

    #[test]
    fn passes_reach_the_highest_bit_of_a_key() {
        let passes = |bound| of(1, bits_below(bound), 4, &SMALL).passes;
        assert_eq!([0, 1, 2, 256, 257, 65_536, 65_537].map(passes), [1, 1, 1, 1, 2, 2, 3]);
        assert_eq!([i32::MAX as u128, 1 << 32, (1 << 32) + 1, 1 << 40, 1 << 63].map(passes), [4, 4, 5, 5, 8]);
    }

    #[test]
    fn a_tile_is_as_large_as_shared_memory_allows() {
        let tile = |bytes, hardware: &Hardware| of(1, 8, bytes, hardware).tile.len();
        assert_eq!(tile(4, &SMALL), 3072);
        let large = Hardware { shared: 49_152, ..SMALL };
        assert_eq!([4, 8].map(|bytes| tile(bytes, &large)), [4096; 2]);
        assert_eq!(tile(4, &Hardware { units: 128, ..large }), 2048);
    }

    #[test]
    fn a_cube_has_a_tile() {
        assert_eq!([1, 3072, 3073, 6145].map(|length| of(length, 8, 4, &SMALL).tiles), [1, 1, 2, 3]);
    }
}
