//! Reductions that record what their gradient needs.
//!
//! Assign, amax and amin choose one value of a group, and record which one. The gradient then goes to the recorded
//! positions, without reading the index or the values again. The exception is groups with ties: for these the record
//! holds the steps where a tie was seen.
//!
//! A mean records the size of each group, for which the gradient would walk over the index once more.

use super::backward::mean_backward;
use super::cells::scatter_rows;
use super::layout::Layout;
use super::put::put_counted;
use super::step::Step;
use super::target::{Reduce, Target, TargetIndex};
use super::ties::same;
use crate::memory::unwritten;
use crate::narrow_limit;
use crate::{Element, par};
use bytemuck::cast_slice;
use core::hint::select_unpredictable;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// The array's own value was chosen, or no value arrived.
const OWN: i32 = -1;
/// The array's own value was chosen, and others are equal to it.
const OWN_TIED: i32 = i32::MIN;

/// What [`put_recorded`] did at each position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// For each element of the array, the step `k` along the axis of the value that was chosen. -1 means the array's
    /// own value. Smaller numbers mean a tie: `-2 - k` if step `k` is the first of the equal values, `i32::MIN` if the
    /// array's own value is. For a mean, the number of values that arrived.
    pub winners: Vec<i32>,
    /// The steps of values that were equal to the value chosen so far, ascending.
    pub tied: Vec<i32>,
}

/// The data of the forward pass that the gradient reads. `arr`, `values` and `out` may be empty if `tied` is empty.
#[derive(Debug, Clone, Copy)]
pub struct Recorded<'a, T> {
    /// [`Record::winners`].
    pub winners: &'a [i32],
    /// [`Record::tied`].
    pub tied: &'a [i32],
    /// The array before the operation (with `include_self`).
    pub arr: &'a [T],
    /// The values.
    pub values: &'a [T],
    /// The result.
    pub out: &'a [T],
}

/// Whether [`put_recorded`] can tell which value was chosen: assign, amax and amin choose one.
pub const fn records(reduce: Reduce) -> bool {
    matches!(reduce, Reduce::Assign | Reduce::Amax | Reduce::Amin)
}

/// [`put()`](super::put()) with assign, amax or amin that also returns which value was chosen at each position, or with
/// a mean that returns how many values arrived.
///
/// Returns `None` and leaves `out` unchanged if a record is not possible or does not pay: for another reduction, for a
/// mean of integers or of rows (which are counted quickly), if there are so many ties that it is faster to read all
/// values again, or if `i32` cannot count the steps.
///
/// # Panics
/// If a length does not agree with the target.
pub fn put_recorded<T: Element>(
    target: &Target<'_>,
    reduce: Reduce,
    include_self: bool,
    values: &[T],
    out: &mut [T],
) -> Option<Record> {
    let counts = reduce == Reduce::Mean && T::IS_FLOAT && matches!(target.index, TargetIndex::Full(_));
    if target.count >= narrow_limit() || !(counts || records(reduce)) {
        return None;
    }
    assert_eq!(out.len(), target.array_len(), "put: the array must be [outer, len, inner]");
    if counts {
        return Some(Record { winners: put_counted(target, include_self, values, out), tied: Vec::new() });
    }
    let limit = (target.count / 64).max(8);
    let ties = Ties { limit, list: Mutex::default(), full: AtomicBool::new(false) };
    let layout = Layout::of::<(T, i32)>(target);
    let mut cells: Vec<(T, i32)> = layout.build(|p| (out[p], OWN));
    let extreme = Extreme { largest: reduce == Reduce::Amax, forget: !include_self, ties: &ties };
    match reduce {
        Reduce::Assign => scatter_rows(target, &layout, values, None, &mut cells, &Last),
        _ => scatter_rows(target, &layout, values, None, &mut cells, &extreme),
    }
    if ties.full.into_inner() {
        return None;
    }
    let mut tied = ties.list.into_inner().expect("no step panics");
    tied.sort_unstable();
    tied.dedup();
    let mut winners = unwritten(out.len());
    layout.each(&cells, &mut winners, |_, winner, (_, k)| *winner = k);
    layout.each(&cells, out, |_, x, (value, _)| *x = value);
    Some(Record { winners, tied })
}

/// A step whose cell is the last value so far, and its step.
#[derive(Clone, Copy)]
struct Last;

