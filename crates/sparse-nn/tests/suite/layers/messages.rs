//! Layers that take `Edges`.

use super::case::{Inputs, check, device, kind};
use burn::tensor::{DType, Device, Tensor};
use sparse_tensor::data::degree_histogram;
use sparse_tensor::nn::Aggregation::{Add, Max, Mean, Min, PowerMean, Several, Softmax, Std, Var};
use sparse_tensor::nn::Coefficient::{Fixed, Trained};
use sparse_tensor::nn::DegreeScaler::{Amplification, Attenuation, Identity, InverseLinear, Linear};
use sparse_tensor::nn::{
    Aggregation, AgnnConvConfig, ArmaConvConfig, DegreeScaler, DegreeScalersConfig, EdgeConvConfig, Edges,
    EgAggregation, EgConvConfig, FilmConvConfig, GatedGraphConvConfig, Gcn2ConvConfig, GenConvConfig, GineConvConfig,
    HypergraphAttention, HypergraphConvConfig, Mlp, MlpConfig, NnConvConfig, NodePairs, PnaConvConfig,
    ResGatedConvConfig, SplineConvConfig, SuperGatConvConfig, gcn_normalization, symmetric_normalization,
};
use sparse_tensor::{CsrTensor, Result};

/// The edges of a case: between nodes of one kind, or of two in a bipartite one, and features if it has them.
fn edges<'a>(id: &str, inputs: &'a Inputs) -> Edges<'a> {
    let edges = match id.ends_with("/bipartite") {
        true => Edges::bipartite(inputs.graph(), inputs.x(), inputs.tensor("target")),
        false => Edges::new(inputs.graph(), inputs.x()),
    };
    if inputs.has("e") { edges.with_features(inputs.tensor("e")) } else { edges }
}

fn network(sizes: &[usize]) -> Mlp {
    MlpConfig::new(sizes.to_vec()).with_batch_norm(false).init(&device())
}

#[test]
fn film() {
    let config = || FilmConvConfig::new(3, 2);
    for (id, config) in [
        ("film/mean", config()),
        ("film/linear", config().with_aggregation(Add).with_relu(false)),
        ("film/max", config().with_aggregation(Max)),
        ("film/bipartite", config().with_d_target(Some(4))),
        ("film/relations", config().with_relations(2)),
    ] {
        check(id, config.init(&device()), |layer, inputs| {
            let relations = match id {
                "film/relations" => inputs.graphs.iter().map(|graph| Edges::new(graph, inputs.x())).collect(),
                _ => vec![edges(id, inputs)],
            };
            layer.forward(&relations)
        });
    }
}

#[test]
fn spline() {
    let config = |sizes: &[usize]| SplineConvConfig::new(3, 2, sizes.to_vec());
    for (id, config) in [
        ("spline/mean", config(&[3])),
        ("spline/squares", config(&[3, 4]).with_degree(2).with_aggregation(Add)),
        ("spline/closed", config(&[4, 3]).with_degree(3).with_closed(vec![1])),
        ("spline/bipartite", config(&[2]).with_d_target(Some(4)).with_aggregation(Max).with_bias(false)),
    ] {
        check(id, config.init(&device()), |layer, inputs| layer.forward(&edges(id, inputs)));
    }
    let device = Device::flex();
    for (bad, closed) in [(vec![], vec![]), (vec![2, 1], vec![]), (vec![2, 0], vec![1]), (vec![2], vec![1])] {
        assert_eq!(kind(config(&bad).with_closed(closed).try_init(&device)), "invalid", "{bad:?}");
    }
    assert_eq!(kind(config(&[9]).with_degree(4).try_init(&device)), "invalid");
    assert_eq!(kind(config(&[usize::MAX, 2]).try_init(&device)), "overflow");
    let layer = config(&[2, 3]).init(&device);
    let none = CsrTensor::<2>::zeros([4, 4], &device);
    let given = |a: &CsrTensor<2>, e: Tensor<2>| {
        let edges = Edges::new(a, Tensor::ones([4, 3], &device)).with_features(e);
        layer.try_forward(&edges).map(|out| out.dims())
    };
    assert_eq!(given(&none, Tensor::zeros([0, 2], &device)).unwrap(), [4, 2]);
    let a = CsrTensor::<2>::from_dense(Tensor::eye(4, &device));
    assert_eq!(kind(layer.try_forward(&Edges::new(&a, Tensor::ones([4, 3], &device)))), "invalid");
    assert_eq!(kind(given(&a, Tensor::zeros([4, 3], &device))), "shape_mismatch");
    for outside in [-0.1, 1.5, f32::NAN] {
        let error = given(&a, Tensor::full([4, 2], outside, &device)).unwrap_err();
        assert!(error.to_string().contains(&format!("{}", f64::from(outside))), "{error}");
    }
}

