use burn::module::{Module, Param, ParamId, Quantizer};
use burn::nn::{Dropout, DropoutConfig, LinearConfig};
use burn::tensor::activation::{self, relu};
use burn::tensor::quantization::{Calibration, QuantValue};
use burn::tensor::{DType, Device, Distribution, Tensor, TensorData, Tolerance};
use sparse_autograd::gradcheck;
use sparse_tensor::data::karate;
use sparse_tensor::nn::{
    self, GcnConvConfig, MlpConfig, dropout, row_normalization, sparse_dropout, sparse_input_linear,
    symmetric_normalization, try_sparse_input_linear, try_symmetric_normalization,
};
use sparse_tensor::{CooTensor, CsrTensor, Fill};

fn close<const D: usize>(a: Tensor<D>, b: Tensor<D>) {
    a.inner().into_data().assert_approx_eq::<f32>(&b.inner().into_data(), Tolerance::default());
}

fn adjacency(device: &Device) -> Tensor<2> {
    // Node 3 is isolated, node 2 has a loop of its own.
    Tensor::from_floats(
        [[0.0, 1.0, 2.0, 0.0], [1.0, 0.0, 0.0, 0.0], [2.0, 0.0, 3.0, 0.0], [0.0, 0.0, 0.0, 0.0]],
        device,
    )
}

/// `D^-1/2 A D^-1/2` by dense arithmetic, rows of degree 0 left at zero.
fn by_hand(a: Tensor<2>) -> Tensor<2> {
    let degrees: Vec<f32> = a.clone().sum_dim(1).into_data().iter().collect();
    let factors: Vec<f32> = degrees.iter().map(|&d| if d > 0.0 { 1.0 / d.sqrt() } else { 0.0 }).collect();
    let nodes = factors.len();
    let factors = Tensor::<1>::from_data(TensorData::new(factors, [nodes]), &a.device());
    a * factors.clone().unsqueeze_dim::<2>(1) * factors.unsqueeze_dim::<2>(0)
}

#[test]
fn symmetric_normalization_is_the_formula() {
    let device = Device::flex();
    let dense = adjacency(&device);
    let sparse = CsrTensor::from_dense(dense.clone());
    close(symmetric_normalization(&sparse, false).to_dense(), by_hand(dense.clone()));
    let looped = symmetric_normalization(&sparse, true);
    assert_eq!(looped.nnz(), 8);
    close(looped.to_dense(), by_hand(dense + Tensor::eye(4, &device)));
    for nodes in [0, 3] {
        let empty = CsrTensor::<2>::zeros([nodes, nodes], (&device, burn::tensor::DType::F32));
        assert_eq!(symmetric_normalization(&empty, false).nnz(), 0);
        // Burn has no identity of no size.
        let identity = if nodes == 0 { Tensor::zeros([0, 0], &device) } else { Tensor::eye(nodes, &device) };
        close(symmetric_normalization(&empty, true).to_dense(), identity);
    }
    let wide = CsrTensor::<2>::zeros([2, 3], (&device, burn::tensor::DType::F32));
    assert_eq!(try_symmetric_normalization(&wide, true).unwrap_err().kind(), "shape_mismatch");
    let filled = sparse.with_fill(Fill::scalar(1.0));
    assert_eq!(try_symmetric_normalization(&filled, true).unwrap_err().kind(), "fill_mismatch");
}

#[test]
fn normalizations_have_the_right_gradient() {
    let device = Device::flex().autodiff();
    let pattern = CsrTensor::from_dense(adjacency(&device.clone().inner())).pattern().clone();
    let values = TensorData::from([1.0f64, 2.0, 1.5, 2.5, 3.0]);
    for self_loops in [false, true] {
        gradcheck(&device, std::slice::from_ref(&values), |xs| {
            let a = CsrTensor::<2>::from_pattern(pattern.clone(), xs[0].tensor::<1>()).unwrap();
            symmetric_normalization(&a, self_loops).values::<1>()
        })
        .unwrap();
    }
    gradcheck(&device, &[values], |xs| {
        row_normalization(&CsrTensor::<2>::from_pattern(pattern.clone(), xs[0].tensor::<1>()).unwrap()).values::<1>()
    })
    .unwrap();
}

