use burn::module::{Module, Param};
use burn::nn::{Linear, LinearConfig};
use burn::optim::GradientsParams;
use burn::tensor::{DType, Device, Tensor, TensorData};
use sparse_tensor::CsrTensor;
use sparse_tensor::module::CsrParam;
use sparse_tensor::nn::clip_grad_norm;

#[derive(Module, Debug)]
struct Model {
    dense: Linear,
    sparse: CsrParam<2>,
    half: Param<Tensor<1>>,
    unused: Param<Tensor<1>>,
    /// The weight of `dense` again.
    shared: Param<Tensor<2>>,
}

fn model(device: &Device) -> Model {
    let dense = LinearConfig::new(2, 3).init(device);
    let sparse = Tensor::from_floats([[0.0, 3.0], [-1.0, 0.0]], device);
    let half = Tensor::from_data(TensorData::from([1.0f32, 2.0]), (device, DType::F16));
    // A clone of a parameter that does not exist yet would be another one.
    dense.weight.val();
    Model {
        shared: dense.weight.clone(),
        dense,
        sparse: CsrParam::from_tensor(CsrTensor::from_dense(sparse)),
        half: Param::from_tensor(half),
        unused: Param::from_tensor(Tensor::ones([2], device)),
    }
}

/// The gradients of all parameters in one list.
fn list(model: &Model, grads: &GradientsParams) -> Vec<f64> {
    let mut all: Vec<f64> = vec![];
    all.extend(grads.get::<2>(model.dense.weight.id).unwrap().into_data().iter::<f64>());
    all.extend(grads.get::<1>(model.dense.bias.as_ref().unwrap().id).unwrap().into_data().iter::<f64>());
    all.extend(grads.get::<2>(model.sparse.id()).unwrap().into_data().iter::<f64>());
    all.extend(grads.get::<1>(model.half.id).unwrap().into_data().iter::<f64>());
    all
}

fn grads(model: &Model, scale: f64) -> GradientsParams {
    let x = Tensor::<2>::from_floats([[1.0, -2.0]], &model.unused.device());
    let out = model.dense.forward(x).powi_scalar(2).sum();
    let sparse = model.sparse.val().sum().reshape([1]) * 2.0;
    let half = model.half.val().cast(DType::F32).powi_scalar(2).sum();
    GradientsParams::from_grads(((out + sparse + half) * scale).backward(), model)
}

#[test]
fn all_gradients_are_scaled_by_their_common_norm() {
    let model = model(&Device::flex().autodiff());
    let before = list(&model, &grads(&model, 1.0));
    let norm = before.iter().map(|x| x * x).sum::<f64>().sqrt();
    for (max, factor) in [(0.5, 0.5 / norm), (2.0 * norm, 1.0)] {
        let (clipped, told) = clip_grad_norm(&model, grads(&model, 1.0), max);
        assert!((told.unwrap().into_scalar::<f64>() - norm).abs() < 1e-3 * norm);
        let after = list(&model, &clipped);
        assert_eq!((after.len(), clipped.len()), (before.len(), 4));
        for (after, before) in after.iter().zip(&before) {
            assert!((after - before * factor).abs() < 2e-3 * (1.0 + before.abs()), "{after} of {before}, {factor}");
        }
    }
}

#[test]
fn a_norm_that_is_not_finite_is_told() {
    let model = model(&Device::flex().autodiff());
    let (_, norm) = clip_grad_norm(&model, grads(&model, f64::INFINITY), 1.0);
    assert!(!norm.unwrap().into_scalar::<f64>().is_finite());
    let (none, norm) = clip_grad_norm(&model, GradientsParams::new(), 1.0);
    assert!(none.is_empty() && norm.is_none());
}
