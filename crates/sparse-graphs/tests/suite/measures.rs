//! Measures against scikit-learn and PyTorch Geometric.

use crate::cases::{close, device, find, ints, tensor};
use burn::tensor::{Int, Tensor};
use sparse_dev::told;
use sparse_tensor::CsrTensor;
use sparse_tensor::data::*;

fn list<const D: usize>(numbers: [i64; D]) -> Tensor<1, Int> {
    Tensor::from_data(numbers, &device())
}

#[test]
fn average_precision_takes_equal_scores_as_one_step() {
    for id in ["measure/average_precision_distinct", "measure/average_precision_ties"] {
        let case = find(id);
        let given = || (ints::<1>(&case["labels"]), tensor::<1>(&case["scores"]));
        let (labels, scores) = given();
        close(id, average_precision(labels, scores), &case["out"]["average_precision"]);
        let (labels, scores) = given();
        close(id, roc_auc(labels, scores), &case["out"]["roc_auc"]);
    }
}

#[test]
fn lists_of_users_are_ranked() {
    let case = find("measure/ranking");
    let relevant = || CsrTensor::<2>::from_dense(tensor(&case["relevant"]));
    for k in [1, 3, 5, 9] {
        let close = |name: &str, got: f64| close(name, got, &case["out"][format!("{name}_{k}")]);
        let scores = || tensor::<2>(&case["scores"]);
        close("recall", recall_at_k(scores(), &relevant(), None, k));
        close("map", map_at_k(scores(), &relevant(), None, k));
        close("mrr", mrr_at_k(scores(), &relevant(), None, k));
        close("ndcg", ndcg_at_k(scores(), &relevant(), None, k));
    }
    let case = find("measure/ndcg_graded");
    let relevant = CsrTensor::<2>::from_dense(tensor(&case["relevant"]));
    for k in [2, 5, 7] {
        let name = format!("ndcg_{k}");
        close(&name, ndcg_at_k(tensor(&case["scores"]), &relevant, None, k), &case["out"][&name]);
    }
}

#[test]
fn known_items_are_not_offered() {
    let scores = || tensor::<2>(&serde_json::json!({"shape": [1, 4], "data": [4.0, 3.0, 2.0, 1.0]}));
    let items = |list: &[(usize, f64)]| CsrTensor::<2>::from_rows(&[list], 4, &scores().device()).unwrap();
    let (relevant, known) = (items(&[(2, 1.0)]), items(&[(0, 1.0), (1, 1.0)]));
    assert_eq!(mrr_at_k(scores(), &relevant, None, usize::MAX), 1.0 / 3.0);
    assert_eq!(mrr_at_k(scores(), &relevant, None, 2), 0.0);
    assert_eq!(mrr_at_k(scores(), &relevant, Some(&known), 2), 1.0);
    assert_eq!(map_at_k(scores(), &relevant, Some(&known), 2), 1.0);
    assert_eq!(ndcg_at_k(scores(), &relevant, Some(&known), 2), 1.0);
}

#[test]
fn rankings_that_mean_nothing_are_errors() {
    let scores = || Tensor::<2>::ones([2, 3], &device());
    let relevant = CsrTensor::<2>::from_rows(&[vec![(0, 1.0)], vec![]], 3, &device()).unwrap();
    let (none, other) = (CsrTensor::<2>::zeros([2, 3], &device()), CsrTensor::<2>::zeros([3, 2], &device()));
    for refused in [try_map_at_k, try_mrr_at_k, try_ndcg_at_k] {
        let kind = |relevant, k| refused(scores(), relevant, None, k).unwrap_err().kind();
        assert_eq!(kind(&relevant, 0), "invalid");
        assert_eq!(kind(&none, 1), "empty_input");
        assert_eq!(kind(&other, 1), "shape_mismatch");
        assert_eq!(refused(scores() * f32::NAN, &relevant, None, 1).unwrap_err().kind(), "invalid");
    }
    for gain in [0.0, -1.0, f32::INFINITY] {
        let told = told(try_ndcg_at_k(scores(), &(&relevant * f64::from(gain)), None, 1));
        assert!(told.ends_with(&format!("values must be finite and above 0, got {gain} at position 0")), "{told}");
    }
}

#[test]
fn f1_of_classes_and_of_sets() {
    let averages = [("micro", F1Average::Micro), ("macro", F1Average::Macro)];
    for (name, average) in averages {
        let case = find("measure/f1_classes");
        let (truth, guess) = (ints::<1>(&case["true"]), ints::<1>(&case["guess"]));
        close(name, f1_score(truth.clone(), guess.clone(), average), &case["out"][name]);
        close(name, f1_score(guess, truth, average), &case["out"][name]);
        let case = find("measure/f1_sets");
        close(name, f1_score(ints::<2>(&case["true"]), ints::<2>(&case["guess"]), average), &case["out"][name]);
        // Nothing to find, and nothing found.
        let none = || Tensor::<2, Int>::zeros([2, 3], &device());
        assert_eq!(f1_score(none(), none(), average), 0.0);
    }
    let micro = |a, b| try_f1_score::<1>(a, b, F1Average::Micro).unwrap_err().to_string();
    assert!(micro(list([0, 1]), list([0])).ends_with("both lists must have the same shape, got [2] and [1]"));
    assert!(micro(list([]), list([])).ends_with("there must be an example, got shape [0]"));
    let missing = "a class must be at least 0: leave out what has none, got -1 at position 1";
    assert!(micro(list([0, -1]), list([0, 0])).ends_with(missing));
    let sets = |entry: i64| Tensor::<2, Int>::from_data([[0, entry]], &device());
    let refused = told(try_f1_score(sets(1), sets(2), F1Average::Macro));
    assert!(refused.ends_with("an entry of a set must be 0 or 1, got 2 at position 1"), "{refused}");
    let cube = || Tensor::<3, Int>::zeros([1, 1, 1], &device());
    assert!(told(try_f1_score(cube(), cube(), F1Average::Macro)).ends_with("must be [N] or [N, C], got [1, 1, 1]"));
}

#[test]
fn clusterings_agree_as_in_scikit_learn() {
    for name in ["plain", "same", "one_cluster", "both_one", "singletons", "all_alone"] {
        let case = find(&format!("measure/clusters_{name}"));
        let (a, b) = (ints::<1>(&case["true"]), ints::<1>(&case["guess"]));
        for (a, b) in [(a.clone(), b.clone()), (b, a)] {
            close(name, normalized_mutual_information(a.clone(), b.clone()), &case["out"]["nmi"]);
            close(name, adjusted_rand_index(a, b), &case["out"]["ari"]);
        }
    }
    assert_eq!(adjusted_rand_index(list([3]), list([0])), 1.0);
    for refused in [try_normalized_mutual_information, try_adjusted_rand_index] {
        assert_eq!(refused(list([0, 1]), list([0])).unwrap_err().kind(), "shape_mismatch");
        assert_eq!(refused(list([]), list([])).unwrap_err().kind(), "empty_input");
        assert_eq!(refused(list([0, 1]), list([0, -1])).unwrap_err().kind(), "invalid");
    }
}
