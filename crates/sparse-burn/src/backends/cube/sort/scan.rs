//! Prefix sums: reduce, then scan (Blelloch, "Prefix sums and their applications", 1990; Merrill and Grimshaw,
//! "Parallel scan for stream architectures", 2009).
//!
//! The array is cut into at most 1024 parts of whole tiles. One launch adds up each part. In a second each cube adds up
//! the sums of the parts before its own, and scans its part tile by tile. An array of one tile takes the second launch
//! only. Every element is read twice and written once. No cube waits for another, so this runs on any device, whatever
//! its scheduler guarantees. Sums are of the dtype of the indices, and of integers, so their order makes no difference.

use super::super::fallback::{read, supported};
use super::super::hardware::Hardware;
use super::super::launch::{arg, count, empty, flat, hardware, holds, launch, runs, stored};
use super::tile::Tile;
use crate::backend::Gpu;
use crate::kernel::Scan;
use burn::backend::DType;
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;
use kernels::How;

#[allow(missing_docs)]
mod kernels {
    use super::super::super::parts::SUM;
    use super::super::tile::{Tile, pad, scan_tile, scan_units};
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    /// Compile-time settings.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct How {
        pub tile: Tile,
        /// Whether 1 is added for each element that differs from the one before it, in place of the element.
        pub changes: bool,
        /// Whether an element counts for itself.
        pub inclusive: bool,
    }

    /// What element `k` adds.
    #[cube]
    fn term<S: Int, I: Int>(input: &Tensor<S>, k: usize, #[comptime] changes: bool) -> I {
        if comptime!(changes) {
            let mut changed = I::from_int(0);
            if k > 0 {
                changed = select(input[k] == input[k - 1], I::from_int(0), I::from_int(1));
            }
            changed
        } else {
            I::cast_from(input[k])
        }
    }

    /// Scans elements `start..end` of the result. The input has none from `limit`. Returns `before` and all together.
    #[cube]
    fn scan_range<S: Int, I: Int>(
        input: &Tensor<S>,
        out: &mut Tensor<I>,
        shared: &mut Shared<[I]>,
        before: I,
        start: usize,
        end: usize,
        limit: usize,
        #[comptime] how: How,
    ) -> I {
        let mut sum = before;
        let mut first = start;
        while first < end {
            for j in 0..comptime!(how.tile.items) {
                let slot = j * comptime!(how.tile.units) + UNIT_POS as usize;
                let mut own = I::from_int(0);
                if first + slot < limit {
                    own = term::<S, I>(input, first + slot, how.changes);
                }
                shared[pad(slot)] = own;
            }
            let total = scan_tile::<I>(shared, sum, how.tile, SUM, how.inclusive);
            for j in 0..comptime!(how.tile.items) {
                let slot = j * comptime!(how.tile.units) + UNIT_POS as usize;
                if first + slot < end {
                    out[first + slot] = shared[pad(slot)];
                }
            }
            sum += total;
            first += comptime!(how.tile.len());
            sync_cube();
        }
        sum
    }

    /// The sum of each part.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn sum_parts<S: Int, I: Int>(
        input: &Tensor<S>,
        sums: &mut Tensor<I>,
        length: usize,
        part: usize,
        parts: usize,
        #[comptime] how: How,
        #[define(S, I)] _types: [ElemType; 2],
    ) {
        if CUBE_POS >= parts {
            terminate!();
        }
        let mut shared = Shared::<[I]>::new_slice(comptime!(2 * how.tile.units));
        let mut own = I::from_int(0);
        let mut k = CUBE_POS * part + UNIT_POS as usize;
        let end = min((CUBE_POS + 1) * part, length);
        while k < end {
            own += term::<S, I>(input, k, how.changes);
            k += comptime!(how.tile.units);
        }
        let scanned = scan_units::<I>(&mut shared, own, 0usize, comptime!(how.tile.units), SUM);
        if UNIT_POS == 0 {
            sums[CUBE_POS] = scanned.total;
        }
    }

    /// Scans each part. It starts from the `sums` of the parts before it, if there are several. The result has `end`
    /// elements.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn scan_parts<S: Int, I: Int>(
        input: &Tensor<S>,
        sums: &ComptimeOption<OwnedTensor<I>>,
        out: &mut Tensor<I>,
        length: usize,
        end: usize,
        part: usize,
        parts: usize,
        #[comptime] how: How,
        #[define(S, I)] _types: [ElemType; 2],
    ) {
        if CUBE_POS >= parts {
            terminate!();
        }
        let mut shared = Shared::<[I]>::new_slice(comptime!(how.tile.scanned()));
        let mut before = I::from_int(0);
        #[comptime]
        if let ComptimeOption::Some(sums) = sums {
            let mut own = I::from_int(0);
            let mut other = UNIT_POS as usize;
            while other < CUBE_POS {
                own += sums[other];
                other += comptime!(how.tile.units);
            }
            let base = comptime!(how.tile.padded());
            let scanned = scan_units::<I>(&mut shared, own, base, comptime!(how.tile.units), SUM);
            before = scanned.total;
            // The scans of the tiles use the same entries.
            sync_cube();
        }
        let start = CUBE_POS * part;
        scan_range::<S, I>(input, out, &mut shared, before, start, min(start + part, end), length, how);
    }

    /// Scans each row of `[rows, width]`. `totals` are the sums of the rows.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn scan_rows<I: Int>(
        input: &Tensor<I>,
        out: &mut Tensor<I>,
        totals: &mut Tensor<I>,
        rows: usize,
        width: usize,
        #[comptime] how: How,
        #[define(I)] _type: ElemType,
    ) {
        if CUBE_POS >= rows {
            terminate!();
        }
        let mut shared = Shared::<[I]>::new_slice(comptime!(how.tile.scanned()));
        let (start, end) = (CUBE_POS * width, (CUBE_POS + 1) * width);
        let total = scan_range::<I, I>(input, out, &mut shared, I::from_int(0), start, end, end, how);
        if UNIT_POS == 0 {
            totals[CUBE_POS] = total;
        }
    }
}

