//! Work that moves, merges and reduces: put, concat, arithmetic, sums.

use super::inputs::{Rows, fresh, save};
use super::report::Bench;
use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sparse_autograd::backward_from;
use sparse_tensor::ops::{Reduce, concat, put_along_axis};
use sparse_tensor::{CooTensor, CsrTensor, Fill};
use std::path::Path;

const ROWS: usize = 1_000_000;
const PART_NNZ: usize = 5_000_000;
/// Bytes of an element of a matrix: column and value.
const ELEMENT: usize = 8;

pub(crate) fn put(bench: &mut Bench, folder: &Path) {
    let works = [
        ("put add f+b", Reduce::Add),
        ("put mul f+b", Reduce::Mul),
        ("put mean f+b", Reduce::Mean),
        ("put amax f+b", Reduce::Amax),
    ];
    if !bench.wants_any(&works.map(|(name, _)| name)) && !bench.wants_any(&["put rows add", "put rows add f+b"]) {
        return;
    }
    let inputs = PutInputs::make(folder);
    // Twice the index and the values, and the array three times.
    let bytes = 2 * ROWS * 64 * 12 + 3 * ROWS / 10 * 256;
    for (name, reduce) in works {
        bench.compare(name, bytes, || inputs.run(reduce));
    }
    bench.compare("put rows add", ROWS * (256 + 8) + 2 * ROWS / 10 * 256, || inputs.rows(false));
    bench.compare("put rows add f+b", 2 * (ROWS * (256 + 8) + 2 * ROWS / 10 * 256), || inputs.rows(true));
}

struct PutInputs {
    arr: Tensor<2>,
    index: Tensor<2, Int>,
    rows: Tensor<2, Int>,
    values: Tensor<2>,
    /// The gradient that backward starts from, made once, as for the peer.
    ones: Tensor<2>,
}

impl PutInputs {
    fn make(folder: &Path) -> Self {
        const N: usize = 100_000;
        let mut rng = StdRng::seed_from_u64(1);
        let values: Vec<f32> = (0..ROWS * 64).map(|_| rng.random_range(0.9..1.1)).collect();
        let index: Vec<i64> = (0..ROWS * 64).map(|_| rng.random_range(0..N as i64)).collect();
        let rows: Vec<i64> = (0..ROWS).map(|_| rng.random_range(0..N as i64)).collect();
        let arr: Vec<f32> = (0..N * 64).map(|_| rng.random_range(0.9..1.1)).collect();
        save(folder, "put.values", &values);
        save(folder, "put.index", &index);
        save(folder, "put.rows", &rows);
        save(folder, "put.arr", &arr);
        let device = Device::flex().autodiff();
        let ints = |list: Vec<i64>, width: usize| {
            Tensor::<2, Int>::from_data(TensorData::new(list, [ROWS, width]), (&device.clone().inner(), DType::I64))
        };
        let floats = |list: Vec<f32>| {
            let rows = list.len() / 64;
            Tensor::<2>::from_data(TensorData::new(list, [rows, 64]), &device)
        };
        let (arr, values, ones) = (floats(arr), floats(values), Tensor::ones([N, 64], &device.clone().inner()));
        Self { arr, index: ints(index, 64), rows: ints(rows, 1), values, ones }
    }

    fn run(&self, reduce: Reduce) -> Vec<Tensor<1>> {
        self.both(self.index.clone(), reduce)
    }

    fn both(&self, index: Tensor<2, Int>, reduce: Reduce) -> Vec<Tensor<1>> {
        let (arr, values) = (self.arr.clone().detach().require_grad(), self.values.clone().detach().require_grad());
        let out = put_along_axis(arr, index, values.clone(), 0, reduce, true);
        let grads = backward_from(&out, self.ones.clone());
        vec![out.inner().flatten(0, 1), values.grad(&grads).expect("a leaf").flatten(0, 1)]
    }

    fn rows(&self, backward: bool) -> Vec<Tensor<1>> {
        if backward {
            return self.both(self.rows.clone(), Reduce::Add);
        }
        let (arr, values) = (self.arr.clone().inner(), self.values.clone().inner());
        vec![put_along_axis(arr, self.rows.clone(), values, 0, Reduce::Add, true).flatten(0, 1)]
    }
}

