//! Graphs whose nodes and edges have types.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use sparse_dev::files::heard;
use sparse_tensor::data::{
    HeteroGraph, HomogeneousGraph, Labels, Splits, TypedNodes, hetero_block_model, precision_at_k, random_edge_split,
    try_precision_at_k,
};
use sparse_tensor::io::safetensors::Archive;
use sparse_tensor::nn::{
    EdgeType, Edges, GcnConvConfig, HeteroConv, NodePairs, RgcnConvConfig, TypeJoin, bipartite_normalization,
};
use sparse_tensor::ops::Reduce;
use sparse_tensor::pattern::Pattern;
use sparse_tensor::{CooTensor, CsrTensor, Result};

fn flex() -> Device {
    Device::flex()
}

fn dense<const N: usize>(rows: &[[f64; N]]) -> CsrTensor<2> {
    let flat: Vec<f64> = rows.concat();
    CsrTensor::from_dense(Tensor::<1>::from_floats(&flat[..], &flex()).reshape([rows.len(), N]))
}

fn numbers<const D: usize>(x: &Tensor<D>) -> Vec<f64> {
    x.to_data().convert::<f64>().iter().collect()
}

fn whole(x: &Tensor<2, Int>) -> Vec<(usize, usize)> {
    let list: Vec<i64> = x.to_data().convert::<i64>().iter().collect();
    let (rows, cols) = list.split_at(list.len() / 2);
    rows.iter().zip(cols).map(|(&row, &col)| (row as usize, col as usize)).collect()
}

fn told<T>(result: Result<T>, parts: &[&str]) {
    let Err(trouble) = result else { panic!("no error: {parts:?}") };
    let text = trouble.to_string();
    assert_eq!(trouble.kind(), "invalid", "{text}");
    assert!(parts.iter().all(|part| text.contains(part)), "{text}: {parts:?}");
}

/// Two papers, three authors, a venue that nobody knows.
fn small() -> HeteroGraph {
    let papers = TypedNodes {
        features: Some(Tensor::from_floats([[1.0, 2.0], [3.0, 4.0]], &flex())),
        labels: Some(Labels::from_list(&[1, 0], 2, &flex()).unwrap()),
        splits: Splits { train: vec![1], val: vec![], test: vec![0] },
        ..TypedNodes::new(2)
    };
    let authors = Tensor::from_floats([[5.0, 6.0], [7.0, 8.0], [9.0, 10.0]], &flex());
    HeteroGraph::default()
        .with_nodes("paper", papers)
        .with_nodes("author", TypedNodes::of(authors))
        .with_nodes("venue", TypedNodes::new(1))
        .with_edges(("author", "writes", "paper"), dense(&[[1.0, 0.0, 2.0], [0.0, 0.0, 0.5]]))
        .with_edges(("paper", "cites", "paper"), dense(&[[0.0, 1.0], [3.0, 0.0]]))
}

#[test]
fn types_are_found_by_name() {
    let graph = small();
    assert_eq!(graph.node_types().collect::<Vec<_>>(), ["author", "paper", "venue"]);
    let names: Vec<String> = graph.edge_types().map(EdgeType::to_string).collect();
    assert_eq!(names, ["author-writes-paper", "paper-cites-paper"]);
    assert_eq!((graph.nodes_of("author").count, graph.nodes_of("paper").splits.test.len()), (3, 1));
    assert_eq!(graph.adjacency(("author", "writes", "paper")).nnz(), 3);
    assert_eq!(graph.edges().len(), 2);
    assert_eq!(
        graph.to_string(),
        "author: 3 nodes, 2 features\npaper: 2 nodes, 2 features, 2 classes\nvenue: 1 nodes\n\
         author-writes-paper: 3 edges\npaper-cites-paper: 2 edges"
    );
    assert_eq!(HeteroGraph::default().to_string(), "");
    told(graph.try_features(), &["[\"venue\"]"]);
    let graph = graph.with_nodes("venue", TypedNodes::of(Tensor::ones([1, 5], &flex())));
    assert_eq!(graph.features()["venue"].dims(), [1, 5]);
    let papers = graph.labelled("paper", &[1, 0]).unwrap();
    // The class of paper 1 is 0, and that of paper 0 is 1.
    let logits = Tensor::<2>::from_floats([[0.0, 1.0], [1.0, 0.0]], &flex());
    assert_eq!((papers.len(), papers.accuracy(logits)), (2, 1.0));
    told(graph.labelled("author", &[0]), &["author", "labels"]);
    told(graph.labelled("x", &[0]), &["\"x\"", "paper"]);
    assert_eq!(graph.labelled("paper", &[2]).unwrap_err().kind(), "index_out_of_range");
}

