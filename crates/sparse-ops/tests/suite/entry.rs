//! Matrices from lists of the host and back, compressed columns, distinct ids, functions of the stored elements.

use burn::tensor::{Bool, DType, Device, Int, Tensor, TensorData};
use proptest::prelude::*;
use sparse_tensor::ops::{Reduce, try_unique, unique};
use sparse_tensor::pattern::Pattern;
use sparse_tensor::{CooTensor, CsrTensor, Fill, Nodes, SparseError, SparseTensor};

fn device() -> Device {
    Device::flex()
}

fn list<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

fn ids(tensor: Tensor<1, Int>) -> Vec<i64> {
    tensor.into_data().convert::<i64>().iter::<i64>().collect()
}

/// `[[0, 7, 0], [5, 0, -1]]` out of order and with a duplicate: rows, columns, values.
const ROWS: [usize; 4] = [1, 0, 1, 1];
const COLS: [usize; 4] = [2, 1, 0, 2];
const VALUES: [f32; 4] = [1.0, 7.0, 5.0, -2.0];

fn kind<T>(result: Result<T, SparseError>) -> &'static str {
    result.err().expect("an error").kind()
}

#[test]
fn triplets_keep_their_order_in_coo_and_are_summed_in_csr() {
    let coo = CooTensor::<2>::from_triplets(&ROWS, &COLS, &VALUES, [2, 3], &device()).unwrap();
    assert_eq!(coo.to_triplets::<f32>(), (ROWS.to_vec(), COLS.to_vec(), VALUES.to_vec()));
    assert!(!coo.is_coalesced());
    let csr = CsrTensor::<2>::from_triplets(&ROWS, &COLS, &VALUES, [2, 3], &device()).unwrap();
    assert_eq!(csr.to_triplets::<f32>(), (vec![0, 1, 1], vec![1, 0, 2], vec![7.0, 5.0, -1.0]));
    assert_eq!((ids(csr.row_ptr()), ids(csr.col_idx())), (vec![0, 1, 3], vec![1, 0, 2]));
    assert_eq!(list(coo.to_dense()), list(csr.to_dense()));
    // In order: nothing is sorted.
    let coo = CooTensor::<2>::from_triplets(&[0, 1, 1], &[1, 0, 2], &[7.0, 5.0, -1.0], [2, 3], &device()).unwrap();
    assert!(coo.is_coalesced());
    // Integers convert as Burn converts them; any number type reads back.
    let ints = CsrTensor::<2>::from_triplets(&[0], &[1], &[3u8], [1, 2], &device()).unwrap();
    assert_eq!((ints.dtype(), ints.to_triplets::<i64>().2), (DType::F32, vec![3]));
    let empty = CsrTensor::<2>::from_triplets(&[], &[], &[] as &[f32], [0, 3], &device()).unwrap();
    assert_eq!((empty.dims(), empty.to_triplets::<f32>()), ([0, 3], (vec![], vec![], vec![])));
}

#[test]
fn triplets_of_every_kind_have_the_dtype_asked_for() {
    let wide = CsrTensor::<2>::from_triplets(&[0], &[1], &[0.1f64], [1, 2], (&device(), DType::F64)).unwrap();
    assert_eq!((wide.dtype(), wide.to_triplets::<f64>().2), (DType::F64, vec![0.1]));
    let half = CooTensor::<2>::from_triplets(&[0], &[1], &[1.5f32], [1, 2], (&device(), DType::F16)).unwrap();
    assert_eq!((half.dtype(), half.to_triplets::<f32>().2), (DType::F16, vec![1.5]));
    let long =
        CsrTensor::<2, Int>::from_triplets(&[0; 2], &[1; 2], &[i64::MAX - 2, 2], [1, 2], (&device(), DType::I64));
    assert_eq!(long.unwrap().to_triplets::<i64>().2, [i64::MAX]);
    let bytes = CsrTensor::<2, Int>::from_triplets(&[0], &[1], &[255usize as u64], [1, 2], (&device(), DType::U8));
    assert_eq!(bytes.unwrap().to_triplets::<u8>().2, [255]);
    // Any of the duplicates is true.
    let truths = CsrTensor::<2, Bool>::from_triplets(&[0; 2], &[1; 2], &[true, false], [1, 2], &device()).unwrap();
    assert_eq!(truths.to_triplets::<bool>().2, [true]);
    // On the tape the values are a leaf when asked for.
    let on_tape = CsrTensor::<2>::from_triplets(&ROWS, &COLS, &VALUES, [2, 3], &device().autodiff()).unwrap();
    let a = on_tape.require_grad();
    let grads = a.matmul(Tensor::<2>::ones([3, 2], &device().autodiff())).sum().backward();
    assert_eq!(list(a.grad(&grads).unwrap().values::<1>()), [2.0; 3]);
}

