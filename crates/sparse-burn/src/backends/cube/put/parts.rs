//! Who reduces what: a unit each cell, or a cube each cell that very many values belong to.

use super::kernels::{Sizes, combine, segment};
use burn_cubecl::cubecl;
use cubecl::prelude::*;

/// How cells are shared out.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub struct Work {
    /// Cells.
    pub units: usize,
    /// Values of a cell that one unit reduces at most.
    pub most: usize,
    /// Entries of the list of long groups.
    pub probes: usize,
    /// Cubes that a group takes: lines times tiles of a line.
    pub parts: usize,
    pub tiles: usize,
}

/// What a unit does for a cell: the values of each `slices`-th entry of `start..end` from its slice on. Nothing belongs to
/// a cell that is not `mine`, so that the unit passes every barrier all the same.
#[derive(CubeType, Clone, Copy)]
pub struct Part {
    pub cell: usize,
    pub start: usize,
    pub end: usize,
    pub slice: usize,
    pub mine: bool,
}

/// A cell that this unit has to itself.
#[cube]
pub fn alone<I: Int>(ptr: &Tensor<I>, sizes: &Sizes, work: &Work, #[comptime] along: bool) -> Part {
    let cell = min(ABSOLUTE_POS, work.units - 1);
    let group = segment(cell, sizes, along);
    let start = usize::cast_from(ptr[group]);
    let end = usize::cast_from(ptr[group + 1]);
    let mine = ABSOLUTE_POS < work.units && end - start <= work.most;
    Part { cell, start, end: select(mine, end, start), slice: 0usize.runtime(), mine }
}

/// A cell of a `long` group that the units of a lane share: `lanes` neighbours along a line for each cube.
#[cube]
pub fn together<I: Int>(
    long: &Tensor<I>,
    sizes: &Sizes,
    work: &Work,
    #[comptime] lanes: usize,
    #[comptime] along: bool,
) -> Part {
    let unit = UNIT_POS as usize;
    let probe = CUBE_POS / work.parts;
    let part = CUBE_POS % work.parts;
    let entry = 3 * min(probe, work.probes - 1);
    let group = usize::cast_from(long[entry]);
    let start = usize::cast_from(long[entry + 1]);
    let end = usize::cast_from(long[entry + 2]);
    let mut mine = probe < work.probes && start < end;
    let mut cell = group;
    if along {
        let column = part % work.tiles * lanes + unit % lanes;
        mine = mine && column < sizes.inner;
        cell = (part / work.tiles * sizes.len + group) * sizes.inner + min(column, sizes.inner - 1);
    }
    Part { cell, start, end: select(mine, end, start), slice: unit / lanes, mine }
}

/// What the slices of each lane come to, for all of them: a tree whose shape depends on nothing but the launch.
#[cube]
pub fn fold<A: Numeric>(
    own: A,
    #[comptime] slices: usize,
    #[comptime] lanes: usize,
    #[comptime] reduce: u32,
    #[comptime] float: bool,
) -> A {
    if comptime!(slices == 1) {
        own
    } else {
        let mut shared = Shared::<[A]>::new_slice(slices * lanes);
        let unit = UNIT_POS as usize;
        shared[unit] = own;
        sync_cube();
        let mut half = comptime!(slices / 2).runtime();
        while half > 0 {
            if unit / lanes < half {
                let folded = combine::<A>(shared[unit], shared[unit + half * lanes], reduce, float);
                shared[unit] = folded;
            }
            sync_cube();
            half /= 2;
        }
        shared[unit % lanes]
    }
}

/// A number with a wide exponent: `x * 2^(64 places)`, where `|x|` is in `[2^-32, 2^32)`, or is zero, infinity or NaN.
#[derive(CubeType, Clone, Copy)]
pub struct Scaled<A: Float> {
    pub x: A,
    pub places: A,
}

/// A place, and the ends of `x`: powers of two, which multiply exactly.
const LARGE: f32 = (1u64 << 32) as f32;
const SMALL: f32 = 1.0 / LARGE;
const UP: f32 = LARGE * LARGE;
const DOWN: f32 = SMALL * SMALL;

/// `value * 2^(64 places)`, of a value that is at most `steps` places off.
#[cube]
pub fn scaled<A: Float>(value: A, places: A, #[comptime] steps: usize) -> Scaled<A> {
    let (zero, one) = (A::from_int(0), A::from_int(1));
    let mut x = value;
    let mut places = places;
    for _ in 0..steps {
        let size = select(x < zero, zero - x, x);
        let large = size >= A::new(LARGE);
        let small = size < A::new(SMALL);
        x *= select(large, A::new(DOWN), select(small, A::new(UP), one));
        places += select(large, one, select(small, zero - one, zero));
    }
    Scaled::<A> { x, places }
}

/// The product of `x * 2^(64 places)`, itself scaled, and another.
#[cube]
pub fn times<A: Float>(x: A, places: A, other: &Scaled<A>) -> Scaled<A> {
    scaled::<A>(x * other.x, places + other.places, 1usize)
}

/// The number itself, of a type whose range is `steps` places either way.
#[cube]
pub fn unscaled<A: Float>(number: &Scaled<A>, #[comptime] steps: usize) -> A {
    let (zero, one) = (A::from_int(0), A::from_int(1));
    let mut x = number.x;
    let mut places = number.places;
    // Two places more reach zero and infinity from any `x`.
    for _ in 0..comptime!(steps + 2) {
        let (above, below) = (places > zero, places < zero);
        x *= select(above, A::new(UP), select(below, A::new(DOWN), one));
        places -= select(above, one, select(below, zero - one, zero));
    }
    x
}

/// The products of the slices before this one (or `behind` it), of its lane.
#[cube]
pub fn product_beside<A: Float>(
    own: A,
    own_places: A,
    slice: usize,
    #[comptime] slices: usize,
    #[comptime] lanes: usize,
    #[comptime] behind: bool,
) -> Scaled<A> {
    let mut x = A::from_int(1);
    let mut places = A::from_int(0);
    if comptime!(slices > 1) {
        let mut fractions = Shared::<[A]>::new_slice(slices * lanes);
        let mut shifts = Shared::<[A]>::new_slice(slices * lanes);
        let unit = UNIT_POS as usize;
        fractions[unit] = own;
        shifts[unit] = own_places;
        sync_cube();
        for other in 0..slices {
            let counts = if behind { other > slice } else { other < slice };
            if counts {
                let at = other * lanes + unit % lanes;
                let next = times::<A>(x, places, &Scaled::<A> { x: fractions[at], places: shifts[at] });
                x = next.x;
                places = next.places;
            }
        }
    }
    Scaled::<A> { x, places }
}