#[test]
fn what_does_not_fit_is_refused() {
    let graph = small();
    let nodes = |nodes: TypedNodes| graph.clone().try_with_nodes("paper", nodes);
    told(nodes(TypedNodes::new(3)), &["paper", "author-writes-paper", "2 nodes", "got 3"]);
    told(graph.clone().try_with_nodes("author", TypedNodes::new(2)), &["author", "3 nodes", "got 2"]);
    assert!(nodes(TypedNodes::new(2)).is_ok());
    let features = Some(Tensor::ones([3, 1], &flex()));
    told(nodes(TypedNodes { features, ..TypedNodes::new(2) }), &["paper", "features", "2 nodes", "got 3"]);
    let labels = Some(Labels::from_list(&[0], 1, &flex()).unwrap());
    told(nodes(TypedNodes { labels, ..TypedNodes::new(2) }), &["paper", "labels", "2 nodes", "got 1"]);
    let splits = Splits { train: vec![0], val: vec![], test: vec![2] };
    told(nodes(TypedNodes { splits, ..TypedNodes::new(2) }), &["paper", "split", "[0, 2)", "got 2"]);
    let edges = |kind: (&str, &str, &str), a| graph.clone().try_with_edges(kind, a);
    told(edges(("author", "reads", "book"), dense(&[[1.0]])), &["author-reads-book", "\"book\"", "paper"]);
    told(edges(("book", "by", "author"), dense(&[[1.0]])), &["book-by-author", "\"book\""]);
    // Sources first is the wrong way round.
    let turned = dense(&[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]);
    told(edges(("author", "reads", "paper"), turned), &["author-reads-paper", "2 nodes of type paper", "[3, 2]"]);
    told(graph.try_nodes_of("x"), &["\"x\"", "author"]);
    told(graph.try_adjacency(("author", "reads", "paper")), &["author-reads-paper", "author-writes-paper"]);
    told(graph.try_select_nodes(&["paper", "x"]), &["\"x\""]);
    told(graph.try_select_edges(&[EdgeType::new("a", "b", "c")]), &["a-b-c"]);
}

#[test]
fn types_can_be_selected() {
    let graph = small();
    let papers = graph.select_nodes(&["paper", "venue"]);
    assert_eq!(papers.to_string(), "paper: 2 nodes, 2 features, 2 classes\nvenue: 1 nodes\npaper-cites-paper: 2 edges");
    let written = graph.select_edges(&[EdgeType::new("author", "writes", "paper")]);
    assert_eq!(written.node_types().collect::<Vec<_>>(), ["author", "paper"]);
    assert_eq!(written.edge_types().count(), 1);
    assert!(graph.select_nodes(&[]).node_types().next().is_none());
    let device = flex().autodiff();
    let by = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 0.0, 2.0], [0.0, 0.0, 0.5]], &device));
    let papers = TypedNodes {
        labels: Some(Labels::from_list(&[1, 0], 2, &device).unwrap()),
        ..TypedNodes::of(Tensor::ones([2, 2], &device))
    };
    let tracked = graph.clone().with_nodes("paper", papers).with_edges(("author", "writes", "paper"), by);
    let plain = tracked.valid();
    let on_tape = |graph: &HeteroGraph| {
        let features = graph.nodes_of("paper").features.as_ref().unwrap().is_autodiff();
        [features, graph.adjacency(("author", "writes", "paper")).device().is_autodiff()]
    };
    assert_eq!((on_tape(&tracked), on_tape(&plain)), ([true; 2], [false; 2]));
    // A device is another place; the association stays.
    assert_eq!(on_tape(&tracked.to_device(&flex())), [true; 2]);
    assert_eq!((plain.to_string(), plain.adjacency(("paper", "cites", "paper")).device()), (graph.to_string(), flex()));
    let pattern = |graph: &HeteroGraph| graph.adjacency(("author", "writes", "paper")).pattern().clone();
    assert!(pattern(&plain).is_same(&pattern(&tracked)));
}