#[test]
fn rows_sum_to_one() {
    let device = Device::flex();
    let x = CsrTensor::from_dense(adjacency(&device));
    let sums: Vec<f32> = row_normalization(&x).to_dense().sum_dim(1).into_data().iter().collect();
    assert_eq!(sums, [1.0, 1.0, 1.0, 0.0]);
}

#[test]
fn dropout_drops_a_share_and_keeps_the_mean() {
    let device = Device::flex().autodiff();
    let x = CsrTensor::<2>::from_dense(Tensor::ones([200, 200], &device.clone().inner()));
    let x =
        CsrTensor::<2>::from_pattern(x.pattern().clone(), Tensor::<1>::ones([40_000], &device)).unwrap().require_grad();
    let dropped = sparse_dropout(&x, 0.25);
    let values: Vec<f32> = dropped.values::<1>().into_data().iter().collect();
    let kept = values.iter().filter(|&&value| value != 0.0).count();
    assert!((29_500..30_500).contains(&kept), "{kept}");
    assert!(values.iter().all(|&value| value == 0.0 || (value - 4.0 / 3.0).abs() < 1e-6));
    let grads = dropped.values::<1>().sum().backward();
    let grad: Vec<f32> = x.grad(&grads).unwrap().values::<1>().into_data().iter().collect();
    assert_eq!(grad, values);
    assert_eq!(sparse_dropout(&x, 0.0).values::<1>().into_data(), x.values::<1>().into_data());
}

#[test]
#[should_panic(expected = "sparse_dropout: p must be in [0, 1), got 1")]
fn dropout_of_everything_panics() {
    sparse_dropout(&CooTensor::<2>::from_dense(Tensor::ones([2, 2], &Device::flex()), 0), 1.0);
}

/// The backward pass makes the mask of the forward pass again, also where checkpointing runs parts of that twice.
#[test]
fn dropout_of_dense_tensors_is_its_own_gradient() {
    let layer = layer_of(0.25);
    for device in [Device::flex().autodiff(), Device::flex().autodiff().gradient_checkpointing()] {
        let x = Tensor::<3>::random([50, 20, 40], Distribution::Uniform(1.0, 2.0), &device).require_grad();
        let out = dropout(x.clone() * 2.0, &layer);
        let grads = relu(out.clone()).sum().backward();
        let list = |x: Tensor<3>| x.into_data().iter::<f32>().collect::<Vec<_>>();
        let (x, grad, out) = (list(x.clone()), list(x.grad(&grads).unwrap()), list(out));
        let kept = out.iter().filter(|&&out| out != 0.0).count();
        assert!((29_500..30_500).contains(&kept), "{kept}");
        for ((x, grad), out) in x.iter().zip(&grad).zip(&out) {
            let factor = if *out == 0.0 { 0.0 } else { 8.0 / 3.0 };
            assert!((grad - factor).abs() < 1e-5 && (out - x * factor).abs() < 1e-5, "{x} {grad} {out}");
        }
    }
}

#[test]
fn dropout_of_dense_tensors_is_for_training() {
    let device = Device::flex();
    let same = |x: Tensor<2>, layer: Dropout| assert_eq!(dropout(x.clone(), &layer).into_data(), x.into_data());
    same(Tensor::ones([9, 9], &device), layer_of(0.5));
    same(Tensor::ones([9, 9], &device.clone().autodiff()), layer_of(0.0));
    same(Tensor::ones([9, 9], &device.clone().autodiff()), layer_of(0.5).freeze());
    let tape = device.autodiff();
    assert_eq!(dropout(Tensor::<2>::ones([0, 9], &tape), &layer_of(0.5)).dims(), [0, 9]);
    // Each call drops others.
    let drop = || dropout(Tensor::<2>::ones([9, 9], &tape), &layer_of(0.5)).into_data();
    assert_ne!(drop(), drop());
}

