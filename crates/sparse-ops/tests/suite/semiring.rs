//! Products in a semiring, sparse x dense and sparse x sparse, at a mask and whole: against loops over the definition,
//! with ties, NaN, infinities, duplicates, empty rows and batches; gradients by differences.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use proptest::prelude::*;
use sparse_dev::draw::{Plain, plain};
use sparse_dev::gradients::check;
use sparse_tensor::ops::{Reduce, Semiring};
use sparse_tensor::{CooTensor, CsrTensor, Fill, SparseError, SparseTensor, pattern::Pattern};

const ALL: [Semiring; 5] =
    [Semiring::PlusTimes, Semiring::MinPlus, Semiring::MaxPlus, Semiring::MaxTimes, Semiring::OrAnd];
const INF: f64 = f64::INFINITY;

/// What the pairs of elements that meet give.
fn reduced(semiring: Semiring, pairs: impl Iterator<Item = (f64, f64)>) -> f64 {
    let wins = |better: fn(f64, f64) -> f64| {
        move |a: f64, b: f64| if a.is_nan() || b.is_nan() { f64::NAN } else { better(a, b) }
    };
    match semiring {
        Semiring::PlusTimes => pairs.map(|(x, y)| x * y).sum::<f64>() + 0.0,
        Semiring::MinPlus => pairs.map(|(x, y)| x + y).fold(INF, wins(f64::min)),
        Semiring::MaxPlus => pairs.map(|(x, y)| x + y).fold(-INF, wins(f64::max)),
        Semiring::MaxTimes => pairs.map(|(x, y)| x * y).reduce(wins(f64::max)).unwrap_or(0.0),
        Semiring::OrAnd => f64::from(u8::from(pairs.into_iter().any(|(x, y)| x != 0.0 && y != 0.0))),
    }
}

fn device() -> Device {
    Device::flex()
}

/// Cells of a matrix, `None` where nothing is stored.
type Cells = Vec<Option<f64>>;

fn cells(count: usize) -> impl Strategy<Value = Cells> {
    let number = prop::sample::select(vec![0.0, 1.0, -1.0, 2.0, 0.5, INF, -INF, f64::NAN]);
    prop::collection::vec(prop_oneof![Just(None), number.prop_map(Some)], count)
}

/// A tensor of these cells.
fn sparse<const D: usize>(cells: &Cells, shape: [usize; D]) -> CooTensor<D> {
    let stored: Vec<usize> = (0..cells.len()).filter(|&at| cells[at].is_some()).collect();
    let values: Vec<f64> = stored.iter().filter_map(|&at| cells[at]).collect();
    let coordinates: Vec<i32> = (0..D)
        .flat_map(|dim| {
            let below: usize = shape[dim + 1..].iter().product();
            stored.iter().map(move |at| (at / below % shape[dim]) as i32).collect::<Vec<_>>()
        })
        .collect();
    let indices = Tensor::<2, Int>::from_data(TensorData::new(coordinates, [D, stored.len()]), &device());
    let values = Tensor::<1>::from_data(TensorData::new(values, [stored.len()]), (&device(), DType::F64));
    CooTensor::new(indices, values, shape).expect("valid coordinates")
}

fn dense<const D: usize>(numbers: Vec<f64>, shape: [usize; D]) -> Tensor<D> {
    Tensor::from_data(TensorData::new(numbers, shape), (&device(), DType::F64))
}

fn list<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().iter::<f64>().collect()
}

