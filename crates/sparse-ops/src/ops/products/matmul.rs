//! Sparse x dense, dense x sparse and sparse x vector.

use crate::base::checks::same_elements;
use crate::base::exact::Exact;
use crate::base::float::in_float;
use crate::base::kind::{Kind, Numeric};
use crate::base::scalar::host_float;
use crate::kernel::Epilogue;
use crate::ops::elementwise::cast::widened;
use crate::ops::products::operand::Operand;
use crate::ops::products::spmm::{spmm, spmm_transposed};
use crate::pattern::layout::{Pattern, stores_all};
use crate::pattern::matrix::Matrix;
use crate::pattern::transposed_values::TransposedValues;
use crate::policy;
use crate::rows::sum_dim;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::FloatDType::F32;
use burn::tensor::{Bool, FloatDType, Int, Shape, Tensor};
use sparse_core::{Result, SparseError};
use sparse_macros::{async_variant, or_panic};
use std::sync::Arc;

/// What a sparse tensor of rank `D` can be multiplied by: see [`matmul`](SparseTensor::matmul).
///
/// | right operand | product |
/// |---|---|
/// | `Tensor<D, K>`, dense | `Tensor<D, K>` |
/// | `Tensor<{D - 1}, K>`, dense: one column, or for dense dims one number each | `Tensor<{D - 1}, K>` |
/// | `Tensor<{D + 1}, K>` or `Tensor<{D + 2}, K>`, dense: a batch for one pattern | the same rank |
/// | `SparseTensor<P, D, K>` or `&SparseTensor<P, D, K>`, of the same layout | `SparseTensor<P, D, K>` |
///
/// Ranks `D` of 2 to 5 have the operands of another rank. It cannot be implemented outside this crate.
#[diagnostic::on_unimplemented(
    message = "a sparse tensor of rank {D} and kind `{K}` cannot be multiplied by `{Self}`",
    label = "not an operand of `matmul` here",
    note = "it takes a dense `Tensor<{D}, {K}>`, one of a rank less (a vector) or more (a batch), or a sparse tensor \
            of the same layout, rank and kind, by value or by reference; a dense operand is taken by value: clone it \
            to keep it"
)]
#[allow(private_bounds)] // Sealed.
pub trait MatmulRhs<P: Pattern, const D: usize, K: Numeric>:
    Clone + Multiply<P, D, K, <Self as MatmulRhs<P, D, K>>::Output>
{
    /// The product.
    type Output;
}

/// The method of [`MatmulRhs`]. The trait is private, so nobody else can implement that one.
trait Multiply<P: Pattern, const D: usize, K: Numeric, O> {
    fn multiply(self, left: &SparseTensor<P, D, K>) -> Result<O>;
}

impl<P: Pattern, const D: usize, K: Numeric> MatmulRhs<P, D, K> for Tensor<D, K> {
    type Output = Self;
}

impl<P: Pattern, const D: usize, K: Numeric> Multiply<P, D, K, Self> for Tensor<D, K> {
    fn multiply(self, left: &SparseTensor<P, D, K>) -> Result<Self> {
        left.times("matmul", self)
    }
}

macro_rules! other_ranks {
    ($($sparse:literal: $($dense:literal)*;)*) => {$($(
        impl<P: Pattern, K: Numeric> MatmulRhs<P, $sparse, K> for Tensor<$dense, K> {
            type Output = Self;
        }

        impl<P: Pattern, K: Numeric> Multiply<P, $sparse, K, Self> for Tensor<$dense, K> {
            fn multiply(self, left: &SparseTensor<P, $sparse, K>) -> Result<Self> {
                left.times("matmul", self)
            }
        }
    )*)*};
}

other_ranks! {
    2: 1 3 4;
    3: 2 4 5;
    4: 3 5 6;
    5: 4 6 7;
}

impl<P: Pattern, const D: usize, K: Numeric> MatmulRhs<P, D, K> for &SparseTensor<P, D, K> {
    type Output = SparseTensor<P, D, K>;
}

