//! Sparse x dense, dense x sparse and sparse x vector.

use super::cast::{in_float, widened};
use crate::base::checks::{expect, same_elements};
use crate::base::exact::Exact;
use crate::base::kind::{Numeric, as_float, from_float};
use crate::kernel;
use crate::pattern::layout::Pattern;
use crate::pattern::matrix::Matrix;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::FloatDType::F32;
use burn::tensor::Tensor;
use sparse_autograd::{Erased, record};
use sparse_core::{Result, SparseError};

impl<P: Pattern, const D: usize, K: Numeric> SparseTensor<P, D, K> {
    /// `self x dense`: `[M, N] x [N, F] -> [M, F]`, for a batch `[B, M, N] x [B, N, F] -> [B, M, F]`.
    ///
    /// `out[r, f] = sum_c self[r, c] * dense[c, f]`. Any fill is exact: the specified elements go through the sparse
    /// kernel and the fill's part is `fill * column sums of dense` (so a fill that is not finite gives NaN in every row,
    /// as infinity minus infinity does). An `Undefined` fill takes no part. Duplicates need no coalesce. Float, and
    /// Int with wrapping sums; f16 and bf16 accumulate in f32 (with a fill, by copies of both operands in f32: its part and
    /// the others' may cancel).
    ///
    /// Backward (Float): `d values[k] = <d out[r_k, :], dense[c_k, :]>` (SDDMM on the pattern) and
    /// `d dense = self^T x d out` (SpMM of the transposed pattern, whose permutation is computed once and kept).
    /// It allocates `O(nnz + (M + N) * F)`, never `M x N`. Cost: `2 * nnz * F` operations forward, twice that backward.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if inner sizes or batches differ, or the tensor is no matrix; `dtype_mismatch`,
    /// `device_mismatch`.
    pub fn try_matmul(&self, dense: Tensor<D, K>) -> Result<Tensor<D, K>> {
        const OP: &str = "matmul";
        let matrix = matrix(OP, self)?;
        let (left, right) = (self.dims(), dense.dims());
        let fits = left[D - 1] == right[D - 2] && left[..D - 2] == right[..D - 2];
        check(OP, self, &dense, fits, "inner sizes and batches must agree")?;
        let batch: usize = left[..D - 2].iter().product();
        let features = right[D - 1];
        let mut shape = left;
        shape[D - 1] = features;
        let flat = dense.clone().reshape(Exact([batch * right[D - 2], features]));
        if fill_term(self).is_some()
            && let Some((own, back)) = widened(self)
        {
            return Ok(in_float(&own.try_matmul(in_float(&dense, F32))?, back));
        }
        let Some(fill) = fill_term(self) else {
            return Ok(spmm(matrix, self.values.clone(), flat).reshape(Exact(shape)));
        };
        // A = (S - fill on its pattern) + fill everywhere; duplicates are one element only once they are merged.
        let merged = self.coalesce();
        let own = merged.pattern.matrix().expect("coalescing keeps the rank");
        let out = spmm(own, without(merged.values, &fill), flat).reshape(Exact(shape));
        let sums = dense.sum_dim(D - 2);
        let mut one = [1; D];
        one[D - 1] = 1;
        Ok(out + sums * fill.reshape(Exact(one)))
    }

    /// [`try_matmul`](Self::try_matmul), with a panic in place of an error.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CooTensor;
    ///
    /// let device = Device::flex();
    /// let a = CooTensor::<2>::from_dense(Tensor::from_floats([[0.0, 2.0], [3.0, 0.0]], &device), 0);
    /// let x = Tensor::<2>::from_floats([[1.0], [10.0]], &device);
    /// assert_eq!(a.matmul(x).into_data().iter::<f32>().collect::<Vec<_>>(), [20.0, 3.0]);
    /// ```
    #[track_caller]
    pub fn matmul(&self, dense: Tensor<D, K>) -> Tensor<D, K> {
        expect(self.try_matmul(dense))
    }

    /// `dense x self`: `[F, M] x [M, N] -> [F, N]`, and batches. As `(self^T x dense^T)^T`, with the same rules.
    ///
    /// # Errors
    ///
    /// As [`try_matmul`](Self::try_matmul).
    pub fn try_rmatmul(&self, dense: Tensor<D, K>) -> Result<Tensor<D, K>> {
        const OP: &str = "rmatmul";
        let matrix = matrix(OP, self)?;
        let (left, right) = (dense.dims(), self.dims());
        let fits = left[D - 1] == right[D - 2] && left[..D - 2] == right[..D - 2];
        check(OP, self, &dense, fits, "inner sizes and batches must agree")?;
        let batch: usize = left[..D - 2].iter().product();
        let features = left[D - 2];
        let mut shape = left;
        (shape[D - 2], shape[D - 1]) = (right[D - 1], features);
        let flat = dense.clone().swap_dims(D - 2, D - 1).reshape(Exact([batch * left[D - 1], features]));
        if fill_term(self).is_some()
            && let Some((own, back)) = widened(self)
        {
            return Ok(in_float(&own.try_rmatmul(in_float(&dense, F32))?, back));
        }
        let Some(fill) = fill_term(self) else {
            return Ok(spmm_transposed(matrix, self.values.clone(), flat)
                .reshape(Exact(shape))
                .swap_dims(D - 2, D - 1));
        };
        let merged = self.coalesce();
        let own = merged.pattern.matrix().expect("coalescing keeps the rank");
        let out = spmm_transposed(own, without(merged.values, &fill), flat);
        let out = out.reshape(Exact(shape)).swap_dims(D - 2, D - 1);
        Ok(out + dense.sum_dim(D - 1) * fill.reshape(Exact([1; D])))
    }

