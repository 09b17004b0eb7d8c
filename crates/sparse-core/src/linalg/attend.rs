//! Attention over the elements of a sparse matrix, in one walk.

use super::compressed::Compressed;
use super::sddmm::sddmm;
use super::spmm::spmm;
use crate::dense::{Dropout, dropout_at};
use crate::epilogue::Epilogue;
use crate::memory::Scratch;
use crate::par;
use crate::rows::segment_softmax;
use crate::{Float, Index};
use core::ops::Range;

/// What the softmax of attention gets.
#[derive(Clone, Copy, Debug)]
pub enum Scores<'a, T> {
    /// One number for each element and head: `[nnz, heads]`.
    Given(&'a [T]),
    /// `scale * <query[r, h, :], key[c, h, :]>` for the element in row `r` and column `c`.
    Products {
        /// `[rows, features]`.
        query: &'a [T],
        /// `[cols, features]`.
        key: &'a [T],
        /// Columns of both, over all heads.
        features: usize,
        /// What each product is multiplied by.
        scale: f64,
    },
}

/// Weights that are computed at a time, if no row has more. They stay in the second-level cache.
const GROUP: usize = 8192;

/// The weighted sums of the rows of `value`: `out[r, h, :] = sum_k w[k, h] * value[idx[k], h, :]` over the elements `k`
/// of row `r`, where `w` is the softmax of their scores, after dropout if there is any. A row without elements gives 0.
///
/// `value` is `[cols, width]`, `out` is `[rows, width]`; their columns are cut into `heads` parts, as for
/// [`spmm`](crate::spmm()). `weights`, if they are given, get the result of the softmax, `[nnz, heads]`, before
/// dropout. Without them nothing has the size of the elements.
///
/// The rows are taken in groups. A group's scores, weights and sums are computed before the next one begins, so scores
/// and weights are in the cache where they are read. The bits are those of [`sddmm`](crate::sddmm()),
/// [`segment_softmax`](crate::segment_softmax()), [`dropout`](crate::dropout()) and [`spmm`](crate::spmm()) one after
/// the other. `O(nnz * (features + width))` time. A row is computed by one thread.
///
/// Source: the order of the work is that of Rabe and Staats, "Self-attention does not need O(n^2) memory", 2021.
///
/// # Panics
///
/// When lengths disagree, the values have a permutation, `heads` does not divide the columns, `ptr` descends or an
/// index is out of range.
#[allow(clippy::too_many_arguments)]
pub fn attend<T: Float, I: Index>(
    a: Compressed<'_, I>,
    scores: Scores<'_, T>,
    value: &[T],
    heads: usize,
    width: usize,
    drops: Option<Dropout>,
    weights: Option<&mut [T]>,
    out: &mut [T],
) {
    let rows = I::list(a.ptr).rows();
    assert!(a.perm.is_none(), "attend: the elements must be in the order of their rows");
    assert_eq!(out.len(), rows * width, "attend: out must be [rows, width]");
    let nnz = a.idx.len() * heads;
    assert!(weights.as_ref().is_none_or(|weights| weights.len() == nnz), "attend: weights must be [nnz, heads]");
    if let Scores::Given(scores) = scores {
        assert_eq!(scores.len(), nnz, "attend: scores must be [nnz, heads]");
    }
    I::list(a.ptr).check_covers(a.idx.len());
    let cuts = par::by_elements(a.ptr, width + heads);
    let elements = |rows: &Range<usize>| a.ptr[rows.start].to_usize()..a.ptr[rows.end].to_usize();
    let outs = par::split_mut(out, &par::lens(&cuts, |rows| rows.len() * width));
    let kept = match weights {
        Some(weights) => {
            let lens = par::lens(&cuts, |rows| elements(rows).len() * heads);
            par::split_mut(weights, &lens).into_iter().map(Some).collect()
        }
        None => cuts.iter().map(|_| None).collect::<Vec<_>>(),
    };
    let walk = Walk { a, scores, value, heads, width, drops };
    let pieces = cuts.into_iter().zip(outs).zip(kept).map(|((rows, out), kept)| Piece { rows, out, kept });
    par::each(pieces.collect(), &|_, piece| par::alone(|| walk.piece(piece)));
}

/// Some consecutive rows, with their part of the result and of the weights.
struct Piece<'a, T> {
    rows: Range<usize>,
    out: &'a mut [T],
    kept: Option<&'a mut [T]>,
}

#[derive(Clone, Copy)]
struct Walk<'a, T, I> {
    a: Compressed<'a, I>,
    scores: Scores<'a, T>,
    value: &'a [T],
    heads: usize,
    width: usize,
    drops: Option<Dropout>,
}

