//! Non-linear equations: known solutions, gradients, colourings, errors.

use crate::gradients::with_values;
use crate::random::{dense, numbers};
use crate::refused::told;
use burn::tensor::{DType, Device, Tensor, TensorData};
use proptest::prelude::*;
use sparse_dev::gradients::{check, devices};
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{
    Boundary, FixedPointConfig, Jacobian, Method, NewtonConfig, SolverConfig, Stopped, color_columns, color_rows,
    laplacian, sparse_jacobian, try_ilu0, try_sparse_jacobian,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

pub type Poisson = (CsrTensor<2>, Tensor<1>);

const F64: DType = DType::F64;

/// `-lap u + u^3 - f`, without the square of the distance.
pub fn poisson((a, right): &Poisson, u: Tensor<1>) -> Tensor<1> {
    a.matmul(u.clone()) + u.powi_scalar(3) - right.clone()
}

pub fn by_hand((a, _): &Poisson, u: Tensor<1>) -> CsrTensor<2> {
    a.add(&CsrTensor::from_diagonal(u.square().mul_scalar(3.0)))
}

pub fn list<const D: usize>(x: Tensor<D>) -> Vec<f64> {
    x.into_data().iter::<f64>().collect()
}

pub fn near(got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len());
    for (at, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= tolerance, "{got} and {want} at {at}");
    }
}

pub fn exact() -> SolverConfig {
    SolverConfig::new(Method::Gmres { restart: 50 }).with_relative(1e-13).with_accept_unsolved(true)
}

/// A solution that is chosen, and the right-hand side that belongs to it.
#[test]
fn poisson_with_a_cube() {
    let a = laplacian(&[7, 6], Boundary::Dirichlet, (&Device::flex(), F64)).unwrap();
    let want: Vec<f64> = (0..42).map(|k| 2.0 * (k as f64 * 0.7).sin()).collect();
    let theta =
        (a.clone(), poisson(&(a.clone(), Tensor::zeros([42], (&Device::flex(), F64))), dense(&want, [42], F64)));
    let start = || Tensor::<1>::zeros([42], (&Device::flex(), F64));
    let newton = NewtonConfig::new().with_relative(1e-12).with_solver(exact());
    let kinds: [Jacobian<Poisson, 1>; 4] = [
        Jacobian::given(by_hand),
        Jacobian::colored(a.pattern()),
        Jacobian::colored(a.pattern()).with_preconditioner(try_ilu0),
        Jacobian::free(),
    ];
    let mut linear = vec![];
    for (kind, jacobian) in kinds.into_iter().enumerate() {
        let root = newton.try_solve_with(&theta, poisson, start(), jacobian, None).unwrap();
        near(&list(root.u), &want, 1e-8);
        let report = root.report;
        assert!(report.stopped == Stopped::Converged && report.iterations <= 12, "{kind}: {report}");
        assert_eq!(report.history.len(), report.iterations + 1);
        assert!(report.history.windows(2).all(|pair| pair[1] < pair[0]), "{:?}", report.history);
        assert!(report.residual() <= 1e-12 * report.history[0] && report.evaluations > report.iterations);
        linear.push(report.linear_iterations);
    }
    assert!(linear[2] * 2 < linear[1], "the factors help: {linear:?}");
}

/// The Jacobian of 2-D unknowns counts them in row-major order.
#[test]
fn unknowns_of_two_dims() {
    let a = laplacian(&[4], Boundary::Dirichlet, (&Device::flex(), F64)).unwrap();
    let f = |a: &CsrTensor<2>, u: Tensor<2>| a.matmul(u.clone()) + u.exp() - 2.0;
    let pattern = a.kron(&CsrTensor::eye(3, (&Device::flex(), F64)));
    let start = Tensor::<2>::zeros([4, 3], (&Device::flex(), F64));
    let newton = NewtonConfig::new().with_relative(1e-12).with_solver(exact());
    let u = newton.solve(&a, f, start.clone(), Jacobian::colored(pattern.pattern()));
    near(&list(f(&a, u.clone())), &[0.0; 12], 1e-10);
    let same = newton.solve(&a, f, start, Jacobian::free());
    near(&list(u), &list(same), 1e-8);
}

