use super::helpers::{grid, list, near, of_grid};
use crate::random::dense;
use crate::refused::told;
use burn::tensor::{DType, Device, Tensor, TensorData};
use sparse_dev::gradients::check;
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{
    Boundary, ComplexPairs, EigsConfig, Factorization, LinearOperator, Operator, SpectrumHints, Stopped, Which, eigs,
    factorize, from_diagonals, try_eigs,
};

/// Rotations by blocks: the values are `size (cos +- i sin)`, beside real ones.
fn blocks(pairs: &[[f64; 2]], reals: &[f64], dtype: DType) -> CsrTensor<2> {
    let n = 2 * pairs.len() + reals.len();
    let mut all = vec![0.0; n * n];
    for (at, [re, im]) in pairs.iter().enumerate() {
        let k = 2 * at;
        (all[k * n + k], all[k * n + k + 1], all[(k + 1) * n + k], all[(k + 1) * n + k + 1]) = (*re, *im, -*im, *re);
    }
    for (at, own) in reals.iter().enumerate() {
        let k = 2 * pairs.len() + at;
        all[k * n + k] = *own;
        // Not normal.
        if at > 0 {
            all[k * n + k - 1] = 0.01;
        }
    }
    CsrTensor::from_dense(dense(&all, [n, n], dtype))
}

fn wrong(a: &dyn LinearOperator, pairs: &ComplexPairs) -> f64 {
    let k = pairs.real.dims()[0];
    let (xr, xi) = (pairs.vectors_real.clone(), pairs.vectors_imag.clone());
    let (re, im) = (pairs.real.clone().reshape([1, k]), pairs.imag.clone().reshape([1, k]));
    let left = a.try_apply(xr.clone()).unwrap() - xr.clone() * re.clone() + xi.clone() * im.clone();
    let right = a.try_apply(xi.clone()).unwrap() - xi.clone() * re - xr.clone() * im;
    let length = xr.powi_scalar(2).sum_dim(0) + xi.powi_scalar(2).sum_dim(0) - 1.0;
    [left, right, length].iter().map(|own| list(&own.clone().abs().max())[0]).fold(0.0, f64::max)
}

#[test]
fn known_values() {
    let reals: Vec<f64> = (0..50).map(|at| 0.1 * f64::from(at)).collect();
    for (dtype, tolerance) in [(DType::F64, 1e-7), (DType::F32, 1e-3)] {
        let a = blocks(&[[1.0, 7.0], [-6.0, 1.0], [0.0, 5.5]], &reals, dtype);
        for (which, real, imag) in [
            (Which::Magnitude, [1.0, 1.0, -6.0, -6.0], [7.0, -7.0, 1.0, -1.0]),
            (Which::Largest, [4.9, 4.8, 4.7, 4.6], [0.0; 4]),
            (Which::Imaginary, [1.0, 1.0, 0.0, 0.0], [7.0, -7.0, 5.5, -5.5]),
        ] {
            let relative = if dtype == DType::F64 { 1e-10 } else { 1e-5 };
            let pairs = EigsConfig::new(4).with_which(which).with_relative(relative).solve(&a);
            near(&list(&pairs.real), &real, tolerance);
            near(&list(&pairs.imag), &imag, tolerance);
            assert!(wrong(&a, &pairs) < tolerance);
            assert_eq!(pairs.report.stopped, Stopped::Converged);
        }
        let pairs = eigs(&a, 1, Which::Smallest);
        near(&list(&pairs.real), &[-6.0, -6.0], tolerance);
    }
}

#[test]
fn near_a_number() {
    let a = blocks(&[[1.0, 7.0], [0.52, 0.01]], &(0..50).map(|at| 0.1 * f64::from(at)).collect::<Vec<_>>(), DType::F64);
    let config = EigsConfig::new(3).with_which(Which::Near(0.53)).with_relative(1e-9);
    let pairs = config.try_solve(&a).unwrap();
    near(&list(&pairs.real), &[0.52, 0.52, 0.5], 1e-8);
    near(&list(&pairs.imag), &[0.01, -0.01, 0.0], 1e-8);
    let diagonal: Vec<f64> = (0..60).map(f64::from).collect();
    let inverse: Vec<f64> = diagonal.iter().map(|own| (own - 7.2).recip()).collect();
    let [a, inverse] = [diagonal, inverse].map(|own| CsrTensor::<2>::from_diagonal(dense::<1>(&own, [60], DType::F64)));
    let hints = SpectrumHints { inverse: Some(&inverse), ..SpectrumHints::default() };
    let pairs = EigsConfig::new(2).with_which(Which::Near(7.2)).try_solve_with(&a, hints).unwrap();
    near(&list(&pairs.real), &[7.0, 8.0], 1e-9);
}