impl<P: Pattern, const D: usize, K: Numeric> Multiply<P, D, K, SparseTensor<P, D, K>> for &SparseTensor<P, D, K> {
    fn multiply(self, left: &SparseTensor<P, D, K>) -> Result<SparseTensor<P, D, K>> {
        left.times_sparse(self)
    }
}

impl<P: Pattern, const D: usize, K: Numeric> MatmulRhs<P, D, K> for SparseTensor<P, D, K> {
    type Output = Self;
}

impl<P: Pattern, const D: usize, K: Numeric> Multiply<P, D, K, Self> for SparseTensor<P, D, K> {
    fn multiply(self, left: &SparseTensor<P, D, K>) -> Result<Self> {
        left.times_sparse(&self)
    }
}

impl<P: Pattern, const D: usize, K: Numeric> SparseTensor<P, D, K> {
    /// `self x rhs`, where `rhs` is dense, a vector or sparse: `[M, N] x [N, F] -> [M, F]` or `[M, N] x [N] -> [M]`,
    /// and for a batch `[B, M, N] x [B, N, F] -> [B, M, F]`. [`MatmulRhs`] lists the operands.
    ///
    /// `out[r, f] = sum_c self[r, c] * rhs[c, f]`. Float, and Int with wrapping sums; f16 and bf16 accumulate in f32.
    ///
    /// **With dense dims.** A tensor `[M, N, heads]` has a weight for each head at every element, as attention has.
    /// `out[r, h, f] = sum_c self[r, c, h] * rhs[c, h, f]`, so `[M, N, heads] x [N, heads, F] -> [M, heads, F]`.
    /// Without features, `[M, N, heads, F] x [N, heads, F] -> [M, heads, F]` multiplies element by element and sums
    /// over the row's elements: messages with weights of their own. Any number of dense dims. One pass over the pattern
    /// does all heads, forward and backward, and nothing of size `nnz x heads x F` is formed. This is `bspmm` of
    /// dgl.sparse, with the features last.
    ///
    /// **Broadcasting**, as in Burn's `matmul`. More leading dims of `rhs` are a batch for one shared pattern: `[M, N]
    /// x [B, N, F] -> [B, M, F]`. Operands of at least 32 features (of each head) are multiplied one after the other.
    /// Narrow ones, and all on a GPU and in the gradient of the values, are copied side by side for one pass. A batch
    /// of size 1 on either side, and dense dims of size 1, take the size of the other side. A dense operand that is
    /// repeated in this way is copied.
    ///
    /// **By a dense tensor or a vector.** Any finite fill gives the dense answer. The fill is subtracted from the
    /// stored values, which go through the sparse kernel, and `fill * column sums of rhs` is added. A row in which
    /// every element is stored takes no fill. If the fill is not finite, all other rows are NaN or infinite, not always
    /// as in the dense answer, and so is the gradient to `rhs`, even of a column in which every element is stored. With
    /// a fill, f16 and bf16 operands are copied in f32, since the two parts may cancel. An `Undefined` fill takes no
    /// part; then duplicates need no coalesce. Backward (Float): `d values[k] = <d out[r_k, :], rhs[c_k, :]>` (SDDMM on
    /// the pattern), and `d rhs = self^T x d out` (SpMM with the transposed pattern, whose permutation is computed once
    /// and kept; from the second gradient on, the values too are kept in its order, if they are not tracked). Memory:
    /// `O(nnz + (M + N) * F)`, never `M x N`. Cost: `2 * nnz * F` operations forward, twice that backward. On a CPU the
    /// backward pass of a batch of few rows of a wide matrix, with fewer elements than a quarter of the columns, costs
    /// what the batch has: the other rows of `d rhs` are zeros that nothing writes.
    /// [`compact_columns`](SparseTensor::compact_columns) leaves them out too.
    ///
    /// **By a sparse tensor.** The result is coalesced. Its indices have 64 bits where 32
    /// cannot count them. It stores an element wherever a product falls, even if the sum
    /// is zero. Fills must be zero or `Undefined`; an `Undefined` one takes no part and makes the result `Undefined`.
    /// Operands are coalesced first. The symbolic and the numeric phase are separate: the result's pattern is kept with
    /// the left operand's, so a loop over fixed patterns finds it once ([`product_pattern`](Self::product_pattern)
    /// computes it alone). Backward, on the operands' own patterns: `d self[r, c] = sum_f d out[r, f] * rhs[c, f]` at
    /// the elements of `self`, and `d rhs[c, f] = sum_r self[r, c] * d out[r, f]` at those of `rhs`. No other elements
    /// of the gradients are formed (PyTorch has no gradient of CSR @ CSR). Cost: the number of products forward, twice
    /// that backward. Gustavson's algorithm on CPUs.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CooTensor;
    ///
    /// let device = Device::flex();
    /// let a = CooTensor::<2>::from_dense(Tensor::from_floats([[0.0, 2.0], [3.0, 0.0]], &device), 0);
    /// let x = Tensor::<2>::from_floats([[1.0], [10.0]], &device);
    /// assert_eq!(a.matmul(x).into_data().iter::<f32>().collect::<Vec<_>>(), [20.0, 3.0]);
    /// let v = Tensor::<1>::from_floats([1.0, 10.0], &device);
    /// assert_eq!(a.matmul(v).into_data().iter::<f32>().collect::<Vec<_>>(), [20.0, 3.0]);
    /// let b = a.matmul(&a);
    /// assert_eq!(b.nnz(), 2);
    /// assert_eq!(b.to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), [6.0, 0.0, 0.0, 6.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if inner sizes, batches or dense dims differ, or a sparse operand is not a matrix;
    /// `dtype_mismatch`, `device_mismatch`. By a sparse tensor also: `would_densify` for another fill, and for more
    /// than [the limit](crate::Limits) of rows that are almost all empty (or columns, if the second operand is
    /// tracked: its gradient is computed by columns); `overflow` if the result has more elements than an index
    /// dtype of the device can count, or than memory can hold.
    #[async_variant]
    #[or_panic]
    pub fn try_matmul<R: MatmulRhs<P, D, K>>(&self, rhs: R) -> Result<R::Output> {
        rhs.multiply(self)
    }