/// As PyG's `ToUndirected`.
#[test]
fn edges_between_two_types_get_a_type_of_their_own_the_other_way() {
    let graph = small().with_reverse(Reduce::Add);
    let names: Vec<String> = graph.edge_types().map(EdgeType::to_string).collect();
    assert_eq!(names, ["author-writes-paper", "paper-cites-paper", "paper-rev_writes-author"]);
    let back = graph.adjacency(("paper", "rev_writes", "author"));
    assert_eq!(numbers(&back.to_dense()), [1.0, 0.0, 0.0, 0.0, 2.0, 0.5]);
    // Within one type both directions are one type.
    assert_eq!(numbers(&graph.adjacency(("paper", "cites", "paper")).to_dense()), [0.0, 4.0, 4.0, 0.0]);
    let largest = small().with_reverse(Reduce::Amax);
    assert_eq!(numbers(&largest.adjacency(("paper", "cites", "paper")).to_dense()), [0.0, 3.0, 3.0, 0.0]);
    told(graph.try_with_reverse(Reduce::Add), &["author-writes-paper", "paper-rev_writes-author"]);
}

#[test]
fn a_graph_of_types_is_one_graph_and_back() {
    let graph = small().with_nodes("venue", TypedNodes::of(Tensor::from_floats([[11.0, 12.0]], &flex())));
    let one = graph.to_homogeneous();
    assert_eq!(
        (one.node_types.clone(), one.types.clone()),
        (vec!["author".into(), "paper".into(), "venue".to_string()], vec![0, 0, 0, 1, 1, 2])
    );
    assert_eq!(one.relations, ["writes", "cites"]);
    assert_eq!(
        numbers(one.features.as_ref().unwrap()),
        (5..11).chain(1..5).chain(11..13).map(f64::from).collect::<Vec<_>>()
    );
    // Papers are nodes 3 and 4.
    let triplets = |a: &CsrTensor<2>| {
        let coo = a.to_coo();
        whole(&coo.indices()).into_iter().zip(numbers(&coo.values::<1>())).collect::<Vec<_>>()
    };
    assert_eq!(triplets(&one.adjacencies[0]), [((3, 0), 1.0), ((3, 2), 2.0), ((4, 2), 0.5)]);
    assert_eq!(triplets(&one.adjacencies[1]), [((3, 4), 1.0), ((4, 3), 3.0)]);
    let back = one.to_heterogeneous();
    assert_eq!(
        back.to_string(),
        "author: 3 nodes, 2 features\npaper: 2 nodes, 2 features\nvenue: 1 nodes, 2 features\n\
         author-writes-paper: 3 edges\npaper-cites-paper: 2 edges"
    );
    for (kind, adjacency) in graph.edges() {
        assert_eq!(numbers(&back.adjacency(kind).to_dense()), numbers(&adjacency.to_dense()));
    }
    for (name, x) in graph.features() {
        assert_eq!(numbers(&back.features()[&name]), numbers(&x));
    }
    // A layer of relations gives the same on both.
    let layer = RgcnConvConfig::new(2, 3, 2).init(&flex());
    let together = layer.forward(&one.adjacencies, one.features.unwrap());
    let x = graph.features();
    let parts: Vec<_> = Edges::of_types(&graph.edges(), &x).into_iter().map(|(_, edges)| edges).enumerate().collect();
    let papers = layer.forward_parts(&parts);
    for (a, b) in numbers(&together.narrow(0, 3, 2)).iter().zip(numbers(&papers)) {
        assert!((a - b).abs() < 1e-5, "{a} and {b}");
    }
    // Types of other widths have no features together.
    assert!(small().to_homogeneous().features.is_none());
    let wide = small().with_nodes("venue", TypedNodes::of(Tensor::ones([1, 3], &flex())));
    assert!(wide.to_homogeneous().features.is_none());
    let empty = HeteroGraph::default().to_homogeneous();
    assert!(empty.types.is_empty() && empty.features.is_none() && empty.to_heterogeneous().edges().is_empty());
}

