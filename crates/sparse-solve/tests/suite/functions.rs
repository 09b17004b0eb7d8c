//! Functions of matrices against dense series and eigenvalues, their gradients, their errors.

use crate::gradients::with_values;
use crate::random::{Kind, dense, matrix, numbers, product};
use crate::refused::told;
use burn::tensor::{DType, Device, Tensor, TensorData};
use proptest::prelude::*;
use sparse_dev::gradients::check;
use sparse_tensor::solve::{
    Boundary, FunmConfig, Operator, expm_multiply, expm_multiply_grid, laplacian, matrix_power, try_expm_multiply,
    try_expm_multiply_grid, try_matrix_power,
};
use sparse_tensor::{CooTensor, CsrTensor, Fill};

const F64: DType = DType::F64;

/// By its series, of the matrix over 2^20, squared twenty times.
fn exponential(a: &[f64], n: usize) -> Vec<f64> {
    let small: Vec<f64> = a.iter().map(|own| own / f64::from(1 << 20)).collect();
    let identity: Vec<f64> = (0..n * n).map(|at| f64::from(u8::from(at / n == at % n))).collect();
    // Without the identity, in which small numbers would be lost: (1 + x)^2 = 1 + (2 x + x^2).
    let (mut rest, mut term) = (vec![0.0; n * n], identity.clone());
    for k in 1..8 {
        term = product(&term, &small, [n, n, n]).iter().map(|own| own / f64::from(k)).collect();
        rest.iter_mut().zip(&term).for_each(|(rest, term)| *rest += term);
    }
    for _ in 0..20 {
        let square = product(&rest, &rest, [n, n, n]);
        rest.iter_mut().zip(square).for_each(|(rest, square)| *rest = 2.0 * *rest + square);
    }
    rest.iter().zip(identity).map(|(rest, one)| rest + one).collect()
}

fn list<const D: usize>(x: Tensor<D>) -> Vec<f64> {
    x.into_data().iter::<f64>().collect()
}

fn near(got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len());
    let size = want.iter().fold(1.0f64, |most, own| most.max(own.abs()));
    for (at, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= tolerance * size, "{got} and {want} at {at}");
    }
}