/// `u'' + lambda e^u = 0` on (0, 1) with zeros at both ends: `u(1/2) = 2 ln cosh(t / 4)` with `t` from
/// `t = sqrt(2 lambda) cosh(t / 4)`; for lambda = 1 the lower solution has t = 1.5171645990507543.
#[test]
fn bratu() {
    let n = 127;
    let step = 1.0 / (n + 1) as f64;
    let options = (&Device::flex(), F64);
    let a = laplacian(&[n], Boundary::Dirichlet, options).unwrap();
    let f = move |a: &CsrTensor<2>, u: Tensor<1>| a.matmul(u.clone()) - u.exp().mul_scalar(step * step);
    let newton = NewtonConfig::new().with_relative(1e-10);
    let jacobian = || Jacobian::colored(a.pattern()).with_preconditioner(try_ilu0);
    let root = newton.try_solve_with(&a, f, Tensor::<1>::zeros([n], options), jacobian(), None).unwrap();
    let t: f64 = 1.5171645990507543;
    assert!((t - 2f64.sqrt() * (t / 4.0).cosh()).abs() < 1e-12);
    let middle = list(root.u)[n / 2];
    // The second differences have an error of O(step^2).
    assert!((middle - 2.0 * (t / 4.0).cosh().ln()).abs() < step * step, "{middle}");
    assert!(root.report.iterations <= 5, "{}", root.report);
    // Above the critical number of 3.51 there is no solution.
    let none = move |a: &CsrTensor<2>, u: Tensor<1>| a.matmul(u.clone()) - u.exp().mul_scalar(5.0 * step * step);
    let trouble = newton.try_solve(&a, none, Tensor::<1>::zeros([n], options), jacobian());
    told(trouble, "invalid", "residual of");
    let accepting = newton.with_accept_unsolved(true);
    let root = accepting.try_solve_with(&a, none, Tensor::<1>::zeros([n], options), jacobian(), None).unwrap();
    assert_ne!(root.report.stopped, Stopped::Converged);
    assert!(list(root.u).into_iter().all(f64::is_finite));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// To the matrix, to the right-hand side, with each kind of Jacobian.
    #[test]
    fn newton_has_gradients(
        right in prop::collection::vec(-3.0f64..3.0, 4),
        beside in prop::collection::vec(-1.0f64..1.0, 10),
        kind in 0usize..3,
        pick in 0usize..4,
    ) {
        let tridiagonal = laplacian(&[4], Boundary::Dirichlet, (&Device::flex(), F64)).unwrap();
        let (rows, cols) = ([0, 0, 1, 1, 1, 2, 2, 2, 3, 3], [0, 1, 0, 1, 2, 1, 2, 3, 2, 3]);
        let values: Vec<f64> = rows.iter().zip(&cols).zip(&beside)
            .map(|((row, col), own)| if row == col { 3.0 + own } else { *own }).collect();
        let inputs = [TensorData::new(values, [10]), TensorData::new(right, [4])];
        check(pick, &inputs, |xs| {
            let theta = (with_values(&rows, &cols, xs[0].tensor(), [4, 4]), xs[1].tensor::<1>());
            let device = theta.1.device().inner();
            let tridiagonal = tridiagonal.clone().to_device(&device);
            let jacobian = match kind {
                0 => Jacobian::given(by_hand),
                1 => Jacobian::colored(tridiagonal.pattern()).with_preconditioner(try_ilu0),
                _ => Jacobian::free(),
            };
            let start = Tensor::<1>::zeros([4], (&device, F64));
            let newton = NewtonConfig::new().with_relative(1e-13).with_step(1e-9).with_solver(exact());
            // The unknown is used again, so its gradient is not that of a sum.
            let u = newton.solve(&theta, poisson, start, jacobian);
            u.clone().exp() * u
        })?;
    }

    /// A deep equilibrium layer `z = tanh(W z + x)`, against the same iterations on the tape.
    #[test]
    fn deep_equilibrium_layers(
        weights in numbers(9),
        input in prop::collection::vec(-1.0f64..1.0, 6),
        window in prop::sample::select(&[0usize, 1, 3][..]),
        method in prop::sample::select(&[Method::Gmres { restart: 50 }, Method::BiCg, Method::Qmr, Method::Lsmr][..]),
        pick in 0usize..4,
    ) {
        let exact = || SolverConfig { method, ..exact() };
        let weights: Vec<f64> = weights.iter().map(|own| own * 0.15 + 0.01).collect();
        let ids: Vec<i64> = (0..9).collect();
        let (rows, cols): (Vec<i64>, Vec<i64>) = ids.iter().map(|id| (id / 3, id % 3)).unzip();
        let layer = |(w, x): &(CsrTensor<2>, Tensor<2>), z: Tensor<2>| (w.matmul(z) + x.clone()).tanh();
        let config = FixedPointConfig::anderson(window).with_relative(1e-13).with_gradient(exact());
        let solve = |theta: &(CsrTensor<2>, Tensor<2>)| {
            config.solve(theta, layer, Tensor::zeros([3, 2], (&theta.1.device().inner(), F64)))
        };
        let inputs = [TensorData::new(weights.clone(), [9]), TensorData::new(input.clone(), [3, 2])];
        check(pick, &inputs, |xs| {
            solve(&(with_values(&rows, &cols, xs[0].tensor(), [3, 3]), xs[1].tensor::<2>()))
        })?;

        let device = devices()[pick % devices().len()].clone();
        let leaves = || {
            let w = Tensor::<1>::from_data(TensorData::new(weights.clone(), [9]), (&device, F64)).require_grad();
            let x = Tensor::<2>::from_data(TensorData::new(input.clone(), [3, 2]), (&device, F64)).require_grad();
            (w, x)
        };
        let grads = |unrolled: bool| {
            let (w, x) = leaves();
            let theta = (with_values(&rows, &cols, w.clone(), [3, 3]), x.clone());
            let z = match unrolled {
                true => (0..200).fold(Tensor::zeros([3, 2], (&device, F64)), |z, _| layer(&theta, z)),
                false => solve(&theta),
            };
            let grads = (z.clone().square() + z).sum().backward();
            [list(w.grad(&grads).unwrap()), list(x.grad(&grads).unwrap())].concat()
        };
        near(&grads(false), &grads(true), 1e-10);
    }

    /// No two columns of a colour share a row, and no two rows a column.
    #[test]
    fn colors_do_not_meet([rows, cols] in [0usize..9, 0usize..9], entries in numbers(64), keep in 0.0f64..2.0) {
        let indicator = |own: &f64| if own.abs() > keep { 1.0 } else { 0.0 };
        let entries: Vec<f64> = entries[..rows * cols].iter().map(indicator).collect();
        let a = CsrTensor::<2>::from_dense(dense(&entries, [rows, cols], DType::F32));
        let (of_columns, of_rows) = (color_columns(a.pattern()).unwrap(), color_rows(a.pattern()).unwrap());
        prop_assert_eq!([of_rows.len(), of_columns.len()], [rows, cols]);
        let at = |row: usize, col: usize| entries[row * cols + col] != 0.0;
        let pairs = |n: usize| (0..n).flat_map(|i| (0..i).map(move |j| (i, j)));
        for (i, j) in pairs(cols).filter(|&(i, j)| of_columns[i] == of_columns[j]) {
            prop_assert!((0..rows).all(|row| !(at(row, i) && at(row, j))), "columns {} {}", i, j);
        }
        for (i, j) in pairs(rows).filter(|&(i, j)| of_rows[i] == of_rows[j]) {
            prop_assert!((0..cols).all(|col| !(at(i, col) && at(j, col))), "rows {} {}", i, j);
        }
        // As many as needed where nothing meets, and no colour is left out.
        for colors in [of_columns, of_rows] {
            let most = colors.iter().max().map_or(0, |most| most + 1);
            prop_assert!((0..most).all(|color| colors.contains(&color)));
        }
        // The transposed matrix has rows for columns.
        let transposed = a.transpose();
        prop_assert_eq!(color_rows(transposed.pattern()).unwrap(), color_columns(a.pattern()).unwrap());
    }

    /// The Jacobian of `A u^2 + sin(B u)` is `2 A diag(u) + diag(cos(B u)) B`, of any shape.
    #[test]
    fn jacobians_of_any_shape([rows, cols] in [1usize..6, 1usize..6], entries in numbers(50), point in numbers(5)) {
        let [a, b] = [0, 25].map(|at| dense(&entries[at..at + rows * cols], [rows, cols], F64));
        let theta = [a.clone(), b.clone()].map(CsrTensor::<2>::from_dense);
        let f = |theta: &(CsrTensor<2>, CsrTensor<2>), u: Tensor<1>| {
            theta.0.matmul(u.clone().square()) + theta.1.matmul(u).sin()
        };
        let u: Tensor<1> = dense(&point[..cols], [cols], F64);
        let pattern = theta[0].mul_scalar(0.0).add(&theta[1].mul_scalar(0.0));
        let [own, other] = theta;
        let got = sparse_jacobian(&(own, other), f, u.clone(), pattern.pattern());
        prop_assert_eq!(got.nnz(), pattern.nnz());
        let cos = b.clone().matmul(u.clone().reshape([cols, 1])).cos();
        let want = a * u.reshape([1, cols]).mul_scalar(2.0) + b * cos;
        near(&list(got.to_dense()), &list(want), 1e-12);
    }
}