#[test]
fn wrong_triplets_are_errors() {
    let of = |rows: &[usize], cols: &[usize], values: &[f32]| {
        CsrTensor::<2>::from_triplets(rows, cols, values, [2, 3], &device())
    };
    assert_eq!(kind(of(&[0], &[0, 1], &[1.0])), "length_mismatch");
    let told = of(&[0], &[1], &[]).unwrap_err().to_string();
    assert_eq!(told, "from_triplets: values must have length 1, got 0");
    let told = of(&[0, 2], &[1, 1], &[1.0, 2.0]).unwrap_err().to_string();
    assert_eq!(told, "from_triplets: index along dim 0 must be in [0, 2), got 2 at position 1");
    assert_eq!(kind(of(&[0], &[usize::MAX], &[1.0])), "index_out_of_range");
    let ints = |value: i64, dtype| {
        CooTensor::<2, Int>::from_triplets(&[0], &[0], &[value], [1, 1], (&device(), dtype)).map(|a| a.nnz())
    };
    assert_eq!(ints(255, DType::U8), Ok(1));
    assert_eq!(kind(ints(256, DType::U8)), "overflow");
    assert_eq!(kind(ints(-1, DType::U8)), "overflow");
    assert_eq!(kind(ints(i64::from(i32::MIN) - 1, DType::I32)), "overflow");
    assert_eq!(kind(ints(1, DType::F32)), "dtype_mismatch");
    assert_eq!(kind(ints(1, DType::I16)), "unsupported_dtype");
    let floats = CooTensor::<2, Int>::from_triplets(&[0], &[0], &[1.0f32], [1, 1], &device());
    assert_eq!(kind(floats), "dtype_mismatch");
    assert_eq!(kind(CooTensor::<2>::from_triplets(&[0], &[0], &[true], [1, 1], &device())), "dtype_mismatch");
    assert_eq!(kind(CooTensor::<2>::from_triplets(&[], &[], &[0.0], [usize::MAX, 1], &device())), "length_mismatch");
    let far = |shape| CooTensor::<2>::from_triplets(&[], &[], &[] as &[f32], shape, &device()).map(|a| a.nnz());
    assert_eq!(kind(far([usize::MAX, 1])), "overflow");
    // No row pointers for a shape that somebody only claims; coordinates hold it.
    assert_eq!(far([1 << 60, 1]), Ok(0));
    let claimed = CsrTensor::<2>::from_triplets(&[0], &[0], &[1.0], [1 << 60, 1], &device());
    assert_eq!(kind(claimed), "would_densify");
    let hybrid = CooTensor::<2>::from_dense(Tensor::ones([2, 2], &device()), 1);
    assert_eq!(kind(hybrid.try_to_triplets::<f32>()), "shape_mismatch");
}

