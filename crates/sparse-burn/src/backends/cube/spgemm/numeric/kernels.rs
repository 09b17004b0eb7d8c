//! Kernels of the numeric phase. Their rows are in lists of pieces `[n, 4]`: two ranges each.

use super::super::super::parts::{One, SUM, bound, tree};
use super::super::bins::Bin;
use super::super::table::{EMPTY, clear, find, insert_column, largest};
use burn_cubecl::cubecl;
use cubecl::prelude::*;

/// A row that some units of a cube work on: the ranges of its piece, and its share of the cube. A row beyond the list
/// has empty ranges: its units must still reach every barrier.
#[derive(CubeType, Clone, Copy)]
struct Piece {
    /// Elements of A or of the mask.
    start: usize,
    end: usize,
    /// Elements of C or of X: the table has these.
    first: usize,
    length: u32,
    /// Number of the row in its cube, of the unit in its row, and where the row's table begins.
    row: u32,
    own: u32,
    base: u32,
}

/// The piece of this unit, if `parts` cubes work on each.
#[cube]
fn piece<I: Int>(pieces: &Tensor<I>, count: usize, parts: usize, #[comptime] bin: Bin) -> Piece {
    let row = UNIT_POS / comptime!(bin.units as u32);
    let k = CUBE_POS / parts * bin.rows + row as usize;
    let at = 4 * min(k, count - 1);
    let start = usize::cast_from(pieces[at]);
    let first = usize::cast_from(pieces[at + 2]);
    let length = u32::cast_from(usize::cast_from(pieces[at + 3]) - first);
    Piece {
        start,
        end: select(k < count, usize::cast_from(pieces[at + 1]), start),
        first,
        length: select(k < count, length, 0u32),
        row,
        own: UNIT_POS % comptime!(bin.units as u32),
        base: row * comptime!(bin.slots() as u32),
    }
}

/// How often `each` elements are taken at once until all of a piece are. The same for all units.
#[cube]
fn turns(piece: &Piece, each: usize, #[comptime] bin: Bin) -> u32 {
    let elements = select(piece.end > piece.start, piece.end - piece.start, 0);
    largest(u32::cast_from(elements.div_ceil(each)), piece.row, piece.own, bin)
}

/// Sums the products of each row in the order of A's row, in a table of the row's columns. Some groups of `lanes` units
/// read a row of B each, as far as one element a unit goes. Then the rows are added one after the other: what was read
/// by the units that read it, the rest of a longer row by all. Columns of a row differ, so no two units add to one sum,
/// and a barrier is between rows. With `tiled` the table has a part of the columns only.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn values<T: Numeric, A: Numeric, I: Int>(
    pieces: &Tensor<I>,
    spans: &Tensor<I>,
    a_values: &Tensor<T>,
    b_idx: &Tensor<I>,
    b_values: &Tensor<T>,
    c_idx: &Tensor<I>,
    out: &mut Tensor<T>,
    count: usize,
    #[comptime] bin: Bin,
    #[comptime] tiled: bool,
    #[comptime] wide: bool,
    #[define(T, A, I)] _types: [ElemType; 3],
) {
    let table = Shared::<[Atomic<u32>]>::new_slice(comptime!(bin.rows * bin.slots()));
    let mut sums = Shared::<[A]>::new_slice(comptime!(bin.rows * bin.slots()));
    let mut starts = Shared::<[I]>::new_slice(comptime!(bin.rows * bin.groups()));
    let mut stops = Shared::<[I]>::new_slice(comptime!(bin.rows * bin.groups()));
    let piece = piece::<I>(pieces, count, 1, bin);
    let (first, own, base) = (piece.first, piece.own, piece.base);
    clear(&table, base, own, bin);
    let mut slot = own;
    while slot < comptime!(bin.slots() as u32) {
        sums[(base + slot) as usize] = A::from_int(0);
        slot += comptime!(bin.units as u32);
    }
    sync_cube();
    let mut k = own;
    while k < piece.length {
        insert_column::<I>(&table, base, c_idx, first, k, bin, wide);
        k += comptime!(bin.units as u32);
    }
    let groups = comptime!(bin.groups());
    let group = own as usize / bin.lanes;
    let lane = own as usize % bin.lanes;
    let staged = piece.row as usize * groups;
    // The last column of the piece.
    let last = first + max(piece.length, 1u32) as usize - 1;
    let turns = turns(&piece, groups, bin);
    let mut turn = 0u32;
    while turn < turns {
        let q = piece.start + turn as usize * groups;
        let mut start = comptime!(0usize).runtime();
        let mut stop = comptime!(0usize).runtime();
        let mut place = comptime!(EMPTY).runtime();
        let mut term = A::from_int(0);
        if q + group < piece.end {
            start = usize::cast_from(spans[2 * (q + group)]);
            stop = usize::cast_from(spans[2 * (q + group) + 1]);
            if tiled {
                start = bound::<I>(c_idx[first], b_idx, start, stop, false);
                stop = bound::<I>(c_idx[last], b_idx, start, stop, true);
            }
            let e = start + lane;
            if e < stop {
                place = find::<I>(&table, base, b_idx[e], c_idx, first, bin, wide);
                term = A::cast_from(a_values[q + group]) * A::cast_from(b_values[e]);
            }
        }
        if lane == 0 {
            starts[staged + group] = I::cast_from(start);
            stops[staged + group] = I::cast_from(stop);
        }
        sync_cube();
        for other in 0..groups {
            if other == group && place != EMPTY {
                sums[place as usize] += term;
            }
            let mut e = usize::cast_from(starts[staged + other]) + bin.lanes + own as usize;
            let stop = usize::cast_from(stops[staged + other]);
            while e < stop {
                let place = find::<I>(&table, base, b_idx[e], c_idx, first, bin, wide);
                if place != EMPTY {
                    sums[place as usize] += A::cast_from(a_values[q + other]) * A::cast_from(b_values[e]);
                }
                e += bin.units;
            }
            sync_cube();
        }
        turn += 1;
    }
    let mut k = own;
    while k < piece.length {
        let at = first + k as usize;
        let place = find::<I>(&table, base, c_idx[at], c_idx, first, bin, wide);
        if place != EMPTY {
            out[at] = T::cast_from(sums[place as usize]);
        }
        k += comptime!(bin.units as u32);
    }
}

