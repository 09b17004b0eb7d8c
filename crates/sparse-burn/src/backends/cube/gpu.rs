//! The kernels on a GPU: whether the device supports the arguments, and the launch.

use super::fallback::{bounds, gpu_or_host};
use super::launch::{binds, count, empty, holds, runs};
use super::{cumsum, extremum, put, reduce, rows, sddmm, sort, spgemm, structure};
use crate::backend::{Declined, Gpu};
use crate::carried::{PatternArrays, RowsView};
use crate::kernel::*;
use crate::options::{ConcatAxis, MergeRule};
use burn::backend::ops::{BoolTensorOps, FloatTensorOps, IntTensorOps};
use burn_cubecl::CubeBackend;
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;

/// The arguments, unless the device has no kernel for them.
fn supported<A>(args: A, supports: impl FnOnce(&A) -> bool) -> Result<A, Declined<A>> {
    if supports(&args) { Ok(args) } else { Err(Declined::NoKernel(args)) }
}

/// Whether the device can hold a matrix of `rows` rows, of the width and dtype of `like`.
fn holds_rows(like: &CubeTensor, rows: usize) -> bool {
    holds(like, rows.saturating_mul(like.meta.shape()[1]), like.dtype)
}

impl ValidateCoo<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<sparse_core::Result<bool>, Self> {
        if count(&self.indices) > 0 {
            let args = supported(self, |args| runs([&args.indices]))?;
            return match structure::validate_coo(args.indices.clone(), &args.shape) {
                Some(ascends) => Ok(Ok(ascends)),
                // The host finds the coordinate that the error names.
                None => Err(Declined::Quietly(args)),
            };
        }
        Err(Declined::Quietly(self))
    }
}

impl ValidateCsr<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<sparse_core::Result<()>, Self> {
        if count(&self.row_ptr) != self.rows + 1 || count(&self.col_idx) == 0 {
            return Err(Declined::Quietly(self));
        }
        let args = supported(self, |args| runs([&args.row_ptr, &args.col_idx]))?;
        if structure::validate_csr(args.row_ptr.clone(), args.col_idx.clone(), args.rows, args.cols) {
            return Ok(Ok(()));
        }
        Err(Declined::Quietly(args))
    }
}

impl Coalesce<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<(CubeTensor, CubeTensor, CubeTensor), Self> {
        let elements = count(&self.indices);
        if elements == 0 {
            return Err(Declined::Quietly(self));
        }
        // Pointers have one entry more than there are elements.
        let Self { indices, shape } =
            supported(self, |Self { indices, .. }| runs([indices]) && holds(indices, elements + 1, indices.dtype))?;
        let [indices, order, ptr] = structure::coalesce(indices, &shape);
        Ok((indices, order, ptr))
    }
}

impl GroupBy<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<(CubeTensor, CubeTensor), Self> {
        let Self { keys, groups } =
            supported(self, |Self { keys, groups }| runs([keys]) && holds(keys, groups + 1, keys.dtype))?;
        Ok(sort::group_by(keys, groups))
    }
}

impl Scan<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { counts } =
            supported(self, |Self { counts }| runs([counts]) && holds(counts, count(counts) + 1, counts.dtype))?;
        Ok(sort::scan_to_ptr(counts))
    }
}

impl ExpandPtr<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { ptr, nnz } = supported(self, |Self { ptr, nnz }| runs([ptr]) && holds(ptr, *nnz, ptr.dtype))?;
        Ok(sort::expand_ptr(ptr, nnz))
    }
}

impl Compress<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { ids, groups } =
            supported(self, |Self { ids, groups }| runs([ids]) && holds(ids, groups + 1, ids.dtype))?;
        Ok(sort::compress(ids, groups))
    }
}

impl MoveRows<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { values, fill, map } =
            supported(self, |Self { values, map, .. }| runs([values, map]) && holds_rows(values, count(map)))?;
        Ok(rows::move_rows(values, fill, map))
    }
}

