//! Union, intersection and concatenation of CSR matrices, f32 values and i32 indices, compared with SciPy.

mod common;

use common::{Random, report, time};
use sparse_core::*;

struct Csr {
    ptr: Vec<i32>,
    col: Vec<i32>,
    val: Vec<f32>,
}

impl Csr {
    /// `per_row` random columns in each row. Columns drawn twice are kept once.
    fn random(rows: usize, per_row: usize, cols: usize, random: &mut Random) -> Self {
        let (mut ptr, mut col) = (vec![0], Vec::new());
        for _ in 0..rows {
            let start = col.len();
            col.extend((0..per_row).map(|_| random.below(cols) as i32));
            col[start..].sort_unstable();
            let mut kept = start;
            for k in start..col.len() {
                if k == start || col[k] != col[kept - 1] {
                    col[kept] = col[k];
                    kept += 1;
                }
            }
            col.truncate(kept);
            ptr.push(kept as i32);
        }
        let val = col.iter().map(|_| random.float()).collect();
        Self { ptr, col, val }
    }
}

fn main() {
    common::huge_pages();
    let peers = common::peers("merge");
    let mut random = Random(1);
    for rows in [1_000_000, 100_000] {
        let [a, b] = [(); 2].map(|()| Csr::random(rows, 5_000_000 / rows, rows, &mut random));
        let two_steps = || {
            let merged = union_csr(&a.ptr, &a.col, &b.ptr, &b.col);
            let mut out = common::zeroed::<f32>(merged.col_idx.len());
            let (map_a, map_b) = (Some(&merged.map_a[..]), Some(&merged.map_b[..]));
            zip_rows(BinaryOp::Add, &a.val, &[0.0], map_a, &b.val, &[0.0], map_b, 1, &mut out);
            (merged.row_ptr, merged.col_idx, out)
        };
        let fused = || union_apply_csr(BinaryOp::Add, &a.ptr, &a.col, &a.val, 0.0, &b.ptr, &b.col, &b.val, 0.0);
        check_union(&a, &b, &fused());
        assert_eq!(fused(), two_steps());
        let peer = peers.get(&format!("union add N={rows}"));
        report(&format!("union add N={rows}, two steps"), time(two_steps), peer);
        report(&format!("union add N={rows}, fused"), time(fused), peer);
        report(&format!("union_csr N={rows}"), time(|| union_csr(&a.ptr, &a.col, &b.ptr, &b.col)), None);
        let intersect = || {
            let merged = intersect_csr(&a.ptr, &a.col, &b.ptr, &b.col);
            let mut out = common::zeroed::<f32>(merged.col_idx.len());
            let (map_a, map_b) = (Some(&merged.map_a[..]), Some(&merged.map_b[..]));
            zip_rows(BinaryOp::Mul, &a.val, &[], map_a, &b.val, &[], map_b, 1, &mut out);
            (merged.row_ptr, merged.col_idx, out)
        };
        report(
            &format!("intersection mul N={rows}"),
            time(intersect),
            peers.get(&format!("intersection mul N={rows}")),
        );
        let coo = |m: &Csr| -> Vec<i32> {
            let rows = m.ptr.windows(2).enumerate().flat_map(|(r, w)| (w[0]..w[1]).map(move |_| r as i32));
            rows.chain(m.col.iter().copied()).collect()
        };
        let (ac, bc) = (coo(&a), coo(&b));
        let (na, nb) = (a.col.len(), b.col.len());
        report(&format!("union_coo N={rows}"), time(|| union_coo(2, &ac, na, &bc, nb)), None);
    }
    // Rows of 1000 and of 10 elements.
    let [many, few] = [1000, 10].map(|per_row| Csr::random(10_000, per_row, 1_000_000, &mut random));
    for (name, merge) in [("union", union_csr as fn(&_, &_, &_, &_) -> _), ("intersection", intersect_csr)] {
        report(
            &format!("{name} of long and short rows"),
            time(|| merge(&many.ptr, &many.col, &few.ptr, &few.col)),
            None,
        );
    }
    let parts: Vec<Csr> = (0..4).map(|_| Csr::random(1_000_000, 5, 1_000_000, &mut random)).collect();
    let patterns: Vec<CsrPart<i32>> = parts.iter().map(|m| (&m.ptr[..], &m.col[..])).collect();
    let values: Vec<&[f32]> = parts.iter().map(|m| &m.val[..]).collect();
    let offsets: Vec<usize> = (0..4).map(|p| p * 1_000_000).collect();
    let rows = || (concat_csr_rows(&patterns), concat_slices(&values));
    let by_map = || {
        let (row_ptr, col_idx, map) = concat_csr_cols(&patterns, &offsets);
        let all = concat_slices(&values);
        let mut out = common::zeroed::<f32>(all.len());
        // The general `move_rows`, with one value per element.
        move_rows(&all, 1, &[], &map, &mut out);
        (row_ptr, col_idx, out)
    };
    let fused = || concat_csr_cols_values(&patterns, &values, &offsets);
    assert_eq!(by_map(), fused());
    report("concat 4 rows", time(rows), peers.get("concat 4 rows"));
    report("concat 4 cols, map and move", time(by_map), peers.get("concat 4 cols"));
    report("concat 4 cols, fused", time(fused), peers.get("concat 4 cols"));
    report("concat_csr_cols, pattern and map", time(|| concat_csr_cols(&patterns, &offsets)), None);
    let coo: Vec<Vec<i32>> = parts
        .iter()
        .map(|m| {
            let rows = m.ptr.windows(2).enumerate().flat_map(|(r, w)| (w[0]..w[1]).map(move |_| r as i32));
            rows.chain(m.col.iter().copied()).collect()
        })
        .collect();
    let coo: Vec<(&[i32], usize)> = coo.iter().map(|i| (&i[..], i.len() / 2)).collect();
    report("concat_coo axis 0", time(|| concat_coo(0, &offsets, &coo, 2, true)), None);
    report("concat_coo axis 1", time(|| concat_coo(1, &offsets, &coo, 2, true)), None);
    report("concat_coo axis 1, fused", time(|| concat_coo_values(1, &offsets, &coo, &values, 2, true)), None);
}

/// Checks a sample of rows against a merge through a sorted list.
fn check_union(a: &Csr, b: &Csr, (ptr, col, val): &(Vec<i32>, Vec<i32>, Vec<f32>)) {
    for r in (0..a.ptr.len() - 1).step_by(97) {
        let mut sums = std::collections::BTreeMap::new();
        for m in [a, b] {
            for p in m.ptr[r] as usize..m.ptr[r + 1] as usize {
                *sums.entry(m.col[p]).or_insert(0.0) += m.val[p];
            }
        }
        let row = ptr[r] as usize..ptr[r + 1] as usize;
        assert!(sums.into_iter().eq(col[row.clone()].iter().copied().zip(val[row].iter().copied())));
    }
}
