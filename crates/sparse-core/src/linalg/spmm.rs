//! Sparse matrix times dense matrix.

use super::compressed::{Compressed, View};
use super::spmv::spmv;
use crate::element::Ids;
use crate::epilogue::Epilogue;
use crate::memory::Scratch;
use crate::par;
use crate::reduce::reduce_rows;
use crate::reducer::{Reducer, Sum};
use crate::rows::{move_rows, swap_blocks};
use crate::source::Source;
use crate::weights::{Heads, Weights};
use crate::{Element, Index};
use bytemuck::{cast_slice, cast_slice_mut};
use core::ops::Range;

/// Sparse x dense: `out[b, r, :] = sum over k of value[k] * dense[b, idx[k], :]` for each of `batch` dense operands.
///
/// `dense` is row-major `[batch, cols, features]`, `out` is `[batch, rows, features]`. Every element of `out` is
/// overwritten; an empty row gives 0. Sums are accumulated in [`Element::Acc`] in the order of the row; those of floats
/// in a row of more than 64 elements in blocks of that many, whose sums are added in pairs. One feature is a sparse
/// matrix-vector product, which is accumulated in 16 interleaved sums, in blocks of 1024. So the bits do not depend on
/// the number of threads and the instruction set.
///
/// `values` are `[nnz, heads]`. The columns of `dense` are cut into `heads` parts of the same width, and value `h` of
/// an element multiplies part `h`: column `f` has value `f / (features / heads)`. So one pass over the elements
/// computes the products of all heads.
///
/// The [`Epilogue`] follows for each row. Its result has the bits of separate passes.
///
/// Each thread gets rows with about the same number of elements, not the same number of rows. A wide row is computed in
/// register tiles of 8 vectors, with the dense rows prefetched (the scheme of Yang, Buluc and Owens, "Design principles
/// for sparse matrix multiplication on the GPU", Euro-Par 2018, applied to SIMD lanes). O(batch * nnz * features) time.
/// No extra memory, except for a copy of permuted values from 32 features on, a row for each piece of a long row, and a
/// copy of the operands of a batch with narrow heads.
///
/// From two features on, each result of a batch has the bits of its own product. The elements are read again for each
/// operand. A loop that reads a row of every operand for an element takes 1.3 to 1.6 times as long, because the rows of
/// all operands do not fit the caches that those of one fit. Operands with heads of few columns are copied side by
/// side, and multiplied at once; their results are put in place some rows at a time.
///
/// # Panics
///
/// When lengths disagree, the bias does not have `features` elements, `heads` does not divide `features`, `ptr`
/// descends or an index is out of range.
pub fn spmm<T: Element, I: Index>(
    a: Compressed<'_, I>,
    values: &[T],
    dense: &[T],
    [batch, heads, features]: [usize; 3],
    epilogue: Epilogue<'_, T>,
    out: &mut [T],
) {
    let rows = I::list(a.ptr).rows();
    assert_eq!(out.len(), batch * rows * features, "spmm: out must be [batch, rows, features]");
    assert!(batch == 0 || dense.len().is_multiple_of(batch), "spmm: dense must be [batch, cols, features]");
    let fits = epilogue.bias.is_none_or(|bias| bias.len() == features);
    assert!(fits, "spmm: the bias must have {features} elements");
    if out.is_empty() {
        return;
    }
    if batch > 1 && head_width(heads, features) < SEPARATE {
        return side_by_side(a, values, dense, [batch, heads, features], epilogue, out);
    }
    let ordered = if features >= WIDE { in_order(a, values, heads) } else { None };
    let (values, perm) = ordered.as_deref().map_or((values, a.perm), |ordered| (ordered, None));
    let (a, own) = (Compressed { perm, ..a }, dense.len() / batch);
    let one = |k: usize, out: &mut [T]| {
        let dense = &dense[k * own..][..own];
        if features == 1 && heads == 1 {
            return spmv(a, values, dense, epilogue, out);
        }
        let dense = Source::new(dense, features, "spmm: dense");
        reduce_products(Sum::Products, a.view(), values, dense, heads, epilogue, out);
    };
    if batch > 1 && par::pieces((a.idx.len() + rows).saturating_mul(features)) < par::threads() {
        // A product is too small for all threads.
        par::chunks_mut(out, rows * features, &one);
    } else {
        out.chunks_exact_mut(rows * features).enumerate().for_each(|(k, out)| one(k, out));
    }
}

