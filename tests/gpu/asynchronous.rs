//! What reads the device, without waiting for it: the same answers from as many reads, and nothing wrong is kept.

use crate::common::{Data, TURN, gpu, ints, list, matrix};
use burn::tensor::{Device, Tensor};
use sparse_burn::replay::with_zeros;
use sparse_dev::wait;
use sparse_tensor::data::karate;
use sparse_tensor::nn::{GcnConvConfig, gcn_normalization, symmetric_normalization, try_gcn_normalization_async};
use sparse_tensor::ops::{self, IndexPlan, Reduce};
use sparse_tensor::solve::{Triangle, solve_triangular};
use sparse_tensor::{CooTensor, CsrTensor, device_reads, host_fallbacks, without_blocking};
use std::task::{Context, Poll, Waker};

/// Any thread may run what is awaited.
fn wait<T>(future: impl Future<Output = T> + Send) -> T {
    wait::wait(future)
}

fn coo(seed: u64, device: &Device) -> CooTensor<2> {
    let mut data = Data::new(seed);
    let (at, values) = (ints(&data.ints(2 * 300, 40), [2, 300], device), data.floats(300));
    CooTensor::new_unchecked(at, Tensor::<1>::from_floats(values.as_slice(), device), [40, 40], false)
}

fn csr(seed: u64, device: &Device) -> CsrTensor<2> {
    matrix(&Data::new(seed).csr(40, 40, 5), [40, 40], device)
}

/// Runs an operation on fresh patterns by waiting for the device and by awaiting it: bits and numbers of reads agree.
fn agree(name: &str, f: impl Fn(&Device) -> Vec<Tensor<2>> + Send + Sync) {
    let device = gpu();
    let counted = |run: &dyn Fn() -> Vec<Tensor<2>>| {
        let before = device_reads();
        let result = run();
        let reads = device_reads() - before;
        (result.into_iter().map(list).map(|list| list.into_iter().map(f32::to_bits).collect()).collect(), reads)
    };
    let (want, reads): (Vec<Vec<u32>>, usize) = counted(&|| f(&device));
    assert!(reads > 0, "{name}: nothing is read");
    let awaited = || wait(without_blocking(|| f(&device)));
    let zeros = || with_zeros(awaited);
    for (how, run) in MODES.iter().zip([&awaited as &dyn Fn() -> _, &zeros]) {
        assert_eq!(counted(run), (want.clone(), reads), "{name}, {how}");
    }
}

/// How a run goes on from a read. With zeros only where the device drops what is written outside of a buffer.
const MODES: &[&str] = if cfg!(any(feature = "vulkan", feature = "cuda", feature = "rocm")) {
    &["stopped"]
} else {
    &["stopped", "zeros"]
};

