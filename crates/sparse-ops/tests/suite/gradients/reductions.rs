//! Reductions, softmax and products with another reduction than a sum.

use burn::tensor::{DType, Tensor, TensorData};
use proptest::prelude::*;
use sparse_dev::draw::{self, FillKind, Plain, fill_kind, plain, value};
use sparse_dev::gradients::{check, devices};
use sparse_tensor::ops::{Epilogue, Reduce};
use sparse_tensor::{CooTensor, Fill, SparseTensor, pattern::Pattern};

fn filled<P: Pattern, const D: usize>(
    tensor: SparseTensor<P, D>,
    kind: FillKind,
    leaf: Tensor<1>,
) -> SparseTensor<P, D> {
    draw::filled(tensor, kind, 1.25, leaf)
}

fn dense<P: Pattern, const D: usize>(tensor: &SparseTensor<P, D>) -> Tensor<D> {
    if tensor.fill().is_undefined() { tensor.to_dense_or(0.5) } else { tensor.to_dense() }
}

/// Values far from each other: an extreme one stays the only one under a small step.
fn spread(mut plain: Plain) -> Plain {
    for (k, value) in plain.values.iter_mut().enumerate() {
        *value = ((k * 7 + 3) % 97) as f64 * 0.37 - 1.1;
    }
    plain
}

/// Values below 1: long products stay where a difference is precise.
fn small(mut plain: Plain) -> Plain {
    plain.values.iter_mut().for_each(|value| *value *= 0.3);
    plain
}

fn matrix(duplicates: bool) -> impl Strategy<Value = Plain> {
    (1usize..4, 1usize..4).prop_flat_map(move |(m, n)| plain(vec![m, n], duplicates))
}

fn any_rank(duplicates: bool) -> impl Strategy<Value = Plain> {
    proptest::collection::vec(1usize..4, 3).prop_flat_map(move |shape| plain(shape, duplicates))
}

fn one(value: f64) -> TensorData {
    TensorData::new(vec![value], [1])
}

/// Reductions with a smooth slope.
fn smooth<P: Pattern, const D: usize>(a: &SparseTensor<P, D>, op: usize, axes: &[isize]) -> SparseTensor<P, D> {
    match op {
        0 => a.sum_dims(axes),
        1 => a.mean_dims(axes),
        2 => a.prod_dims(axes),
        3 => a.stored().sum_dim(axes[0]),
        4 => a.stored().mean_dim(axes[0]),
        5 => a.clone().with_fill(Fill::Undefined).stored().cumsum(axes[0]),
        _ => a.stored().prod_dim(axes[0]),
    }
}

fn extreme<P: Pattern, const D: usize>(a: &SparseTensor<P, D>, op: usize, axes: &[isize]) -> SparseTensor<P, D> {
    match op {
        0 => a.max_dims(axes),
        1 => a.min_dims(axes),
        2 => a.stored().max_dim(axes[0]),
        _ => a.stored().min_dim(axes[0]),
    }
}

fn total<P: Pattern, const D: usize>(a: &SparseTensor<P, D>, op: usize) -> Tensor<1> {
    match op {
        0 => a.sum(),
        1 => a.mean(),
        2 => a.prod(),
        3 => a.norm(2.0),
        4 => a.norm(1.0),
        _ => a.norm(3.0),
    }
}

/// Blocks of 2 that differ, so that dense dims have something to reduce.
fn hybrid(plain: &Plain, values: Tensor<1>) -> CooTensor<3> {
    let blocks = Tensor::stack::<2>(vec![values.clone(), values * 0.7 + 0.2], 1);
    let indices = plain.indices(&blocks.device().inner());
    CooTensor::new(indices, blocks, [plain.shape[0], plain.shape[1], 2]).unwrap()
}

fn axes() -> impl Strategy<Value = Vec<isize>> {
    prop_oneof![
        Just(vec![0]),
        Just(vec![1]),
        Just(vec![-1]),
        Just(vec![0, 1]),
        Just(vec![1, 2]),
        Just(vec![2, 0]),
        Just(vec![0, 1, 2])
    ]
}

