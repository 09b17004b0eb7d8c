//! Stable radix sort, with four bits in each pass. A pass counts the digits of each tile, scans the counts, and moves
//! every element to its place (Satish, Harris and Garland, "Designing efficient sorting algorithms for manycore GPUs",
//! 2009).

use super::super::fallback::supported;
use super::super::forced;
use super::super::launch::{arg, count, empty, flat, hardware, holds, launch, runs, stored};
use super::scan::{self, CUBE, scan};
use super::segments::compress;
use crate::backend::Gpu;
use crate::kernel::GroupBy;
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;

/// Bits sorted in one pass.
const BITS: usize = 4;
const DIGITS: usize = 1 << BITS;

#[allow(missing_docs)]
mod kernels {
    use super::{CUBE, DIGITS};
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    /// This unit's counter of an element's digit, in `[digit, unit]`.
    #[cube]
    fn slot<I: Int>(key: I, shift: u32) -> usize {
        // The shift is in the type of the keys: positions are narrower than 64-bit keys.
        usize::cast_from((key >> I::cast_from(shift)) & I::from_int(15)) * CUBE + UNIT_POS as usize
    }

    /// How often each digit occurs among the elements of this unit.
    #[cube]
    fn count_own<I: Int>(
        counters: &mut Shared<[u32]>,
        keys: &Tensor<I>,
        first: usize,
        length: usize,
        shift: u32,
        #[comptime] items: usize,
    ) {
        let unit = UNIT_POS as usize;
        for digit in 0..DIGITS {
            counters[digit * CUBE + unit] = 0u32;
        }
        for k in 0..items {
            if first + k < length {
                counters[slot::<I>(keys[first + k], shift)] += 1u32;
            }
        }
        sync_cube();
    }

    /// How often each digit occurs in each tile: `[digit, tile]`.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn count_digits<I: Int>(
        keys: &Tensor<I>,
        counts: &mut Tensor<I>,
        length: usize,
        tiles: usize,
        shift: u32,
        #[comptime] items: usize,
        #[define(I)] _type: ElemType,
    ) {
        let mut counters = Shared::<[u32]>::new_slice(DIGITS * CUBE);
        let unit = UNIT_POS as usize;
        let first = (CUBE_POS * CUBE + unit) * items;
        count_own::<I>(&mut counters, keys, first, length, shift, items);
        if unit < DIGITS && CUBE_POS < tiles {
            let mut sum = 0u32;
            for other in 0..CUBE {
                sum += counters[unit * CUBE + other];
            }
            counts[unit * tiles + CUBE_POS] = I::cast_from(sum);
        }
    }

    /// Moves keys and positions to their places: `offsets` (the scan of the counts) plus the rank in the tile.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn move_digits<I: Int>(
        keys: &Tensor<I>,
        positions: &Tensor<I>,
        offsets: &Tensor<I>,
        keys_out: &mut Tensor<I>,
        positions_out: &mut Tensor<I>,
        length: usize,
        tiles: usize,
        shift: u32,
        #[comptime] items: usize,
        #[comptime] first_pass: bool,
        #[define(I)] _type: ElemType,
    ) {
        let mut counters = Shared::<[u32]>::new_slice(DIGITS * CUBE);
        let unit = UNIT_POS as usize;
        let tile = min(CUBE_POS, tiles - 1);
        let first = (CUBE_POS * CUBE + unit) * items;
        count_own::<I>(&mut counters, keys, first, length, shift, items);
        // Each of the first units scans the counts of one digit, which gives the places.
        if unit < DIGITS {
            let mut sum = u32::cast_from(offsets[unit * tiles + tile]);
            for other in 0..CUBE {
                let here = counters[unit * CUBE + other];
                counters[unit * CUBE + other] = sum;
                sum += here;
            }
        }
        sync_cube();
        for k in 0..items {
            if first + k < length {
                let key = keys[first + k];
                let slot = slot::<I>(key, shift);
                let place = counters[slot] as usize;
                counters[slot] += 1u32;
                keys_out[place] = key;
                if first_pass {
                    positions_out[place] = I::cast_from(first + k);
                } else {
                    positions_out[place] = positions[first + k];
                }
            }
        }
    }
}

