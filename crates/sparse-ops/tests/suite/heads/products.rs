//! Products, sampled products and reductions, head by head.

use super::*;
use sparse_tensor::ops::{Reduce, head_sddmm};

#[test]
fn a_product_is_the_sum_over_the_row_head_by_head() {
    let (device, types) = under_test();
    for (shape, &dtype) in SHAPES.iter().flat_map(|&shape| types.iter().map(move |dtype| (shape, dtype))) {
        layouts(shape, &device, |case, layout| {
            let values = case.values_at(dtype, &device).require_grad();
            let dense = case.dense_at(dtype, &device).require_grad();
            let out: Tensor<3> = each!(layout, edges => heads(&edges.detach(), values.clone()).matmul(dense.clone()));
            assert_eq!(out.dims(), [case.m, case.heads, case.f]);
            let grads = (out.clone() * case.other_at(dtype, &device)).sum().backward();
            let [want, d_values, d_dense] = case.product();
            same(list(out), &want, dtype, "the product");
            same(list(values.grad(&grads).unwrap()), &d_values, dtype, "the gradient of the values");
            same(list(dense.grad(&grads).unwrap()), &d_dense, dtype, "the gradient of the dense operand");
        });
    }
}

#[test]
fn sampled_products_of_heads_are_dot_products() {
    let (device, types) = under_test();
    for (shape, &dtype) in SHAPES.iter().flat_map(|&shape| types.iter().map(move |dtype| (shape, dtype))) {
        layouts(shape, &device, |case, layout| {
            let x = case.other_at(dtype, &device).require_grad();
            let y = case.dense_at(dtype, &device).require_grad();
            let out: Tensor<2> = each!(layout, edges => head_sddmm(x.clone(), y.clone(), &edges).values());
            let grads = (out.clone() * case.values_at(dtype, &device)).sum().backward();
            let [want, d_x, d_y] = case.sampled();
            same(list(out), &want, dtype, "the products");
            same(list(x.grad(&grads).unwrap()), &d_x, dtype, "the gradient of x");
            same(list(y.grad(&grads).unwrap()), &d_y, dtype, "the gradient of y");
        });
    }
}

/// One head of a tensor with a dense dim, and of dense operands.
fn head<P: Pattern>(a: &SparseTensor<P, 3>, x: &Tensor<3>, h: usize) -> (SparseTensor<P, 2>, Tensor<2>) {
    (a.narrow(2, h, 1).squeeze_dim::<2>(2), x.clone().narrow(1, h, 1).squeeze_dim(1))
}

#[test]
fn other_reductions_are_those_of_each_head() {
    let (device, types) = under_test();
    let few = [(1, 5), (3, 1), (2, 3), (8, 8)];
    for (shape, &dtype) in few.iter().flat_map(|&shape| types.iter().map(move |dtype| (shape, dtype))) {
        for reduce in [Reduce::Add, Reduce::Mean, Reduce::Mul, Reduce::Amax, Reduce::Amin] {
            layouts(shape, &device, |case, layout| {
                let values = case.values_at(dtype, &device).require_grad();
                let dense = case.dense_at(dtype, &device).require_grad();
                each!(layout, edges => {
                    let edges = edges.detach();
                    let out: Tensor<3> = heads(&edges, values.clone()).matmul_reduce(dense.clone(), reduce);
                    let a = heads(&edges, values.clone());
                    let parts = (0..case.heads).map(|h| {
                        let (a, x) = head(&a, &dense, h);
                        a.matmul_reduce(x, reduce).unsqueeze_dim::<3>(1)
                    });
                    let want: Tensor<3> = Tensor::cat(parts.collect(), 1);
                    same(list(out.clone()), &list(want.clone()), dtype, reduce.name());
                    let other = case.other_at(dtype, &device);
                    let [got, want] = [out, want].map(|out| (out * other.clone()).sum().backward());
                    let of = |grads: &_, leaf: &Tensor<2>| list(leaf.grad(grads).unwrap());
                    same(of(&got, &values), &of(&want, &values), dtype, "the gradient of the values");
                    let of = |grads: &_, leaf: &Tensor<3>| list(leaf.grad(grads).unwrap());
                    same(of(&got, &dense), &of(&want, &dense), dtype, "the gradient of the dense operand");
                });
            });
        }
    }
}

#[test]
fn messages_with_weights_of_their_own() {
    let (device, dtype) = (under_test().0, FloatDType::F32);
    let case = Case::new(3, (6, 1));
    let edges = case.coo(&device).to_csr();
    let values = case.values_at(dtype, &device).reshape([case.nnz(), 2, 3]);
    let a: CsrTensor<4> = edges.with_head_values(values);
    let dense = case.dense_at(dtype, &device).reshape([case.n, 2, 3]);
    assert_eq!(a.dims(), [case.m, case.n, 2, 3]);
    let out: Tensor<3> = a.matmul(dense.clone());
    assert_eq!(out.dims(), [case.m, 2, 3]);
    same(list(out), &case.product()[0], dtype, "messages");
    let most = a.matmul_reduce(dense.clone(), Reduce::Amax);
    let want = a.matmul_reduce(dense.unsqueeze_dim::<4>(3), Reduce::Amax);
    assert_eq!(list(most), list(want));
}
