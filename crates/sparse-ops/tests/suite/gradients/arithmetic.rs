//! Element-wise operations and concatenation.

use burn::tensor::{Tensor, TensorData};
use proptest::prelude::*;
use sparse_dev::draw::{self, FillKind, Plain, fill_kind, nonzero, plain, value};
use sparse_dev::gradients::check;
use sparse_tensor::{CooTensor, CsrTensor, Fill, SparseTensor, ops, pattern::Pattern};

/// Divisors stay away from zero, in the fill too.
fn filled<P: Pattern, const D: usize>(
    tensor: SparseTensor<P, D>,
    kind: FillKind,
    leaf: Tensor<1>,
) -> SparseTensor<P, D> {
    draw::filled(tensor, kind, 2.5, leaf)
}

fn apply<P: Pattern, const D: usize>(op: usize, a: &SparseTensor<P, D>, b: &SparseTensor<P, D>) -> SparseTensor<P, D> {
    match op {
        0 => a + b,
        1 => a - b,
        2 => a * b,
        _ => a / b,
    }
}

/// Two tensors of one random shape.
fn pair(rank: usize) -> impl Strategy<Value = (Plain, Plain)> {
    (proptest::collection::vec(1usize..4, rank), any::<bool>(), any::<bool>())
        .prop_flat_map(|(shape, left, right)| (plain(shape.clone(), left), plain(shape, right)))
}

/// Parts of one random shape but along `axis`.
fn parts(rank: usize, count: usize) -> impl Strategy<Value = (Vec<Plain>, usize)> {
    let sizes = proptest::collection::vec(1usize..4, count);
    (proptest::collection::vec(1usize..4, rank), sizes, 0..rank, proptest::collection::vec(any::<bool>(), count))
        .prop_flat_map(|(shape, sizes, axis, duplicates)| {
            let part = |(size, duplicates): (usize, bool)| {
                let mut shape = shape.clone();
                shape[axis] = size;
                plain(shape, duplicates)
            };
            (sizes.into_iter().zip(duplicates).map(part).collect::<Vec<_>>(), Just(axis))
        })
}

/// An axis, sometimes counted from the end.
fn signed(axis: usize, rank: usize, back: bool) -> isize {
    axis as isize - if back { rank as isize } else { 0 }
}

/// Divisors that are not zero even if they are sums of duplicates.
fn as_divisor(mut b: Plain) -> Plain {
    b.values.iter_mut().for_each(|value| *value = value.abs() + 0.7);
    b
}

