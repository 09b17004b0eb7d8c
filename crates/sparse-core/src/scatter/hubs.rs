//! Sums of the few cells that get far more values than others.
//!
//! `put` adds values in blocks of steps that grow with the number of cells ([`block`]). A cell that gets many values of
//! a long block would be a sum of as many in order. A sample of the steps finds the cells that get more than about
//! [`MANY`] of a block, and their values are added again, in blocks of their own. Without such cells this costs the
//! sample. The steps of the sample depend on nothing but their numbers, so the bits depend neither on threads nor on a
//! plan, and equal slabs and columns stay equal.

use super::step::block;
use super::target::Target;
use crate::element::Ids;
use crate::reduce::accumulate_rows;
use crate::source::Source;
use crate::sums::{add_pairs, parts};
use crate::{Element, par};

/// One of so many steps is in the sample: a power of two.
const SAMPLE: usize = 64;

/// Steps of the sample that lie together: others would each cost a read of memory.
const RUN: usize = 32;

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
        let &Target { outer, len, inner, index, .. } = target;
        let keys = if T::IS_FLOAT && target.values_len() > 0 { keys(target) } else { Vec::new() };
        let full = index.ids().1;
        let slabs = if full { 0..1 } else { 0..outer };
        let width = if full { 1 } else { inner };
        let row = |slab: usize| keys.iter().map(move |key| (slab * len * inner + key * width, slab));
        let rows: Vec<_> = slabs.flat_map(row).collect();
        let held = rows.iter().flat_map(|&(at, _)| &array[at..at + width]).copied().collect();
        Self { keys, rows, width, held }
    }

    /// Writes the sums of the hubs, or their means.
    pub(super) fn write(&self, target: &Target<'_>, values: &[T], include_self: bool, mean: bool, out: &mut [T]) {
        let Self { keys, rows, width, held } = self;
        let &Target { inner, count, index, .. } = target;
        if rows.is_empty() {
            return;
        }
        let members = members(target, keys);
        for (row, (&(at, slab), held)) in rows.iter().zip(held.chunks_exact(*width)).enumerate() {
            let members = &members[row % keys.len()];
            let slab = if index.ids().1 { values } else { &values[slab * count * inner..][..count * inner] };
            let sums = sum_rows(Source::new(slab, *width, "scatter: values"), members);
            let terms = T::from_count(members.len() + usize::from(include_self));
            for ((out, held), sum) in out[at..].iter_mut().zip(held).zip(sums) {
                let sum = T::add(if include_self { held.widen() } else { T::ACC_ZERO }, sum);
                *out = T::narrow(if mean { T::div(sum, terms) } else { sum });
            }
        }
    }
}

/// Calls `f` with each entry of the index for a step of a slab, and with its key.
#[inline(always)]
fn at_step(target: &Target<'_>, slab: usize, k: usize, mut f: impl FnMut(usize, usize)) {
    let &Target { len, inner, count, index, .. } = target;
    let (ids, full) = index.ids();
    let width = if full { inner } else { 1 };
    let first = (slab * count + k) * width;
    for v in first..first + width {
        let j = ids.get(v);
        let j = (if j < 0 { j.wrapping_add(len as i64) } else { j }) as usize;
        // An index that is out of range has no cell.
        if j < len {
            f(v, (slab * len + j) * width + v - first);
        }
    }
}

/// The slabs of the index.
fn slabs(target: &Target<'_>) -> usize {
    if target.index.ids().1 { target.outer } else { 1 }
}

/// The keys of the hubs.
fn keys(target: &Target<'_>) -> Vec<usize> {
    let &Target { len, inner, count, index, .. } = target;
    let (steps, mut hubs) = (block(target).min(count), Vec::new());
    if steps <= MANY {
        return hubs;
    }
    let cells = len * if index.ids().1 { inner } else { 1 };
    // Only what is read costs memory. A count starts again from 0 when it is full, so a key may be found twice.
    let mut counts = vec![0u8; cells];
    for slab in 0..slabs(target) {
        for start in (0..count).step_by(steps) {
            if slab + start > 0 {
                counts.fill(0);
            }
            for some in (start..count.min(start + steps)).step_by(SAMPLE * RUN) {
                // At random, as an index may have a period.
                let first = some + ((some as u32).wrapping_mul(0x9E37_79B9) >> 16) as usize % SAMPLE * RUN;
                for k in first..count.min(first + RUN) {
                    at_step(target, slab, k, |_, key| {
                        let count = &mut counts[key - slab * cells];
                        *count = count.wrapping_add(1);
                        if *count as usize == MANY / SAMPLE {
                            hubs.push(key);
                        }
                    });
                }
            }
        }
    }
    hubs.sort_unstable();
    hubs.dedup();
    hubs
}

/// The entries of the index of each hub, ascending. Only where there are hubs: a pass over the index on one thread, and
/// memory for a number of each cell and of each such entry.
fn members(target: &Target<'_>, keys: &[usize]) -> Vec<Vec<i64>> {
    let mut slots = vec![u32::MAX; keys[keys.len() - 1] + 1];
    keys.iter().enumerate().for_each(|(slot, &key)| slots[key] = slot as u32);
    let mut members = vec![Vec::new(); keys.len()];
    for slab in 0..slabs(target) {
        for k in 0..target.count {
            at_step(target, slab, k, |v, key| {
                let slot = slots.get(key).map_or(usize::MAX, |&slot| slot as usize);
                if let Some(members) = members.get_mut(slot) {
                    members.push(v as i64);
                }
            });
        }
    }
    members
}

/// The sum of some rows, before it is rounded.
fn sum_rows<T: Element>(rows: Source<'_, T>, members: &[i64]) -> Vec<T::Acc> {
    let (pieces, width): (Vec<_>, _) = (parts(members.len(), PIECE).collect(), rows.width());
    let sums = par::map(pieces.len(), &|piece| {
        let mut sum = vec![T::ACC_ZERO; width];
        accumulate_rows(Ids::I64(&members[pieces[piece].clone()]), rows, &mut sum);
        sum
    });
    let mut sums = sums.concat();
    add_pairs(&mut sums, width, T::add);
    sums.truncate(width);
    sums
}
