//! `_dsolve/tests/test_linsolve.py`. What SciPy tells by a warning and a solution of NaN is an error here.

use super::matrices::{Case, F64, RAND, all, csr, diagonal, full, noise, three_bands};
use crate::factors::{KINDS, list, near};
use crate::random::{Kind, dense};
use crate::refused::told;
use burn::tensor::{DType, Device, Tensor};
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{
    Factorization, LinearOperator, Triangle, factorize, ilu0, ilut, solve_triangular, try_factorize, try_ilu0,
    try_lstsq, try_solve_triangular,
};

/// The largest element of `A X - B`, or of `A^T X - B`.
fn wrong(entries: &[(usize, usize, f64)], x: &[f64], b: &[f64], width: usize, transposed: bool) -> f64 {
    let mut rest = b.to_vec();
    for &(row, col, own) in entries {
        let (to, from) = if transposed { (col, row) } else { (row, col) };
        (0..width).for_each(|k| rest[to * width + k] -= own * x[from * width + k]);
    }
    rest.iter().fold(0.0, |most, own| most.max(own.abs()))
}

/// The systems of the iterative methods.
#[test]
fn every_factorisation_on_every_system() {
    for case in &all() {
        for how in KINDS {
            let fits = match (how, case.kind) {
                (Factorization::Cholesky, Kind::Positive) | (Factorization::Lu | Factorization::Qr, _) => true,
                (Factorization::Ldlt, Kind::Any) | (Factorization::Cholesky, _) => false,
                (Factorization::Ldlt, _) => true,
            };
            if !fits {
                assert!(try_factorize(&case.matrix(F64), how).is_err(), "{} {how:?}", case.name);
                continue;
            }
            for (dtype, most) in [(F64, 1e-12), (DType::F32, 1e-4)] {
                let x = list(factorize(&case.matrix(dtype), how).solve(case.right(dtype)));
                assert!(case.residual(&x) <= most, "{} {how:?} {dtype:?}: {:e}", case.name, case.residual(&x));
            }
        }
    }
}

/// `_smoketest`: right-hand sides of 1, 2, n and n + 2 columns and without columns, and transposed systems; SciPy's
/// bound of 1000 times the rounding.
#[test]
fn right_sides_of_any_width() {
    let (n, entries) = (40, three_bands(40));
    for (dtype, rounding) in [(F64, f64::EPSILON), (DType::F32, f64::from(f32::EPSILON))] {
        for how in [Factorization::Lu, Factorization::Qr] {
            let factor = factorize(&csr(&entries, [n, n], dtype), how);
            for width in [1, 2, n, n + 2] {
                let b = noise(n * width, 1234);
                let right = || dense::<2>(&b, [n, width], dtype);
                let [x, y] = [factor.solve(right()), factor.solve_transposed(right())].map(list);
                // A right-hand side in single precision is rounded.
                assert!(wrong(&entries, &x, &b, width, false) < 1e3 * rounding, "{how:?} {width}");
                assert!(wrong(&entries, &y, &b, width, true) < 1e3 * rounding, "{how:?} {width}");
            }
            let b = noise(n, 5);
            assert!(wrong(&entries, &list(factor.solve(dense::<1>(&b, [n], dtype))), &b, 1, false) < 1e3 * rounding);
        }
    }
}

/// `_internal_test_spilu_smoketest`: incomplete factors are within 1e-2, and not exact.
#[test]
fn incomplete_factors() {
    let (n, entries) = (40, three_bands(40));
    let a = csr(&entries, [n, n], F64);
    let b = noise(n, 1234);
    let apply = |factors: &dyn LinearOperator| {
        let x = list(factors.try_apply(dense(&b, [n, 1], F64)).unwrap());
        wrong(&entries, &x, &b, 1, false)
    };
    let errors = [apply(&ilut(&a, n, 1e-4)), apply(&ilut(&a, n, 0.0)), apply(&ilu0(&a))];
    assert!(errors[0] < 1e-2 && errors[0] > 1e-12 && errors[1] < 1e-12 && errors[2] > errors[0], "{errors:?}");
}

