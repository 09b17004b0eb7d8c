//! Batches of dense operands for one pattern, and sizes of 1.

use super::*;
use sparse_tensor::ops::{Reduce, head_sddmm};

/// The leading dims of the operand of higher rank are a batch; sizes of 1 broadcast.
#[test]
fn dense_operands_of_a_batch_share_the_pattern() {
    let device = under_test().0;
    let case = Case::new(5, (1, 1));
    let a = case.coo(&device).to_csr().mul_scalar(0.5);
    let (m, n) = (case.m, case.n);
    let dense: Tensor<3> = a.to_dense().unsqueeze_dim(0);
    for batch in [1, 4] {
        let x = ascending([batch, n, 3], &device);
        let want = dense.clone().expand([batch, m, n]).matmul(x.clone());
        same(list(a.matmul(x.clone())), &list(want.clone()), FloatDType::F32, "a batch of dense operands");
        // A batch of one matrix, and its fill.
        let one: CsrTensor<3> = a.unsqueeze_dim(0);
        same(list(one.matmul(x.clone())), &list(want.clone()), FloatDType::F32, "a batch of one matrix");
        let filled = one.with_fill(Fill::scalar(0.5)).matmul(x.clone());
        let all = a.clone().with_fill(Fill::scalar(0.5)).to_dense().unsqueeze_dim::<3>(0).expand([batch, m, n]);
        same(list(filled), &list(all.matmul(x.clone())), FloatDType::F32, "a batch with a fill");
        let mean = a.matmul_reduce(x.clone(), Reduce::Mean);
        assert_eq!(mean.dims(), [batch, m, 3]);
        for b in 0..batch {
            let own = a.matmul_reduce(x.clone().narrow(0, b, 1).squeeze_dim::<2>(0), Reduce::Mean);
            same(list(mean.clone().narrow(0, b, 1)), &list(own), FloatDType::F32, "a mean");
        }
        // From the left.
        let y = ascending([batch, 2, m], &device);
        let left = y.clone().matmul(dense.clone().expand([batch, m, n]));
        same(list(a.rmatmul(y)), &list(left), FloatDType::F32, "dense x sparse");
    }
    let x = ascending([2, 3, n, 2], &device);
    let out: Tensor<4> = a.matmul(x.clone());
    let want = dense.clone().unsqueeze_dim::<4>(0).expand([2, 3, m, n]).matmul(x);
    same(list(out), &list(want), FloatDType::F32, "two leading dims");
    let v = ascending([m], &device);
    same(
        list(a.rmatmul(v.clone())),
        &list(v.unsqueeze_dim::<2>(0).matmul(a.to_dense())),
        FloatDType::F32,
        "vector x sparse",
    );
    // One dense operand for a batch of matrices.
    let several: CsrTensor<3> = sparse_tensor::ops::stack(&[a.clone(), a.mul_scalar(3.0)], 0);
    let x = ascending([1, n, 3], &device);
    let want = several.to_dense().matmul(x.clone().expand([2, n, 3]));
    same(list(several.matmul(x)), &list(want), FloatDType::F32, "one operand for a batch");
    let x = ascending([4, 1, n, 3], &device);
    let out: Tensor<4> = several.matmul(x.clone());
    let want = several.to_dense().unsqueeze_dim::<4>(0).expand([4, 2, m, n]).matmul(x.expand([4, 2, n, 3]));
    same(list(out), &list(want), FloatDType::F32, "a batch of operands for a batch");
    let columns = ascending([2, n], &device);
    let out: Tensor<2> = several.matmul(columns.clone());
    let want = several.to_dense().matmul(columns.unsqueeze_dim::<3>(2));
    same(list(out), &list(want), FloatDType::F32, "a vector for each matrix");
    let y = ascending([1, 3, m], &device);
    let want = y.clone().expand([2, 3, m]).matmul(several.to_dense());
    same(list(several.rmatmul(y)), &list(want), FloatDType::F32, "one left operand for a batch");
}

