//! The README's "Rules that hold everywhere", each by its name. The law tests the first ones for every operation.

use burn::tensor::{Device, Distribution, Int, Tensor, TensorData};
use rayon::ThreadPoolBuilder;
use sparse_tensor::ops::{self, Reduce};
use sparse_tensor::{CooTensor, CsrTensor, Fill};

fn numbers<const D: usize>(x: Tensor<D>) -> Vec<f32> {
    x.into_data().iter().collect()
}

/// `[[1, 0, 2], [0, 3, 0]]`.
fn matrix(device: &Device) -> CsrTensor<2> {
    CsrTensor::from_dense(Tensor::from_floats([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]], device))
}

#[test]
fn same_answer_as_dense() {
    let device = Device::flex().autodiff();
    let x = Tensor::<2>::from_floats([[1.0, -2.0], [0.5, 4.0], [-1.0, 0.25]], &device).require_grad();
    let a = matrix(&device).require_grad();
    let dense = matrix(&device).to_dense().detach().require_grad();
    let ours = (&a * 2.0).exp().matmul(x.clone());
    let grads = (ours.clone() * ours.clone()).sum().backward();
    let own = [ours, x.grad(&grads).unwrap().autodiff()].map(numbers);
    let own_a = numbers(a.grad(&grads).unwrap().values::<1>());
    let reference = (dense.clone() * 2.0).exp().matmul(x.clone());
    let grads = (reference.clone() * reference.clone()).sum().backward();
    let want = [reference, x.grad(&grads).unwrap().autodiff()].map(numbers);
    let at_stored = numbers(dense.grad(&grads).unwrap());
    let want_a = [at_stored[0], at_stored[2], at_stored[4]];
    for (got, want) in own.concat().iter().chain(&own_a).zip(want.concat().iter().chain(&want_a)) {
        assert!((got - want).abs() <= 1e-5 * want.abs().max(1.0), "{got} and {want}");
    }
}

#[test]
fn the_fill_follows_the_dense_answer() {
    let a = matrix(&Device::flex());
    // Of the element at [0, 1], which is not stored.
    let missing = |a: CsrTensor<2>| numbers(a.to_dense())[1];
    assert_eq!(missing(a.exp()), 1.0);
    assert!(missing(&a / &a).is_nan());
    assert_eq!(missing(a.map_stored(|x| x.exp())), 0.0);
    assert_eq!(missing(a.div_stored(&a)), 0.0);
    assert!(a.with_fill(Fill::Undefined).exp().fill().is_undefined());
}

#[test]
fn gradients_stay_sparse() {
    let device = Device::flex().autodiff();
    let a = matrix(&device).require_grad();
    let loss = (a.matmul(Tensor::<2>::ones([3, 4], &device)).sum() + a.exp().to_dense().sum()) * 2.0;
    let grad = a.grad(&loss.backward()).unwrap();
    assert_eq!(grad.nnz(), 3);
    assert_eq!(grad.col_idx().into_data(), a.col_idx().into_data());
    assert_eq!(grad.row_ptr().into_data(), a.row_ptr().into_data());
}

#[test]
fn no_hidden_dense_copy() {
    let at = Tensor::<2, Int>::from_data([[0_i64, 7], [3, 1 << 30]], &Device::flex());
    let a = CooTensor::<2>::new(at, Tensor::<1>::ones([2], &Device::flex()), [1 << 31, 1 << 31]).unwrap();
    let elements = (1_u128 << 62).to_string();
    let stays_sparse = a.exp().mul_scalar(2.0).transpose().sum_dim(0);
    assert_eq!(stays_sparse.nnz(), 2);
    for error in [
        a.try_to_dense().unwrap_err(),
        a.exp().try_to_dense().unwrap_err(),
        a.try_add_dense(Tensor::ones([1, 1], &Device::flex())).unwrap_err(),
    ] {
        assert_eq!(error.kind(), "would_densify");
        assert!(error.to_string().contains(&elements), "{error}");
    }
}

/// Of a step that uses the kernels of every family, in pools of several sizes.
#[test]
fn same_bits_on_every_run() {
    const ROWS: usize = 400;
    const NNZ: usize = 20_000;
    let device = Device::flex().autodiff();
    let list = |factor: usize, size: usize| (0..NNZ).map(move |k| ((k * factor + k / 7) % size) as i64);
    let at: Vec<i64> = list(7919, ROWS).chain(list(104_729, ROWS)).collect();
    let values = Tensor::<1>::random([NNZ], Distribution::Uniform(-1.0, 1.0), &device).require_grad();
    let x = Tensor::<2>::random([ROWS, 33], Distribution::Uniform(-1.0, 1.0), &device).require_grad();
    let place = Tensor::<1, Int>::from_data(TensorData::new(list(31, 50).collect::<Vec<_>>(), [NNZ]), &device);
    let step = || {
        let at = Tensor::<2, Int>::from_data(TensorData::new(at.clone(), [2, NNZ]), &device);
        let a = CooTensor::<2>::new(at, values.clone(), [ROWS, ROWS]).unwrap().to_csr();
        let sum = &a + &a.transpose();
        let product = a.matmul(&sum).sum_dim(1).to_dense();
        let weights = sum.with_fill(Fill::Undefined).softmax(1);
        let hidden = weights.matmul(x.clone()) * product;
        let rows = ops::put_along_axis(
            Tensor::<1>::zeros([50], &device),
            place.clone(),
            values.clone(),
            0,
            Reduce::Mean,
            true,
        );
        let joined = ops::concat(&[a.clone(), a], 1).matmul(Tensor::cat(vec![x.clone(), hidden.clone()], 0));
        let grads = ((hidden * joined).sum() + rows.sum()).backward();
        let grads = [numbers(values.grad(&grads).unwrap()), numbers(x.grad(&grads).unwrap())];
        grads.concat().into_iter().map(f32::to_bits).collect::<Vec<_>>()
    };
    let first = step();
    for threads in [1, 2, 3, 8] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for run in 0..50 {
            assert!(pool.install(step) == first, "run {run} with {threads} threads has other bits");
        }
    }
}

#[test]
fn two_names() {
    let (a, b) = (matrix(&Device::flex()), matrix(&Device::flex()).transpose());
    let error = a.try_add(&b).unwrap_err();
    let panic = std::panic::catch_unwind(|| a.add(&b)).unwrap_err();
    // The macro on `try_x` makes `x`. That it names the caller's line is tested in `panics`.
    assert_eq!(panic.downcast_ref::<String>().unwrap(), &error.to_string());
}
