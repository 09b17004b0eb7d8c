//! Softmax within segments: every class of lengths, against Flex and plain loops.

use crate::common::{Data, TURN, assert_close, floats, gpu, ints, list, matrix};
use burn::tensor::{DType, Device, FloatDType, Tensor};
use sparse_burn::forced::{Forced, forced, launches};
use sparse_burn::kernel::{segment_softmax, segment_softmax_backward};
use sparse_tensor::{CooTensor, Fill, host_fallbacks};
use std::io::Write;

/// Row pointers of segments of these lengths.
fn ptr_of(lengths: &[usize]) -> Vec<i32> {
    let mut ptr = vec![0];
    lengths.iter().for_each(|&length| ptr.push(ptr[ptr.len() - 1] + length as i32));
    ptr
}

/// The softmax of each column of each segment, and the gradient of the rows, by loops in f64.
fn by_loops(x: &[f32], grad: &[f32], width: usize, ptr: &[i32], log: bool) -> [Vec<f32>; 2] {
    let (mut out, mut slope) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    for ends in ptr.windows(2) {
        for column in 0..width {
            let places: Vec<usize> = (ends[0] as usize..ends[1] as usize).map(|row| row * width + column).collect();
            let exp = |at: usize, top: f64| (f64::from(x[at]) - top).exp();
            let top = places.iter().map(|&at| f64::from(x[at])).fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = places.iter().map(|&at| exp(at, top)).sum();
            let share = |at: usize| exp(at, top) / total;
            let grads: f64 = places.iter().map(|&at| f64::from(grad[at]) * if log { 1.0 } else { share(at) }).sum();
            for &at in &places {
                let g = f64::from(grad[at]);
                out[at] = (if log { share(at).ln() } else { share(at) }) as f32;
                slope[at] = (if log { g - share(at) * grads } else { share(at) * (g - grads) }) as f32;
            }
        }
    }
    [out, slope]
}

/// Rows, the gradient of the result, and segments.
struct Case {
    x: Vec<f32>,
    grad: Vec<f32>,
    width: usize,
    ptr: Vec<i32>,
}

impl Case {
    fn new(lengths: &[usize], width: usize, seed: u64) -> Self {
        let (mut data, ptr) = (Data::new(seed), ptr_of(lengths));
        let count = ptr[lengths.len()] as usize * width;
        let x = data.floats(count).into_iter().map(|x| 5.0 * x).collect();
        Self { x, grad: data.floats(count), width, ptr }
    }

    fn rows(&self) -> usize {
        self.ptr[self.ptr.len() - 1] as usize
    }

    /// Result and gradient on a device.
    fn on(&self, device: &Device, log: bool) -> Vec<Vec<f32>> {
        let shape = [self.rows(), self.width];
        let (x, grad) = (floats(&self.x, shape, device), floats(&self.grad, shape, device));
        let ptr = ints(&self.ptr, [self.ptr.len()], device);
        let out = segment_softmax(&x, &ptr, log);
        let slope = segment_softmax_backward(&out, &grad, &ptr, log);
        vec![list(out), list(slope)]
    }
}

fn bits(parts: &[Vec<f32>]) -> Vec<u32> {
    parts.iter().flatten().map(|x| x.to_bits()).collect()
}

const NAMES: [&str; 4] = ["softmax_groups", "softmax_cubes", "softmax_fold", "softmax_chunks"];

/// Runs a case on Flex, by loops and on the GPU. Returns which of [`NAMES`] were launched, for result and gradient.
fn agree(name: &str, force: Forced, case: &Case, log: bool, loops: bool) -> [bool; 4] {
    let gpu = gpu();
    let want = case.on(&Device::flex(), log);
    if loops {
        let plain = by_loops(&case.x, &case.grad, case.width, &case.ptr, log);
        assert_close(&format!("{name}, Flex"), &want, &plain, 1e-5);
    }
    let ((got, counted), launched) = forced(force, || (case.on(&gpu, log), launches()));
    assert_close(name, &got, &want, 2e-5);
    assert_eq!(bits(&forced(force, || case.on(&gpu, log)).0), bits(&got), "{name}: other bits");
    let ran = NAMES.map(|what| launched.contains(what));
    assert_eq!(counted, 2 * ran.iter().filter(|&&ran| ran).count(), "{name}: one launch for each class");
    ran
}

/// Segments that are empty, of groups, of cubes and of chunks; the last of each is the longest of its class.
#[test]
fn every_class_of_lengths() {
    let _turn = TURN.lock();
    for width in [1, 3, 8, 47, 130] {
        for log in [false, true] {
            let name = format!("width {width}, log {log}");
            let short = Case::new(&[0, 1, 2, 0, 7, 30, 4], width, 1);
            let ran = agree(&name, Forced::default(), &short, log, true);
            assert_eq!(ran, [true, false, false, false], "{name}, short");

            // By groups up to 4 rows; chunks have as many rows as a cube has units for a column.
            let force = Forced { patience: Some(4), items: Some(1), ..Forced::default() };
            let mixed = Case::new(&[3, 0, 4, 5, 600, 1, 8, 256, 257, 16, 0, 17, 513, 2, 0], width, 2);
            assert_eq!(agree(&name, force, &mixed, log, true), [true; 4], "{name}, mixed");

            let force = Forced { patience: Some(4), ..Forced::default() };
            let cubes = Case::new(&[5, 4, 300, 0, 90], width, 3);
            assert_eq!(agree(&name, force, &cubes, log, true), [true, true, false, false], "{name}, cubes");
        }
    }
}