    /// [`try_rmatmul`](Self::try_rmatmul), with a panic in place of an error.
    #[track_caller]
    pub fn rmatmul(&self, dense: Tensor<D, K>) -> Tensor<D, K> {
        expect(self.try_rmatmul(dense))
    }
}

impl<P: Pattern, K: Numeric> SparseTensor<P, 2, K> {
    /// `self x vector`: `[M, N] x [N] -> [M]`, with the rules of [`try_matmul`](Self::try_matmul).
    ///
    /// # Errors
    ///
    /// As [`try_matmul`](Self::try_matmul).
    pub fn try_matvec(&self, vector: Tensor<1, K>) -> Result<Tensor<1, K>> {
        let length = vector.dims()[0];
        let rows = self.dims()[0];
        Ok(self.try_matmul(vector.reshape(Exact([length, 1])))?.reshape(Exact([rows])))
    }

    /// [`try_matvec`](Self::try_matvec), with a panic in place of an error.
    #[track_caller]
    pub fn matvec(&self, vector: Tensor<1, K>) -> Tensor<1, K> {
        expect(self.try_matvec(vector))
    }
}

pub(crate) fn matrix<'a, P: Pattern, const D: usize, K: Numeric>(
    op: &'static str,
    sparse: &'a SparseTensor<P, D, K>,
) -> Result<&'a Matrix> {
    let matrix = if sparse.dense_dims() == 0 { sparse.pattern.matrix() } else { None };
    matrix.ok_or_else(|| SparseError::ShapeMismatch {
        op,
        rule: "the sparse tensor must be a matrix or a batch of matrices without dense dims",
        left: sparse.dims().to_vec(),
        right: vec![sparse.sparse_dims(), sparse.dense_dims()],
    })
}

pub(crate) fn check<P: Pattern, const D: usize, K: Numeric>(
    op: &'static str,
    sparse: &SparseTensor<P, D, K>,
    dense: &Tensor<D, K>,
    fits: bool,
    rule: &'static str,
) -> Result<()> {
    if !fits {
        let (left, right) = (sparse.dims().to_vec(), dense.dims().to_vec());
        return Err(SparseError::ShapeMismatch { op, rule, left, right });
    }
    same_elements(op, &sparse.values, dense)
}

/// The fill as a row where it takes part in a product.
fn fill_term<P: Pattern, const D: usize, K: Numeric>(sparse: &SparseTensor<P, D, K>) -> Option<Tensor<2, K>> {
    let absent = matches!(sparse.fill, Fill::Undefined) || sparse.fill.is_zero();
    (!absent).then(|| sparse.fill_row())
}

/// The values minus the fill; of none nothing is subtracted, over whose gradient some devices cannot sum.
fn without<K: Numeric>(values: Tensor<2, K>, fill: &Tensor<2, K>) -> Tensor<2, K> {
    if values.dims()[0] == 0 { values } else { values - fill.clone() }
}

/// What the backward pass of a product keeps: the shared pattern, and of each side what the other's gradient needs.
#[derive(Debug)]
struct Saved {
    by_col: Option<kernel::Compressed>,
    row_ids: Tensor<1, burn::tensor::Int>,
    col_ids: Tensor<1, burn::tensor::Int>,
    values: Option<Tensor<2>>,
    dense: Option<Tensor<2>>,
}

/// `matrix x dense` for flat operands: values `[nnz, 1]`, dense `[cols, F]`.
fn spmm<K: Numeric>(matrix: &Matrix, values: Tensor<2, K>, dense: Tensor<2, K>) -> Tensor<2, K> {
    product(matrix.by_row(), || matrix.by_col(), matrix.row_ids(), matrix.col_ids(), values, dense)
}

/// `matrix^T x dense`: the same with the roles of rows and columns swapped.
fn spmm_transposed<K: Numeric>(matrix: &Matrix, values: Tensor<2, K>, dense: Tensor<2, K>) -> Tensor<2, K> {
    product(matrix.by_col(), || matrix.by_row(), matrix.col_ids(), matrix.row_ids(), values, dense)
}

fn product<'a, K: Numeric>(
    by_row: &kernel::Compressed,
    by_col: impl FnOnce() -> &'a kernel::Compressed,
    row_ids: &Tensor<1, burn::tensor::Int>,
    col_ids: &Tensor<1, burn::tensor::Int>,
    values: Tensor<2, K>,
    dense: Tensor<2, K>,
) -> Tensor<2, K> {
    let out = kernel::spmm(by_row, &values, &dense);
    let (Some(values), Some(dense)) = (as_float(&values), as_float(&dense)) else { return out };
    let out = as_float(&out).expect("the kind of the values");
    let saved = Saved {
        by_col: dense.is_tracked().then(|| by_col().clone()),
        row_ids: row_ids.clone(),
        col_ids: col_ids.clone(),
        values: dense.is_tracked().then(|| values.clone().inner()),
        dense: values.is_tracked().then(|| dense.clone().inner()),
    };
    let parents = [Erased::from(values), Erased::from(dense)];
    from_float(record(out, parents, saved, |saved, grad, [values, dense]| {
        let d_values = values.then(|| {
            let dense = saved.dense.as_ref().expect("saved where the values are tracked");
            kernel::sddmm(&saved.row_ids, &saved.col_ids, &grad, dense).into()
        });
        let d_dense = dense.then(|| {
            let values = saved.values.as_ref().expect("saved where the dense side is tracked");
            kernel::spmm(saved.by_col.as_ref().expect("saved with the values"), values, &grad).into()
        });
        [d_values, d_dense]
    }))
}
