//! Work that moves, merges and reduces: put, concat, arithmetic, sums.

use super::bounds::{Part, numbers, random, stream};
use super::inputs::{Rows, fresh, save};
use super::report::Bench;
use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sparse_autograd::backward_from;
use sparse_tensor::ops::{IndexPlan, Reduce, concat, put_along_axis};
use sparse_tensor::{CooTensor, CsrTensor, Fill};
use std::cell::OnceCell;
use std::path::Path;

const ROWS: usize = 1_000_000;
const PART_NNZ: usize = 5_000_000;
/// Rows of the array that `put` writes to.
const TARGETS: usize = 100_000;
/// Bytes of an element of a matrix: column and value.
const ELEMENT: usize = 8;

pub(crate) fn put(bench: &mut Bench, folder: &Path) {
    let works = [
        ("put add f+b", Reduce::Add),
        ("put mul f+b", Reduce::Mul),
        ("put mean f+b", Reduce::Mean),
        ("put amax f+b", Reduce::Amax),
    ];
    if !bench.wants_any(&works.map(|(name, _)| name)) && !bench.wants("put rows add f+b, planned") {
        return;
    }
    let inputs = PutInputs::make(folder);
    for (name, reduce) in works {
        bench.compare(name, || inputs.bound(reduce), || inputs.run(reduce));
    }
    bench.compare("put rows add", || inputs.rows_bound(false), || inputs.rows(false));
    bench.compare("put rows add f+b", || inputs.rows_bound(true), || inputs.rows(true));
    // The first call makes the plan.
    let plan = OnceCell::new();
    let planned = || {
        let plan = plan.get_or_init(|| IndexPlan::new(inputs.rows.clone().flatten(0, 1), TARGETS).expect("in range"));
        inputs.both(|arr, values| plan.put(arr, 0, values, Reduce::Add, true))
    };
    bench.compare_as("put rows add f+b, planned", "put rows add f+b", || inputs.rows_bound(true), planned);
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
        let mut rng = StdRng::seed_from_u64(1);
        let values: Vec<f32> = (0..ROWS * 64).map(|_| rng.random_range(0.9..1.1)).collect();
        let index: Vec<i64> = (0..ROWS * 64).map(|_| rng.random_range(0..TARGETS as i64)).collect();
        let rows: Vec<i64> = (0..ROWS).map(|_| rng.random_range(0..TARGETS as i64)).collect();
        let arr: Vec<f32> = (0..TARGETS * 64).map(|_| rng.random_range(0.9..1.1)).collect();
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
        let (arr, values, ones) = (floats(arr), floats(values), Tensor::ones([TARGETS, 64], &device.clone().inner()));
        Self { arr, index: ints(index, 64), rows: ints(rows, 1), values, ones }
    }

    /// The array is copied, and the index to 32 bits: loops over that take half as long. Products and extrema read the
    /// values again for the gradient.
    fn bound(&self, reduce: Reduce) -> Vec<Part> {
        let index = || self.index.to_data().iter::<i32>().collect::<Vec<_>>();
        let (width, table, values) = (64, TARGETS, matches!(reduce, Reduce::Mul | Reduce::Amax));
        let (array, entries) = (TARGETS * 256, ROWS * 64);
        vec![
            stream(array + 8 * entries, array + 4 * entries),
            Part::Put { index: index(), width, table },
            Part::PutBackward { index: index(), width, table, values },
        ]
    }

    /// The values in order beside the rows of their targets, then the gradient in the order of the values.
    fn rows_bound(&self, backward: bool) -> Vec<Part> {
        let (width, array) = (256, TARGETS * 256);
        let targets = || Part::Rows { index: numbers(self.rows.clone().flatten(0, 1)), width, table: TARGETS };
        let mut parts = vec![stream(array + ROWS * width, array), targets()];
        if backward {
            parts.extend([targets(), stream(0, ROWS * width)]);
        }
        parts
    }

    fn run(&self, reduce: Reduce) -> Vec<Tensor<1>> {
        self.both(|arr, values| put_along_axis(arr, self.index.clone(), values, 0, reduce, true))
    }

    fn both(&self, put: impl FnOnce(Tensor<2>, Tensor<2>) -> Tensor<2>) -> Vec<Tensor<1>> {
        let (arr, values) = (self.arr.clone().detach().require_grad(), self.values.clone().detach().require_grad());
        let out = put(arr, values.clone());
        let grads = backward_from(&out, self.ones.clone());
        vec![out.inner().flatten(0, 1), values.grad(&grads).expect("a leaf").flatten(0, 1)]
    }

    fn rows(&self, backward: bool) -> Vec<Tensor<1>> {
        let put = |arr, values| put_along_axis(arr, self.rows.clone(), values, 0, Reduce::Add, true);
        if backward {
            return self.both(put);
        }
        vec![put(self.arr.clone().inner(), self.values.clone().inner()).flatten(0, 1)]
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
    let all = 4 * (PART_NNZ * ELEMENT + ROWS * 4);
    bench.compare("concat axis 0", || vec![stream(all, all)], || vec![concat(&parts, 0).values::<1>()]);
    let rows = || {
        // Columns, and values.
        let [columns, values] =
            [(); 2].map(|()| Part::SideBySide { ends: parts.iter().map(|part| numbers(part.row_ptr())).collect() });
        vec![columns, values, stream(4 * ROWS * 4, ROWS * 4)]
    };
    bench.compare("concat axis 1", rows, || vec![concat(&parts, 1).values::<1>()]);
    let pairs: Vec<_> =
        if bench.wants("coo concat axis 1") { parts.iter().map(CsrTensor::to_coo).collect() } else { vec![] };
    let all = 4 * PART_NNZ * (ELEMENT + 4);
    bench.compare("coo concat axis 1", || vec![stream(all, all)], || vec![concat(&pairs, 1).coalesce().values::<1>()]);
    drop(pairs);
    // A fresh copy each time has a pattern of its own: the merge is part of what is timed, as it is for SciPy.
    let (a, b) = (fresh(&parts[0]), fresh(&parts[1]));
    // No element of one is in the other, or few.
    let merged = || vec![stream(2 * (PART_NNZ * ELEMENT + ROWS * 4), 2 * PART_NNZ * ELEMENT + ROWS * 4)];
    // The values, and a bit for each that says where it goes.
    let known = || vec![stream(2 * PART_NNZ * 4 + 2 * PART_NNZ / 8, 2 * PART_NNZ * 4)];
    bench.compare("add", merged, || vec![(&fresh(&parts[0]) + &fresh(&parts[1])).values::<1>()]);
    bench.compare_as("add, known pattern", "add", known, || vec![(&a + &b).values::<1>()]);
    bench.compare("mul", merged, || vec![(&fresh(&parts[0]) * &fresh(&parts[1])).values::<1>()]);
    bench.compare_as("mul, known pattern", "mul", known, || vec![(&a * &b).values::<1>()]);
    // SciPy's sum, for it stores no quotient.
    bench.time("div", "add", merged, || vec![(&fresh(&parts[0]) / &fresh(&parts[1])).values::<1>()]);
    bench.time("div, known pattern", "add", known, || vec![(&a / &b).values::<1>()]);
    let scores = parts[0].clone().with_fill(Fill::Undefined);
    let weights = Tensor::full([scores.nnz()], 0.75, &device);
    // Each pass reads the ends of the rows.
    let values = PART_NNZ * 4;
    let passes = || vec![stream(values + ROWS * 4, values), stream(2 * values + ROWS * 4, values)];
    bench.compare("softmax f+b", passes, || softmax(&scores, weights.clone()));
    let both = concat(&parts[..2], 0);
    if bench.wants("select 512 rows") {
        let mut rng = StdRng::seed_from_u64(5);
        let rows: Vec<i64> = (0..512).map(|_| rng.random_range(0..2 * ROWS as i64)).collect();
        save(folder, "selected", &rows);
        let rows = Tensor::<1, Int>::from_data(TensorData::new(rows, [512]), (&device, DType::I64));
        bench.compare("select 512 rows", Vec::new, || vec![both.select(0, rows.clone()).values::<1>()]);
    }
    let sums = || vec![stream(values + ROWS * 4, ROWS * 4)];
    bench.compare("row sum", sums, || vec![parts[0].sum_dim(1).values::<1>()]);
    // The columns are sorted with the positions of their elements. Rows and values are read in that order.
    let transpose = || {
        let (nnz, keys) = (both.nnz(), numbers(both.col_idx()));
        let sorted = |width| Part::Rows { index: random(nnz, nnz), width, table: nnz };
        vec![Part::Sort { keys, largest: ROWS as u32 }, sorted(4), stream(2 * ROWS * 4 + nnz * 4, nnz * 8 + ROWS * 4)]
    };
    bench.compare("csr transpose", transpose, || vec![fresh(&both).transpose().values::<1>()]);
    if bench.wants_any(&["coalesce", "coo to csr"]) {
        conversions(bench, folder, &device);
    }
}

