//! Sums of the few cells that get far more values than others.
//!
//! `put` adds values in blocks of steps that grow with the number of cells ([`block`]). A cell that gets most of a long
//! block would be a sum of as many values in order. A sample of the index finds such cells, and their values are added
//! again, in blocks of their own. Without such cells this costs the sample. A plan changes nothing, nor do threads.

use super::step::block;
use super::target::Target;
use crate::sums::{BLOCK, Cascade, minus_zero, parts};
use crate::{Element, par};

/// Of so many values of a block about one is in the sample.
const SAMPLE: usize = 32;

/// A cell that gets so many values of a block, by the sample, is a hub.
const MANY: usize = 1 << 13;

/// Values that one thread adds: a power of two of blocks.
const PIECE: usize = 1 << 14;

/// The hubs of a target: rows of cells, with what they held before.
pub(super) struct Hubs<T> {
    /// Ascending: positions along the axis, or cells of the whole array if there is an index for each value.
    keys: Vec<usize>,
    /// Where each row starts in the array, and the slab of its values.
    rows: Vec<(usize, usize)>,
    width: usize,
    held: Vec<T>,
}

impl<T: Element> Hubs<T> {
    /// `array` is what the cells hold.
    pub(super) fn of(target: &Target<'_>, array: &[T]) -> Self {
        let &Target { outer, len, inner, count, index } = target;
        let keys = if T::IS_FLOAT { keys(target) } else { Vec::new() };
        let full = index.ids().1;
        let slabs = if full { 0..1 } else { 0..outer };
        let width = if full { 1 } else { inner };
        let row = |slab: usize| keys.iter().map(move |key| (slab * len * inner + key * width, slab * count));
        let rows: Vec<_> = slabs.flat_map(row).collect();
        let held = rows.iter().flat_map(|&(at, _)| &array[at..at + width]).copied().collect();
        Self { keys, rows, width, held }
    }

    /// Writes the sums of the hubs, or their means.
    pub(super) fn write(&self, target: &Target<'_>, values: &[T], include_self: bool, mean: bool, out: &mut [T]) {
        let Self { keys, rows, width, held } = self;
        if rows.is_empty() {
            return;
        }
        let members = members(target, keys);
        for (row, (&(at, first), held)) in rows.iter().zip(held.chunks_exact(*width)).enumerate() {
            let members = &members[row % keys.len()];
            let own: Vec<T::Acc> = held.iter().map(|x| if include_self { x.widen() } else { T::ACC_ZERO }).collect();
            let sums = sum_rows(values, *width, &|k| (first + members[k]) * width, members.len(), &own);
            let count = T::from_count(members.len() + usize::from(include_self));
            for (out, sum) in out[at..].iter_mut().zip(sums) {
                *out = T::narrow(if mean { T::div(sum, count) } else { sum });
            }
        }
    }
}

/// The key of value `v` of the index, and where its slab of keys starts.
fn key(target: &Target<'_>, v: usize) -> usize {
    let (ids, full) = target.index.ids();
    if full {
        return target.position(v);
    }
    let j = ids.get(v);
    (if j < 0 { j.wrapping_add(target.len as i64) } else { j }) as usize
}

/// The keys of the hubs.
fn keys(target: &Target<'_>) -> Vec<usize> {
    let &Target { outer, len, inner, count, index } = target;
    let (full, steps, mut hubs) = (index.ids().1, block(target).min(count), Vec::new());
    if steps <= MANY {
        return hubs;
    }
    let (slabs, width) = if full { (outer, inner) } else { (1, 1) };
    let mut counts = vec![0u32; len * width];
    for slab in 0..slabs {
        for start in (0..count).step_by(steps) {
            counts.fill(0);
            let end = (slab * count + count.min(start + steps)) * width;
            for some in ((slab * count + start) * width..end).step_by(SAMPLE) {
                // At random, as an index may have a period.
                let v = some + ((some as u32).wrapping_mul(0x9E37_79B9) >> 27) as usize % SAMPLE;
                let key = if v < end { key(target, v) } else { break };
                if let Some(count) = counts.get_mut(key.wrapping_sub(slab * len * width)) {
                    *count += 1;
                    if *count as usize == MANY / SAMPLE {
                        hubs.push(key);
                    }
                }
            }
        }
    }
    hubs.sort_unstable();
    hubs.dedup();
    hubs
}

/// The values of each hub: those along the axis, or of the whole index.
fn members(target: &Target<'_>, keys: &[usize]) -> Vec<Vec<usize>> {
    let last = keys[keys.len() - 1];
    let mut slots = vec![u32::MAX; last + 1];
    keys.iter().enumerate().for_each(|(slot, &key)| slots[key] = slot as u32);
    let mut members = vec![Vec::new(); keys.len()];
    for v in 0..target.index.ids().0.len() {
        let slot = slots.get(key(target, v)).map_or(u32::MAX, |slot| *slot);
        if let Some(members) = members.get_mut(slot as usize) {
            members.push(v);
        }
    }
    members
}

/// `own` and the rows of values that start at `start(k)`, added in blocks.
fn sum_rows<T: Element>(
    values: &[T],
    width: usize,
    start: &(dyn Fn(usize) -> usize + Sync),
    count: usize,
    own: &[T::Acc],
) -> Vec<T::Acc> {
    let pieces: Vec<_> = parts(count, PIECE).collect();
    let sums = par::map(pieces.len(), &|piece| {
        let mut sums = Cascade::new();
        let mut sum = vec![T::ACC_ZERO; width];
        for (number, block) in parts(pieces[piece].len(), BLOCK).enumerate() {
            if piece + number == 0 {
                sum.copy_from_slice(own);
            } else {
                sum.fill(minus_zero::<T>());
            }
            for k in block {
                let row = &values[start(pieces[piece].start + k)..][..width];
                sum.iter_mut().zip(row).for_each(|(sum, x)| *sum = T::add(*sum, x.widen()));
            }
            sums.push(number, &sum, T::add);
        }
        sums.finish(&mut sum, T::add);
        sum
    });
    let mut all = Cascade::new();
    sums.iter().enumerate().for_each(|(piece, sum)| all.push(piece, sum, T::add));
    let mut sum = own.to_vec();
    all.finish(&mut sum, T::add);
    sum
}
