//! Patterns that meet.

use super::{ints, optional, write_ints};
use crate::backend::{ConcatAxis, MergeRule};
use crate::dtype::{Wide, with_index, with_size, with_wide};
use crate::host_tensor::host_data;
use crate::{AnyTensor, HostAccess, HostTensor, Joined, Merged, OptionalInt, PatternArrays, PatternList, TensorList};
use burn::backend::TensorMetadata;
use burn::backend::tensor::IntTensor;
use burn::tensor::DType;
use sparse_core::{BinaryOp, zeroed};

/// A pattern's arrays on the host: coordinates, or row pointers and columns.
struct Arrays {
    first: HostTensor,
    second: Option<HostTensor>,
}

impl Arrays {
    fn dtype(&self) -> DType {
        self.first.dtype()
    }
    /// Sparse dims and nnz of coordinates.
    fn coo(&self) -> (usize, usize) {
        (self.first.dims()[0], self.first.dims()[1])
    }
    fn csr<I: bytemuck::Pod>(&self) -> (&[I], &[I]) {
        (self.first.slice(), self.second.as_ref().expect("a CSR pattern").slice())
    }
}

fn read<B: HostAccess>(pattern: PatternArrays<B>) -> (Arrays, B::Device) {
    match pattern {
        PatternArrays::Coo(indices) => {
            let device = indices.device();
            (Arrays { first: ints::<B>(indices), second: None }, device)
        }
        PatternArrays::Csr(ptr, col) => {
            let device = ptr.device();
            (Arrays { first: ints::<B>(ptr), second: Some(ints::<B>(col)) }, device)
        }
    }
}

pub(crate) fn merge<B: HostAccess>(rule: MergeRule, a: PatternArrays<B>, b: PatternArrays<B>) -> Merged<B> {
    let ((a, device), (b, _)) = (read::<B>(a), read::<B>(b));
    let dtype = a.dtype();
    with_index!("merge", dtype, I => {
        let write = |list: Vec<I>, shape: &[usize]| write_ints::<B, I>(list, shape, dtype, &device);
        if a.second.is_some() {
            let ((ptr_a, col_a), (ptr_b, col_b)) = (a.csr::<I>(), b.csr::<I>());
            let out = match rule {
                MergeRule::Union => sparse_core::union_csr(ptr_a, col_a, ptr_b, col_b),
                MergeRule::Intersection => sparse_core::intersect_csr(ptr_a, col_a, ptr_b, col_b),
            };
            let (rows, nnz) = (out.row_ptr.len(), out.col_idx.len());
            Merged {
                pattern: PatternArrays::Csr(write(out.row_ptr, &[rows]), write(out.col_idx, &[nnz])),
                map_a: write(out.map_a, &[nnz]),
                map_b: write(out.map_b, &[nnz]),
            }
        } else {
            let ((dims, nnz_a), (_, nnz_b)) = (a.coo(), b.coo());
            let (a, b) = (a.first.slice::<I>(), b.first.slice::<I>());
            let out = match rule {
                MergeRule::Union => sparse_core::union_coo(dims, a, nnz_a, b, nnz_b),
                MergeRule::Intersection => sparse_core::intersect_coo(dims, a, nnz_a, b, nnz_b),
            };
            let nnz = out.nnz;
            Merged {
                pattern: PatternArrays::Coo(write(out.indices, &[dims, nnz])),
                map_a: write(out.map_a, &[nnz]),
                map_b: write(out.map_b, &[nnz]),
            }
        }
    })
}

pub(crate) fn locate<B: HostAccess>(a: PatternArrays<B>, b: PatternArrays<B>) -> IntTensor<B> {
    let ((a, device), (b, _)) = (read::<B>(a), read::<B>(b));
    let dtype = a.dtype();
    with_index!("locate", dtype, I => {
        let map = if a.second.is_some() {
            let ((ptr_a, col_a), (ptr_b, col_b)) = (a.csr::<I>(), b.csr::<I>());
            sparse_core::locate_csr(ptr_a, col_a, ptr_b, col_b)
        } else {
            let ((dims, nnz_a), (_, nnz_b)) = (a.coo(), b.coo());
            sparse_core::locate_coo::<I>(dims, a.first.slice(), nnz_a, b.first.slice(), nnz_b)
        };
        let nnz = map.len();
        write_ints::<B, I>(map, &[nnz], dtype, &device)
    })
}

