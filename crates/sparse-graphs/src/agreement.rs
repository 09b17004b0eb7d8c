//! How well two lists of classes agree.

use burn::config::Config;
use burn::tensor::{Int, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::read_all;
use sparse_ops::{Result, SparseError};
use std::collections::BTreeMap;

/// How the F1 scores of several classes become one.
#[derive(Config, Debug, Copy, PartialEq, Eq)]
pub enum F1Average {
    /// F1 of the counts of all classes together: the frequent ones have more weight. Of classes it is the accuracy.
    Micro,
    /// The mean of the F1 scores of the classes.
    Macro,
}

/// The F1 score `2 TP / (2 TP + FP + FN)`: the harmonic mean of precision and recall.
///
/// `[N]` is a class for each example; the classes are those that either list has. `[N, C]` is a set of classes for each
/// example: ones and zeros. A class without an example in either counts 0. The score is the same for the two lists in
/// either order. Reads both to the host. (scikit-learn's `f1_score` with `zero_division=0`.)
///
/// ```
/// use burn::tensor::{Device, Int, Tensor};
/// use sparse_tensor::data::{F1Average, f1_score};
///
/// let device = Device::flex();
/// let labels = Tensor::<1, Int>::from_ints([0, 0, 0, 1], &device);
/// let predicted = Tensor::<1, Int>::from_ints([0, 0, 1, 1], &device);
/// assert_eq!(f1_score(labels.clone(), predicted.clone(), F1Average::Micro), 0.75);
/// assert_eq!(f1_score(labels, predicted, F1Average::Macro), (0.8 + 2.0 / 3.0) / 2.0);
/// ```
///
/// # Errors
///
/// `shape_mismatch` if the shapes differ; `empty_input` if there is no example or no class; `invalid` for a class below
/// 0, for an entry of a set that is neither 0 nor 1, and for tensors of another rank.
#[or_panic]
pub fn try_f1_score<const D: usize>(
    labels: Tensor<D, Int>,
    predicted: Tensor<D, Int>,
    average: F1Average,
) -> Result<f64> {
    const OP: &str = "f1_score";
    let shape = labels.dims();
    if D > 2 {
        return Err(SparseError::invalid(OP, format!("labels must be [N] or [N, C], got {shape:?}")));
    }
    let pairs = pairs(OP, labels, predicted)?;
    // TP, and FP + FN, of each class.
    let mut counts = BTreeMap::<i64, [f64; 2]>::new();
    for (at, &[label, predicted]) in pairs.iter().enumerate() {
        if D == 1 {
            for class in [label, predicted] {
                counts.entry(class).or_default()[usize::from(label != predicted)] += 1.0;
            }
            continue;
        }
        if label.max(predicted) > 1 {
            let message = format!("an entry of a set must be 0 or 1, got {} at position {at}", label.max(predicted));
            return Err(SparseError::invalid(OP, message));
        }
        let count = counts.entry((at % shape[D - 1]) as i64).or_default();
        count[usize::from(label != predicted)] += (label + predicted) as f64;
    }
    // A right class was counted for each of the two lists.
    let score = |[twice, wrong]: [f64; 2]| if twice == 0.0 { 0.0 } else { twice / (twice + wrong) };
    let classes = counts.len() as f64;
    Ok(match average {
        F1Average::Macro => counts.into_values().map(score).sum::<f64>() / classes,
        F1Average::Micro => score(counts.into_values().fold([0.0; 2], |a, b| [a[0] + b[0], a[1] + b[1]])),
    })
}

/// Normalised mutual information of two clusterings: `2 I(a; b) / (H(a) + H(b))`, from 0 to 1 for the same clusters,
/// whatever their numbers.
///
/// `a` and `b` `[N]` have the cluster of each example. 1 if both have one cluster. Reads both to the host. Cost:
/// `O(N log N)`. (scikit-learn's `normalized_mutual_info_score`.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::data::normalized_mutual_information;
///
/// let ints = |list: [i32; 4]| Tensor::from_ints(list, &Device::flex());
/// assert!((normalized_mutual_information(ints([0, 0, 1, 1]), ints([5, 5, 2, 2])) - 1.0).abs() < 1e-12);
/// assert_eq!(normalized_mutual_information(ints([0, 0, 1, 1]), ints([0, 1, 0, 1])), 0.0);
/// ```
///
/// # Errors
///
/// `shape_mismatch` if the lengths differ; `empty_input` if there is no example; `invalid` for a cluster below 0.
#[or_panic]
pub fn try_normalized_mutual_information(a: Tensor<1, Int>, b: Tensor<1, Int>) -> Result<f64> {
    let table = Table::of(pairs("normalized_mutual_information", a, b)?);
    if table.sides.iter().all(|side| side.len() == 1) {
        return Ok(1.0);
    }
    let total = table.total;
    let entropy = |counts: &mut dyn Iterator<Item = f64>| -> f64 {
        counts.map(|count| -count / total * (count / total).ln()).sum()
    };
    let [a, b] = table.sides.each_ref().map(|side| entropy(&mut side.values().copied()));
    let both = entropy(&mut table.cells.values().copied());
    Ok((2.0 * (a + b - both) / (a + b)).clamp(0.0, 1.0))
}

/// Adjusted Rand index of two clusterings: how many pairs of examples are together in both, from 1 for the same
/// clusters to 0, which is the mean of random ones; it may be below.
///
/// With `n_ij` examples in cluster `i` of `a` and `j` of `b`, and pairs `C(n) = n (n - 1) / 2`: `(sum_ij C(n_ij) - e) /
/// ((A + B) / 2 - e)`, where `A = sum_i C(n_i)`, `B = sum_j C(n_j)` and `e = A B / C(N)`. 1 if that is 0 / 0. Arguments
/// and cost are those of [`normalized_mutual_information`]. (scikit-learn's `adjusted_rand_score`.)
///
/// Source: Hubert and Arabie, *Comparing partitions*, Journal of Classification 1985.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::data::adjusted_rand_index;
///
/// let ints = |list: [i32; 4]| Tensor::from_ints(list, &Device::flex());
/// assert_eq!(adjusted_rand_index(ints([0, 0, 1, 1]), ints([5, 5, 2, 2])), 1.0);
/// assert!((adjusted_rand_index(ints([0, 0, 1, 1]), ints([0, 1, 0, 1])) + 0.5).abs() < 1e-12);
/// ```
///
/// # Errors
///
/// As [`try_normalized_mutual_information`].
#[or_panic]
pub fn try_adjusted_rand_index(a: Tensor<1, Int>, b: Tensor<1, Int>) -> Result<f64> {
    let table = Table::of(pairs("adjusted_rand_index", a, b)?);
    let pairs = |count: f64| count * (count - 1.0) / 2.0;
    let together: f64 = table.cells.values().copied().map(pairs).sum();
    let [a, b] = table.sides.each_ref().map(|side| side.values().copied().map(pairs).sum::<f64>());
    // One example has no pairs.
    let expected = if table.total == 1.0 { 0.0 } else { a * b / pairs(table.total) };
    let most = (a + b) / 2.0;
    Ok(if most == expected { 1.0 } else { (together - expected) / (most - expected) })
}

/// How many examples are in each cluster of two clusterings, and in each pair of clusters.
struct Table {
    cells: BTreeMap<[i64; 2], f64>,
    sides: [BTreeMap<i64, f64>; 2],
    total: f64,
}

impl Table {
    fn of(pairs: Vec<[i64; 2]>) -> Self {
        let mut table = Self { cells: BTreeMap::new(), sides: Default::default(), total: pairs.len() as f64 };
        for pair in pairs {
            *table.cells.entry(pair).or_default() += 1.0;
            for (side, cluster) in table.sides.iter_mut().zip(pair) {
                *side.entry(cluster).or_default() += 1.0;
            }
        }
        table
    }
}

/// Two lists of classes, side by side.
fn pairs<const D: usize>(op: &'static str, a: Tensor<D, Int>, b: Tensor<D, Int>) -> Result<Vec<[i64; 2]>> {
    if a.dims() != b.dims() {
        let rule = "both lists must have the same shape, got {left} and {right}";
        return Err(SparseError::shape_mismatch(op, rule, a.dims(), b.dims()));
    }
    if a.shape().num_elements() == 0 {
        return Err(SparseError::empty_input(op, format!("there must be an example, got shape {:?}", a.dims())));
    }
    let pairs: Vec<[i64; 2]> = read_all(a).into_iter().zip(read_all(b)).map(|(a, b)| [a, b]).collect();
    match pairs.iter().position(|pair| pair.iter().any(|&class| class < 0)) {
        None => Ok(pairs),
        Some(at) => {
            let got = pairs[at][0].min(pairs[at][1]);
            let message = format!("a class must be at least 0: leave out what has none, got {got} at position {at}");
            Err(SparseError::invalid(op, message))
        }
    }
}
