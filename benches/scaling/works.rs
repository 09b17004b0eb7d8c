//! What is measured. Each work is a function of the number of elements.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sparse_autograd::backward_from;
use sparse_tensor::extend::linear;
use sparse_tensor::ops::{Epilogue, Reduce, put_along_axis};
use sparse_tensor::{CooTensor, CsrTensor, Fill};

/// Columns of the dense side of a product, unless they are what grows.
const FEATURES: usize = 32;
/// Columns of the array of `put_along_axis`.
const WIDTH: usize = 64;

pub(crate) struct Work {
    pub name: &'static str,
    pub make: fn(usize) -> Input,
}

/// A call and its operands.
pub(crate) struct Input {
    /// How many elements the call has; for SpGEMM those of its result.
    pub elements: usize,
    /// Bytes of the operands.
    pub operands: usize,
    pub run: Box<dyn Fn() -> Output + Send + Sync>,
}

/// All that a call computes.
pub(crate) struct Output {
    values: Vec<Tensor<1>>,
    ids: Vec<Tensor<1, Int>>,
}

impl Output {
    pub(crate) fn bytes(&self) -> usize {
        self.values.iter().map(bytes).sum::<usize>() + self.ids.iter().map(bytes).sum::<usize>()
    }

    /// The bits of each tensor.
    pub(crate) fn bits(self) -> Vec<Vec<u8>> {
        let values = self.values.into_iter().map(Tensor::into_data);
        let ids = self.ids.into_iter().map(Tensor::into_data);
        values.chain(ids).map(|data| data.as_bytes().to_vec()).collect()
    }
}

pub(crate) static WORKS: [Work; 8] = [
    Work { name: "SpMM", make: |nnz| product(nnz, FEATURES) },
    Work { name: "coalesce", make: coalesce },
    Work { name: "transpose", make: transpose },
    Work { name: "select", make: select },
    Work { name: "union", make: union },
    Work { name: "put add", make: put },
    Work { name: "SpGEMM", make: sparse_product },
    Work { name: "softmax f+b", make: softmax },
];

/// Where threads are what changes.
pub(crate) static TRAINING: Work = Work { name: "GCN f+b", make: gcn };

/// Two layers of GCN without what normalises, forward and backward.
fn gcn(nnz: usize) -> Input {
    let size = (nnz / 10).max(1);
    let a = matrix(17, size, 10);
    let x = dense(18, [size, FEATURES]);
    let weights = [19, 20].map(|seed| dense(seed, [FEATURES; 2]));
    let (elements, operands) = (a.nnz(), held(&a) + bytes(&x));
    let (tracked, ones) = (a.to_device(&Device::flex().autodiff()), Tensor::ones([size, FEATURES], &Device::flex()));
    let run = move || {
        let [first, second] = weights.clone().map(|weight| weight.autodiff().require_grad());
        let rectified = Epilogue { bias: None, relu: true };
        let hidden = linear(tracked.matmul(x.clone().autodiff()), first.clone(), rectified);
        let grads = backward_from(&linear(tracked.matmul(hidden), second.clone(), Epilogue::default()), ones.clone());
        values_only([first, second].map(|weight| weight.grad(&grads).expect("a leaf").flatten(0, 1)).to_vec())
    };
    Input { elements, operands, run: Box::new(run) }
}

/// SpMM: 10 elements a row, times a dense matrix.
pub(crate) fn product(nnz: usize, features: usize) -> Input {
    let size = (nnz / 10).max(1);
    let a = matrix(1, size, 10);
    let x = dense(2, [size, features]);
    let (elements, operands) = (a.nnz(), held(&a) + bytes(&x));
    Input { elements, operands, run: Box::new(move || values_only(vec![a.matmul(x.clone()).flatten(0, 1)])) }
}

/// COO with 2.5 elements at a place, in any order.
fn coalesce(nnz: usize) -> Input {
    let rows = (nnz / 10).max(1);
    let mut rng = StdRng::seed_from_u64(3);
    let ids = (0..2 * nnz).map(|k| rng.random_range(0..if k < nnz { rows as i64 } else { 4 })).collect();
    let indices = ints(ids, [2, nnz]);
    let values = dense(4, [nnz, 1]).flatten::<1>(0, 1);
    let operands = bytes(&indices) + bytes(&values);
    let run = move || {
        // A new tensor each time, for a pattern keeps what was derived from it.
        let loose = CooTensor::<2>::new(indices.clone(), values.clone(), [rows, 4]).expect("in the shape");
        let out = loose.coalesce();
        Output { values: vec![out.values()], ids: vec![out.indices().flatten(0, 1)] }
    };
    Input { elements: nnz, operands, run: Box::new(run) }
}

/// A CSR to compressed columns, 10 elements a row.
fn transpose(nnz: usize) -> Input {
    let a = matrix(14, (nnz / 10).max(1), 10);
    Input { elements: a.nnz(), operands: held(&a), run: Box::new(move || parts(&fresh(&a).transpose())) }
}

/// 1024 rows of a CSR, 10 elements a row: a batch. Its time should not depend on what else the matrix has.
fn select(nnz: usize) -> Input {
    let rows = (nnz / 10).max(1);
    let a = matrix(15, rows, 10);
    let mut rng = StdRng::seed_from_u64(16);
    let ids = ints((0..1024).map(|_| rng.random_range(0..rows as i64)).collect(), [1024, 1]).flatten::<1>(0, 1);
    let batch = move |a: &CsrTensor<2>| fresh(a).select(0, ids.clone());
    let (elements, operands) = (batch(&a).nnz(), held(&a));
    Input { elements, operands, run: Box::new(move || parts(&batch(&a))) }
}

