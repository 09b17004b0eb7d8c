//! The layers of the gallery's section "Layers in two lines", which are functions here, too.

use super::case::{check, device};
use burn::module::{Module, Param};
use burn::nn::{Embedding, EmbeddingConfig, Linear, LinearConfig};
use burn::tensor::{FloatDType, Tensor};
use sparse_tensor::CsrTensor;
use sparse_tensor::nn::{
    Edges, GcnConv, GcnConvConfig, GinConv, GinConvConfig, Mlp, MlpConfig, gcn_normalization, row_normalization,
    symmetric_normalization,
};
use sparse_tensor::ops::{Reduce, attention};

fn graph_conv(a: &CsrTensor<2>, x: Tensor<2>, neighbours: &Linear, root: &Linear, how: Reduce) -> Tensor<2> {
    neighbours.forward(a.matmul_reduce(x.clone(), how)) + root.forward(x)
}

fn simple(a: &CsrTensor<2>, x: Tensor<2>, how: Reduce) -> Tensor<2> {
    a.matmul_reduce(x.clone(), how) + x
}

fn sgc(p: &CsrTensor<2>, x: Tensor<2>, linear: &Linear, k: usize) -> Tensor<2> {
    linear.forward((0..k).fold(x, |x, _| p.matmul(x)))
}

fn ssgc(p: &CsrTensor<2>, x: Tensor<2>, linear: &Linear, k: usize, share: f64) -> Tensor<2> {
    let steps = std::iter::successors(Some(p.matmul(x.clone())), |x| Some(p.matmul(x.clone()))).take(k);
    linear.forward(steps.fold(x * share, |sum, step| sum + step * ((1.0 - share) / k as f64)))
}

fn tag(p: &CsrTensor<2>, x: Tensor<2>, weights: &[Linear]) -> Tensor<2> {
    let terms = weights.iter().rev().map(|weight| weight.forward(x.clone()));
    terms.reduce(|sum, term| p.matmul(sum) + term).expect("at least one weight")
}

fn mix_hops(p: &CsrTensor<2>, x: Tensor<2>, weights: &[Linear], powers: &[usize]) -> Tensor<2> {
    let hop = |(weight, &power): (&Linear, &usize)| (0..power).fold(weight.forward(x.clone()), |x, _| p.matmul(x));
    Tensor::cat(weights.iter().zip(powers).map(hop).collect(), 1)
}

fn light_gcn(p: &CsrTensor<2>, embedding: Tensor<2>, shares: &[f64]) -> Tensor<2> {
    let steps = std::iter::successors(Some(embedding), |x| Some(p.matmul(x.clone())));
    steps.zip(shares).map(|(x, &share)| x * share).reduce(|sum, x| sum + x).expect("at least one share")
}

fn dir_gnn(a: &CsrTensor<2>, x: Tensor<2>, [incoming, outgoing]: [&GcnConv; 2], root: &Linear, s: f64) -> Tensor<2> {
    let both = incoming.forward(a, x.clone()) * (1.0 - s) + outgoing.forward(&a.transpose(), x.clone()) * s;
    both + root.forward(x)
}

fn le(a: &CsrTensor<2>, x: Tensor<2>, [root, source, target]: [&Linear; 3]) -> Tensor<2> {
    let own = target.forward(x.clone()) * a.row_sums().unsqueeze_dim(1);
    a.matmul(source.forward(x.clone())) - own + root.forward(x)
}

fn cluster_gcn(a: &CsrTensor<2>, x: Tensor<2>, linear: &Linear, root: &Linear, s: f64) -> Tensor<2> {
    let p = row_normalization(&a.remove_self_loops().add_self_loops(1.0));
    linear.forward(p.matmul(x.clone()) + x.clone() * p.diagonal().unsqueeze_dim(1) * s) + root.forward(x)
}

fn fa(p: &CsrTensor<2>, x: Tensor<2>, first: Tensor<2>, [s, t]: [Tensor<1>; 2], e: f64) -> Tensor<2> {
    let score = |vector: Tensor<1>| x.clone().matmul(vector.unsqueeze_dim(1));
    let edges = Edges::new(p, x.clone());
    let weights = (edges.read_source(score(s)) + edges.read_target(score(t))).tanh() * edges.weights();
    p.with_values(weights.flatten::<1>(0, 1)).matmul(x) + first * e
}