fn assert_same(got: &[f64], want: &[f64], what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    let same = got.iter().zip(want).all(|(a, b)| a == b || (a.is_nan() && b.is_nan()));
    assert!(same, "{what}: {got:?} and {want:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn by_a_dense_matrix(
        (m, k, f, a, x) in (1usize..5, 1usize..5, 1usize..4).prop_flat_map(|(m, k, f)| {
            (Just(m), Just(k), Just(f), cells(2 * m * k), cells(2 * k * f))
        }),
    ) {
        let x: Vec<f64> = x.into_iter().map(|cell| cell.unwrap_or(3.0)).collect();
        for semiring in ALL {
            let want: Vec<f64> = (0..2 * m * f)
                .map(|at| {
                    let (batch, row, col) = (at / (m * f), at / f % m, at % f);
                    let pair = |c: usize| Some((a[(batch * m + row) * k + c]?, x[(batch * k + c) * f + col]));
                    reduced(semiring, (0..k).filter_map(pair))
                })
                .collect();
            let (both, right) = (sparse(&a, [2, m, k]), dense(x.clone(), [2, k, f]));
            let what = format!("{semiring:?}");
            assert_same(&list(both.matmul_semiring(right.clone(), semiring)), &want, &what);
            assert_same(&list(both.to_csr().matmul_semiring(right, semiring)), &want, &what);
            let (first, right) = (sparse(&a[..m * k].to_vec(), [m, k]), dense(x[..k * f].to_vec(), [k, f]));
            assert_same(&list(first.matmul_semiring(right.clone(), semiring)), &want[..m * f], &what);
            let filled = first.to_csr().with_fill(Fill::scalar(5.0));
            assert_same(&list(filled.matmul_semiring(right, semiring)), &want[..m * f], &what);
        }
    }

    #[test]
    fn by_a_sparse_matrix(
        ((m, k, n), a, b, mask) in (1usize..5, 1usize..5, 1usize..5).prop_flat_map(|(m, k, n)| {
            (Just((m, k, n)), cells(2 * m * k), cells(2 * k * n), cells(2 * m * n))
        }),
    ) {
        // A sum may count what meets nothing as times zero.
        let finite: Cells = b.iter().map(|cell| cell.map(|x| if x.is_finite() { x } else { 3.0 })).collect();
        for semiring in ALL {
            let b = if semiring == Semiring::PlusTimes { &finite } else { &b };
            let pairs = |at: usize| {
                let (batch, row, col) = (at / (m * n), at / n % m, at % n);
                let a = &a;
                (0..k).filter_map(move |c| Some((a[(batch * m + row) * k + c]?, b[(batch * k + c) * n + col]?)))
            };
            let what = format!("{semiring:?}");
            let all: Vec<f64> = (0..2 * m * n).map(|at| reduced(semiring, pairs(at))).collect();
            let pick = |keep: &dyn Fn(usize) -> bool, end: usize| -> Vec<f64> {
                (0..end).filter(|&at| keep(at)).map(|at| all[at]).collect()
            };
            let (x, y, at) = (sparse(&a, [2, m, k]), sparse(b, [2, k, n]), sparse(&mask, [2, m, n]));
            let masked = pick(&|at| mask[at].is_some(), 2 * m * n);
            let whole = pick(&|at| pairs(at).next().is_some(), 2 * m * n);
            assert_same(&list::<1>(x.spgemm_masked(&y, &at, semiring).values()), &masked, &what);
            assert_same(&list::<1>(x.spgemm_semiring(&y, semiring).values()), &whole, &what);
            let [x, y, at] = [x, y, at].map(|tensor| tensor.to_csr());
            assert_same(&list::<1>(x.spgemm_masked(&y, &at, semiring).values()), &masked, &what);
            assert_same(&list::<1>(x.spgemm_semiring(&y, semiring).values()), &whole, &what);
            let one = |cells: &Cells, rows: usize, cols: usize| sparse(&cells[..rows * cols].to_vec(), [rows, cols]);
            let (x, y, at) = (one(&a, m, k), one(b, k, n), one(&mask, m, n));
            let masked = pick(&|at| mask[at].is_some(), m * n);
            assert_same(&list::<1>(x.spgemm_masked(&y, &at, semiring).values()), &masked, &what);
        }
    }

    #[test]
    fn gradients_by_a_dense_matrix(a in matrix(), at in 0usize..4, pick in 0usize..4, csr: bool) {
        let semiring = ALL[at];
        // Numbers far from each other: an extreme one stays the only one under a small step.
        let a = spread(a, 0.37);
        let x: Vec<f64> = (0..a.shape[1] * 2).map(|k| 0.913 + 0.171 * k as f64).collect();
        let x = TensorData::new(x, [a.shape[1], 2]);
        check(pick, &[a.data(), x], |xs| {
            let coo: CooTensor<2> = a.coo(xs[0].tensor());
            let x = xs[1].tensor::<2>();
            let out = if csr { coo.to_csr().matmul_semiring(x, semiring) } else { coo.matmul_semiring(x, semiring) };
            // An empty row is infinite.
            out.clamp(-1e3, 1e3)
        })?;
    }

    #[test]
    fn gradients_by_a_sparse_matrix(
        (a, b, mask) in (1usize..4, 1usize..4, 1usize..4).prop_flat_map(|(m, k, n)| {
            (plain(vec![m, k], false), plain(vec![k, n], false), plain(vec![m, n], true))
        }),
        at in 0usize..4, pick in 0usize..4, csr: bool, masked: bool,
    ) {
        let semiring = ALL[at];
        let (a, b) = (spread(a, 0.37), spread(b, 0.4142));
        check(pick, &[a.data(), b.data()], |xs| {
            let (x, y): (CooTensor<2>, CooTensor<2>) = (a.coo(xs[0].tensor()), b.coo(xs[1].tensor()));
            let own = xs[0].tensor::<1>();
            let ones = TensorData::new(mask.values.clone(), [mask.values.len()]);
            let at: CooTensor<2> = mask.coo(Tensor::from_data(ones, (&own.device().inner(), own.dtype())));
            let out: Tensor<1> = match (csr, masked) {
                (true, true) => x.to_csr().spgemm_masked(&y.to_csr(), &at.to_csr(), semiring).values(),
                (true, false) => x.to_csr().spgemm_semiring(&y.to_csr(), semiring).values(),
                (false, true) => x.spgemm_masked(&y, &at, semiring).values(),
                (false, false) => x.spgemm_semiring(&y, semiring).values(),
            };
            out.clamp(-1e3, 1e3)
        })?;
    }
}

