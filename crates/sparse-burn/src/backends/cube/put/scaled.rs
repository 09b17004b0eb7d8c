//! Numbers with an exponent so wide that no intermediate product overflows or underflows.

use super::work::Share;
use burn_cubecl::cubecl;
use cubecl::prelude::*;

/// A number with a wide exponent: `x * 2^(64 places)`. `|x|` is in `[2^-32, 2^32)`, or `x` is zero, infinity or NaN.
#[derive(CubeType, Clone, Copy)]
pub struct Scaled<A: Float> {
    pub x: A,
    pub places: A,
}

/// The bounds of `|x|`, and the factors of one place. All are powers of two, so multiplying by them is exact.
const LARGE: f32 = (1u64 << 32) as f32;
const SMALL: f32 = 1.0 / LARGE;
const UP: f32 = LARGE * LARGE;
const DOWN: f32 = SMALL * SMALL;

/// A number of a type whose range spans `steps` places either way.
#[cube]
pub fn scaled<A: Float>(value: A, #[comptime] steps: usize) -> Scaled<A> {
    shifted::<A>(value, A::from_int(0), steps)
}

/// `x * 2^(64 places)`, for an `x` that is at most `steps` places out of range.
#[cube]
fn shifted<A: Float>(x: A, places: A, #[comptime] steps: usize) -> Scaled<A> {
    let (zero, one) = (A::from_int(0), A::from_int(1));
    let mut x = x;
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

/// The product of two numbers.
#[cube]
pub fn times<A: Float>(a: &Scaled<A>, b: &Scaled<A>) -> Scaled<A> {
    shifted::<A>(a.x * b.x, a.places + b.places, 1usize)
}

/// The number in a type whose range spans `steps` places either way.
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

/// The product of the slices of the same lane before this one, or with `behind` after it. Each unit multiplies them one
/// after the other, at most 255 from shared memory: this needs one barrier, where a scan needs one for every step.
#[cube]
pub fn beside<A: Float>(
    own: &Scaled<A>,
    slice: usize,
    #[comptime] share: Share,
    #[comptime] behind: bool,
) -> Scaled<A> {
    let mut x = A::from_int(1);
    let mut places = A::from_int(0);
    if comptime!(share.slices > 1) {
        let mut fractions = Shared::<[A]>::new_slice(comptime!(share.slices * share.lanes));
        let mut shifts = Shared::<[A]>::new_slice(comptime!(share.slices * share.lanes));
        let unit = UNIT_POS as usize;
        fractions[unit] = own.x;
        shifts[unit] = own.places;
        sync_cube();
        for other in 0..share.slices {
            let counts = if behind { other > slice } else { other < slice };
            if counts {
                let at = other * share.lanes + unit % share.lanes;
                let theirs = Scaled::<A> { x: fractions[at], places: shifts[at] };
                let next = times::<A>(&Scaled::<A> { x, places }, &theirs);
                x = next.x;
                places = next.places;
            }
        }
    }
    Scaled::<A> { x, places }
}
