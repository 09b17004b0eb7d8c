//! The kernels on a GPU: whether the device has what the arguments need, and the launch.

use super::fallback::{bounds, gpu_or_host};
use super::launch::{binds, count, empty, runs};
use super::{extremum, put, reduce, rows, sddmm, sort, spgemm, structure};
use crate::backend::{Declined, Gpu};
use crate::carried::{PatternArrays, RowsView};
use crate::kernel::*;
use crate::options::{ConcatAxis, MergeRule};
use burn::backend::ops::{BoolTensorOps, FloatTensorOps, IntTensorOps};
use burn_cubecl::CubeBackend;
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;

impl ValidateCoo<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<sparse_core::Result<bool>, Self> {
        if count(&self.indices) > 0 {
            if !runs([&self.indices]) {
                return Err(Declined::NoKernel(self));
            }
            if let Some(ascends) = structure::validate_coo(self.indices.clone(), &self.shape) {
                return Ok(Ok(ascends));
            }
        }
        // The host says which coordinate is wrong, and looks at patterns of nothing.
        Err(Declined::Quietly(self))
    }
}

impl ValidateCsr<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<sparse_core::Result<()>, Self> {
        let Self { row_ptr, col_idx, rows, cols, .. } = &self;
        if count(row_ptr) == rows + 1 && count(col_idx) > 0 {
            if !runs([row_ptr, col_idx]) {
                return Err(Declined::NoKernel(self));
            }
            if structure::validate_csr(row_ptr.clone(), col_idx.clone(), *rows, *cols) {
                return Ok(Ok(()));
            }
        }
        Err(Declined::Quietly(self))
    }
}

impl Coalesce<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<(CubeTensor, CubeTensor, CubeTensor), Self> {
        if count(&self.indices) == 0 {
            return Err(Declined::Quietly(self));
        }
        if !runs([&self.indices]) {
            return Err(Declined::NoKernel(self));
        }
        let [indices, order, ptr] = structure::coalesce(self.indices, &self.shape);
        Ok((indices, order, ptr))
    }
}

impl GroupBy<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<(CubeTensor, CubeTensor), Self> {
        if runs([&self.keys]) { Ok(sort::group_by(self.keys, self.groups)) } else { Err(Declined::NoKernel(self)) }
    }
}

impl Scan<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        if runs([&self.counts]) { Ok(sort::scan_to_ptr(self.counts)) } else { Err(Declined::NoKernel(self)) }
    }
}

impl ExpandPtr<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        if runs([&self.ptr]) { Ok(sort::expand_ptr(self.ptr, self.nnz)) } else { Err(Declined::NoKernel(self)) }
    }
}

impl Compress<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        if runs([&self.ids]) { Ok(sort::compress(self.ids, self.groups)) } else { Err(Declined::NoKernel(self)) }
    }
}

impl MoveRows<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        if runs([&self.values, &self.map]) && addressable(count(&self.map), &self.values) {
            Ok(rows::move_rows(self.values, self.fill, self.map))
        } else {
            Err(Declined::NoKernel(self))
        }
    }
}

impl SegmentSum<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { values, ptr, .. } = &self;
        if runs([values, ptr]) && binds(ptr, reduce::BUFFERS) && addressable(count(ptr), values) {
            Ok(reduce::sum_rows(self.ptr, self.order, None, self.values))
        } else {
            Err(Declined::NoKernel(self))
        }
    }
}

impl Spmm<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        if !multiplies(&self.view, &self.values, &self.dense) {
            return Err(Declined::NoKernel(self));
        }
        let RowsView { ptr, idx, perm } = self.view;
        Ok(reduce::sum_rows(ptr, Some(idx), Some((self.values, perm)), self.dense))
    }
}

impl SpmmExtremum<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        if !multiplies(&self.view, &self.values, &self.dense) {
            return Err(Declined::NoKernel(self));
        }
        let (combine, RowsView { ptr, idx, perm }) = (reduce::Combine::Extremum(self.extremum), self.view);
        Ok(reduce::combine_rows(combine, ptr, Some(idx), Some((self.values, perm)), self.dense))
    }
}

/// Whether the device has a kernel for a sparse x dense product.
fn multiplies(view: &RowsView<CubeTensor>, values: &CubeTensor, dense: &CubeTensor) -> bool {
    runs([values, dense, &view.ptr]) && binds(&view.ptr, reduce::BUFFERS) && addressable(count(&view.ptr), dense)
}

impl ExtremumRowsBackward<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<(CubeTensor, Option<CubeTensor>), Self> {
        let Self { rows, view, reads, grad, need_values } = self;
        if !(runs(reads.iter().chain([&grad, &rows, &view.ptr])) && binds(&rows, reduce::BUFFERS)) {
            return Err(Declined::NoKernel(Self { rows, view, reads, grad, need_values }));
        }
        let [values, dense, out] = reads;
        Ok(extremum::rows_backward(rows, (view.ptr, view.idx), [values, dense, out, grad], need_values))
    }
}

