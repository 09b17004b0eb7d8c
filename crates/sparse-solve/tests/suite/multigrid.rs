//! Multigrid: symmetric cycles, iterations that hardly grow, matrices with strange parts, refreshes, errors.

mod odd;

use crate::random::dense;
use burn::tensor::{DType, Device, Tensor, TensorData};
use proptest::prelude::*;
use sparse_dev::gradients::check;
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{
    AmgConfig, Boundary, Cycle, Hints, LinearOperator, Method, Operator, Report, Smoother, SolverConfig, laplacian,
};

fn poisson(grid: &[usize], boundary: Boundary) -> CsrTensor<2> {
    laplacian(grid, boundary, (&Device::flex(), DType::F64)).unwrap()
}

fn wave(rows: usize, cols: usize) -> Tensor<2> {
    let list: Vec<f64> = (0..rows * cols).map(|at| (at * 7919 % 1009) as f64 / 1009.0 - 0.4).collect();
    dense(&list, [rows, cols], DType::F64)
}

fn numbers<const D: usize>(x: Tensor<D>) -> Vec<f64> {
    x.into_data().iter().collect()
}

fn solved(a: &CsrTensor<2>, amg: &dyn LinearOperator, b: Tensor<2>) -> Report {
    let hints = Hints { preconditioner: Some(amg), ..Hints::default() };
    SolverConfig::new(Method::Cg).with_relative(1e-8).try_solve_with(a, b, hints).unwrap().report
}

/// The diagonal matrix of `scale` times `a` times it.
fn scaled(a: &CsrTensor<2>, scale: impl Fn(usize) -> f64) -> CsrTensor<2> {
    let n = a.dims()[0];
    let list: Vec<f64> = (0..n).map(scale).collect();
    let [rows, cols] = [[n, 1], [1, n]].map(|shape| dense(&list, shape, DType::F64));
    a.mul_dense(rows).mul_dense(cols)
}

/// A plane lattice of springs between neighbours, also along both diagonals, stiff along an edge and soft across it;
/// and the modes of a rigid body.
fn lattice(side: usize) -> (CsrTensor<2>, Tensor<2>) {
    let mut cells = vec![];
    let node = |row: usize, col: usize| row * side + col;
    let mut spring = |p: usize, q: usize, direction: [f64; 2]| {
        for (i, x) in direction.iter().enumerate() {
            for (j, y) in direction.iter().enumerate() {
                let value = x * y + if i == j { 0.1 } else { 0.0 };
                cells.extend(
                    [(p, p, value), (q, q, value), (p, q, -value), (q, p, -value)]
                        .map(|(p, q, value)| (2 * p + i, 2 * q + j, value)),
                );
            }
        }
    };
    let half = 0.5f64.sqrt();
    for row in 0..side {
        for col in 0..side {
            if col + 1 < side {
                spring(node(row, col), node(row, col + 1), [1.0, 0.0]);
            }
            if row + 1 < side {
                spring(node(row, col), node(row + 1, col), [0.0, 1.0]);
                if col + 1 < side {
                    spring(node(row, col), node(row + 1, col + 1), [half, half]);
                    spring(node(row, col + 1), node(row + 1, col), [-half, half]);
                }
            }
        }
    }
    // Held at one side.
    cells.extend((0..2 * side).map(|at| (at, at, 1.0)));
    let n = 2 * side * side;
    let [rows, cols] = [0, 1].map(|k| cells.iter().map(|cell| [cell.0, cell.1][k]).collect::<Vec<_>>());
    let values: Vec<f64> = cells.iter().map(|cell| cell.2).collect();
    let a = CsrTensor::from_triplets(&rows, &cols, &values, [n, n], (&Device::flex(), DType::F64)).unwrap();
    let mode = |at: usize| {
        let (node, part) = (at / 2, at % 2);
        let (x, y) = ((node % side) as f64, (node / side) as f64);
        [f64::from(part == 0), f64::from(part == 1), if part == 0 { -y } else { x }]
    };
    let modes: Vec<f64> = (0..n).flat_map(mode).collect();
    (a, dense(&modes, [n, 3], DType::F64))
}

