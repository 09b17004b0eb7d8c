//! Structure and products.

use burn::tensor::{Tensor, TensorData, Tolerance};
use proptest::prelude::*;
use sparse_dev::draw::{Plain, plain, value};
use sparse_dev::gradients::check;
use sparse_tensor::ops::Reduce;
use sparse_tensor::{Fill, ops};

fn matrix(duplicates: bool) -> impl Strategy<Value = Plain> {
    (0usize..4, 0usize..4).prop_flat_map(move |(m, n)| plain(vec![m, n], duplicates))
}

fn dense(rows: usize, cols: usize) -> impl Strategy<Value = TensorData> {
    proptest::collection::vec(value(), rows * cols).prop_map(move |values| TensorData::new(values, [rows, cols]))
}

proptest! {
    #[test]
    fn coalesce_and_to_dense(a in matrix(true), pick in 0usize..4, fill in value()) {
        let fill = TensorData::new(vec![fill], [1]);
        check(pick, &[a.data(), fill], |xs| {
            a.coo::<2>(xs[0].tensor()).with_fill(Fill::tensor(xs[1].tensor::<1>())).to_dense()
        })?;
    }

    #[test]
    fn attributes_of_edges_stay_with_their_edges(a in matrix(true), pick in 0usize..4) {
        check(pick, &[a.data()], |xs| {
            let attributes = xs[0].tensor::<1>();
            let edges = a.coo::<2>(attributes.clone().zeros_like());
            let (adjacency, order) = (edges.to_csr(), edges.coalesce_plan());
            let start = adjacency.values::<1>().zeros_like();
            let weighted = adjacency.with_values(order.put(start, 0, attributes.clone(), Reduce::Add, true));
            let right = a.coo::<2>(attributes.clone()).to_dense().into_data();
            weighted.to_dense().into_data().assert_approx_eq::<f64>(&right, Tolerance::default());
            order.select(weighted.values::<1>().powi_scalar(2), 0) * attributes
        })?;
    }

    #[test]
    fn conversions_and_permute(a in matrix(true), pick in 0usize..4) {
        check(pick, &[a.data()], |xs| {
            let csr = a.coo::<2>(xs[0].tensor()).to_csr();
            csr.transpose().to_coo().permute([1, 0]).to_csr().transpose().to_dense()
        })?;
    }

    #[test]
    fn permute_of_rank_3(a in plain(vec![2, 3, 2], false), pick in 0usize..4) {
        check(pick, &[a.data()], |xs| {
            let csr = a.csr::<3>(xs[0].tensor());
            csr.permute([2, 0, 1]).to_dense() + csr.to_coo().permute([2, 0, 1]).to_dense().powi_scalar(2)
        })?;
    }

    #[test]
    fn sparse_times_dense(
        (a, x) in matrix(true).prop_flat_map(|a| { let n = a.shape[1]; (Just(a), dense(n, 3)) }),
        pick in 0usize..4, csr: bool, fill in prop_oneof![Just(0.0), value()],
    ) {
        let fill = TensorData::new(vec![fill], [1]);
        check(pick, &[a.data(), x, fill], |xs| {
            let coo = a.coo::<2>(xs[0].tensor()).with_fill(Fill::tensor(xs[2].tensor::<1>()));
            if csr { coo.to_csr().matmul(xs[1].tensor::<2>()) } else { coo.matmul(xs[1].tensor::<2>()) }
        })?;
    }

    #[test]
    fn sparse_times_dense_without_fill(
        (a, x) in matrix(true).prop_flat_map(|a| { let n = a.shape[1]; (Just(a), dense(n, 2)) }),
        pick in 0usize..4, csr: bool,
    ) {
        check(pick, &[a.data(), x], |xs| {
            let coo = a.coo::<2>(xs[0].tensor());
            if csr { coo.to_csr().matmul(xs[1].tensor::<2>()) } else { coo.matmul(xs[1].tensor::<2>()) }
        })?;
    }

    #[test]
    fn dense_times_sparse(
        (a, x) in matrix(true).prop_flat_map(|a| { let m = a.shape[0]; (Just(a), dense(2, m)) }),
        pick in 0usize..4, fill in prop_oneof![Just(0.0), value()],
    ) {
        check(pick, &[a.data(), x], |xs| {
            a.coo::<2>(xs[0].tensor()).with_fill(Fill::scalar(fill)).rmatmul(xs[1].tensor::<2>())
        })?;
    }

    #[test]
    fn sparse_times_vector(
        (a, x) in matrix(true).prop_flat_map(|a| {
            let n = a.shape[1];
            (Just(a), proptest::collection::vec(value(), n))
        }),
        pick in 0usize..4,
    ) {
        let x = TensorData::new(x.clone(), [x.len()]);
        check(pick, &[a.data(), x], |xs| a.coo::<2>(xs[0].tensor()).matmul(xs[1].tensor::<1>()))?;
    }

    #[test]
    fn batched(a in plain(vec![2, 2, 3], false), x in proptest::collection::vec(value(), 12), pick in 0usize..4) {
        let x = TensorData::new(x, [2, 3, 2]);
        check(pick, &[a.data(), x], |xs| a.csr::<3>(xs[0].tensor()).matmul(xs[1].tensor::<3>()))?;
    }

    #[test]
    fn masked_product(
        (mask, x, y) in matrix(true).prop_flat_map(|a| {
            let (m, n) = (a.shape[0], a.shape[1]);
            (Just(a), dense(m, 2), dense(2, n))
        }),
        pick in 0usize..4,
    ) {
        check(pick, &[x, y], |xs| {
            let like = mask.coo::<2>(mask.leaf(&xs[0].tensor::<2>().device().inner()));
            ops::masked_matmul(xs[0].tensor::<2>(), xs[1].tensor(), &like).values::<1>()
        })?;
    }

    #[test]
    fn scalars(a in matrix(true), s in value(), pick in 0usize..4) {
        let s = TensorData::new(vec![s + 4.0], [1]);
        check(pick, &[a.data(), s], |xs| {
            let a = a.coo::<2>(xs[0].tensor());
            let s: Tensor<1> = xs[1].tensor();
            let scaled = a.mul_scalar(s.clone()).div_scalar(s.clone() + 1.0);
            scaled.add_scalar(s.clone()).sub_scalar(s * 2.0).mul_scalar(1.5).to_dense()
        })?;
    }
}
