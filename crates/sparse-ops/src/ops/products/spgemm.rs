//! Sparse x sparse.

use crate::base::checks::{same_device, same_dtype};
use crate::base::empty::constant;
use crate::base::index::index_tensor;
use crate::base::kind::{Kind, Numeric, as_float, from_float, is_tracked};
use crate::base::lazy::Lazy;
use crate::base::limits::check_table;
use crate::base::sizes::cells;
use crate::kernel::{self, Compressed};
use crate::ops::products::matmul::check_sizes;
use crate::pattern::csr::CsrPattern;
use crate::pattern::layout::{Pattern, Structure};
use crate::pattern::matrix::Matrix;
use crate::pattern::memo::{Made, Memo};
use crate::policy::plans_products;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{DType, Int, Tensor};
use sparse_autograd::{Erased, record};
use sparse_core::{ProductPlan, Result, SparseError};
use sparse_macros::{async_variant, or_panic};
use std::sync::Arc;

impl<P: Pattern, const D: usize, K: Numeric> SparseTensor<P, D, K> {
    /// `self x other`, both sparse.
    pub(crate) fn times_sparse(&self, other: &Self) -> Result<Self> {
        const OP: &str = "matmul";
        let (a, b) = checked(OP, self, other)?;
        if is_tracked(&b.values) {
            let cols = matrix(&b).size()[1];
            let hint = "use detach on the second operand: its gradient needs a pointer for every column, and almost \
                        all are empty";
            check_table(OP, ("the column pointers", cols as u128 + 1), cols, b.pattern.memo().held(), hint)?;
        }
        let fill = if a.fill.is_undefined() || b.fill.is_undefined() { Fill::Undefined } else { Fill::Zero };
        let (pattern, values) = product(&a, &b)?;
        Ok(Self::from_parts(pattern, values, vec![], fill))
    }

    /// The pattern of `self x other`, both sparse. This is the symbolic phase of [`matmul`](Self::matmul), which finds
    /// the pattern afterwards.
    ///
    /// # Errors
    ///
    /// As [`try_matmul`](Self::try_matmul).
    #[async_variant]
    #[or_panic]
    pub fn try_product_pattern(&self, other: &Self) -> Result<P> {
        let (a, b) = checked("product_pattern", self, other)?;
        Ok(symbolic(&a, &b)?.0.pattern)
    }
}

fn not_a_matrix<P: Pattern, const D: usize, K: Kind>(op: &'static str, sparse: &SparseTensor<P, D, K>) -> SparseError {
    let rule = "both must be matrices, or batches of matrices, without dense dims, got shape {left} with [sparse, \
                dense] dims {right}";
    SparseError::shape_mismatch(op, rule, sparse.dims(), [sparse.sparse_dims(), sparse.dense_dims()])
}

/// The coalesced operands of a product.
pub(super) fn checked<P: Pattern, const D: usize, K: Numeric>(
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
    check_sizes(op, &left, &right)?;
    same_dtype(op, a.dtype(), b.dtype())?;
    same_device(op, &a.device(), &b.device())?;
    // Products use compressed rows in every layout.
    [a, b].iter().try_for_each(|side| CsrPattern::check_shape(op, side.pattern.shape(), side.pattern.memo().held()))?;
    if [a, b].iter().any(|side| !side.fill.is_undefined() && !side.fill.is_zero()) {
        let mut shape = left;
        shape[D - 1] = right[D - 1];
        let hint = "use to_dense on one operand: a fill other than zero reaches every element of a product";
        return Err(SparseError::would_densify(op, cells(&shape), hint));
    }
    Ok((a.coalesce(), b.coalesce()))
}

pub(super) fn matrix<P: Pattern, const D: usize, K: Kind>(sparse: &SparseTensor<P, D, K>) -> &Matrix {
    sparse.pattern.matrix().expect("checked, and coalescing keeps the rank")
}

/// Both operands' rows in one index dtype: that of the product.
fn rows(a: &Matrix, b: &Matrix, dtype: DType) -> [Compressed; 2] {
    [a.by_row(), b.by_row()].map(|rows| cast(rows, dtype))
}

pub(super) fn cast(rows: &Compressed, dtype: DType) -> Compressed {
    rows.clone().map(|list| index_tensor(list, dtype))
}

/// The index dtype that a product has, unless it has more elements than that counts.
fn usual_dtype(a: &Matrix, b: &Matrix) -> DType {
    let narrow = [a, b].iter().all(|side| side.by_row().ptr.dtype() == DType::I32);
    if narrow { DType::I32 } else { DType::I64 }
}

/// The pattern of a product, its compressed rows, and the plans for its values.
#[derive(Clone)]
pub(super) struct Product<P> {
    pub(super) pattern: P,
    rows: Compressed,
    plans: Arc<Plans>,
}

impl<P: Pattern> Made for Product<P> {
    fn memos(&self) -> Vec<&Memo> {
        vec![self.pattern.memo()]
    }

    fn held(&self) -> usize {
        let plans = if plans_products(&self.pattern.device()) { PLANNED * self.pattern.nnz() } else { 0 };
        self.pattern.memo().held() + plans
    }
}