pub(crate) fn parts(bench: &mut Bench, folder: &Path) {
    let names = [
        "concat axis 0",
        "concat axis 1",
        "coo concat axis 1",
        "add",
        "add, known pattern",
        "mul",
        "mul, known pattern",
        "div",
        "div, known pattern",
        "softmax f+b",
        "select 512 rows",
        "row sum",
        "coalesce",
        "coo to csr",
        "csr transpose",
    ];
    if !bench.wants_any(&names) {
        return;
    }
    let device = Device::flex();
    let parts: Vec<CsrTensor<2>> = (0..4)
        .map(|k| Rows::uniform(10 + k, [ROWS; 2], PART_NNZ).shared(folder, &format!("part{k}"), &device))
        .collect();
    let all = 2 * 4 * (PART_NNZ * ELEMENT + ROWS * 4);
    for axis in [0, 1] {
        let name = ["concat axis 0", "concat axis 1"][axis as usize];
        bench.compare(name, all, || vec![concat(&parts, axis).values::<1>()]);
    }
    let pairs: Vec<_> =
        if bench.wants("coo concat axis 1") { parts.iter().map(CsrTensor::to_coo).collect() } else { vec![] };
    bench.compare("coo concat axis 1", 2 * 4 * PART_NNZ * 12, || vec![concat(&pairs, 1).coalesce().values::<1>()]);
    drop(pairs);
    // A fresh copy each time has a pattern of its own: the merge is part of what is timed, as it is for SciPy.
    let (a, b) = (fresh(&parts[0]), fresh(&parts[1]));
    let merged = 4 * PART_NNZ * ELEMENT + 3 * ROWS * 4;
    bench.compare("add", merged, || vec![(&fresh(&parts[0]) + &fresh(&parts[1])).values::<1>()]);
    bench.compare_as("add, known pattern", "add", merged, || vec![(&a + &b).values::<1>()]);
    bench.compare("mul", merged / 2, || vec![(&fresh(&parts[0]) * &fresh(&parts[1])).values::<1>()]);
    bench.compare_as("mul, known pattern", "mul", merged / 2, || vec![(&a * &b).values::<1>()]);
    // SciPy's sum, for it stores no quotient.
    bench.time("div", "add", merged, || vec![(&fresh(&parts[0]) / &fresh(&parts[1])).values::<1>()]);
    bench.time("div, known pattern", "add", merged, || vec![(&a / &b).values::<1>()]);
    let scores = parts[0].clone().with_fill(Fill::Undefined);
    bench.compare("softmax f+b", 5 * PART_NNZ * 4 + 2 * ROWS * 4, || softmax(&scores));
    let both = concat(&parts[..2], 0);
    if bench.wants("select 512 rows") {
        let mut rng = StdRng::seed_from_u64(5);
        let rows: Vec<i64> = (0..512).map(|_| rng.random_range(0..2 * ROWS as i64)).collect();
        save(folder, "selected", &rows);
        let rows = Tensor::<1, Int>::from_data(TensorData::new(rows, [512]), (&device, DType::I64));
        bench.compare("select 512 rows", 0, || vec![both.select(0, rows.clone()).values::<1>()]);
    }
    bench.compare("row sum", PART_NNZ * 4 + ROWS * 8, || vec![parts[0].sum_dim(1).values::<1>()]);
    if bench.wants("csr transpose") {
        bench.compare("csr transpose", 4 * PART_NNZ * ELEMENT, || vec![fresh(&both).transpose().values::<1>()]);
    }
    if bench.wants_any(&["coalesce", "coo to csr"]) {
        conversions(bench, folder, &device);
    }
}

fn conversions(bench: &mut Bench, folder: &Path, device: &Device) {
    const NNZ: usize = 10_000_000;
    let mut rng = StdRng::seed_from_u64(6);
    let ids: Vec<i64> = (0..2 * NNZ).map(|k| rng.random_range(0..if k < NNZ { ROWS as i64 } else { 4 })).collect();
    let values: Vec<f32> = (0..NNZ).map(|_| rng.random_range(0.5..1.5)).collect();
    save(folder, "loose.ids", &ids);
    save(folder, "loose.values", &values);
    let indices = Tensor::<2, Int>::from_data(TensorData::new(ids, [2, NNZ]), (device, DType::I64));
    let values = Tensor::<1>::from_data(TensorData::new(values, [NNZ]), device);
    let loose = || CooTensor::<2>::new(indices.clone(), values.clone(), [ROWS, 4]).expect("in the shape");
    bench.compare("coalesce", NNZ * 20 + 4_000_000 * 20, || vec![loose().coalesce().values::<1>()]);
    bench.compare("coo to csr", NNZ * 20 + 4_000_000 * 12, || vec![loose().to_csr().values::<1>()]);
}

/// Forward and backward over a known pattern.
fn softmax(scores: &CsrTensor<2>) -> Vec<Tensor<1>> {
    let values = scores.values::<1>().autodiff().require_grad();
    let out = scores.try_with_values(values).expect("the same pattern").softmax(1);
    out.values::<1>().mul_scalar(0.75).sum().backward();
    vec![out.values::<1>().inner()]
}
