//! Every path of the kernels, on problems too small to choose it: strategies are forced, and what was launched is
//! asserted.

use crate::common::{Data, TURN, assert_close, floats, gpu, ints, list, matrix};
use burn::tensor::{Device, Tensor};
use sparse_burn::forced::{Forced, Path, forced};
use sparse_tensor::ops::{self, IndexPlan, Reduce};
use sparse_tensor::{CooTensor, Fill};

/// Runs `f` on the CPU and, with strategies forced, on the GPU: results agree, a second run has the same bits, and of
/// the two lists the first was launched and the second was not.
pub fn agree(
    name: &str,
    force: Forced,
    [ran, not]: [&[&str]; 2],
    tolerance: f32,
    f: impl Fn(&Device) -> Vec<Vec<f32>>,
) {
    let want = f(&Device::flex().autodiff());
    let gpu = gpu().autodiff();
    let run = || forced(force, || f(&gpu));
    let (got, launched) = run();
    assert_close(name, &got, &want, tolerance);
    let bits = |parts: Vec<Vec<f32>>| -> Vec<u32> { parts.iter().flatten().map(|x| x.to_bits()).collect() };
    assert!(bits(run().0) == bits(got), "{name}: other bits");
    for (list, is) in [(ran, true), (not, false)] {
        for what in list {
            assert_eq!(launched.contains(what), is, "{name}: `{what}` among {launched:?}");
        }
    }
}

#[test]
fn cells_by_every_path() {
    let _turn = TURN.lock();
    let (shared, none): (&[&str], &[&str]) = (&["cells that cubes share"], &[]);
    for (outer, inner, count, along) in [(1, 3, 900, false), (2, 5, 90, true), (1, 40, 30, true)] {
        let (mut data, len) = (Data::new(23), 5);
        // Most go to one row, and none to the last.
        let index: Vec<i32> = data.ints(count, 12).into_iter().map(|row| if row < 4 { row } else { 1 }).collect();
        let (arr, values) = (data.floats(outer * len * inner), data.floats(outer * count * inner));
        // Ties, zeros and, for extrema, NaN.
        let coarse = |list: &[f32]| -> Vec<f32> { list.iter().map(|x| (x * 2.0).round() / 2.0).collect() };
        let (arr, values) = (coarse(&arr), coarse(&values));
        for (path, launched) in [(Path::Short, [none, shared]), (Path::Hybrid, [shared, none])] {
            let force = Forced { path: Some(path), patience: Some(4), ..Forced::default() };
            for reduce in Reduce::ALL {
                // An assignment reads one value of each cell.
                let launched = if reduce == Reduce::Assign { [none, none] } else { launched };
                let mut values = values.clone();
                if matches!(reduce, Reduce::Amax | Reduce::Amin) {
                    values[count / 2 * inner] = f32::NAN;
                }
                let what = format!("{reduce:?} of {count} x {inner}, {path:?}");
                agree(&what, force, launched, 1e-4, |device| {
                    let at = ints(&index, [1, count, 1], device);
                    let at = if along { at } else { at.expand([outer, count, inner]) };
                    let arr = floats(&arr, [outer, len, inner], device).require_grad();
                    let values = floats(&values, [outer, count, inner], device).require_grad();
                    let out = ops::put_along_axis(arr.clone(), at, values.clone(), 1, reduce, true);
                    let grads = (out.clone() * 3.0).sum().backward();
                    vec![list(out), list(arr.grad(&grads).unwrap()), list(values.grad(&grads).unwrap())]
                });
            }
        }
    }
}

fn coo(at: &[i32], values: &[f32], shape: [usize; 2], device: &Device) -> CooTensor<2> {
    let nnz = values.len();
    CooTensor::new(ints(at, [2, nnz], device), floats(values, [nnz], device), shape).unwrap()
}