impl ExtremumColsBackward<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { view, reads, shares } = self;
        if !(runs(reads.iter().chain([&shares, &view.ptr])) && binds(&view.ptr, reduce::BUFFERS)) {
            return Err(Declined::NoKernel(Self { view, reads, shares }));
        }
        let [values, dense, out] = reads;
        Ok(extremum::cols_backward(view.ptr, view.idx, view.perm, [values, dense, out, shares]))
    }
}

impl Sddmm<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        if runs([&self.rows, &self.x, &self.y]) {
            Ok(sddmm::sddmm(self.rows, self.cols, self.x, self.y))
        } else {
            Err(Declined::NoKernel(self))
        }
    }
}

impl Spgemm<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<sparse_core::Result<(RowsView<CubeTensor>, CubeTensor)>, Self> {
        let Self { a: (a, a_values), b: (b, b_values), cols } = self;
        if runs([&a_values, &b_values, &a.ptr])
            && binds(&a.ptr, spgemm::BUFFERS)
            && let Some((ptr, idx)) = spgemm::pattern(&a, &b, cols)
        {
            let values = spgemm::values(&ptr, &idx, a, a_values, b, b_values);
            return Ok(Ok((RowsView { ptr, idx, perm: None }, values)));
        }
        Err(Declined::NoKernel(Self { a: (a, a_values), b: (b, b_values), cols }))
    }
}

impl SpgemmValues<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { c: (ptr, idx), a, b, .. } = &self;
        if !(runs([&a.1, &b.1, ptr, idx]) && binds(ptr, spgemm::BUFFERS)) {
            return Err(Declined::NoKernel(self));
        }
        let Self { c: (ptr, idx), a: (a, a_values), b: (b, b_values), .. } = self;
        Ok(spgemm::values(&ptr, &idx, a, a_values, b, b_values))
    }
}

impl SpgemmSampled<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { mask: (ptr, idx), x, y, .. } = &self;
        if !(runs([&x.1, &y.1, ptr, idx]) && binds(ptr, spgemm::BUFFERS)) {
            return Err(Declined::NoKernel(self));
        }
        let Self { mask: (ptr, idx), x: (x, x_values), y: (y, y_values), .. } = self;
        Ok(spgemm::sampled(&ptr, &idx, x, x_values, y, y_values))
    }
}

impl Merge<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<(PatternArrays<CubeTensor>, CubeTensor, CubeTensor), Self> {
        let Some([nnz_a, nnz_b]) = sides(&self.a, &self.b) else { return Err(Declined::NoKernel(self)) };
        let Self { rule, a, b } = self;
        if nnz_a == 0 || nnz_b == 0 {
            // All of the other side, or nothing.
            let union = rule == MergeRule::Union;
            let total = if union { nnz_a + nnz_b } else { 0 };
            let (all, none) = (structure::positions(total, indices(&a)), structure::missing(total, indices(&a)));
            let (map_a, map_b) = if nnz_a == 0 { (none, all) } else { (all, none) };
            return Ok((if (nnz_a == 0) == union { b } else { a }, map_a, map_b));
        }
        let (first, ptr, [map_a, map_b]) = structure::merge(rule, &side(a), &side(b));
        let pattern = match ptr {
            None => PatternArrays::Coo(first),
            Some(ptr) => PatternArrays::Csr(ptr, first),
        };
        Ok((pattern, map_a, map_b))
    }
}

impl Locate<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        match sides(&self.a, &self.b) {
            None => Err(Declined::NoKernel(self)),
            Some([nnz_a, nnz_b]) if nnz_a == 0 || nnz_b == 0 => Ok(structure::missing(nnz_a, indices(&self.a))),
            Some(_) => Ok(structure::locate(&side(self.a), &side(self.b))),
        }
    }
}

impl ConcatPatterns<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<(PatternArrays<CubeTensor>, Option<CubeTensor>), Self> {
        joined(&self.parts, &self.axis).ok_or(Declined::NoKernel(self))
    }
}

impl Concat<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<(PatternArrays<CubeTensor>, CubeTensor), Self> {
        let Self { parts, values, axis } = self;
        let (pattern, map) = gpu_or_host::<ConcatPatterns<()>>(ConcatPatterns { parts, axis });
        let values = cat(values);
        let Some(map) = map else { return Ok((pattern, values)) };
        let fill = zeros(map.device.clone(), [1, values.meta.shape()[1]].into(), values.dtype);
        Ok((pattern, gpu_or_host::<MoveRows<()>>(MoveRows { values, fill, map })))
    }
}

