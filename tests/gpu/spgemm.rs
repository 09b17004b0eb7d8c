//! Sparse x sparse: every bin, long rows, wide keys, and the order of sums.

use crate::common::{Data, TURN, assert_close, gpu, ints, list, matrix};
use burn::tensor::{DType, Device, FloatDType, Int, Tensor};
use sparse_burn::forced::{Forced, forced};
use sparse_burn::{device_reads, host_fallbacks};
use sparse_tensor::CsrTensor;
use std::collections::BTreeSet;

/// Row pointers, columns, values.
type Csr = (Vec<i32>, Vec<i32>, Vec<f32>);

/// Two factors and their sizes.
struct Case {
    name: &'static str,
    a: Csr,
    b: Csr,
    size: [usize; 3],
}

/// Rows of given lengths, with random columns. The products of two values are exact, but their sizes differ so much
/// that the order of a sum shows in its bits.
fn rows(data: &mut Data, lengths: impl IntoIterator<Item = usize>, cols: usize) -> Csr {
    let mut csr = (vec![0], vec![], vec![]);
    for length in lengths {
        let mut own = data.ints(length, cols as i32);
        if 2 * length > cols {
            own = (0..cols as i32).collect();
        }
        own.sort_unstable();
        own.dedup();
        csr.1.extend(own);
        csr.0.push(csr.1.len() as i32);
    }
    let size = data.ints(csr.1.len(), 24);
    let mantissa = data.ints(csr.1.len(), 31);
    csr.2 = mantissa.iter().zip(size).map(|(m, e)| (m - 15) as f32 * 2f32.powi(e - 12)).collect();
    csr
}

fn cases() -> Vec<Case> {
    let mut data = Data::new(40);
    let mut case = |name, a: &[usize], b: &[usize], n| {
        let k = b.len();
        let (left, right) = (rows(&mut data, a.iter().copied(), k), rows(&mut data, b.iter().copied(), n));
        Case { name, a: left, b: right, size: [a.len(), k, n] }
    };
    let power = |n: usize| (0..n).map(|r| 300 / (r + 1)).collect::<Vec<_>>();
    // Every 7th row of B is long.
    let uneven: Vec<usize> = (0..90).map(|r| if r % 7 == 0 { 60 } else { r % 3 }).collect();
    let mut dense = vec![3; 20];
    dense[4] = 1500;
    vec![
        case("short and empty rows", &[3, 0, 5, 1, 0, 0, 9, 2, 2, 0, 4], &[2, 0, 3, 3, 0, 7, 1, 0, 2, 4], 37),
        case("one row", &[60], &[4; 200], 300),
        case("one column of A", &[1, 0, 1, 1, 1, 0, 1], &[40], 80),
        case("one column of B", &[7; 50], &[1; 40], 1),
        case("one element", &[1], &[1], 1),
        case("rows of every bin", &[2, 10, 40, 150, 300, 0, 1, 3, 11], &[10; 400], 20_000),
        // 6,000 products, in three tiles.
        case("a dense row", &dense, &[4; 1500], 70_000),
        case("a dense column", &[50; 30], &[1, 2, 3, 80, 1, 0, 3, 2, 2, 2], 90),
        case("power laws", &power(120), &power(150), 200),
        case("uneven rows of B", &[9; 70], &uneven, 120),
        case("no products", &[2; 9], &[0; 6], 5),
        case("no elements", &[0; 9], &[3; 6], 5),
        case("no rows", &[], &[3; 6], 5),
    ]
}

/// The pattern, the values, and the values with a known pattern.
fn product(case: &Case, device: &Device) -> Vec<Vec<f32>> {
    let [m, k, n] = case.size;
    let (a, b) = (matrix(&case.a, [m, k], device), matrix(&case.b, [k, n], device));
    let (c, again) = (a.matmul(&b), a.matmul(&b));
    let list_of = |ints: Tensor<1, Int>| ints.into_data().iter::<f32>().collect();
    vec![list_of(c.row_ptr()), list_of(c.col_idx()), list(c.values::<1>()), list(again.values::<1>())]
}