/// Nodes of a type need not be side by side, and a relation may be between several types.
#[test]
fn one_graph_is_cut_by_the_types_of_its_nodes() {
    let ones = Tensor::<1>::from_floats([1.0, 2.0, 3.0, 4.0], &flex());
    let edges = CooTensor::from_edges(&[(0, 1), (1, 0), (2, 0), (3, 3)], ones, 4).unwrap().to_csr();
    let one = || HomogeneousGraph {
        node_types: vec!["a".into(), "b".into(), "none".into()],
        types: vec![0, 1, 0, 1],
        relations: vec!["to".into()],
        adjacencies: vec![edges.clone()],
        features: Some(Tensor::from_floats([[1.0], [2.0], [3.0], [4.0]], &flex())),
    };
    let graph = one().to_heterogeneous();
    assert_eq!(
        graph.to_string(),
        "a: 2 nodes, 1 features\nb: 2 nodes, 1 features\nnone: 0 nodes, 1 features\n\
         a-to-a: 1 edges\na-to-b: 1 edges\nb-to-a: 1 edges\nb-to-b: 1 edges"
    );
    assert_eq!(numbers(&graph.features()["a"]), [1.0, 3.0]);
    // Targets are rows: node 1, the first of type b, has an edge from node 0, the first of type a.
    assert_eq!(numbers(&graph.adjacency(("a", "to", "b")).to_dense()), [2.0, 0.0, 0.0, 0.0]);
    assert_eq!(numbers(&graph.adjacency(("b", "to", "b")).to_dense()), [0.0, 0.0, 0.0, 4.0]);
    let with = |change: fn(&mut HomogeneousGraph)| {
        let mut graph = one();
        change(&mut graph);
        graph.try_to_heterogeneous()
    };
    told(with(|graph| graph.types[2] = 3), &["[0, 3)", "got 3 for node 2"]);
    told(with(|graph| graph.node_types[1] = "a".into()), &["a: ", "once"]);
    told(with(|graph| graph.relations.clear()), &["0 relations", "got 1"]);
    told(with(|graph| graph.types.push(0)), &["to: ", "5 nodes", "[4, 4]"]);
    told(with(|graph| graph.features = Some(Tensor::ones([3, 1], &Device::flex()))), &["4 nodes", "got 3"]);
    let twice = with(|graph| {
        graph.relations.push("to".into());
        graph.adjacencies.push(graph.adjacencies[0].clone());
    });
    told(twice, &["a-to-a", "one relation"]);
}

#[test]
fn gradients_pass_through_both_forms() {
    let device = flex().autodiff();
    let writes = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 2.0]], &device)).require_grad();
    let x = Tensor::<2>::from_floats([[1.0], [2.0]], &device).require_grad();
    let graph = HeteroGraph::default()
        .with_nodes("a", TypedNodes::of(x.clone()))
        .with_nodes("b", TypedNodes::of(Tensor::ones([1, 1], &device)))
        .with_edges(("a", "to", "b"), writes.clone());
    let back = graph.to_homogeneous().to_heterogeneous();
    let out = back.adjacency(("a", "to", "b")).matmul(back.features()["a"].clone());
    let grads = out.sum().backward();
    assert_eq!(numbers(&x.grad(&grads).unwrap()), [1.0, 2.0]);
    assert_eq!(numbers(&writes.grad(&grads).unwrap().values::<1>()), [1.0, 2.0]);
}

