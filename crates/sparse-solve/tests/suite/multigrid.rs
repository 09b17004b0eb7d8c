use crate::random::dense;
use burn::tensor::{DType, Device, Tensor, TensorData};
use proptest::prelude::*;
use sparse_dev::gradients::check;
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{
    Amg, AmgConfig, Boundary, Cycle, Hints, LinearOperator, Method, Operator, Report, Smoother, SolverConfig, laplacian,
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

/// Bilinear elements of plane elasticity are the sum of this over neighbours: stiff along an edge, soft across it.
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

/// Neumann's matrix maps constants to 0. So does that of a graph with two parts, of each part.
#[test]
fn singular_matrices() {
    let one = poisson(&[30, 30], Boundary::Neumann);
    let two = sparse_tensor::ops::block_diag(&[one.clone(), one.clone()]);
    let periodic = poisson(&[40, 25], Boundary::Periodic);
    // A small part is one unknown on levels on which the other still has many.
    let uneven = sparse_tensor::ops::block_diag(&[poisson(&[3, 3], Boundary::Neumann), one.clone()]);
    for a in [one, two, periodic, uneven] {
        for coarse in [1, 10, 200] {
            let n = a.dims()[0];
            let amg = AmgConfig::new().with_max_coarse(coarse).setup(&a);
            // In the range of the matrix.
            let b = a.matmul(wave(n, 1));
            let report = solved(&a, &amg, b);
            assert!(report.iterations < 25, "{coarse}: {report}\n{amg}");
        }
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

/// Rows alone, parts without connection, hardly any rows, coarsening that gets nowhere.
#[test]
fn odd_matrices() {
    let options = (&Device::flex(), DType::F64);
    let diagonal = |list: &[f64]| CsrTensor::<2>::from_diagonal(dense(list, [list.len()], DType::F64));
    for n in [0, 1, 2] {
        let amg = AmgConfig::new().setup(&diagonal(&vec![2.0; n]));
        let got = numbers(amg.try_apply(Tensor::ones([n, 1], options)).unwrap());
        assert!(got.len() == n && got.iter().all(|x| (x - 0.5).abs() < 1e-15), "{got:?}");
        assert_eq!(amg.cycle(Tensor::ones([n, 2], options), Tensor::zeros([n, 2], options)).dims(), [n, 2]);
        assert!(amg.to_string().contains("level"));
    }
    // 500 rows alone: there is no coarser level, and the smoother stays.
    let list: Vec<f64> = (0..500).map(|at| 1.0 + at as f64).collect();
    let alone = diagonal(&list);
    let amg = AmgConfig::new().setup(&alone);
    assert_eq!(amg.levels(), [(500, 500)]);
    assert!(amg.to_string().contains("smoothed"), "{amg}");
    assert!(solved(&alone, &amg, wave(500, 1)).iterations <= 2);
    assert_eq!(numbers(amg.refresh(&alone).try_apply(wave(500, 1)).unwrap()).len(), 500);
    // Some rows alone beside a grid.
    let mixed = sparse_tensor::ops::block_diag(&[diagonal(&list), poisson(&[30, 30], Boundary::Dirichlet)]);
    let amg = AmgConfig::new().with_max_coarse(20).setup(&mixed);
    assert!(amg.levels().len() > 1 && amg.levels()[1].0 < 300, "{amg}");
    assert!(solved(&mixed, &amg, wave(1400, 1)).iterations < 20);
    // Stored zeros connect nothing.
    let n = 300;
    let ends: Vec<usize> = (0..n).flat_map(|at| [at, at]).collect();
    let cols: Vec<usize> = (0..n).flat_map(|at| [at, (at + 1) % n]).collect();
    let values: Vec<f64> = (0..n).flat_map(|_| [1.0, 0.0]).collect();
    let zeros = CsrTensor::from_triplets(&ends, &cols, &values, [n, n], options).unwrap();
    assert_eq!(AmgConfig::new().setup(&zeros).levels().len(), 1);
}

fn told(result: sparse_tensor::Result<Amg>, kind: &str, part: &str) {
    let trouble = result.err().expect("an error");
    assert!(trouble.kind() == kind && trouble.to_string().contains(part), "{trouble}");
}

#[test]
fn what_is_refused() {
    let options = (&Device::flex(), DType::F64);
    let of = |list: &[f64]| CsrTensor::<2>::from_dense(dense(list, [2, 2], DType::F64));
    let config = AmgConfig::new();
    told(config.try_setup(&CsrTensor::zeros([2, 3], options)), "shape_mismatch", "square");
    told(config.try_setup(&of(&[1.0, 2.0, 3.0, 0.0])), "invalid", "got 0e0 in row 1");
    told(config.try_setup(&of(&[-1.0, 2.0, 3.0, 1.0])), "invalid", "got -1e0 in row 0");
    told(config.try_setup(&of(&[1.0, 2.0, 3.0, f64::INFINITY])), "invalid", "got inf in row 1");
    told(config.try_setup(&of(&[f64::NAN, 2.0, 3.0, 1.0])), "invalid", "in row 0");
    told(config.try_setup(&of(&[1.0, 0.0, f64::NAN, 1.0])), "invalid", "finite, got others in row 1");
    told(config.try_setup(&of(&[1.0, 0.0, 0.0, 1e-310])), "invalid", "in row 1");
    let good = of(&[2.0, 1.0, 1.0, 2.0]);
    // Where kernels of f16 are compiled.
    if let Ok(half) = good.try_cast(burn::tensor::FloatDType::F16) {
        told(config.try_setup(&half), "unsupported_dtype", "f16");
    }
    told(config.try_setup(&good.add_scalar(1.0)), "invalid", "fill");
    let candidates = |rows: usize, cols: usize| Tensor::<2>::ones([rows, cols], options);
    told(config.try_setup_with(&good, candidates(3, 1)), "shape_mismatch", "candidates");
    told(config.try_setup_with(&good, candidates(2, 0)), "shape_mismatch", "candidates");
    told(config.try_setup_with(&good, candidates(2, 1) / 0.0), "invalid", "row 0");
    told(AmgConfig::new().with_theta(1.0).try_setup(&good), "invalid", "theta");
    told(AmgConfig::new().with_theta(f64::NAN).try_setup(&good), "invalid", "theta");
    told(AmgConfig::new().with_omega(2.0).try_setup(&good), "invalid", "omega");
    told(AmgConfig::new().with_smoother(Smoother::Jacobi(2.0)).try_setup(&good), "invalid", "Jacobi");
    told(AmgConfig::new().with_smoother(Smoother::Chebyshev(0)).try_setup(&good), "invalid", "degree");
    told(AmgConfig::new().with_max_levels(0).try_setup(&good), "invalid", "level");
    told(AmgConfig::new().with_pre_sweeps(0).with_post_sweeps(0).try_setup(&good), "invalid", "sweep");
    told(AmgConfig::new().with_unknowns(3).try_setup(&good), "invalid", "whole nodes");
    told(AmgConfig::new().with_unknowns(0).try_setup(&good), "invalid", "whole nodes");
    let amg = config.setup(&good);
    told(amg.try_refresh(&of(&[2.0, 0.0, 1.0, 2.0])), "invalid", "store the elements");
    told(amg.try_refresh(&CsrTensor::eye(3, options)), "shape_mismatch", "");
    told(amg.try_refresh(&of(&[2.0, 1.0, 1.0, -2.0])), "invalid", "row 1");
    let apply = |x: Tensor<2>| amg.try_apply(x).unwrap_err().kind();
    assert_eq!(apply(candidates(3, 1)), "shape_mismatch");
    assert_eq!(apply(candidates(2, 1).cast(DType::F32)), "dtype_mismatch");
    assert_eq!(amg.try_cycle(candidates(2, 1), candidates(1, 1)).unwrap_err().kind(), "shape_mismatch");
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
            let a = grid.mul_dense(column.clone()).mul_dense(column.transpose());
            let amg = config.setup(&a);
            let hints = Hints { preconditioner: Some(&amg), ..Hints::default() };
            let solver = SolverConfig::new(Method::Cg).with_relative(1e-13).with_accept_unsolved(true);
            solver.try_solve_with(&a, xs[1].tensor::<2>(), hints).unwrap().x
        })?;
        let amg = Operator::new(config.with_pre_sweeps(2).setup(&grid));
        check(pick, &inputs[1..], |xs| amg.try_apply(xs[0].tensor::<2>()).unwrap())?;
    }
}