type Signs<'a> = [&'a CsrTensor<2>; 2];

fn mean(a: &CsrTensor<2>, x: &Tensor<2>) -> Tensor<2> {
    a.matmul_reduce(x.clone(), Reduce::Mean)
}

fn signed_first(graphs: Signs, x: Tensor<2>, weights: [&Linear; 2], roots: [&Linear; 2]) -> Tensor<2> {
    let half = |k: usize| weights[k].forward(mean(graphs[k], &x)) + roots[k].forward(x.clone());
    Tensor::cat(vec![half(0), half(1)], 1)
}

fn signed_next([yes, no]: Signs, x: [Tensor<2>; 2], weights: [&Linear; 2], roots: [&Linear; 2]) -> Tensor<2> {
    let half = |k: usize| {
        let around = Tensor::cat(vec![mean(yes, &x[k]), mean(no, &x[1 - k])], 1);
        weights[k].forward(around) + roots[k].forward(x[k].clone())
    };
    Tensor::cat(vec![half(0), half(1)], 1)
}

fn gps(local: Tensor<2>, x: Tensor<2>, same: &CsrTensor<2>, qkvo: [&Linear; 4], network: &Mlp) -> Tensor<2> {
    let heads = |k: usize| qkvo[k].forward(x.clone()).reshape([0, 2, -1]);
    let attended: Tensor<3> = attention(heads(0), heads(1), heads(2), same, None, 0.0);
    let global = qkvo[3].forward(attended.flatten::<2>(1, 2)) + x.clone();
    let sum = local + x + global;
    network.forward(sum.clone()) + sum
}

/// Each function of the book is in this file, as it is there.
#[test]
fn the_book_has_these_functions() {
    let book = std::fs::read_to_string(sparse_dev::path("docs/book/gallery.md")).unwrap();
    let (_, section) = book.split_once("## Layers in two lines").unwrap();
    let own = include_str!("in_two_lines.rs");
    let mut count = 0;
    for block in section.split("```rust\n").skip(1) {
        let code = block.split("```").next().unwrap();
        let shown = code.lines().filter(|line| !line.starts_with('#') && !line.starts_with("use "));
        let shown = shown.collect::<Vec<_>>().join("\n");
        assert!(shown.contains("fn ") && own.contains(shown.trim()), "{shown}");
        count += shown.matches("fn ").count();
    }
    assert_eq!(count, 15);
}

/// The parameters of such layers, under the names of the cases.
#[derive(Module, Debug)]
struct Maps {
    linear: Option<Linear>,
    neighbours: Option<Linear>,
    root: Option<Linear>,
    source: Option<Linear>,
    target: Option<Linear>,
    positive: Option<Linear>,
    positive_root: Option<Linear>,
    negative: Option<Linear>,
    negative_root: Option<Linear>,
    weights: Vec<Linear>,
    bias: Option<Param<Tensor<1>>>,
}

fn none() -> Maps {
    let [linear, neighbours, root, source, target] = [const { None }; 5];
    let [positive, positive_root, negative, negative_root] = [const { None }; 4];
    let (weights, bias) = (vec![], None);
    Maps { linear, neighbours, root, source, target, positive, positive_root, negative, negative_root, weights, bias }
}

fn map(d_input: usize, d_output: usize, bias: bool) -> Linear {
    LinearConfig::new(d_input, d_output).with_bias(bias).init(&device())
}

fn some(d_input: usize, d_output: usize, bias: bool) -> Option<Linear> {
    Some(map(d_input, d_output, bias))
}

fn bias(width: usize) -> Option<Param<Tensor<1>>> {
    Some(Param::from_tensor(Tensor::zeros([width], &device())))
}

impl Maps {
    fn biased(&self, x: Tensor<2>) -> Tensor<2> {
        match &self.bias {
            Some(bias) => x + bias.val().unsqueeze(),
            None => x,
        }
    }
}

fn get(map: &Option<Linear>) -> &Linear {
    map.as_ref().unwrap()
}

