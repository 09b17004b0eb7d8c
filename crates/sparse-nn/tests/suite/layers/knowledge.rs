//! Embeddings of knowledge graphs.

use super::case::{check, data, device, find};
use burn::module::Param;
use burn::tensor::{DType, Device, Int, Tensor};
use sparse_dev::told;
use sparse_tensor::nn::*;

const SCORES: [(&str, TripleScore, f64); 5] = [
    ("transe", TripleScore::TransE, 1.0),
    ("transe_l2", TripleScore::TransE2, 0.5),
    ("distmult", TripleScore::DistMult, 1.0),
    ("complex", TripleScore::ComplEx, 1.0),
    ("rotate", TripleScore::RotatE, 2.0),
];

fn model(score: TripleScore, margin: f64, device: &Device) -> KnowledgeEmbedding {
    KnowledgeEmbeddingConfig::new(5, 2, 4, score).with_margin(margin).init(device)
}

fn list<const D: usize>(x: Tensor<D>) -> Vec<f64> {
    x.into_data().convert::<f64>().iter().collect()
}

fn triples(list: &[(usize, usize, usize)]) -> Triples {
    Triples::from_list(list, 5, 2, &Device::flex()).unwrap()
}

#[test]
fn scores_and_losses_are_those_of_pytorch_geometric() {
    for (name, score, margin) in SCORES {
        let model = || model(score, margin, &device());
        check(&format!("kge/{name}_scores"), model(), |model, inputs| {
            let scores = model.forward(&Triples::new(inputs.ints("triples"), 5, 2).unwrap());
            scores.unsqueeze_dim(1)
        });
        check(&format!("kge/{name}_loss"), model(), |model, inputs| {
            let [facts, corrupted] =
                ["triples", "corrupted"].map(|name| Triples::new(inputs.ints(name), 5, 2).unwrap());
            model.loss(model.forward(&facts), model.forward(&corrupted)).unsqueeze_dim(1)
        });
    }
}

#[test]
fn ranks_are_those_of_pytorch_geometric() {
    for (name, score, margin) in SCORES {
        let case = find(&format!("kge/{name}_ranks"));
        let mut model = model(score, margin, &Device::flex());
        let table =
            |name: &str| Param::from_tensor(Tensor::<2>::from_data(data(&case[name]), (&Device::flex(), DType::F64)));
        model.entities.weight = table("entities");
        model.relations.weight = table("relations");
        let ids = Tensor::<2, Int>::from_data(data(&case["triples"]).convert::<i64>(), &Device::flex());
        let ranks = model.ranks(&Triples::new(ids, 5, 2).unwrap(), Missing::Tail, None);
        let out = |name: &str| data(&case["out"][name]).into_vec::<f64>().unwrap();
        assert_eq!(ranks.ranks(), out("ranks"), "{name}");
        for (got, expected) in [(ranks.mean_rank(), "mean_rank"), (ranks.mrr(), "mrr"), (ranks.hits_at(2), "hits_2")] {
            // PyG has f32 here.
            assert!((got - out(expected)[0]).abs() < 1e-6, "{name}, {expected}");
        }
    }
}

