//! Patterns are made on the device, and arithmetic over them agrees with the CPU.

use crate::common::{Data, TURN, agree, floats, gpu, ints, list, matrix};
use burn::tensor::{Device, Tensor};
use sparse_tensor::ops;
use sparse_tensor::{CooTensor, CsrTensor, Fill, device_reads, host_fallbacks};

#[test]
fn structure_and_arithmetic() {
    let _turn = TURN.lock();
    let mut data = Data::new(3);
    let (a, b) = (data.csr(200, 100, 9), data.csr(200, 100, 9));
    agree("merge, concat, transpose", |device| {
        let (a, b) = (matrix(&a, [200, 100], device).require_grad(), matrix(&b, [200, 100], device).require_grad());
        let joined = ops::concat(&[&a * &b, &a + &b], 1);
        let out = joined.transpose().matmul(Tensor::<2>::ones([200, 3], device));
        let grads = (out.clone() * out.clone()).sum().backward();
        let grad = |x: &CsrTensor<2>| list(x.grad(&grads).unwrap().values::<1>());
        vec![list(out), grad(&a), grad(&b)]
    });
}

/// Patterns are sorted, merged, joined, searched and checked on the device.
#[test]
fn patterns_are_those_of_flex() {
    let _turn = TURN.lock();
    let mut data = Data::new(5);
    let (m, n, nnz) = (90usize, 70usize, 3000usize);
    let at: Vec<i32> = data.ints(nnz, m as i32).into_iter().chain(data.ints(nnz, n as i32)).collect();
    let other: Vec<i32> = data.ints(nnz, m as i32).into_iter().chain(data.ints(nnz, n as i32)).collect();
    let (u, v) = (data.floats(nnz), data.floats(nnz));
    let coo = |at: &[i32], values: &[f32], device: &Device| {
        CooTensor::<2>::new(ints(at, [2, nnz], device), floats(values, [nnz], device), [m, n]).unwrap()
    };
    agree("coalesce, merge and locate", |device| {
        let (a, b) = (coo(&at, &u, device).coalesce(), coo(&other, &v, device).coalesce());
        assert!(a.is_coalesced() && a.nnz() < nnz);
        let masked = a.clone().with_fill(Fill::Undefined);
        let both = &masked * &b.clone().with_fill(Fill::Undefined);
        let parts = [(&a + &b).to_dense(), (&masked - &b).to_dense_or(9.0), both.to_dense_or(9.0)];
        parts.into_iter().map(list).collect()
    });
    agree("concat of coordinates and rows", |device| {
        let (a, b) = (coo(&at, &u, device).coalesce(), coo(&other, &v, device).coalesce());
        let loose = ops::concat(&[coo(&at, &u, device), b.clone()], 1);
        let mut parts = vec![list(loose.to_dense())];
        for axis in [0, 1] {
            let joined = ops::concat(&[a.clone(), b.clone(), a.clone()], axis);
            assert!(joined.is_coalesced());
            let rows = ops::concat(&[a.to_csr(), b.to_csr(), a.to_csr()], axis);
            parts.extend([list(joined.to_csr().to_dense()), list(joined.values::<1>()), list(rows.to_dense())]);
            parts.push(rows.col_idx().into_data().iter::<i32>().map(|col| col as f32).collect());
        }
        parts
    });
    agree("concat of batches", |device| {
        let batch = |at: &[i32], values: &[f32], rows: usize| {
            let at: Vec<i32> =
                (0..3).flat_map(|d| at[d * 500..][..500].iter().map(move |i| i % [3, rows as i32, 9][d])).collect();
            let tensor =
                CooTensor::<3>::new(ints(&at, [3, 500], device), floats(&values[..500], [500], device), [3, rows, 9]);
            tensor.unwrap().to_csr()
        };
        let (a, b, c) = (batch(&at, &u, 7), batch(&other, &v, 7), batch(&at, &v, 4));
        let of = |parts: &[CsrTensor<3>], axis| list(ops::concat(parts, axis).to_dense());
        vec![of(&[a.clone(), b.clone()], 0), of(&[a.clone(), c], 1), of(&[a, b], 2)]
    });
    let device = gpu();
    let wrong = |ptr: [i32; 4], col: [i32; 3]| {
        let (ptr, col) = (ints(&ptr, [4], &device), ints(&col, [3], &device));
        CsrTensor::<2>::new(ptr, col, Tensor::ones([3], &device), [3, 5]).map(|_| ()).map_err(|error| error.kind())
    };
    assert_eq!(wrong([0, 2, 2, 3], [1, 4, 0]), Ok(()));
    assert_eq!(wrong([0, 2, 2, 3], [4, 1, 0]), Err("unsorted_columns"));
    assert_eq!(wrong([0, 2, 2, 3], [1, 5, 0]), Err("index_out_of_range"));
    assert_eq!(wrong([0, 2, 1, 3], [1, 4, 0]), Err("invalid_row_ptr"));
    let outside = CooTensor::<2>::new(ints(&[0, 3], [2, 1], &device), Tensor::<1>::ones([1], &device), [3, 3]);
    assert_eq!(outside.unwrap_err().kind(), "index_out_of_range");
    let (reads, hosted) = (device_reads(), host_fallbacks());
    let a = coo(&at, &u, &device);
    assert_eq!(device_reads() - reads, 1, "validation reads one number (two, side by side)");
    let a = a.coalesce();
    assert_eq!(device_reads() - reads, 2, "and coalescing one");
    drop(ops::concat(&[a.to_csr(), a.to_csr()], 1));
    assert_eq!(device_reads() - reads, 2, "and joining none");
    assert_eq!(host_fallbacks(), hosted);
    for method in ["validate_coo", "validate_csr", "coalesce", "merge", "concat_patterns"] {
        assert!(!hosted.contains(&method), "{method} is native");
    }
}

/// Hybrid operands without elements: all their values are fills.
#[test]
fn operands_of_nothing() {
    let _turn = TURN.lock();
    agree("a hybrid minus nothing", |device| {
        let at = ints(&[0, 1, 1, 3, 1, 1, 2, 2], [2, 4], device);
        let values = floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [4, 2], device).require_grad();
        let a = CooTensor::<3>::new(at, values.clone(), [4, 3, 2]).unwrap();
        let none = floats::<2>(&[], [0, 2], device).require_grad();
        let b = CooTensor::<3>::new(ints(&[], [2, 0], device), none.clone(), [4, 3, 2]).unwrap();
        let fill = floats(&[3.0], [1], device).require_grad();
        let out = (&a - &b.with_fill(Fill::tensor(fill.clone()))).to_dense();
        let grads = (out.clone() * out.clone()).sum().backward();
        vec![list(out), list(values.grad(&grads).unwrap()), list(fill.grad(&grads).unwrap())]
    });
}
