//! Matrices with small rows, with parts that constants are mapped to 0 by, with rows alone; and what is refused.

use super::{numbers, poisson, solved, wave};
use crate::random::dense;
use crate::refused::told;
use burn::tensor::{DType, Device, Tensor};
use sparse_tensor::solve::{AmgConfig, Boundary, Hints, LinearOperator, Method, Smoother, SolverConfig, laplacian};
use sparse_tensor::{CsrTensor, Fill};

/// Diffusion on a grid that is held at its border, in a coefficient for each column of cells.
fn diffusion(side: usize, coefficient: impl Fn(usize) -> f64) -> CsrTensor<2> {
    let mut cells = vec![];
    for at in 0..side * side {
        let (row, col) = (at / side, at % side);
        let own = coefficient(col);
        let across = |other: f64| 2.0 * own * other / (own + other);
        let mut sum = 0.0;
        let neighbors = [
            (row > 0, at.wrapping_sub(side), own),
            (row + 1 < side, at + side, own),
            (col > 0, at.wrapping_sub(1), across(if col > 0 { coefficient(col - 1) } else { own })),
            (col + 1 < side, at + 1, across(if col + 1 < side { coefficient(col + 1) } else { own })),
        ];
        for (inside, other, weight) in neighbors {
            sum += weight;
            if inside {
                cells.push((at, other, -weight));
            }
        }
        cells.push((at, at, sum));
    }
    let [rows, cols] = [0, 1].map(|k| cells.iter().map(|cell| [cell.0, cell.1][k]).collect::<Vec<_>>());
    let values: Vec<f64> = cells.iter().map(|cell| cell.2).collect();
    CsrTensor::from_triplets(&rows, &cols, &values, [side * side; 2], (&Device::flex(), DType::F64)).unwrap()
}

/// Rows with small numbers are no rounding of other rows with large ones.
#[test]
fn small_rows_stay_beside_large_ones() {
    let two = CsrTensor::<2>::from_diagonal(dense(&[1.0, 1e-9], [2], DType::F32));
    let amg = AmgConfig::new().setup(&two);
    let one = Tensor::<2>::ones([2, 1], (&Device::flex(), DType::F32));
    let got = numbers(amg.try_apply(one.clone()).unwrap());
    assert!((got[0] - 1.0).abs() < 1e-6 && (got[1] / 1e9 - 1.0).abs() < 1e-6, "{got:?}");
    let hints = Hints { preconditioner: Some(&amg), ..Hints::default() };
    let report = SolverConfig::new(Method::Cg).try_solve_with(&two, one, hints).unwrap().report;
    assert!(report.iterations <= 2, "{report}");

    // Each half by its pseudo-inverse alone.
    let soft_half = |side: usize| diffusion(side, move |col| if col < side / 2 { 1.0 } else { 1e-6 });
    let a = soft_half(12);
    let x = wave(144, 1);
    let b = a.matmul(x.clone()).cast(DType::F32);
    let single = a.cast(burn::tensor::FloatDType::F32);
    let got = numbers(AmgConfig::new().setup(&single).try_apply(b).unwrap());
    for (got, x) in got.iter().zip(numbers(x)) {
        assert!((got - x).abs() < 1e-3, "{got} and {x}");
    }
    // And on several levels.
    for dtype in [burn::tensor::FloatDType::F32, burn::tensor::FloatDType::F64] {
        let a = soft_half(40).cast(dtype);
        let amg = AmgConfig::new().with_max_coarse(20).setup(&a);
        let hints = Hints { preconditioner: Some(&amg), ..Hints::default() };
        let b = Tensor::<2>::ones([1600, 1], (&Device::flex(), a.dtype()));
        let solver = SolverConfig::new(Method::Cg).with_relative(1e-4);
        let report = solver.try_solve_with(&a, b, hints).unwrap().report;
        assert!(report.iterations < 20, "{report}\n{amg}");
    }
}