    /// `self x dense`.
    pub(crate) fn times<const E: usize>(&self, op: &'static str, dense: Tensor<E, K>) -> Result<Tensor<E, K>> {
        let matrix = matrix(op, self)?;
        let operand = Operand::new(op, self, dense.dims())?;
        same_elements(op, &self.values, &dense)?;
        if let Some((own, back)) = widened_for_fill(self) {
            return Ok(in_float(&own.times(op, in_float(&dense, F32))?, back));
        }
        let (rows, batch) = (operand.below(dense.clone()), operand.batch());
        let product = |matrix: &Matrix, values, kept: Option<&_>| {
            let out = spmm(matrix, operand.values(values), rows, batch, Epilogue::default(), kept);
            out.reshape(Exact(operand.out()))
        };
        let sums = |fill| sum_dim(dense, operand.at()) * operand.fill(fill);
        Ok(self.plus_fill(matrix, 0, operand.lines(), product, sums))
    }

    /// `dense x self`: `[F, M] x [M, N] -> [F, N]`, `[M] x [M, N] -> [N]`, and batches. Computed as
    /// `(self^T x dense^T)^T`, with the same rules. For a tensor with dense dims use [`swap_dims`](Self::swap_dims) and
    /// `matmul`.
    ///
    /// A batch broadcasts, as in [`matmul`](Self::matmul): `[B, F, M] x [M, N] -> [B, F, N]`.
    ///
    /// # Errors
    ///
    /// As [`try_matmul`](Self::try_matmul); `shape_mismatch` for a tensor with dense dims.
    #[or_panic]
    pub fn try_rmatmul<const E: usize>(&self, dense: Tensor<E, K>) -> Result<Tensor<E, K>> {
        const OP: &str = "rmatmul";
        let matrix = matrix(OP, self)?;
        let batch = left_batch(OP, self, dense.dims())?;
        same_elements(OP, &self.values, &dense)?;
        if let Some((own, back)) = widened_for_fill(self) {
            return Ok(in_float(&own.try_rmatmul(in_float(&dense, F32))?, back));
        }
        let (left, columns) = (dense.dims(), self.dims()[D - 1]);
        let mut out = left;
        out[E - 1] = columns;
        let dense = if batch == 1 {
            dense.reshape(Exact([1, left[..E - 1].iter().product(), left[E - 1]]))
        } else {
            out[0] = batch;
            let dense = dense.reshape(Exact([left[0], left[E - 2], left[E - 1]]));
            if left[0] == batch { dense } else { dense.expand(Shape::from([batch, left[E - 2], left[E - 1]])) }
        };
        let [_, features, inner] = dense.dims();
        let flat = dense.clone().swap_dims(1, 2).reshape(Exact([batch * inner, features]));
        let product = |matrix: &Matrix, values, _: Option<&_>| {
            spmm_transposed(matrix, values, flat).reshape(Exact([batch, columns, features])).swap_dims(1, 2)
        };
        let sums = |fill: Tensor<2, K>| sum_dim(dense, 2) * fill.reshape(Exact([1; 3]));
        Ok(self.plus_fill(matrix, 1, [batch, 1, columns], product, sums).reshape(Exact(out)))
    }