#[test]
fn nn_conv() {
    let config = || NnConvConfig::new(3, 2);
    for (id, sizes, config) in [
        ("nn_conv/add", vec![2, 3, 6], config()),
        ("nn_conv/mean", vec![2, 6], config().with_aggregation(Mean)),
        ("nn_conv/max", vec![2, 6], config().with_aggregation(Max)),
        ("nn_conv/bare", vec![2, 6], config().with_root_weight(false).with_bias(false)),
        ("nn_conv/bipartite", vec![2, 6], config().with_d_target(Some(4))),
    ] {
        check(id, config.init(network(&sizes), &device()), |layer, inputs| layer.forward(&edges(id, inputs)));
    }
}

#[test]
fn gine() {
    let config = || GineConvConfig::new(3);
    for (id, sizes, config) in [
        ("gine/fixed", vec![3, 4, 2], config().with_d_edge(Some(2)).with_eps(0.25)),
        ("gine/trained", vec![3, 4, 2], config().with_d_edge(Some(2)).with_train_eps(true)),
        ("gine/same", vec![3, 2], config()),
        ("gine/bipartite", vec![3, 2], config().with_d_edge(Some(2))),
    ] {
        check(id, config.init(network(&sizes), &device()), |layer, inputs| layer.forward(&edges(id, inputs)));
    }
}

#[test]
fn edge_conv() {
    for (id, sizes, aggregation) in [
        ("edge_conv/max", vec![6, 4, 2], Max),
        ("edge_conv/mean", vec![6, 4, 2], Mean),
        ("edge_conv/add", vec![6, 4, 2], Add),
        ("edge_conv/bipartite", vec![6, 2], Max),
    ] {
        let config = EdgeConvConfig::new(2).with_aggregation(aggregation);
        check(id, config.init(network(&sizes), &device()), |layer, inputs| layer.forward(&edges(id, inputs)));
    }
}

#[test]
fn res_gated() {
    let config = || ResGatedConvConfig::new(3, 2);
    for (id, config) in [
        ("res_gated/plain", config()),
        ("res_gated/bare", config().with_root_weight(false).with_bias(false)),
        ("res_gated/edges", config().with_d_edge(Some(2))),
        ("res_gated/bipartite", config().with_d_target(Some(4))),
    ] {
        check(id, config.init(&device()), |layer, inputs| layer.forward(&edges(id, inputs)));
    }
}

#[test]
fn degree_scalers() {
    let all = || vec![Identity, Amplification, Attenuation, Linear, InverseLinear];
    let both = || Several(vec![Mean, Max]);
    let case = |name: &str, aggregation: Aggregation, scalers: Vec<DegreeScaler>, trained: bool| {
        let config = DegreeScalersConfig::new(aggregation, scalers, vec![2, 1, 1, 1, 1]).with_trained(trained);
        check(&format!("aggregation/scaler_{name}"), config.init(2, &device()), |scalers, inputs| {
            let edges = Edges::new(inputs.graph(), Tensor::zeros([6, 1], (&device(), DType::F64)));
            edges.aggregate(inputs.tensor("messages"), scalers)
        });
    };
    let names = ["identity", "amplification", "attenuation", "linear", "inverse_linear"];
    for (name, scaler) in names.into_iter().zip(all()) {
        case(name, both(), vec![scaler], false);
    }
    case("all", both(), all(), false);
    case("trained", Mean, all()[1..].to_vec(), true);
}

