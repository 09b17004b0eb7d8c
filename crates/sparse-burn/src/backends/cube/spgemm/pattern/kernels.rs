//! Kernels of the symbolic phase.

use super::super::super::parts::{One, SUM, bound, tree};
use super::super::super::sort::scan_units;
use super::super::bins::{BINS, Bin};
use super::super::table::{EMPTY, clear, insert, largest, sort};
use super::{CUBE, LANES};
use burn_cubecl::cubecl;
use cubecl::prelude::*;

/// The bin of each row: 0 without elements, else one more than the number of `caps` that its work exceeds. The work is
/// the number of products, and 1 for an element without any. So nothing that a row needs is more than its work. It is
/// counted until it exceeds the last cap, so no sum overflows.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn classes<I: Int>(
    a_ptr: &Tensor<I>,
    spans: &Tensor<I>,
    out: &mut Tensor<I>,
    rows: usize,
    #[comptime] caps: [usize; BINS],
    #[define(I)] _type: ElemType,
) {
    let mut shared = Shared::<[Vector<u32, One>]>::new_slice(CUBE);
    let lane = UNIT_POS as usize % LANES;
    let row = CUBE_POS * (CUBE / LANES) + UNIT_POS as usize / LANES;
    let limit = comptime!(caps[BINS - 1] as u32 + 1);
    let mut work = 0u32;
    if row < rows {
        let mut q = usize::cast_from(a_ptr[row]) + lane;
        let end = usize::cast_from(a_ptr[row + 1]);
        while q < end {
            let length = spans[2 * q + 1] - spans[2 * q];
            work += u32::cast_from(max(I::from_int(1), min(length, I::cast_from(limit))));
            q = select(work < limit, q + LANES, end);
        }
    }
    tree::<u32, One>(&mut shared, Vector::<u32, One>::new(work), lane, LANES, 1usize, SUM, false);
    if row < rows && lane == 0 {
        let work = shared[UNIT_POS as usize].extract(0usize);
        let mut class = select(work > 0, 1u32, 0u32);
        class += select(work > comptime!(caps[0] as u32), 1u32, 0u32);
        class += select(work > comptime!(caps[1] as u32), 1u32, 0u32);
        class += select(work > comptime!(caps[2] as u32), 1u32, 0u32);
        class += select(work > comptime!(caps[3] as u32), 1u32, 0u32);
        out[row] = I::cast_from(class);
    }
}

/// The distinct columns of rows `list[first..first + rows]`: how many each has, or with `writes` the columns
/// themselves, ascending, from `c_ptr` of the row on.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn distinct<I: Int>(
    list: &Tensor<I>,
    a_ptr: &Tensor<I>,
    spans: &Tensor<I>,
    b_idx: &Tensor<I>,
    c_ptr: &Tensor<I>,
    out: &mut Tensor<I>,
    first: usize,
    rows: usize,
    #[comptime] bin: Bin,
    #[comptime] writes: bool,
    #[define(I)] _type: ElemType,
) {
    let table = Shared::<[Atomic<u32>]>::new_slice(comptime!(bin.rows * bin.slots()));
    let fills = Shared::<[Atomic<u32>]>::new_slice(bin.rows);
    let units = comptime!(bin.units as u32);
    let lanes = comptime!(bin.lanes as u32);
    let member = UNIT_POS / units;
    let own = UNIT_POS % units;
    let base = member * comptime!(bin.slots() as u32);
    let k = CUBE_POS * bin.rows + member as usize;
    let mine = k < rows;
    let row = usize::cast_from(list[first + min(k, rows - 1)]);
    clear(&table, base, own, bin);
    if own == 0 {
        fills[member as usize].store(0u32);
    }
    sync_cube();
    if mine {
        let lane = (own % lanes) as usize;
        let mut q = usize::cast_from(a_ptr[row]) + (own / lanes) as usize;
        let end = usize::cast_from(a_ptr[row + 1]);
        while q < end {
            let mut e = usize::cast_from(spans[2 * q]) + lane;
            let stop = usize::cast_from(spans[2 * q + 1]);
            while e < stop {
                let key = u32::cast_from(b_idx[e]);
                insert(&table, base, key, key, bin);
                e += bin.lanes;
            }
            q += comptime!(bin.groups());
        }
    }
    sync_cube();
    // A unit has every `units`-th slot. Where it writes their keys depends on the other units; the sort then decides.
    let mut own_keys = 0u32;
    for slot in 0..comptime!(bin.slots().div_ceil(bin.units) as u32) {
        let at = slot * units + own;
        if at < comptime!(bin.slots() as u32) && table[(base + at) as usize].load() != EMPTY {
            own_keys += 1;
        }
    }
    let mut place = fills[member as usize].fetch_add(own_keys);
    if comptime!(writes) {
        let mut keys = Shared::<[u32]>::new_slice(comptime!(bin.rows * bin.cap));
        let room = member * comptime!(bin.cap as u32);
        for slot in 0..comptime!(bin.slots().div_ceil(bin.units) as u32) {
            let at = slot * units + own;
            if at < comptime!(bin.slots() as u32) {
                let key = table[(base + at) as usize].load();
                if key != EMPTY && place < comptime!(bin.cap as u32) {
                    keys[(room + place) as usize] = key;
                    place += 1;
                }
            }
        }
        sync_cube();
        let count = min(fills[member as usize].load(), comptime!(bin.cap as u32));
        let most = largest(count, member, own, bin);
        let mut size = 1u32;
        while size < most {
            size *= 2;
        }
        let mut k = count + own;
        while k < size {
            keys[(room + k) as usize] = EMPTY;
            k += units;
        }
        sync_cube();
        sort(&mut keys, room, size, own, bin);
        if mine {
            let start = usize::cast_from(c_ptr[row]);
            let mut k = own;
            while k < count {
                out[start + k as usize] = I::cast_from(keys[(room + k) as usize]);
                k += units;
            }
        }
    } else {
        sync_cube();
        if mine && own == 0 {
            out[row] = I::cast_from(fills[member as usize].load());
        }
    }
}