/// `test_singular`, `test_singular_gh_3312`, `test_splu_nnz0`, `test_singular_matrix`, `test_splu_basic`.
#[test]
fn singular_matrices() {
    let none = CsrTensor::<2>::zeros([5, 5], (&Device::flex(), F64));
    let gh_3312 =
        csr(&[(17, 0, 0.284213), (17, 6, 0.949_337_81), (17, 12, 0.157_670_17), (10, 13, 0.387_972_96)], [20, 20], F64);
    let mut last = [1.0; 10];
    last[9] = 0.0;
    let mut column = RAND;
    (0..4).for_each(|row| column[row][0] = 0.0);
    for how in [Factorization::Lu, Factorization::Qr] {
        for (a, row, col) in [
            (&none, "in row 0", "column 0"),
            (&gh_3312, "in row 0", "column"),
            (&diagonal(&last, F64), "in row 9", "column 9"),
            (&full(column, F64), "", "column 0"),
        ] {
            told(try_factorize(a, how), "invalid", if how == Factorization::Qr { col } else { row });
        }
    }
    told(try_ilu0(&none), "invalid", "row 0");
}

/// `test_non_square`, `test_bad_inputs`, `test_cannot_factorize_nonsquare_matrix`,
/// `test_call_with_incorrectly_sized_matrix`.
#[test]
fn shapes_that_do_not_fit() {
    let a = csr(&three_bands(5), [5, 5], F64);
    let wide = a.clone().to_dense().narrow(0, 0, 4);
    let wide = CsrTensor::<2>::from_dense(wide);
    told(try_factorize(&wide, Factorization::Lu), "shape_mismatch", "square");
    told(try_ilu0(&wide), "shape_mismatch", "square");
    told(try_lstsq(&wide, dense::<1>(&[1.0; 5], [5], F64)), "shape_mismatch", "right-hand side");
    for how in [Factorization::Lu, Factorization::Qr] {
        let factor = factorize(&a, how);
        told(factor.try_solve(dense::<1>(&[1.0; 4], [4], F64)), "shape_mismatch", "right-hand side");
        told(factor.try_solve(dense::<2>(&[1.0; 12], [4, 3], F64)), "shape_mismatch", "right-hand side");
        told(factor.try_solve(dense::<3>(&[1.0; 135], [5, 3, 9], F64)), "shape_mismatch", "right-hand side");
    }
}

/// `test_example_comparison`, `test_ndarray_support`, `test_sparsity_preservation`: known solutions.
#[test]
fn several_columns() {
    let m = full([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0], [-4.0, 5.0, 6.0]], F64);
    // Duplicates count as their sum: 1 + 1 + 1 and 1 + 1.
    let n = [3.0, 0.0, 1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0];
    let x = list(factorize(&m, Factorization::Lu).solve(dense::<2>(&n, [3, 3], F64)));
    // Rows from the end: x_2 = n_1 / 3, x_0 = n_0 - 2 x_2, x_1 = (n_2 + 4 x_0 - 6 x_2) / 5.
    near(&x, &[3.0, -4.0 / 3.0, 1.0, 2.4, -28.0 / 15.0, 0.8, 0.0, 2.0 / 3.0, 0.0], 1e-14);
    let a = full([[1.0, 2.0], [2.0, 0.0]], F64);
    let x = list(factorize(&a, Factorization::Lu).solve(dense::<2>(&[2.0, 0.0, 2.0, 2.0], [2, 2], F64)));
    near(&x, &[1.0, 1.0, 0.5, -0.5], 1e-15);
    let b = [0.0, 1.0, 1.0, 0.0, 0.0, 0.0];
    for how in KINDS {
        let x = factorize(&diagonal(&[1.0; 3], F64), how).solve(dense::<2>(&b, [3, 2], F64));
        near(&list(x), &b, 1e-15);
    }
}