#[test]
fn pna() {
    let config = || PnaConvConfig::new(4, 2, vec![2, 1, 0, 2, 0, 1]);
    let towers = config().with_aggregation(Several(vec![Add, Var])).with_scalers(vec![Linear, InverseLinear]);
    for (id, config) in [
        ("pna/plain", config()),
        ("pna/towers", towers.with_towers(2).with_pre_layers(2).with_post_layers(2)),
        ("pna/divided", config().with_aggregation(Mean).with_towers(2).with_divide_input(true)),
        ("pna/edges", config().with_aggregation(Several(vec![Mean, Max])).with_d_edge(Some(2))),
    ] {
        check(id, config.init(&device()), |layer, inputs| layer.forward(&edges(id, inputs)));
    }
    // The defaults are those of the case.
    assert_eq!(config().aggregation, Several(vec![Mean, Max, Min, Std]));
}

#[test]
fn gen_conv() {
    let config = |d_input| GenConvConfig::new(d_input, 2).with_batch_norm(false);
    for (id, config) in [
        ("gen/softmax", config(2)),
        ("gen/trained", config(3).with_aggregation(Softmax(Trained(1.0))).with_bias(true)),
        ("gen/power", config(3).with_aggregation(PowerMean(Trained(1.0)))),
        ("gen/norm", config(2).with_batch_norm(true)),
        ("gen/one", config(3).with_layers(1).with_aggregation(Add)),
        ("gen/message_norm", config(3).with_message_norm(true).with_train_scale(true)),
        ("gen/edges", config(3).with_d_edge(Some(3)).with_expansion(3)),
        ("gen/edges_same", config(2).with_d_edge(Some(2)).with_aggregation(Max)),
        ("gen/bipartite", config(3).with_d_target(Some(4))),
    ] {
        check(id, config.init(&device()), |layer, inputs| layer.forward(&edges(id, inputs)));
    }
}

#[test]
fn eg() {
    use EgAggregation::{Add, Max, Mean, Min, Std, Symmetric, Var};
    let config = || EgConvConfig::new(3, 4).with_heads(2).with_bases(2);
    for (id, config) in [
        ("eg/symmetric", config()),
        ("eg/many", config().with_aggregations(vec![Symmetric, Mean, Max, Std])),
        ("eg/bare", config().with_aggregations(vec![Mean]).with_self_loops(false).with_bias(false)),
    ] {
        check(id, config.init(&device()), |layer, inputs| layer.forward(&edges(id, inputs)));
    }
    // Without `symnorm` PyG gives node 5, which is after the last edge, no loop.
    let config = config().with_aggregations(vec![Add, Var, Min]).with_self_loops(false);
    check("eg/loops", config.init(&device()), |layer, inputs| {
        let loops = inputs.graph().to_dense().detach() + Tensor::<2>::eye(6, &device()).cast(DType::F64);
        let graph = CsrTensor::from_dense(loops.slice_fill([5..6, 5..6], 0.0));
        layer.forward(&Edges::new(&graph, inputs.x()))
    });
}

#[test]
fn arma() {
    let config = || ArmaConvConfig::new(3, 2);
    let stacks = || config().with_stacks(2).with_layers(3);
    for (id, config) in [
        ("arma/one", config()),
        ("arma/stacks", stacks()),
        ("arma/stacks_weighted", stacks()),
        ("arma/shared", stacks().with_shared_weights(true)),
        ("arma/linear", config().with_stacks(2).with_layers(2).with_relu(false).with_bias(false)),
    ] {
        check(id, config.init(&device()), |layer, inputs| {
            let adjacency = symmetric_normalization(inputs.graph(), false);
            layer.forward(&Edges::new(&adjacency, inputs.x()))
        });
    }
}

#[test]
fn agnn() {
    for (id, config) in [
        ("agnn/default", AgnnConvConfig::new()),
        ("agnn/bare", AgnnConvConfig::new().with_self_loops(false)),
        ("agnn/fixed", AgnnConvConfig::new().with_train_beta(false)),
    ] {
        check(id, config.init(&device()), |layer, inputs| layer.forward(&edges(id, inputs)));
    }
}

