//! Layers with attention, against PyTorch Geometric.

use super::case::{Inputs, check, device, kind};
use burn::module::Param;
use burn::tensor::{Device, Tensor};
use sparse_tensor::CsrTensor;
use sparse_tensor::nn::{DnaConvConfig, GatConvConfig, Gatv2ConvConfig, TransformerConvConfig, gcn_normalization};

fn edges(id: &str, inputs: &Inputs) -> Option<Tensor<2>> {
    (id.ends_with("/edges") || id.ends_with("/bare")).then(|| inputs.tensor("e"))
}

fn sparse(x: &Tensor<2>) -> CsrTensor<2> {
    CsrTensor::from_dense(x.clone().detach())
}

fn same(a: Tensor<2>, b: Tensor<2>) {
    let error = (a - b).abs().max().into_scalar::<f64>();
    assert!(error < 1e-12, "{error}");
}

#[test]
fn gat() {
    let config = || GatConvConfig::new(5, 3).with_heads(2);
    for (id, config) in [
        ("gat/concat", config()),
        ("gat/mean", config().with_concat(false)),
        ("gat/single", config().with_heads(1)),
        ("gat/edges", config().with_d_edge(Some(3))),
        ("gat/bare", config().with_d_edge(Some(3)).with_self_loops(false).with_bias(false)),
        ("gat/residual", config().with_residual(true).with_negative_slope(0.1)),
    ] {
        check(id, config.init(&device()), |layer, inputs| {
            let (graph, x) = (inputs.graph(), inputs.x());
            match edges(id, inputs) {
                Some(edges) => layer.forward_edges(graph, x, edges),
                None => {
                    let out = layer.forward(graph, x.clone());
                    same(layer.forward_sparse(graph, &sparse(&x)), out.clone());
                    same(layer.forward_bipartite(graph, x.clone(), x, None), out.clone());
                    out
                }
            }
        });
    }
}

#[test]
fn gatv2() {
    let config = || Gatv2ConvConfig::new(5, 3).with_heads(2);
    for (id, config) in [
        ("gatv2/concat", config()),
        ("gatv2/mean", config().with_concat(false)),
        ("gatv2/single", config().with_heads(1)),
        ("gatv2/edges", config().with_d_edge(Some(3))),
        ("gatv2/bare", config().with_d_edge(Some(3)).with_self_loops(false).with_bias(false)),
        ("gatv2/residual", config().with_residual(true).with_negative_slope(0.1)),
        ("gatv2/shared", config().with_share_weights(true)),
    ] {
        check(id, config.init(&device()), |layer, inputs| {
            let (graph, x) = (inputs.graph(), inputs.x());
            match edges(id, inputs) {
                Some(edges) => layer.forward_edges(graph, x, edges),
                None => {
                    let out = layer.forward(graph, x.clone());
                    same(layer.forward_sparse(graph, &sparse(&x)), out.clone());
                    out
                }
            }
        });
    }
}

#[test]
fn transformer() {
    let config = || TransformerConvConfig::new(5, 3).with_heads(2);
    for (id, config) in [
        ("transformer/concat", config()),
        ("transformer/mean", config().with_concat(false)),
        ("transformer/beta", config().with_beta(true)),
        ("transformer/edges", config().with_d_edge(Some(3))),
        ("transformer/bare", config().with_heads(1).with_d_edge(Some(3)).with_root_weight(false).with_bias(false)),
    ] {
        check(id, config.init(&device()), |layer, inputs| {
            let (graph, x) = (inputs.graph(), inputs.x());
            match edges(id, inputs) {
                Some(edges) => layer.forward_edges(graph, x, edges),
                None => {
                    let out = layer.forward(graph, x.clone());
                    same(layer.forward_sparse(graph, &sparse(&x)), out.clone());
                    out
                }
            }
        });
    }
}

