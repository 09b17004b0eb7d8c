//! Bad input, empty graphs, records, and what a layer of one's own gets.

use super::case::plan;
use burn::module::{Module, Param, ParamId};
use burn::nn::LinearConfig;
use burn::tensor::activation::leaky_relu;
use burn::tensor::{DType, Device, Distribution, Int, Tensor};
use sparse_tensor::nn::{
    Aggregation, AppnpConfig, BagMode, Bags, ChebConvConfig, Edges, EmbeddingBagConfig, GatConvConfig, Gatv2ConvConfig,
    GcnConvConfig, GinConvConfig, GraphNormConfig, Jump, JumpingKnowledgeConfig, MessagePassing, MlpConfig,
    RgcnConvConfig, SageConvConfig, TransformerConvConfig, global_mean_pool, graph_softmax, try_global_add_pool,
    try_global_attention_pool,
};
use sparse_tensor::ops::{IndexPlan, Reduce};
use sparse_tensor::{CsrTensor, Result};

fn zeros(rows: usize, cols: usize) -> CsrTensor<2> {
    CsrTensor::zeros([rows, cols], (&Device::flex(), DType::F32))
}

fn ones(rows: usize, cols: usize) -> Tensor<2> {
    Tensor::ones([rows, cols], &Device::flex())
}

fn list<const D: usize>(x: Tensor<D>) -> Vec<f32> {
    x.into_data().iter().collect()
}

/// Each convolution of 3 inputs and 2 outputs, with its name.
fn convolutions(f: impl Fn(&str, &dyn Fn(&CsrTensor<2>, Tensor<2>) -> Result<Tensor<2>>)) {
    let device = Device::flex();
    let gcn = GcnConvConfig::new(3, 2).with_normalize(true).init(&device);
    f("gcn", &|a, x| gcn.try_forward(a, x));
    for aggregation in [Aggregation::Add, Aggregation::Mean, Aggregation::Max] {
        let sage = SageConvConfig::new(3, 2).with_aggregation(aggregation.clone()).with_normalize(true).init(&device);
        f("sage", &|a, x| sage.try_forward(a, x));
        let rgcn = RgcnConvConfig::new(3, 2, 2).with_aggregation(aggregation).init(&device);
        f("rgcn", &|a, x| rgcn.try_forward(&[a.clone(), a.clone()], x));
    }
    let cheb = ChebConvConfig::new(3, 2, 3).init(&device);
    f("cheb", &|a, x| cheb.try_forward(a, x));
    for loops in [true, false] {
        let gat = GatConvConfig::new(3, 1).with_heads(2).with_self_loops(loops).init(&device);
        f("gat", &|a, x| gat.try_forward(a, x));
        let gatv2 = Gatv2ConvConfig::new(3, 1).with_heads(2).with_self_loops(loops).init(&device);
        f("gatv2", &|a, x| gatv2.try_forward(a, x));
    }
    let transformer = TransformerConvConfig::new(3, 1).with_heads(2).init(&device);
    f("transformer", &|a, x| transformer.try_forward(a, x));
    // A network checks the width of its input itself.
    let gin = GinConvConfig::new().init(MlpConfig::new(vec![3, 2]).init(&device), &device);
    f("gin", &|a, x| if x.dims()[1] == 3 { gin.try_forward(a, x) } else { gin.try_forward(&zeros(1, 9), x) });
}

#[test]
fn wrong_shapes_and_types_are_errors() {
    convolutions(|name, forward| {
        let kind = |a: &CsrTensor<2>, x: Tensor<2>| forward(a, x).unwrap_err().kind();
        assert_eq!(kind(&zeros(4, 4), ones(5, 3)), "shape_mismatch", "{name}: rows");
        assert_eq!(kind(&zeros(4, 4), ones(4, 2)), "shape_mismatch", "{name}: columns");
        assert_eq!(kind(&zeros(4, 5), ones(5, 3)), "shape_mismatch", "{name}: not square");
        assert_eq!(kind(&zeros(4, 4), ones(4, 3).cast(DType::F64)), "dtype_mismatch", "{name}: dtype");
    });
    let appnp = AppnpConfig::new(2, 0.1).init();
    assert_eq!(appnp.try_forward(&zeros(4, 4), ones(5, 3)).unwrap_err().kind(), "shape_mismatch");
}

