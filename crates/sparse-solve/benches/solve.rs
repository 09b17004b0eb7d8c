//! Poisson's equation on a grid of 1000 x 1000 in f64, a batch of 1,000 systems, a direct solve and a spectrum, beside
//! SciPy, PyAMG, torch-sla and plain faer.
//!
//! `SPARSE_PEER_PYTHON=.. cargo bench -p sparse-solve --bench solve -- [SIDE] [amg] [cg] [batch] [direct] [lobpcg]`:
//! without names all, without a peer only our own times. Each time is the median of five runs after one that is not
//! counted; set-up and solve apart. Residuals are checked, and that peers compute the same: the residual that a given
//! number of iterations leaves, the length of a gradient, the sum of eigenvalues.

use burn::tensor::{DType, Device, Tensor, TensorData};
use sparse_tensor::CsrTensor;
use sparse_tensor::ops::stack;
use sparse_tensor::solve::{
    AmgConfig, Boundary, EigshConfig, EigshMethod, Factorization, Hints, LinearOperator, Method, SolverConfig,
    SpectrumHints, factorize, jacobi, laplacian,
};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::process::{Command, Stdio};
use std::time::Instant;

const RUNS: usize = 5;
const TOLERANCE: f64 = 1e-8;
/// Iterations with Jacobi's preconditioner.
const STEPS: usize = 100;

/// Median milliseconds, and the last result.
fn measure<T>(f: impl FnMut() -> T) -> (f64, T) {
    let (own, _) = measure_in_turn(f, || ());
    own
}

/// The same of two, in turn, so that both meet the same machine.
fn measure_in_turn<T, U>(mut f: impl FnMut() -> T, mut g: impl FnMut() -> U) -> ((f64, T), (f64, U)) {
    fn timed<T>(times: &mut Vec<f64>, f: &mut impl FnMut() -> T) -> T {
        let clock = Instant::now();
        let result = black_box(f());
        times.push(clock.elapsed().as_secs_f64() * 1e3);
        result
    }
    let (mut results, mut times) = ((f(), g()), (vec![], vec![]));
    for _ in 0..RUNS {
        results = (timed(&mut times.0, &mut f), timed(&mut times.1, &mut g));
    }
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[RUNS / 2]
    };
    ((median(times.0), results.0), (median(times.1), results.1))
}

/// Milliseconds by name, iterations, and a number of what was computed.
type Times = BTreeMap<String, [f64; 3]>;

