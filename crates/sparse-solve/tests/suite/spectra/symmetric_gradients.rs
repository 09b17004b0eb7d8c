use burn::tensor::{Device, Tensor, TensorData};
use sparse_dev::gradients::check;
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{EigshConfig, EigshMethod, LinearOperator, Operator, SpectrumHints, Which, from_diagonals};

/// A path with other weights: `diagonals` are its diagonal and what is beside it, both on the tape.
fn path(diagonal: Tensor<1>, beside: Tensor<1>) -> CsrTensor<2> {
    let n = diagonal.dims()[0];
    let zero = Tensor::<1>::zeros([1], (&beside.device(), beside.dtype()));
    let upper = Tensor::cat(vec![zero.clone(), beside.clone()], 0).reshape([1, n]);
    let lower = Tensor::cat(vec![beside, zero], 0).reshape([1, n]);
    let all = Tensor::cat(vec![lower, diagonal.reshape([1, n]), upper], 0);
    from_diagonals(all, &[-1, 0, 1], [n, n]).unwrap()
}

fn numbers(n: usize, from: f64, step: f64) -> TensorData {
    // Without a symmetry, and all different.
    TensorData::new((0..n).map(|at| from + step * ((at * 7 + 3) % 31) as f64).collect::<Vec<_>>(), [n])
}

fn exact(count: usize, which: Which, method: EigshMethod) -> EigshConfig {
    EigshConfig::new(count).with_which(which).with_method(method).with_relative(1e-13)
}

/// Of values and of vectors, of matrices solved as dense ones and by iterations, with checkpointing too.
#[test]
fn of_values_and_vectors() {
    for (n, which, method, picks) in [
        (6, Which::Smallest, EigshMethod::Lanczos, 0..2),
        (6, Which::Near(2.1), EigshMethod::Lanczos, 0..2),
        (30, Which::Largest, EigshMethod::Lanczos, 0..1),
        (30, Which::Smallest, EigshMethod::Lobpcg, 1..2),
    ] {
        for pick in picks {
            let inputs = [numbers(n, 1.5, 0.2), numbers(n - 1, -0.4, 0.01)];
            check(pick, &inputs, |xs| {
                let pairs = exact(3, which, method).solve(&path(xs[0].tensor(), xs[1].tensor()));
                Tensor::cat(vec![pairs.values.reshape([1, 3]), pairs.vectors], 0)
            })
            .unwrap();
        }
    }
}

/// All vectors at once: nothing is left for the solve.
#[test]
fn of_all_pairs() {
    let inputs = [numbers(4, 1.0, 0.3), numbers(3, -1.0, 0.1)];
    check(0, &inputs, |xs| {
        let pairs = exact(4, Which::Smallest, EigshMethod::Lanczos).solve(&path(xs[0].tensor(), xs[1].tensor()));
        Tensor::cat(vec![pairs.values.reshape([1, 4]), pairs.vectors], 0)
    })
    .unwrap();
}

/// To both matrices.
#[test]
fn with_a_mass() {
    for n in [6, 30] {
        let inputs = [numbers(n, 1.5, 0.2), numbers(n - 1, -0.4, 0.01), numbers(n, 1.0, 0.01)];
        check(n % 2, &inputs, |xs| {
            let a = path(xs[0].tensor(), xs[1].tensor());
            let mass = CsrTensor::<2>::from_diagonal(xs[2].tensor::<1>());
            let hints = SpectrumHints { mass: Some(&mass), ..SpectrumHints::default() };
            let pairs = exact(3, Which::Smallest, EigshMethod::Lobpcg).try_solve_with(&a, hints).unwrap();
            Tensor::cat(vec![pairs.values.reshape([1, 3]), pairs.vectors], 0)
        })
        .unwrap();
    }
}

/// Where a vector is left out that is no eigenvector.
#[test]
fn without_a_vector() {
    for (n, method) in [(6, EigshMethod::Lanczos), (30, EigshMethod::Lanczos), (30, EigshMethod::Lobpcg)] {
        let inputs = [numbers(n, 1.5, 0.2), numbers(n - 1, -0.4, 0.01)];
        check(n % 2, &inputs, |xs| {
            let own = xs[0].tensor::<1>();
            let ones = Tensor::ones([n, 1], (&own.device().inner(), own.dtype()));
            let a = path(own, xs[1].tensor());
            let hints = SpectrumHints { deflate: Some(ones), ..SpectrumHints::default() };
            let pairs = exact(2, Which::Smallest, method).try_solve_with(&a, hints).unwrap();
            Tensor::cat(vec![pairs.values.reshape([1, 2]), pairs.vectors], 0)
        })
        .unwrap();
    }
}

