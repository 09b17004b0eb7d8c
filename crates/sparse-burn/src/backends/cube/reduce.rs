//! Rows that become rows: segment sums, products with a dense matrix (sums with weights), and those with an extremum.

use super::extremum::kernels::{ANY, MATCHED, MAX, MIN, SHARES, SUM};
use super::launch::{accumulated, arg, count, empty, flat, launch, stored, vector_size};
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;
use sparse_core::Extremum;

#[allow(missing_docs)]
mod kernels {
    use super::super::extremum::kernels::{MATCHED, MAX, MIN, SHARES, combine, matched, product};
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    /// What a launch is compiled for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct How {
        pub rule: u32,
        pub indexed: bool,
        pub weighted: bool,
        pub permuted: bool,
        pub float: bool,
    }

    /// The vector that element `k` of a segment adds. `own` has rows of the result's shape, `other` too where gradients
    /// are shared, else the shape of `dense`.
    #[cube]
    #[allow(clippy::too_many_arguments)]
    fn term<T: Numeric, A: Numeric, I: Int, N: Size>(
        k: usize,
        at: usize,
        column: usize,
        columns: usize,
        idx: &Tensor<I>,
        perm: &Tensor<I>,
        weights: &Tensor<T>,
        dense: &Tensor<Vector<T, N>>,
        own: &Tensor<Vector<T, N>>,
        other: &Tensor<Vector<T, N>>,
        #[comptime] how: How,
    ) -> Vector<A, N> {
        let row = if comptime!(how.indexed) { usize::cast_from(idx[k]) } else { k };
        let from = row * columns + column;
        let x = Vector::<A, N>::cast_from(dense[from]);
        if comptime!(how.weighted) {
            let place = if comptime!(how.permuted) { usize::cast_from(perm[k]) } else { k };
            let weight = Vector::<A, N>::new(A::cast_from(weights[place]));
            if comptime!(how.rule == MAX || how.rule == MIN) {
                product::<T, A, N>(weight, x)
            } else if comptime!(how.rule == SHARES) {
                let one = Vector::<A, N>::new(A::from_int(1));
                matched::<T, A, N>(weight, x, Vector::<A, N>::cast_from(own[at]), one)
            } else if comptime!(how.rule == MATCHED) {
                let result = Vector::<A, N>::cast_from(other[from]);
                matched::<T, A, N>(weight, Vector::<A, N>::cast_from(own[at]), result, x * weight)
            } else {
                x * weight
            }
        } else {
            x
        }
    }

    /// What is stored of a row that was combined to `acc`.
    #[cube]
    fn finish<T: Numeric, A: Numeric, N: Size>(
        acc: Vector<A, N>,
        at: usize,
        other: &Tensor<Vector<T, N>>,
        #[comptime] how: How,
    ) -> Vector<T, N> {
        if comptime!(how.rule == SHARES) {
            let ties = max(acc, Vector::<A, N>::new(A::from_int(1)));
            Vector::<T, N>::cast_from(Vector::<A, N>::cast_from(other[at]) / ties)
        } else {
            Vector::<T, N>::cast_from(acc)
        }
    }

    /// One unit for each vector of a row of the result, but for rows of more than `most` elements.
    #[cube(launch)]
    pub fn short<T: Numeric, A: Numeric, I: Int, N: Size>(
        ptr: &Tensor<I>,
        idx: &Tensor<I>,
        perm: &Tensor<I>,
        weights: &Tensor<T>,
        dense: &Tensor<Vector<T, N>>,
        own: &Tensor<Vector<T, N>>,
        other: &Tensor<Vector<T, N>>,
        out: &mut Tensor<Vector<T, N>>,
        columns: usize,
        units: usize,
        most: usize,
        #[comptime] how: How,
        #[define(T, A, I)] _types: [ElemType; 3],
    ) {
        if ABSOLUTE_POS >= units {
            terminate!();
        }
        let at = ABSOLUTE_POS;
        let segment = at / columns;
        let column = at % columns;
        let start = usize::cast_from(ptr[segment]);
        let end = usize::cast_from(ptr[segment + 1]);
        if end - start > most {
            terminate!();
        }
        let mut sum = Vector::<A, N>::cast_from(0u32);
        if comptime!(how.rule == MAX || how.rule == MIN) {
            // The first element counts twice, which does not matter; without any it is 0.
            if start < end {
                sum = term::<T, A, I, N>(start, at, column, columns, idx, perm, weights, dense, own, other, how);
            }
        }
        for k in start..end {
            let term = term::<T, A, I, N>(k, at, column, columns, idx, perm, weights, dense, own, other, how);
            sum = combine::<A, N>(sum, term, how.rule, how.float);
        }
        out[at] = finish::<T, A, N>(sum, at, other, how);
    }

    /// A cube for each `group` rows of the result, one after the other, of which it computes those of `least` elements
    /// and more: `slices` parts of the segment side by side, then a tree whose shape depends on nothing but the launch.
    #[cube(launch)]
    pub fn long<T: Numeric, A: Numeric, I: Int, N: Size>(
        ptr: &Tensor<I>,
        idx: &Tensor<I>,
        perm: &Tensor<I>,
        weights: &Tensor<T>,
        dense: &Tensor<Vector<T, N>>,
        own: &Tensor<Vector<T, N>>,
        other: &Tensor<Vector<T, N>>,
        out: &mut Tensor<Vector<T, N>>,
        columns: usize,
        segments: usize,
        least: usize,
        group: usize,
        fold: usize,
        #[comptime] slices: usize,
        #[comptime] lanes: usize,
        #[comptime] how: How,
        #[define(T, A, I)] _types: [ElemType; 3],
    ) {
        let mut sums = Shared::<[Vector<A, N>]>::new_slice(slices * lanes);
        let unit = UNIT_POS as usize;
        let slice = unit / lanes;
        let column = unit % lanes;
        for member in 0..group {
            let given = CUBE_POS * group + member;
            let segment = min(given, segments - 1);
            let start = usize::cast_from(ptr[segment]);
            let end = usize::cast_from(ptr[segment + 1]);
            let mine = given < segments && column < columns && end - start >= least;
            let at = segment * columns + min(column, columns - 1);
            let mut sum = Vector::<A, N>::cast_from(0u32);
            if mine && start < end {
                if comptime!(how.rule == MAX || how.rule == MIN) {
                    // What combines to itself: slices without an element of their own have this one.
                    sum = term::<T, A, I, N>(start, at, column, columns, idx, perm, weights, dense, own, other, how);
                }
                let mut k = start + slice;
                while k < end {
                    let term = term::<T, A, I, N>(k, at, column, columns, idx, perm, weights, dense, own, other, how);
                    sum = combine::<A, N>(sum, term, how.rule, how.float);
                    k += slices;
                }
            }
            // All units pass every barrier, whatever the rows: devices may insist.
            sums[unit] = sum;
            sync_cube();
            let mut half = fold;
            while half > 0 {
                if slice < half {
                    let theirs = sums[unit + half * lanes];
                    sums[unit] = combine::<A, N>(sums[unit], theirs, how.rule, how.float);
                }
                sync_cube();
                half /= 2;
            }
            if mine && slice == 0 {
                out[at] = finish::<T, A, N>(sums[unit], at, other, how);
            }
        }
    }
}

