//! Exclusive prefix sums, level by level. Each tile is scanned alone, the sums of the tiles are scanned in the same
//! way, and the results are added to the tiles (Blelloch, "Prefix sums and their applications", 1990). Every step is a
//! launch, and no workgroup waits for another. So this runs on any device, whatever its scheduler guarantees.

use super::super::fallback::supported;
use super::super::forced;
use super::super::launch::{arg, count, empty, flat, hardware, holds, launch, runs, stored};
use crate::backend::Gpu;
use crate::kernel::Scan;
use burn::backend::ops::IntTensorOps;
use burn_cubecl::CubeBackend;
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;

#[allow(missing_docs)]
mod kernels {
    use super::CUBE;
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    /// Exclusive scan of one number of each unit, in `shared`. The last entry is the sum of all.
    #[cube]
    fn scan_units(shared: &mut Shared<[u32]>, own: u32) -> u32 {
        let unit = UNIT_POS as usize;
        shared[unit] = own;
        sync_cube();
        let mut step = 1;
        while step < CUBE {
            let mut left = 0u32;
            if unit >= step {
                left = shared[unit - step];
            }
            sync_cube();
            shared[unit] += left;
            sync_cube();
            step *= 2;
        }
        shared[unit] - own
    }

    /// Exclusive scan inside each tile, and the tiles' sums.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn scan_tiles<I: Int>(
        input: &Tensor<I>,
        out: &mut Tensor<I>,
        sums: &mut Tensor<I>,
        length: usize,
        tiles: usize,
        #[comptime] items: usize,
        #[define(I)] _type: ElemType,
    ) {
        let mut shared = Shared::<[u32]>::new_slice(CUBE);
        let first = (CUBE_POS * CUBE + UNIT_POS as usize) * items;
        let mut own = 0u32;
        for k in 0..items {
            if first + k < length {
                own += u32::cast_from(input[first + k]);
            }
        }
        let mut sum = scan_units(&mut shared, own);
        for k in 0..items {
            if first + k < length {
                out[first + k] = I::cast_from(sum);
                sum += u32::cast_from(input[first + k]);
            }
        }
        if UNIT_POS as usize == CUBE - 1 && CUBE_POS < tiles {
            sums[CUBE_POS] = I::cast_from(sum);
        }
    }

    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn add_tiles<I: Int>(
        out: &mut Tensor<I>,
        sums: &Tensor<I>,
        length: usize,
        #[comptime] tile: usize,
        #[define(I)] _type: ElemType,
    ) {
        if ABSOLUTE_POS >= length {
            terminate!();
        }
        out[ABSOLUTE_POS] += sums[ABSOLUTE_POS / tile];
    }
}

/// Units of a cube.
pub(super) const CUBE: usize = 64;

/// Elements that a unit scans or sorts.
const ITEMS: usize = 8;

#[derive(Clone, Copy, Debug)]
pub struct Problem {
    pub length: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// Elements of a unit.
    pub items: usize,
    /// Tiles of each level: of the array, of the sums of its tiles, and so on until there is one.
    pub tiles: Vec<usize>,
}

/// The same on every device.
pub fn strategy(problem: &Problem) -> Strategy {
    Strategy::of(problem, ITEMS)
}

impl Strategy {
    fn of(problem: &Problem, items: usize) -> Self {
        let mut tiles = vec![problem.length.div_ceil(CUBE * items)];
        while let Some(&last) = tiles.last().filter(|&&last| last > 1) {
            tiles.push(last.div_ceil(CUBE * items));
        }
        Self { items, tiles }
    }

    /// Applies the settings that a test forces.
    pub fn forced(self, problem: &Problem) -> Self {
        forced::now().items.map_or(self, |items| Self::of(problem, items))
    }

    /// Elements of a tile.
    pub fn tile(&self) -> usize {
        CUBE * self.items
    }
}

impl Scan<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { counts } =
            supported(self, |Self { counts }| runs([counts]) && holds(counts, count(counts) + 1, counts.dtype))?;
        Ok(scan_to_ptr(counts))
    }
}

/// Exclusive prefix sums.
pub fn scan(input: CubeTensor) -> CubeTensor {
    let (problem, hardware) = (Problem { length: count(&input) }, hardware(&input));
    if problem.length == 0 {
        return input;
    }
    let strategy = strategy(&problem).forced(&problem);
    if strategy.tiles.len() > 2 {
        forced::note("a scan of three levels");
    }
    let (items, kind) = (strategy.items, stored(input.dtype));
    let mut levels: Vec<CubeTensor> = vec![];
    let mut input = flat(input);
    for &tiles in &strategy.tiles {
        let (length, grid) = (count(&input), hardware.cubes(tiles, CUBE));
        let (out, sums) = (empty(&input, [length], input.dtype), empty(&input, [tiles], input.dtype));
        launch!(scan_tiles, out, grid(grid), (arg(&input), arg(&out), arg(&sums), length, tiles, items), kind);
        levels.push(out);
        input = sums;
    }
    let mut sums = levels.pop().expect("a level at least");
    while let Some(out) = levels.pop() {
        let length = count(&out);
        launch!(add_tiles, out, length, (arg(&out), arg(&sums), length, strategy.tile()), kind);
        sums = out;
    }
    sums
}

/// Exclusive prefix sums and the total.
pub fn scan_to_ptr(counts: CubeTensor) -> CubeTensor {
    let end = zeros(counts.device.clone(), [1].into(), counts.dtype);
    scan(CubeBackend::int_cat(vec![flat(counts), end], 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_scans_the_sums_of_the_one_before() {
        let tiles = |length| strategy(&Problem { length }).tiles;
        assert_eq!(tiles(512), [1]);
        assert_eq!(tiles(513), [2, 1]);
        assert_eq!(tiles(512 * 512), [512, 1]);
        assert_eq!(tiles(512 * 512 + 1), [513, 2, 1]);
        assert_eq!(tiles(i32::MAX as usize), [4_194_304, 8192, 16, 1]);
    }
}