#[test]
fn anderson_needs_fewer_iterations_than_picard() {
    // A linear map whose largest eigenvalue is 0.9.
    let theta = dense(&[0.9, 0.5, -0.3, 0.1, -0.6, 0.7], [6], F64);
    let g = |theta: &Tensor<1>, u: Tensor<1>| u * theta.clone() + 1.0;
    let start = || Tensor::<1>::zeros([6], (&Device::flex(), F64));
    let run = |config: FixedPointConfig| config.try_solve_with(&theta, g, start(), None).unwrap();
    let picard = run(FixedPointConfig::picard().with_relative(1e-10));
    let anderson = run(FixedPointConfig::anderson(6).with_relative(1e-10));
    let want: Vec<f64> = list(theta.clone()).iter().map(|own| 1.0 / (1.0 - own)).collect();
    near(&list(picard.u), &want, 1e-7);
    near(&list(anderson.u), &want, 1e-7);
    // Of a linear map with six eigenvalues GMRES takes six.
    let [picard, anderson] = [picard.report.iterations, anderson.report.iterations];
    assert!(picard > 150 && anderson <= 12, "{picard} {anderson}");
    // Where Picard's iteration diverges.
    let far = |_: &Vec<Tensor<1>>, u: Tensor<1>| u.mul_scalar(-3.0) + 4.0;
    let u = FixedPointConfig::anderson(2).solve(&vec![], far, Tensor::<1>::zeros([2], &Device::flex()));
    near(&list(u), &[1.0; 2], 1e-4);
    let u = FixedPointConfig::picard().with_damping(0.2).solve(&vec![], far, Tensor::<1>::zeros([2], &Device::flex()));
    near(&list(u), &[1.0; 2], 1e-4);
}

