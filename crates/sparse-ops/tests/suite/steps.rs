//! A loop over fixed patterns computes structure in its first step: later ones find the same patterns, and compute the
//! same values and gradients. That they read nothing of a device is in `tests/gpu`.

use burn::tensor::{Bool, DType, Device, Int, IntDType, Slice, Tensor};
use sparse_tensor::ops::{self, IndexPlan};
use sparse_tensor::pattern::Pattern;
use sparse_tensor::{CooTensor, CsrTensor, Fill, SparseTensor};

/// `[[1, -, 2, -], [-, 3, -, -], [4, -, 5, 6]]`, in the order given and with a duplicate, or coalesced.
fn matrix(device: &Device, loose: bool) -> CooTensor<2> {
    let indices = Tensor::<2, Int>::from_ints([[2, 0, 0, 1, 2, 2, 2], [0, 0, 2, 1, 2, 3, 3]], &device.clone().inner());
    let values = Tensor::<1>::from_floats([4.0, 1.0, 2.0, 3.0, 5.0, 2.0, 4.0], device);
    let a = CooTensor::new(indices, values, [3, 4]).unwrap();
    if loose { a.require_grad() } else { a.coalesce().detach().require_grad() }
}

fn list<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().iter().collect()
}

/// `f` twice: one pattern, equal values and equal gradients.
fn same_twice<P: Pattern, Q: Pattern, const D: usize, const E: usize>(
    name: &str,
    a: &SparseTensor<P, D>,
    f: impl Fn(&SparseTensor<P, D>) -> SparseTensor<Q, E>,
) {
    let (first, second) = (f(a), f(a));
    assert!(first.pattern().is_same(second.pattern()), "{name} finds its pattern again");
    assert_eq!(list(first.to_dense()), list(second.to_dense()), "{name}");
    let grad = |out: SparseTensor<Q, E>| {
        let dense = out.to_dense();
        let weights = Tensor::<1, Int>::arange(1..1 + dense.shape().num_elements() as i64, &dense.device());
        let grads = (dense.clone() * weights.float().reshape(dense.dims())).sum().backward();
        a.grad(&grads).map(|grad| list(grad.to_dense()))
    };
    let (first, second) = (grad(first), grad(second));
    assert!(first.is_some(), "{name} has a gradient");
    assert_eq!(first, second, "gradient of {name}");
}

fn every_operation<P: Pattern>(a: &SparseTensor<P, 2>, device: &Device) {
    same_twice("narrow", a, |a| a.narrow(1, 1, 2));
    same_twice("narrow of rows", a, |a| a.narrow(0, 1, 1));
    same_twice("the last rows", a, |a| a.narrow(0, 1, 2));
    same_twice("slice", a, |a| a.slice([0..2, 1..3]));
    same_twice("slice_dim", a, |a| a.slice_dim(1, Slice::from_range_stepped(0..4, 2)));
    same_twice("slice_dim backwards", a, |a| a.slice_dim(0, Slice::from_range_stepped(0..3, -2)));
    same_twice("flip", a, |a| a.flip([1]));
    same_twice("flip of both", a, |a| a.flip([0, 1]));
    same_twice("roll", a, |a| a.roll([1, -1], [0, 1]));
    same_twice("reshape", a, |a| a.reshape([4, 3]));
    same_twice("unsqueeze and squeeze", a, |a| a.unsqueeze_dim::<3>(0).squeeze_dim::<2>(0));
    same_twice("block_diag", a, |a| ops::block_diag(&[a.clone(), a.clone()]));
    same_twice("repeat_dim", a, |a| a.repeat_dim(1, 3));
    for part in 0..3 {
        same_twice("split of columns", a, |a| a.split(2, 1).swap_remove(part % 2));
        same_twice("chunk of rows", a, |a| a.chunk(3, 0).swap_remove(part));
    }
    let plan = |index: [i32; 4], size| IndexPlan::new(Tensor::from_ints(index, &device.clone().inner()), size).unwrap();
    let (rows, columns) = (plan([2, 0, -3, 2], 3), plan([3, 1, 0, -1], 4));
    same_twice("select of rows", a, |a| rows.select_sparse(a, 0));
    same_twice("select of columns", a, |a| columns.select_sparse(a, 1));
    let index = Tensor::from_ints([3, 1, 0, -1], &device.clone().inner());
    assert_eq!(list(columns.select_sparse(a, 1).to_dense()), list(a.select(1, index).to_dense()));
    assert_eq!(rows.try_select_sparse(a, 1).unwrap_err().kind(), "shape_mismatch");
}

