//! Sparse x sparse, and functions of one and two elements.

use burn::tensor::{Device, Tensor, TensorData};
use proptest::prelude::*;
use sparse_dev::draw::{Plain, nonzero, plain};
use sparse_dev::gradients::{check, devices};
use sparse_tensor::{CooTensor, Fill, SparseTensor, pattern::Pattern};

fn factors() -> impl Strategy<Value = (Plain, Plain)> {
    (0usize..4, 0usize..4, 0usize..4, any::<bool>(), any::<bool>())
        .prop_flat_map(|(m, k, n, left, right)| (plain(vec![m, k], left), plain(vec![k, n], right)))
}

/// Values away from zero, where some functions have a kink, and of one sign where one needs it.
fn smooth(shape: Vec<usize>) -> impl Strategy<Value = Plain> {
    plain(shape, false).prop_flat_map(|a| {
        let count = a.values.len();
        (Just(a), proptest::collection::vec(nonzero(), count)).prop_map(|(mut a, values)| {
            a.values = values;
            a
        })
    })
}

fn apply<P: Pattern, const D: usize>(function: usize, a: &SparseTensor<P, D>) -> SparseTensor<P, D> {
    // Where a function is not defined everywhere, of something that is.
    let positive = || a.square().add_scalar(0.1);
    let small = || a.mul_scalar(0.2);
    match function {
        0 => a.abs(),
        1 => a.neg(),
        2 => a.sin(),
        3 => a.cos(),
        4 => a.mul_scalar(0.3).tan(),
        5 => small().asin(),
        6 => small().acos(),
        7 => a.atan(),
        8 => a.sinh(),
        9 => a.cosh(),
        10 => a.tanh(),
        11 => a.asinh(),
        12 => positive().add_scalar(1.0).acosh(),
        13 => small().atanh(),
        14 => a.exp(),
        15 => a.expm1(),
        16 => positive().log(),
        17 => positive().log1p(),
        18 => positive().sqrt(),
        19 => positive().recip(),
        20 => a.square(),
        21 => a.relu(),
        22 => a.sigmoid(),
        23 => a.erf(),
        24 => a.powi_scalar(3),
        25 => positive().powf_scalar(1.5),
        26 => a.clamp(-1.01, 1.013),
        27 => positive().powi_scalar(-2),
        28 => a.clone().map(|rows| rows.clone() * rows.tanh()),
        _ => a.clamp_min(-0.511).clamp_max(2.013),
    }
}

fn pairwise<P: Pattern, const D: usize>(
    op: usize,
    a: &SparseTensor<P, D>,
    b: &SparseTensor<P, D>,
) -> SparseTensor<P, D> {
    match op {
        0 => a.max_pair(b),
        1 => a.min_pair(b),
        2 => a.square().add_scalar(0.5).powf(b),
        3 => a.mask_where(&b.greater_elem(0.0), b),
        4 => a.remainder(b),
        5 => a.fmod(b),
        // Powers of either sign and 0, none at a step of the rounding.
        6 => a.powi(&b.clone().detach().mul_scalar(1.7).add_scalar(0.31).int()),
        7 => a.logaddexp(b),
        _ => a.zip_with(b, |x, y| x.clone() * y.clone() + x.sin()),
    }
}

