//! Batches of so many small systems that they are solved in groups.

use crate::refused::told;
use burn::tensor::{DType, Device, Tensor, TensorData};
use sparse_tensor::CsrTensor;
use sparse_tensor::ops::{block_diag, stack};
use sparse_tensor::solve::{
    Boundary, Hints, LinearOperator, Method, Operator, Solution, SolverConfig, ic0, jacobi, laplacian,
};

const SYSTEMS: usize = 37;
/// So that sixteen systems are a group, and the last group is smaller.
const ROWS: usize = 1000;

fn options() -> (Device, DType) {
    (Device::flex(), DType::F64)
}

fn right() -> Tensor<2> {
    let list: Vec<f64> = (0..SYSTEMS * ROWS).map(|at| (at * 7919 % 10_007) as f64 / 10_007.0 - 0.5).collect();
    Tensor::from_data(TensorData::new(list, [SYSTEMS, ROWS]), (&options().0, options().1))
}

/// System `k`: a grid and the diagonal `k / 10 + 0.1`, so that each takes another number of iterations.
fn systems_on(device: &Device) -> Vec<CsrTensor<2>> {
    let dtype = options().1;
    let grid: CsrTensor<2> = laplacian(&[25, 40], Boundary::Dirichlet, (device, dtype)).unwrap();
    let shift = |k: usize| Tensor::<1>::full([ROWS], k as f64 / 10.0 + 0.1, (device, dtype));
    (0..SYSTEMS).map(|k| grid.add(&CsrTensor::from_diagonal(shift(k)))).collect()
}

fn systems() -> Vec<CsrTensor<2>> {
    systems_on(&options().0)
}

fn batch(systems: &[CsrTensor<2>]) -> CsrTensor<3> {
    stack(systems, 0)
}

fn row(x: &Tensor<2>, at: usize) -> Tensor<1> {
    x.clone().narrow(0, at, 1).reshape([ROWS])
}

fn list<const D: usize>(x: &Tensor<D>) -> Vec<f64> {
    x.to_data().iter().collect()
}

/// With a preconditioner, a start and an operator that is made of others, which are cut as well: the bits of each
/// system alone, and a report of all.
#[test]
fn each_system_is_as_if_it_were_alone() {
    let (all, b) = (systems(), right());
    let whole = shifted(batch(&all).into(), SYSTEMS * ROWS);
    assert_eq!(whole.groups(16, SYSTEMS).map(|all| all.len()), Some(3), "it can be cut");
    let (scaling, start) = (jacobi(&block_diag(&all)), b.clone() * 0.1);
    for method in [Method::Cg, Method::BiCgStab] {
        let config = SolverConfig::new(method).with_relative(1e-9);
        let Solution { x, report } = config.try_solve_with(&whole, b.clone(), hints(&scaling, &start)).unwrap();
        let (mut iterations, mut first) = (0, 0.0f64);
        for (k, own) in all.iter().enumerate() {
            let (a, scaling, start) = (shifted(own.clone().into(), ROWS), jacobi(own), row(&start, k));
            let alone = config.try_solve_with(&a, row(&b, k), hints(&scaling, &start)).unwrap();
            assert!(list(&row(&x, k)) == list(&alone.x), "{method:?}, system {k}");
            assert_eq!(report.residuals[k], alone.report.residuals[0]);
            iterations = iterations.max(alone.report.iterations);
            first = first.max(alone.report.history[0].1);
        }
        assert_eq!(report.iterations, iterations);
        assert_eq!(report.history[0], (0, first));
        assert!(report.history.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(report.history.last().unwrap().0, iterations);
    }
}

/// `2 (A + I)`, of which the operator knows the parts.
fn shifted(a: Operator, rows: usize) -> Operator {
    (a + Operator::identity(rows)) * 2.0
}

fn hints<'a, const D: usize>(preconditioner: &'a Operator, start: &Tensor<D>) -> Hints<'a, D> {
    Hints { preconditioner: Some(preconditioner), start: Some(start.clone()), ..Hints::default() }
}