#[test]
fn graphs_without_nodes_or_edges_pass() {
    convolutions(|name, forward| {
        for nodes in [0, 4] {
            let out = forward(&zeros(nodes, nodes), ones(nodes, 3)).unwrap();
            assert_eq!(out.dims(), [nodes, 2], "{name}");
            assert!(list(out).iter().all(|x| x.is_finite()), "{name}");
        }
    });
    let device = Device::flex();
    let none = plan(&[], 2);
    assert_eq!(list(global_mean_pool(ones(0, 3), &none)), [0.0; 6]);
    assert_eq!(graph_softmax(ones(0, 3), &none).dims(), [0, 3]);
    assert_eq!(GraphNormConfig::new(3).init(&device).forward(ones(0, 3), &none).dims(), [0, 3]);
    for mode in [Jump::Cat, Jump::Max, Jump::Lstm] {
        let layer = JumpingKnowledgeConfig::new(mode, 3, 2).init(&device);
        let width = if mode == Jump::Cat { 6 } else { 3 };
        assert_eq!(layer.forward(&[ones(0, 3), ones(0, 3)]).dims(), [0, width]);
    }
}

/// An isolated node gets no NaN in the gradient either.
#[test]
fn gradients_of_isolated_nodes_are_finite() {
    let device = Device::flex().autodiff();
    let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0; 3]], &device));
    let sage = SageConvConfig::new(3, 2).with_normalize(true).with_root_weight(false).with_bias(false).init(&device);
    let gat = GatConvConfig::new(3, 2).with_self_loops(false).init(&device);
    let gcn = GcnConvConfig::new(3, 2).with_normalize(true).with_self_loops(false).init(&device);
    for layer in [0, 1, 2] {
        let x = Tensor::<2>::random([3, 3], Distribution::Default, &device).require_grad();
        let out = match layer {
            0 => sage.forward(&a, x.clone()),
            1 => gat.forward(&a, x.clone()),
            _ => gcn.forward(&a, x.clone()),
        };
        let grads = out.powi_scalar(2).sum().backward();
        assert!(list(x.grad(&grads).unwrap()).iter().all(|x| x.is_finite()), "layer {layer}");
    }
}

#[test]
fn configurations_are_checked() {
    let device = Device::flex();
    let invalid = |trouble: sparse_tensor::SparseError| assert_eq!(trouble.kind(), "invalid", "{trouble}");
    invalid(AppnpConfig::new(2, 1.5).try_init().unwrap_err());
    invalid(AppnpConfig::new(2, 0.5).with_dropout(1.0).try_init().unwrap_err());
    invalid(ChebConvConfig::new(3, 2, 0).try_init(&device).unwrap_err());
    invalid(ChebConvConfig::new(3, 2, 1).with_lambda_max(Some(0.0)).try_init(&device).unwrap_err());
    invalid(RgcnConvConfig::new(3, 2, 0).try_init(&device).unwrap_err());
    invalid(RgcnConvConfig::new(3, 2, 2).with_bases(Some(0)).try_init(&device).unwrap_err());
    invalid(GatConvConfig::new(3, 2).with_heads(0).try_init(&device).unwrap_err());
    invalid(Gatv2ConvConfig::new(3, 2).with_dropout(-0.1).try_init(&device).unwrap_err());
    invalid(TransformerConvConfig::new(3, 2).with_beta(true).with_root_weight(false).try_init(&device).unwrap_err());
    invalid(MlpConfig::new(vec![3]).try_init(&device).unwrap_err());
    invalid(JumpingKnowledgeConfig::new(Jump::Max, 3, 0).try_init(&device).unwrap_err());
    let a = zeros(4, 4);
    let rgcn = RgcnConvConfig::new(3, 2, 2).init(&device);
    assert_eq!(rgcn.try_forward(std::slice::from_ref(&a), ones(4, 3)).unwrap_err().kind(), "length_mismatch");
    let max = SageConvConfig::new(3, 2).with_aggregation(Aggregation::Max).init(&device);
    invalid(max.try_forward_sparse(&a, &zeros(4, 3)).unwrap_err());
    let gat = GatConvConfig::new(3, 2).init(&device);
    invalid(gat.try_forward_edges(&a, ones(4, 3), ones(0, 1)).unwrap_err());
    let edges = GatConvConfig::new(3, 2).with_d_edge(Some(2)).init(&device);
    assert_eq!(edges.try_forward_edges(&a, ones(4, 3), ones(1, 2)).unwrap_err().kind(), "length_mismatch");
    assert_eq!(edges.try_forward_edges(&a, ones(4, 3), ones(0, 1)).unwrap_err().kind(), "shape_mismatch");
    let transformer = TransformerConvConfig::new(3, 2).with_d_edge(Some(2)).init(&device);
    invalid(transformer.try_forward(&a, ones(4, 3)).unwrap_err());
    let jump = JumpingKnowledgeConfig::new(Jump::Max, 3, 2).init(&device);
    assert_eq!(jump.try_forward(&[ones(4, 3)]).unwrap_err().kind(), "length_mismatch");
    assert_eq!(jump.try_forward(&[ones(4, 3), ones(5, 3)]).unwrap_err().kind(), "shape_mismatch");
}