fn stored(entries: &[f64], n: usize) -> (Vec<i64>, Vec<i64>, Vec<f64>) {
    let kept = entries.iter().enumerate().filter(|(_, own)| **own != 0.0);
    let all = kept.map(|(at, own)| (((at / n) as i64, (at % n) as i64), *own));
    let (ends, values): (Vec<(i64, i64)>, Vec<f64>) = all.unzip();
    let (rows, cols) = ends.into_iter().unzip();
    (rows, cols, values)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Both layouts, both dtypes, vectors and columns, from short to long times of both signs.
    #[test]
    fn exponentials_are_those_of_the_series(
        n in 1usize..6,
        width in 0usize..3,
        entries in numbers(25),
        right in prop::collection::vec(-2.0f64..2.0, 12),
        t in prop::sample::select(&[-8.0, -1.0, 0.0, 1e-6, 0.3, 2.0, 12.0][..]),
    ) {
        let (entries, right) = (&entries[..n * n], &right[..n * width.max(1)]);
        let scaled: Vec<f64> = entries.iter().map(|own| own * t).collect();
        let own = exponential(&scaled, n);
        let want = product(&own, right, [n, n, width.max(1)]);
        // The size of the exponential, of which a small result is a difference.
        let size = own.iter().fold(1.0f64, |most, own| most.max(own.abs()));
        for (dtype, tolerance) in [(F64, 1e-11), (DType::F32, 1e-3)] {
            let a = CsrTensor::<2>::from_dense(dense(entries, [n, n], dtype));
            let got = match width {
                0 => list(expm_multiply(&a, dense(right, [n], dtype), t)),
                _ => list(expm_multiply(&a.to_coo(), dense(right, [n, width], dtype), t)),
            };
            if size < 1e20 {
                let share = |list: &[f64]| list.iter().map(|own| own / size).collect::<Vec<_>>();
                near(&share(&got), &share(&want), tolerance);
            }
        }
    }

    /// To the matrix and to the right-hand side; several steps, and blocks of them.
    #[test]
    fn exponentials_have_gradients(
        entries in numbers(9),
        right in prop::collection::vec(-2.0f64..2.0, 6),
        t in prop::sample::select(&[0.1, 1.0, -1.5, 4.0][..]),
        scale in prop::sample::select(&[1.0, 8.0][..]),
        pick in 0usize..4,
    ) {
        let (rows, cols, values) = stored(&entries, 3);
        let count = values.len();
        prop_assume!(count > 0);
        let inputs = [TensorData::new(values, [count]), TensorData::new(right, [3, 2])];
        // Of a skew matrix, which is long but does not grow: 8 |A| t is up to 100, and takes about ten steps.
        check(pick, &inputs, |xs| {
            let a = with_values(&rows, &cols, xs[0].tensor(), [3, 3]);
            let a = a.sub(&a.transpose()).mul_scalar(scale);
            expm_multiply(&a, xs[1].tensor::<2>(), t)
        })?;
        let short = t.clamp(-1.0, 1.0) / scale;
        check(pick, &inputs, |xs| {
            let a = with_values(&rows, &cols, xs[0].tensor(), [3, 3]).mul_scalar(scale);
            expm_multiply(&a, xs[1].tensor::<2>(), short)
        })?;
    }

    #[test]
    fn powers_and_their_gradients(entries in numbers(9), n in 0usize..8, pick in 0usize..4) {
        let small: Vec<f64> = entries.iter().map(|own| own * 0.6).collect();
        let a = CsrTensor::<2>::from_dense(dense(&small, [3, 3], F64));
        let identity = vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        let want = (0..n).fold(identity, |own, _| product(&own, &small, [3, 3, 3]));
        near(&list(matrix_power(&a, n).to_dense()), &want, 1e-12);
        let (rows, cols, values) = stored(&small, 3);
        let count = values.len();
        prop_assume!(count > 0);
        check(pick, &[TensorData::new(values, [count])], |xs| {
            matrix_power(&with_values(&rows, &cols, xs[0].tensor(), [3, 3]), n).to_dense()
        })?;
    }

    /// Of symmetric matrices, against the exponential and a square root that is squared.
    #[test]
    fn functions_by_lanczos(
        n in 1usize..7,
        width in 0usize..3,
        entries in numbers(36),
        right in prop::collection::vec(-2.0f64..2.0, 18),
        pick in 0usize..4,
    ) {
        let x = &entries[..n * n];
        let own = matrix(Kind::Positive, n, x);
        let right = &right[..n * width.max(1)];
        for (dtype, tolerance) in [(F64, 1e-9), (DType::F32, 2e-4)] {
            let a = CsrTensor::<2>::from_dense(dense(&own, [n, n], dtype));
            let config = FunmConfig::new().with_relative(1e-12);
            let shape = [n, width.max(1)];
            let falling: Vec<f64> = own.iter().map(|own| -own).collect();
            let want = product(&exponential(&falling, n), right, [n, n, width.max(1)]);
            let got = match width {
                0 => list(config.multiply(|x| (-x).exp(), &a, dense(right, [n], dtype))),
                _ => list(config.multiply(|x| (-x).exp(), &a, dense(right, shape, dtype))),
            };
            near(&got, &want, tolerance);
            let half = |b| config.multiply(f64::sqrt, &a, b);
            let twice = half(half(dense::<2>(right, shape, dtype)));
            near(&list(twice), &product(&own, right, [n, n, width.max(1)]), tolerance);
        }
        check(pick, &[TensorData::new(right.to_vec(), [n, width.max(1)])], |xs| {
            let b = xs[0].tensor::<2>();
            let own = dense::<2>(&own, [n, n], F64).to_device(&b.device().inner());
            let a = Operator::from(CsrTensor::<2>::from_dense(own));
            FunmConfig::new().with_relative(1e-12).multiply(|x| x.ln() + 1.0, &a, b)
        })?;
    }
}

