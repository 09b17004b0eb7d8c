//! Layers with attention, against PyTorch Geometric.

use super::case::{Inputs, check, device};
use burn::tensor::Tensor;
use sparse_tensor::CsrTensor;
use sparse_tensor::nn::{GatConvConfig, Gatv2ConvConfig, TransformerConvConfig};

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
