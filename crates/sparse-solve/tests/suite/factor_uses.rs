//! What is made with factors: least squares, norms, conditions, files.

use crate::factors::{KINDS, fits, inverse, list, near};
use crate::gradients::{ends, with_values};
use crate::random::{Kind, dense, matrix, numbers, product};
use crate::refused::told;
use burn::tensor::{DType, Device, FloatDType, Tensor, TensorData};
use proptest::prelude::*;
use sparse_dev::gradients::check;
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{
    Boundary, Factor, Factorization, Operator, factorize, laplacian, lstsq, onenormest, ridge, try_lstsq,
    try_onenormest, try_ridge,
};

fn transposed(a: &[f64], [rows, cols]: [usize; 2]) -> Vec<f64> {
    (0..rows * cols).map(|cell| a[cell % rows * cols + cell / rows]).collect()
}

/// `|A|` in the 1-norm.
fn norm(a: &[f64], cols: usize) -> f64 {
    (0..cols).map(|col| a.iter().skip(col).step_by(cols).map(|x| x.abs()).sum::<f64>()).fold(0.0, f64::max)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Of full rank, beside the normal equations.
    #[test]
    fn least_squares_agree(
        [rows, cols] in [1usize..6, 1usize..6],
        entries in numbers(25),
        right in prop::collection::vec(-2.0f64..2.0, 10),
        penalty in 0.1f64..2.0,
    ) {
        let mut own = entries[..rows * cols].to_vec();
        (0..rows.min(cols)).for_each(|k| own[k * cols + k] += 7.0);
        let t = transposed(&own, [rows, cols]);
        let a = CsrTensor::<2>::from_dense(dense(&own, [rows, cols], DType::F64));
        let b = &right[..rows * 2];
        let tensor = || dense::<2>(b, [rows, 2], DType::F64);
        let want = if rows >= cols {
            let (normal, _) = inverse(cols, &product(&t, &own, [cols, rows, cols]));
            product(&normal, &product(&t, b, [cols, rows, 2]), [cols, cols, 2])
        } else {
            let (normal, _) = inverse(rows, &product(&own, &t, [rows, cols, rows]));
            product(&t, &product(&normal, b, [rows, rows, 2]), [cols, rows, 2])
        };
        near(&list(lstsq(&a, tensor())), &want, 1e-9);
        near(&list(lstsq(&a.to_coo(), tensor())), &want, 1e-9);
        let mut normal = product(&t, &own, [cols, rows, cols]);
        (0..cols).for_each(|k| normal[k * cols + k] += penalty);
        let want = product(&inverse(cols, &normal).0, &product(&t, b, [cols, rows, 2]), [cols, cols, 2]);
        near(&list(ridge(&a, tensor(), penalty)), &want, 1e-9);
        // The pseudo-inverse of the transpose.
        let factor = factorize(&a, Factorization::Qr);
        let back = &right[..cols];
        let one = list(factor.solve_transposed(dense::<1>(back, [cols], DType::F64)));
        near(&one, &list(lstsq(&a.transpose(), dense::<1>(back, [cols], DType::F64))), 1e-9);
    }

    #[test]
    fn gradients_of_ridge(entries in numbers(12), right in prop::collection::vec(-2.0f64..2.0, 4), pick in 0usize..4) {
        let (rows, cols, values) = ends(&entries, 3);
        let count = values.len();
        prop_assume!(count > 0);
        let inputs = [TensorData::new(values, [count]), TensorData::new(right, [4])];
        check(pick, &inputs, |xs| {
            ridge(&with_values(&rows, &cols, xs[0].tensor(), [4, 3]), xs[1].tensor::<1>(), 1.5)
        })?;
    }

    /// From below, and no less than a third; of the inverse too.
    #[test]
    fn norms_are_close(n in 1usize..9, cells in prop::collection::vec(-2.0f64..2.0, 64)) {
        let own = matrix(Kind::Any, n, &cells);
        let a = CsrTensor::<2>::from_dense(dense(&own, [n, n], DType::F64));
        let (got, want) = (onenormest(&a, (&Device::flex(), DType::F64)), norm(&own, n));
        prop_assert!(got <= want * (1.0 + 1e-12) && got >= want / 3.0, "{} {}", got, want);
        let want = want * norm(&inverse(n, &own).0, n);
        for how in &KINDS[2..] {
            let got = factorize(&a, *how).condition()[0];
            prop_assert!(got <= want * (1.0 + 1e-9) && got >= want / 3.0, "{} {}", got, want);
        }
    }
}

