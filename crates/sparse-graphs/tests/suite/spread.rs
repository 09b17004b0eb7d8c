//! Known classes spread over a graph, walks back to a node, and graphs with parts left out.

use crate::cases::{all_close, device, find, graph, tensor};
use burn::tensor::{DType, Device, Tensor};
use sparse_dev::told;
use sparse_tensor::data::*;
use sparse_tensor::nn::symmetric_normalization;
use sparse_tensor::pattern::Pattern;
use sparse_tensor::{CsrTensor, Fill};
use std::collections::BTreeSet;

/// Nodes 0, 2 and 5 of six, of three classes.
fn known() -> LabelledNodes {
    LabelledNodes::new(&[0, 2, 5], &[0, 2, 2], 6, 3, &device()).unwrap()
}

#[test]
fn labels_propagate_as_in_pytorch_geometric() {
    for name in ["undirected", "directed", "weighted"] {
        let id = format!("label_propagation/{name}");
        let case = find(&id);
        let own = graph(&case["graph"]);
        // PyG does not normalise weights that are given.
        let a = if name == "weighted" { own } else { symmetric_normalization(&own, false) };
        all_close(&id, label_propagation(&a, &known(), 3, 0.9), &case["out"]["out"]);
    }
}

#[test]
fn predictions_are_corrected_and_smoothed_as_in_pytorch_geometric() {
    for (name, scale) in [("autoscale", None), ("scaled", Some(1.5))] {
        let id = format!("correct_and_smooth/{name}");
        let case = find(&id);
        let a = symmetric_normalization(&graph(&case["graph"]), false);
        let corrected = correct_predictions(&a, tensor(&case["soft"]), &known(), 3, 0.8, scale);
        all_close(&id, corrected.clone(), &case["out"]["corrected"]);
        all_close(&id, smooth_predictions(&a, corrected, &known(), 2, 0.7), &case["out"]["out"]);
    }
}

/// Nothing to correct, where PyG gives NaN.
#[test]
fn right_predictions_stay() {
    let a = symmetric_normalization(&graph(&find("label_propagation/undirected")["graph"]), false);
    let right = label_propagation(&a, &known(), 0, 0.9);
    let corrected = correct_predictions(&a, right.clone(), &known(), 3, 0.8, None);
    assert_eq!(corrected.into_data(), right.into_data());
}

#[test]
fn propagation_checks_its_arguments() {
    let a = graph(&find("label_propagation/undirected")["graph"]);
    let alpha = told(try_label_propagation(&a, &known(), 3, 1.5));
    assert!(alpha.ends_with("label_propagation: alpha must be in [0, 1], got 1.5"), "{alpha}");
    let soft = |rows| Tensor::<2>::zeros([rows, 3], (&device(), DType::F64));
    let kind = |a: &CsrTensor<2>, x, known: &LabelledNodes| {
        let smoothed = try_smooth_predictions(a, x, known, 1, 0.5).unwrap_err();
        let corrected = try_correct_predictions(a, soft(5), known, 1, 0.5, None).unwrap_err();
        (smoothed.kind(), corrected.kind())
    };
    assert_eq!(kind(&a, soft(5), &known()), ("shape_mismatch", "shape_mismatch"));
    let none = LabelledNodes::new(&[], &[], 6, 3, &device()).unwrap();
    assert_eq!(kind(&a, soft(6), &none).0, "empty_input");
    assert_eq!(try_label_propagation(&a.narrow(0, 0, 5), &known(), 3, 0.5).unwrap_err().kind(), "shape_mismatch");
}

#[test]
fn walks_come_back_as_in_pytorch_geometric() {
    for name in ["directed", "loops", "undirected", "weighted"] {
        let id = format!("random_walk/{name}");
        let case = find(&id);
        // PyG walks from the sources, which are the columns.
        let a = graph(&case["graph"]).transpose();
        all_close(&id, random_walk_encoding(&a, 5), &case["out"]["out"]);
        let first = random_walk_encoding(&a, 5).narrow(1, 0, 2).into_data();
        assert_eq!(random_walk_encoding(&a, 2).into_data(), first);
    }
}