impl<T: Element> Step<(T, i32), T> for Last {
    #[inline(always)]
    fn step(&self, cell: &mut (T, i32), v: T, k: usize) {
        *cell = (v, k as i32);
    }
}

/// A step whose cell is the largest or smallest value so far, and its step.
#[derive(Clone, Copy)]
struct Extreme<'a> {
    largest: bool,
    /// Whether the first value always replaces the array's own value.
    forget: bool,
    ties: &'a Ties,
}

impl<T: Element> Step<(T, i32), T> for Extreme<'_> {
    // The only branch that depends on the data is one that is rarely taken. A NaN is neither larger nor smaller.
    #[inline(always)]
    fn step(&self, cell: &mut (T, i32), v: T, k: usize) {
        let (x, chosen) = *cell;
        if (v < x) | (v > x) {
            let take = ((v > x) == self.largest) | (self.forget & (chosen == OWN));
            cell.0 = select_unpredictable(take, v, x);
            cell.1 = select_unpredictable(take, k as i32, chosen);
        } else {
            self.unordered(cell, v, k);
        }
    }
}

impl Extreme<'_> {
    /// A step with two equal values, or with a NaN, which replaces a number.
    #[cold]
    #[inline(never)]
    fn unordered<T: Element>(&self, cell: &mut (T, i32), v: T, k: usize) {
        if (self.forget & (cell.1 == OWN)) | (v.is_nan() & !cell.0.is_nan()) {
            *cell = (v, k as i32);
        } else if same(v, cell.0) {
            self.ties.note(&mut cell.1, k);
        }
    }
}

/// The steps where ties were seen, up to a limit.
struct Ties {
    limit: usize,
    list: Mutex<Vec<i32>>,
    full: AtomicBool,
}

impl Ties {
    fn note(&self, winner: &mut i32, k: usize) {
        if self.full.load(Ordering::Relaxed) {
            return;
        }
        *winner = match *winner {
            OWN => OWN_TIED,
            first if first >= 0 => -2 - first,
            tied => tied,
        };
        let mut list = self.list.lock().expect("no step panics");
        if list.len() < self.limit {
            list.push(k as i32);
        } else {
            self.full.store(true, Ordering::Relaxed);
        }
    }
}

/// Gradients of [`put_recorded`] with respect to the array and the values. They are the same as those of
/// [`put_backward`](super::put_backward), in time O(array + values written). Only that of a mean reads the index.
///
/// # Panics
/// If `T` is not a float or a length does not agree with the target.
pub fn recorded_backward<T: Element>(
    target: &Target<'_>,
    reduce: Reduce,
    include_self: bool,
    saved: Recorded<'_, T>,
    grad: &[T],
    needs: [bool; 2],
) -> [Option<Vec<T>>; 2] {
    assert!(T::IS_FLOAT, "put_backward: gradients are of floats");
    let Recorded { winners, arr, out, .. } = saved;
    assert_eq!(grad.len(), target.array_len(), "put_backward: the gradient must be [outer, len, inner]");
    assert_eq!(winners.len(), grad.len(), "put_backward: the record must be [outer, len, inner]");
    if reduce == Reduce::Mean {
        return mean_backward(target, include_self, &Layout::plain(target), cast_slice(winners), grad, needs);
    }
    let &Target { len, inner, count, .. } = target;
    let ties = tied_groups(target, winners, saved.tied, &|v, p| same(saved.values[v], out[p]));
    let own_ties = |p: usize| include_self && same(arr[p], out[p]);
    let share = |p: usize, members: usize| {
        let members = members + own_ties(p) as usize;
        T::narrow(T::div(grad[p].widen(), T::from_count(members)))
    };
    let arr_grad = needs[0].then(|| {
        let mut dx = par::fill_with(grad.len(), |p| if winners[p] == OWN { grad[p] } else { T::ZERO });
        for (p, members) in &ties {
            if own_ties(*p) {
                dx[*p] = share(*p, members.len());
            }
        }
        dx
    });
    let values_grad = needs[1].then(|| {
        let mut dv: Vec<T> = par::fill_with(target.values_len(), |_| T::ZERO);
        if dv.is_empty() {
            return dv;
        }
        // Each task writes the gradients of a range of steps. It reads all cells to find them.
        let parts = par::big_pieces(dv.len()).min(count);
        let steps = par::ranges(count, parts);
        par::chunks_mut(&mut dv, count * inner, &|o, slab| {
            let cells = o * len * inner..(o + 1) * len * inner;
            par::for_pieces(&steps, slab, &|steps| steps.len() * inner, &|steps, dv| {
                let (winners, grad) = (&winners[cells.clone()], &grad[cells.clone()]);
                for (winners, grad) in winners.chunks_exact(inner).zip(grad.chunks_exact(inner)) {
                    for (i, (&k, &grad)) in winners.iter().zip(grad).enumerate() {
                        let k = (k as usize).wrapping_sub(steps.start);
                        if k < steps.len() {
                            dv[k * inner + i] = grad;
                        }
                    }
                }
            });
        });
        for (p, members) in &ties {
            let share = share(*p, members.len());
            members.iter().for_each(|&v| dv[v] = share);
        }
        dv
    });
    [arr_grad, values_grad]
}

