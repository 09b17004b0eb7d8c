//! Patterns: validation, coalescing, merging, joining. Each reads at most one number back: how large its result is.

use super::fallback::{bounds, last};
use super::launch::{arg, count, empty, flat, launch, stored};
use super::rows::move_rows;
use super::sort::{compress, expand_ptr, scan, sort};
use crate::options::{ConcatAxis, MergeRule};
use burn::backend::DType;
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;

#[allow(missing_docs)]
mod kernels {
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    /// 2 for a coordinate outside `shape`, 1 for one that does not ascend, else 0.
    #[cube(launch)]
    pub fn check_coo<I: Int>(
        indices: &Tensor<I>,
        shape: &Tensor<I>,
        codes: &mut Tensor<I>,
        dims: usize,
        nnz: usize,
        #[define(I)] _type: ElemType,
    ) {
        let k = ABSOLUTE_POS;
        if k >= nnz {
            terminate!();
        }
        let mut code = I::from_int(0);
        let mut outside = I::from_int(0);
        let mut decided = k == 0;
        for d in 0..dims {
            let index = indices[d * nnz + k];
            if index < I::from_int(0) || index >= shape[d] {
                outside = I::from_int(2);
            }
            if !decided {
                let before = indices[d * nnz + k - 1];
                if index > before {
                    decided = true;
                }
                if index < before {
                    decided = true;
                    code = I::from_int(1);
                }
            }
        }
        if !decided {
            code = I::from_int(1);
        }
        codes[k] = max(code, outside);
    }

    /// 1 wherever compressed rows break a rule.
    #[cube(launch)]
    pub fn check_csr<I: Int>(
        ptr: &Tensor<I>,
        col: &Tensor<I>,
        codes: &mut Tensor<I>,
        rows: usize,
        cols: InputScalar,
        nnz: usize,
        units: usize,
        #[define(I)] _type: ElemType,
    ) {
        let k = ABSOLUTE_POS;
        if k >= units {
            terminate!();
        }
        let mut code = I::from_int(0);
        let bad = I::from_int(1);
        if k <= rows {
            let here = ptr[k];
            if k == 0 && here != I::from_int(0) {
                code = bad;
            }
            if k == rows && here != I::cast_from(nnz) {
                code = bad;
            }
            if k > 0 && here < ptr[k - 1] {
                code = bad;
            }
        }
        if k < nnz {
            let here = col[k];
            if here < I::from_int(0) || here >= cols.get::<I>() {
                code = bad;
            }
            if k > 0 && here <= col[k - 1] {
                // Only where a row starts.
                let mut low = 0;
                let mut high = rows;
                while low < high {
                    let middle = (low + high) / 2;
                    if ptr[middle] < I::cast_from(k) {
                        low = middle + 1;
                    } else {
                        high = middle;
                    }
                }
                if ptr[low] != I::cast_from(k) {
                    code = bad;
                }
            }
        }
        codes[k] = code;
    }

    /// Whether element `k` of `[dims, n]` comes after element `j` of `[dims, m]`: 1 after, -1 before, 0 equal.
    #[cube]
    fn compare<I: Int>(a: &Tensor<I>, n: usize, k: usize, b: &Tensor<I>, m: usize, j: usize, dims: usize) -> i32 {
        let mut order = 0i32;
        for d in 0..dims {
            if order == 0 {
                let x = a[d * n + k];
                let y = b[d * m + j];
                if x > y {
                    order = 1;
                }
                if x < y {
                    order = -1;
                }
            }
        }
        order
    }

