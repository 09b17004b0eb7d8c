//! Decoders of links, negative samples, and coarser graphs.

use super::case::{check, device, plan};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use sparse_tensor::CsrTensor;
use sparse_tensor::data::karate;
use sparse_tensor::nn::{
    Combine, MlpDecoderConfig, NodePairs, TopKPoolConfig, dot_decoder, negative_sampling, try_dot_decoder,
    try_negative_sampling,
};
use sparse_tensor::pattern::Pattern;
use std::collections::HashSet;

fn list<const D: usize>(x: Tensor<D>) -> Vec<f32> {
    x.into_data().iter().collect()
}

fn close(a: Vec<f32>, b: Vec<f32>) {
    assert_eq!(a.len(), b.len());
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-5), "{a:?} and {b:?}");
}

#[test]
fn top_k() {
    // The graphs of make.py.
    let graphs = plan(&[0, 1, 1, 0, 1, 1, 0], 2);
    let config = || TopKPoolConfig::new(5);
    for (id, config) in [
        ("top_k/ratio", config()),
        ("top_k/count", config().with_count(Some(2))),
        ("top_k/score", config().with_min_score(Some(0.2))),
        ("top_k/multiplied", config().with_ratio(0.8).with_multiplier(2.0)),
    ] {
        check(id, config.init(&device()), |layer, inputs| {
            let pooled = layer.forward(inputs.graph(), inputs.x(), &graphs);
            assert_eq!(pooled.graphs.len(), pooled.x.dims()[0]);
            assert_eq!(pooled.graphs.size(), 2);
            Tensor::cat(vec![pooled.x.clone(), pooled.adjacency.matmul(pooled.x)], 1)
        });
    }
    assert_eq!(config().with_ratio(0.0).try_init(&device()).unwrap_err().kind(), "invalid");
    assert_eq!(config().with_ratio(f64::NAN).try_init(&device()).unwrap_err().kind(), "invalid");
    // No nodes.
    let none = CsrTensor::<2>::zeros([0, 0], (&device(), burn::tensor::DType::F32));
    let pooled = config().init(&device()).forward(&none, Tensor::zeros([0, 5], &device()), &plan(&[], 3));
    assert_eq!((pooled.x.dims(), pooled.adjacency.dims(), pooled.graphs.size()), ([0, 5], [0, 0], 3));
}

#[test]
fn decoders_are_their_formulas() {
    let device = device();
    let z = Tensor::<2>::from_floats([[1.0, -2.0], [0.5, 3.0], [2.0, 1.0]], &device).require_grad();
    let list_of = [(2, 0), (0, 1), (2, 0), (1, 1)];
    let pairs = NodePairs::new(&list_of, [3, 3], &device).unwrap();
    // Each loss has a graph of its own.
    let both = || {
        let rows = |side: fn(&(usize, usize)) -> usize| {
            Tensor::cat(list_of.iter().map(|pair| z.clone().narrow(0, side(pair), 1)).collect(), 0)
        };
        [rows(|pair| pair.0), rows(|pair| pair.1)]
    };

    let [left, right]: [Tensor<2>; 2] = both();
    let expected = (left * right).sum_dim(1);
    let scores = dot_decoder(z.clone(), z.clone(), &pairs);
    close(list(scores.clone()), list(expected.clone()));
    let weights = Tensor::<1>::from_floats([1.0, 2.0, 3.0, 4.0], &device);
    let grad = |scores: Tensor<1>| z.grad(&(scores * weights.clone()).sum().backward()).unwrap();
    close(list(grad(scores)), list(grad(expected.reshape([4]))));

    for combine in [Combine::Product, Combine::Concat] {
        let decoder = MlpDecoderConfig::new(2, vec![5]).with_combine(combine).init(&device);
        let [left, right] = both();
        let x = match combine {
            Combine::Product => left * right,
            Combine::Concat => Tensor::cat(vec![left, right], 1),
        };
        let [first, second] = [0, 1].map(|at| decoder.mlp.linears[at].clone());
        let expected: Tensor<1> = second.forward(relu(first.forward(x))).reshape([4]);
        let scores = decoder.forward(z.clone(), z.clone(), &pairs);
        close(list(scores.clone()), list(expected.clone()));
        close(list(grad(scores)), list(grad(expected)));
        let none = NodePairs::new(&[], [3, 3], &device).unwrap();
        assert_eq!(decoder.forward(z.clone(), z.clone(), &none).dims(), [0]);
    }
    let graph = karate(&device);
    assert_eq!(NodePairs::edges(&graph.adjacency).len(), graph.adjacency.nnz());
    for wrong in [(3, 0), (0, 3), (usize::MAX, 0)] {
        let trouble = NodePairs::new(&[(0, 0), wrong], [3, 3], &device).unwrap_err();
        assert_eq!(trouble.kind(), "index_out_of_range");
    }
    let lists = NodePairs::from_lists(&[2, 0], &[1, 2], [3, 3], &device).unwrap();
    assert_eq!(lists.to_pairs(), [(2, 1), (0, 2)]);
    let again = NodePairs::from_indices(lists.indices(), [3, 3]).unwrap();
    assert_eq!(again.to_pairs(), lists.to_pairs());
    let trouble = NodePairs::from_lists(&[2, 0], &[1, 3], [3, 3], &device).unwrap_err();
    assert!(trouble.to_string().ends_with("index along dim 1 must be in [0, 3), got 3 at position 3"), "{trouble}");
    assert_eq!(NodePairs::from_lists(&[2], &[], [3, 3], &device).unwrap_err().kind(), "length_mismatch");
    let short = Tensor::<2>::zeros([2, 2], &device);
    assert_eq!(try_dot_decoder(short, z, &pairs).unwrap_err().kind(), "shape_mismatch");
}