#[test]
fn graph_ids_and_bags_are_checked() {
    let device = Device::flex();
    let ints = |list: &[i64]| {
        let data = burn::tensor::TensorData::new(list.to_vec(), [list.len()]);
        Tensor::<1, Int>::from_data(data, &device)
    };
    assert_eq!(IndexPlan::new(ints(&[0, 2]), 2).unwrap_err().kind(), "index_out_of_range");
    let graphs = plan(&[0, 1], 2);
    assert_eq!(try_global_add_pool(ones(3, 2), &graphs).unwrap_err().kind(), "shape_mismatch");
    let gate = try_global_attention_pool(ones(2, 3), ones(2, 2), &graphs);
    assert_eq!(gate.unwrap_err().kind(), "shape_mismatch");
    let norm = GraphNormConfig::new(3).init(&device);
    assert_eq!(norm.try_forward(ones(2, 2), &graphs).unwrap_err().kind(), "shape_mismatch");

    let kind = |ids: &[i64], offsets: &[i64]| Bags::new(ints(ids), ints(offsets), 5).unwrap_err().kind();
    assert_eq!(kind(&[0, 5], &[0]), "index_out_of_range");
    assert_eq!(kind(&[0, -1], &[0]), "index_out_of_range");
    assert_eq!(kind(&[0, 1], &[1]), "invalid");
    assert_eq!(kind(&[0, 1], &[0, 3]), "invalid");
    assert_eq!(kind(&[0, 1], &[0, 2, 1]), "invalid");
    assert_eq!(kind(&[0, 1], &[]), "invalid");
    let bags = Bags::new(ints(&[0, 1]), ints(&[0]), 5).unwrap();
    let layer = EmbeddingBagConfig::new(5, 2).init(&device);
    assert_eq!(layer.try_forward_weighted(&bags, Tensor::ones([2], &device)).unwrap_err().kind(), "invalid");
    let sum = EmbeddingBagConfig::new(5, 2).with_mode(BagMode::Sum).init(&device);
    assert_eq!(sum.try_forward_weighted(&bags, Tensor::ones([3], &device)).unwrap_err().kind(), "length_mismatch");
    let other = EmbeddingBagConfig::new(6, 2).init(&device);
    assert_eq!(other.try_forward(&bags).unwrap_err().kind(), "shape_mismatch");
    // No bags, and bags without ids.
    for (offsets, count) in [(vec![], 0), (vec![0, 0], 2)] {
        let bags = Bags::new(ints(&[]), ints(&offsets), 5).unwrap();
        for mode in [BagMode::Sum, BagMode::Mean, BagMode::Max] {
            let layer = EmbeddingBagConfig::new(5, 2).with_mode(mode).init(&device);
            assert_eq!(list(layer.forward(&bags)), vec![0.0; 2 * count]);
        }
    }
}

/// GATv2 as messages over the edges.
struct Scores<'a> {
    vector: Tensor<2>,
    heads: &'a [usize],
}

impl MessagePassing for Scores<'_> {
    fn message(&self, edges: &Edges) -> Result<Tensor<2>> {
        let hidden = leaky_relu(edges.source() + edges.target(), 0.2);
        let [_, each] = self.vector.dims();
        let scores = self.heads.iter().map(|&head| {
            let own = hidden.clone().narrow(1, head * each, each);
            (own * self.vector.clone().narrow(0, head, 1)).sum_dim(1)
        });
        edges.try_softmax(Tensor::cat(scores.collect(), 1))
    }

    fn aggregate(&self, edges: &Edges, weights: Tensor<2>) -> Result<Tensor<2>> {
        let each = self.vector.dims()[1];
        let parts = self.heads.iter().map(|&head| {
            let own = edges.source().narrow(1, head * each, each) * weights.clone().narrow(1, head, 1);
            edges.try_aggregate(own, Reduce::Add)
        });
        Ok(Tensor::cat(parts.collect::<Result<_>>()?, 1))
    }
}

