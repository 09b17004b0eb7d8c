//! Kernels of the gradients of products.
//!
//! The gradient of a value has the product of all other values of its group as a factor. This is computed without
//! division, so zeros need no special case.

use super::scaled::{Scaled, ones, products_of_others, scaled, times, unscaled};
use super::work::{Cells, Part, Share, alone, noted, position, together};
use burn_cubecl::cubecl;
use cubecl::prelude::*;

/// Compile-time settings. `steps` as in [`scaled`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Product {
    pub include_self: bool,
    /// Whether the gradient is that of the values. Else it is that of the array.
    pub of_values: bool,
    pub steps: usize,
}

/// The contiguous piece of a range that a slice has.
#[cube]
fn piece(part: &Part, #[comptime] share: Share) -> (usize, usize) {
    let length = (part.end - part.start).div_ceil(share.slices);
    let from = min(part.start + part.slice * length, part.end);
    (from, min(from + length, part.end))
}

/// A number times the values of the entries `from..to`. With `note` the product before each value is stored in
/// `before`.
#[cube]
fn walk<T: Float, A: Float, I: Int, N: Size>(
    number: &Scaled<A, N>,
    cells: &Cells<I>,
    part: &Part,
    values: &Tensor<Vector<T, N>>,
    before: &mut Tensor<Vector<A, N>>,
    from: usize,
    to: usize,
    #[comptime] note: bool,
    #[comptime] steps: usize,
) -> Scaled<A, N> {
    let mut x = number.x;
    let mut places = number.places;
    for t in from..to {
        let at = position::<I>(cells, part, t);
        if comptime!(note) {
            before[2 * at] = x;
            before[2 * at + 1] = places;
        }
        let value = scaled::<A, N>(Vector::cast_from(values[at]), steps);
        let next = times::<A, N>(&Scaled::<A, N> { x, places }, &value);
        x = next.x;
        places = next.places;
    }
    Scaled::<A, N> { x, places }
}

/// The product of each chunk of a group that has several. A note has four vectors: the product, later that of the
/// chunks before, and that of the chunks after. Notes start at `tail`.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn product_chunks<T: Float, A: Float, I: Int, N: Size>(
    cells: &Cells<I>,
    values: &Tensor<Vector<T, N>>,
    notes: &mut Tensor<Vector<A, N>>,
    tail: usize,
    #[comptime] share: Share,
    #[comptime] steps: usize,
    #[define(T, A, I)] _types: [ElemType; 3],
) {
    let part = together::<I>(cells, false, share);
    let (from, to) = piece(&part, share);
    let own = walk::<T, A, I, N>(&ones::<A, N>(), cells, &part, values, notes, from, to, false, steps);
    let after = products_of_others::<A, N>(&own, part.slice, share).after;
    let all = times::<A, N>(&own, &after);
    if part.mine && part.slice == 0 && part.chunks > 1 {
        notes[tail + 4 * part.note] = all.x;
        notes[tail + 4 * part.note + 1] = all.places;
    }
}

/// The products of the chunks before and after each, in the place of its own.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn product_fold<A: Float, I: Int, N: Size>(
    cells: &Cells<I>,
    notes: &mut Tensor<Vector<A, N>>,
    tail: usize,
    #[comptime] share: Share,
    #[define(A, I)] _types: [ElemType; 2],
) {
    let part = together::<I>(cells, true, share);
    let (from, to) = piece(&part, share);
    let mut x = Vector::<A, N>::new(A::from_int(1));
    let mut places = Vector::<A, N>::new(A::from_int(0));
    for k in from..to {
        let at = tail + 4 * noted(&part, k);
        let next =
            times::<A, N>(&Scaled::<A, N> { x, places }, &Scaled::<A, N> { x: notes[at], places: notes[at + 1] });
        x = next.x;
        places = next.places;
    }
    let around = products_of_others::<A, N>(&Scaled::<A, N> { x, places }, part.slice, share);
    x = around.after.x;
    places = around.after.places;
    for back in from..to {
        let at = tail + 4 * noted(&part, to - 1 - (back - from));
        notes[at + 2] = x;
        notes[at + 3] = places;
        let next =
            times::<A, N>(&Scaled::<A, N> { x, places }, &Scaled::<A, N> { x: notes[at], places: notes[at + 1] });
        x = next.x;
        places = next.places;
    }
    x = around.before.x;
    places = around.before.places;
    for k in from..to {
        let at = tail + 4 * noted(&part, k);
        let own = Scaled::<A, N> { x: notes[at], places: notes[at + 1] };
        let next = times::<A, N>(&Scaled::<A, N> { x, places }, &own);
        notes[at] = x;
        notes[at + 1] = places;
        x = next.x;
        places = next.places;
    }
}

