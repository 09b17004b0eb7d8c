//! Solvers and their gradients on the device, which is read every few iterations only.

mod passes;
#[cfg(feature = "direct")]
mod spectra;
mod triangles;

use crate::common::{TURN, gpu, list};
use burn::tensor::{Device, Int, Tensor};
use sparse_tensor::solve::{Boundary, Hints, Method, SolverConfig, jacobi, laplacian};
use sparse_tensor::{CsrTensor, device_reads};

const SIDE: usize = 16;

/// A solution, its gradients and its iterations.
fn solved(method: Method, device: &Device) -> (Vec<f32>, Vec<f32>, usize) {
    let device = device.clone().autodiff();
    let grid: CsrTensor<2> = laplacian(&[SIDE, SIDE], Boundary::Neumann, &device).unwrap();
    let more = Tensor::<1>::ones([SIDE * SIDE], &device) * 0.05;
    let a = grid.add(&CsrTensor::from_diagonal(more)).require_grad();
    let b = Tensor::<1, Int>::arange(0..(SIDE * SIDE) as i64, &device.clone().inner()).float().sin();
    let preconditioner = jacobi(&a);
    let hints = Hints {
        preconditioner: (!matches!(method, Method::Lsqr | Method::Lsmr)).then_some(&preconditioner as _),
        ..Hints::default()
    };
    let before = device_reads();
    let solution = SolverConfig::new(method).try_solve_with(&a, Tensor::from_inner(b), hints).unwrap();
    let (iterations, reads) = (solution.report.iterations, device_reads() - before);
    assert!(reads <= 12 + iterations / 10, "{method:?}: {reads} reads in {iterations} iterations");
    let grads = solution.x.clone().powi_scalar(2).sum().backward();
    (list(solution.x), list(a.grad(&grads).unwrap().values::<1>()), iterations)
}

#[test]
fn agree_with_the_cpu_and_read_little() {
    let _turn = TURN.lock();
    for method in [
        Method::Cg,
        Method::Minres,
        Method::BiCg,
        Method::Qmr,
        Method::BiCgStab,
        Method::Cgs,
        Method::Tfqmr,
        Method::Gmres { restart: 20 },
        Method::Lsmr,
    ] {
        let ((x, grad, iterations), (want, want_grad, _)) = (solved(method, &gpu()), solved(method, &Device::flex()));
        assert!(iterations > 10, "{method:?}: {iterations}");
        // Of least squares the residual is that of the normal equations, whose condition is the square.
        let near = if method == Method::Lsmr { 5e-2 } else { 1e-2 };
        for (got, want) in x.iter().zip(&want).chain(grad.iter().zip(&want_grad)) {
            assert!((got - want).abs() <= near * (1.0 + want.abs()), "{method:?}: {got} {want}");
        }
    }
}