#[test]
fn edges_of_one_type_are_split_with_their_reverse() {
    let kind = EdgeType::new("user", "likes", "item");
    let graph = hetero_block_model(&[("user", 30), ("item", 20)], 2, &[(kind.clone(), 100, 0.9)], 3, &flex()).unwrap();
    let graph = graph.with_reverse(Reduce::Amax);
    let likes = graph.adjacency(&kind);
    let split = graph.random_edge_split(&kind, 0.1, 0.2, false, 7).unwrap();
    let count = likes.nnz();
    let [val, test] = [count / 10, count / 5];
    let sets = [whole(&split.train_edges), whole(&split.val_edges), whole(&split.test_edges)];
    assert_eq!(sets.clone().map(|set| set.len()), [count - val - test, val, test]);
    let mut all = sets.concat();
    all.sort_unstable();
    assert_eq!(all, whole(&likes.to_coo().indices()));
    for (part, edges) in [(&split.train, count - val - test), (&split.train_val, count - test)] {
        let (there, back) = (part.adjacency(&kind), part.adjacency(kind.reversed()));
        assert_eq!((there.dims(), there.nnz()), ([20, 30], edges));
        assert_eq!(numbers(&there.transpose().to_dense()), numbers(&back.to_dense()));
    }
    assert_eq!(whole(&split.train.adjacency(&kind).to_coo().indices()), sets[0]);
    let again = graph.random_edge_split(&kind, 0.1, 0.2, false, 7).unwrap();
    assert_eq!(whole(&again.test_edges), sets[2]);
    let other = graph.random_edge_split(&kind, 0.1, 0.2, false, 8).unwrap();
    assert_ne!(whole(&other.test_edges), sets[2]);
    // Targets and sources as the pairs of a decoder, negative ones too.
    let pairs = NodePairs::from_indices(split.test_edges, [20, 30]).unwrap();
    assert_eq!(pairs.len(), test);
    // Without the reversed type there is none in the parts.
    let one = graph.select_edges(std::slice::from_ref(&kind));
    assert_eq!(one.random_edge_split(&kind, 0.1, 0.2, false, 7).unwrap().train.edge_types().count(), 1);
    told(graph.random_edge_split(("a", "b", "c"), 0.1, 0.1, false, 1), &["a-b-c"]);
    assert_eq!(graph.random_edge_split(&kind, 0.1, 0.2, true, 7).unwrap_err().kind(), "shape_mismatch");
    told(graph.random_edge_split(&kind, 0.9, 0.2, false, 7), &["val + test"]);
    let back = CsrTensor::<2>::zeros([30, 20], (&flex(), likes.dtype()));
    let uneven = graph.clone().with_edges(kind.reversed(), back);
    told(uneven.random_edge_split(&kind, 0.1, 0.2, false, 7), &["user-likes-item", "item-rev_likes-user", "flipped"]);
}

#[test]
fn directed_edges_may_be_between_two_kinds_of_nodes() {
    let a = dense(&[[1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0]]);
    let split = random_edge_split(&a, 0.2, 0.3, false, 1).unwrap();
    assert_eq!((split.train.dims(), split.train.nnz(), split.train_val.nnz()), ([2, 5], 5, 7));
    // Values stay with their edges.
    let places = whole(&split.train.to_coo().indices());
    let expected: Vec<f64> = places.iter().map(|(row, col)| (5 * row + col + 1) as f64).collect();
    assert_eq!(numbers(&split.train.values::<1>()), expected);
    assert_eq!(random_edge_split(&a, 0.2, 0.3, true, 1).unwrap_err().kind(), "shape_mismatch");
}

