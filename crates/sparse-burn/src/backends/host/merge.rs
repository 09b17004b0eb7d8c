//! Patterns that meet.

use super::{coordinates, ints};
use crate::carried::PatternArrays;
use crate::dtype::{Wide, with_index, with_size, with_wide};
use crate::host_tensor::{HostTensor, host_data};
use crate::kernel::{Concat, ConcatPatterns, Locate, Merge, UnionZip, ZipRows};
use crate::options::{ConcatAxis, MergeRule};
use burn::tensor::{DType, TensorData};
use sparse_core::zeroed;

impl PatternArrays<HostTensor> {
    fn dtype(&self) -> DType {
        let (Self::Coo(first) | Self::Csr(first, _)) = self;
        first.dtype()
    }

    /// Coordinates, and how many elements they are.
    fn coo<I: bytemuck::Pod>(&self) -> (&[I], usize) {
        let Self::Coo(indices) = self else { unreachable!("patterns of one layout") };
        (indices.slice(), indices.dims()[1])
    }

    /// Row pointers and columns.
    fn csr<I: bytemuck::Pod>(&self) -> (&[I], &[I]) {
        let Self::Csr(ptr, col) = self else { unreachable!("patterns of one layout") };
        (ptr.slice(), col.slice())
    }
}

impl Merge<HostTensor> {
    pub(crate) fn host(self) -> (PatternArrays<TensorData>, TensorData, TensorData) {
        let Self { rule, a, b } = self;
        let dtype = a.dtype();
        with_index!("merge", dtype, I => match &a {
            PatternArrays::Csr(..) => {
                let ((ptr_a, col_a), (ptr_b, col_b)) = (a.csr::<I>(), b.csr::<I>());
                let out = match rule {
                    MergeRule::Union => sparse_core::union_csr(ptr_a, col_a, ptr_b, col_b),
                    MergeRule::Intersection => sparse_core::intersect_csr(ptr_a, col_a, ptr_b, col_b),
                };
                let pattern = PatternArrays::Csr(ints(out.row_ptr, dtype), ints(out.col_idx, dtype));
                (pattern, ints(out.map_a, dtype), ints(out.map_b, dtype))
            }
            PatternArrays::Coo(indices) => {
                let dims = indices.dims()[0];
                let ((indices_a, nnz_a), (indices_b, nnz_b)) = (a.coo::<I>(), b.coo::<I>());
                let out = match rule {
                    MergeRule::Union => sparse_core::union_coo(dims, indices_a, nnz_a, indices_b, nnz_b),
                    MergeRule::Intersection => sparse_core::intersect_coo(dims, indices_a, nnz_a, indices_b, nnz_b),
                };
                let pattern = PatternArrays::Coo(host_data(out.indices, [dims, out.nnz], dtype));
                (pattern, ints(out.map_a, dtype), ints(out.map_b, dtype))
            }
        })
    }
}

impl Locate<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { a, b } = self;
        let dtype = a.dtype();
        with_index!("locate", dtype, I => {
            let map = match &a {
                PatternArrays::Csr(..) => {
                    let ((ptr_a, col_a), (ptr_b, col_b)) = (a.csr::<I>(), b.csr::<I>());
                    sparse_core::locate_csr(ptr_a, col_a, ptr_b, col_b)
                }
                PatternArrays::Coo(indices) => {
                    let ((indices_a, nnz_a), (indices_b, nnz_b)) = (a.coo::<I>(), b.coo::<I>());
                    sparse_core::locate_coo::<I>(indices.dims()[0], indices_a, nnz_a, indices_b, nnz_b)
                }
            };
            ints(map, dtype)
        })
    }
}

