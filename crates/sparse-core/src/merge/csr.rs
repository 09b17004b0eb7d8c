//! Merging two CSR patterns of the same shape.

use super::assert_fits;
use super::steps::{self, Keep, Steps};
#[cfg(target_arch = "x86_64")]
use super::window::merge_rows;
#[cfg(target_arch = "x86_64")]
use crate::element::Ids;
use crate::{
    Index,
    memory::{unwritten, zeroed},
    par,
};
#[cfg(target_arch = "x86_64")]
use bytemuck::cast_slice_mut;
use core::ops::Range;

/// A CSR pattern merged from two patterns, with an index map into each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedCsr<I> {
    /// Row pointers, `rows + 1`.
    pub row_ptr: Vec<I>,
    /// Columns, strictly ascending in each row.
    pub col_idx: Vec<I>,
    /// For each element its position in `a`, or `nnz_a` if `a` does not have it.
    pub map_a: Vec<I>,
    /// For each element its position in `b`, or `nnz_b` if `b` does not have it.
    pub map_b: Vec<I>,
}

/// Ranges of rows with about equal cost. The cost is the number of elements of both patterns plus the number of rows.
fn row_pieces<I: Index>(a_ptr: &[I], b_ptr: &[I]) -> Vec<Range<usize>> {
    assert_eq!(a_ptr.len(), b_ptr.len(), "merge: both patterns must have the same number of rows");
    let rows = a_ptr.len() - 1;
    let cost = |r: usize| a_ptr[r].to_usize() + b_ptr[r].to_usize() + r;
    let parts = par::pieces(cost(rows)).min(rows.max(1));
    let mut cuts = Vec::with_capacity(parts);
    let mut start = 0;
    for target in par::ranges(cost(rows), parts) {
        let (mut low, mut high) = (start, rows);
        while low < high {
            let mid = low + (high - low) / 2;
            if cost(mid) < target.end { low = mid + 1 } else { high = mid }
        }
        cuts.push(start..low);
        start = low;
    }
    cuts
}

/// The row pointers of the elements that are kept, and the steps of the merge.
pub(super) fn steps<I: Index>(keep: Keep, a: (&[I], &[I]), b: (&[I], &[I])) -> (Vec<I>, Steps) {
    let pieces = row_pieces(a.0, b.0);
    let mut row_ptr: Vec<I> = zeroed(a.0.len());
    let lens = par::lens(&pieces, Range::len);
    let all = |ptr: &[I], rows: &Range<usize>| ptr[rows.start].to_usize()..ptr[rows.end].to_usize();
    let ranges = pieces.iter().map(|rows| (all(a.0, rows), all(b.0, rows))).collect();
    let ends = par::split_mut(&mut row_ptr[1..], &lens);
    let steps = Steps::find(ranges, ends, &|piece, ends: &mut [I], steps| {
        let rows = pieces[piece].clone();
        #[cfg(target_arch = "x86_64")]
        if let [Ids::I32(a_ptr), Ids::I32(a), Ids::I32(b_ptr), Ids::I32(b)] = [a.0, a.1, b.0, b.1].map(I::list)
            && let Some(common) = merge_rows(keep, rows.clone(), (a_ptr, a), (b_ptr, b), cast_slice_mut(ends), steps)
        {
            return common;
        }
        let (mut at, mut common, mut kept) = (0, 0, 0);
        for (r, end) in rows.zip(ends) {
            let (x, y) = (row(a, r), row(b, r));
            let both = steps::merge(|p| x[p], 0..x.len(), |q| y[q], 0..y.len(), &mut steps[at..]);
            let union = x.len() + y.len() - both;
            at += union;
            common += both;
            kept += if keep == Keep::Union { union } else { both };
            // Below, the total is checked against the index type before this value is used.
            *end = I::from_usize(kept.min(I::limit()));
        }
        common
    });
    let kept = steps.lens(keep);
    assert_fits::<I>(kept.iter().sum());
    let mut before = 0;
    let jobs = par::split_mut(&mut row_ptr[1..], &lens).into_iter().zip(&kept).map(|(ends, kept)| {
        before += kept;
        (ends, before - kept)
    });
    par::each(jobs.collect(), &|_, (ends, before)| {
        for end in ends {
            *end = I::from_usize(end.to_usize() + before);
        }
    });
    (row_ptr, steps)
}

/// The columns of one row.
#[inline(always)]
fn row<'a, I: Index>((ptr, col): (&[I], &'a [I]), r: usize) -> &'a [I] {
    &col[ptr[r].to_usize()..ptr[r + 1].to_usize()]
}

