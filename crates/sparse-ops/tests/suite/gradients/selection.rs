//! Shape and selection: values and fill move, and their gradients move back.

use burn::tensor::{Bool, DType, Int, Slice, Tensor, TensorData};
use proptest::prelude::*;
use sparse_autograd::Var;
use sparse_dev::draw::{Plain, plain, value};
use sparse_dev::gradients::check;
use sparse_tensor::{CooTensor, Fill};

fn matrix(duplicates: bool) -> impl Strategy<Value = Plain> {
    (0usize..4, 0usize..4).prop_flat_map(move |(m, n)| plain(vec![m, n], duplicates))
}

/// A matrix that has elements to select.
fn full(duplicates: bool) -> impl Strategy<Value = Plain> {
    (1usize..4, 1usize..4).prop_flat_map(move |(m, n)| plain(vec![m, n], duplicates))
}

fn one(value: f64) -> TensorData {
    TensorData::new(vec![value], [1])
}

/// The matrix with a fill that is on the tape: inputs 0 and 1.
fn filled(a: &Plain, xs: &[Var]) -> CooTensor<2> {
    a.coo::<2>(xs[0].tensor()).with_fill(Fill::tensor(xs[1].tensor::<1>()))
}

/// A hybrid tensor `[3, 2, 3]` with one sparse dim: blocks and a fill block, inputs 0 and 1.
fn hybrid(at: &[i64], xs: &[Var]) -> CooTensor<3> {
    let values: Tensor<3> = xs[0].tensor();
    let indices = TensorData::new(at.to_vec(), [1, at.len()]);
    let indices = Tensor::<2, Int>::from_data(indices, (&values.device().inner(), DType::I64));
    CooTensor::new(indices, values, [3, 2, 3]).unwrap().with_fill(Fill::tensor(xs[1].tensor::<2>()))
}

fn blocks() -> impl Strategy<Value = (Vec<i64>, TensorData, TensorData)> {
    proptest::collection::vec(0i64..3, 1..4).prop_flat_map(|at| {
        let count = at.len();
        let values = proptest::collection::vec(value(), count * 6);
        let values = values.prop_map(move |values| TensorData::new(values, [count, 2, 3]));
        let fill = proptest::collection::vec(value(), 6).prop_map(|fill| TensorData::new(fill, [2, 3]));
        (Just(at), values, fill)
    })
}

