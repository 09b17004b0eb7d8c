use crate::random::{Kind, matrix, numbers};
use crate::solutions::{ALL, kind_of};
use burn::tensor::{Int, Tensor, TensorData};
use proptest::prelude::*;
use sparse_dev::gradients::check;
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{Hints, Method, Operator, SolverConfig, jacobi};

fn exact(method: Method) -> SolverConfig {
    SolverConfig::new(method).with_relative(1e-13).with_max_iterations(Some(500)).with_accept_unsolved(true)
}

/// The stored elements of a matrix, so that its values can be an input.
pub fn ends(list: &[f64], cols: usize) -> (Vec<i64>, Vec<i64>, Vec<f64>) {
    let stored = list.iter().enumerate().filter(|(_, value)| **value != 0.0);
    let mut out = (vec![], vec![], vec![]);
    for (at, &value) in stored {
        out.0.push((at / cols) as i64);
        out.1.push((at % cols) as i64);
        out.2.push(value);
    }
    out
}

pub fn with_values(rows: &[i64], cols: &[i64], values: Tensor<1>, shape: [usize; 2]) -> CsrTensor<2> {
    let list: Vec<i64> = rows.iter().chain(cols).copied().collect();
    let indices = Tensor::<2, Int>::from_data(TensorData::new(list, [2, rows.len()]), &values.device().inner());
    sparse_tensor::CooTensor::<2>::new(indices, values, shape).unwrap().to_csr()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// To the stored elements and to the right-hand side. A symmetric method takes a symmetric matrix, so its elements
    /// are those of `(V + V^T) / 2`.
    #[test]
    fn reach_the_matrix_and_the_right_side(
        method in prop::sample::select(&ALL[..]),
        entries in numbers(16),
        right in prop::collection::vec(-2.0f64..2.0, 8),
        preconditioned in any::<bool>(),
        pick in 0usize..4,
    ) {
        let (rows, cols, values) = ends(&matrix(kind_of(method), 4, &entries), 4);
        let count = values.len();
        let inputs = [TensorData::new(values, [count]), TensorData::new(right, [4, 2])];
        check(pick, &inputs, |xs| {
            let a = with_values(&rows, &cols, xs[0].tensor(), [4, 4]);
            let symmetric = matches!(method, Method::Cg | Method::Minres);
            let a = if symmetric { a.add(&a.transpose()).mul_scalar(0.5) } else { a };
            let fits = !matches!(method, Method::Lsqr | Method::Lsmr | Method::Cgls);
            // That of Minres must be positive.
            let own = || if method == Method::Minres { a.abs() } else { a.clone() };
            let preconditioner = (preconditioned && fits).then(|| jacobi(&own()));
            let hints = Hints { preconditioner: preconditioner.as_ref().map(|own| own as _), ..Hints::default() };
            exact(method).try_solve_with(&a, xs[1].tensor::<2>(), hints).unwrap().x
        })?;
    }

    /// What is not tracked is a constant, and the solve for the gradient is the same.
    #[test]
    fn reach_one_of_them_alone(
        method in prop::sample::select(&[Method::BiCgStab, Method::Lsmr][..]),
        entries in numbers(9),
        right in prop::collection::vec(-2.0f64..2.0, 3),
        pick in 0usize..4,
    ) {
        let (rows, cols, values) = ends(&matrix(Kind::Any, 3, &entries), 3);
        let values = TensorData::new(values.clone(), [values.len()]);
        let right = TensorData::new(right, [3]);
        // Constants are on a device without the tape.
        let constant = |data: &TensorData, like: &Tensor<1>| {
            Tensor::<1>::from_data(data.clone(), (&like.device().inner(), like.dtype()))
        };
        check(pick, std::slice::from_ref(&values), |xs| {
            let own = xs[0].tensor::<1>();
            let right = constant(&right, &own);
            exact(method).solve(&with_values(&rows, &cols, own, [3, 3]), right)
        })?;
        check(pick, std::slice::from_ref(&right), |xs| {
            let own = xs[0].tensor::<1>();
            exact(method).solve(&with_values(&rows, &cols, constant(&values, &own), [3, 3]), own)
        })?;
    }

    #[test]
    fn of_least_squares_of_any_shape(
        method in prop::sample::select(&ALL[ALL.len() - 3..]),
        [rows, cols] in [1usize..5, 1usize..5],
        entries in numbers(16),
        right in prop::collection::vec(-2.0f64..2.0, 4),
        pick in 0usize..4,
    ) {
        let mut own = entries[..rows * cols].to_vec();
        (0..rows.min(cols)).for_each(|k| own[k * cols + k] += 7.0);
        let (row_ids, col_ids, values) = ends(&own, cols);
        let count = values.len();
        let inputs = [TensorData::new(values, [count]), TensorData::new(right[..rows].to_vec(), [rows])];
        check(pick, &inputs, |xs| {
            exact(method).solve(&with_values(&row_ids, &col_ids, xs[0].tensor(), [rows, cols]), xs[1].tensor::<1>())
        })?;
    }

    /// Of what an operator is made of: sparse, dense, a closure's module; and of a batch.
    #[test]
    fn reach_the_parts_of_an_operator(
        entries in numbers(9),
        column in prop::collection::vec(-1.0f64..1.0, 3),
        right in prop::collection::vec(-2.0f64..2.0, 3),
        pick in 0usize..4,
    ) {
        let (rows, cols, values) = ends(&matrix(Kind::Any, 3, &entries), 3);
        let count = values.len();
        let inputs = [
            TensorData::new(values, [count]),
            TensorData::new(column, [3, 1]),
            TensorData::new(right, [3]),
        ];
        check(pick, &inputs, |xs| {
            let a = with_values(&rows, &cols, xs[0].tensor(), [3, 3]).mul_scalar(4.0);
            let column: Tensor<2> = xs[1].tensor();
            let scale = |own: &Tensor<2>, x: Tensor<2>| x * own.clone();
            let diagonal = Operator::from_fn([3, 3], column.clone(), scale, Some(scale));
            let outer = Operator::from(column.clone()) * Operator::from(column).transposed();
            let sum = Operator::from(a) + diagonal + outer * 0.5;
            exact(Method::Gmres { restart: 3 }).solve(&sum, xs[2].tensor::<1>())
        })?;
    }

    #[test]
    fn of_a_batch(
        entries in prop::collection::vec(0.1f64..2.0, 18),
        right in prop::collection::vec(-2.0f64..2.0, 6),
        pick in 0usize..4,
    ) {
        let blocks = [0, 9].map(|at| matrix(Kind::Any, 3, &entries[at..])).concat();
        let inputs = [TensorData::new(blocks, [2, 3, 3]), TensorData::new(right, [2, 3])];
        check(pick, &inputs, |xs| {
            let a = CsrTensor::<3>::from_dense(xs[0].tensor::<3>());
            exact(Method::BiCgStab).solve(&a, xs[1].tensor::<2>())
        })?;
    }

    /// Least squares of several columns, tall and wide; square ones from a start.
    #[test]
    fn of_a_batch_with_columns(
        entries in prop::collection::vec(0.1f64..2.0, 12),
        right in prop::collection::vec(-2.0f64..2.0, 12),
        sizes in prop::sample::select(&[[3, 2], [2, 3], [2, 2]][..]),
        pick in 0usize..4,
    ) {
        let [rows, cols] = sizes;
        let mut own = entries[..2 * rows * cols].to_vec();
        (0..2).for_each(|system| (0..2).for_each(|k| own[system * rows * cols + k * cols + k] += 5.0));
        let inputs = [TensorData::new(own, [2, rows, cols]), TensorData::new(right[..4 * rows].to_vec(), [2, rows, 2])];
        check(pick, &inputs, |xs| {
            let (a, b) = (CsrTensor::<3>::from_dense(xs[0].tensor::<3>()), xs[1].tensor::<3>());
            if rows != cols {
                return exact(Method::Lsmr).solve(&a, b);
            }
            let hints = Hints { start: Some(b.clone().mul_scalar(0.3)), ..Hints::default() };
            exact(Method::Gmres { restart: 4 }).try_solve_with(&a, b, hints).unwrap().x
        })?;
    }
}
