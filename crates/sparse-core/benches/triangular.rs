//! Triangular systems with the IC(0) factor of the 5-point matrix of a grid 1000 x 1000, compared with SciPy's
//! `spsolve_triangular`.

mod common;

use common::{Random, report, time};
use sparse_core::*;

const SIDE: usize = 1000;

fn main() {
    common::huge_pages();
    let peers = common::peers("triangular");
    let n = SIDE * SIDE;
    let (mut ptr, mut idx, mut values) = (vec![0i32], vec![], vec![]);
    for r in 0..n {
        let mut put = |c: usize, value: f64| {
            idx.push(c as i32);
            values.push(value);
        };
        if r >= SIDE {
            put(r - SIDE, -1.0);
        }
        if r % SIDE > 0 {
            put(r - 1, -1.0);
        }
        put(r, 4.0);
        ptr.push(idx.len() as i32);
    }
    let a = Compressed { ptr: &ptr, idx: &idx, perm: None };
    let factor = || incomplete("bench", a, &values, Incomplete::Cholesky { shift: 0.0 }).expect("positive pivots");
    report("IC(0)", time(factor), None);
    report("levels", time(|| Levels::new(a, false)), None);
    let (ptr, idx, values) = factor();
    let short: Vec<f32> = values.iter().map(|x| *x as f32).collect();
    let rows: Vec<i32> = (0..n).flat_map(|r| vec![r as i32; (ptr[r + 1] - ptr[r]) as usize]).collect();
    let (groups, others) = group_with(&idx, &rows, n);
    let by_row = Compressed { ptr: &ptr, idx: &idx, perm: None };
    let by_col = Compressed { ptr: &groups.ptr, idx: &others, perm: Some(&groups.order) };
    let mut random = Random(1);
    let b: Vec<f64> = (0..n * 32).map(|_| f64::from(random.float())).collect();
    let short_b: Vec<f32> = b.iter().map(|x| *x as f32).collect();
    for (name, view, upper) in [("lower", by_row, false), ("transposed", by_col, true)] {
        let triangle = Triangle { upper, unit: false };
        for width in [1, 4, 32] {
            let peer = |dtype: &str| peers.get(&format!("{name} {dtype}")).filter(|_| width == 1);
            let (b, short_b) = (&b[..n * width], &short_b[..n * width]);
            let solve = || {
                let mut out = unwritten::<f64>(b.len());
                solve_triangular("bench", view, &values, triangle, None, (b, width), &mut out).expect("pivots");
                recycle(out);
            };
            report(&format!("{name} f64 F={width}"), time(solve), peer("f64"));
            let solve = || {
                let mut out = unwritten::<f32>(b.len());
                solve_triangular("bench", view, &short, triangle, None, (short_b, width), &mut out).expect("pivots");
                recycle(out);
            };
            report(&format!("{name} f32 F={width}"), time(solve), peer("f32"));
        }
    }
    // A forced plan: the levels of this matrix are narrow.
    let plan = TrianglePlan::forced(by_row, false);
    let solve = || {
        let mut out = unwritten::<f64>(n);
        let right = (&b[..n], 1);
        solve_triangular("bench", by_row, &values, Triangle::default(), Some(&plan), right, &mut out).expect("pivots");
        recycle(out);
    };
    report("lower f64 F=1 by levels", time(solve), None);
}