#[test]
fn norms_of_odd_operators() {
    let device = Device::flex();
    assert_eq!(onenormest(&CsrTensor::<2>::zeros([0, 4], &device), &device), 0.0);
    assert_eq!(onenormest(&CsrTensor::<2>::zeros([30, 20], &device), &device), 0.0);
    let wide = Tensor::<2>::ones([3, 40], &device);
    assert_eq!(onenormest(&wide, &device), 3.0);
    let infinite = Tensor::<2>::full([9, 9], f32::INFINITY, &device);
    assert!(!onenormest(&infinite, &device).is_finite());
    let apply = |_: &Vec<Tensor<1>>, x: Tensor<2>| x;
    let none = None::<fn(&Vec<Tensor<1>>, Tensor<2>) -> Tensor<2>>;
    told(try_onenormest(&Operator::from_fn([9, 9], vec![], apply, none), &device), "invalid", "transposed");
}

/// Hilbert's matrix: a solve loses its digits, and the estimate says so.
#[test]
fn of_an_ill_conditioned_matrix() {
    let n = 8;
    let own: Vec<f64> = (0..n * n).map(|cell| 1.0 / (cell / n + cell % n + 1) as f64).collect();
    let a = CsrTensor::<2>::from_dense(dense(&own, [n, n], DType::F64));
    for how in KINDS {
        let condition = factorize(&a, how).condition()[0];
        assert!((1e10..1e11).contains(&condition), "{how:?}: {condition:e}");
    }
}

/// A small pivot spoils `Ldlt`; refinement mends it.
#[test]
fn refinement_gets_digits_back() {
    let own = [1e-9, 1.0, 0.0, 1.0, 0.5, 1.0, 0.0, 1.0, 1.0];
    let a = CsrTensor::<2>::from_dense(dense(&own, [3, 3], DType::F64));
    let want = product(&inverse(3, &own).0, &[1.0, 2.0, 3.0], [3, 3, 1]);
    let off = |factor: &Factor| {
        let x = list(factor.solve(dense::<1>(&[1.0, 2.0, 3.0], [3], DType::F64)));
        x.iter().zip(&want).map(|(x, want)| (x - want).abs()).fold(0.0, f64::max)
    };
    let factor = factorize(&a, Factorization::Ldlt);
    let better = factor.clone().with_refinement(2);
    assert!(off(&better) < 1e-14 && off(&better) <= off(&factor), "{:e} {:e}", off(&better), off(&factor));
}

#[test]
fn what_least_squares_refuse() {
    let device = Device::flex();
    let b = || Tensor::<1>::ones([3], &device);
    let tall = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 2.0], [1.0, 2.0], [2.0, 4.0]], &device));
    told(try_lstsq(&tall, b()), "invalid", "depends on others: column");
    let wide = tall.transpose();
    told(try_lstsq(&wide, Tensor::<1>::ones([2], &device)), "invalid", "depends on others in row");
    assert_eq!(list(ridge(&tall, b(), 0.5)).len(), 2);
    for wrong in [-1.0, f64::NAN, f64::INFINITY] {
        told(try_ridge(&tall, b(), wrong), "invalid", "penalty");
    }
    told(try_ridge(&tall, Tensor::<1>::ones([2], &device), 1.0), "shape_mismatch", "right-hand side");
    told(try_lstsq(&tall, Tensor::<1>::ones([2], &device)), "shape_mismatch", "right-hand side");
    // Their roots are 0 or infinite in f32, and not in f64.
    let eye = CsrTensor::<2>::eye(3, &device);
    for far in [1e-100, 1e100] {
        told(try_ridge(&eye, b(), far), "invalid", "root of the penalty");
        let x = list(ridge(&eye.clone().cast(FloatDType::F64), b().cast(DType::F64), far));
        near(&x, &[1.0 / (1.0 + far); 3], 1e-12);
    }
    // Residuals of any size are no error.
    let full = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0], [1.0], [1.0]], &device));
    near(&list(lstsq(&full, Tensor::<1>::from_floats([0.0, 0.0, 9.0], &device))), &[3.0], 1e-6);
}

