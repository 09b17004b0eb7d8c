//! Sums over rows, products and extremes of every class of rows, on problems too small to have them: lengths of short
//! rows and of chunks are forced.

use crate::common::{Data, TURN, floats, gpu, ints, list, matrix};
use crate::forced::agree;
use burn::tensor::activation::relu;
use burn::tensor::{Bool, DType, Device, FloatDType, Int, Tensor};
use sparse_burn::forced::{Forced, forced, launches};
use sparse_burn::{Extremum, RowsView, Term, kernel};
use sparse_tensor::CooTensor;
use sparse_tensor::extend::kernel::spmm;
use sparse_tensor::ops::{Epilogue, Reduce};
use std::io::Write;

const CHUNKS: &str = "rows in chunks";
const COPY: &str = "a contiguous copy";

/// Short rows only, long rows of one chunk, and rows of several, with what is launched and what is not.
const CLASSES: [([usize; 2], [&[&str]; 2]); 3] = [
    ([1000, 1000], [&["short"], &["long", "find", CHUNKS]]),
    ([4, 1000], [&["short", "long"], &[CHUNKS]]),
    ([4, 8], [&["short", "long", CHUNKS], &[]]),
];

fn force([patience, chunk]: [usize; 2]) -> Forced {
    Forced { patience: Some(patience), chunk: Some(chunk), ..Forced::default() }
}

/// Products of both kinds, and their gradients.
fn products(a: &(Vec<i32>, Vec<i32>, Vec<f32>), x: &[f32], [rows, cols]: [usize; 2], device: &Device) -> Vec<Vec<f32>> {
    let a = matrix(a, [rows, cols], device).require_grad();
    let x = floats(x, [cols, x.len() / cols], device).require_grad();
    let extreme = |reduce| a.matmul_reduce(x.clone(), reduce);
    let mut parts = vec![];
    let bias = floats(&(0..x.dims()[1]).map(|k| (k % 5) as f32 / 4.0 - 0.5).collect::<Vec<_>>(), [x.dims()[1]], device);
    let then = |relu| a.matmul_then(x.clone(), Epilogue { bias: Some(bias.clone()), relu });
    for y in [a.matmul(x.clone()), extreme(Reduce::Amax), extreme(Reduce::Amin), then(true), then(false)] {
        let grads = (y.clone() * 2.0).sum().backward();
        parts.extend([list(y), list(a.grad(&grads).unwrap().values::<1>()), list(x.grad(&grads).unwrap())]);
    }
    parts
}

/// An operand with ties, and with a NaN among them.
fn coarse(mut list: Vec<f32>, nan: Option<usize>) -> Vec<f32> {
    list.iter_mut().for_each(|x| *x = (*x * 4.0).round() / 4.0);
    if let Some(at) = nan {
        list[at] = f32::NAN;
    }
    list
}

#[test]
fn products_of_every_class_and_width() {
    let _turn = TURN.lock();
    let (rows, cols) = (40, 30);
    for (lengths, launched) in CLASSES {
        // Vectors of four, two and one. From one unit for each to eight, and from one tile of a long row to nine.
        for width in [1, 3, 7, 12, 40, 257, 1030] {
            let mut data = Data::new(20);
            let mut a = data.csr(rows, cols, 5);
            a.2 = coarse(a.2, None);
            let x = data.floats(cols * width);
            let nans = if width > 40 { vec![Some(width + 1)] } else { vec![None, Some(width)] };
            for nan in nans {
                let (name, x) = (format!("{lengths:?}, width {width}, NaN {nan:?}"), coarse(x.clone(), nan));
                agree(&name, force(lengths), launched, 1e-4, |device| products(&a, &x, [rows, cols], device));
            }
        }
    }
}

/// Addresses of 64 bits, and grids of two axes.
#[test]
fn every_class_where_launches_are_large() {
    let _turn = TURN.lock();
    let mut data = Data::new(21);
    let (a, x) = (data.csr(40, 30, 5), coarse(data.floats(30 * 130), None));
    let launched: [&[&str]; 2] = [&[CHUNKS, "short on two axes", "long on two axes"], &[]];
    let force = Forced { wide: true, cubes: Some(2), ..force([4, 8]) };
    agree("large", force, launched, 1e-4, |device| products(&a, &x, [40, 30], device));
    let (_, launched) = forced(force, || products(&a, &x, [40, 30], &gpu().autodiff()));
    if !launched.contains("addresses of 64 bits") {
        skipped("addresses of 64 bits");
    }
}