#[test]
fn what_does_not_converge_is_told() {
    let start = || Tensor::<1>::ones([2], &Device::flex());
    let none: Vec<Tensor<1>> = vec![];
    let picard = FixedPointConfig::picard();
    type Free = Vec<Tensor<1>>;
    // Overflows in an iteration.
    let square = |_: &Free, u: Tensor<1>| u.square() + 3.0;
    told(picard.try_solve(&none, square, start()), "invalid", "in iteration 7");
    // Residuals of the same size are no circle: along a chain they stay 1, and then are 0.
    let chain = with_values(&[1, 2, 3, 4, 5], &[0, 1, 2, 3, 4], Tensor::ones([5], &Device::flex()), [6, 6]);
    let first = Tensor::<1>::from_floats([1.0, 0.0, 0.0, 0.0, 0.0, 0.0], &Device::flex());
    let along = move |_: &Free, u: Tensor<1>| chain.matmul(u) + first.clone();
    let u = picard.solve(&none, along, Tensor::zeros([6], &Device::flex()));
    assert_eq!(u.into_data().iter::<f32>().collect::<Vec<_>>(), [1.0; 6]);
    // Goes in a circle.
    let turn = |_: &Free, u: Tensor<1>| u.mul_scalar(-1.0) + 4.0;
    told(picard.try_solve(&none, turn, start()), "invalid", "got no nearer after 3 iterations");
    let slow = |_: &Free, u: Tensor<1>| u.mul_scalar(0.999) + 1.0;
    let few = picard.clone().with_max_iterations(5);
    told(few.try_solve(&none, slow, start()), "invalid", "stopped by the limit of 5");
    let root = few.with_accept_unsolved(true).try_solve_with(&none, slow, start(), None).unwrap();
    assert_eq!((root.report.stopped, root.report.iterations), (Stopped::Iterations, 5));
    let mut stop = |iteration: usize, _: f64| iteration < 2;
    told(picard.try_solve_with(&none, slow, start(), Some(&mut stop)), "invalid", "cancelled after 2");

    // Of Newton's method: no number at the start, later, a singular Jacobian.
    let eye = CsrTensor::<2>::eye(2, &Device::flex());
    let by_color = || Jacobian::colored(eye.pattern());
    let newton = NewtonConfig::new();
    told(newton.try_solve(&none, |_: &Free, u: Tensor<1>| (u - 2.0).sqrt(), start(), by_color()), "invalid", "start");
    let kink = |_: &Free, u: Tensor<1>| (u - 1.0).sqrt() + 1.0;
    told(newton.try_solve(&none, kink, start(), by_color()), "invalid", "in iteration 1");
    told(newton.try_solve(&none, |_: &Free, u: Tensor<1>| u * 0.0 + 1.0, start(), by_color()), "invalid", "no nearer");
}