#[test]
fn rows_of_pairs() {
    let users = [vec![(4, 1.0), (0, 2.0), (4, 0.5)], vec![], vec![(1, 3.0)]];
    let csr = CsrTensor::<2>::from_rows(&users, 6, &device()).unwrap();
    assert_eq!(csr.dims(), [3, 6]);
    assert_eq!(csr.to_triplets::<f32>(), (vec![0, 0, 2], vec![0, 4, 1], vec![2.0, 1.5, 3.0]));
    let coo = CooTensor::<2>::from_rows(&users, None, (&device(), DType::F64)).unwrap();
    assert_eq!((coo.dims(), coo.nnz(), coo.dtype()), ([3, 5], 4, DType::F64));
    // Slices and arrays of slices are rows too.
    let slices: [&[(usize, i32)]; 2] = [&[(0, 1)], &[]];
    let ints = CsrTensor::<2, Int>::from_rows(&slices, None, &device()).unwrap();
    assert_eq!((ints.dims(), ints.nnz()), ([2, 1], 1));
    let none: [Vec<(usize, f32)>; 0] = [];
    assert_eq!(CsrTensor::<2>::from_rows(&none, None, &device()).unwrap().dims(), [0, 0]);
    let told = CsrTensor::<2>::from_rows(&users, 4, &device()).unwrap_err().to_string();
    assert_eq!(told, "from_rows: index along dim 1 must be in [0, 4), got 4 at position 0");
    assert_eq!(kind(CsrTensor::<2>::from_rows(&[[(usize::MAX, 1.0)]], None, &device())), "index_out_of_range");
}

#[test]
fn edges_of_one_kind_of_nodes_and_of_two() {
    let edges = [(2, 0), (0, 1), (2, 0)];
    let values = || Tensor::<1>::from_floats([1.0, 2.0, 4.0], &device().autodiff()).require_grad();
    let leaf = values();
    let csr = CsrTensor::from_edges(&edges, leaf.clone(), None).unwrap();
    assert_eq!((csr.dims(), csr.to_triplets::<f32>()), ([3, 3], (vec![0, 2], vec![1, 0], vec![2.0, 5.0])));
    // The gradient of a sum passes to each of its edges.
    let x = Tensor::<2>::from_floats([[1.0], [10.0], [100.0]], &device().autodiff());
    assert_eq!(list(leaf.grad(&csr.matmul(x).sum().backward()).unwrap()), [1.0, 10.0, 1.0]);
    assert_eq!(CooTensor::from_edges(&edges, values(), [3, 2]).unwrap().dims(), [3, 2]);
    assert_eq!(CsrTensor::from_edges(&edges, values(), Nodes::Two([5, 9])).unwrap().dims(), [5, 9]);
    assert_eq!(CsrTensor::from_edges(&edges, values(), Some(4)).unwrap().dims(), [4, 4]);
    assert_eq!(kind(CsrTensor::from_edges(&edges, values(), [2, 3])), "index_out_of_range");
    assert_eq!(kind(CooTensor::from_edges(&edges, values(), 2)), "index_out_of_range");
    assert_eq!(kind(CooTensor::from_edges(&edges[..2], values(), 3)), "length_mismatch");
    assert_eq!(kind(CooTensor::from_edges(&[(usize::MAX, 0)], values().narrow(0, 0, 1), None)), "index_out_of_range");
}

#[test]
fn compressed_columns() {
    let a = CsrTensor::<2>::from_triplets(&ROWS, &COLS, &VALUES, [2, 3], &device().autodiff()).unwrap().require_grad();
    let (col_ptr, row_idx, values) = a.to_csc_parts();
    // SciPy: csc_array([[0, 7, 0], [5, 0, -1]]).
    assert_eq!((ids(col_ptr.clone()), ids(row_idx.clone())), (vec![0, 1, 2, 3], vec![1, 0, 1]));
    assert_eq!(list(values.clone()), [5.0, 7.0, -1.0]);
    let weights = Tensor::<1>::from_floats([1.0, 10.0, 100.0], &device().autodiff());
    let grads = (values.clone() * weights).sum().backward();
    assert_eq!(list(a.grad(&grads).unwrap().values::<1>()), [10.0, 1.0, 100.0]);
    let back = CsrTensor::from_csc_parts(col_ptr, row_idx, values.detach(), [2, 3]).unwrap();
    assert_eq!(back.to_triplets::<f32>(), a.to_triplets::<f32>());

    let of = |col_ptr: [i32; 3], row_idx: [i32; 2]| {
        let parts = (Tensor::from_ints(col_ptr, &device()), Tensor::from_ints(row_idx, &device()));
        CsrTensor::<2>::from_csc_parts(parts.0, parts.1, Tensor::ones([2], &device()), [2, 2])
    };
    assert_eq!(of([0, 2, 2], [0, 1]).unwrap().to_triplets::<f32>(), (vec![0, 1], vec![0, 0], vec![1.0; 2]));
    assert_eq!(kind(of([0, 2, 2], [1, 0])), "unsorted_columns");
    assert_eq!(kind(of([0, 2, 2], [0, 2])), "index_out_of_range");
    assert_eq!(kind(of([0, 2, 1], [0, 1])), "invalid_row_ptr");
    let short = Tensor::<1>::ones([1], &device());
    let (ptr, rows) = (Tensor::from_ints([0, 2, 2], &device()), Tensor::from_ints([0, 1], &device()));
    assert_eq!(kind(CsrTensor::from_csc_parts(ptr, rows, short, [2, 2])), "length_mismatch");
}