/// Buffers that the kernels bind.
pub(super) const BUFFERS: usize = 8;

/// Units of a cube that share a long row.
const CUBE: usize = 256;

/// Elements that one unit sums at most: beyond, the units of a cube share the row. Rows of power-law graphs, and the
/// segment of a fill's gradient, are far longer than the mean.
const PATIENCE: usize = 512;

/// Rows that a cube looks through for long ones, where most are short.
const GROUP: usize = 32;

/// How the terms of a row become one.
pub(super) enum Combine {
    /// They are added. Of Bool, whether any holds.
    Sum,
    /// The largest or smallest; NaN wins, and none gives 0.
    Extremum(Extremum),
    /// Those that are equal to the result `out` are counted, and the gradient `grad` divided by their number.
    Shares { out: CubeTensor, grad: CubeTensor },
    /// Those are added whose weight times the row's own `dense` is the element of `out` that stands where the term
    /// does.
    Matched { dense: CubeTensor, out: CubeTensor },
}

/// Row `s` of the result is the sum of rows `idx[k]` (or `k`) of `dense` for `k` in `ptr[s]..ptr[s + 1]`, times the
/// weight of `k`, which stands at `perm[k]` (or `k`). Of Bool, whether any holds.
pub(super) fn sum_rows(
    ptr: CubeTensor,
    idx: Option<CubeTensor>,
    weights: Option<(CubeTensor, Option<CubeTensor>)>,
    dense: CubeTensor,
) -> CubeTensor {
    combine_rows(Combine::Sum, ptr, idx, weights, dense)
}