/// The groups with ties, as the position in the array and the positions of the values that are `equal` there.
fn tied_groups(
    target: &Target<'_>,
    winners: &[i32],
    tied: &[i32],
    equal: &(dyn Fn(usize, usize) -> bool + Sync),
) -> Vec<(usize, Vec<usize>)> {
    let &Target { outer, len, inner, count, .. } = target;
    if tied.is_empty() {
        return Vec::new();
    }
    // `tied` has the steps of all members of a group except the first, which is in `winners`.
    let stretches = par::even(winners.len(), 1);
    let first = par::map(stretches.len(), &|s| {
        let chosen = stretches[s].clone().filter(|&p| winners[p] < OWN && winners[p] != OWN_TIED);
        let members = chosen.map(|p| {
            let (o, i) = (p / inner / len, p % inner);
            (p, (o * count + (-2 - winners[p]) as usize) * inner + i)
        });
        members.collect::<Vec<_>>()
    });
    let steps = par::even(tied.len(), outer * inner);
    let later = par::map(steps.len(), &|s| {
        let places = tied[steps[s].clone()].iter().flat_map(|&k| (0..outer * inner).map(move |column| (k, column)));
        let members = places.filter_map(|(k, column)| {
            let (o, i) = (column / inner, column % inner);
            let v = (o * count + k as usize) * inner + i;
            let p = target.position(v);
            (winners[p] < OWN && equal(v, p)).then_some((p, v))
        });
        members.collect::<Vec<_>>()
    });
    let mut members: Vec<(usize, usize)> = first.into_iter().chain(later).flatten().collect();
    par::sort_unstable(&mut members);
    members.dedup();
    members.chunk_by(|a, b| a.0 == b.0).map(|group| (group[0].0, group.iter().map(|m| m.1).collect())).collect()
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use super::{Record, Recorded, Reduce, Target};
    use crate::dynamic::slices::{AnyElement, ElementVec, Elements, ElementsMut, with_floats, with_mut};

    /// See [`put_recorded`](crate::put_recorded()).
    pub fn put_recorded(
        target: &Target<'_>,
        reduce: Reduce,
        include_self: bool,
        values: Elements<'_>,
        out: ElementsMut<'_>,
    ) -> Option<Record> {
        with_mut!(out, (out: T) => {
            super::put_recorded::<T>(target, reduce, include_self, T::elements(values), out)
        })
    }

    /// [`Recorded`].
    #[derive(Clone, Copy, Debug)]
    pub struct DynRecorded<'a> {
        /// [`Record::winners`].
        pub winners: &'a [i32],
        /// [`Record::tied`].
        pub tied: &'a [i32],
        /// The array before the operation, the values and the result. May be `None` if `tied` is empty.
        pub reads: [Option<Elements<'a>>; 3],
    }

    /// See [`recorded_backward`](crate::recorded_backward()).
    pub fn recorded_backward(
        target: &Target<'_>,
        reduce: Reduce,
        include_self: bool,
        saved: DynRecorded<'_>,
        grad: Elements<'_>,
        needs: [bool; 2],
    ) -> [Option<ElementVec>; 2] {
        with_floats!(grad, T => {
            let [arr, values, out] = saved.reads.map(|read| read.map_or(&[][..], T::elements));
            let saved = Recorded { winners: saved.winners, tied: saved.tied, arr, values, out };
            super::recorded_backward::<T>(target, reduce, include_self, saved, T::elements(grad), needs)
                .map(|grad| grad.map(T::element_vec))
        })
    }
}