impl ZipRows<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        if !runs(self.values.iter().chain(self.maps.iter().flatten())) {
            return Err(Declined::NoKernel(self));
        }
        let Self { op, values: [a, b], fills: [fill_a, fill_b], maps: [map_a, map_b] } = self;
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
        // Two numbers are read; the index itself only to say which entry is wrong.
        let (low, high) = bounds(self.index.clone());
        let size = self.size as i64;
        if low >= -size && high < size { Ok(Ok(())) } else { Err(Declined::Quietly(self)) }
    }
}

impl PutRows<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<(CubeTensor, Option<(CubeTensor, CubeTensor)>), Self> {
        let Self { put, arr, values, record } = self;
        let (target, reduce) = (put.target, put.reduce);
        if runs([&arr, &values, &put.index]) && put::launches(&target) && put::sums(&arr, reduce) {
            let (order, ptr) = put.groups.unwrap_or_else(|| put::group(put.index, &target));
            let groups = (order.clone(), ptr.clone());
            let out = put::put(arr, values, groups, target, reduce, put.include_self);
            return Ok((out, record.then_some((order, ptr))));
        }
        if put::is_nothing(&target) {
            // Nothing arrives, or there is nowhere to arrive.
            return Ok((arr, None));
        }
        // A record of the host's would be taken for one of the device's.
        Err(Declined::NoKernel(Self { put, arr, values, record: false }))
    }
}

impl PutBackward<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<[Option<CubeTensor>; 2], Self> {
        let Self { put, grad, record, reads, needs } = self;
        let (target, reduce) = (put.target, put.reduce);
        if runs([&grad, &put.index])
            && binds(&grad, put::BUFFERS)
            && put::launches(&target)
            && (!needs[1] || put::notes(&grad, &target, reduce))
        {
            let groups = record.or(put.groups).unwrap_or_else(|| put::group(put.index, &target));
            return Ok(put::put_backward(grad, groups, reads, target, reduce, put.include_self, needs));
        }
        if put::is_nothing(&target) {
            return Ok(put::nothing_backward(grad, &target, needs));
        }
        Err(Declined::NoKernel(Self { put, grad, record: None, reads, needs }))
    }
}

impl Gather<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        if runs([&self.x, &self.index]) && put::fits(&self.target) {
            Ok(put::gather(self.x, self.index, self.target))
        } else {
            Err(Declined::NoKernel(self))
        }
    }
}

/// Whether `rows` rows as wide as those of `like` can be addressed.
fn addressable(rows: usize, like: &CubeTensor) -> bool {
    rows.saturating_mul(like.meta.shape()[1]) < i32::MAX as usize
}

/// Rows one below the other.
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

/// The coordinates of a pattern, or its columns.
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

/// The numbers of elements of both patterns, where there are kernels for them.
fn sides(a: &PatternArrays<CubeTensor>, b: &PatternArrays<CubeTensor>) -> Option<[usize; 2]> {
    let runs = [a, b].into_iter().all(|pattern| match pattern {
        PatternArrays::Coo(indices) => runs([indices]),
        PatternArrays::Csr(ptr, col) => runs([ptr, col]),
    });
    let nnz = [a, b].map(|pattern| indices(pattern).meta.shape().last().copied().unwrap_or(0));
    // Positions in a union are 32-bit.
    (runs && nnz[0] + nnz[1] < i32::MAX as usize).then_some(nnz)
}

/// Whether 32-bit positions address this many elements together.
fn positions(counts: impl Iterator<Item = usize>) -> bool {
    counts.fold(0, usize::saturating_add) < i32::MAX as usize
}

/// The parts joined, where there are kernels for them and for what they come to.
fn joined(
    parts: &[PatternArrays<CubeTensor>],
    axis: &ConcatAxis,
) -> Option<(PatternArrays<CubeTensor>, Option<CubeTensor>)> {
    if let ConcatAxis::Coo { axis, offsets, merge } = axis {
        let parts = parts.iter().map(|part| match part {
            PatternArrays::Coo(indices) if runs([indices]) => Some(indices.clone()),
            _ => None,
        });
        let parts: Vec<CubeTensor> = parts.collect::<Option<_>>()?;
        if !positions(parts.iter().map(count)) {
            return None;
        }
        let (indices, order) = structure::concat_coo(&parts, *axis, offsets, *merge);
        return Some((PatternArrays::Coo(indices), order));
    }
    let parts = parts.iter().map(|part| match part {
        PatternArrays::Csr(ptr, col) if runs([ptr, col]) => Some((ptr.clone(), col.clone())),
        _ => None,
    });
    let parts: Vec<(CubeTensor, CubeTensor)> = parts.collect::<Option<_>>()?;
    // Rows side by side are no more than those of a part.
    let below = !matches!(axis, ConcatAxis::CsrCols { .. });
    let fits = positions(parts.iter().map(|(_, col)| count(col)));
    if !fits || (below && !positions(parts.iter().map(|(ptr, _)| count(ptr)))) {
        return None;
    }
    let (ptr, col, order) = structure::concat_csr(&parts, axis);
    Some((PatternArrays::Csr(ptr, col), order))
}
