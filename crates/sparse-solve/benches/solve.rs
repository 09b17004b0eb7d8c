//! Poisson's equation on a grid of 1000 x 1000 in f64: conjugate gradients beside SciPy's, multigrid beside PyAMG's.
//!
//! `SPARSE_PEER_PYTHON=.. cargo bench -p sparse-solve --bench solve [SIDE]`: without a peer only our own times. Each
//! time is the median of three runs after one that is not counted; set-up and solve apart. The peers' residuals are
//! checked.

use burn::tensor::{DType, Device, Tensor, TensorData};
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{AmgConfig, Boundary, Hints, LinearOperator, Method, SolverConfig, jacobi, laplacian};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::process::{Command, Stdio};
use std::time::Instant;

const RUNS: usize = 3;
const TOLERANCE: f64 = 1e-8;
/// Iterations with Jacobi's preconditioner.
const STEPS: usize = 100;

/// Median milliseconds, and the last result.
fn measure<T>(mut f: impl FnMut() -> T) -> (f64, T) {
    let mut result = f();
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let clock = Instant::now();
            result = black_box(f());
            clock.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (times[RUNS / 2], result)
}

/// Milliseconds by name, with a number beside: iterations.
type Times = BTreeMap<String, (f64, f64)>;

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
        (words[0].to_string(), (words[1].parse().expect("a number"), words[2].parse().expect("a number")))
    };
    text.lines().map(numbers).collect()
}

fn main() {
    let side = std::env::args().filter_map(|word| word.parse().ok()).next().unwrap_or(1000);
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
        let peer = peers.get(name).map_or(String::new(), |(time, count)| {
            let count = if *count > 0.0 { format!(" {count} iterations") } else { String::new() };
            format!("peer {time:>9.1} ms{count}   {:.2}x", time / own)
        });
        println!("{name:<24} {own:>9.1} ms {iterations:<16} {peer}");
    };

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
    let (time, _) = measure(|| a.matmul(column.clone()));
    show("product", time, None);
    // Not to the end, which takes thousands.
    let config = config.with_max_iterations(Some(STEPS)).with_accept_unsolved(true);
    let preconditioner = jacobi(&a);
    let (time, report) = measure(|| {
        let hints = Hints { preconditioner: Some(&preconditioner), ..Hints::default() };
        config.try_solve_with(&a, b.clone(), hints).unwrap().report
    });
    show("Jacobi CG, cut off", time, Some(report.iterations));
}