/// Tells that a part of a test did not run. Not captured, unlike what a passing test prints.
fn skipped(what: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: the device has no {what}");
}

/// As on a device that binds no more buffers than all do. The weights of the gradient of a transposed product are
/// permuted first.
#[test]
fn a_kernel_with_seven_buffers_gives_what_the_host_gives() {
    let _turn = TURN.lock();
    let mut data = Data::new(22);
    let (a, x) = (data.csr(40, 30, 5), coarse(data.floats(30 * 12), None));
    for (lengths, [ran, not]) in CLASSES {
        let ran = [ran, &["move_rows", "sddmm"]].concat();
        let force = Forced { bindings: Some(7), ..force(lengths) };
        agree("seven buffers", force, [&ran, not], 1e-4, |device| products(&a, &x, [40, 30], device));
    }
}

/// Partial results that no buffer would hold at once.
#[test]
fn columns_by_blocks() {
    let _turn = TURN.lock();
    let (rows, cols, width) = (20, 30, 36);
    let mut data = Data::new(23);
    let ptr: Vec<i32> = (0..=rows).map(|row| (row * cols) as i32).collect();
    let col: Vec<i32> = (0..rows).flat_map(|_| 0..cols as i32).collect();
    let (a, x) = ((ptr, col, data.floats(rows * cols)), data.floats(cols * width));
    let force = Forced { buffer: Some(5000), ..force([4, 4]) };
    let launched: [&[&str]; 2] = [&[CHUNKS, "chunks of some columns at a time"], &[]];
    agree("blocks", force, launched, 1e-4, |device| {
        vec![list(matrix(&a, [rows, cols], device).matmul(floats(&x, [cols, width], device)))]
    });
}

/// Where the device has them. Sums of 16-bit values are kept in 32 bits.
#[test]
fn every_class_of_16_and_64_bits() {
    let _turn = TURN.lock();
    let halves = [(DType::F16, FloatDType::F16, 2e-3), (DType::BF16, FloatDType::BF16, 2e-2)];
    for (dtype, float, tolerance) in halves.into_iter().chain([(DType::F64, FloatDType::F64, 1e-5)]) {
        if !gpu().supports_dtype(dtype) {
            skipped(&format!("{dtype:?}"));
            continue;
        }
        let mut data = Data::new(24);
        let (a, x) = (data.csr(20, 30, 20), data.floats(30 * 8));
        for (lengths, launched) in CLASSES {
            agree(&format!("{dtype:?}, {lengths:?}"), force(lengths), launched, tolerance, |device| {
                let a = matrix(&a, [20, 30], device).cast(float).detach().require_grad();
                let x = floats(&x, [30, 8], device).cast(float).detach().require_grad();
                let y = a.matmul(x.clone());
                let best = a.matmul_reduce(x.clone(), Reduce::Amax);
                let grads = (y.clone().sum() + best.clone().sum()).backward();
                vec![list(y), list(best), list(a.grad(&grads).unwrap().values::<1>()), list(x.grad(&grads).unwrap())]
            });
        }
    }
}

/// Segments `0..3`, none, `3..40`, `40..41`, `41..100`.
const SEGMENTS: [i32; 6] = [0, 3, 3, 40, 41, 100];

#[test]
fn integers_and_bool_of_every_class() {
    let _turn = TURN.lock();
    for (lengths, launched) in CLASSES {
        for width in [1, 3, 8, 70] {
            let mut data = Data::new(25);
            let values = data.ints(100 * width, 1000);
            let order = data.ints(100, 100);
            agree(&format!("integers, {lengths:?}, {width}"), force(lengths), launched, 0.0, |device| {
                let device = &device.clone().inner();
                let (ptr, order) = (ints(&SEGMENTS, [6], device), ints(&order, [100], device));
                let values: Tensor<2, Int> = ints(&values, [100, width], device);
                let flags: Tensor<2, Bool> = values.clone().greater_elem(980);
                let sums = kernel::segment_sum(&values, Some(&order), &ptr);
                let any = kernel::segment_sum(&flags, None, &ptr);
                [sums, any.int()].map(|part| part.into_data().iter::<f32>().collect()).into()
            });
        }
    }
}