#[test]
fn what_does_not_fit_is_told() {
    type Free = Vec<Tensor<1>>;
    let (none, start): (Free, _) = (vec![], Tensor::<1>::ones([2], &Device::flex()));
    let eye = |n: usize| CsrTensor::<2>::eye(n, &Device::flex());
    let f = |_: &Free, u: Tensor<1>| u.square() - 4.0;
    let newton = NewtonConfig::new();
    let solve = |jacobian| newton.try_solve(&none, f, start.clone(), jacobian);
    told(solve(Jacobian::colored(eye(3).pattern())), "shape_mismatch", "column for each");
    let other = eye(3);
    told(solve(Jacobian::given(move |_, _| other.clone())), "shape_mismatch", "each unknown");
    let wider = |_: &Free, u: Tensor<1>| Tensor::cat(vec![u.clone(), u], 0);
    told(newton.try_solve(&none, wider, start.clone(), Jacobian::free()), "shape_mismatch", "must give the shape");
    told(FixedPointConfig::new().try_solve(&none, wider, start.clone()), "shape_mismatch", "must give the shape");
    let cast = |_: &Free, u: Tensor<1>| u.cast(DType::F64);
    told(newton.try_solve(&none, cast, start.clone(), Jacobian::free()), "dtype_mismatch", "f64");
    told(newton.try_solve(&none, f, start.clone().cast(DType::F16), Jacobian::free()), "unsupported_dtype", "f16");
    for wrong in [-1.0, f64::NAN] {
        let config = newton.clone().with_relative(wrong);
        told(config.try_solve(&none, f, start.clone(), Jacobian::free()), "invalid", "relative tolerance");
        told(FixedPointConfig::new().with_damping(wrong).try_solve(&none, f, start.clone()), "invalid", "damping");
    }
    let gradient = SolverConfig::new(Method::Gmres { restart: 0 });
    let config = newton.clone().with_gradient(Some(gradient.clone()));
    told(config.try_solve(&none, f, start.clone(), Jacobian::free()), "invalid", "at least 1");
    let config = FixedPointConfig::new().with_gradient(gradient);
    told(config.try_solve(&none, f, start.clone()), "invalid", "at least 1");

    // An element outside the pattern, small beside the others, and derivatives that are not finite.
    let beside = |_: &Free, u: Tensor<1>| {
        let factors = Tensor::<1>::from_floats([1e3, 1.0], &u.device());
        let other = Tensor::<1>::from_floats([0.5, 0.0], &u.device());
        u.clone() * factors + u.flip([0]) * other
    };
    told(try_sparse_jacobian(&none, beside, start.clone(), eye(2).pattern()), "invalid", "others in column 1");
    let trouble = newton.try_solve(&none, beside, start.clone(), Jacobian::colored(eye(2).pattern()));
    told(trouble, "invalid", "in iteration 1");
    let root = |_: &Free, u: Tensor<1>| (u - 1.0).sqrt();
    told(try_sparse_jacobian(&none, root, start, eye(2).pattern()), "invalid", "must be finite");

    // Nothing to solve.
    let empty = Tensor::<1>::zeros([0], &Device::flex());
    assert_eq!(newton.solve(&none, f, empty.clone(), Jacobian::free()).dims(), [0]);
    assert_eq!(FixedPointConfig::new().solve(&none, f, empty.clone()).dims(), [0]);
    let pattern = CsrTensor::<2>::zeros([0, 0], &Device::flex());
    assert_eq!(sparse_jacobian(&none, f, empty, pattern.pattern()).nnz(), 0);
}