#[test]
fn supergat() {
    for kind in ["mx", "sd"] {
        let config = || SuperGatConvConfig::new(3, 2).with_scaled_dot(kind == "sd");
        let heads = || config().with_heads(2);
        for (name, config) in [
            ("concat", heads()),
            ("mean", heads().with_concat(false)),
            ("bare", config().with_self_loops(false).with_bias(false)),
            ("loss", heads().with_bias(false)),
        ] {
            let id = format!("supergat/{kind}_{name}");
            check(&id, config.init(&device()), |layer, inputs| {
                let edges = edges(&id, inputs);
                if name != "loss" {
                    return layer.forward(&edges);
                }
                let negatives = NodePairs::new(&[(1, 3), (2, 5), (5, 0), (0, 4)], [6, 6], &Device::flex()).unwrap();
                let (out, loss) = layer.forward_with_loss(&edges, &negatives);
                Tensor::cat(vec![out, loss.reshape([1, 1]).expand([6, 1])], 1)
            });
        }
    }
}

#[test]
fn gcn2() {
    let config = |layer| Gcn2ConvConfig::new(3, 0.2).with_theta(Some(0.5)).with_layer(layer);
    for (id, config) in [
        ("gcn2/plain", Gcn2ConvConfig::new(3, 0.2)),
        ("gcn2/identity", config(2)),
        ("gcn2/identity_weighted", config(2)),
        ("gcn2/two", config(2).with_shared_weights(false)),
        ("gcn2/bare", config(1)),
    ] {
        check(id, config.init(&device()), |layer, inputs| {
            let adjacency = match id {
                "gcn2/bare" => symmetric_normalization(inputs.graph(), false),
                _ => gcn_normalization(inputs.graph(), 1.0),
            };
            layer.forward(&Edges::new(&adjacency, inputs.x()), inputs.tensor("first"))
        });
    }
}

#[test]
fn gated_graph() {
    let config = |layers| GatedGraphConvConfig::new(2, layers);
    for (id, config) in [
        ("gated/add", config(1)),
        ("gated/padded", config(2)),
        ("gated/padded_weighted", config(2)),
        ("gated/mean", config(1).with_aggregation(Mean)),
        ("gated/bare", config(1).with_bias(false)),
    ] {
        check(id, config.init(&device()), |layer, inputs| layer.forward(&edges(id, inputs)));
    }
}

/// An aggregation that no product has gives what one that a product has does.
#[test]
fn gated_messages_are_weighted() {
    let device = Device::flex();
    let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.5, 2.0], [0.0, 3.0]], &device));
    let edges = Edges::new(&a, Tensor::from_floats([[1.0], [-2.0]], &device));
    let mut layer = GatedGraphConvConfig::new(2, 2).with_aggregation(Mean).init(&device);
    let expected = layer.forward(&edges);
    layer.aggregator = Softmax(Fixed(0.0)).init(2, &device);
    let error = (layer.forward(&edges) - expected).abs().max().into_scalar::<f32>();
    assert!(error < 1e-6, "{error}");
}

#[test]
fn hypergraph() {
    let config = || HypergraphConvConfig::new(3, 2);
    let attention = |over| config().with_attention(Some(over)).with_heads(2);
    for (id, config) in [
        ("hypergraph/plain", config()),
        ("hypergraph/weighted", config()),
        ("hypergraph/attention_node", attention(HypergraphAttention::Nodes)),
        ("hypergraph/attention_edge", attention(HypergraphAttention::Hyperedges)),
        ("hypergraph/attention_mean", attention(HypergraphAttention::Nodes).with_concat(false)),
    ] {
        check(id, config.init(&device()), |layer, inputs| {
            let weights = inputs.has("w").then(|| inputs.tensor("w"));
            let hyperedges = inputs.has("e").then(|| inputs.tensor("e"));
            layer.forward(inputs.graph(), inputs.x(), weights, hyperedges)
        });
    }
}

