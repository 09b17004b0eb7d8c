//! Cells of `put_along_axis` by every path: a unit, a cube, and cubes for the chunks of a cell.

use crate::common::{Data, TURN, assert_close, floats, gpu, ints, list, matrix};
use crate::forced::agree;
use burn::tensor::{DType, Device, FloatDType, Tensor};
use sparse_burn::forced::{Forced, Path, forced};
use sparse_tensor::CooTensor;
use sparse_tensor::ops::{self, IndexPlan, Reduce};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A put: sizes, whether an index is of whole steps, and what is put where.
#[derive(Clone)]
struct Cells {
    outer: usize,
    len: usize,
    inner: usize,
    count: usize,
    along: bool,
    index: Vec<i32>,
    arr: Vec<f32>,
    values: Vec<f32>,
}

impl Cells {
    /// Most values go to row 1, a few to rows 0, 2 and 3, none to the last of 5. Sums and products are exact in any
    /// order. Some values tie, some factors are zero.
    fn new([outer, inner, count]: [usize; 3], along: bool, reduce: Reduce) -> Self {
        let (mut data, len) = (Data::new(30), 5);
        let index = data.ints(count, 40).into_iter().map(|row| if row < 4 { row } else { 1 }).collect();
        let mut numbers = |count| -> Vec<f32> {
            let random = data.floats(count);
            let factor = |(k, x): (usize, &f32)| match k % 97 {
                0 => 2.0 * x.signum(),
                50 => 0.5,
                90 if k % 5 == 0 => 0.0,
                _ => x.signum(),
            };
            match reduce {
                Reduce::Mul => random.iter().enumerate().map(factor).collect(),
                _ => random.iter().map(|x| (x * 8.0).round() / 8.0).collect(),
            }
        };
        let (arr, values) = (numbers(outer * len * inner), numbers(outer * count * inner));
        Self { outer, len, inner, count, along, index, arr, values }
    }

    /// With an infinity in one cell, and NaN in another where there is one. Neither spoils the gradient of a sum.
    fn special(mut self) -> Self {
        let row = |row| self.index.iter().rposition(|&to| to == row).expect("a value of the row") * self.inner;
        let (first, last) = (row(2), row(1) + self.inner - 1);
        self.values[first] = f32::NEG_INFINITY;
        self.values[last] = f32::NAN;
        self
    }

    /// The result and both gradients, in a dtype.
    fn run(&self, reduce: Reduce, own: bool, dtype: FloatDType, device: &Device) -> Vec<Vec<f32>> {
        let Self { outer, len, inner, count, .. } = *self;
        let at = ints(&self.index, [1, count, 1], device);
        let at = if self.along { at } else { at.expand([outer, count, inner]) };
        let leaf = |list: &[f32], rows| floats(list, [outer, rows, inner], device).cast(dtype).detach().require_grad();
        let (arr, values) = (leaf(&self.arr, len), leaf(&self.values, count));
        let out = ops::put_along_axis(arr.clone(), at, values.clone(), 1, reduce, own);
        let weights: Vec<f32> = (0..outer * len * inner).map(|k| (k % 7) as f32 / 4.0 - 0.5).collect();
        let grads = (out.clone() * floats(&weights, [outer, len, inner], device).cast(dtype)).sum().backward();
        vec![list(out), list(arr.grad(&grads).unwrap()), list(values.grad(&grads).unwrap())]
    }
}