fn peers(side: usize, threads: usize) -> Times {
    let Some(python) = std::env::var_os("SPARSE_PEER_PYTHON") else { return Times::new() };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers.py");
    let output = Command::new(python)
        .args([
            script,
            &side.to_string(),
            &threads.to_string(),
            &RUNS.to_string(),
            &TOLERANCE.to_string(),
            &STEPS.to_string(),
        ])
        .stderr(Stdio::inherit())
        .output()
        .expect("the peer starts");
    assert!(output.status.success(), "the peer failed");
    let text = String::from_utf8(output.stdout).expect("text");
    let numbers = |line: &str| {
        let words: Vec<&str> = line.split('\t').collect();
        (words[0].to_string(), [1, 2, 3].map(|at| words[at].parse().expect("a number")))
    };
    text.lines().map(numbers).collect()
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let side = words.iter().find_map(|word| word.parse().ok()).unwrap_or(1000);
    let names: Vec<&String> = words.iter().filter(|word| word.parse::<usize>().is_err()).collect();
    let wanted = |name: &str| names.is_empty() || names.iter().any(|own| *own == name);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let options = (&Device::flex(), DType::F64);
    let a: CsrTensor<2> = laplacian(&[side, side], Boundary::Dirichlet, options).unwrap();
    // The same numbers as in the peer.
    let list: Vec<f64> = (0..side * side).map(|at| (at * 7919 % 10_007) as f64 / 10_007.0 - 0.5).collect();
    let b = Tensor::<1>::from_data(TensorData::new(list, [side * side]), options);
    let config = SolverConfig::new(Method::Cg).with_relative(TOLERANCE);
    let solve = |preconditioner: &dyn LinearOperator| {
        let hints = Hints { preconditioner: Some(preconditioner), ..Hints::default() };
        config.try_solve_with(&a, b.clone(), hints).unwrap().report
    };
    let peers = peers(side, threads);
    let show = |name: &str, own: f64, iterations: Option<usize>| {
        let iterations = iterations.map_or(String::new(), |count| format!("{count} iterations"));
        let peer = peers.get(name).map_or(String::new(), |[time, count, _]| {
            let count = if *count > 0.0 { format!(" {count} iterations") } else { String::new() };
            format!("peer {time:>9.1} ms{count}   {:.2}x", time / own)
        });
        println!("{name:<24} {own:>9.1} ms {iterations:<16} {peer}");
    };
    let show_beside = |name: &str, peer: &str, own: f64| {
        let peer =
            peers.get(peer).map_or(String::new(), |[time, ..]| format!("{time:>9.1} ms {peer}   {:.2}x", time / own));
        println!("{name:<24} {own:>9.1} ms {peer}");
    };
    let same = |peer: &str, own: f64, share: f64| {
        if let Some([.., other]) = peers.get(peer) {
            assert!((own / other - 1.0).abs() < share, "{peer}: ours is {own:e}, the peer's {other:e}");
        }
    };

    if wanted("amg") {
        let (setup, amg) = measure(|| AmgConfig::new().setup(&a));
        println!("{amg}");
        let (refresh, _) = measure(|| amg.refresh(&a));
        let (solved, report) = measure(|| solve(&amg));
        show("AMG set-up", setup, None);
        show("AMG refresh", refresh, None);
        show("AMG CG", solved, Some(report.iterations));
        show("AMG set-up and CG", setup + solved, Some(report.iterations));
        let column: Tensor<2> = b.clone().reshape([side * side, 1]);
        let (time, _) = measure(|| amg.try_apply(column.clone()).unwrap());
        show("AMG cycle", time, None);
    }
    if wanted("cg") {
        let column: Tensor<2> = b.clone().reshape([side * side, 1]);
        let (time, _) = measure(|| a.matmul(column.clone()));
        show("product", time, None);
        let ([cg, residual], [gradient, length]) = cut_off(&a, &b, config.clone());
        same("Jacobi CG, cut off", residual, 1e-6);
        same("torch-sla: Jacobi CG, cut off", residual, 1e-6);
        same("torch-sla: forward and adjoint", length, 1e-6);
        show("Jacobi CG, cut off", cg, Some(STEPS));
        show_beside("the same", "torch-sla: Jacobi CG, cut off", cg);
        show_beside("forward and adjoint", "torch-sla: forward and adjoint", gradient);
        println!("{:<24} {:>9.2} x its forward", "", gradient / cg);
    }
    if wanted("batch") {
        let systems = batch(&config);
        for peer in ["SciPy cg", "SciPy splu", "torch-sla"] {
            show_beside("1,000 systems", &format!("{peer}: 1,000 systems"), systems);
        }
    }
    if wanted("direct") {
        let (ours, faer) = cholesky();
        show("Cholesky", ours, None);
        println!("{:<24} {faer:>9.1} ms of plain faer, {:.2}x", "", faer / ours);
    }
    if wanted("lobpcg") {
        let ([spectrum, sum], iterations) = lobpcg(side / 2);
        same("LOBPCG", sum, 1e-6);
        show("LOBPCG", spectrum, Some(iterations));
    }
}

