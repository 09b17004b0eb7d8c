//! The operation, the layer and the file format, on both layouts: on the CPU, and on a GPU with the feature `wgpu`.

use burn::module::Module;
use burn::tensor::activation::sigmoid;
use burn::tensor::{Device, Distribution, Tensor};
use gated_graphs::{GatedConvConfig, gated_sum, tns, try_gated_sum};
use sparse_tensor::pattern::Pattern;
use sparse_tensor::{CooTensor, CsrTensor, SparseTensor};

fn devices() -> Vec<Device> {
    vec![
        Device::flex(),
        #[cfg(feature = "wgpu")]
        Device::wgpu(Default::default()),
    ]
}

/// `[5, 7]`, of which the second row is empty.
fn matrix(device: &Device) -> CsrTensor<2> {
    let entries: Vec<(usize, usize, f64)> =
        (0..35).filter(|k| k % 3 != 1 && k / 7 != 1).map(|k| (k / 7, k % 7, f64::from(k as u32 % 5) - 1.5)).collect();
    let (rows, cols): (Vec<usize>, Vec<usize>) = entries.iter().map(|&(row, col, _)| (row, col)).unzip();
    let values: Vec<f64> = entries.iter().map(|entry| entry.2).collect();
    CsrTensor::from_triplets(&rows, &cols, &values, [5, 7], device).unwrap()
}

fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().iter().collect()
}

fn near(a: &[f32], b: &[f32]) {
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() <= 1e-4 * (1.0 + b.abs()), "{a} and {b}");
    }
}

/// The operation and its four gradients beside those of dense tensors.
fn agrees_with_dense<P: Pattern>(a: SparseTensor<P, 2>, device: &Device) {
    let device = device.clone().autodiff();
    let draw = |shape: [usize; 2]| Tensor::<2>::random(shape, Distribution::Normal(0.0, 1.0), &device).require_grad();
    let (s, t, x) = (draw([1, 5]), draw([1, 7]), draw([7, 4]));
    let a = a.require_grad();
    let out = gated_sum(&a, [s.clone().squeeze_dim(0), t.clone().squeeze_dim(0)], x.clone());
    let weights = Tensor::<2>::random([5, 4], Distribution::Normal(0.0, 1.0), &device);
    let grads = (out.clone() * weights.clone()).sum().backward();
    let found = [
        numbers(a.grad(&grads).unwrap().to_dense()),
        numbers(s.grad(&grads).unwrap()),
        numbers(t.grad(&grads).unwrap()),
        numbers(x.grad(&grads).unwrap()),
    ];

    let mask = a.to_dense().detach().not_equal_scalar(0.0).float();
    let dense = a.to_dense().detach().require_grad();
    let gate = sigmoid(s.clone().swap_dims(0, 1) + t.clone()) * mask.clone();
    let want = (dense.clone() * gate).matmul(x.clone());
    near(&numbers(out), &numbers(want.clone()));
    let grads = (want * weights).sum().backward();
    let expected = [
        numbers(dense.grad(&grads).unwrap() * mask.inner()),
        numbers(s.grad(&grads).unwrap()),
        numbers(t.grad(&grads).unwrap()),
        numbers(x.grad(&grads).unwrap()),
    ];
    found.iter().zip(&expected).for_each(|(found, expected)| near(found, expected));
}

#[test]
fn the_operation_and_its_gradients_are_those_of_dense_tensors() {
    for device in devices() {
        let a = matrix(&device.clone().autodiff());
        agrees_with_dense(a.to_coo(), &device);
        agrees_with_dense(a, &device);
    }
}

#[test]
fn a_matrix_without_elements_gives_zeros_and_gradients() {
    for device in devices() {
        let device = device.autodiff();
        let x = Tensor::<2>::ones([3, 2], &device).require_grad();
        let a = CsrTensor::<2>::from_dense(Tensor::zeros([2, 3], &device));
        let out = gated_sum(&a, [Tensor::ones([2], &device), Tensor::ones([3], &device)], x.clone());
        assert_eq!(numbers(x.grad(&out.sum().backward()).unwrap()), [0.0; 6]);
    }
}

#[test]
fn wrong_shapes_are_errors() {
    let device = Device::flex();
    let ones = |size: usize| Tensor::<1>::ones([size], &device);
    let x = Tensor::<2>::ones([7, 4], &device);
    let trouble = try_gated_sum(&matrix(&device), [ones(5), ones(6)], x).unwrap_err();
    assert_eq!(trouble.kind(), "shape_mismatch");
}

#[test]
fn the_layer_trains_on_both_layouts() {
    for device in devices() {
        let device = device.autodiff();
        let a = CsrTensor::<2>::from_dense(Tensor::ones([4, 4], &device));
        let x = Tensor::<2>::random([4, 3], Distribution::Default, &device);
        let layer = GatedConvConfig::new(3, 2).init(&device);
        let csr = layer.try_forward(&a, x.clone()).unwrap();
        let coo = layer.try_forward(&a.to_coo(), x).unwrap();
        near(&numbers(coo), &numbers(csr.clone()));
        let grads = csr.powi_scalar(2).sum().backward();
        assert!(layer.gates.weight.val().grad(&grads).is_some() && layer.num_params() == 12);
    }
}

/// This crate turns the default features off, so it has no `f16`. A GPU has it in any case.
#[cfg(not(feature = "wgpu"))]
#[test]
fn values_of_f16_without_their_feature_are_an_error() {
    use burn::tensor::FloatDType;
    use sparse_tensor::ops::{IndexPlan, Reduce};

    let device = Device::flex();
    let half = Tensor::<2>::ones([2, 2], &device).cast(FloatDType::F16);
    let plan = IndexPlan::from_list(&[0, 1], 2, &device).unwrap();
    let trouble = [
        matrix(&device).try_cast(FloatDType::BF16).unwrap_err(),
        plan.try_put(half.clone(), 0, half, Reduce::Add, true).unwrap_err(),
    ];
    for trouble in trouble {
        assert!(trouble.to_string().contains("the feature `f16`"), "{trouble}");
    }
}

#[test]
fn files_come_back() {
    let path = std::env::temp_dir().join(format!("third-party-{}.tns", std::process::id()));
    for device in devices() {
        let a = matrix(&device);
        tns::write(std::fs::File::create(&path).unwrap(), &a).unwrap();
        let read: CooTensor<2> = tns::read(&path, &device).unwrap();
        assert_eq!(numbers(read.to_csr().to_dense()), numbers(a.to_dense()));
    }
    std::fs::write(&path, "# sizes follow\n1 2 3 0.5\n\n2 x 1 1\n").unwrap();
    let trouble = tns::read::<3>(&path, &Device::flex()).unwrap_err().to_string();
    assert!(trouble.ends_with("line 4: 3 coordinates and a value are due, got \"2 x 1 1\""), "{trouble}");
    std::fs::remove_file(path).unwrap();
}
