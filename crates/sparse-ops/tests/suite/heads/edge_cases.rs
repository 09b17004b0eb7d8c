//! Sizes of 0, errors, the operations around products, and bits that stay the same.

use super::*;
use sparse_tensor::ops::{Reduce, head_sddmm};

#[test]
fn sizes_of_zero() {
    let device = under_test().0;
    for (m, n, heads, f) in [(3, 4, 2, 5), (0, 4, 2, 5), (3, 0, 2, 5), (3, 4, 0, 5), (3, 4, 2, 0), (3, 4, 0, 0)] {
        let none: CsrTensor<2> = CsrTensor::zeros([m, n], &device);
        let values = Tensor::<2>::zeros([0, heads], &device).require_grad();
        let a: CsrTensor<3> = none.with_head_values(values);
        let x = Tensor::<3>::ones([n, heads, f], &device).require_grad();
        let out: Tensor<3> = a.matmul(x.clone());
        assert_eq!(out.dims(), [m, heads, f]);
        assert_eq!(out.clone().sum().into_scalar::<f32>(), 0.0);
        for reduce in [Reduce::Mean, Reduce::Amax, Reduce::Mul] {
            assert_eq!(a.matmul_reduce(x.clone(), reduce).dims(), [m, heads, f]);
        }
        let scores = head_sddmm(Tensor::<3>::ones([m, heads, f], &device), x.clone(), &none);
        assert_eq!((scores.dims(), scores.nnz()), ([m, n, heads], 0));
        let batch = Tensor::<4>::ones([2, n, heads, f], &device);
        assert_eq!(a.matmul(batch).dims(), [2, m, heads, f]);
        let nothing = Tensor::<4>::ones([0, n, heads, f], &device);
        assert_eq!(a.matmul(nothing).dims(), [0, m, heads, f]);
    }
    // Elements without heads, and heads without features.
    let edges = Case::new(1, (1, 1)).coo(&device).to_csr();
    let a: CsrTensor<3> = edges.with_head_values(Tensor::<2>::ones([edges.nnz(), 0], &device));
    assert_eq!(a.matmul(Tensor::<3>::ones([6, 0, 4], &device)).dims(), [7, 0, 4]);
    let scores = head_sddmm(Tensor::<3>::ones([7, 3, 0], &device), Tensor::ones([6, 3, 0], &device), &edges);
    assert_eq!(list(scores.values::<2>()), vec![0.0; edges.nnz() * 3]);
}

#[test]
fn errors_name_both_shapes() {
    let device = Device::flex();
    let edges = Case::new(1, (1, 1)).coo(&device).to_csr();
    let a: CsrTensor<3> = edges.with_head_values(Tensor::<2>::ones([edges.nnz(), 4], &device));
    let ones = |shape: [usize; 3]| Tensor::<3>::ones(shape, &device);
    let kind = |result: Result<Tensor<3>, SparseError>| result.unwrap_err().kind();
    assert_eq!(kind(a.try_matmul(ones([5, 4, 2]))), "shape_mismatch");
    assert_eq!(kind(a.try_matmul(ones([6, 3, 2]))), "shape_mismatch");
    assert_eq!(kind(a.try_matmul_reduce(ones([6, 3, 2]), Reduce::Amax)), "shape_mismatch");
    assert_eq!(kind(a.try_matmul(ones([6, 4, 2]).cast(FloatDType::F64))), "dtype_mismatch");
    assert_eq!(
        a.try_matmul_reduce(Tensor::<1>::ones([6], &device), Reduce::Mean).unwrap_err().kind(),
        "shape_mismatch"
    );
    let wrong = |x: [usize; 3], y: [usize; 3]| head_sddmm_kind(x, y, &edges);
    assert_eq!(wrong([6, 2, 3], [6, 2, 3]), "shape_mismatch");
    assert_eq!(wrong([7, 2, 3], [6, 2, 4]), "shape_mismatch");
    assert_eq!(wrong([7, 2, 3], [6, 3, 3]), "shape_mismatch");
    // Ranks.
    let three: Result<CsrTensor<4>, _> = edges.try_with_head_values(Tensor::<2>::ones([edges.nnz(), 4], &device));
    assert_eq!(three.unwrap_err().kind(), "shape_mismatch");
    let short: Result<CsrTensor<3>, _> = edges.try_with_head_values(Tensor::<2>::ones([1, 4], &device));
    assert_eq!(short.unwrap_err().kind(), "length_mismatch");
    let few = Tensor::<2>::ones([edges.nnz(), 2], &device);
    let pattern = edges.pattern().clone();
    assert_eq!(CsrTensor::<2>::from_pattern(pattern.clone(), few.clone()).unwrap_err().kind(), "shape_mismatch");
    assert_eq!(CsrTensor::<3>::from_pattern(pattern, few).unwrap().dims(), [7, 6, 2]);
    let block = a.with_fill(Fill::tensor(Tensor::<1>::ones([4], &device)));
    let other: Result<CsrTensor<3>, _> = block.try_with_head_values(Tensor::<2>::ones([edges.nnz(), 3], &device));
    assert_eq!(other.unwrap_err().kind(), "shape_mismatch");
}

