//! Factors against dense elimination, and by their errors.

use crate::random::{Kind, dense, matrix, numbers};
use crate::refused::told;
use burn::tensor::{DType, Device, FloatDType, Tensor};
use proptest::prelude::*;
use sparse_tensor::ops::block_diag;
use sparse_tensor::solve::{
    Boundary, Factorization, Hints, LinearOperator, Method, Operator, SolverConfig, factorize, laplacian, try_factorize,
};
use sparse_tensor::{CooTensor, CsrTensor, Fill};

pub const KINDS: [Factorization; 4] =
    [Factorization::Cholesky, Factorization::Ldlt, Factorization::Lu, Factorization::Qr];

pub fn fits(how: Factorization) -> Kind {
    match how {
        Factorization::Cholesky => Kind::Positive,
        Factorization::Ldlt => Kind::Symmetric,
        _ => Kind::Any,
    }
}

/// The inverse and the determinant, by elimination with pivots.
pub fn inverse(n: usize, a: &[f64]) -> (Vec<f64>, f64) {
    let (mut a, mut out, mut det) = (a.to_vec(), vec![0.0; n * n], 1.0);
    (0..n).for_each(|k| out[k * n + k] = 1.0);
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i * n + k].abs().total_cmp(&a[j * n + k].abs())).unwrap();
        if pivot != k {
            det = -det;
            (0..n).for_each(|c| a.swap(k * n + c, pivot * n + c));
            (0..n).for_each(|c| out.swap(k * n + c, pivot * n + c));
        }
        det *= a[k * n + k];
        let own = a[k * n + k];
        for c in 0..n {
            a[k * n + c] /= own;
            out[k * n + c] /= own;
        }
        for r in (0..n).filter(|&r| r != k) {
            let factor = a[r * n + k];
            for c in 0..n {
                a[r * n + c] -= factor * a[k * n + c];
                out[r * n + c] -= factor * out[k * n + c];
            }
        }
    }
    (out, det)
}

pub fn list<const D: usize>(x: Tensor<D>) -> Vec<f64> {
    x.into_data().iter().collect()
}

pub fn near(got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len());
    let size = want.iter().fold(1.0f64, |most, x| most.max(x.abs()));
    for (at, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= tolerance * size, "{at}: {got} and {want}");
    }
}