/// Products of a row of X with the rows of Y that the mask has for it. A table has the row of X, or with `searched` it
/// is searched where it lies. `lanes` units share a row of Y: each sums every `lanes`-th term, then a tree adds their
/// sums.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn sampled<T: Numeric, A: Numeric, I: Int>(
    pieces: &Tensor<I>,
    spans: &Tensor<I>,
    x_idx: &Tensor<I>,
    x_values: &Tensor<T>,
    y_idx: &Tensor<I>,
    y_values: &Tensor<T>,
    out: &mut Tensor<T>,
    count: usize,
    parts: usize,
    #[comptime] bin: Bin,
    #[comptime] searched: bool,
    #[comptime] wide: bool,
    #[define(T, A, I)] _types: [ElemType; 3],
) {
    let mut shared = Shared::<[Vector<A, One>]>::new_slice(comptime!(bin.cube()));
    let table = Shared::<[Atomic<u32>]>::new_slice(comptime!(if searched { 1 } else { bin.rows * bin.slots() }));
    let mut held = Shared::<[A]>::new_slice(comptime!(if searched { 1 } else { bin.rows * bin.slots() }));
    let piece = piece::<I>(pieces, count, parts, bin);
    let (first, own, base) = (piece.first, piece.own, piece.base);
    if comptime!(!searched) {
        clear(&table, base, own, bin);
        sync_cube();
        let mut k = own;
        while k < piece.length {
            insert_column::<I>(&table, base, x_idx, first, k, bin, wide);
            k += comptime!(bin.units as u32);
        }
        sync_cube();
        let mut k = own;
        while k < piece.length {
            let at = first + k as usize;
            let place = find::<I>(&table, base, x_idx[at], x_idx, first, bin, wide);
            if place != EMPTY {
                held[place as usize] = A::cast_from(x_values[at]);
            }
            k += comptime!(bin.units as u32);
        }
        sync_cube();
    }
    let groups = comptime!(bin.groups());
    let lane = own as usize % bin.lanes;
    let last = first + piece.length as usize;
    let turns = turns(&piece, groups * parts, bin);
    let mut turn = 0u32;
    while turn < turns {
        let e = piece.start + (turn as usize * parts + CUBE_POS % parts) * groups + own as usize / bin.lanes;
        let mut sum = A::from_int(0);
        if e < piece.end {
            let mut k = usize::cast_from(spans[2 * e]) + lane;
            let stop = usize::cast_from(spans[2 * e + 1]);
            while k < stop {
                let column = y_idx[k];
                if comptime!(searched) {
                    let at = bound::<I>(column, x_idx, first, last, false);
                    if at < last && x_idx[at] == column {
                        sum += A::cast_from(x_values[at]) * A::cast_from(y_values[k]);
                    }
                } else {
                    let place = find::<I>(&table, base, column, x_idx, first, bin, wide);
                    if place != EMPTY {
                        sum += held[place as usize] * A::cast_from(y_values[k]);
                    }
                }
                k += bin.lanes;
            }
        }
        tree::<A, One>(&mut shared, Vector::<A, One>::new(sum), lane, bin.lanes, 1usize, SUM, false);
        if lane == 0 && e < piece.end {
            out[e] = T::cast_from(shared[UNIT_POS as usize].extract(0usize));
        }
        turn += 1;
    }
}