/// Most parts. An H200 runs so many cubes at a time, and a cube reads at most four of their sums with each unit.
const PARTS: usize = 1024;

/// The number of elements of the result, and the bytes of each.
#[derive(Clone, Copy, Debug)]
struct Problem {
    length: usize,
    bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Strategy {
    tile: Tile,
    /// Elements of a part, and the number of parts.
    part: usize,
    parts: usize,
}

fn strategy(problem: &Problem, hardware: &Hardware) -> Strategy {
    Strategy::of(problem, Tile::of(hardware, |tile| problem.bytes * tile.scanned()))
}

impl Strategy {
    fn of(problem: &Problem, tile: Tile) -> Self {
        let tiles = problem.length.div_ceil(tile.len()).max(1);
        let part = tiles.div_ceil(PARTS) * tile.len();
        Self { tile, part, parts: problem.length.div_ceil(part).max(1) }
    }

    /// Applies the settings that a test forces.
    fn forced(self, problem: &Problem) -> Self {
        Self::of(problem, self.tile.forced())
    }
}

impl Scan<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { counts } =
            supported(self, |Self { counts }| runs([counts]) && holds(counts, count(counts) + 1, counts.dtype))?;
        Ok(scan_to_ptr(counts))
    }
}

/// An array that is scanned, the dtype of the sums, and how.
struct Scanner {
    input: CubeTensor,
    dtype: DType,
    strategy: Strategy,
    hardware: Hardware,
    how: How,
}

impl Scanner {
    /// For a result of `length` elements.
    fn new(input: CubeTensor, length: usize, dtype: DType, changes: bool, inclusive: bool) -> Self {
        let (problem, hardware) = (Problem { length, bytes: dtype.size() }, hardware(&input));
        let strategy = strategy(&problem, &hardware).forced(&problem);
        let how = How { tile: strategy.tile, changes, inclusive };
        Self { input: flat(input), dtype, strategy, hardware, how }
    }

    /// The sum of each part.
    fn sums(&self) -> CubeTensor {
        let Self { input, dtype, strategy, hardware, how } = self;
        let Strategy { tile, part, parts } = *strategy;
        let sums = empty(input, [parts], *dtype);
        let (grid, length, types) =
            (hardware.cubes(parts, tile.units), count(input), [input.dtype, *dtype].map(stored));
        let reach = parts * part;
        launch!(sum_parts, input, grid(grid, reach), (arg(input), arg(&sums), length, part, parts, *how), types);
        sums
    }

