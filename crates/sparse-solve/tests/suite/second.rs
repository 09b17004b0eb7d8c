//! The second solve, where it is not easy.

use crate::random::dense;
use crate::refused::told;
use burn::tensor::{DType, Device, Tensor, TensorData};
use sparse_dev::gradients::check;
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{Boundary, Hints, LinearOperator, Method, Operator, SolverConfig, jacobi, laplacian};

const LEAST_SQUARES: [Method; 3] = [Method::Lsqr, Method::Lsmr, Method::Cgls];

fn list<const D: usize>(x: Tensor<D>) -> Vec<f64> {
    x.into_data().iter().collect()
}

/// No gradient is needed of the one, and the other one is on the tape.
#[test]
fn reaches_a_matrix_whose_right_side_has_no_tape() {
    let autodiff = Device::flex().autodiff();
    let rows = [[4.0, 1.0], [1.0, 3.0]];
    for method in [Method::Cg, Method::Gmres { restart: 3 }, Method::Lsmr] {
        let grads = [&autodiff, &Device::flex()].map(|device| {
            let a = CsrTensor::<2>::from_dense(Tensor::from_floats(rows, &autodiff)).require_grad();
            let x = SolverConfig::new(method).solve(&a, Tensor::<1>::from_floats([1.0, 2.0], device));
            list(a.grad(&x.sum().backward()).unwrap().to_dense())
        });
        assert_eq!(grads[0], grads[1], "{method:?}");
        assert!(grads[0].iter().all(|own| own.abs() > 1e-3), "{:?}", grads[0]);

        let (a, b) = (Tensor::<2>::from_floats(rows, &Device::flex()), Tensor::<1>::from_floats([1.0, 2.0], &autodiff));
        let b = b.require_grad();
        let x = SolverConfig::new(method).solve(&CsrTensor::<2>::from_dense(a), b.clone());
        for (got, want) in list(b.grad(&x.sum().backward()).unwrap()).into_iter().zip([2.0 / 11.0, 3.0 / 11.0]) {
            assert!((got - want).abs() < 1e-5);
        }
    }
}

/// `x` is right, but `A^-T` is another matrix. In each system of a batch, with and without a preconditioner.
#[test]
fn of_a_matrix_that_is_not_symmetric_is_refused() {
    let device = Device::flex().autodiff();
    let rows = [4.0, 1.0, 0.0, 1.0, 3.0, 0.5, 0.0, 0.6, 5.0];
    for dtype in [DType::F32, DType::F64] {
        let (on, off) = ((&device, dtype), (&Device::flex(), dtype));
        let of =
            |tape| CsrTensor::<2>::from_dense(Tensor::<2>::from_data(TensorData::new(rows.to_vec(), [3, 3]), tape));
        let b = |tape| Tensor::<1>::from_data(TensorData::new(vec![1.0, 2.0, 3.0], [3]), tape);
        for method in [Method::Cg, Method::Minres] {
            let config = SolverConfig::new(method).with_max_iterations(Some(100));
            let preconditioner = jacobi(&of(off));
            for preconditioner in [None, Some(&preconditioner as &dyn LinearOperator)] {
                let hints = || Hints { preconditioner, ..Hints::default() };
                let told_of = |a: &CsrTensor<2>, b| {
                    let part = format!("the matrix of {method:?} must be symmetric");
                    told(config.try_solve_with(a, b, hints()).map(|own| own.x), "invalid", &part);
                };
                told_of(&of(on).require_grad(), b(off));
                told_of(&of(off), b(on).require_grad());
                // Without something to differentiate it is a solution.
                for a in [of(off), of(on)] {
                    let x = config.try_solve_with(&a, b(off), hints()).unwrap().x;
                    let rest = of(off).matmul(x.inner().reshape([3, 1])).reshape([3]) - b(off);
                    assert!(list::<1>(rest).iter().all(|own| own.abs() < 1e-3), "{method:?}");
                }
            }
            let good = [4.0, 1.0, 0.0, 1.0, 3.0, 0.5, 0.0, 0.5, 5.0];
            let batch = TensorData::new([good, rows, good].concat(), [3, 3, 3]);
            let batch = CsrTensor::<3>::from_dense(Tensor::<3>::from_data(batch, on)).require_grad();
            let result = config.try_solve(&batch, Tensor::<2>::ones([3, 3], off));
            told(result, "invalid", "of random vectors of system 1: use BiCgStab");
            // Rounding of elements is no sign of it.
            let near = Tensor::<2>::from_data(TensorData::new(good.to_vec(), [3, 3]), on);
            let noise: Vec<f64> = (0..9).map(|k| 1.0 + f64::from(k) * 1e-7).collect();
            let a = CsrTensor::<2>::from_dense(near * Tensor::from_data(TensorData::new(noise, [3, 3]), on));
            assert!(config.try_solve(&a.require_grad(), b(off)).is_ok());
        }
    }
}