fn merge<I: Index>(keep: Keep, a: (&[I], &[I]), b: (&[I], &[I])) -> MergedCsr<I> {
    let (row_ptr, steps) = steps(keep, a, b);
    let merged = steps.merged(keep, &[a.1], &[b.1]);
    MergedCsr { row_ptr, col_idx: merged.indices, map_a: merged.map_a, map_b: merged.map_b }
}

/// Union of two CSR patterns of the same shape, with the maps into both.
///
/// `a_ptr` and `b_ptr` have `rows + 1` entries; the columns of each row are strictly ascending. Time and memory
/// O(rows + nnz_a + nnz_b).
///
/// # Panics
/// If the row counts differ or the union does not fit the index type.
pub fn union_csr<I: Index>(a_ptr: &[I], a_col: &[I], b_ptr: &[I], b_col: &[I]) -> MergedCsr<I> {
    assert_fits::<I>(a_col.len().max(b_col.len()));
    merge(Keep::Union, (a_ptr, a_col), (b_ptr, b_col))
}

/// Intersection of two CSR patterns of the same shape, with the maps into both.
///
/// Shapes and cost are as for [`union_csr`]. No map entry is "missing".
///
/// # Panics
/// If the row counts differ.
pub fn intersect_csr<I: Index>(a_ptr: &[I], a_col: &[I], b_ptr: &[I], b_col: &[I]) -> MergedCsr<I> {
    merge(Keep::Common, (a_ptr, a_col), (b_ptr, b_col))
}

/// For each element of `a` its position in `b`, or `nnz_b` if `b` does not have it.
///
/// Shapes are as for [`union_csr`]; the result has `nnz_a` entries. Time O(rows + nnz_a + nnz_b).
///
/// # Panics
/// If the row counts differ.
pub fn locate_csr<I: Index>(a_ptr: &[I], a_col: &[I], b_ptr: &[I], b_col: &[I]) -> Vec<I> {
    assert_fits::<I>(b_col.len());
    // Comparing row by row mispredicts the end of each. With fewer elements, or short rows, that takes less time.
    const MANY: usize = 1 << 17;
    let all = a_col.len() + b_col.len();
    if all >= MANY && all >= 4 * a_ptr.len() {
        return steps(Keep::Common, (a_ptr, a_col), (b_ptr, b_col)).1.located();
    }
    let (mut map, missing) = (unwritten(a_col.len()), I::from_usize(b_col.len()));
    let len = |rows: &Range<usize>| a_ptr[rows.end].to_usize() - a_ptr[rows.start].to_usize();
    par::for_pieces(&row_pieces(a_ptr, b_ptr), &mut map, &len, &|rows, map| {
        let base = a_ptr[rows.start].to_usize();
        for r in rows {
            let (a, b) = (row((a_ptr, a_col), r), row((b_ptr, b_col), r));
            let (a_start, b_start) = (a_ptr[r].to_usize(), b_ptr[r].to_usize());
            let map = &mut map[a_start - base..][..a.len()];
            let mut j = 0;
            for (&x, slot) in a.iter().zip(map) {
                while j < b.len() && b[j] < x {
                    j += 1;
                }
                *slot = if j < b.len() && b[j] == x { I::from_usize(b_start + j) } else { missing };
            }
        }
    });
    map
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use super::super::dynamic::DynMerged;
    use crate::dynamic::slices::{AnyIndex, Csr, IdVec, Ids, with_ids};

    macro_rules! csr {
        ($($name:ident)*) => {$(
            #[doc = concat!("See [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
            pub fn $name(a: Csr<'_>, b: Csr<'_>) -> DynMerged {
                with_ids!(a.0, I => {
                    let merged = super::$name::<I>(I::ids(a.0), I::ids(a.1), I::ids(b.0), I::ids(b.1));
                    DynMerged {
                        row_ptr: Some(I::id_vec(merged.row_ptr)),
                        indices: I::id_vec(merged.col_idx),
                        map_a: I::id_vec(merged.map_a),
                        map_b: I::id_vec(merged.map_b),
                    }
                })
            }
        )*};
    }

    csr!(union_csr intersect_csr);

    /// See [`locate_csr`](crate::locate_csr()).
    pub fn locate_csr(a: Csr<'_>, b: Csr<'_>) -> IdVec {
        with_ids!(a.0, I => I::id_vec(super::locate_csr::<I>(I::ids(a.0), I::ids(a.1), I::ids(b.0), I::ids(b.1))))
    }
}
