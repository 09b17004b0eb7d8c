//! Explanations of predictions, against PyTorch Geometric and Captum.

use crate::cases::{all_close, all_within, device, find, graph, ints, tensor};
use burn::module::{Module, Param};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::activation::relu;
use burn::tensor::{Int, Tensor};
use serde_json::{Value, json};
use sparse_dev::told;
use sparse_tensor::CsrTensor;
use sparse_tensor::data::*;

/// Two layers of PyG's `GraphConv`.
fn model(case: &Value) -> impl Fn(&CsrTensor<2>, Tensor<2>) -> Tensor<2> {
    let [a, b, c, d] = [0, 1, 2, 3].map(|layer| tensor::<2>(&case[format!("weight_{layer}")]));
    move |graph, x| {
        let h = relu(graph.matmul(x.clone()).matmul(a.clone()) + x.matmul(b.clone()));
        graph.matmul(h.clone()).matmul(c.clone()) + h.matmul(d.clone())
    }
}

/// The case of this name: its graph, features, and targets as the model predicts them.
fn given(id: &str) -> (Value, CsrTensor<2>, Tensor<2>, Vec<(usize, usize)>) {
    let case = find(id);
    let (graph, x) = (graph(&case["graph"]), tensor::<2>(&case["x"]));
    let logits = model(&case)(&graph, x.clone());
    all_close("logits", logits.clone(), &case["out"]["logits"]);
    let nodes: Vec<i64> = ints::<1>(&case["nodes"]).into_data().iter().collect();
    let targets = predicted_classes(logits, &nodes.iter().map(|&node| node as usize).collect::<Vec<_>>());
    (case, graph, x, targets)
}

fn same(name: &str, found: &Explanation, out: &Value) {
    let edges = |list: &Value| json!({"shape": [1, list["shape"][0]], "data": list["data"]});
    // The rates of Burn's Adam are f32.
    let most = if name.starts_with("gnn") { 1e-5 } else { 1e-10 };
    all_within(most, name, found.edges.clone().unsqueeze(), &edges(&out[format!("{name}_edges")]));
    let features = found.features.clone();
    // Shared factors are one row there.
    let expected = &out[format!("{name}_features")];
    let rows = sparse_dev::files::sizes(&expected["shape"])[0];
    all_within(most, name, features.narrow(0, 0, rows), expected);
}

#[test]
fn gnn_explainer_and_fidelity_are_those_of_pyg() {
    let (case, graph, x, targets) = given("explain/plain");
    let out = &case["out"];
    for (name, shared) in [("gnn", false), ("gnn_shared", true)] {
        let config = GnnExplainerConfig::new().with_epochs(30).with_rate(0.05).with_noise(0.0);
        let found = config.with_shared_features(shared).explain(model(&case), &graph, x.clone(), &targets);
        same(name, &found, out);
        let fidelity = fidelity(model(&case), &graph, x.clone(), &found, &targets);
        let expected = sparse_dev::files::floats(&out[format!("{name}_fidelity")]["data"]);
        assert_eq!(vec![fidelity.plus, fidelity.minus], expected, "{name}");
    }
}

#[test]
fn gradients_are_those_of_captum() {
    let (case, graph, x, targets) = given("explain/gradients");
    let found = saliency(model(&case), &graph, x.clone(), &targets);
    same("saliency", &found, &case["out"]);
    let found = integrated_gradients(model(&case), &graph, x.clone(), &targets, 8);
    same("integrated", &found, &case["out"]);
    // They sum to what the model gives; of no input it gives 0.
    let found = integrated_gradients(model(&case), &graph, x.clone(), &targets, 4000);
    let total: f64 = found.edges.sum().into_scalar::<f64>() + found.features.sum().into_scalar::<f64>();
    let logits = model(&case)(&graph, x.clone());
    let all: Vec<f64> = logits.into_data().iter().collect();
    let sum: f64 = targets.iter().map(|&(row, class)| all[2 * row + class]).sum();
    assert!((total - sum).abs() < 1e-2, "{total} and {sum}");
    // Of features alone.
    let fixed = |_: &CsrTensor<2>, x: Tensor<2>| model(&case)(&graph, x);
    let found = integrated_gradients(fixed, &graph, x, &targets, 2);
    assert_eq!(found.edges.abs().max().into_scalar::<f64>(), 0.0);
    assert!(found.features.abs().max().into_scalar::<f64>() > 0.1);
}

#[derive(Module, Debug)]
struct Net {
    own: Vec<Param<Tensor<2>>>,
    sums: Vec<Param<Tensor<2>>>,
}

impl Net {
    fn forward(&self, graph: &CsrTensor<2>, x: Tensor<2>) -> Tensor<2> {
        let layers = self.own.len();
        let layer = |x: Tensor<2>, at: usize| {
            let out = graph.matmul(x.clone()).matmul(self.sums[at].val()) + x.matmul(self.own[at].val());
            if at + 1 < layers { relu(out) } else { out }
        };
        (0..layers).fold(x, layer)
    }
}