fn matrix() -> impl Strategy<Value = Plain> {
    (1usize..4, 1usize..4).prop_flat_map(|(m, n)| plain(vec![m, n], false))
}

fn spread(mut plain: Plain, step: f64) -> Plain {
    plain.values.iter_mut().enumerate().for_each(|(k, value)| *value = ((k * 7 + 3) % 97) as f64 * step - 1.1);
    plain
}

/// Two terms tie, and one of the operands is counted twice.
#[test]
fn a_tie_is_shared() {
    let tracked = device().autodiff();
    let floats = |list: &[f32]| Tensor::<1>::from_floats(list, &tracked).require_grad();
    let grad = |leaf: &Tensor<1>, grads: &_| leaf.grad(grads).unwrap().into_data().iter::<f32>().collect::<Vec<_>>();
    let edges = [(0, 0), (0, 1), (1, 1)];
    let (values, x) = (floats(&[1.0, 3.0, 4.0]), floats(&[5.0, 3.0]));
    let a = CooTensor::from_edges(&edges, values.clone(), 2).unwrap();
    let out = a.matmul_semiring(x.clone().reshape([2, 1]), Semiring::MinPlus);
    assert_eq!(out.to_data().iter::<f32>().collect::<Vec<_>>(), [6.0, 7.0]);
    let grads = out.sum().backward();
    assert_eq!((grad(&values, &grads), grad(&x, &grads)), (vec![0.5, 0.5, 1.0], vec![0.5, 1.5]));

    // At (0, 1) the sums are 1 + 5 and 3 + 3.
    let (left, right) = (floats(&[1.0, 3.0]), floats(&[5.0, 3.0]));
    let a = CooTensor::from_edges(&[(0, 0), (0, 1)], left.clone(), 2).unwrap();
    let b = CooTensor::from_edges(&[(0, 1), (1, 1)], right.clone(), 2).unwrap();
    let grads = a.spgemm_masked(&b, &a, Semiring::MaxPlus).values::<1>().narrow(0, 1, 1).sum().backward();
    assert_eq!((grad(&left, &grads), grad(&right, &grads)), (vec![0.5; 2], vec![0.5; 2]));
}

