//! The steps of Newton's method, and the solve of its gradient.

use crate::nonlinear::{by_hand, exact, list, near, poisson};
use crate::random::dense;
use crate::refused::told;
use burn::tensor::{DType, Device, Tensor, TensorData};
use sparse_dev::gradients::{check, devices};
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{Boundary, Jacobian, Method, NewtonConfig, SolverConfig, Stopped, laplacian};

const F64: DType = DType::F64;

/// From far away whole steps diverge: `atan`.
#[test]
fn the_line_search_makes_it_converge() {
    let eye = CsrTensor::<2>::eye(2, (&Device::flex(), F64));
    let f = |_: &Vec<Tensor<1>>, u: Tensor<1>| u.atan();
    let start = || dense(&[3.0, -20.0], [2], F64);
    let newton = NewtonConfig::new().with_relative(1e-12).with_solver(exact());
    let root = newton.try_solve_with(&vec![], f, start(), Jacobian::colored(eye.pattern()), None).unwrap();
    near(&list(root.u), &[0.0; 2], 1e-10);
    assert!(root.report.evaluations > root.report.iterations + 1);
    let whole = newton.with_max_halvings(0);
    told(whole.try_solve(&vec![], f, start(), Jacobian::colored(eye.pattern())), "invalid", "got no nearer after 1 ");
}

/// A step is short by the size of `u`, but not by that of the unknown that is not solved.
#[test]
fn large_unknowns_do_not_hide_small_ones() {
    let eye = CsrTensor::<2>::eye(2, (&Device::flex(), F64));
    for (start, target) in [([1e6, 2.0], [1e6, 1.0]), ([1e9, 1e4], [1e9, 1e4])] {
        let f = move |_: &Vec<Tensor<1>>, u: Tensor<1>| {
            let (first, second) = (u.clone().narrow(0, 0, 1), u.narrow(0, 1, 1));
            Tensor::cat(vec![first - target[0], second.square() - target[1]], 0)
        };
        let newton = NewtonConfig::new().with_relative(1e-12);
        let root = newton.solve(&vec![], f, dense(&start, [2], F64), Jacobian::colored(eye.pattern()));
        near(&list(root), &[target[0], target[1].sqrt()], 1e-3);
    }
    // Steps of a Jacobian that is far too large are short as well.
    let large = |_: &Vec<Tensor<1>>, u: Tensor<1>| CsrTensor::from_diagonal(u.mul_scalar(2e9));
    let f = |_: &Vec<Tensor<1>>, u: Tensor<1>| u.square() - 2.0;
    let newton = NewtonConfig::new();
    told(newton.try_solve(&vec![], f, dense(&[2.0], [1], F64), Jacobian::given(large)), "invalid", "got no nearer");
}

/// From a start that is nearly the root the residual cannot fall by `relative`.
#[test]
fn rounding_ends_it() {
    for (dtype, off) in [(DType::F32, 1e-4), (F64, 1e-9)] {
        let eye = CsrTensor::<2>::eye(3, (&Device::flex(), dtype));
        let f = |_: &Vec<Tensor<1>>, u: Tensor<1>| u.square() - 2.0;
        let start = dense::<1>(&[2f64.sqrt() + off, 2f64.sqrt(), -2f64.sqrt() - off], [3], dtype);
        let newton = NewtonConfig::new().with_relative(1e-12);
        let root = newton.solve(&vec![], f, start, Jacobian::colored(eye.pattern()));
        near(&list(root), &[2f64.sqrt(), 2f64.sqrt(), -2f64.sqrt()], 1e-6);
    }
}

/// The root is between two floats: the last step is halved until it is less than their distance, and not further.
#[test]
fn halvings_end_where_rounding_leaves_nothing_of_the_step() {
    let eye = CsrTensor::<2>::eye(4, &Device::flex());
    let f = |_: &Vec<Tensor<1>>, u: Tensor<1>| {
        let cubes = Tensor::from_floats([2.0, 3.0, 5.0, 7.0], &u.device());
        u.powi_scalar(3) - cubes
    };
    let newton = NewtonConfig::new().with_relative(0.0).with_step(0.0).with_accept_unsolved(true);
    let start = Tensor::<1>::ones([4], &Device::flex());
    let jacobian = Jacobian::colored(eye.pattern());
    let root = newton.with_max_halvings(400).try_solve_with(&vec![], f, start, jacobian, None).unwrap();
    assert_eq!(root.report.stopped, Stopped::Stagnated);
    assert!(root.report.evaluations < root.report.iterations + 40, "{:?}", root.report);
}

