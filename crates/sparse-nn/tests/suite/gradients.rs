//! Rules of layers.

use burn::module::{Param, ParamId};
use burn::nn::Linear;
use burn::tensor::{Tensor, TensorData};
use proptest::prelude::*;
use sparse_dev::gradients::check;
use sparse_tensor::CsrTensor;
use sparse_tensor::nn::{Edges, Gatv2ConvConfig, GcnConvConfig};
use sparse_tensor::ops::Reduce;

const NODES: usize = 4;
const FEATURES: usize = 2;
const HEADS: usize = 2;
const WIDTH: usize = 3 * HEADS;

/// Quarters. Products of two of them are sixteenths, and with means of up to three edge features they are multiples of
/// 1/96. So with `SHIFT` added no sum is near 0, where the leaky ReLU has no derivative.
fn numbers(count: usize) -> impl Strategy<Value = Vec<f64>> {
    proptest::collection::vec((-8i32..=8).prop_map(|number| f64::from(number) / 4.0), count)
}

const SHIFT: f64 = 1.0 / 192.0;

/// A graph of `NODES` nodes with edges where `edges` says so, in the dtype of the features.
fn graph(edges: &[bool], x: &Tensor<2>) -> CsrTensor<2> {
    let values: Vec<f64> = edges.iter().map(|&edge| if edge { 1.0 } else { 0.0 }).collect();
    CsrTensor::from_dense(Tensor::from_data(TensorData::new(values, [NODES, NODES]), (&x.device(), x.dtype())))
}

fn param<const D: usize>(value: Tensor<D>) -> Param<Tensor<D>> {
    Param::initialized(ParamId::new(), value)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// The fused scores of GATv2: to the features, both weights, the attention, and edge features with their weight.
    #[test]
    fn gatv2(
        edges in proptest::collection::vec(any::<bool>(), NODES * NODES),
        x in numbers(NODES * FEATURES),
        weights in numbers(2 * FEATURES * WIDTH),
        attention in numbers(WIDTH),
        features in numbers(NODES * NODES),
        loops in any::<bool>(),
        pick in 0usize..4,
    ) {
        let stored = edges.iter().filter(|&&edge| edge).count();
        let data = |values: &[f64], shape: [usize; 2]| TensorData::new(values.to_vec(), shape);
        let (first, second) = weights.split_at(FEATURES * WIDTH);
        let inputs = [
            data(&x, [NODES, FEATURES]),
            data(first, [FEATURES, WIDTH]),
            data(second, [FEATURES, WIDTH]),
            data(&attention, [HEADS, WIDTH / HEADS]),
            data(&features[..stored], [stored, 1]),
            data(&attention, [1, WIDTH]),
        ];
        check(pick, &inputs, |xs| {
            let x: Tensor<2> = xs[0].tensor();
            let device = x.device();
            let config = Gatv2ConvConfig::new(FEATURES, WIDTH / HEADS).with_heads(HEADS).with_d_edge(Some(1));
            let mut layer = config.with_bias(false).with_self_loops(loops).init(&device);
            let linear = |at: usize| Linear { weight: param(xs[at].tensor()), bias: None };
            layer.source = linear(1);
            let shift = Tensor::<1>::ones([WIDTH], (&device, x.dtype())).mul_scalar(SHIFT);
            layer.target = Some(Linear { bias: Some(param(shift)), ..linear(2) });
            layer.attention = param(xs[3].tensor());
            layer.edge = Some(linear(5));
            let graph = graph(&edges, &x);
            layer.forward_edges(&graph, x, xs[4].tensor())
        })?;
    }

    /// Graph convolution with ReLU, with the sparse product last or first: to the features, the weight and the bias.
    #[test]
    fn gcn(
        edges in proptest::collection::vec(any::<bool>(), NODES * NODES),
        x in numbers(NODES * FEATURES),
        weight in numbers(FEATURES * WIDTH),
        bias in numbers(WIDTH),
        width in 1..=WIDTH,
        with_bias in any::<bool>(),
        pick in 0usize..4,
    ) {
        let bias = if with_bias { bias[..width].to_vec() } else { vec![] };
        let mut inputs = vec![
            TensorData::new(x, [NODES, FEATURES]),
            TensorData::new(weight[..FEATURES * width].to_vec(), [FEATURES, width]),
        ];
        inputs.extend(with_bias.then(|| TensorData::new(bias, [width])));
        check(pick, &inputs, |xs| {
            let x: Tensor<2> = xs[0].tensor();
            let device = x.device();
            // ReLU has no derivative at 0, where sums without a bias often are.
            let mut layer = GcnConvConfig::new(FEATURES, width).with_relu(with_bias).init(&device);
            layer.weight = param(xs[1].tensor());
            layer.bias = xs.get(2).map(|bias| param(bias.tensor::<1>() + SHIFT));
            layer.forward(&graph(&edges, &x), x)
        })?;
    }

    /// Messages: reads at both ends, softmax and aggregations. (Where the largest is taken, ties have no derivative.)
    #[test]
    fn messages(
        edges in proptest::collection::vec(any::<bool>(), NODES * NODES),
        x in numbers(NODES * FEATURES),
        pick in 0usize..4,
        which in 0usize..3,
    ) {
        let reduce = [Reduce::Add, Reduce::Mean, Reduce::Mul][which];
        check(pick, &[TensorData::new(x.clone(), [NODES, FEATURES])], |xs| {
            let x: Tensor<2> = xs[0].tensor();
            let graph = graph(&edges, &x);
            let edges = Edges::new(&graph, x.clone());
            let scores = edges.softmax(edges.source() * edges.target());
            edges.aggregate(scores + edges.read_source(x), reduce)
        })?;
    }
}