/// Bias and ReLU in the pass of the product: the bits of separate passes, NaN stays, and no launch more.
#[test]
fn epilogues_of_every_class() {
    let _turn = TURN.lock();
    let (rows, cols, width) = (40, 30, 12);
    let mut data = Data::new(31);
    let mut a = data.csr(rows, cols, 5);
    a.2[7] = f32::NAN;
    let (x, bias) = (data.floats(cols * width), data.floats(width));
    let device = gpu();
    // Elements from the last to the first: their rows are found by a permutation.
    let row_of = |k: usize| a.0.partition_point(|&start| start as usize <= k) as i32 - 1;
    let at: Vec<i32> = (0..a.1.len()).rev().map(row_of).chain(a.1.iter().rev().copied()).collect();
    let values: Vec<f32> = a.2.iter().rev().copied().collect();
    let nnz = values.len();
    let (at, values) = (ints(&at, [2, nnz], &device), floats(&values, [nnz], &device));
    let reversed = CooTensor::<2>::new_unchecked(at, values, [rows, cols], false);
    let (a, x) = (matrix(&a, [rows, cols], &device), floats(&x, [cols, width], &device));
    let bias = floats(&bias, [width], &device);
    let times = |permuted: bool, epilogue: Option<Epilogue>| match (permuted, epilogue) {
        (false, None) => a.matmul(x.clone()),
        (false, Some(epilogue)) => a.matmul_then(x.clone(), epilogue),
        (true, None) => reversed.matmul(x.clone()),
        (true, Some(epilogue)) => reversed.matmul_then(x.clone(), epilogue),
    };
    for (lengths, _) in CLASSES {
        for (permuted, bindings) in [(false, Some(7)), (true, Some(7)), (true, None)] {
            let force = Forced { bindings, ..force(lengths) };
            let run = |epilogue| forced(force, || (list(times(permuted, epilogue)), launches())).0;
            drop(run(None));
            let (plain, launched) = run(None);
            for (adds, rectifies) in [(true, true), (true, false), (false, true)] {
                let plain: Tensor<2> = floats(&plain, [rows, width], &device);
                let out = if adds { plain + bias.clone().unsqueeze() } else { plain };
                let want = list(if rectifies { relu(out) } else { out });
                let (got, fused) = run(Some(Epilogue { bias: adds.then(|| bias.clone()), relu: rectifies }));
                let name = format!("{lengths:?}, permuted {permuted}, bias {adds}, relu {rectifies}");
                assert_eq!(bits(&[got]), bits(&[want]), "{name}");
                // With one buffer too few the weights are permuted first.
                assert_eq!(fused, launched + usize::from(permuted && adds && bindings.is_some()), "{name}");
            }
        }
    }
}

/// Heads: a weight for each, and vectors that do not reach beyond one.
#[test]
fn heads_of_every_class() {
    let _turn = TURN.lock();
    let (rows, cols) = (20, 30);
    for (lengths, launched) in CLASSES {
        for (heads, width) in [(3, 4), (2, 6), (5, 1), (4, 70)] {
            let mut data = Data::new(26);
            let (ptr, col, _) = data.csr(rows, cols, 5);
            let (nnz, width) = (col.len(), heads * width);
            let (weights, x) = (data.floats(nnz * heads), data.floats(cols * width));
            agree(&format!("{heads} heads, {lengths:?}, {width}"), force(lengths), launched, 1e-4, |device| {
                let device = &device.clone().inner();
                let (ptr, col) = (ints(&ptr, [rows + 1], device), ints(&col, [nnz], device));
                let (weights, x) = (floats(&weights, [nnz, heads], device), floats(&x, [cols, width], device));
                let view = RowsView { ptr, idx: col, perm: None };
                vec![list(spmm(&view, &weights, &x))]
            });
        }
    }
}