#[test]
fn every_kind_of_read() {
    let _turn = TURN.lock();
    let hosted = host_fallbacks();
    agree("constructors", |device| {
        let (a, b) = (coo(1, device), csr(2, device));
        let values = a.values::<1>();
        let again = CooTensor::<2>::new_inferred(a.indices(), values.clone()).unwrap();
        let rows = CsrTensor::new_inferred(b.row_ptr(), b.col_idx(), b.values::<1>()).unwrap();
        vec![CooTensor::<2>::new(a.indices(), values, [40, 40]).unwrap().to_dense(), again.to_dense(), rows.to_dense()]
    });
    agree("coalesce", |device| vec![coo(3, device).coalesce().to_dense(), coo(3, device).to_csr().to_dense()]);
    agree("coalesce_with", |device| vec![coo(3, device).coalesce_with(Reduce::Amax).to_dense()]);
    agree("merges", |device| {
        let [a, b] = [4, 5].map(|seed| csr(seed, device));
        let [c, d] = [6, 7].map(|seed| coo(seed, device));
        vec![(&a + &b).to_dense(), (&a * &b).to_dense(), (&c - &d).to_dense(), a.intersect_with(&b).to_dense()]
    });
    agree("sparse x sparse", |device| {
        let [a, b] = [8, 9].map(|seed| csr(seed, device));
        vec![a.matmul(&b).matmul(&a).to_dense()]
    });
    agree("IndexPlan", |device| {
        let plan = IndexPlan::new(ints(&[3, -1, 0, 3], [4], device), 5).unwrap();
        vec![plan.select(Tensor::arange(0..10, device).float().reshape([5, 2]), 0)]
    });
    agree("parts", |device| {
        let (a, b) = (csr(10, device), coo(11, device));
        let dense = CooTensor::<2>::from_dense(a.to_dense(), 0).narrow(0, 3, 20);
        let parts = ops::concat(&[b.narrow(1, 5, 20), b.clone().narrow(1, 0, 3)], 1);
        vec![a.narrow(1, 5, 20).to_dense(), dense.to_dense(), parts.to_dense(), a.prune(0.3).to_dense()]
    });
    agree("triangular systems", |device| {
        let a = csr(14, device).add(&CsrTensor::from_diagonal(Tensor::<1>::ones([40], device) * 9.0));
        vec![solve_triangular(&a, Tensor::<2>::ones([40, 2], device), Triangle::default())]
    });
    agree("a layer that normalises", |device| {
        let graph = karate(device);
        let weight = Tensor::arange(0..34 * 3, device).float().reshape([34, 3]).mul_scalar(0.01).sin();
        let mut layer = GcnConvConfig::new(34, 3).with_normalize(true).with_cached(true).init(device);
        layer.weight = burn::module::Param::from_tensor(weight);
        let symmetric = symmetric_normalization(&graph.adjacency, true).to_dense();
        vec![layer.forward_sparse(&graph.adjacency, &graph.features), symmetric]
    });
    assert_eq!(host_fallbacks(), hosted);
}

#[test]
fn variants_keep_what_they_derive() {
    let _turn = TURN.lock();
    let device = gpu();
    let [a, b] = [12, 13].map(|seed| csr(seed, &device));
    let (c, graph) = (coo(14, &device), karate(&device));
    let sum = wait(a.try_add_async(&b)).unwrap();
    let product = wait(a.try_matmul_async(&b)).unwrap();
    let merged = wait(c.coalesce_async());
    let normal = wait(try_gcn_normalization_async(&graph.adjacency, 1.0)).unwrap();
    let before = device_reads();
    assert_eq!(list(sum.to_dense()), list((&a + &b).to_dense()));
    assert_eq!(list(product.to_dense()), list(a.matmul(&b).to_dense()));
    assert_eq!(list(merged.to_dense()), list(c.coalesce().to_dense()));
    assert_eq!(list(normal.to_dense()), list(gcn_normalization(&graph.adjacency, 1.0).to_dense()));
    assert_eq!(device_reads() - before, 0, "all of this is known");
    // The answers are those of the CPU.
    let cpu = Device::flex();
    let [x, y] = [12, 13].map(|seed| csr(seed, &cpu));
    for (got, want) in [(sum, &x + &y), (product, x.matmul(&y)), (merged.to_csr(), coo(14, &cpu).coalesce().to_csr())] {
        let (got, want) = (list(got.to_dense()), list(want.to_dense()));
        assert!(got.iter().zip(&want).all(|(x, y)| (x - y).abs() < 1e-4));
    }
}

#[test]
fn errors_name_the_entry() {
    let _turn = TURN.lock();
    let device = gpu();
    let wrong = |device: &Device| ints(&[0, 1, 7, 2], [4], device);
    let errors = [
        wait(IndexPlan::new_async(wrong(&device), 5)).unwrap_err(),
        wait(CooTensor::<2>::new_async(wrong(&device).reshape([2, 2]), Tensor::<1>::ones([2], &device), [5, 5]))
            .unwrap_err(),
        wait(CsrTensor::<2>::new_async(
            wrong(&device),
            ints(&[0, 1], [2], &device),
            Tensor::<1>::ones([2], &device),
            [3, 3],
        ))
        .unwrap_err(),
    ];
    let cpu = Device::flex();
    let want = [
        IndexPlan::new(wrong(&cpu), 5).unwrap_err(),
        CooTensor::<2>::new(wrong(&cpu).reshape([2, 2]), Tensor::<1>::ones([2], &cpu), [5, 5]).unwrap_err(),
        CsrTensor::<2>::new(wrong(&cpu), ints(&[0, 1], [2], &cpu), Tensor::<1>::ones([2], &cpu), [3, 3]).unwrap_err(),
    ];
    assert_eq!(errors, want);
}

