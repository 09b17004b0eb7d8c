//! How well scores tell positive examples from negative ones.

use burn::tensor::{Int, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::read_data;
use sparse_ops::{Result, SparseError};

/// The area under the ROC curve: the probability that a positive example has a higher score than a negative one.
///
/// `labels` `[N]` are 1 for a positive example and 0 for a negative one, of any integer dtype, and `scores` `[N]` are
/// of any float dtype: the arguments of scikit-learn's `roc_auc_score`, which cannot be given in the other order. A tie
/// counts one half. 0.5 is chance. Reads both to the host. Cost: a sort of `N` scores.
///
/// Source: Hanley and McNeil, *The meaning and use of the area under a receiver operating characteristic (ROC) curve*,
/// Radiology 1982.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::data::roc_auc;
///
/// let device = Device::flex();
/// let labels = Tensor::from_ints([1, 0, 0, 1], &device);
/// let scores = Tensor::from_floats([3.0, 2.0, 1.0, 1.0], &device);
/// assert_eq!(roc_auc(labels, scores), 0.625); // (1 + 1 + 0 + 0.5) / 4
/// ```
///
/// # Errors
///
/// `length_mismatch` if there is not one score for each label; `empty_input` if there is no positive or no negative
/// example; `invalid` for a label that is neither 0 nor 1, and for a score that is NaN.
#[or_panic]
pub fn try_roc_auc(labels: Tensor<1, Int>, scores: Tensor<1>) -> Result<f64> {
    let examples = Examples::read("roc_auc", labels, scores)?;
    let sizes = (examples.positives.len() as f64, examples.negatives.len() as f64);
    let (mut below, mut wins) = (0.0, 0.0);
    for [positive, negative] in examples.tied() {
        wins += positive * (below + negative / 2.0);
        below += negative;
    }
    Ok(wins / sizes.0 / sizes.1)
}

/// The mean over the positive examples of the precision at their score: the area under the curve of precision and
/// recall, in steps. A measure for few positives among many.
///
/// `labels` and `scores` are those of [`roc_auc`]. `sum_n (R_n - R_(n-1)) P_n` over the distinct scores, from the
/// highest: `P_n` is the share of positives among the examples that score as high, and `R_n` the share of the positives
/// that do. The share of positives is chance. Reads both to the host. Cost: a sort of `N` scores. (scikit-learn's
/// `average_precision_score`, which gives 0 without positives, and 1 without negatives.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::data::average_precision;
///
/// let device = Device::flex();
/// let labels = Tensor::from_ints([0, 1, 1, 0, 1], &device);
/// let scores = Tensor::from_floats([0.5, 0.6, 0.9, 0.8, 0.7], &device);
/// // The positives are first, third and fourth.
/// let expected = (1.0 / 1.0 + 2.0 / 3.0 + 3.0 / 4.0) / 3.0;
/// assert!((average_precision(labels, scores) - expected).abs() < 1e-12);
/// ```
///
/// # Errors
///
/// As [`try_roc_auc`].
#[or_panic]
pub fn try_average_precision(labels: Tensor<1, Int>, scores: Tensor<1>) -> Result<f64> {
    let examples = Examples::read("average_precision", labels, scores)?;
    let count = examples.positives.len() as f64;
    let (mut found, mut above, mut sum) = (0.0, 0.0, 0.0);
    for [positive, negative] in examples.tied().into_iter().rev() {
        found += positive;
        above += positive + negative;
        sum += positive * found / above;
    }
    Ok(sum / count)
}

/// The share of the positive examples with a higher score than the `k`-th best of the negative ones.
///
/// `labels` and `scores` are those of [`roc_auc`]. It is 1 if there are fewer than `k` negative examples. Reads both to
/// the host. Cost: `O(N)`. (`hits@k` of OGB's link prediction, whose evaluator takes the two sides by name.)
///
/// Source: Hu et al., *Open graph benchmark: datasets for machine learning on graphs*, NeurIPS 2020.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::data::hits_at_k;
///
/// let device = Device::flex();
/// let labels = Tensor::from_ints([1, 1, 1, 1, 0, 0, 0], &device);
/// let scores = Tensor::from_floats([3.0, 2.0, 0.0, 5.0, 4.0, 2.0, 1.0], &device);
/// assert_eq!(hits_at_k(labels.clone(), scores.clone(), 1), 0.25); // only 5 is above 4
/// assert_eq!(hits_at_k(labels, scores, 2), 0.5);
/// ```
///
/// # Errors
///
/// As [`try_roc_auc`]; `invalid` for a `k` of 0.
#[or_panic]
pub fn try_hits_at_k(labels: Tensor<1, Int>, scores: Tensor<1>, k: usize) -> Result<f64> {
    const OP: &str = "hits_at_k";
    check_k(OP, k)?;
    let Examples { positives, mut negatives } = Examples::read(OP, labels, scores)?;
    if negatives.len() < k {
        return Ok(1.0);
    }
    let (_, &mut threshold, _) = negatives.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a));
    let hits = positives.iter().filter(|&&score| score > threshold).count();
    Ok(hits as f64 / positives.len() as f64)
}

