//! What conjugate gradients do between two products, on vectors of a million f64, beside bare loops.

mod common;

use common::{Random, report, time};
use rayon::prelude::*;
use sparse_core::*;

const N: usize = 1_000_000;

fn main() {
    common::huge_pages();
    let mut random = Random(1);
    let mut list = || -> Vec<f64> { (0..N).map(|_| f64::from(random.float())).collect() };
    let [mut x, mut p, mut r, mut q] = [list(), list(), list(), list()];
    let d = list();
    let dot = ColumnPass { dots: vec![[0, 1]], ..ColumnPass::default() };
    let dims = [1, N, 1];
    report("p q", time(|| column_pass(&dot, vec![Column::Shared(&p), Column::Shared(&q)], &[], dims)), None);
    let bare = || {
        p.par_chunks(1 << 16)
            .zip(q.par_chunks(1 << 16))
            .map(|(p, q)| p.iter().zip(q).map(|(p, q)| p * q).sum::<f64>())
            .sum::<f64>()
    };
    report("p q, bare, in order", time(bare), None);
    let first = ColumnPass {
        steps: vec![ColumnStep::Add { x: Some(0), scale: 0, y: 1 }, ColumnStep::Times { x: 2, y: 3 }],
        kept: vec![0],
        dots: vec![[3, 3], [3, 4]],
    };
    let pass = || {
        let vectors = vec![Column::Owned(&mut r), Column::Owned(&mut q), Column::Shared(&d)];
        column_pass(&first, vectors, &[&[1e-6]], dims)
    };
    report("r - a q, r r, r d r", time(pass), None);
    let bare = || {
        r.par_chunks_mut(1 << 16).zip(q.par_chunks(1 << 16)).zip(d.par_chunks(1 << 16)).for_each(|((r, q), d)| {
            r.iter_mut().zip(q).zip(d).for_each(|((r, q), d)| *r += 1e-6 * q * d);
        });
    };
    report("r + a q d, bare", time(bare), None);
    let second = ColumnPass {
        steps: vec![
            ColumnStep::Add { x: Some(0), scale: 0, y: 1 },
            ColumnStep::Times { x: 2, y: 3 },
            ColumnStep::Add { x: Some(5), scale: 1, y: 1 },
        ],
        kept: vec![0, 2],
        dots: vec![],
    };
    let pass = || {
        let vectors = vec![Column::Owned(&mut x), Column::Owned(&mut p), Column::Shared(&d), Column::Shared(&r)];
        column_pass(&second, vectors, &[&[1e-6], &[1e-6]], dims)
    };
    report("x + a p, d r + b p", time(pass), None);
    let bare = || {
        x.par_chunks_mut(1 << 16)
            .zip(p.par_chunks_mut(1 << 16))
            .zip(d.par_chunks(1 << 16))
            .zip(r.par_chunks(1 << 16))
            .for_each(|(((x, p), d), r)| {
                x.iter_mut().zip(p).zip(d).zip(r).for_each(|(((x, p), d), r)| {
                    *x += 1e-6 * *p;
                    *p = d * r + 1e-6 * *p;
                });
            });
    };
    report("x + a p, d r + b p, bare", time(bare), None);
}
