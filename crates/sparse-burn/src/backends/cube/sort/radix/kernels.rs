//! A pass of the sort: counts of digits, and the move.

use super::super::super::parts::SUM;
use super::super::tile::{Tile, pad, padded, scan_units};
use burn_cubecl::cubecl;
use cubecl::prelude::*;

/// Bits sorted in one pass.
pub const BITS: usize = 8;

/// Values of a digit.
pub const DIGITS: usize = 1 << BITS;

/// Compile-time settings of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct How {
    pub tile: Tile,
    /// Whether keys have more than 32 bits, and positions.
    pub wide_keys: bool,
    pub wide_positions: bool,
}

/// What the counts of digits tell: for each digit and tile the number of keys with that digit in the tiles before, and
/// for each digit the number of keys.
#[derive(CubeType, CubeLaunch)]
pub struct Offsets<I: Int> {
    before: OwnedTensor<I>,
    totals: OwnedTensor<I>,
}

/// Rows of counters while items are ranked by four bits. A row counts two values, in the halves of a word.
const ROWS: usize = 8;

impl Tile {
    /// Words of shared memory that a move needs: for counters and their scan, or for the items.
    pub fn words(self) -> usize {
        (padded(ROWS * self.units) + 2 * self.units).max(self.padded())
    }
}

#[cube]
fn digit<K: Int>(key: K, shift: u32) -> u32 {
    // The shift is in the type of the keys: positions are narrower than 64-bit keys.
    u32::cast_from((key >> K::cast_from(shift)) & K::from_int(255))
}

/// How often each digit occurs in each tile: `[digit, tile]`.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn count_digits<K: Int, I: Int>(
    keys: &Tensor<K>,
    counts: &mut Tensor<I>,
    length: usize,
    tiles: usize,
    shift: u32,
    #[comptime] tile: Tile,
    #[define(K, I)] _types: [ElemType; 2],
) {
    if CUBE_POS >= tiles {
        terminate!();
    }
    // Counts do not depend on the order of the additions.
    let counters = Shared::<[Atomic<u32>]>::new_slice(DIGITS);
    let unit = UNIT_POS as usize;
    for j in 0..comptime!(DIGITS / tile.units) {
        counters[j * comptime!(tile.units) + unit].store(0u32);
    }
    sync_cube();
    let first = CUBE_POS * comptime!(tile.len());
    for j in 0..comptime!(tile.items) {
        let k = first + j * comptime!(tile.units) + unit;
        if k < length {
            counters[digit::<K>(keys[k], shift) as usize].fetch_add(1u32);
        }
    }
    sync_cube();
    for j in 0..comptime!(DIGITS / tile.units) {
        let digit = j * comptime!(tile.units) + unit;
        counts[digit * tiles + CUBE_POS] = I::cast_from(counters[digit].load());
    }
}

/// For each digit, the place of the first key of this tile with that digit, less the number of keys of the tile with
/// lower digits. So a key goes to that place plus its rank in the tile.
#[cube]
fn places<I: Int>(offsets: &Offsets<I>, firsts: &mut Shared<[I]>, tiles: usize, #[comptime] tile: Tile) {
    let mut sums = Shared::<[I]>::new_slice(comptime!(2 * tile.units));
    let first = UNIT_POS as usize * comptime!(DIGITS / tile.units);
    // Keys of other tiles with lower digits.
    let mut lower = I::from_int(0);
    for j in 0..comptime!(DIGITS / tile.units) {
        let digit = first + j;
        let at = digit * tiles + CUBE_POS;
        let before = offsets.before[at];
        let total = offsets.totals[digit];
        let mut end = total;
        if CUBE_POS + 1 < tiles {
            end = offsets.before[at + 1];
        }
        firsts[digit] = before + lower;
        lower += total - (end - before);
    }
    let scanned = scan_units::<I>(&mut sums, lower, 0usize, comptime!(tile.units), SUM);
    for j in 0..comptime!(DIGITS / tile.units) {
        firsts[first + j] += scanned.before;
    }
    sync_cube();
}

