//! Matrices of any scale.

use crate::random::dense;
use burn::tensor::{DType, Tensor};
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{
    FunmConfig, Hints, LinearOperator, Method, Operator, SolverConfig, Stopped, block_jacobi, ic0, ic0_shifted, ilu0,
    ilut, jacobi, polynomial, ssor,
};

const A: [f64; 9] = [2.0, 1.0, 0.0, 1.0, 3.0, 1.0, 0.0, 1.0, 4.0];
/// `A x = b`.
const B: [f64; 3] = [1.0, 2.0, 3.0];
const X: [f64; 3] = [1.0 / 3.0, 1.0 / 3.0, 2.0 / 3.0];

fn check(method: Method, scale: f64, dtype: DType, preconditioned: bool) {
    let a = CsrTensor::<2>::from_dense(dense(&A.map(|entry| entry * scale), [3, 3], dtype));
    let preconditioner = preconditioned.then(|| jacobi(&a));
    let hints = Hints { preconditioner: preconditioner.as_ref().map(|own| own as _), ..Hints::default() };
    let solution = SolverConfig::new(method).try_solve_with(&a, dense(&B, [3], dtype), hints).unwrap();
    assert_eq!(solution.report.stopped, Stopped::Converged);
    for (got, want) in solution.x.into_data().iter::<f64>().zip(X) {
        assert!((got * scale - want).abs() < 1e-4, "{method:?} {scale:e}: {got:e} and {:e}", want / scale);
    }
}

#[test]
fn matrices_of_any_scale_are_solved() {
    for method in crate::solutions::ALL {
        for scale in [1e-30, 1e-23, 8.85e-12, 1e-3, 2e11, 1e25, 1e30] {
            check(method, scale, DType::F32, false);
        }
        for scale in [1e-200, 1e-23, 1e200] {
            check(method, scale, DType::F64, false);
        }
    }
    for method in [Method::Cg, Method::Minres, Method::BiCgStab, Method::Gmres { restart: 4 }] {
        check(method, 1e-20, DType::F32, true);
        check(method, 1e20, DType::F32, true);
    }
}

/// `(s A)^-1 = A^-1 / s`, of each preconditioner, and what they make of CG.
#[test]
fn preconditioners_of_any_scale() {
    let makers: [fn(&CsrTensor<2>) -> Operator; 8] = [
        ilu0,
        ic0,
        |a| ilut(a, 3, 1e-9),
        |a| block_jacobi(a, 3),
        |a| ic0_shifted(a, 0.1),
        |a| ssor(a, 1.2),
        |a| polynomial(a, 4),
        |a| block_jacobi(a, 1),
    ];
    let of = |scale: f64, dtype: DType| CsrTensor::<2>::from_dense(dense(&A.map(|entry| entry * scale), [3, 3], dtype));
    let scales = [(DType::F32, [1e-30, 1e-20, 1.0, 1e20, 1e30]), (DType::F64, [1e-250, 1e-200, 1e-20, 1e200, 1e250])];
    for (at, make) in makers.into_iter().enumerate() {
        let product = |scale: f64, dtype: DType| -> Vec<f64> {
            let out = make(&of(scale, dtype)).try_apply(dense(&B, [3, 1], dtype)).unwrap();
            out.into_data().iter::<f64>().map(|x| x * scale).collect()
        };
        let want = product(1.0, DType::F64);
        // Nothing is left out of the factors of this matrix.
        assert!(at > 3 || want.iter().zip(X).all(|(got, want)| (got - want).abs() < 1e-12), "{at}: {want:?}");
        for (dtype, scale) in scales.into_iter().flat_map(|(dtype, list)| list.map(|scale| (dtype, scale))) {
            for (got, want) in product(scale, dtype).into_iter().zip(&want) {
                assert!((got - want).abs() < 1e-4, "{at}: {scale:e}: {got:e} and {want:e}");
            }
            let m = make(&of(scale, dtype));
            let hints = Hints { preconditioner: Some(&m), ..Hints::default() };
            let config = SolverConfig::new(Method::Cg);
            let solution = config.try_solve_with(&of(scale, dtype), dense(&B, [3], dtype), hints).unwrap();
            for (got, want) in solution.x.into_data().iter::<f64>().zip(X) {
                assert!((got * scale - want).abs() < 1e-4, "{at}: {scale:e}: {got:e} and {:e}", want / scale);
            }
        }
    }
}

