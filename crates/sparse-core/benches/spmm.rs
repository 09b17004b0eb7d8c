//! Times the kernels on graphs of the sizes that papers and libraries report. Every result is checked against a plain
//! loop before it is timed. The products reuse their output buffers, so page faults are not part of their times.
//! Functions that return vectors (coalesce, group_by) pay for fresh memory.
//!
//! `cargo bench -p sparse-core --bench spmm [-- name]`. `RAYON_NUM_THREADS` sets the number of threads.

use rayon::prelude::*;
use sparse_core::*;
use std::hint::black_box;
use std::time::Instant;

/// Number of timed runs; the median and the minimum are printed.
const RUNS: usize = 9;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }
    fn below(&mut self, n: usize) -> i32 {
        (self.next() % n as u64) as i32
    }
    fn floats(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.next() as f32 / (1u64 << 30) as f32 - 1.0).collect()
    }
}

fn time(name: &str, mut run: impl FnMut()) {
    run();
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{name:<60} median {:>8.2} ms   min {:>8.2} ms", times[RUNS / 2], times[0]);
}

/// The compressed rows of a square matrix.
struct Graph {
    n: usize,
    ptr: Vec<i32>,
    idx: Vec<i32>,
}

impl Graph {
    fn nnz(&self) -> usize {
        self.idx.len()
    }
    fn row_ptr(&self) -> &[i32] {
        &self.ptr
    }
    fn col_idx(&self) -> &[i32] {
        &self.idx
    }
    fn row_ids(&self) -> Vec<i32> {
        expand_ptr(&self.ptr)
    }
    /// Pointers, rows and permutation of the elements, grouped by column.
    fn transpose(&self) -> (Vec<i32>, Vec<i32>, Vec<i32>) {
        let (ids, Segments { ptr, order }) = (self.row_ids(), group_by(&self.idx, self.n));
        let idx = order.iter().map(|&k| ids[k as usize]).collect();
        (ptr, idx, order)
    }
}

/// A random graph with sorted columns and without duplicates.
fn graph(n: usize, nnz: usize, random: &mut Random) -> Graph {
    let indices: Vec<i32> = (0..2 * nnz).map(|_| random.below(n)).collect();
    let unique = coalesce(&[n, n], &indices, nnz).indices;
    let (rows, cols) = unique.split_at(unique.len() / 2);
    Graph { n, ptr: compress(rows, n), idx: cols.to_vec() }
}

fn close(got: f32, want: f64, size: f64) {
    assert!((f64::from(got) - want).abs() <= 1e-5 * size + 1e-6, "got {got}, want {want}");
}

/// The sum of these rows, read and nothing else: what the memory allows.
fn read_rows(ids: &[i32], dense: &[f32], features: usize) -> f32 {
    let row = |id: i32| &dense[id as usize * features..][..features];
    let read = |ids: &[i32]| {
        let mut sums = [0f32; 32];
        for (k, &id) in ids.iter().enumerate() {
            #[cfg(target_arch = "x86_64")]
            if let Some(&next) = ids.get(k + 32) {
                row(next).iter().step_by(16).for_each(safe_arch::prefetch_t1);
            }
            for part in row(id).as_chunks::<32>().0 {
                sums.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
            }
        }
        sums.iter().sum::<f32>()
    };
    ids.par_chunks(ids.len().div_ceil(rayon::current_num_threads())).map(read).sum()
}

fn products(n: usize, nnz: usize, features: usize, random: &mut Random) {
    let a = graph(n, nnz, random);
    let (values, dense) = (random.floats(a.nnz()), random.floats(n * features));
    let mut out = vec![1f32; n * features];
    let compressed = Compressed { ptr: a.row_ptr(), idx: a.col_idx(), perm: None };
    spmm(compressed, &values, &dense, [1, 1, features], Epilogue::default(), &mut out);
    for r in (0..n).step_by(n / 1000) {
        for f in 0..features {
            let range = a.row_ptr()[r] as usize..a.row_ptr()[r + 1] as usize;
            let terms = range.map(|k| f64::from(values[k]) * f64::from(dense[a.col_idx()[k] as usize * features + f]));
            close(out[r * features + f], terms.clone().sum(), terms.map(f64::abs).sum());
        }
    }
    let label = format!("N={n} nnz={} F={features}", a.nnz());
    let bound = |ids: &[i32]| _ = black_box(read_rows(ids, &dense, features));
    let in_order: Vec<i32> = (0..a.nnz()).map(|k| (k % n) as i32).collect();
    time(&format!("bound: as many rows in order  {label}"), || bound(&in_order));
    time(&format!("bound: its rows, at random {label}"), || bound(a.col_idx()));
    time(&format!("spmm  {label}"), || {
        spmm(compressed, &values, &dense, [1, 1, features], Epilogue::default(), black_box(&mut out))
    });
    let (ptr, idx, perm) = a.transpose();
    let transposed = Compressed { ptr: &ptr, idx: &idx, perm: Some(&perm) };
    time(&format!("spmm^T {label}"), || {
        spmm(transposed, &values, &dense, [1, 1, features], Epilogue::default(), black_box(&mut out))
    });
    if features == 1 {
        return;
    }
    let (rows, mut dots) = (a.row_ids(), vec![1f32; a.nnz()]);
    let y = random.floats(n * features);
    sddmm(&rows, a.col_idx(), &dense, &y, 1, features, &mut dots);
    for k in (0..a.nnz()).step_by(997) {
        let (r, c) = (rows[k] as usize, a.col_idx()[k] as usize);
        let terms = (0..features).map(|f| f64::from(dense[r * features + f]) * f64::from(y[c * features + f]));
        close(dots[k], terms.clone().sum(), terms.map(f64::abs).sum());
    }
    time(&format!("sddmm {label}"), || sddmm(&rows, a.col_idx(), &dense, &y, 1, features, black_box(&mut dots)));
}