#[test]
fn the_houses_of_ba_shapes_are_found() {
    const BASE: usize = 40;
    let device = device().autodiff();
    device.seed(1);
    let graph = ba_shapes(BASE, 2, 12, 1, &device).unwrap();
    let (adjacency, x) = (graph.adjacency.clone() * 0.3, graph.features.to_dense());
    let table = |rows, cols| {
        let uniform = burn::tensor::Distribution::Uniform(-0.5, 0.5);
        Param::from_tensor(Tensor::<2>::random([rows, cols], uniform, &device))
    };
    let widths = [(1, 16), (16, 16), (16, 4)];
    let tables = || widths.map(|(rows, cols)| table(rows, cols)).to_vec();
    let mut net = Net { own: tables(), sums: tables() };
    let all = graph.labelled(&(0..graph.nodes()).collect::<Vec<_>>()).unwrap();
    let mut optimizer = AdamConfig::new().with_epsilon(1e-8).init();
    for _ in 0..200 {
        let loss = all.cross_entropy(net.forward(&adjacency, x.clone()));
        net = optimizer.step(0.02, net.clone(), GradientsParams::from_grads(loss.backward(), &net));
    }
    let accuracy = all.accuracy(net.forward(&adjacency, x.clone()));
    assert!(accuracy > 0.8, "{accuracy}");

    // An edge is one of a house if both of its ends are in one.
    let (rows, cols, _) = adjacency.to_triplets::<f32>();
    let truth: Vec<i64> = rows.iter().zip(&cols).map(|(&row, &col)| i64::from(row.min(col) >= BASE)).collect();
    let net = net.valid();
    let (mut scores, mut labels) = (vec![], vec![]);
    for house in 0..6 {
        let node = BASE + 5 * house;
        let targets = [(node, graph.labels.to_vec()[node] as usize)];
        let config = GnnExplainerConfig::new().with_epochs(60).with_rate(0.05);
        let found = config.explain(|graph, x| net.forward(graph, x), &adjacency, x.clone(), &targets);
        let factors: Vec<f32> = found.edges.into_data().iter().collect();
        let counted = (0..factors.len()).filter(|&edge| factors[edge] > 0.0);
        for edge in counted {
            scores.push(factors[edge]);
            labels.push(truth[edge]);
        }
    }
    let labels = Tensor::<1, Int>::from_data(labels.as_slice(), &graph.adjacency.device());
    let auc = roc_auc(labels, Tensor::from_data(scores.as_slice(), &graph.adjacency.device()));
    assert!(auc > 0.8, "{auc}");
}

#[test]
fn explanations_of_nothing_are_errors() {
    let graph = CsrTensor::<2>::from_dense(Tensor::ones([2, 2], &device()));
    let x = || Tensor::<2>::ones([2, 3], &device());
    let sum = |graph: &CsrTensor<2>, x: Tensor<2>| graph.matmul(x);
    let kind =
        |graph: &CsrTensor<2>, x, targets: &[(usize, usize)]| try_saliency(sum, graph, x, targets).unwrap_err().kind();
    assert_eq!(kind(&graph, Tensor::ones([3, 3], &device()), &[(0, 0)]), "shape_mismatch");
    assert_eq!(kind(&graph, x(), &[]), "empty_input");
    assert_eq!(kind(&graph, Tensor::zeros([2, 0], &device()), &[(0, 0)]), "empty_input");
    assert_eq!(kind(&CsrTensor::zeros([2, 2], &device()), x(), &[(0, 0)]), "empty_input");
    for target in [(2, 0), (0, 3)] {
        assert_eq!(kind(&graph, x(), &[target]), "index_out_of_range");
    }
    assert_eq!(try_predicted_classes(x(), &[2]).unwrap_err().kind(), "index_out_of_range");
    assert_eq!(try_predicted_classes(x(), &[]).unwrap_err().kind(), "empty_input");
    let refused = told(try_integrated_gradients(sum, &graph, x(), &[(0, 0)], 0));
    assert!(refused.ends_with("steps must be at least 1, got 0"), "{refused}");
    let config = GnnExplainerConfig::new();
    let fixed = |_: &CsrTensor<2>, x: Tensor<2>| x;
    let refused = told(config.try_explain(fixed, &graph, x(), &[(0, 0)]));
    assert!(refused.contains("the model must depend on edges and features"), "{refused}");
    let constant = |_: &CsrTensor<2>, _: Tensor<2>| Tensor::<2>::ones([2, 3], &device());
    assert!(told(config.try_explain(constant, &graph, x(), &[(0, 0)])).contains("must depend on edges"));
    let other = Explanation { edges: Tensor::ones([3], &device()), features: x() };
    assert_eq!(try_fidelity(sum, &graph, x(), &other, &[(0, 0)]).unwrap_err().kind(), "shape_mismatch");
}