#[test]
fn walks_have_gradients_and_errors() {
    let device = Device::flex().autodiff();
    let a =
        CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0, 3.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], &device));
    let a = a.require_grad();
    // From node 2 and back is the probability of the edge (0, 2): w / (w + 1), whose derivative is 1 / (w + 1)^2.
    let back = random_walk_encoding(&a, 2).slice([2..3, 1..2]);
    let grad = a.grad(&back.sum().backward()).unwrap().values::<1>().into_data();
    let grad: Vec<f32> = grad.iter().collect();
    assert!((grad[1] - 0.0625).abs() < 1e-6 && (grad[0] + 0.1875).abs() < 1e-6, "{grad:?}");
    let none = CsrTensor::<2>::zeros([3, 3], &device);
    assert_eq!(random_walk_encoding(&none, 4).into_data().iter::<f32>().sum::<f32>(), 0.0);
    assert_eq!(random_walk_encoding(&CsrTensor::<2>::zeros([0, 0], &device), 4).dims(), [0, 4]);
    assert_eq!(try_random_walk_encoding(&a, 0).unwrap_err().kind(), "invalid");
    assert_eq!(try_random_walk_encoding(&a.narrow(0, 0, 2), 1).unwrap_err().kind(), "shape_mismatch");
    let undefined = none.with_fill(Fill::Undefined);
    assert_eq!(try_random_walk_encoding(&undefined, 1).unwrap_err().kind(), "fill_mismatch");
}

fn pairs(a: &CsrTensor<2>) -> BTreeSet<(usize, usize)> {
    let (rows, cols, _) = a.to_triplets::<f32>();
    rows.into_iter().zip(cols).collect()
}

#[test]
fn undirected_edges_are_left_out_in_pairs() {
    let graph = stochastic_block_model(&[200, 200], 0.1, 0.05, 1, &Device::flex()).unwrap();
    let all = pairs(&graph.adjacency);
    let fewer = dropout_edge(&graph.adjacency, 0.3, true, 5);
    let left = pairs(&fewer);
    assert!(left.is_subset(&all) && left.iter().all(|&(i, j)| left.contains(&(j, i))));
    let share = left.len() as f64 / all.len() as f64;
    assert!((share - 0.7).abs() < 0.03, "{share}");
    assert_eq!(pairs(&dropout_edge(&graph.adjacency, 0.3, true, 5)), left);
    assert_ne!(pairs(&dropout_edge(&graph.adjacency, 0.3, true, 6)), left);
    // Each direction by itself.
    let left = pairs(&dropout_edge(&graph.adjacency, 0.3, false, 5));
    assert!(left.iter().any(|&(i, j)| !left.contains(&(j, i))));
    assert!((left.len() as f64 / all.len() as f64 - 0.7).abs() < 0.03);
    assert_eq!(dropout_edge(&graph.adjacency, 0.0, true, 5).nnz(), all.len());
    assert_eq!(dropout_edge(&graph.adjacency, 1.0, true, 5).nnz(), 0);
}

#[test]
fn edges_that_stay_keep_their_values_and_gradients() {
    let device = Device::flex().autodiff();
    let values = Tensor::<1>::from_floats([1.0, 2.0, 3.0, 4.0], &device).require_grad();
    let a = CsrTensor::from_edges(&[(0, 1), (1, 2), (2, 0), (2, 2)], values.clone(), 3).unwrap();
    let fewer = (0..).map(|seed| dropout_edge(&a, 0.5, false, seed)).find(|fewer| fewer.nnz() == 2).unwrap();
    let own: Vec<f32> = fewer.values::<1>().into_data().iter().collect();
    let grad = values.grad(&fewer.values::<1>().sum().backward()).unwrap().into_data();
    for (value, grad) in (1..).zip(grad.iter::<f32>()) {
        assert_eq!(own.contains(&(value as f32)), grad == 1.0);
    }
    assert!(fewer.pattern().is_coalesced());
}

#[test]
fn nodes_are_left_out_with_their_edges() {
    let graph = stochastic_block_model(&[300, 300], 0.1, 0.05, 1, &Device::flex()).unwrap();
    let (fewer, stay) = dropout_node(&graph.adjacency, 0.4, 3);
    let stay: Vec<bool> = stay.into_data().iter().collect();
    let expected = pairs(&graph.adjacency).into_iter().filter(|&(i, j)| stay[i] && stay[j]).collect();
    assert_eq!(pairs(&fewer), expected);
    let count = stay.iter().filter(|&&stay| stay).count();
    assert!((300..420).contains(&count), "{count}");
}

#[test]
fn dropout_checks_its_arguments() {
    let wide = CsrTensor::<2>::zeros([2, 3], &Device::flex());
    assert_eq!(dropout_edge(&wide, 0.5, false, 1).nnz(), 0);
    assert_eq!(try_dropout_edge(&wide, 0.5, true, 1).unwrap_err().kind(), "shape_mismatch");
    assert_eq!(try_dropout_node(&wide, 0.5, 1).unwrap_err().kind(), "shape_mismatch");
    let square = CsrTensor::<2>::zeros([3, 3], &Device::flex());
    for p in [-0.1, 1.1, f64::NAN] {
        assert!(told(try_dropout_edge(&square, p, true, 1)).ends_with(&format!("p must be in [0, 1], got {p}")));
        assert_eq!(try_dropout_node(&square, p, 1).unwrap_err().kind(), "invalid");
    }
}