/// Of a square, whose second value is there twice: the projector on both vectors has a derivative.
#[test]
fn of_subspaces_of_equal_values() {
    let inputs = [TensorData::new(vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.3, 0.0, 0.0, 0.2], [9])];
    for (from, count) in [(1, 3), (0, 3)] {
        check(from, &inputs, |xs| {
            // A symmetric change of any elements of a matrix with the values 1, 2, 2, 5, ..
            let own: Tensor<2> = xs[0].tensor::<1>().reshape([3, 3]);
            let even = (own.clone() + own.swap_dims(0, 1)) * 0.5;
            let zero = even.zeros_like();
            let fixed = TensorData::new(vec![0.0, 2.0, 2.0, 5.0, 6.0, 7.0], [6]);
            let fixed: Tensor<1> = Tensor::from_data(fixed, (&even.device(), even.dtype()));
            let padded = |top: Tensor<2>| {
                Tensor::cat(
                    vec![
                        Tensor::cat(vec![top, zero.clone()], 1),
                        Tensor::zeros([3, 6], (&zero.device(), zero.dtype())),
                    ],
                    0,
                )
            };
            // Inputs of 0 and with a weight of 0.1 for what couples the equal values: they stay equal at the point.
            let weights = TensorData::new(vec![1.0, 0.4, 0.7, 0.4, 0.0, 0.0, 0.7, 0.0, 0.0], [3, 3]);
            let weights: Tensor<2> = Tensor::from_data(weights, (&even.device(), even.dtype()));
            let a = Operator::from(padded(even * weights)) + Operator::from(CsrTensor::<2>::from_diagonal(fixed));
            let pairs = exact(count, Which::Smallest, EigshMethod::Lanczos).solve(&a);
            let v = pairs.vectors;
            v.clone().matmul(v.swap_dims(0, 1))
        })
        .unwrap();
    }
}

/// With the preconditioner and with the inverse in the second solve.
#[test]
fn with_an_inverse_or_a_preconditioner() {
    let n = 30;
    let device = Device::flex().autodiff();
    let at = |data: TensorData| Tensor::<1>::from_data(data, (&device, burn::tensor::DType::F64)).require_grad();
    let gradient = |hints: &dyn Fn() -> Option<Operator>, inverse: bool, method| {
        let (d, e) = (at(numbers(n, 1.5, 0.2)), at(numbers(n - 1, -0.4, 0.01)));
        let a = path(d.clone(), e);
        let own = hints();
        let own = own.as_ref().map(|own| own as &dyn LinearOperator);
        let hints = match inverse {
            true => SpectrumHints { inverse: own, ..SpectrumHints::default() },
            false => SpectrumHints { preconditioner: own, ..SpectrumHints::default() },
        };
        let which = if inverse { Which::Near(-0.3) } else { Which::Smallest };
        let pairs = exact(2, which, method).try_solve_with(&a, hints).unwrap();
        let grads = pairs.vectors.powi_scalar(4).sum().backward();
        super::helpers::list(&d.grad(&grads).unwrap())
    };
    // A dense inverse of A + 0.3 I by its eigenvectors.
    let a = path(at(numbers(n, 1.5, 0.2)), at(numbers(n - 1, -0.4, 0.01)));
    let all = EigshConfig::new(n).solve(&a);
    let (values, v) = (all.values.inner(), all.vectors.inner());
    let inverse = v.clone() * (values + 0.3).recip().reshape([1, n]);
    let inverse = inverse.matmul(v.swap_dims(0, 1));
    let plain = gradient(&|| None, false, EigshMethod::Lobpcg);
    let shifted = gradient(&|| Some(Operator::from(inverse.clone())), true, EigshMethod::Lanczos);
    super::helpers::near(&shifted, &plain, 1e-7);
    let half: Vec<f64> = (0..n * n).map(|at| if at / n == at % n { 0.5 } else { 0.0 }).collect();
    let diagonal = crate::random::dense(&half, [n, n], burn::tensor::DType::F64);
    let with = gradient(&|| Some(Operator::from(diagonal.clone())), false, EigshMethod::Lobpcg);
    super::helpers::near(&with, &plain, 1e-7);
}

/// A value that equals one that is not asked for has no gradient, and the backward pass says so.
#[test]
#[should_panic(expected = "distinct")]
fn of_half_a_pair() {
    let device = Device::flex().autodiff();
    let options = (&device, burn::tensor::DType::F64);
    let a = sparse_tensor::solve::laplacian(&[8, 8], sparse_tensor::solve::Boundary::Dirichlet, options).unwrap();
    let a = a.require_grad();
    let pairs = EigshConfig::new(2).solve(&a);
    pairs.vectors.powi_scalar(3).sum().backward();
}

/// A gradient that is not finite gives NaN.
#[test]
fn that_are_not_finite() {
    let device = Device::flex().autodiff();
    let d = Tensor::<1>::from_floats([1.0, 2.0, 4.0], &device).require_grad();
    let a = CsrTensor::<2>::from_diagonal(d.clone());
    let pairs = EigshConfig::new(1).solve(&a);
    let grads = (pairs.vectors * f32::NAN).sum().backward();
    assert!(super::helpers::list(&d.grad(&grads).unwrap()).iter().any(|own| own.is_nan()));
}
