//! Reductions, softmax and counts on small tensors whose answers are plain to see.

use super::ints;
use burn::tensor::{Bool, DType, Device, Int, Tensor};
use sparse_tensor::{CooTensor, Fill, SparseTensor, pattern::Pattern};

fn device() -> Device {
    Device::flex()
}

/// `[[1, -, 3], [-, -, -], [-, 5, 5]]`.
fn matrix(fill: Fill) -> CooTensor<2> {
    let indices = Tensor::<2, Int>::from_ints([[0, 0, 2, 2], [0, 2, 1, 2]], &device());
    let values = Tensor::<1>::from_floats([1.0, 3.0, 5.0, 5.0], &device());
    CooTensor::new(indices, values, [3, 3]).unwrap().with_fill(fill)
}

fn list<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

/// As many numbers, each within rounding; NaN equals NaN.
fn near(got: &[f32], want: &[f32]) {
    let close = |(got, want): (&f32, &f32)| (got - want).abs() < 1e-6 || (got.is_nan() && want.is_nan());
    assert!(got.len() == want.len() && got.iter().zip(want).all(close), "got {got:?}, want {want:?}");
}

fn dense<P: Pattern>(tensor: &SparseTensor<P, 2>) -> Vec<f32> {
    list(tensor.to_dense())
}

/// A zero fill makes a product zero, whatever the stored elements' own product is; not beside an infinity.
#[test]
fn products_beside_zeros() {
    let indices = Tensor::<2, Int>::from_ints([[0, 0, 0, 1, 1], [0, 2, 3, 0, 1]], &device());
    let values = Tensor::<1>::from_floats([1e30, 1e30, 1e30, f32::INFINITY, 2.0], &device());
    let a = CooTensor::<2>::new(indices, values, [2, 4]).unwrap();
    near(&dense(&a.prod_dim(1)), &[0.0, f32::NAN]);
    near(&dense(&a.to_csr().prod_dim(1)), &[0.0, f32::NAN]);
    assert_eq!(list(a.narrow(0, 0, 1).prod()), [0.0]);
    let blocks = CooTensor::<2>::from_dense(Tensor::from_floats([[1e30, 1e30], [0.0, 0.0]], &device()), 1);
    assert_eq!(list(blocks.prod()), [0.0]);
    assert_eq!(dense(&blocks.prod_dim(0)), [0.0, 0.0]);
}

#[test]
fn stored_only() {
    let sums = matrix(Fill::Zero).to_csr().stored().sum_dim(1);
    assert!(sums.fill().is_undefined());
    assert_eq!(sums.nnz(), 2);
    assert_eq!(list(sums.values::<1>()), [4.0, 10.0]);
    assert_eq!(list(matrix(Fill::Zero).stored().mean_dim(1).values::<1>()), [2.0, 5.0]);
    assert_eq!(list(matrix(Fill::Undefined).min_dim(1).values::<1>()), [1.0, 5.0]);
}

#[test]
fn nothing_to_reduce() {
    let indices = Tensor::<2, Int>::zeros([2, 0], &device());
    let none = CooTensor::<2>::new(indices, Tensor::<1>::zeros([0], &device()), [0, 2]).unwrap();
    assert_eq!(dense(&none.sum_dim(0)), [0.0, 0.0]);
    assert_eq!(dense(&none.prod_dim(0)), [1.0, 1.0]);
    near(&dense(&none.mean_dim(0)), &[f32::NAN; 2]);
    assert_eq!(list(none.sum()), [0.0]);
    assert_eq!(list(none.prod()), [1.0]);
    assert_eq!(list(none.norm(f64::INFINITY)), [0.0]);
    let rows = none.sum_dim(1);
    assert_eq!(rows.dims(), [0, 1]);
}

#[test]
fn ties_share_evenly_with_the_fill() {
    let device = device().autodiff();
    let values = Tensor::<1>::from_floats([1.0, 3.0, 5.0, 5.0], &device).require_grad();
    let fill = Tensor::<1>::from_floats([3.0], &device).require_grad();
    let a = matrix(Fill::Zero).with_values(values.clone()).with_fill(Fill::tensor(fill.clone()));
    // Row 0 is [1, 3, 3] with one 3 unspecified, row 1 [3, 3, 3], row 2 [3, 5, 5].
    let grads = a.max_dim(1).to_dense().sum().backward();
    assert_eq!(list(values.grad(&grads).unwrap()), [0.0, 0.5, 0.5, 0.5]);
    assert_eq!(list(fill.grad(&grads).unwrap()), [1.5]);
}