    /// For each element of `a` the number of elements of `b` before it (with `upper` also those equal), added to `at`, and
    /// whether `b` has it.
    #[cube(launch)]
    pub fn search_coo<I: Int>(
        a: &Tensor<I>,
        b: &Tensor<I>,
        at: &mut Tensor<I>,
        found: &mut Tensor<I>,
        n: usize,
        m: usize,
        dims: usize,
        #[comptime] upper: bool,
        #[define(I)] _type: ElemType,
    ) {
        let k = ABSOLUTE_POS;
        if k >= n {
            terminate!();
        }
        let mut low = 0;
        let mut high = m;
        while low < high {
            let middle = (low + high) / 2;
            let order = compare::<I>(a, n, k, b, m, middle, dims);
            let right = if upper { order >= 0 } else { order > 0 };
            if right {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        at[k] += I::cast_from(low);
        let mut has = I::from_int(0);
        if low < m && compare::<I>(a, n, k, b, m, low, dims) == 0 {
            has = I::from_int(1);
        }
        found[k] = has;
    }

    /// The same for compressed rows.
    #[cube(launch)]
    pub fn search_csr<I: Int>(
        rows: &Tensor<I>,
        col: &Tensor<I>,
        ptr: &Tensor<I>,
        other: &Tensor<I>,
        at: &mut Tensor<I>,
        found: &mut Tensor<I>,
        n: usize,
        #[define(I)] _type: ElemType,
    ) {
        let k = ABSOLUTE_POS;
        if k >= n {
            terminate!();
        }
        let row = usize::cast_from(rows[k]);
        let end = usize::cast_from(ptr[row + 1]);
        let mut low = usize::cast_from(ptr[row]);
        let mut high = end;
        while low < high {
            let middle = (low + high) / 2;
            if other[middle] < col[k] {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        at[k] = I::cast_from(low);
        let mut has = I::from_int(0);
        if low < end && other[low] == col[k] {
            has = I::from_int(1);
        }
        found[k] = has;
    }

    #[cube(launch)]
    pub fn positions<I: Int>(out: &mut Tensor<I>, units: usize, #[define(I)] _type: ElemType) {
        if ABSOLUTE_POS >= units {
            terminate!();
        }
        out[ABSOLUTE_POS] = I::cast_from(ABSOLUTE_POS);
    }

    /// `at` where found, else `missing`.
    #[cube(launch)]
    pub fn pick<I: Int>(
        at: &mut Tensor<I>,
        found: &Tensor<I>,
        n: usize,
        missing: InputScalar,
        #[define(I)] _type: ElemType,
    ) {
        if ABSOLUTE_POS >= n {
            terminate!();
        }
        if found[ABSOLUTE_POS] == I::from_int(0) {
            at[ABSOLUTE_POS] = missing.get::<I>();
        }
    }

    /// `found`, or its opposite, with a 0 behind: the scan of it ends with the sum.
    #[cube(launch)]
    pub fn keep<I: Int>(
        found: &Tensor<I>,
        out: &mut Tensor<I>,
        n: usize,
        #[comptime] missing: bool,
        #[define(I)] _type: ElemType,
    ) {
        if ABSOLUTE_POS > n {
            terminate!();
        }
        let mut value = I::from_int(0);
        if ABSOLUTE_POS < n {
            let one = if missing { I::from_int(1) - found[ABSOLUTE_POS] } else { found[ABSOLUTE_POS] };
            value = one;
        }
        out[ABSOLUTE_POS] = value;
    }

    pub const UNION_A: u32 = 0;
    pub const UNION_B: u32 = 1;
    pub const INTERSECTION: u32 = 2;

    /// Writes the elements of one side of a merge to their places.
    #[cube(launch)]
    pub fn place_merged<I: Int>(
        own: &Tensor<I>,
        at: &Tensor<I>,
        found: &Tensor<I>,
        sums: &Tensor<I>,
        coordinates: &mut Tensor<I>,
        own_map: &mut Tensor<I>,
        other_map: &mut Tensor<I>,
        n: usize,
        total: usize,
        dims: usize,
        missing: InputScalar,
        #[comptime] side: u32,
        #[define(I)] _type: ElemType,
    ) {
        let k = ABSOLUTE_POS;
        if k >= n {
            terminate!();
        }
        let here = found[k] != I::from_int(0);
        let written = if comptime!(side == 0) {
            true.runtime()
        } else if comptime!(side == 1) {
            !here
        } else {
            here
        };
        if written {
            let place = if comptime!(side == 0) {
                k + usize::cast_from(sums[usize::cast_from(at[k])])
            } else if comptime!(side == 1) {
                usize::cast_from(at[k]) + usize::cast_from(sums[k])
            } else {
                usize::cast_from(sums[k])
            };
            own_map[place] = I::cast_from(k);
            let mut other = missing.get::<I>();
            if here {
                other = at[k];
            }
            other_map[place] = other;
            for d in 0..dims {
                coordinates[d * total + place] = own[d * n + k];
            }
        }
    }

    /// `out[k] = left[k] + sums[right[k]]` (without `add`, `sums[right[k]]`).
    #[cube(launch)]
    pub fn merge_ptr<I: Int>(
        left: &Tensor<I>,
        right: &Tensor<I>,
        sums: &Tensor<I>,
        out: &mut Tensor<I>,
        n: usize,
        #[comptime] add: bool,
        #[define(I)] _type: ElemType,
    ) {
        if ABSOLUTE_POS >= n {
            terminate!();
        }
        let sum = sums[usize::cast_from(right[ABSOLUTE_POS])];
        out[ABSOLUTE_POS] = if add { left[ABSOLUTE_POS] + sum } else { sum };
    }

    /// `shift[g] += ptr[(g + first) * rows]`.
    #[cube(launch)]
    pub fn add_ptr<I: Int>(
        ptr: &Tensor<I>,
        shift: &mut Tensor<I>,
        rows: usize,
        first: usize,
        n: usize,
        #[define(I)] _type: ElemType,
    ) {
        if ABSOLUTE_POS >= n {
            terminate!();
        }
        shift[ABSOLUTE_POS] += ptr[(ABSOLUTE_POS + first) * rows];
    }

    /// Pointers of a part's rows among those of a batch.
    #[cube(launch)]
    pub fn place_ptr<I: Int>(
        ptr: &Tensor<I>,
        shift: &Tensor<I>,
        out: &mut Tensor<I>,
        rows: usize,
        height: usize,
        offset: usize,
        n: usize,
        #[define(I)] _type: ElemType,
    ) {
        let r = ABSOLUTE_POS;
        if r >= n {
            terminate!();
        }
        let b = r / rows;
        out[b * height + offset + r % rows + 1] = ptr[r + 1] + shift[b];
    }

    /// Elements of a part of compressed rows to their places: `k + shift[row / rows]`.
    #[cube(launch)]
    pub fn place_csr<I: Int>(
        row: &Tensor<I>,
        col: &Tensor<I>,
        shift: &Tensor<I>,
        out: &mut Tensor<I>,
        map: &mut Tensor<I>,
        rows: usize,
        offset: InputScalar,
        base: usize,
        n: usize,
        #[define(I)] _type: ElemType,
    ) {
        let k = ABSOLUTE_POS;
        if k >= n {
            terminate!();
        }
        let place = k + usize::cast_from(shift[usize::cast_from(row[k]) / rows]);
        out[place] = col[k] + offset.get::<I>();
        map[place] = I::cast_from(base + k);
    }

    /// Elements of a part of coordinates to their places: `k + at[k]`, or behind the parts before.
    #[cube(launch)]
    pub fn place_coo<I: Int>(
        own: &Tensor<I>,
        at: &Tensor<I>,
        out: &mut Tensor<I>,
        map: &mut Tensor<I>,
        n: usize,
        total: usize,
        dims: usize,
        axis: usize,
        offset: InputScalar,
        base: usize,
        #[comptime] merge: bool,
        #[define(I)] _type: ElemType,
    ) {
        let k = ABSOLUTE_POS;
        if k >= n {
            terminate!();
        }
        let place = if merge { k + usize::cast_from(at[k]) } else { k + base };
        for d in 0..dims {
            let mut index = own[d * n + k];
            if d == axis {
                index += offset.get::<I>();
            }
            out[d * total + place] = index;
        }
        map[place] = I::cast_from(base + k);
    }

    /// 1 where a sorted coordinate differs from the one before.
    #[cube(launch)]
    pub fn differs<I: Int>(
        indices: &Tensor<I>,
        order: &Tensor<I>,
        out: &mut Tensor<I>,
        n: usize,
        dims: usize,
        #[define(I)] _type: ElemType,
    ) {
        let k = ABSOLUTE_POS;
        if k >= n {
            terminate!();
        }
        let mut value = I::from_int(0);
        if k > 0 {
            let here = usize::cast_from(order[k]);
            let before = usize::cast_from(order[k - 1]);
            for d in 0..dims {
                if indices[d * n + here] != indices[d * n + before] {
                    value = I::from_int(1);
                }
            }
        }
        out[k] = value;
    }

    /// Group numbers from the scan of the differences, and each group's coordinates from its first element.
    #[cube(launch)]
    pub fn number<I: Int>(
        differs: &Tensor<I>,
        scan: &Tensor<I>,
        out: &mut Tensor<I>,
        n: usize,
        #[define(I)] _type: ElemType,
    ) {
        if ABSOLUTE_POS >= n {
            terminate!();
        }
        out[ABSOLUTE_POS] = scan[ABSOLUTE_POS] + differs[ABSOLUTE_POS];
    }

    #[cube(launch)]
    pub fn unique<I: Int>(
        indices: &Tensor<I>,
        order: &Tensor<I>,
        ptr: &Tensor<I>,
        out: &mut Tensor<I>,
        n: usize,
        groups: usize,
        dims: usize,
        #[define(I)] _type: ElemType,
    ) {
        if ABSOLUTE_POS >= groups {
            terminate!();
        }
        let first = usize::cast_from(order[usize::cast_from(ptr[ABSOLUTE_POS])]);
        for d in 0..dims {
            out[d * groups + ABSOLUTE_POS] = indices[d * n + first];
        }
    }
}

/// A number as a scalar of a tensor's type.
pub(super) fn number(value: usize, like: &CubeTensor) -> burn_cubecl::cubecl::prelude::InputScalar {
    burn_cubecl::cubecl::prelude::InputScalar::new(value as i64, stored(like.dtype))
}

/// Whether coordinates are valid, and whether they ascend; `None` where one is outside the shape.
pub(super) fn validate_coo(indices: CubeTensor, shape: &[usize]) -> Option<bool> {
    let (dims, nnz) = (indices.meta.shape()[0], indices.meta.shape()[1]);
    let indices = flat(indices);
    let limit = if indices.dtype == DType::I32 { i32::MAX as i64 } else { i64::MAX };
    let sizes: Vec<i64> = shape.iter().map(|&size| (size as i64).min(limit)).collect();
    let sizes = super::upload(&sizes, &indices);
    let codes = empty(&indices, [nnz], indices.dtype);
    launch!(check_coo, indices, nnz, (arg(&indices), arg(&sizes), arg(&codes), dims, nnz), stored(indices.dtype));
    match bounds(codes).1 {
        2 => None,
        code => Some(code == 0),
    }
}

/// Whether compressed rows are valid.
pub(super) fn validate_csr(ptr: CubeTensor, col: CubeTensor, rows: usize, cols: usize) -> bool {
    let nnz = count(&col);
    let (ptr, col) = (flat(ptr), flat(col));
    let units = nnz.max(rows + 1);
    let codes = empty(&ptr, [units], ptr.dtype);
    let limit = if ptr.dtype == DType::I32 { cols.min(i32::MAX as usize) } else { cols };
    let cols = number(limit, &ptr);
    launch!(check_csr, ptr, units, (arg(&ptr), arg(&col), arg(&codes), rows, cols, nnz, units), stored(ptr.dtype));
    bounds(codes).1 == 0
}

/// A pattern's arrays: coordinates `[dims, nnz]`, with row pointers and rows for compressed ones (whose coordinates are
/// the columns).
#[derive(Clone)]
pub(super) struct Side {
    coordinates: CubeTensor,
    rows: Option<[CubeTensor; 2]>,
    dims: usize,
    nnz: usize,
}

impl Side {
    pub(super) fn coo(indices: CubeTensor) -> Self {
        let (dims, nnz) = (indices.meta.shape()[0], indices.meta.shape()[1]);
        Self { coordinates: flat(indices), rows: None, dims, nnz }
    }

    pub(super) fn csr(ptr: CubeTensor, col: CubeTensor) -> Self {
        let nnz = count(&col);
        let rows = expand_ptr(ptr.clone(), nnz);
        Self { coordinates: flat(col), rows: Some([flat(ptr), rows]), dims: 1, nnz }
    }
}

/// A map from all of so many elements to themselves.
pub(super) fn positions(length: usize, like: &CubeTensor) -> CubeTensor {
    let out = empty(like, [length], like.dtype);
    if length > 0 {
        launch!(positions, like, length, (arg(&out), length), stored(like.dtype));
    }
    out
}

/// A map from so many elements to none of a pattern without any.
pub(super) fn missing(length: usize, like: &CubeTensor) -> CubeTensor {
    zeros(like.device.clone(), [length].into(), like.dtype)
}

/// Where each element of `a` stands or would stand in `b`, and whether it is there.
fn search(a: &Side, b: &Side) -> [CubeTensor; 2] {
    let like = &a.coordinates;
    let at = zeros(like.device.clone(), [a.nnz].into(), like.dtype);
    let found = empty(like, [a.nnz], like.dtype);
    match (&a.rows, &b.rows) {
        (Some([_, rows]), Some([ptr, _])) => launch!(
            search_csr,
            like,
            a.nnz,
            (arg(rows), arg(like), arg(ptr), arg(&b.coordinates), arg(&at), arg(&found), a.nnz),
            stored(like.dtype)
        ),
        _ => launch!(
            search_coo,
            like,
            a.nnz,
            (arg(like), arg(&b.coordinates), arg(&at), arg(&found), a.nnz, b.nnz, a.dims, false),
            stored(like.dtype)
        ),
    }
    [at, found]
}

pub(super) fn locate(a: &Side, b: &Side) -> CubeTensor {
    let [at, found] = search(a, b);
    launch!(pick, at, a.nnz, (arg(&at), arg(&found), a.nnz, number(b.nnz, &at)), stored(at.dtype));
    at
}

/// Coordinates and row pointers of the merged pattern, and the two maps.
pub(super) fn merge(rule: MergeRule, a: &Side, b: &Side) -> (CubeTensor, Option<CubeTensor>, [CubeTensor; 2]) {
    let like = &a.coordinates;
    let [at_a, found_a] = search(a, b);
    let union = rule == MergeRule::Union;
    let of_b = union.then(|| search(b, a));
    // Those of b that a has not, or those of a that b has.
    let (counted, n) = match &of_b {
        Some([_, found_b]) => (found_b, b.nnz),
        None => (&found_a, a.nnz),
    };
    let kept = empty(like, [n + 1], like.dtype);
    launch!(keep, like, n + 1, (arg(counted), arg(&kept), n, union), stored(like.dtype));
    let sums = scan(kept);
    let total = last(&sums) as usize + if union { a.nnz } else { 0 };
    let make = |length: usize| empty(like, [length], like.dtype);
    let (coordinates, map_a, map_b) = (make(a.dims * total), make(total), make(total));
    if total > 0 {
        let side = if union { kernels::UNION_A } else { kernels::INTERSECTION };
        launch!(
            place_merged,
            like,
            a.nnz,
            (
                arg(like),
                arg(&at_a),
                arg(&found_a),
                arg(&sums),
                arg(&coordinates),
                arg(&map_a),
                arg(&map_b),
                a.nnz,
                total,
                a.dims,
                number(b.nnz, like),
                side,
            ),
            stored(like.dtype)
        );
        if let Some([at_b, found_b]) = &of_b {
            launch!(
                place_merged,
                like,
                b.nnz,
                (
                    arg(&b.coordinates),
                    arg(at_b),
                    arg(found_b),
                    arg(&sums),
                    arg(&coordinates),
                    arg(&map_b),
                    arg(&map_a),
                    b.nnz,
                    total,
                    b.dims,
                    number(a.nnz, like),
                    kernels::UNION_B,
                ),
                stored(like.dtype)
            );
        }
    }
    let ptr = match (&a.rows, &b.rows) {
        (Some([ptr_a, _]), Some([ptr_b, _])) => {
            let n = count(ptr_a);
            let out = make(n);
            let right = if union { ptr_b } else { ptr_a };
            launch!(merge_ptr, like, n, (arg(ptr_a), arg(right), arg(&sums), arg(&out), n, union), stored(like.dtype));
            Some(out)
        }
        _ => None,
    };
    let shape = if ptr.is_some() { vec![total] } else { vec![a.dims, total] };
    (burn_cubecl::ops::reshape(coordinates, shape.into()), ptr, [map_a, map_b])
}

/// Row pointers and columns of parts of compressed rows, and the map.
pub(super) fn concat_csr(
    parts: &[(CubeTensor, CubeTensor)],
    axis: &ConcatAxis,
) -> (CubeTensor, CubeTensor, Option<CubeTensor>) {
    let like = &parts[0].0;
    let rows_of = |p: usize| count(&parts[p].0) - 1;
    // Groups (rows, or matrices of a batch) whose parts follow each other, and how many rows each part has in one.
    let (groups, heights): (usize, Vec<usize>) = match axis {
        ConcatAxis::CsrCols { .. } => (rows_of(0), vec![1; parts.len()]),
        ConcatAxis::CsrBatchRows { batch, rows } => (*batch, rows.clone()),
        _ => (1, (0..parts.len()).map(rows_of).collect()),
    };
    let offset = |p: usize| match axis {
        ConcatAxis::CsrCols { offsets } => offsets[p],
        _ => 0,
    };
    let nnz: usize = parts.iter().map(|(_, col)| count(col)).sum();
    let zero = |length: usize| zeros(like.device.clone(), [length].into(), like.dtype);
    let columns = matches!(axis, ConcatAxis::CsrCols { .. });
    let height: usize = heights.iter().sum();
    let out_ptr = zero(if columns { groups + 1 } else { groups * height + 1 });
    let (out, map) = (empty(like, [nnz], like.dtype), empty(like, [nnz], like.dtype));
    let (mut base, mut above) = (0, 0);
    for (p, (ptr, col)) in parts.iter().enumerate() {
        let (ptr, n) = (flat(ptr.clone()), count(col));
        if columns {
            launch!(add_ptr, like, groups + 1, (arg(&ptr), arg(&out_ptr), 1, 0, groups + 1), stored(like.dtype));
        }
        let shift = zero(groups);
        for (q, (other, _)) in parts.iter().enumerate().filter(|&(q, _)| q != p && groups > 0) {
            let other = flat(other.clone());
            launch!(
                add_ptr,
                like,
                groups,
                (arg(&other), arg(&shift), heights[q], usize::from(q < p), groups),
                stored(like.dtype)
            );
        }
        let rows = heights[p] * groups;
        if !columns && rows > 0 {
            launch!(
                place_ptr,
                like,
                rows,
                (arg(&ptr), arg(&shift), arg(&out_ptr), heights[p], height, above, rows),
                stored(like.dtype)
            );
        }
        if n > 0 {
            let (row, col) = (expand_ptr(ptr, n), flat(col.clone()));
            launch!(
                place_csr,
                like,
                n,
                (arg(&row), arg(&col), arg(&shift), arg(&out), arg(&map), heights[p], number(offset(p), like), base, n,),
                stored(like.dtype)
            );
        }
        base += n;
        above += heights[p];
    }
    let stays = matches!(axis, ConcatAxis::CsrRows);
    (out_ptr, out, (!stays).then_some(map))
}

/// Coordinates of parts along a sparse axis, and the map.
pub(super) fn concat_coo(
    parts: &[CubeTensor],
    axis: usize,
    offsets: &[usize],
    merge: bool,
) -> (CubeTensor, Option<CubeTensor>) {
    let like = &parts[0];
    let dims = like.meta.shape()[0];
    let merge = merge && axis > 0 && parts.len() > 1;
    let parts: Vec<CubeTensor> = parts.iter().cloned().map(flat).collect();
    let nnz_of = |part: &CubeTensor| part.meta.shape()[1];
    let total: usize = parts.iter().map(nnz_of).sum();
    let (out, map) = (empty(like, [dims, total], like.dtype), empty(like, [total], like.dtype));
    let mut base = 0;
    for (p, part) in parts.iter().enumerate() {
        let n = nnz_of(part);
        if n == 0 {
            continue;
        }
        // What stands before each element: all of earlier parts up to its prefix, of later ones those below it.
        let at = zeros(like.device.clone(), [n].into(), like.dtype);
        if merge {
            let found = empty(like, [n], like.dtype);
            for (q, other) in parts.iter().enumerate().filter(|&(q, other)| q != p && nnz_of(other) > 0) {
                let m = nnz_of(other);
                launch!(
                    search_coo,
                    like,
                    n,
                    (arg(part), arg(other), arg(&at), arg(&found), n, m, axis, q < p),
                    stored(like.dtype)
                );
            }
        }
        launch!(
            place_coo,
            like,
            n,
            (arg(part), arg(&at), arg(&out), arg(&map), n, total, dims, axis, number(offsets[p], like), base, merge,),
            stored(like.dtype)
        );
        base += n;
    }
    (out, merge.then_some(map))
}

/// Unique coordinates in lexicographic order, and for each its old elements.
pub(super) fn coalesce(indices: CubeTensor, shape: &[usize]) -> [CubeTensor; 3] {
    let (dims, n) = (indices.meta.shape()[0], indices.meta.shape()[1]);
    let indices = flat(indices);
    let like = &indices;
    let row = |d: usize| {
        let row = burn_cubecl::ops::reshape(indices.clone(), [dims * n].into());
        let part = d * n..(d + 1) * n;
        flat(burn_cubecl::kernel::slice(row, std::slice::from_ref(&part)))
    };
    let column = |tensor: CubeTensor| burn_cubecl::ops::reshape(tensor, [n, 1].into());
    let follow = |values: CubeTensor, map: &CubeTensor| {
        let fill = zeros(like.device.clone(), [1, 1].into(), like.dtype);
        burn_cubecl::ops::reshape(move_rows(column(values), fill, map.clone()), [n].into())
    };
    // Least significant dimension first; a stable sort keeps what came before.
    let mut order: Option<CubeTensor> = None;
    for d in (0..dims).rev() {
        let keys = order.as_ref().map_or_else(|| row(d), |order| follow(row(d), order));
        let (_, positions) = sort(keys, shape[d]);
        order = Some(match order {
            None => positions,
            Some(order) => follow(order, &positions),
        });
    }
    let order = order.expect("at least one sparse dim");
    let differs = empty(like, [n], like.dtype);
    launch!(differs, like, n, (arg(like), arg(&order), arg(&differs), n, dims), stored(like.dtype));
    let (sums, ids) = (scan(differs.clone()), empty(like, [n], like.dtype));
    launch!(number, like, n, (arg(&differs), arg(&sums), arg(&ids), n), stored(like.dtype));
    let groups = last(&ids) as usize + 1;
    let ptr = compress(ids, groups);
    let out = empty(like, [dims, groups], like.dtype);
    launch!(unique, like, groups, (arg(like), arg(&order), arg(&ptr), arg(&out), n, groups, dims), stored(like.dtype));
    [out, order, ptr]
}