fn unique_of(list: &[i64], dtype: DType) -> (Vec<i64>, Vec<f32>) {
    let data = TensorData::new(list.to_vec(), [list.len()]).convert_dtype(dtype);
    let (distinct, plan) = unique(Tensor::from_data(data, (&device(), dtype)));
    assert_eq!(distinct.dtype(), dtype);
    assert_eq!((plan.len(), plan.size()), (list.len(), distinct.dims()[0]));
    let places = (0..plan.size() as i64).map(|place| place as f32).collect::<Vec<_>>();
    let places = Tensor::<1>::from_data(TensorData::new(places, [plan.size()]), &device());
    let places = if list.is_empty() { vec![] } else { plan.select(places, 0).into_data().iter::<f32>().collect() };
    (ids(distinct), places)
}

#[test]
fn distinct_ids_and_their_places() {
    assert_eq!(unique_of(&[], DType::I64), (vec![], vec![]));
    assert_eq!(unique_of(&[7], DType::I32), (vec![7], vec![0.0]));
    assert_eq!(unique_of(&[5, 0, 5, 255], DType::U8), (vec![0, 5, 255], vec![1.0, 0.0, 1.0, 2.0]));
    assert_eq!(unique_of(&[3, -1, 3, -7], DType::I32), (vec![-7, -1, 3], vec![2.0, 1.0, 2.0, 0.0]));
    let ends = [i64::MAX - 1, i64::MIN, -1, 0, i64::MIN];
    assert_eq!(unique_of(&ends, DType::I64), (vec![i64::MIN, -1, 0, i64::MAX - 1], vec![3.0, 0.0, 1.0, 2.0, 0.0]));
    let ends = [i32::MAX, i32::MIN, -1, i32::MAX].map(i64::from);
    let sorted = [i32::MIN, -1, i32::MAX].map(i64::from).to_vec();
    assert_eq!(unique_of(&ends, DType::I32), (sorted, vec![2.0, 0.0, 1.0, 2.0]));
    assert_eq!(unique_of(&[i64::MAX], DType::I64), (vec![i64::MAX], vec![0.0]));
    // Above 63 bits ids could not be told apart.
    let far = Tensor::<1, Int>::from_data(TensorData::new(vec![u64::MAX, u64::MAX - 1], [2]), (&device(), DType::U64));
    assert_eq!(kind(try_unique(far)), "overflow");
}

/// The plan is that of `IndexPlan::new` of the same places: it selects, sums and passes gradients.
#[test]
fn the_plan_of_distinct_ids_reads_and_writes() {
    let tape = device().autodiff();
    let (distinct, plan) = unique(Tensor::from_ints([9, 4, 9, 9], &device()));
    assert_eq!(ids(distinct), [4, 9]);
    let rows = Tensor::<2>::from_floats([[1.0, 2.0], [3.0, 4.0]], &tape).require_grad();
    let all = plan.select(rows.clone(), 0);
    assert_eq!(list(all.clone()), [3.0, 4.0, 1.0, 2.0, 3.0, 4.0, 3.0, 4.0]);
    let weights = Tensor::<2>::from_floats([[1.0], [10.0], [100.0], [1000.0]], &tape);
    let grads = (all * weights).sum().backward();
    assert_eq!(list(rows.grad(&grads).unwrap()), [10.0, 10.0, 1101.0, 1101.0]);
    let counts = plan.put(Tensor::<1>::zeros([2], &device()), 0, Tensor::ones([4], &device()), Reduce::Add, true);
    assert_eq!(list(counts), [1.0, 3.0]);
}