/// The terms of [`sum_rows`], combined. All but a sum have weights.
pub(super) fn combine_rows(
    combine: Combine,
    ptr: CubeTensor,
    idx: Option<CubeTensor>,
    weights: Option<(CubeTensor, Option<CubeTensor>)>,
    dense: CubeTensor,
) -> CubeTensor {
    let (segments, width, dtype) = (count(&ptr) - 1, dense.meta.shape()[1], dense.dtype);
    let terms = idx.as_ref().map_or(dense.meta.shape()[0], count);
    if segments * width == 0 {
        return empty(&dense, [segments, width], dtype);
    }
    if terms == 0 {
        return zeros(dense.device.clone(), [segments, width].into(), dtype);
    }
    let (ptr, dense) = (flat(ptr), flat(dense));
    let out = empty(&dense, [segments, width], dtype);
    let (rule, own, other) = match combine {
        Combine::Sum if dtype.is_bool() => (ANY, None, None),
        Combine::Sum => (SUM, None, None),
        Combine::Extremum(Extremum::Max) => (MAX, None, None),
        Combine::Extremum(Extremum::Min) => (MIN, None, None),
        Combine::Shares { out, grad } => (SHARES, Some(out), Some(grad)),
        Combine::Matched { dense, out } => (MATCHED, Some(dense), Some(out)),
    };
    let (indexed, weighted) = (idx.is_some(), weights.is_some());
    let (weights, perm) = weights.unzip();
    let perm = perm.flatten();
    let how = kernels::How { rule, indexed, weighted, permuted: perm.is_some(), float: dtype.is_float() };
    // What is not read is bound as something of its type.
    let idx = idx.map_or_else(|| ptr.clone(), flat);
    let perm = perm.map_or_else(|| ptr.clone(), flat);
    let [weights, own, other] = [weights, own, other].map(|read| read.map_or_else(|| dense.clone(), flat));
    let size = vector_size(width, &[&out]);
    let columns = width / size;
    let types = [stored(dtype), accumulated(dtype), stored(ptr.dtype)];
    let lanes = columns.next_power_of_two().min(CUBE);
    let slices = CUBE / lanes;
    let limit = out.client.properties().hardware.max_units_per_cube as usize;
    let cooperative = !dtype.is_bool() && slices > 1 && limit >= CUBE;
    // A cube for every row where most are long enough to give each slice several terms.
    let most_are_long = cooperative && terms / segments >= 4 * slices;
    macro_rules! read {
        ($kernel:ident, [$($grid:tt)*], ($($size:expr),*)) => {
            launch!(
                $kernel,
                out,
                $($grid)*,
                (
                    size,
                    arg(&ptr),
                    arg(&idx),
                    arg(&perm),
                    arg(&weights),
                    arg(&dense),
                    arg(&own),
                    arg(&other),
                    arg(&out),
                    $($size,)*
                    how,
                ),
                types
            )
        };
    }
    if !most_are_long {
        let units = segments * columns;
        let most = if cooperative { PATIENCE } else { terms };
        read!(short, [units], (columns, units, most));
    }
    if most_are_long || (cooperative && terms > PATIENCE) {
        let (group, least) = if most_are_long { (1, 0) } else { (GROUP, PATIENCE + 1) };
        let number = segments.div_ceil(group);
        read!(long, [cubes(number, CUBE)], (columns, segments, least, group, slices / 2, slices, lanes));
    }
    out
}
