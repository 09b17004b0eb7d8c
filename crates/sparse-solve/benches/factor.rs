//! Factors of Poisson's equation on a grid of 40 x 40 x 40 in f64 beside plain faer, and a batch of 1,000 systems of
//! 1,000 unknowns; beside SciPy's `splu` with `SPARSE_PEER_PYTHON`.
//!
//! `SPARSE_PEER_PYTHON=.. cargo bench -p sparse-solve --bench factor`. Each time is the median of three runs after one
//! that is not counted.

use burn::tensor::{DType, Device, Tensor, TensorData};
use faer::Side;
use faer::linalg::solvers::Solve;
use faer::sparse::linalg::solvers::{Llt, SymbolicLlt};
use faer::sparse::{SparseColMat, SymbolicSparseColMat};
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{Boundary, Factorization, factorize, laplacian};
use std::hint::black_box;
use std::process::{Command, Stdio};
use std::time::Instant;

const SIDE: usize = 40;
const SYSTEMS: usize = 1000;

/// Median milliseconds.
fn measure<T>(name: &str, mut f: impl FnMut() -> T) -> f64 {
    black_box(f());
    let mut times: Vec<f64> = (0..3)
        .map(|_| {
            let clock = Instant::now();
            black_box(f());
            clock.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{name}: {:.1} ms", times[1]);
    times[1]
}

fn ids<const D: usize>(x: Tensor<D, burn::tensor::Int>) -> Vec<usize> {
    x.into_data().iter::<i64>().map(|id| id as usize).collect()
}

fn main() {
    let options = (&Device::flex(), DType::F64);
    let a = laplacian(&[SIDE; 3], Boundary::Dirichlet, options).expect("a grid");
    let n = a.dims()[0];
    let b = Tensor::<1>::ones([n], options);
    let (ptr, idx) = (ids(a.row_ptr().clone()), ids(a.col_idx().clone()));
    let values: Vec<f64> = a.values::<1>().into_data().iter().collect();
    let plain = SparseColMat::new(SymbolicSparseColMat::new_checked(n, n, ptr, None, idx), values);
    let symbolic = SymbolicLlt::try_new(plain.symbolic(), Side::Upper).expect("it fits");
    let numeric = || Llt::try_new_with_symbolic(symbolic.clone(), plain.as_ref(), Side::Upper).expect("positive");
    let theirs = measure("faer, numeric", numeric);
    let ours = measure("here, numeric", || factorize(&a, Factorization::Cholesky));
    println!("share of faer: {:.2}", ours / theirs);
    let (factor, other) = (factorize(&a, Factorization::Cholesky), numeric());
    let right = faer::Mat::from_fn(n, 1, |_, _| 1.0);
    measure("faer, solve", || other.solve(&right));
    measure("here, solve", || factor.solve(b.clone()));
    measure("here, Lu, numeric", || factorize(&a, Factorization::Lu));
    measure("here, inverse on the pattern", || factor.inverse_on_pattern());

    let one = laplacian(&[10; 3], Boundary::Dirichlet, options).expect("a grid");
    let values: Vec<f64> = one.values::<1>().into_data().iter().collect();
    let all: Vec<f64> =
        (0..SYSTEMS).flat_map(|at| values.iter().map(move |own| own * (1.0 + at as f64 / 1e3))).collect();
    let nnz = all.len();
    let repeated = |list: Vec<usize>| {
        let list: Vec<i64> = (0..SYSTEMS).flat_map(|_| list.iter().map(|&id| id as i64)).collect();
        let count = list.len();
        Tensor::<1, burn::tensor::Int>::from_data(TensorData::new(list, [count]), &Device::flex())
    };
    let (ptr, idx) = (repeated(ids(one.row_ptr().clone())), repeated(ids(one.col_idx().clone())));
    let values = Tensor::<1>::from_data(TensorData::new(all, [nnz]), options);
    let batch = CsrTensor::<3>::new(ptr, idx, values, [SYSTEMS, 1000, 1000]).expect("a batch");
    let right = Tensor::<2>::ones([SYSTEMS, 1000], options);
    for how in [Factorization::Cholesky, Factorization::Lu] {
        measure(&format!("here, {SYSTEMS} systems, {how:?}"), || factorize(&batch, how).solve(right.clone()));
    }
    if let Some(python) = std::env::var_os("SPARSE_PEER_PYTHON") {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/factor_peers.py");
        let status = Command::new(python)
            .args([script, &SIDE.to_string(), &SYSTEMS.to_string()])
            .stderr(Stdio::inherit())
            .status()
            .expect("the peer starts");
        assert!(status.success(), "the peer failed");
    }
}
