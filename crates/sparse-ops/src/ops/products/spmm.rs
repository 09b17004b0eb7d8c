//! The product of a sparse and a dense matrix, with its backward rule.

use crate::base::kind::{Numeric, as_float, from_float};
use crate::kernel::{self, Epilogue};
use crate::pattern::matrix::Matrix;
use crate::pattern::transposed_values::TransposedValues;
use crate::pattern::view::{View, batch_to_features, features_to_batch};
use crate::policy;
use crate::rows::sum_dim;
use burn::tensor::{Int, Tensor};
use sparse_autograd::{Erased, record};
use std::sync::Arc;

/// `matrix x dense` for flat operands: values `[nnz, heads]`, and `batch` dense operands `[cols, heads * F]`, which lie
/// one below the other, as the results do. `kept` are the values in the order of the columns, for the gradient.
pub(crate) fn spmm<K: Numeric>(
    matrix: &Matrix,
    values: Tensor<2, K>,
    dense: Tensor<2, K>,
    batch: usize,
    epilogue: Epilogue<K>,
    kept: Option<&Arc<TransposedValues>>,
) -> Tensor<2, K> {
    let plan = if (batch, dense.dims()[1]) == (1, 1) { matrix.shifted_rows() } else { None };
    let out = kernel::spmm(matrix.by_row(), plan, &values, &dense, batch, &epilogue);
    spmm_on_tape(matrix, out, [values, dense], batch, epilogue, kept)
}

/// What [`spmm`] is of these operands, if it is known.
pub(crate) fn spmm_on_tape<K: Numeric>(
    matrix: &Matrix,
    out: Tensor<2, K>,
    [values, dense]: [Tensor<2, K>; 2],
    batch: usize,
    epilogue: Epilogue<K>,
    kept: Option<&Arc<TransposedValues>>,
) -> Tensor<2, K> {
    recorded(out, [values, dense], epilogue, |[values, dense]| {
        let ids = || [matrix.row_ids(), matrix.col_ids()];
        let wide = batch * dense.dims()[1] >= policy::WIDE;
        let by_col = dense.is_tracked().then(|| matrix.gradient_view(values.is_tracked() && wide));
        Saved { batch, transposed: kept.cloned(), ..Saved::new(ids, by_col, [values, dense]) }
    })
}

/// `matrix^T x dense`: the same with the roles of rows and columns swapped.
pub(crate) fn spmm_transposed<K: Numeric>(matrix: &Matrix, values: Tensor<2, K>, dense: Tensor<2, K>) -> Tensor<2, K> {
    let out = matrix.col_view().times(&values, &dense, 1);
    recorded(out, [values, dense], Epilogue::default(), |[values, dense]| {
        let ids = || [matrix.col_ids(), matrix.row_ids()];
        Saved::new(ids, dense.is_tracked().then(|| matrix.row_view()), [values, dense])
    })
}

/// The product `out` on the tape, if it is one of floats.
fn recorded<K: Numeric>(
    out: Tensor<2, K>,
    [values, dense]: [Tensor<2, K>; 2],
    Epilogue { bias, relu }: Epilogue<K>,
    saved: impl FnOnce([&Tensor<2>; 2]) -> Saved,
) -> Tensor<2, K> {
    let (Some(values), Some(dense)) = (as_float(&values), as_float(&dense)) else { return out };
    let out = as_float(&out).expect("the kind of the values");
    let saved = Saved { out: relu.then(|| out.clone()), ..saved([&values, &dense]) };
    let [values, dense] = [values, dense].map(Erased::from);
    let Some(bias) = bias.and_then(|bias| as_float(&bias)) else {
        return from_float(record(out, [values, dense], saved, |saved, grad, needs| {
            saved.backward(&policy::before_relu(&saved.out, grad), needs)
        }));
    };
    from_float(record(out, [values, dense, Erased::from(bias)], saved, |saved, grad, [values, dense, bias]| {
        let grad = policy::before_relu(&saved.out, grad);
        let [d_values, d_dense] = saved.backward(&grad, [values, dense]);
        [d_values, d_dense, bias.then(|| sum_dim(grad, 0).into())]
    }))
}