#[test]
fn block_models_have_the_edges_that_are_expected() {
    let [likes, knows] = [("user", "likes", "item"), ("user", "knows", "user")].map(EdgeType::from);
    let make = |seed| {
        let relations = [(likes.clone(), 6_000, 0.75), (knows.clone(), 3_000, 1.0)];
        hetero_block_model(&[("user", 403), ("item", 200), ("none", 0)], 4, &relations, seed, &flex()).unwrap()
    };
    let graph = make(1);
    let block = |count: usize, node: usize| (0..4).rfind(|&block| node >= count * block / 4).unwrap();
    let inside = |a: &CsrTensor<2>| {
        let [rows, cols] = a.dims();
        whole(&a.to_coo().indices()).iter().filter(|(i, j)| block(rows, *i) == block(cols, *j)).count()
    };
    let (a, b) = (graph.adjacency(&likes), graph.adjacency(&knows));
    // Five standard deviations of about 70, and fewer self loops.
    assert!(a.nnz().abs_diff(6_000) < 350 && inside(a).abs_diff(4_500) < 300, "{} {}", a.nnz(), inside(a));
    assert!(b.nnz().abs_diff(2_970) < 250 && inside(b) == b.nnz(), "{}", b.nnz());
    assert!(whole(&b.to_coo().indices()).iter().all(|(i, j)| i != j));
    assert!(numbers(&a.values::<1>()).iter().all(|&value| value == 1.0));
    let users = graph.nodes_of("user");
    let labels = users.labels.as_ref().unwrap();
    let own: Vec<i64> = (0..403).map(|node| block(403, node) as i64).collect();
    assert_eq!((labels.to_vec(), labels.classes()), (own, 4));
    let mut all = [&users.splits.train[..], &users.splits.val, &users.splits.test].concat();
    all.sort_unstable();
    assert_eq!(all, (0..403).collect::<Vec<_>>());
    assert_eq!((graph.nodes_of("none").count, users.splits.train.len()), (0, 10 + 3 * 11));
    let edges = |graph: &HeteroGraph| whole(&graph.adjacency(&likes).to_coo().indices());
    assert_eq!(edges(&make(1)), edges(&graph));
    assert_ne!(edges(&make(2)), edges(&graph));

    let nodes: [(&str, usize); 2] = [("user", 4), ("item", 2)];
    let of = |nodes: &[(&str, usize)], blocks, edges, share| {
        hetero_block_model(nodes, blocks, &[(likes.clone(), edges, share)], 1, &flex())
    };
    // All pairs, and none.
    assert_eq!(of(&nodes, 1, 8, 1.0).unwrap().adjacency(&likes).nnz(), 8);
    assert_eq!(of(&nodes, 2, 0, 0.5).unwrap().adjacency(&likes).nnz(), 0);
    told(of(&nodes, 0, 1, 0.5), &["blocks", "got 0"]);
    told(of(&nodes, 2, 5, 1.0), &["user-likes-item", "within blocks", "4 pairs", "got 5"]);
    told(of(&nodes, 1, 1, 0.5), &["user-likes-item", "between blocks", "0 pairs"]);
    told(of(&nodes, 2, 1, 1.5), &["user-likes-item", "[0, 1]", "1.5"]);
    told(of(&nodes, 2, 1, f64::NAN), &["user-likes-item", "[0, 1]", "NaN"]);
    told(of(&nodes[..1], 2, 1, 0.5), &["user-likes-item", "\"item\""]);
    told(of(&[nodes[0], nodes[0]], 2, 1, 0.5), &["user", "once"]);
    assert_eq!(of(&[("user", 1 << 31), ("item", 2)], 2, 1, 0.5).unwrap_err().kind(), "overflow");
    let twice = [(likes.clone(), 1, 0.5), (likes.clone(), 1, 0.5)];
    told(hetero_block_model(&nodes, 2, &twice, 1, &flex()), &["user-likes-item", "once"]);
}