pub(crate) fn concat_patterns<B: HostAccess>(parts: PatternList<B>, axis: ConcatAxis) -> Joined<B> {
    let (parts, devices): (Vec<Arrays>, Vec<B::Device>) = parts.0.into_iter().map(read::<B>).unzip();
    let (dtype, device) = (parts[0].dtype(), &devices[0]);
    with_index!("concat", dtype, I => {
        let write = |list: Vec<I>, shape: &[usize]| write_ints::<B, I>(list, shape, dtype, device);
        let optional = |map: Option<Vec<I>>| match map {
            None => OptionalInt::Identity,
            Some(map) => {
                let nnz = map.len();
                OptionalInt::By(write(map, &[nnz]))
            }
        };
        let csr: Vec<(&[I], &[I])> = match axis {
            ConcatAxis::Coo { .. } => vec![],
            _ => parts.iter().map(Arrays::csr::<I>).collect(),
        };
        let (ptr, col, map) = match axis {
            ConcatAxis::Coo { axis, offsets, merge } => {
                let lists: Vec<(&[I], usize)> = parts.iter().map(|part| (part.first.slice(), part.coo().1)).collect();
                let dims = parts[0].coo().0;
                let (indices, map) = sparse_core::concat_coo(axis, &offsets, &lists, dims, merge);
                let nnz = indices.len() / dims;
                return Joined { pattern: PatternArrays::Coo(write(indices, &[dims, nnz])), map: optional(map) };
            }
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
        let (rows, nnz) = (ptr.len(), col.len());
        Joined { pattern: PatternArrays::Csr(write(ptr, &[rows]), write(col, &[nnz])), map: optional(map) }
    })
}

pub(crate) fn concat<B: HostAccess>(
    parts: PatternList<B>,
    values: TensorList<B>,
    axis: ConcatAxis,
) -> (PatternArrays<B>, AnyTensor<B>) {
    let (dtype, device) = (values.0[0].dtype(), values.0[0].device());
    let values: Vec<HostTensor> = values.0.into_iter().map(B::to_host).collect();
    let block = values[0].dims()[1];
    with_size!("concat", dtype, T => {
        let lists: Vec<&[T]> = values.iter().map(HostTensor::slice::<T>).collect();
        let write = |list: Vec<T>, rows: usize| B::to_device(host_data(list, [rows, block], dtype), &device);
        if let (ConcatAxis::CsrCols { offsets }, 1) = (&axis, block) {
            let parts: Vec<Arrays> = parts.0.into_iter().map(|part| read::<B>(part).0).collect();
            let index = parts[0].dtype();
            return with_index!("concat", index, I => {
                let parts: Vec<(&[I], &[I])> = parts.iter().map(Arrays::csr::<I>).collect();
                let (ptr, col, out) = sparse_core::concat_csr_cols_values::<T, I>(&parts, &lists, offsets);
                let (rows, nnz) = (ptr.len(), col.len());
                let ptr = write_ints::<B, I>(ptr, &[rows], index, &device);
                let pattern = PatternArrays::Csr(ptr, write_ints::<B, I>(col, &[nnz], index, &device));
                (pattern, write(out, nnz))
            });
        }
        let Joined { pattern, map } = concat_patterns::<B>(parts, axis);
        let joined = sparse_core::concat_slices(&lists);
        let values = match optional::<B>(map) {
            None => joined,
            Some(map) => with_index!("concat", map.dtype(), I => {
                let mut out = zeroed::<T>(joined.len());
                sparse_core::move_rows::<T, I>(&joined, block, &[], map.slice(), &mut out);
                out
            }),
        };
        let rows = values.len().checked_div(block).unwrap_or_else(|| rows(&pattern));
        (pattern, write(values, rows))
    })
}

/// Number of elements of a pattern.
fn rows<B: HostAccess>(pattern: &PatternArrays<B>) -> usize {
    match pattern {
        PatternArrays::Coo(indices) => indices.shape()[1],
        PatternArrays::Csr(_, col) => col.shape()[0],
    }
}

pub(crate) fn union_zip<B: HostAccess>(
    op: BinaryOp,
    patterns: [PatternArrays<B>; 2],
    values: [AnyTensor<B>; 2],
    fills: [AnyTensor<B>; 2],
) -> (PatternArrays<B>, AnyTensor<B>) {
    let [a, b] = patterns;
    if !matches!(a, PatternArrays::Csr(..)) || values[0].dims()[1] != 1 {
        let Merged { pattern, map_a, map_b } = merge::<B>(MergeRule::Union, a, b);
        let out = zip_rows::<B>(op, values, fills, [OptionalInt::By(map_a), OptionalInt::By(map_b)]);
        return (pattern, out);
    }
    let ((a, device), (b, _)) = (read::<B>(a), read::<B>(b));
    let (index, dtype) = (a.dtype(), values[0].dtype());
    let [values_a, values_b] = values.map(B::to_host);
    let [fill_a, fill_b] = fills.map(B::to_host);
    with_index!(op.name(), index, I => with_wide!(op.name(), dtype, T => {
        let ((ptr_a, col_a), (ptr_b, col_b)) = (a.csr::<I>(), b.csr::<I>());
        let (fill_a, fill_b) = (T::read(&fill_a)[0], T::read(&fill_b)[0]);
        let (values_a, values_b) = (T::read(&values_a), T::read(&values_b));
        let (ptr, col, out) = sparse_core::union_apply_csr::<T, I>(
            op, ptr_a, col_a, &values_a, fill_a, ptr_b, col_b, &values_b, fill_b,
        );
        let (rows, nnz) = (ptr.len(), col.len());
        let ptr = write_ints::<B, I>(ptr, &[rows], index, &device);
        let pattern = PatternArrays::Csr(ptr, write_ints::<B, I>(col, &[nnz], index, &device));
        (pattern, B::to_device(T::data(out, vec![nnz, 1], dtype), &device))
    }))
}

pub(crate) fn zip_rows<B: HostAccess>(
    op: BinaryOp,
    values: [AnyTensor<B>; 2],
    fills: [AnyTensor<B>; 2],
    maps: [OptionalInt<B>; 2],
) -> AnyTensor<B> {
    let (device, dtype) = (values[0].device(), values[0].dtype());
    let [a, b] = values.map(B::to_host);
    let [fill_a, fill_b] = fills.map(B::to_host);
    let [map_a, map_b] = maps.map(optional::<B>);
    let block = a.dims()[1];
    let rows = map_a.as_ref().map_or(a.dims()[0], |map| map.dims()[0]);
    let index = map_a.as_ref().or(map_b.as_ref()).map_or(DType::I32, HostTensor::dtype);
    let out = with_index!(op.name(), index, I => with_wide!(op.name(), dtype, T => {
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
    }));
    B::to_device(out, &device)
}
