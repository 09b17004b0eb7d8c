//! Reductions, softmax and counts on small tensors whose answers are plain to see.

use super::ints;
use burn::tensor::{Bool, DType, Device, Int, Tensor};
use sparse_tensor::ops::Reduce;
use sparse_tensor::{CooTensor, CsrTensor, Fill, SparseTensor, pattern::Pattern};

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

#[test]
fn the_fill_counts() {
    let a = matrix(Fill::scalar(2.0));
    assert_eq!(dense(&a.sum_dim(1)), [6.0, 6.0, 12.0]);
    assert_eq!(dense(&a.to_csr().sum_dim(0)), [5.0, 9.0, 10.0]);
    assert_eq!(dense(&a.mean_dim(1)), [2.0, 2.0, 4.0]);
    assert_eq!(dense(&a.prod_dim(1)), [6.0, 8.0, 50.0]);
    assert_eq!(dense(&a.min_dim(1)), [1.0, 2.0, 2.0]);
    assert_eq!(dense(&a.max_dim(0)), [2.0, 5.0, 5.0]);
    assert_eq!(list(a.sum()), [24.0]);
    assert_eq!(list(a.prod()), [75.0 * 32.0]);
    assert_eq!(list(a.max()), [5.0]);
    assert_eq!(dense(&a.sum_dims(&[0, -1])), [24.0]);
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
    let sums = matrix(Fill::Zero).to_csr().stored_sum_dim(1);
    assert!(sums.fill().is_undefined());
    assert_eq!(sums.nnz(), 2);
    assert_eq!(list(sums.values::<1>()), [4.0, 10.0]);
    assert_eq!(list(matrix(Fill::Zero).stored_mean_dim(1).values::<1>()), [2.0, 5.0]);
    assert_eq!(list(matrix(Fill::Undefined).min_dim(1).values::<1>()), [1.0, 5.0]);
}