proptest! {
    #![proptest_config(sparse_dev::draw::patient())]

    #[test]
    fn sums_and_products(
        a in any_rank(true), op in 0usize..7, axes in axes(), kind in fill_kind(), fill in value(), pick in 0usize..4,
        csr: bool,
    ) {
        let a = small(a);
        check(pick, &[a.data(), one(fill * 0.3)], |xs| {
            let coo: CooTensor<3> = a.coo(xs[0].tensor());
            let leaf = xs[1].tensor::<1>();
            if csr {
                dense(&smooth(&filled(coo.to_csr(), kind, leaf), op, &axes))
            } else {
                dense(&smooth(&filled(coo, kind, leaf), op, &axes))
            }
        })?;
    }

    #[test]
    fn sums_and_products_of_blocks(
        a in matrix(true), op in 0usize..7, axes in axes(), kind in fill_kind(), fill in value(), pick in 0usize..4,
    ) {
        prop_assume!(!a.values.is_empty());
        let a = small(a);
        check(pick, &[a.data(), one(fill * 0.3)], |xs| {
            dense(&smooth(&filled(hybrid(&a, xs[0].tensor()), kind, xs[1].tensor()), op, &axes))
        })?;
    }

    #[test]
    fn extremes(
        a in any_rank(false), op in 0usize..4, axes in axes(), kind in fill_kind(), pick in 0usize..4, csr: bool,
    ) {
        let a = spread(a);
        check(pick, &[a.data(), one(0.55)], |xs| {
            let coo: CooTensor<3> = a.coo(xs[0].tensor());
            let leaf = xs[1].tensor::<1>();
            if csr {
                dense(&extreme(&filled(coo.to_csr(), kind, leaf), op, &axes))
            } else {
                dense(&extreme(&filled(coo, kind, leaf), op, &axes))
            }
        })?;
    }

    #[test]
    fn extremes_of_blocks(a in matrix(false), op in 0usize..4, axes in axes(), kind in fill_kind(), pick in 0usize..4) {
        let a = spread(a);
        prop_assume!(!a.values.is_empty());
        check(pick, &[a.data(), one(0.551)], |xs| {
            dense(&extreme(&filled(hybrid(&a, xs[0].tensor()), kind, xs[1].tensor()), op, &axes))
        })?;
    }

    #[test]
    fn totals_and_norms(
        a in matrix(true), op in 0usize..6, kind in fill_kind(), fill in value(), pick in 0usize..4, csr: bool,
    ) {
        // The mean of nothing is NaN.
        prop_assume!(!a.values.is_empty() || !matches!(kind, FillKind::Undefined));
        // A norm has a corner where an element is 0.
        let mut a = small(a);
        if op >= 3 {
            a = Plain { values: a.values.iter().map(|value| value.abs() + 0.3).collect(), ..a };
        }
        let fill = if op >= 3 { fill.abs() + 0.3 } else { fill * 0.3 };
        check(pick, &[a.data(), one(fill)], |xs| {
            let coo: CooTensor<2> = a.coo(xs[0].tensor());
            let leaf = xs[1].tensor::<1>();
            if csr {
                total(&filled(coo.to_csr(), kind, leaf), op)
            } else {
                total(&filled(coo, kind, leaf), op)
            }
        })?;
    }

    #[test]
    fn softmax_of_specified(a in any_rank(true), axis in 0isize..3, log: bool, pick in 0usize..4, csr: bool) {
        check(pick, &[a.data()], |xs| {
            let coo = a.coo::<3>(xs[0].tensor()).with_fill(Fill::Undefined);
            if csr {
                let csr = coo.to_csr();
                (if log { csr.log_softmax(axis) } else { csr.softmax(axis) }).values::<1>()
            } else {
                (if log { coo.log_softmax(axis) } else { coo.softmax(axis) }).values::<1>()
            }
        })?;
    }

    #[test]
    fn softmax_of_blocks(
        a in (1usize..5).prop_flat_map(|n| plain(vec![n], true)), axis in 0isize..2, log: bool, kind in fill_kind(),
        fill in value(), pick in 0usize..4,
    ) {
        prop_assume!(!a.values.is_empty());
        check(pick, &[a.data(), one(fill)], |xs| {
            let values = xs[0].tensor::<1>();
            let blocks = Tensor::stack::<2>(vec![values.clone(), values * 0.7 + 0.2], 1);
            let tensor: CooTensor<2> =
                CooTensor::new(a.indices(&blocks.device().inner()), blocks, [a.shape[0], 2]).unwrap();
            let tensor = filled(tensor, kind, xs[1].tensor());
            dense(&if log { tensor.log_softmax(axis) } else { tensor.softmax(axis) })
        })?;
    }

    #[test]
    fn reduced_products(
        (a, x) in matrix(true).prop_flat_map(|a| {
            let entries = proptest::collection::vec(value(), a.shape[1] * 2);
            (Just(a), entries)
        }),
        reduce in prop_oneof![Just(Reduce::Add), Just(Reduce::Mean), Just(Reduce::Mul)], pick in 0usize..4, csr: bool,
    ) {
        let x = TensorData::new(x, [a.shape[1], 2]);
        check(pick, &[a.data(), x], |xs| {
            let coo: CooTensor<2> = a.coo(xs[0].tensor());
            let dense = xs[1].tensor::<2>();
            if csr { coo.to_csr().matmul_reduce(dense, reduce) } else { coo.matmul_reduce(dense, reduce) }
        })?;
    }

    #[test]
    fn extremes_of_products(a in matrix(false), greatest: bool, pick in 0usize..4, csr: bool) {
        let a = spread(a);
        let entries: Vec<f64> = (0..a.shape[1] * 2).map(|k| 0.913 + 0.171 * k as f64).collect();
        let x = TensorData::new(entries, [a.shape[1], 2]);
        let reduce = if greatest { Reduce::Amax } else { Reduce::Amin };
        check(pick, &[a.data(), x], |xs| {
            let coo: CooTensor<2> = a.coo(xs[0].tensor());
            let dense = xs[1].tensor::<2>();
            if csr { coo.to_csr().matmul_reduce(dense, reduce) } else { coo.matmul_reduce(dense, reduce) }
        })?;
    }

    /// Away from the corner of ReLU, which has no slope.
    #[test]
    fn products_with_a_bias_and_relu(
        (a, x, bias) in matrix(true).prop_flat_map(|a| {
            let n = a.shape[1];
            (Just(a), proptest::collection::vec(value(), n * 2), proptest::collection::vec(value(), 2))
        }),
        kind in fill_kind(), fill in value(), pick in 0usize..4, rectifies: bool,
    ) {
        let (x, bias) = (TensorData::new(x, [a.shape[1], 2]), TensorData::new(bias, [2]));
        check(pick, &[a.data(), x, bias, one(fill)], |xs| {
            let a = filled(a.coo::<2>(xs[0].tensor()), kind, xs[3].tensor());
            let bias: Tensor<1> = xs[2].tensor();
            // Far above or below zero.
            let away = TensorData::new(vec![50.0, -50.0], [2]);
            let bias = bias.clone() + Tensor::from_data(away, (&bias.device(), bias.dtype()));
            a.matmul_then(xs[1].tensor(), Epilogue { bias: Some(bias), relu: rectifies })
        })?;
    }

    #[test]
    fn products_on_top(
        (a, x, c) in matrix(true).prop_flat_map(|a| {
            let (m, n) = (a.shape[0], a.shape[1]);
            (Just(a), proptest::collection::vec(value(), n * 2), proptest::collection::vec(value(), m * 2))
        }),
        kind in fill_kind(), fill in value(), pick in 0usize..4,
    ) {
        let (x, c) = (TensorData::new(x, [a.shape[1], 2]), TensorData::new(c, [a.shape[0], 2]));
        check(pick, &[a.data(), x, c, one(fill)], |xs| {
            let a = filled(a.coo::<2>(xs[0].tensor()), kind, xs[3].tensor());
            a.addmm(0.5, xs[2].tensor(), 2.0, xs[1].tensor())
        })?;
    }
}