/// How to force each path, and what it launches of a reduction that reads all values of a cell. Patience is at most
/// 512, so more leaves no cell to a cube.
fn paths() -> [(&'static str, Forced, [&'static [&'static str]; 2]); 3] {
    let force = |path, patience| Forced { path: Some(path), patience: Some(patience), ..Forced::default() };
    let [cube, chunks]: [&[&str]; 2] = [&["cells that cubes share"], &["groups of several chunks"]];
    [
        ("a unit", force(Path::Short, 1), [&[], &["cells that cubes share", "groups of several chunks"]]),
        ("a cube", force(Path::Hybrid, 60), [cube, chunks]),
        ("chunks", force(Path::Hybrid, 2), [&["cells that cubes share", "groups of several chunks"], &[]]),
    ]
}

/// Sizes at which a vector has 1, 2 or 4 elements, some lanes are idle, and a step needs several cubes.
const FORMS: [([usize; 3], bool); 7] = [
    ([1, 1, 700], false),
    ([2, 3, 130], false),
    ([1, 1, 700], true),
    ([2, 3, 400], true),
    ([1, 6, 400], true),
    ([2, 20, 300], true),
    ([1, 140, 200], true),
];

fn dtypes() -> Vec<FloatDType> {
    let others = [(FloatDType::F16, DType::F16), (FloatDType::BF16, DType::BF16), (FloatDType::F64, DType::F64)];
    let here = others.into_iter().filter(|&(_, dtype)| gpu().supports_dtype(dtype)).map(|(dtype, _)| dtype);
    [FloatDType::F32].into_iter().chain(here).collect()
}

#[test]
fn every_path_of_a_put_agrees_with_the_cpu() {
    let _turn = TURN.lock();
    for dtype in dtypes() {
        let tolerance = if dtype == FloatDType::F32 { 1e-5 } else { 1e-2 };
        // Of other floats only some sizes.
        let forms = FORMS.iter().enumerate();
        for (form, &(sizes, along)) in forms.step_by(if dtype == FloatDType::F32 { 1 } else { 3 }) {
            for (path, force, launched) in paths() {
                for (k, reduce) in Reduce::ALL.into_iter().enumerate() {
                    let launched = if reduce == Reduce::Assign { [&[], launched[1]] } else { launched };
                    let cells = Cells::new(sizes, along, reduce);
                    // Each reduction with and without the array's own elements, in turn.
                    let own = (form + k) % 2 == 0;
                    let name = format!("{reduce:?} of {dtype:?}, {sizes:?}, along {along}, own {own}, {path}");
                    agree(&name, force, launched, tolerance, |device| cells.run(reduce, own, dtype, device));
                }
            }
        }
    }
}

/// NaN and infinities are combined as on the CPU.
#[test]
fn numbers_that_are_not_finite() {
    let _turn = TURN.lock();
    for (sizes, along) in [([2, 3, 130], false), ([2, 6, 400], true)] {
        for (path, force, _) in paths() {
            for reduce in Reduce::ALL {
                let cells = Cells::new(sizes, along, reduce).special();
                let name = format!("{reduce:?} of special numbers, {sizes:?}, {path}");
                agree(&name, force, [&[], &[]], 1e-5, |device| cells.run(reduce, true, FloatDType::F32, device));
            }
        }
    }
}

#[test]
fn integers_wrap_as_on_flex() {
    let _turn = TURN.lock();
    for (sizes, along) in [([2, 3, 130], false), ([2, 6, 400], true)] {
        let cells = Cells::new(sizes, along, Reduce::Add);
        let [outer, inner, count] = sizes;
        for (path, force, _) in paths() {
            for reduce in Reduce::ALL {
                for own in [false, true] {
                    agree(&format!("{reduce:?} of integers, {sizes:?}, {path}"), force, [&[], &[]], 0.0, |device| {
                        let at = ints(&cells.index, [1, count, 1], device);
                        let at = if along { at } else { at.expand([outer, count, inner]) };
                        // Eighths, as integers. Products wrap.
                        let whole = |list: &[f32], rows| {
                            let list: Vec<i32> = list.iter().map(|x| (x * 8.0) as i32).collect();
                            ints(&list, [outer, rows, inner], device)
                        };
                        let (arr, values) = (whole(&cells.arr, cells.len), whole(&cells.values, count));
                        let out = ops::put_along_axis(arr, at, values, 1, reduce, own);
                        // Of a wrapped product the halves of 16 bits, which f32 has exactly.
                        let halves = |x: i32| [(x & 0xffff) as f32, (x >> 16) as f32];
                        vec![out.into_data().iter::<i32>().flat_map(halves).collect()]
                    });
                }
            }
        }
    }
}

/// The bits of a cell, and of the gradients of its values, are the same whatever else is in the array: another number
/// of rows, of other values, and of outer indices.
#[test]
fn bits_are_those_of_the_cell() {
    let _turn = TURN.lock();
    let device = gpu().autodiff();
    let small = Forced { path: Some(Path::Hybrid), patience: Some(16), ..Forced::default() };
    let cases = [(Forced::default(), [300, 1500, 20_000]), (small, [10, 60, 900])];
    for (force, lengths) in cases {
        for length in lengths {
            for inner in [1, 3, 8] {
                let mut data = Data::new(31);
                let near = |list: Vec<f32>| -> Vec<f32> { list.iter().map(|x| 1.0 + x / 50.0).collect() };
                let (own, row) = (near(data.floats(length * inner)), near(data.floats(inner)));
                let others = near(data.floats(40_000 * inner));
                // Before each value of the row come `batch` others, of rows 0 and 2.
                let run = |batch: usize, outer: usize, reduce: Reduce, along: bool| {
                    let mut index = vec![];
                    let mut values = vec![];
                    let mut mine = vec![];
                    for k in 0..length {
                        for other in 0..batch {
                            index.push(if (k + other) % 3 == 0 { 0 } else { 2 });
                            let at = (k * batch + other) % 40_000 * inner;
                            values.extend_from_slice(&others[at..at + inner]);
                        }
                        mine.push(index.len() as i32);
                        index.push(1);
                        values.extend_from_slice(&own[k * inner..][..inner]);
                    }
                    let count = index.len();
                    let arr = [&row[..], &row, &row].concat().repeat(outer);
                    let values = values.repeat(outer);
                    let at = ints(&index, [1, count, 1], &device);
                    let at = if along { at } else { at.expand([outer, count, inner]) };
                    let arr = floats(&arr, [outer, 3, inner], &device).require_grad();
                    let values = floats(&values, [outer, count, inner], &device).require_grad();
                    let out = ops::put_along_axis(arr.clone(), at, values.clone(), 1, reduce, true);
                    let grads = (out.clone() * out.clone()).sum().backward();
                    let last = |tensor: Tensor<3>| tensor.narrow(0, outer - 1, 1).narrow(1, 1, 1);
                    let mine = ints(&mine, [length], &device);
                    let slopes = values.grad(&grads).unwrap().narrow(0, outer - 1, 1).select(1, mine);
                    let parts = [list(last(out)), list(last(arr.grad(&grads).unwrap())), list(slopes)];
                    parts.concat().iter().map(|x| x.to_bits()).collect::<Vec<u32>>()
                };
                for reduce in [Reduce::Add, Reduce::Mean, Reduce::Mul] {
                    for along in [false, true] {
                        let (alone, _) = forced(force, || run(0, 1, reduce, along));
                        for (batch, outer) in [(1, 1), (2, 3)] {
                            let (among, _) = forced(force, || run(batch, outer, reduce, along));
                            assert!(
                                alone == among,
                                "{reduce:?} of {length} x {inner}, along {along}, {batch}, {outer}"
                            );
                        }
                    }
                }
            }
        }
    }
}

/// No kernel binds more than the seven buffers that every device allows, so none runs on the host.
#[test]
fn a_kernel_with_seven_buffers_gives_what_the_host_gives() {
    let _turn = TURN.lock();
    for (path, force, _) in paths() {
        let force = Forced { bindings: Some(7), ..force };
        for reduce in Reduce::ALL {
            for own in [false, true] {
                let cells = Cells::new([2, 6, 400], true, reduce);
                let backward = if reduce == Reduce::Mul { "product_backward" } else { "put_backward" };
                let name = format!("{reduce:?} with seven buffers, own {own}, {path}");
                let run = |device: &Device| cells.run(reduce, own, FloatDType::F32, device);
                agree(&name, force, [&["put", backward], &[]], 1e-5, run);
            }
        }
    }
}

/// Each gradient alone is the one that is computed beside the other.
#[test]
fn a_gradient_alone_is_the_same_as_with_the_other() {
    let _turn = TURN.lock();
    let device = gpu().autodiff();
    for (path, force, _) in paths() {
        for reduce in Reduce::ALL {
            for own in [false, true] {
                let cells = Cells::new([2, 6, 400], true, reduce);
                let run = |needs: [bool; 2]| {
                    let leaf =
                        |list: &[f32], rows, needed: bool| floats(list, [2, rows, 6], &device).set_require_grad(needed);
                    let (arr, values) = (leaf(&cells.arr, 5, needs[0]), leaf(&cells.values, 400, needs[1]));
                    let at = ints(&cells.index, [1, 400, 1], &device);
                    let out = ops::put_along_axis(arr.clone(), at, values.clone(), 1, reduce, own);
                    let grads = (out.clone() * 1.5).sum().backward();
                    [arr.grad(&grads), values.grad(&grads)].map(|grad| grad.map(list))
                };
                let ([arr, values], _) = forced(force, || run([true, true]));
                let ([of_arr, _], _) = forced(force, || run([true, false]));
                let ([_, of_values], _) = forced(force, || run([false, true]));
                for (got, want) in [(of_arr, arr), (of_values, values)] {
                    let name = format!("{reduce:?}, own {own}, {path}");
                    assert_close(&name, &[got.unwrap()], &[want.unwrap()], 0.0);
                }
            }
        }
    }
}

/// Reads by steps and by single elements, at widths that vectors do and do not divide.
#[test]
fn reads_by_steps_and_by_elements() {
    let _turn = TURN.lock();
    for inner in [1, 2, 3, 4, 6, 8] {
        let (mut data, outer, len, count) = (Data::new(32), 3, 5, 7);
        let index: Vec<i32> = data.ints(count, 10).into_iter().map(|row| row - 5).collect();
        let single: Vec<i32> = data.ints(outer * count * inner, 10).into_iter().map(|row| row - 5).collect();
        let x = data.floats(outer * len * inner);
        agree(&format!("reads of {inner}"), Forced::default(), [&["gather"], &[]], 0.0, |device| {
            let x = floats(&x, [outer, len, inner], device).require_grad();
            let plan = IndexPlan::new(ints(&index, [count], device), len).unwrap();
            let steps = plan.select(x.clone(), 1);
            let cells = ops::gather(x.clone(), 1, ints(&single, [outer, count, inner], device));
            let grads = ((steps.clone() * 2.0).sum() + cells.clone().sum()).backward();
            vec![list(steps), list(cells), list(x.grad(&grads).unwrap())]
        });
    }
}

/// Results of 256 MiB. A device whose buffers are smaller says which kernel could not make them, and works on.
#[test]
fn results_beyond_the_device() {
    let _turn = TURN.lock();
    let (device, rows, width) = (gpu(), 1 << 20, 64);
    let twos = |shape: [usize; 2]| Tensor::<2>::full(shape, 2.0, &device);
    let plan = IndexPlan::new(Tensor::full([rows], 3, &device), 4).unwrap();
    let ptr: Vec<i32> = (0..=rows as i32).collect();
    let ones = matrix(&(ptr, vec![0; rows], vec![1.0; rows]), [rows, 4], &device);
    let side = 1 << 13;
    let corner = CooTensor::<2>::new(ints(&[0, 0], [2, 1], &device), floats(&[2.0], [1], &device), [side; 2]).unwrap();
    // The least and the largest number of a result, in one of its corners too.
    let range = |out: Tensor<2>| [list(out.clone().min()), list(out.max())].concat();
    type Make<'a> = &'a dyn Fn() -> Vec<f32>;
    let results: [(&str, Make, [f32; 2]); 4] = [
        ("move_rows", &|| range(plan.select(twos([4, width]), 0)), [2.0; 2]),
        ("gather", &|| range(plan.select(twos([width, 4]), 1)), [2.0; 2]),
        ("spmm", &|| range(ones.matmul(twos([4, width]))), [2.0; 2]),
        ("compress", &|| range(corner.to_dense()), [0.0, 2.0]),
    ];
    // The limit is that of the device. Under one that is forced, no kernel is noted as one that ran on the host.
    let limited = Forced { buffer: Some(u64::MAX), ..Forced::default() };
    for (kernel, result, want) in results {
        match forced(limited, || catch_unwind(AssertUnwindSafe(result))).0 {
            Ok(got) => assert_eq!(got, want, "{kernel}"),
            Err(panic) => {
                let message = panic.downcast_ref::<String>().map_or("", String::as_str);
                let says = message.contains("must fit in a buffer of the device, at most ");
                assert!(message.starts_with(&format!("{kernel}: ")) && says, "{kernel}: {message}");
            }
        }
        assert_eq!(range(ones.clone().narrow(0, 0, 2).matmul(twos([4, 3]))), [2.0; 2], "the device works on");
    }
    // What Burn makes.
    let halves = vec![twos([rows / 2, width]); 2];
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| range(Tensor::cat(halves, 0)))) {
        let message = panic.downcast_ref::<String>().map_or("", String::as_str);
        assert!(message.contains(&(rows * width * 4).to_string()), "Burn names the size: {message}");
    }
    assert_eq!(range(ones.narrow(0, 0, 2).matmul(twos([4, 3]))), [2.0; 2], "the device works on");
}