/// The square of the root is the matrix, and the root of `s A` is `s^(1/2)` that of `A`.
#[test]
fn functions_of_matrices_of_any_scale() {
    let of = |at: f64, scales: [f64; 2], dtype: DType| {
        let a = CsrTensor::<2>::from_dense(dense(&A.map(|entry| entry * scales[0]), [3, 3], dtype));
        let b: Tensor<1> = dense(&B.map(|entry| entry * scales[1]), [3], dtype);
        let root = FunmConfig::new().multiply(f64::sqrt, &a, b);
        root.into_data().iter::<f64>().map(|x| x / at).collect::<Vec<_>>()
    };
    let want = of(1.0, [1.0; 2], DType::F64);
    for (dtype, far, tolerance) in [(DType::F32, 1e25, 1e-5), (DType::F64, 1e200, 1e-12)] {
        for scales in [[far, 1.0], [1.0 / far, 1.0], [1.0, far], [1.0, 1.0 / far]] {
            let got = of(f64::sqrt(scales[0]) * scales[1], scales, dtype);
            let near = got.iter().zip(&want).all(|(got, want)| (got - want).abs() <= tolerance);
            assert!(near, "{dtype:?} {scales:?}: {got:?} and {want:?}");
        }
    }
}

/// The second direction of Lanczos is short beside the first, and its squares are 0 in f32.
#[test]
fn bounds_of_a_small_matrix_with_one_large_eigenvalue() {
    let scale = 1e-30;
    let diagonal: Vec<f64> = (0..10).map(|k| if k == 9 { 1000.0 * scale } else { scale }).collect();
    let a = CsrTensor::<2>::from_diagonal(dense(&diagonal, [10], DType::F32));
    let degree = 5;
    let p = polynomial(&a, degree).try_apply(dense(&[1.0; 10], [10, 1], DType::F32)).unwrap();
    // Between 1 and 1100: `1 - t p(t)` is at most 1 / T_6(1101 / 1099).
    let bound = 1.0 / ((degree + 1) as f64 * (1101.0f64 / 1099.0).acosh()).cosh();
    for (t, p) in diagonal.iter().zip(p.into_data().iter::<f64>()) {
        assert!((1.0 - t * p).abs() <= bound * (1.0 + 1e-3), "{t:e} {p:e}");
    }
}

/// A system each, with its own scale.
#[test]
fn systems_of_a_batch_have_their_own_scales() {
    let scales = [1e-20, 1.0, 1e15];
    let list: Vec<f64> = scales.iter().flat_map(|scale| A.map(|entry| entry * scale)).collect();
    let a = CsrTensor::<3>::from_dense(dense(&list, [3, 3, 3], DType::F32));
    for method in crate::solutions::ALL {
        let x = SolverConfig::new(method).solve(&a, dense(&[B; 3].concat(), [3, 3], DType::F32));
        for (at, got) in x.into_data().iter::<f64>().enumerate() {
            assert!((got * scales[at / 3] - X[at % 3]).abs() < 1e-4, "{method:?}: {got:e} at {at}");
        }
    }
}

/// 1e30 / 1e-30 is more than f32 has.
#[test]
fn a_solution_that_overflows_is_an_error() {
    let a = CsrTensor::<2>::from_dense(dense(&A.map(|entry| entry * 1e-30), [3, 3], DType::F32));
    for method in crate::solutions::ALL {
        let b: Tensor<1> = dense(&B.map(|entry| entry * 1e30), [3], DType::F32);
        let told = SolverConfig::new(method).try_solve(&a, b).unwrap_err().to_string();
        assert!(told.contains("of the solution must be finite"), "{told}");
    }
}
