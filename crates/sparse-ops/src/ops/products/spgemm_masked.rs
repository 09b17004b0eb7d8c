//! Sparse x sparse in a semiring: at the elements of a mask, or of all.

use crate::base::checks::same_device;
use crate::base::empty::constant;
use crate::base::kind::{Kind, Numeric, as_float, from_float, is_tracked};
use crate::base::limits::check_table;
use crate::kernel::{self, Compressed};
use crate::ops::products::semiring::{Semiring, truths};
use crate::ops::products::spgemm::{cast, checked, matrix, symbolic};
use crate::pattern::layout::Pattern;
use crate::pattern::matrix::Matrix;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{DType, Int, Tensor};
use sparse_autograd::{Erased, record};
use sparse_burn::Term;
use sparse_core::{ProductPlan, Result, SparseError};
use sparse_macros::or_panic;

impl<P: Pattern, const D: usize, K: Numeric> SparseTensor<P, D, K> {
    /// `self x other`, both sparse, in a semiring, at the elements of `mask` alone: `[M, K] x [K, N]` at `[M, N]`, and
    /// batches. The masked product `C<M> = A B` of GraphBLAS.
    ///
    /// `out[r, c] = sum_k self[r, k] * other[k, c]` for each stored element of the mask, whose values do not matter, or
    /// what the [`Semiring`] makes of it, over the `k` that both store. The result has the mask's pattern, coalesced;
    /// where no elements meet it holds what a row without elements gives in [`matmul_semiring`](Self::matmul_semiring):
    /// 0, or an infinity. Its fill is zero, or `Undefined` for min-plus and max-plus and if that of an operand is.
    /// Operands are coalesced first. Integers wrap. NaN wins; in plus-times an infinity or NaN of `other` in a column
    /// of the mask also does where it meets nothing, since it may be read as times zero, as a dense product reads it;
    /// so do those of an operand in the gradient of the other one.
    ///
    /// Backward, each on its own pattern: `d self[r, k] = sum_c d out[r, c] * other[k, c]` over the mask's elements,
    /// and `d other` likewise. In the other semirings a gradient is shared evenly by the terms that tie, as in
    /// `matmul_semiring`.
    ///
    /// Cost: for each element of the mask the stored elements of its column of `other`, and once those of `self`; twice
    /// or four times that backward. No other elements of the product are formed, so this pays where the mask has few of
    /// them. The semirings but plus-times run on the host for a GPU.
    ///
    /// Triangles of an undirected graph: paths of two edges, at the edges.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::{CooTensor, ops::Semiring};
    ///
    /// let edges = [(0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0), (2, 3), (3, 2)];
    /// let a = CooTensor::from_edges(&edges, Tensor::<1>::ones([8], &Device::flex()), 4).unwrap().to_csr();
    /// let closed = a.spgemm_masked(&a, &a, Semiring::PlusTimes);
    /// assert_eq!(closed.sum().into_scalar::<f32>() / 6.0, 1.0);
    /// ```
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if inner sizes or batches differ, the mask does not have the shape of the product, or one of
    /// the three is no matrix or has dense dims; `dtype_mismatch`, `device_mismatch`; `would_densify` for another fill
    /// than zero or `Undefined`, and for more than [the limit](crate::Limits) of columns of which almost all are empty.
    #[or_panic]
    pub fn try_spgemm_masked<KM: Kind>(
        &self,
        other: &Self,
        mask: &SparseTensor<P, D, KM>,
        semiring: Semiring,
    ) -> Result<Self> {
        const OP: &str = "spgemm_masked";
        let (a, b) = checked(OP, self, other)?;
        let mut shape = a.dims();
        shape[D - 1] = b.dims()[D - 1];
        if mask.dense_dims() > 0 || mask.pattern.matrix().is_none() || mask.dims() != shape {
            let rule = "the mask {right} must have the shape {left} of the product, and no dense dims";
            return Err(SparseError::shape_mismatch(OP, rule, shape, mask.dims()));
        }
        same_device(OP, &a.device(), &mask.device())?;
        let pattern = mask.pattern.coalesce().map_or_else(|| mask.pattern.clone(), |(pattern, _)| pattern);
        product_at(OP, [&a, &b], pattern, semiring, false)
    }