    /// The scan, of `end` elements.
    fn scan(self, sums: Option<CubeTensor>, end: usize) -> CubeTensor {
        let Self { input, dtype, strategy: Strategy { tile, part, parts }, hardware, how } = self;
        let out = empty(&input, [end], dtype);
        let (grid, length, types) =
            (hardware.cubes(parts, tile.units), count(&input), [input.dtype, dtype].map(stored));
        let (reach, [i, o]) = (parts * part, [&input, &out].map(arg));
        let sums = sums.as_ref().map(arg).into();
        launch!(scan_parts, input, grid(grid, reach), (i, sums, o, length, end, part, parts, how), types);
        out
    }
}

/// The first `end` exclusive prefix sums: one more than there are numbers, at most.
fn prefix_sums(input: CubeTensor, end: usize) -> CubeTensor {
    let dtype = input.dtype;
    if count(&input) == 0 {
        return zeros(input.device.clone(), [end].into(), dtype);
    }
    let scanner = Scanner::new(input, end, dtype, false, false);
    let sums = (scanner.strategy.parts > 1).then(|| scanner.sums());
    scanner.scan(sums, end)
}

/// Exclusive prefix sums.
pub fn scan(input: CubeTensor) -> CubeTensor {
    let end = count(&input);
    prefix_sums(input, end)
}

/// Exclusive prefix sums and the total.
pub fn scan_to_ptr(counts: CubeTensor) -> CubeTensor {
    let end = count(&counts) + 1;
    prefix_sums(counts, end)
}

/// The group of each element, in `dtype`, and the number of groups, which is read. A group ends where an element
/// differs from the next, or if `flags` are given in place of the elements, before each 1.
pub fn number_groups(list: CubeTensor, flags: bool, dtype: DType) -> (CubeTensor, usize) {
    let length = count(&list);
    let scanner = Scanner::new(list, length, dtype, !flags, true);
    // The sums of the parts tell the number, so nothing else is computed for the read.
    let sums = scanner.sums();
    let ids = scanner.scan(Some(sums.clone()), length);
    let changes: i64 = read(sums).iter::<i64>().sum();
    (ids, changes as usize + 1)
}

/// Exclusive prefix sums of each row of `[rows, width]`, and the sums of the rows. One launch.
pub fn scan_rows(input: &CubeTensor, rows: usize, width: usize) -> [CubeTensor; 2] {
    let (dtype, hardware) = (input.dtype, hardware(input));
    let tile = strategy(&Problem { length: width, bytes: dtype.size() }, &hardware).tile.forced();
    let (out, totals) = (empty(input, [rows * width], dtype), empty(input, [rows], dtype));
    let (grid, how) = (hardware.cubes(rows, tile.units), How { tile, changes: false, inclusive: false });
    let (reach, [i, o, t]) = (rows * width + tile.len(), [input, &out, &totals].map(arg));
    launch!(scan_rows, input, grid(grid, reach), (i, o, t, rows, width, how), stored(dtype));
    [out, totals]
}

#[cfg(test)]
mod tests {
    use super::super::super::hardware::tests::SMALL;
    use super::*;

    fn of(length: usize) -> [usize; 3] {
        let Strategy { tile, part, parts } = strategy(&Problem { length, bytes: 4 }, &SMALL);
        [tile.len(), part, parts]
    }

    #[test]
    fn parts_have_a_tile_until_there_are_too_many() {
        assert_eq!([0, 1, 3072].map(of), [[3072, 3072, 1]; 3]);
        assert_eq!(of(3073), [3072, 3072, 2]);
        assert_eq!(of(3072 * 1024), [3072, 3072, 1024]);
        assert_eq!(of(3072 * 1024 + 1), [3072, 2 * 3072, 513]);
        let [_, part, parts] = of(i32::MAX as usize);
        assert!(parts <= 1024 && part * parts >= i32::MAX as usize && part * (parts - 1) < i32::MAX as usize);
    }
}