/// `A b` is 0, so all terms but the first are: their derivatives are not.
#[test]
fn gradients_where_terms_vanish() {
    let pattern = laplacian(&[4], Boundary::Neumann, (&Device::flex(), F64)).unwrap();
    let ids = |ids: Tensor<1, burn::tensor::Int>| ids.into_data().iter::<i64>().collect::<Vec<_>>();
    let (rows, cols) = (ids(pattern.pattern().row_ids().clone()), ids(pattern.pattern().col_idx().clone()));
    let values = list(pattern.values::<1>());
    for pick in 0..4 {
        let inputs = [TensorData::new(values.clone(), [values.len()])];
        check(pick, &inputs, |xs| {
            let a = with_values(&rows, &cols, xs[0].tensor(), [4, 4]);
            expm_multiply(&a, Tensor::<1>::ones([4], (&xs[0].tensor::<1>().device(), F64)), -2.0)
        })
        .unwrap();
        // A multiple of the identity, whose series has one term.
        check(pick, &[TensorData::new(vec![0.5; 3], [3])], |xs| {
            let own = xs[0].tensor::<1>();
            let b = dense::<1>(&[1.0, -2.0, 3.0], [3], F64).to_device(&own.device().inner());
            expm_multiply(&CsrTensor::<2>::from_diagonal(own), b, 1.5)
        })
        .unwrap();
    }
}

/// A grid is one time after the other, and gradients go through it.
/// Of columns of any sizes side by side each is as exact as alone.
#[test]
fn a_large_column_does_not_end_the_series_of_a_small_one() {
    for (dtype, epsilon) in [(DType::F32, 1e-6), (F64, 1e-14)] {
        let a = CsrTensor::<2>::from_dense(dense(&[0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0], [3, 3], dtype));
        for large in [1.0, 1e8, 1e16] {
            let x = list(expm_multiply(&a, dense::<2>(&[1.0, 0.0, 0.0, 0.0, 0.0, large], [3, 2], dtype), 1.0));
            near(&[x[0], x[2]], &[1f64.cos(), 1f64.sin()], epsilon);
        }
    }
}

#[test]
fn of_nothing_has_a_tape() {
    let (plain, device) = (Device::flex(), Device::flex().autodiff());
    let a = CsrTensor::<2>::zeros([3, 3], &device).require_grad();
    let b = || Tensor::<2>::zeros([3, 0], &plain);
    for x in [expm_multiply(&a, b(), 1.0), expm_multiply_grid(&a, b(), 0.0, 1.0, 2).remove(1)] {
        assert_eq!(a.grad(&x.sum().backward()).unwrap().nnz(), 0);
    }
}

#[test]
fn grids_of_times() {
    let a = laplacian(&[5, 4], Boundary::Dirichlet, (&Device::flex(), F64)).unwrap().mul_scalar(-1.0);
    let b: Tensor<1> = dense(&(0..20).map(|k| (k as f64).sin()).collect::<Vec<_>>(), [20], F64);
    let list_of = expm_multiply_grid(&a, b.clone(), -0.5, 4.0, 4);
    assert_eq!(list_of.len(), 4);
    for (k, x) in list_of.into_iter().enumerate() {
        near(&list(x), &list(expm_multiply(&a, b.clone(), -0.5 + 1.5 * k as f64)), 1e-11);
    }
    let one = expm_multiply_grid(&a, b.clone(), 0.7, 9.0, 1);
    near(&list(one[0].clone()), &list(expm_multiply(&a, b.clone(), 0.7)), 1e-15);
    for pick in 0..4 {
        check(pick, &[TensorData::new(list(b.clone()), [20])], |xs| {
            let b = xs[0].tensor::<1>();
            Tensor::stack::<2>(expm_multiply_grid(&a.clone().to_device(&b.device().inner()), b, 0.0, 2.0, 3), 0)
        })
        .unwrap();
    }
}

