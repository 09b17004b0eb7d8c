//! Nodes and edges of several types: layers against PyTorch Geometric, and what they refuse.

use super::case::{Inputs, check, device, kind};
use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor};
use sparse_tensor::nn::{
    AnyLayer, EdgeConvConfig, EdgeLayer, EdgeType, Edges, EgConvConfig, FilmConvConfig, GatConvConfig, Gatv2ConvConfig,
    GcnConvConfig, GenConvConfig, GinConvConfig, HanConvConfig, HeteroConv, HgtConvConfig, MlpConfig, NodeTensors,
    ResGatedConvConfig, RgatConvConfig, RgcnConvConfig, SageConv, SageConvConfig, TransformerConvConfig, TypeJoin,
    bipartite_normalization,
};
use sparse_tensor::ops::Reduce;
use sparse_tensor::{CsrTensor, Result};
use std::collections::BTreeMap;

/// The types of the cases, in the order of their graphs.
fn types() -> [EdgeType; 3] {
    [("author", "writes", "paper"), ("paper", "cites", "paper"), ("paper", "rev_writes", "author")].map(EdgeType::from)
}

fn widths() -> BTreeMap<String, usize> {
    [("author".to_string(), 3), ("paper".to_string(), 4)].into()
}

fn features(inputs: &Inputs) -> NodeTensors {
    ["author", "paper"].map(|name| (name.to_string(), inputs.tensor(name))).into()
}

fn adjacencies(graphs: &[CsrTensor<2>]) -> Vec<(EdgeType, &CsrTensor<2>)> {
    types().into_iter().zip(graphs).collect()
}

/// The results below each other, by the names of the types.
fn below(out: NodeTensors) -> Tensor<2> {
    Tensor::cat(out.into_values().collect(), 0)
}

#[test]
fn results_of_edge_types_are_joined_as_in_pyg() {
    let joins = [
        ("sum", TypeJoin::Sum),
        ("mean", TypeJoin::Mean),
        ("max", TypeJoin::Max),
        ("min", TypeJoin::Min),
        ("cat", TypeJoin::Concat),
    ];
    for (name, join) in joins {
        let back = if join == TypeJoin::Concat { 4 } else { 2 };
        let layers: [AnyLayer; 3] = [
            SageConvConfig::new(3, 2).with_d_target(Some(4)).init(&device()).into(),
            GatConvConfig::new(4, 2).init(&device()).into(),
            SageConvConfig::new(4, back).with_d_target(Some(3)).init(&device()).into(),
        ];
        let layer = HeteroConv::new(types().into_iter().zip(layers), join);
        check(&format!("hetero/{name}"), layer, |layer, inputs| {
            below(layer.forward(&adjacencies(&inputs.graphs), &features(inputs)))
        });
    }
}

#[test]
fn attention_to_types_is_that_of_pyg() {
    for heads in [1, 2] {
        let config = HanConvConfig::new(widths(), 4, types().into()).with_heads(heads);
        check(&format!("han/{heads}"), config.init(&device()), |layer, inputs| {
            below(layer.forward(&adjacencies(&inputs.graphs), &features(inputs)))
        });
        let config = HgtConvConfig::new(widths(), 4, types().into()).with_heads(heads);
        check(&format!("hgt/{heads}"), config.init(&device()), |layer, inputs| {
            below(layer.forward(&adjacencies(&inputs.graphs), &features(inputs)))
        });
    }
}

#[test]
fn attention_of_relations_is_that_of_pyg() {
    let new = || RgatConvConfig::new(3, 2, 3);
    for (name, config) in [
        ("plain", new()),
        ("heads", new().with_heads(2)),
        ("mean", new().with_heads(2).with_concat(false).with_bias(false)),
        ("within", new().with_heads(2).with_within_relation(true)),
        ("multiplied", new().with_heads(2).with_multiplied(true)),
        ("bases", new().with_bases(Some(2))),
    ] {
        check(&format!("rgat/{name}"), config.init(&device()), |layer, inputs| {
            layer.forward(&inputs.graphs, inputs.x())
        });
    }
}