fn transposed(n: usize, a: &[f64]) -> Vec<f64> {
    (0..n * n).map(|cell| a[cell % n * n + cell / n]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn agree_with_elimination(
        how in prop::sample::select(&KINDS[..]),
        n in 1usize..7,
        width in 1usize..4,
        entries in numbers(36),
        right in prop::collection::vec(-2.0f64..2.0, 18),
        [coo, single] in any::<[bool; 2]>(),
    ) {
        let own = matrix(fits(how), n, &entries);
        let (inverse, det) = inverse(n, &own);
        let (dtype, tolerance) = if single { (DType::F32, 1e-3) } else { (DType::F64, 1e-9) };
        let csr = CsrTensor::<2>::from_dense(dense(&own, [n, n], dtype));
        let factor = if coo { factorize(&csr.to_coo(), how) } else { factorize(&csr, how) };
        let b = &right[..n * width];
        let times = |a: &[f64]| crate::random::product(a, b, [n, n, width]);
        let tensor = || dense::<2>(b, [n, width], dtype);
        near(&list(factor.solve(tensor())), &times(&inverse), tolerance);
        near(&list(factor.solve_transposed(tensor())), &times(&transposed(n, &inverse)), tolerance);
        near(&list(factor.clone().with_refinement(2).solve(tensor())), &times(&inverse), tolerance);
        let applied = Operator::new(factor.clone()).transposed().try_apply(tensor()).unwrap();
        near(&list(applied), &times(&transposed(n, &inverse)), tolerance);
        near(&list(factor.inv()), &inverse, tolerance);
        let diagonal: Vec<f64> = (0..n).map(|k| inverse[k * n + k]).collect();
        near(&list(factor.inverse_diagonal()), &diagonal, tolerance);
        let stored: Vec<f64> = (0..n * n).map(|cell| if own[cell] == 0.0 { 0.0 } else { inverse[cell] }).collect();
        near(&list(factor.inverse_on_pattern().to_dense()), &stored, tolerance);
        if how == Factorization::Qr {
            told(factor.try_slogdet(), "invalid", "Lu");
        } else {
            let (signs, logs) = factor.slogdet();
            prop_assert_eq!(signs[0], det.signum());
            near(&list(logs), &[det.abs().ln()], tolerance);
            match det > 0.0 {
                true => near(&list(factor.logdet()), &[det.ln()], tolerance),
                false => told(factor.try_logdet(), "invalid", "slogdet"),
            }
        }
    }

    /// One pattern or several; each system by itself.
    #[test]
    fn of_a_batch(
        how in prop::sample::select(&KINDS[..]),
        count in 1usize..5,
        entries in numbers(36),
        [full, coo] in any::<[bool; 2]>(),
        right in prop::collection::vec(-2.0f64..2.0, 12),
    ) {
        let cells: Vec<f64> = entries.iter().map(|x| if full { x + 0.01 } else { *x }).collect();
        let blocks: Vec<Vec<f64>> = (0..count).map(|at| matrix(fits(how), 3, &cells[at * 9..])).collect();
        let a = CsrTensor::<3>::from_dense(dense(&blocks.concat(), [count, 3, 3], DType::F64));
        let factor = if coo { factorize(&a.to_coo(), how) } else { factorize(&a, how) };
        let x = list(factor.solve(dense::<2>(&right[..count * 3], [count, 3], DType::F64)));
        let found: Vec<_> = blocks.iter().map(|block| inverse(3, block)).collect();
        for (at, (inverse, _)) in found.iter().enumerate() {
            near(&x[at * 3..][..3], &crate::random::product(inverse, &right[at * 3..][..3], [3, 3, 1]), 1e-9);
        }
        let diagonals: Vec<f64> = found.iter().flat_map(|(own, _)| [own[0], own[4], own[8]]).collect();
        near(&list(factor.inverse_diagonal()), &diagonals, 1e-9);
        if how != Factorization::Qr {
            let logs: Vec<f64> = found.iter().map(|(_, det)| det.abs().ln()).collect();
            near(&list(factor.slogdet().1), &logs, 1e-9);
        }
    }
}

/// Large enough for blocks of columns, where small ones take one column at a time.
#[test]
fn of_grids() {
    let options = (&Device::flex(), DType::F64);
    for grid in [&[13, 12, 11][..], &[40, 30]] {
        let a = laplacian(grid, Boundary::Dirichlet, options).unwrap();
        let n = a.dims()[0];
        let b = Tensor::<1>::ones([n], options);
        let mut diagonals = vec![];
        let mut logs = vec![];
        for how in KINDS {
            let factor = factorize(&a, how);
            let rest = a.matmul(factor.solve(b.clone()).reshape([n, 1])) - 1.0;
            assert!(list(rest).iter().all(|own| own.abs() < 1e-9), "{how:?}");
            if how != Factorization::Qr {
                diagonals.push(list(factor.inverse_diagonal()));
                logs.extend(list(factor.logdet()));
                // Columns by solves.
                let column = list(factor.solve(Tensor::<1>::zeros([n], options).slice_fill(n / 2..n / 2 + 1, 1.0)));
                let pattern = factor.inverse_on_pattern();
                let from = list(pattern.get([n as isize / 2, n as isize / 2 + 1]).reshape([1]));
                near(&from, &[column[n / 2 + 1]], 1e-10);
                near(&diagonals.last().unwrap()[n / 2..n / 2 + 1], &[column[n / 2]], 1e-10);
            }
        }
        near(&diagonals[1], &diagonals[0], 1e-10);
        near(&diagonals[2], &diagonals[0], 1e-10);
        near(&logs[1..], &[logs[0]; 2], 1e-10);
    }
}

/// As the inverse it preconditions: one iteration.
#[test]
fn as_a_preconditioner() {
    let options = (&Device::flex(), DType::F64);
    let a = laplacian(&[9, 8], Boundary::Dirichlet, options).unwrap();
    for how in KINDS {
        let factor = factorize(&a, how);
        let hints = Hints { preconditioner: Some(&factor), ..Hints::default() };
        let solver = SolverConfig::new(Method::Gmres { restart: 10 }).with_relative(1e-9);
        let report = solver.try_solve_with(&a, Tensor::<1>::ones([72], options), hints).unwrap().report;
        assert!(report.iterations <= 2, "{how:?}: {report}");
    }
}

#[test]
fn again_with_other_values() {
    let options = (&Device::flex(), DType::F64);
    let a = laplacian(&[5, 6], Boundary::Dirichlet, options).unwrap();
    let factor = factorize(&a, Factorization::Cholesky);
    let twice = factor.refactorize(&a.clone().mul_scalar(2.0));
    let b = || Tensor::<1>::ones([30], options);
    near(&list(twice.solve(b()) * 2.0), &list(factor.solve(b())), 1e-12);
    // The same elements on another pattern.
    let other = laplacian(&[5, 6], Boundary::Dirichlet, options).unwrap();
    near(&list(factor.refactorize(&other).solve(b())), &list(factor.solve(b())), 0.0);
    let other = laplacian(&[6, 5], Boundary::Dirichlet, options).unwrap();
    told(factor.try_refactorize(&other), "invalid", "same elements");
    let negative = a.mul_scalar(-1.0);
    told(factor.try_refactorize(&negative), "invalid", "positive definite");
}

#[test]
fn odd_shapes() {
    let device = Device::flex();
    for how in KINDS {
        let none = factorize(&CsrTensor::<2>::zeros([0, 0], &device), how);
        assert_eq!(none.solve(Tensor::<1>::zeros([0], &device)).dims(), [0]);
        assert_eq!(none.inverse_diagonal().dims(), [0]);
        let one = CsrTensor::<2>::from_dense(Tensor::from_floats([[4.0]], &device));
        let one = factorize(&one, how);
        assert_eq!(one.solve(Tensor::<2>::zeros([1, 0], &device)).dims(), [1, 0]);
        assert_eq!(list(one.solve(Tensor::<1>::from_floats([2.0], &device))), [0.5]);
        let empty = factorize(&CsrTensor::<3>::zeros([0, 3, 3], &device), how);
        assert_eq!(empty.solve(Tensor::<2>::zeros([0, 3], &device)).dims(), [0, 3]);
        if how != Factorization::Qr {
            assert_eq!(list(none.logdet()), [0.0]);
            assert_eq!(empty.logdet().dims(), [0]);
        }
    }
}

/// Duplicates count as their sum.
#[test]
fn uncoalesced() {
    let device = Device::flex();
    let indices = Tensor::from_ints([[0, 1, 0], [0, 1, 0]], &device);
    let a = CooTensor::<2>::new(indices, Tensor::<1>::from_floats([1.0, 5.0, 3.0], &device), [2, 2]).unwrap();
    for how in KINDS {
        let x = factorize(&a, how).solve(Tensor::<1>::from_floats([4.0, 10.0], &device));
        near(&list(x), &[1.0, 2.0], 1e-6);
    }
}

#[test]
fn what_they_refuse() {
    let device = Device::flex();
    let a = |rows: [[f32; 3]; 3]| CsrTensor::<2>::from_dense(Tensor::from_floats(rows, &device));
    let good = a([[4.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 2.0]]);
    for how in KINDS {
        let nan = a([[4.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, f32::NAN]]);
        told(try_factorize(&nan, how), "invalid", "finite, got others in row 2");
        told(try_factorize(&good.clone().with_fill(Fill::scalar(1.0)), how), "fill_mismatch", "zero");
        assert!(try_factorize(&good.clone().with_fill(Fill::Undefined), how).is_ok());
        let factor = factorize(&good, how);
        told(factor.try_solve(Tensor::<1>::ones([2], &device)), "shape_mismatch", "right-hand side");
        told(factor.try_solve(Tensor::<3>::ones([3, 1, 1], &device)), "shape_mismatch", "right-hand side");
        told(factor.try_solve(Tensor::<1>::ones([3], (&device, DType::F64))), "dtype_mismatch", "f64");
        // A row without elements.
        let empty = a([[4.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 0.0]]);
        told(try_factorize(&empty, how), "invalid", if how == Factorization::Qr { "column 2" } else { "in row 2" });
    }
    for how in [Factorization::Cholesky, Factorization::Ldlt] {
        let one_sided = a([[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.0, 2.0]]);
        told(try_factorize(&one_sided, how), "invalid", "column 2 in row 1");
        // Large beside the elements of its column, small beside those of its row.
        let far = a([[1e10, 1e3, 0.0], [0.0, 1e-6, 0.0], [0.0, 0.0, 2.0]]);
        told(try_factorize(&far, how), "invalid", "column 1 in row 0");
        told(try_factorize(&CsrTensor::<2>::zeros([2, 3], &device), how), "shape_mismatch", "square");
    }
    // Columns of any size have full rank.
    let scaled = a([[1e25, 0.0, 0.0], [0.0, 1e-3, 0.0], [0.0, 0.0, 1e-20]]);
    assert!(try_factorize(&scaled, Factorization::Qr).is_ok());
    let tall = CsrTensor::<2>::from_triplets(&[0], &[0], &[1.0f32], [200_000, 1], &device).unwrap();
    told(factorize(&tall, Factorization::Qr).try_inv(), "would_densify", "inverse");
    let indefinite = a([[4.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 2.0]]);
    told(try_factorize(&indefinite, Factorization::Cholesky), "invalid", "not positive (Lu takes any) in row 1");
    assert_eq!(factorize(&indefinite, Factorization::Ldlt).slogdet().0, [-1.0]);
    let zero = a([[4.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]);
    told(try_factorize(&zero, Factorization::Ldlt), "invalid", "one of zero");
    assert_eq!(factorize(&zero, Factorization::Lu).slogdet().0, [-1.0]);
    let singular = a([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 1.0]]);
    told(try_factorize(&singular, Factorization::Lu), "invalid", "depends on others in row");
    told(try_factorize(&singular, Factorization::Qr), "invalid", "depends on others: column");
    let batch = Tensor::<2>::stack::<3>(vec![good.to_dense(), singular.to_dense()], 0);
    told(try_factorize(&CsrTensor::<3>::from_dense(batch), Factorization::Lu), "invalid", "of system 1");
    let hybrid = CooTensor::<3>::from_dense(Tensor::ones([2, 2, 2], &device), 1);
    told(try_factorize(&hybrid, Factorization::Lu), "shape_mismatch", "batch");
    let four = CooTensor::<4>::from_dense(Tensor::ones([1, 1, 2, 2], &device), 0);
    told(try_factorize(&four, Factorization::Lu), "shape_mismatch", "batch");
}

#[test]
fn half_precision() {
    let good = CsrTensor::<2>::eye(3, &Device::flex()).cast(FloatDType::F16);
    told(try_factorize(&good, Factorization::Lu), "unsupported_dtype", "f16");
}

/// Of factors with and without blocks.
#[test]
fn pivots_name_their_rows() {
    let options = (&Device::flex(), DType::F64);
    for grid in [&[13, 12, 11][..], &[6, 5]] {
        let a = laplacian(grid, Boundary::Dirichlet, options).unwrap();
        let n = a.dims()[0];
        for row in [0, n / 3, n - 1] {
            let change = Tensor::<1>::zeros([n], options).slice_fill(row..row + 1, -100.0);
            let indefinite = a.add(&CsrTensor::from_diagonal(change));
            told(try_factorize(&indefinite, Factorization::Cholesky), "invalid", &format!("in row {row}"));
            let x = factorize(&indefinite, Factorization::Ldlt).solve(Tensor::<1>::ones([n], options));
            let rest = indefinite.matmul(x.reshape([n, 1])) - 1.0;
            assert!(list(rest).iter().all(|own| own.abs() < 1e-9));
        }
        // Of `Lu`, a row of zeros that are stored.
        let row = n / 3;
        let kept = Tensor::<1>::ones([n], options).slice_fill(row..row + 1, 0.0);
        let singular = a.mul_dense(kept.reshape([n, 1]));
        told(try_factorize(&singular, Factorization::Lu), "invalid", &format!("in row {row}"));
    }
}

/// Three rows that are one block of columns of the factors: of the first two one depends on the other, and the last one
/// on none.
#[test]
fn dependent_rows_of_a_block_are_named() {
    let options = (&Device::flex(), DType::F64);
    let a = laplacian(&[13, 12, 11], Boundary::Dirichlet, options).unwrap();
    let n = a.dims()[0];
    for (at, block) in [[1.0, 0.0, 1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 1.0, 0.0, 1.0, 0.0]].into_iter().enumerate() {
        let wide: Vec<f64> = block.chunks(2).flat_map(|row| [row[0], row[1], 0.0]).collect();
        let below = CsrTensor::<2>::from_dense(dense(&wide, [3, 3], DType::F64));
        let all = block_diag(&[a.clone(), below]);
        let trouble = try_factorize(&all, Factorization::Lu).unwrap_err().to_string();
        let rows = [at, at + 1].map(|row| format!("in row {}", n + row));
        assert!(rows.iter().any(|row| trouble.ends_with(row)), "{trouble}, {n}");
    }
}

/// A pivot, by which a test system is divided, and numbers beside one; a pivot of `Ldlt`, of factors with blocks too.
#[test]
fn factors_that_overflow_name_their_rows() {
    let big = 1e308;
    let of = |list: &[f64], n: usize| CsrTensor::<2>::from_dense(dense(list, [n, n], DType::F64));
    for (list, n) in [
        (&[big, big, -big, big][..], 2),
        (&[1.0, 1.0, 1.0, big, -big, big, 0.0, 0.0, 1.0], 3),
        (&[1.0, -1.0, 0.0, 0.0, 1.0, 1.0, big, big, 1.0], 3),
    ] {
        let trouble = try_factorize(&of(list, n), Factorization::Lu);
        told(trouble, "invalid", "numbers of the factors must be finite, got others in row");
    }
    // Large numbers, and pivots that are small, are no error.
    for list in [[big, 1.0, -1.0, big], [1e-200, 1.0, 1.0, 1e-200], [1e-300, 0.0, 0.0, 1e300]] {
        assert_eq!(
            factorize(&of(&list, 2), Factorization::Lu).slogdet().0,
            [list[0] * list[3] - list[1] * list[2]].map(f64::signum)
        );
    }
    let square = of(&[1.0, 1e200, 1e200, 1.0], 2);
    let grid = laplacian(&[13, 12, 11], Boundary::Dirichlet, (&Device::flex(), DType::F64)).unwrap();
    for a in [square.clone(), block_diag(&[grid, square])] {
        let row = format!("not finite (Lu takes any) in row {}", a.dims()[0] - 1);
        told(try_factorize(&a, Factorization::Ldlt), "invalid", &row);
    }
}

/// The rank without the row that is named is that of all: also where the pivot of another one, which comes later, has
/// no place.
#[test]
fn the_row_that_is_named_depends_on_others() {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let mut found = 0;
    for _ in 0..400 {
        let n = 3 + next() % 5;
        let mut rows: Vec<Vec<f64>> = (0..n)
            .map(|_| (0..n).map(|_| if next() % 3 == 0 { [1.0, -1.0, 2.0][next() % 3] } else { 0.0 }).collect())
            .collect();
        rows[next() % n] = rows[next() % n].clone();
        let a = CsrTensor::<2>::from_dense(dense(&rows.concat(), [n, n], DType::F64));
        let Err(trouble) = try_factorize(&a, Factorization::Lu) else { continue };
        found += 1;
        let row: usize = trouble.to_string().rsplit(' ').next().unwrap().parse().unwrap();
        let all = rank(rows.clone());
        rows.remove(row);
        assert_eq!(rank(rows.clone()), all, "{trouble}: {:?}", list(a.to_dense()));
    }
    assert!(found > 100, "{found}");
}

/// By elimination with pivots.
fn rank(mut rows: Vec<Vec<f64>>) -> usize {
    let mut found = 0;
    for col in 0..rows[0].len() {
        let pivot = (found..rows.len()).max_by(|&i, &j| rows[i][col].abs().total_cmp(&rows[j][col].abs()));
        let Some(pivot) = pivot.filter(|&at| rows[at][col].abs() > 1e-9) else { continue };
        rows.swap(found, pivot);
        let own = rows[found].clone();
        for other in &mut rows[found + 1..] {
            let factor = other[col] / own[col];
            other.iter_mut().zip(&own).for_each(|(x, y)| *x -= factor * y);
        }
        found += 1;
    }
    found
}