/// The way from a start is short; the solve in the backward pass has none.
#[test]
fn after_a_start_has_a_limit_of_its_own() {
    let device = Device::flex().autodiff();
    let a = laplacian(&[12], Boundary::Dirichlet, (&device, DType::F64)).unwrap();
    let b = Tensor::<1>::ones([12], (&device, DType::F64)).require_grad();
    let config = SolverConfig::new(Method::Gmres { restart: 30 }).with_relative(1e-9);
    let start = config.solve(&a, b.clone()).inner() * (1.0 + 1e-10);
    let few = config.with_max_iterations(Some(2));
    let hints = Hints { start: Some(start), ..Hints::default() };
    let x = few.try_solve_with(&a, b.clone(), hints).unwrap().x;
    for (k, got) in list(b.grad(&x.sum().backward()).unwrap()).into_iter().enumerate() {
        assert!((got - (k + 1) as f64 * (12 - k) as f64 / 2.0).abs() < 1e-6);
    }
}

/// The result is on the tape where `a` or `b` is, and is tracked.
#[test]
fn of_no_unknowns_has_a_tape() {
    let (plain, device) = (Device::flex(), Device::flex().autodiff());
    for method in [Method::Cg, Method::Gmres { restart: 3 }, Method::Lsmr] {
        let config = SolverConfig::new(method);
        for (sizes, width) in [([0, 0], 2), ([3, 3], 0), ([0, 0], 0)] {
            let a = CsrTensor::<2>::zeros(sizes, &device).require_grad();
            let x = config.solve(&a, Tensor::<2>::zeros([sizes[0], width], &plain));
            assert_eq!(a.grad(&x.sum().backward()).unwrap().nnz(), 0);
            let b = Tensor::<2>::zeros([sizes[0], width], &device).require_grad();
            let x = config.solve(&CsrTensor::<2>::zeros(sizes, &plain), b.clone());
            assert_eq!(b.grad(&x.sum().backward()).unwrap().dims(), [sizes[0], width]);
            let x = config.solve(&CsrTensor::<2>::zeros(sizes, &device), b.clone().inner());
            assert!(x.is_autodiff() && !x.is_tracked());
        }
        let a = CsrTensor::<3>::zeros([0, 3, 3], &device).require_grad();
        let x = config.solve(&a, Tensor::<2>::zeros([0, 3], &plain));
        assert_eq!(a.grad(&x.sum().backward()).unwrap().nnz(), 0);
    }
}

/// Of zeros the solution is exact: the absolute tolerance did not end it, and says nothing about the gradient.
#[test]
fn of_a_right_side_of_zeros_is_as_exact_as_was_asked() {
    let (device, dtype) = (Device::flex().autodiff(), DType::F64);
    let a = laplacian(&[30], Boundary::Dirichlet, (&device, dtype)).unwrap();
    let a = a.add(&CsrTensor::<2>::eye(30, (&device, dtype)));
    let b = Tensor::<1>::zeros([30], (&device, dtype)).require_grad();
    let weights = dense(&(0..30).map(|k| f64::from(k).sin()).collect::<Vec<_>>(), [30], dtype);
    let exact: Tensor<1> = SolverConfig::new(Method::Cg).with_relative(1e-14).solve(&a, weights.clone());
    let error = |config: SolverConfig| {
        let x = config.solve(&a, b.clone());
        let grads = (x * Tensor::from_data(weights.to_data(), (&device, dtype))).sum().backward();
        let far = list(b.grad(&grads).unwrap()).into_iter().zip(list(exact.clone())).map(|(got, want)| got - want);
        far.fold(0.0, |most: f64, own| most.max(own.abs()))
    };
    let config = SolverConfig::new(Method::Cg).with_absolute(1.0);
    assert!(error(config.clone().with_relative(1e-10)) < 1e-9);
    // With an absolute tolerance alone there is no other one to take.
    assert!((1e-9..1e-2).contains(&error(config.with_relative(0.0))));
}

/// In f32 with defaults. The normal equations of this matrix are out of reach.
#[test]
fn of_least_squares_does_not_square_the_condition() {
    let device = Device::flex().autodiff();
    let a = laplacian(&[12], Boundary::Dirichlet, &device).unwrap().require_grad();
    for method in LEAST_SQUARES {
        let b = Tensor::<1>::ones([12], &device).require_grad();
        let grads = SolverConfig::new(method).solve(&a, b.clone()).sum().backward();
        // A is symmetric: the gradient of b is x itself, k (13 - k) / 2.
        for (k, got) in list(b.grad(&grads).unwrap()).into_iter().enumerate() {
            let want = (k + 1) as f64 * (12 - k) as f64 / 2.0;
            assert!((got - want).abs() < 2e-2, "{method:?}: {got} and {want}");
        }
        assert!(list(a.grad(&grads).unwrap().to_dense()).iter().all(|own| own.is_finite()));
    }
}

