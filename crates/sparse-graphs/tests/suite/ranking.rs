//! How scores rank, words as columns, and pairs of an edge split.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use sparse_tensor::data::*;
use sparse_tensor::nn::{NodePairs, dot_decoder};
use sparse_tensor::{CsrTensor, SparseError};

fn scores(list: &[f64]) -> Tensor<1> {
    Tensor::from_data(TensorData::from(list), (&Device::flex(), DType::F64))
}

fn kind<T>(result: Result<T, SparseError>) -> &'static str {
    result.err().expect("an error").kind()
}

/// Positive examples, then negative ones.
fn examples(positives: &[f64], negatives: &[f64]) -> (Tensor<1, Int>, Tensor<1>) {
    let labels = positives.iter().map(|_| 1).chain(negatives.iter().map(|_| 0)).collect::<Vec<i32>>();
    (Tensor::from_data(labels.as_slice(), &Device::flex()), scores(&[positives, negatives].concat()))
}

fn auc(positives: &[f64], negatives: &[f64]) -> Result<f64, SparseError> {
    let (labels, scores) = examples(positives, negatives);
    try_roc_auc(labels, scores)
}

/// The definition: all pairs of a positive and a negative example.
#[test]
fn auc_counts_pairs() {
    let positives: Vec<f64> = (0..40).map(|k| f64::from(k * 37 % 11) - 3.0).collect();
    let negatives: Vec<f64> = (0..25).map(|k| f64::from(k * 13 % 7) * 1.5 - 4.5).collect();
    let wins = positives.iter().flat_map(|p| negatives.iter().map(move |n| f64::from(p.total_cmp(n) as i8 + 1) / 2.0));
    let want = wins.sum::<f64>() / 1000.0;
    assert!((auc(&positives, &negatives).unwrap() - want).abs() < 1e-12);
    assert_eq!(auc(&[1.0, f64::INFINITY], &[-0.0]).unwrap(), 1.0);
    assert_eq!(auc(&[0.0, -0.0], &[-0.0, 0.0]).unwrap(), 0.5);
}

/// Labels and scores in any order, of other dtypes.
#[test]
fn a_perfect_ranking_is_1() {
    let labels = || Tensor::<1, Int>::from_data([0i64, 1, 0, 1, 1], (&Device::flex(), DType::U8));
    let scores = || Tensor::<1>::from_data([-3.0f32, 1.0, 0.5, 0.75, 2.0], (&Device::flex(), DType::F16));
    assert_eq!(roc_auc(labels(), scores()), 1.0);
    assert_eq!(roc_auc(labels(), scores().neg()), 0.0);
    assert_eq!(average_precision(labels(), scores()), 1.0);
    assert_eq!(hits_at_k(labels(), scores(), 1), 1.0);
}

#[test]
fn labels_are_0_or_1_and_of_both() {
    for refused in [
        |labels, scores| try_roc_auc(labels, scores),
        |labels, scores| try_average_precision(labels, scores),
        |labels: Tensor<1, Int>, scores: Tensor<1>| try_hits_at_k(labels, scores, 1),
    ] {
        let told = |labels: &[i32], scores: &[f32]| {
            let labels = Tensor::from_data(labels, &Device::flex());
            let told = refused(labels, Tensor::from_data(scores, &Device::flex())).unwrap_err().to_string();
            told.split_once(": ").unwrap().1.to_string()
        };
        assert_eq!(told(&[1, 0], &[1.0, 2.0, 3.0]), "scores must have length 2, got 3");
        assert_eq!(told(&[1, 2, 0], &[0.0; 3]), "a label must be 0 or 1, got 2 at position 1");
        assert_eq!(told(&[1, 0, -1], &[0.0; 3]), "a label must be 0 or 1: leave out what has none, got -1 at 2");
        let both = "there must be examples with the label 1 and with 0, got ";
        assert_eq!(told(&[1, 1], &[0.0; 2]), format!("{both}2 and 0"));
        assert_eq!(told(&[], &[]), format!("{both}0 and 0"));
        assert_eq!(told(&[1, 0], &[1.0, f32::NAN]), "the scores must be numbers, got NaN at position 1");
    }
}

#[test]
fn hits_need_a_higher_score() {
    let given = || examples(&[5.0, 3.0, 2.0, 1.0], &[4.0, 3.0, 3.0]);
    for (k, want) in [(1, 0.25), (2, 0.25), (3, 0.25), (4, 1.0)] {
        let (labels, scores) = given();
        assert_eq!(hits_at_k(labels, scores, k), want, "{k}");
    }
    let (labels, scores) = given();
    assert_eq!(kind(try_hits_at_k(labels, scores, 0)), "invalid");
}

