//! Kernels of reductions along an axis: one unit for each cell, cubes for the chunks of long groups, and a fold of the
//! chunks' results.

use super::super::parts::{MAX, MIN, PRODUCT, SUM, bound, combine, same, tree};
use super::work::{Cells, Part, Share, Sizes, alone, columns_of, noted, position, resolve, step_of, together};
use burn_cubecl::cubecl;
use cubecl::prelude::*;
use sparse_core::Reduce;

/// Compile-time settings of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct How {
    pub reduce: Reduce,
    /// Whether the array's own element is one of the values.
    pub include_self: bool,
    /// Counts the values that equal an extremum, which is the array's element.
    pub ties: bool,
    pub float: bool,
}

impl How {
    fn assigns(self) -> bool {
        self.reduce == Reduce::Assign
    }

    fn means(self) -> bool {
        self.reduce == Reduce::Mean && !self.ties
    }

    fn is_extremum(self) -> bool {
        matches!(self.reduce, Reduce::Amax | Reduce::Amin) && !self.ties
    }

    /// The rule that combines two terms.
    fn rule(self) -> u32 {
        match self.reduce {
            _ if self.ties => SUM,
            Reduce::Assign | Reduce::Add | Reduce::Mean => SUM,
            Reduce::Mul => PRODUCT,
            Reduce::Amax => MAX,
            Reduce::Amin => MIN,
        }
    }
}

/// The cell of each value, or with `along` the row of each step along the axis.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn cells<I: Int>(
    index: &Tensor<I>,
    out: &mut Tensor<I>,
    sizes: &Sizes,
    units: usize,
    #[comptime] along: bool,
    #[define(I)] _type: ElemType,
) {
    if ABSOLUTE_POS >= units {
        terminate!();
    }
    let j = resolve::<I>(index[ABSOLUTE_POS], sizes.len);
    let cell = if along {
        j
    } else {
        let (row, column) = columns_of(sizes, ABSOLUTE_POS);
        let (outer, _) = step_of(sizes, row);
        (outer * sizes.len + j) * sizes.columns + column
    };
    out[ABSOLUTE_POS] = I::cast_from(cell);
}

/// The group of each `step`-th entry with its start and end, if it has more than `step` entries. Else zeros.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn probe<I: Int>(
    ptr: &Tensor<I>,
    out: &mut Tensor<I>,
    groups: usize,
    step: usize,
    units: usize,
    #[define(I)] _type: ElemType,
) {
    if ABSOLUTE_POS >= units {
        terminate!();
    }
    // The last group that starts at or before the entry.
    let group = bound::<I>(I::cast_from(ABSOLUTE_POS * step), ptr, 1, groups, true) - 1;
    let start = ptr[group];
    let end = ptr[group + 1];
    let long = usize::cast_from(end - start) > step;
    let zero = I::from_int(0);
    out[3 * ABSOLUTE_POS] = select(long, I::cast_from(group), zero);
    out[3 * ABSOLUTE_POS + 1] = select(long, start, zero);
    out[3 * ABSOLUTE_POS + 2] = select(long, end, zero);
}

/// The term of entry `t`: its value, or for ties whether the value is the extremum.
#[cube]
fn term<T: Numeric, A: Numeric, C: Numeric, I: Int, N: Size>(
    cells: &Cells<I>,
    part: &Part,
    extremum: Vector<A, N>,
    values: &Tensor<Vector<T, N>>,
    t: usize,
    #[comptime] how: How,
) -> Vector<C, N> {
    let value = values[position::<I>(cells, part, t)];
    if comptime!(how.ties) {
        let (one, zero) = (Vector::<C, N>::new(C::from_int(1)), Vector::<C, N>::new(C::from_int(0)));
        select_many(same::<A, N>(Vector::<A, N>::cast_from(value), extremum), one, zero)
    } else {
        Vector::<C, N>::cast_from(value)
    }
}

/// What a slice without entries adds to the others. An extremum may have a term twice.
#[cube]
fn nothing<C: Numeric, N: Size>(#[comptime] how: How) -> Vector<C, N> {
    Vector::<C, N>::new(C::from_int(comptime!((how.rule() == PRODUCT) as i64)))
}

/// Combines the terms of a slice. The array's own element is the first of its group.
#[cube]
fn walk<T: Numeric, A: Numeric, C: Numeric, I: Int, N: Size>(
    cells: &Cells<I>,
    part: &Part,
    arr: &Tensor<Vector<T, N>>,
    values: &Tensor<Vector<T, N>>,
    #[comptime] share: Share,
    #[comptime] how: How,
) -> Vector<C, N> {
    let mut acc = nothing::<C, N>(how);
    let own = arr[part.cell];
    let extremum = Vector::<A, N>::cast_from(own);
    // An assignment reads one value, the last.
    let first = if comptime!(how.assigns()) { max(part.end, 1) - 1 } else { part.start + part.slice };
    if part.start < part.end && first < part.end {
        acc = term::<T, A, C, I, N>(cells, part, extremum, values, first, how);
        if comptime!(how.include_self && !how.assigns()) {
            if part.first && part.slice == 0 {
                acc = combine::<C, N>(Vector::cast_from(own), acc, comptime!(how.rule()), how.float);
            }
        }
        if comptime!(!how.assigns()) {
            let mut t = first + share.slices;
            while t < part.end {
                let next = term::<T, A, C, I, N>(cells, part, extremum, values, t, how);
                acc = combine::<C, N>(acc, next, comptime!(how.rule()), how.float);
                t += share.slices;
            }
        }
    } else if comptime!(how.is_extremum()) {
        if part.start < part.end {
            acc = term::<T, A, C, I, N>(cells, part, extremum, values, part.start, how);
        }
    }
    acc
}

