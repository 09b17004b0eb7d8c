//! Products, attention and layers at corners that the equivalence test does not draw.

use super::{count, flex, near, ones, read, small};
use burn::module::Param;
use burn::tensor::activation::{relu, softmax};
use burn::tensor::{Device, FloatDType, Tensor, TensorData};
use sparse_tensor::extend::{add_scaled, expand, linear, linear_onto, matmul_linear};
use sparse_tensor::nn::{GatConvConfig, GcnConvConfig};
use sparse_tensor::ops::{self, Epilogue};
use sparse_tensor::{CooTensor, CsrTensor};

fn bare(shape: [usize; 2]) -> CooTensor<2> {
    CooTensor::zeros(shape, &flex())
}

/// `beta * c + alpha * A x` with factors of 1 and 0, of which each has a way of its own, and in 16 bits.
#[test]
fn sums_with_products() {
    for dtype in [FloatDType::F32, FloatDType::F16, FloatDType::BF16] {
        let (a, x) = (small().cast(dtype), count([3, 2]).cast(dtype));
        let product = small().to_dense().matmul(count([3, 2]));
        for c in [count([2, 2]), count([1, 2]), count([2, 1])] {
            for (beta, alpha) in [(1.0, 1.0), (1.0, 2.0), (0.5, 1.0), (-2.0, 0.5), (0.0, 2.0)] {
                let got = a.addmm(beta, c.clone().cast(dtype), alpha, x.clone());
                assert_eq!(got.dtype(), dtype.into());
                let want = c.clone().expand([2, 2]) * beta + product.clone() * alpha;
                near(got.cast(FloatDType::F32), want);
            }
        }
        // What is not read does not show.
        let got = a.addmm(0.0, (ones([2, 2]) * f32::NAN).cast(dtype), 1.0, x);
        near(got.cast(FloatDType::F32), product);
    }
}

#[test]
fn sums_with_products_of_nothing() {
    let device = flex().autodiff();
    let c = Tensor::<2>::ones([2, 1], &device).require_grad();
    let none = bare([2, 3]).to_device(&device).addmm(1.0, c.clone(), 1.0, Tensor::ones([3, 0], &device));
    assert_eq!(none.dims(), [2, 0]);
    // A result without elements depends on all operands all the same.
    assert!(none.is_tracked());
    let grads = none.sum().backward();
    near(c.grad(&grads).expect("a gradient of zeros"), Tensor::zeros([2, 1], &flex()));
    // A sum of no products.
    near(bare([2, 0]).addmm(1.0, count([2, 4]), 1.0, ones([0, 4])), count([2, 4]));
    assert_eq!(bare([0, 3]).addmm(1.0, ones([1, 4]), 1.0, ones([3, 4])).dims(), [0, 4]);
}

#[test]
fn products_without_columns() {
    for bias in [None, Some(ones([0]))] {
        let out = small().matmul_then(ones([3, 0]), Epilogue { bias, relu: true });
        assert_eq!(out.dims(), [2, 0]);
    }
}

/// Several operands of one pattern, narrow and wide ones, each with the bias and ReLU.
#[test]
fn an_epilogue_of_a_batch() {
    let one = small().unsqueeze_dim::<3>(0);
    for width in [1, 3, 40] {
        let (x, bias) = (count([6, width]).reshape([2, 3, width]) - 8.0, count([width]) * 2.0 - 20.0);
        let sums = one.matmul(x.clone()) + bias.clone().reshape([1, 1, width]);
        for (rectify, want) in [(true, relu(sums.clone())), (false, sums)] {
            let out = one.matmul_then(x.clone(), Epilogue { bias: Some(bias.clone()), relu: rectify });
            assert_eq!(read(out), read(want), "{width} columns");
        }
    }
    let none = one.matmul_then(ones([0, 3, 2]), Epilogue { bias: Some(ones([2])), relu: true });
    assert_eq!(none.dims(), [0, 2, 2], "a batch of none");
}

/// With the bits of Burn's operations, whichever operands have a gradient, and where only some are on a tape.
#[test]
fn scaled_sums_and_their_gradients() {
    let shapes = [([700, 60], FloatDType::F32), ([3, 1], FloatDType::F64), ([4, 5], FloatDType::F16)];
    for (shape, dtype) in shapes.into_iter().chain([([0, 3], FloatDType::F32), ([2, 0], FloatDType::F32)]) {
        three_operands([shape, shape, [1, 1]], dtype, |[x, y, scale], plain| match plain {
            true => x + y * expand(scale, shape),
            false => add_scaled(x, y, scale.reshape([1])),
        });
    }
    // Other shapes are Burn's answer.
    let [column, row] = [[4, 1], [1, 4]].map(|shape| waves::<2>(shape, &flex()));
    let scale = Tensor::from_floats([1.5], &flex());
    assert_eq!(read(add_scaled(column.clone(), row.clone(), scale)), read(column + row * 1.5));
}