    /// `self x other`, both sparse, in a semiring: `[M, K] x [K, N] -> [M, N]`, and batches.
    ///
    /// An element is stored where stored elements meet, as in [`matmul`](Self::matmul) by a sparse tensor, which is
    /// this for [`Semiring::PlusTimes`]. Its fill is zero, or `Undefined` for min-plus and max-plus and if that of an
    /// operand is. Integers wrap. Backward as of [`spgemm_masked`](Self::spgemm_masked).
    ///
    /// Cost: the pattern is that of [`product_pattern`](Self::product_pattern), found once and kept; then the number of
    /// products, twice or four times that backward. The semirings but plus-times run on the host for a GPU.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::{CooTensor, ops::Semiring};
    ///
    /// let weights = Tensor::<1>::from_floats([1.0, 2.0, 5.0, 1.0], &Device::flex());
    /// let a = CooTensor::from_edges(&[(0, 1), (1, 3), (0, 2), (2, 3)], weights, 4).unwrap();
    /// // The shortest path of two edges from the first node to the last.
    /// let two = a.spgemm_semiring(&a, Semiring::MinPlus);
    /// assert_eq!((two.nnz(), two.get([0, 3]).into_scalar::<f32>()), (1, 3.0));
    /// ```
    ///
    /// # Errors
    ///
    /// As [`try_matmul`](Self::try_matmul) by a sparse tensor.
    #[or_panic]
    pub fn try_spgemm_semiring(&self, other: &Self, semiring: Semiring) -> Result<Self> {
        const OP: &str = "spgemm_semiring";
        if semiring == Semiring::PlusTimes {
            return self.times_sparse(other);
        }
        let (a, b) = checked(OP, self, other)?;
        let pattern = symbolic(&a, &b)?.0.pattern;
        product_at(OP, [&a, &b], pattern, semiring, true)
    }
}

/// The product of coalesced operands at the elements of a coalesced pattern, which is `whole` if it has all of them.
fn product_at<P: Pattern, const D: usize, K: Numeric>(
    op: &'static str,
    [a, b]: [&SparseTensor<P, D, K>; 2],
    pattern: P,
    semiring: Semiring,
    whole: bool,
) -> Result<SparseTensor<P, D, K>> {
    if !whole || is_tracked(&b.values) && semiring != Semiring::OrAnd {
        let cols = matrix(b).size()[1];
        let hint = "use compact_columns on the second operand: the product needs a pointer for every column";
        check_table(op, ("the column pointers", cols as u128 + 1), cols, b.pattern.memo().held(), hint)?;
    }
    let tropical = matches!(semiring, Semiring::MinPlus | Semiring::MaxPlus);
    let undefined = tropical || a.fill.is_undefined() || b.fill.is_undefined();
    let values = {
        let at = pattern.matrix().expect("the shape of a matrix");
        let numbers = [&a.values, &b.values].map(|values| match semiring {
            Semiring::OrAnd => truths(values),
            _ => values.clone(),
        });
        let out = values_at([matrix(a), matrix(b), at], numbers, semiring, whole);
        if semiring == Semiring::OrAnd { constant(out, &[&a.values, &b.values]) } else { out }
    };
    let fill = if undefined { Fill::Undefined } else { Fill::Zero };
    Ok(SparseTensor::from_parts(pattern, values, vec![], fill))
}

/// A plan is one of a whole product.
const NO_PLAN: Option<ProductPlan> = None;

/// What the backward pass keeps.
#[derive(Debug)]
struct Saved {
    /// `None` for plus-times.
    term: Option<Term>,
    /// A by rows, and the mask.
    forward: [Compressed; 2],
    /// B by columns, unless the product is whole and B is not tracked.
    b_cols: Option<Compressed>,
    /// The mask by columns, if B is tracked.
    mask_cols: Option<Compressed>,
    /// For plus-times and for whole products: B by rows if A is tracked, A by columns if B is.
    b_rows: Option<Compressed>,
    a_cols: Option<Compressed>,
    /// From the elements of B by columns back to its own order.
    back: Option<Tensor<1, Int>>,
    values: [Tensor<2>; 2],
    out: Option<Tensor<2>>,
    /// Rows of A, its columns, columns of B.
    sizes: [usize; 3],
}