/// A graph of more edges than a chunk: the fused scores give what messages over all edges give.
#[test]
fn scores_in_chunks_are_those_of_messages() {
    let device = Device::flex().autodiff();
    let draws = Tensor::<2>::random([120, 120], Distribution::Default, &device).lower_scalar(0.8).float();
    let graph = CsrTensor::from_dense(draws);
    assert!(graph.nnz() > 2 * 4096);
    let layer = Gatv2ConvConfig::new(6, 3).with_heads(2).with_self_loops(false).init(&device);
    let x = Tensor::<2>::random([120, 6], Distribution::Default, &device).require_grad();
    let [source, target] = [&layer.source, layer.target.as_ref().unwrap()].map(|map| map.forward(x.clone()));
    let messages = Scores { vector: layer.attention.val(), heads: &[0, 1] };
    let expected = messages.propagate(&Edges::bipartite(&graph, source, target)).unwrap();
    let out = layer.forward(&graph, x.clone());
    let close = |a: Vec<f32>, b: Vec<f32>| {
        assert_eq!(a.len(), b.len());
        let largest = b.iter().fold(1e-3f32, |largest, x| largest.max(x.abs()));
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-4 * largest), "{a:?} and {b:?}");
    };
    close(list(out.clone()), list(expected.clone()));
    let cotangent = Tensor::<2>::random([120, 6], Distribution::Default, &device);
    let [one, two] = [out, expected].map(|out| (out * cotangent.clone()).sum().backward());
    close(list(x.grad(&one).unwrap()), list(x.grad(&two).unwrap()));
    let attention = layer.attention.val();
    close(list(attention.grad(&one).unwrap()), list(attention.grad(&two).unwrap()));
    let weight = layer.source.weight.val();
    close(list(weight.grad(&one).unwrap()), list(weight.grad(&two).unwrap()));
}

#[test]
fn edges_are_checked() {
    let a = zeros(3, 2);
    assert_eq!(Edges::try_new(&a, ones(3, 1)).unwrap_err().kind(), "shape_mismatch");
    assert_eq!(Edges::try_bipartite(&a, ones(2, 1), ones(2, 1)).unwrap_err().kind(), "shape_mismatch");
    let edges = Edges::bipartite(&a, ones(2, 1), ones(3, 4));
    assert_eq!(edges.try_aggregate(ones(0, 2), Reduce::Assign).unwrap_err().kind(), "invalid");
    assert_eq!(edges.try_aggregate(ones(1, 2), Reduce::Add).unwrap_err().kind(), "length_mismatch");
    assert_eq!(edges.try_softmax(ones(1, 2)).unwrap_err().kind(), "length_mismatch");
    assert_eq!(edges.try_read_source(ones(3, 2)).unwrap_err().kind(), "shape_mismatch");
    assert_eq!(edges.clone().try_with_features(ones(1, 2)).unwrap_err().kind(), "length_mismatch");
    assert!(edges.is_empty());
    assert_eq!(edges.aggregate(ones(0, 2), Reduce::Mean).dims(), [3, 2]);
    assert_eq!((edges.source().dims(), edges.target().dims()), ([0, 1], [0, 4]));
}

/// Every aggregation of messages, with a target without edges.
#[test]
fn messages_are_aggregated() {
    let device = Device::flex();
    let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 1.0], [0.0, 0.0], [0.0, 1.0]], &device));
    let edges = Edges::bipartite(&a, ones(2, 1), ones(3, 1));
    let messages = || Tensor::<2>::from_floats([[2.0], [-4.0], [5.0]], &device);
    for (reduce, expected) in [
        (Reduce::Add, [-2.0, 0.0, 5.0]),
        (Reduce::Mean, [-1.0, 0.0, 5.0]),
        (Reduce::Mul, [-8.0, 0.0, 5.0]),
        (Reduce::Amax, [2.0, 0.0, 5.0]),
        (Reduce::Amin, [-4.0, 0.0, 5.0]),
    ] {
        assert_eq!(list(edges.aggregate(messages(), reduce)), expected, "{reduce:?}");
    }
}

