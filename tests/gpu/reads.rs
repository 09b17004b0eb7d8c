//! What is read from the device, and that nothing else is.

use crate::common::{Data, TURN, floats, gpu, ints, list, matrix};
use burn::tensor::{Device, Int, Slice, Tensor};
use sparse_tensor::ops::{self, IndexPlan, Reduce};
use sparse_tensor::{CooTensor, CsrTensor, Fill, device_reads, host_fallbacks};

/// Nothing to put, and patterns without elements, stay on the device.
#[test]
fn nothing_stays_on_the_device() {
    let _turn = TURN.lock();
    let device = gpu().autodiff();
    let u = Data::new(3).floats(20);
    let at: Vec<i32> = (0..20).chain((0..20).map(|k| k * 7 % 20)).collect();
    let a = CooTensor::<2>::new(ints(&at, [2, 20], &device), floats(&u, [20], &device), [20, 20]).unwrap().coalesce();
    let none = CooTensor::<2>::zeros(a.dims(), &device);
    let (reads, hosted) = (device_reads(), host_fallbacks());
    let arr = Tensor::<2>::ones([5, 8], &device).require_grad();
    let plan = IndexPlan::new(Tensor::empty([0], (&device.clone().inner(), burn::tensor::DType::I32)), 5).unwrap();
    for reduce in [Reduce::Mean, Reduce::Mul, Reduce::Amax] {
        let out = plan.put(arr.clone(), 0, Tensor::empty([0, 8], &device), reduce, true);
        let grad = arr.grad(&(out * 2.0).sum().backward()).unwrap();
        assert_eq!(list(grad), [2.0; 40], "{reduce:?}");
    }
    for (x, y) in [(&a, &none), (&none, &a)] {
        assert_eq!(list((x + y).to_dense()), list(a.to_dense()));
        assert_eq!(list((&x.to_csr() * &y.to_csr()).to_dense()), [0.0; 400]);
    }
    assert_eq!(host_fallbacks(), hosted);
    assert!(device_reads() - reads <= 4, "{} reads", device_reads() - reads);
}

/// What two patterns make together is kept, whether anything is tracked or not.
#[test]
fn a_union_merges_once() {
    let _turn = TURN.lock();
    let (device, mut data) = (gpu(), Data::new(8));
    let [a, b] = [0, 1].map(|_| matrix(&data.csr(60, 50, 5), [60, 50], &device));
    let before = device_reads();
    let sum = &a + &b;
    assert_eq!(device_reads() - before, 1, "a merge reads its size");
    let (again, product) = (&a + &b, &a * &b);
    assert_eq!(device_reads() - before, 1, "and is kept");
    let dense = a.to_dense() + b.to_dense();
    assert_eq!(list(sum.to_dense()), list(dense.clone()));
    assert_eq!(list(again.to_dense()), list(dense));
    assert_eq!(list(product.to_dense()), list(a.to_dense() * b.to_dense()));
}

/// What the library reads of a tensor to show or compare it counts as well.
#[test]
fn reads_are_counted() {
    let _turn = TURN.lock();
    let (device, mut data) = (gpu(), Data::new(9));
    let a = matrix(&data.csr(6, 5, 2), [6, 5], &device);
    let here = matrix(&data.csr(6, 5, 2), [6, 5], &Device::flex());
    let before = device_reads();
    drop(here.to_string());
    assert_eq!(device_reads() - before, 0, "the CPU's memory is not read from a device");
    drop(a.to_string());
    assert_eq!(device_reads() - before, 2, "coordinates and values");
}

#[test]
fn indices_are_checked_with_one_read() {
    let _turn = TURN.lock();
    let device = gpu();
    let put = |index: [i32; 3]| {
        let index = Tensor::<1, Int>::from_ints(index, &device);
        let arr = Tensor::<1>::zeros([4], &device);
        ops::try_put_along_axis(arr, index, Tensor::ones([3], &device), 0, Reduce::Add, true)
    };
    let before = device_reads();
    put([0, 3, -4]).unwrap();
    assert_eq!(device_reads() - before, 1);
    let trouble = put([0, 4, 9]).unwrap_err();
    assert_eq!(trouble.kind(), "index_out_of_range");
    assert!(trouble.to_string().contains('4') && !trouble.to_string().contains('9'), "the first bad one: {trouble}");
}

