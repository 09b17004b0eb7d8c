//! Gradients of dense operands with far more rows than a batch names: the rules sort what the batch has, and leave the
//! other rows at zero.

use burn::tensor::{DType, Int, Tensor, TensorData};
use proptest::prelude::*;
use sparse_autograd::Var;
use sparse_dev::draw::value;
use sparse_dev::gradients::check;
use sparse_tensor::ops::{self, IndexPlan, Reduce};
use sparse_tensor::{CooTensor, CsrTensor};

/// Rows of the batch, and columns of the wide matrix.
const ROWS: usize = 3;
const COLS: usize = 45;

/// Up to 8 elements, at columns that repeat: fewer than a quarter of the columns.
fn places() -> impl Strategy<Value = Vec<(usize, usize)>> {
    prop::collection::vec((0..ROWS, prop_oneof![Just(0), Just(7), Just(COLS - 1), 0..COLS]), 0..9)
}

fn numbers(shape: [usize; 2]) -> impl Strategy<Value = TensorData> {
    prop::collection::vec(value(), shape[0] * shape[1]).prop_map(move |list| TensorData::new(list, shape))
}

fn list(length: usize) -> impl Strategy<Value = TensorData> {
    prop::collection::vec(value(), length).prop_map(move |list| TensorData::new(list, [length]))
}

/// A table of different numbers.
fn distinct() -> impl Strategy<Value = TensorData> {
    let list: Vec<f64> = (0..2 * COLS).map(|k| 0.5 + k as f64 / 16.0).collect();
    Just(list).prop_shuffle().prop_map(|list| TensorData::new(list, [COLS, 2]))
}

/// The batch with its values, input 0.
fn batch(at: &[(usize, usize)], xs: &[Var]) -> CooTensor<2> {
    let values: Tensor<1> = xs[0].tensor();
    let flat: Vec<i64> = at.iter().map(|at| at.0 as i64).chain(at.iter().map(|at| at.1 as i64)).collect();
    let indices = TensorData::new(flat, [2, at.len()]);
    let indices = Tensor::<2, Int>::from_data(indices, (&values.device().inner(), DType::I64));
    CooTensor::new(indices, values, [ROWS, COLS]).expect("valid coordinates")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn products(
        (at, values) in places().prop_flat_map(|at| { let count = at.len(); (Just(at), list(count)) }),
        x in numbers([COLS, 2]), y in numbers([2, ROWS]), csr: bool, what in 0usize..5, pick in 0usize..4,
    ) {
        let inputs = match what { 2 => vec![values, y], _ => vec![values, x] };
        check(pick, &inputs, |xs| {
            let (a, dense) = (batch(&at, xs), xs[1].tensor::<2>());
            let rows = |a: CsrTensor<2>| match what {
                0 => a.matmul(dense.clone()),
                1 => a.matmul_reduce(dense.clone(), Reduce::Mean),
                2 => a.rmatmul(dense.clone()),
                3 => {
                    let (ids, own) = a.compact_columns();
                    own.matmul(IndexPlan::new(ids, COLS).unwrap().select(dense.clone(), 0))
                }
                _ => ops::masked_matmul(own_rows(&dense), dense.clone().transpose(), &a).mul(&a).to_dense(),
            };
            if csr || what > 1 { rows(a.to_csr()) } else { a.matmul(dense) }
        })?;
    }

    /// Without ties: at a tie a central difference is no gradient.
    #[test]
    fn largest_products(at in places(), x in distinct(), pick in 0usize..4) {
        let mut at = at;
        at.sort_unstable();
        at.dedup();
        let values = TensorData::new(vec![1.0; at.len()], [at.len()]);
        check(pick, &[values, x], |xs| batch(&at, xs).matmul_reduce(xs[1].tensor::<2>(), Reduce::Amax))?;
    }

    #[test]
    fn rows_of_a_table(
        index in prop::collection::vec(-(COLS as i64)..COLS as i64, 0..9), x in numbers([COLS, 3]), pick in 0usize..4,
    ) {
        check(pick, &[x], |xs| {
            let table = xs[0].tensor::<2>();
            let index = TensorData::new(index.clone(), [index.len()]);
            let index = Tensor::<1, Int>::from_data(index, (&table.device().inner(), DType::I64));
            IndexPlan::new(index, COLS).unwrap().select(table, 0)
        })?;
    }

    /// A few elements of many, and the fill where none is stored.
    #[test]
    fn elements_of_a_long_matrix(values in list(40), fill in list(1), row in 0isize..20, pick in 0usize..4) {
        check(pick, &[values, fill], |xs| {
            let values: Tensor<1> = xs[0].tensor();
            let edges: Vec<(usize, usize)> = (0..40).map(|k| (k / 2, k % 5)).collect();
            let a = CsrTensor::from_edges(&edges, values, [20, 5]).unwrap();
            let a = a.with_fill(sparse_tensor::Fill::tensor(xs[1].tensor::<1>()));
            let some = a.select(0, Tensor::from_ints([row as i32, 3, -1], &a.device().inner())).to_dense();
            some * a.get([row, 3]).reshape([1, 1])
        })?;
    }
}

/// A dense factor of the batch's rows, from the first rows of the table.
fn own_rows(table: &Tensor<2>) -> Tensor<2> {
    table.clone().narrow(0, 0, ROWS)
}
