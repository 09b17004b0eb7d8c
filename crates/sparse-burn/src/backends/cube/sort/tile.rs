//! A tile: the elements that a cube sorts or scans at a time, in its shared memory.
//!
//! Tiles are read and written with the units side by side, and scanned with adjacent elements in each unit. So every
//! 33rd word is left out: units that read 16 adjacent words each would otherwise meet in two of 32 banks.

use super::super::forced;
use super::super::hardware::Hardware;
use super::super::parts::MAX;
use burn_cubecl::cubecl;
use cubecl::prelude::*;

/// Most units of a cube. WebGPU promises so many.
const UNITS: usize = 256;

/// Elements of a unit: as many as shared memory holds.
const ITEMS: [usize; 6] = [16, 12, 8, 4, 2, 1];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tile {
    pub units: usize,
    /// Elements of a unit.
    pub items: usize,
}

impl Tile {
    /// The largest tile whose shared memory the device has.
    pub fn of(hardware: &Hardware, bytes: impl Fn(Self) -> usize) -> Self {
        let units = 1 << hardware.units.min(UNITS).ilog2();
        let fits = |tile: &Self| bytes(*tile) <= hardware.shared;
        ITEMS.map(|items| Self { units, items }).into_iter().find(fits).unwrap_or(Self { units, items: 1 })
    }

    /// Applies the settings that a test forces, as far as shared memory allows.
    pub fn forced(self) -> Self {
        Self { items: forced::now().items.map_or(self.items, |items| items.min(self.items)), ..self }
    }

    /// Number of elements.
    pub fn len(self) -> usize {
        self.units * self.items
    }

    /// Entries of shared memory that hold the elements.
    pub fn padded(self) -> usize {
        padded(self.len())
    }

    /// Entries of shared memory that [`scan_tile`] needs.
    pub fn scanned(self) -> usize {
        self.padded() + 2 * self.units
    }
}

/// Entries that hold so many elements, with one left out of every 33.
pub fn padded(length: usize) -> usize {
    length + length.div_ceil(32)
}

/// The entry that holds an element.
#[cube]
pub fn pad(at: usize) -> usize {
    at + at / 32
}

/// What a scan tells each unit: the sum of the units before it, and of all.
#[derive(CubeType)]
pub struct Scanned<T: Int> {
    pub before: T,
    pub total: T,
}

/// A sum, or with [`MAX`] the largest. Nothing is 0.
#[cube]
fn fold<T: Int>(x: T, y: T, #[comptime] rule: u32) -> T {
    if comptime!(rule == MAX) { max(x, y) } else { x + y }
}

/// Scans one number of each unit (Hillis and Steele, 1986), in entries `base..base + 2 * units` of `shared`. There must
/// be a barrier between two calls.
#[cube]
pub fn scan_units<T: Int>(
    shared: &mut Shared<[T]>,
    own: T,
    #[comptime] base: usize,
    #[comptime] units: usize,
    #[comptime] rule: u32,
) -> Scanned<T> {
    let unit = UNIT_POS as usize;
    let mut sum = own;
    // Steps alternate between two halves, so that each needs one barrier.
    let mut from = comptime!(base).runtime();
    shared[from + unit] = sum;
    sync_cube();
    let mut step = 1;
    while step < units {
        if unit >= step {
            sum = fold::<T>(shared[from + unit - step], sum, rule);
        }
        from = comptime!(2 * base + units) - from;
        shared[from + unit] = sum;
        sync_cube();
        step *= 2;
    }
    let mut before = T::from_int(0);
    if unit > 0 {
        before = shared[from + unit - 1];
    }
    Scanned::<T> { before, total: shared[from + units - 1] }
}

/// Scans a tile in place, whose elements were just written to `shared`. All start from `before`. With `inclusive` an
/// element counts for itself. Returns the sum of the tile.
#[cube]
pub fn scan_tile<T: Int>(
    shared: &mut Shared<[T]>,
    before: T,
    #[comptime] tile: Tile,
    #[comptime] rule: u32,
    #[comptime] inclusive: bool,
) -> T {
    sync_cube();
    let first = UNIT_POS as usize * comptime!(tile.items);
    let mut own = T::from_int(0);
    for j in 0..comptime!(tile.items) {
        own = fold::<T>(own, shared[pad(first + j)], rule);
    }
    let scanned = scan_units::<T>(shared, own, comptime!(tile.padded()), comptime!(tile.units), rule);
    let mut sum = fold::<T>(before, scanned.before, rule);
    for j in 0..comptime!(tile.items) {
        let at = pad(first + j);
        let next = fold::<T>(sum, shared[at], rule);
        shared[at] = if inclusive { next } else { sum };
        sum = next;
    }
    sync_cube();
    scanned.total
}

#[cfg(test)]
mod tests {
    use super::super::super::hardware::tests::SMALL;
    use super::*;

    #[test]
    fn a_tile_fits_the_shared_memory() {
        let items = |hardware: &Hardware, each: usize| Tile::of(hardware, |tile| each * tile.scanned());
        assert_eq!(items(&SMALL, 4), Tile { units: 256, items: 12 });
        assert_eq!(items(&Hardware { shared: 49_152, ..SMALL }, 8), Tile { units: 256, items: 16 });
        assert_eq!(items(&Hardware { shared: 1, ..SMALL }, 4), Tile { units: 256, items: 1 });
        assert_eq!(items(&Hardware { units: 200, ..SMALL }, 4), Tile { units: 128, items: 16 });
        assert_eq!(items(&Hardware { units: 1024, ..SMALL }, 4).units, 256);
    }

    /// The banks of a read by 32 adjacent units.
    fn banks(read: impl Fn(usize) -> usize) -> usize {
        let mut hits = [0; 32];
        (0..32).for_each(|unit| hits[(read(unit) + read(unit) / 32) % 32] += 1);
        hits.into_iter().max().expect("32 banks")
    }

    #[test]
    fn units_meet_in_few_banks() {
        assert_eq!(banks(|unit| 16 * unit + 3), 1);
        assert_eq!(banks(|unit| 8 * unit + 7), 1);
        assert!(banks(|unit| 12 * unit + 5) <= 2);
        assert!(banks(|unit| 256 + unit) <= 2);
    }
}
