//! Stacks, diagonals, triangles, masks, graphs and Kronecker products.

use burn::tensor::{Tensor, TensorData};
use proptest::prelude::*;
use sparse_dev::draw::{Plain, plain, value};
use sparse_dev::gradients::check;
use sparse_tensor::{CooTensor, Fill, ops};

fn matrix(duplicates: bool) -> impl Strategy<Value = Plain> {
    (0usize..4, 0usize..4).prop_flat_map(move |(m, n)| plain(vec![m, n], duplicates))
}

fn square(duplicates: bool) -> impl Strategy<Value = Plain> {
    (0usize..4).prop_flat_map(move |n| plain(vec![n, n], duplicates))
}

/// Two matrices of one shape.
fn pair() -> impl Strategy<Value = (Plain, Plain)> {
    (0usize..4, 0usize..4).prop_flat_map(|(m, n)| (plain(vec![m, n], true), plain(vec![m, n], true)))
}

fn one(value: f64) -> TensorData {
    TensorData::new(vec![value], [1])
}

/// Blocks of two elements for the coordinates of a vector.
fn hybrid(plain: &Plain, values: Tensor<1>) -> CooTensor<2> {
    let column: Tensor<2> = values.clone().unsqueeze_dim(1);
    let blocks = Tensor::cat(vec![column.clone(), column * 2.0], 1);
    CooTensor::new(plain.indices(&values.device().inner()), blocks, [plain.shape[0], 2]).expect("valid coordinates")
}