fn gradients(case: &Case, device: &Device) -> Vec<Vec<f32>> {
    let [m, k, n] = case.size;
    let a = matrix(&case.a, [m, k], device).require_grad();
    let b = matrix(&case.b, [k, n], device).require_grad();
    let values = a.matmul(&b).values::<1>();
    let grads = (values.clone() * values).sum().backward();
    [a, b].map(|side| list(side.grad(&grads).unwrap().values::<1>())).into()
}

fn bits(parts: &[Vec<f32>]) -> Vec<Vec<u32>> {
    parts.iter().map(|part| part.iter().map(|x| x.to_bits()).collect()).collect()
}

/// All cases have the bits of the CPU. Returns the kernels that were launched.
fn same_bits(force: Forced) -> BTreeSet<&'static str> {
    let mut all = BTreeSet::new();
    for case in cases() {
        let want = product(&case, &Device::flex());
        let (got, launched) = forced(force, || product(&case, &gpu()));
        assert_eq!(bits(&got), bits(&want), "{}, {force:?}", case.name);
        all.extend(launched);
    }
    all
}

/// All gradients are near those of the CPU, and other runs have the same bits.
fn near_gradients(force: Forced) -> BTreeSet<&'static str> {
    let mut all = BTreeSet::new();
    for mut case in cases() {
        // Sizes that are alike, so that errors are relative to the sums.
        let mut data = Data::new(41);
        (case.a.2, case.b.2) = (data.floats(case.a.2.len()), data.floats(case.b.2.len()));
        let want = gradients(&case, &Device::flex().autodiff());
        let gpu = gpu().autodiff();
        let (got, launched) = forced(force, || gradients(&case, &gpu));
        assert_close(case.name, &got, &want, 1e-4);
        assert_eq!(bits(&forced(force, || gradients(&case, &gpu)).0), bits(&got), "{}", case.name);
        all.extend(launched);
    }
    all
}

/// Shared memory of one table of 32 elements: most rows are long, and tiles have 4,096 columns.
fn little() -> Forced {
    Forced { shared: Some(3072), ..none() }
}

fn none() -> Forced {
    Forced::default()
}

#[test]
fn products_have_the_bits_of_the_cpu() {
    let _turn = TURN.lock();
    let hosted = host_fallbacks();
    let launched = same_bits(none());
    for kernel in ["spans", "classes", "distinct", "mark", "place", "pieces", "values"] {
        assert!(launched.contains(kernel), "{kernel} among {launched:?}");
    }
    assert_eq!(host_fallbacks(), hosted);
}

#[test]
fn little_shared_memory() {
    let _turn = TURN.lock();
    assert!(same_bits(little()).contains("mark"));
    near_gradients(little());
}

/// Tables of 8 elements, and tiles of 1,024 columns: wide matrices have their columns numbered again.
#[test]
fn hardly_any_shared_memory() {
    let _turn = TURN.lock();
    let force = Forced { shared: Some(2688), ..none() };
    let launched = same_bits(force);
    assert!(launched.contains("mark") && launched.contains("unpack"), "{launched:?}");
    near_gradients(force);
}

/// Long rows that could have more elements than 32 bits count, but do not.
#[test]
fn counts_near_their_limit() {
    let _turn = TURN.lock();
    let mut data = Data::new(45);
    let (rows_of_a, cols) = (530, 4_100_000);
    let (a, b) = (rows(&mut data, vec![5; rows_of_a], 9), rows(&mut data, [500; 9], cols));
    let case = Case { name: "near the limit", a, b, size: [rows_of_a, 9, cols] };
    let want = product(&case, &Device::flex());
    let (got, launched) = forced(none(), || product(&case, &gpu()));
    assert!(bits(&got) == bits(&want));
    assert!(launched.contains("limited_sums") && !launched.contains("unpack"), "{launched:?}");
}

