//! Functions of elements at corners that the equivalence test does not draw.

use super::{close, device, flex, identical, ids, ints, near, ones, read, small};
use burn::tensor::{DType, Device, Int, IntDType, Tensor, TensorData};
use proptest::prelude::*;
use sparse_dev::draw::plain;
use sparse_tensor::pattern::Pattern;
use sparse_tensor::{CooTensor, CsrTensor, Fill};

proptest! {
    #![proptest_config(sparse_dev::draw::patient())]

    /// Values that are views of a larger buffer, transposed or strided.
    #[test]
    fn values_that_are_not_contiguous(a in plain(vec![3, 4], false), pick: bool) {
        let device = device(pick);
        let n = a.values.len();
        let doubled: Vec<f64> = a.values.iter().flat_map(|&value| [value, -9.0]).collect();
        let wide = Tensor::<2>::from_data(TensorData::new(doubled, [n, 2]), (&device, DType::F64));
        prop_assume!(n > 0);
        let view = wide.narrow(1, 0, 1).reshape([n as i64]);
        let x = TensorData::new((0..8).map(f64::from).collect::<Vec<_>>(), [2, 4]);
        let x = Tensor::<2>::from_data(x, (&device, DType::F64)).transpose();
        let got = a.coo::<2>(view).to_csr().matmul(x.clone());
        close(&read(got), &read(a.coo::<2>(a.leaf(&device)).to_dense().matmul(x)))?;
    }
}

/// The equivalence test takes zeros of either sign for equal. Here each has the sign that IEEE 754 gives it, stored or
/// a fill.
#[test]
fn zeros_have_their_sign() {
    type Two<T> = fn(&T, &T) -> T;
    type Op = (fn(f64, f64) -> f64, Two<CooTensor<2>>, Two<CsrTensor<2>>);
    let ops: [Op; 4] = [
        (|x, y| x + y, |a, b| a + b, |a, b| a + b),
        (|x, y| x - y, |a, b| a - b, |a, b| a - b),
        (|x, y| x * y, |a, b| a * b, |a, b| a * b),
        (|x, y| x / y, |a, b| a / b, |a, b| a / b),
    ];
    let numbers = [0.0, -0.0, 1.5, -1.5];
    for (pick, stored) in (0..8).map(|run| (run < 4, run % 4)) {
        let device = device(pick);
        let side = |side: usize, value: f64| {
            if stored & (1 << side) == 0 {
                return CooTensor::<2>::zeros([1, 1], (&device, DType::F64)).with_fill(Fill::scalar(value));
            }
            let values = Tensor::<1>::from_data(TensorData::new(vec![value], [1]), (&device, DType::F64));
            CooTensor::new(Tensor::zeros([2, 1], &device), values, [1, 1]).unwrap()
        };
        for (x, y) in numbers.into_iter().flat_map(|x| numbers.map(|y| (x, y))) {
            let (a, b) = (side(0, x), side(1, y));
            for (op, (scalar, coo, csr)) in ops.into_iter().enumerate() {
                let want = [scalar(x, y)];
                let what = format!("operation {op} of {x:?} and {y:?}, stored {stored:02b}");
                identical(&read(coo(&a, &b).to_dense()), &want).expect(&what);
                identical(&read(csr(&a.to_csr(), &b.to_csr()).to_dense()), &want).expect(&what);
            }
        }
    }
}

/// Of zeros, of an element that is stored as two parts, and of nothing.
#[test]
fn powers_of_every_kind() {
    let twice = CooTensor::<2>::new(ids([0, 1, 0, 2, 0, 2], [2, 3]), ones([3]), [2, 3]).unwrap();
    let none = CooTensor::<2>::zeros([2, 3], &flex());
    for power in [0.0, 1.0, 2.0, 3.0, 0.5, -1.0, -2.0, -0.5] {
        for a in [small(), twice.clone(), none.clone()] {
            let want = a.to_dense().powf_scalar(power);
            near(a.powf_scalar(power).to_dense(), want.clone());
            near(a.to_csr().powf_scalar(power).to_dense(), want);
        }
    }
    let powers = CooTensor::<2, Int>::from_dense(ids([2, 0, 3, 1, 2, 0], [2, 3]), 0);
    for fill in [-1, 0, 1, 2, 3] {
        let powers = powers.clone().with_fill(Fill::scalar(fill));
        near(small().powi(&powers).to_dense(), small().to_dense().powf(powers.to_dense().float()));
    }
}

/// Remainders in each type, and quotients by numbers of each kind, 0 among them.
#[test]
fn integers_by_integers() {
    let of = |list: [i64; 6]| CsrTensor::<2, Int>::from_dense(ids(list, [2, 3]));
    let (a, b) = (of([7, 0, 5, 0, 250, 9]), of([2, 3, 5, 0, 7, 0]));
    for dtype in [IntDType::U8, IntDType::I32, IntDType::I64] {
        let found = a.cast(dtype).remainder(&b.cast(dtype));
        assert_eq!(ints(found.to_dense()), [1, 0, 0, 0, 250 % 7, 0], "{dtype:?}");
    }
    let want = a.to_dense().float() / 4.0;
    near(a.div_scalar(4).to_dense(), want.clone());
    near(a.div_scalar(4u8).to_dense(), want.clone());
    near(a.div_scalar(4.0).to_dense(), want);
    near(a.div_scalar(0).to_dense(), a.to_dense().float() / 0.0);
    near(a.div_scalar(0u8).to_dense(), a.to_dense().float() / 0.0);
}

