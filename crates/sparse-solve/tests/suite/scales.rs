//! Matrices of any scale.

use crate::random::dense;
use burn::tensor::{DType, Tensor};
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{Hints, Method, SolverConfig, Stopped, jacobi};

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