/// Conjugate gradients that do not go to the end, which takes thousands, with the residual; and the same with the
/// gradients, with the length of that of the right-hand side.
fn cut_off(a: &CsrTensor<2>, b: &Tensor<1>, config: SolverConfig) -> ([f64; 2], [f64; 2]) {
    let config = config.with_max_iterations(Some(STEPS)).with_accept_unsolved(true);
    let preconditioner = jacobi(a);
    let solve = |a: &CsrTensor<2>, b: Tensor<1>| {
        let hints = Hints { preconditioner: Some(&preconditioner), ..Hints::default() };
        config.try_solve_with(a, b, hints).unwrap()
    };
    let device = b.device().autodiff();
    let options = (&device, DType::F64);
    let side = a.dims()[0].isqrt();
    let tracked: CsrTensor<2> = laplacian(&[side, side], Boundary::Dirichlet, options).unwrap();
    let (tracked, right) = (tracked.require_grad(), Tensor::<1>::from_data(b.to_data(), options).require_grad());
    let backward = || {
        let grads = solve(&tracked, right.clone()).x.sum().backward();
        (tracked.grad(&grads).unwrap(), right.grad(&grads).unwrap())
    };
    let ((forward, solution), (both, (_, gradient))) = measure_in_turn(|| solve(a, b.clone()), backward);
    let length = gradient.square().sum().into_scalar::<f64>().sqrt();
    ([forward, solution.report.residuals[0]], [both, length])
}

/// 1,000 systems of 1,000 unknowns, each a Laplacian and a diagonal of its own.
fn batch(config: &SolverConfig) -> f64 {
    let options = (&Device::flex(), DType::F64);
    let one: CsrTensor<2> = laplacian(&[25, 40], Boundary::Dirichlet, options).unwrap();
    let right: Vec<f64> = (0..1_000_000).map(|at| (at * 7919 % 10_007) as f64 / 10_007.0 - 0.5).collect();
    let b = Tensor::<2>::from_data(TensorData::new(right, [1000, 1000]), options);
    let more = b.clone().powi_scalar(2) + 0.05;
    let systems = (0..1000).map(|k| {
        let diagonal = more.clone().narrow(0, k, 1).reshape([1000]);
        one.add(&CsrTensor::from_diagonal(diagonal))
    });
    let a: CsrTensor<3> = stack(&systems.collect::<Vec<_>>(), 0);
    let (time, _) = measure(|| config.solve(&a, b.clone()));
    time
}

/// The factor of a grid of 40 x 40 x 40, ours and that of plain faer.
fn cholesky() -> (f64, f64) {
    let options = (&Device::flex(), DType::F64);
    let a: CsrTensor<2> = laplacian(&[40, 40, 40], Boundary::Dirichlet, options).unwrap();
    // Another pattern each time, so that nothing is kept.
    let again = |_| laplacian(&[40, 40, 40], Boundary::Dirichlet, options).unwrap();
    let mut fresh: Vec<CsrTensor<2>> = (0..=RUNS).map(again).collect();
    let (ours, _) = measure(|| factorize(&fresh.pop().expect("one for each run"), Factorization::Cholesky));
    let numbers = |list: Tensor<1, burn::tensor::Int>| list.into_data().iter::<i64>().map(|x| x as usize).collect();
    let (ptr, idx): (Vec<usize>, Vec<usize>) = (numbers(a.row_ptr()), numbers(a.col_idx()));
    let values: Vec<f64> = a.values::<1>().into_data().iter().collect();
    let n = a.dims()[0];
    let (plain, _) = measure(|| {
        use faer::sparse::{SparseColMat, SymbolicSparseColMat};
        let pattern = SymbolicSparseColMat::new_checked(n, n, ptr.clone(), None, idx.clone());
        SparseColMat::new(pattern, values.clone()).sp_cholesky(faer::Side::Lower).unwrap()
    });
    (ours, plain)
}

/// The 8 smallest eigenvalues of a grid, with multigrid: time and sum.
fn lobpcg(side: usize) -> ([f64; 2], usize) {
    let options = (&Device::flex(), DType::F64);
    let a: CsrTensor<2> = laplacian(&[side, side], Boundary::Dirichlet, options).unwrap();
    let amg = AmgConfig::new().setup(&a);
    // SciPy's tolerance is of the residual itself.
    let config = EigshConfig::new(8).with_method(EigshMethod::Lobpcg).with_relative(0.0).with_absolute(1e-6);
    let (time, pairs) = measure(|| {
        let hints = SpectrumHints { preconditioner: Some(&amg), ..SpectrumHints::default() };
        config.try_solve_with(&a, hints).unwrap()
    });
    ([time, pairs.values.sum().into_scalar::<f64>()], pairs.report.iterations)
}
