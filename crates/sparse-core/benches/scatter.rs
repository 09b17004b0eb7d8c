//! `put` and its gradients, [1M, 64] into [100k, 64] along axis 0, f32 with i64 indices, compared with PyTorch.
//!
//! An optional argument is the number of rows in thousands (default 1000).

mod common;

use common::{Random, report, time};
use sparse_core::*;

fn main() {
    common::huge_pages();
    let peers = common::peers("scatter");
    let thousands = std::env::args().skip(1).find_map(|a| a.parse::<usize>().ok()).unwrap_or(1000);
    let (count, len, inner) = (thousands * 1000, thousands * 100, 64);
    let mut random = Random(1);
    let index: Vec<i64> = (0..count * inner).map(|_| random.below(len) as i64).collect();
    let rows: Vec<i64> = (0..count).map(|_| random.below(len) as i64).collect();
    let values: Vec<f32> = (0..count * inner).map(|_| random.float()).collect();
    let arr: Vec<f32> = (0..len * inner).map(|_| random.float()).collect();
    let grad: Vec<f32> = (0..len * inner).map(|_| random.float()).collect();
    let full = Target { outer: 1, len, inner, count, index: TargetIndex::Full(index[..].into()) };
    let axis = Target { index: TargetIndex::Axis(rows[..].into()), ..full };
    let forward = |target: &Target<'_>, index: &[i64], reduce, include_self| {
        check_indices("put_along_axis", 0, len, index).unwrap();
        let mut out = arr.clone();
        put(target, reduce, include_self, &values, &mut out);
        out
    };
    check(&full, &index, &values, &arr, &forward(&full, &index, Reduce::Add, true));
    check(&axis, &rows, &values, &arr, &forward(&axis, &rows, Reduce::Add, true));

    report("index check alone", time(|| check_indices("put_along_axis", 0, len, &index)), None);
    let gathered = || {
        check_indices("gather", 0, len, &index).unwrap();
        let mut out = common::zeroed::<f32>(count * inner);
        gather(&full, &arr, &mut out);
        out
    };
    report("gather forward", time(gathered), peers.get("gather forward"));
    let rows_add = || forward(&axis, &rows, Reduce::Add, true);
    report("add by rows forward", time(rows_add), peers.get("index_add forward"));
    for reduce in Reduce::ALL {
        let name = reduce.name();
        let alone = time(|| forward(&full, &index, reduce, true));
        report(&format!("{name} forward"), alone, peers.get(&format!("{name} forward")));
        let both = || {
            let out = forward(&full, &index, reduce, true);
            put_backward(&full, reduce, true, &arr, &values, &out, &grad, [true, true])
        };
        report(&format!("{name} forward+backward"), time(both), peers.get(&format!("{name} forward+backward")));
    }
    for reduce in [Reduce::Assign, Reduce::Mean, Reduce::Amax] {
        let both = || {
            check_indices("put_along_axis", 0, len, &index).unwrap();
            let mut out = arr.clone();
            let record = put_recorded(&full, reduce, true, &values, &mut out).expect("few ties");
            let Record { winners, tied } = &record;
            let saved = Recorded { winners, tied, arr: &arr, values: &values, out: &out };
            recorded_backward(&full, reduce, true, saved, &grad, [true, true])
        };
        let name = reduce.name();
        report(
            &format!("{name}, recorded, forward+backward"),
            time(both),
            peers.get(&format!("{name} forward+backward")),
        );
    }
    report("add forward, without self", time(|| forward(&full, &index, Reduce::Add, false)), None);
    // Half of the values are 0, so every group has several zeros.
    let zeros: Vec<f32> = values.iter().map(|v| v.max(0.0)).collect();
    let both = || {
        let mut out = arr.clone();
        put(&full, Reduce::Mul, true, &zeros, &mut out);
        put_backward(&full, Reduce::Mul, true, &arr, &zeros, &out, &grad, [true, true])
    };
    report("mul forward+backward, half zeros", time(both), None);
}

/// Checks a column against a plain loop.
fn check(target: &Target<'_>, index: &[i64], values: &[f32], arr: &[f32], out: &[f32]) {
    let Target { inner, count, .. } = *target;
    for i in [0, 1, inner - 1] {
        let mut sums: Vec<f32> = arr.iter().skip(i).step_by(inner).copied().collect();
        for k in 0..count {
            let x = index[if index.len() == count { k } else { k * inner + i }];
            sums[x as usize] += values[k * inner + i];
        }
        assert!(sums.iter().eq(out.iter().skip(i).step_by(inner)), "column {i}");
    }
}
