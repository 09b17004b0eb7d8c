//! `tests/test_expm_multiply.py` and `tests/test_matfuncs.py`.

use super::matrices::{F64, RAND, csr, full, noise};
use crate::factors::{list, near};
use crate::random::{dense, product};
use crate::refused::told;
use burn::tensor::DType;
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{expm_multiply, expm_multiply_grid, matrix_power, try_expm_multiply};

fn exponential<const N: usize>(rows: [[f64; N]; N], t: f64) -> Vec<f64> {
    let unit: Vec<f64> = (0..N * N).map(|at| f64::from(u8::from(at % (N + 1) == 0))).collect();
    list(expm_multiply(&full(rows, F64), dense::<2>(&unit, [N, N], F64), t))
}

/// `test_zero_*`, `test_padecases_dtype_float`, `test_bidiagonal_sparse`, `test_complex` (as a real matrix of twice
/// the size).
#[test]
fn exponentials_that_are_known() {
    assert_eq!(exponential([[0.0; 2]; 2], 1.0), [1.0, 0.0, 0.0, 1.0]);
    for (dtype, rounding) in [(F64, f64::EPSILON), (DType::F32, f64::from(f32::EPSILON))] {
        for scale in [1e-2, 1e-1, 0.5, 1.0, 10.0f64] {
            let a = CsrTensor::<2>::from_dense(dense(&[scale], [1, 1], dtype));
            let got = list(expm_multiply(&a, dense::<1>(&[1.0], [1], dtype), 1.0));
            near(&[got[0] / scale.exp()], &[1.0], 100.0 * rounding);
        }
    }
    let (e, e2) = (1f64.exp(), 2f64.exp());
    let want = [e, 3.0 * e, 15.0 * (e2 - 2.0 * e), 0.0, e, 5.0 * (e2 - e), 0.0, 0.0, e2];
    near(&exponential([[1.0, 3.0, 0.0], [0.0, 1.0, 5.0], [0.0, 0.0, 2.0]], 1.0), &want, 1e-15);

    // [[i, i], [0, i]] by real and imaginary parts, times (i, i).
    let a = [[0.0, 0.0, -1.0, -1.0], [0.0, 0.0, 0.0, -1.0], [1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]];
    let x = list(expm_multiply(&full(a, F64), dense::<1>(&[0.0, 0.0, 1.0, 1.0], [4], F64), 1.0));
    let (cos, sin) = (1f64.cos(), 1f64.sin());
    // i e^i + i (i cos 1 - sin 1), i e^i.
    near(&x, &[-sin - cos, -sin, cos - sin, cos], 1e-15);
}

/// `_burkardt_13_power`: ones above the diagonal and `10^-n` in the corner.
fn burkardt(n: usize) -> CsrTensor<2> {
    let mut entries: Vec<_> = (1..n).map(|k| (k - 1, k, 1.0)).collect();
    entries.push((n - 1, 0, 10f64.powi(-i32::try_from(n).unwrap())));
    csr(&entries, [n, n], F64)
}

/// Its power `p`, as SciPy's helper makes it.
fn burkardt_power(n: usize, p: usize) -> Vec<f64> {
    let (whole, rest) = (i32::try_from(p / n).unwrap(), p % n);
    let size = i32::try_from(n).unwrap();
    let mut out = vec![0.0; n * n];
    for row in 0..n {
        let wraps = i32::from(row + rest >= n);
        out[row * n + (row + rest) % n] = 10f64.powi(-size * (whole + wraps));
    }
    out
}

