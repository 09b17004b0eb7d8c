//! Element-wise operations and concatenation.

use crate::draw::{Plain, nonzero, plain, value};
use crate::{check, config};
use burn::tensor::TensorData;
use proptest::prelude::*;
use sparse_tensor::{CooTensor, Fill, SparseTensor, ops, pattern::Pattern};

#[derive(Clone, Copy, Debug)]
enum FillKind {
    Zero,
    Undefined,
    Number,
    Tracked,
}

fn fill_kind() -> impl Strategy<Value = FillKind> {
    prop_oneof![Just(FillKind::Zero), Just(FillKind::Undefined), Just(FillKind::Number), Just(FillKind::Tracked)]
}

/// Divisors stay away from zero, in the fill too.
fn filled<P: Pattern, const D: usize>(
    tensor: SparseTensor<P, D>,
    kind: FillKind,
    leaf: burn::tensor::Tensor<1>,
) -> SparseTensor<P, D> {
    match kind {
        FillKind::Zero => tensor,
        FillKind::Undefined => tensor.with_fill(Fill::Undefined),
        FillKind::Number => tensor.with_fill(Fill::scalar(2.5)),
        FillKind::Tracked => tensor.with_fill(Fill::tensor(leaf)),
    }
}

fn apply<P: Pattern, const D: usize>(op: usize, a: &SparseTensor<P, D>, b: &SparseTensor<P, D>) -> SparseTensor<P, D> {
    match op {
        0 => a + b,
        1 => a - b,
        2 => a * b,
        _ => a / b,
    }
}

fn pair(shape: Vec<usize>) -> impl Strategy<Value = (Plain, Plain)> {
    (any::<bool>(), any::<bool>())
        .prop_flat_map(move |(left, right)| (plain(shape.clone(), left), plain(shape.clone(), right)))
}