/// A number times one of the two that are noted of a chunk.
#[cube]
fn with_chunks<A: Float, N: Size>(
    number: &Scaled<A, N>,
    notes: &mut Tensor<Vector<A, N>>,
    at: usize,
    several: bool,
) -> Scaled<A, N> {
    let mut x = number.x;
    let mut places = number.places;
    if several {
        let next = times::<A, N>(number, &Scaled::<A, N> { x: notes[at], places: notes[at + 1] });
        x = next.x;
        places = next.places;
    }
    Scaled::<A, N> { x, places }
}

/// Gradients of the values, or of the array, whose elements have the product of all values as a factor. `before` has
/// for each value the fraction and the places of the product of the values before it, and from `tail` on the notes of
/// [`product_fold`]. With one slice a unit has a whole group.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn product_backward<T: Float, A: Float, I: Int, N: Size>(
    cells: &Cells<I>,
    grad: &Tensor<Vector<T, N>>,
    arr: &Tensor<Vector<T, N>>,
    values: &Tensor<Vector<T, N>>,
    before: &mut Tensor<Vector<A, N>>,
    out: &mut Tensor<Vector<T, N>>,
    tail: usize,
    #[comptime] share: Share,
    #[comptime] how: Product,
    #[define(T, A, I)] _types: [ElemType; 3],
) {
    let part = if comptime!(share.slices > 1) { together::<I>(cells, false, share) } else { alone::<I>(cells, share) };
    // Here a slice is a contiguous piece. The products of the other slices are factors of its first and last product.
    let (from, to) = piece(&part, share);
    let g = scaled::<A, N>(Vector::cast_from(grad[part.cell]), how.steps);
    let own = if comptime!(share.slices > 1) {
        walk::<T, A, I, N>(&ones::<A, N>(), cells, &part, values, before, from, to, false, how.steps)
    } else {
        ones::<A, N>()
    };
    let around = products_of_others::<A, N>(&own, part.slice, share);
    let (note, several) = (tail + 4 * part.note, part.chunks > 1);
    let last = with_chunks::<A, N>(&around.after, before, note + 2, several);
    if comptime!(how.of_values) {
        let factor = if comptime!(how.include_self) {
            Vector::<A, N>::cast_from(arr[part.cell])
        } else {
            Vector::<A, N>::new(A::from_int(1))
        };
        let lead = times::<A, N>(&g, &scaled::<A, N>(factor, how.steps));
        let first = with_chunks::<A, N>(&around.before, before, note, several);
        let lead = times::<A, N>(&first, &lead);
        walk::<T, A, I, N>(&lead, cells, &part, values, before, from, to, true, how.steps);
    }
    let mut x = last.x;
    let mut places = last.places;
    for back in from..to {
        let at = position::<I>(cells, &part, to - 1 - (back - from));
        let value = scaled::<A, N>(Vector::cast_from(values[at]), how.steps);
        let behind = Scaled::<A, N> { x, places };
        if comptime!(how.of_values) {
            let others = Scaled::<A, N> { x: before[2 * at], places: before[2 * at + 1] };
            out[at] = Vector::cast_from(unscaled::<A, N>(&times::<A, N>(&behind, &others), how.steps));
        }
        let next = times::<A, N>(&behind, &value);
        x = next.x;
        places = next.places;
    }
    if comptime!(!how.of_values) {
        // The first slice of the first chunk has now multiplied all values.
        if part.mine && part.first && part.slice == 0 {
            if part.start < part.end {
                let product = times::<A, N>(&Scaled::<A, N> { x, places }, &g);
                out[part.cell] = Vector::cast_from(unscaled::<A, N>(&product, how.steps));
            } else {
                out[part.cell] = grad[part.cell];
            }
        }
    }
}
