//! Gradients of factors against central differences.

use crate::factors::{KINDS, fits};
use crate::gradients::{ends, with_values};
use crate::random::{matrix, numbers};
use burn::tensor::TensorData;
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
