//! No operation forms a dense tensor of the full shape: everything that can stay sparse runs on [1_000_000, 1_000_000]
//! within 2 GiB, and what cannot says so.

use burn::tensor::{Device, Int, Tensor, TensorData};
use sparse_tensor::ops::{self, Reduce};
use sparse_tensor::{CooTensor, Fill, SparseError, SparseTensor, pattern::Pattern};

const SIZE: usize = 1_000_000;
const NNZ: usize = 3000;

/// Coordinates far apart, in order, some of them on the diagonal.
fn tensor(step: usize) -> CooTensor<2> {
    let rows = (0..NNZ).map(|k| (k * 331 % SIZE) as i64);
    let cols = (0..NNZ).map(|k| if k % 5 == 0 { (k * 331 % SIZE) as i64 } else { (k * step % SIZE) as i64 });
    let indices = Tensor::<2, Int>::from_data(TensorData::new(rows.chain(cols).collect(), [2, NNZ]), &Device::flex());
    let values: Vec<f32> = (0..NNZ).map(|k| 0.5 + (k % 17) as f32 / 8.0).collect();
    let values = Tensor::<1>::from_floats(values.as_slice(), &Device::flex().autodiff());
    CooTensor::new(indices, values, [SIZE, SIZE]).expect("valid coordinates").coalesce().require_grad()
}

fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<usize>().ok()).unwrap_or(0) * 1024
}

/// Runs everything, with the backward pass of the sum of each result.
fn all<P: Pattern>(a: &SparseTensor<P, 2>, b: &SparseTensor<P, 2>) {
    let back = |name: &str, out: SparseTensor<P, 2>| {
        assert!(out.nnz() < 10 * NNZ, "{name}: {} elements", out.nnz());
        out.map(|rows| rows.sin()).values::<1>().sum().backward();
        assert!(peak() < 2 << 30, "{name}: {} bytes", peak());
    };
    let dense = |name: &str, out: Tensor<2>| {
        out.sum().backward();
        assert!(peak() < 2 << 30, "{name}: {} bytes", peak());
    };
    let undefined = |x: &SparseTensor<P, 2>| x.clone().with_fill(Fill::Undefined);
    let filled = |x: &SparseTensor<P, 2>| x.clone().with_fill(Fill::scalar(0.25));
    let vector = || Tensor::<1>::ones([SIZE], &Device::flex().autodiff());
    let x = || Tensor::<2>::ones([SIZE, 2], &Device::flex().autodiff());

    back("add", a + b);
    back("sub", a - b);
    back("mul", a * b);
    back("div", a / &filled(b));
    back("scalar", a.add_scalar(2.0).mul_scalar(3.0).div_scalar(2.0));
    back("max_pair", a.max_pair(b));
    back("min_pair", a.min_pair(b));
    back("powf", filled(a).powf(&filled(b)));
    back("mask_where", a.mask_where(&b.greater_elem(1.0), b));
    back("exp", a.exp());
    back("sqrt", a.sqrt());
    back("mul_along", a.mul_along(vector(), 0));
    back("concat 0", ops::concat(&[a.clone(), b.clone()], 0));
    back("concat 1", ops::concat(&[a.clone(), b.clone()], 1));
    back("block_diag", ops::block_diag(&[a.clone(), b.clone()]));
    back("transpose", a.transpose());
    back("flip", a.flip(&[0, 1]));
    back("narrow", a.narrow(1, 10, SIZE / 2));
    back("slice", a.slice([5..SIZE, 0..SIZE / 2]));
    back("slice_step", a.slice_step(0, 0..SIZE, -3));
    let index = Tensor::<1, Int>::from_ints([0, 993, 331, 993], &Device::flex());
    back("index_select", a.index_select(0, index));
    back("reshape", a.reshape([SIZE * 4, SIZE / 4]));
    back("split", a.split(SIZE / 2, 0).remove(1));
    back("tril", a.tril(0));
    back("triu", a.triu(1));
    back("union", a.union_with(b));
    back("intersection", a.intersect_with(b));
    back("difference", a.difference(b));
    back("mask_by", a.mask_by(b));
    back("prune", a.prune(1.0));
    back("top_k_rows", a.top_k_rows(1));
    back("remove_self_loops", a.remove_self_loops());
    back("matmul_sparse", a.matmul_sparse(&b.transpose()));
    back("kron", a.narrow(0, 0, 400).narrow(1, 0, 400).kron(&b.narrow(0, 0, 2000)));
    back("softmax", undefined(a).softmax(1));
    back("log_softmax", undefined(a).log_softmax(0));
    for axis in [0, 1] {
        back("sum_dim", a.sum_dim(axis));
        back("mean_dim", filled(a).mean_dim(axis));
        back("amax_dim", filled(a).amax_dim(axis));
        back("amin_dim", a.amin_dim(axis));
        back("prod_dim", a.prod_dim(axis));
        back("stored_mean_dim", a.stored_mean_dim(axis));
        back("norm_dim", a.norm_dim(2.0, axis));
        drop(a.argmax_dim(axis));
        drop(a.count_stored_dim(axis));
        a.degree(axis).sum().backward();
    }
    a.sum().backward();
    a.mean().backward();
    a.amax().backward();
    a.norm(2.0).backward();
    a.diagonal().sum().backward();
    a.trace().backward();
    a.get([0, 0]).backward();
    drop(a.masked_select(&b.greater_elem(1.0)));
    dense("matmul", a.matmul(x()));
    dense("matmul of a fill", filled(a).matmul(x()));
    dense("rmatmul", a.rmatmul(x().transpose()));
    dense("matmul_reduce", a.matmul_reduce(x(), Reduce::Amax));
    back("masked_matmul", ops::masked_matmul(x().require_grad(), x().transpose(), a));
    assert!(peak() < 2 << 30, "{} bytes", peak());

    // A fill that reaches every element of a result, and results of the full shape.
    for trouble in [
        a.try_to_dense().map(drop),
        filled(a).try_matmul_sparse(b).map(drop),
        a.try_softmax(1).map(drop),
        filled(a).try_mul_along(vector(), 0).map(drop),
        filled(a).try_tril(0).map(drop),
        a.try_add_along(vector(), 0).map(drop),
    ] {
        match trouble {
            Err(SparseError::WouldDensify { elements, .. }) => assert_eq!(elements, (SIZE * SIZE) as u128),
            other => panic!("would_densify expected, got {other:?}"),
        }
    }
}

#[test]
fn nothing_densifies() {
    let (a, b) = (tensor(977), tensor(13));
    all(&a, &b);
    all(&a.to_csr(), &b.to_csr());
    let flat = a.flatten::<1>(0, 1);
    assert_eq!(flat.dims(), [SIZE * SIZE]);
    assert_eq!(ops::stack::<_, 2, 3, _>(&[a.clone(), b], 0).dims(), [2, SIZE, SIZE]);
    assert_eq!(a.unsqueeze_dim::<3>(1).expand([SIZE, 3, SIZE]).nnz(), 3 * a.nnz());
}