impl<T: Float, I: Index> Walk<'_, T, I> {
    fn piece(&self, Piece { rows, mut out, mut kept }: Piece<'_, T>) {
        let start = |row: usize| self.a.ptr[row].to_usize();
        let mut first = rows.start;
        while first < rows.end {
            let full = (first + 1..rows.end).find(|&row| (start(row) - start(first)) * self.heads >= GROUP);
            let end = full.unwrap_or(rows.end);
            let group;
            (group, out) = out.split_at_mut((end - first) * self.width);
            let len = (start(end) - start(first)) * self.heads;
            let (own, rest) = match kept {
                Some(kept) => {
                    let (own, rest) = kept.split_at_mut(len);
                    (Some(own), Some(rest))
                }
                None => (None, None),
            };
            kept = rest;
            self.group(first..end, own, group);
            first = end;
        }
    }

    fn group(&self, rows: Range<usize>, kept: Option<&mut [T]>, out: &mut [T]) {
        let start = self.a.ptr[rows.start].to_usize();
        // The rows as a matrix of their own.
        let own = |row: usize| self.a.ptr[row].to_usize() - start;
        let ptr: Vec<I> = (rows.start..=rows.end).map(|row| I::from_i64(own(row) as i64)).collect();
        let idx = &self.a.idx[start..start + own(rows.end)];
        let len = idx.len() * self.heads;
        let mut scratch = Scratch::unwritten(len);
        let mut weights = Scratch::unwritten(if kept.is_some() { 0 } else { len });
        let weights = kept.unwrap_or(&mut weights);
        match self.scores {
            Scores::Given(scores) => {
                segment_softmax(&scores[start * self.heads..][..len], self.heads, &ptr, false, weights);
            }
            Scores::Products { query, key, features, scale } => {
                let query = &query[rows.start * features..rows.end * features];
                sddmm(&ids_of_rows(&ptr), idx, query, key, self.heads, features, &mut scratch);
                let scale = T::nearest(scale);
                scratch.iter_mut().for_each(|x| *x = T::narrow(T::mul(x.widen(), scale)));
                segment_softmax(&scratch, self.heads, &ptr, false, weights);
            }
        }
        if let Some(rule) = self.drops {
            scratch.copy_from_slice(weights);
            dropout_at(&mut scratch, start * self.heads, rule);
        }
        let used = if self.drops.is_some() { &scratch[..] } else { weights };
        let a = Compressed { ptr: &ptr, idx, perm: None };
        spmm(a, used, self.value, [1, self.heads, self.width], Epilogue::default(), out);
    }
}

/// The row of each element.
fn ids_of_rows<I: Index>(ptr: &[I]) -> Vec<I> {
    let rows = ptr.windows(2).enumerate();
    rows.flat_map(|(row, ends)| {
        let count = ends[1].to_usize() - ends[0].to_usize();
        core::iter::repeat_n(I::from_i64(row as i64), count)
    })
    .collect()
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use super::super::compressed::dynamic::DynCompressed;
    use crate::Dropout;
    use crate::dynamic::slices::{AnyElement, ElementVec, Elements, Ids, with_floats, with_ids};
    use crate::memory::unwritten;

    /// See [`Scores`](crate::Scores).
    #[derive(Clone, Copy, Debug)]
    pub enum DynScores<'a> {
        /// `[nnz, heads]`.
        Given(Elements<'a>),
        /// Query, key, their columns and the scale.
        Products(Elements<'a>, Elements<'a>, usize, f64),
    }

    /// See [`attend`](crate::attend()): the result `[rows, width]` and, to `keep`, the weights `[nnz, heads]`.
    pub fn attend(
        a: DynCompressed<'_>,
        scores: DynScores<'_>,
        value: Elements<'_>,
        [heads, width]: [usize; 2],
        drops: Option<Dropout>,
        keep: bool,
    ) -> (ElementVec, Option<ElementVec>) {
        with_ids!(a.ptr, I => with_floats!(value, T => {
            let mut out = unwritten::<T>(a.rows() * width);
            let mut weights = keep.then(|| unwritten::<T>(a.idx.len() * heads));
            let scores = match scores {
                DynScores::Given(scores) => super::Scores::Given(T::elements(scores)),
                DynScores::Products(query, key, features, scale) => {
                    let [query, key] = [query, key].map(T::elements);
                    super::Scores::Products { query, key, features, scale }
                }
            };
            let (a, value) = (a.of::<I>(), T::elements(value));
            super::attend(a, scores, value, heads, width, drops, weights.as_deref_mut(), &mut out);
            (T::element_vec(out), weights.map(T::element_vec))
        }))
    }
}