/// Most numbers that both plans of a product take in memory, for each of its elements.
const PLANNED: usize = 4;

/// Plans of `C = A * B` by rows, and by columns: of `C^T = B^T * A^T`. On a CPU they are made with the second product
/// of two patterns and with the first gradient. A plan and the values from it take less time than the values without.
#[derive(Debug, Default)]
struct Plans {
    by_row: Lazy<Option<ProductPlan>>,
    by_col: Lazy<Option<ProductPlan>>,
}

/// The plan of a product `c`, which is `cols` wide.
fn plan(
    kept: &Lazy<Option<ProductPlan>>,
    c: &Compressed,
    [a, b]: [&Compressed; 2],
    cols: usize,
) -> Option<ProductPlan> {
    if !plans_products(&c.ptr.device()) {
        return None;
    }
    kept.get(|| kernel::spgemm_plan((&c.ptr, &c.idx), a, b, cols)).clone()
}

#[derive(PartialEq, Eq)]
struct Times(u64);

pub(super) type Patterned<P, K> = (Product<P>, Option<Tensor<2, K>>);

/// The pattern of the product. The pass that finds it also computes the values, which are `None` if it was known.
pub(super) fn symbolic<P: Pattern, const D: usize, K: Numeric>(
    a: &SparseTensor<P, D, K>,
    b: &SparseTensor<P, D, K>,
) -> Result<Patterned<P, K>> {
    let key = Times(b.pattern.memo().id());
    a.pattern.memo().try_get_with(key, || {
        let (left, right) = (matrix(a), matrix(b));
        let of = |dtype| {
            let [x, y] = rows(left, right, dtype);
            kernel::spgemm((&x, &a.values), (&y, &b.values), right.size()[1])
        };
        let usual = usual_dtype(left, right);
        let found = match of(usual) {
            Err(SparseError::Overflow { .. }) if usual == DType::I32 && a.device().supports_dtype(DType::I64) => {
                of(DType::I64)
            }
            found => found,
        };
        let (view, values) = found?;
        let mut shape = a.pattern.shape().to_vec();
        shape[D - 1] = b.pattern.shape()[D - 1];
        let pattern = P::from_rows(&view, &shape);
        Ok((Product { pattern, rows: view, plans: Arc::default() }, values))
    })
}

/// What the backward pass keeps.
#[derive(Debug)]
struct Saved {
    /// By rows and by columns: A, B, C.
    by_row: [Compressed; 3],
    by_col: Option<[Compressed; 3]>,
    /// From the elements of B by columns back to its own order.
    back: Option<Tensor<1, Int>>,
    plans: Arc<Plans>,
    a: Option<Tensor<2>>,
    b: Option<Tensor<2>>,
    cols: usize,
    rows: usize,
}

fn product<P: Pattern, const D: usize, K: Numeric>(
    a: &SparseTensor<P, D, K>,
    b: &SparseTensor<P, D, K>,
) -> Result<(P, Tensor<2, K>)> {
    let (Product { pattern, rows: view, plans }, values) = symbolic(a, b)?;
    let (left, right) = (matrix(a), matrix(b));
    let [x, y] = rows(left, right, view.ptr.dtype());
    let ([rows, _], [_, cols]) = (left.size(), right.size());
    let values = values.unwrap_or_else(|| {
        let plan = plan(&plans.by_row, &view, [&x, &y], cols);
        kernel::spgemm_values((&view.ptr, &view.idx), (&x, &a.values), (&y, &b.values), cols, plan)
    });
    let (Some(a_values), Some(b_values)) = (as_float(&a.values), as_float(&b.values)) else {
        return Ok((pattern, values));
    };
    if !a_values.is_tracked() && !b_values.is_tracked() {
        return Ok((pattern, constant(values, &[&a.values, &b.values])));
    }
    let out = as_float(&values).expect("the kind of the operands");
    let by_col = b_values.is_tracked().then(|| {
        let own = pattern.matrix().expect("a product is a matrix").by_col();
        [left.by_col(), right.by_col(), own].map(|view| cast(view, x.ptr.dtype()))
    });
    let saved = Saved {
        by_row: [x, y, view],
        by_col,
        back: if b_values.is_tracked() { right.column_places().cloned() } else { None },
        plans,
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
            let plan = plan(&self.plans.by_row, c, [a, b], self.cols);
            kernel::spgemm_sampled((&a.ptr, &a.idx), (c, grad), (b, values), self.cols, plan).into()
        });
        let to_b = needs[1].then(|| {
            let [a, b, c] = self.by_col.as_ref().expect("saved where B is tracked");
            let values = self.a.as_ref().expect("saved where B is tracked");
            // In the order of B's columns: B^T's element (j, k) is the product of C^T's row j and A^T's row k.
            let plan = plan(&self.plans.by_col, c, [b, a], self.rows);
            let grad = kernel::spgemm_sampled((&b.ptr, &b.idx), (c, grad), (a, values), self.rows, plan);
            let Some(back) = &self.back else { return grad.into() };
            let zero = Tensor::zeros([1, 1], (&grad.device(), grad.dtype()));
            kernel::move_rows(&grad, &zero, back).into()
        });
        [to_a, to_b]
    }
}