/// Operands for kernels of every family, and the kernels that [`Families::results`] launches for them.
struct Families {
    at: [Vec<i32>; 2],
    values: [Vec<f32>; 2],
    x: Vec<f32>,
    index: Vec<i32>,
}

impl Families {
    const KERNELS: [&[&str]; 3] = [
        &["move_rows", "zip_rows", "short", "sddmm", "move_digits", "scan_parts", "search_coo", "place_merged"],
        &["place_csr", "distinct", "values", "sampled", "put", "put_backward", "product_backward", "gather"],
        &["softmax_groups", "softmax_cubes", "softmax_chunks", "softmax_fold", "chunks", "running"],
    ];
    /// Those whose grid is small for these operands.
    const SMALL: [&str; 4] = ["scan_parts", "softmax_fold", "put_fold", "product_fold"];

    fn new() -> Self {
        let (mut data, nnz) = (Data::new(25), 1500);
        let at = [data.ints(2 * nnz, 60), data.ints(2 * nnz, 60)];
        let values = [data.floats(nnz), data.floats(nnz)];
        // Half of them are put into one row.
        let index = data.ints(60, 120).into_iter().map(|row| if row < 60 { row } else { 1 }).collect();
        Self { at, values, x: data.floats(60 * 20), index }
    }

    fn results(&self, device: &Device) -> Vec<Vec<f32>> {
        let part = |k: usize| coo(&self.at[k], &self.values[k], [60, 60], device).coalesce().detach();
        let (a, b) = (part(0).require_grad(), part(1));
        let joined = ops::concat(&[(&a + &b).to_csr(), a.to_csr()], 1);
        let x = floats(&self.x, [60, 20], device).require_grad();
        let y = joined.transpose().matmul(x.clone());
        let square = a.to_csr().matmul(&b.to_csr());
        let at = ints(&self.index, [60, 1], device);
        let rows = ops::gather(x.clone(), 0, at.clone().expand([60, 20]));
        let arr = Tensor::<2>::ones([90, 20], device);
        let out = ops::put_along_axis(arr.clone(), at.clone(), rows.clone(), 0, Reduce::Add, true);
        let times = ops::put_along_axis(arr, at, rows, 0, Reduce::Mul, true);
        let (shares, sums) = (
            joined.clone().with_fill(Fill::Undefined).softmax(0).values::<1>(),
            joined.stored().cumsum(1).values::<1>(),
        );
        let loss = y.clone().sum() + (out.clone() * 2.0).sum() + square.values::<1>().sum() + times.clone().sum();
        let loss = loss + (shares.clone() * shares.clone()).sum() + sums.clone().sum();
        let grads = loss.backward();
        vec![
            list(y),
            list(out),
            list(times),
            list(shares),
            list(sums),
            list(square.values::<1>()),
            list(a.grad(&grads).unwrap().values::<1>()),
            list(x.grad(&grads).unwrap()),
        ]
    }
}

/// More cubes than one axis of a grid allows, in every family of kernels: as if the device allowed two. None binds more
/// than seven buffers.
#[test]
fn grids_of_two_axes() {
    let _turn = TURN.lock();
    let families = Families::new();
    let gpu = gpu().autodiff();
    let chunks = ["put_chunks", "put_fold", "product_chunks", "product_fold"];
    for (path, patience, also) in [(Path::Short, 4, &[][..]), (Path::Hybrid, 2, &chunks)] {
        let force = Forced {
            cubes: Some(2),
            bindings: Some(7),
            path: Some(path),
            patience: Some(patience),
            chunk: Some(8),
            items: Some(1),
            ..Forced::default()
        };
        let ran = [&Families::KERNELS.concat()[..], &["long", "rows in chunks"], also].concat();
        agree("two axes", force, [&ran, &[]], 1e-3, |device| families.results(device));
        let (_, launched) = forced(force, || families.results(&gpu));
        for kernel in [&Families::KERNELS.concat()[..], &["long"], also].concat() {
            let on_two = launched.contains(format!("{kernel} on two axes").as_str());
            // Scans of a few parts, and folds of a few rows, need one cube.
            assert!(on_two || Families::SMALL.contains(&kernel), "{kernel}, {path:?}");
        }
    }
}

