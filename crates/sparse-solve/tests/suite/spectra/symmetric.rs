use super::helpers::{grid, list, near, of_grid, wrong};
use crate::random::dense;
use burn::tensor::{DType, Device, Tensor};
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{
    AmgConfig, EigshConfig, EigshMethod, LinearOperator, Operator, SpectrumHints, Stopped, Which, eigsh, jacobi,
};

const METHODS: [EigshMethod; 2] = [EigshMethod::Lanczos, EigshMethod::Lobpcg];

/// Of a square the values come in pairs.
#[test]
fn both_ends_of_laplacians() {
    for (dims, dtype, tolerance) in [
        (&[150][..], DType::F64, 1e-9),
        (&[17, 17][..], DType::F64, 1e-9),
        (&[12, 13][..], DType::F32, 1e-4),
        (&[6, 6, 6][..], DType::F64, 1e-9),
    ] {
        let (a, all) = (grid(dims, dtype), of_grid(dims));
        for method in METHODS {
            for which in [Which::Smallest, Which::Largest] {
                let relative = if dtype == DType::F64 { 1e-9 } else { 1e-5 };
                let config = EigshConfig::new(6).with_which(which).with_method(method).with_relative(relative);
                let pairs = config.try_solve(&a).unwrap();
                let want: Vec<f64> = match which {
                    Which::Smallest => all[..6].to_vec(),
                    _ => all.iter().rev().take(6).copied().collect(),
                };
                near(&list(&pairs.values), &want, tolerance);
                let [off, skew] = wrong(&a, None, &pairs.values, &pairs.vectors);
                assert!(off < tolerance * 10.0 && skew < tolerance * 10.0, "{method:?} {off:e} {skew:e}");
                let report = pairs.report;
                assert_eq!((report.stopped, &report.converged[..]), (Stopped::Converged, &[true; 6][..]));
                assert!(report.iterations > 0 && report.products > 6 && report.residuals.len() == 6);
                assert!(report.to_string().contains("6 of 6 pairs"), "{report}");
            }
        }
    }
}

/// With multigrid it takes few iterations, whatever the size.
#[test]
fn preconditioned_by_multigrid() {
    let a = grid(&[40, 40], DType::F64);
    let amg = AmgConfig::new().try_setup(&a).unwrap();
    let config = EigshConfig::new(8).with_method(EigshMethod::Lobpcg);
    let hints = SpectrumHints { preconditioner: Some(&amg), ..SpectrumHints::default() };
    let pairs = config.try_solve_with(&a, hints).unwrap();
    near(&list(&pairs.values), &of_grid(&[40, 40])[..8], 1e-8);
    assert!(pairs.report.iterations < 30, "{}", pairs.report);
    // From there on little is left to do.
    let hints = SpectrumHints { start: Some(pairs.vectors), preconditioner: Some(&amg), ..SpectrumHints::default() };
    let again = config.try_solve_with(&a, hints).unwrap().report.iterations;
    assert!(again < pairs.report.iterations, "{again}");
}

#[test]
fn small_ones_are_solved_as_dense_ones() {
    for n in [1, 2, 5] {
        let (a, all) = (grid(&[n], DType::F64), of_grid(&[n]));
        for method in METHODS {
            let pairs = EigshConfig::new(n).with_method(method).solve(&a);
            near(&list(&pairs.values), &all, 1e-12);
            let [off, skew] = wrong(&a, None, &pairs.values, &pairs.vectors);
            assert!(off < 1e-12 && skew < 1e-12);
        }
    }
    // Of a diagonal matrix, by magnitude.
    let a = CsrTensor::<2>::from_diagonal(dense::<1>(&[1.0, -7.0, 3.0], [3], DType::F64));
    near(&list(&eigsh(&a, 2, Which::Magnitude).values), &[-7.0, 3.0], 1e-12);
    near(&list(&eigsh(&a, 2, Which::Near(0.5)).values), &[1.0, 3.0], 1e-12);
}

/// A matrix of zeros, and one of few values, end in an invariant subspace at once.
#[test]
fn invariant_subspaces() {
    for method in METHODS {
        let config = EigshConfig::new(3).with_method(method);
        let none = CsrTensor::<2>::zeros([60, 60], (&Device::flex(), DType::F64));
        near(&list(&config.solve(&none).values), &[0.0; 3], 1e-14);
        let steps: Vec<f64> = (0..60).map(|at| f64::from(at % 3)).collect();
        let a = CsrTensor::<2>::from_diagonal(dense::<1>(&steps, [60], DType::F64));
        let pairs = config.with_which(Which::Largest).solve(&a);
        near(&list(&pairs.values), &[2.0; 3], 1e-12);
        let [_, skew] = wrong(&a, None, &pairs.values, &pairs.vectors);
        assert!(skew < 1e-12);
    }
}