fn conversions(bench: &mut Bench, folder: &Path, device: &Device) {
    const NNZ: usize = 10_000_000;
    /// How many of the places have an element.
    const DISTINCT: usize = 3_670_000;
    let mut rng = StdRng::seed_from_u64(6);
    let ids: Vec<i64> = (0..2 * NNZ).map(|k| rng.random_range(0..if k < NNZ { ROWS as i64 } else { 4 })).collect();
    let values: Vec<f32> = (0..NNZ).map(|_| rng.random_range(0.5..1.5)).collect();
    save(folder, "loose.ids", &ids);
    save(folder, "loose.values", &values);
    let indices = Tensor::<2, Int>::from_data(TensorData::new(ids, [2, NNZ]), (device, DType::I64));
    let values = Tensor::<1>::from_data(TensorData::new(values, [NNZ]), device);
    let loose = || CooTensor::<2>::new(indices.clone(), values.clone(), [ROWS, 4]).expect("in the shape");
    // Places are sorted with the positions of their elements, whose values are read in that order.
    let bound = |written: usize| {
        let ids: Vec<i64> = indices.to_data().try_to_vec().expect("i64");
        let keys = ids[..NNZ].iter().zip(&ids[NNZ..]).map(|(row, col)| (4 * row + col) as u32).collect();
        let values = Part::Rows { index: random(NNZ, NNZ), width: 4, table: NNZ };
        vec![Part::Sort { keys, largest: 4 * ROWS as u32 }, values, stream(NNZ * 16, written)]
    };
    bench.compare("coalesce", || bound(DISTINCT * 20), || vec![loose().coalesce().values::<1>()]);
    bench.compare("coo to csr", || bound(DISTINCT * 8 + ROWS * 4), || vec![loose().to_csr().values::<1>()]);
}

/// Forward and backward over a known pattern.
fn softmax(scores: &CsrTensor<2>, weights: Tensor<1>) -> Vec<Tensor<1>> {
    let values = scores.values::<1>().autodiff().require_grad();
    let out = scores.try_with_values(values.clone()).expect("the same pattern").softmax(1).values::<1>();
    let grads = backward_from(&out, weights);
    vec![out.inner(), values.grad(&grads).expect("a leaf")]
}
