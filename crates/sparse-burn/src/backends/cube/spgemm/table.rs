//! What the units of a cube do together in shared memory: a hash table of column numbers, and a sort.
//!
//! The order in which units insert keys decides in which slots they lie, and nothing else. So results do not depend on
//! it: a set of keys is sorted before it is used, and a sum has its own order, whatever its slot.

use super::bins::Bin;
use burn_cubecl::cubecl;
use cubecl::prelude::*;

/// No key. Keys are less.
pub const EMPTY: u32 = u32::MAX;

/// The first slot to look at: the high bits of a product (Knuth, "The art of computer programming" 3, 6.4).
#[cube]
fn home(key: u32, #[comptime] bin: Bin) -> u32 {
    (key * 2_654_435_761u32) >> comptime!(32 - bin.slots().ilog2())
}

/// Empties the table of a row. Of its `bin.units` units this is number `own`; the slots start at `base`.
#[cube]
pub fn clear(table: &Shared<[Atomic<u32>]>, base: u32, own: u32, #[comptime] bin: Bin) {
    let slots = comptime!(bin.slots() as u32);
    let mut slot = own;
    while slot < slots {
        table[(base + slot) as usize].store(EMPTY);
        slot += comptime!(bin.units as u32);
    }
}

/// Inserts an entry, unless it is there. Its slot is near the one of `key`. At most half of the slots may be taken.
#[cube]
pub fn insert(table: &Shared<[Atomic<u32>]>, base: u32, key: u32, entry: u32, #[comptime] bin: Bin) {
    let slots = comptime!(bin.slots() as u32);
    let mut slot = home(key, bin);
    // Invalid patterns may have more entries, or keys that mean an empty slot. Even then the search ends.
    let mut turns = comptime!(2 * bin.slots() as u32).runtime();
    while turns > 0 {
        turns -= 1;
        let here = table[(base + slot) as usize].load();
        if here == EMPTY {
            // Another unit may be faster, or the exchange fail for no reason. The next turn sees which.
            table[(base + slot) as usize].compare_exchange_weak(EMPTY, entry);
        } else if here == entry {
            turns = 0u32;
        } else {
            slot = (slot + 1) & (slots - 1);
        }
    }
}

/// Inserts column `at` of the ascending list `idx[start..]`. With `wide`, columns have more than 32 bits, and the entry
/// is the position in the list.
#[cube]
pub fn insert_column<I: Int>(
    table: &Shared<[Atomic<u32>]>,
    base: u32,
    idx: &Tensor<I>,
    start: usize,
    at: u32,
    #[comptime] bin: Bin,
    #[comptime] wide: bool,
) {
    let key = u32::cast_from(idx[start + at as usize]);
    let entry = if wide { at } else { key };
    insert(table, base, key, entry, bin);
}

/// The slot of a column, or [`EMPTY`] if the table does not have it.
#[cube]
pub fn find<I: Int>(
    table: &Shared<[Atomic<u32>]>,
    base: u32,
    column: I,
    idx: &Tensor<I>,
    start: usize,
    #[comptime] bin: Bin,
    #[comptime] wide: bool,
) -> u32 {
    let slots = comptime!(bin.slots() as u32);
    let key = u32::cast_from(column);
    let mut slot = home(key, bin);
    let mut found = comptime!(EMPTY).runtime();
    let mut turns = slots.runtime();
    while turns > 0 {
        turns -= 1;
        let here = table[(base + slot) as usize].load();
        if here == EMPTY {
            turns = 0u32;
        } else {
            let same = if wide { idx[start + here as usize] == column } else { here == key };
            if same {
                found = base + slot;
                turns = 0u32;
            }
        }
        slot = (slot + 1) & (slots - 1);
    }
    found
}

/// The largest of one number of each row of the cube. The same for all units, so barriers may depend on it.
#[cube]
pub fn largest(number: u32, row: u32, own: u32, #[comptime] bin: Bin) -> u32 {
    let mut numbers = Shared::<[u32]>::new_slice(bin.rows);
    if own == 0 {
        numbers[row as usize] = number;
    }
    sync_cube();
    if UNIT_POS == 0 {
        let mut most = numbers[0];
        for other in 1..bin.rows {
            most = max(most, numbers[other]);
        }
        numbers[0] = most;
    }
    sync_cube();
    workgroup_uniform_load(&numbers[0])
}

/// Sorts `size` numbers from `base` on, a power of two, the same for all units (Batcher, "Sorting networks and their
/// applications", 1968).
#[cube]
pub fn sort(list: &mut Shared<[u32]>, base: u32, size: u32, own: u32, #[comptime] bin: Bin) {
    let mut run = 2u32;
    while run <= size {
        let mut gap = run / 2;
        while gap > 0 {
            let mut pair = own;
            while pair < size / 2 {
                let low = 2 * pair - (pair & (gap - 1));
                let (left, right) = ((base + low) as usize, (base + low + gap) as usize);
                let (x, y) = (list[left], list[right]);
                let (least, most) = (min(x, y), max(x, y));
                let ascends = (low & run) == 0;
                list[left] = select(ascends, least, most);
                list[right] = select(ascends, most, least);
                pair += comptime!(bin.units as u32);
            }
            sync_cube();
            gap /= 2;
        }
        run *= 2;
    }
}