/// Stable ranks of the items of a tile, of which each unit has adjacent ones, by the four bits at `shift`.
///
/// Each unit counts its own items. The counters, ordered by value and then by unit, are scanned. Two values share a
/// word, so that half as many words are scanned: a tile has fewer than 2^16 items.
#[cube]
fn rank(
    words: &mut Shared<[u32]>,
    items: &Array<u32>,
    ranks: &mut Array<u32>,
    #[comptime] shift: u32,
    #[comptime] tile: Tile,
) {
    let unit = UNIT_POS as usize;
    for row in 0..ROWS {
        words[pad(row * comptime!(tile.units) + unit)] = 0u32;
    }
    #[unroll]
    for j in 0..comptime!(tile.items) {
        let value = (items[j] >> shift) & 15u32;
        let at = pad((value & 7u32) as usize * comptime!(tile.units) + unit);
        let half = (value >> 3u32) * 16u32;
        let count = words[at];
        ranks[j] = (count >> half) & 0xffffu32;
        words[at] = count + (1u32 << half);
    }
    sync_cube();
    let mut own = 0u32;
    for row in 0..ROWS {
        own += words[pad(unit * ROWS + row)];
    }
    let base = comptime!(padded(ROWS * tile.units));
    let scanned = scan_units::<u32>(words, own, base, comptime!(tile.units), SUM);
    // The values in the upper halves come after all in the lower ones.
    let mut sum = scanned.before + (scanned.total << 16u32);
    for row in 0..ROWS {
        let at = pad(unit * ROWS + row);
        let count = words[at];
        words[at] = sum;
        sum += count;
    }
    sync_cube();
    #[unroll]
    for j in 0..comptime!(tile.items) {
        let value = (items[j] >> shift) & 15u32;
        let at = pad((value & 7u32) as usize * comptime!(tile.units) + unit);
        ranks[j] += (words[at] >> ((value >> 3u32) * 16u32)) & 0xffffu32;
    }
    sync_cube();
}

/// Moves item `j` of each unit to slot `ranks[j]` of the tile. Then item `j` of a unit is that of slot
/// `j * units + unit`.
#[cube]
fn exchange<T: Int>(
    words: &mut Shared<[u32]>,
    items: &mut Array<T>,
    ranks: &Array<u32>,
    #[comptime] wide: bool,
    #[comptime] tile: Tile,
) {
    let unit = UNIT_POS as usize;
    sync_cube();
    #[unroll]
    for j in 0..comptime!(tile.items) {
        words[pad(ranks[j] as usize)] = u32::cast_from(items[j]);
    }
    sync_cube();
    if comptime!(wide) {
        let mut low = Array::<u32>::new(tile.items);
        #[unroll]
        for j in 0..comptime!(tile.items) {
            low[j] = words[pad(j * comptime!(tile.units) + unit)];
        }
        sync_cube();
        #[unroll]
        for j in 0..comptime!(tile.items) {
            words[pad(ranks[j] as usize)] = u32::cast_from(items[j] >> T::cast_from(32u32));
        }
        sync_cube();
        #[unroll]
        for j in 0..comptime!(tile.items) {
            let high = T::cast_from(words[pad(j * comptime!(tile.units) + unit)]);
            items[j] = (high << T::cast_from(32u32)) | T::cast_from(low[j]);
        }
    } else {
        #[unroll]
        for j in 0..comptime!(tile.items) {
            items[j] = T::cast_from(words[pad(j * comptime!(tile.units) + unit)]);
        }
    }
}

/// Entry `k` of a list of positions, or `k` if there is none.
#[cube]
fn position<I: Int>(positions: &ComptimeOption<OwnedTensor<I>>, k: usize) -> I {
    #[comptime]
    match positions {
        ComptimeOption::Some(positions) => positions[k],
        ComptimeOption::None => I::cast_from(k),
    }
}