impl ConcatPatterns<HostTensor> {
    pub(crate) fn host(self) -> (PatternArrays<TensorData>, Option<TensorData>) {
        let Self { parts, axis } = self;
        let dtype = parts[0].dtype();
        with_index!("concat", dtype, I => {
            if let (ConcatAxis::Coo { axis, offsets, merge }, PatternArrays::Coo(first)) = (&axis, &parts[0]) {
                let lists: Vec<(&[I], usize)> = parts.iter().map(PatternArrays::coo).collect();
                let dims = first.dims()[0];
                let (indices, map) = sparse_core::concat_coo(*axis, offsets, &lists, dims, *merge);
                let pattern = PatternArrays::Coo(coordinates(indices, dims, dtype));
                return (pattern, map.map(|map| ints(map, dtype)));
            }
            let csr: Vec<(&[I], &[I])> = parts.iter().map(PatternArrays::csr).collect();
            let (ptr, col, map) = match axis {
                ConcatAxis::Coo { .. } => unreachable!("an axis of the parts' layout"),
                ConcatAxis::CsrRows => {
                    let (ptr, col) = sparse_core::concat_csr_rows(&csr);
                    (ptr, col, None)
                }
                ConcatAxis::CsrBatchRows { batch, rows } => {
                    let parts: Vec<_> = rows.iter().zip(&csr).map(|(&rows, &(ptr, col))| (rows, ptr, col)).collect();
                    let (ptr, col, map) = sparse_core::interleave_csr_rows(batch, &parts);
                    (ptr, col, Some(map))
                }
                ConcatAxis::CsrCols { offsets } => {
                    let (ptr, col, map) = sparse_core::concat_csr_cols(&csr, &offsets);
                    (ptr, col, Some(map))
                }
            };
            (PatternArrays::Csr(ints(ptr, dtype), ints(col, dtype)), map.map(|map| ints(map, dtype)))
        })
    }
}

impl Concat<HostTensor> {
    pub(crate) fn host(self) -> (PatternArrays<TensorData>, TensorData) {
        let Self { parts, values, axis } = self;
        let (block, dtype) = (values[0].dims()[1], values[0].dtype());
        with_size!("concat", dtype, T => {
            let lists: Vec<&[T]> = values.iter().map(HostTensor::slice::<T>).collect();
            if let (ConcatAxis::CsrCols { offsets }, 1) = (&axis, block) {
                let index = parts[0].dtype();
                return with_index!("concat", index, I => {
                    let parts: Vec<(&[I], &[I])> = parts.iter().map(PatternArrays::csr).collect();
                    let (ptr, col, out) = sparse_core::concat_csr_cols_values::<T, I>(&parts, &lists, offsets);
                    let rows = col.len();
                    (PatternArrays::Csr(ints(ptr, index), ints(col, index)), host_data(out, [rows, 1], dtype))
                });
            }
            let (pattern, map) = ConcatPatterns { parts, axis }.host();
            let joined = sparse_core::concat_slices(&lists);
            let values = match map.map(HostTensor::Data) {
                None => joined,
                Some(map) => with_index!("concat", map.dtype(), I => {
                    let mut out = zeroed::<T>(joined.len());
                    sparse_core::move_rows::<T, I>(&joined, block, &[], map.slice(), &mut out);
                    out
                }),
            };
            let (PatternArrays::Coo(last) | PatternArrays::Csr(_, last)) = &pattern;
            let rows = last.shape().last().copied().expect("index arrays have a dim of elements");
            (pattern, host_data(values, [rows, block], dtype))
        })
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
        let (index, dtype) = (a.dtype(), values[0].dtype());
        let ([values_a, values_b], [fill_a, fill_b]) = (values, fills);
        with_index!(op.name(), index, I => with_wide!(op.name(), dtype, T => {
            let ((ptr_a, col_a), (ptr_b, col_b)) = (a.csr::<I>(), b.csr::<I>());
            let (fill_a, fill_b) = (T::read(&fill_a)[0], T::read(&fill_b)[0]);
            let (values_a, values_b) = (T::read(&values_a), T::read(&values_b));
            let (ptr, col, out) = sparse_core::union_apply_csr::<T, I>(
                op, ptr_a, col_a, &values_a, fill_a, ptr_b, col_b, &values_b, fill_b,
            );
            let nnz = col.len();
            (PatternArrays::Csr(ints(ptr, index), ints(col, index)), T::data(out, vec![nnz, 1], dtype))
        }))
    }
}

impl ZipRows<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { op, values: [a, b], fills: [fill_a, fill_b], maps: [map_a, map_b] } = self;
        let (block, dtype) = (a.dims()[1], a.dtype());
        let rows = map_a.as_ref().map_or(a.dims()[0], |map| map.dims()[0]);
        let index = map_a.as_ref().or(map_b.as_ref()).map_or(DType::I32, HostTensor::dtype);
        with_index!(op.name(), index, I => with_wide!(op.name(), dtype, T => {
            let mut out = zeroed::<T>(rows * block);
            sparse_core::zip_rows::<T, I>(
                op,
                &T::read(&a),
                &T::read(&fill_a),
                map_a.as_ref().map(HostTensor::slice::<I>),
                &T::read(&b),
                &T::read(&fill_b),
                map_b.as_ref().map(HostTensor::slice::<I>),
                block,
                &mut out,
            );
            T::data(out, vec![rows, block], dtype)
        }))
    }
}