#[test]
fn hypergraphs_are_checked() {
    let device = &Device::flex();
    let incidence = CsrTensor::<2>::from_dense(ones(4, 2));
    let plain = HypergraphConvConfig::new(3, 2).init(device);
    let some = |length| Some(Tensor::<1>::ones([length], device));
    let attention = HypergraphConvConfig::new(3, 2).with_attention(Some(HypergraphAttention::Nodes)).init(device);
    for (expected, layer, x, weights, hyperedges) in [
        ("ok", &plain, ones(4, 3), some(2), None),
        ("length_mismatch", &plain, ones(4, 3), some(3), None),
        ("shape_mismatch", &plain, ones(2, 3), None, None),
        ("shape_mismatch", &plain, ones(4, 2), None, None),
        ("dtype_mismatch", &plain, ones(4, 3).cast(DType::F64), None, None),
        ("invalid", &plain, ones(4, 3), None, Some(ones(2, 3))),
        ("ok", &attention, ones(4, 3), None, Some(ones(2, 3))),
        ("invalid", &attention, ones(4, 3), None, None),
        ("shape_mismatch", &attention, ones(4, 3), None, Some(ones(3, 3))),
        ("shape_mismatch", &attention, ones(4, 3), None, Some(ones(2, 2))),
    ] {
        assert_eq!(kind(layer.try_forward(&incidence, x, weights, hyperedges)), expected);
    }
    for (nodes, hyperedges) in [(0, 2), (4, 0), (4, 2)] {
        let none = CsrTensor::<2>::zeros([nodes, hyperedges], device);
        for (layer, y) in [(&plain, None), (&attention, Some(ones(hyperedges, 3)))] {
            let out = layer.forward(&none, ones(nodes, 3), None, y).into_data();
            assert!(out.iter::<f32>().all(|x| x == 0.0), "{nodes}, {hyperedges}");
        }
    }
    assert_eq!(kind(HypergraphConvConfig::new(3, 2).with_heads(2).try_init(device)), "invalid");
}

/// Each layer of 3 inputs and 2 outputs, and one edge feature if it needs it.
fn layers(f: impl Fn(&str, bool, &dyn Fn(&Edges) -> Result<Tensor<2>>)) {
    let device = Device::flex();
    let network = |sizes: &[usize]| MlpConfig::new(sizes.to_vec()).init(&device);
    let film = FilmConvConfig::new(3, 2).init(&device);
    f("film", false, &|edges| film.try_forward(std::slice::from_ref(edges)));
    let nn_conv = NnConvConfig::new(3, 2).init(network(&[1, 6]), &device);
    f("nn_conv", true, &|edges| nn_conv.try_forward(edges));
    let gine = GineConvConfig::new(3).with_d_edge(Some(1)).init(network(&[3, 2]), &device);
    f("gine", true, &|edges| gine.try_forward(edges));
    let edge_conv = EdgeConvConfig::new(2).init(network(&[6, 2]), &device);
    // A network checks the width of its input itself.
    f("edge_conv", false, &|edges| {
        let widths = [edges.sources(), edges.targets()].map(|x| x.dims()[1]);
        let wide = Edges::bipartite(edges.adjacency(), edges.sources(), Tensor::cat(vec![edges.targets(); 2], 1));
        edge_conv.try_forward(if widths == [3, 3] { edges } else { &wide })
    });
    for d_edge in [None, Some(1)] {
        let res_gated = ResGatedConvConfig::new(3, 2).with_d_edge(d_edge).init(&device);
        f("res_gated", d_edge.is_some(), &|edges| res_gated.try_forward(edges));
        let pna = PnaConvConfig::new(3, 2, vec![0, 1]).with_towers(2).with_d_edge(d_edge).init(&device);
        f("pna", d_edge.is_some(), &|edges| pna.try_forward(edges));
        let gen_conv = GenConvConfig::new(3, 2).with_message_norm(true).with_d_edge(d_edge).init(&device);
        f("gen", d_edge.is_some(), &|edges| gen_conv.try_forward(edges));
    }
    use EgAggregation::{Add, Max, Mean, Min, Std, Symmetric, Var};
    for loops in [true, false] {
        let all = vec![Symmetric, Add, Mean, Max, Min, Var, Std];
        let eg = EgConvConfig::new(3, 2).with_heads(2).with_aggregations(all).with_self_loops(loops).init(&device);
        f("eg", false, &|edges| eg.try_forward(edges));
    }
    let arma = ArmaConvConfig::new(3, 2).with_stacks(2).with_layers(2).init(&device);
    f("arma", false, &|edges| arma.try_forward(edges));
    for scaled in [true, false] {
        let supergat = SuperGatConvConfig::new(3, 2).with_scaled_dot(scaled).init(&device);
        f("supergat", false, &|edges| {
            let none = NodePairs::new(&[], edges.adjacency().dims(), &Device::flex())?;
            let (out, loss) = supergat.try_forward_with_loss(edges, &none)?;
            assert!(loss.into_scalar::<f32>() >= 0.0);
            Ok(out)
        });
    }
    let gcn2 = Gcn2ConvConfig::new(3, 0.1).init(&device);
    f("gcn2", false, &|edges| Ok(gcn2.try_forward(edges, edges.sources())?.narrow(1, 0, 2)));
    let gated = GatedGraphConvConfig::new(3, 2).init(&device);
    f("gated", false, &|edges| Ok(gated.try_forward(edges)?.narrow(1, 0, 2)));
    let agnn = AgnnConvConfig::new().init(&device);
    f("agnn", false, &|edges| Ok(agnn.try_forward(edges)?.narrow(1, 0, 2)));
}