/// A callback sees all systems, so with one they are solved side by side: to the same numbers.
#[test]
fn a_callback_changes_no_numbers() {
    let (a, b) = (batch(&systems()), right());
    let config = SolverConfig::new(Method::Cg);
    let mut looks = 0;
    let mut progress = |_, _| {
        looks += 1;
        true
    };
    let told = Hints { progress: Some(&mut progress), ..Hints::default() };
    let [beside, own] = [told, Hints::default()].map(|hints| config.try_solve_with(&a, b.clone(), hints).unwrap());
    assert!(list(&beside.x) == list(&own.x));
    assert_eq!(beside.report.history, own.report.history);
    assert!(looks > 1);
}

#[test]
fn gradients_reach_the_systems_of_all_groups() {
    let (device, dtype) = options();
    let device = device.autodiff();
    let all = systems();
    let a = batch(&systems_on(&device)).require_grad();
    let b = Tensor::<2>::from_data(right().to_data(), (&device, dtype)).require_grad();
    let config = SolverConfig::new(Method::Cg).with_relative(1e-12);
    let x = config.solve(&a, b.clone());
    let grads = x.clone().powi_scalar(2).sum().backward();
    let (of_a, of_b) = (a.grad(&grads).unwrap(), b.grad(&grads).unwrap());
    for k in [0, 15, 16, 36] {
        let own = row(&x.clone().inner(), k);
        let dual = config.solve(&all[k], own.clone() * 2.0);
        near(&row(&of_b, k), &dual);
        // -(dual)^T dA x, at the stored elements of the system.
        let outer = -dual.reshape([ROWS, 1]).matmul(own.reshape([1, ROWS]));
        let got = of_a.narrow(0, k, 1).to_dense().reshape([ROWS, ROWS]);
        near(&got, &outer.mask_fill(all[k].to_dense().equal_scalar(0.0), 0.0));
    }
}

#[test]
fn errors_name_the_system_of_the_batch() {
    let (all, b) = (systems(), right());
    let numbers = Tensor::<2>::from_data(
        TensorData::new((0..SYSTEMS).map(|k| if k == 35 { f64::NAN } else { 1.0 }).collect(), [SYSTEMS, 1]),
        (&options().0, options().1),
    );
    let a = batch(&all);
    let config = SolverConfig::new(Method::Cg);
    told(config.try_solve(&a, b.clone() * numbers), "invalid", "of system 35");
    let mut spoiled = all;
    let infinite = Tensor::<1>::full([ROWS], f64::INFINITY, (&options().0, options().1));
    spoiled[20] = spoiled[20].add(&CsrTensor::from_diagonal(infinite));
    told(config.try_solve(&batch(&spoiled), b), "invalid", "of system 20");
}

/// As without groups.
#[test]
fn a_part_of_another_size_is_an_error() {
    let a = Operator::from(batch(&systems())) + Operator::identity(SYSTEMS * ROWS + 10);
    told(SolverConfig::new(Method::Cg).try_solve(&a, right()), "shape_mismatch", "one shape");
}

/// What cannot be cut is solved side by side.
#[test]
fn a_preconditioner_of_all_systems_is_not_cut() {
    let (all, b) = (systems(), right());
    let factor = ic0(&block_diag(&all));
    assert!(factor.groups(16, SYSTEMS).is_none());
    let config = SolverConfig::new(Method::Cg).with_relative(1e-12);
    let a = batch(&all);
    let with = config.try_solve_with(&a, b.clone(), Hints { preconditioner: Some(&factor), ..Hints::default() });
    near(&with.unwrap().x, &config.solve(&a, b));
}

fn near<const D: usize>(got: &Tensor<D>, want: &Tensor<D>) {
    let far = (got.clone() - want.clone()).abs().max().into_scalar::<f64>();
    assert!(far < 1e-9, "{far}");
}