/// Its name, an activation of ours, and Burn's.
type Both = (&'static str, fn(Tensor<2>) -> Tensor<2>, fn(Tensor<2>) -> Tensor<2>);

const ACTIVATIONS: [Both; 4] = [
    ("elu 1", |x| nn::elu(x, 1.0), |x| activation::elu(x, 1.0)),
    ("elu 0.3", |x| nn::elu(x, 0.3), |x| activation::elu(x, 0.3)),
    ("leaky_relu 0.2", |x| nn::leaky_relu(x, 0.2), |x| activation::leaky_relu(x, 0.2)),
    ("leaky_relu -0.5", |x| nn::leaky_relu(x, -0.5), |x| activation::leaky_relu(x, -0.5)),
];

/// Enough numbers for several threads, also shared ones, empty ones and several dtypes.
#[test]
fn activations_are_those_of_burn() {
    let device = Device::flex().autodiff();
    for (name, ours, burns) in ACTIVATIONS {
        for (dtype, bound) in [(DType::F32, 1e-6), (DType::F64, 1e-14), (DType::F16, 1e-2), (DType::BF16, 1e-1)] {
            for shape in [[0, 3], [1, 1], [7, 9], [200, 300]] {
                let x = Tensor::<2>::random(shape, Distribution::Uniform(-3.0, 3.0), &device).cast(dtype);
                let run = |f: fn(Tensor<2>) -> Tensor<2>| {
                    let x = x.clone().detach().require_grad();
                    let out = f(x.clone() * 1.0);
                    let grads = (out.clone() * x.clone().detach()).sum().backward();
                    [out, x.grad(&grads).unwrap()].map(|x| x.cast(DType::F64).into_data().iter::<f64>().collect())
                };
                let ([out, grad], [want, d_want]): ([Vec<f64>; 2], [Vec<f64>; 2]) = (run(ours), run(burns));
                assert_eq!(out.len(), shape[0] * shape[1]);
                for (got, want) in out.iter().chain(&grad).zip(want.iter().chain(&d_want)) {
                    assert!((got - want).abs() <= bound * (1.0 + want.abs()), "{name} {dtype:?}: {got} and {want}");
                }
            }
        }
    }
}

#[test]
fn activations_have_their_gradients() {
    let values = TensorData::new((0..24).map(|k| f64::from(k) * 0.31 - 3.6).collect::<Vec<_>>(), [4, 6]);
    for (_, ours, _) in ACTIVATIONS {
        gradcheck(&Device::flex().autodiff(), std::slice::from_ref(&values), |xs| ours(xs[0].tensor::<2>())).unwrap();
    }
}

/// The exponential of a large number is infinite, and infinity times a zero gradient would be NaN.
#[test]
fn activations_of_large_numbers() {
    let x = Tensor::<1>::from_floats([100.0, 0.0, -100.0], &Device::flex().autodiff()).require_grad();
    let slopes = |out: Tensor<1>| x.grad(&out.sum().backward()).unwrap().into_data().iter::<f32>().collect::<Vec<_>>();
    let elu = slopes(nn::elu(x.clone(), 1.0));
    assert!(elu[..2] == [1.0, 1.0] && (elu[2] / (-100f32).exp() - 1.0).abs() < 1e-5, "{elu:?}");
    assert_eq!(slopes(nn::leaky_relu(x.clone(), 0.2)), [1.0, 0.2, 0.2]);
}

/// `e^x - 1` would lose all digits of a small number.
#[test]
fn elu_is_precise_near_zero() {
    let x = Tensor::<1>::from_floats([-1e-7, -1e-12], &Device::flex());
    let out: Vec<f32> = nn::elu(x, 1.0).into_data().iter().collect();
    assert!(out.iter().zip([-1e-7, -1e-12]).all(|(out, want)| (out / want - 1.0).abs() < 1e-6), "{out:?}");
}

/// A layer with a large dense product takes the memory of another kernel than a small one. Both are Burn's product.
#[test]
fn dense_products_of_layers_are_those_of_burn() {
    let device = Device::flex().autodiff();
    for (dtype, bound) in [(DType::F32, 1e-3), (DType::F64, 1e-11)] {
        for [nodes, width, classes] in [[5, 3, 2], [700, 65, 90], [3000, 7, 11], [300, 200, 200]] {
            let random = |shape| Tensor::<2>::random(shape, Distribution::Uniform(-1.0, 1.0), &device).cast(dtype);
            let (x, weight) = (random([nodes, width]), random([width, classes]));
            let identity = CooTensor::<2>::eye(nodes, (&device.clone().inner(), dtype)).to_csr().to_device(&device);
            let run = |ours: bool| {
                let [x, weight] = [&x, &weight].map(|x| x.clone().detach().require_grad());
                let mut layer = GcnConvConfig::new(width, classes).with_bias(false).init(&device);
                layer.weight = Param::initialized(ParamId::new(), weight.clone());
                let out = if ours { layer.forward(&identity, x.clone()) } else { x.clone().matmul(weight.clone()) };
                let grads = (out.clone() * out.clone().detach()).sum().backward();
                let layer_grad = if ours { layer.weight.val().grad(&grads) } else { weight.grad(&grads) };
                [out, x.grad(&grads).unwrap(), layer_grad.unwrap()]
                    .map(|x| x.cast(DType::F64).into_data().iter::<f64>().collect::<Vec<_>>())
            };
            for (got, want) in run(true).iter().flatten().zip(run(false).iter().flatten()) {
                assert!((got - want).abs() <= bound * (1.0 + want.abs()), "{dtype:?}: {got} and {want}");
            }
        }
    }
}

fn layer_of(p: f64) -> Dropout {
    DropoutConfig::new(p).init()
}

#[test]
fn a_convolution_is_its_dense_formula() {
    // The sparse product comes last, and first.
    for (width, relu) in [(3, false), (3, true), (5, true), (8, false), (8, true)] {
        convolution(width, relu);
    }
}

fn convolution(width: usize, rectified: bool) {
    let device = Device::flex().autodiff();
    let graph = karate(&device);
    let a = symmetric_normalization(&graph.adjacency, true);
    let x = Tensor::<2>::random([34, 5], Distribution::Default, &device);
    let sparse_x = CsrTensor::from_dense(x.clone());
    for bias in [true, false] {
        let layer = GcnConvConfig::new(5, width).with_bias(bias).with_relu(rectified).init(&device);
        assert_eq!(layer.num_params(), width * if bias { 6 } else { 5 });
        let limit = (6.0f32 / (5 + width) as f32).sqrt();
        assert!(layer.weight.val().into_data().iter::<f32>().all(|w| w.abs() <= limit), "Glorot's bound");
        let out = layer.forward(&a, x.clone());
        // Dense Burn, on leaves of its own.
        let weight = Tensor::<2>::from_inner(layer.weight.val().inner()).require_grad();
        let offset = Tensor::<1>::zeros([width], &device).require_grad();
        let dense_a = Tensor::from_inner(a.to_dense().inner());
        let expected = dense_a.matmul(x.clone()).matmul(weight.clone()) + offset.clone().unsqueeze();
        let expected = if rectified { relu(expected) } else { expected };
        close(out.clone(), expected.clone());
        let sparse = layer.forward_sparse(&a, &sparse_x);
        close(sparse.clone(), expected.clone());
        let loss = |out: Tensor<2>| out.powf_scalar(2.0).sum().backward();
        let reference = loss(expected);
        for grads in [loss(out), loss(sparse)] {
            close(layer.weight.val().grad(&grads).unwrap(), weight.grad(&reference).unwrap());
            assert_eq!(layer.bias.is_some(), bias);
            if let Some(bias) = &layer.bias {
                close(bias.val().grad(&grads).unwrap(), offset.grad(&reference).unwrap());
            }
        }
    }
}

#[test]
fn isolated_and_empty_graphs_pass_through() {
    let device = Device::flex();
    for nodes in [0, 4] {
        let none = CsrTensor::<2>::zeros([nodes, nodes], (&device, burn::tensor::DType::F32));
        let layer = GcnConvConfig::new(2, 3).init(&device);
        let x = Tensor::<2>::ones([nodes, 2], &device);
        for a in [none.clone(), symmetric_normalization(&none, true)] {
            assert_eq!(layer.forward(&a, x.clone()).dims(), [nodes, 3]);
            assert_eq!(layer.forward_sparse(&a, &CsrTensor::from_dense(x.clone())).dims(), [nodes, 3]);
        }
    }
}

#[test]
fn a_layer_is_saved_and_loaded() {
    let device = Device::flex();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("layer");
    let saved = GcnConvConfig::new(6, 4).init(&device);
    let weight = saved.weight.val().into_data();
    saved.clone().save_file(&path).unwrap();
    let fresh = GcnConvConfig::new(6, 4).init(&device);
    assert_ne!(fresh.weight.val().into_data(), weight);
    let loaded = fresh.try_load_file(&path).unwrap();
    assert_eq!(loaded.weight.val().into_data(), weight);
    assert_eq!(loaded.bias.unwrap().val().into_data(), saved.bias.unwrap().val().into_data());
}

#[test]
fn a_perceptron_takes_sparse_features() {
    let device = Device::flex().autodiff();
    for batch_norm in [true, false] {
        let mlp = MlpConfig::new(vec![4, 5, 3, 2]).with_batch_norm(batch_norm).init(&device);
        let dense = adjacency(&device).require_grad();
        let sparse = CsrTensor::from_dense(adjacency(&device.clone().inner()));
        let values = Tensor::from_inner(sparse.values::<1>()).require_grad();
        for fill in [0.0, 0.5] {
            let x = CsrTensor::<2>::from_pattern(sparse.pattern().clone(), values.clone()).unwrap();
            let x = x.with_fill(Fill::scalar(fill));
            let (own, expected) =
                (mlp.forward_sparse(&x), mlp.forward(dense.clone().mask_fill(dense.clone().equal_scalar(0.0), fill)));
            close(own.clone(), expected.clone());
            let own = values.grad(&own.powi_scalar(2).sum().backward()).unwrap();
            let all = dense.grad(&expected.powi_scalar(2).sum().backward()).unwrap().into_data();
            // Stored row by row: (0, 1), (0, 2), (1, 0), (2, 0), (2, 2).
            let all: Vec<f32> = all.iter().collect();
            let stored = TensorData::from([1, 2, 4, 8, 10].map(|at| all[at]));
            own.into_data().assert_approx_eq::<f32>(&stored, Tolerance::default());
        }
    }
    let wide = CsrTensor::<2>::zeros([2, 3], (&device, burn::tensor::DType::F32));
    let mlp = MlpConfig::new(vec![4, 2]).init(&device);
    assert_eq!(mlp.try_forward_sparse(&wide).unwrap_err().kind(), "shape_mismatch");
}

/// Quantised weights go through Burn's own map.
#[test]
fn a_perceptron_may_be_quantised() {
    let device = Device::flex();
    let mlp = MlpConfig::new(vec![32, 64, 8]).with_batch_norm(false).init(&device);
    let x = Tensor::<2>::random([600, 32], Distribution::Default, &device);
    let scheme = device.settings().quantization.scheme.with_value(QuantValue::Q8S);
    let packed = mlp.clone().quantize_weights(&mut Quantizer::new(Calibration::MinMax, scheme));
    let error = (packed.forward(x.clone()) - mlp.forward(x)).abs().max().into_scalar::<f32>();
    assert!(error > 0.0 && error < 0.1, "{error}");
}

#[test]
fn a_linear_takes_sparse_rows() {
    let device = Device::flex().autodiff();
    let dense = adjacency(&device).require_grad();
    let sparse = CsrTensor::from_dense(adjacency(&device.clone().inner()));
    for (bias, fill) in [(true, 0.0), (false, 0.0), (true, 0.5)] {
        let linear = LinearConfig::new(4, 3).with_bias(bias).init(&device);
        let values = Tensor::from_inner(sparse.values::<1>()).require_grad();
        let x = CsrTensor::<2>::from_pattern(sparse.pattern().clone(), values.clone()).unwrap();
        let x = x.with_fill(Fill::scalar(fill));
        let filled = dense.clone().mask_fill(dense.clone().equal_scalar(0.0), fill);
        let (own, expected) = (sparse_input_linear(&x, &linear), linear.forward(filled));
        close(own.clone(), expected.clone());
        let (own, expected) = (own.powi_scalar(2).sum().backward(), expected.powi_scalar(2).sum().backward());
        close(linear.weight.grad(&own).unwrap(), linear.weight.grad(&expected).unwrap());
        assert_eq!(linear.bias.is_some(), bias);
        if let Some(bias) = &linear.bias {
            close(bias.grad(&own).unwrap(), bias.grad(&expected).unwrap());
        }
        let all: Vec<f32> = dense.grad(&expected).unwrap().into_data().iter().collect();
        let stored = TensorData::from([1, 2, 4, 8, 10].map(|at| all[at]));
        values.grad(&own).unwrap().into_data().assert_approx_eq::<f32>(&stored, Tolerance::default());
    }
    let linear = LinearConfig::new(3, 2).init(&device);
    let told = try_sparse_input_linear(&CsrTensor::from_dense(dense), &linear).unwrap_err();
    assert_eq!((told.kind(), told.to_string().starts_with("sparse_input_linear: ")), ("shape_mismatch", true));
}