/// Combines the slices of each lane, for the first slice.
#[cube]
fn gathered<C: Numeric, N: Size>(
    own: Vector<C, N>,
    slice: usize,
    #[comptime] share: Share,
    #[comptime] how: How,
) -> Vector<C, N> {
    let mut shared = Shared::<[Vector<C, N>]>::new_slice(comptime!(share.slices * share.lanes));
    tree::<C, N>(&mut shared, own, slice, share.slices, share.lanes, comptime!(how.rule()), how.float);
    shared[UNIT_POS as usize % share.lanes]
}

/// The mean, given the sum of so many values.
#[cube]
fn divide<C: Numeric, N: Size>(sum: Vector<C, N>, members: usize, #[comptime] float: bool) -> Vector<C, N> {
    let divisor = Vector::<C, N>::new(C::cast_from(members));
    let quotient = sum / divisor;
    // Integers round towards minus infinity.
    if comptime!(float) {
        quotient
    } else {
        let below = quotient - Vector::<C, N>::new(C::from_int(1));
        select_many((quotient * divisor).greater_than(&sum), below, quotient)
    }
}

/// The result of a cell that has values.
#[cube]
fn finish<C: Numeric, O: Numeric, N: Size>(acc: Vector<C, N>, part: &Part, #[comptime] how: How) -> Vector<O, N> {
    if comptime!(how.means()) {
        let members = if comptime!(how.include_self) { part.members + 1 } else { part.members };
        Vector::<O, N>::cast_from(divide::<C, N>(acc, members, how.float))
    } else {
        Vector::<O, N>::cast_from(acc)
    }
}

/// One unit for each cell, except those of long groups.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn put<T: Numeric, A: Numeric, C: Numeric, O: Numeric, I: Int, N: Size>(
    cells: &Cells<I>,
    arr: &Tensor<Vector<T, N>>,
    values: &Tensor<Vector<T, N>>,
    out: &mut Tensor<Vector<O, N>>,
    #[comptime] share: Share,
    #[comptime] how: How,
    #[define(T, A, C, O, I)] _types: [ElemType; 5],
) {
    let part = alone::<I>(cells, share);
    let acc = walk::<T, A, C, I, N>(cells, &part, arr, values, share, how);
    if part.mine {
        if part.start < part.end {
            out[part.cell] = finish::<C, O, N>(acc, &part, how);
        } else if comptime!(how.ties) {
            out[part.cell] = Vector::<O, N>::new(O::from_int(0));
        } else {
            out[part.cell] = Vector::<O, N>::cast_from(arr[part.cell]);
        }
    }
}

/// A cube for each chunk of a long group. The result of a group of one chunk is final. Others are noted.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn put_chunks<T: Numeric, A: Numeric, C: Numeric, O: Numeric, I: Int, N: Size>(
    cells: &Cells<I>,
    arr: &Tensor<Vector<T, N>>,
    values: &Tensor<Vector<T, N>>,
    notes: &mut Tensor<Vector<C, N>>,
    out: &mut Tensor<Vector<O, N>>,
    #[comptime] share: Share,
    #[comptime] how: How,
    #[define(T, A, C, O, I)] _types: [ElemType; 5],
) {
    let part = together::<I>(cells, false, share);
    let own = walk::<T, A, C, I, N>(cells, &part, arr, values, share, how);
    let acc = gathered::<C, N>(own, part.slice, share, how);
    if part.mine && part.slice == 0 {
        if part.chunks == 1 {
            out[part.cell] = finish::<C, O, N>(acc, &part, how);
        } else {
            notes[part.note] = acc;
        }
    }
}

/// A cube for each group of several chunks, which combines what is noted of them.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn put_fold<C: Numeric, O: Numeric, I: Int, N: Size>(
    cells: &Cells<I>,
    notes: &Tensor<Vector<C, N>>,
    out: &mut Tensor<Vector<O, N>>,
    #[comptime] share: Share,
    #[comptime] how: How,
    #[define(C, O, I)] _types: [ElemType; 3],
) {
    let part = together::<I>(cells, true, share);
    let mut own = nothing::<C, N>(how);
    let mut k = part.start + part.slice;
    if k < part.end {
        own = notes[noted(&part, k)];
        k += share.slices;
        while k < part.end {
            own = combine::<C, N>(own, notes[noted(&part, k)], comptime!(how.rule()), how.float);
            k += share.slices;
        }
    } else if comptime!(how.is_extremum()) {
        if part.start < part.end {
            own = notes[noted(&part, part.start)];
        }
    }
    let acc = gathered::<C, N>(own, part.slice, share, how);
    if part.mine && part.slice == 0 {
        out[part.cell] = finish::<C, O, N>(acc, &part, how);
    }
}