proptest! {
    #[test]
    fn distinct_ids_are_those_of_a_sorted_set(list in prop::collection::vec(-20i64..20, 0..60), wide: bool) {
        let dtype = if wide { DType::I64 } else { DType::I32 };
        let (distinct, places) = unique_of(&list, dtype);
        let set: Vec<i64> = list.iter().copied().collect::<std::collections::BTreeSet<_>>().into_iter().collect();
        prop_assert_eq!(&distinct, &set);
        let back: Vec<i64> = places.iter().map(|&place| set[place as usize]).collect();
        prop_assert_eq!(back, list);
    }

    #[test]
    fn triplets_agree_with_a_loop(
        entries in prop::collection::vec((0usize..4, 0usize..5, -8i32..8), 0..20), csr: bool,
    ) {
        let rows: Vec<usize> = entries.iter().map(|e| e.0).collect();
        let cols: Vec<usize> = entries.iter().map(|e| e.1).collect();
        let values: Vec<f32> = entries.iter().map(|e| e.2 as f32).collect();
        let mut dense = vec![0.0; 20];
        entries.iter().for_each(|&(row, col, value)| dense[row * 5 + col] += value as f32);
        let got = if csr {
            let a = CsrTensor::<2>::from_triplets(&rows, &cols, &values, [4, 5], &device()).unwrap();
            prop_assert!(a.pattern().is_coalesced());
            list(a.to_dense())
        } else {
            list(CooTensor::<2>::from_triplets(&rows, &cols, &values, [4, 5], &device()).unwrap().to_dense())
        };
        prop_assert_eq!(got, dense);
    }
}