/// Entities on a line, scored by products with a relation of 1: the ranks are known.
#[test]
fn facts_that_are_known_are_not_counted() {
    let device = Device::flex();
    let mut model = KnowledgeEmbeddingConfig::new(5, 2, 1, TripleScore::DistMult).init(&device);
    let column = |numbers: &[f32]| Param::from_tensor(Tensor::<1>::from_floats(numbers, &device).unsqueeze_dim::<2>(1));
    model.entities.weight = column(&[1.0, 2.0, 3.0, 4.0, 4.0]);
    model.relations.weight = column(&[1.0, -1.0]);
    let facts = triples(&[(0, 0, 2), (0, 0, 3), (1, 1, 2)]);
    let ranks = |missing, known| model.ranks(&facts, missing, known).ranks().to_vec();
    // Above 2 are 3 and 4, which are equal to each other; with relation 1 the order is the other way round.
    assert_eq!(ranks(Missing::Tail, None), [3.0, 1.5, 3.0]);
    assert_eq!(ranks(Missing::Tail, Some(&facts)), [2.0, 1.5, 3.0]);
    let more = triples(&[(0, 0, 4), (0, 0, 2), (1, 1, 0), (0, 1, 3)]);
    assert_eq!(ranks(Missing::Tail, Some(&more)), [2.0, 1.0, 2.0]);
    // Heads: above 0 are all others, and above 1, with relation 1, is 0.
    assert_eq!(ranks(Missing::Head, None), [5.0, 5.0, 2.0]);
    let heads = triples(&[(3, 0, 2), (4, 0, 3), (0, 1, 2)]);
    assert_eq!(ranks(Missing::Head, Some(&heads)), [4.0, 4.0, 1.0]);
}

/// More pairs than a block has.
#[test]
fn ranks_do_not_depend_on_blocks() {
    let device = Device::flex();
    let model = KnowledgeEmbeddingConfig::new(3_000, 2, 3, TripleScore::TransE).init(&device);
    let facts: Vec<_> = (0..50).map(|k| (k * 59, k % 2, k * 31)).collect();
    let of = |facts: &[(usize, usize, usize)]| {
        let facts = Triples::from_list(facts, 3_000, 2, &device).unwrap();
        model.ranks(&facts, Missing::Tail, None).ranks().to_vec()
    };
    let alone: Vec<f64> = facts.iter().flat_map(|&fact| of(&[fact])).collect();
    assert_eq!(of(&facts), alone);
}

/// The gradients of the rows are the dense ones.
#[test]
fn rows_have_the_dense_gradients() {
    let facts = triples(&[(0, 0, 1), (3, 1, 0), (0, 0, 3)]);
    for (_, score, margin) in SCORES {
        let model = model(score, margin, &device());
        let scores = model.forward(&facts);
        let (again, [entities, relations]) = model.forward_rows(&facts);
        assert_eq!(list(again.clone()), list(scores.clone()));
        let (dense, sparse) = (scores.powi_scalar(2).sum().backward(), again.powi_scalar(2).sum().backward());
        for (table, read) in [(&model.entities, entities), (&model.relations, relations)] {
            let expected = list(table.weight.val().grad(&dense).unwrap());
            assert_eq!(list(read.grad(&sparse).unwrap().to_dense()), expected, "{score:?}");
        }
    }
}

/// In the first half the head is another one, in the second half the tail.
#[test]
fn one_end_of_a_triple_is_corrupted() {
    let facts: Vec<_> = (0..101).map(|k| (k, k % 3, 100 - k)).collect();
    let facts = Triples::from_list(&facts, 10_000, 3, &Device::flex()).unwrap();
    let (own, drawn) = (facts.to_list(), facts.corrupt(1).to_list());
    for (at, (own, drawn)) in own.iter().zip(&drawn).enumerate() {
        assert_eq!(drawn.1, own.1);
        assert_eq!(if at < 50 { drawn.2 } else { drawn.0 }, if at < 50 { own.2 } else { own.0 }, "{at}");
    }
    let changed = own.iter().zip(&drawn).filter(|(own, drawn)| own != drawn).count();
    assert!(changed > 95, "{changed}");
    assert_eq!(facts.corrupt(1).to_list(), drawn);
    assert_ne!(facts.corrupt(2).to_list(), drawn);
    assert_eq!(triples(&[(4, 0, 1)]).corrupt(3).to_list()[0].0, 4);
    assert!(triples(&[]).corrupt(3).is_empty());
}

#[test]
fn no_triples_have_no_scores() {
    let none = triples(&[]);
    for (_, score, margin) in SCORES {
        let model = model(score, margin, &device());
        assert_eq!(model.forward(&none).dims(), [0]);
        assert_eq!(model.forward_rows(&none).0.dims(), [0]);
        assert_eq!(model.try_ranks(&none, Missing::Tail, None).unwrap_err().kind(), "empty_input");
        let none = model.try_loss(model.forward(&none), model.forward(&none));
        assert_eq!(none.unwrap_err().kind(), "empty_input");
    }
}