#[test]
fn with_a_mass() {
    let n = 80;
    let a = grid(&[n], DType::F64);
    let weights: Vec<f64> = (0..n).map(|at| 1.0 + 0.5 * f64::from(at as u32 % 4)).collect();
    let b = CsrTensor::<2>::from_diagonal(dense::<1>(&weights, [n], DType::F64));
    // Against the same as one symmetric matrix.
    let root: Vec<f64> = weights.iter().map(|own| own.sqrt().recip()).collect();
    let scale = CsrTensor::<2>::from_diagonal(dense::<1>(&root, [n], DType::F64));
    let same = scale.matmul_sparse_twice(&a);
    let want = list(&eigsh(&same, 4, Which::Smallest).values);
    let with = || SpectrumHints { mass: Some(&b), ..SpectrumHints::default() };
    let lobpcg = EigshConfig::new(4).with_method(EigshMethod::Lobpcg).with_relative(1e-9);
    let near_zero = EigshConfig::new(4).with_which(Which::Near(0.0)).with_relative(1e-9);
    for config in [lobpcg, near_zero] {
        let pairs = config.try_solve_with(&a, with()).unwrap();
        near(&list(&pairs.values), &want, 1e-9);
        let [off, skew] = wrong(&a, Some(&b), &pairs.values, &pairs.vectors);
        assert!(off < 1e-8 && skew < 1e-9, "{off:e} {skew:e}");
    }
}

trait Twice {
    fn matmul_sparse_twice(&self, a: &CsrTensor<2>) -> Operator;
}

impl Twice for CsrTensor<2> {
    fn matmul_sparse_twice(&self, a: &CsrTensor<2>) -> Operator {
        let own = || Operator::from(self.clone());
        own() * Operator::from(a.clone()) * own()
    }
}

/// By solves of its own, and by an inverse that is given.
#[test]
fn near_a_number() {
    let a = grid(&[9, 11], DType::F64);
    let mut all = of_grid(&[9, 11]);
    let sigma = 3.3;
    all.sort_by(|x, y| (x - sigma).abs().total_cmp(&(y - sigma).abs()));
    let config = EigshConfig::new(5).with_which(Which::Near(sigma)).with_relative(1e-9);
    near(&list(&config.solve(&a).values), &all[..5], 1e-8);

    let (n, sigma) = (60, 1.0);
    let diagonal: Vec<f64> = (0..n).map(|at| f64::from(at as u32) * 0.3).collect();
    let a = CsrTensor::<2>::from_diagonal(dense::<1>(&diagonal, [n], DType::F64));
    let inverse: Vec<f64> = diagonal.iter().map(|own| (own - sigma).recip()).collect();
    let inverse = CsrTensor::<2>::from_diagonal(dense::<1>(&inverse, [n], DType::F64));
    let hints = SpectrumHints { inverse: Some(&inverse), ..SpectrumHints::default() };
    let pairs = EigshConfig::new(3).with_which(Which::Near(sigma)).try_solve_with(&a, hints).unwrap();
    near(&list(&pairs.values), &[0.9, 1.2, 0.6], 1e-9);
}

/// With the first vectors left out, the next ones come first; a second call goes on where the first one ended.
#[test]
fn without_some_vectors() {
    let (a, all) = (grid(&[8, 9], DType::F64), of_grid(&[8, 9]));
    for method in METHODS {
        let config = EigshConfig::new(3).with_method(method).with_relative(1e-10);
        let first = config.solve(&a);
        let hints = SpectrumHints { deflate: Some(first.vectors.clone()), ..SpectrumHints::default() };
        let next = config.try_solve_with(&a, hints).unwrap();
        near(&list(&next.values), &all[3..6], 1e-8);
        let cross = first.vectors.swap_dims(0, 1).matmul(next.vectors);
        assert!(list(&cross.abs().max())[0] < 1e-10);
    }
    // As a dense one: constants are left out of a small Laplacian.
    let a =
        CsrTensor::<2>::from_dense(dense::<2>(&[1.0, -1.0, 0.0, -1.0, 2.0, -1.0, 0.0, -1.0, 1.0], [3, 3], DType::F64));
    let ones = Tensor::<2>::ones([3, 1], (&Device::flex(), DType::F64));
    let hints = SpectrumHints { deflate: Some(ones), ..SpectrumHints::default() };
    near(&list(&EigshConfig::new(2).try_solve_with(&a, hints).unwrap().values), &[1.0, 3.0], 1e-12);
}

/// Whatever the scale of the matrix.
#[test]
fn matrices_of_any_scale() {
    let all = of_grid(&[50]);
    for factor in [1e-25, 1e25] {
        let a = grid(&[50], DType::F32).mul_scalar(factor);
        for method in METHODS {
            let config = EigshConfig::new(2).with_which(Which::Largest).with_method(method);
            let values: Vec<f64> = list(&config.solve(&a).values).iter().map(|value| value / factor).collect();
            near(&values, &[all[49], all[48]], 1e-4);
        }
    }
}

/// The same numbers give the same bits, and operators of closures work.
#[test]
fn two_runs_give_the_same_bits() {
    let a = grid(&[11, 12], DType::F32);
    let preconditioner = jacobi(&a);
    for method in METHODS {
        let bits = || {
            let hints = SpectrumHints { preconditioner: Some(&preconditioner), ..SpectrumHints::default() };
            let pairs = EigshConfig::new(3).with_method(method).try_solve_with(&a, hints).unwrap();
            pairs.vectors.into_data().iter::<f32>().map(f32::to_bits).collect::<Vec<_>>()
        };
        assert_eq!(bits(), bits());
    }
    let own = Operator::from(a) + Operator::identity(132) * 2.0;
    assert_eq!(own.dims(), [132, 132]);
    near(&list(&eigsh(&own, 1, Which::Smallest).values), &[of_grid(&[11, 12])[0] + 2.0], 1e-4);
}