/// [`spmm`] of several operands as one product, in which the columns of a head are those of all operands. The results
/// of some rows at a time are put in their places, while they are in the cache.
fn side_by_side<T: Element, I: Index>(
    a: Compressed<'_, I>,
    values: &[T],
    dense: &[T],
    [batch, heads, features]: [usize; 3],
    Epilogue { bias, relu }: Epilogue<'_, T>,
    out: &mut [T],
) {
    let (part, all) = (features / heads, batch * features);
    let bias: Option<Vec<T>> = bias.map(|bias| bias.chunks_exact(part).flat_map(|head| head.repeat(batch)).collect());
    let epilogue = Epilogue { bias: bias.as_deref(), relu };
    let mut wide = Scratch::unwritten(dense.len());
    swap_blocks::<T::Bits>(cast_slice(dense), batch, part, cast_slice_mut(&mut wide));
    let ordered = if all >= WIDE { in_order(a, values, heads) } else { None };
    let (values, perm) = ordered.as_deref().map_or((values, a.perm), |ordered| (ordered, None));
    let (ptr, rows) = (I::list(a.ptr), a.ptr.len() - 1);
    let ranges = ptr.cuts(all);
    let lens = par::lens(&ranges, |rows| rows.len() * features);
    let outs = par::split_rows(&mut [out], rows * features, &lens);
    par::each(outs, &|piece, mut outs| {
        let Range { mut start, end } = ranges[piece].clone();
        let mut some = Vec::new();
        while start < end {
            let rows = start..block(ptr, start..end, (CACHED / all / size_of::<T>()).max(1));
            start = rows.end;
            some.resize(rows.len() * all, T::ZERO);
            let own = Compressed { ptr: &a.ptr[rows.start..=rows.end], idx: a.idx, perm };
            let mut product = || spmm(own, values, &wide, [1, heads, all], epilogue, &mut some);
            // A long row is for all threads.
            if rows.len() > 1 {
                par::alone(product)
            } else {
                product()
            }
            for (k, out) in outs.iter_mut().enumerate() {
                let (own, rest) = core::mem::take(out).split_at_mut(rows.len() * features);
                let from = some[k * part..].chunks(batch * part);
                own.chunks_exact_mut(part).zip(from).for_each(|(to, from)| to.copy_from_slice(&from[..part]));
                *out = rest;
            }
        }
    });
}

/// Bytes of results, and the number of elements of the rows that they are of, that are computed before they are moved.
const CACHED: usize = 64 << 10;

/// The end of the rows from the first of these on that are computed together: at most `most`, or one that is long.
fn block(ptr: Ids<'_>, rows: Range<usize>, most: usize) -> usize {
    let first = ptr.at(rows.start);
    let fits = |row: &usize| ptr.at(row + 1).wrapping_sub(first) <= CACHED;
    rows.clone().skip(1).take(most - 1).take_while(fits).last().unwrap_or(rows.start) + 1
}

/// From this many columns of a head on, several operands are multiplied one after the other. Operands with narrower
/// heads are copied side by side. With 16 columns and a batch of 4 this takes half as long again, and twice the memory.
const SEPARATE: usize = 16;

/// From this many features on, values are brought in order before a product. A random read between those of wide rows
/// costs more than a pass over the values.
const WIDE: usize = 32;

/// The values in the order of the elements, if they have another one.
pub(super) fn in_order<T: Element, I: Index>(a: Compressed<'_, I>, values: &[T], heads: usize) -> Option<Scratch<T>> {
    let perm = a.perm?;
    let mut out = Scratch::unwritten(perm.len() * heads);
    move_rows::<T::Bits, I>(cast_slice(values), heads, &[], perm, cast_slice_mut(&mut out));
    Some(out)
}

/// The products of values `[nnz, heads]` and rows of a dense matrix, combined for each row.
pub(super) fn reduce_products<T: Element, R: Reducer<T>>(
    reducer: R,
    View { ptr, idx, perm }: View<'_>,
    values: &[T],
    dense: Source<'_, T>,
    heads: usize,
    epilogue: Epilogue<'_, T>,
    out: &mut [T],
) {
    head_width(heads, dense.width());
    let weights = Weights { values, perm };
    if heads == 1 {
        reduce_rows(reducer, weights, ptr, Some(idx), dense, epilogue, out);
    } else {
        reduce_rows(reducer, Heads::new(weights, heads, dense.width()), ptr, Some(idx), dense, epilogue, out);
    }
}

/// Columns of each head, where a row has `features >= 1`.
pub(super) fn head_width(heads: usize, features: usize) -> usize {
    let divides = heads > 0 && features.is_multiple_of(heads);
    assert!(divides, "the number of heads must divide the {features} columns, got {heads}");
    features / heads
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use super::super::compressed::dynamic::DynCompressed;
    use crate::ShiftedRows;
    use crate::dynamic::slices::{AnyElement, ElementVec, Elements, Ids, with_elements, with_ids};
    use crate::epilogue::Epilogue;
    use crate::memory::unwritten;

    /// See [`spmm`](crate::spmm()): `[batch, rows, features]`. Of one operand of one column with the plan, if there is
    /// one.
    pub fn spmm(
        a: DynCompressed<'_>,
        plan: Option<&ShiftedRows>,
        values: Elements<'_>,
        dense: Elements<'_>,
        sizes: [usize; 3],
        bias: Option<Elements<'_>>,
        relu: bool,
    ) -> ElementVec {
        let [batch, _, features] = sizes;
        with_ids!(a.ptr, I => with_elements!(values, T => {
            let mut out = unwritten::<T>(batch * a.rows() * features);
            let epilogue = Epilogue { bias: bias.map(T::elements), relu };
            let (values, dense) = (T::elements(values), T::elements(dense));
            match plan.filter(|_| sizes == [1; 3]) {
                Some(plan) => plan.spmv::<T, I>(a.of(), values, dense, epilogue, &mut out),
                None => super::spmm::<T, I>(a.of(), values, dense, sizes, epilogue, &mut out),
            }
            T::element_vec(out)
        }))
    }
}
