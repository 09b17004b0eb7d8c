use burn::tensor::{DType, Device, FloatDType, Tensor};
use sparse_tensor::solve::{Hints, LinearOperator, Method, Operator, SolverConfig, Stopped, try_jacobi};
use sparse_tensor::{CsrTensor, Fill, Result};

pub fn told<T>(result: Result<T>, kind: &str, part: &str) {
    let trouble = result.err().expect("an error");
    assert!(trouble.kind() == kind && trouble.to_string().contains(part), "{trouble}");
}

fn matrix(rows: [[f32; 2]; 2]) -> CsrTensor<2> {
    CsrTensor::from_dense(Tensor::from_floats(rows, &Device::flex()))
}

#[test]
fn systems_that_do_not_fit() {
    let device = Device::flex();
    let b = || Tensor::<1>::from_floats([1.0, 1.0], &device);
    let cg = SolverConfig::new(Method::Cg);
    let good = matrix([[2.0, 1.0], [1.0, 3.0]]);
    told(cg.try_solve(&good, Tensor::<1>::ones([3], &device)), "shape_mismatch", "right-hand side");
    told(cg.try_solve(&good, Tensor::<3>::ones([2, 1, 1], &device)), "shape_mismatch", "right-hand side");
    told(cg.try_solve(&CsrTensor::<2>::zeros([2, 3], &device), b()), "shape_mismatch", "square");
    told(cg.try_solve(&good, b().cast(DType::F64)), "dtype_mismatch", "");
    told(cg.try_solve(&good, b().cast(DType::F16)), "unsupported_dtype", "f16");
    for wrong in [-1.0, f64::NAN, f64::INFINITY] {
        told(cg.clone().with_relative(wrong).try_solve(&good, b()), "invalid", "relative tolerance");
        told(cg.clone().with_absolute(wrong).try_solve(&good, b()), "invalid", "absolute tolerance");
    }
    told(SolverConfig::new(Method::Gmres { restart: 0 }).try_solve(&good, b()), "invalid", "at least 1");
    told(SolverConfig::new(Method::Idr { shadows: 0 }).try_solve(&good, b()), "invalid", "at least 1");
    let batch = CsrTensor::<3>::from_dense(Tensor::ones([2, 2, 2], &device));
    told(cg.try_solve(&batch, b()), "shape_mismatch", "[2, 2]");

    let hints = Hints { start: Some(Tensor::ones([3], &device)), ..Hints::default() };
    told(cg.try_solve_with(&good, b(), hints), "shape_mismatch", "start");
    let hints = Hints { start: Some(b().cast(DType::F64)), ..Hints::default() };
    told(cg.try_solve_with(&good, b(), hints), "dtype_mismatch", "f64");
    let other = Operator::identity(3);
    let with = || Hints { preconditioner: Some(&other), ..Hints::default() };
    told(cg.try_solve_with(&good, b(), with()), "shape_mismatch", "preconditioner");
    told(SolverConfig::new(Method::Lsqr).try_solve_with(&good, b(), with()), "invalid", "Cgls");

    // The shortest solution depends on neither of them.
    let wide = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]], &device));
    let hints = Hints { start: Some(Tensor::ones([3], &device)), ..Hints::default() };
    told(SolverConfig::new(Method::Lsqr).try_solve_with(&wide, b(), hints), "invalid", "shortest");
    told(SolverConfig::new(Method::Cgls).try_solve_with(&wide, b(), with()), "invalid", "shortest");

    // No rows, no columns, no systems.
    let none = CsrTensor::<3>::zeros([0, 3, 3], &device);
    assert_eq!(cg.solve(&none, Tensor::<2>::zeros([0, 3], &device)).dims(), [0, 3]);
    let none = CsrTensor::<3>::zeros([0, 3, 2], &device);
    assert_eq!(SolverConfig::new(Method::Lsmr).solve(&none, Tensor::<2>::zeros([0, 3], &device)).dims(), [0, 2]);
    assert_eq!(cg.solve(&CsrTensor::<2>::zeros([0, 0], &device), Tensor::<1>::zeros([0], &device)).dims(), [0]);
    assert_eq!(cg.solve(&good, Tensor::<2>::zeros([2, 0], &device)).dims(), [2, 0]);
}