/// A stiff matrix of many steps: heat in a rod, whose modes are known.
#[test]
fn heat_of_a_long_rod() {
    let n = 60;
    let a = laplacian(&[n], Boundary::Dirichlet, (&Device::flex(), F64)).unwrap();
    let mode = |k: f64| move |at: usize| (k * (at + 1) as f64 * std::f64::consts::PI / (n + 1) as f64).sin();
    let rate = |k: f64| 2.0 - 2.0 * (k * std::f64::consts::PI / (n + 1) as f64).cos();
    let b: Vec<f64> = (0..n).map(|at| mode(1.0)(at) + mode(50.0)(at)).collect();
    let t = 300.0;
    let want: Vec<f64> = (0..n).map(|at| mode(1.0)(at) * (-t * rate(1.0)).exp()).collect();
    near(&list(expm_multiply(&a.mul_scalar(-1.0), dense::<1>(&b, [n], F64), t)), &want, 1e-11);
    near(&list(FunmConfig::new().multiply(move |x| (-t * x).exp(), &a, dense::<1>(&b, [n], F64))), &want, 1e-8);
    // The square of the sign function is the identity, and b has both signs of A - 2.
    let moved = Operator::from(a) + Operator::identity(n) * -2.01;
    let sign = |b| FunmConfig::new().with_relative(1e-10).multiply(f64::signum, &moved, b);
    near(&list(sign(sign(dense::<1>(&b, [n], F64)))), &b, 1e-8);
}

/// Equal results of the first looks say nothing where the function is zero at what they see: at two and at three
/// directions the largest value that is seen is below 7.6, and at four it is above.
#[test]
fn a_function_that_is_zero_at_first() {
    let a = CsrTensor::<2>::from_diagonal(dense(&(1..=8).map(f64::from).collect::<Vec<_>>(), [8], F64));
    let ones = || Tensor::<1>::ones([8], (&Device::flex(), F64));
    let above = |x: f64| (x - 7.6).max(0.0);
    let want: Vec<f64> = (1..=8).map(|k| above(f64::from(k))).collect();
    near(&list(FunmConfig::new().multiply(above, &a, ones())), &want, 1e-12);
    told(FunmConfig::new().with_max_directions(3).try_multiply(above, &a, ones()), "invalid", "with 3 directions");
}

/// A space that is not left needs no second look; else fewer than four directions are told, whatever the function.
#[test]
fn few_directions() {
    let a = CsrTensor::<2>::from_diagonal(dense(&(1..=8).map(f64::from).collect::<Vec<_>>(), [8], F64));
    for most in 1..=5 {
        let config = FunmConfig::new().with_max_directions(most);
        let b: Vec<f64> = (0..8).map(|at| if at < most { 4.0 } else { 0.0 }).collect();
        let want: Vec<f64> = b.iter().zip(1..).map(|(b, k)| b * f64::from(k).exp()).collect();
        near(&list(config.multiply(f64::exp, &a, dense::<1>(&b, [8], F64))), &want, 1e-12);
        let smooth = |x: f64| (1e-4 * x).exp();
        let ones = Tensor::<1>::ones([8], (&Device::flex(), F64));
        match most < 4 {
            true => {
                told(config.try_multiply(smooth, &a, ones), "invalid", &format!("no two looks with {most} directions"))
            }
            false => near(
                &list(config.multiply(smooth, &a, ones)),
                &(1..=8).map(|k| smooth(f64::from(k))).collect::<Vec<_>>(),
                1e-9,
            ),
        }
    }
}

/// `A^2 e_1` of `[[1, c], [c, m]]` is `[1 + c^2, c (1 + m)]`, however small `c` is beside `m`; and of
/// `[[m, c], [c, 1]]` `m^2 A^-2 e_1` is about `[1, -c m]`.
#[test]
fn couplings_that_are_small_beside_the_matrix() {
    let cases = [(1e-5, 1e3, DType::F32), (1e-7, 1e6, DType::F32), (1e-19, 1e18, DType::F32), (1e-15, 1e14, F64)];
    for (c, m, dtype) in cases {
        let of = |entries: [f64; 4], f: &'static (dyn Fn(f64, f64) -> f64 + Sync)| {
            let a = CsrTensor::<2>::from_dense(dense(&entries, [2, 2], dtype));
            list(FunmConfig::new().multiply(move |x| f(x, m), &a, dense::<1>(&[1.0, 0.0], [2], dtype)))
        };
        near(&of([1.0, c, c, m], &|x, _| x * x), &[1.0 + c * c, c * (1.0 + m)], 1e-6);
        let inverse = of([m, c, c, 1.0], &|x, m| (m / x).powi(2));
        near(&inverse, &[1.0 + c * c, -c * m * (1.0 + 1.0 / m)], 1e-6);
    }
}

