//! Kernels of triangular systems: rows that are zero on the diagonal, and the substitution level by level.

use super::super::parts::{One, SUM, bound, tree};
use burn_cubecl::cubecl;
use cubecl::prelude::*;

/// Compile-time settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct How {
    pub upper: bool,
    /// The diagonal is 1.
    pub unit: bool,
    /// Columns side by side, and units that share the elements of a row for each of them.
    pub lanes: usize,
    pub slices: usize,
    /// Units of a cube.
    pub cube: usize,
    /// Whether a launch has several levels. Then one cube has all rows of its columns.
    pub several: bool,
}

/// The values of a matrix by rows.
#[derive(CubeType, CubeLaunch)]
pub struct Values<T: Numeric, I: Int> {
    list: OwnedTensor<T>,
    perm: ComptimeOption<OwnedTensor<I>>,
}

#[cube]
fn value<T: Numeric, I: Int>(values: &Values<T, I>, k: usize) -> T {
    #[comptime]
    let at = match &values.perm {
        ComptimeOption::Some(perm) => usize::cast_from(perm[k]),
        ComptimeOption::None => k,
    };
    values.list[at]
}

/// 1 for each row whose diagonal is zero or not stored, else 0.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn zero_pivots<T: Numeric, I: Int>(
    ptr: &Tensor<I>,
    idx: &Tensor<I>,
    values: &Values<T, I>,
    out: &mut Tensor<I>,
    rows: usize,
    #[define(T, I)] _types: [ElemType; 2],
) {
    let row = ABSOLUTE_POS;
    if row >= rows {
        terminate!();
    }
    let end = usize::cast_from(ptr[row + 1]);
    let at = bound::<I>(I::cast_from(row), idx, usize::cast_from(ptr[row]), end, false);
    let mut code = I::from_int(1);
    if at < end {
        let found = idx[at] == I::cast_from(row) && value::<T, I>(values, at) != T::from_int(0);
        code = select(found, I::from_int(0), code);
    }
    out[row] = code;
}

/// The levels of a launch, of those in a list: where each of `count` begins and where the last one ends, then the rows.
/// The columns are cut into tiles, each of which `cubes` cubes share.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub struct Span {
    first: usize,
    last: usize,
    count: usize,
    width: usize,
    tiles: usize,
    cubes: usize,
}

/// Solves the rows of some levels. `x` has the right-hand side where it is not solved.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn substitute<T: Numeric, I: Int>(
    ptr: &Tensor<I>,
    idx: &Tensor<I>,
    values: &Values<T, I>,
    levels: &Tensor<I>,
    x: &mut Tensor<T>,
    span: Span,
    #[comptime] how: How,
    #[define(T, I)] _types: [ElemType; 2],
) {
    let mut shared = Shared::<[Vector<T, One>]>::new_slice(how.cube);
    let unit = UNIT_POS as usize;
    let members = comptime!(how.lanes * how.slices);
    let at_once = comptime!(how.cube / (how.lanes * how.slices));
    let slice = unit / how.lanes % how.slices;
    let column = CUBE_POS % span.tiles * how.lanes + unit % how.lanes;
    let number = CUBE_POS / span.tiles;
    for level in span.first..span.last {
        let end = usize::cast_from(levels[level + 1]);
        // The units of a cube go through the same places, so that all reach every barrier.
        let mut base = usize::cast_from(levels[level]) + number * at_once;
        if number >= span.cubes {
            base = end;
        }
        while base < end {
            let place = base + unit / members;
            let mine = place < end && column < span.width;
            let row = usize::cast_from(levels[span.count + 1 + min(place, end - 1)]);
            let from = usize::cast_from(ptr[row]);
            let to = usize::cast_from(ptr[row + 1]);
            let diagonal = bound::<I>(I::cast_from(row), idx, from, to, false);
            let mut stored = false;
            if diagonal < to {
                stored = idx[diagonal] == I::cast_from(row);
            }
            let mut k = from + slice;
            let mut stop = diagonal;
            if comptime!(how.upper) {
                k = diagonal + slice + select(stored, 1, 0);
                stop = to;
            }
            let mut sum = T::from_int(0);
            while mine && k < stop {
                sum += value::<T, I>(values, k) * x[usize::cast_from(idx[k]) * span.width + column];
                k += how.slices;
            }
            if comptime!(how.slices > 1) {
                let own = Vector::<T, One>::new(sum);
                tree::<T, One>(&mut shared, own, slice, how.slices, how.lanes, SUM, true);
                sum = shared[unit].extract(0usize);
            }
            if mine && slice == 0 {
                let at = row * span.width + column;
                let mut own = x[at] - sum;
                if comptime!(!how.unit) {
                    let mut pivot = T::from_int(0);
                    if stored {
                        pivot = value::<T, I>(values, diagonal);
                    }
                    own /= pivot;
                }
                x[at] = own;
            }
            base += at_once * span.cubes;
        }
        if comptime!(how.several) {
            sync_storage();
        }
    }
}