fn ones(rows: usize, cols: usize) -> Tensor<2> {
    Tensor::ones([rows, cols], &Device::flex())
}

#[test]
fn wrong_widths_and_features_are_errors() {
    let a = CsrTensor::<2>::from_dense(ones(4, 4));
    layers(|name, featured, forward| {
        let with = |x: Tensor<2>, d_edge: usize| {
            let edges = Edges::new(&a, x);
            if featured { edges.with_features(ones(16, d_edge)) } else { edges }
        };
        assert_eq!(kind(forward(&with(ones(4, 3), 1))), "ok", "{name}");
        if name == "agnn" {
            let edges = Edges::bipartite(&a, ones(4, 3), ones(4, 2));
            assert_eq!(kind(forward(&edges)), "shape_mismatch", "{name}: columns");
        } else {
            let columns = if name == "gated" { 4 } else { 2 };
            assert_eq!(kind(forward(&with(ones(4, columns), 1))), "shape_mismatch", "{name}: columns");
        }
        if featured {
            assert_eq!(kind(forward(&Edges::new(&a, ones(4, 3)))), "invalid", "{name}: no features of edges");
        } else if ["res_gated", "pna", "gen"].contains(&name) {
            let edges = Edges::new(&a, ones(4, 3)).with_features(ones(16, 1));
            assert_eq!(kind(forward(&edges)), "invalid", "{name}: features of edges");
        }
        if featured && name != "nn_conv" {
            assert_eq!(kind(forward(&with(ones(4, 3), 2))), "shape_mismatch", "{name}: features of edges");
        }
        let double = CsrTensor::<2>::from_dense(ones(4, 4).cast(DType::F64));
        let edges = Edges::new(&double, ones(4, 3).cast(DType::F64));
        let edges = if featured { edges.with_features(ones(16, 1).cast(DType::F64)) } else { edges };
        // Networks of Burn say so themselves.
        if !["nn_conv", "edge_conv"].contains(&name) {
            assert_eq!(kind(forward(&edges)), "dtype_mismatch", "{name}: dtype");
        }
    });
    let wide = CsrTensor::<2>::from_dense(ones(3, 4));
    let edges = Edges::bipartite(&wide, ones(4, 3), ones(3, 3));
    layers(|name, _, forward| {
        if ["arma", "supergat", "gcn2", "gated", "agnn"].contains(&name) {
            assert_eq!(kind(forward(&edges)), "shape_mismatch", "{name}: not square");
        }
    });
    assert_eq!(kind(EgConvConfig::new(3, 2).with_heads(1).init(&Device::flex()).try_forward(&edges)), "shape_mismatch");
}

#[test]
fn graphs_without_nodes_or_edges_pass() {
    layers(|name, featured, forward| {
        for nodes in [0, 4] {
            let none = CsrTensor::<2>::zeros([nodes, nodes], &Device::flex());
            let edges = Edges::new(&none, ones(nodes, 3));
            let edges = if featured { edges.with_features(ones(0, 1)) } else { edges };
            let out = forward(&edges).unwrap();
            assert_eq!(out.dims(), [nodes, 2], "{name}");
            assert!(out.into_data().iter::<f32>().all(|x| x.is_finite()), "{name}");
        }
    });
}