#[test]
fn odd_sizes() {
    let one = CsrTensor::<2>::from_dense(dense(&[3.0], [1, 1], DType::F64));
    assert_eq!(list(&eigs(&one, 1, Which::Magnitude).real), [3.0]);
    let all = blocks(&[[1.0, 2.0]], &[4.0], DType::F64);
    near(&list(&eigs(&all, 3, Which::Largest).real), &[4.0, 1.0, 1.0], 1e-12);
    near(&list(&eigs(&all, 2, Which::Smallest).imag), &[2.0, -2.0], 1e-12);
    // A matrix of zeros, a symmetric one, and one whose vectors do not span the space.
    let none = CsrTensor::<2>::zeros([50, 50], (&Device::flex(), DType::F64));
    near(&list(&eigs(&none, 2, Which::Magnitude).real), &[0.0; 2], 1e-14);
    let values = list(&eigs(&grid(&[60], DType::F64), 2, Which::Largest).real);
    near(&values, &[of_grid(&[60])[59], of_grid(&[60])[58]], 1e-8);
    let shift = Tensor::<2>::ones([1, 50], (&Device::flex(), DType::F64));
    let shift = from_diagonals(shift, &[1], [50, 50]).unwrap();
    let report = EigsConfig::new(1).with_accept_unsolved(true).with_max_iterations(Some(200)).solve(&shift).report;
    assert!(report.iterations <= 220, "{report}");
}

#[test]
fn what_does_not_fit() {
    let a = grid(&[5], DType::F64);
    told(try_eigs(&a, 0, Which::Largest), "invalid", "at least 1");
    told(try_eigs(&a, 6, Which::Largest), "invalid", "at most 5");
    told(try_eigs(&CsrTensor::<2>::zeros([3, 4], &Device::flex()), 1, Which::Largest), "shape_mismatch", "square");
    told(try_eigs(&a, 1, Which::Near(f64::INFINITY)), "invalid", "finite");
    let nan = CsrTensor::<2>::from_dense(Tensor::from_floats([[f32::NAN, 0.0], [0.0, 1.0]], &Device::flex()));
    told(try_eigs(&nan, 1, Which::Largest), "invalid", "finite");
    let hints = SpectrumHints { mass: Some(&a), ..SpectrumHints::default() };
    told(EigsConfig::new(1).try_solve_with(&a, hints), "invalid", "symmetric");
    let other = Operator::identity(3);
    let hints = SpectrumHints { inverse: Some(&other), ..SpectrumHints::default() };
    told(EigsConfig::new(1).try_solve_with(&a, hints), "shape_mismatch", "inverse");
    let hard = EigsConfig::new(2).with_which(Which::Smallest).with_max_iterations(Some(3));
    told(hard.try_solve(&grid(&[400], DType::F64)), "invalid", "of 2 pairs");
    // Convection on a circle: values of one size.
    let ring = sparse_tensor::solve::laplacian(&[40], Boundary::Periodic, (&Device::flex(), DType::F64)).unwrap();
    assert_eq!(eigs(&ring, 1, Which::Largest).real.dims(), [1]);
}