#[test]
fn patterns_are_found_again() {
    let device = Device::flex().autodiff();
    for loose in [false, true] {
        every_operation(&matrix(&device, loose), &device);
        same_twice("select", &matrix(&device, loose), |a| a.select_dim::<1>(0, -1));
    }
    every_operation(&matrix(&device, false).to_csr().detach().require_grad(), &device);
    for loose in [false, true] {
        same_twice("to_csr", &matrix(&device, loose), |a| a.to_csr());
    }
    same_twice("to_coo", &matrix(&device, false).to_csr().detach().require_grad(), |a| a.to_coo());
}

/// 600 steps of a state that is replaced, its first value kept.
fn chain_ends<P: Pattern>(
    name: &str,
    first: &SparseTensor<P, 2>,
    step: impl Fn(&SparseTensor<P, 2>) -> SparseTensor<P, 2>,
) -> SparseTensor<P, 2> {
    let (mut state, mut ends) = (first.clone(), 0);
    for _ in 0..600 {
        let next = step(&state);
        ends += usize::from(!next.pattern().is_same(step(&state).pattern()));
        state = next;
    }
    assert_eq!(ends, 2, "{name}: a chain of 256 is kept, the next pattern is the first of another");
    assert!(step(first).pattern().is_same(step(first).pattern()), "{name}");
    state
}

fn chains_end<P: Pattern>(first: &SparseTensor<P, 2>, other: &SparseTensor<P, 2>, eye: &SparseTensor<P, 2>) {
    let dense = list(first.to_dense());
    assert_eq!(list(chain_ends("flip", first, |a| a.flip([0])).to_dense()), dense);
    assert_eq!(list(chain_ends("transpose", first, SparseTensor::transpose).to_dense()), dense);
    assert_eq!(list(chain_ends("product", first, |a| a.matmul(eye)).to_dense()), dense);
    assert_eq!(list(chain_ends("sum", first, |a| a.sum_dim(0)).to_dense()), [3.0, 3.0]);
    let sum: Vec<f32> = list(other.to_dense()).iter().zip(&dense).map(|(other, own)| own + 600.0 * other).collect();
    assert_eq!(list(chain_ends("add", first, |a| a.add(other)).to_dense()), sum);
    assert_eq!(chain_ends("concat", first, |a| ops::concat(&[a.clone(), other.clone()], 0)).dims(), [1202, 2]);
}

/// Patterns that a loop makes one of the other do not pile up behind the first.
#[test]
fn a_chain_of_patterns_ends() {
    let matrix = |rows: [[f32; 2]; 2]| CooTensor::<2>::from_dense(Tensor::from_floats(rows, &Device::flex()), 0);
    let parts = [[[1.0, 0.0], [2.0, 3.0]], [[0.0, 1.0], [0.0, 2.0]], [[1.0, 0.0], [0.0, 1.0]]].map(matrix);
    let [first, other, eye] = &parts;
    chains_end(first, other, eye);
    let [first, other, eye] = &parts.each_ref().map(CooTensor::to_csr);
    chains_end(first, other, eye);
}

/// More ranges than a few, and parts up to a number.
#[test]
fn many_parts_are_found_again() {
    let eye = |size| CooTensor::<2>::eye(size, &Device::flex());
    let a = eye(40);
    let parts: Vec<_> = (0..40).map(|row| a.narrow(0, row, 1)).collect();
    for (row, part) in parts.iter().enumerate() {
        assert!(part.pattern().is_same(a.narrow(0, row, 1).pattern()), "row {row}");
    }
    for (size, kept) in [(1024, true), (1025, false)] {
        let a = eye(size);
        let [first, second] = [a.split(1, 0), a.split(1, 0)];
        assert_eq!(first.len(), size);
        assert_eq!(first[7].pattern().is_same(second[7].pattern()), kept, "{size} parts");
    }
}