proptest! {
    #![proptest_config(sparse_dev::draw::patient())]

    #[test]
    fn binary(
        (a, b) in pair(2), op in 0usize..4, kinds in (fill_kind(), fill_kind()), csr: bool, pick in 0usize..4,
        fills in (nonzero(), nonzero()),
    ) {
        check_binary::<2>(a, b, op, kinds, fills, pick, |a| csr.then(|| a.to_csr()))?;
    }

    #[test]
    fn binary_of_rank_1_and_3(
        (a, b) in pair(1), (c, d) in pair(3), op in 0usize..4, kinds in (fill_kind(), fill_kind()), csr: bool,
        pick in 0usize..4, fills in (nonzero(), nonzero()),
    ) {
        check_binary::<1>(a, b, op, kinds, fills, pick, |_| None)?;
        check_binary::<3>(c, d, op, kinds, fills, pick, |a| csr.then(|| a.to_csr()))?;
    }

    #[test]
    fn binary_of_hybrids(
        (a, b) in pair(1), op in 0usize..4, kinds in (fill_kind(), fill_kind()), pick in 0usize..4,
        fills in (nonzero(), nonzero()),
    ) {
        prop_assume!(op < 3 || !matches!(kinds.1, FillKind::Zero));
        prop_assume!(!a.values.is_empty() && !b.values.is_empty());
        let b = if op == 3 { as_divisor(b) } else { b };
        let one = |value: f64| TensorData::new(vec![value], [1]);
        check(pick, &[a.data(), b.data(), one(fills.0), one(fills.1)], |xs| {
            let part = |plain: &Plain, at: usize, kind| {
                filled(hybrid(plain, xs[at].tensor::<1>()), kind, xs[2 + at].tensor::<1>())
            };
            let out = apply(op, &part(&a, 0, kinds.0), &part(&b, 1, kinds.1));
            if out.fill().is_undefined() { out.to_dense_or(0.0) } else { out.to_dense() }
        })?;
    }

    #[test]
    fn binary_of_one_pattern((a, _) in pair(2), pick in 0usize..4, op in 0usize..4) {
        // A quotient of zero fills is NaN off the pattern, which no weight hides.
        let fill = if op == 3 { FillKind::Undefined } else { FillKind::Zero };
        let ones = TensorData::new(vec![1.5; a.values.len()], [a.values.len()]);
        check(pick, &[a.data(), ones], |xs| {
            let left: CooTensor<2> = a.coo(xs[0].tensor());
            let right = left.with_values(xs[1].tensor::<1>());
            let any = xs[1].tensor::<1>();
            apply(op, &filled(left, fill, any.clone()), &filled(right, fill, any)).to_dense_or(0.0)
        })?;
    }

    #[test]
    fn scalars(
        (a, _) in pair(2), number in nonzero(), kind in fill_kind(), fill in nonzero(), csr: bool, pick in 0usize..4,
    ) {
        let one = |value: f64| TensorData::new(vec![value], [1]);
        check(pick, &[a.data(), one(number), one(fill)], |xs| {
            let a: CooTensor<2> = a.coo(xs[0].tensor());
            let s = || xs[1].tensor::<1>();
            let leaf = xs[2].tensor::<1>();
            if csr {
                let a = filled(a.to_csr(), kind, leaf);
                a.add_scalar(s()).mul_scalar(s()).sub_scalar(s()).div_scalar(s()).mul_scalar(number).to_dense_or(0.0)
            } else {
                let a = filled(a, kind, leaf);
                a.add_scalar(s()).mul_scalar(s()).sub_scalar(s()).div_scalar(s()).mul_scalar(number).to_dense_or(0.0)
            }
        })?;
    }

    #[test]
    fn vectors_and_dense(
        (a, _) in pair(2), seeds in proptest::collection::vec(nonzero(), 15), pick in 0usize..4, csr: bool,
        undefined: bool,
    ) {
        let [rows, cols] = [a.shape[0], a.shape[1]];
        let list = |from: usize, count: usize| -> Vec<f64> {
            seeds.iter().cycle().skip(from).take(count).copied().collect()
        };
        let inputs = [
            a.data(),
            TensorData::new(list(0, rows), [rows]),
            TensorData::new(list(3, cols), [cols]),
            TensorData::new(list(6, rows * cols), [rows, cols]),
        ];
        check(pick, &inputs, |xs| {
            let kind = if undefined { FillKind::Undefined } else { FillKind::Zero };
            let a = filled::<_, 2>(a.coo(xs[0].tensor()), kind, xs[1].tensor::<1>());
            let (row, column, full) = (xs[1].tensor::<1>(), xs[2].tensor::<1>(), xs[3].tensor::<2>());
            if csr { scaled(a.to_csr(), row, column, full) } else { scaled(a, row, column, full) }
        })?;
    }

    #[test]
    fn concat_of_rank_2(
        (list, axis) in parts(2, 3), back: bool, csr: bool, pick in 0usize..4, kind in fill_kind(),
        fill in nonzero(),
    ) {
        check_concat::<2>(&list, signed(axis, 2, back), pick, kind, fill, |a| csr.then(|| a.to_csr()))?;
    }

    #[test]
    fn concat_of_rank_1_and_3(
        (list, axis) in parts(3, 2), (lines, _) in parts(1, 3), back: bool, csr: bool, pick in 0usize..4,
        kind in fill_kind(), fill in nonzero(),
    ) {
        check_concat::<3>(&list, signed(axis, 3, back), pick, kind, fill, |a| csr.then(|| a.to_csr()))?;
        check_concat::<1>(&lines, signed(0, 1, back), pick, kind, fill, |_| None)?;
    }

    #[test]
    fn concat_of_hybrids((list, _) in parts(1, 2), along: bool, fills in (value(), value()), pick in 0usize..4) {
        let (a, b) = (&list[0], &list[1]);
        // Burn's own product with a number cannot take the empty view that an empty part's gradient is.
        prop_assume!(!a.values.is_empty() && !b.values.is_empty());
        prop_assume!(!along || a.shape == b.shape);
        // Along the dense dim fills may differ and be tracked.
        let one = |value: f64| TensorData::new(vec![value], [1]);
        check(pick, &[a.data(), b.data(), one(fills.0), one(fills.1)], |xs| {
            let part = |plain: &Plain, at: usize| -> CooTensor<2> {
                let fill = if along { xs[2 + at].tensor::<1>() } else { xs[2].tensor::<1>() };
                hybrid(plain, xs[at].tensor::<1>()).with_fill(Fill::tensor(fill))
            };
            ops::concat(&[part(a, 0), part(b, 1)], isize::from(along)).to_dense()
        })?;
    }
}