proptest! {
    #![proptest_config(sparse_dev::draw::patient())]

    #[test]
    fn stack((a, b) in pair(), fill in value(), axis in -3isize..3, csr: bool, pick in 0usize..4) {
        check(pick, &[a.data(), b.data(), one(fill)], |xs| {
            let fill = || Fill::tensor(xs[2].tensor::<1>());
            let parts = [a.coo::<2>(xs[0].tensor()).with_fill(fill()), b.coo::<2>(xs[1].tensor()).with_fill(fill())];
            if csr {
                ops::stack::<_, 2, 3, _>(&parts.map(|part| part.to_csr()), axis).to_dense()
            } else {
                ops::stack::<_, 2, 3, _>(&parts, axis).to_dense()
            }
        })?;
    }

    #[test]
    fn stack_of_blocks(
        (a, b) in (0usize..5).prop_flat_map(|n| (plain(vec![n], true), plain(vec![n], true))),
        fills in (value(), value()), axis in 0isize..3, pick in 0usize..4,
    ) {
        prop_assume!(!a.values.is_empty() && !b.values.is_empty());
        check(pick, &[a.data(), b.data(), one(fills.0), one(fills.1)], |xs| {
            // Along a dense axis fills may differ.
            let other = if axis == 2 { 3 } else { 2 };
            let a = hybrid(&a, xs[0].tensor()).with_fill(Fill::tensor(xs[2].tensor::<1>()));
            let b = hybrid(&b, xs[1].tensor()).with_fill(Fill::tensor(xs[other].tensor::<1>()));
            ops::stack::<_, 2, 3, _>(&[a, b], axis).to_dense()
        })?;
    }

    #[test]
    fn block_diagonal(a in matrix(true), b in matrix(true), csr: bool, pick in 0usize..4) {
        check(pick, &[a.data(), b.data()], |xs| {
            let (a, b) = (a.coo::<2>(xs[0].tensor()), b.coo::<2>(xs[1].tensor()));
            if csr {
                let (a, b) = (a.to_csr(), b.to_csr());
                ops::block_diag(&[a.clone(), b, a]).to_dense()
            } else {
                ops::block_diag(&[a.clone(), b, a]).to_dense()
            }
        })?;
    }

    #[test]
    fn diagonals(a in matrix(true), fill in value(), csr: bool, pick in 0usize..4) {
        check(pick, &[a.data(), one(fill)], |xs| {
            let coo = a.coo::<2>(xs[0].tensor()).with_fill(Fill::tensor(xs[1].tensor::<1>()));
            let (diagonal, trace) =
                if csr { (coo.to_csr().diagonal(), coo.to_csr().trace()) } else { (coo.diagonal(), coo.trace()) };
            Tensor::cat(vec![CooTensor::<2>::from_diagonal(diagonal.clone()).row_sums(), diagonal, trace], 0)
        })?;
    }

    #[test]
    fn triangles(a in matrix(true), k in -4isize..5, csr: bool, pick in 0usize..4) {
        prop_assume!(a.shape.iter().all(|&size| size > 0));
        check(pick, &[a.data()], |xs| {
            let a = a.coo::<2>(xs[0].tensor());
            if csr {
                a.to_csr().tril(k).to_dense() + a.to_csr().triu(k - 1).to_dense() * 2.0
            } else {
                a.tril(k).to_dense() + a.triu(k - 1).to_dense() * 2.0
            }
        })?;
    }

    #[test]
    fn triangles_of_a_batch(a in plain(vec![2, 3, 2], false), k in -3isize..3, pick in 0usize..4) {
        check(pick, &[a.data()], |xs| a.csr::<3>(xs[0].tensor()).tril(k).triu(k - 1).to_dense())?;
    }

    #[test]
    fn sparse_mask(
        (mask, x) in matrix(true).prop_flat_map(|mask| {
            let count = mask.shape[0] * mask.shape[1];
            (Just(mask), proptest::collection::vec(value(), count))
        }),
        csr: bool, pick in 0usize..4,
    ) {
        let x = TensorData::new(x, [mask.shape[0], mask.shape[1]]);
        check(pick, &[x], |xs| {
            let dense: Tensor<2> = xs[0].tensor();
            let like = mask.coo::<2>(mask.leaf(&dense.device().inner()));
            if csr {
                ops::sparse_mask(dense, &like.to_csr()).values::<1>()
            } else {
                ops::sparse_mask(dense, &like).values()
            }
        })?;
    }

    #[test]
    fn sets((a, b) in pair(), fill in value(), csr: bool, pick in 0usize..4) {
        check(pick, &[a.data(), one(fill)], |xs| {
            let own = a.coo::<2>(xs[0].tensor()).with_fill(Fill::tensor(xs[1].tensor::<1>()));
            let other = b.coo::<2>(b.leaf(&xs[0].tensor::<1>().device().inner()));
            if csr {
                let (own, other) = (own.to_csr(), other.to_csr());
                let union = own.union_with(&other).values::<1>();
                Tensor::cat(vec![union, own.intersect_with(&other).values(), own.difference(&other).values()], 0)
            } else {
                let union = own.union_with(&other).values::<1>();
                Tensor::cat(vec![union, own.intersect_with(&other).values(), own.difference(&other).values()], 0)
            }
        })?;
    }

    /// No value is near the threshold.
    #[test]
    fn prune(a in matrix(true), csr: bool, pick in 0usize..4) {
        check(pick, &[a.data()], |xs| {
            let a = a.coo::<2>(xs[0].tensor());
            if csr { a.to_csr().prune(0.5).to_dense() } else { a.prune(0.5).to_dense() }
        })?;
    }

    /// No two values are near each other.
    #[test]
    fn top_k_rows(a in matrix(false), k in 0usize..4, csr: bool, pick in 0usize..4) {
        let distinct = (0..a.values.len()).map(|at| ((at * 5) % 13 + 1) as f64 * if at % 2 == 0 { 0.7 } else { -0.7 });
        let a = Plain { values: distinct.collect(), ..a };
        check(pick, &[a.data()], |xs| {
            let a = a.coo::<2>(xs[0].tensor());
            if csr { a.to_csr().top_k_rows(k).to_dense() } else { a.top_k_rows(k).to_dense() }
        })?;
    }

    #[test]
    fn self_loops(a in square(true), s in value(), fill in value(), csr: bool, pick in 0usize..4) {
        check(pick, &[a.data(), one(s), one(fill)], |xs| {
            let a = a.coo::<2>(xs[0].tensor()).with_fill(Fill::tensor(xs[2].tensor::<1>()));
            let s: Tensor<1> = xs[1].tensor();
            if csr {
                let a = a.to_csr();
                a.add_self_loops(s).to_dense() + a.remove_self_loops().to_dense() * 2.0
            } else {
                a.add_self_loops(s).to_dense() + a.remove_self_loops().to_dense() * 2.0
            }
        })?;
    }

    #[test]
    fn degrees(a in matrix(true), csr: bool, pick in 0usize..4) {
        check(pick, &[a.data()], |xs| {
            let a = a.coo::<2>(xs[0].tensor());
            let sums = if csr { [a.to_csr().row_sums(), a.to_csr().col_sums()] } else { [a.row_sums(), a.col_sums()] };
            Tensor::cat(sums.to_vec(), 0)
        })?;
    }

    #[test]
    fn kron(
        a in (0usize..3, 0usize..3).prop_flat_map(|(m, n)| plain(vec![m, n], true)),
        b in (0usize..3, 0usize..3).prop_flat_map(|(m, n)| plain(vec![m, n], true)),
        csr: bool, pick in 0usize..4,
    ) {
        check(pick, &[a.data(), b.data()], |xs| {
            let (a, b) = (a.coo::<2>(xs[0].tensor()), b.coo::<2>(xs[1].tensor()));
            if csr { a.to_csr().kron(&b.to_csr()).to_dense() } else { a.kron(&b).to_dense() }
        })?;
    }
}
