//! Matrix products, triangular systems, incomplete factors.

use super::{list, optional};
use crate::host_tensor::{Given, HostTensor};
use crate::kernel::{
    Attend, Factorize, LevelTriangle, SampledExtremum, SampledExtremumBackward, Sddmm, ShiftRows, SolveTriangular,
    SortTriangle, Spgemm, SpgemmExtremum, SpgemmExtremumBackward, SpgemmPlan, SpgemmSampled, SpgemmValues, Spmm,
    SpmmBackward,
};
use crate::kernel_views::RowsView;
use burn::tensor::TensorData;
use sparse_core::dynamic::{self, DynCompressed, DynScores};
use sparse_core::{ProductPlan, Result, ShiftedRows, TrianglePlan};

impl RowsView<HostTensor> {
    pub(super) fn slices(&self) -> DynCompressed<'_> {
        DynCompressed { ptr: self.ptr.ids(), idx: self.idx.ids(), perm: optional(&self.perm) }
    }
}

impl Spmm<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { view, plan, values, dense, batch, epilogue } = self;
        let (rows, dtype) = (view.ptr.dims()[0] - 1, values.dtype());
        let [heads, features] = [&values, &dense].map(|matrix| matrix.dims()[1]);
        let (a, bias) = (view.slices(), epilogue.bias.as_ref().map(HostTensor::elements));
        let (values, dense) = (values.elements(), dense.elements());
        let out = dynamic::spmm(a, plan.as_ref(), values, dense, [batch, heads, features], bias, epilogue.relu);
        out.data([batch * rows, features], dtype)
    }
}

impl SpmmBackward<HostTensor> {
    pub(crate) fn host(self) -> (TensorData, TensorData) {
        let Self { view, places, values, dense, grad, .. } = self;
        let ([lines, features], [nnz, heads]) = ([0, 1].map(|d| dense.dims()[d]), [0, 1].map(|d| values.dims()[d]));
        let reads = [&values, &dense, &grad].map(HostTensor::elements);
        let (of_dense, of_values) =
            dynamic::spmm_backward(view.slices(), optional(&places), reads[0], reads[1], reads[2], heads, features);
        let dtype = values.dtype();
        (of_dense.data([lines, features], dtype), of_values.data([nnz, heads], dtype))
    }
}

impl Sddmm<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { rows, cols, x, y, heads } = self;
        let (nnz, features, dtype) = (rows.dims()[0], x.dims()[1], x.dtype());
        let out = dynamic::sddmm(rows.ids(), cols.ids(), x.elements(), y.elements(), heads, features);
        out.data([nnz, heads], dtype)
    }
}

impl Attend<HostTensor> {
    pub(crate) fn host(self) -> (TensorData, Option<TensorData>) {
        let Self { view, scores, factors, scale, heads, value, drops, keep } = self;
        let (rows, nnz, width, dtype) = (view.ptr.dims()[0] - 1, view.idx.dims()[0], value.dims()[1], value.dtype());
        let scores = match (&scores, &factors) {
            (Some(scores), None) => DynScores::Given(scores.elements()),
            (None, Some([query, key])) => DynScores::Products(query.elements(), key.elements(), query.dims()[1], scale),
            _ => panic!("attend: either scores or factors must be given"),
        };
        let (out, weights) = dynamic::attend(view.slices(), scores, value.elements(), [heads, width], drops, keep);
        (out.data([rows, width], dtype), weights.map(|weights| weights.data([nnz, heads], dtype)))
    }
}

impl Spgemm<HostTensor> {
    pub(crate) fn host(self) -> Result<(RowsView<TensorData>, TensorData)> {
        let Self { a: (a, a_values), b: (b, b_values), cols } = self;
        let (left, right) = (a_values.elements(), b_values.elements());
        let (ptr, idx, values) = dynamic::spgemm(a.slices(), left, b.slices(), right, cols)?;
        let nnz = idx.len();
        let view = RowsView { ptr: list(ptr), idx: list(idx), perm: None };
        Ok((view, values.data([nnz, 1], a_values.dtype())))
    }
}

impl SpgemmValues<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { c: (ptr, idx), a: (a, a_values), b: (b, b_values), cols, plan } = self;
        let (left, right) = (a_values.elements(), b_values.elements());
        let c = (ptr.ids(), idx.ids());
        let out = dynamic::spgemm_values(c, a.slices(), left, b.slices(), right, cols, plan.as_ref());
        out.data([idx.dims()[0], 1], a_values.dtype())
    }
}

