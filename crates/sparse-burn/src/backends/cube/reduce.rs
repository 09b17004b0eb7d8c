//! Rows that are summed into rows: segment sums, and products with a dense matrix (sums with weights).

use super::launch::{accumulated, arg, count, empty, flat, launch, stored, vector_size};
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;

#[allow(missing_docs)]
mod kernels {
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    /// The vector that element `k` of a segment adds.
    #[cube]
    #[allow(clippy::too_many_arguments)]
    fn term<T: Numeric, A: Numeric, I: Int, N: Size>(
        k: usize,
        column: usize,
        columns: usize,
        idx: &Tensor<I>,
        perm: &Tensor<I>,
        weights: &Tensor<T>,
        dense: &Tensor<Vector<T, N>>,
        #[comptime] indexed: bool,
        #[comptime] weighted: bool,
        #[comptime] permuted: bool,
    ) -> Vector<A, N> {
        let row = if indexed { usize::cast_from(idx[k]) } else { k };
        let value = Vector::<A, N>::cast_from(dense[row * columns + column]);
        if weighted {
            let at = if permuted { usize::cast_from(perm[k]) } else { k };
            value * Vector::<A, N>::new(A::cast_from(weights[at]))
        } else {
            value
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
        out: &mut Tensor<Vector<T, N>>,
        columns: usize,
        units: usize,
        most: usize,
        #[comptime] indexed: bool,
        #[comptime] weighted: bool,
        #[comptime] permuted: bool,
        #[comptime] any: bool,
        #[define(T, A, I)] _types: [ElemType; 3],
    ) {
        if ABSOLUTE_POS >= units {
            terminate!();
        }
        let segment = ABSOLUTE_POS / columns;
        let column = ABSOLUTE_POS % columns;
        let start = usize::cast_from(ptr[segment]);
        let end = usize::cast_from(ptr[segment + 1]);
        if end - start > most {
            terminate!();
        }
        let mut sum = Vector::<A, N>::cast_from(0u32);
        for k in start..end {
            let term = term::<T, A, I, N>(k, column, columns, idx, perm, weights, dense, indexed, weighted, permuted);
            if any {
                sum = max(sum, term);
            } else {
                sum += term;
            }
        }
        out[ABSOLUTE_POS] = Vector::cast_from(sum);
    }

    /// A cube for each `group` rows of the result, one after the other, of which it computes those of more than `most`
    /// elements: `slices` parts of the segment side by side, then a tree whose shape depends on nothing but the launch.
    #[cube(launch)]
    pub fn long<T: Numeric, A: Numeric, I: Int, N: Size>(
        ptr: &Tensor<I>,
        idx: &Tensor<I>,
        perm: &Tensor<I>,
        weights: &Tensor<T>,
        dense: &Tensor<Vector<T, N>>,
        out: &mut Tensor<Vector<T, N>>,
        columns: usize,
        segments: usize,
        most: usize,
        group: usize,
        fold: usize,
        #[comptime] slices: usize,
        #[comptime] lanes: usize,
        #[comptime] indexed: bool,
        #[comptime] weighted: bool,
        #[comptime] permuted: bool,
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
            let own = given < segments && column < columns && end - start > most;
            let mut sum = Vector::<A, N>::cast_from(0u32);
            if own {
                let mut k = start + slice;
                while k < end {
                    sum +=
                        term::<T, A, I, N>(k, column, columns, idx, perm, weights, dense, indexed, weighted, permuted);
                    k += slices;
                }
            }
            // All units pass every barrier, whatever the rows: devices may insist.
            sums[unit] = sum;
            sync_cube();
            let mut half = fold;
            while half > 0 {
                if slice < half {
                    let other = sums[unit + half * lanes];
                    sums[unit] += other;
                }
                sync_cube();
                half /= 2;
            }
            if own && slice == 0 {
                out[segment * columns + column] = Vector::cast_from(sums[unit]);
            }
        }
    }
}

/// Units of a cube that share a long row.
const CUBE: usize = 256;

/// Elements that one unit sums at most: beyond, the units of a cube share the row. Rows of power-law graphs, and the segment of
/// a fill's gradient, are far longer than the mean.
const PATIENCE: usize = 512;

/// Rows that a cube looks through for long ones, where most are short.
const GROUP: usize = 32;

/// Row `s` of the result is the sum of rows `idx[k]` (or `k`) of `dense` for `k` in `ptr[s]..ptr[s + 1]`, times the weight
/// of `k`, which stands at `perm[k]` (or `k`). Of Bool, whether any holds.
pub(super) fn sum_rows(
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
    let (indexed, weighted) = (idx.is_some(), weights.is_some());
    let (weights, perm) = weights.unzip();
    let perm = perm.flatten();
    let permuted = perm.is_some();
    // What is not read is bound as something of its type.
    let idx = idx.map_or_else(|| ptr.clone(), flat);
    let perm = perm.map_or_else(|| ptr.clone(), flat);
    let weights = weights.map_or_else(|| dense.clone(), flat);
    let size = vector_size(width, &[&out]);
    let columns = width / size;
    let types = [stored(dtype), accumulated(dtype), stored(ptr.dtype)];
    let lanes = columns.next_power_of_two().min(CUBE);
    let slices = CUBE / lanes;
    let limit = out.client.properties().hardware.max_units_per_cube as usize;
    let cooperative = !dtype.is_bool() && slices > 1 && limit >= CUBE;
    // A cube for every row where most are long enough to give each slice several terms.
    let most_are_long = cooperative && terms / segments >= 4 * slices;
    let inputs = || (arg(&ptr), arg(&idx), arg(&perm), arg(&weights), arg(&dense), arg(&out));
    if !most_are_long {
        let units = segments * columns;
        let most = if cooperative { PATIENCE } else { terms };
        let ((p, i, o, w, d, r), any) = (inputs(), dtype.is_bool());
        let flags = (indexed, weighted, permuted);
        launch!(
            short,
            out,
            units,
            (size, p, i, o, w, d, r, columns, units, most, flags.0, flags.1, flags.2, any),
            types
        );
    }
    if most_are_long || (cooperative && terms > PATIENCE) {
        let (group, most) = if most_are_long { (1, 0) } else { (GROUP, PATIENCE) };
        let (p, i, o, w, d, r) = inputs();
        let (number, fold, flags) = (segments.div_ceil(group), slices / 2, (indexed, weighted, permuted));
        let sizes = (columns, segments, most, group, fold, slices, lanes);
        launch!(
            long,
            out,
            cubes(number, CUBE),
            (
                size, p, i, o, w, d, r, sizes.0, sizes.1, sizes.2, sizes.3, sizes.4, sizes.5, sizes.6, flags.0,
                flags.1, flags.2,
            ),
            types
        );
    }
    out
}
