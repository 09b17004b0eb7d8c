//! Numbers with an exponent so wide that no intermediate product overflows or underflows.

use super::work::Share;
use burn_cubecl::cubecl;
use cubecl::prelude::*;

/// Numbers with wide exponents: `x * 2^(64 places)`. `|x|` is in `[2^-32, 2^32)`, or `x` is zero, infinity or NaN.
#[derive(CubeType, Clone, Copy)]
pub struct Scaled<A: Float, N: Size> {
    pub x: Vector<A, N>,
    pub places: Vector<A, N>,
}

/// The bounds of `|x|`, and the factors of one place. All are powers of two, so multiplying by them is exact.
const LARGE: f32 = (1u64 << 32) as f32;
const SMALL: f32 = 1.0 / LARGE;
const UP: f32 = LARGE * LARGE;
const DOWN: f32 = SMALL * SMALL;

/// A vector of one number.
#[cube]
fn all<A: Float, N: Size>(#[comptime] number: f32) -> Vector<A, N> {
    Vector::<A, N>::new(A::new(number))
}

/// Ones.
#[cube]
pub fn ones<A: Float, N: Size>() -> Scaled<A, N> {
    Scaled::<A, N> { x: all::<A, N>(1.0), places: all::<A, N>(0.0) }
}

/// Numbers of a type whose range spans `steps` places either way.
#[cube]
pub fn scaled<A: Float, N: Size>(value: Vector<A, N>, #[comptime] steps: usize) -> Scaled<A, N> {
    shifted::<A, N>(value, all::<A, N>(0.0), steps)
}

/// `x * 2^(64 places)`, for an `x` that is at most `steps` places out of range.
#[cube]
fn shifted<A: Float, N: Size>(x: Vector<A, N>, places: Vector<A, N>, #[comptime] steps: usize) -> Scaled<A, N> {
    let (zero, one) = (all::<A, N>(0.0), all::<A, N>(1.0));
    let mut x = x;
    let mut places = places;
    for _ in 0..steps {
        let size = select_many(x.less_than(&zero), zero - x, x);
        let large = size.greater_equal(&all::<A, N>(LARGE));
        let small = size.less_than(&all::<A, N>(SMALL));
        x *= select_many(large, all::<A, N>(DOWN), select_many(small, all::<A, N>(UP), one));
        places += select_many(large, one, select_many(small, zero - one, zero));
    }
    Scaled::<A, N> { x, places }
}

/// The products of two numbers each.
#[cube]
pub fn times<A: Float, N: Size>(a: &Scaled<A, N>, b: &Scaled<A, N>) -> Scaled<A, N> {
    shifted::<A, N>(a.x * b.x, a.places + b.places, 1usize)
}

/// The numbers in a type whose range spans `steps` places either way.
#[cube]
pub fn unscaled<A: Float, N: Size>(number: &Scaled<A, N>, #[comptime] steps: usize) -> Vector<A, N> {
    let (zero, one) = (all::<A, N>(0.0), all::<A, N>(1.0));
    let mut x = number.x;
    let mut places = number.places;
    // Two places more reach zero and infinity from any `x`.
    for _ in 0..comptime!(steps + 2) {
        let (above, below) = (places.greater_than(&zero), places.less_than(&zero));
        x *= select_many(above, all::<A, N>(UP), select_many(below, all::<A, N>(DOWN), one));
        places -= select_many(above, one, select_many(below, zero - one, zero));
    }
    x
}

/// The products of the slices of the same lane before this one, and of those after it.
#[derive(CubeType, Clone, Copy)]
pub struct Others<A: Float, N: Size> {
    pub before: Scaled<A, N>,
    pub after: Scaled<A, N>,
}

/// Multiplies the slices beside each unit's own. Each unit does so one after the other, at most 255 from shared memory:
/// this needs one barrier, where a scan needs one for every step.
#[cube]
pub fn products_of_others<A: Float, N: Size>(
    own: &Scaled<A, N>,
    slice: usize,
    #[comptime] share: Share,
) -> Others<A, N> {
    let mut x = all::<A, N>(1.0);
    let mut places = all::<A, N>(0.0);
    let mut after_x = all::<A, N>(1.0);
    let mut after_places = all::<A, N>(0.0);
    if comptime!(share.slices > 1) {
        let mut fractions = Shared::<[Vector<A, N>]>::new_slice(comptime!(share.slices * share.lanes));
        let mut shifts = Shared::<[Vector<A, N>]>::new_slice(comptime!(share.slices * share.lanes));
        let unit = UNIT_POS as usize;
        fractions[unit] = own.x;
        shifts[unit] = own.places;
        sync_cube();
        for other in 0..share.slices {
            let at = other * share.lanes + unit % share.lanes;
            let theirs = Scaled::<A, N> { x: fractions[at], places: shifts[at] };
            if other < slice {
                let next = times::<A, N>(&Scaled::<A, N> { x, places }, &theirs);
                x = next.x;
                places = next.places;
            }
            if other > slice {
                let next = times::<A, N>(&Scaled::<A, N> { x: after_x, places: after_places }, &theirs);
                after_x = next.x;
                after_places = next.places;
            }
        }
    }
    Others::<A, N> { before: Scaled::<A, N> { x, places }, after: Scaled::<A, N> { x: after_x, places: after_places } }
}