impl PlaceRows<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { values, rows, size } = supported(self, |Self { values, rows, size }| {
            runs([values, rows])
                && binds(rows, reduce::BUFFERS)
                && holds(rows, size + 1, rows.dtype)
                && holds_rows(values, *size)
        })?;
        // Every row of the result is the sum of the one row, or of none, that belongs there.
        Ok(reduce::sum_rows(sort::compress(rows, size), None, None, values))
    }
}

impl SegmentSum<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { values, order, ptr } = supported(self, |Self { values, order, ptr }| {
            runs([values, ptr].into_iter().chain(order))
                && binds(ptr, reduce::BUFFERS)
                && holds_rows(values, count(ptr) - 1)
        })?;
        Ok(reduce::sum_rows(ptr, order, None, values))
    }
}

impl SegmentCumsum<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { values, order, ptr, reverse } = supported(self, |Self { values, order, ptr, .. }| {
            runs([values, ptr].into_iter().chain(order)) && holds(ptr, values.meta.shape()[0], ptr.dtype)
        })?;
        Ok(cumsum::segment_cumsum(values, order, ptr, reverse))
    }
}

impl Spmm<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { view, values, dense } = supported(self, |args| multiplies(&args.view, &args.values, &args.dense))?;
        let RowsView { ptr, idx, perm } = view;
        Ok(reduce::sum_rows(ptr, Some(idx), Some((values, perm)), dense))
    }
}

impl SpmmExtremum<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { extremum, view, values, dense } =
            supported(self, |args| multiplies(&args.view, &args.values, &args.dense))?;
        let (combine, RowsView { ptr, idx, perm }) = (reduce::Combine::Extremum(extremum), view);
        Ok(reduce::combine_rows(combine, ptr, Some(idx), Some((values, perm)), dense))
    }
}

/// Whether the device has a kernel for a sparse x dense product.
fn multiplies(view: &RowsView<CubeTensor>, values: &CubeTensor, dense: &CubeTensor) -> bool {
    runs(view.arrays().chain([values, dense]))
        && binds(&view.ptr, reduce::BUFFERS)
        && holds_rows(dense, count(&view.ptr) - 1)
}

impl ExtremumRowsBackward<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<(CubeTensor, Option<CubeTensor>), Self> {
        let Self { rows, view, reads, grad, need_values } =
            supported(self, |Self { rows, view, reads, grad, .. }| {
                runs(view.arrays().chain(reads).chain([grad, rows])) && binds(rows, reduce::BUFFERS)
            })?;
        let [values, dense, out] = reads;
        Ok(extremum::rows_backward(rows, (view.ptr, view.idx), [values, dense, out, grad], need_values))
    }
}

impl ExtremumColsBackward<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { view, reads, shares } = supported(self, |Self { view, reads, shares }| {
            runs(view.arrays().chain(reads).chain([shares])) && binds(shares, reduce::BUFFERS)
        })?;
        let [values, dense, out] = reads;
        Ok(extremum::cols_backward(view.ptr, view.idx, view.perm, [values, dense, out, shares]))
    }
}

impl Sddmm<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { rows, cols, x, y } =
            supported(self, |Self { rows, cols, x, y }| runs([rows, cols, x, y]) && holds(x, count(rows), x.dtype))?;
        Ok(sddmm::sddmm(rows, cols, x, y))
    }
}

/// A sparse matrix: its pattern by rows, and its values.
type Matrix = (RowsView<CubeTensor>, CubeTensor);

/// Whether the device has kernels for two sparse factors.
fn multiply((a, a_values): &Matrix, (b, b_values): &Matrix) -> bool {
    // The scan of the products has one entry more than there are elements.
    runs(a.arrays().chain(b.arrays()).chain([a_values, b_values]))
        && binds(&a.ptr, spgemm::BUFFERS)
        && holds(&a.idx, count(&a.idx) + 1, a.idx.dtype)
}

/// Whether the device has a kernel for values at the elements of `ptr` and `idx`, each from a row of two factors.
fn looks_up((ptr, idx): &(CubeTensor, CubeTensor), a: &Matrix, b: &Matrix) -> bool {
    runs([ptr, idx]) && multiply(a, b) && holds(idx, count(idx), a.1.dtype)
}

