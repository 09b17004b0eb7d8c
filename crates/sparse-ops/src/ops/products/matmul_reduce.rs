//! Sparse x dense with another reduction than a sum: message passing with mean, max or min.

use crate::base::checks::same_elements;
use crate::base::exact::Exact;
use crate::base::index::numbers;
use crate::base::kind::{Numeric, as_float, from_float};
use crate::kernel::{self, Compressed, Epilogue, Put};
use crate::ops::dense::put_along_axis::{run, target};
use crate::ops::elementwise::powers::wrapping_mul;
use crate::ops::products::matmul::matrix;
use crate::ops::products::operand::Operand;
use crate::ops::products::spmm::spmm;
use crate::pattern::layout::Pattern;
use crate::pattern::matrix::Matrix;
use crate::pattern::view::View;
use crate::rows::{RowMap, sum_dim};
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{DType, Float, Int, Shape, Tensor};
use sparse_autograd::{Erased, record};
use sparse_burn::{Extremum, Reduce, Term};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

impl<P: Pattern, const D: usize, K: Numeric> SparseTensor<P, D, K> {
    /// `out[r, f] = reduce_k(self[r, c_k] * dense[c_k, f])` over the stored elements of each row:
    /// `[M, N] x [N, F] -> [M, F]`, and batches.
    ///
    /// Stored-only: the fill takes no part, whatever it is, and a row without stored elements gives 0. `reduce` is add,
    /// mul, mean (integers are rounded down), amax or amin (NaN wins). Duplicates are summed first. Semantics of
    /// `torch.sparse.mm(reduce=)` and of PyG's aggregations. Dense dims, batches and broadcasting are as in
    /// [`matmul`](Self::matmul): `[M, N, heads] x [N, heads, F] -> [M, heads, F]`.
    ///
    /// Backward, to the values and to `dense`:
    /// - mean: the gradient divided by the number of stored elements;
    /// - amax, amin: the gradient shared evenly by the products that tie. Products of f16 and bf16 are compared as
    ///   rounded to their type, and NaN ties with NaN;
    /// - mul: the gradient times the product of the others.
    ///
    /// Cost: `O(nnz * F)` time. add, amax, amin and the mean of f32 and f64 take one pass like that of SpMM. Their
    /// backward pass forms the products again, in `O(nnz + (M + N) * F)` memory. mul and the other means keep the
    /// products, `nnz * F` elements (`nnz * heads * F`).
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::{CsrTensor, ops::Reduce};
    ///
    /// let device = Device::flex();
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 1.0], [0.0, 0.0]], &device));
    /// let x = Tensor::<2>::from_floats([[1.0], [5.0]], &device);
    /// let out = a.matmul_reduce(x, Reduce::Amax);
    /// assert_eq!(out.into_data().iter::<f32>().collect::<Vec<_>>(), [5.0, 0.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `dtype_mismatch`, `device_mismatch`; `invalid` for [`Reduce::Assign`].
    #[or_panic]
    pub fn try_matmul_reduce<const E: usize>(&self, dense: Tensor<E, K>, reduce: Reduce) -> Result<Tensor<E, K>> {
        self.reduced("matmul_reduce", dense, reduce)
    }

    /// [`matmul_reduce`](Self::matmul_reduce) under the name `op`.
    pub(super) fn reduced<const E: usize>(
        &self,
        op: &'static str,
        dense: Tensor<E, K>,
        reduce: Reduce,
    ) -> Result<Tensor<E, K>> {
        matrix(op, self)?;
        let operand = Operand::new(op, self, dense.dims())?;
        same_elements(op, &self.values, &dense)?;
        if reduce == Reduce::Assign {
            return Err(SparseError::invalid(op, "reduce must be add, mul, mean, amax or amin, got assign"));
        }
        let own = self.coalesce();
        let own = SparseTensor { values: own.fill.without_gradient(own.values), fill: Fill::Zero, ..own };
        let matrix = own.pattern.matrix().expect("coalescing keeps the rank");
        let empty = own.nnz() == 0 || operand.out().contains(&0);
        if reduce == Reduce::Add || (own.dtype().is_float() && empty) {
            return own.times(op, dense);
        }
        if empty {
            return Ok(Tensor::zeros(operand.out(), (&dense.device(), dense.dtype())));
        }
        let (values, flat) = (operand.values(own.values.clone()), operand.rows(dense));
        if reduce == Reduce::Mean && matches!(own.dtype(), DType::F32 | DType::F64) {
            let sums = spmm(matrix, values, flat, 1, Epilogue::default(), None);
            return Ok(operand.product(by_count(sums, matrix)));
        }
        if let Some(extremum) = end(reduce) {
            return Ok(operand.product(extreme_product((extremum, Term::Product), matrix, values, flat)));
        }
        let ([rows, _], [_, columns]) = (matrix.size(), flat.dims());
        let messages = messages(values, flat, matrix.columns());
        let put = Put {
            index: matrix.row_ids().clone().reshape(Exact([own.nnz(), 1])),
            target: target([rows, columns], 0, own.nnz(), true),
            reduce,
            include_self: false,
            groups: Some(matrix.groups()),
        };
        let zeros = Tensor::zeros([rows, columns], (&messages.device(), messages.dtype()));
        Ok(operand.product(run(put, zeros, messages)))
    }
}