proptest! {
    #[test]
    fn sparse_times_sparse((a, b) in factors(), csr: bool, pick in 0usize..4) {
        check(pick, &[a.data(), b.data()], |xs| {
            let (a, b) = (a.coo::<2>(xs[0].tensor()), b.coo::<2>(xs[1].tensor()));
            if csr { a.to_csr().matmul(&b.to_csr()).to_dense() } else { a.matmul(&b).to_dense() }
        })?;
    }

    #[test]
    fn batches_and_transposes(a in plain(vec![2, 3, 2], false), b in plain(vec![2, 4, 2], false), pick in 0usize..4) {
        check(pick, &[a.data(), b.data()], |xs| {
            let (a, b) = (a.csr::<3>(xs[0].tensor()), b.csr::<3>(xs[1].tensor()));
            // Twice, with the pattern known the second time, and operands on either side.
            let product = a.matmul(b.transpose());
            let again = a.to_coo().matmul(b.to_coo().transpose()).to_dense();
            product.matmul(&b).to_dense().sum() + again.powi_scalar(2).sum() + a.matmul(b.transpose()).to_dense().sum()
        })?;
    }

    #[test]
    fn functions(a in smooth(vec![3, 2]), fill in nonzero(), function in 0usize..30, csr: bool, pick in 0usize..4) {
        let fill = TensorData::new(vec![fill], [1]);
        // NdArray computes the error function in f32.
        let pick = if function == 23 { pick % 2 } else { pick };
        check(pick, &[a.data(), fill], |xs| {
            let coo = a.coo::<2>(xs[0].tensor()).with_fill(Fill::tensor(xs[1].tensor::<1>()));
            if csr { apply(function, &coo.to_csr()).to_dense() } else { apply(function, &coo).to_dense() }
        })?;
    }

    #[test]
    fn functions_of_pairs(
        (a, b) in (1usize..4, 1usize..4).prop_flat_map(|(m, n)| (smooth(vec![m, n]), smooth(vec![m, n]))),
        fills in (nonzero(), nonzero()), op in 0usize..9, undefined: bool, csr: bool, pick in 0usize..4,
    ) {
        // Apart from each other: a tie is a kink.
        let a = Plain { values: a.values.iter().map(|value| value + 0.0037).collect(), ..a };
        let one = |value: f64| TensorData::new(vec![value], [1]);
        check(pick, &[a.data(), b.data(), one(fills.0 + 0.0037), one(fills.1)], |xs| {
            let left = a.coo::<2>(xs[0].tensor()).with_fill(Fill::tensor(xs[2].tensor::<1>()));
            let right = b.coo::<2>(xs[1].tensor());
            let fill = if undefined { Fill::Undefined } else { Fill::tensor(xs[3].tensor::<1>()) };
            let right = right.with_fill(fill);
            if csr {
                pairwise(op, &left.to_csr(), &right.to_csr()).to_dense_or(0.0)
            } else {
                pairwise(op, &left, &right).to_dense_or(0.0)
            }
        })?;
    }
}

/// `numbers` on the tape, stored after each other, with one more element that is not.
fn stored(numbers: &[f64], device: &Device) -> CooTensor<1> {
    let count = numbers.len();
    let values = Tensor::<1>::from_data(TensorData::new(numbers.to_vec(), [count]), device);
    CooTensor::new(Tensor::arange(0..count as i64, device).unsqueeze(), values, [count + 1]).unwrap().require_grad()
}

fn slopes(of: &CooTensor<1>, out: &CooTensor<1>) -> Vec<f32> {
    let grads = out.values::<1>().sum().backward();
    of.grad(&grads).expect("on the tape").values::<1>().into_data().iter::<f32>().collect()
}

/// The numbers of PyTorch's `pow`, `atan2`: zero where a plain product of slopes is NaN.
#[test]
fn slopes_at_zero() {
    for device in devices() {
        let base = stored(&[0.0, 0.0, 0.0, 2.0, 0.0], &device);
        let power = stored(&[2.0, 0.0, 1.0, 0.0, 0.5], &device);
        let to_base = slopes(&base, &base.powf(&power));
        assert_eq!(to_base, [0.0, 0.0, 1.0, 0.0, f32::INFINITY]);
        let to_power = slopes(&power, &base.powf(&power));
        assert_eq!(to_power[..3], [0.0; 3]);
        assert!((to_power[3] - 2f32.ln()).abs() < 1e-6 && to_power[4] == 0.0, "{to_power:?}");
        // A base that is not stored is zero too.
        let none = CooTensor::<1>::try_zeros([6], &device).unwrap();
        assert_eq!(slopes(&power, &none.powf(&power))[..3], [0.0; 3]);
        assert_eq!(slopes(&base, &base.powf_scalar(0.0)), [0.0; 5]);
        assert_eq!(slopes(&base, &base.powi_scalar(0)), [0.0; 5]);
        assert_eq!(slopes(&base, &base.atan2(&none)), [0.0; 5]);
    }
}