/// The same for products that are added to rows: large ones in panels, small ones, and without terms or rows.
#[test]
fn products_onto_rows_and_their_gradients() {
    for [rows, terms, columns] in [[2100, 60, 70], [5, 3, 4], [5, 0, 4], [0, 3, 4]] {
        for dtype in [FloatDType::F32, FloatDType::F64, FloatDType::F16] {
            for rectify in [false, true] {
                three_operands(
                    [[rows, columns], [rows, terms], [terms, columns]],
                    dtype,
                    |[onto, x, weight], plain| match plain {
                        true => {
                            let sum = onto + linear(x, weight, Epilogue::default());
                            if rectify { relu(sum) } else { sum }
                        }
                        false => linear_onto(onto, x, weight, rectify),
                    },
                );
            }
        }
    }
}

/// Compares both ways of `f`, its bits and all gradients: every set of operands that have one, and the same where
/// the others are not on a tape.
fn three_operands(shapes: [[usize; 2]; 3], dtype: FloatDType, f: impl Fn([Tensor<2>; 3], bool) -> Tensor<2>) {
    let device = flex();
    for way in 0..16 {
        let (asked, mixed) = (|at: usize| way >> at & 1 == 1, way & 8 > 0);
        if way == 8 {
            continue;
        }
        let operands = || {
            std::array::from_fn::<_, 3, _>(|at| {
                let mut x = (waves::<2>(shapes[at], &device) * (1.0 - 2.3 * at as f32) + 0.2).cast(dtype);
                if at == 0 && shapes[0][0] > 100 {
                    x = x.slice_fill(0..1, f32::NAN);
                }
                let x = if mixed && !asked(at) { x } else { Tensor::from_inner(x) };
                if asked(at) { x.require_grad() } else { x }
            })
        };
        let on_tape = |x: &Tensor<2>| if x.is_autodiff() { x.clone() } else { Tensor::from_inner(x.clone()) };
        let (own, dense) = (operands(), operands());
        let (out, want) = (f(own.clone(), false), f(dense.each_ref().map(on_tape), true));
        let place = format!("{shapes:?} {dtype:?} {way}");
        assert_eq!(out.is_tracked(), want.is_tracked(), "{place}");
        assert!(out.to_data().into_bytes() == want.to_data().into_bytes(), "{place}");
        if !out.is_tracked() || out.dims().contains(&0) {
            continue;
        }
        let factors = waves(out.dims(), &device.clone().autodiff()).cast(dtype);
        let [got, want] = [out, want].map(|out| (out * factors.clone()).sum().backward());
        for (at, (own, dense)) in own.into_iter().zip(dense).enumerate() {
            let of = |x: Tensor<2>, grads| x.grad(grads).map(|grad| grad.cast(FloatDType::F32));
            match (of(own, &got), of(dense, &want)) {
                (Some(own), Some(dense)) if at < 2 || dtype != FloatDType::F16 => near(own, dense),
                (own, dense) => assert_eq!(own.is_some(), dense.is_some(), "{place}: gradient {at}"),
            }
        }
    }
}

/// Many rows, in panels, and long sums of the gradient of the weights, in parts.
#[test]
fn large_linear_maps_and_their_gradients() {
    const ROWS: usize = 8300;
    let device = flex().autodiff();
    let tracked = |rows, columns| waves([rows, columns], &device).require_grad();
    let both = [0, 1].map(|_| (tracked(ROWS, 30), tracked(30, 29), waves([29], &device).require_grad()));
    let [(x, weight, bias), (dense_x, dense_weight, dense_bias)] = both;
    let own = linear(x.clone(), weight.clone(), Epilogue { bias: Some(bias.clone()), relu: true });
    let want = relu(dense_x.clone().matmul(dense_weight.clone()) + dense_bias.clone().unsqueeze());
    near(own.clone().inner(), want.clone().inner());
    let factors = waves([ROWS, 29], &device);
    let (own, want) = ((own * factors.clone()).sum().backward(), (want * factors).sum().backward());
    near(x.grad(&own).unwrap(), dense_x.grad(&want).unwrap());
    near(weight.grad(&own).unwrap(), dense_weight.grad(&want).unwrap());
    near(bias.grad(&own).unwrap(), dense_bias.grad(&want).unwrap());
}