/// Both gradients of a weighted sum of neighbours, as attention has them.
fn gradients(n: usize, nnz: usize, random: &mut Random) {
    let a = graph(n, nnz, random);
    let (ptr, idx, perm) = a.transpose();
    let mut places = vec![0; perm.len()];
    perm.iter().enumerate().for_each(|(place, &k)| places[k as usize] = place as i32);
    let transposed = Compressed { ptr: &ptr, idx: &idx, perm: Some(&perm) };
    for (heads, features) in [(8, 128), (8, 64), (1, 128), (1, 40)] {
        let [dense, grad] = [0; 2].map(|_| random.floats(n * features));
        let values = random.floats(a.nnz() * heads);
        let (mut of_dense, mut of_values) = (vec![1f32; n * features], vec![1f32; values.len()]);
        let (rows, mut dots) = (a.row_ids(), vec![1f32; values.len()]);
        let run = |of_dense: &mut [f32], of_values: &mut [f32]| {
            let places = Some(&places[..]);
            spmm_backward(transposed, places, &values, &dense, &grad, heads, features, of_dense, of_values);
        };
        run(&mut of_dense, &mut of_values);
        for k in (0..a.nnz()).step_by(997) {
            let (r, c, part) = (rows[k] as usize, a.col_idx()[k] as usize, features / heads);
            for h in 0..heads {
                let own = h * part..(h + 1) * part;
                let term = |f| f64::from(grad[r * features + f]) * f64::from(dense[c * features + f]);
                close(of_values[k * heads + h], own.clone().map(term).sum(), own.map(|f| term(f).abs()).sum());
            }
        }
        let label = format!("N={n} nnz={} F={features} heads={heads}", a.nnz());
        time(&format!("both gradients {label}"), || run(black_box(&mut of_dense), black_box(&mut of_values)));
        time(&format!("sddmm {label}"), || {
            sddmm(&rows, a.col_idx(), &grad, &dense, heads, features, black_box(&mut dots))
        });
        assert!(dots == of_values, "the dot products of both have the same bits");
    }
}

/// A maximum of products or of sums in place of a sum, and the two halves of its gradient.
fn extrema(n: usize, nnz: usize, features: usize, term: Term, random: &mut Random) {
    let a = graph(n, nnz, random);
    let (values, dense) = (random.floats(a.nnz()), random.floats(n * features));
    let (mut out, grad) = (vec![1f32; n * features], random.floats(n * features));
    let compressed = Compressed { ptr: a.row_ptr(), idx: a.col_idx(), perm: None };
    let name = if term == Term::Product { "amax" } else { "max-plus" };
    let label = format!("N={n} nnz={} F={features}", a.nnz());
    time(&format!("{name} {label}"), || {
        spmm_extremum((Extremum::Max, term), compressed, &values, &dense, 1, features, black_box(&mut out));
    });
    let (mut shares, mut value_grads) = (vec![1f32; n * features], vec![1f32; a.nnz()]);
    let pattern = (a.row_ptr(), a.col_idx());
    time(&format!("{name}, shares {label}"), || {
        let own = black_box(&mut shares[..]);
        extremum_rows_backward(term, pattern, &values, &dense, &out, &grad, 1, features, own, None);
    });
    time(&format!("{name}, shares and gradient of the values {label}"), || {
        let (own, grads) = (black_box(&mut shares[..]), Some(black_box(&mut value_grads[..])));
        extremum_rows_backward(term, pattern, &values, &dense, &out, &grad, 1, features, own, grads);
    });
    let (ptr, idx, perm) = a.transpose();
    let transposed = Compressed { ptr: &ptr, idx: &idx, perm: Some(&perm) };
    let mut dense_grad = vec![1f32; n * features];
    time(&format!("{name}, gradient of the dense operand {label}"), || {
        let own = black_box(&mut dense_grad[..]);
        extremum_cols_backward(term, transposed, &values, &dense, &out, &shares, 1, features, own);
    });
}

