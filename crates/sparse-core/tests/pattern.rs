//! Patterns: validation, derived structure, conversions.

use proptest::prelude::*;
use sparse_core::{CooPattern, CsrPattern};

fn coords(p: &CooPattern<i32>) -> Vec<Vec<i32>> {
    (0..p.nnz()).map(|k| (0..p.sparse_dims()).map(|d| p.axis(d)[k]).collect()).collect()
}

proptest! {
    #[test]
    fn conversions_keep_the_coordinates(
        rows in 1usize..6,
        cols in 1usize..6,
        raw in prop::collection::vec((0i32..100, 0i32..100), 0..20),
    ) {
        let indices: Vec<i32> = raw.iter().map(|p| p.0 % rows as i32).chain(raw.iter().map(|p| p.1 % cols as i32)).collect();
        let coo = CooPattern::new("t", vec![rows, cols], indices, raw.len()).unwrap();
        let mut want = coords(&coo);
        let before = want.clone();
        prop_assert_eq!(coo.is_coalesced(), want.windows(2).all(|w| w[0] < w[1]));
        want.sort();
        want.dedup();

        let (unique, segments) = coo.coalesce();
        prop_assert!(unique.is_coalesced());
        prop_assert_eq!(&coords(&unique), &want);
        for (s, coordinate) in want.iter().enumerate() {
            for k in segments.ptr[s]..segments.ptr[s + 1] {
                prop_assert_eq!(&before[segments.order[k as usize] as usize], coordinate);
            }
        }

        let (csr, same) = coo.to_csr();
        prop_assert_eq!(same, segments);
        CsrPattern::new("t", 1, rows, cols, csr.row_ptr().to_vec(), csr.col_idx().to_vec()).unwrap();
        prop_assert_eq!(&csr.to_coo(), &unique);
        prop_assert_eq!(csr.row_ids(), unique.axis(0));
        prop_assert_eq!(unique.row_ptr().unwrap(), csr.row_ptr());
        let t = csr.transpose();
        for c in 0..cols {
            for k in t.ptr[c] as usize..t.ptr[c + 1] as usize {
                let p = t.perm[k] as usize;
                prop_assert_eq!((t.idx[k], c as i32), (csr.row_ids()[p], csr.col_idx()[p]));
            }
        }
    }
}

#[test]
fn sizes_that_do_not_fit_are_overflow() {
    let kind = |r: sparse_core::Result<CooPattern<i32>>| r.unwrap_err().kind();
    assert_eq!(kind(CooPattern::new("t", vec![1 << 31], vec![], 0)), "overflow");
    assert_eq!(kind(CooPattern::new("t", vec![], vec![], 1 << 31)), "overflow");
    assert!(CooPattern::<i32>::new("t", vec![(1 << 31) - 1], vec![], 0).is_ok());
    let csr = |batch, rows, cols| CsrPattern::<i32>::new("t", batch, rows, cols, vec![], vec![]).unwrap_err().kind();
    assert_eq!(csr(1, 1 << 31, 1), "overflow");
    assert_eq!(csr(1 << 20, 1 << 20, 1), "overflow");
    assert_eq!(csr(usize::MAX, usize::MAX, 1), "overflow");
    assert_eq!(csr(1, 1, 1 << 31), "overflow");
    assert_eq!(csr(1, 1, 1), "length_mismatch");
}

#[test]
fn batches_are_stacked() {
    let csr = CsrPattern::<i32>::new("t", 2, 2, 3, vec![0, 1, 2, 2, 4], vec![2, 0, 0, 1]).unwrap();
    assert_eq!((csr.batch(), csr.rows(), csr.stacked_rows(), csr.cols(), csr.nnz()), (2, 2, 4, 3, 4));
    assert_eq!(coords(&csr.to_coo()), [[0, 2], [1, 0], [3, 0], [3, 1]]);
    assert_eq!(coords(&csr.to_coo_batched()), [[0, 0, 2], [0, 1, 0], [1, 1, 0], [1, 1, 1]]);
    assert!(csr.to_coo_batched().is_coalesced() && csr.same(&csr.clone()));
    let empty = CsrPattern::<i64>::new("t", 0, 5, 3, vec![0], vec![]).unwrap();
    assert_eq!(empty.to_coo_batched().nnz(), 0);
    assert_eq!(empty.transpose().ptr, [0; 4]);
}

#[test]
fn clones_share_what_is_derived() {
    let csr = CsrPattern::<i32>::new("t", 1, 2, 2, vec![0, 1, 2], vec![1, 0]).unwrap();
    let twin = csr.clone();
    assert!(std::ptr::eq(csr.row_ids(), twin.row_ids()) && std::ptr::eq(csr.transpose(), twin.transpose()));
    let coo = CooPattern::<i32>::new("t", vec![2, 2], vec![1, 0, 0, 1], 2).unwrap();
    assert!(coo.row_ptr().is_none() && !coo.is_coalesced());
}
