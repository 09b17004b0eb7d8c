//! Joins patterns along an axis. The new position of an element is its own plus the number of earlier elements in the
//! other parts.

use super::super::fallback::{gpu_or_host, supported};
use super::super::launch::{arg, count, empty, flat, holds, holds_rows, launch, number, runs, stored};
use super::super::sort::expand_ptr;
use super::search::{count_before, indices};
use crate::backend::Gpu;
use crate::kernel::{Concat, ConcatPatterns, MoveRows};
use crate::kernel_views::PatternArrays;
use crate::options::ConcatAxis;
use burn::backend::ops::{BoolTensorOps, FloatTensorOps, IntTensorOps};
use burn_cubecl::CubeBackend;
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;

#[allow(missing_docs)]
mod kernels {
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    /// `shift[g] += ptr[(g + first) * rows]`.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
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

    /// Moves a part's row pointers to their places in a batch.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
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

    /// Moves the elements of a part of compressed rows to their places: `k + shift[row / rows]`.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
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

    /// Moves the elements of a part of coordinates to their places: `k + at[k]` with `merge`, else `k + base`.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
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
}

impl ConcatPatterns<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<(PatternArrays<CubeTensor>, Option<CubeTensor>), Self> {
        let Self { parts, axis } = supported(self, joins)?;
        let coo = |part| if let PatternArrays::Coo(indices) = part { Some(indices) } else { None };
        let csr = |part| if let PatternArrays::Csr(ptr, col) = part { Some((ptr, col)) } else { None };
        if let ConcatAxis::Coo { axis, offsets, merge } = axis {
            let parts: Vec<CubeTensor> = parts.into_iter().filter_map(coo).collect();
            let (indices, map) = concat_coo(&parts, axis, &offsets, merge);
            return Ok((PatternArrays::Coo(indices), map));
        }
        let parts: Vec<(CubeTensor, CubeTensor)> = parts.into_iter().filter_map(csr).collect();
        let (ptr, col, map) = concat_csr(&parts, &axis);
        Ok((PatternArrays::Csr(ptr, col), map))
    }
}

/// Whether the device has kernels for the parts and can hold the result.
fn joins(args: &ConcatPatterns<CubeTensor>) -> bool {
    fn total<'a>(arrays: impl Iterator<Item = &'a CubeTensor>) -> usize {
        arrays.map(count).fold(0, usize::saturating_add)
    }
    let (parts, like) = (&args.parts[..], indices(&args.parts[0]));
    // If columns are joined, the result has as many rows as each part.
    let stacked = if matches!(args.axis, ConcatAxis::CsrCols { .. }) { &parts[..1] } else { parts };
    runs(parts.iter().flat_map(PatternArrays::arrays))
        && holds(like, total(parts.iter().map(indices)), like.dtype)
        && holds(like, total(stacked.iter().filter_map(|part| part.arrays().next())), like.dtype)
}

impl Concat<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<(PatternArrays<CubeTensor>, CubeTensor), Self> {
        let Self { parts, values, axis } = supported(self, |Self { values, .. }| {
            holds_rows(&values[0], values.iter().map(|part| part.meta.shape()[0]).sum())
        })?;
        let (pattern, map) = gpu_or_host::<ConcatPatterns<()>>(ConcatPatterns { parts, axis });
        let values = cat(values);
        let Some(map) = map else { return Ok((pattern, values)) };
        let fill = zeros(map.device.clone(), [1, values.meta.shape()[1]].into(), values.dtype);
        Ok((pattern, gpu_or_host::<MoveRows<()>>(MoveRows { values, fill, map })))
    }
}

/// The parts, one below the other.
fn cat(parts: Vec<CubeTensor>) -> CubeTensor {
    let rows: usize = parts.iter().map(|part| part.meta.shape()[0]).sum();
    let filled: Vec<CubeTensor> = parts.iter().filter(|part| count(part) > 0).cloned().collect();
    match &filled[..] {
        [] => empty(&parts[0], [rows, parts[0].meta.shape()[1]], parts[0].dtype),
        [one, ..] if one.dtype.is_float() => CubeBackend::float_cat(filled, 0),
        [one, ..] if one.dtype.is_bool() => CubeBackend::bool_cat(filled, 0),
        _ => CubeBackend::int_cat(filled, 0),
    }
}

/// Row pointers and columns of parts of compressed rows, and the map.
fn concat_csr(parts: &[(CubeTensor, CubeTensor)], axis: &ConcatAxis) -> (CubeTensor, CubeTensor, Option<CubeTensor>) {
    let like = &parts[0].0;
    let rows_of = |p: usize| count(&parts[p].0) - 1;
    // In each group (a row, or a matrix of a batch) the parts follow each other. The rows of each part in a group.
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
            launch!(add_ptr, ptr, groups + 1, (arg(&ptr), arg(&out_ptr), 1, 0, groups + 1), stored(like.dtype));
        }
        let shift = zero(groups);
        for (q, (other, _)) in parts.iter().enumerate().filter(|&(q, _)| q != p && groups > 0) {
            let other = flat(other.clone());
            launch!(
                add_ptr,
                other,
                groups,
                (arg(&other), arg(&shift), heights[q], usize::from(q < p), groups),
                stored(like.dtype)
            );
        }
        let rows = heights[p] * groups;
        if !columns && rows > 0 {
            launch!(
                place_ptr,
                [&ptr, &out_ptr],
                rows,
                (arg(&ptr), arg(&shift), arg(&out_ptr), heights[p], height, above, rows),
                stored(like.dtype)
            );
        }
        if n > 0 {
            let (row, col) = (expand_ptr(ptr, n), flat(col.clone()));
            let [r, c, s, o, m] = [&row, &col, &shift, &out, &map].map(arg);
            launch!(
                place_csr,
                [&out, &shift],
                n,
                (r, c, s, o, m, heights[p], number(offset(p), like), base, n),
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
fn concat_coo(parts: &[CubeTensor], axis: usize, offsets: &[usize], merge: bool) -> (CubeTensor, Option<CubeTensor>) {
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
        // Elements before each one: in earlier parts those up to its prefix, in later parts those below it.
        let at = zeros(like.device.clone(), [n].into(), like.dtype);
        if merge {
            for (q, other) in parts.iter().enumerate().filter(|&(q, other)| q != p && nnz_of(other) > 0) {
                count_before(part, other, &at, axis, q < p);
            }
        }
        launch!(
            place_coo,
            [part, &out],
            n,
            (arg(part), arg(&at), arg(&out), arg(&map), n, total, dims, axis, number(offsets[p], like), base, merge),
            stored(like.dtype)
        );
        base += n;
    }
    (out, merge.then_some(map))
}