/// The product of `stored` beside `missing` elements that equal `fill`, and its gradients to them.
fn product(stored: &[f64], fill: f64, missing: usize) -> Vec<(f64, Vec<f64>, f64)> {
    let run = |device| {
        let dtype = (&device, DType::F64);
        let of = |numbers: &[f64]| Tensor::<1>::from_data(TensorData::new(numbers.to_vec(), [numbers.len()]), dtype);
        let (values, fill) = (of(stored).require_grad(), of(&[fill]).require_grad());
        let at = Tensor::<1, burn::tensor::Int>::arange(0..stored.len() as i64, &device);
        let a = CooTensor::<1>::new(at.unsqueeze(), values.clone(), [stored.len() + missing]).unwrap();
        let a = a.with_fill(Fill::tensor(fill.clone()));
        let out = a.prod();
        let grads = out.clone().backward();
        let read = |tensor: Tensor<1>| tensor.into_data().iter::<f64>().collect::<Vec<_>>();
        let to_fill = read(fill.grad(&grads).expect("on the tape"))[0];
        (read(out)[0], read(values.grad(&grads).expect("on the tape")), to_fill)
    };
    devices().into_iter().map(run).collect()
}

/// What the elements' own product is, whether or not a part of it leaves the range of the dtype.
#[test]
fn products_that_leave_the_range_on_the_way() {
    let near = |got: f64, want: f64| got == want || (got / want - 1.0).abs() < 1e-12;
    let check = |stored: &[f64], fill: f64, missing: usize, want: f64, slopes: &[f64], to_fill: f64| {
        for (product, to_stored, own) in product(stored, fill, missing) {
            assert!(near(product, want), "{stored:?} beside {missing} of {fill}: {product}");
            assert!(to_stored.iter().zip(slopes).all(|(&got, &want)| near(got, want)), "{stored:?}: {to_stored:?}");
            assert!(near(own, to_fill), "the slope of {missing} of {fill} beside {stored:?}: {own}");
        }
    };
    let infinity = f64::INFINITY;
    check(&[1e200, 1e200, 1e200], 0.0, 1, 0.0, &[0.0; 3], infinity);
    check(&[1e200, 1e200, 1e200], 0.0, 2, 0.0, &[0.0; 3], 0.0);
    let power = |exponent: i32| 2f64.powi(exponent);
    // 2^1200 * 2^-1500, and the same the other way round.
    check(&[power(600), power(600)], 0.5, 1500, power(-300), &[power(-900); 2], 1500.0 * power(-299));
    check(&[power(-1000)], -4.0, 1001, -power(1002), &[-infinity], 1001.0 * power(1000));
    check(&[0.0, 3.0], 2.0, 2100, 0.0, &[infinity, 0.0], 0.0);
    // Equal shares of 2^600 would take 1e200 out of range.
    check(&[1e-200, 1e200], 2.0, 600, power(600), &[infinity, power(600) * 1e-200], 600.0 * power(599));
    check(&[power(1000)], -0.5, 1999, -power(-999), &[0.0], 1999.0 * power(-998));
}
