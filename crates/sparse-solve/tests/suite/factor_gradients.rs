//! Gradients of factors against central differences.

use crate::factors::{KINDS, fits, inverse, list, near};
use crate::gradients::{ends, with_values};
use crate::random::{Kind, matrix, numbers, product};
use burn::tensor::{DType, Device, Tensor, TensorData};
use proptest::prelude::*;
use sparse_dev::gradients::check;
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{Factor, Factorization, factorize};

/// A symmetric one of any values, where it must be.
fn factor(how: Factorization, a: CsrTensor<2>) -> Factor {
    let symmetric = matches!(how, Factorization::Cholesky | Factorization::Ldlt);
    factorize(&if symmetric { a.add(&a.transpose()).mul_scalar(0.5) } else { a }, how)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn of_solutions(
        how in prop::sample::select(&KINDS[..]),
        entries in numbers(16),
        right in prop::collection::vec(-2.0f64..2.0, 8),
        [transposed, refined] in any::<[bool; 2]>(),
        pick in 0usize..4,
    ) {
        let (rows, cols, values) = ends(&matrix(fits(how), 4, &entries), 4);
        let count = values.len();
        let inputs = [TensorData::new(values, [count]), TensorData::new(right, [4, 2])];
        check(pick, &inputs, |xs| {
            let factor = factor(how, with_values(&rows, &cols, xs[0].tensor(), [4, 4]));
            let factor = factor.with_refinement(usize::from(refined));
            let b = xs[1].tensor::<2>();
            if transposed { factor.solve_transposed(b) } else { factor.solve(b) }
        })?;
    }

    #[test]
    fn of_determinants_and_inverses(
        how in prop::sample::select(&KINDS[..]),
        entries in numbers(16),
        what in 0usize..4,
        pick in 0usize..4,
    ) {
        prop_assume!(what > 0 || how != Factorization::Qr);
        let (rows, cols, values) = ends(&matrix(fits(how), 4, &entries), 4);
        let count = values.len();
        check(pick, &[TensorData::new(values, [count])], |xs| {
            let factor = factor(how, with_values(&rows, &cols, xs[0].tensor(), [4, 4]));
            match what {
                0 => factor.slogdet().1,
                1 => factor.inverse_diagonal(),
                2 => factor.inverse_on_pattern().values::<1>(),
                _ => factor.inv().reshape([16]),
            }
        })?;
    }

    /// Least squares, and the shortest solution.
    #[test]
    fn of_any_shape(
        [rows, cols] in [1usize..5, 1usize..5],
        entries in numbers(16),
        right in prop::collection::vec(-2.0f64..2.0, 8),
        transposed in any::<bool>(),
        pick in 0usize..4,
    ) {
        let mut own = entries[..rows * cols].to_vec();
        (0..rows.min(cols)).for_each(|k| own[k * cols + k] += 7.0);
        let (row_ids, col_ids, values) = ends(&own, cols);
        let count = values.len();
        let length = if transposed { cols } else { rows };
        let inputs = [TensorData::new(values, [count]), TensorData::new(right[..2 * length].to_vec(), [length, 2])];
        check(pick, &inputs, |xs| {
            let a = with_values(&row_ids, &col_ids, xs[0].tensor(), [rows, cols]);
            let (factor, b) = (factorize(&a, Factorization::Qr), xs[1].tensor::<2>());
            if transposed { factor.solve_transposed(b) } else { factor.solve(b) }
        })?;
    }

    #[test]
    fn of_a_batch(
        how in prop::sample::select(&KINDS[2..]),
        entries in prop::collection::vec(0.1f64..2.0, 18),
        right in prop::collection::vec(-2.0f64..2.0, 6),
        determinant in any::<bool>(),
        pick in 0usize..4,
    ) {
        let blocks = [0, 9].map(|at| matrix(fits(how), 3, &entries[at..])).concat();
        let inputs = [TensorData::new(blocks, [2, 3, 3]), TensorData::new(right, [2, 3])];
        check(pick, &inputs, |xs| {
            let factor = factorize(&CsrTensor::<3>::from_dense(xs[0].tensor::<3>()), how);
            let x = factor.solve(xs[1].tensor::<2>());
            match determinant && how == Factorization::Lu {
                true => x * factor.slogdet().1.reshape([2, 1]),
                false => x * factor.inverse_diagonal().reshape([2, 3]),
            }
        })?;
    }
}