fn end(reduce: Reduce) -> Option<Extremum> {
    match reduce {
        Reduce::Amax => Some(Extremum::Max),
        Reduce::Amin => Some(Extremum::Min),
        _ => None,
    }
}

/// What the gradients of an extremum of products need. The backward pass finds again which products were the largest,
/// so nothing more is kept.
#[derive(Debug)]
struct Extreme {
    term: Term,
    row_ids: Tensor<1, Int>,
    by_row: Compressed,
    by_col: Option<View>,
    values: Tensor<2>,
    dense: Tensor<2>,
    out: Tensor<2>,
}

/// The largest or smallest product of each row, or sum, for values `[nnz, heads]` of a coalesced matrix and dense
/// `[cols, heads * F]`.
pub(super) fn extreme_product<K: Numeric>(
    (extremum, term): (Extremum, Term),
    matrix: &Matrix,
    values: Tensor<2, K>,
    dense: Tensor<2, K>,
) -> Tensor<2, K> {
    let out = kernel::spmm_extremum(extremum, term, matrix.by_row(), &values, &dense);
    let (Some(values), Some(dense)) = (as_float(&values), as_float(&dense)) else { return out };
    let out = as_float(&out).expect("the kind of the values");
    let saved = Extreme {
        term,
        row_ids: matrix.row_ids().clone(),
        by_row: matrix.by_row().clone(),
        by_col: dense.is_tracked().then(|| matrix.col_view()),
        values: values.clone().inner(),
        dense: dense.clone().inner(),
        out: out.clone(),
    };
    let parents = [Erased::from(values), Erased::from(dense)];
    from_float(record(out, parents, saved, |saved, grad, needs| {
        let Extreme { term, row_ids, by_row, by_col, values, dense, out } = saved;
        let reads = [values, dense, out];
        let (shares, d_values) = kernel::extremum_rows_backward(*term, row_ids, by_row, reads, grad, needs[0]);
        let d_dense = needs[1].then(|| {
            let by_col = by_col.as_ref().expect("saved where the dense side is tracked");
            let own = by_col.pick(dense);
            by_col.rows(|cols| kernel::extremum_cols_backward(*term, cols, [values, &own, out], shares)).into()
        });
        [d_values.map(Erased::from), d_dense]
    }))
}

/// Sums of rows divided by how many elements they have (1 for none).
fn by_count<K: Numeric>(sums: Tensor<2, K>, matrix: &Matrix) -> Tensor<2, K> {
    let sums = as_float(&sums).expect("a mean of floats");
    let [rows, _] = sums.dims();
    let counts = numbers::<Float>(matrix.row_counts().clamp_min(1).reshape(Exact([rows, 1])), sums.dtype());
    let out = sums.clone().inner() / counts.clone();
    from_float(record(out, [Erased::from(sums)], counts, |counts, grad, _| [Some((grad / counts.clone()).into())]))
}

#[derive(Debug)]
struct Saved {
    columns: RowMap,
    heads: usize,
    values: Option<Tensor<2>>,
    read: Option<Tensor<2>>,
}

/// Values `[nnz, heads]` at each of the `columns` that they multiply.
fn at_columns<K: Numeric>(values: Tensor<2, K>, columns: usize) -> Tensor<2, K> {
    let [nnz, heads] = values.dims();
    if heads == 1 {
        return values.expand(Shape::from([nnz, columns]));
    }
    let single = values.reshape(Exact([nnz * heads, 1]));
    let spread: Tensor<2, K> = single.expand(Shape::from([nnz * heads, columns / heads]));
    spread.reshape(Exact([nnz, columns]))
}

/// Every element's values `[nnz, heads]` times the row of `dense` `[cols, heads * F]` of its column.
///
/// Backward: to a value the sum over its head's part of the row, to `dense` the sum over each column's elements.
fn messages<K: Numeric>(values: Tensor<2, K>, dense: Tensor<2, K>, columns: &RowMap) -> Tensor<2, K> {
    let none = Tensor::zeros([1, dense.dims()[1]], (&dense.device().inner(), dense.dtype()));
    let read = kernel::move_rows(&dense, &none, columns.map());
    let ([_, heads], [_, width]) = (values.dims(), read.dims());
    let out = wrapping_mul(at_columns(values.clone().inner(), width), read.clone());
    let (Some(values), Some(dense)) = (as_float(&values), as_float(&dense)) else { return out };
    let out = as_float(&out).expect("the kind of the values");
    let saved = Saved {
        columns: columns.clone(),
        heads,
        values: dense.is_tracked().then(|| values.clone().inner()),
        read: values.is_tracked().then(|| as_float(&read).expect("the kind of the values")),
    };
    from_float(record(out, [Erased::from(values), Erased::from(dense)], saved, |saved, grad, needs| {
        let values = needs[0].then(|| {
            let read = saved.read.clone().expect("saved where the values are tracked");
            let ([nnz, columns], heads) = (read.dims(), saved.heads);
            let products = (grad.clone() * read).reshape(Exact([nnz * heads, columns / heads]));
            sum_dim(products, 1).reshape(Exact([nnz, heads])).into()
        });
        let dense = needs[1].then(|| {
            let values = saved.values.clone().expect("saved where the dense side is tracked");
            let width = grad.dims()[1];
            let grad = grad * at_columns(values, width);
            saved.columns.back(&grad, true, false)[0].clone().expect("asked for").into()
        });
        [values, dense]
    }))
}
