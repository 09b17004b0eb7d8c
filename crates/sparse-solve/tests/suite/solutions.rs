use crate::random::{Kind, dense, matrix, numbers, product};
use burn::tensor::{DType, Device, FloatDType, Tensor, TensorData};
use proptest::prelude::*;
use sparse_tensor::solve::{Hints, Method, Operator, SolverConfig, Stopped, jacobi};
use sparse_tensor::{CooTensor, CsrTensor};

pub const ALL: [Method; 13] = [
    Method::Cg,
    Method::Minres,
    Method::BiCg,
    Method::Qmr,
    Method::BiCgStab,
    Method::Cgs,
    Method::Tfqmr,
    Method::Gmres { restart: 4 },
    Method::Fgmres { restart: 30 },
    Method::Idr { shadows: 3 },
    Method::Lsqr,
    Method::Lsmr,
    Method::Cgls,
];

/// The matrices that a method is for.
pub fn kind_of(method: Method) -> Kind {
    match method {
        Method::Cg => Kind::Positive,
        Method::Minres => Kind::Symmetric,
        _ => Kind::Any,
    }
}

fn exact(method: Method) -> SolverConfig {
    SolverConfig::new(method).with_relative(1e-12).with_max_iterations(Some(900))
}

fn near(x: &Tensor<2>, want: &[f64], tolerance: f64) -> Result<(), TestCaseError> {
    let got: Vec<f64> = x.clone().into_data().iter().collect();
    prop_assert_eq!(got.len(), want.len());
    let largest = want.iter().fold(1.0f64, |largest, x| largest.max(x.abs()));
    for (got, want) in got.iter().zip(want) {
        prop_assert!((got - want).abs() <= tolerance * largest, "{got} and {want}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What is solved for is known: `b = A x`. A column of zeros, layouts, preconditioners and starts are among the
    /// cases.
    #[test]
    fn methods_find_the_solution(
        method in prop::sample::select(&ALL[..]),
        [n, width] in [1usize..9, 1usize..4],
        entries in numbers(64),
        mut want in numbers(24),
        [coo, preconditioned, started, empty_column] in any::<[bool; 4]>(),
        every in 1usize..4,
    ) {
        want.truncate(n * width);
        if empty_column {
            want.iter_mut().step_by(width).for_each(|x| *x = 0.0);
        }
        let own = matrix(kind_of(method), n, &entries);
        let b = dense(&product(&own, &want, [n, n, width]), [n, width], DType::F64);
        let a = CsrTensor::<2>::from_dense(dense(&own, [n, n], DType::F64));
        // Jacobi's is positive definite only where the diagonal is.
        let fits = !matches!(method, Method::Minres | Method::Lsqr | Method::Lsmr | Method::Cgls);
        let preconditioner = (preconditioned && fits).then(|| jacobi(&a));
        let hints = Hints {
            start: started.then(|| dense(&entries[..n * width], [n, width], DType::F64)),
            preconditioner: preconditioner.as_ref().map(|own| own as _),
            progress: None,
        };
        let config = exact(method).with_check_every(Some(every));
        let solution = match coo {
            true => config.try_solve_with(&a.to_coo(), b, hints),
            false => config.try_solve_with(&a, b, hints),
        };
        let solution = solution.unwrap();
        prop_assert_eq!(solution.report.stopped, Stopped::Converged);
        near(&solution.x, &want, 1e-7)?;
    }

    /// Least squares of a matrix of full rank: the residual is orthogonal to the columns, or the solution is the
    /// shortest.
    #[test]
    fn least_squares_of_any_shape(
        method in prop::sample::select(&ALL[ALL.len() - 3..]),
        [rows, cols] in [1usize..7, 1usize..7],
        entries in numbers(36),
        right in numbers(6),
    ) {
        let mut own = entries[..rows * cols].to_vec();
        (0..rows.min(cols)).for_each(|k| own[k * cols + k] += 9.0);
        let a = dense(&own, [rows, cols], DType::F64);
        let b = dense(&right[..rows], [rows, 1], DType::F64);
        let x = exact(method).solve(&CsrTensor::<2>::from_dense(a.clone()), b.clone());
        let transposed = a.clone().swap_dims(0, 1);
        let normal: Tensor<2> = transposed.clone().matmul(a.clone().matmul(x.clone()) - b.clone());
        near(&normal, &vec![0.0; cols], 1e-8)?;
        if rows < cols {
            // A solution A^T y is orthogonal to what A maps to nothing.
            let y = SolverConfig::new(Method::Lsmr).with_relative(1e-13).solve(&transposed, x.clone());
            near(&(a.swap_dims(0, 1).matmul(y) - x), &vec![0.0; cols], 1e-7)?;
        }
    }

    /// A batch is a system each, in f32 too.
    #[test]
    fn a_batch_is_a_system_each(
        method in prop::sample::select(&ALL[..]),
        [systems, n, width] in [1usize..4, 1usize..5, 1usize..3],
        entries in numbers(48),
        want in numbers(24),
        double in any::<bool>(),
    ) {
        let dtype = if double { DType::F64 } else { DType::F32 };
        let blocks: Vec<f64> =
            (0..systems).flat_map(|k| matrix(kind_of(method), n, &entries[k * n * n..])).collect();
        let right: Vec<f64> = (0..systems)
            .flat_map(|k| product(&blocks[k * n * n..][..n * n], &want[k * n * width..][..n * width], [n, n, width]))
            .collect();
        let a = CsrTensor::<3>::from_dense(dense(&blocks, [systems, n, n], dtype));
        let config = if double { exact(method) } else { exact(method).with_relative(1e-5) };
        let x = config.solve(&a, dense(&right, [systems, n, width], dtype));
        near(&x.reshape([systems * n, width]), &want[..systems * n * width], if double { 1e-7 } else { 1e-2 })?;
    }
}

/// A solved column waits for the others, and neither tiny nor huge right-hand sides are lost in f32.
#[test]
fn columns_of_any_size_are_solved_together() {
    let device = Device::flex();
    let n = 60;
    // An easy block, whose column is solved in one step, and a chain that takes many.
    let mut rows = vec![0.0f32; n * n];
    for k in 0..n {
        rows[k * n + k] = if k < 10 { 1e-3 } else { 2.001 };
        if k > 10 {
            rows[k * n + k - 1] = -1.0;
            rows[(k - 1) * n + k] = -1.0;
        }
    }
    let a = CsrTensor::<2>::from_dense(Tensor::<2>::from_data(TensorData::new(rows, [n, n]), &device));
    for scale in [1e-30f32, 1.0, 1e25] {
        let b: Vec<f32> = (0..2 * n).map(|k| if (k % 2 == 0) == (k / 2 < 10) { scale } else { 0.0 }).collect();
        let b = Tensor::<2>::from_data(TensorData::new(b, [n, 2]), &device);
        let x = SolverConfig::new(Method::Cg).with_relative(3e-5).solve(&a, b.clone());
        // The tolerance, of the length of each column.
        let left = (a.matmul(x) - b).abs().max().into_scalar::<f32>();
        assert!(left <= 3e-5 * 50.0f32.sqrt() * scale, "{left:e} for {scale:e}");
    }
}

/// A chain `[n, n]` of the second differences.
fn chain(n: usize) -> CooTensor<2> {
    let ends: Vec<(usize, usize)> = (0..n)
        .flat_map(|k| [Some((k, k)), (k > 0).then(|| (k, k - 1)), (k + 1 < n).then_some((k, k + 1))])
        .flatten()
        .collect();
    let values: Vec<f64> = ends.iter().map(|(row, col)| if row == col { 2.0 } else { -1.0 }).collect();
    let (rows, cols): (Vec<usize>, Vec<usize>) = ends.into_iter().unzip();
    CooTensor::<2>::from_triplets(&rows, &cols, &values, [n, n], &Device::flex()).unwrap().cast(FloatDType::F64)
}

#[test]
fn a_report_says_how_it_went() {
    let (a, b) = (chain(50).to_csr(), dense(&vec![1.0; 50], [50], DType::F64));
    let config = SolverConfig::new(Method::Cg).with_relative(1e-10);
    let mut seen = vec![];
    let mut progress = |iteration: usize, residual: f64| {
        seen.push((iteration, residual));
        true
    };
    let hints = Hints { progress: Some(&mut progress), ..Hints::default() };
    let report = config.try_solve_with(&a, b.clone(), hints).unwrap().report;
    // Conjugate gradients need half as many steps as there are distinct points: the chain is symmetric.
    assert_eq!((report.stopped, report.iterations), (Stopped::Converged, 25));
    assert_eq!(report.history[1..], seen);
    assert_eq!(report.history[0], (0, 1.0));
    assert!(report.residuals[0] <= 1e-10 && report.residuals.len() == 1);
    assert!(report.to_string().starts_with("solved after 25 iterations"), "{report}");

    let mut stop = |iteration: usize, _| iteration < 3;
    let hints = Hints { progress: Some(&mut stop), ..Hints::default() };
    let stopped = config.clone().with_accept_unsolved(true).try_solve_with(&a, b.clone(), hints).unwrap().report;
    assert_eq!((stopped.stopped, stopped.iterations), (Stopped::Cancelled, 3));

    let few = config.clone().with_max_iterations(Some(4));
    let report = few.clone().with_accept_unsolved(true).try_solve_with(&a, b.clone(), Hints::default()).unwrap().report;
    assert_eq!((report.stopped, report.iterations), (Stopped::Iterations, 4));
    let told = few.try_solve(&a, b.clone()).unwrap_err().to_string();
    assert!(told.contains("stopped by the limit after 4 iterations"), "{told}");
    // The device is read at every tenth iteration only.
    let rare = config.with_check_every(Some(10)).try_solve_with(&a, b, Hints::default()).unwrap().report;
    assert_eq!(rare.history.iter().map(|(iteration, _)| *iteration).collect::<Vec<_>>(), [0, 10, 20, 30]);
}

/// Without a preconditioner the two scales of the diagonal take many iterations.
#[test]
fn a_preconditioner_saves_iterations() {
    let diagonal =
        CsrTensor::from_diagonal(dense(&(0..50).map(|k| f64::from(1 + k * k)).collect::<Vec<_>>(), [50], DType::F64));
    let (a, b) = (diagonal.add(&chain(50).to_csr()), dense(&vec![1.0; 50], [50], DType::F64));
    let preconditioner = jacobi(&a);
    for method in
        [Method::Cg, Method::Minres, Method::BiCgStab, Method::Gmres { restart: 50 }, Method::Idr { shadows: 4 }]
    {
        let config = SolverConfig::new(method).with_relative(1e-8);
        let count = |preconditioner: Option<&Operator>| {
            let hints = Hints { preconditioner: preconditioner.map(|own| own as _), ..Hints::default() };
            config.try_solve_with(&a, b.clone(), hints).unwrap().report.iterations
        };
        let (without, with) = (count(None), count(Some(&preconditioner)));
        assert!(with * 2 < without, "{method:?}: {with} and {without}");
    }
}

/// SciPy's `qmr`, cut off after `k` iterations, with `M2` as the preconditioner.
#[test]
fn qmr_takes_the_points_of_scipy() {
    let n = 6;
    let entry = |i: usize, j: usize| {
        let band = if i.abs_diff(j) < 3 { ((i * 7 + j * 3) % 5) as f64 - 2.0 } else { 0.0 };
        band + if i == j { 5.0 } else { 0.0 }
    };
    let a: Vec<f64> = (0..n * n).map(|at| entry(at / n, at % n)).collect();
    let a = CsrTensor::<2>::from_dense(dense(&a, [n, n], DType::F64));
    let b: Tensor<1> = dense(&[1.0, -2.0, 0.5, 3.0, 0.0, 1.5], [n], DType::F64);
    let scales: Vec<f64> = (1..=n).map(|k| 1.0 / k as f64).collect();
    let scaling = CsrTensor::<2>::from_diagonal(dense(&scales, [n], DType::F64));
    let cases: [(Option<&CsrTensor<2>>, usize, [f64; 6]); 4] = [
        (None, 2, [0.325092937664, -0.192937165756, -0.218494122479, 0.853345823774, -0.152416236524, -0.106783915948]),
        (None, 4, [0.284904104791, -0.209853809754, -0.291783893324, 1.018730401809, 0.223193479216, -0.145331763233]),
        (
            Some(&scaling),
            2,
            [0.180308477991, -0.197861555837, -0.297606040118, 0.714482927396, -0.049148617968, 0.080183275189],
        ),
        (
            Some(&scaling),
            4,
            [0.150969076133, -0.096408579191, -0.453341262624, 1.016554676208, -0.014868439389, 0.037751158113],
        ),
    ];
    for (preconditioner, most, want) in cases {
        let config = SolverConfig::new(Method::Qmr).with_max_iterations(Some(most)).with_accept_unsolved(true);
        let hints = Hints { preconditioner: preconditioner.map(|own| own as _), ..Hints::default() };
        let x = config.with_relative(1e-14).try_solve_with(&a, b.clone(), hints).unwrap().x;
        let got: Vec<f64> = x.into_data().iter().collect();
        assert!(got.iter().zip(&want).all(|(got, want)| (got - want).abs() < 1e-11), "{most}: {got:?}");
    }
}