#[test]
fn graph_conv_and_simple() {
    for (name, how) in [("add", Reduce::Add), ("mean", Reduce::Mean), ("max", Reduce::Amax)] {
        for weighted in ["", "_weighted"] {
            let maps = Maps { neighbours: some(3, 2, true), root: some(3, 2, false), ..none() };
            check(&format!("graph_conv/{name}{weighted}"), maps, |maps, inputs| {
                graph_conv(inputs.graph(), inputs.x(), get(&maps.neighbours), get(&maps.root), how)
            });
        }
    }
    for (name, how) in [("sum", Reduce::Add), ("sum_weighted", Reduce::Add), ("mean_sum_weighted", Reduce::Mean)] {
        let id = format!("simple/{name}");
        check(&id, none(), |_, inputs| match name {
            // That case has no part of the node itself.
            "sum" | "sum_weighted" => simple(inputs.graph(), inputs.x(), how) - inputs.x(),
            _ => simple(inputs.graph(), inputs.x(), how),
        });
    }
}

#[test]
fn powers() {
    for weighted in ["", "_weighted"] {
        let maps = |bias| Maps { linear: some(3, 2, bias), ..none() };
        check(&format!("sg/two{weighted}"), maps(true), |maps, inputs| {
            sgc(&gcn_normalization(inputs.graph(), 1.0), inputs.x(), get(&maps.linear), 2)
        });
        check(&format!("sg/bare{weighted}"), maps(false), |maps, inputs| {
            sgc(&symmetric_normalization(inputs.graph(), false), inputs.x(), get(&maps.linear), 1)
        });
        check(&format!("ssg/three{weighted}"), maps(true), |maps, inputs| {
            ssgc(&gcn_normalization(inputs.graph(), 1.0), inputs.x(), get(&maps.linear), 3, 0.1)
        });
        let weights = |count: usize| (0..count).map(|_| map(3, 2, false)).collect();
        let maps = Maps { weights: weights(4), bias: bias(2), ..none() };
        check(&format!("tag/three{weighted}"), maps, |maps, inputs| {
            maps.biased(tag(&symmetric_normalization(inputs.graph(), false), inputs.x(), &maps.weights))
        });
        let maps = Maps { weights: weights(3), ..none() };
        check(&format!("tag/plain{weighted}"), maps, |maps, inputs| tag(inputs.graph(), inputs.x(), &maps.weights));
        let maps = Maps { weights: weights(3), bias: bias(6), ..none() };
        check(&format!("mixhop/default{weighted}"), maps, |maps, inputs| {
            let p = gcn_normalization(inputs.graph(), 1.0);
            maps.biased(mix_hops(&p, inputs.x(), &maps.weights, &[0, 1, 2]))
        });
        let maps = Maps { weights: weights(2), ..none() };
        check(&format!("mixhop/powers{weighted}"), maps, |maps, inputs| {
            mix_hops(&symmetric_normalization(inputs.graph(), false), inputs.x(), &maps.weights, &[0, 3])
        });
        check(&format!("lg/normalized{weighted}"), none(), |_, inputs| {
            light_gcn(&symmetric_normalization(inputs.graph(), false), inputs.x(), &[0.0, 1.0])
        });
        check(&format!("lg/plain{weighted}"), none(), |_, inputs| inputs.graph().matmul(inputs.x()));
    }
}

#[derive(Module, Debug)]
struct Light {
    embedding: Embedding,
}

#[test]
fn light() {
    let third = 1.0 / 3.0;
    for (name, shares) in [("embedding", [third; 3]), ("embedding_weighted", [third; 3]), ("alpha", [0.5, 0.3, 0.2])] {
        let layer = Light { embedding: EmbeddingConfig::new(6, 2).init(&device()) };
        check(&format!("light_gcn/{name}"), layer, |layer, inputs| {
            light_gcn(&symmetric_normalization(inputs.graph(), false), layer.embedding.weight.val(), &shares)
        });
    }
}

#[derive(Module, Debug)]
struct Directions {
    incoming: GcnConv,
    outgoing: GcnConv,
    root: Linear,
}

#[test]
fn directions() {
    let gcn = || GcnConvConfig::new(3, 2).with_normalize(true).with_self_loops(false).init(&device());
    let layer = Directions { incoming: gcn(), outgoing: gcn(), root: map(3, 2, true) };
    check("dir_gnn/gcn", layer, |layer, inputs| {
        dir_gnn(inputs.graph(), inputs.x(), [&layer.incoming, &layer.outgoing], &layer.root, 0.5)
    });
}

