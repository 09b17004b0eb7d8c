//! Sparse x dense with an extremum in place of the sum, and its gradients, by the kernels of [`reduce`](super::reduce)
//! and [`sddmm`](super::sddmm). For the gradients they sum only the terms whose product equals the result.
//!
//! No product is stored. The backward pass computes each again, in the same arithmetic, and compares it with the
//! result.

use super::fallback::supported;
use super::launch::runs;
use super::reduce::{Combine, combine_rows, multiplies};
use super::sddmm::sampled;
use crate::backend::Gpu;
use crate::kernel::{ExtremumColsBackward, ExtremumRowsBackward, SpmmExtremum};
use crate::kernel_views::RowsView;
use burn_cubecl::tensor::CubeTensor;
use sparse_core::Term;

/// Whether the kernels form such terms. Those of the tropical semirings run on the host.
fn is_native(term: Term) -> bool {
    term == Term::Product
}

impl SpmmExtremum<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { extremum, view, values, dense, .. } =
            supported(self, |args| is_native(args.term) && multiplies(&args.view, &args.values, &args.dense))?;
        let (combine, RowsView { ptr, idx, perm }) = (Combine::Extremum(extremum), view);
        Ok(combine_rows(combine, ptr, Some(idx), Some((values, perm)), dense, usize::MAX))
    }
}

impl ExtremumRowsBackward<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<(CubeTensor, Option<CubeTensor>), Self> {
        let Self { rows, view, reads, grad, need_values, .. } =
            supported(self, |Self { term, rows, view, reads, grad, .. }| {
                is_native(*term) && runs(view.arrays().chain(reads).chain([grad, rows]))
            })?;
        let (RowsView { ptr, idx: cols, .. }, [values, dense, out]) = (view, reads);
        let combine = Combine::Shares { out: out.clone(), grad };
        let shares =
            combine_rows(combine, ptr, Some(cols.clone()), Some((values.clone(), None)), dense.clone(), usize::MAX);
        let heads = values.meta.shape()[1];
        let grads = need_values.then(|| sampled(rows, cols, shares.clone(), dense, heads, Some((values, out))));
        Ok((shares, grads))
    }
}

impl ExtremumColsBackward<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { view, reads, shares, .. } = supported(self, |Self { term, view, reads, shares }| {
            is_native(*term) && runs(view.arrays().chain(reads).chain([shares]))
        })?;
        let (RowsView { ptr, idx: rows, perm }, [values, dense, out]) = (view, reads);
        Ok(combine_rows(Combine::Matched { dense, out }, ptr, Some(rows), Some((values, perm)), shares, usize::MAX))
    }
}