/// The transpose of compressed rows: pointers, rows, and where the value of each element is.
fn transpose((ptr, col, _): &(Vec<i32>, Vec<i32>, Vec<f32>), cols: usize) -> [Vec<i32>; 3] {
    let row_of = |k: usize| ptr.partition_point(|&start| start as usize <= k) as i32 - 1;
    let mut perm: Vec<i32> = (0..col.len() as i32).collect();
    perm.sort_by_key(|&k| col[k as usize]);
    let starts = (0..=cols).map(|c| col.iter().filter(|&&own| (own as usize) < c).count() as i32);
    [starts.collect(), perm.iter().map(|&k| row_of(k as usize)).collect(), perm]
}

/// Views of some columns, and one row repeated, are read where they lie.
#[test]
fn strided_operands_are_not_copied() {
    let _turn = TURN.lock();
    let (rows, cols) = (20, 30);
    let mut data = Data::new(27);
    let a = data.csr(rows, cols, 8);
    let transposed = transpose(&a, cols);
    let nnz = a.1.len();
    for width in [1, 8, 7, 40, 130] {
        // 512 bytes are cut off: what the strictest device aligns to.
        let wide = coarse(data.floats(cols * (width + 128)), None);
        let (cotangent, row) = (data.floats(rows * (width + 128)), data.floats(width));
        for (lengths, [ran, not]) in CLASSES {
            let results = |strided: bool, device: &Device| {
                let device = &device.clone().inner();
                let part = |list: &[f32], rows| {
                    let part = floats(list, [rows, width + 128], device).narrow(1, 0, width);
                    // A copy by Burn, which notes nothing.
                    if strided { part } else { floats(&self::list(part), [rows, width], device) }
                };
                let (x, grad) = (part(&wide, cols), part(&cotangent, rows));
                let lists = |[ptr, idx]: [&[i32]; 2], perm: Option<&[i32]>| {
                    let [ptr, idx] = [ptr, idx].map(|list| ints(list, [list.len()], device));
                    RowsView { ptr, idx, perm: perm.map(|list| ints(list, [list.len()], device)) }
                };
                let view = lists([&a.0, &a.1], None);
                let back = lists([&transposed[0], &transposed[1]], Some(&transposed[2]));
                let values = floats(&a.2, [nnz, 1], device);
                let repeated = floats(&row, [1, width], device).expand([cols, width]);
                let best = kernel::spmm_extremum(Extremum::Max, Term::Product, &view, values.clone(), x.clone());
                let reads = || [values.clone(), x.clone(), best.clone()];
                let ids = kernel::expand_ptr(&view.ptr, nnz);
                let (shares, _) =
                    kernel::extremum_rows_backward(Term::Product, ids, &view, reads(), grad.clone(), false);
                let slopes = kernel::extremum_cols_backward(Term::Product, &back, reads(), shares.clone());
                let product = spmm(&view, &values, &x);
                let shifted = spmm(&view, &values, &repeated);
                let transposed = spmm(&back, &values, &grad);
                let sums = kernel::segment_sum(grad, None, ints(&[0, 5, rows as i32], [3], device));
                vec![list(product), list(shifted), list(transposed), list(best), list(shares), list(slopes), list(sums)]
            };
            let not = [not, &[COPY]].concat();
            let name = format!("strided, {lengths:?}, {width}");
            agree(&name, force(lengths), [ran, &not], 1e-4, |device| results(true, device));
            let run = |strided| forced(force(lengths), || bits(&results(strided, &gpu()))).0;
            assert!(run(true) == run(false), "{name}: other bits than of contiguous operands");
        }
    }
}

fn bits(parts: &[Vec<f32>]) -> Vec<Vec<u32>> {
    parts.iter().map(|part| part.iter().map(|x| x.to_bits()).collect()).collect()
}