/// Fills of numbers and of one tensor agree without a look at them, others by their values.
#[test]
fn fills_agree() {
    let device = Device::flex().autodiff();
    let a = matrix(&device, false).detach();
    let with = |fill| a.clone().with_fill(fill);
    let block = |value: f32| Fill::tensor(Tensor::<1>::from_floats([value], &device));
    let one = block(1.5);
    assert_eq!(kind([with(one.clone()), with(one.clone())]), None);
    assert_eq!(kind([with(one.clone()), with(block(1.5))]), None);
    assert_eq!(kind([with(Fill::scalar(1.5)), with(one.clone())]), None);
    assert_eq!(kind([with(one.clone()), with(Fill::Zero)]), Some("fill_mismatch"));
    assert_eq!(kind([with(one.clone()), with(block(2.0))]), Some("fill_mismatch"));
    assert_eq!(kind([with(one.clone()), with(Fill::Undefined)]), Some("fill_mismatch"));
    assert_eq!(kind([with(Fill::Undefined), with(Fill::Undefined)]), None);
    assert_eq!(kind([a.exp(), with(Fill::scalar(1.0))]), None);
    // Tracked ones too.
    let leaf = |value: f32| Tensor::<1>::from_floats([value], &device).require_grad();
    let tracked = [2.0, 2.0].map(|value| matrix(&device, false).with_fill(Fill::tensor(leaf(value))));
    assert_eq!(list(ops::concat(&tracked, 0).get([0, 1])), [2.0]);
    assert_eq!(
        kind([tracked[0].clone(), tracked[1].clone().with_fill(Fill::tensor(leaf(3.0)))]),
        Some("fill_mismatch")
    );
    assert_eq!(kind([tracked[0].clone(), tracked[1].clone().with_fill(Fill::Undefined)]), Some("fill_mismatch"));
    // Integers to the last digit.
    let whole = Tensor::<1, Int>::from_ints([1, 0], &device).cast(IntDType::I64);
    let whole = CooTensor::<1, Int>::from_dense(whole, 0);
    let large = |value: i64| whole.clone().with_fill(Fill::scalar(value));
    let block =
        |value: i64| whole.clone().with_fill(Fill::tensor(Tensor::<1, Int>::full([1], value, (&device, DType::I64))));
    let mismatch = |parts: [CooTensor<1, Int>; 2]| ops::try_concat(&parts, 0).err().map(|trouble| trouble.kind());
    assert_eq!(mismatch([large(1 << 53), large((1 << 53) + 1)]), Some("fill_mismatch"));
    assert_eq!(mismatch([large(1 << 53), block((1 << 53) + 1)]), Some("fill_mismatch"));
    assert_eq!(mismatch([large((1 << 53) + 1), block((1 << 53) + 1)]), None);
}

fn kind(parts: [CooTensor<2>; 2]) -> Option<&'static str> {
    ops::try_concat(&parts, 0).err().map(|trouble| trouble.kind())
}

/// A mask's elements depend on its values: nothing is kept, and the answer follows them.
#[test]
fn masks_are_read_again() {
    let device = Device::flex().autodiff();
    let a = matrix(&device, false).detach();
    let mask = |hits: [bool; 4]| CooTensor::from_dense(Tensor::<2, Bool>::from_data([hits; 3], &device), 0);
    assert_eq!(list(a.mask_select(&mask([true, false, false, false]))), [1.0, 0.0, 4.0]);
    assert_eq!(list(a.mask_select(&mask([false, false, false, true]))), [0.0, 0.0, 6.0]);
}

/// The values of a constant matrix are kept in the order of its columns from its second gradient on. Others on the same
/// pattern have their own.
#[test]
fn constants_are_transposed_once() {
    let device = Device::flex().autodiff();
    let dense = Tensor::<2>::from_floats([[1.0, 0.0, 2.0, 0.0], [0.0, 3.0, 0.0, 0.0], [4.0, 0.0, 5.0, 6.0]], &device);
    let a = CsrTensor::from_dense(dense);
    let other = a.with_values(a.values::<1>() * 3.0);
    let gradient = |a: &CsrTensor<2>| {
        let x = Tensor::<2>::ones([4, 2], &device).require_grad();
        let out = a.matmul(x.clone());
        list(x.grad(&(out.clone() * out).sum().backward()).unwrap())
    };
    let (first, of_other) = (gradient(&a), gradient(&other));
    for _ in 0..3 {
        assert_eq!(gradient(&a), first);
        assert_eq!(gradient(&other), of_other);
        assert_eq!(gradient(&a.clone().require_grad()), first, "tracked values");
    }
    assert_ne!(first, of_other);
}
