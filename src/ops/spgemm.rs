//! Sparse x sparse.

use super::blocks::{check_layout, check_table, held};
use crate::kernel::{self, Arrays, Compressed};
use crate::pattern::{self, CooPattern, CsrPattern, Matrix, Pattern, index_tensor, keep_product, known_product};
use crate::tensor::{
    Exact, Fill, Kind, Numeric, SparseTensor, as_float, associate_like, dtype_name, expect, from_float, same_device,
};
use burn::tensor::{DType, Int, Tensor};
use sparse_autograd::{Erased, record};
use sparse_core::{Result, SparseError};

impl<P: Pattern, const D: usize, K: Numeric> SparseTensor<P, D, K> {
    /// `self x other`, both sparse: `[M, K] x [K, N] -> [M, N]`, for a batch `[B, M, K] x [B, K, N] -> [B, M, N]`.
    ///
    /// `out[i, j] = sum_k self[i, k] * other[k, j]`, coalesced, with an element wherever a product falls (also where the sum is
    /// zero). Fills must be zero, or `Undefined` (which takes no part and makes the result `Undefined`). Operands are
    /// coalesced first. Float, and Int with wrapping sums; f16 and bf16 accumulate in f32.
    ///
    /// The symbolic phase and the numeric one are apart: the result's pattern is kept with the left operand's, and a loop
    /// over fixed patterns finds it once. `product_pattern` computes it alone.
    ///
    /// Backward, on the operands' own patterns: `d self[i, k] = sum_j d out[i, j] * other[k, j]` at the elements of `self`, and
    /// `d other[k, j] = sum_i self[i, k] * d out[i, j]` at those of `other`. Nothing of another size is formed (PyTorch has no
    /// gradient of CSR @ CSR). Cost: the number of products forward, twice that backward. Gustavson's algorithm on CPUs.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let device = Device::flex();
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 2.0], [3.0, 0.0]], &device));
    /// let b = a.matmul_sparse(&a);
    /// assert_eq!(b.nnz(), 2);
    /// assert_eq!(b.to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), [6.0, 0.0, 0.0, 6.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `dtype_mismatch`, `device_mismatch`; `would_densify` for another fill, and for more rows than
    /// [`dense_limit`](crate::dense_limit) of which almost all are empty (or so many columns of a tracked second operand,
    /// whose gradient goes by columns); `overflow` if the result has more elements than
    /// the operands' index dtype counts or memory holds.
    pub fn try_matmul_sparse(&self, other: &Self) -> Result<Self> {
        const OP: &str = "matmul";
        let (a, b) = checked(OP, self, other)?;
        if as_float(&b.values).is_some_and(|values| values.is_tracked()) {
            let cols = matrix(&b).size()[1];
            let hint = "the gradient of the second operand needs a pointer for every column, and almost all are empty";
            check_table(OP, cols, cols as u128 + 1, held(&b.pattern), hint)?;
        }
        let fill = if a.fill.is_undefined() || b.fill.is_undefined() { Fill::Undefined } else { Fill::Zero };
        let (pattern, values) = product(&a, &b)?;
        Ok(Self::from_parts(pattern, values, vec![], fill))
    }

    /// [`try_matmul_sparse`](Self::try_matmul_sparse), with a panic in place of an error.
    #[track_caller]
    pub fn matmul_sparse(&self, other: &Self) -> Self {
        expect(self.try_matmul_sparse(other))
    }

    /// `self x other^T`, both sparse (see [`matmul_sparse`](Self::matmul_sparse)): the transposed view of `other` is kept with its
    /// pattern.
    ///
    /// # Errors
    ///
    /// As [`try_matmul_sparse`](Self::try_matmul_sparse).
    pub fn try_matmul_transposed(&self, other: &Self) -> Result<Self> {
        if D < 2 {
            return Err(not_a_matrix("matmul_transposed", other));
        }
        let mut axes: [isize; D] = std::array::from_fn(|axis| axis as isize);
        axes.swap(D - 2, D - 1);
        self.try_matmul_sparse(&other.try_permute(axes)?)
    }

    /// [`try_matmul_transposed`](Self::try_matmul_transposed), with a panic in place of an error.
    #[track_caller]
    pub fn matmul_transposed(&self, other: &Self) -> Self {
        expect(self.try_matmul_transposed(other))
    }

    /// The pattern of `self x other`: the symbolic phase of [`matmul_sparse`](Self::matmul_sparse), which uses it from then on.
    ///
    /// # Errors
    ///
    /// As [`try_matmul_sparse`](Self::try_matmul_sparse).
    pub fn try_product_pattern(&self, other: &Self) -> Result<P> {
        let (a, b) = checked("product_pattern", self, other)?;
        Ok(symbolic(&a, &b)?.0.0)
    }
}

