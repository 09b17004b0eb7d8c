//! `_isolve/tests/test_iterative.py`: every method on every system.

use super::matrices::{Case, F64, all, diagonal, grid, poisson1d};
use crate::random::dense;
use crate::refused::told;
use crate::solutions::ALL;
use burn::tensor::DType;
use sparse_tensor::Result;
use sparse_tensor::solve::{
    Factorization, Hints, LinearOperator, Method, Operator, Solution, SolverConfig, Stopped, factorize,
};

pub fn list(solution: &Solution<1>) -> Vec<f64> {
    solution.x.clone().into_data().iter().collect()
}

/// SciPy's tolerance of a dtype.
fn tolerance(dtype: DType) -> f64 {
    if dtype == F64 { 1e-8 } else { 1e-2 }
}

/// Their tolerance is one of `A^T r`.
const NORMAL: [Method; 3] = [Method::Lsqr, Method::Lsmr, Method::Cgls];

/// SciPy restarts after 20 directions.
fn methods(case: &Case) -> Vec<Method> {
    let longer = |method| if matches!(method, Method::Gmres { .. }) { Method::Gmres { restart: 20 } } else { method };
    ALL.into_iter().map(longer).filter(|method| case.takes(*method)).collect()
}

#[derive(Clone, Copy)]
struct Run<'a> {
    case: &'a Case,
    method: Method,
    dtype: DType,
    preconditioner: Option<&'a dyn LinearOperator>,
    start: Option<&'a [f64]>,
}

impl Run<'_> {
    fn go(&self) -> Result<Solution<1>> {
        let config = SolverConfig::new(self.method).with_max_iterations(Some(4000));
        let config = match NORMAL.contains(&self.method) {
            true => config.with_relative(tolerance(self.dtype) * 1e-4).with_accept_unsolved(true),
            false => config.with_relative(tolerance(self.dtype)),
        };
        let hints = Hints {
            start: self.start.map(|start| dense(start, [self.case.n], self.dtype)),
            preconditioner: self.preconditioner,
            progress: None,
        };
        config.try_solve_with(&self.case.matrix(self.dtype), self.case.right(self.dtype), hints)
    }

    /// What is wrong.
    fn trouble(&self) -> Option<String> {
        let what = format!("{} by {:?} in {:?}", self.case.name, self.method, self.dtype);
        let solution = match self.go() {
            Ok(solution) => solution,
            Err(trouble) => return Some(format!("{what}: {trouble}")),
        };
        let residual = self.case.residual(&list(&solution));
        // In single precision the residual has errors of its own.
        let most = tolerance(self.dtype) * if self.dtype == F64 { 1.0001 } else { 2.0 };
        let stopped = solution.report.stopped;
        let good = stopped == Stopped::Converged || NORMAL.contains(&self.method);
        // Not of what is no number.
        let near = residual <= most;
        (!good || !near).then(|| format!("{what}: {stopped:?} {residual:e}"))
    }

    fn check(&self) {
        assert_eq!(self.trouble(), None);
    }
}

/// `test_convergence`, `test_precond_dummy`, `test_x0_equals_Mb`. SciPy leaves out `Minres` in single precision and for
/// `poisson2d`, and the methods that break down for `sym-nonpd`; here all of them solve these. Of `nonsymposdef` SciPy
/// leaves out four methods, "an algorithmic limitation"; here two.
#[test]
fn every_method_on_every_system() {
    let mut troubles = vec![];
    for case in &all() {
        let stuck = |method| case.name == "nonsymposdef" && matches!(method, Method::Cgs | Method::Tfqmr);
        for method in methods(case).into_iter().filter(|method| !stuck(*method)) {
            for dtype in [F64, DType::F32] {
                let plain = Run { case, method, dtype, preconditioner: None, start: None };
                troubles.extend(plain.trouble());
                troubles.extend(Run { start: Some(&case.b), ..plain }.trouble());
                if matches!(method, Method::Lsqr | Method::Lsmr) {
                    continue;
                }
                let scales = case.scales(method == Method::Cgls);
                let scaled = diagonal(&scales, dtype);
                troubles
                    .extend(Run { preconditioner: Some(&Operator::identity(case.n)), start: None, ..plain }.trouble());
                let start: Vec<f64> = case.b.iter().zip(&scales).map(|(b, own)| b * own).collect();
                troubles.extend(Run { preconditioner: Some(&scaled), start: Some(&start), ..plain }.trouble());
            }
        }
    }
    assert!(troubles.is_empty(), "{}", troubles.join("\n"));
}

/// `test_maxiter`: the `info` of 1 is an error that says so, or a report.
#[test]
fn one_iteration_is_one() {
    for case in &all() {
        for method in methods(case) {
            let config = SolverConfig::new(method).with_relative(1e-12).with_max_iterations(Some(1));
            told(config.try_solve(&case.matrix(F64), case.right(F64)), "invalid", "after 1 iterations");
            let config = config.with_accept_unsolved(true);
            let solution = config.try_solve_with(&case.matrix(F64), case.right(F64), Hints::default()).unwrap();
            assert_eq!((solution.report.stopped, solution.report.iterations), (Stopped::Iterations, 1));
            if NORMAL.contains(&method) {
                continue;
            }
            let told = solution.report.residuals[0];
            let found = case.residual(&list(&solution));
            assert!((told - found).abs() <= 1e-10 * found, "{} {method:?}: {told} and {found}", case.name);
        }
    }
}

/// `test_precond_inverse`: with the inverse at most three products.
#[test]
fn with_the_inverse_it_is_instant() {
    for case in &[poisson1d(), grid()] {
        let inverse = || Operator::new(factorize(&case.matrix(F64), Factorization::Cholesky));
        for method in ALL.into_iter().filter(|method| !matches!(method, Method::Lsqr | Method::Lsmr)) {
            let own = if method == Method::Cgls { inverse() * inverse() } else { inverse() };
            let run = Run { case, method, dtype: F64, preconditioner: Some(&own), start: None };
            run.check();
            let report = run.go().unwrap().report;
            assert!(report.iterations <= 3, "{} {method:?}: {report}", case.name);
        }
    }
}

/// `test_x0_solves_problem_exactly`, `test_minres_precond_exact_x0`: nothing is left to do.
#[test]
fn a_start_that_solves_it() {
    let positive = super::matrices::positive("M", 10, 0.0, 7);
    for (n, value) in [(2, -1.0), (10, 1.0)] {
        let case = Case { n, ..Case::rows("eye", crate::random::Kind::Positive, [[1.0]]) };
        let case = Case { entries: (0..n).map(|k| (k, k, 1.0)).collect(), ..case }.with_b(&vec![value; n]);
        for method in ALL {
            let plain = Run { case: &case, method, dtype: F64, preconditioner: None, start: Some(&case.b) };
            let m = positive.matrix(F64);
            let with = n == 10 && !matches!(method, Method::Lsqr | Method::Lsmr);
            let run = Run { preconditioner: with.then_some(&m as _), ..plain };
            let solution = run.go().unwrap();
            assert_eq!((list(&solution), solution.report.iterations), (case.b.clone(), 0), "{method:?}");
        }
    }
}

/// `test_x0_working`, `test_minres_non_default_x0`: a start without any meaning.
#[test]
fn a_start_of_noise() {
    let case = super::matrices::positive("test_x0_working", 10, 0.1, 1_685_363);
    for method in ALL {
        let start = super::matrices::noise(10, 17);
        Run { case: &case, method, dtype: F64, preconditioner: None, start: Some(&start) }.check();
    }
}