/// A batch for a tensor with heads; heads, and parts of them, that broadcast.
#[test]
fn heads_broadcast() {
    let device = under_test().0;
    let case = Case::new(9, (6, 2));
    let edges = case.coo(&device).to_csr();
    let (m, n, nnz) = (case.m, case.n, case.nnz());
    // `[m, n, heads]` and `[b, n, heads, f]` by Burn: as `[b, heads, m, n]` and `[b, heads, n, f]`.
    let want = |a: Tensor<3>, x: Tensor<4>| {
        let [b, _, h, f] = x.dims();
        let heads = a.dims()[2].max(h);
        let a = a.permute([2, 0, 1]).unsqueeze_dim::<4>(0);
        let a = a.expand([b, heads, m, n]);
        list(a.matmul(x.permute([0, 2, 1, 3]).expand([b, heads, n, f])).permute([0, 2, 1, 3]))
    };
    for (own, given) in [(6, 6), (1, 6), (6, 1), (1, 1)] {
        let values = ascending([nnz, own], &device).require_grad();
        let x = ascending([3, n, given, 2], &device).require_grad();
        for fill in [Fill::Zero, Fill::scalar(0.25), Fill::tensor(ascending([own], &device))] {
            let a: CsrTensor<3> = edges.clone().detach().with_head_values(values.clone());
            let a = a.with_fill(fill);
            let answer = want(a.clone().detach().to_dense(), x.clone().detach());
            let out: Tensor<4> = a.matmul(x.clone());
            same(list(out.clone()), &answer, FloatDType::F32, "a batch of heads");
            let weights = ascending(out.dims(), &device);
            let grads = (out * weights.clone()).sum().backward();
            assert_eq!(values.grad(&grads).unwrap().dims(), [nnz, own]);
            // The loss is linear in the dense operand.
            let loss: f64 = answer.iter().zip(list(weights)).map(|(out, weight)| out * weight).sum();
            let along: f64 = list(x.clone()).iter().zip(list(x.grad(&grads).unwrap())).map(|(x, grad)| x * grad).sum();
            assert!((loss - along).abs() <= 1e-3 * loss.abs().max(1.0), "{loss} and {along}");
        }
    }
    // Dense dims [2, 3], of which one is 1 in either operand.
    for (own, given) in [([2, 1], [2, 3]), ([1, 3], [2, 3]), ([2, 3], [2, 1]), ([2, 1], [1, 3]), ([1, 1], [2, 3])] {
        let values = ascending([nnz, own[0], own[1]], &device).require_grad();
        let a: CsrTensor<4> = edges.clone().detach().with_head_values(values.clone());
        let x = ascending([n, given[0], given[1], 2], &device);
        let out: Tensor<4> = a.matmul(x.clone());
        let whole = a.to_dense().expand([m, n, 2, 3]).reshape([m, n, 6]);
        let answer = want(whole, x.expand([n, 2, 3, 2]).reshape([1, n, 6, 2]));
        same(list(out.clone()), &answer, FloatDType::F32, "two dense dims");
        let weights = ascending(out.dims(), &device);
        let grads = (out * weights.clone()).sum().backward();
        let along: f64 =
            list(values.clone()).iter().zip(list(values.grad(&grads).unwrap())).map(|(x, grad)| x * grad).sum();
        let loss: f64 = answer.iter().zip(list(weights)).map(|(out, weight)| out * weight).sum();
        assert!((loss - along).abs() <= 1e-3 * loss.abs().max(1.0), "{loss} and {along}");
    }
    // Sampled products: heads and batches of 1.
    let (x, y) = (ascending([m, 6, 2], &device), ascending([n, 1, 2], &device));
    let whole = head_sddmm(x.clone(), y.clone().expand([n, 6, 2]), &edges);
    assert_eq!(list(head_sddmm(x, y, &edges).values::<2>()), list(whole.values::<2>()));
    let batch: CsrTensor<3> = sparse_tensor::ops::stack(&[edges.clone(), edges.clone()], 0);
    let (x, y) = (ascending([1, m, 3, 2], &device), ascending([2, n, 3, 2], &device));
    let out = head_sddmm(x.clone(), y.clone(), &batch);
    assert_eq!(out.dims(), [2, m, n, 3]);
    let parts = [0, 1].map(|b| {
        let y = y.clone().narrow(0, b, 1).squeeze_dim::<3>(0);
        head_sddmm(x.clone().squeeze_dim::<3>(0), y, &edges).values::<2>()
    });
    assert_eq!(list(out.values::<2>()), list(Tensor::cat(parts.to_vec(), 0)));
}