/// The number of keys, and a bound that all are below.
#[derive(Clone, Copy, Debug)]
struct Problem {
    length: usize,
    bound: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Strategy {
    /// Elements of a unit.
    items: usize,
    tiles: usize,
    passes: usize,
}

/// The same on every device.
fn strategy(problem: &Problem) -> Strategy {
    let bits = (usize::BITS - problem.bound.saturating_sub(1).leading_zeros()) as usize;
    let tiling = scan::strategy(&scan::Problem { length: problem.length });
    Strategy { items: tiling.items, tiles: tiling.tiles[0], passes: bits.div_ceil(BITS).max(1) }
}

impl Strategy {
    /// Applies the settings that a test forces.
    fn forced(self, length: usize) -> Self {
        let items = forced::now().items.unwrap_or(self.items);
        Self { items, tiles: length.div_ceil(CUBE * items), ..self }
    }
}

/// Keys below `bound` in ascending order, and the old position of each. Equal keys keep their order.
pub fn sort(keys: CubeTensor, bound: usize) -> (CubeTensor, CubeTensor) {
    let (length, dtype, hardware) = (count(&keys), keys.dtype, hardware(&keys));
    let strategy = strategy(&Problem { length, bound }).forced(length);
    let Strategy { items, tiles, passes } = strategy;
    let (grid, kind) = (hardware.cubes(tiles, CUBE), stored(dtype));
    let mut keys = flat(keys);
    let mut positions = keys.clone();
    for pass in 0..passes {
        let shift = (pass * BITS) as u32;
        let counts = empty(&keys, [DIGITS * tiles], dtype);
        launch!(count_digits, keys, grid(grid), (arg(&keys), arg(&counts), length, tiles, shift, items), kind);
        // The scan of the counts gives the first place of each digit of a tile.
        let offsets = scan(counts);
        let [keys_out, positions_out] = [(); 2].map(|()| empty(&keys, [length], dtype));
        let [k, p, o, ko, po] = [&keys, &positions, &offsets, &keys_out, &positions_out].map(arg);
        launch!(move_digits, keys, grid(grid), (k, p, o, ko, po, length, tiles, shift, items, pass == 0), kind);
        (keys, positions) = (keys_out, positions_out);
    }
    (keys, positions)
}

impl GroupBy<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<(CubeTensor, CubeTensor), Self> {
        let Self { keys, groups } =
            supported(self, |Self { keys, groups }| runs([keys]) && holds(keys, groups + 1, keys.dtype))?;
        Ok(group_by(keys, groups))
    }
}

/// The order that sorts keys, and where each group starts in it.
pub fn group_by(keys: CubeTensor, groups: usize) -> (CubeTensor, CubeTensor) {
    if count(&keys) == 0 {
        let ptr = zeros(keys.device.clone(), [groups + 1].into(), keys.dtype);
        return (keys, ptr);
    }
    let (sorted, order) = sort(keys, groups);
    (order, compress(sorted, groups))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_reach_the_highest_bit_of_a_key() {
        let passes = |bound| strategy(&Problem { length: 1, bound }).passes;
        assert_eq!([0, 1, 2, 16, 17, 256, 257].map(passes), [1, 1, 1, 1, 2, 2, 3]);
        assert_eq!(passes(i32::MAX as usize), 8);
        assert_eq!(passes(1 << 40), 10);
    }

    #[test]
    fn a_cube_has_a_tile() {
        let tiles = |length| strategy(&Problem { length, bound: 9 }).tiles;
        assert_eq!([1, 512, 513].map(tiles), [1, 1, 2]);
    }
}