fn all() -> Vec<AmgConfig> {
    let config = || AmgConfig::new().with_max_coarse(10);
    vec![
        config(),
        config().with_smoother(Smoother::Jacobi(1.0)).with_pre_sweeps(2).with_post_sweeps(2),
        config().with_smoother(Smoother::Chebyshev(3)),
        config().with_cycle(Cycle::W),
        config().with_theta(0.25),
        config().with_omega(0.0),
        config().with_max_levels(2),
    ]
}

/// `x^T M y = y^T M x` and `x^T M x > 0`.
#[test]
fn a_cycle_is_symmetric_and_positive_definite() {
    let a = scaled(&poisson(&[17, 19], Boundary::Dirichlet), |at| 1.0 + (at % 5) as f64);
    for config in all() {
        let amg = config.setup(&a);
        assert!(amg.levels().len() >= 2, "{config}");
        let x = wave(17 * 19, 4);
        let image = amg.try_apply(x.clone()).unwrap();
        let form = numbers(x.transpose().matmul(image));
        for i in 0..4 {
            assert!(form[i * 4 + i] > 0.0, "{config}");
            for j in 0..i {
                let (one, other) = (form[i * 4 + j], form[j * 4 + i]);
                assert!((one - other).abs() < 1e-12 * form[i * 4 + i], "{config}: {one} and {other}");
            }
        }
    }
}

/// With other sweeps after the correction than before it is not symmetric, but its transposed one is right.
#[test]
fn the_transposed_cycle_swaps_the_sweeps() {
    let a = poisson(&[20, 20], Boundary::Dirichlet);
    let amg = AmgConfig::new().with_max_coarse(10).with_pre_sweeps(0).with_post_sweeps(2).setup(&a);
    let (x, y) = (wave(400, 1), wave(401, 1).narrow(0, 1, 400));
    let form = |x: &Tensor<2>, image: Tensor<2>| numbers((x.clone() * image).sum())[0];
    let [own, back] = [form(&y, amg.try_apply(x.clone()).unwrap()), form(&x, amg.try_apply(y.clone()).unwrap())];
    assert!((own - back).abs() > 1e-6 * own.abs(), "symmetric");
    let back = form(&x, amg.try_transposed().unwrap().try_apply(y).unwrap());
    assert!((own - back).abs() < 1e-12 * own.abs(), "{own} and {back}");
}

#[test]
fn iterations_hardly_grow_with_the_size() {
    for (config, most) in [(AmgConfig::new(), 14), (AmgConfig::new().with_smoother(Smoother::Chebyshev(3)), 11)] {
        let count = |side: usize| {
            let a = poisson(&[side, side], Boundary::Dirichlet);
            solved(&a, &config.setup(&a), wave(side * side, 1)).iterations
        };
        let counts = [32, 64, 128].map(count);
        assert!(counts.iter().all(|count| *count <= most), "{config}: {counts:?}");
        assert!(counts[2] <= counts[0] + 4, "{config}: {counts:?}");
    }
}

/// Strong connections only along rows: with all of them a smoother leaves errors that the coarse level cannot have.
#[test]
fn weak_connections_are_left_out() {
    let n = 64;
    let along = poisson(&[n], Boundary::Dirichlet);
    let eye = CsrTensor::<2>::eye(n, (&Device::flex(), DType::F64));
    let a = eye.kron(&along).add(&along.kron(&eye).mul_scalar(1e-3));
    let count = |theta: f64| {
        let amg = AmgConfig::new().with_theta(theta).with_max_coarse(50).setup(&a);
        (solved(&a, &amg, wave(n * n, 1)).iterations, amg)
    };
    let ((all, _), (strong, amg)) = (count(0.0), count(0.1));
    assert!(strong < all && strong < 25, "{strong} and {all}");
    // Aggregates are pieces of a line: about three points.
    let levels = amg.levels();
    assert!((2..=4).contains(&(levels[0].0 / levels[1].0)), "{levels:?}");
}

