//! What is measured on embeddings: logistic regression and k-means against scikit-learn, and stratified folds.

use crate::cases::{all_close, close, device, find, ints, tensor};
use burn::tensor::{DType, Tensor};
use sparse_dev::told;
use sparse_tensor::data::*;

#[test]
fn logistic_regression_is_that_of_scikit_learn() {
    for classes in [2, 3] {
        let case = find(&format!("logistic/{classes}_classes"));
        let (x, labels) = (tensor::<2>(&case["x"]), ints::<1>(&case["labels"]));
        let labels: Vec<i64> = labels.into_data().iter().collect();
        let nodes: Vec<usize> = (0..labels.len()).collect();
        let train = LabelledNodes::new(&nodes, &labels, nodes.len(), classes, &device()).unwrap();
        let config = LogisticRegressionConfig::new().with_c(0.7);
        let exact = config.clone().with_tolerance(1e-8).with_max_iterations(1000).fit(x.clone(), &train);
        for (name, got) in [("weight", exact.weight.val()), ("bias", exact.bias.val())] {
            let expected = tensor::<1>(&serde_json::json!({
                "shape": [got.shape().num_elements()], "data": case["out"][name]["data"],
            }));
            let far: f64 = (got.flatten::<1>(0, 1) - expected).abs().max().into_scalar();
            assert!(far < 1e-6, "{name} of {classes} classes: {far}");
        }
        close("accuracy", train.accuracy(exact.logits(x.clone())), &case["out"]["accuracy"]);
        // As scikit-learn stops by default, in f32, and from a tensor with an autodiff association.
        let x = x.cast(DType::F32);
        let x = Tensor::<2>::from_data(x.into_data(), &device().autodiff());
        let plain = config.fit(x.clone(), &train);
        close("accuracy", train.accuracy(plain.logits(x.inner())), &case["out"]["accuracy"]);
    }
}

#[test]
fn embeddings_without_a_model_are_errors() {
    let train = LabelledNodes::new(&[0, 1], &[0, 1], 3, 2, &device()).unwrap();
    let x = || Tensor::<2>::ones([3, 2], &device());
    let config = LogisticRegressionConfig::new();
    assert_eq!(config.try_fit(Tensor::ones([4, 2], &device()), &train).unwrap_err().kind(), "shape_mismatch");
    let none = LabelledNodes::new(&[], &[], 3, 2, &device()).unwrap();
    assert_eq!(config.try_fit(x(), &none).unwrap_err().kind(), "empty_input");
    assert!(told(config.try_fit(x() * f32::NAN, &train)).contains("embeddings must be finite, got"));
    let refused = told(config.clone().with_c(0.0).try_fit(x(), &train));
    assert!(refused.ends_with("c must be above 0 and finite, got 0"), "{refused}");
    let refused = told(config.with_tolerance(-1.0).try_fit(x(), &train));
    assert!(refused.ends_with("the tolerance must be above 0 and finite, got -1"), "{refused}");
}

#[test]
fn k_means_finds_the_clusters_of_scikit_learn() {
    let case = find("k_means/blobs");
    let x = tensor::<2>(&case["x"]);
    for seed in 0..3 {
        let found = k_means(x.clone(), 4, seed);
        assert_eq!(adjusted_rand_index(found.clusters.clone(), ints::<1>(&case["out"]["clusters"])), 1.0, "{seed}");
        close("inertia", found.inertia, &case["out"]["inertia"]);
        let again = k_means(x.clone(), 4, seed);
        assert_eq!(found.centres.into_data(), again.centres.into_data());
    }
    // As many clusters as points, fewer different points than clusters, and one cluster.
    assert!(k_means(x.clone(), 32, 1).inertia < 1e-20);
    assert_eq!(k_means(Tensor::<2>::ones([4, 2], &device()), 3, 1).inertia, 0.0);
    let all = k_means(x.clone(), 1, 1);
    all_close(
        "the mean",
        all.centres - x.clone().mean_dim(0),
        &serde_json::json!({"shape": [1, 3], "data": [0, 0, 0]}),
    );
    for k in [0, 33] {
        let refused = told(try_k_means(x.clone(), k, 1));
        assert!(refused.ends_with(&format!("k must be in [1, 32], the number of points, got {k}")), "{refused}");
    }
    assert!(told(try_k_means(x * f64::NAN, 2, 1)).contains("points must be finite"));
}

#[test]
fn folds_have_equal_shares_of_each_class() {
    let labels: Vec<i64> = (0..103).map(|at| [0, 0, 0, 1, 1, 2, -1][at % 7]).collect();
    let folds = stratified_folds(&labels, 5, 3).unwrap();
    let mut all = folds.concat();
    all.sort_unstable();
    assert_eq!(all, (0..103).filter(|&at| labels[at] >= 0).collect::<Vec<_>>());
    let counts = |class: Option<i64>| {
        let own = |fold: &Vec<usize>| fold.iter().filter(|&&at| class.is_none_or(|class| labels[at] == class)).count();
        let counts: Vec<usize> = folds.iter().map(own).collect();
        counts.iter().max().unwrap() - counts.iter().min().unwrap()
    };
    assert!([None, Some(0), Some(1), Some(2)].into_iter().all(|class| counts(class) <= 1));
    assert!(folds.iter().all(|fold| fold.is_sorted()));
    assert_eq!(stratified_folds(&labels, 5, 3).unwrap(), folds);
    assert_ne!(stratified_folds(&labels, 5, 4).unwrap(), folds);
    for folds in [0, 1, 3] {
        let refused = told(stratified_folds(&[0, 1, -1], folds, 1));
        assert!(
            refused.ends_with(&format!("folds must be in [2, 2], the number of examples, got {folds}")),
            "{refused}"
        );
    }
    assert!(told(stratified_folds(&[0, -2], 2, 1)).contains("got -2 for node 1"));
}