/// Divisors that are not zero even where duplicates meet.
fn as_divisor(mut b: Plain) -> Plain {
    b.values.iter_mut().for_each(|value| *value = value.abs() + 0.7);
    b
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn binary(
        (a, b) in pair(vec![3, 3]), op in 0usize..4, kinds in (fill_kind(), fill_kind()), csr: bool, pick in 0usize..4,
        fills in (nonzero(), nonzero()),
    ) {
        let b = if op == 3 { as_divisor(b) } else { b };
        // x / 0 has no finite difference: a zero-filled divisor is compared with dense Burn elsewhere.
        prop_assume!(op < 3 || !matches!(kinds.1, FillKind::Zero));
        let one = |value: f64| TensorData::new(vec![value], [1]);
        check(pick, &[a.data(), b.data(), one(fills.0), one(fills.1)], |xs| {
            let (a, b): (CooTensor<2>, CooTensor<2>) = (a.coo(xs[0].tensor()), b.coo(xs[1].tensor()));
            let (fill_a, fill_b) = (xs[2].tensor::<1>(), xs[3].tensor::<1>());
            if csr {
                let out = apply(op, &filled(a.to_csr(), kinds.0, fill_a), &filled(b.to_csr(), kinds.1, fill_b));
                if out.fill().is_undefined() { out.to_dense_or(0.0) } else { out.to_dense() }
            } else {
                let out = apply(op, &filled(a, kinds.0, fill_a), &filled(b, kinds.1, fill_b));
                if out.fill().is_undefined() { out.to_dense_or(0.0) } else { out.to_dense() }
            }
        })?;
    }

    #[test]
    fn binary_of_one_pattern(a in plain(vec![2, 3], false), pick in 0usize..4, op in 0usize..3) {
        let ones = TensorData::new(vec![1.5; a.values.len()], [a.values.len()]);
        check(pick, &[a.data(), ones], |xs| {
            let left: CooTensor<2> = a.coo(xs[0].tensor());
            let right = left.with_values(xs[1].tensor::<1>()).unwrap();
            apply(op, &left, &right).to_dense()
        })?;
    }

    #[test]
    fn vectors_and_dense(
        a in plain(vec![3, 2], true), row in proptest::collection::vec(nonzero(), 3),
        column in proptest::collection::vec(nonzero(), 2), full in proptest::collection::vec(nonzero(), 6), pick in 0usize..4,
        csr: bool,
    ) {
        let inputs = [a.data(), TensorData::new(row, [3]), TensorData::new(column, [2]), TensorData::new(full, [3, 2])];
        check(pick, &inputs, |xs| {
            let a: CooTensor<2> = a.coo(xs[0].tensor());
            let (row, column, full) = (xs[1].tensor::<1>(), xs[2].tensor::<1>(), xs[3].tensor::<2>());
            if csr {
                let a = a.to_csr().mul_along(row.clone(), 0).div_along(column.clone(), -1);
                a.div_along(row, 0).mul_along(column, 1).mul_dense(full.clone()).div_dense(full * 2.0).to_dense()
            } else {
                let a = a.mul_along(row.clone(), 0).div_along(column.clone(), -1);
                a.div_along(row, 0).mul_along(column, 1).mul_dense(full.clone()).div_dense(full * 2.0).to_dense()
            }
        })?;
    }

    #[test]
    fn concat_of_rank_2(
        parts in (any::<bool>(), any::<bool>()).prop_flat_map(|(u, v)| (plain(vec![2, 2], u), plain(vec![2, 2], v), plain(vec![2, 2], u))),
        axis in -2isize..2, csr: bool, pick in 0usize..4, undefined: bool,
    ) {
        let (a, b, c) = parts;
        check(pick, &[a.data(), b.data(), c.data()], |xs| {
            let fill = || if undefined { Fill::Undefined } else { Fill::scalar(1.25) };
            let parts: Vec<CooTensor<2>> = [&a, &b, &c].iter().zip(xs).map(|(p, x)| p.coo(x.tensor()).with_fill(fill())).collect();
            if csr {
                let parts: Vec<_> = parts.iter().map(CooTensor::to_csr).collect();
                ops::concat(&parts, axis).to_dense_or(0.5)
            } else {
                ops::concat(&parts, axis).to_dense_or(0.5)
            }
        })?;
    }

    #[test]
    fn concat_of_rank_3(a in plain(vec![2, 2, 2], false), b in plain(vec![2, 2, 2], false), axis in -3isize..3, csr: bool, pick in 0usize..4) {
        check(pick, &[a.data(), b.data()], |xs| {
            let parts: [CooTensor<3>; 2] = [a.coo(xs[0].tensor()), b.coo(xs[1].tensor())];
            if csr { ops::concat(&parts.map(|part| part.to_csr()), axis).to_dense() } else { ops::concat(&parts, axis).to_dense() }
        })?;
    }

    #[test]
    fn concat_of_hybrids(
        a in plain(vec![3], true), b in plain(vec![3], true), axis in 0isize..2, fills in (value(), value()), pick in 0usize..4,
    ) {
        // Burn's own product with a number cannot take the empty view that an empty part's gradient is.
        prop_assume!(!a.values.is_empty() && !b.values.is_empty());
        // Blocks of 2: each value with its double. Along the dense dim fills may differ and be tracked.
        let one = |value: f64| TensorData::new(vec![value], [1]);
        check(pick, &[a.data(), b.data(), one(fills.0), one(fills.1)], |xs| {
            let part = |plain: &Plain, at: usize| -> CooTensor<2> {
                let values = xs[at].tensor::<1>();
                let blocks = burn::tensor::Tensor::stack::<2>(vec![values.clone(), values * 2.0], 1);
                let tensor = CooTensor::new(plain.indices(&blocks.device().inner()), blocks, [3, 2]).unwrap();
                let fill = if axis == 1 { xs[2 + at].tensor::<1>() } else { xs[2].tensor::<1>() };
                tensor.with_fill(Fill::tensor(fill))
            };
            ops::concat(&[part(&a, 0), part(&b, 1)], axis).to_dense()
        })?;
    }
}