#[test]
fn remainders_and_powers_at_their_edges() {
    let device = Device::flex();
    let whole = |values: [i32; 2]| CooTensor::<1, Int>::from_dense(Tensor::from_ints(values, &device), 0);
    assert_eq!(ints(whole([i32::MIN, 7]).remainder(&whole([-1, 0])).to_dense()), [0, 0]);
    let x = Tensor::<2>::from_floats([[0.0, -2.5, 1.5], [3.0, 0.0, -0.75]], &device);
    let y = Tensor::<2>::from_floats([[1.25, 0.0, -2.0], [0.5, 0.0, 4.0]], &device);
    let (a, b) = (CooTensor::<2>::from_dense(x.clone(), 0), CooTensor::<2>::from_dense(y.clone(), 0));
    // NaN where both are zero, as for dense tensors.
    close(&read(a.remainder(&b).to_dense()), &read(x.clone().remainder(y.clone()))).unwrap();
    let rest = |x: f64, y: f64| if y == 0.0 { f64::NAN } else { x % y };
    let want: Vec<f64> = read(x).into_iter().zip(read(y)).map(|(x, y)| rest(x, y)).collect();
    close(&read(a.fmod(&b).to_dense()), &want).unwrap();
    let power = CooTensor::<2, Int>::from_dense(Tensor::from_ints([[3, 3, 2], [0, 0, -1]], &device), 0);
    let want = [0.0, -15.625, 2.25, 1.0, 1.0, f64::from(-4.0f32 / 3.0)];
    close(&read(a.powi(&power).to_dense()), &want).unwrap();
}

/// Infinities, NaN, sums that overflow, and ties, of stored elements and of fills: values and gradients are those that
/// PyTorch 2.15 gives.
#[test]
fn logarithms_of_sums_at_their_edges() {
    const INF: f64 = f64::INFINITY;
    const NAN: f64 = f64::NAN;
    let tie = std::f64::consts::LN_2;
    for (a, b, want, grads) in [
        (INF, INF, INF, [NAN, NAN]),
        (-INF, -INF, -INF, [NAN, NAN]),
        (INF, -INF, INF, [1.0, 0.0]),
        (0.0, -INF, 0.0, [1.0, 0.0]),
        (0.0, INF, INF, [0.0, 1.0]),
        (NAN, 1.0, NAN, [NAN, NAN]),
        (-INF, NAN, NAN, [NAN, NAN]),
        (1.0, 1.0, 1.0 + tie, [0.5, 0.5]),
        (1000.0, 1000.0, 1000.0 + tie, [0.5, 0.5]),
        (1000.0, -1000.0, 1000.0, [1.0, 0.0]),
    ] {
        for (pick, stored) in (0..8).map(|run| (run < 4, run % 4)) {
            let device = device(pick).autodiff();
            let leaf = |value: f64| {
                Tensor::<1>::from_data(TensorData::new(vec![value], [1]), (&device, DType::F64)).require_grad()
            };
            let leaves = [leaf(a), leaf(b)];
            let side = |side: usize| {
                let leaf = leaves[side].clone();
                if stored & (1 << side) != 0 {
                    let at = Tensor::<2, Int>::zeros([1, 1], &device.clone().inner());
                    CooTensor::new(at, leaf, [1]).unwrap()
                } else {
                    CooTensor::<1>::zeros([1], (&device, DType::F64)).with_fill(Fill::tensor(leaf))
                }
            };
            let out = side(0).logaddexp(&side(1)).to_dense();
            let what = format!("logaddexp({a}, {b}), stored {stored:02b}");
            close(&read(out.clone()), &[want]).expect(&what);
            let tape = out.sum().backward();
            let got = leaves.each_ref().map(|leaf| read(leaf.grad(&tape).expect("tracked"))[0]);
            close(&got, &grads).expect(&what);
        }
        // Fills of numbers, which are combined on the host.
        let fill = |fill: f64| CooTensor::<1>::zeros([1], (&Device::flex(), DType::F64)).with_fill(Fill::scalar(fill));
        close(&read(fill(a).logaddexp(&fill(b)).to_dense()), &[want]).unwrap();
    }
}

/// Fills of numbers are known without the device, so what needs a zero takes them.
#[test]
fn fills_of_results_are_known() {
    let device = Device::flex();
    let a = CooTensor::<2>::from_dense(Tensor::from_floats([[0.0, -2.5, 1.5], [3.0, 0.0, -0.75]], &device), 0);
    let b = CooTensor::<2>::from_dense(Tensor::from_floats([[1.25, 0.0, -2.0], [0.5, 0.0, 4.0]], &device), 0);
    assert!(a.remainder(&b.clone().with_fill(Fill::scalar(2.0))).fill().is_zero());
    let whole = a.int();
    assert!(whole.bitwise_or(&b.int()).fill().is_zero());
    assert!(whole.remainder(&b.int().with_fill(Fill::scalar(2))).fill().is_zero());
    assert!(a.powi(&whole.clone().with_fill(Fill::scalar(2))).fill().is_zero());
    let (p, q) = (a.greater_elem(0.0), b.greater_elem(0.0));
    for mask in [p.bool_and(&q), p.bool_or(&q), p.bool_xor(&q)] {
        assert!(matches!(mask.fill(), Fill::Zero));
    }
    assert_eq!(p.bool_not().fill().to_string(), "true");
    assert_eq!(a.max_pair(&b).clamp(-1.0, 1.0).matmul(&b.transpose()).dims(), [2, 2]);
    assert_eq!(a.mask_select(&a.greater(&b)).dims(), [2]);
    // A transpose is one pattern however often it is taken.
    assert!(a.transpose().pattern().is_same(a.transpose().pattern()));
}