proptest! {
    #[test]
    fn shapes(a in matrix(true), fill in value(), csr: bool, pick in 0usize..4) {
        let (m, n) = (a.shape[0], a.shape[1]);
        check(pick, &[a.data(), one(fill)], |xs| {
            let a = filled(&a, xs);
            if csr {
                let deep = a.to_csr().unsqueeze_dim::<3>(1).reshape([n, 1, m]).squeeze_dim::<2>(1);
                deep.flip([0]).to_dense()
            } else {
                a.unsqueeze_dim::<3>(0).flatten::<2>(0, 1).reshape([n, m]).flip([0, 1]).to_dense()
            }
        })?;
    }

    #[test]
    fn repeated(
        a in matrix(true), fill in value(), axis in 0isize..2, times in 0usize..4, csr: bool, pick in 0usize..4,
    ) {
        check(pick, &[a.data(), one(fill)], |xs| {
            let a = filled(&a, xs);
            if csr { a.to_csr().repeat_dim(axis, times).to_dense() } else { a.repeat_dim(axis, times).to_dense() }
        })?;
    }

    #[test]
    fn rolled(
        a in matrix(true), fill in value(), shifts in (-5isize..6, -5isize..6), csr: bool, pick in 0usize..4,
    ) {
        check(pick, &[a.data(), one(fill)], |xs| {
            let a = filled(&a, xs);
            let shifts = [shifts.0, shifts.1];
            if csr { a.to_csr().roll(shifts, [0, 1]).to_dense() } else { a.roll(shifts, [0, 1]).to_dense() }
        })?;
    }

    #[test]
    fn expanded(a in plain(vec![1, 3, 1], true), fill in value(), csr: bool, pick in 0usize..4) {
        check(pick, &[a.data(), one(fill)], |xs| {
            let a = a.coo::<3>(xs[0].tensor()).with_fill(Fill::tensor(xs[1].tensor::<1>()));
            if csr { a.to_csr().expand([2, 3, 2]).to_dense() } else { a.expand([2, 3, 2]).to_dense() }
        })?;
    }

    #[test]
    fn sliced(
        (a, cuts) in full(true).prop_flat_map(|a| {
            let cuts = (0..a.shape[0], 0..=a.shape[0], 0..a.shape[1], 0..=a.shape[1]);
            (Just(a), cuts)
        }),
        fill in value(), csr: bool, step in prop_oneof![-3isize..0, 1isize..4], pick in 0usize..4,
    ) {
        let order = |a: usize, b: usize| a.min(b)..a.max(b);
        let (rows, cols) = (order(cuts.0, cuts.1), order(cuts.2, cuts.3));
        check(pick, &[a.data(), one(fill)], |xs| {
            let a = filled(&a, xs);
            if csr {
                let part = a.to_csr().slice_dim(0, Slice::from_range_stepped(rows.clone(), step));
                part.narrow(1, cols.start, cols.len()).to_dense()
            } else {
                let part = a.slice([rows.clone(), cols.clone()]);
                part.slice_dim(1, Slice::from_range_stepped(0..cols.len(), step)).to_dense()
            }
        })?;
    }

    #[test]
    fn split_and_chunk(
        a in full(true), fill in value(), axis in 0isize..2, size in 1usize..3, csr: bool, pick in 0usize..4,
    ) {
        check(pick, &[a.data(), one(fill)], |xs| {
            let a = filled(&a, xs);
            let parts: Vec<Tensor<2>> = if csr {
                a.to_csr().split(size, axis).iter().map(|part| part.to_dense()).collect()
            } else {
                a.chunk(size, axis).iter().map(|part| part.to_dense()).collect()
            };
            let scaled = parts.into_iter().enumerate().map(|(k, part)| part * (k as f64 + 1.0));
            Tensor::cat(scaled.collect(), axis)
        })?;
    }

    #[test]
    fn index_select(
        (a, index) in full(true).prop_flat_map(|a| {
            let (m, n) = (a.shape[0] as i64, a.shape[1] as i64);
            (Just(a), (proptest::collection::vec(-m..m, 0..5), proptest::collection::vec(-n..n, 0..5)))
        }),
        fill in value(), rows: bool, csr: bool, pick in 0usize..4,
    ) {
        let (axis, index) = if rows { (0, index.0) } else { (1, index.1) };
        check(pick, &[a.data(), one(fill)], |xs| {
            let a = filled(&a, xs);
            let index = TensorData::new(index.clone(), [index.len()]);
            let index = Tensor::<1, Int>::from_data(index, (&a.device().inner(), DType::I64));
            if csr { a.to_csr().select(axis, index).to_dense() } else { a.select(axis, index).to_dense() }
        })?;
    }

    #[test]
    fn single_elements(
        (a, at) in full(true).prop_flat_map(|a| { let at = (0..a.shape[0], 0..a.shape[1]); (Just(a), at) }),
        fill in value(), csr: bool, pick in 0usize..4,
    ) {
        check(pick, &[a.data(), one(fill)], |xs| {
            let a = filled(&a, xs);
            let row: CooTensor<1> = a.select_dim(0, at.0);
            let element = if csr { a.to_csr().get([at.0, at.1]) } else { a.get([at.0, at.1]) };
            row.to_dense() * element
        })?;
    }

    #[test]
    fn masked(
        a in plain(vec![3, 4], true), mask in plain(vec![3, 4], true), fill in value(), csr: bool, pick in 0usize..4,
    ) {
        check(pick, &[a.data(), one(fill)], |xs| {
            let a = filled(&a, xs);
            let device = a.device().inner();
            let hits: Tensor<1, Bool> = mask.leaf(&device).greater_equal_elem(0.0);
            let mask = CooTensor::<2, Bool>::new(mask.indices(&device), hits, [3, 4]).unwrap();
            if csr { a.to_csr().mask_select(&mask.to_csr()) } else { a.mask_select(&mask) }
        })?;
    }

    /// Along dense dims the fill's block moves too.
    #[test]
    fn blocks_move((at, values, fill) in blocks(), what in 0usize..11, pick in 0usize..4) {
        check(pick, &[values, fill], |xs| {
            let a = hybrid(&at, xs);
            let index = || Tensor::<1, Int>::from_ints([2, 0, -1, 2], &a.device().inner());
            match what {
                0 => a.narrow(2, 1, 2).to_dense(),
                1 => a.slice([1..3, 0..1, 0..2]).to_dense(),
                2 => a.slice_dim(2, Slice::from_range_stepped(0..3, -2)).to_dense(),
                3 => a.flip([0, 2]).to_dense(),
                10 => a.roll([1, -2, 4], [0, 2, 1]).to_dense(),
                4 => a.select(2, index()).to_dense(),
                5 => a.select(0, index()).to_dense(),
                6 => a.repeat_dim(1, 2).to_dense(),
                7 => a.narrow(1, 0, 1).expand([3, 4, 3]).to_dense(),
                8 => a.flatten::<2>(1, 2).unsqueeze_dim::<3>(2).to_dense(),
                _ => a.reshape([3, 1, 3, 2]).select_dim::<3>(2, -1).to_dense() * a.get([1, 1, 2]).reshape([1, 1, 1]),
            }
        })?;
    }
}
