//! How well the items of users are ranked.

use super::host::HostRows;
use super::metrics::{check_k, read};
use burn::tensor::Tensor;
use sparse_macros::or_panic;
use sparse_ops::extend::{Parts, read_data};
use sparse_ops::{CsrTensor, Kind, Result, SparseError};

/// Recall at `k`: of the items that are right for a user, the share among the `k` with the highest scores; the mean
/// over users.
///
/// `scores` `[users, items]` has a score for each item, and `relevant` `[users, items]` stores the items that are
/// right. Items that `known` stores are not offered: what the model was trained on. Users without a relevant item are
/// left out. Of equal scores the first item wins. Reads the scores and the patterns to the host; values do not matter.
/// Cost: `O(users (items + k log k))`. (PyG's `LinkPredRecall`.)
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
    mean("recall_at_k", scores, relevant, known, k, None, |offered, right| {
        offered.iter().sum::<f64>() / right.len() as f64
    })
}

/// Precision at `k`: the share of the `k` items with the highest scores that is right for a user; the mean over users.
/// A user to whom fewer than `k` items are offered is measured by `k` all the same.
///
/// Arguments are those of [`recall_at_k`]. (PyG's `LinkPredPrecision`.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CsrTensor, data::precision_at_k};
///
/// let device = Device::flex();
/// let scores = Tensor::<2>::from_floats([[0.9, 0.8, 0.7, 0.6]], &device);
/// let relevant = CsrTensor::<2>::from_rows(&[[(0, 1.0), (3, 1.0)]], 4, &device).unwrap();
/// assert_eq!(precision_at_k(scores, &relevant, None, 2), 0.5);
/// ```
///
/// # Errors
///
/// As [`try_recall_at_k`].
#[or_panic]
pub fn try_precision_at_k<K: Kind>(
    scores: Tensor<2>,
    relevant: &CsrTensor<2, K>,
    known: Option<&CsrTensor<2, K>>,
    k: usize,
) -> Result<f64> {
    mean("precision_at_k", scores, relevant, known, k, None, |offered, _| offered.iter().sum::<f64>() / k as f64)
}

/// Mean average precision at `k`: for each item among the `k` best that is right, the share of right ones up to it;
/// their sum divided by `min(k, number of items that are right)`, and the mean over users.
///
/// Arguments are those of [`recall_at_k`]. (PyG's `LinkPredMAP`.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CsrTensor, data::map_at_k};
///
/// let device = Device::flex();
/// let scores = Tensor::<2>::from_floats([[0.9, 0.8, 0.7, 0.6]], &device);
/// let relevant = CsrTensor::<2>::from_rows(&[[(0, 1.0), (2, 1.0)]], 4, &device).unwrap();
/// assert_eq!(map_at_k(scores, &relevant, None, 3), (1.0 / 1.0 + 2.0 / 3.0) / 2.0);
/// ```
///
/// # Errors
///
/// As [`try_recall_at_k`].
#[or_panic]
pub fn try_map_at_k<K: Kind>(
    scores: Tensor<2>,
    relevant: &CsrTensor<2, K>,
    known: Option<&CsrTensor<2, K>>,
    k: usize,
) -> Result<f64> {
    mean("map_at_k", scores, relevant, known, k, None, |offered, right| {
        let (mut found, mut sum) = (0.0, 0.0);
        for (place, gain) in offered.iter().enumerate() {
            found += gain;
            sum += gain * found / (place + 1) as f64;
        }
        sum / right.len().min(k) as f64
    })
}

/// Mean reciprocal rank at `k`: 1 divided by the place of the first item that is right, or 0 if it is not among the
/// `k` best; the mean over users. With `k = usize::MAX` no place is too late.
///
/// Arguments are those of [`recall_at_k`]. (PyG's `LinkPredMRR`.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CsrTensor, data::mrr_at_k};
///
/// let device = Device::flex();
/// let scores = Tensor::<2>::from_floats([[0.9, 0.8, 0.7], [0.1, 0.2, 0.3]], &device);
/// let relevant = CsrTensor::<2>::from_rows(&[[(1, 1.0)], [(2, 1.0)]], 3, &device).unwrap();
/// assert_eq!(mrr_at_k(scores, &relevant, None, usize::MAX), (1.0 / 2.0 + 1.0) / 2.0);
/// ```
///
/// # Errors
///
/// As [`try_recall_at_k`].
#[or_panic]
pub fn try_mrr_at_k<K: Kind>(
    scores: Tensor<2>,
    relevant: &CsrTensor<2, K>,
    known: Option<&CsrTensor<2, K>>,
    k: usize,
) -> Result<f64> {
    mean("mrr_at_k", scores, relevant, known, k, None, |offered, _| {
        offered.iter().position(|&gain| gain > 0.0).map_or(0.0, |place| 1.0 / (place + 1) as f64)
    })
}