/// While one task waits, others use the same patterns.
#[test]
fn tasks_may_interleave() {
    let _turn = TURN.lock();
    let device = gpu();
    let [a, b, c] = [15, 16, 17].map(|seed| csr(seed, &device));
    let want = list(((&a + &b).matmul(&c) * &a).to_dense());
    let [a, b, c] = [15, 16, 17].map(|seed| csr(seed, &device));
    let task = || without_blocking(|| (&a + &b).matmul(&c) * &a);
    let mut tasks = [Box::pin(task()), Box::pin(task())];
    let mut done = [const { None }; 2];
    let mut context = Context::from_waker(Waker::noop());
    while done.iter().any(Option::is_none) {
        for (task, done) in tasks.iter_mut().zip(&mut done).filter(|(_, done)| done.is_none()) {
            if let Poll::Ready(result) = task.as_mut().poll(&mut context) {
                *done = Some(result);
            }
        }
        // A third user of the patterns, who waits.
        drop(&a + &b);
    }
    for result in done.into_iter().flatten() {
        assert_eq!(list(result.to_dense()), want);
    }
}

/// What a tensor derives in a run that will be dropped comes from kernels that were not launched.
#[test]
fn what_a_dropped_run_derives_is_derived_again() {
    let _turn = TURN.lock();
    let device = gpu();
    let (dense, x) = (coo(1, &device).to_dense(), Tensor::<2>::ones([40, 3], &device));
    let want = list(coo(2, &device).matmul(x.clone()));
    for zeros in [false, MODES.contains(&"zeros")] {
        let own = coo(2, &device);
        let run = || {
            let read = CooTensor::<2>::from_dense(dense.clone(), 0);
            own.matmul(x.clone()) + read.matmul(x.clone()).mul_scalar(0.0)
        };
        let awaited = || wait(without_blocking(run));
        assert_eq!(list(if zeros { with_zeros(awaited) } else { awaited() }), want, "zeros: {zeros}");
        assert_eq!(list(own.matmul(x.clone())), want, "afterwards, zeros: {zeros}");
    }
}

/// What the host has is made ready there, also entries that repeat and are out of order.
#[test]
fn lists_of_the_host_are_not_read_back() {
    let _turn = TURN.lock();
    let made = |device: &Device| {
        let (rows, cols) = ([3, 0, 3, 1, 0], [1, 4, 1, 2, 0]);
        let values = [1.0f32, 2.0, 4.0, 8.0, 16.0];
        let edges: Vec<(usize, usize)> = rows.into_iter().zip(cols).collect();
        let weights = Tensor::<1>::from_floats(values, device);
        let graph = karate(device);
        (
            CsrTensor::<2>::from_triplets(&rows, &cols, &values, [4, 5], device).unwrap(),
            CsrTensor::<2>::from_edges(&edges, weights.clone(), [4, 5]).unwrap(),
            CooTensor::<2>::from_edges(&edges, weights, [4, 5]).unwrap(),
            graph.adjacency,
        )
    };
    let before = device_reads();
    let (a, b, c, d) = made(&gpu());
    assert_eq!(device_reads() - before, 0);
    let (w, x, y, z) = made(&Device::flex());
    assert_eq!((a.nnz(), b.nnz(), c.nnz()), (4, 4, 5));
    let got = [list(a.to_dense()), list(b.to_dense()), list(c.to_dense()), list(d.to_dense())];
    assert_eq!(got, [list(w.to_dense()), list(x.to_dense()), list(y.to_dense()), list(z.to_dense())]);
}
