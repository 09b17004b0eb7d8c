//! Attention over the stored elements of each row.

use crate::base::checks::{same_device, same_elements};
use crate::base::empty::constant;
use crate::base::exact::Exact;
use crate::base::float::wide;
use crate::base::kind::Kind;
use crate::kernel::{self, Epilogue};
use crate::ops::products::masked_matmul::{flat, head_shapes, sddmm};
use crate::ops::products::matmul::matrix;
use crate::ops::products::spmm::spmm;
use crate::ops::reductions::softmax::{lines_backward, normalized_lines};
use crate::pattern::layout::Pattern;
use crate::pattern::lines::Lines;
use crate::pattern::matrix::Matrix;
use crate::pattern::view::View;
use crate::policy;
use crate::policy::Drops;
use crate::rows::RowSums;
use crate::tensor::sparse::SparseTensor;
use burn::nn::{Dropout, DropoutConfig};
use burn::tensor::{Int, Tensor};
use sparse_autograd::{Erased, record};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

/// Dot-product attention over the stored elements of `mask [M, N]`: queries `[M, heads, F]`, keys `[N, heads, F]` and
/// values `[N, heads, G]` give `[M, heads, G]`.
///
/// `out[i, h, :] = sum_j w[ij, h] * value[j, h, :]`, where the weights `w[ij, h]` are the softmax over `j` of `scale *
/// <query[i, h, :], key[j, h, :]>`. Both go over the elements `j` that row `i` of the mask stores. A row without any
/// gives 0. The values and the dense dims of the mask do not matter. Each of its duplicates counts on its own. Any
/// number of dims may stand for the heads, also none, and those of size 1 broadcast. For a batch of masks `[B, M, N]`
/// the operands start with `B` or 1.
///
/// - `scale`: `1 / sqrt(F)` if none is given.
/// - `dropout`: the probability with which a weight becomes 0; the others are divided by `1 - dropout`. It only applies
///   on an autodiff device, that is, in training. Which weights these are follows from `Device::seed`.
///
/// This is [`head_sddmm`](crate::ops::head_sddmm), `softmax` and `matmul` with one backward rule for all three: SDDMM,
/// softmax and SpMM. (PyTorch's `scaled_dot_product_attention`, on a sparse mask.) On a CPU the three are one walk over
/// the rows of a coalesced mask. What is kept are the operands and the weights, on a GPU also what dropout multiplies
/// them by. So the memory besides operands and result is `O(nnz * heads)`; nothing has `nnz * heads * F` numbers. On a
/// CPU and without a gradient it is that of a few rows.
/// Cost: `2 * nnz * heads * (F + G)` operations forward, twice that backward.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CsrTensor, ops};
///
/// let device = Device::flex();
/// let mask = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 1.0], [0.0, 1.0]], &device));
/// let query = Tensor::<3>::ones([2, 4, 8], &device);
/// let value = Tensor::<3>::from_floats([[[1.0]], [[3.0]]], &device);
///
/// // All scores are equal, so each row gets the mean of the values that it sees.
/// let out = ops::attention(query.clone(), query, value, &mask, None, 0.0);
/// assert_eq!(out.dims(), [2, 4, 1]);
/// assert_eq!(out.into_data().iter::<f32>().collect::<Vec<_>>(), [2.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0]);
/// ```
///
/// Source: Vaswani et al., *Attention is all you need*, NeurIPS 2017, restricted to the edges of a graph as by Shi et
/// al., IJCAI 2021.
///
/// # Errors
///
/// `shape_mismatch` if the mask is not a matrix or a batch of matrices, or sizes do not fit; `invalid` for a dropout
/// outside `[0, 1)`; `dtype_mismatch`, `unsupported_dtype`, `device_mismatch`.
#[or_panic]
pub fn try_attention<P: Pattern, const D: usize, const DM: usize, KM: Kind>(
    query: Tensor<D>,
    key: Tensor<D>,
    value: Tensor<D>,
    mask: &SparseTensor<P, DM, KM>,
    scale: Option<f64>,
    dropout: f64,
) -> Result<Tensor<D>> {
    const OP: &str = "attention";
    matrix(OP, mask)?;
    let shape = mask.pattern.shape();
    let with = |dims: [usize; D], last: usize| {
        let mut dims = dims;
        dims[D - 1] = last;
        dims
    };
    let [features, columns] = [query.dims()[D - 1], value.dims()[D - 1]];
    let fitting = head_shapes(shape, query.dims(), key.dims()).and_then(|[left, right]| {
        let [out, values] = head_shapes(shape, with(left, columns), value.dims())?;
        (out == with(left, columns)).then_some([left, right, values])
    });
    let Some([left, right, values]) = fitting else {
        let rule = "query [.., M, heads.., F], key [.., N, heads.., F] and value [.., N, heads.., G] must fit the \
                    sparse dims [.., M, N] of the mask, got {left} (of query, key and value) and {right}";
        let given = [&query.dims()[..], &key.dims(), &value.dims()].concat();
        return Err(SparseError::shape_mismatch(OP, rule, given, shape));
    };
    if !(0.0..1.0).contains(&dropout) {
        return Err(SparseError::invalid(OP, format!("dropout must be in [0, 1), got {dropout}")));
    }
    same_elements(OP, &query, &key)?;
    same_elements(OP, &query, &value)?;
    same_device(OP, &query.device(), &mask.device())?;
    let rows = shape.len() - 1;
    let heads: usize = left[rows..D - 1].iter().product();
    let scale = scale.unwrap_or_else(|| 1.0 / (features.max(1) as f64).sqrt());
    let scores = Scores::Products { query: flat(query, left, rows), key: flat(key, right, rows), scale };
    let dropout = DropoutConfig::new(dropout).init();
    let out = attend(&mask.pattern, scores, heads, flat(value, values, rows), &dropout);
    Ok(out.reshape(Exact(with(left, columns))))
}