    /// A product with a dense tensor: `product` is that of stored values, and `sums` is the fill times the sums of the
    /// dense tensor. The result has the rows (`dim` 0) or the columns of the sparse tensor, which `lines` numbers: it
    /// has the sizes of the result where they count these, and 1 elsewhere.
    fn plus_fill<const E: usize>(
        &self,
        matrix: &Matrix,
        dim: usize,
        lines: [usize; E],
        product: impl FnOnce(&Matrix, Tensor<2, K>, Option<&Arc<TransposedValues>>) -> Tensor<E, K>,
        sums: impl FnOnce(Tensor<2, K>) -> Tensor<E, K>,
    ) -> Tensor<E, K> {
        let Some(fill) = fill_term(self) else {
            return self.fill.without_gradient(product(matrix, self.values.clone(), self.transposed()));
        };
        // A = (S - fill on its pattern) + fill everywhere. An element must be stored once for this, so duplicates are
        // merged.
        let merged = self.coalesce();
        let own = merged.pattern.matrix().expect("coalescing keeps the rank");
        let counts = counts_of_full_lines(&merged, dim, own);
        let ids = if dim == 0 { own.row_ids() } else { own.col_ids() };
        let values = without(merged.values, &fill, counts.as_ref().map(|counts| counts.at(ids)));
        let out = product(own, values, None);
        let sum = out.clone() + sums(fill);
        match counts {
            None => sum,
            Some(counts) => sum.mask_where(counts.full(lines, out.dims()), out),
        }
    }
}

/// The pattern as a matrix, or a batch of matrices.
pub(crate) fn matrix<'a, P: Pattern, const D: usize, K: Kind>(
    op: &'static str,
    sparse: &'a SparseTensor<P, D, K>,
) -> Result<&'a Matrix> {
    sparse.pattern.matrix().ok_or_else(|| {
        let rule = "the sparse tensor must be a matrix, or a batch of matrices, got shape {left} with [sparse, dense] \
                    dims {right}";
        SparseError::shape_mismatch(op, rule, sparse.dims(), [sparse.sparse_dims(), sparse.dense_dims()])
    })
}

/// Checks that matrices, or batches of them, of these shapes have a product.
pub(crate) fn check_sizes<const D: usize>(op: &'static str, left: &[usize; D], right: &[usize; D]) -> Result<()> {
    let rule = "the right operand {right} must have as many rows as the left one {left} has columns, and its batch";
    check(op, (left, right), rule, left[D - 1] == right[D - 2] && left[..D - 2] == right[..D - 2])
}

fn check(op: &'static str, (left, right): (&[usize], &[usize]), rule: &'static str, fits: bool) -> Result<()> {
    if fits {
        return Ok(());
    }
    Err(SparseError::shape_mismatch(op, rule, left, right))
}