fn values_at<K: Numeric>(
    [a, b, at]: [&Matrix; 3],
    [x, y]: [Tensor<2, K>; 2],
    semiring: Semiring,
    whole: bool,
) -> Tensor<2, K> {
    // A whole product goes along the rows of B.
    let right = if whole { b.by_row() } else { b.by_col() };
    let views = [a.by_row(), right, at.by_row()];
    let narrow = views.iter().all(|view| view.ptr.dtype() == DType::I32);
    let same = |view: &Compressed| cast(view, if narrow { DType::I32 } else { DType::I64 });
    let [rows, right, mask] = views.map(same);
    let ([m, inner], [_, n]) = (a.size(), b.size());
    let how = semiring.extremum();
    let (places, left, other) = ((&mask.ptr, &mask.idx), (&rows, &x), (&right, &y));
    let out = match how {
        None => kernel::spgemm_sampled(places, left, other, inner, NO_PLAN),
        Some((extremum, term)) if whole => kernel::spgemm_extremum(extremum, term, places, left, other, n),
        Some((extremum, term)) => kernel::sampled_extremum(extremum, term, places, left, other, inner),
    };
    let (Some(x), Some(y)) = (as_float(&x), as_float(&y)) else { return out };
    let out = as_float(&out).expect("the kind of the operands");
    let (to_a, to_b) = (x.is_tracked(), y.is_tracked());
    if !to_a && !to_b {
        return from_float(constant(out, &[&x, &y]));
    }
    let by_lines = whole || how.is_none();
    let saved = Saved {
        term: how.map(|(_, term)| term),
        b_cols: if whole { to_b.then(|| same(b.by_col())) } else { Some(right) },
        forward: [rows, mask],
        mask_cols: to_b.then(|| same(at.by_col())),
        b_rows: (to_a && by_lines).then(|| same(b.by_row())),
        a_cols: (to_b && by_lines).then(|| same(a.by_col())),
        back: if to_b { b.column_places().cloned() } else { None },
        values: [x.clone().inner(), y.clone().inner()],
        out: how.is_some().then(|| out.clone()),
        sizes: [m, inner, n],
    };
    from_float(record(out, [Erased::from(x), Erased::from(y)], saved, |saved, grad, [to_a, to_b]| {
        [to_a.then(|| saved.of_a(&grad).into()), to_b.then(|| saved.of_b(&grad).into())]
    }))
}

impl Saved {
    fn of_a(&self, grad: &Tensor<2>) -> Tensor<2> {
        let ([a, mask], [x, y], [_, inner, cols]) = (&self.forward, &self.values, self.sizes);
        match (self.term.zip(self.out.as_ref()), &self.b_rows) {
            (None, rows) => {
                let rows = rows.as_ref().expect("saved where A is tracked");
                kernel::spgemm_sampled((&a.ptr, &a.idx), (mask, grad), (rows, y), cols, NO_PLAN)
            }
            (Some((term, out)), Some(rows)) => {
                kernel::spgemm_extremum_backward(term, mask, (a, x), (rows, y), cols, [out, grad])
            }
            (Some((term, out)), None) => {
                let columns = self.b_cols.as_ref().expect("saved where the product is masked");
                kernel::sampled_extremum_backward(term, mask, (a, x), (columns, y), inner, [out, grad])
            }
        }
    }

    /// Found in the order of B's columns.
    fn of_b(&self, grad: &Tensor<2>) -> Tensor<2> {
        let ([a, _], [x, y], [rows, inner, _]) = (&self.forward, &self.values, self.sizes);
        let [b, mask] = [&self.b_cols, &self.mask_cols].map(|view| view.as_ref().expect("saved where B is tracked"));
        let grad = match (self.term.zip(self.out.as_ref()), &self.a_cols) {
            (None, columns) => {
                let columns = columns.as_ref().expect("saved where B is tracked");
                kernel::spgemm_sampled((&b.ptr, &b.idx), (mask, grad), (columns, x), rows, NO_PLAN)
            }
            (Some((term, out)), Some(columns)) => {
                kernel::spgemm_extremum_backward(term, mask, (b, y), (columns, x), rows, [out, grad])
            }
            (Some((term, out)), None) => {
                kernel::sampled_extremum_backward(term, mask, (b, y), (a, x), inner, [out, grad])
            }
        };
        let Some(back) = &self.back else { return grad };
        let zero = Tensor::zeros([1, 1], (&grad.device(), grad.dtype()));
        kernel::move_rows(&grad, &zero, back)
    }
}