#[test]
fn saved_and_loaded() {
    let folder = std::env::temp_dir().join(format!("sparse-solve-factors-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("factor");
    let device = Device::flex();
    let mut matrices = vec![laplacian(&[12, 12, 11], Boundary::Dirichlet, (&device, DType::F64)).unwrap()];
    matrices.push(laplacian(&[5, 4], Boundary::Dirichlet, &device).unwrap());
    for (a, how) in matrices.iter().flat_map(|a| KINDS.map(|how| (a, how))) {
        let factor = factorize(a, how).with_refinement(1);
        factor.save(&path).unwrap();
        let loaded = Factor::load(&path, &device).unwrap();
        assert_eq!(loaded.kind(), how);
        let b = || Tensor::<1>::ones([a.dims()[0]], (&device, a.dtype()));
        near(&list(loaded.solve(b())), &list(factor.solve(b())), 1e-12);
        near(&list(loaded.refactorize(a).solve(b())), &list(factor.solve(b())), 1e-12);
        if how != Factorization::Qr {
            near(&list(loaded.logdet()), &list(factor.logdet()), 1e-12);
        }
    }
    let blocks = [0, 9].map(|at| matrix(fits(Factorization::Lu), 3, &[0.3; 18][at..])).concat();
    let batch = factorize(&CsrTensor::<3>::from_dense(dense(&blocks, [2, 3, 3], DType::F64)), Factorization::Lu);
    batch.save(&path).unwrap();
    let b = || Tensor::<2>::ones([2, 3], (&device, DType::F64));
    near(&list(Factor::load(&path, &device).unwrap().solve(b())), &list(batch.solve(b())), 0.0);
    let wide = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 2.0, 0.0]], &device));
    factorize(&wide, Factorization::Qr).save(&path).unwrap();
    assert_eq!(Factor::load(&path, &device).unwrap().solve(Tensor::<1>::ones([1], &device)).dims(), [3]);

    // Every part of a file that is cut off, and every number that is wrong, is an error and no panic.
    factorize(&matrices[1], Factorization::Cholesky).save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    for cut in (0..bytes.len()).step_by(41) {
        std::fs::write(&path, &bytes[..cut]).unwrap();
        assert_eq!(Factor::load(&path, &device).err().unwrap().kind(), "invalid");
    }
    for at in (0..bytes.len() / 8 - 160).map(|at| at * 8) {
        let mut wrong = bytes.clone();
        wrong[at..at + 8].copy_from_slice(&u64::MAX.to_le_bytes());
        std::fs::write(&path, &wrong).unwrap();
        let _ = Factor::load(&path, &device);
    }
    for (at, number) in [(16, 2u64), (32, u64::MAX)] {
        let mut wrong = bytes.clone();
        wrong[at..at + 8].copy_from_slice(&number.to_le_bytes());
        std::fs::write(&path, &wrong).unwrap();
        assert_eq!(Factor::load(&path, &device).err().unwrap().kind(), "invalid", "{number} at {at}");
    }
    std::fs::write(&path, [&bytes[..], &[0; 8]].concat()).unwrap();
    assert_eq!(Factor::load(&path, &device).err().unwrap().kind(), "invalid", "bytes after the end");
    told(Factor::load(folder.join("none"), &device), "invalid", "none");
    told(batch.save(folder.join("none").join("factor")), "invalid", "none");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Pivots of a file, and sizes that no memory holds.
#[test]
fn files_that_no_factor_wrote() {
    let path = std::env::temp_dir().join(format!("sparse-solve-wrong-factors-{}", std::process::id()));
    let device = Device::flex();
    let load = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        Factor::load(&path, &device)
    };
    let eye = CsrTensor::<2>::eye(2, (&device, DType::F64));
    for (how, pivot, fits) in [
        (Factorization::Cholesky, -1.0f64, false),
        (Factorization::Cholesky, 0.0, false),
        (Factorization::Ldlt, 0.0, false),
        (Factorization::Ldlt, -1.0, true),
    ] {
        factorize(&eye, how).save(&path).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        let last = bytes.len() - 8;
        bytes[last..].copy_from_slice(&pivot.to_le_bytes());
        match fits {
            true => assert_eq!(load(&bytes).unwrap().slogdet().0, [-1.0]),
            false => told(load(&bytes), "invalid", "the pivots of its factor"),
        }
    }
    // Kind, batch, f64, steps; systems, rows, columns; pointers, elements, their columns and values; no factor.
    let one = 1.0f64.to_bits();
    let rows_without_memory = |cols: u64| vec![3, 0, 1, 0, 1, 1, cols, 0, 1, 1, 0, one, 0];
    let systems_without_memory = |systems: u64| vec![2, 1, 1, 0, systems, 0, 0, 0, 0, 0];
    for size in [1 << 48, 1 << 60, i64::MAX as u64, u64::MAX] {
        for numbers in [rows_without_memory(size), systems_without_memory(size)] {
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            assert!(load(&[b"spfact01", &bytes[..]].concat()).is_err(), "{size}");
        }
    }
    std::fs::remove_file(&path).unwrap();
}