/// As the strategy chooses: a segment with everything, and long ones among short ones.
#[test]
fn lengths_of_every_class_without_force() {
    let _turn = TURN.lock();
    let mixed = [3, 513, 0, 4096, 4097, 1, 9000, 2];
    for (lengths, width, ran) in [
        (&[300][..], 1, [true, false, false, false]),
        (&[4000], 1, [false, true, false, false]),
        (&[20_000], 1, [false, true, true, true]),
        (&[3000], 8, [false, true, true, true]),
        (&mixed, 1, [true; 4]),
        (&mixed, 6, [true; 4]),
        (&[], 4, [false; 4]),
        (&[0, 0], 4, [false; 4]),
    ] {
        let case = Case::new(lengths, width, 4);
        let name = format!("{lengths:?} x {width}");
        assert_eq!(agree(&name, Forced::default(), &case, false, true), ran, "{name}");
    }
}

/// What decides the bits of a segment is its length and width: neither other segments nor its place.
#[test]
fn bits_do_not_depend_on_other_segments() {
    let _turn = TURN.lock();
    let gpu = gpu();
    for width in [1, 3, 8] {
        for length in [1, 5, 60, 512, 600, 4096, 5000, 9001] {
            let alone = Case::new(&[length], width, 5);
            let lengths = [7, 0, 700, length, 4200, 1, length, 33];
            let mut among = Case::new(&lengths, width, 6);
            let ptr = ptr_of(&lengths);
            for place in [3, 6] {
                let span = ptr[place] as usize * width..ptr[place + 1] as usize * width;
                among.x[span.clone()].copy_from_slice(&alone.x);
                among.grad[span].copy_from_slice(&alone.grad);
            }
            for log in [false, true] {
                let (alone, among) = (alone.on(&gpu, log), among.on(&gpu, log));
                for (alone, among) in alone.iter().zip(&among) {
                    for place in [3, 6] {
                        let span = ptr[place] as usize * width..ptr[place + 1] as usize * width;
                        let same = among[span].iter().zip(alone).all(|(x, y)| x.to_bits() == y.to_bits());
                        assert!(same, "{length} x {width}, log {log}, segment {place}");
                    }
                }
            }
        }
    }
}

/// NaN and infinities at the start, the end and inside, in every class.
#[test]
fn numbers_that_are_not_finite() {
    let _turn = TURN.lock();
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let lengths = [3, 4, 20, 300, 1, 700, 0, 9];
    let force = Forced { patience: Some(4), items: Some(1), ..Forced::default() };
    for (number, kind) in [nan, inf, -inf, f32::MAX, f32::MIN, -nan].into_iter().enumerate() {
        for log in [false, true] {
            for width in [1, 8] {
                let mut case = Case::new(&lengths, width, 7);
                for ends in case.ptr.clone().windows(2).filter(|ends| ends[1] > ends[0]) {
                    for row in [ends[0], (ends[0] + ends[1]) / 2, ends[1] - 1] {
                        // One column is left as it is, unless there is one only.
                        case.x[row as usize * width + number % width] = kind;
                    }
                }
                let name = format!("{kind}, log {log}, width {width}");
                assert_eq!(agree(&name, force, &case, log, false), [true; 4]);
            }
        }
    }
    // Nothing but minus infinity, and a number among it.
    for log in [false, true] {
        let mut case = Case::new(&lengths, 2, 8);
        case.x.fill(-inf);
        for (row, pair) in case.x.chunks_exact_mut(2).enumerate() {
            if row % 3 == 1 {
                pair[1] = row as f32 / 10.0;
            }
        }
        assert_eq!(agree("minus infinity", force, &case, log, false), [true; 4]);
    }
}

/// 16-bit floats are computed in f32 and rounded once. Where the device has them.
#[test]
fn numbers_of_16_bits() {
    let _turn = TURN.lock();
    for (float, dtype, tolerance) in [(FloatDType::F16, DType::F16, 1e-3), (FloatDType::BF16, DType::BF16, 8e-3)] {
        if !gpu().supports_dtype(dtype) {
            // Not captured, unlike what a passing test prints.
            let _ = writeln!(std::io::stderr(), "skipped: the device has no {dtype:?}");
            continue;
        }
        for (width, force) in [
            (1, Forced::default()),
            (8, Forced { patience: Some(4), items: Some(1), ..Forced::default() }),
            (3, Forced { patience: Some(4), ..Forced::default() }),
        ] {
            let case = Case::new(&[3, 0, 600, 9], width, 9);
            let shape = [case.rows(), width];
            for log in [false, true] {
                let run = |device: &Device, float: FloatDType| {
                    let round = |list: &[f32]| floats(list, shape, device).cast(dtype).cast(float);
                    let ptr = ints(&case.ptr, [case.ptr.len()], device);
                    let out = segment_softmax(round(&case.x), &ptr, log);
                    let slope = segment_softmax_backward(out.clone(), round(&case.grad), &ptr, log);
                    vec![list(out), list(slope)]
                };
                let got = forced(force, || run(&gpu(), float)).0;
                assert_close(&format!("{dtype:?} on the CPU"), &got, &run(&Device::flex(), float), tolerance);
                // The gradient of a logarithm reads a rounded result.
                let loose = if log { 20.0 * tolerance } else { tolerance };
                assert_close(&format!("{dtype:?} in f32"), &got, &run(&Device::flex(), FloatDType::F32), loose);
            }
        }
    }
}