/// Running sums of at least three levels: a unit sums two rows.
#[test]
fn running_sums_of_three_levels() {
    let _turn = TURN.lock();
    let a = Data::new(26).csr(7, 40, 9);
    let force = Forced { items: Some(2), ..Forced::default() };
    let ran = ["chunks", "running", "running sums of three levels"];
    for axis in 0..2 {
        agree(&format!("stored().cumsum({axis})"), force, [&ran, &[]], 1e-4, |device| {
            let a = matrix(&a, [7, 40], device).require_grad();
            let sums = a.stored().cumsum(axis).values::<1>();
            let grads = (sums.clone() * sums.clone()).sum().backward();
            vec![list(sums), list(a.grad(&grads).unwrap().values::<1>())]
        });
    }
}

/// As if no buffer of the device held an operand: every family of kernels runs on the host.
#[test]
fn operands_larger_than_a_buffer() {
    let _turn = TURN.lock();
    let families = Families::new();
    let force = Forced { buffer: Some(64), ..Forced::default() };
    agree("small buffers", force, [&[], &Families::KERNELS.concat()], 1e-3, |device| families.results(device));
}

/// As if buffers held the operands but not the result, or not an array on the way to it.
#[test]
fn results_larger_than_a_buffer() {
    let _turn = TURN.lock();
    let small = Forced { buffer: Some(1024), ..Forced::default() };
    let check = |kernel: &str, f: &dyn Fn(&Device) -> Vec<Vec<f32>>| {
        agree(kernel, Forced::default(), [&[kernel], &[]], 1e-4, f);
        agree(kernel, small, [&[], &[kernel]], 1e-4, f);
    };
    let mut data = Data::new(27);
    let (a, x) = (data.csr(40, 10, 2), data.floats(10 * 8));
    check("short", &|device| vec![list(matrix(&a, [40, 10], device).matmul(floats(&x, [10, 8], device)))]);
    let index = data.ints(60, 10);
    check("move_rows", &|device| {
        let plan = IndexPlan::new(ints(&index, [60], device), 10).unwrap();
        vec![list(plan.select(floats(&x, [10, 8], device), 0))]
    });
    // Coordinates of 800 bytes each.
    let at = [0, 1].map(|first| -> Vec<i32> {
        let cells = (0..100).map(|k| 4 * k + first);
        cells.clone().map(|cell| cell / 20).chain(cells.map(|cell| cell % 20)).collect()
    });
    let values = [data.floats(100), data.floats(100)];
    let parts = |device: &Device| [0, 1].map(|k| coo(&at[k], &values[k], [20, 20], device));
    check("place_merged", &|device| {
        let [a, b] = parts(device);
        vec![list((&a + &b).to_dense())]
    });
    check("place_coo", &|device| vec![list(ops::concat(&parts(device), 1).to_dense())]);
    // 900 elements from 30 and 30.
    let (column, row) = ([(0..30).collect(), vec![0; 30]].concat(), [vec![0; 30], (0..30).collect()].concat());
    check("values", &|device| {
        let (a, b) = (coo(&column, &values[0][..30], [30, 1], device), coo(&row, &values[1][..30], [1, 30], device));
        vec![list(a.to_csr().matmul(&b.to_csr()).to_dense())]
    });
    // A product's gradient notes two numbers for each value.
    let (index, factors) = (data.ints(150, 30), data.floats(150));
    check("product_backward", &|device| {
        let values = floats(&factors, [150], device).require_grad();
        let arr = floats(&[2.0; 30], [30], device);
        let out = ops::put_along_axis(arr, ints(&index, [150], device), values.clone(), 0, Reduce::Mul, true);
        vec![list(out.clone()), list(values.grad(&out.sum().backward()).unwrap())]
    });
}