/// As if columns had more than 32 bits.
#[test]
fn columns_above_32_bits_are_unpacked() {
    let _turn = TURN.lock();
    for force in [none(), little()] {
        let launched = same_bits(Forced { wide: true, ..force });
        assert!(launched.contains("unpack"), "{launched:?}");
    }
    near_gradients(Forced { wide: true, ..none() });
}

/// As if an axis of a grid had two cubes.
#[test]
fn grids_of_two_axes() {
    let _turn = TURN.lock();
    for force in [none(), little()] {
        let force = Forced { cubes: Some(2), ..force };
        assert!(same_bits(force).contains("values on two axes"));
        near_gradients(force);
    }
}

#[test]
fn gradients_of_every_case() {
    let _turn = TURN.lock();
    assert!(near_gradients(none()).contains("sampled"));
}

/// A row with so many positions where pieces are looked for, and so long, that their product needs more than 32 bits.
#[test]
fn gradient_of_a_long_row() {
    let _turn = TURN.lock();
    let mut data = Data::new(46);
    let size = [1, 6000, 2_000_000];
    let (mut a, mut b) = (rows(&mut data, [size[1]], size[1]), rows(&mut data, [100; 6000], size[2]));
    (a.2, b.2) = (data.floats(a.2.len()), data.floats(b.2.len()));
    let weights = data.floats(600_000);
    let run = |force, device: &Device| {
        let a = matrix(&a, [size[0], size[1]], device).require_grad();
        let values = a.matmul(&matrix(&b, [size[1], size[2]], device)).values::<1>();
        let nnz = values.dims()[0];
        assert!((nnz / 16).saturating_mul(nnz) > 1 << 32, "{nnz} elements");
        let loss = (values * Tensor::from_floats(&weights[..nnz], device)).sum();
        let (grads, launched) = forced(force, || loss.backward());
        (list(a.grad(&grads).unwrap().values::<1>()), launched)
    };
    let (want, _) = run(none(), &Device::flex().autodiff());
    let gpu = gpu().autodiff();
    let (got, launched) = run(little(), &gpu);
    assert!(launched.contains("sampled"), "{launched:?}");
    assert_close("a long row", std::slice::from_ref(&got), &[want], 1e-4);
    let (got, again) = (bits(&[got]), bits(&[run(little(), &gpu).0]));
    assert!(got == again, "other bits");
}

/// Lists of pieces that no buffer holds as a whole.
#[test]
fn lists_in_parts() {
    let _turn = TURN.lock();
    let mut data = Data::new(42);
    let lengths: Vec<usize> = (0..3000).map(|r| usize::from(r % 7 == 0)).collect();
    let (a, b) = (rows(&mut data, lengths, 40), rows(&mut data, [2; 40], 60));
    let case = Case { name: "lists in parts", a, b, size: [3000, 40, 60] };
    let want = product(&case, &Device::flex());
    let (got, launched) = forced(Forced { buffer: Some(16 << 10), ..none() }, || product(&case, &gpu()));
    assert_eq!(bits(&got), bits(&want));
    assert!(launched.contains("values"), "{launched:?}");
}

/// A product has two reads, a known pattern none.
#[test]
fn a_product_reads_twice_and_a_known_one_never() {
    let _turn = TURN.lock();
    let (mut data, device) = (Data::new(43), gpu());
    let a = matrix(&rows(&mut data, [5; 90], 90), [90, 90], &device);
    let read = device_reads();
    let first = a.matmul(&a);
    assert_eq!(device_reads() - read, 2);
    drop(a.matmul(&a));
    assert_eq!(device_reads() - read, 2);
    drop(list(first.values::<1>()));
}