#[test]
fn duplicates_are_summed_first_and_or_has_zero_gradients() {
    let values = Tensor::<1>::from_floats([1.0, 2.0, 4.0], &device().autodiff()).require_grad();
    let a = CooTensor::from_edges(&[(0, 1), (0, 1), (1, 0)], values.clone(), 2).unwrap();
    let x = Tensor::<2>::from_floats([[10.0], [20.0]], &device());
    let numbers = |tensor: Tensor<2>| tensor.into_data().iter::<f32>().collect::<Vec<_>>();
    assert_eq!(numbers(a.matmul_semiring(x.clone(), Semiring::MinPlus)), [23.0, 14.0]);
    let reached = a.matmul_semiring(x, Semiring::OrAnd);
    assert_eq!(numbers(reached.clone()), [1.0, 1.0]);
    let grads = reached.sum().backward();
    assert_eq!(values.grad(&grads).unwrap().into_data().iter::<f32>().collect::<Vec<_>>(), [0.0; 3]);
    let masked = a.spgemm_masked(&a, &a, Semiring::MinPlus);
    assert_eq!((masked.nnz(), masked.fill().is_undefined()), (2, true));
    assert_eq!(masked.values::<1>().into_data().iter::<f32>().collect::<Vec<_>>(), [f32::INFINITY; 2]);
}

#[test]
fn integers_start_from_their_ends() {
    let ints = |list: Vec<i64>, dtype| Tensor::<1, Int>::from_data(TensorData::new(list, [2]), &device()).cast(dtype);
    for (dtype, low, high) in [(DType::I32, i32::MIN.into(), i32::MAX.into()), (DType::I64, i64::MIN, i64::MAX)] {
        let a = CooTensor::from_edges(&[(0, 0), (0, 1)], ints(vec![3, 4], dtype), 2).unwrap();
        let none = a.narrow(0, 1, 1);
        let x = ints(vec![10, 5], dtype).reshape([2, 1]);
        let of = |a: &CooTensor<2, Int>, semiring| {
            a.matmul_semiring(x.clone(), semiring).into_data().iter::<i64>().collect::<Vec<_>>()
        };
        assert_eq!(of(&a, Semiring::MinPlus), [9, high]);
        assert_eq!(of(&a, Semiring::MaxPlus), [13, low]);
        assert_eq!(of(&a, Semiring::OrAnd), [1, 0]);
        assert_eq!((of(&none, Semiring::MinPlus), of(&none, Semiring::MaxPlus)), (vec![high], vec![low]));
    }
}

/// The number that stands for infinity is one like others: after a clamp there is room for an edge.
#[test]
fn integers_wrap_unless_they_are_clamped() {
    let ints = |list: Vec<i32>| {
        let count = list.len();
        Tensor::<1, Int>::from_data(TensorData::new(list, [count]), &device()).cast(DType::I32)
    };
    let a = CooTensor::from_edges(&[(0, 1), (1, 2)], ints(vec![1, 1]), 3).unwrap();
    let start = ints(vec![0, i32::MAX, i32::MAX]).reshape([3, 1]);
    let step = |x: Tensor<2, Int>| {
        a.matmul_semiring(x.cast(DType::I32), Semiring::MinPlus).into_data().iter::<i32>().collect::<Vec<_>>()
    };
    assert_eq!(step(start.clone()), [i32::MIN, i32::MIN, i32::MAX]);
    assert_eq!(step(start.clamp_max(i32::MAX - 1)), [i32::MAX; 3]);
}