/// With its own configuration the solve of the backward pass is as exact as that asks for; else it is a tight one,
/// whatever the steps ask for.
#[test]
fn the_gradient_of_newton_has_its_own_configuration() {
    let device = Device::flex().autodiff();
    let a = laplacian(&[20], Boundary::Dirichlet, (&Device::flex(), F64)).unwrap();
    let gradient = |config: &NewtonConfig| {
        let right = Tensor::<1>::ones([20], (&device, F64)).require_grad();
        let theta = (a.clone(), right.clone());
        let start = Tensor::<1>::zeros([20], (&device, F64));
        let u = config.solve(&theta, poisson, start, Jacobian::given(by_hand));
        list(right.grad(&u.sum().backward()).unwrap())
    };
    let rough = SolverConfig::new(Method::Gmres { restart: 50 }).with_relative(0.1);
    let config = NewtonConfig::new().with_relative(1e-13).with_step(0.0).with_max_iterations(200);
    let want = gradient(&config.clone().with_solver(exact()));
    let loose = config.clone().with_solver(rough.clone());
    near(&gradient(&loose), &want, 1e-4);
    near(&gradient(&loose.clone().with_gradient(Some(exact()))), &want, 1e-11);
    let far = gradient(&config.with_solver(exact()).with_gradient(Some(rough)));
    assert!(far.iter().zip(&want).any(|(got, want)| (got - want).abs() > 1e-3), "{far:?} and {want:?}");
}

/// `lower <= u <= upper`, with `F(u) >= 0` where `u` is the lower bound and `F(u) <= 0` where it is the upper one: the
/// equation `u = clamp(u - F(u))`.
fn bounded((a, f, lower, upper): &Bounded, u: Tensor<1>) -> Tensor<1> {
    let free = u.clone() - (a.matmul(u.clone()) - f.clone());
    u - free.max_pair(lower.clone()).min_pair(upper.clone())
}

type Bounded = (CsrTensor<2>, Tensor<1>, Tensor<1>, Tensor<1>);

/// A string between obstacles: the conditions of complementarity, and gradients against differences. A bound that
/// holds takes its own gradient, and a force where the string rests takes none.
#[test]
fn bounds_of_the_unknown() {
    let n = 15;
    let options = (&Device::flex(), F64);
    let a = laplacian(&[n], Boundary::Dirichlet, options).unwrap();
    let force: Vec<f64> = (0..n).map(|k| 0.2 * (k as f64 * 0.55).cos()).collect();
    let (lower, upper) = (vec![-0.3; n], (0..n).map(|k| 0.25 + 0.01 * k as f64).collect::<Vec<_>>());
    let newton = NewtonConfig::new().with_relative(1e-13).with_step(0.0).with_absolute(1e-13).with_solver(exact());
    let solve = |theta: &Bounded, start: Tensor<1>| {
        newton.try_solve_with(theta, bounded, start, Jacobian::colored(theta.0.pattern()), None).unwrap()
    };
    let theta = (a.clone(), dense(&force, [n], F64), dense(&lower, [n], F64), dense(&upper, [n], F64));
    let root = solve(&theta, Tensor::zeros([n], options));
    assert!(root.report.iterations < 12, "{}", root.report);
    let (u, value) = (list(root.u.clone()), list(a.matmul(root.u) - theta.1));
    let (mut low, mut high, mut between) = (0, 0, 0);
    for at in 0..n {
        if (u[at] - lower[at]).abs() < 1e-12 {
            assert!(value[at] > 1e-3, "{at}: {}", value[at]);
            low += 1;
        } else if (u[at] - upper[at]).abs() < 1e-12 {
            assert!(value[at] < -1e-3, "{at}: {}", value[at]);
            high += 1;
        } else {
            assert!(lower[at] + 1e-3 < u[at] && u[at] < upper[at] - 1e-3 && value[at].abs() < 1e-12, "{at}");
            between += 1;
        }
    }
    assert!(low > 1 && high > 1 && between > 3, "{low} {high} {between}");
    let inputs = [force, lower, upper].map(|list| TensorData::new(list, [n]));
    for pick in 0..devices().len() {
        check(pick, &inputs, |xs| {
            let [f, lower, upper] = [0, 1, 2].map(|at| xs[at].tensor::<1>());
            let device = f.device();
            let theta = (laplacian(&[n], Boundary::Dirichlet, (&device, F64)).unwrap(), f, lower, upper);
            let u = solve(&theta, Tensor::zeros([n], (&device, F64))).u;
            u.clone().exp() * u
        })
        .unwrap();
    }
}