#[test]
fn nothing_to_reduce() {
    let indices = Tensor::<2, Int>::zeros([2, 0], &device());
    let none = CooTensor::<2>::new(indices, Tensor::<1>::zeros([0], &device()), [0, 2]).unwrap();
    assert_eq!(dense(&none.sum_dim(0)), [0.0, 0.0]);
    assert_eq!(dense(&none.prod_dim(0)), [1.0, 1.0]);
    near(&dense(&none.mean_dim(0)), &[f32::NAN; 2]);
    assert_eq!(none.try_max_dim(0).unwrap_err().kind(), "empty_input");
    assert_eq!(none.try_max().unwrap_err().kind(), "empty_input");
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
fn positions() {
    let place = |a: &CooTensor<2>| ints(a.argmax(1).to_dense());
    assert_eq!(place(&matrix(Fill::Zero)), [2, 0, 1]);
    assert_eq!(place(&matrix(Fill::scalar(9.0))), [1, 0, 0]);
    assert_eq!(place(&matrix(Fill::scalar(3.0))), [1, 0, 1]);
    assert_eq!(ints(matrix(Fill::Zero).to_csr().argmin(1).to_dense()), [1, 0, 0]);
    assert_eq!(ints(matrix(Fill::Zero).argmax(0).to_dense()), [0, 2, 2]);
    assert_eq!(ints(matrix(Fill::Undefined).argmin(1).values::<1>()), [0, 1]);
}

#[test]
fn counts() {
    let a = matrix(Fill::Zero);
    assert_eq!(a.count_stored(), 4);
    assert_eq!(ints(a.row_counts()), [2, 0, 2]);
    assert_eq!(ints(a.to_csr().col_counts()), [1, 1, 2]);
    assert_eq!(ints(a.count_nonzero()), [4]);
    assert_eq!(ints(a.with_fill(Fill::scalar(1.0)).count_nonzero()), [9]);
}

#[test]
fn counts_along_any_axes() {
    let a = matrix(Fill::Zero);
    for axis in [1, -1] {
        let counts = a.count_stored_dims(&[axis]);
        assert_eq!((counts.dims(), ints(counts.to_dense())), ([3, 1], vec![2, 0, 2]));
    }
    assert_eq!(ints(a.to_csr().count_stored_dims(&[0]).to_dense()), [1, 1, 2]);
    assert_eq!(ints(a.count_stored_dims(&[0, 1]).to_dense()), [4]);
    assert_eq!(ints(a.count_stored_dims(&[0; 0]).to_dense()), [1, 0, 1, 0, 0, 0, 0, 1, 1]);
    assert_eq!(a.try_count_stored_dims(&[0, -2]).unwrap_err().kind(), "shape_mismatch");
    assert_eq!(a.try_count_stored_dims(&[2]).unwrap_err().kind(), "axis_out_of_range");
    // Blocks of two, one of them twice.
    let indices = Tensor::<2, Int>::from_ints([[2, 0, 2]], &device());
    let hybrid = CooTensor::<2>::new(indices, Tensor::<2>::ones([3, 2], &device()), [3, 2]).unwrap();
    assert_eq!(ints(hybrid.count_stored_dims(&[1]).to_dense()), [2, 0, 2]);
    assert_eq!(ints(hybrid.count_stored_dims(&[0]).to_dense()), [2, 2]);
    let batch = a.to_csr().unsqueeze_dim::<3>(0);
    assert_eq!(ints(batch.count_stored_dims(&[0, 2]).to_dense()), [2, 0, 2]);
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

#[test]
fn any_and_all() {
    let mask = Tensor::<2, Bool>::from_bool([[true, false], [true, true]], &device());
    let mask = CsrTensor::<2, Bool>::from_dense(mask);
    let bools = |tensor: Tensor<2, Bool>| tensor.into_data().iter::<bool>().collect::<Vec<_>>();
    assert_eq!(bools(mask.any_dim(0).to_dense()), [true, true]);
    assert_eq!(bools(mask.all_dim(1).to_dense()), [false, true]);
    assert!(mask.any().into_scalar::<bool>());
    assert!(!mask.all().into_scalar::<bool>());
    assert!(mask.clone().with_fill(Fill::scalar(true)).all().into_scalar::<bool>());
}

#[test]
fn integers() {
    let indices = Tensor::<2, Int>::from_ints([[0, 0, 1], [0, 2, 1]], &device());
    let a = CooTensor::<2, Int>::new(indices, Tensor::<1, Int>::from_ints([4, -7, 2], &device()), [2, 3]).unwrap();
    assert_eq!(ints(a.sum_dim(1).to_dense()), [-3, 2]);
    assert_eq!(ints(a.max_dim(1).to_dense()), [4, 2]);
    assert_eq!(ints(a.clone().with_fill(Fill::scalar(3)).prod_dim(1).to_dense()), [-84, 18]);
    assert_eq!(ints(a.prod_dim(0).to_dense()), [0, 0, 0]);
}

#[test]
fn softmax_with_a_fill() {
    // The roadmap's example: the answer's fill is an array.
    let indices = Tensor::<2, Int>::from_ints([[1]], &device());
    let values = Tensor::<2>::from_floats([[0.0, 0.0]], &device());
    let a = CooTensor::<2>::new(indices, values, [4, 2]).unwrap();
    near(&dense(&a.softmax(0)), &[0.25; 8]);
    near(&dense(&a.softmax(1)), &[0.5; 8]);
    assert_eq!(matrix(Fill::Zero).try_softmax(1).unwrap_err().kind(), "would_densify");
    let rows = matrix(Fill::Undefined).to_csr().softmax(1);
    near(&list(rows.stored_sum_dim(1).values::<1>()), &[1.0; 2]);
}

#[test]
fn messages() {
    let a = matrix(Fill::Zero).to_csr();
    let x = Tensor::<2>::from_floats([[1.0], [2.0], [3.0]], &device());
    assert_eq!(list(a.matmul_reduce(x.clone(), Reduce::Mean)), [5.0, 0.0, 12.5]);
    assert_eq!(list(a.matmul_reduce(x.clone(), Reduce::Amax)), [9.0, 0.0, 15.0]);
    assert_eq!(list(a.matmul_reduce(x.clone(), Reduce::Amin)), [1.0, 0.0, 10.0]);
    assert_eq!(a.try_matmul_reduce(x, Reduce::Assign).unwrap_err().kind(), "invalid");
}

#[test]
fn wrong_axes() {
    let a = matrix(Fill::Zero);
    assert_eq!(a.try_sum_dim(2).unwrap_err().kind(), "axis_out_of_range");
    assert_eq!(a.try_sum_dims(&[0, -2]).unwrap_err().kind(), "shape_mismatch");
    assert_eq!(a.try_norm(0.0).unwrap_err().kind(), "invalid");
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

#[test]
fn over_several_axes_and_stored_ones() {
    let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[3.0, 0.0], [-4.0, 2.0]], &device()));
    let one = |tensor: Tensor<1>| tensor.into_scalar::<f32>();
    let all: &[isize] = &[0, -1];
    assert_eq!(list(a.norm_dims(2.0, all).to_dense()), [29f32.sqrt()]);
    assert_eq!(list(a.norm_dims(f64::INFINITY, all).to_dense()), [4.0]);
    let filled = a.clone().with_fill(Fill::scalar(9.0));
    assert_eq!(list(filled.stored_max_dims(all).to_dense_or(0)), [3.0]);
    assert_eq!([one(filled.stored_sum()), one(filled.stored_mean())], [1.0, 1.0 / 3.0]);
    assert_eq!([one(filled.stored_prod()), one(filled.stored_min()), one(filled.stored_max())], [-24.0, -4.0, 3.0]);
    let mask = a.greater_elem(0.0);
    assert!(mask.any_dims(all).to_dense().into_scalar::<bool>());
    assert!(!mask.all_dims(all).to_dense().into_scalar::<bool>());
    assert!(a.try_norm_dims(2.0, &[0, 0]).is_err());
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