/// Of a whole product without a gradient to the second operand nothing is made that is as long as its columns are many.
#[test]
fn columns_of_which_almost_all_are_empty() {
    let cols = 1usize << 40;
    let far = |values: Tensor<1>| {
        let indices =
            Tensor::<2, Int>::from_data(TensorData::new(vec![0i64, 1, 5, 1 << 39], [2, 2]), (&device(), DType::I64));
        CooTensor::<2>::new(indices, values, [2, cols]).unwrap()
    };
    let floats = || Tensor::<1>::from_floats([2.0, 3.0], &device());
    let a = CooTensor::<2>::from_dense(Tensor::from_floats([[1.0, 4.0]], &device()), 0);
    for semiring in ALL {
        let out = a.spgemm_semiring(&far(floats()), semiring);
        assert_eq!((out.dims(), out.nnz()), ([1, cols], 2));
    }
    let tracked = far(Tensor::from_floats([2.0, 3.0], &device().autodiff()).require_grad());
    assert_eq!(refused(a.try_spgemm_semiring(&tracked, Semiring::MinPlus)), "would_densify");
    let (b, mask) = (far(floats()), far(floats()).narrow(0, 0, 1));
    assert_eq!(refused(a.try_spgemm_masked(&b, &mask, Semiring::MinPlus)), "would_densify");
}

#[test]
fn heads_have_values_of_their_own() {
    let indices = Tensor::<2, Int>::from_data([[0, 0], [0, 1]], &device());
    let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 1.0], [0.0, 0.0]], &device()));
    let values = Tensor::<2>::from_floats([[1.0, 8.0], [4.0, 2.0]], &device());
    let heads = CooTensor::<3>::new(indices, values, [2, 2, 2]).unwrap();
    let x = Tensor::<3>::from_floats([[[1.0], [0.0]], [[1.0], [0.0]]], &device());
    let out = heads.matmul_semiring(x, Semiring::MinPlus).into_data().iter::<f32>().collect::<Vec<_>>();
    assert_eq!(out, [2.0, 2.0, f32::INFINITY, f32::INFINITY]);
    let x = Tensor::<2>::from_floats([[2.0], [3.0]], &device());
    let same = [(Semiring::PlusTimes, Reduce::Add), (Semiring::MaxTimes, Reduce::Amax)];
    for (semiring, reduce) in same {
        let [one, other] = [a.matmul_semiring(x.clone(), semiring), a.matmul_reduce(x.clone(), reduce)];
        assert_eq!(one.into_data(), other.into_data());
    }
}

fn refused<T>(result: Result<T, SparseError>) -> String {
    result.err().expect("it must be refused").kind().to_string()
}

fn refuses<P: Pattern>(a: SparseTensor<P, 2>, wide: SparseTensor<P, 2>) {
    let x = Tensor::<2>::zeros([3, 1], &device());
    assert_eq!(refused(a.try_matmul_semiring(x, Semiring::MinPlus)), "shape_mismatch");
    assert_eq!(refused(a.try_spgemm_masked(&a, &wide, Semiring::PlusTimes)), "shape_mismatch");
    assert_eq!(refused(wide.try_spgemm_masked(&a, &wide, Semiring::MinPlus)), "shape_mismatch");
    let filled = a.clone().with_fill(Fill::scalar(1.0));
    assert_eq!(refused(a.try_spgemm_masked(&filled, &a, Semiring::MinPlus)), "would_densify");
    assert_eq!(refused(wide.try_spgemm_semiring(&a, Semiring::MaxPlus)), "shape_mismatch");
}

#[test]
fn what_does_not_fit_is_refused() {
    let [a, wide] = [2, 3].map(|cols| CooTensor::<2>::from_dense(Tensor::ones([2, cols], &device()), 0));
    refuses(a.to_csr(), wide.to_csr());
    refuses(a, wide);
}