/// A bound below the largest eigenvalue makes the form of the roughest mode negative.
#[test]
fn jacobi_near_its_limit_stays_positive_definite() {
    let side = 16;
    let a = poisson(&[side; 3], Boundary::Dirichlet);
    let part = |at: usize| {
        let sine = ((at + 1) as f64 * std::f64::consts::PI / (side + 1) as f64).sin();
        if at.is_multiple_of(2) { sine } else { -sine }
    };
    let n = side.pow(3);
    // The eigenvector of the largest eigenvalue, and signs alone.
    let mode = (0..n).map(|at| part(at % side) * part(at / side % side) * part(at / side / side));
    let list: Vec<f64> = mode.flat_map(|x| [x, x.signum()]).collect();
    let x = dense(&list, [n, 2], DType::F64);
    for factor in [1.95, 1.99] {
        let amg = AmgConfig::new().with_smoother(Smoother::Jacobi(factor)).setup(&a);
        let forms = numbers((x.clone() * amg.try_apply(x.clone()).unwrap()).sum_dim(0));
        assert!(forms.iter().all(|form| *form > 0.0), "{factor}: {forms:?}");
    }
}

/// One cycle for several columns is that for each.
#[test]
fn columns_do_not_see_each_other() {
    for dtype in [DType::F64, DType::F32] {
        let a = laplacian(&[25, 21], Boundary::Dirichlet, (&Device::flex(), dtype)).unwrap();
        let amg = AmgConfig::new().with_max_coarse(20).setup(&a);
        let x = wave(525, 3).cast(dtype);
        let all = numbers(amg.try_apply(x.clone()).unwrap());
        for column in 0..3 {
            let own = numbers(amg.try_apply(x.clone().narrow(1, column, 1)).unwrap());
            for (row, own) in own.iter().enumerate() {
                let both = all[row * 3 + column];
                assert!((own - both).abs() <= 1e-5 * own.abs().max(1.0), "{own} and {both}");
            }
        }
    }
}

/// Of other values on the same pattern, in the same or another object.
#[test]
fn a_refresh_is_a_fresh_set_up() {
    let first = poisson(&[24, 24], Boundary::Dirichlet);
    let second = scaled(&first, |at| 1.0 + 0.5 * (at as f64).sin());
    let other = CsrTensor::new(
        second.row_ptr().add_scalar(1).sub_scalar(1),
        second.col_idx().add_scalar(1).sub_scalar(1),
        second.values::<1>(),
        second.dims(),
    )
    .unwrap();
    for config in all() {
        let amg = config.setup(&first);
        let fresh = numbers(config.setup(&second).try_apply(wave(576, 2)).unwrap());
        for a in [&second, &other] {
            let got = numbers(amg.refresh(a).try_apply(wave(576, 2)).unwrap());
            for (got, fresh) in got.iter().zip(&fresh) {
                assert!((got - fresh).abs() < 1e-10 * fresh.abs().max(1.0), "{config}: {got} and {fresh}");
            }
        }
        // And back again.
        let back = numbers(amg.refresh(&second).refresh(&first).try_apply(wave(576, 2)).unwrap());
        assert_eq!(back, numbers(amg.refresh(&first).try_apply(wave(576, 2)).unwrap()), "{config}");
    }
}

