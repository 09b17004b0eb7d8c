//! Convolutions without attention.

use super::case::{check, device};
use burn::tensor::Tensor;
use burn::tensor::activation::relu;
use sparse_tensor::CsrTensor;
use sparse_tensor::nn::{
    Aggregation, AppnpConfig, ChebConvConfig, GcnConvConfig, GinConvConfig, Laplacian, MlpConfig, RgcnConvConfig,
    SageConvConfig, gcn_normalization,
};

/// The same features as a sparse matrix, detached.
fn sparse(x: &Tensor<2>) -> CsrTensor<2> {
    CsrTensor::from_dense(x.clone().detach())
}

fn same(a: Tensor<2>, b: Tensor<2>) {
    let error = (a - b).abs().max().into_scalar::<f64>();
    assert!(error < 1e-12, "{error}");
}

#[test]
fn gcn() {
    let config = || GcnConvConfig::new(5, 3).with_normalize(true);
    let bare = config().with_self_loops(false).with_bias(false);
    for (id, config) in [
        ("gcn/plain", config()),
        ("gcn/loops", config().with_cached(true)),
        ("gcn/improved", config().with_improved(true)),
        ("gcn/bare", bare),
    ] {
        check(id, config.init(&device()), |layer, inputs| {
            let out = layer.forward(inputs.graph(), inputs.x());
            same(layer.forward_sparse(inputs.graph(), &sparse(&inputs.x())), out.clone());
            out
        });
    }
    // A caller that normalises gets the same.
    check("gcn/improved", GcnConvConfig::new(5, 3).init(&device()), |layer, inputs| {
        layer.forward(&gcn_normalization(inputs.graph(), 2.0), inputs.x())
    });
}

#[test]
fn sage() {
    let config = |d_output| SageConvConfig::new(5, d_output);
    for (id, config) in [
        ("sage/mean", config(3)),
        ("sage/wide", config(8)),
        ("sage/add", config(3).with_aggregation(Aggregation::Add)),
        ("sage/max", config(3).with_aggregation(Aggregation::Max)),
        ("sage/normalize", config(3).with_normalize(true).with_bias(false).with_root_weight(false)),
        ("sage/project", config(3).with_project(true).with_aggregation(Aggregation::Max)),
    ] {
        check(id, config.init(&device()), |layer, inputs| {
            let out = layer.forward(inputs.graph(), inputs.x());
            let mut active = config.clone().with_relu(true).init(&device());
            active.neighbours = layer.neighbours.clone();
            (active.root, active.projection) = (layer.root.clone(), layer.projection.clone());
            same(active.forward(inputs.graph(), inputs.x()), relu(out.clone()));
            if id != "sage/max" {
                same(layer.forward_sparse(inputs.graph(), &sparse(&inputs.x())), out.clone());
            }
            out
        });
    }
    check("sage/bipartite", config(3).init(&device()), |layer, inputs| {
        layer.forward_bipartite(inputs.graph(), inputs.x(), inputs.tensor("target"))
    });
}

#[test]
fn gin() {
    for (id, config, norm) in [
        ("gin/fixed", GinConvConfig::new().with_eps(0.25), false),
        ("gin/trained", GinConvConfig::new().with_train_eps(true), true),
    ] {
        let mlp = MlpConfig::new(vec![5, 6, 3]).with_batch_norm(norm).init(&device());
        check(id, config.init(mlp, &device()), |layer, inputs| layer.forward(inputs.graph(), inputs.x()));
    }
}

#[test]
fn appnp() {
    check("appnp", AppnpConfig::new(4, 0.15).init(), |layer, inputs| {
        layer.forward(&gcn_normalization(inputs.graph(), 1.0), inputs.x())
    });
}

#[test]
fn cheb() {
    let config = |k| ChebConvConfig::new(5, 3, k);
    for (id, config) in [
        ("cheb/symmetric", config(3)),
        ("cheb/random_walk", config(3).with_laplacian(Laplacian::RandomWalk)),
        ("cheb/plain", config(4).with_laplacian(Laplacian::Plain)),
        ("cheb/one", config(1).with_bias(false)),
        ("cheb/lambda", config(2).with_lambda_max(Some(1.5))),
    ] {
        check(id, config.init(&device()), |layer, inputs| {
            let out = layer.forward(inputs.graph(), inputs.x());
            same(layer.forward_sparse(inputs.graph(), &sparse(&inputs.x())), out.clone());
            out
        });
    }
}

#[test]
fn rgcn() {
    let config = |d_output| RgcnConvConfig::new(5, d_output, 3);
    let max = config(3).with_aggregation(Aggregation::Max).with_root_weight(false).with_bias(false);
    for (id, config) in [
        ("rgcn/full", config(3)),
        ("rgcn/wide", config(8)),
        ("rgcn/bases", config(3).with_bases(Some(2)).with_aggregation(Aggregation::Add)),
        ("rgcn/max", max),
    ] {
        check(id, config.init(&device()), |layer, inputs| {
            let out = layer.forward(&inputs.graphs, inputs.x());
            if id != "rgcn/max" {
                same(layer.forward_sparse(&inputs.graphs, &sparse(&inputs.x())), out.clone());
            }
            out
        });
    }
}