#[test]
fn argmax_is_the_first_of_equal_elements_and_of_the_fill() {
    let place = |a: &CooTensor<2>| ints(a.argmax(1).to_dense());
    assert_eq!(place(&matrix(Fill::Zero)), [2, 0, 1]);
    assert_eq!(place(&matrix(Fill::scalar(9.0))), [1, 0, 0]);
    assert_eq!(place(&matrix(Fill::scalar(3.0))), [1, 0, 1]);
    assert_eq!(ints(matrix(Fill::Zero).to_csr().argmin(1).to_dense()), [1, 0, 0]);
    assert_eq!(ints(matrix(Fill::Zero).argmax(0).to_dense()), [0, 2, 2]);
    assert_eq!(ints(matrix(Fill::Undefined).argmin(1).values::<1>()), [0, 1]);
}

/// Along no axis each element counts itself.
#[test]
fn counts_along_no_axis() {
    let counts = matrix(Fill::Zero).stored().count_dims(&[0; 0]);
    assert_eq!(ints(counts.to_dense()), [1, 0, 1, 0, 0, 0, 0, 1, 1]);
}

/// Reductions with a sparse result need no memory for a long dim. Those with a number for each index refuse it.
#[test]
fn long_dims() {
    let long = 1usize << 40;
    let matrix = |device: &Device, size: [usize; 2]| {
        let indices = Tensor::<2, Int>::from_ints([[1, 3, 3], [2, 3, 7]], &device.clone().inner());
        CooTensor::<2>::new(indices, Tensor::<1>::from_floats([3.0, -4.0, 5.0], device), size).unwrap()
    };
    let a = matrix(&device(), [long, long]);
    assert_eq!(list(a.trace()), [-4.0]);
    assert_eq!(list(a.clone().with_fill(Fill::scalar(2.0)).trace()), [2.0 * long as f32]);
    assert_eq!(list(a.top_k_rows(1).values::<1>()), [3.0, 5.0]);
    assert_eq!(a.try_row_sums().unwrap_err().kind(), "would_densify");
    assert_eq!(a.try_col_sums().unwrap_err().kind(), "would_densify");
    assert_eq!(a.try_row_counts().unwrap_err().kind(), "would_densify");
    assert_eq!(a.try_col_counts().unwrap_err().kind(), "would_densify");
    assert_eq!(a.try_diagonal().unwrap_err().kind(), "would_densify");
    assert_eq!(a.try_add_self_loops(1.0).unwrap_err().kind(), "would_densify");
    let device = device().autodiff();
    let [left, right] = [[4, 8], [8, long]].map(|size| matrix(&device, size).require_grad());
    assert_eq!(left.try_matmul(&right).unwrap_err().kind(), "would_densify");
}

/// A trace without a stored element has a gradient of zero.
#[test]
fn trace_of_what_is_off_the_diagonal() {
    let indices = Tensor::<2, Int>::from_ints([[0, 1], [1, 0]], &device());
    let values = Tensor::<1>::from_floats([3.0, 4.0], &device().autodiff());
    let a = CooTensor::<2>::new(indices, values, [2, 2]).unwrap().with_fill(Fill::scalar(0.5)).require_grad();
    let trace = a.trace();
    assert_eq!(list(trace.clone()), [1.0]);
    let grad = a.grad(&trace.backward()).expect("the trace is tracked").values::<1>();
    assert_eq!(list(grad), [0.0, 0.0]);
}

#[test]
fn counts_beyond_32_bits() {
    let far = |size: usize| {
        let indices = Tensor::<2, Int>::from_ints([[1, 0], [2, 3]], &device());
        CooTensor::<2>::new(indices, Tensor::<1>::from_floats([0.0, 1.0], &device()), [size, size]).unwrap()
    };
    let filled = |size: usize| far(size).with_fill(Fill::scalar(2.0));
    assert_eq!(ints(filled(100_000).count_nonzero()), [9_999_999_999]);
    let block = Fill::tensor(Tensor::<1>::from_floats([2.0], &device()));
    assert_eq!(ints(far(100_000).with_fill(block).count_nonzero()), [9_999_999_999]);
    assert_eq!(ints(far(1 << 40).count_nonzero()), [1]);
    assert_eq!(filled(1 << 40).try_count_nonzero().unwrap_err().kind(), "overflow");
    // Not a number of the dtype: it is zero there.
    assert_eq!(ints(far(1 << 40).with_fill(Fill::scalar(1e-60)).count_nonzero()), [1]);
}