/// The fill stays out of what is stored-only, whatever it is.
#[test]
fn stored_elements_alone() {
    fn of<P: Pattern>(a: &SparseTensor<P, 2>, b: &SparseTensor<P, 2>) {
        assert_eq!(list(a.exp().to_dense())[1], 1.0);
        let exp = a.stored().map(|rows| rows.exp());
        assert!(exp.pattern().is_same(a.pattern()) && exp.fill().is_zero());
        assert_eq!(list(exp.to_dense())[1], 0.0);
        // a / a is 0 / 0 where nothing is stored.
        assert!(list(a.div(a).to_dense())[1].is_nan());
        assert_eq!(list(a.stored().div(a).to_dense()), [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
        assert_eq!(list(a.stored().div(b).to_dense()), [0.5, 0.0, 0.0, 0.0, 0.75, 0.0]);
        assert_eq!((a.stored().mul(b).nnz(), a.mul(b).nnz()), (2, 4));
        let undefined = a.clone().with_fill(Fill::Undefined);
        assert!(undefined.stored().mul(b).fill().is_undefined() && b.stored().div(&undefined).fill().is_undefined());
        let filled = a.clone().with_fill(Fill::scalar(9.0));
        assert_eq!(list(filled.stored().map(|rows| rows.neg()).to_dense()), [-1.0, 9.0, -2.0, 9.0, -3.0, 9.0]);
        assert_eq!(list(filled.stored().mul(b).to_dense()), [2.0, 0.0, 0.0, 0.0, 12.0, 0.0]);
        let short = a.narrow(1, 0, 2);
        let told = a.stored().try_div(&short).unwrap_err().to_string();
        assert!(told.starts_with("div: "), "{told}");
        assert_eq!(kind(a.stored().try_mul(&short)), "shape_mismatch");
        assert_eq!(kind(a.stored().try_zip(&short, |a, _| a)), "shape_mismatch");
    }
    let dense = |cells: [f32; 6]| {
        Tensor::<2>::from_floats([[cells[0], cells[1], cells[2]], [cells[3], cells[4], cells[5]]], &device())
    };
    let (a, b) = (dense([1.0, 0.0, 2.0, 0.0, 3.0, 0.0]), dense([2.0, 7.0, 0.0, 0.0, 4.0, 0.0]));
    let (a, b) = (CooTensor::from_dense(a, 0), CooTensor::from_dense(b, 0));
    of(&a, &b);
    of(&a.to_csr(), &b.to_csr());
    let ints = a.int().stored().div(&b.int());
    assert_eq!((ints.dtype(), list(ints.to_dense())), (DType::F32, vec![0.5, 0.0, 0.0, 0.0, 0.75, 0.0]));
}

/// Of a wide matrix only the columns in use are touched, and the fill stays.
#[test]
fn compact_columns_of_a_wide_matrix() {
    let far = 1usize << 40;
    let a =
        CsrTensor::<2>::from_triplets(&[0, 0, 1], &[far, 5, far], &[1.0, 2.0, 3.0], [2, far + 1], &device()).unwrap();
    let (names, own) = a.compact_columns();
    assert_eq!(ids(names.clone()), [5, far as i64]);
    assert_eq!(list(own.to_dense()), [2.0, 1.0, 0.0, 3.0]);
    assert!(own.pattern().is_same(a.compact_columns().1.pattern()));
    // COO keeps its order and its duplicates.
    let loose = CooTensor::<2>::from_triplets(&[1, 0, 1], &[9, 9, 9], &[1.0, 2.0, 4.0], [2, 10], &device()).unwrap();
    let (names, own) = loose.with_fill(Fill::scalar(8.0)).compact_columns();
    assert_eq!((ids(names), own.nnz(), list(own.to_dense())), (vec![9], 3, vec![2.0, 5.0]));
    assert_eq!(list(own.values::<1>()), [1.0, 2.0, 4.0]);
    assert_eq!(own.fill().to_string(), "8");
    let none = CsrTensor::<2>::zeros([3, 1 << 50], &device());
    assert_eq!(none.compact_columns().1.dims(), [3, 0]);
    let hybrid = CooTensor::<2>::from_dense(Tensor::ones([2, 2], &device()), 1);
    assert_eq!(kind(hybrid.try_compact_columns()), "shape_mismatch");
}

/// The gradient of a wide table has the bits that it has if every column is counted.
#[test]
fn few_columns_of_a_wide_table_sum_in_the_same_order() {
    let tape = device().autodiff();
    let entries: Vec<(usize, f32)> = (0..200).map(|k| (k * 7 % 40 * 1000, 0.1 + k as f32 * 0.37)).collect();
    let rows: Vec<Vec<(usize, f32)>> = entries.chunks(9).map(<[_]>::to_vec).collect();
    let grads = |rows: &[Vec<(usize, f32)>], cols: usize| {
        let a = CsrTensor::<2>::from_rows(rows, cols, &tape).unwrap();
        let x = Tensor::<2>::ones([cols, 3], &tape).require_grad();
        let y = a.matmul(x.clone());
        let weights = Tensor::<1, Int>::arange(1..1 + rows.len() as i64 * 3, &tape).float().sin();
        let grads = (y * weights.reshape([rows.len(), 3])).sum().backward();
        list(x.grad(&grads).unwrap())
    };
    let near: Vec<Vec<(usize, f32)>> =
        rows.iter().map(|row| row.iter().map(|&(col, value)| (col / 1000, value)).collect()).collect();
    let (wide, dense) = (grads(&rows, 40_000), grads(&near, 40));
    for col in 0..40 {
        assert_eq!(wide[col * 3000..][..3], dense[col * 3..][..3], "column {col}");
    }
    assert_eq!(wide.iter().filter(|&&x| x != 0.0).count(), dense.iter().filter(|&&x| x != 0.0).count());
}