#[test]
fn recall_is_the_mean_over_users() {
    let device = Device::flex();
    let all = [[0.1f32, 0.2, 0.3, 0.4], [0.4, 0.4, 0.4, 0.4], [0.9, 0.8, 0.7, 0.6]];
    let all = || Tensor::<2>::from_data(TensorData::from(all), &device);
    let items = |rows: [&[usize]; 3]| {
        let rows = rows.map(|row| row.iter().map(|&item| (item, 1.0)).collect::<Vec<_>>());
        CsrTensor::<2>::from_rows(&rows, 4, &device).unwrap()
    };
    let relevant = items([&[0, 3], &[2], &[]]);
    // User 0 is offered 3 and 2; user 1 the first two of equal ones; user 2 does not count.
    assert_eq!(recall_at_k(all(), &relevant, None, 2), 0.25);
    assert_eq!(recall_at_k(all(), &relevant, Some(&items([&[2], &[0, 1], &[]])), 2), 0.75);
    assert_eq!(recall_at_k(all(), &relevant, Some(&items([&[1, 2], &[0, 1, 3], &[]])), 10), 1.0);
    // What is known is not offered, even if it is right.
    assert_eq!(recall_at_k(all(), &relevant, Some(&relevant), 4), 0.0);
    // -0 and 0 are equal scores: the first item wins.
    let zeros = Tensor::<2>::from_floats([[-0.0, 0.0]], &Device::flex());
    let first = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 0.0]], &Device::flex()));
    assert_eq!(recall_at_k(zeros, &first, None, 1), 1.0);
    assert_eq!(kind(try_recall_at_k(all(), &items([&[], &[], &[]]), None, 2)), "empty_input");
    assert_eq!(kind(try_recall_at_k(all(), &relevant, None, 0)), "invalid");
    let other = CsrTensor::<2>::zeros([3, 5], &device);
    assert_eq!(kind(try_recall_at_k(all(), &relevant, Some(&other), 2)), "shape_mismatch");
    assert_eq!(kind(try_recall_at_k(all() / 0.0 * 0.0, &relevant, None, 2)), "invalid");
}

/// scikit-learn 1.9: `FeatureHasher(n_features=1 << 20, input_type="string")`.
const WORDS: [(&str, usize, f32); 6] = [
    ("a", 354_738, 1.0),
    ("dog", 980_517, -1.0),
    ("cat", 300_839, 1.0),
    ("lighthouse", 923_296, -1.0),
    ("über", 612_564, -1.0),
    ("The quick brown fox", 180_781, 1.0),
];

#[test]
fn columns_and_signs_are_those_of_scikit_learn() {
    let hasher = FeatureHasher::new(1 << 20).unwrap();
    for (word, column, sign) in WORDS {
        assert_eq!(hasher.column(word), (column, sign), "{word}");
    }
    let texts = [vec!["", "a", "a"], vec![], vec!["dog"]];
    let x = hasher.counts(&texts, (&Device::flex(), DType::F64)).unwrap();
    assert_eq!((x.dims(), x.nnz(), x.dtype()), ([3, 1 << 20], 3, DType::F64));
    let plain = FeatureHasher::new(7).unwrap().with_signs(false);
    let sums = plain.counts(&texts, &Device::flex()).unwrap().row_sums();
    assert_eq!(sums.into_data().iter::<f32>().collect::<Vec<_>>(), [3.0, 0.0, 1.0]);
    assert_eq!(kind(FeatureHasher::new(0)), "invalid");
}

/// The pairs of a split are those of a list.
#[test]
fn pairs_of_a_split() {
    let device = Device::flex();
    let graph = karate(&device);
    let split = random_edge_split(&graph.adjacency, 0.1, 0.1, true, 3).unwrap();
    let ids: Vec<usize> =
        split.test_edges.clone().into_data().convert::<i64>().iter::<i64>().map(|id| id as usize).collect();
    let list: Vec<(usize, usize)> = (0..7).map(|k| (ids[k], ids[7 + k])).collect();
    let z = graph.adjacency.to_dense();
    let of = |pairs| dot_decoder(z.clone(), z.clone(), &pairs).into_data();
    let pairs = NodePairs::from_indices(split.test_edges.clone(), [34, 34]).unwrap();
    assert_eq!(of(pairs), of(NodePairs::new(&list, [34, 34], &device).unwrap()));
    assert_eq!(kind(NodePairs::from_indices(split.test_edges.clone(), [34, 20])), "index_out_of_range");
    assert_eq!(kind(NodePairs::from_indices(split.test_edges.transpose(), [34, 34])), "shape_mismatch");
}