/// `TestSpsolveTriangular`: a diagonal of zeros that counts as ones, and one that does not; shapes; two columns.
#[test]
fn triangles() {
    let unit = Triangle { unit_diagonal: true, ..Triangle::default() };
    let zero = full([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]], F64);
    let b = || dense::<1>(&[1.0, 2.0, 3.0], [3], F64);
    assert_eq!(list(solve_triangular(&zero, b(), unit)), [1.0, 1.0, 1.0]);
    told(try_solve_triangular(&zero, b(), Triangle::default()), "invalid", "row 0");
    // Whatever the diagonal is: A x = b with ones on it.
    let n = 5;
    let cells = noise(n * n, 43);
    let lower: Vec<_> = (0..n * n).filter(|at| at % n <= at / n).map(|at| (at / n, at % n, cells[at] - 0.5)).collect();
    let x = list(solve_triangular(&csr(&lower, [n, n], F64), dense::<1>(&[0.0, 1.0, 2.0, 3.0, 4.0], [n], F64), unit));
    let ones: Vec<_> = lower.iter().map(|&(i, j, own)| (i, j, if i == j { 1.0 } else { own })).collect();
    assert!(wrong(&ones, &x, &[0.0, 1.0, 2.0, 3.0, 4.0], 1, false) < 1e-14);

    let none = CsrTensor::<2>::zeros([5, 5], (&Device::flex(), F64));
    for upper in [false, true] {
        let triangle = Triangle { upper, ..Triangle::default() };
        let b = dense::<1>(&[0.0, 1.0, 2.0, 3.0, 4.0], [5], F64);
        told(try_solve_triangular(&none, b, triangle), "invalid", "row");
    }
    let flat = CsrTensor::<2>::zeros([3, 4], (&Device::flex(), F64));
    told(try_solve_triangular(&flat, dense::<2>(&[1.0; 4], [4, 1], F64), Triangle::default()), "shape_mismatch", "");
    let eye = diagonal(&[1.0; 3], F64);
    told(try_solve_triangular(&eye, dense::<1>(&[1.0, 2.0], [2], F64), Triangle::default()), "shape_mismatch", "");
    let a = full([[1.0, 0.0], [1.0, 2.0]], F64);
    let x = solve_triangular(&a, dense::<2>(&[2.0, 0.0, 2.0, 2.0], [2, 2], F64), Triangle::default());
    assert_eq!(list(x), [2.0, 0.0, 0.0, 1.0]);
}

/// `TestFactorized::test_non_singular`, `test_splu_perm`: numbers in (0, 1), and with 4 on the diagonal; the
/// determinant of a permutation.
#[test]
fn dense_numbers() {
    let n = 30;
    let cells = noise(n * n, 1_342_354);
    let entries: Vec<_> = (0..n * n)
        .map(|at| {
            (at / n, at % n, if cells[at] < 0.95 { 0.0 } else { cells[at] } + f64::from(u8::from(at % 31 == 0)) * 4.0)
        })
        .filter(|own| own.2 != 0.0)
        .collect();
    let case = Case { n, entries, ..Case::rows("", Kind::Any, [[1.0]]) }.with_b(&vec![1.0; n]);
    for how in [Factorization::Lu, Factorization::Qr] {
        let x = list(factorize(&case.matrix(F64), how).solve(case.right(F64)));
        assert!(case.residual(&x) < 1e-14);
        let five = Tensor::<2>::from_data(burn::tensor::TensorData::new(noise(25, 14), [5, 5]), (&Device::flex(), F64));
        let x = list(factorize(&CsrTensor::<2>::from_dense(five), how).solve(dense::<1>(&[1.0; 5], [5], F64)));
        let entries: Vec<_> = noise(25, 14).into_iter().enumerate().map(|(at, own)| (at / 5, at % 5, own)).collect();
        assert!(wrong(&entries, &x, &[1.0; 5], 1, false) < 1e-12);
    }
}
