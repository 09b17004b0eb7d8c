//! Sums of many terms, which are added in blocks: rows of 500 elements, and a few cells that get most of the values.
//!
//! `cargo bench -p sparse-core --bench long [-- name]`.

mod common;

use common::{Random, report, time};
use sparse_core::*;

/// Rows of about `each` elements.
struct Rows {
    ptr: Vec<i32>,
    idx: Vec<i32>,
    values: Vec<f32>,
}

impl Rows {
    fn random(rows: usize, cols: usize, each: usize, random: &mut Random) -> Self {
        let mut ptr = vec![0];
        for _ in 0..rows {
            ptr.push(ptr[ptr.len() - 1] + (each / 2 + random.below(each)) as i32);
        }
        let count = ptr[rows] as usize;
        let idx = (0..count).map(|_| random.below(cols) as i32).collect();
        Self { ptr, idx, values: floats(count, random) }
    }

    fn view(&self) -> Compressed<'_, i32> {
        Compressed { ptr: &self.ptr, idx: &self.idx, perm: None }
    }
}

fn floats(len: usize, random: &mut Random) -> Vec<f32> {
    (0..len).map(|_| random.float()).collect()
}

fn main() {
    common::huge_pages();
    let chosen = std::env::args().skip(1).find(|a| !a.starts_with('-')).unwrap_or_default();
    let random = &mut Random(1);
    let run = |name: &str, job: &mut dyn FnMut()| {
        if name.contains(&chosen) {
            report(name, time(job), None);
        }
    };
    let (rows, cols) = (4000, 4000);
    for each in [10, 50, 90, 500] {
        let a = Rows::random(2_000_000 / each, cols, each, random);
        for features in [1, 2, 4, 8, 16, 64, 128, 200] {
            let (dense, height) = (floats(cols * features, random), a.ptr.len() - 1);
            let mut out = vec![0f32; height * features];
            run(&format!("spmm, {each} a row, F={features}"), &mut || {
                spmm(a.view(), &a.values, &dense, [1, 1, features], Epilogue::default(), &mut out);
            });
        }
    }
    let a = Rows::random(rows, cols, 500, random);
    let count = a.idx.len();
    for features in [16, 64] {
        let (dense, grad) = (floats(rows * features, random), floats(cols * features, random));
        let (mut of_dense, mut of_values) = (vec![0f32; dense.len()], vec![0f32; count]);
        run(&format!("spmm_backward, F={features}"), &mut || {
            spmm_backward(a.view(), None, &a.values, &dense, &grad, 1, features, &mut of_dense, &mut of_values);
        });
    }
    for block in [1, 4, 64] {
        let values = floats(count * block, random);
        for (name, ptr) in [("rows", &a.ptr[..]), ("one", &[0, count as i32][..])] {
            let mut out = vec![0f32; (ptr.len() - 1) * block];
            run(&format!("segment_sum, {name}, {block}"), &mut || segment_sum(&values, block, None, ptr, &mut out));
        }
    }
    for (len, inner) in [(1, 1), (30, 1), (1000, 1), (30, 16), (1000, 16), (1000, 64)] {
        let steps = 8_000_000 / inner;
        let index: Vec<i64> = (0..steps).map(|_| random.below(len) as i64).collect();
        let values = floats(steps * inner, random);
        let target = Target { outer: 1, len, inner, count: steps, index: TargetIndex::Axis(index[..].into()) };
        let mut out = vec![0f32; len * inner];
        run(&format!("put add, {len} x {inner}"), &mut || put(&target, Reduce::Add, true, &values, &mut out));
        let Segments { ptr, order } = group_by(&index.iter().map(|&k| k as i32).collect::<Vec<_>>(), len);
        let (index, order, ptr) = (index[..].into(), order[..].into(), ptr[..].into());
        let target = Target { index: TargetIndex::Grouped { index, order, ptr }, ..target };
        run(&format!("put add, {len} x {inner}, grouped"), &mut || {
            put(&target, Reduce::Add, true, &values, &mut out);
        });
    }
    let full: Vec<i64> = (0..8_000_000).map(|_| random.below(1000) as i64).collect();
    let values = floats(full.len(), random);
    let (count, index) = (full.len() / 64, TargetIndex::Full(full[..].into()));
    let target = Target { outer: 1, len: 1000, inner: 64, count, index };
    let mut out = vec![0f32; 64_000];
    run("put add, 1000 x 64, full", &mut || put(&target, Reduce::Add, true, &values, &mut out));
    let (wide, b) = (Rows::random(500, cols, 2000, random), Rows::random(cols, cols, 20, random));
    run("spgemm, 2000 a row", &mut || {
        drop(spgemm(wide.view(), &wide.values, b.view(), &b.values, cols).unwrap());
    });
    let (ptr, idx, values) = spgemm(wide.view(), &wide.values, b.view(), &b.values, cols).unwrap();
    let mut out = values.clone();
    run("spgemm_values, 2000 a row", &mut || {
        spgemm_values((&ptr, &idx), wide.view(), &wide.values, b.view(), &b.values, cols, &mut out);
    });
    let c = Compressed { ptr: &ptr, idx: &idx, perm: None };
    let mut out = vec![0f32; wide.idx.len()];
    run("spgemm_sampled, 2000 a row", &mut || {
        spgemm_sampled((&wide.ptr, &wide.idx), c, &values, b.view(), &b.values, cols, &mut out);
    });
}
