//! Sparse matrix times vector beside a bare loop over the same rows on as many threads: the 5-point matrix of a grid
//! 1000 x 1000, and rows of lengths 0 to 9 in any order.

mod common;

use common::{Random, report, time};
use rayon::prelude::*;
use sparse_core::*;

const N: usize = 1_000_000;
const SIDE: usize = 1000;

/// Row pointers and columns.
fn grid() -> (Vec<i32>, Vec<i32>) {
    let (mut ptr, mut idx) = (vec![0], vec![]);
    for r in 0..N {
        let (x, y) = (r % SIDE, r / SIDE);
        let near = [(y > 0, r.wrapping_sub(SIDE)), (x > 0, r.wrapping_sub(1)), (true, r), (x + 1 < SIDE, r + 1)];
        idx.extend(near.iter().filter(|(there, _)| *there).map(|(_, c)| *c as i32));
        idx.extend((y + 1 < SIDE).then_some((r + SIDE) as i32));
        ptr.push(idx.len() as i32);
    }
    (ptr, idx)
}

/// Near the diagonal, so that reads of the vector are no random lines.
fn mixed() -> (Vec<i32>, Vec<i32>) {
    let mut random = Random(1);
    let (mut ptr, mut idx) = (vec![0], vec![]);
    for r in 0..N {
        let length = random.below(10);
        let low = r.saturating_sub(500).min(N - 1000);
        let mut own: Vec<i32> = (0..length).map(|_| (low + random.below(1000)) as i32).collect();
        own.sort_unstable();
        idx.extend(own);
        ptr.push(idx.len() as i32);
    }
    (ptr, idx)
}

fn bare<T: Copy + Send + Sync + std::ops::AddAssign + std::ops::Mul<Output = T> + Default>(
    (ptr, idx): (&[i32], &[i32]),
    values: &[T],
    x: &[T],
    out: &mut [T],
) {
    let share = out.len().div_ceil(rayon::current_num_threads());
    out.par_chunks_mut(share).enumerate().for_each(|(k, out)| {
        for (r, out) in out.iter_mut().enumerate() {
            let own = ptr[k * share + r] as usize..ptr[k * share + r + 1] as usize;
            let mut sum = T::default();
            for (i, value) in idx[own.clone()].iter().zip(&values[own]) {
                sum += *value * x[*i as usize];
            }
            *out = sum;
        }
    });
}

fn main() {
    common::huge_pages();
    for (name, (ptr, idx)) in [("grid", grid()), ("mixed", mixed())] {
        let mut random = Random(2);
        let mut list = |len: usize| -> Vec<f32> { (0..len).map(|_| random.float()).collect() };
        let (values, x) = (list(idx.len()), list(N));
        let mut out = common::zeroed::<f32>(N);
        let a = Compressed { ptr: &ptr[..], idx: &idx[..], perm: None };
        let plan = ShiftedRows::new(a);
        if plan.is_some() {
            report(&format!("{name}, plan"), time(|| ShiftedRows::new(a)), None);
        }
        report(&format!("{name} f32"), time(|| spmm(a, &values, &x, [1, 1, 1], Epilogue::default(), &mut out)), None);
        if let Some(plan) = &plan {
            let planned = || plan.spmv(a, &values, &x, Epilogue::default(), &mut out);
            report(&format!("{name} f32, planned"), time(planned), None);
        }
        report(&format!("{name} f32, bare"), time(|| bare((&ptr, &idx), &values, &x, &mut out)), None);
        let [values, x]: [Vec<f64>; 2] = [values, x].map(|list| list.into_iter().map(f64::from).collect());
        let mut out = common::zeroed::<f64>(N);
        report(&format!("{name} f64"), time(|| spmm(a, &values, &x, [1, 1, 1], Epilogue::default(), &mut out)), None);
        if let Some(plan) = &plan {
            let planned = || plan.spmv(a, &values, &x, Epilogue::default(), &mut out);
            report(&format!("{name} f64, planned"), time(planned), None);
        }
        report(&format!("{name} f64, bare"), time(|| bare((&ptr, &idx), &values, &x, &mut out)), None);
    }
}