/// Several narrow dense operands, the first time into new memory.
fn batches(n: usize, nnz: usize, [batch, features]: [usize; 2], random: &mut Random) {
    let a = graph(n, nnz, random);
    let (values, dense) = (random.floats(a.nnz()), random.floats(batch * n * features));
    let compressed = Compressed { ptr: a.row_ptr(), idx: a.col_idx(), perm: None };
    let start = Instant::now();
    let mut out = unwritten(dense.len());
    spmm(compressed, &values, &dense, [batch, 1, features], Epilogue::default(), &mut out);
    println!("batch, first {:.2} ms", start.elapsed().as_secs_f64() * 1e3);
    let own = n * features;
    let mut alone = vec![1f32; own];
    for (dense, out) in dense.chunks_exact(own).zip(out.chunks_exact(own)) {
        spmm(compressed, &values, dense, [1, 1, features], Epilogue::default(), &mut alone);
        assert!(alone == out);
    }
    time(&format!("batch of {batch} N={n} nnz={} F={features}", a.nnz()), || {
        spmm(compressed, &values, &dense, [batch, 1, features], Epilogue::default(), black_box(&mut out))
    });
}

fn structures(random: &mut Random) {
    let (n, size) = (10_000_000usize, 1_000_000usize);
    let indices: Vec<i32> = (0..2 * n).map(|_| random.below(size)).collect();
    let keys = &indices[..n];
    let groups = group_by(keys, size);
    assert!(groups.order.windows(2).all(|w| (keys[w[0] as usize], w[0]) < (keys[w[1] as usize], w[1])));
    time("group_by  10M keys, 1M groups", || drop(black_box(group_by(keys, size))));

    let unique = coalesce(&[size, size], &indices, n);
    let m = unique.segments.ptr.len() - 1;
    let at = |k: usize| (unique.indices[k], unique.indices[m + k]);
    assert!((1..m).all(|k| at(k - 1) < at(k)));
    for s in 0..m {
        for &k in &unique.segments.order[unique.segments.ptr[s] as usize..unique.segments.ptr[s + 1] as usize] {
            assert_eq!((indices[k as usize], indices[n + k as usize]), at(s));
        }
    }
    time("sort_coords 10M, 1M x 1M", || drop(black_box(sort_coords(&[size, size], &indices, n))));
    time("coalesce  10M, 1M x 1M (structure)", || drop(black_box(coalesce(&[size, size], &indices, n))));
    let values = random.floats(n);
    time("coalesce  10M, 1M x 1M (with sums)", || {
        let unique = coalesce(&[size, size], &indices, n);
        let mut sums = vec![0f32; unique.segments.ptr.len() - 1];
        segment_sum(&values, 1, Some(&unique.segments.order), &unique.segments.ptr, &mut sums);
        black_box((unique, sums));
    });
    time("validate_coo 10M", || drop(black_box(validate_coo("bench", &[size, size], &indices, n))));
    let sorted = sort_coords(&[size, size], &indices, n);
    let mut out = vec![0f32; n];
    time("move_rows 10M, block 1, random", || move_rows(&values, 1, &[0.0], &sorted, black_box(&mut out)));
}

fn main() {
    let chosen = std::env::args().skip(1).find(|a| !a.starts_with('-')).unwrap_or_default();
    let random = &mut Random(1);
    println!("{} threads, {RUNS} runs", rayon::current_num_threads());
    for (name, n, nnz, features) in
        [("arxiv", 169_343, 2_332_486, 128), ("mid", 100_000, 1_000_000, 64), ("spmv", 1_000_000, 10_000_000, 1)]
    {
        if name.contains(&chosen) {
            products(n, nnz, features, random);
        }
    }
    if "gradients".contains(&chosen) {
        gradients(169_343, 2_332_486, random);
    }
    if "amax".contains(&chosen) {
        for term in [Term::Product, Term::Sum] {
            extrema(169_343, 2_332_486, 128, term, random);
        }
    }
    if "batch".contains(&chosen) {
        batches(100_000, 1_000_000, [4, 16], random);
    }
    if "structure".contains(&chosen) {
        structures(random);
    }
}