/// Moves keys and positions to their places. They are sorted inside the tile first, so that keys with one digit are
/// written side by side. Without `positions` those of the keys are written. A tile that has all keys needs no
/// `offsets`.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn move_digits<K: Int, L: Int, I: Int>(
    keys: &Tensor<K>,
    positions: &ComptimeOption<OwnedTensor<I>>,
    offsets: &ComptimeOption<Offsets<I>>,
    keys_out: &mut Tensor<L>,
    positions_out: &mut Tensor<I>,
    length: usize,
    tiles: usize,
    shift: u32,
    #[comptime] how: How,
    #[define(K, L, I)] _types: [ElemType; 3],
) {
    if CUBE_POS >= tiles {
        terminate!();
    }
    let tile = comptime!(how.tile);
    let mut words = Shared::<[u32]>::new_slice(comptime!(tile.words()));
    let mut firsts = Shared::<[I]>::new_slice(DIGITS);
    let unit = UNIT_POS as usize;
    let first = CUBE_POS * comptime!(tile.len());
    let size = min(comptime!(tile.len()).runtime(), length - first);
    #[comptime]
    if let ComptimeOption::Some(offsets) = offsets {
        places::<I>(offsets, &mut firsts, tiles, tile);
    }

    // The units read side by side, and rank adjacent items each. An item is its digit and its slot.
    let mut own = Array::<L>::new(tile.items);
    #[unroll]
    for j in 0..comptime!(tile.items) {
        let slot = j * comptime!(tile.units) + unit;
        // Slots behind the last key stay behind it.
        let mut item = 255u32;
        if slot < size {
            let key = keys[first + slot];
            own[j] = L::cast_from(key);
            item = digit::<K>(key, shift);
        }
        words[pad(slot)] = item;
    }
    sync_cube();
    let mut items = Array::<u32>::new(tile.items);
    let mut ranks = Array::<u32>::new(tile.items);
    #[unroll]
    for j in 0..comptime!(tile.items) {
        let slot = unit * comptime!(tile.items) + j;
        items[j] = words[pad(slot)] | ((slot as u32) << 8u32);
    }
    sync_cube();
    rank(&mut words, &items, &mut ranks, 0u32, tile);
    #[unroll]
    for j in 0..comptime!(tile.items) {
        words[pad(ranks[j] as usize)] = items[j];
    }
    sync_cube();
    #[unroll]
    for j in 0..comptime!(tile.items) {
        items[j] = words[pad(unit * comptime!(tile.items) + j)];
    }
    sync_cube();
    rank(&mut words, &items, &mut ranks, 4u32, tile);

    // The rank of each item returns to the unit that read it.
    #[unroll]
    for j in 0..comptime!(tile.items) {
        words[pad((items[j] >> 8u32) as usize)] = ranks[j];
    }
    sync_cube();
    #[unroll]
    for j in 0..comptime!(tile.items) {
        ranks[j] = words[pad(j * comptime!(tile.units) + unit)];
    }

    exchange::<L>(&mut words, &mut own, &ranks, how.wide_keys, tile);
    let mut moved = Array::<I>::new(tile.items);
    #[unroll]
    for j in 0..comptime!(tile.items) {
        let slot = j * comptime!(tile.units) + unit;
        moved[j] = I::cast_from(slot);
        #[comptime]
        if let ComptimeOption::Some(_) = offsets {
            moved[j] += firsts[digit::<L>(own[j], shift) as usize];
        }
        if slot < size {
            keys_out[usize::cast_from(moved[j])] = own[j];
        }
    }
    let mut carried = Array::<I>::new(tile.items);
    #[unroll]
    for j in 0..comptime!(tile.items) {
        let slot = j * comptime!(tile.units) + unit;
        if slot < size {
            carried[j] = position::<I>(positions, first + slot);
        }
    }
    exchange::<I>(&mut words, &mut carried, &ranks, how.wide_positions, tile);
    #[unroll]
    for j in 0..comptime!(tile.items) {
        if j * comptime!(tile.units) + unit < size {
            positions_out[usize::cast_from(moved[j])] = carried[j];
        }
    }
}