#[test]
fn negative_pairs_are_all_the_pairs_without_an_edge() {
    let device = Device::flex();
    let dense = Tensor::<2>::from_floats([[0.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]], &device);
    let square = CsrTensor::from_dense(dense.clone());
    let all = |pairs: NodePairs| pairs.to_pairs().into_iter().collect::<HashSet<_>>();
    let free = all(negative_sampling(&square, 3, 0));
    assert_eq!(free, HashSet::from([(0, 2), (2, 0), (2, 1)]));
    assert_eq!(try_negative_sampling(&square, 4, 0).unwrap_err().kind(), "invalid");
    // Pairs (i, i) are as good as others where rows and columns are different nodes.
    let wide = CsrTensor::from_dense(dense.narrow(0, 0, 2));
    assert_eq!(all(negative_sampling(&wide, 2, 0)), HashSet::from([(0, 0), (0, 2)]));
    let none = CsrTensor::<2>::zeros([0, 0], (&device, burn::tensor::DType::F32));
    assert!(negative_sampling(&none, 0, 0).is_empty());

    let graph = karate(&device);
    let edges: HashSet<(usize, usize)> = {
        let ends: Vec<i64> = graph.adjacency.to_coo().pattern().coordinates().clone().into_data().iter().collect();
        let (rows, cols) = ends.split_at(ends.len() / 2);
        rows.iter().zip(cols).map(|(&row, &col)| (row as usize, col as usize)).collect()
    };
    let draw = |seed| negative_sampling(&graph.adjacency, 500, seed);
    let drawn = draw(3).to_pairs();
    assert_eq!(drawn, draw(3).to_pairs(), "the seed decides");
    assert_ne!(drawn, draw(4).to_pairs());
    assert!(drawn.iter().all(|&(i, j)| i != j && i < 34 && j < 34 && !edges.contains(&(i, j))));
    assert_eq!(all(draw(3)).len(), 500, "no pair twice");
}

#[test]
fn negative_pairs_are_uniform() {
    let device = Device::flex();
    let dense = Tensor::<2>::from_floats([[0.0, 1.0, 0.0, 0.0], [0.0; 4], [0.0; 4], [1.0, 1.0, 1.0, 0.0]], &device);
    let graph = CsrTensor::from_dense(dense);
    // Eight pairs are free. Of 8000 draws of one pair each is expected 1000 times, with a deviation of 30.
    let mut counts = std::collections::HashMap::new();
    for seed in 0..8000 {
        *counts.entry(negative_sampling(&graph, 1, seed).to_pairs()[0]).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 8);
    assert!(counts.values().all(|&count| (850..1150).contains(&count)), "{counts:?}");
}