/// Of many rows both products go some rows at a time, with the bits of one after the other, whatever is tracked.
#[test]
fn a_linear_map_of_a_product() {
    const ROWS: usize = 12_003;
    let edges = || (0..4 * ROWS).map(|k| (k * k % ROWS, k * 7 % ROWS)).collect::<Vec<_>>();
    for dtype in [FloatDType::F32, FloatDType::F64] {
        for (device, tracked) in [(flex(), 0), (flex().autodiff(), 0), (flex().autodiff(), 1), (flex().autodiff(), 2)]
            .into_iter()
            .chain([(flex().autodiff().gradient_checkpointing(), 15)])
        {
            let own = |at: usize, x: Tensor<2>| {
                let x = x.cast(dtype);
                if tracked >> at & 1 == 1 { x.require_grad() } else { x }
            };
            // Of some rows nothing is stored, and some columns have no number.
            let values = waves([4 * ROWS, 1], &device).flatten(0, 1);
            let a = CooTensor::from_edges(&edges(), values, ROWS).unwrap().to_csr().cast(dtype);
            let a = if tracked & 8 > 0 { a.require_grad() } else { a };
            let x = own(
                0,
                waves([ROWS, 130], &device).mask_fill(waves([ROWS, 130], &device).greater_elem(0.99999), f32::NAN),
            );
            let (weight, bias) = (own(1, waves([130, 40], &device)), own(2, waves([1, 40], &device)));
            let after = || Epilogue { bias: Some(bias.clone().reshape([40])), relu: true };
            let joined = matmul_linear(&a, x.clone(), weight.clone(), after()).unwrap();
            let apart = linear(a.matmul(x.clone()), weight.clone(), after());
            assert!(joined.to_data().into_bytes() == apart.to_data().into_bytes(), "{dtype:?}, {tracked}");
            assert_eq!((joined.is_tracked(), joined.device()), (apart.is_tracked(), apart.device()));
            if tracked == 0 {
                continue;
            }
            let factors = waves([ROWS, 40], &device).cast(dtype);
            let [joined, apart] = [joined, apart].map(|out| (out * factors.clone()).sum().backward());
            for (at, own) in [&x, &weight, &bias].into_iter().enumerate() {
                let same = own.grad(&joined).map(|grad| grad.to_data().into_bytes())
                    == own.grad(&apart).map(|grad| grad.to_data().into_bytes());
                assert!(same, "{dtype:?}, {tracked}: gradient {at}");
            }
            let of_values = |grads| a.grad(grads).map(|grad| grad.values::<1>().to_data().into_bytes());
            assert!(of_values(&joined) == of_values(&apart), "{dtype:?}, {tracked}: gradient of the values");
        }
    }
    // The values alone are on a device with a tape, or the weight alone is frozen.
    let (plain, device) = (flex(), flex().autodiff());
    let a = CooTensor::from_edges(&edges(), waves([4 * ROWS, 1], &plain).flatten(0, 1), ROWS).unwrap().to_csr();
    let (x, weight) = (waves([ROWS, 130], &plain), waves([130, 40], &plain));
    let on_tape = a.clone().to_device(&device);
    let out = matmul_linear(&on_tape, x.clone(), weight.clone(), Epilogue::default()).unwrap();
    let want = linear(on_tape.matmul(x.clone()), weight.clone(), Epilogue::default());
    assert_eq!((out.device(), out.is_autodiff(), out.is_tracked()), (want.device(), want.is_autodiff(), false));
    let tracked = Tensor::from_inner(x.clone()).require_grad();
    let out = matmul_linear(&a, tracked.clone(), weight.clone(), Epilogue::default()).unwrap();
    let want = linear(a.matmul(tracked.clone()), weight.clone(), Epilogue::default());
    let [out, want] = [out, want].map(|out| tracked.grad(&out.square().sum().backward()).unwrap());
    assert!(out.to_data().into_bytes() == want.to_data().into_bytes());
    for (weight, bias) in [
        (weight.clone().cast(FloatDType::F64), None),
        (weight.clone(), Some(waves([40], &plain).cast(FloatDType::F64))),
    ] {
        let wrong = matmul_linear(&a, x.clone(), weight, Epilogue { bias, relu: false });
        assert_eq!(wrong.unwrap_err().kind(), "dtype_mismatch");
    }
    for (weight, bias) in [(ones([131, 40]), None), (weight, Some(ones([41])))] {
        let wrong = matmul_linear(&a, x.clone(), weight, Epilogue { bias, relu: false });
        assert_eq!(wrong.unwrap_err().kind(), "shape_mismatch");
    }
    // Another order of the elements, a fill, and what does not fit.
    let (a, x, weight) = (small(), ones([3, 2]), ones([2, 4]));
    let sums = |a: &CooTensor<2>| a.to_dense().matmul(ones([3, 2])).matmul(ones([2, 4]));
    near(matmul_linear(&a, x.clone(), weight.clone(), Epilogue::default()).unwrap(), sums(&a));
    let filled = a.add_scalar(1.0);
    near(matmul_linear(&filled, x, weight.clone(), Epilogue::default()).unwrap(), sums(&filled));
    let wrong = matmul_linear(&a, ones([4, 2]), weight, Epilogue::default());
    assert_eq!(wrong.unwrap_err().kind(), "shape_mismatch");
}

