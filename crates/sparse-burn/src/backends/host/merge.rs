//! Merging and joining patterns.

use super::{coordinates, list, optional};
use crate::host_tensor::{Given, HostTensor};
use crate::kernel::{Concat, ConcatPatterns, Locate, Merge, UnionZip, ZipRows};
use crate::kernel_views::PatternArrays;
use crate::options::{ConcatAxis, MergeRule};
use burn::tensor::TensorData;
use sparse_core::dynamic::{self, Bits, DynMerged, Ids};

impl PatternArrays<HostTensor> {
    /// The coordinates, and the number of elements.
    fn coo(&self) -> (Ids<'_>, usize) {
        let Self::Coo(indices) = self else { unreachable!("patterns of one layout") };
        (indices.ids(), indices.dims()[1])
    }

    /// Row pointers and columns.
    fn csr(&self) -> (Ids<'_>, Ids<'_>) {
        let Self::Csr(ptr, col) = self else { unreachable!("patterns of one layout") };
        (ptr.ids(), col.ids())
    }
}

impl Merge<HostTensor> {
    pub(crate) fn host(self) -> (PatternArrays<TensorData>, TensorData, TensorData) {
        let Self { rule, a, b } = self;
        let (merged, dims) = match &a {
            PatternArrays::Csr(..) => {
                let merge = match rule {
                    MergeRule::Union => dynamic::union_csr,
                    MergeRule::Intersection => dynamic::intersect_csr,
                };
                (merge(a.csr(), b.csr()), 1)
            }
            PatternArrays::Coo(indices) => {
                let merge = match rule {
                    MergeRule::Union => dynamic::union_coo,
                    MergeRule::Intersection => dynamic::intersect_coo,
                };
                let (dims, (left, nnz_a), (right, nnz_b)) = (indices.dims()[0], a.coo(), b.coo());
                (merge(dims, left, nnz_a, right, nnz_b), dims)
            }
        };
        let DynMerged { row_ptr, indices, map_a, map_b } = merged;
        let pattern = match row_ptr {
            Some(row_ptr) => PatternArrays::Csr(list(row_ptr), list(indices)),
            None => {
                let dtype = super::index_dtype(&indices);
                PatternArrays::Coo(indices.data([dims, map_a.len()], dtype))
            }
        };
        (pattern, list(map_a), list(map_b))
    }
}

impl Locate<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { a, b } = self;
        list(match &a {
            PatternArrays::Csr(..) => dynamic::locate_csr(a.csr(), b.csr()),
            PatternArrays::Coo(indices) => {
                let ((left, nnz_a), (right, nnz_b)) = (a.coo(), b.coo());
                dynamic::locate_coo(indices.dims()[0], left, nnz_a, right, nnz_b)
            }
        })
    }
}

impl ConcatPatterns<HostTensor> {
    pub(crate) fn host(self) -> (PatternArrays<TensorData>, Option<TensorData>) {
        let Self { parts, axis } = self;
        if let (ConcatAxis::Coo { axis, offsets, merge }, PatternArrays::Coo(first)) = (&axis, &parts[0]) {
            let lists: Vec<(Ids<'_>, usize)> = parts.iter().map(PatternArrays::coo).collect();
            let dims = first.dims()[0];
            let (indices, map) = dynamic::concat_coo(*axis, offsets, &lists, dims, *merge);
            return (PatternArrays::Coo(coordinates(indices, dims)), map.map(list));
        }
        let csr: Vec<(Ids<'_>, Ids<'_>)> = parts.iter().map(PatternArrays::csr).collect();
        let (ptr, col, map) = match axis {
            ConcatAxis::Coo { .. } => unreachable!("an axis of the parts' layout"),
            ConcatAxis::CsrRows => {
                let (ptr, col) = dynamic::concat_csr_rows(&csr);
                (ptr, col, None)
            }
            ConcatAxis::CsrBatchRows { batch, rows } => {
                let (ptr, col, map) = dynamic::interleave_csr_rows(batch, &rows, &csr);
                (ptr, col, Some(map))
            }
            ConcatAxis::CsrCols { offsets } => {
                let (ptr, col, map) = dynamic::concat_csr_cols(&csr, &offsets);
                (ptr, col, Some(map))
            }
        };
        (PatternArrays::Csr(list(ptr), list(col)), map.map(list))
    }
}

impl Concat<HostTensor> {
    pub(crate) fn host(self) -> (PatternArrays<TensorData>, TensorData) {
        let Self { parts, values, axis } = self;
        let (block, dtype) = (values[0].dims()[1], values[0].dtype());
        let lists: Vec<Bits<'_>> = values.iter().map(HostTensor::bits).collect();
        if let (ConcatAxis::CsrCols { offsets }, 1) = (&axis, block) {
            let parts: Vec<(Ids<'_>, Ids<'_>)> = parts.iter().map(PatternArrays::csr).collect();
            let (ptr, col, out) = dynamic::concat_csr_cols_values(&parts, &lists, offsets);
            let rows = col.len();
            return (PatternArrays::Csr(list(ptr), list(col)), out.data([rows, 1], dtype));
        }
        if let (ConcatAxis::Coo { axis, offsets, merge }, PatternArrays::Coo(first), 1) = (&axis, &parts[0], block) {
            let patterns: Vec<(Ids<'_>, usize)> = parts.iter().map(PatternArrays::coo).collect();
            let dims = first.dims()[0];
            let (indices, out) = dynamic::concat_coo_values(*axis, offsets, &patterns, &lists, dims, *merge);
            let rows = indices.len() / dims;
            return (PatternArrays::Coo(coordinates(indices, dims)), out.data([rows, 1], dtype));
        }
        let (pattern, map) = ConcatPatterns { parts, axis }.host();
        let values = match map.map(HostTensor::Data) {
            None => dynamic::concat_slices(&lists),
            Some(map) => dynamic::join_rows(&lists, block, map.ids()),
        };
        let (PatternArrays::Coo(last) | PatternArrays::Csr(_, last)) = &pattern;
        let rows = last.shape().last().copied().expect("index arrays have a dim of elements");
        (pattern, values.data([rows, block], dtype))
    }
}

impl UnionZip<HostTensor> {
    pub(crate) fn host(self) -> (PatternArrays<TensorData>, TensorData) {
        let Self { op, patterns: [a, b], values, fills } = self;
        if matches!(a, PatternArrays::Coo(..)) || values[0].dims()[1] != 1 {
            let (pattern, map_a, map_b) = Merge { rule: MergeRule::Union, a, b }.host();
            let maps = [map_a, map_b].map(|map| Some(HostTensor::Data(map)));
            return (pattern, ZipRows { op, values, fills, maps }.host());
        }
        let left = (a.csr(), values[0].elements(), fills[0].elements());
        let right = (b.csr(), values[1].elements(), fills[1].elements());
        let (ptr, col, out) = dynamic::union_apply_csr(op, left, right);
        let nnz = col.len();
        (PatternArrays::Csr(list(ptr), list(col)), out.data([nnz, 1], values[0].dtype()))
    }
}

impl ZipRows<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { op, values: [a, b], fills: [fill_a, fill_b], maps: [map_a, map_b] } = self;
        let (block, dtype) = (a.dims()[1], a.dtype());
        let rows = map_a.as_ref().map_or(a.dims()[0], |map| map.dims()[0]);
        let left = (a.elements(), fill_a.elements(), optional(&map_a));
        let right = (b.elements(), fill_b.elements(), optional(&map_b));
        dynamic::zip_rows(op, left, right, block, rows).data([rows, block], dtype)
    }
}