#[test]
fn configurations_are_checked() {
    let device = &Device::flex();
    let several = || Several(vec![Mean, Max]);
    let mlp = || MlpConfig::new(vec![1, 5]).init(device);
    assert_eq!(kind(FilmConvConfig::new(3, 2).with_relations(0).try_init(device)), "invalid");
    assert_eq!(kind(FilmConvConfig::new(3, 2).with_aggregation(several()).try_init(device)), "invalid");
    assert_eq!(kind(NnConvConfig::new(3, 2).with_aggregation(several()).try_init(mlp(), device)), "invalid");
    assert_eq!(kind(ResGatedConvConfig::new(3, 2).with_aggregation(several()).try_init(device)), "invalid");
    assert_eq!(kind(PnaConvConfig::new(3, 2, vec![0, 1]).with_towers(0).try_init(device)), "invalid");
    assert_eq!(kind(PnaConvConfig::new(3, 2, vec![0, 1]).with_post_layers(0).try_init(device)), "invalid");
    let divided = PnaConvConfig::new(3, 2, vec![0, 1]).with_towers(2).with_divide_input(true);
    assert_eq!(kind(divided.try_init(device)), "invalid");
    for histogram in [vec![], vec![0, 0], vec![7]] {
        assert_eq!(kind(DegreeScalersConfig::new(Mean, vec![Linear], histogram).try_init(2, device)), "invalid");
    }
    assert_eq!(kind(DegreeScalersConfig::new(Mean, vec![], vec![0, 1]).try_init(2, device)), "invalid");
    assert_eq!(kind(GenConvConfig::new(3, 2).with_layers(0).try_init(device)), "invalid");
    assert_eq!(kind(EgConvConfig::new(3, 2).with_heads(4).try_init(device)), "invalid");
    assert_eq!(kind(EgConvConfig::new(3, 8).with_aggregations(vec![]).try_init(device)), "invalid");
    assert_eq!(kind(SuperGatConvConfig::new(3, 2).with_heads(0).try_init(device)), "invalid");
    assert_eq!(kind(Gcn2ConvConfig::new(3, 1.1).try_init(device)), "invalid");
    assert_eq!(kind(Gcn2ConvConfig::new(3, 0.1).with_layer(0).try_init(device)), "invalid");
    assert_eq!(kind(Gcn2ConvConfig::new(3, 0.1).with_theta(Some(-0.5)).try_init(device)), "invalid");
    assert_eq!(kind(GatedGraphConvConfig::new(0, 1).try_init(device)), "invalid");
    assert_eq!(kind(GatedGraphConvConfig::new(2, 1).with_aggregation(several()).try_init(device)), "invalid");
    assert_eq!(kind(ArmaConvConfig::new(3, 2).with_layers(0).try_init(device)), "invalid");
    assert_eq!(kind(ArmaConvConfig::new(3, 2).with_dropout(1.0).try_init(device)), "invalid");

    let (a, b) = (CsrTensor::<2>::from_dense(ones(4, 4)), CsrTensor::<2>::from_dense(ones(3, 4)));
    let film = FilmConvConfig::new(3, 2).with_relations(2).init(device);
    let one = || Edges::new(&a, ones(4, 3));
    assert_eq!(kind(film.try_forward(&[one()])), "length_mismatch");
    let other = Edges::bipartite(&b, ones(4, 3), ones(3, 3));
    assert_eq!(kind(film.try_forward(&[one(), other])), "shape_mismatch");
    let nn_conv = NnConvConfig::new(3, 2).init(mlp(), device);
    assert_eq!(kind(nn_conv.try_forward(&one().with_features(ones(16, 1)))), "shape_mismatch");
}

#[test]
fn degrees_are_counted() {
    let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 1.0], [0.0, 0.0], [0.0, 2.0]], &Device::flex()));
    assert_eq!(degree_histogram(&a), [1, 1, 1]);
    assert_eq!(degree_histogram(&CsrTensor::<2>::zeros([0, 2], &Device::flex())), [0; 0]);
}