/// In f32, where the coarse matrices hold constants only up to rounding.
#[test]
fn singular_matrices_of_single_precision() {
    let one = laplacian(&[60, 50], Boundary::Neumann, (&Device::flex(), DType::F32)).unwrap();
    let small = laplacian(&[3, 3], Boundary::Neumann, (&Device::flex(), DType::F32)).unwrap();
    for a in [one.clone(), sparse_tensor::ops::block_diag(&[small, one])] {
        let n = a.dims()[0];
        let b = a.matmul(wave(n, 1).cast(DType::F32));
        for coarse in [1, 10, 200] {
            let amg = AmgConfig::new().with_max_coarse(coarse).setup(&a);
            let hints = Hints { preconditioner: Some(&amg), ..Hints::default() };
            let solver = SolverConfig::new(Method::Cg).with_relative(1e-4);
            let report = solver.try_solve_with(&a, b.clone(), hints).unwrap().report;
            assert!(report.iterations < 20, "{coarse}: {report}\n{amg}");
        }
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
    told(config.try_setup(&good.add_scalar(1.0)), "fill_mismatch", "AmgConfig::setup");
    let undefined = config.try_setup(&good.clone().with_fill(Fill::Undefined)).unwrap();
    let one = || Tensor::<2>::ones([2, 1], options);
    assert_eq!(numbers(undefined.try_apply(one()).unwrap()), numbers(config.setup(&good).try_apply(one()).unwrap()));
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
    let large = CsrTensor::zeros([1 << 20, 1 << 20], options);
    told(AmgConfig::new().with_unknowns(1 << 20).try_setup(&large), "would_densify", "candidates");
    told(AmgConfig::new().with_unknowns(0).try_setup(&good), "invalid", "whole nodes");
    let amg = config.setup(&good);
    told(amg.try_refresh(&of(&[2.0, 0.0, 1.0, 2.0])), "invalid", "store the elements");
    told(amg.try_refresh(&of(&[2.0, 1.0, 1.0, -2.0])), "invalid", "row 1");
    // Errors name what was called.
    told(amg.try_refresh(&of(&[2.0, 1.0, 1.0, -2.0])), "invalid", "Amg::refresh");
    told(amg.try_refresh(&CsrTensor::zeros([2, 3], options)), "shape_mismatch", "Amg::refresh");
    told(amg.try_refresh(&good.add_scalar(1.0)), "fill_mismatch", "Amg::refresh");
    told(amg.try_refresh(&good.cast(burn::tensor::FloatDType::F32)), "dtype_mismatch", "Amg::refresh");
    for rows in [0, 2] {
        let amg = config.setup(&CsrTensor::eye(rows, options));
        told(amg.try_refresh(&CsrTensor::eye(3, options)), "shape_mismatch", "Amg::refresh");
        assert!(amg.try_refresh(&CsrTensor::eye(rows, options)).is_ok());
    }
    let apply = |x: Tensor<2>| amg.try_apply(x).unwrap_err().kind();
    assert_eq!(apply(candidates(3, 1)), "shape_mismatch");
    assert_eq!(apply(candidates(2, 1).cast(DType::F32)), "dtype_mismatch");
    let cycle = |b: [usize; 2], x: [usize; 2]| amg.try_cycle(candidates(b[0], b[1]), candidates(x[0], x[1]));
    for (b, x) in [([2, 1], [1, 1]), ([1, 1], [2, 1]), ([2, 1], [2, 3]), ([2, 3], [2, 1]), ([2, 0], [2, 1])] {
        told(cycle(b, x), "shape_mismatch", "Amg::cycle");
    }
    assert_eq!(cycle([2, 0], [2, 0]).unwrap().dims(), [2, 0]);
    told(amg.try_cycle(candidates(2, 1), candidates(2, 1).cast(DType::F32)), "dtype_mismatch", "Amg::cycle");
}