/// `A x = l B x` by the factors of `B`: pairs of an iteration, and gradients to both.
#[test]
fn with_a_mass_by_its_factors() {
    let inputs = |n: usize| {
        let row = |from: f64, step: f64| (0..n).map(move |at| from + step * ((at * at * 5 + 1) % 13) as f64);
        [row(1.0, 0.3), row(2.0, 0.1)].map(|own| TensorData::new(own.collect::<Vec<_>>(), [1, n]))
    };
    let of = |[stiff, mass]: [Tensor<2>; 2]| {
        let n = stiff.dims()[1];
        let rows = Tensor::cat(vec![stiff.ones_like() * -1.0, stiff, mass.ones_like() * 0.5], 0);
        let a = from_diagonals(rows, &[-1, 0, 1], [n, n]).unwrap();
        let side = mass.ones_like() * 0.2;
        (a, from_diagonals(Tensor::cat(vec![side, mass], 0), &[-1, 0], [n, n]).unwrap())
    };
    let solve = |(a, b): (CsrTensor<2>, CsrTensor<2>), near: Option<f64>| {
        let by_mass = Operator::new(factorize(&b, Factorization::Lu)) * Operator::from(a.clone());
        let config = EigsConfig::new(2).with_relative(1e-12);
        let Some(sigma) = near else { return config.solve(&by_mass) };
        let inverse = Operator::new(factorize(&a.sub(&b.mul_scalar(sigma)), Factorization::Lu)) * Operator::from(b);
        let hints = SpectrumHints { inverse: Some(&inverse), ..SpectrumHints::default() };
        config.with_which(Which::Near(sigma)).try_solve_with(&by_mass, hints).unwrap()
    };
    for near in [None, Some(0.9)] {
        let (a, b) = of(inputs(40).map(|own| Tensor::from_data(own, (&Device::flex(), DType::F64))));
        let pairs = solve((a.clone(), b.clone()), near);
        let k = pairs.real.dims()[0];
        let (re, im) = (pairs.real.reshape([1, k]), pairs.imag.reshape([1, k]));
        let (xr, xi) = (pairs.vectors_real, pairs.vectors_imag);
        let of_b = [b.matmul(xr.clone()), b.matmul(xi.clone())];
        let left = a.matmul(xr) - of_b[0].clone() * re.clone() + of_b[1].clone() * im.clone();
        let right = a.matmul(xi) - of_b[1].clone() * re - of_b[0].clone() * im;
        assert!(list(&left).iter().chain(&list(&right)).all(|own| own.abs() < 1e-10));
        check(1, &inputs(5), |xs| all(solve(of([xs[0].tensor(), xs[1].tensor()]), near))).unwrap();
    }
}

fn all(pairs: ComplexPairs) -> Tensor<2> {
    let k = pairs.real.dims()[0];
    let row = |own: Tensor<1>| own.reshape([1, k]);
    Tensor::cat(vec![row(pairs.real), row(pairs.imag), pairs.vectors_real, pairs.vectors_imag], 0)
}

/// Of values and vectors, with the phase that is fixed; a dense solve and an iteration, with checkpointing too.
#[test]
fn gradients() {
    for (pick, which) in [(0, Which::Magnitude), (1, Which::Largest), (1, Which::Near(0.4))] {
        let numbers = [2.0, 1.5, 0.1, 0.2, -1.0, 2.2, 0.3, 0.2, 0.1, 0.4, -0.7, 0.4, 0.3, -0.2, 0.5, 1.1];
        check(pick, &[TensorData::new(numbers.to_vec(), [4, 4])], |xs| {
            let a = CsrTensor::<2>::from_dense(xs[0].tensor::<2>());
            all(EigsConfig::new(3).with_which(which).with_relative(1e-13).solve(&a))
        })
        .unwrap();
    }
    let n = 28;
    let diagonal: Vec<f64> = (0..n).map(|at| 0.2 * ((at * at * 5 + 1) % 13) as f64).collect();
    let beside: Vec<f64> = (0..n).map(|at| 0.5 + 0.1 * ((at * 3) % 5) as f64).collect();
    let inputs = [TensorData::new(diagonal, [1, n]), TensorData::new(beside, [1, n])];
    check(1, &inputs, |xs| {
        let (diagonal, beside) = (xs[0].tensor::<2>(), xs[1].tensor::<2>());
        let rows = Tensor::cat(vec![beside.clone(), diagonal, beside * -2.0], 0);
        let a = from_diagonals(rows, &[-1, 0, 1], [n, n]).unwrap();
        all(EigsConfig::new(2).with_which(Which::Imaginary).with_relative(1e-13).solve(&a))
    })
    .unwrap();
}