/// Normalised discounted cumulative gain at `k`: `DCG = sum_i g_i / log2(i + 1)` over the `k` best items of a user,
/// where `g_i` is the value that `relevant` stores for the item at place `i` (from 1) or 0, divided by the `DCG` of the
/// best order; the mean over users.
///
/// Arguments are those of [`recall_at_k`], except that values matter: ones, or how right an item is. Of equal scores
/// the first item wins. (PyG's `LinkPredNDCG`; scikit-learn's `ndcg_score`, which shares the gains of equal scores, and
/// counts users without a relevant item as 0.)
///
/// Source: Järvelin and Kekäläinen, *Cumulated gain-based evaluation of IR techniques*, TOIS 2002.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CsrTensor, data::ndcg_at_k};
///
/// let device = Device::flex();
/// let scores = Tensor::<2>::from_floats([[0.9, 0.8, 0.7, 0.6]], &device);
/// let relevant = CsrTensor::<2>::from_rows(&[[(0, 1.0), (2, 3.0)]], 4, &device).unwrap();
/// let best = 3.0 + 1.0 / 3f64.log2();
/// assert!((ndcg_at_k(scores, &relevant, None, 3) - (1.0 + 3.0 / 2.0) / best).abs() < 1e-12);
/// ```
///
/// # Errors
///
/// As [`try_recall_at_k`]; `invalid` also for a stored value that is not a number above 0.
#[or_panic]
pub fn try_ndcg_at_k(
    scores: Tensor<2>,
    relevant: &CsrTensor<2>,
    known: Option<&CsrTensor<2>>,
    k: usize,
) -> Result<f64> {
    const OP: &str = "ndcg_at_k";
    let gains: Vec<f64> = read_data(relevant.rows().clone().inner()).convert::<f64>().iter().collect();
    if let Some(at) = gains.iter().position(|gain| !gain.is_finite() || *gain <= 0.0) {
        let message = format!("values must be finite and above 0, got {} at position {at}", gains[at]);
        return Err(SparseError::invalid(OP, message));
    }
    let discounted = |gains: &[f64]| -> f64 {
        gains.iter().enumerate().map(|(place, gain)| gain / (place as f64 + 2.0).log2()).sum()
    };
    mean(OP, scores, relevant, known, k, Some(gains), |offered, right| {
        let mut best = right.to_vec();
        best.sort_unstable_by(|a, b| b.total_cmp(a));
        discounted(offered) / discounted(&best[..k.min(best.len())])
    })
}

/// The mean over the users with a relevant item of `measure(offered, right)`: the gains of the `k` best items, which
/// are 0 for an item that is not right, and those of all items that are right. Without `gains` they are 1.
fn mean<K: Kind>(
    op: &'static str,
    scores: Tensor<2>,
    relevant: &CsrTensor<2, K>,
    known: Option<&CsrTensor<2, K>>,
    k: usize,
    gains: Option<Vec<f64>>,
    measure: impl Fn(&[f64], &[f64]) -> f64,
) -> Result<f64> {
    check_k(op, k)?;
    let shape = scores.dims();
    for other in [Some(relevant), known].into_iter().flatten() {
        if other.dims() != shape {
            let rule = "the scores {left} must have a row for each user and a column for each item, as {right}";
            return Err(SparseError::shape_mismatch(op, rule, shape, other.dims()));
        }
    }
    let [users, items] = shape;
    let (relevant, known) = (HostRows::of(relevant.pattern()), known.map(|known| HostRows::of(known.pattern())));
    if relevant.idx().is_empty() {
        return Err(SparseError::empty_input(op, "a user must have a relevant item, got none"));
    }
    let gains = gains.unwrap_or_else(|| vec![1.0; relevant.idx().len()]);
    let scores = read(op, "the scores", scores.reshape([users * items]))?;
    // In the row of a user: how right each item is, and the last user to whom it is not offered.
    let (mut gain, mut hidden) = (vec![0.0; items], vec![usize::MAX; items]);
    let (mut sum, mut counted) = (0.0, 0usize);
    for (user, scores) in scores.chunks_exact(items).enumerate() {
        let range = |rows: &HostRows| rows.ptr().at(user)..rows.ptr().at(user + 1);
        let own = range(&relevant);
        if own.is_empty() {
            continue;
        }
        own.clone().for_each(|at| gain[relevant.idx().at(at)] = gains[at]);
        if let Some(known) = &known {
            range(known).for_each(|at| hidden[known.idx().at(at)] = user);
        }
        let better = |&a: &usize, &b: &usize| scores[b].total_cmp(&scores[a]).then(a.cmp(&b));
        let mut offered: Vec<usize> = (0..items).filter(|&item| hidden[item] != user).collect();
        if k < offered.len() {
            offered.select_nth_unstable_by(k, better);
            offered.truncate(k);
        }
        offered.sort_unstable_by(better);
        let offered: Vec<f64> = offered.into_iter().map(|item| gain[item]).collect();
        sum += measure(&offered, &gains[own.clone()]);
        counted += 1;
        own.for_each(|at| gain[relevant.idx().at(at)] = 0.0);
    }
    Ok(sum / counted as f64)
}