/// One row that has all elements, of more columns than a cube has units. Its launches are counted.
#[test]
fn a_row_of_all_elements() {
    let _turn = TURN.lock();
    let mut data = Data::new(28);
    for (elements, width, count) in
        [(200, 1030, 1), (2000, 1030, 2), (20_000, 1030, 4), (30_000, 3, 4), (1_000_000, 2048, 4)]
    {
        // Their sums are exact in any order.
        let (values, order) = (coarse(data.floats(400 * width), None), data.ints(elements, 400));
        agree(&format!("{elements} x {width}"), Forced::default(), [&["short"], &["find"]], 0.0, |device| {
            let device = &device.clone().inner();
            let (values, order) = (floats(&values, [400, width], device), ints(&order, [elements], device));
            let ptr = ints(&[0, 0, elements as i32, elements as i32], [4], device);
            let sums = kernel::segment_sum(values, Some(&order), ptr);
            vec![list(sums)]
        });
        let (launched, _) = forced(Forced::default(), || {
            let device = &gpu();
            let (values, order) = (floats(&values, [400, width], device), ints(&order, [elements], device));
            drop(kernel::segment_sum(values, Some(&order), ints(&[0, 0, elements as i32], [3], device)));
            launches()
        });
        assert_eq!(launched, count, "launches for a row of {elements}");
    }
}

/// Lengths of rows of every class, for widths of 1 and more.
const LENGTHS: [usize; 7] = [1, 3, 40, 300, 600, 3000, 9000];

/// Bits of the extremum, the shares of its gradient, the sum, the product and the running sums of one row, which is the
/// last of some others.
fn bits_of_row(length: usize, width: usize, others: &[usize]) -> Vec<Vec<u32>> {
    let device = &gpu();
    let mut data = Data::new(length as u64);
    let (own, weights) = (data.ints(length, 500), data.floats(length));
    let (x, grad) = (data.floats(500 * width), data.floats(width));
    let before: usize = others.iter().sum();
    let mut idx = data.ints(before, 500);
    let mut values = data.floats(before);
    idx.extend(&own);
    values.extend(&weights);
    let mut ptr = vec![0];
    others.iter().chain([&length]).for_each(|length| ptr.push(ptr[ptr.len() - 1] + *length as i32));
    let (rows, nnz) = (ptr.len() - 1, idx.len());
    let values = floats(&values, [nnz, 1], device);
    let x = floats(&x, [500, width], device);
    let grad = floats(&grad, [1, width], device).repeat_dim(0, rows);
    let [ptr, idx] = [ptr, idx].map(|list| ints(&list, [list.len()], device));
    let view = RowsView { ptr: ptr.clone(), idx: idx.clone(), perm: None };
    let best = kernel::spmm_extremum(Extremum::Max, Term::Product, &view, values.clone(), x.clone());
    let ids = kernel::expand_ptr(&ptr, nnz);
    let reads = [values.clone(), x.clone(), best.clone()];
    let (shares, _) = kernel::extremum_rows_backward(Term::Product, ids, &view, reads, grad, false);
    let sums = kernel::segment_sum(&x, Some(&idx), &ptr);
    let product = spmm(&view, &values, &x);
    let mut parts = [best, shares, sums, product].map(|all| all.narrow(0, rows - 1, 1)).to_vec();
    let terms = kernel::move_rows(x, Tensor::zeros([1, width], device), &idx);
    for reverse in [false, true] {
        parts.push(kernel::segment_cumsum(&terms, None, &ptr, reverse).narrow(0, before, length));
    }
    bits(&parts.into_iter().map(list).collect::<Vec<_>>())
}

/// A row has the same bits whatever rows come before it: none, empty ones, one that moves it by an odd number, many
/// short ones, and longer ones.
#[test]
fn the_bits_of_a_row_do_not_depend_on_other_rows() {
    let _turn = TURN.lock();
    for width in [1, 7, 40, 130] {
        // These numbers tell another order of their sum.
        let other = forced(force([4, 8]), || bits_of_row(3000, width, &[])).0;
        assert!(other != bits_of_row(3000, width, &[]), "one order");
        for length in LENGTHS {
            let alone = bits_of_row(length, width, &[]);
            for others in [vec![0; 20], vec![1777], vec![3; 900], vec![2000; 5], vec![20_000, 1]] {
                let own = bits_of_row(length, width, &others);
                assert!(own == alone, "{length} x {width} after {} rows, the first of {}", others.len(), others[0]);
            }
        }
    }
}