/// In f32 steps between the numbers overflow, or are 0, where the gradient does not: that of f64 says what it is.
#[test]
fn of_least_squares_of_any_scale() {
    let entries = [2.0, 1.0, 0.0, 1.0, -1.0, 3.0, 0.5, 0.0];
    for (scale, right, weight) in [(1e-25, 1e-20, 1e-5), (1e25, 1e20, 1.0), (1.0, 1.0, 1.0)] {
        for (shape, transposed) in [([4, 2], false), ([2, 4], false), ([4, 2], true), ([2, 4], true)] {
            let gradient = |dtype: DType| {
                let device = Device::flex().autodiff();
                let tensor = |list: &[f64], scale: f64, shape: [usize; 2]| {
                    let list: Vec<f64> = list.iter().map(|x| x * scale).collect();
                    Tensor::<2>::from_data(TensorData::new(list, shape), (&device, dtype))
                };
                let a = CsrTensor::<2>::from_dense(tensor(&entries, scale, shape)).require_grad();
                let length = shape[usize::from(transposed)];
                let b = tensor(&[1.0, -2.0, 0.5, 1.5][..length], right, [length, 1]);
                let factor = factorize(&a, Factorization::Qr);
                let x = if transposed { factor.solve_transposed(b) } else { factor.solve(b) };
                list(a.grad(&x.mul_scalar(weight).sum().backward()).unwrap().values::<1>())
            };
            let (got, want) = (gradient(DType::F32), gradient(DType::F64));
            let size = want.iter().fold(0.0f64, |most, x| most.max(x.abs()));
            for (got, want) in got.iter().zip(&want) {
                let off = (got - want).abs() / size;
                assert!(off < 1e-5, "{scale:e}, {shape:?}, {transposed}: {got:e} and {want:e}");
            }
        }
    }
}

/// Each stored element has its own, which `Lu` gives as well: not the mean of both sides of the diagonal.
#[test]
fn of_the_elements_of_a_symmetric_matrix() {
    let own = matrix(Kind::Positive, 3, &[1.0, -0.5, 0.3, 0.7, 1.2, -1.1, 0.2, 0.4, 0.9]);
    let device = Device::flex().autodiff();
    let tensor =
        |list: &[f64]| Tensor::<1>::from_data(TensorData::new(list.to_vec(), [list.len()]), (&device, DType::F64));
    let (right, weights) = ([1.0, 2.0, -1.0], [0.5, -1.0, 3.0, 2.0, 1.5, -0.5, 0.1, 0.7, 1.1]);
    let gradient = |how: Factorization, what: usize| {
        let a = CsrTensor::<2>::from_dense(tensor(&own).reshape([3, 3])).require_grad();
        let factor = factorize(&a, how);
        let out = match what {
            0 => factor.solve(tensor(&right)),
            1 => factor.solve_transposed(tensor(&right)),
            2 => factor.slogdet().1,
            3 => factor.inverse_diagonal(),
            4 => factor.inverse_on_pattern().values::<1>(),
            _ => factor.inv().reshape([9]),
        };
        let weights = tensor(&weights[..out.dims()[0]]);
        list(a.grad(&(out * weights).sum().backward()).unwrap().values::<1>())
    };
    let plain = |list: &[f64]| product(&inverse(3, &own).0, list, [3, 3, 1]);
    let (l, x) = (plain(&weights[..3]), plain(&right));
    let want: Vec<f64> = (0..9).map(|cell| -l[cell / 3] * x[cell % 3]).collect();
    for how in [Factorization::Cholesky, Factorization::Ldlt] {
        near(&gradient(how, 0), &want, 1e-12);
        (1..6).for_each(|what| near(&gradient(how, what), &gradient(Factorization::Lu, what), 1e-12));
    }
    assert!((want[1] - want[3]).abs() > 0.05, "the sides differ: {want:?}");
}