/// What the softmax gets. All operands are flat: `[rows, heads * F]`.
pub enum Scores {
    /// One number for each element and head: `[nnz, heads]`.
    Given(Tensor<2>),
    /// `scale * <query[i, h, :], key[j, h, :]>`.
    Products {
        /// `[M, heads * C]`.
        query: Tensor<2>,
        /// `[N, heads * C]`.
        key: Tensor<2>,
        /// What each product is multiplied by.
        scale: f64,
    },
}

/// What the backward pass keeps.
#[derive(Debug)]
struct Saved {
    by_row: View,
    by_col: View,
    row_ids: Tensor<1, Int>,
    col_ids: Tensor<1, Int>,
    rows: RowSums,
    /// The result of the softmax, `[nnz, heads]`, if an operand is tracked.
    weights: Option<Tensor<2>>,
    /// Which weights dropout drops.
    drops: Option<Drops<2>>,
    value: Tensor<2>,
    /// Query, key and scale.
    factors: Option<(Tensor<2>, Tensor<2>, f64)>,
}

/// The weighted sums of the rows of `value [N, heads * G]`: `[M, heads * G]`, in one rule.
pub fn attend<P: Pattern>(pattern: &P, scores: Scores, heads: usize, value: Tensor<2>, dropout: &Dropout) -> Tensor<2> {
    let matrix = pattern.matrix().expect("checked by callers");
    if pattern.nnz() == 0 || heads == 0 || value.dims()[1] == 0 {
        return nothing(matrix, scores, heads, value);
    }
    let mut along = vec![false; pattern.shape().len()];
    along[pattern.shape().len() - 1] = true;
    let lines = Lines::of(pattern, &along);
    let plain_value = value.clone().inner();
    let options = (&plain_value.device(), plain_value.dtype());
    let drops = Drops::any(dropout, &value).then(|| Drops::draw([pattern.nnz(), heads], options, dropout.prob));
    let scores_tracked = match &scores {
        Scores::Given(scores) => scores.is_tracked(),
        Scores::Products { query, key, .. } => query.is_tracked() || key.is_tracked(),
    };
    let keep = scores_tracked || value.is_tracked();
    let both = scores_tracked && value.is_tracked() && value.dims()[1] >= policy::WIDE;
    let parts = Parts { by_row: matrix.row_view(), lines: &lines, heads, value: &plain_value, drops: drops.as_ref() };
    let (out, weights) = match parts.one_walk(&scores, keep) {
        Some(done) => done,
        None => parts.in_steps(matrix, &scores),
    };
    let saved = Saved {
        by_row: parts.by_row,
        by_col: matrix.gradient_view(both),
        row_ids: matrix.row_ids().clone(),
        col_ids: matrix.col_ids().clone(),
        rows: lines.sums.clone(),
        weights,
        factors: match &scores {
            Scores::Given(_) => None,
            Scores::Products { query, key, scale } => Some((query.clone().inner(), key.clone().inner(), *scale)),
        },
        drops,
        value: plain_value,
    };
    match scores {
        Scores::Given(scores) => {
            record(out, [Erased::from(scores), Erased::from(value)], saved, |saved, grad, [scores, value]| {
                let [scores, _, value] = saved.backward(grad, [scores, false, value]);
                [scores, value]
            })
        }
        Scores::Products { query, key, .. } => {
            let parents = [Erased::from(query), Erased::from(key), Erased::from(value)];
            record(out, parents, saved, |saved, grad, needs| saved.backward(grad, needs))
        }
    }
}