fn not_a_matrix<P: Pattern, const D: usize, K: Kind>(op: &'static str, sparse: &SparseTensor<P, D, K>) -> SparseError {
    SparseError::ShapeMismatch {
        op,
        rule: "both must be matrices, or batches of matrices, without dense dims",
        left: sparse.dims().to_vec(),
        right: vec![sparse.sparse_dims(), sparse.dense_dims()],
    }
}

/// The coalesced operands of a product.
fn checked<P: Pattern, const D: usize, K: Numeric>(
    op: &'static str,
    a: &SparseTensor<P, D, K>,
    b: &SparseTensor<P, D, K>,
) -> Result<(SparseTensor<P, D, K>, SparseTensor<P, D, K>)> {
    for side in [a, b] {
        if side.dense_dims() > 0 || side.pattern.matrix().is_none() {
            return Err(not_a_matrix(op, side));
        }
    }
    let (left, right) = (a.dims(), b.dims());
    if left[D - 1] != right[D - 2] || left[..D - 2] != right[..D - 2] {
        let rule = "inner sizes and batches must agree";
        return Err(SparseError::ShapeMismatch { op, rule, left: left.to_vec(), right: right.to_vec() });
    }
    if a.dtype() != b.dtype() {
        return Err(SparseError::DtypeMismatch { op, left: dtype_name(a.dtype()), right: dtype_name(b.dtype()) });
    }
    same_device(op, &a.device(), &b.device())?;
    // Products go by compressed rows, whatever the layout is.
    [a, b].iter().try_for_each(|side| check_layout::<CsrPattern>(op, side.pattern.shape(), held(&side.pattern)))?;
    if [a, b].iter().any(|side| !side.fill.is_undefined() && !side.fill.is_zero()) {
        let mut shape = left;
        shape[D - 1] = right[D - 1];
        let hint = "a fill other than zero reaches every element of a product: matmul takes a dense operand";
        return Err(SparseError::WouldDensify { op, elements: pattern::cells(&shape), limit: 0, hint });
    }
    Ok((a.coalesce(), b.coalesce()))
}

fn matrix<P: Pattern, const D: usize, K: Kind>(sparse: &SparseTensor<P, D, K>) -> &Matrix {
    sparse.pattern.matrix().expect("checked, and coalescing keeps the rank")
}

/// Both operands' rows in one index dtype that also counts the products' columns.
fn rows(a: &Matrix, b: &Matrix) -> [Compressed; 2] {
    let (left, right) = (a.by_row(), b.by_row());
    let narrow = left.ptr.dtype() == DType::I32 && right.ptr.dtype() == DType::I32;
    let dtype = if narrow { DType::I32 } else { DType::I64 };
    [left, right].map(|rows| kernel::cast_rows(rows, dtype))
}

type Patterned<P, K> = (pattern::Product<P>, Option<Tensor<2, K>>);

/// The pattern of the product; with it the values, where the pattern had to be found.
fn symbolic<P: Pattern, const D: usize, K: Numeric>(
    a: &SparseTensor<P, D, K>,
    b: &SparseTensor<P, D, K>,
) -> Result<Patterned<P, K>> {
    if let Some(known) = known_product(&a.pattern, &b.pattern) {
        return Ok((known, None));
    }
    let (left, right) = (matrix(a), matrix(b));
    let [x, y] = rows(left, right);
    let (view, values) = kernel::spgemm((&x, &a.values), (&y, &b.values), right.size()[1])?;
    let mut shape = a.pattern.shape().to_vec();
    shape[D - 1] = b.pattern.shape()[D - 1];
    let pattern = if P::LAYOUT == CsrPattern::LAYOUT && D == 2 {
        P::from_arrays(Arrays::Csr(view.ptr.clone(), view.idx.clone()), &shape, true)
    } else {
        P::from_coo(coordinates(&view, &shape))
    };
    Ok((keep_product(&a.pattern, &b.pattern, (pattern, view)), Some(values)))
}