/// f64, where the device has it: on the device if that has exponentials of f64, else on the host.
#[test]
fn numbers_of_64_bits() {
    let _turn = TURN.lock();
    if !gpu().supports_dtype(DType::F64) {
        let _ = writeln!(std::io::stderr(), "skipped: the device has no f64");
        return;
    }
    let case = Case::new(&[3, 0, 600, 9], 4, 10);
    let shape = [case.rows(), 4];
    let run = |device: &Device| -> Vec<f64> {
        let x = floats(&case.x, shape, device).cast(DType::F64);
        let ptr = ints(&case.ptr, [case.ptr.len()], device);
        let out = segment_softmax(x, &ptr, false);
        let slope =
            segment_softmax_backward(out.clone(), floats(&case.grad, shape, device).cast(DType::F64), &ptr, false);
        [out, slope].map(|list| list.into_data().iter::<f64>().collect::<Vec<_>>()).concat()
    };
    for (got, want) in run(&gpu()).into_iter().zip(run(&Device::flex())) {
        assert!((got - want).abs() < 1e-14, "{got} and {want}");
    }
}

/// Rows that are apart in memory are read where they are.
#[test]
fn views_are_not_copied() {
    let _turn = TURN.lock();
    let gpu = gpu();
    let case = Case::new(&[3, 0, 40, 9], 16, 11);
    let (shape, ptr) = ([case.rows(), 16], ints(&case.ptr, [case.ptr.len()], &gpu));
    let whole = [&case.x, &case.grad].map(|list| floats(list, shape, &gpu));
    let run = |[x, grad]: [Tensor<2>; 2]| {
        let out = segment_softmax(x, &ptr, false);
        vec![list(out.clone()), list(segment_softmax_backward(out, grad, &ptr, false))]
    };
    // Part of the columns, and one row many times.
    let part = || whole.clone().map(|rows| rows.narrow(1, 0, 8));
    let same = || whole.clone().map(|rows| rows.narrow(0, 5, 1).expand([case.rows(), 16]));
    for (name, views) in [("part", &part as &dyn Fn() -> [Tensor<2>; 2]), ("same", &same)] {
        let (got, launched) = forced(Forced::default(), || run(views()));
        assert!(!launched.contains("a contiguous copy"), "{name}");
        let [x, grad] = views().map(|rows| {
            let dims = rows.dims();
            floats(&list(rows), dims, &gpu)
        });
        assert_eq!(bits(&got), bits(&run([x, grad])), "{name}");
    }
}

/// The operation and its gradient, along the rows of a matrix and along its columns, whose elements are apart.
#[test]
fn rows_and_columns_of_a_matrix() {
    let _turn = TURN.lock();
    let mut data = Data::new(12);
    let (a, weights) = (data.csr(60, 900, 20), data.floats(60 * 900));
    let hosted = host_fallbacks();
    for axis in [1, 0] {
        for log in [false, true] {
            let run = |device: &Device| {
                let a = matrix(&a, [60, 900], device).with_fill(Fill::Undefined).require_grad();
                let out = if log { a.log_softmax(axis) } else { a.softmax(axis) };
                let nnz = out.nnz();
                let loss = (out.values::<1>() * floats(&weights[..nnz], [nnz], device)).sum();
                vec![list(out.values::<1>()), list(a.grad(&loss.backward()).unwrap().values::<1>())]
            };
            let want = run(&Device::flex().autodiff());
            let (got, launched) = forced(Forced::default(), || run(&gpu().autodiff()));
            assert_close(&format!("axis {axis}, log {log}"), &got, &want, 1e-4);
            assert!(launched.contains("softmax_groups"), "{launched:?}");
        }
    }
    assert_eq!(host_fallbacks(), hosted);
    // A vector is one line.
    let list_of = |device: &Device| {
        let at = ints(&(0..5000).map(|k| 2 * k).collect::<Vec<_>>(), [1, 5000], device);
        let a = CooTensor::<1>::new(at, floats(&weights[..5000], [5000], device), [10_000]).unwrap();
        vec![list(a.with_fill(Fill::Undefined).softmax(0).values::<1>())]
    };
    let (got, launched) = forced(Forced::default(), || list_of(&gpu()));
    assert_close("a vector", &got, &list_of(&Device::flex()), 1e-5);
    assert!(launched.contains("softmax_chunks"), "{launched:?}");
}