/// Layers of no inputs and of no nodes: the bias alone, after ReLU or not.
#[test]
fn linear_maps_of_nothing() {
    let graph = CsrTensor::<2>::from_dense(ones([2, 2]));
    for rectify in [true, false] {
        let config = GcnConvConfig::new(0, 3).with_normalize(false).with_relu(rectify);
        let mut layer = config.init(&flex());
        layer.bias = Some(Param::from_tensor(Tensor::from_floats([1.0, -2.0, 3.0], &flex())));
        let out = layer.forward(&graph, ones([2, 0]));
        let low = if rectify { 0.0 } else { -2.0 };
        near(out, Tensor::from_floats([[1.0, low, 3.0], [1.0, low, 3.0]], &flex()));
    }
    let bare = GcnConvConfig::new(0, 3).with_normalize(false).with_bias(false).init(&flex());
    near(bare.forward(&graph, ones([2, 0])), Tensor::zeros([2, 3], &flex()));
    let nobody = CsrTensor::<2>::from_dense(ones([0, 0]));
    for bias in [true, false] {
        let layer = GcnConvConfig::new(2, 3).with_normalize(false).with_bias(bias).init(&flex());
        assert_eq!(layer.forward(&nobody, ones([0, 2])).dims(), [0, 3]);
    }
}

/// More elements in a row than one kernel takes: the steps one after the other, with and without dropout.
const LONG: usize = 5000;

fn row_of_ones(columns: usize) -> CsrTensor<2> {
    CsrTensor::from_dense(ones([1, columns]))
}

fn waves<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
    let numbers: Vec<f32> = (0..shape.iter().product::<usize>()).map(|k| (k as f32 * 0.37).sin()).collect();
    Tensor::from_data(TensorData::new(numbers, shape), device)
}

#[test]
fn attention_over_a_long_row() {
    let device = flex().autodiff();
    let mask = row_of_ones(LONG).to_device(&device);
    let (query, key) = (waves([1, 3], &device), waves([LONG, 3], &device));
    let plain = |tensor: &Tensor<2>| tensor.clone().inner();
    let weights = softmax(plain(&query).matmul(plain(&key).transpose()) * 0.5, 1);
    for dropout in [0.0, 0.25] {
        // Only the values are tracked: their gradient is what they are multiplied by.
        let value = waves([LONG, 2], &device).require_grad();
        let out = ops::attention(query.clone(), key.clone(), value.clone(), &mask, Some(0.5), dropout);
        let grads = out.clone().sum().backward();
        let used = value.grad(&grads).unwrap().narrow(1, 0, 1).transpose();
        near(plain(&out), used.clone().matmul(plain(&value)));
        let dropped = read(used.clone()).iter().filter(|&&used| used == 0.0).count();
        let (least, most) = if dropout == 0.0 { (0, 0) } else { (LONG / 5, LONG * 3 / 10) };
        assert!((least..=most).contains(&dropped), "{dropped} dropped of {LONG}");
        let kept = used.clone().not_equal_elem(0).float();
        near(used * LONG as f32, weights.clone() * kept * (LONG as f64 / (1.0 - dropout)));
    }
}

/// Scores that a layer computes, in a graph whose only row is long.
#[test]
fn a_layer_of_attention_over_a_long_row() {
    let layer = GatConvConfig::new(3, 2).with_self_loops(false).init(&flex());
    let (source, target) = (waves([LONG, 3], &flex()), waves([1, 3], &flex()) + 0.2);
    let out = layer.forward_bipartite(&row_of_ones(LONG), source.clone(), target.clone(), None);
    let weight = layer.linear.weight.val();
    let (source, target) = (source.matmul(weight.clone()), target.matmul(weight));
    let from = source.clone().matmul(layer.source.val().transpose());
    let to = target.matmul(layer.target.val().transpose());
    let scores = from.transpose() + to;
    let scores = relu(scores.clone()) - relu(-scores) * 0.2;
    near(out, softmax(scores, 1).matmul(source));
}

/// A graph without edges, to which self loops are added: each node sees itself alone.
#[test]
fn attention_without_edges() {
    let layer = GatConvConfig::new(3, 2).init(&flex());
    let x = waves([4, 3], &flex());
    let out = layer.forward(&CsrTensor::from_dense(Tensor::zeros([4, 4], &flex())), x.clone());
    near(out, x.clone().matmul(layer.linear.weight.val()));
    let layer = GatConvConfig::new(3, 2).with_d_edge(Some(5)).init(&flex());
    let out = layer.forward_edges(&CsrTensor::from_dense(Tensor::zeros([4, 4], &flex())), x.clone(), ones([0, 5]));
    near(out, x.matmul(layer.linear.weight.val()));
}
