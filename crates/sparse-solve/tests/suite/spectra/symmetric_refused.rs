use super::helpers::grid;
use crate::random::dense;
use crate::refused::told;
use burn::tensor::{DType, Device, FloatDType, Tensor};
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{EigsConfig, EigshConfig, EigshMethod, Operator, SpectrumHints, Stopped, Which, try_eigsh};

#[test]
fn what_does_not_fit() {
    let a = grid(&[40], DType::F64);
    told(try_eigsh(&a, 0, Which::Smallest), "invalid", "at least 1");
    told(try_eigsh(&a, 41, Which::Smallest), "invalid", "at most 40");
    let wide = CsrTensor::<2>::zeros([3, 4], (&Device::flex(), DType::F64));
    told(try_eigsh(&wide, 1, Which::Smallest), "shape_mismatch", "square");
    told(try_eigsh(&CsrTensor::<2>::zeros([0, 0], &Device::flex()), 1, Which::Smallest), "invalid", "at most 0");
    told(try_eigsh(&Operator::identity(3), 1, Which::Smallest), "invalid", "start");
    let batch = CsrTensor::<3>::from_dense(Tensor::ones([2, 2, 2], &Device::flex()));
    told(try_eigsh(&batch, 1, Which::Smallest), "invalid", "batch");
    told(try_eigsh(&a, 1, Which::Imaginary), "invalid", "imaginary");
    told(try_eigsh(&a, 1, Which::Near(f64::NAN)), "invalid", "finite");
    let lobpcg = EigshConfig::new(2).with_method(EigshMethod::Lobpcg);
    told(lobpcg.clone().with_which(Which::Magnitude).try_solve(&a), "invalid", "use Lanczos");
    told(EigshConfig::new(2).with_relative(f64::NAN).try_solve(&a), "invalid", "relative tolerance");

    told(
        try_eigsh(&a.clone().cast(FloatDType::F16), 1, Which::Smallest),
        "unsupported_dtype",
        "another dtype than f32 and f64",
    );
    let large = CsrTensor::<2>::zeros([1 << 18, 1 << 18], &Device::flex());
    told(try_eigsh(&large, 1 << 16, Which::Smallest), "would_densify", "smaller basis");

    let skew = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 2.0], [0.0, 1.0]], &Device::flex()));
    told(try_eigsh(&skew, 1, Which::Smallest), "invalid", "symmetric");
    let nan = CsrTensor::<2>::from_dense(Tensor::from_floats([[f32::NAN, 0.0], [0.0, 1.0]], &Device::flex()));
    told(try_eigsh(&nan, 1, Which::Smallest), "invalid", "finite");

    let ones = |n: usize, k: usize, dtype| Tensor::<2>::ones([n, k], (&Device::flex(), dtype));
    let with = |start| SpectrumHints { start: Some(start), ..SpectrumHints::default() };
    told(lobpcg.try_solve_with(&a, with(ones(3, 1, DType::F64))), "shape_mismatch", "start");
    told(lobpcg.try_solve_with(&a, with(ones(40, 1, DType::F32))), "dtype_mismatch", "");
    told(lobpcg.try_solve_with(&a, with(ones(40, 1, DType::F16))), "unsupported_dtype", "f16");
    let other = Operator::identity(3);
    let hints = SpectrumHints { preconditioner: Some(&other), ..SpectrumHints::default() };
    told(lobpcg.try_solve_with(&a, hints), "shape_mismatch", "preconditioner");
    let hints = SpectrumHints { mass: Some(&a), ..SpectrumHints::default() };
    told(EigshConfig::new(2).try_solve_with(&a, hints), "invalid", "Lobpcg");
    let indefinite = CsrTensor::<2>::from_diagonal(dense::<1>(&[-1.0; 40], [40], DType::F64));
    let hints = SpectrumHints { mass: Some(&indefinite), ..SpectrumHints::default() };
    told(lobpcg.try_solve_with(&a, hints), "invalid", "positive definite, got another one in iteration 0");
    // Products of two random vectors do not show one row, but a small matrix is there as a dense one.
    let mut list = vec![1.0; 40];
    list[29] = -1e-3;
    let indefinite = CsrTensor::<2>::from_diagonal(dense::<1>(&list, [40], DType::F64));
    let hints = SpectrumHints { mass: Some(&indefinite), ..SpectrumHints::default() };
    let many = EigshConfig::new(20).with_method(EigshMethod::Lobpcg);
    told(many.try_solve_with(&a, hints), "invalid", "positive definite, got a diagonal that is not in row 29");

    // An inverse has no use here.
    let inverse = Operator::identity(40);
    for which in [Which::Smallest, Which::Largest, Which::Magnitude] {
        let hints = || SpectrumHints { inverse: Some(&inverse), ..SpectrumHints::default() };
        told(EigshConfig::new(2).with_which(which).try_solve_with(&a, hints()), "invalid", "leave out the inverse");
        told(EigsConfig::new(2).with_which(which).try_solve_with(&a, hints()), "invalid", "leave out the inverse");
    }
}

/// What does not converge is an error with the report, unless it is accepted; and a callback ends it.
#[test]
fn what_does_not_converge() {
    let a = grid(&[400], DType::F64);
    for method in [EigshMethod::Lanczos, EigshMethod::Lobpcg] {
        let config = EigshConfig::new(2).with_method(method).with_max_iterations(Some(15));
        told(config.try_solve(&a), "invalid", "of 2 pairs");
        let accepting = config.with_accept_unsolved(true);
        let report = accepting.solve(&a).report;
        assert!(report.stopped == Stopped::Iterations && report.converged.contains(&false), "{report}");
        let mut seen = vec![];
        let mut progress = |iteration: usize, worst: f64| {
            seen.push((iteration, worst));
            false
        };
        let hints = SpectrumHints { progress: Some(&mut progress), ..SpectrumHints::default() };
        assert_eq!(accepting.try_solve_with(&a, hints).unwrap().report.stopped, Stopped::Cancelled);
        assert!(seen.len() == 1 && seen[0].1 > 1.0, "{seen:?}");
    }
    // More than rounding allows.
    let a = grid(&[60], DType::F32);
    let hard = EigshConfig::new(2).with_method(EigshMethod::Lobpcg).with_relative(0.0);
    let report = hard.with_accept_unsolved(true).solve(&a).report;
    assert!(report.iterations < 400, "{report}");
}
