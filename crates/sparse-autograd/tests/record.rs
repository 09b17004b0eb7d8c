//! `record` in every arity, on every CPU backend of the build, with and without gradient checkpointing.
#![allow(deprecated)] // NdArray is, and is tested all the same.

use burn::tensor::{DType, Device, Tensor, TensorData};
use sparse_autograd::{Erased, Gradcheck, backward_from, gradcheck, record};

fn devices() -> Vec<Device> {
    let plain = [
        Device::flex(),
        #[cfg(feature = "ndarray")]
        Device::ndarray(),
    ];
    plain
        .into_iter()
        .flat_map(|device| [device.clone().autodiff(), device.autodiff().gradient_checkpointing()])
        .collect()
}

fn data(values: &[f64]) -> TensorData {
    TensorData::new(values.to_vec(), [values.len()])
}

/// `a * b + sum(c)`, where c has another rank, by a rule of three parents.
fn fused(a: Tensor<1>, b: Tensor<1>, c: Tensor<2>) -> Tensor<1> {
    let (x, y) = (a.clone().inner(), b.clone().inner());
    let sum = c.clone().inner().sum();
    let out = x.clone() * y.clone() + sum;
    let shape = c.dims();
    record(out, [Erased::from(a), Erased::from(b), Erased::from(c)], (x, y, shape), |(x, y, shape), grad, [a, b, c]| {
        [
            a.then(|| (grad.clone() * y.clone()).into()),
            b.then(|| (grad.clone() * x.clone()).into()),
            c.then(|| grad.sum().reshape([1, 1]).expand(*shape).into()),
        ]
    })
}

#[test]
fn three_parents_among_ordinary_operations() {
    for device in devices() {
        let inputs = [data(&[1.0, -2.0, 3.0]), data(&[0.5, 4.0, -1.0]), TensorData::from([[1.0f64, 2.0], [3.0, 4.0]])];
        let report = gradcheck(&device, &inputs, |xs| {
            let a = xs[0].tensor::<1>();
            // The first parent is used three times.
            fused(a.clone().tanh(), xs[1].tensor::<1>() * a.clone(), xs[2].tensor::<2>().exp()) * a
        });
        assert_eq!(report.unwrap().compared, 10, "on {device:?}");
    }
}

#[test]
fn an_untracked_parent_costs_nothing() {
    for device in devices() {
        let a = Tensor::<1>::from_data(data(&[1.0, 2.0]), (&device, DType::F64)).require_grad();
        let b = Tensor::<1>::from_data(data(&[3.0, 4.0]), (&device, DType::F64));
        let out = a.clone().inner() * b.clone().inner();
        let out = record(out, [Erased::from(&a), Erased::from(&b)], b.inner(), |b, grad, needs| {
            assert_eq!(needs, [true, false]);
            [Some((grad * b.clone()).into()), None]
        });
        let grads = out.sum().backward();
        assert_eq!(a.grad(&grads).unwrap().into_data().iter::<f64>().collect::<Vec<_>>(), [3.0, 4.0]);
    }
}

#[test]
fn without_a_tape_the_output_comes_back() {
    let device = Device::flex();
    let a = Tensor::<1>::ones([3], &device);
    let out = record(a.clone() * 2.0, [Erased::from(&a)], (), |(), _, _| unreachable!("no backward pass"));
    assert!(!out.is_autodiff() && !out.is_tracked());
}

#[test]
fn a_wrong_rule_is_found() {
    let device = Device::flex().autodiff();
    let wrong = |x: Tensor<1>| {
        let inner = x.clone().inner();
        record(inner.clone() * inner.clone(), [Erased::from(&x)], inner, |x, grad, _| {
            // The factor 2 is missing at one element only.
            let factor = Tensor::from_data(data(&[2.0, 1.0, 2.0]), (&x.device(), DType::F64));
            [Some((grad * x.clone() * factor).into())]
        })
    };
    let trouble = gradcheck(&device, &[data(&[1.0, 2.0, 3.0])], |xs| wrong(xs[0].tensor())).unwrap_err();
    assert_eq!((trouble.input, trouble.element), (0, 1), "{trouble}");
    let loose = Gradcheck { tolerance: 10.0, ..Gradcheck::default() };
    assert!(loose.run(&device, &[data(&[1.0, 2.0, 3.0])], |xs| wrong(xs[0].tensor())).is_ok());
}

#[test]
#[should_panic(expected = "must have its shape")]
fn a_gradient_of_another_shape_is_refused() {
    let device = Device::flex().autodiff();
    let x = Tensor::<1>::ones([3], &device).require_grad();
    let out = record(x.clone().inner(), [Erased::from(&x)], (), |(), grad, _| [Some(grad.narrow(0, 0, 1).into())]);
    let _ = out.sum().backward();
}

#[test]
fn backward_from_a_gradient_is_backward_of_the_weighted_sum() {
    for device in devices() {
        let leaf = |values: &[f64]| Tensor::<1>::from_data(data(values), (&device, DType::F64)).require_grad();
        let weights = Tensor::<1>::from_data(data(&[0.5, -2.0]), (&device.clone().inner(), DType::F64));
        let grads = |weighted: bool| {
            let (a, b) = (leaf(&[1.0, -3.0]), leaf(&[2.0, 5.0]));
            let out = (a.clone() * b.clone()).tanh() * a.clone();
            let grads = if weighted {
                let weights = Tensor::from_data(weights.to_data(), (&device, DType::F64));
                (out * weights).sum().backward()
            } else {
                backward_from(&out, weights.clone())
            };
            [a, b].map(|leaf| leaf.grad(&grads).unwrap().into_data().to_vec::<f64>().unwrap())
        };
        assert_eq!(grads(false), grads(true), "on {device:?}");
    }
}

#[test]
#[should_panic(expected = "backward_from: the gradient must have the shape and dtype of the output")]
fn backward_from_a_gradient_of_another_shape() {
    let device = Device::flex().autodiff();
    let x = Tensor::<1>::ones([3], &device).require_grad();
    backward_from(&x.exp(), Tensor::ones([2], &device.inner()));
}

#[test]
#[should_panic(expected = "requires a tracked autodiff tensor")]
fn backward_from_an_output_off_the_tape() {
    let device = Device::flex().autodiff();
    backward_from(&Tensor::<1>::ones([3], &device), Tensor::ones([3], &device.inner()));
}
