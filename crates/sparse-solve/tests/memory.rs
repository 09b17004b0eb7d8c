//! A solve and its gradient keep a few vectors, however many iterations they take: `O(nnz + n F)`, never `n^2`.
//!
//! The allocator counts the bytes in use, on any thread, and the most of them since a mark. A test of its own binary:
//! the count is of the process.

use burn::tensor::{DType, Device, Tensor};
use sparse_dev::counting::{Counting, USED};
use sparse_tensor::set_pool_limit;
use sparse_tensor::solve::{Boundary, Hints, Method, Solution, SolverConfig, laplacian};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

static MOST: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting(|_, used| {
    MOST.fetch_max(used, Ordering::Relaxed);
});

/// The most bytes in use during `run` beyond those before.
fn peak<T>(run: impl FnOnce() -> T) -> usize {
    let before = USED.load(Ordering::SeqCst);
    MOST.store(before, Ordering::SeqCst);
    black_box(run());
    MOST.load(Ordering::SeqCst) - before
}

#[test]
fn does_not_grow_with_the_iterations() {
    set_pool_limit(0);
    let (side, bytes) = (64, size_of::<f64>());
    let (n, options) = (side * side, (&Device::flex().autodiff(), DType::F64));
    let a = laplacian(&[side, side], Boundary::Dirichlet, options).unwrap().require_grad();
    let b = Tensor::<1>::ones([n], options).require_grad();
    let linear = (a.nnz() + n) * bytes;
    // Restarted methods keep a basis, of the size that is asked for.
    for method in [Method::Cg, Method::Minres, Method::BiCgStab, Method::Gmres { restart: 5 }, Method::Lsmr] {
        let config = SolverConfig::new(method).with_relative(0.0).with_accept_unsolved(true);
        let solve = |iterations: usize| {
            let config = config.clone().with_max_iterations(Some(iterations));
            let Solution { x, report } = config.try_solve_with(&a, b.clone(), Hints::default()).unwrap();
            assert_eq!(report.iterations, iterations, "{method:?}: {report}");
            let grads = x.sum().backward();
            (a.grad(&grads).unwrap(), b.grad(&grads).unwrap())
        };
        // What is kept with the pattern, as the transposed one, is made here.
        drop(solve(2));
        let [few, many] = [10, 1000].map(|iterations| peak(|| solve(iterations)));
        println!("{method:?}: {:.2} and {:.2} of nnz + n", few as f64 / linear as f64, many as f64 / linear as f64);
        // The history has a pair for each look at the residual.
        let history = 2 * 1000 * 2 * size_of::<(usize, f64)>();
        assert!(many <= few + history, "{method:?}: {few} and {many} bytes");
        assert!(many <= 10 * linear, "{method:?}: {many} bytes, nnz + n are {linear}");
        assert!(many * 20 < n * n * bytes, "{method:?}: {many} bytes");
    }
}