/// What the backward pass of a product keeps: the shared pattern, and of each side what the gradient of the other
/// needs.
#[derive(Debug)]
struct Saved {
    by_col: Option<View>,
    /// The row and the column of every element, if the values are tracked.
    ids: Option<[Tensor<1, Int>; 2]>,
    heads: usize,
    /// Number of dense operands, which lie one below the other.
    batch: usize,
    values: Option<Tensor<2>>,
    dense: Option<Tensor<2>>,
    transposed: Option<Arc<TransposedValues>>,
    /// The result, if ReLU made it.
    out: Option<Tensor<2>>,
}

impl Saved {
    /// Of one dense operand, with nothing after the product.
    fn new<'a>(
        ids: impl FnOnce() -> [&'a Tensor<1, Int>; 2],
        by_col: Option<View>,
        [values, dense]: [&Tensor<2>; 2],
    ) -> Self {
        Self {
            by_col,
            ids: values.is_tracked().then(|| ids().map(Tensor::clone)),
            heads: values.dims()[1],
            batch: 1,
            values: dense.is_tracked().then(|| values.clone().inner()),
            dense: values.is_tracked().then(|| dense.clone().inner()),
            transposed: None,
            out: None,
        }
    }

    /// The gradients of the values and of the dense operand, as far as they are needed.
    fn backward(&self, grad: &Tensor<2>, [values, dense]: [bool; 2]) -> [Option<Erased>; 2] {
        let (heads, batch) = (self.heads, self.batch);
        let aside = |tensor: &Tensor<2>| batch_to_features(tensor.clone(), heads, batch);
        let ids = || self.ids.as_ref().expect("saved where the values are tracked").each_ref();
        if let (Some(by_col), Some(own), Some(other)) = (&self.by_col, &self.values, &self.dense)
            && values
            && dense
        {
            let (d_values, d_dense) = by_col.gradients(own, &aside(other), &aside(grad), ids());
            return [Some(d_values.into()), Some(features_to_batch(d_dense, heads, batch).into())];
        }
        let d_values = values.then(|| {
            let ([row_ids, col_ids], dense) = (ids(), self.dense.as_ref().expect("saved with the ids"));
            kernel::sddmm(row_ids, col_ids, aside(grad), aside(dense), heads).into()
        });
        let d_dense = dense.then(|| {
            let values = self.values.as_ref().expect("saved where the dense side is tracked");
            let by_col = self.by_col.as_ref().expect("saved with the values");
            match self.transposed.as_ref().and_then(|transposed| by_col.transposed(transposed, values)) {
                Some((by_col, values)) => by_col.times(&values, grad, batch),
                None => by_col.times(values, grad, batch),
            }
            .into()
        });
        [d_values, d_dense]
    }
}

#[cfg(test)]
mod tests {
    use crate::tensor::sparse::CsrTensor;
    use burn::tensor::{Device, Tensor};

    /// They would take as long to write as the product of a vector.
    #[test]
    fn row_ids_are_written_for_gradients_only() {
        let device = Device::flex().autodiff();
        let [ptr, columns] = [vec![0, 1, 3], vec![1, 0, 1]].map(|list| Tensor::from_data(&list[..], &device));
        let a = CsrTensor::<2>::new(ptr, columns, Tensor::from_floats([1.0, 2.0, 3.0], &device), [2, 2]).unwrap();
        let x = Tensor::<2>::ones([2, 3], &device);
        let known = || a.pattern().has_row_ids();
        let _ = a.clone().matmul(x.clone());
        assert!(!known());
        let _ = a.clone().matmul(x.require_grad());
        assert!(known());
    }
}