impl SpgemmPlan<HostTensor> {
    pub(crate) fn host(self) -> Option<ProductPlan> {
        let Self { c: (ptr, idx), a, b, cols } = self;
        dynamic::product_plan((ptr.ids(), idx.ids()), a.slices(), b.slices(), cols)
    }
}

impl SpgemmSampled<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { mask: (ptr, idx), x: (x, x_values), y: (y, y_values), cols, plan } = self;
        let (left, right) = (x_values.elements(), y_values.elements());
        let mask = (ptr.ids(), idx.ids());
        let out = dynamic::spgemm_sampled(mask, x.slices(), left, y.slices(), right, cols, plan.as_ref());
        out.data([idx.dims()[0], 1], x_values.dtype())
    }
}

impl SampledExtremum<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { extremum, term, mask: (ptr, idx), x: (x, x_values), y: (y, y_values), cols } = self;
        let (left, right) = ((x.slices(), x_values.elements()), (y.slices(), y_values.elements()));
        let out = dynamic::sampled_extremum((extremum, term), (ptr.ids(), idx.ids()), left, right, cols);
        out.data([idx.dims()[0], 1], x_values.dtype())
    }
}

impl SampledExtremumBackward<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { term, mask, x: (x, x_values), y: (y, y_values), cols, results: [out, grad] } = self;
        let (left, right) = ((x.slices(), x_values.elements()), (y.slices(), y_values.elements()));
        let results = (out.elements(), grad.elements());
        let grads = dynamic::sampled_extremum_backward(term, mask.slices(), left, right, cols, results);
        grads.data([x.idx.dims()[0], 1], x_values.dtype())
    }
}

impl SpgemmExtremum<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { extremum, term, c: (ptr, idx), a: (a, a_values), b: (b, b_values), cols } = self;
        let (left, right) = ((a.slices(), a_values.elements()), (b.slices(), b_values.elements()));
        let out = dynamic::spgemm_extremum((extremum, term), (ptr.ids(), idx.ids()), left, right, cols);
        out.data([idx.dims()[0], 1], a_values.dtype())
    }
}

impl SpgemmExtremumBackward<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { term, c, a: (a, a_values), b: (b, b_values), cols, results: [out, grad] } = self;
        let (left, right) = ((a.slices(), a_values.elements()), (b.slices(), b_values.elements()));
        let results = (out.elements(), grad.elements());
        let grads = dynamic::spgemm_extremum_backward(term, c.slices(), left, right, cols, results);
        grads.data([a.idx.dims()[0], 1], a_values.dtype())
    }
}

impl ShiftRows<HostTensor> {
    pub(crate) fn host(self) -> Option<ShiftedRows> {
        dynamic::shifted_rows(self.view.slices())
    }
}

impl SortTriangle<HostTensor> {
    pub(crate) fn host(self) -> Option<TrianglePlan> {
        dynamic::triangle_plan(self.view.slices(), self.upper)
    }
}

impl LevelTriangle<HostTensor> {
    pub(crate) fn host(self) -> (TensorData, Vec<usize>, Vec<usize>) {
        let (levels, starts, longest) = dynamic::triangle_levels(self.view.slices(), self.upper);
        (list(levels), starts, longest)
    }
}

impl SolveTriangular<HostTensor> {
    pub(crate) fn host(self) -> Result<TensorData> {
        let Self { op, view, values, triangle, plan, b, .. } = self;
        let [rows, features] = [0, 1].map(|d| b.dims()[d]);
        let right = (b.elements(), features);
        let out = dynamic::solve_triangular(op, view.slices(), values.elements(), triangle, plan.as_ref(), right)?;
        Ok(out.data([rows, features], b.dtype()))
    }
}

impl Factorize<HostTensor> {
    pub(crate) fn host(self) -> Result<(RowsView<TensorData>, TensorData)> {
        let Self { op, view, values, how } = self;
        let (ptr, idx, out) = dynamic::incomplete(op, view.slices(), values.elements(), how)?;
        let nnz = idx.len();
        let view = RowsView { ptr: list(ptr), idx: list(idx), perm: None };
        Ok((view, out.data([nnz, 1], values.dtype())))
    }
}
