//! A guard for CI: kernels against plain loops in the same process. It fails if a kernel lost most of its lead.
//!
//! It compares times of one moment on one machine, so it needs no figure of another machine. The factors are far below
//! what is measured, because a shared machine disturbs single runs; each time is the best of several.

mod common;

use common::Random;
use sparse_core::*;
use std::hint::black_box;
use std::time::Instant;

const NODES: usize = 50_000;
const FEATURES: usize = 64;

/// The best time of a few runs.
fn best<R>(mut run: impl FnMut() -> R) -> f64 {
    let mut least = f64::INFINITY;
    for _ in 0..7 {
        let start = Instant::now();
        black_box(run());
        least = least.min(start.elapsed().as_secs_f64());
    }
    least
}

fn main() {
    let mut random = Random(1);
    let mut places: Vec<(i32, i32)> =
        (0..500_000).map(|_| (random.below(NODES) as i32, random.below(NODES) as i32)).collect();
    let loose: Vec<i32> = places.iter().map(|place| place.0).chain(places.iter().map(|place| place.1)).collect();
    let count = places.len();
    places.sort_unstable();
    places.dedup();
    let (rows, cols): (Vec<i32>, Vec<i32>) = places.iter().copied().unzip();
    let ptr = compress(&rows, NODES);
    let values: Vec<f32> = cols.iter().map(|_| random.float()).collect();
    let dense: Vec<f32> = (0..NODES * FEATURES).map(|_| random.float()).collect();
    let mut out = vec![0f32; NODES * FEATURES];

    let a = Compressed { ptr: &ptr, idx: &cols, perm: None };
    let kernel = best(|| spmm(a, &values, &dense, [1, 1, FEATURES], Epilogue::default(), &mut out));
    let plain = best(|| {
        out.fill(0.0);
        for row in 0..NODES {
            for k in ptr[row] as usize..ptr[row + 1] as usize {
                for f in 0..FEATURES {
                    out[row * FEATURES + f] += values[k] * dense[cols[k] as usize * FEATURES + f];
                }
            }
        }
    });
    check("sparse x dense", plain / kernel, 3.0);

    let mut shares = vec![0f32; values.len()];
    let kernel = best(|| segment_softmax(&values, 1, &ptr, false, &mut shares));
    let plain = best(|| {
        for row in 0..NODES {
            let own = ptr[row] as usize..ptr[row + 1] as usize;
            let largest = values[own.clone()].iter().fold(f32::NEG_INFINITY, |a, &b| a.max(b));
            let total: f32 = values[own.clone()].iter().map(|x| (x - largest).exp()).sum();
            own.for_each(|k| shares[k] = (values[k] - largest).exp() / total);
        }
    });
    check("softmax of rows", plain / kernel, 1.5);

    let kernel = best(|| coalesce(&[NODES; 2], &loose, count));
    let plain = best(|| {
        let mut sorted: Vec<(i32, i32, usize)> = (0..count).map(|k| (loose[k], loose[count + k], k)).collect();
        sorted.sort();
        sorted
    });
    check("coalesce", plain / kernel, 1.5);

    let kernel = best(|| spgemm(a, &values, a, &values, NODES).expect("a product that fits"));
    let plain = best(|| {
        let (mut sums, mut seen, mut found) = (vec![0f32; NODES], vec![u32::MAX; NODES], vec![]);
        let mut all = vec![];
        for row in 0..NODES {
            for k in ptr[row] as usize..ptr[row + 1] as usize {
                let mid = cols[k] as usize;
                for j in ptr[mid] as usize..ptr[mid + 1] as usize {
                    let col = cols[j] as usize;
                    if seen[col] != row as u32 {
                        (seen[col], sums[col]) = (row as u32, 0.0);
                        found.push(col);
                    }
                    sums[col] += values[k] * values[j];
                }
            }
            found.sort_unstable();
            all.extend(found.drain(..).map(|col| (col, sums[col])));
        }
        all
    });
    check("sparse x sparse", plain / kernel, 1.5);
}

fn check(name: &str, ratio: f64, least: f64) {
    println!("{name}: {ratio:.1}x of a plain loop, at least {least}x expected");
    assert!(ratio >= least, "{name}: {ratio:.2}x of a plain loop");
}