/// With a fill in a tensor, which the host does not know, and of nothing.
#[test]
fn any_and_all() {
    let mask = Tensor::<2, Bool>::from_bool([[true, false], [true, true]], &device());
    let bools = |tensor: Tensor<2, Bool>| tensor.into_data().iter::<bool>().collect::<Vec<_>>();
    let none = CooTensor::<2, Bool>::zeros([2, 2], &device());
    for a in [CooTensor::from_dense(mask, 0), none] {
        for fill in [true, false] {
            let a = a.clone().with_fill(Fill::tensor(Tensor::<1, Bool>::from_data([fill], &device())));
            let dense = a.to_dense();
            assert_eq!(a.any().into_scalar::<bool>(), dense.clone().any().into_scalar::<bool>());
            assert_eq!(a.all().into_scalar::<bool>(), dense.clone().all().into_scalar::<bool>());
            for dim in 0..2 {
                assert_eq!(bools(a.any_dim(dim).to_dense()), bools(dense.clone().any_dim(dim)));
                assert_eq!(bools(a.all_dim(dim).to_dense()), bools(dense.clone().all_dim(dim)));
            }
        }
    }
    let thin = CooTensor::<2, Bool>::zeros([0, 3], &device());
    assert_eq!(bools(thin.any_dim(0).to_dense()), [false; 3]);
    assert_eq!(bools(thin.all_dim(0).to_dense()), [true; 3]);
}

#[test]
fn softmax_with_a_fill() {
    // The roadmap's example: the answer's fill is an array.
    let indices = Tensor::<2, Int>::from_ints([[1]], &device());
    let values = Tensor::<2>::from_floats([[0.0, 0.0]], &device());
    let a = CooTensor::<2>::new(indices, values, [4, 2]).unwrap();
    near(&dense(&a.softmax(0)), &[0.25; 8]);
    near(&dense(&a.softmax(1)), &[0.5; 8]);
    let rows = matrix(Fill::Undefined).to_csr().softmax(1);
    near(&list(rows.stored().sum_dim(1).values::<1>()), &[1.0; 2]);
}

#[test]
fn lines_longer_than_anything_stored() {
    let indices = Tensor::<2, Int>::from_ints([[0, 5], [7, 9]], &device());
    let values = Tensor::<1>::from_floats([2.0, 3.0], &device());
    let a = CooTensor::<2>::new(indices, values, [1_000_000, 1_000_000]).unwrap();
    assert_eq!(a.sum_dim(1).nnz(), 2);
    assert_eq!(list(a.max()), [3.0]);
    assert_eq!(list(a.prod()), [0.0]);
    assert_eq!(list(a.norm(1.0)), [5.0]);
}

/// A fill to a large power: that of the element it is, the f32 after 1.
#[test]
fn powers_of_a_fill() {
    let none = CooTensor::<1>::zeros([10_000_000], (&device(), DType::F32)).with_fill(Fill::scalar(1.0000001));
    let want = (1e7 * f64::from(f32::EPSILON).ln_1p()).exp() as f32;
    let got = list(none.prod())[0];
    assert!((got - want).abs() < 1e-2 * want, "{got} and {want}");
}

/// Counts and sums that f16 does not hold in between.
#[test]
fn many_elements_in_f16() {
    let device = Device::flex().autodiff();
    let count = 70_000;
    let indices = Tensor::<1, Int>::arange(0..count, &device.clone().inner()).reshape([1, count]);
    let of = |value: f32| {
        let values = Tensor::<1>::full([count as usize], value, (&device, DType::F16));
        CooTensor::<1>::new(indices.clone(), values, [80_000]).unwrap().require_grad()
    };
    let a = of(1.0);
    let grads = a.max().backward();
    let shares = list(a.grad(&grads).unwrap().values::<1>());
    assert!(shares.iter().all(|share| (share * count as f32 - 1.0).abs() < 1e-2), "{:?}", shares[0]);
    // 0.1 in f16 is 0.099975586, and numbers beside the sum are 4 apart.
    let sum = of(0.1).sum();
    assert_eq!(sum.dtype(), DType::F16);
    assert_eq!(list(sum), [7000.0]);
}