/// In evaluation nothing is dropped; in training an expected share is, unless the layer is frozen.
#[test]
fn dropout_is_for_training() {
    let device = Device::flex();
    let a = CsrTensor::<2>::from_dense(ones(30, 30));
    let layer = GatConvConfig::new(3, 2).with_dropout(0.5).init(&device.clone().autodiff());
    let x = |device: &Device| Tensor::<2>::ones([30, 3], device);
    let on_tape =
        CsrTensor::<2>::from_pattern(a.pattern().clone(), Tensor::<1>::ones([900], &device.clone().autodiff()));
    let on_tape = on_tape.unwrap();
    let training = layer.forward(&on_tape, x(&device.clone().autodiff()));
    let evaluation = layer.valid().forward(&a, x(&device));
    let spread = |out: Tensor<2>| {
        let rows = list(out);
        rows.iter().step_by(2).any(|value| (value - rows[0]).abs() > 1e-3)
    };
    assert!(spread(training.inner()) && !spread(evaluation));
    let frozen = layer.freeze().forward(&on_tape, x(&device.clone().autodiff()));
    assert!(!spread(frozen.inner()));
    let appnp = AppnpConfig::new(1, 0.0).with_dropout(0.5).init();
    assert!(spread(appnp.forward(&on_tape, x(&device.clone().autodiff())).inner()));
    assert!(!spread(appnp.forward(&a, x(&device))));
}

#[test]
fn layers_are_saved_loaded_and_shown() {
    let device = Device::flex();
    let folder = tempfile::tempdir().unwrap();
    let a = CsrTensor::<2>::from_dense(ones(4, 4));
    let x = || Tensor::<2>::from_floats([[1.0, 0.5], [2.0, -1.0], [0.0, 3.0], [-2.0, 1.0]], &device);
    let gat = || GatConvConfig::new(2, 3).with_heads(2).with_residual(true).init(&device);
    let saved = gat();
    let path = folder.path().join("gat");
    saved.clone().save_file(&path).unwrap();
    let fresh = gat();
    assert_ne!(list(fresh.forward(&a, x())), list(saved.forward(&a, x())));
    assert_eq!(list(fresh.try_load_file(&path).unwrap().forward(&a, x())), list(saved.forward(&a, x())));
    assert!(format!("{saved}").contains("GatConv"), "{saved}");
    assert_eq!(saved.num_params(), 2 * 6 + 6 + 6 + 2 * 6 + 6);

    // eps is in the record, trained or not, and an untrained one stays out of training.
    let gin = |eps| {
        let linear = LinearConfig::new(2, 2).init(&device);
        GinConvConfig::new().with_eps(eps).init(linear, &device)
    };
    let path = folder.path().join("gin");
    gin(0.5).save_file(&path).unwrap();
    let loaded = gin(0.0).try_load_file(&path).unwrap();
    assert_eq!(list(loaded.eps.val()), [0.5]);
    assert!(!loaded.train().eps.val().is_require_grad());
}

/// A cached adjacency is used again for its pattern only, and never where its values are tracked.
#[test]
fn a_normalised_adjacency_is_kept_for_its_pattern() {
    let device = Device::flex();
    let mut layer = GcnConvConfig::new(2, 2).with_normalize(true).with_cached(true).with_bias(false).init(&device);
    layer.weight = Param::initialized(ParamId::new(), Tensor::eye(2, &device));
    let plain = GcnConvConfig::new(2, 2).with_normalize(true).with_bias(false).init(&device);
    let x = Tensor::<2>::from_floats([[1.0, 2.0], [3.0, 4.0]], &device);
    let first = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0], [1.0, 0.0]], &device));
    let second = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 9.0], [1.0, 0.0]], &device));
    let expect = |a: &CsrTensor<2>| {
        let mut plain = plain.clone();
        plain.weight = Param::initialized(ParamId::new(), Tensor::eye(2, &device));
        list(plain.forward(a, x.clone()))
    };
    assert_eq!(list(layer.forward(&first, x.clone())), expect(&first));
    // Other values on the kept pattern are not noticed, as documented.
    let other = first.with_values(Tensor::<1>::from_floats([5.0, 5.0], &device));
    assert_eq!(list(layer.forward(&other, x.clone())), expect(&first));
    assert_eq!(list(layer.forward(&second, x.clone())), expect(&second));
    let tape = device.clone().autodiff();
    let tracked = CsrTensor::<2>::from_pattern(
        first.pattern().clone(),
        Tensor::<1>::from_floats([5.0, 5.0], &tape).require_grad(),
    );
    assert_eq!(list(layer.forward(&tracked.unwrap(), Tensor::from_inner(x.clone())).inner()), expect(&other));
}