/// Two papers, three authors.
struct Small {
    by: CsrTensor<2>,
    cites: CsrTensor<2>,
    written: CsrTensor<2>,
    x: NodeTensors,
}

impl Small {
    fn new() -> Self {
        let by = dense(&[[1.0, 0.0, 2.0], [0.0, 0.0, 0.5]]);
        let papers = Tensor::from_floats([[1.0, 2.0, 0.5, -1.0], [-1.0, 0.5, 2.0, 0.25]], &flex());
        let authors = Tensor::from_floats([[0.0, 1.0, 2.0], [3.0, -2.0, 1.0], [1.5, 0.0, 1.0]], &flex());
        let x = [("author".to_string(), authors), ("paper".to_string(), papers)].into();
        Self { written: by.transpose(), by, cites: dense(&[[0.0, 1.0], [0.0, 0.0]]), x }
    }

    fn adjacencies(&self) -> Vec<(EdgeType, &CsrTensor<2>)> {
        types().into_iter().zip([&self.by, &self.cites, &self.written]).collect()
    }
}

/// Every layer of edges gives what its own call gives.
#[test]
fn layers_of_edges_are_the_layers_themselves() {
    let small = Small::new();
    let (source, target) = (small.x["author"].clone(), Tensor::<2>::ones([2, 3], &flex()));
    let edges = Edges::bipartite(&small.by, source.clone(), target.clone());
    let same = |own: Tensor<2>, called: Tensor<2>| assert_eq!(list(own), list(called));
    let of = |layer: &dyn Fn(&Edges<'_>) -> Result<Tensor<2>>| layer(&edges).unwrap();
    let a = &small.by;
    let gcn = GcnConvConfig::new(3, 2).init(&flex());
    same(of(&|edges| gcn.on_edges(edges)), gcn.forward(a, source.clone()));
    let gat = GatConvConfig::new(3, 2).with_d_target(Some(3)).with_self_loops(false).init(&flex());
    same(of(&|edges| gat.on_edges(edges)), gat.forward_bipartite(a, source.clone(), target.clone(), None));
    let gatv2 = Gatv2ConvConfig::new(3, 2).with_self_loops(false).init(&flex());
    same(of(&|edges| gatv2.on_edges(edges)), gatv2.forward_bipartite(a, source.clone(), target.clone(), None));
    let transformer = TransformerConvConfig::new(3, 2).with_d_edge(Some(1)).init(&flex());
    let weighted = edges.clone().with_features(Tensor::ones([3, 1], &flex()));
    same(
        transformer.on_edges(&weighted).unwrap(),
        transformer.forward_bipartite(a, source.clone(), target.clone(), weighted.features()),
    );
    let network = || MlpConfig::new(vec![3, 2]).init(&flex());
    let gin = GinConvConfig::new().init(network(), &flex());
    same(of(&|edges| gin.on_edges(edges)), gin.forward_bipartite(a, source.clone(), target.clone()));
    let film = FilmConvConfig::new(3, 2).init(&flex());
    same(of(&|edges| film.on_edges(edges)), film.forward(std::slice::from_ref(&edges)));
    let gated = ResGatedConvConfig::new(3, 2).init(&flex());
    same(of(&|edges| gated.on_edges(edges)), gated.forward(&edges));
    let generalized = GenConvConfig::new(3, 2).init(&flex());
    same(of(&|edges| generalized.on_edges(edges)), generalized.forward(&edges));
    let pairs = EdgeConvConfig::new(2).init(MlpConfig::new(vec![6, 2]).init(&flex()), &flex());
    same(of(&|edges| pairs.on_edges(edges)), pairs.forward(&edges));
    let eg = EgConvConfig::new(3, 8).with_self_loops(false).init(&flex());
    assert!(!eg.adds_loops() && EgConvConfig::new(3, 8).init(&flex()).adds_loops());
    assert!(GcnConvConfig::new(3, 2).with_normalize(true).init(&flex()).adds_loops());
    assert_eq!(kind(gat.try_forward_bipartite(a, target.clone(), target, None)), "shape_mismatch");
}

#[test]
fn types_without_edges_in_a_call_are_left_out() {
    let small = Small::new();
    let layers = || {
        let [writes, cites, written] = types();
        let gcn = |from| GcnConvConfig::new(from, 2).init(&flex());
        HeteroConv::new([(writes, gcn(3)), (cites, gcn(4)), (written, gcn(4))], TypeJoin::Mean)
    };
    let layer = layers();
    assert_eq!((layer.edge_types().len(), layer.num_params()), (3, (3 + 4 + 4) * 2 + 3 * 2));
    let by = bipartite_normalization(&small.by);
    let [writes, cites, _] = types();
    // One type of edges, so the mean is what its layer gives. Authors get nothing.
    let out = layer.forward(&[(writes.clone(), &by)], &small.x);
    assert_eq!(out.keys().collect::<Vec<_>>(), ["paper"]);
    assert_eq!(list(out["paper"].clone()), list(layer.layers[0].forward(&by, small.x["author"].clone())));
    // An edge type without a layer does not count, whatever it is.
    let other = EdgeType::new("x", "y", "z");
    let same = layer.forward(&[(other, &small.cites), (writes.clone(), &by)], &small.x);
    assert_eq!(list(same["paper"].clone()), list(out["paper"].clone()));
    assert!(layer.forward(&[], &small.x).is_empty());
    // Edges with features.
    let edges = Edges::of_types(&[(cites, &small.cites), (writes, &by)], &small.x);
    let out = layer.forward_edges(&edges);
    let each = [layer.layers[0].on_edges(&edges[1].1), layer.layers[1].on_edges(&edges[0].1)];
    let [first, second] = each.map(|out| list(out.unwrap()));
    let mean: Vec<f32> = first.iter().zip(second).map(|(a, b)| (a + b) * 0.5).collect();
    assert_eq!(list(out["paper"].clone()), mean);
}

/// A mix of layers with one of their own, as users write it.
#[derive(Module, Debug)]
enum Own {
    Sage(SageConv),
    Difference(Linear),
}

impl EdgeLayer for Own {
    fn on_edges(&self, edges: &Edges<'_>) -> Result<Tensor<2>> {
        match self {
            Self::Sage(layer) => layer.on_edges(edges),
            Self::Difference(linear) => {
                edges.try_aggregate(linear.forward(edges.source() - edges.target()), Reduce::Amax)
            }
        }
    }
}

#[test]
fn layers_of_ones_own_are_mixed_with_others() {
    let small = Small::new();
    let [writes, cites, _] = types();
    let device = flex().autodiff();
    let layers = [
        (writes.clone(), Own::Sage(SageConvConfig::new(3, 2).with_d_target(Some(4)).init(&device))),
        (cites.clone(), Own::Difference(LinearConfig::new(4, 2).init(&device))),
    ];
    let layer = HeteroConv::new(layers, TypeJoin::Concat);
    let on_tape = |x: Tensor<2>| Tensor::<2>::from_data(x.into_data(), &device);
    let [by, cited] = [&small.by, &small.cites].map(|a| CsrTensor::from_dense(on_tape(a.to_dense())));
    let x: NodeTensors = small.x.iter().map(|(name, x)| (name.clone(), on_tape(x.clone()))).collect();
    let out = layer.forward(&[(writes, &by), (cites, &cited)], &x)["paper"].clone();
    let Own::Difference(linear) = &layer.layers[1] else { panic!() };
    // Paper 0 has an edge from paper 1, which has none.
    let papers = x["paper"].clone();
    let row = linear.forward(papers.clone().narrow(0, 1, 1) - papers.narrow(0, 0, 1));
    assert_eq!(list(out.clone().narrow(1, 2, 2)), [list(row), vec![0.0; 2]].concat());
    // Both are trained and saved as parts of one module.
    let grads = GradientsParams::from_grads(out.sum().backward(), &layer);
    assert_eq!((grads.len(), layer.num_params()), (3 + 2, (3 * 2 + 2 + 4 * 2) + (4 * 2 + 2)));
    let plain = layer.valid();
    assert_eq!((plain.edge_types(), plain.num_params()), (layer.edge_types(), layer.num_params()));
}

/// A sampled neighbourhood: the first rows of a type are the targets.
#[test]
fn the_targets_are_the_first_nodes_of_their_type() {
    let small = Small::new();
    // The first paper alone.
    let [by, cites] = [&small.by, &small.cites].map(|a| a.narrow(0, 0, 1));
    let [writes, cited, _] = types();
    let few = [(writes.clone(), &by), (cited.clone(), &cites)];
    let all = [(writes.clone(), &small.by), (cited.clone(), &small.cites)];
    let close = |part: &Tensor<2>, whole: &Tensor<2>| {
        assert_eq!(part.dims()[0], 1);
        for (a, b) in list(part.clone()).iter().zip(list(whole.clone())) {
            assert!((a - b).abs() < 1e-5, "{a} and {b}");
        }
    };
    let sage = |from| SageConvConfig::new(from, 2).with_d_target(Some(4)).init(&flex());
    let layer = HeteroConv::new([(writes, sage(3)), (cited, sage(4))], TypeJoin::Sum);
    close(&layer.forward(&few, &small.x)["paper"], &layer.forward(&all, &small.x)["paper"]);
    let layer = HgtConvConfig::new(widths(), 4, types().into()).init(&flex());
    close(&layer.forward(&few, &small.x)["paper"], &layer.forward(&all, &small.x)["paper"]);
    // Attention to types is a mean over all targets, so that of one target is another: shapes only.
    let layer = HanConvConfig::new(widths(), 4, types().into()).init(&flex());
    assert_eq!(layer.forward(&few, &small.x)["paper"].dims(), [1, 4]);
}

#[test]
fn graphs_may_be_empty() {
    let none = |rows, cols| CsrTensor::<2>::zeros([rows, cols], (&flex(), burn::tensor::DType::F32));
    let x = |authors: usize, papers: usize| -> NodeTensors {
        let [author, paper] = [Tensor::ones([authors, 3], &flex()), Tensor::ones([papers, 4], &flex())];
        [("author".to_string(), author), ("paper".to_string(), paper)].into()
    };
    let han = HanConvConfig::new(widths(), 4, types().into()).with_heads(2).init(&flex());
    let hgt = HgtConvConfig::new(widths(), 4, types().into()).with_heads(2).init(&flex());
    for [authors, papers] in [[3, 2], [0, 2], [3, 0], [0, 0]] {
        let (by, cites) = (none(papers, authors), none(papers, papers));
        let [writes, cited, _] = types();
        let edges = [(writes, &by), (cited, &cites)];
        let out = han.forward(&edges, &x(authors, papers));
        assert_eq!((out.len(), out["paper"].dims(), sum(&out["paper"])), (1, [papers, 4], 0.0));
        // Authors could have edges, but have none: only the maps of their own are left.
        let out = hgt.forward(&edges, &x(authors, papers));
        assert_eq!((out["author"].dims(), out["paper"].dims()), ([authors, 4], [papers, 4]));
        assert!(out.values().all(|out| list(out.clone()).iter().all(|x| x.is_finite())));
    }
    let rgat = RgatConvConfig::new(3, 2, 2).with_heads(2).init(&flex());
    for nodes in [0, 2] {
        let out = rgat.forward(&[none(nodes, nodes), none(nodes, nodes)], Tensor::ones([nodes, 3], &flex()));
        assert_eq!((out.dims(), sum(&out)), ([nodes, 4], 0.0));
    }
}

#[test]
fn errors_name_the_type() {
    let small = Small::new();
    let told = |result: Result<NodeTensors>, parts: &[&str]| {
        let trouble = result.unwrap_err();
        let text = trouble.to_string();
        assert_eq!(trouble.kind(), "invalid", "{text}");
        assert!(parts.iter().all(|part| text.contains(part)), "{text}: {parts:?}");
    };
    let [writes, cites, written] = types();
    let sage = |from, to| SageConvConfig::new(from, 2).with_d_target(Some(to)).init(&flex());
    let layer = HeteroConv::new([(writes.clone(), sage(3, 4)), (cites.clone(), sage(4, 4))], TypeJoin::Sum);
    let all = small.adjacencies();
    assert_eq!(kind(layer.try_forward(&all, &small.x)), "ok");
    let twice = [(writes.clone(), &small.by), (writes.clone(), &small.by)];
    told(layer.try_forward(&twice, &small.x), &["author-writes-paper", "once"]);
    let mut lonely = small.x.clone();
    lonely.remove("author");
    told(layer.try_forward(&all, &lonely), &["author: nodes", "features", "paper"]);
    let turned = [(writes.clone(), &small.written)];
    told(layer.try_forward(&turned, &small.x), &["author-writes-paper", "column", "[3, 2]"]);
    let mut wide = small.x.clone();
    wide.insert("author".into(), Tensor::ones([3, 7], &flex()));
    told(layer.try_forward(&all, &wide), &["author-writes-paper", "SageConv", "[3, 7]"]);
    // Results of other widths can stand side by side only.
    let uneven = |join| {
        let wide = SageConvConfig::new(4, 5).init(&flex());
        HeteroConv::new([(writes.clone(), sage(3, 4)), (cites.clone(), wide)], join).try_forward(&all, &small.x)
    };
    told(uneven(TypeJoin::Max), &["paper-cites-paper", "[2, 2]", "[2, 5]"]);
    assert_eq!(uneven(TypeJoin::Concat).unwrap()["paper"].dims(), [2, 7]);
    // Other numbers of targets.
    let short = small.cites.narrow(0, 0, 1);
    let few = [(writes.clone(), &small.by), (cites.clone(), &short)];
    told(layer.try_forward(&few, &small.x), &["paper-cites-paper", "[2, 2]", "[1, 2]"]);

    let once = HeteroConv::try_new([(writes.clone(), sage(3, 4)), (writes.clone(), sage(3, 4))], TypeJoin::Sum);
    assert_eq!(kind(once), "invalid");
    for layer in [
        AnyLayer::from(GatConvConfig::new(3, 2).init(&flex())),
        Gatv2ConvConfig::new(3, 2).init(&flex()).into(),
        GcnConvConfig::new(3, 2).with_normalize(true).init(&flex()).into(),
    ] {
        let trouble = HeteroConv::try_new([(writes.clone(), layer.clone())], TypeJoin::Sum).unwrap_err().to_string();
        assert!(trouble.contains("author-writes-paper") && trouble.contains("no self loops"), "{trouble}");
        assert_eq!(kind(HeteroConv::try_new([(cites.clone(), layer)], TypeJoin::Sum)), "ok");
    }

    let han = HanConvConfig::new(widths(), 4, vec![writes.clone(), cites.clone()]);
    let hgt = HgtConvConfig::new(widths(), 4, vec![writes.clone(), cites.clone()]);
    let [attend, transform] = [
        Box::new({
            let layer = han.init(&flex());
            move |edges: &[(EdgeType, &CsrTensor<2>)], x: &NodeTensors| layer.try_forward(edges, x)
        }) as Box<dyn Fn(&[(EdgeType, &CsrTensor<2>)], &NodeTensors) -> Result<NodeTensors>>,
        Box::new({
            let layer = hgt.init(&flex());
            move |edges: &[(EdgeType, &CsrTensor<2>)], x: &NodeTensors| layer.try_forward(edges, x)
        }),
    ];
    for forward in [attend, transform] {
        assert_eq!(kind(forward(&all[..2], &small.x)), "ok");
        told(forward(&all, &small.x), &["paper-rev_writes-author", "author-writes-paper"]);
        told(forward(&twice, &small.x), &["author-writes-paper", "once"]);
        told(forward(&all[..2], &lonely), &["author: nodes", "features"]);
        told(forward(&all[..2], &wide), &["author: ", "[3, 7]"]);
        told(forward(&turned, &small.x), &["author-writes-paper", "[3, 2]"]);
        told(forward(&few, &small.x), &["paper", "targets", "2", "1"]);
        let mut more = small.x.clone();
        more.insert("venue".into(), Tensor::ones([1, 3], &flex()));
        told(forward(&all[..2], &more), &["venue", "author"]);
    }
    assert_eq!(kind(han.clone().with_heads(3).try_init(&flex())), "invalid");
    assert_eq!(kind(han.clone().with_heads(0).try_init(&flex())), "invalid");
    assert_eq!(kind(han.with_dropout(1.0).try_init(&flex())), "invalid");
    assert_eq!(kind(hgt.with_heads(3).try_init(&flex())), "invalid");
    let unknown = HgtConvConfig::new(widths(), 4, vec![EdgeType::new("paper", "in", "venue")]).try_init(&flex());
    let text = unknown.unwrap_err().to_string();
    assert!(text.contains("paper-in-venue") && text.contains("type venue"), "{text}");
    assert_eq!(kind(HanConvConfig::new(widths(), 4, vec![written.clone(), written]).try_init(&flex())), "invalid");

    let rgat = RgatConvConfig::new(3, 2, 2);
    for config in [
        rgat.clone().with_heads(0),
        rgat.clone().with_bases(Some(0)),
        rgat.clone().with_dropout(1.5),
        RgatConvConfig::new(3, 2, 0),
    ] {
        assert_eq!(kind(config.try_init(&flex())), "invalid", "{config:?}");
    }
    let (layer, a) = (rgat.init(&flex()), dense(&[[1.0, 0.0], [0.0, 1.0]]));
    let x = |rows, width| Tensor::<2>::ones([rows, width], &flex());
    assert_eq!(kind(layer.try_forward(&[a.clone(), a.clone()], x(2, 3))), "ok");
    assert_eq!(kind(layer.try_forward(std::slice::from_ref(&a), x(2, 3))), "length_mismatch");
    assert_eq!(kind(layer.try_forward(&[a.clone(), a.clone()], x(2, 4))), "shape_mismatch");
    assert_eq!(kind(layer.try_forward(&[a.clone(), small.by.clone()], x(2, 3))), "shape_mismatch");
    assert_eq!(kind(layer.try_forward_bipartite(&[small.by.clone(), small.by.clone()], x(3, 3), x(2, 3))), "ok");
}

/// A layer with bases whose coefficients pick one is the layer with weights of their own.
#[test]
fn attention_of_relations_shares_the_weights_of_the_relational_convolution() {
    let rgat = RgatConvConfig::new(3, 2, 2).init(&flex());
    let mut rgcn = RgcnConvConfig::new(3, 2, 2).with_root_weight(false).with_bias(false).init(&flex());
    rgcn.weight = rgat.weight.clone();
    // One edge to each node: its weight is 1, and a mean of one neighbour is that neighbour.
    let graphs = [dense(&[[0.0, 1.0], [0.0, 0.0]]), dense(&[[0.0, 0.0], [1.0, 0.0]])];
    let x = Tensor::<2>::from_floats([[1.0, -2.0, 0.5], [0.0, 1.0, 2.0]], &flex());
    for (a, b) in list(rgat.forward(&graphs, x.clone())).iter().zip(list(rgcn.forward(&graphs, x))) {
        assert!((a - b).abs() < 1e-6, "{a} and {b}");
    }
}

fn flex() -> Device {
    Device::flex()
}

fn dense<const N: usize>(rows: &[[f64; N]]) -> CsrTensor<2> {
    let flat: Vec<f64> = rows.concat();
    CsrTensor::from_dense(Tensor::<1>::from_floats(&flat[..], &flex()).reshape([rows.len(), N]))
}

fn list(x: Tensor<2>) -> Vec<f32> {
    x.into_data().iter::<f32>().collect()
}

fn sum(x: &Tensor<2>) -> f32 {
    list(x.clone()).iter().sum()
}