/// Where rounding leads out of the positive part of an indefinite matrix, its root has nothing but rounding there.
#[test]
fn a_part_along_which_b_has_only_rounding() {
    // Reflected: `H diag(l) H` with `H = I - 2 u u^T`.
    let n = 6;
    let u: Vec<f64> = (0..n).map(|at| f64::from(at as u32 + 1) / 91f64.sqrt()).collect();
    let h = |i: usize, j: usize| f64::from(u8::from(i == j)) - 2.0 * u[i] * u[j];
    let values = [-3.0, -1.0, 2.0, 3.0, 5.0, 7.0];
    let entry = |at: usize| (0..n).map(|k| h(at / n, k) * values[k] * h(at % n, k)).sum::<f64>();
    let of = |f: fn(f64) -> f64| -> Vec<f64> { (0..n).map(|i| (2..n).map(|k| h(i, k) * f(values[k])).sum()).collect() };
    for (dtype, tolerance) in [(F64, 1e-12), (DType::F32, 1e-5)] {
        let a = CsrTensor::<2>::from_dense(dense(&(0..n * n).map(entry).collect::<Vec<_>>(), [n, n], dtype));
        let got = FunmConfig::new().multiply(f64::sqrt, &a, dense::<1>(&of(|_| 1.0), [n], dtype));
        near(&list(got), &of(f64::sqrt), tolerance);
    }
}

/// As one by a solve to 1e-6 is: both sides of the diagonal differ by 2e-6.
#[test]
fn operators_that_are_applied_inexactly() {
    let n = 30;
    let exact = laplacian(&[n], Boundary::Dirichlet, (&Device::flex(), F64)).unwrap();
    let b: Tensor<1> = dense(&(0..n).map(|k| (k as f64).sin()).collect::<Vec<_>>(), [n], F64);
    let skewed = |error: f64| exact.add(&exact.tril(-1).mul_scalar(error)).sub(&exact.triu(1).mul_scalar(error));
    let want = list(FunmConfig::new().multiply(f64::sqrt, &exact, b.clone()));
    near(&list(FunmConfig::new().multiply(f64::sqrt, &skewed(1e-6), b.clone())), &want, 1e-5);
    told(FunmConfig::new().try_multiply(f64::sqrt, &skewed(1e-3), b.clone()), "invalid", "must be symmetric");
    let rough = FunmConfig::new().with_relative(1e-3);
    near(&list(rough.multiply(f64::sqrt, &skewed(1e-3), b.clone())), &want, 1e-2);
    told(rough.with_relative(1.0).try_multiply(f64::sqrt, &skewed(0.1), b), "invalid", "must be symmetric");
}

/// The squares of the result are 0 or infinite.
#[test]
fn results_of_any_scale() {
    for scale in [-1.0, 1.0] {
        let diagonal: Vec<f64> = (0..40).map(|k| scale * (400.0 + f64::from(k) / 4.0)).collect();
        let a = CsrTensor::<2>::from_diagonal(dense(&diagonal, [40], F64));
        let got = FunmConfig::new().multiply(f64::exp, &a, Tensor::<1>::ones([40], (&Device::flex(), F64)));
        let size = (scale * 405.0).exp();
        let [got, want] = [list(got), diagonal.iter().map(|x| x.exp()).collect()]
            .map(|list| list.iter().map(|x| x / size).collect::<Vec<_>>());
        near(&got, &want, 1e-6);
        // A number that f32 has not.
        let single = CsrTensor::<2>::from_diagonal(dense(&diagonal, [40], DType::F32));
        let result = FunmConfig::new().try_multiply(f64::exp, &single, Tensor::<1>::ones([40], &Device::flex()));
        match scale > 0.0 {
            true => told(result, "invalid", "of the result must be finite"),
            false => assert_eq!(list(result.unwrap()), [0.0; 40]),
        }
    }
}

