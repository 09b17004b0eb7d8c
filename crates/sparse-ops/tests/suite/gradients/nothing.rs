//! Steps that find nothing stored: their results stay on the tape, with zero gradients.

use burn::tensor::{Device, Int, Tensor, TensorData};
use sparse_dev::gradients::devices;
use sparse_tensor::ops::{Epilogue, Reduce, concat, scatter};
use sparse_tensor::pattern::Pattern;
use sparse_tensor::{CooTensor, CsrTensor, Fill, SparseTensor};

/// Elements of a 3 x 3 matrix on the tape.
fn matrix(coordinates: &[[i64; 2]], device: &Device) -> CooTensor<2> {
    let count = coordinates.len();
    let flat: Vec<i64> = [0, 1].iter().flat_map(|&dim| coordinates.iter().map(move |at| at[dim])).collect();
    let indices = Tensor::<2, Int>::from_data(TensorData::new(flat, [2, count]), device);
    CooTensor::new(indices, Tensor::<1>::ones([count], device), [3, 3]).unwrap().require_grad()
}

type Step = (&'static str, fn(&CooTensor<2>) -> Tensor<1>);

/// The gradient of each step is zero for every stored value.
fn check(coordinates: &[[i64; 2]], steps: &[Step]) {
    for device in devices() {
        for (name, step) in steps {
            let a = matrix(coordinates, &device);
            let loss = step(&a);
            assert!(loss.is_tracked(), "{name} is not on the tape");
            let grads = loss.backward();
            let grad = a.grad(&grads).unwrap_or_else(|| panic!("{name} gives no gradient"));
            let slopes: Vec<f32> = grad.values::<1>().into_data().iter().collect();
            assert!(
                slopes.len() == coordinates.len() && slopes.iter().all(|&slope| slope == 0.0),
                "{name}: {slopes:?}"
            );
        }
    }
}

fn indices(rows: &[i64], device: &Device) -> Tensor<1, Int> {
    Tensor::from_data(TensorData::new(rows.to_vec(), [rows.len()]), device)
}

fn dense<P: Pattern>(of: &SparseTensor<P, 2>) -> Tensor<2> {
    Tensor::ones([3, 2], &of.device())
}

fn csr(of: &CooTensor<2>) -> CsrTensor<2> {
    of.to_csr()
}

#[test]
fn parts_without_stored_elements() {
    check(
        &[[0, 0], [1, 1]],
        &[
            ("narrow", |a| a.narrow(0, 2, 1).to_dense().sum()),
            ("narrow of CSR", |a| csr(a).narrow(0, 2, 1).sum()),
            ("select", |a| a.select(0, indices(&[2], &a.device())).sum()),
            ("select of CSR", |a| csr(a).select(0, indices(&[2], &a.device())).sum()),
            ("slice_dim", |a| a.slice_dim(1, 2..3).sum()),
            ("prune", |a| a.prune(2.0).sum()),
            ("tril", |a| a.tril(-1).sum()),
            ("concat", |a| concat(&[a.tril(-1), a.tril(-1)], 0).sum()),
            ("matmul", |a| a.tril(-1).to_csr().matmul(dense(a)).sum()),
        ],
    );
}

#[test]
fn tensors_without_stored_elements() {
    check(
        &[],
        &[
            ("sum", |a| a.sum()),
            ("sum_dim", |a| a.sum_dim(0).sum()),
            ("max_dim", |a| a.max_dim(1).sum()),
            ("prod", |a| a.prod()),
            ("exp", |a| a.exp().sum()),
            ("map", |a| a.clone().map(|rows| rows.mul_scalar(2.0)).sum()),
            ("powf_scalar", |a| a.powf_scalar(2.0).sum()),
            ("max_pair", |a| a.max_pair(a).sum()),
            ("add", |a| a.add(a).sum()),
            ("expand", |a| a.narrow(0, 0, 1).expand([3, 3]).sum()),
            ("to_dense", |a| a.to_dense().sum()),
            ("spgemm", |a| csr(a).matmul(&csr(a)).sum()),
            ("matmul", |a| csr(a).matmul(dense(a)).sum()),
            ("softmax", |a| csr(a).softmax(1).to_dense_or(0).sum()),
        ],
    );
}

#[test]
fn a_fill_that_no_element_has() {
    let products: [fn(&CsrTensor<2>) -> Tensor<2>; 3] = [
        |full| full.matmul(dense(full).narrow(0, 0, 2)),
        |full| full.matmul_then(dense(full).narrow(0, 0, 2), Epilogue { bias: None, relu: true }),
        |full| full.rmatmul(dense(full)),
    ];
    for device in devices() {
        for product in products {
            let fill = Tensor::<1>::from_floats([3.0], &device).require_grad();
            let full = CsrTensor::<2>::from_dense(Tensor::ones([2, 2], &device)).with_fill(Fill::tensor(fill.clone()));
            let grads = product(&full).sum().backward();
            assert_eq!(fill.grad(&grads).expect("on the tape").into_scalar::<f32>(), 0.0);
        }
    }
}

/// What leaves the fill out has a zero gradient for it, also where nothing else is tracked.
#[test]
fn a_fill_that_takes_no_part() {
    type Left = (&'static str, fn(&CsrTensor<2>) -> Tensor<1>);
    let steps: [Left; 11] = [
        ("softmax", |a| a.softmax(1).to_dense_or(0).sum()),
        ("log_softmax", |a| a.log_softmax(0).to_dense_or(0).sum()),
        ("Stored::sum", |a| a.stored().sum()),
        ("Stored::mean_dim", |a| a.stored().mean_dim(0).to_dense_or(0).sum()),
        ("Stored::prod", |a| a.stored().prod()),
        ("Stored::max_dim", |a| a.stored().max_dim(1).to_dense_or(0).sum()),
        ("Stored::mul", |a| a.stored().mul(a).to_dense().sum()),
        ("Stored::zip", |a| a.stored().zip(a, |x, y| x + y).to_dense().sum()),
        ("matmul_reduce", |a| a.matmul_reduce(dense(a).narrow(0, 0, 2), Reduce::Amax).sum()),
        ("add", |a| a.add(&a.clone().with_fill(Fill::Undefined)).to_dense_or(0).sum()),
        ("max_pair", |a| a.max_pair(&a.clone().with_fill(Fill::Undefined)).to_dense_or(0).sum()),
    ];
    for device in devices() {
        for (name, step) in steps {
            let fill = Tensor::<1>::from_floats([3.0], &device).require_grad();
            let full = CsrTensor::<2>::from_dense(Tensor::ones([2, 2], &device)).with_fill(Fill::tensor(fill.clone()));
            let grads = step(&full).backward();
            let slope = fill.grad(&grads).unwrap_or_else(|| panic!("{name} is not on the tape"));
            assert_eq!(slope.into_scalar::<f32>(), 0.0, "{name}");
        }
    }
}

/// Values that nothing reads are on the tape of a result too.
#[test]
fn values_that_go_nowhere() {
    for device in devices() {
        let index = Tensor::<2, Int>::zeros([2, 0], &device);
        let src = Tensor::<2>::zeros([2, 0], &device).require_grad();
        let out = scatter(Tensor::<2>::ones([2, 3], &device), 1, index, src.clone());
        assert!(src.grad(&out.sum().backward()).is_some());
    }
}

/// `f` is not called on values that are not there, so neither is its slope at zero.
#[test]
fn a_function_of_no_values_gives_no_nan_to_what_it_captures() {
    for device in devices() {
        let scale = Tensor::<1>::from_floats([2.0], &device).require_grad();
        let none = matrix(&[], &device);
        let mapped = none.stored().map(|rows| rows.log() * scale.clone().unsqueeze());
        let loss = mapped.values::<1>().sum() + scale.clone().sum();
        let grad = scale.grad(&loss.backward()).expect("on the tape").into_scalar::<f32>();
        assert_eq!(grad, 1.0);
    }
}
