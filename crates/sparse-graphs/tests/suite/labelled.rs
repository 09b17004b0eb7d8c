use burn::nn::loss::CrossEntropyLossConfig;
use burn::tensor::{DType, Device, Distribution, Int, Tensor, Tolerance};
use sparse_tensor::SparseError;
use sparse_tensor::data::{LabelledNodes, Labels, karate, stochastic_block_model};

/// Nodes out of order, one of them twice.
const NODES: [usize; 5] = [4, 0, 4, 2, 5];
const LABELS: [i64; 5] = [1, 2, 0, 2, 1];

fn close<const D: usize>(a: Tensor<D>, b: Tensor<D>) {
    a.inner().into_data().assert_approx_eq::<f32>(&b.inner().into_data(), Tolerance::default());
}

#[test]
fn the_loss_and_its_gradient_are_those_of_dense_burn() {
    let device = Device::flex().autodiff();
    let nodes = LabelledNodes::new(&NODES, &LABELS, 6, 3, &device).unwrap();
    let start = Tensor::<2>::random([6, 3], Distribution::Normal(0.0, 2.0), &device.clone().inner());
    let [own, dense] = [0, 1].map(|_| Tensor::from_inner(start.clone()).require_grad());
    let ids = Tensor::<1, Int>::from_ints([4, 0, 4, 2, 5], &device);
    let labels = Tensor::<1, Int>::from_ints([1, 2, 0, 2, 1], &device);
    let loss = nodes.cross_entropy(own.clone());
    let expected = CrossEntropyLossConfig::new().init(&device).forward(dense.clone().select(0, ids), labels);
    close(loss.clone(), expected.clone());
    let grad = own.grad(&loss.backward()).unwrap();
    close(grad.clone(), dense.grad(&expected.backward()).unwrap());
    // Nodes 1 and 3 take no part.
    let rows: Vec<f32> = grad.into_data().iter().collect();
    assert!([1, 3].iter().all(|&node| rows[3 * node..3 * node + 3] == [0.0; 3]));
}

#[test]
fn the_accuracy_counts_the_nodes_as_listed() {
    for device in [Device::flex(), Device::flex().autodiff()] {
        let nodes = LabelledNodes::new(&NODES, &LABELS, 6, 3, &device).unwrap();
        // Predicts 2, 0, 2, 1, 1, 0.
        let logits =
            [[0.0, 1.0, 2.0], [9.0, 0.0, 0.0], [-3.0, -2.0, -1.0], [0.0, 1.0, 0.0], [4.0, 5.0, 3.0], [1.0, 0.0, 0.0]];
        let logits = Tensor::<2>::from_floats(logits, &device);
        // Right for 4 as 1, for 0 and for 2; wrong for 4 as 0 and for 5.
        assert_eq!(nodes.accuracy(logits.clone()), 0.6);
        assert_eq!(nodes.accuracy(logits.cast(DType::F64)), 0.6);
    }
}

#[test]
fn the_splits_of_a_graph_are_labelled() {
    let device = Device::flex().autodiff();
    let graph = stochastic_block_model(&[20, 30], 0.3, 0.02, 1, &device).unwrap();
    let [train, val] = [&graph.splits.train, &graph.splits.val].map(|ids| graph.labelled(ids).unwrap());
    assert_eq!((train.len(), val.len()), (5, 5));
    // The first column is larger for the nodes of the first block only.
    let score = Tensor::<1, Int>::arange(0..50, &device).lower_elem(20).float().reshape([50, 1]);
    let logits = Tensor::cat(vec![score.clone(), 1.0 - score], 1);
    assert_eq!((train.accuracy(logits.clone()), val.accuracy(logits.clone() * -1.0)), (1.0, 0.0));
    let loss: f32 = train.cross_entropy(logits * 100.0).into_scalar();
    assert!(loss.abs() < 1e-6);
}

#[test]
fn what_is_no_node_or_no_class_is_named() {
    let device = Device::flex();
    let mut graph = karate(&device);
    assert_eq!(graph.labelled(&[3, 34]).unwrap_err().kind(), "index_out_of_range");
    graph.labels = Labels::new(graph.labels.tensor().slice_fill(5..6, Labels::MISSING), 2).unwrap();
    let unknown = graph.labelled(&[4, 5]).unwrap_err();
    assert_eq!(unknown.kind(), "invalid");
    assert!(unknown.to_string().contains("got -1 for node 5"), "{unknown}");
    assert!(graph.labelled(&[4, 6]).is_ok());
    let new = |nodes: &[usize], labels: &[i64]| LabelledNodes::new(nodes, labels, 6, 3, &device);
    assert_eq!(new(&[0], &[0, 1]).unwrap_err().kind(), "length_mismatch");
    assert_eq!(new(&[6], &[0]).unwrap_err().kind(), "index_out_of_range");
    assert_eq!(new(&[0], &[3]).unwrap_err().kind(), "invalid");

    let nodes = new(&[0], &[2]).unwrap();
    for dims in [[5, 3], [6, 2]] {
        let logits = Tensor::<2>::zeros(dims, &device);
        assert_eq!(nodes.try_accuracy(logits.clone()).unwrap_err().kind(), "shape_mismatch");
        assert_eq!(nodes.try_cross_entropy(logits).unwrap_err().kind(), "shape_mismatch");
    }
    let none = new(&[], &[]).unwrap();
    assert!(none.is_empty());
    let logits = Tensor::<2>::zeros([6, 3], &device);
    assert_eq!(none.try_accuracy(logits.clone()).unwrap_err().kind(), "empty_input");
    assert_eq!(none.try_cross_entropy(logits).unwrap_err().kind(), "empty_input");
}

#[test]
fn a_missing_label_is_of_no_class() {
    let device = Device::flex().autodiff();
    let labels = Labels::from_list(&[2, -1, 0, -1], None, &device).unwrap();
    assert_eq!((labels.classes(), labels.len(), labels.is_empty()), (3, 4, false));
    let rows = labels.one_hot();
    assert_eq!(rows.dims(), [4, 3]);
    let rows: Vec<f32> = rows.into_data().iter().collect();
    assert_eq!(rows, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(labels.known().into_data().iter::<bool>().collect::<Vec<_>>(), [true, false, true, false]);
    assert_eq!(labels.valid().to_vec(), [2, -1, 0, -1]);
    // Classes that no node has, no node, and no known one.
    assert_eq!(Labels::from_list(&[0], 4, &device).unwrap().one_hot().dims(), [1, 4]);
    for (list, classes) in [(&[][..], 0), (&[-1], 0)] {
        let labels = Labels::from_list(list, None, &device).unwrap();
        assert_eq!((labels.classes(), labels.one_hot().dims()), (classes, [list.len(), classes]));
    }
    // Labels of any integer dtype, with more classes than it has numbers.
    for dtype in [DType::I64, DType::U8] {
        let labels = Labels::new(Tensor::from_data([0i64, 1], (&Device::flex(), dtype)), 300).unwrap();
        assert_eq!(labels.one_hot().sum().into_scalar::<f32>(), 2.0);
    }
    let told = |labels: Result<Labels, SparseError>| labels.unwrap_err().to_string();
    let rule = "a label must be in [0, 3), or -1 if it is not known, got";
    assert_eq!(told(Labels::from_list(&[0, 3], 3, &device)), format!("Labels::from_list: {rule} 3 for node 1"));
    let below = Tensor::from_ints([-2, 0], &device);
    assert_eq!(told(Labels::new(below, 3)), format!("Labels::new: {rule} -2 for node 0"));
    assert!(Labels::from_list(&[i64::MAX, i64::MIN], None, &device).is_err());
}
