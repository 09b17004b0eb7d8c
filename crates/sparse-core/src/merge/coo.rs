//! Merging two coalesced COO patterns of the same shape.

use super::assert_fits;
use super::steps::{Keep, Steps};
use crate::keys::{keys, rows};
use crate::{Index, par};

/// A coalesced COO pattern merged from two patterns, with an index map into each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedCoo<I> {
    /// Coordinates `[sparse_dims, nnz]`, strictly ascending lexicographically.
    pub indices: Vec<I>,
    /// Number of elements. It does not follow from `indices` if `sparse_dims` is 0.
    pub nnz: usize,
    /// For each element its position in `a`, or `nnz_a` if `a` does not have it.
    pub map_a: Vec<I>,
    /// For each element its position in `b`, or `nnz_b` if `b` does not have it.
    pub map_b: Vec<I>,
}

/// The steps of the merge of two patterns, given as one slice per dimension. The pieces are parts of the merge path of
/// about equal length. Equal keys are in the same piece.
fn steps<I: Index>(a: &[&[I]], nnz_a: usize, b: &[&[I]], nnz_b: usize) -> Steps {
    let keys = keys(&[(a, nnz_a), (b, nnz_b)]);
    let total = nnz_a + nnz_b;
    let (mut i0, mut j0) = (0, 0);
    let mut pieces = Vec::new();
    for range in par::ranges(total, par::pieces(total)) {
        let (i, j) = keys.split(nnz_a, nnz_b, range.end);
        // The cut before this one may already be one element further.
        let (i, j) = (i.max(i0), j.max(j0));
        pieces.push((i0..i, j0..j));
        (i0, j0) = (i, j);
    }
    let units = vec![(); pieces.len()];
    let ranges = pieces.clone();
    Steps::find(pieces, units, &|k, (), steps| {
        let (i, j) = ranges[k].clone();
        keys.merge(i, j, steps)
    })
}

fn merge<I: Index>(
    keep: Keep,
    sparse_dims: usize,
    a_indices: &[I],
    nnz_a: usize,
    b_indices: &[I],
    nnz_b: usize,
) -> MergedCoo<I> {
    assert_fits::<I>(nnz_a.max(nnz_b));
    let (a, b) = (rows(a_indices, sparse_dims, nnz_a), rows(b_indices, sparse_dims, nnz_b));
    let merged = steps(&a, nnz_a, &b, nnz_b).merged(keep, &a, &b);
    MergedCoo { indices: merged.indices, nnz: merged.nnz, map_a: merged.map_a, map_b: merged.map_b }
}

/// Union of two coalesced COO patterns of the same shape, with the maps into both.
///
/// `a_indices` is `[sparse_dims, nnz_a]`, `b_indices` is `[sparse_dims, nnz_b]`. Both are row-major and strictly
/// ascending in lexicographic order. `sparse_dims` may be 0 (then there is at most one element). The result is correct
/// for any shape, however many elements the dense form would have. Time O(sparse_dims * (nnz_a + nnz_b)).
///
/// # Panics
/// If a length is wrong, or the union does not fit the index type.
pub fn union_coo<I: Index>(
    sparse_dims: usize,
    a_indices: &[I],
    nnz_a: usize,
    b_indices: &[I],
    nnz_b: usize,
) -> MergedCoo<I> {
    merge(Keep::Union, sparse_dims, a_indices, nnz_a, b_indices, nnz_b)
}

/// Intersection of two coalesced COO patterns of the same shape, with the maps into both.
///
/// Shapes and cost are as for [`union_coo`]. No map entry is "missing".
///
/// # Panics
/// If a length is wrong.
pub fn intersect_coo<I: Index>(
    sparse_dims: usize,
    a_indices: &[I],
    nnz_a: usize,
    b_indices: &[I],
    nnz_b: usize,
) -> MergedCoo<I> {
    merge(Keep::Common, sparse_dims, a_indices, nnz_a, b_indices, nnz_b)
}

/// For each element of `a` its position in `b`, or `nnz_b` if `b` does not have it.
///
/// Shapes are as for [`union_coo`]; the result has `nnz_a` entries. Time O(sparse_dims * (nnz_a + nnz_b)).
///
/// # Panics
/// If a length is wrong.
pub fn locate_coo<I: Index>(
    sparse_dims: usize,
    a_indices: &[I],
    nnz_a: usize,
    b_indices: &[I],
    nnz_b: usize,
) -> Vec<I> {
    assert_fits::<I>(nnz_b);
    let (a, b) = (rows(a_indices, sparse_dims, nnz_a), rows(b_indices, sparse_dims, nnz_b));
    steps(&a, nnz_a, &b, nnz_b).located()
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use super::super::dynamic::DynMerged;
    use crate::dynamic::slices::{AnyIndex, IdVec, Ids, with_ids};

    macro_rules! coo {
        ($($name:ident)*) => {$(
            #[doc = concat!("See [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
            pub fn $name(sparse_dims: usize, a: Ids<'_>, nnz_a: usize, b: Ids<'_>, nnz_b: usize) -> DynMerged {
                with_ids!(a, I => {
                    let merged = super::$name::<I>(sparse_dims, I::ids(a), nnz_a, I::ids(b), nnz_b);
                    DynMerged {
                        row_ptr: None,
                        indices: I::id_vec(merged.indices),
                        map_a: I::id_vec(merged.map_a),
                        map_b: I::id_vec(merged.map_b),
                    }
                })
            }
        )*};
    }

    coo!(union_coo intersect_coo);

    /// See [`locate_coo`](crate::locate_coo()).
    pub fn locate_coo(sparse_dims: usize, a: Ids<'_>, nnz_a: usize, b: Ids<'_>, nnz_b: usize) -> IdVec {
        with_ids!(a, I => I::id_vec(super::locate_coo::<I>(sparse_dims, I::ids(a), nnz_a, I::ids(b), nnz_b)))
    }
}