impl Spgemm<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<sparse_core::Result<(RowsView<CubeTensor>, CubeTensor)>, Self> {
        let Self { a, b, cols } = supported(self, |args| multiply(&args.a, &args.b))?;
        let Some((ptr, idx)) = spgemm::pattern(&a.0, &b.0, cols) else {
            return Err(Declined::NoKernel(Self { a, b, cols }));
        };
        let values = spgemm::values(&ptr, &idx, a, b);
        Ok(Ok((RowsView { ptr, idx, perm: None }, values)))
    }
}

impl SpgemmValues<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { c: (ptr, idx), a, b, .. } = supported(self, |args| looks_up(&args.c, &args.a, &args.b))?;
        Ok(spgemm::values(&ptr, &idx, a, b))
    }
}

impl SpgemmSampled<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { mask: (ptr, idx), x, y, .. } = supported(self, |args| looks_up(&args.mask, &args.x, &args.y))?;
        Ok(spgemm::sampled(&ptr, &idx, x, y))
    }
}

impl Merge<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<(PatternArrays<CubeTensor>, CubeTensor, CubeTensor), Self> {
        let Self { rule, a, b } = supported(self, |args| merges(&args.a, &args.b))?;
        let [nnz_a, nnz_b] = [&a, &b].map(elements);
        if nnz_a == 0 || nnz_b == 0 {
            // The result is the other side, or has no elements.
            let union = rule == MergeRule::Union;
            let total = if union { nnz_a + nnz_b } else { 0 };
            let (all, none) = (structure::positions(total, indices(&a)), structure::missing(total, indices(&a)));
            let (map_a, map_b) = if nnz_a == 0 { (none, all) } else { (all, none) };
            return Ok((if (nnz_a == 0) == union { b } else { a }, map_a, map_b));
        }
        let Some((first, ptr, [map_a, map_b])) = structure::merge(rule, &side(a.clone()), &side(b.clone())) else {
            return Err(Declined::NoKernel(Self { rule, a, b }));
        };
        let pattern = match ptr {
            None => PatternArrays::Coo(first),
            Some(ptr) => PatternArrays::Csr(ptr, first),
        };
        Ok((pattern, map_a, map_b))
    }
}

impl Locate<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { a, b } = supported(self, |args| merges(&args.a, &args.b))?;
        if elements(&a) == 0 || elements(&b) == 0 {
            return Ok(structure::missing(elements(&a), indices(&a)));
        }
        Ok(structure::locate(&side(a), &side(b)))
    }
}

impl ConcatPatterns<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<(PatternArrays<CubeTensor>, Option<CubeTensor>), Self> {
        let Self { parts, axis } = supported(self, joins)?;
        let coo = |part| if let PatternArrays::Coo(indices) = part { Some(indices) } else { None };
        let csr = |part| if let PatternArrays::Csr(ptr, col) = part { Some((ptr, col)) } else { None };
        if let ConcatAxis::Coo { axis, offsets, merge } = axis {
            let parts: Vec<CubeTensor> = parts.into_iter().filter_map(coo).collect();
            let (indices, map) = structure::concat_coo(&parts, axis, &offsets, merge);
            return Ok((PatternArrays::Coo(indices), map));
        }
        let parts: Vec<(CubeTensor, CubeTensor)> = parts.into_iter().filter_map(csr).collect();
        let (ptr, col, map) = structure::concat_csr(&parts, &axis);
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

impl ZipRows<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { op, values, fills, maps } = supported(self, |Self { values, maps, .. }| {
            let rows = maps[0].as_ref().map_or(values[0].meta.shape()[0], count);
            runs(values.iter().chain(maps.iter().flatten())) && holds_rows(&values[0], rows)
        })?;
        let ([a, b], [fill_a, fill_b], [map_a, map_b]) = (values, fills, maps);
        Ok(rows::zip_rows(op, (a, fill_a, map_a), (b, fill_b, map_b)))
    }
}