/// Users whose items are of their own block: what two layers on a graph of types learn.
#[test]
fn a_layer_of_types_takes_what_a_graph_gives() {
    let [likes, knows] = [("user", "likes", "item"), ("user", "knows", "user")].map(EdgeType::from);
    let relations = [(likes.clone(), 300, 0.9), (knows.clone(), 200, 0.9)];
    let graph = hetero_block_model(&[("user", 40), ("item", 30)], 2, &relations, 5, &flex()).unwrap();
    let x = |count| TypedNodes::of(Tensor::ones([count, 3], &flex()));
    let graph = graph.with_nodes("user", x(40)).with_nodes("item", x(30)).with_reverse(Reduce::Amax);
    let gcn = || GcnConvConfig::new(3, 4).init(&flex());
    let layer = HeteroConv::new(graph.edge_types().cloned().map(|kind| (kind, gcn())), TypeJoin::Sum);
    let normal: Vec<_> = graph.edges().into_iter().map(|(kind, a)| (kind, bipartite_normalization(a))).collect();
    let edges: Vec<_> = normal.iter().map(|(kind, a)| (kind.clone(), a)).collect();
    let out = layer.forward(&edges, &graph.features());
    assert_eq!((out["user"].dims(), out["item"].dims()), ([40, 4], [30, 4]));
}

/// PyG's `LinkPredPrecision`: hits among the first k, divided by k; the mean over users with an item.
#[test]
fn precision_divides_by_k() {
    let scores = Tensor::<2>::from_floats([[0.9, 0.8, 0.1, 0.2], [0.1, 0.2, 0.3, 0.4], [1.0, 0.0, 0.0, 0.0]], &flex());
    let rows = [vec![(0, 1.0), (3, 1.0)], vec![(0, 1.0)], vec![]];
    let relevant = CsrTensor::<2>::from_rows(&rows, 4, &flex()).unwrap();
    let at = |k| precision_at_k(scores.clone(), &relevant, None, k);
    assert_eq!([at(1), at(2), at(4), at(8)], [0.5, 0.25, (0.5 + 0.25) / 2.0, (0.25 + 0.125) / 2.0]);
    let known = CsrTensor::<2>::from_rows(&[vec![(0, 1.0), (1, 1.0)], vec![], vec![]], 4, &flex()).unwrap();
    assert_eq!(precision_at_k(scores.clone(), &relevant, Some(&known), 1), 0.5);
    told(try_precision_at_k(scores, &relevant, None, 0), &["k must be at least 1"]);
}

/// Words of any marks, labels that are missing, types without features or edges.
fn odd_graph(device: &Device) -> HeteroGraph {
    let ones = |count| Tensor::<1>::ones([count], device);
    let features = Tensor::<2>::from_floats([[0.0, 1.5], [-2.0, 0.0], [0.0, 0.0]], device);
    let papers = TypedNodes {
        labels: Some(Labels::from_list(&[1, -1, 0], 4, device).unwrap()),
        splits: Splits { train: vec![2, 0], val: vec![], test: vec![1] },
        ..TypedNodes::of(features)
    };
    let cites = CsrTensor::from_edges(&[(0, 2), (2, 2)], ones(2) * 0.5, 3).unwrap();
    let writes = CooTensor::from_edges(&[(1, 0)], ones(1), [3, 2]).unwrap().to_csr();
    HeteroGraph::default()
        .with_nodes("paper \"a.b\"/c", papers)
        .with_nodes("author", TypedNodes::new(2))
        .with_nodes("nothing", TypedNodes::new(0))
        .with_edges(EdgeType::new("paper \"a.b\"/c", "cites", "paper \"a.b\"/c"), cites)
        .with_edges(EdgeType::new("author", "writes.values", "paper \"a.b\"/c"), writes)
}