#[test]
fn triples_and_scores_are_checked() {
    let device = Device::flex();
    for wrong in [(5, 0, 0), (0, 2, 0), (0, 0, 5)] {
        let trouble = Triples::from_list(&[(0, 0, 0), wrong], 5, 2, &device).unwrap_err();
        assert_eq!(trouble.kind(), "index_out_of_range");
        let ids = [wrong.0, wrong.1, wrong.2].map(|id| [id as i32]);
        let trouble = Triples::new(Tensor::from_data(ids, &device), 5, 2).unwrap_err();
        assert_eq!(trouble.kind(), "index_out_of_range");
    }
    assert_eq!(Triples::new(Tensor::zeros([2, 4], &device), 5, 2).unwrap_err().kind(), "shape_mismatch");
    assert!(
        told(KnowledgeEmbeddingConfig::new(5, 2, 4, TripleScore::TransE).with_margin(f64::NAN).try_init(&device))
            .ends_with("margin must be finite, got NaN")
    );

    let mut model = model(TripleScore::DistMult, 1.0, &device);
    let facts = triples(&[(0, 0, 1)]);
    let other = Triples::from_list(&[(0, 0, 1)], 6, 2, &device).unwrap();
    assert_eq!(model.try_forward(&other).unwrap_err().kind(), "shape_mismatch");
    assert_eq!(model.try_forward_rows(&other).unwrap_err().kind(), "shape_mismatch");
    assert_eq!(model.try_ranks(&facts, Missing::Tail, Some(&other)).unwrap_err().kind(), "shape_mismatch");
    let trouble = model.try_loss(model.forward(&facts), Tensor::zeros([2], &device)).unwrap_err();
    assert!(trouble.to_string().ends_with("the scores of corrupted triples must have length 1, got 2"));
    model.relations.weight = Param::from_tensor(Tensor::full([2, 4], f32::NAN, &device));
    assert!(told(model.try_ranks(&facts, Missing::Tail, None)).ends_with("scores must be numbers, got NaN"));
}

/// PyG: `6 / sqrt(features)` and relations of norm 1; angles of a whole turn; Xavier's bound for the others.
#[test]
fn tables_start_as_in_pytorch_geometric() {
    let of = |score| KnowledgeEmbeddingConfig::new(40, 30, 10, score).init(&device());
    let within = |table: &RowTable, [low, high]: [f64; 2]| {
        let all = list(table.weight.val());
        let (least, most) = all.iter().fold((f64::MAX, f64::MIN), |(a, b), &x| (a.min(x), b.max(x)));
        let slack = (high - low) * 0.1;
        assert!(low <= least && least < low + slack && high - slack < most && most <= high, "{least}, {most}");
        assert!(table.weight.val().is_require_grad());
    };
    let bound = 6.0 / 10f64.sqrt();
    for (score, p) in [(TripleScore::TransE, 1.0), (TripleScore::TransE2, 2.0)] {
        let model = of(score);
        within(&model.entities, [-bound, bound]);
        assert!(model.relations.weight.val().is_require_grad());
        for row in list(model.relations.weight.val()).chunks(10) {
            assert!((row.iter().map(|x| x.abs().powf(p)).sum::<f64>() - 1.0).abs() < 1e-5);
        }
    }
    let xavier = |rows: f64| [-1.0, 1.0].map(|sign| sign * (6.0 / (rows + 10.0)).sqrt());
    let complex = of(TripleScore::ComplEx);
    within(&complex.entities, xavier(40.0));
    within(&complex.relations, xavier(30.0));
    within(&of(TripleScore::RotatE).relations, [0.0, std::f64::consts::TAU]);
    assert_eq!(of(TripleScore::RotatE).entities.weight.dims(), [40, 20]);
}