/// Nothing tracked: the result has the tape's association and no gradient, and a constant start changes nothing.
#[test]
fn without_a_gradient() {
    let device = Device::flex().autodiff();
    let eye = CsrTensor::<2>::eye(2, &Device::flex());
    let f = |theta: &Tensor<1>, u: Tensor<1>| u.powi_scalar(3) - theta.clone();
    let theta = Tensor::<1>::from_floats([8.0, 1.0], &device);
    let u = NewtonConfig::new().solve(&theta, f, Tensor::ones([2], &device), Jacobian::colored(eye.pattern()));
    assert!(u.is_autodiff() && !u.is_tracked());
    let plain = NewtonConfig::new().solve(
        &theta.clone().inner(),
        f,
        Tensor::ones([2], &Device::flex()),
        Jacobian::colored(eye.pattern()),
    );
    assert!(!plain.is_autodiff());
    assert_eq!(list(u), list(plain));
    // A start alone is on the tape.
    let solve = |start| NewtonConfig::new().solve(&theta.clone().inner(), f, start, Jacobian::colored(eye.pattern()));
    let u = solve(Tensor::ones([2], &device));
    assert!(u.is_autodiff() && !u.is_tracked());
    let halved = |theta: &Tensor<1>, u: Tensor<1>| u * 0.5 + theta.clone();
    let u = FixedPointConfig::new().solve(&theta.clone().inner(), halved, Tensor::ones([2], &device));
    assert!(u.is_autodiff() && !u.is_tracked());
    // A start that is tracked gets no gradient.
    let start = Tensor::<1>::ones([2], &device).require_grad();
    let theta = theta.require_grad();
    let u = NewtonConfig::new().solve(&theta, f, start.clone(), Jacobian::colored(eye.pattern()));
    let grads = u.sum().backward();
    assert!(start.grad(&grads).is_none() && theta.grad(&grads).is_some());
}

/// However many iterations there are, one application is on the tape; each product of the backward pass is another one.
#[test]
fn one_application_is_on_the_tape() {
    let device = Device::flex().autodiff();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = || {
        let count = count.clone();
        move |theta: &Tensor<1>, u: Tensor<1>| {
            count.fetch_add(usize::from(u.is_autodiff()), Relaxed);
            (u * theta.clone()).cos()
        }
    };
    let theta = Tensor::<1>::from_floats([0.9, 0.5], &device).require_grad();
    let start = || Tensor::<1>::zeros([2], &device);
    let root = FixedPointConfig::picard().try_solve_with(&theta, counted(), start(), None).unwrap();
    assert!(root.report.iterations > 10 && root.report.evaluations == root.report.iterations + 1);
    assert_eq!(count.swap(0, Relaxed), 1);
    assert!(theta.grad(&root.u.sum().backward()).is_some());
    let products = count.swap(0, Relaxed);
    assert!((1..10).contains(&products), "{products}");
    // With the formula of the Jacobian nothing else is.
    let sine = |theta: &Tensor<1>, u: Tensor<1>| -(u * theta.clone()).sin() * theta.clone() - 1.0;
    let jacobian = Jacobian::given(move |theta: &Tensor<1>, u| CsrTensor::from_diagonal(sine(theta, u)));
    let f = counted();
    let difference = move |theta: &Tensor<1>, u: Tensor<1>| f(theta, u.clone()) - u;
    let u = NewtonConfig::new().solve(&theta, difference, start(), jacobian);
    assert!(theta.grad(&u.sum().backward()).is_some());
    assert_eq!(count.load(Relaxed), 1);
}