/// The batch of `dense x sparse` in which matrices are multiplied one by one, for a dense tensor of these sizes.
fn left_batch<P: Pattern, const D: usize, const E: usize, K: Kind>(
    op: &'static str,
    sparse: &SparseTensor<P, D, K>,
    left: [usize; E],
) -> Result<usize> {
    let right = sparse.dims();
    if sparse.dense_dims() > 0 {
        let rule = "for a tensor with dense dims use swap_dims and matmul, got shape {left} with [sparse, dense] dims \
                    {right}";
        return Err(SparseError::shape_mismatch(op, rule, right, [sparse.sparse_dims(), sparse.dense_dims()]));
    }
    // A batch of one matrix is that matrix. Otherwise the batches are joined.
    let batch = if D == 3 && right[0] != 1 { right[0] } else { 1 };
    let joined = batch == 1 && E + 2 >= D || batch != 1 && E == 3 && (left[0] == batch || left[0] == 1);
    let rule = "the dense tensor {left} must have as many columns as the sparse one {right} has rows, and its batch";
    check(op, (&left, &right), rule, joined && left[E - 1] == right[D - 2])?;
    Ok(batch)
}

/// A tensor of 16-bit floats in f32, if its fill takes part in a product, and the type to convert back to. The two
/// terms may cancel.
fn widened_for_fill<P: Pattern, const D: usize, K: Numeric>(
    sparse: &SparseTensor<P, D, K>,
) -> Option<(SparseTensor<P, D, K>, FloatDType)> {
    fill_term(sparse).and_then(|_| widened(sparse))
}

/// The fill as a row, if it takes part in a product: no element has it where all are stored.
pub(crate) fn fill_term<P: Pattern, const D: usize, K: Numeric>(
    sparse: &SparseTensor<P, D, K>,
) -> Option<Tensor<2, K>> {
    let absent = matches!(sparse.fill, Fill::Undefined) || sparse.fill.is_zero();
    let absent = absent || stores_all(&sparse.pattern);
    (!absent).then(|| sparse.fill_row())
}

/// The values minus the fill, but for those in full lines. Without values nothing is subtracted: some devices cannot
/// sum its gradient then.
fn without<K: Numeric>(
    values: Tensor<2, K>,
    fill: &Tensor<2, K>,
    in_full_lines: Option<Tensor<2, Bool>>,
) -> Tensor<2, K> {
    if values.dims()[0] == 0 {
        return values;
    }
    let shifted = values.clone() - fill.clone();
    match in_full_lines {
        None => shifted,
        Some(full) => shifted.mask_where(full.expand(Shape::from(values.dims())), values),
    }
}

/// The number of stored elements of each line, and that of a line in which all are stored. A line is a row or a column.
struct Counts {
    counts: Tensor<1, Int>,
    size: usize,
}

impl Counts {
    /// Whether the line of each stored element is full.
    fn at(&self, ids: &Tensor<1, Int>) -> Tensor<2, Bool> {
        policy::pick(&self.counts, ids).equal_elem(self.size as i64).unsqueeze_dim(1)
    }

    /// Whether each line is full, in the shape of a product whose other sizes are 1, and of these sizes.
    fn full<const E: usize>(self, shape: [usize; E], sizes: [usize; E]) -> Tensor<E, Bool> {
        self.counts.equal_elem(self.size as i64).reshape(Exact(shape)).expand(Shape::from(sizes))
    }
}

/// The stored elements of the rows (`dim` 0) or columns of a coalesced tensor, if a line may be full and the fill may
/// not be finite. A full line takes no fill, and infinity minus infinity is NaN.
fn counts_of_full_lines<P: Pattern, const D: usize, K: Numeric>(
    merged: &SparseTensor<P, D, K>,
    dim: usize,
    matrix: &Matrix,
) -> Option<Counts> {
    let (dtype, dims) = (merged.dtype(), merged.pattern.shape());
    let size = dims[dims.len() - 1 - dim];
    let finite = !dtype.is_float() || merged.fill.host().is_some_and(|value| host_float(value, dtype).is_finite());
    let counts = || if dim == 0 { matrix.row_counts() } else { matrix.column_counts() };
    (!finite && merged.nnz() >= size).then(|| Counts { counts: counts(), size })
}