/// A step over existing patterns and plans: products, normalisation, arithmetic, plans, gradients.
#[test]
fn a_step_stays_on_the_device() {
    let _turn = TURN.lock();
    let device = gpu().autodiff();
    let mut data = Data::new(4);
    let raw = data.csr(60, 60, 5);
    let adjacency = matrix(&raw, [60, 60], &device).require_grad();
    let other = matrix(&data.csr(60, 60, 5), [60, 60], &device).require_grad();
    let weight = floats(&data.floats(60 * 8), [60, 8], &device).require_grad();
    let plan = IndexPlan::new(ints(&data.ints(40, 60), [40], &device), 60).unwrap();
    let step = || {
        let sum = &adjacency + &other;
        let scaled = sum.mul_dense(Tensor::full([60, 1], 0.5, &device));
        let hidden = scaled.matmul(weight.clone());
        let joined = ops::concat(&[scaled, other.clone()], 0).matmul(weight.clone());
        let messages = plan.select(hidden, 0);
        let mut loss = joined.sum();
        for reduce in Reduce::ALL {
            loss = loss + plan.put(Tensor::ones([60, 8], &device), 0, messages.clone(), reduce, true).sum();
        }
        let grads = loss.backward();
        weight.grad(&grads).unwrap()
    };
    list(step());
    let (reads, hosted) = (device_reads(), host_fallbacks());
    for _ in 2..=10 {
        drop(step());
    }
    assert_eq!(device_reads() - reads, 0, "a step reads nothing back");
    assert_eq!(host_fallbacks(), hosted, "a step runs on the device");
    for method in ["spmm", "sddmm", "move_rows", "segment_sum", "zip_rows", "put", "put_backward", "gather", "group_by"]
    {
        assert!(!hosted.contains(&method), "{method} is native");
    }
}

/// Parts, joins and fills of one tensor, over patterns that the first step found.
#[test]
fn parts_and_joins_read_nothing() {
    let _turn = TURN.lock();
    let device = gpu().autodiff();
    let plain = device.clone().inner();
    let dense = floats(&[1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, 0.0, 4.0, 0.0, 5.0, 6.0], [3, 4], &device);
    let a = CooTensor::<2>::from_dense(dense, 0).detach().require_grad();
    let csr = a.to_csr().detach().require_grad();
    let fill = Fill::tensor(Tensor::<1>::from_floats([0.5], &plain));
    let parameter = Tensor::<1>::from_floats([0.25], &device).require_grad();
    let same = Fill::tensor(Tensor::<1>::from_floats([0.5], &plain));
    let plan = IndexPlan::new(Tensor::from_ints([2, 0, -3, 2], &plain), 3).unwrap();
    let step = || {
        let parts: Vec<CooTensor<2>> = a.split(2, 1);
        let rows: Vec<CsrTensor<2>> = csr.chunk(2, 0);
        let cut = a.narrow(1, 1, 2) + a.slice([0..3, 0..2]) + a.slice_dim(1, Slice::from_range_stepped(0..4, -2));
        let joined = ops::concat(&[csr.narrow(0, 1, 2), plan.select_sparse(&csr, 0)], 0);
        let filled = ops::concat(&[a.clone().with_fill(fill.clone()), a.clone().with_fill(same.clone())], 0);
        let leaf = Fill::tensor(parameter.clone());
        let tracked = ops::concat(&[a.clone().with_fill(leaf.clone()), a.clone().with_fill(leaf.clone())], 1);
        let ones = ops::concat(&[a.exp(), a.cos()], 0);
        let values = parts[0].values::<1>().sum()
            + rows[1].values::<1>().sum()
            + cut.values::<1>().sum()
            + joined.values::<1>().sum()
            + filled.values::<1>().sum()
            + tracked.values::<1>().sum()
            + ones.values::<1>().sum()
            + a.select_dim::<1>(0, 2).values::<1>().sum();
        let grads = values.backward();
        (a.grad(&grads).unwrap(), csr.grad(&grads).unwrap())
    };
    let first = step();
    let reads = device_reads();
    let mut last = step();
    for _ in 0..4 {
        last = step();
    }
    assert_eq!(device_reads() - reads, 0, "a step reads nothing back");
    assert_eq!(list(first.0.to_dense()), list(last.0.to_dense()));
    assert_eq!(list(first.1.to_dense()), list(last.1.to_dense()));
}