/// The distinct columns of rows that no table holds, a cube for each range of `32 * words` columns: how many there are,
/// `[rows, tiles]`, or with `writes` the columns themselves, ascending, from `starts` on.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn mark<I: Int>(
    list: &Tensor<I>,
    a_ptr: &Tensor<I>,
    spans: &Tensor<I>,
    b_idx: &Tensor<I>,
    starts: &Tensor<I>,
    out: &mut Tensor<I>,
    first: usize,
    rows: usize,
    tiles: usize,
    #[comptime] words: usize,
    #[comptime] bin: Bin,
    #[comptime] writes: bool,
    #[define(I)] _type: ElemType,
) {
    let bits = Shared::<[Atomic<u32>]>::new_slice(words);
    let mut sums = Shared::<[u32]>::new_slice(comptime!(2 * bin.units));
    let unit = UNIT_POS as usize;
    let mine = CUBE_POS < rows * tiles;
    let row = usize::cast_from(list[first + min(CUBE_POS / tiles, rows - 1)]);
    let low = I::cast_from(CUBE_POS % tiles * comptime!(32 * words));
    let mut word = unit;
    while word < words {
        bits[word].store(0u32);
        word += bin.units;
    }
    sync_cube();
    if mine {
        let lane = unit % bin.lanes;
        let mut q = usize::cast_from(a_ptr[row]) + unit / bin.lanes;
        let end = usize::cast_from(a_ptr[row + 1]);
        while q < end {
            let start = usize::cast_from(spans[2 * q]);
            let mut stop = usize::cast_from(spans[2 * q + 1]);
            let mut e = start;
            if tiles > 1 {
                e = bound::<I>(low, b_idx, start, stop, false);
            }
            e += lane;
            while e < stop {
                let place = usize::cast_from(b_idx[e] - low);
                if place < comptime!(32 * words) {
                    let bit = 1u32 << (place % 32) as u32;
                    bits[place / 32].fetch_or(bit);
                } else {
                    // The columns after this one are in later tiles.
                    stop = e;
                }
                e += bin.lanes;
            }
            q += comptime!(bin.groups());
        }
    }
    sync_cube();
    // A unit has adjacent words. The columns before its own are those of the units before it.
    let each = comptime!(words.div_ceil(bin.units));
    let mut own = 0u32;
    for k in 0..each {
        let word = unit * each + k;
        if word < words {
            own += bits[word].load().count_ones();
        }
    }
    let counted = scan_units::<u32>(&mut sums, own, 0usize, bin.units, SUM);
    if mine {
        if comptime!(writes) {
            let mut at = usize::cast_from(starts[CUBE_POS]) + counted.before as usize;
            for k in 0..each {
                let word = unit * each + k;
                if word < words {
                    let mut left = bits[word].load();
                    while left != 0 {
                        out[at] = low + I::cast_from(32 * word) + I::cast_from(left.trailing_zeros());
                        left = left & (left - 1);
                        at += 1;
                    }
                }
            }
        } else if unit == bin.units - 1 {
            out[CUBE_POS] = I::cast_from(counted.total);
        }
    }
}

/// The tiles of each long row, from their counts. Writes the counts of the rows; or with `starts` in place of the
/// counts of the tiles where each starts, from `rows` (pointers then) on.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn place<I: Int>(
    list: &Tensor<I>,
    tiles: &mut Tensor<I>,
    rows: &mut Tensor<I>,
    first: usize,
    each: usize,
    units: usize,
    #[comptime] starts: bool,
    #[define(I)] _type: ElemType,
) {
    if ABSOLUTE_POS >= units {
        terminate!();
    }
    let row = usize::cast_from(list[first + ABSOLUTE_POS]);
    let mut sum = I::from_int(0);
    if comptime!(starts) {
        sum = rows[row];
    }
    for k in 0..each {
        let at = ABSOLUTE_POS * each + k;
        let own = tiles[at];
        if comptime!(starts) {
            tiles[at] = sum;
        }
        sum += own;
    }
    if comptime!(!starts) {
        rows[row] = sum;
    }
}

/// Sums of every `units`-th count, each at most `limit`. So no sum overflows, and the order does not matter.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn limited_sums<I: Int>(
    counts: &Tensor<I>,
    out: &mut Tensor<I>,
    limit: InputScalar,
    length: usize,
    units: usize,
    #[define(I)] _type: ElemType,
) {
    if ABSOLUTE_POS >= units {
        terminate!();
    }
    let limit = limit.get::<I>();
    let mut sum = I::from_int(0);
    let mut k = ABSOLUTE_POS;
    while k < length {
        sum += min(counts[k], limit - sum);
        k += units;
    }
    out[ABSOLUTE_POS] = sum;
}