fn head_sddmm_kind(x: [usize; 3], y: [usize; 3], mask: &CsrTensor<2>) -> &'static str {
    let device = Device::flex();
    let (x, y) = (Tensor::<3>::ones(x, &device), Tensor::<3>::ones(y, &device));
    sparse_tensor::ops::try_head_sddmm(x, y, mask).unwrap_err().kind()
}

/// Compressed rows with dense dims in the operations around products.
#[test]
fn compressed_rows_have_dense_dims() {
    let device = Device::flex();
    let case = Case::new(2, (4, 1));
    let coo = case.coo(&device);
    let values = ascending([case.nnz(), 4], &device);
    let a: CooTensor<3> = coo.with_head_values(values.clone());
    let b = a.to_csr();
    assert_eq!((b.dims(), b.sparse_dims(), b.dense_dims()), ([7, 6, 4], 2, 1));
    let dense = list(a.to_dense());
    assert_eq!(list(b.to_dense()), dense);
    assert_eq!(list(b.to_coo().to_dense()), dense);
    assert_eq!(list(b.sum_dim(1).to_dense()), list(a.to_dense().sum_dim(1)));
    assert_eq!(list(b.narrow(0, 1, 3).to_dense()), list(a.to_dense().narrow(0, 1, 3)));
    assert_eq!(list((b.clone() + b.clone()).to_dense()), list(a.to_dense() * 2.0));
    let joined = sparse_tensor::ops::concat(&[b.clone(), b.clone()], 0);
    assert_eq!(list(joined.to_dense()), list(Tensor::cat(vec![a.to_dense(), a.to_dense()], 0)));
    let head: CsrTensor<2> = b.narrow(2, 1, 1).squeeze_dim(2);
    assert_eq!(list(head.to_dense()), list(a.to_dense().narrow(2, 1, 1).squeeze_dim::<2>(2)));
    // A product with the transpose, and one added.
    let x = ascending([7, 4, 3], &device);
    let turned: CsrTensor<3> = b.swap_dims(0, 1);
    let back: CooTensor<3> = a.swap_dims(0, 1);
    assert_eq!(list(turned.matmul(x.clone())), list(back.matmul(x)));
    let x = ascending([6, 4, 3], &device);
    let bias = ascending([1, 1, 3], &device);
    let want = b.matmul(x.clone()).mul_scalar(2.0) + bias.clone().mul_scalar(0.5);
    same(list(b.addmm(0.5, bias, 2.0, x)), &list(want), FloatDType::F32, "addmm");
}

#[test]
fn the_same_bits_every_time() {
    let (device, _) = under_test();
    let mut rng = StdRng::seed_from_u64(1);
    let mut numbers = |shape: [usize; 3]| {
        let list: Vec<f64> = (0..shape.iter().product()).map(|_| rng.random_range(-1.0..1.0)).collect();
        tensor(&list, shape, FloatDType::F32, &device)
    };
    let (n, nnz) = (500, 20_000);
    let (x, y, values) = (numbers([n, 8, 8]), numbers([n, 8, 8]), numbers([1, nnz, 8]));
    let at: Vec<i64> = (0..2 * nnz).map(|k| ((k * 7919 + k / 13) % n) as i64).collect();
    let at = Tensor::<2, Int>::from_data(TensorData::new(at, [2, nnz]), &device.clone().inner());
    let edges = CooTensor::<2>::new(at, Tensor::<1>::ones([nnz], &device), [n, n]).unwrap();
    let run = || {
        let (x, y) = (x.clone().require_grad(), y.clone().require_grad());
        let values = values.clone().squeeze_dim::<2>(0);
        let scores = head_sddmm(x.clone(), y.clone(), &edges).values::<2>() + values;
        let a: CooTensor<3> = edges.with_head_values(scores).with_fill(Fill::Undefined);
        let out: Tensor<3> = a.softmax(1).matmul(y.clone());
        let grads = (out.clone() * out.clone()).sum().backward();
        [list(out), list(x.grad(&grads).unwrap()), list(y.grad(&grads).unwrap())]
    };
    let first = run();
    (0..3).for_each(|_| assert!(run() == first));
}
