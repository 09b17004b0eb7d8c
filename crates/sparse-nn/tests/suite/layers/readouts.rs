//! What stands between layers and after them.

use super::case::{check, check_in, device, plan};
use burn::module::{Module, Param};
use burn::nn::{BatchNormConfig, Linear, LinearConfig};
use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use sparse_tensor::CsrTensor;
use sparse_tensor::nn::{
    BagMode, Bags, EmbeddingBagConfig, GraphNormConfig, Jump, JumpingKnowledgeConfig, SageConvConfig, global_add_pool,
    global_attention_pool, global_max_pool, global_mean_pool,
};

/// The graphs of make.py: two of five have no nodes.
const IDS: [i64; 8] = [0, 1, 1, 0, 3, 3, 3, 1];

#[derive(Module, Debug)]
struct Attention {
    gate: Linear,
    network: Linear,
}

/// A module without parameters.
#[derive(Module, Debug)]
struct Nothing;

#[test]
fn pools() {
    let graphs = plan(&IDS, 5);
    check("pool/add", Nothing, |_, inputs| global_add_pool(inputs.x(), &graphs));
    check("pool/mean", Nothing, |_, inputs| global_mean_pool(inputs.x(), &graphs));
    check("pool/max", Nothing, |_, inputs| global_max_pool(inputs.x(), &graphs));
    let layer =
        Attention { gate: LinearConfig::new(3, 1).init(&device()), network: LinearConfig::new(3, 4).init(&device()) };
    check("pool/attention", layer, |layer, inputs| {
        global_attention_pool(layer.gate.forward(inputs.x()), layer.network.forward(inputs.x()), &graphs)
    });
}

#[test]
fn norms() {
    let graphs = plan(&IDS, 5);
    check("graph_norm", GraphNormConfig::new(3).init(&device()), |layer, inputs| layer.forward(inputs.x(), &graphs));
    check("batch_norm", BatchNormConfig::new(3).init(&device()), |layer, inputs| layer.forward(inputs.x()));
}

#[test]
fn jumping() {
    // Burn's LSTM has no f64.
    for (id, mode, precision) in [
        ("jumping/cat", Jump::Cat, (DType::F64, 1e-9)),
        ("jumping/max", Jump::Max, (DType::F64, 1e-9)),
        ("jumping/lstm", Jump::Lstm, (DType::F32, 1e-5)),
    ] {
        check_in(precision, id, JumpingKnowledgeConfig::new(mode, 3, 2).init(&device()), |layer, inputs| {
            layer.forward(&[inputs.tensor("first"), inputs.tensor("second")])
        });
    }
    let layer = JumpingKnowledgeConfig::new(Jump::Lstm, 3, 1).init(&device());
    let x = Tensor::<2>::zeros([2, 3], (&device(), DType::F64));
    assert_eq!(layer.try_forward(&[x]).unwrap_err().kind(), "unsupported_dtype");
}

#[test]
fn embedding_bags() {
    let ints =
        |list: &[i64]| Tensor::<1, Int>::from_data(TensorData::new(list.to_vec(), [list.len()]), &Device::flex());
    let bags = Bags::new(ints(&[4, 1, 4, 2, 0, 0, 5]), ints(&[0, 3, 3, 4]), 6).unwrap();
    for (id, mode) in [("bag/sum", BagMode::Sum), ("bag/mean", BagMode::Mean), ("bag/max", BagMode::Max)] {
        let layer = EmbeddingBagConfig::new(6, 3).with_mode(mode).init(&device());
        check(id, layer, |layer, _| layer.forward(&bags));
    }
    let layer = EmbeddingBagConfig::new(6, 3).with_mode(BagMode::Sum).init(&device());
    check("bag/weighted", layer, |layer, inputs| layer.forward_weighted(&bags, inputs.tensor("w")));
}

/// Squares beyond the largest 16-bit float are computed in f32.
#[test]
fn large_16_bit_features_are_normalized() {
    let device = Device::flex();
    let numbers = [[400.0, 3.0], [-500.0, 1.0], [450.0, 2.0], [600.0, 2.5]];
    let half = |x: Tensor<2>| x.cast(DType::F16);
    let list = |x: Tensor<2>| x.into_data().convert::<f32>().iter::<f32>().collect::<Vec<_>>();
    let near = |got: Tensor<2>, want: Tensor<2>| {
        let (got, want) = (list(got), list(want));
        assert!(want.iter().any(|x| x.abs() > 0.5));
        got.iter().zip(want).for_each(|(got, want)| assert!((got - want).abs() < 4e-3, "{got} and {want}"));
    };
    let x = Tensor::<2>::from_floats(numbers, &device);
    let graphs = plan(&[0, 0, 1, 1], 2);
    let mut norm = GraphNormConfig::new(2).init(&device);
    let want = norm.forward(x.clone(), &graphs);
    let own = |param: &Param<Tensor<1>>| Param::from_tensor(param.val().cast(DType::F16));
    (norm.gamma, norm.beta, norm.alpha) = (own(&norm.gamma), own(&norm.beta), own(&norm.alpha));
    near(norm.forward(half(x.clone()), &graphs), want);

    let a = CsrTensor::<2>::from_dense(Tensor::<2>::eye(4, &device));
    let mut sage =
        SageConvConfig::new(2, 2).with_normalize(true).with_root_weight(false).with_bias(false).init(&device);
    sage.neighbours.weight = Param::from_tensor(Tensor::<2>::eye(2, &device));
    let want = sage.forward(&a, x.clone());
    sage.neighbours.weight = Param::from_tensor(half(Tensor::eye(2, &device)));
    let halves = a.with_values(a.values::<1>().cast(DType::F16));
    near(sage.forward(&halves, half(x)), want);
}