/// `test_burkardt_13`, `test_matrix_power`, `test_matrix_power_operator`.
#[test]
fn powers() {
    for n in [2, 3, 4, 10] {
        let a = burkardt(n);
        for p in 0..2 * n + 2 {
            let want = burkardt_power(n, p);
            let got = list(matrix_power(&a, p).to_dense());
            got.iter().zip(&want).for_each(|(got, want)| assert!((got - want).abs() <= 1e-14 * want, "{n} {p}"));
        }
        let terms = n * (16usize.div_ceil(n)).max(1) + 4;
        let (mut want, mut factorial) = (vec![0.0; n * n], 1.0);
        for p in 0..terms {
            factorial *= p.max(1) as f64;
            want.iter_mut().zip(burkardt_power(n, p)).for_each(|(want, own)| *want += own / factorial);
        }
        let unit: Vec<f64> = (0..n * n).map(|at| f64::from(u8::from(at % (n + 1) == 0))).collect();
        let got = list(expm_multiply(&a, dense::<2>(&unit, [n, n], F64), 1.0));
        got.iter().zip(&want).for_each(|(got, want)| assert!((got - want).abs() <= 1e-7 * want, "{n}: {got} {want}"));
    }
    for power in [2, 5, 6] {
        let mut want: Vec<f64> = RAND.concat();
        (1..power).for_each(|_| want = product(&want, &RAND.concat(), [4, 4, 4]));
        near(&list(matrix_power(&full(RAND, F64), power).to_dense()), &want, 1e-13);
    }
}

/// `test_pascal`: the exponential of `1, 2, ..` below the diagonal is Pascal's triangle. Its rows sum to powers of 2.
#[test]
fn pascals_triangle() {
    for n in [1usize, 3, 24, 48] {
        let a = csr(&(1..n).map(|k| (k, k - 1, k as f64)).collect::<Vec<_>>(), [n, n], F64);
        let got = list(expm_multiply(&a, dense::<1>(&vec![1.0; n], [n], F64), 1.0));
        for (k, own) in got.iter().enumerate() {
            let want = 2f64.powi(i32::try_from(k).unwrap());
            assert!((own / want - 1.0).abs() < 1e-12, "{n} {k}: {own}");
        }
    }
}

/// `test_burkardt_14`: Moler's example, whose norm of 2e10 SciPy's `expm` scales away. Products with vectors would be
/// too many, which is told.
#[test]
fn a_badly_scaled_matrix() {
    let a = full([[0.0, 1e-8, 0.0], [-(2e10 + 4e8 / 6.0), -3.0, 2e10], [200.0 / 3.0, 0.0, -200.0 / 3.0]], F64);
    told(try_expm_multiply(&a, dense::<1>(&[1.0; 3], [3], F64), 1.0), "invalid", "far smaller");
}

/// `test_scaled_expm_multiply`, `test_sparse_expm_multiply_interval`: `0.2`, `1`, `1.5`, and 14, 13 and 2 points from
/// 0.1 to 3.2, of a matrix with two values in a hundred.
#[test]
fn scaled_and_on_a_grid() {
    let n = 40;
    let cells = noise(n * n, 1234);
    let entries: Vec<_> =
        (0..n * n).filter(|&at| cells[at] > 0.95).map(|at| (at / n, at % n, cells[at] - 0.5)).collect();
    let a = csr(&entries, [n, n], F64);
    let b = noise(3 * n, 4);
    let right = || dense::<2>(&b, [n, 3], F64);
    // By the series, of half the time twice.
    let series = |t: f64| {
        let mut out = b.clone();
        for _ in 0..8 {
            let (mut term, mut sum) = (out.clone(), out.clone());
            for k in 1..40 {
                let mut next = vec![0.0; 3 * n];
                for &(row, col, own) in &entries {
                    (0..3).for_each(|at| next[row * 3 + at] += own * t / 8.0 / f64::from(k) * term[col * 3 + at]);
                }
                sum.iter_mut().zip(&next).for_each(|(sum, own)| *sum += own);
                term = next;
            }
            out = sum;
        }
        out
    };
    for t in [0.2, 1.0, 1.5, -1.5] {
        near(&list(expm_multiply(&a, right(), t)), &series(t), 1e-13);
    }
    for num in [14, 13, 2] {
        let all = expm_multiply_grid(&a, right(), 0.1, 3.2, num);
        assert_eq!(all.len(), num);
        for (at, own) in all.into_iter().enumerate() {
            let t = 0.1 + 3.1 * at as f64 / (num - 1) as f64;
            near(&list(own), &series(t), 1e-12);
        }
    }
}