#[test]
fn a_file_has_all_of_a_graph_of_types() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.safetensors");
    for device in [Device::flex(), Device::flex().autodiff()] {
        let graph = odd_graph(&device);
        graph.save_file(&path).unwrap();
        let length = std::fs::metadata(&path).unwrap().len();
        let again = heard(length, |told| HeteroGraph::load_file_with(&path, &device, told)).0.unwrap();
        assert_eq!(again.to_string(), graph.to_string());
        for ((kind, own), (other, loaded)) in graph.edges().into_iter().zip(again.edges()) {
            assert_eq!((&kind, own.to_triplets::<f32>()), (&other, loaded.to_triplets::<f32>()));
        }
        for name in graph.node_types() {
            let [own, loaded] = [graph.nodes_of(name), again.nodes_of(name)];
            let features = |nodes: &TypedNodes| nodes.features.as_ref().map(|features| features.to_data());
            let labels = |nodes: &TypedNodes| nodes.labels.as_ref().map(|labels| (labels.to_vec(), labels.classes()));
            let splits = |nodes: &TypedNodes| nodes.splits.clone();
            assert_eq!((own.count, features(own), labels(own)), (loaded.count, features(loaded), labels(loaded)));
            let [own, loaded] = [splits(own), splits(loaded)];
            assert_eq!((own.train, own.val, own.test), (loaded.train, loaded.val, loaded.test));
        }
    }
    HeteroGraph::default().save_file(&path).unwrap();
    assert_eq!(HeteroGraph::load_file(&path, &Device::flex()).unwrap().node_types().count(), 0);
}

/// The name of a tensor, what it is (`None`: edges), and what the error says.
type Case<'a> = (&'a str, Option<CooTensor<1, Int>>, &'a [&'a str]);

#[test]
fn a_file_that_contradicts_itself_names_the_type() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.safetensors");
    let device = Device::flex();
    let list = |numbers: &[i32]| {
        let count = numbers.len();
        let ids = Tensor::<2, Int>::from_data(TensorData::new((0..count as i32).collect(), [1, count]), &device);
        let values = Tensor::<1, Int>::from_data(TensorData::new(numbers.to_vec(), [count]), &device);
        CooTensor::<1, Int>::new(ids, values, [count]).unwrap()
    };
    let edges = CsrTensor::<2>::zeros([2, 2], (&device, DType::F32));
    let twice = {
        let ids = Tensor::<2, Int>::from_data([[0, 0]], &device);
        CooTensor::<1, Int>::new(ids, Tensor::<1, Int>::from_data([0, 1], &device), [2]).unwrap()
    };
    let cases: [Case<'_>; 10] = [
        ("[\"labels\",\"user\",\"2\"]", Some(twice), &["[\"labels\",\"user\",\"2\"]", "stored once and in order"]),
        ("plain", Some(list(&[1])), &["plain", "a list of words in JSON"]),
        ("[\"nodes\"]", Some(list(&[1])), &["[\"nodes\"]", "that of edges or of what nodes have"]),
        ("[\"train\",\"user\"]", Some(list(&[2])), &["user", "must be in [0, 2), got 2"]),
        ("[\"train\",\"user\"]", Some(list(&[-1])), &["[\"train\",\"user\"]", "must not be negative"]),
        ("[\"train\",\"item\"]", Some(list(&[0])), &["[\"train\",\"item\"]", "item"]),
        ("[\"labels\",\"user\",\"2\"]", Some(list(&[0])), &["user", "labels", "2 nodes, got 1"]),
        ("[\"labels\",\"user\",\"2\"]", Some(list(&[0, 2])), &["[\"labels\",\"user\",\"2\"]", "2"]),
        ("[\"labels\",\"user\",\"x\"]", Some(list(&[0, 1])), &["the classes must be a number"]),
        ("[\"edges\",\"user\",\"likes\",\"item\"]", None, &["item"]),
    ];
    for (name, own, parts) in cases {
        let mut archive = Archive::new();
        archive.insert("[\"nodes\",\"user\"]", &list(&[0, 0])).unwrap();
        match own {
            Some(own) => archive.insert(name, &own).unwrap(),
            None => archive.insert(name, &edges).unwrap(),
        }
        archive.save(&path).unwrap();
        let trouble = HeteroGraph::load_file(&path, &device).unwrap_err();
        let text = trouble.to_string();
        assert_eq!(trouble.kind(), "invalid", "{text}");
        assert!(
            text.contains("graph.safetensors") && parts.iter().all(|part| text.contains(part)),
            "{text}: {parts:?}"
        );
    }
}