/// CSR + CSR, 5 elements a row each.
fn union(nnz: usize) -> Input {
    let size = (nnz / 10).max(1);
    let (a, b) = (matrix(5, size, 5), matrix(6, size, 5));
    let (elements, operands) = (a.nnz() + b.nnz(), held(&a) + held(&b));
    Input { elements, operands, run: Box::new(move || parts(&(&fresh(&a) + &fresh(&b)))) }
}

/// `put_along_axis` with an index for each value, 10 values at a place.
fn put(nnz: usize) -> Input {
    let rows = (nnz / WIDTH).max(1);
    let size = (rows / 10).max(1);
    let mut rng = StdRng::seed_from_u64(7);
    let index = ints((0..rows * WIDTH).map(|_| rng.random_range(0..size as i64)).collect(), [rows, WIDTH]);
    let (values, array) = (dense(8, [rows, WIDTH]), dense(9, [size, WIDTH]));
    let operands = bytes(&index) + bytes(&values) + bytes(&array);
    let run = move || {
        let out = put_along_axis(array.clone(), index.clone(), values.clone(), 0, Reduce::Add, true);
        values_only(vec![out.flatten(0, 1)])
    };
    Input { elements: rows * WIDTH, operands, run: Box::new(run) }
}

/// CSR x CSR, 3 elements a row each and about 9 in the result.
fn sparse_product(nnz: usize) -> Input {
    let size = (nnz / 10).max(1);
    let (a, b) = (matrix(10, size, 3), matrix(11, size, 3));
    let (elements, operands) = (fresh(&a).matmul(&b).nnz(), held(&a) + held(&b));
    Input { elements, operands, run: Box::new(move || parts(&fresh(&a).matmul(&b))) }
}

/// Softmax of rows, forward and backward.
fn softmax(nnz: usize) -> Input {
    let scores = matrix(12, (nnz / 10).max(1), 10).with_fill(Fill::Undefined);
    let weights = dense(13, [scores.nnz(), 1]).flatten::<1>(0, 1).autodiff();
    let (elements, operands) = (scores.nnz(), held(&scores) + bytes(&weights));
    let run = move || {
        let values = scores.values::<1>().autodiff().require_grad();
        let out = scores.try_with_values(values.clone()).expect("the same pattern").softmax(1).values::<1>();
        let grads = out.clone().mul(weights.clone()).sum().backward();
        values_only(vec![out.inner(), values.grad(&grads).expect("a leaf")])
    };
    Input { elements, operands, run: Box::new(run) }
}

fn values_only(values: Vec<Tensor<1>>) -> Output {
    Output { values, ids: vec![] }
}

fn parts(matrix: &CsrTensor<2>) -> Output {
    Output { values: vec![matrix.values()], ids: vec![matrix.row_ptr(), matrix.col_idx()] }
}

fn bytes<const D: usize, K: sparse_tensor::Kind>(tensor: &Tensor<D, K>) -> usize {
    tensor.shape().num_elements() * tensor.dtype().size()
}

fn held(matrix: &CsrTensor<2>) -> usize {
    bytes(&matrix.row_ptr()) + bytes(&matrix.col_idx()) + bytes(&matrix.values::<1>())
}

/// A square matrix. Each row has 0 to `2 * mean` elements at uniform places.
fn matrix(seed: u64, size: usize, mean: usize) -> CsrTensor<2> {
    let mut rng = StdRng::seed_from_u64(seed);
    let (mut row_ptr, mut col_idx) = (vec![0], Vec::with_capacity(size * (mean + 1)));
    let mut row = vec![];
    for _ in 0..size {
        row.clear();
        row.extend((0..rng.random_range(0..=2 * mean)).map(|_| rng.random_range(0..size as i32)));
        row.sort_unstable();
        row.dedup();
        col_idx.extend_from_slice(&row);
        row_ptr.push(col_idx.len() as i32);
    }
    let nnz = col_idx.len();
    let list = |list: Vec<i32>| {
        let length = list.len();
        Tensor::from_data(TensorData::new(list, [length]), (&Device::flex(), DType::I32))
    };
    let values = dense(seed + 100, [nnz, 1]).flatten::<1>(0, 1);
    CsrTensor::new(list(row_ptr), list(col_idx), values, [size; 2]).expect("valid rows")
}

/// The same arrays under a pattern that nothing is known of yet.
fn fresh(matrix: &CsrTensor<2>) -> CsrTensor<2> {
    CsrTensor::new_unchecked(matrix.row_ptr(), matrix.col_idx(), matrix.values::<1>(), matrix.dims())
}

/// Numbers in -1..1.
fn dense(seed: u64, shape: [usize; 2]) -> Tensor<2> {
    let mut rng = StdRng::seed_from_u64(seed);
    let list: Vec<f32> = (0..shape[0] * shape[1]).map(|_| rng.random_range(-1.0..1.0)).collect();
    Tensor::from_data(TensorData::new(list, shape), &Device::flex())
}

fn ints(list: Vec<i64>, shape: [usize; 2]) -> Tensor<2, Int> {
    Tensor::from_data(TensorData::new(list, shape), (&Device::flex(), DType::I64))
}
