//! How well scores rank: links, and items of users.

use super::host::{HostRows, invalid};
use crate::base::kind::Kind;
use crate::tensor::sparse::CsrTensor;
use burn::tensor::Tensor;
use sparse_burn::read_data;
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

/// The area under the ROC curve: the probability that a positive example, `positives` `[P]`, has a higher score than a
/// negative one, `negatives` `[N]`. A tie counts one half. 0.5 is chance.
///
/// Any float dtype. Reads both to the host. Cost: a sort of `P + N` scores. (scikit-learn's `roc_auc_score`, which
/// takes labels and one list of scores.)
///
/// Source: Hanley and McNeil, *The meaning and use of the area under a receiver operating characteristic (ROC) curve*,
/// Radiology 1982.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::data::roc_auc;
///
/// let device = Device::flex();
/// let positives = Tensor::<1>::from_floats([3.0, 1.0], &device);
/// let negatives = Tensor::<1>::from_floats([2.0, 1.0], &device);
/// assert_eq!(roc_auc(positives, negatives), 0.625); // (1 + 1 + 0 + 0.5) / 4
/// ```
///
/// # Errors
///
/// `empty_input` if a side has no scores; `invalid` for a score that is NaN.
#[or_panic]
pub fn try_roc_auc(positives: Tensor<1>, negatives: Tensor<1>) -> Result<f64> {
    const OP: &str = "roc_auc";
    let positives = scores(OP, "positives", positives)?;
    let negatives = scores(OP, "negatives", negatives)?;
    let sizes = (positives.len() as f64, negatives.len() as f64);
    let mut all: Vec<(f64, bool)> = positives.into_iter().map(|score| (score, true)).collect();
    all.extend(negatives.into_iter().map(|score| (score, false)));
    all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut below, mut wins) = (0usize, 0.0);
    // -0 and 0 are one score, which `total_cmp` puts side by side.
    for tied in all.chunk_by(|a, b| a.0 == b.0) {
        let positive = tied.iter().filter(|(_, positive)| *positive).count();
        let negative = tied.len() - positive;
        wins += positive as f64 * (below as f64 + negative as f64 / 2.0);
        below += negative;
    }
    Ok(wins / sizes.0 / sizes.1)
}

/// The share of positive examples, `positives` `[P]`, with a higher score than the `k`-th best of the negative ones,
/// `negatives` `[N]`. It is 1 if there are fewer than `k` negative examples.
///
/// Reads both to the host. Cost: `O(P + N)`. (`hits@k` of OGB's link prediction.)
///
/// Source: Hu et al., *Open graph benchmark: datasets for machine learning on graphs*, NeurIPS 2020.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::data::hits_at_k;
///
/// let device = Device::flex();
/// let positives = Tensor::<1>::from_floats([3.0, 2.0, 0.0, 5.0], &device);
/// let negatives = Tensor::<1>::from_floats([4.0, 2.0, 1.0], &device);
/// assert_eq!(hits_at_k(positives.clone(), negatives.clone(), 1), 0.25); // only 5 is above 4
/// assert_eq!(hits_at_k(positives, negatives, 2), 0.5);
/// ```
///
/// # Errors
///
/// `empty_input` if a side has no scores; `invalid` for a score that is NaN, or a `k` of 0.
#[or_panic]
pub fn try_hits_at_k(positives: Tensor<1>, negatives: Tensor<1>, k: usize) -> Result<f64> {
    const OP: &str = "hits_at_k";
    check_k(OP, k)?;
    let positives = scores(OP, "positives", positives)?;
    let mut negatives = scores(OP, "negatives", negatives)?;
    if negatives.len() < k {
        return Ok(1.0);
    }
    let (_, &mut threshold, _) = negatives.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a));
    let hits = positives.iter().filter(|&&score| score > threshold).count();
    Ok(hits as f64 / positives.len() as f64)
}