/// Blocks of 2: each value with its double.
fn hybrid(plain: &Plain, values: Tensor<1>) -> CooTensor<2> {
    let blocks = Tensor::stack::<2>(vec![values.clone(), values * 2.0], 1);
    CooTensor::new(plain.indices(&blocks.device().inner()), blocks, [plain.shape[0], 2]).unwrap()
}

/// Every product and quotient with vectors and dense tensors.
fn scaled<P: Pattern>(a: SparseTensor<P, 2>, row: Tensor<1>, column: Tensor<1>, full: Tensor<2>) -> Tensor<2> {
    let (row, column) = (row.unsqueeze_dim::<2>(1), column.unsqueeze_dim::<2>(0));
    let a = a.mul_dense(row.clone()).div_dense(column.clone()).div_dense(row.clone()).mul_dense(column.clone());
    let a = a.mul_dense(full.clone()).div_dense(full.clone() * 2.0);
    // Sums need a fill that is not defined.
    if !a.fill().is_undefined() {
        return a.to_dense();
    }
    a.add_dense(row).sub_dense(column).add_dense(full.clone()).sub_dense(full * 0.5).to_dense_or(0.0)
}

/// Gradients of `op` of two tensors, by rows where `csr` gives them so.
fn check_binary<const D: usize>(
    a: Plain,
    b: Plain,
    op: usize,
    kinds: (FillKind, FillKind),
    fills: (f64, f64),
    pick: usize,
    csr: impl Fn(&CooTensor<D>) -> Option<CsrTensor<D>>,
) -> Result<(), TestCaseError> {
    // x / 0 has no finite difference: a zero-filled divisor is compared with dense Burn elsewhere.
    if op == 3 && matches!(kinds.1, FillKind::Zero) {
        return Ok(());
    }
    let b = if op == 3 { as_divisor(b) } else { b };
    let one = |value: f64| TensorData::new(vec![value], [1]);
    check(pick, &[a.data(), b.data(), one(fills.0), one(fills.1)], |xs| {
        let (a, b): (CooTensor<D>, CooTensor<D>) = (a.coo(xs[0].tensor()), b.coo(xs[1].tensor()));
        let (fill_a, fill_b) = (xs[2].tensor::<1>(), xs[3].tensor::<1>());
        if let (Some(a), Some(b)) = (csr(&a), csr(&b)) {
            let out = apply(op, &filled(a, kinds.0, fill_a), &filled(b, kinds.1, fill_b));
            if out.fill().is_undefined() { out.to_dense_or(0.0) } else { out.to_dense() }
        } else {
            let out = apply(op, &filled(a, kinds.0, fill_a), &filled(b, kinds.1, fill_b));
            if out.fill().is_undefined() { out.to_dense_or(0.0) } else { out.to_dense() }
        }
    })
}

/// Gradients of a concatenation, all parts with one fill.
fn check_concat<const D: usize>(
    list: &[Plain],
    axis: isize,
    pick: usize,
    kind: FillKind,
    fill: f64,
    csr: impl Fn(&CooTensor<D>) -> Option<CsrTensor<D>>,
) -> Result<(), TestCaseError> {
    // A tracked fill is the first part's: one that the others share would have to be one tensor.
    let kind = if matches!(kind, FillKind::Tracked) { FillKind::Number } else { kind };
    let mut inputs: Vec<TensorData> = list.iter().map(Plain::data).collect();
    inputs.push(TensorData::new(vec![fill], [1]));
    check(pick, &inputs, |xs| {
        let leaf = xs[list.len()].tensor::<1>();
        let parts: Vec<CooTensor<D>> =
            list.iter().zip(xs).map(|(p, x)| filled(p.coo(x.tensor()), kind, leaf.clone())).collect();
        let rows: Vec<CsrTensor<D>> = parts.iter().filter_map(&csr).collect();
        if rows.is_empty() {
            ops::concat(&parts, axis).to_dense_or(0.5)
        } else {
            ops::concat(&rows, axis).to_dense_or(0.5)
        }
    })
}