pub(super) fn check_k(op: &'static str, k: usize) -> Result<()> {
    if k == 0 { Err(SparseError::invalid(op, "k must be at least 1, got 0")) } else { Ok(()) }
}

/// The scores of the examples of each label. Neither list is empty.
struct Examples {
    positives: Vec<f64>,
    negatives: Vec<f64>,
}

impl Examples {
    fn read(op: &'static str, labels: Tensor<1, Int>, scores: Tensor<1>) -> Result<Self> {
        let (expected, got) = (labels.dims()[0], scores.dims()[0]);
        if expected != got {
            return Err(SparseError::length_mismatch(op, "scores", expected, got));
        }
        let labels = read_data(labels).convert::<i64>();
        let scores = read(op, "the scores", scores)?;
        let invalid = |message: String| Err(SparseError::invalid(op, message));
        let mut examples = Self { positives: vec![], negatives: vec![] };
        for (at, (label, score)) in labels.iter::<i64>().zip(scores).enumerate() {
            match label {
                1 => examples.positives.push(score),
                0 => examples.negatives.push(score),
                -1 => return invalid(format!("a label must be 0 or 1: leave out what has none, got -1 at {at}")),
                _ => return invalid(format!("a label must be 0 or 1, got {label} at position {at}")),
            }
        }
        let (positive, negative) = (examples.positives.len(), examples.negatives.len());
        if positive == 0 || negative == 0 {
            let rule = "there must be examples with the label 1 and with 0";
            return Err(SparseError::empty_input(op, format!("{rule}, got {positive} and {negative}")));
        }
        Ok(examples)
    }

    /// How many positive and negative examples have each score, from the lowest.
    fn tied(self) -> Vec<[f64; 2]> {
        let mut all: Vec<(f64, bool)> = self.positives.into_iter().map(|score| (score, true)).collect();
        all.extend(self.negatives.into_iter().map(|score| (score, false)));
        all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        // -0 and 0 are one score, which `total_cmp` puts side by side.
        let groups = all.chunk_by(|a, b| a.0 == b.0);
        let count = |tied: &[(f64, bool)], kind| tied.iter().filter(|&&(_, positive)| positive == kind).count() as f64;
        groups.map(|tied| [count(tied, true), count(tied, false)]).collect()
    }
}

/// Scores on the host, where -0 is 0. NaN has no rank.
pub(super) fn read(op: &'static str, what: &'static str, scores: Tensor<1>) -> Result<Vec<f64>> {
    let scores = read_data(scores.inner()).convert::<f64>();
    let scores: Vec<f64> = scores.iter::<f64>().map(|score| score + 0.0).collect();
    match scores.iter().position(|score| score.is_nan()) {
        Some(at) => Err(SparseError::invalid(op, format!("{what} must be numbers, got NaN at position {at}"))),
        None => Ok(scores),
    }
}