/// `b` is far from the range, so that the gradient has both terms.
#[test]
fn of_least_squares_has_the_term_of_the_residual() {
    for pick in 0..4 {
        for (rows, cols) in [(4, 2), (2, 4), (3, 3)] {
            let values: Vec<f64> = (0..rows * cols).map(|at| (at as f64 * 1.7).sin() + 0.2).collect();
            let right: Vec<f64> = (0..2 * rows).map(|at| 5.0 * (at as f64 * 2.3).cos()).collect();
            let inputs = [TensorData::new(values, [rows, cols]), TensorData::new(right, [rows, 2])];
            for method in LEAST_SQUARES {
                let config = SolverConfig::new(method).with_relative(1e-13).with_accept_unsolved(true);
                let matrix = |x: Tensor<2>| CsrTensor::<2>::from_dense(x);
                check(pick, &inputs, |xs| config.solve(&matrix(xs[0].tensor()), xs[1].tensor::<2>())).unwrap();
            }
        }
    }
}

/// With a matrix without full rank: the right-hand side has its gradient, and nothing panics.
#[test]
fn of_a_matrix_without_full_rank() {
    let device = Device::flex().autodiff();
    for method in LEAST_SQUARES {
        let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 0.0], [0.0, 0.0]], &device)).require_grad();
        let b = Tensor::<1>::from_floats([1.0, 1.0], &device).require_grad();
        let grads = SolverConfig::new(method).solve(&a, b.clone()).sum().backward();
        for (got, want) in list(b.grad(&grads).unwrap()).into_iter().zip([1.0, 0.0]) {
            assert!((got - want).abs() < 1e-5, "{method:?}");
        }
    }
}

/// The value is the same with and without a tape.
#[test]
fn does_not_change_the_solution() {
    let rows = [[1.0, 0.5, -0.3], [0.2, -1.0, 0.7]];
    for method in LEAST_SQUARES {
        let [plain, taped] = [Device::flex(), Device::flex().autodiff()].map(|device| {
            let a = CsrTensor::<2>::from_dense(Tensor::from_floats(rows, &device));
            let a = if device.is_autodiff() { a.require_grad() } else { a };
            list(SolverConfig::new(method).solve(&a, Tensor::<1>::from_floats([1.0, 2.0], &device)))
        });
        assert_eq!(plain, taped, "{method:?}");
    }
}

/// Without a relative tolerance it takes that of the first solve.
#[test]
fn with_an_absolute_tolerance() {
    let device = Device::flex().autodiff();
    let rows = Tensor::<2>::from_data([[4.0f64, 1.0], [1.0, 3.0]], (&device, DType::F64));
    let a = CsrTensor::<2>::from_dense(rows);
    for scale in [1.0, 1e-9] {
        for accept in [false, true] {
            let b = Tensor::<1>::from_data([scale, 2.0 * scale], (&device, DType::F64)).require_grad();
            let config =
                SolverConfig::new(Method::Cg).with_relative(0.0).with_absolute(1e-8).with_accept_unsolved(accept);
            let grad = list(b.grad(&config.solve(&a, b.clone()).sum().backward()).unwrap());
            for (got, want) in grad.into_iter().zip([2.0 / 11.0, 3.0 / 11.0]) {
                assert!((got - want).abs() < 1e-3, "{scale:e}: {got}");
            }
        }
    }
}

#[test]
fn of_a_gradient_that_is_not_finite_gives_nan() {
    let device = Device::flex().autodiff();
    for method in [Method::Cg, Method::Minres, Method::BiCgStab, Method::Gmres { restart: 3 }, Method::Lsmr] {
        let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[4.0, 1.0], [1.0, 3.0]], &device));
        let b = Tensor::<2>::from_floats([[1.0, 1.0], [2.0, 1.0]], &device).require_grad();
        let x = SolverConfig::new(method).solve(&a, b.clone());
        let bad = Tensor::<2>::from_floats([[f32::NAN, 1.0], [1.0, 1.0]], &device);
        let grad = list(b.grad(&(x * bad).sum().backward()).unwrap());
        assert!(grad[0].is_nan() && grad[2].is_nan(), "{method:?}: {grad:?}");
        assert!((grad[1] - 2.0 / 11.0).abs() < 1e-5 && (grad[3] - 3.0 / 11.0).abs() < 1e-5, "{method:?}: {grad:?}");
    }
}