/// The gradients of many copies of a graph are as many times those of one: sums over thousands of nodes are cut into
/// parts.
#[test]
fn gradients_of_many_nodes_add_up() {
    let device = device();
    let small = 1000;
    let layer = GatConvConfig::new(3, 2).with_heads(3).init(&device);
    let grads = |copies: usize| {
        let nodes = small * copies;
        let ends = |node: usize, step: usize| (node, node / small * small + (node + step) % small);
        let edges: Vec<_> = (0..nodes).flat_map(|node| [ends(node, 1), ends(node, 7)]).collect();
        let graph = CsrTensor::from_edges(&edges, Tensor::<1>::ones([edges.len()], &device), nodes).unwrap();
        let of = |width: usize, scale: f32| {
            let list: Vec<f32> = (0..nodes * width).map(|k| ((k % (small * width)) as f32 * scale).sin()).collect();
            Tensor::<1>::from_floats(&list[..], &device).reshape([nodes, width])
        };
        let grads = (layer.forward(&graph, of(3, 0.7)) * of(6, 0.3)).sum().backward();
        let list = |grad: Tensor<2>| grad.into_data().iter::<f32>().collect::<Vec<_>>();
        [&layer.source, &layer.target, &layer.linear.weight].map(|weight| list(weight.grad(&grads).unwrap()))
    };
    for (one, nine) in grads(1).into_iter().zip(grads(9)) {
        assert!(one.iter().any(|x| x.abs() > 1e-2), "{one:?}");
        for (one, nine) in one.iter().zip(nine) {
            assert!((9.0 * one - nine).abs() <= 1e-3 * (1.0 + nine.abs()), "9 x {one} and {nine}");
        }
    }
}

#[test]
fn an_infinity_in_one_head_stays_there() {
    let device = Device::flex();
    let adjacency = CsrTensor::<2>::from_dense(Tensor::ones([3, 3], &device));
    let x = Tensor::<2>::ones([3, 2], &device);
    let vectors = Param::from_tensor(Tensor::<2>::from_floats([[1.0, 1.0], [f32::INFINITY, 1.0]], &device));
    let mut gat = GatConvConfig::new(2, 2).with_heads(2).init(&device);
    gat.source = vectors.clone();
    let mut gatv2 = Gatv2ConvConfig::new(2, 2).with_heads(2).init(&device);
    gatv2.attention = vectors;
    for out in [gat.forward(&adjacency, x.clone()), gatv2.forward(&adjacency, x)] {
        assert!(out.narrow(1, 0, 2).into_data().iter::<f32>().all(f32::is_finite));
    }
}

#[test]
fn dna() {
    let config = || DnaConvConfig::new(4);
    for (id, config) in [
        ("dna/plain", config()),
        ("dna/heads", config().with_heads(2).with_groups(2)),
        ("dna/groups", config().with_groups(4).with_bias(false)),
        ("dna/bare", config()),
    ] {
        check(id, config.init(&device()), |layer, inputs| {
            let layers = ["first", "second", "third"].map(|name| inputs.tensor(name));
            let a = inputs.graph();
            let a = if id == "dna/bare" { a.clone() } else { gcn_normalization(a, 1.0) };
            layer.forward(&a, &layers)
        });
    }
    let device = Device::flex();
    for bad in [DnaConvConfig::new(0), config().with_heads(3), config().with_groups(0), config().with_dropout(1.0)] {
        assert_eq!(kind(bad.try_init(&device)), "invalid");
    }
    let layer = config().init(&device);
    let (none, x) = (CsrTensor::<2>::zeros([2, 2], &device), Tensor::<2>::ones([2, 4], &device));
    assert_eq!(layer.forward(&none, std::slice::from_ref(&x)).dims(), [2, 4]);
    let empty = layer.forward(&CsrTensor::zeros([0, 0], &device), &[Tensor::zeros([0, 4], &device)]);
    assert_eq!(empty.dims(), [0, 4]);
    assert_eq!(kind(layer.try_forward(&none, &[])), "empty_input");
    assert_eq!(kind(layer.try_forward(&none, &[x.clone(), x.clone().narrow(1, 0, 3)])), "shape_mismatch");
    assert_eq!(kind(layer.try_forward(&CsrTensor::zeros([3, 2], &device), &[x])), "shape_mismatch");
}