/// What both ways of computing the result read.
struct Parts<'a, P> {
    by_row: View,
    lines: &'a Lines<P>,
    heads: usize,
    value: &'a Tensor<2>,
    drops: Option<&'a Drops<2>>,
}

impl<P: Pattern> Parts<'_, P> {
    /// The result and, to `keep`, the weights: in one kernel, which a CPU has for rows that are in order and short.
    fn one_walk(&self, scores: &Scores, keep: bool) -> Option<(Tensor<2>, Option<Tensor<2>>)> {
        let (value, sums) = (self.value, &self.lines.sums);
        let rule = match self.drops {
            None => None,
            Some(Drops::Rule(rule)) => Some(rule),
            Some(Drops::Factors(_)) => return None,
        };
        if !policy::attends_in_one_walk(value.dtype(), &value.device()) {
            return None;
        }
        let rows = self.by_row.in_order()?;
        if !policy::fuses_softmax(rows.idx.dims()[0], sums.order(), sums.ptr()) {
            return None;
        }
        let (scores, factors, scale) = match scores {
            Scores::Given(scores) => (Some(scores), None, 1.0),
            Scores::Products { query, key, scale } => (None, Some([query.clone(), key.clone()]), *scale),
        };
        Some(kernel::attend(rows, scores, factors.as_ref(), scale, self.heads, value, rule, keep))
    }

    /// The same by one kernel after the other.
    fn in_steps(&self, matrix: &Matrix, scores: &Scores) -> (Tensor<2>, Option<Tensor<2>>) {
        let plain = match scores {
            Scores::Given(scores) => scores.clone().inner(),
            Scores::Products { query, key, scale } => {
                // In f32, as the softmax: products of 16-bit floats may be too large before they are scaled.
                let [query, key] = [query, key].map(|x| wide(x.clone().inner()));
                kernel::sddmm(matrix.row_ids(), matrix.col_ids(), &query, &key, self.heads).mul_scalar(*scale)
            }
        };
        let weights = normalized_lines(plain, self.lines, false).cast(self.value.dtype());
        let used = self.drops.map_or(weights.clone(), |drops| drops.apply(weights.clone()));
        (self.by_row.times(&used, self.value, 1), Some(weights))
    }
}

/// The result without elements or columns: zeros, which depend on all operands.
fn nothing(matrix: &Matrix, scores: Scores, heads: usize, value: Tensor<2>) -> Tensor<2> {
    let weights = match scores {
        Scores::Given(scores) => scores,
        Scores::Products { query, key, .. } => sddmm(matrix, query, key, heads),
    };
    if heads == 0 {
        let zeros = Tensor::zeros([matrix.size()[0], value.dims()[1]], (&value.device().inner(), value.dtype()));
        return constant(zeros, &[&weights, &value]);
    }
    spmm(matrix, weights, value, 1, Epilogue::default(), None)
}

impl Saved {
    /// The gradients of the query (or of given scores), the key and the value.
    fn backward(&self, grad: Tensor<2>, [first, key, value]: [bool; 3]) -> [Option<Erased>; 3] {
        let Self { by_row, by_col, drops, .. } = self;
        let weights = self.weights.as_ref().expect("kept for a tracked operand");
        let drop = |weights: Tensor<2>| match drops {
            Some(drops) => drops.apply(weights),
            None => weights,
        };
        let (row_ids, col_ids, used) = (&self.row_ids, &self.col_ids, || drop(weights.clone()));
        if !first && !key {
            let d_value = value.then(|| by_col.times(&used(), &grad, 1).into());
            return [None, None, d_value];
        }
        let (d_used, d_value) = if value {
            let (d_used, d_value) = by_col.gradients(&used(), &self.value, &grad, [row_ids, col_ids]);
            (d_used, Some(d_value.into()))
        } else {
            (kernel::sddmm(row_ids, col_ids, &grad, &self.value, weights.dims()[1]), None)
        };
        let d_weights = drop(d_used);
        let d_scores = lines_backward(weights, false, d_weights, &self.rows);
        let Some((query, keys, scale)) = &self.factors else { return [Some(d_scores.into()), None, d_value] };
        let d_products = d_scores.mul_scalar(*scale);
        let d_query = first.then(|| by_row.times(&d_products, keys, 1).into());
        let d_key = key.then(|| by_col.times(&d_products, query, 1).into());
        [d_query, d_key, d_value]
    }
}