/// Displacements have the modes of a rigid body; translations alone are fewer than there are.
#[test]
fn candidates_of_elasticity() {
    let (a, modes) = lattice(24);
    let config = AmgConfig::new().with_unknowns(2).with_max_coarse(30);
    let n = a.dims()[0];
    let own = config.setup_with(&a, modes.clone());
    let plain = config.setup(&a);
    let [modes_count, plain_count] = [&own, &plain].map(|amg| solved(&a, amg, wave(n, 1)).iterations);
    assert!(modes_count <= plain_count && modes_count < 30, "{modes_count} and {plain_count}");
    // Aggregates of nodes: three unknowns each, or two.
    let [with, without] = [&own, &plain].map(|amg| amg.levels()[1].0);
    assert_eq!((with % 3, without % 2, with / 3), (0, 0, without / 2));
    let got = numbers(own.refresh(&a).try_apply(wave(n, 1)).unwrap());
    assert_eq!(got, numbers(own.try_apply(wave(n, 1)).unwrap()));
    // A candidate that says nothing new changes nothing.
    let twice = Tensor::cat(vec![modes.clone(), modes.narrow(1, 0, 1)], 1);
    assert_eq!(config.setup_with(&a, twice).levels(), own.levels());
}

/// Weak connections of displacements are left out, each in its own component.
#[test]
fn weak_connections_of_elasticity() {
    let (a, modes) = lattice(24);
    for theta in [0.1, 0.2] {
        let config = AmgConfig::new().with_unknowns(2).with_theta(theta).with_max_coarse(30);
        for amg in [config.setup(&a), config.setup_with(&a, modes.clone())] {
            let n = a.dims()[0];
            let report = solved(&a, &amg, wave(n, 1));
            assert!(report.iterations < 60, "{theta}: {report}\n{amg}");
            let got = numbers(amg.refresh(&a).try_apply(wave(n, 1)).unwrap());
            assert_eq!(got, numbers(amg.try_apply(wave(n, 1)).unwrap()));
        }
    }
}

#[test]
fn cycles_alone_solve() {
    let a = poisson(&[33, 31], Boundary::Dirichlet);
    let amg = AmgConfig::new().with_cycle(Cycle::W).with_pre_sweeps(2).with_post_sweeps(2).setup(&a);
    let (b, mut x) = (wave(1023, 2), Tensor::zeros([1023, 2], (&Device::flex(), DType::F64)));
    let size = |x: &Tensor<2>| numbers((b.clone() - a.matmul(x.clone())).abs().max())[0];
    let first = size(&x);
    for _ in 0..15 {
        x = amg.cycle(b.clone(), x);
    }
    assert!(size(&x) < 1e-8 * first, "{}", size(&x));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// To the elements of the matrix and to the right-hand side, through a solve; and through a cycle to its vector.
    #[test]
    fn gradients_reach_what_a_solve_is_made_of(
        weights in prop::collection::vec(0.5f64..2.0, 24),
        right in prop::collection::vec(-2.0f64..2.0, 48),
        pick in 0usize..4,
    ) {
        let inputs = [TensorData::new(weights, [24, 1]), TensorData::new(right, [24, 2])];
        let grid = poisson(&[6, 4], Boundary::Dirichlet);
        let config = AmgConfig::new().with_max_coarse(4);
        check(pick, &inputs, |xs| {
            let column: Tensor<2> = xs[0].tensor();
            let grid = grid.clone().to_device(&column.device().inner());
            let a = grid.mul_dense(column.clone()).mul_dense(column.transpose());
            let amg = config.setup(&a);
            let hints = Hints { preconditioner: Some(&amg), ..Hints::default() };
            let solver = SolverConfig::new(Method::Cg).with_relative(1e-13).with_accept_unsolved(true);
            solver.try_solve_with(&a, xs[1].tensor::<2>(), hints).unwrap().x
        })?;
        let config = config.clone().with_pre_sweeps(2);
        check(pick, &inputs[1..], |xs| {
            let b = xs[0].tensor::<2>();
            Operator::new(config.setup(&grid.clone().to_device(&b.device().inner()))).try_apply(b).unwrap()
        })?;
    }
}