/// Recall at `k`: of the items that are right for a user, the share among the `k` with the highest scores; the mean
/// over users.
///
/// `scores` `[users, items]` has a score for each item, and `relevant` `[users, items]` stores the items that are
/// right. Items that `known` stores are not offered: what the model was trained on. Users without a relevant item are
/// left out. Of equal scores the first item wins. Reads the scores and the patterns to the host; values do not matter.
/// Cost: `O(users * items)`. (PyG's `LinkPredRecall`.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CsrTensor, data::recall_at_k};
///
/// let device = Device::flex();
/// let scores = Tensor::<2>::from_floats([[0.9, 0.8, 0.1, 0.2], [0.1, 0.2, 0.3, 0.4]], &device);
/// let relevant = CsrTensor::<2>::from_rows(&[vec![(1, 1.0), (2, 1.0)], vec![]], 4, &device).unwrap();
/// assert_eq!(recall_at_k(scores.clone(), &relevant, None, 2), 0.5); // user 0 is offered 0 and 1
/// let known = CsrTensor::<2>::from_rows(&[vec![(0, 1.0), (3, 1.0)], vec![]], 4, &device).unwrap();
/// assert_eq!(recall_at_k(scores, &relevant, Some(&known), 2), 1.0); // 1 and 2
/// ```
///
/// # Errors
///
/// `shape_mismatch` if the shapes differ; `empty_input` if no user has a relevant item; `invalid` for a score that is
/// NaN, or a `k` of 0.
#[or_panic]
pub fn try_recall_at_k<K: Kind>(
    scores: Tensor<2>,
    relevant: &CsrTensor<2, K>,
    known: Option<&CsrTensor<2, K>>,
    k: usize,
) -> Result<f64> {
    const OP: &str = "recall_at_k";
    check_k(OP, k)?;
    let shape = scores.dims();
    for other in [Some(relevant), known].into_iter().flatten() {
        if other.dims() != shape {
            let rule = "the scores {left} must have a row for each user and a column for each item, as {right}";
            let (left, right) = (shape.to_vec(), other.dims().to_vec());
            return Err(SparseError::ShapeMismatch { op: OP, rule, left, right });
        }
    }
    let [users, items] = shape;
    let (relevant, known) = (HostRows::of(relevant.pattern()), known.map(|known| HostRows::of(known.pattern())));
    if relevant.idx().is_empty() {
        return Err(SparseError::EmptyInput { op: OP, what: "a user must have a relevant item, got none".into() });
    }
    let scores = read(OP, "the scores", scores.reshape([users * items]))?;
    // In the row of a user: items that are right, and items that are not offered.
    let (mut right, mut hidden) = (vec![usize::MAX; items], vec![usize::MAX; items]);
    let (mut sum, mut counted) = (0.0, 0usize);
    for (user, scores) in scores.chunks_exact(items).enumerate() {
        let range = |rows: &HostRows| rows.ptr().at(user)..rows.ptr().at(user + 1);
        let own = range(&relevant);
        if own.is_empty() {
            continue;
        }
        let count = own.len();
        own.for_each(|at| right[relevant.idx().at(at)] = user);
        if let Some(known) = &known {
            range(known).for_each(|at| hidden[known.idx().at(at)] = user);
        }
        let mut offered: Vec<usize> = (0..items).filter(|&item| hidden[item] != user).collect();
        if k < offered.len() {
            offered.select_nth_unstable_by(k, |&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
            offered.truncate(k);
        }
        sum += offered.iter().filter(|&&item| right[item] == user).count() as f64 / count as f64;
        counted += 1;
    }
    Ok(sum / counted as f64)
}

fn check_k(op: &'static str, k: usize) -> Result<()> {
    if k == 0 { invalid(op, "k must be at least 1, got 0".into()) } else { Ok(()) }
}

/// One side of a comparison, which must not be empty.
fn scores(op: &'static str, what: &'static str, side: Tensor<1>) -> Result<Vec<f64>> {
    if side.dims()[0] == 0 {
        return Err(SparseError::EmptyInput { op, what: format!("{what} must have a score, got none") });
    }
    read(op, what, side)
}

/// Scores on the host, where -0 is 0. NaN has no rank.
fn read(op: &'static str, what: &'static str, scores: Tensor<1>) -> Result<Vec<f64>> {
    let scores = read_data(scores.inner()).convert::<f64>();
    let scores: Vec<f64> = scores.iter::<f64>().map(|score| score + 0.0).collect();
    match scores.iter().position(|score| score.is_nan()) {
        Some(at) => invalid(op, format!("{what} must be numbers, got NaN at position {at}")),
        None => Ok(scores),
    }
}