/// Zeros that sums give stay stored.
#[test]
fn cancelled_elements_stay() {
    let _turn = TURN.lock();
    let a = (vec![0, 2], vec![0, 1], vec![1.0, 1.0]);
    let b = (vec![0, 2, 3], vec![0, 2, 0], vec![3.0, 4.0, -3.0]);
    let case = Case { name: "cancelled", a, b, size: [1, 2, 3] };
    for device in [Device::flex(), gpu()] {
        assert_eq!(product(&case, &device), [vec![0.0, 2.0], vec![0.0, 2.0], vec![0.0, 4.0], vec![0.0, 4.0]]);
    }
}

#[test]
fn products_of_integers_and_small_floats_agree_with_the_cpu() {
    let _turn = TURN.lock();
    for case in cases() {
        let [m, k, n] = case.size;
        let small = |csr: &Csr| -> Vec<i32> { csr.2.iter().map(|x| (x.abs() * 100.0) as i32 % 9 - 4).collect() };
        let whole = |device: &Device| -> Vec<i32> {
            let of = |csr: &Csr, size| {
                let (ptr, col) = (ints(&csr.0, [csr.0.len()], device), ints(&csr.1, [csr.1.len()], device));
                CsrTensor::<2, Int>::new(ptr, col, ints(&small(csr), [csr.1.len()], device), size).unwrap()
            };
            of(&case.a, [m, k]).matmul(&of(&case.b, [k, n])).values::<1>().into_data().iter::<i32>().collect()
        };
        assert_eq!(whole(&gpu()), whole(&Device::flex()), "{}", case.name);
        // Sums are kept in 32 bits and rounded once. So are these, of small whole numbers.
        for (dtype, own) in [(DType::F16, FloatDType::F16), (DType::BF16, FloatDType::BF16)] {
            if gpu().supports_dtype(dtype) {
                let part = |device: &Device| {
                    let of = |csr: &Csr, size| {
                        let values = small(csr).into_iter().map(|x| x as f32).collect();
                        matrix(&(csr.0.clone(), csr.1.clone(), values), size, device).cast(own)
                    };
                    list(of(&case.a, [m, k]).matmul(&of(&case.b, [k, n])).values::<1>())
                };
                assert_eq!(part(&gpu()), part(&Device::flex()), "{} of {dtype:?}", case.name);
            }
        }
    }
}

/// The bits of a row, and of its gradient, do not depend on other rows.
#[test]
fn rows_do_not_depend_on_others() {
    let _turn = TURN.lock();
    let (mut data, device) = (Data::new(44), gpu().autodiff());
    let (mut row, b) = (rows(&mut data, [30], 90), rows(&mut data, [40; 90], 700));
    row.2 = data.floats(row.2.len());
    // The same row after 50 others, and rows of B that it does not use.
    let others = rows(&mut data, [60; 50], 200);
    let mut large = others.clone();
    large.1.extend(&row.1);
    large.2.extend(&row.2);
    large.0.push(large.1.len() as i32);
    let more = rows(&mut data, (0..110).map(|r| if r == 5 { 600 } else { 1 }), 700);
    let mut wide = b.clone();
    wide.0.extend(more.0[1..].iter().map(|end| end + b.1.len() as i32));
    wide.1.extend(&more.1);
    wide.2.extend(&more.2);
    let run = |a: &Csr, b: &Csr, size: [usize; 3]| {
        let a = matrix(a, [size[0], size[1]], &device).require_grad();
        let c = a.matmul(&matrix(b, [size[1], size[2]], &device));
        let values = c.values::<1>();
        let grads = (values.clone() * values.clone()).sum().backward();
        (list(values), list(a.grad(&grads).unwrap().values::<1>()))
    };
    for force in [none(), little()] {
        let (values, grad) = forced(force, || run(&row, &b, [1, 90, 700])).0;
        let (all, slopes) = forced(none(), || run(&large, &wide, [51, 200, 700])).0;
        assert_eq!(bits(&[all[all.len() - values.len()..].to_vec()]), bits(&[values]));
        assert_eq!(bits(&[slopes[slopes.len() - grad.len()..].to_vec()]), bits(&[grad]));
    }
}