/// Compressed rows of the matrix that a batch makes, as coordinates of the batch.
fn coordinates(view: &Compressed, shape: &[usize]) -> CooPattern {
    let nnz = view.idx.dims()[0];
    let dtype = pattern::index_dtype(shape, nnz);
    let line = |ids: Tensor<1, Int>| index_tensor(ids, dtype).reshape(Exact([1, nnz]));
    let indices = if nnz == 0 {
        Tensor::empty([shape.len(), 0], (&view.idx.device(), dtype))
    } else {
        let (row, col) = (kernel::expand_ptr(&view.ptr, nnz), view.idx.clone());
        match *shape {
            [_, rows, cols] => {
                let batch = row.clone().div_scalar(rows as i64);
                let row = row - batch.clone().mul_scalar(rows as i64);
                let col = col - batch.clone().mul_scalar(cols as i64);
                Tensor::cat(vec![line(batch), line(row), line(col)], 0)
            }
            _ => Tensor::cat(vec![line(row), line(col)], 0),
        }
    };
    CooPattern::new_unchecked(indices, shape, true)
}

/// What the backward pass keeps.
#[derive(Debug)]
struct Saved {
    /// By rows and by columns: A, B, C.
    by_row: [Compressed; 3],
    by_col: Option<[Compressed; 3]>,
    /// From the elements of B by columns back to its own order.
    back: Option<Tensor<1, Int>>,
    a: Option<Tensor<2>>,
    b: Option<Tensor<2>>,
    cols: usize,
    rows: usize,
}

fn product<P: Pattern, const D: usize, K: Numeric>(
    a: &SparseTensor<P, D, K>,
    b: &SparseTensor<P, D, K>,
) -> Result<(P, Tensor<2, K>)> {
    let ((pattern, view), values) = symbolic(a, b)?;
    let (left, right) = (matrix(a), matrix(b));
    let [x, y] = rows(left, right);
    let ([rows, _], [_, cols]) = (left.size(), right.size());
    let values =
        values.unwrap_or_else(|| kernel::spgemm_values((&view.ptr, &view.idx), (&x, &a.values), (&y, &b.values), cols));
    let (Some(a_values), Some(b_values)) = (as_float(&a.values), as_float(&b.values)) else {
        return Ok((pattern, values));
    };
    if !a_values.is_tracked() && !b_values.is_tracked() {
        return Ok((pattern, associate_like(values, &[&a.values, &b.values])));
    }
    let out = as_float(&values).expect("the kind of the operands");
    let by_col = b_values.is_tracked().then(|| {
        let own = pattern.matrix().expect("a product is a matrix").by_col();
        [left.by_col(), right.by_col(), own].map(|view| kernel::cast_rows(view, x.ptr.dtype()))
    });
    let saved = Saved {
        by_row: [x, y, view],
        by_col,
        back: if b_values.is_tracked() { right.column_places().cloned() } else { None },
        a: b_values.is_tracked().then(|| a_values.clone().inner()),
        b: a_values.is_tracked().then(|| b_values.clone().inner()),
        cols,
        rows,
    };
    let parents = [Erased::from(a_values), Erased::from(b_values)];
    Ok((pattern, from_float(record(out, parents, saved, |saved, grad, needs| saved.backward(&grad, needs)))))
}

impl Saved {
    fn backward(&self, grad: &Tensor<2>, needs: [bool; 2]) -> [Option<Erased>; 2] {
        let [a, b, c] = &self.by_row;
        let to_a = needs[0].then(|| {
            let values = self.b.as_ref().expect("saved where A is tracked");
            kernel::spgemm_sampled((&a.ptr, &a.idx), (c, grad), (b, values), self.cols).into()
        });
        let to_b = needs[1].then(|| {
            let [a, b, c] = self.by_col.as_ref().expect("saved where B is tracked");
            let values = self.a.as_ref().expect("saved where B is tracked");
            // In the order of B's columns: B^T's element (j, k) is the product of C^T's row j and A^T's row k.
            let grad = kernel::spgemm_sampled((&b.ptr, &b.idx), (c, grad), (a, values), self.rows);
            let Some(back) = &self.back else { return grad.into() };
            let zero = Tensor::zeros([1, 1], (&grad.device(), grad.dtype()));
            kernel::move_rows(&grad, &zero, back).into()
        });
        [to_a, to_b]
    }
}