#[test]
fn what_does_not_fit_is_told() {
    let device = Device::flex();
    let b = || Tensor::<1>::ones([2], &device);
    let square = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 2.0], [0.0, 3.0]], &device));
    let wide = CsrTensor::<2>::zeros([2, 3], &device);
    told(try_expm_multiply(&wide, b(), 1.0), "shape_mismatch", "square");
    told(try_matrix_power(&wide, 2), "shape_mismatch", "square");
    told(try_expm_multiply(&square, Tensor::<1>::ones([3], &device), 1.0), "shape_mismatch", "right-hand side");
    told(try_expm_multiply(&square, Tensor::<3>::ones([2, 1, 1], &device), 1.0), "shape_mismatch", "right-hand side");
    told(try_expm_multiply(&square, b().cast(F64), 1.0), "dtype_mismatch", "f64");
    told(try_expm_multiply(&square, b().cast(DType::F16), 1.0), "unsupported_dtype", "f16");
    told(try_expm_multiply(&square.clone().with_fill(Fill::scalar(1.0)), b(), 1.0), "fill_mismatch", "fill");
    told(try_expm_multiply(&square, b(), f64::NAN), "invalid", "time");
    told(try_expm_multiply(&square, b(), 1e12), "invalid", "far smaller");
    for wrong in [f32::NAN, f32::INFINITY] {
        let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, wrong], [0.0, 3.0]], &device));
        told(try_expm_multiply(&a, b(), 1.0), "invalid", "finite");
    }
    told(try_expm_multiply_grid(&square, b(), 0.0, 1.0, 0), "invalid", "at least 1");
    let rule = FunmConfig::new().with_relative(f64::NAN);
    told(rule.try_multiply(f64::exp, &square, b()), "invalid", "relative tolerance");
    let none = CsrTensor::<2>::zeros([0, 0], &device);
    assert_eq!(expm_multiply(&none, Tensor::<2>::zeros([0, 3], &device), 1.0).dims(), [0, 3]);
    assert_eq!(expm_multiply_grid(&none, Tensor::<1>::zeros([0], &device), 0.0, 1.0, 3).len(), 3);
    assert_eq!(matrix_power(&none, 3).nnz(), 0);
    let nothing = CooTensor::<2>::zeros([2, 2], &device);
    assert_eq!(list(expm_multiply(&nothing, b(), 5.0)), [1.0, 1.0]);

    let funm = FunmConfig::new();
    let exp = |x: f64| x.exp();
    told(funm.try_multiply(exp, &wide, b()), "shape_mismatch", "square");
    told(funm.try_multiply(exp, &square, Tensor::<1>::ones([3], &device)), "shape_mismatch", "right-hand side");
    told(funm.try_multiply(exp, &square, b().cast(DType::F16)), "unsupported_dtype", "f16");
    let negative = CsrTensor::<2>::from_diagonal(Tensor::from_floats([-1.0, 2.0], &device));
    told(funm.try_multiply(f64::ln, &negative, b()), "invalid", "at -1.000e0");
    told(funm.try_multiply(exp, &negative, b() * f32::NAN), "invalid", "finite");
    for dtype in [DType::F32, F64] {
        let lower = CsrTensor::<2>::from_dense(dense(&[1.0, 2.0, 0.0, 3.0], [2, 2], dtype));
        let trouble = funm.try_multiply(exp, &lower, dense::<1>(&[1.0, 2.0], [2], dtype));
        told(trouble, "invalid", "must be symmetric");
    }
    let long = laplacian(&[50], Boundary::Dirichlet, &device).unwrap();
    let few = funm.clone().with_max_directions(4);
    told(
        few.try_multiply(f64::sqrt, &long, dense::<1>(&(0..50).map(f64::from).collect::<Vec<_>>(), [50], DType::F32)),
        "invalid",
        "with 4 directions",
    );
    let diagonal = Tensor::<1>::from_floats([1.0, 2.0], &device.clone().autodiff());
    let tracked = CsrTensor::<2>::from_diagonal(diagonal).require_grad();
    told(funm.try_multiply(exp, &tracked, b()), "invalid", "detach");
    assert_eq!(funm.multiply(exp, &none, Tensor::<1>::zeros([0], &device)).dims(), [0]);
    assert_eq!(list(funm.multiply(exp, &negative, Tensor::<1>::zeros([2], &device))), [0.0, 0.0]);
}