#[test]
fn differences() {
    for weighted in ["", "_weighted"] {
        let (root, source, target) = (some(3, 2, true), some(3, 2, true), some(3, 2, false));
        check(&format!("le/plain{weighted}"), Maps { root, source, target, ..none() }, |maps, inputs| {
            le(inputs.graph(), inputs.x(), [&maps.root, &maps.source, &maps.target].map(get))
        });
    }
    for (name, share, bias) in [("plain", 0.0, true), ("diagonal", 0.7, false)] {
        let maps = Maps { linear: some(3, 2, bias), root: some(3, 2, false), ..none() };
        check(&format!("cluster_gcn/{name}"), maps, |maps, inputs| {
            cluster_gcn(inputs.graph(), inputs.x(), get(&maps.linear), get(&maps.root), share)
        });
    }
}

#[derive(Module, Debug)]
struct Vectors {
    source: Param<Tensor<1>>,
    target: Param<Tensor<1>>,
}

#[test]
fn frequencies() {
    for (name, e) in [("default", 0.1), ("bare", 0.3), ("given_weighted", 0.1)] {
        let layer = Vectors { source: bias(3).unwrap(), target: bias(3).unwrap() };
        check(&format!("fa/{name}"), layer, |layer, inputs| {
            let p = match name {
                "default" => gcn_normalization(inputs.graph(), 1.0),
                "bare" => symmetric_normalization(inputs.graph(), false),
                _ => inputs.graph().clone(),
            };
            fa(&p, inputs.x(), inputs.tensor("first"), [layer.source.val(), layer.target.val()], e)
        });
    }
}

#[test]
fn signs() {
    for (name, width) in [("first", 3), ("next", 4)] {
        let [positive, negative] = [0; 2].map(|_| some(width, 2, false));
        let own = if name == "first" { 3 } else { 2 };
        let [positive_root, negative_root] = [0; 2].map(|_| some(own, 2, true));
        let maps = Maps { positive, negative, positive_root, negative_root, ..none() };
        check(&format!("signed/{name}"), maps, |maps, inputs| {
            let weights = [&maps.positive, &maps.negative].map(get);
            let roots = [&maps.positive_root, &maps.negative_root].map(get);
            let graphs = [&inputs.graphs[0], &inputs.graphs[1]];
            if name == "first" {
                return signed_first(graphs, inputs.x(), weights, roots);
            }
            let halves = [0, 2].map(|start| inputs.x().narrow(1, start, 2));
            signed_next(graphs, halves, weights, roots)
        });
    }
}

#[derive(Module, Debug)]
struct Heads {
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
}

#[derive(Module, Debug)]
struct Gps {
    conv: Option<GinConv<Mlp>>,
    attention: Heads,
    network: Mlp,
}

#[test]
fn graphs_of_a_batch_attend_to_themselves() {
    let network = |sizes: &[usize]| MlpConfig::new(sizes.to_vec()).with_batch_norm(false).init(&device());
    for (name, width) in [("plain", 4), ("attention", 2)] {
        let conv = (name == "plain").then(|| GinConvConfig::new().init(network(&[width, width]), &device()));
        let [query, key, value, output] = [0; 4].map(|_| map(width, width, true));
        let attention = Heads { query, key, value, output };
        let layer = Gps { conv, attention, network: network(&[width, 2 * width, width]) };
        check(&format!("gps/{name}"), layer, |layer, inputs| {
            let graphs = [0, 0, 0, 0, 1, 1].map(|graph| vec![(graph, 1.0)]);
            let member = CsrTensor::<2>::from_rows(&graphs, 2, &device()).unwrap().cast(FloatDType::F64);
            let same = member.matmul(&member.transpose());
            let maps = [&layer.attention.query, &layer.attention.key, &layer.attention.value, &layer.attention.output];
            match &layer.conv {
                Some(conv) => gps(conv.forward(inputs.graph(), inputs.x()), inputs.x(), &same, maps, &layer.network),
                // Without a layer along edges there is no sum with it either.
                None => gps(inputs.x().zeros_like() - inputs.x(), inputs.x(), &same, maps, &layer.network),
            }
        });
    }
}
