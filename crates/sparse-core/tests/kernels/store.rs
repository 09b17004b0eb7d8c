//! What stores of graphs give, and what they refuse; indices of both widths.

use sparse_core::dynamic::Ids;
use sparse_core::graph::{GraphStore, Slices, WalkBias, random_walks};
use sparse_core::{Compressed, Epilogue, Result, SparseError, spmm};
use std::ops::Range;

const PTR: [i32; 4] = [0, 2, 2, 3];
const IDX: [i64; 3] = [1, 2, 0];

/// A store that says no more than it must.
struct Least;

impl GraphStore for Least {
    fn nodes(&self) -> usize {
        3
    }

    fn edges(&self) -> usize {
        3
    }

    fn spans(&self, nodes: &[i64], out: &mut Vec<Range<usize>>) -> Result<()> {
        Slices::opened("least", Ids::I32(&PTR), Ids::I64(&IDX), None).spans(nodes, out)
    }

    fn columns(&self, positions: &[usize], out: &mut Vec<usize>) -> Result<()> {
        out.extend(positions.iter().map(|&at| IDX[at] as usize));
        Ok(())
    }
}

fn values_of(store: &dyn GraphStore) -> (Vec<f32>, Vec<f32>) {
    let (mut some, mut spans) = (vec![9.0], vec![9.0]);
    store.values(&[2, 0], &mut some).unwrap();
    store.span_values(&[0..2, 2..2, 1..3], &mut spans).unwrap();
    (some, spans)
}

#[test]
fn values_are_those_of_the_positions_or_1() {
    let slices = |values| Slices::new("test", Ids::I32(&PTR), Ids::I64(&IDX), values).unwrap();
    let weighted = slices(Some(&[0.5, 0.25, 4.0]));
    assert!(weighted.has_values());
    assert_eq!(values_of(&weighted), (vec![9.0, 4.0, 0.5], vec![9.0, 0.5, 0.25, 0.25, 4.0]));
    for store in [&slices(None) as &dyn GraphStore, &Least] {
        assert!(!store.has_values());
        assert_eq!(values_of(store), (vec![9.0, 1.0, 1.0], vec![9.0, 1.0, 1.0, 1.0, 1.0]));
    }
}

#[test]
fn what_is_no_row_is_an_error() {
    let spans = |ptr: &[i32], node: i64| {
        let mut out = vec![];
        Slices::opened("test", Ids::I32(ptr), Ids::I64(&IDX), None).part(10, 20).spans(&[10, node], &mut out).err()
    };
    assert_eq!(spans(&PTR, 12), None);
    for node in [-1, 0, 9, 13, i64::MAX] {
        let want = SparseError::IndexOutOfRange { op: "test", axis: 0, low: 10, size: 13, index: node, position: 1 };
        assert_eq!(spans(&PTR, node), Some(want));
    }
    let wrong = |rule, got, position| Some(SparseError::InvalidRowPtr { op: "test", rule, got, position });
    assert_eq!(spans(&[0, 2, 1, 3], 11), wrong("never descend", 1, 2));
    assert_eq!(spans(&[0, 2, 4, 3], 11), wrong("be in [0, nnz]", 4, 2));
    assert_eq!(spans(&[0, 2, 4, 3], 12), wrong("be in [0, nnz]", 4, 2));
    assert_eq!(spans(&[0, 2, -1, 3], 11).map(|error| error.kind()), Some("invalid_row_ptr"));
}

#[test]
fn walks_do_not_depend_on_the_width_of_indices() {
    let (ptr, idx) = ([0i32, 2, 6, 8, 9, 10], [1i32, 2, 0, 2, 3, 4, 0, 1, 1, 1]);
    let (wide_ptr, wide_idx) = (ptr.map(i64::from), idx.map(i64::from));
    for bias in [None, Some(WalkBias { p: 0.5, q: 2.0 })] {
        let narrow = random_walks(Ids::I32(&ptr), Ids::I32(&idx), &[0, 1, 3], 20, bias, 7);
        assert_eq!(random_walks(Ids::I64(&wide_ptr), Ids::I64(&wide_idx), &[0, 1, 3], 20, bias, 7), narrow);
    }
}

/// Products that are large enough for all threads run one after the other.
#[test]
fn a_batch_of_large_products() {
    const ROWS: usize = 2000;
    const DEGREE: usize = 10;
    const FEATURES: usize = 64;
    const BATCH: usize = 3;
    let ptr: Vec<i32> = (0..=ROWS).map(|row| (row * DEGREE) as i32).collect();
    let idx: Vec<i32> = (0..ROWS * DEGREE).map(|k| (k * 7919 % ROWS) as i32).collect();
    let values: Vec<f32> = (0..idx.len()).map(|k| (k % 17) as f32 / 3.0).collect();
    let dense: Vec<f32> = (0..BATCH * ROWS * FEATURES).map(|k| (k % 29) as f32 / 7.0 - 2.0).collect();
    let a = Compressed { ptr: &ptr, idx: &idx, perm: None };
    let (mut out, mut want) = (vec![0.0f32; dense.len()], vec![0.0f32; dense.len()]);
    spmm(a, &values, &dense, [BATCH, 1, FEATURES], Epilogue::default(), &mut out);
    for (own, want) in dense.chunks(ROWS * FEATURES).zip(want.chunks_mut(ROWS * FEATURES)) {
        spmm(a, &values, own, [1, 1, FEATURES], Epilogue::default(), want);
    }
    assert_eq!(out, want);
}