/// It is an error of the forward call.
#[test]
fn needs_a_transposed_product() {
    let device = Device::flex().autodiff();
    let one_way =
        Operator::from_fn([1, 1], Vec::<Tensor<1>>::new(), |_, x: Tensor<2>| x.mul_scalar(2.0), None::<fn(&_, _) -> _>);
    let told = one_way.try_apply_transposed(Tensor::ones([1, 1], &Device::flex())).unwrap_err().to_string();
    assert!(told.contains("give the transposed closure"), "{told}");
    let b = Tensor::<1>::from_floats([1.0], &device).require_grad();
    // Symmetric methods have no need of it.
    let x = SolverConfig::new(Method::Cg).solve(&one_way, b.clone());
    assert_eq!(b.grad(&x.sum().backward()).unwrap().into_scalar::<f32>(), 0.5);
    for method in [Method::BiCgStab, Method::Gmres { restart: 2 }, Method::Lsmr] {
        let config = SolverConfig::new(method);
        let told = config.try_solve(&one_way, b.clone()).unwrap_err().to_string();
        assert!(told.contains("give the transposed closure"), "{told}");
    }
    // Nor has a solve of what nobody tracks.
    let x = SolverConfig::new(Method::BiCgStab).solve(&one_way, Tensor::<1>::from_floats([1.0], &device));
    assert_eq!(list(x), [0.5]);
}

/// `A` is not symmetric, and neither is about its inverse.
#[test]
fn takes_the_transposed_preconditioner() {
    let device = Device::flex().autodiff();
    let n = 6;
    let entry = |i: usize, j: usize| {
        if i == j {
            3.0
        } else if j == i + 1 {
            -1.5
        } else {
            0.0
        }
    };
    let rows: Vec<f64> = (0..n * n).map(|at| entry(at / n, at % n)).collect();
    // The inverse of an upper bidiagonal matrix: powers of the quotient.
    let inverse: Vec<f64> =
        (0..n * n).map(|at| if at % n < at / n { 0.0 } else { 0.5f64.powi((at % n - at / n) as i32) / 3.0 }).collect();
    let a = CsrTensor::<2>::from_dense(dense(&rows, [n, n], DType::F64));
    let preconditioner = Operator::from(dense(&inverse, [n, n], DType::F64));
    for method in [
        Method::BiCg,
        Method::Qmr,
        Method::BiCgStab,
        Method::Gmres { restart: 6 },
        Method::Fgmres { restart: 6 },
        Method::Idr { shadows: 2 },
    ] {
        let b = Tensor::<1>::ones([n], (&device, DType::F64)).require_grad();
        let hints = Hints { preconditioner: Some(&preconditioner), ..Hints::default() };
        // With another preconditioner three iterations are not enough.
        let config = SolverConfig::new(method).with_relative(1e-9).with_max_iterations(Some(3));
        let x = config.try_solve_with(&a, b.clone(), hints).unwrap().x;
        let weights: Vec<f64> = (0..n).map(|k| 1.0 + k as f64).collect();
        let weights = Tensor::<1>::from_data(TensorData::new(weights.clone(), [n]), (&device, DType::F64));
        let got = list(b.grad(&(x * weights.clone()).sum().backward()).unwrap());
        let weights = list(weights);
        for (row, got) in got.iter().enumerate() {
            let want: f64 = (0..n).map(|k| inverse[k * n + row] * weights[k]).sum();
            assert!((got - want).abs() < 1e-6, "{method:?}: {got} and {want}");
        }
    }
}

/// The gradient may be accepted where the solution is not, and the other way round.
#[test]
fn is_accepted_apart() {
    let device = Device::flex().autodiff();
    let a = laplacian(&[40], Boundary::Dirichlet, &device).unwrap();
    // Symmetric about the middle: half as many iterations as the gradient of one end.
    let config = SolverConfig::new(Method::Cg).with_max_iterations(Some(22));
    let run = |config: &SolverConfig| {
        let b = Tensor::<1>::ones([40], &device).require_grad();
        let x = config.solve(&a, b.clone());
        list(b.grad(&x.slice(0..1).sum().backward()).unwrap())
    };
    let refused = std::panic::catch_unwind(|| run(&config)).unwrap_err();
    let told = refused.downcast_ref::<String>().unwrap();
    assert!(told.contains("the solve for the gradient must reach the tolerance"), "{told}");
    let accepted = run(&config.with_accept_unsolved_gradient(Some(true)));
    assert!(accepted.iter().all(|own| own.is_finite()) && accepted[0] > 0.5, "{accepted:?}");
}