/// Every method ends, and says what is wrong.
#[test]
fn systems_without_a_solution() {
    let b = || Tensor::<1>::from_floats([1.0, 1.0], &Device::flex());
    let cg = SolverConfig::new(Method::Cg);
    told(cg.try_solve(&matrix([[1.0, 0.0], [0.0, -1.0]]), b()), "invalid", "positive definite");
    // A number that is not finite is told with its place.
    let two = Tensor::<2>::from_floats([[1.0, f32::NAN], [1.0, 1.0]], &Device::flex());
    told(cg.try_solve(&matrix([[1.0, 0.0], [0.0, 1.0]]), two), "invalid", "column 1");
    let square = [
        Method::Minres,
        Method::BiCg,
        Method::Qmr,
        Method::BiCgStab,
        Method::Cgs,
        Method::Tfqmr,
        Method::Gmres { restart: 5 },
        Method::Fgmres { restart: 1 },
        Method::Idr { shadows: 4 },
    ];
    for method in square {
        let config = SolverConfig::new(method).with_max_iterations(Some(200));
        // The second row is 0 = 1.
        for singular in [matrix([[1.0, 0.0], [0.0, 0.0]]), matrix([[0.0, 0.0], [0.0, 0.0]])] {
            told(config.try_solve(&singular, b()), "invalid", "a relative residual of");
            let accepting = config.clone().with_accept_unsolved(true);
            let solution = accepting.try_solve_with(&singular, b(), Hints::default()).unwrap();
            assert_ne!(solution.report.stopped, Stopped::Converged, "{method:?}");
            assert!(solution.x.into_data().iter::<f32>().all(f32::is_finite), "{method:?}");
        }
        told(config.try_solve(&matrix([[f32::NAN, 0.0], [0.0, 1.0]]), b()), "invalid", "finite");
        let endless = Tensor::<1>::from_floats([f32::INFINITY, 1.0], &Device::flex());
        told(config.try_solve(&matrix([[1.0, 0.0], [0.0, 1.0]]), endless), "invalid", "finite");
    }
    // Least squares have one.
    for method in [Method::Lsqr, Method::Lsmr, Method::Cgls] {
        let x: Tensor<1> = SolverConfig::new(method).solve(&matrix([[1.0, 0.0], [0.0, 0.0]]), b());
        assert_eq!(x.into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 0.0], "{method:?}");
        let x: Tensor<1> = SolverConfig::new(method).solve(&matrix([[0.0, 0.0], [0.0, 0.0]]), b());
        assert_eq!(x.into_data().iter::<f32>().collect::<Vec<_>>(), [0.0, 0.0], "{method:?}");
    }
}

#[test]
fn operators_and_preconditioners_that_do_not_fit() {
    let device = Device::flex();
    let told_of = |result: Result<Operator>, kind: &str, part: &str| told(result, kind, part);
    told_of(try_jacobi(&matrix([[1.0, 2.0], [3.0, 0.0]])), "invalid", "row 1");
    told_of(try_jacobi(&matrix([[1.0, 2.0], [3.0, 1e-40]])), "invalid", "row 1");
    told_of(try_jacobi(&matrix([[f32::NAN, 2.0], [3.0, 1.0]])), "invalid", "row 0");
    told_of(try_jacobi(&CsrTensor::<2>::zeros([2, 3], &device)), "shape_mismatch", "matrix must be square");
    let good = matrix([[2.0, 1.0], [1.0, 4.0]]);
    told_of(try_jacobi(&good.clone().cast(FloatDType::F16)), "unsupported_dtype", "f16");
    told_of(try_jacobi(&good.add_scalar(1.0)), "fill_mismatch", "fill");
    let undefined = try_jacobi(&good.clone().with_fill(Fill::Undefined)).unwrap();
    let inverse = undefined.try_apply(Tensor::ones([2, 1], &device)).unwrap().into_data();
    assert_eq!(inverse.iter::<f32>().collect::<Vec<_>>(), [0.5, 0.25]);
    let two = || Some(Operator::identity(2));
    told_of(Operator::try_blocks(vec![]), "empty_input", "at least one");
    told_of(Operator::try_blocks(vec![vec![two()], vec![]]), "invalid", "row 1");
    told_of(Operator::try_blocks(vec![vec![two(), None], vec![None, None]]), "invalid", "row 1");
    told_of(Operator::try_blocks(vec![vec![two(), None]]), "invalid", "column 1");
    told_of(Operator::try_blocks(vec![vec![two(), Some(Operator::identity(3))]]), "shape_mismatch", "row");
    let b = Tensor::<1>::from_floats([1.0, 1.0], &device);
    let config = SolverConfig::new(Method::BiCgStab);
    told(config.try_solve(&(Operator::identity(2) + Operator::identity(3)), b.clone()), "shape_mismatch", "");
    let wrong =
        Operator::from_fn([2, 2], Vec::<Tensor<1>>::new(), |_, x: Tensor<2>| x.narrow(0, 0, 1), None::<fn(&_, _) -> _>);
    told(config.try_solve(&wrong, b), "shape_mismatch", "closure must give");
}