impl UnionZip<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<(PatternArrays<CubeTensor>, CubeTensor), Self> {
        let Self { op, patterns: [a, b], values, fills } = self;
        let (pattern, map_a, map_b) = gpu_or_host::<Merge<()>>(Merge { rule: MergeRule::Union, a, b });
        let maps = [Some(map_a), Some(map_b)];
        Ok((pattern, gpu_or_host::<ZipRows<()>>(ZipRows { op, values, fills, maps })))
    }
}

impl CheckIndices<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<sparse_core::Result<()>, Self> {
        if count(&self.index) == 0 {
            return Ok(Ok(()));
        }
        // Two numbers are read. The host reads the index only to find the entry that the error names.
        let (low, high) = bounds(self.index.clone());
        let size = self.size as i64;
        if low >= -size && high < size { Ok(Ok(())) } else { Err(Declined::Quietly(self)) }
    }
}

impl PutRows<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<(CubeTensor, Option<(CubeTensor, CubeTensor)>), Self> {
        let Self { put, arr, values, record } = self;
        let (target, reduce) = (put.target, put.reduce);
        if put::is_nothing(&target) {
            return Ok((arr, None));
        }
        if !(runs([&arr, &values, &put.index]) && put::sums(&arr, reduce) && put::holds_groups(&put)) {
            // The gradient on the device could not read a record of the host.
            return Err(Declined::NoKernel(Self { put, arr, values, record: false }));
        }
        let (order, ptr) = put.groups.unwrap_or_else(|| put::group(put.index, &target));
        let groups = (order.clone(), ptr.clone());
        let out = put::put(arr, values, groups, target, reduce, put.include_self);
        Ok((out, record.then_some((order, ptr))))
    }
}

impl PutBackward<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<[Option<CubeTensor>; 2], Self> {
        let Self { put, grad, record, reads, needs } = self;
        let (target, reduce) = (put.target, put.reduce);
        if put::is_nothing(&target) {
            return Ok(put::nothing_backward(grad, &target, needs));
        }
        let native = runs(reads.iter().flatten().chain([&grad, &put.index]))
            && binds(&grad, put::BUFFERS)
            && (record.is_some() || put::holds_groups(&put))
            && (!needs[1] || put::holds_gradients(&grad, &target, reduce));
        if !native {
            // The host cannot read a record of the device.
            return Err(Declined::NoKernel(Self { put, grad, record: None, reads, needs }));
        }
        let groups = record.or(put.groups).unwrap_or_else(|| put::group(put.index, &target));
        Ok(put::put_backward(grad, groups, reads, target, reduce, put.include_self, needs))
    }
}

impl Gather<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { x, index, target } = supported(self, |Self { x, index, target }| {
            runs([x, index]) && holds(x, put::values_len(target), x.dtype)
        })?;
        Ok(put::gather(x, index, target))
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

/// The coordinates of a pattern, or its columns if its rows are compressed.
fn indices(pattern: &PatternArrays<CubeTensor>) -> &CubeTensor {
    let (PatternArrays::Coo(indices) | PatternArrays::Csr(_, indices)) = pattern;
    indices
}

fn side(pattern: PatternArrays<CubeTensor>) -> structure::Side {
    match pattern {
        PatternArrays::Coo(indices) => structure::Side::coo(indices),
        PatternArrays::Csr(ptr, col) => structure::Side::csr(ptr, col),
    }
}

/// Number of elements of a pattern.
fn elements(pattern: &PatternArrays<CubeTensor>) -> usize {
    indices(pattern).meta.shape().last().copied().unwrap_or(0)
}

/// Whether the device has kernels for two patterns that are merged.
fn merges(a: &PatternArrays<CubeTensor>, b: &PatternArrays<CubeTensor>) -> bool {
    let like = indices(a);
    // The sums of a merge have one entry more than there are elements, and positions in a union are 32-bit.
    runs(a.arrays().chain(b.arrays()))
        && holds(like, elements(a).max(elements(b)) + 1, like.dtype)
        && elements(a) + elements(b) < i32::MAX as usize
}
