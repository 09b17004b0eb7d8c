//! Sparse matrix times vector.

use super::compressed::Compressed;
use crate::epilogue::Epilogue;
use crate::par::{by_elements, for_pieces};
use crate::source::prefetch;
use crate::{Element, Index};
use core::ops::Range;

/// How many elements ahead permuted values are prefetched. Each of them is in a different cache line.
const AHEAD: usize = 32;

/// `out[r] = sum over k of value[k] * x[idx[k]]`. The limit is memory, not arithmetic, so it is compiled for the
/// baseline only.
pub(super) fn spmv<T: Element, I: Index>(
    a: Compressed<'_, I>,
    values: &[T],
    x: &[T],
    epilogue: Epilogue<'_, T>,
    out: &mut [T],
) {
    for_pieces(&by_elements(a.ptr, 1), out, &|r| r.len(), &|rows, out| {
        dot_rows(a, rows, values, x, out);
        epilogue.apply(out, 1);
    });
}

fn dot_rows<T: Element, I: Index>(a: Compressed<'_, I>, rows: Range<usize>, values: &[T], x: &[T], out: &mut [T]) {
    let mut low = a.ptr[rows.start].to_usize();
    for (high, out) in a.ptr[rows.start + 1..].iter().zip(out) {
        let row = low..high.to_usize();
        low = row.end;
        // One accumulator is enough: its additions overlap with the loads of the next rows. More accumulators would
        // need a second loop in every short row, and its exit would be mispredicted.
        let mut sum = T::ACC_ZERO;
        if let Some(perm) = a.perm {
            for (k, (i, at)) in row.clone().zip(a.idx[row.clone()].iter().zip(&perm[row])) {
                if let Some(next) = perm.get(k + AHEAD) {
                    prefetch(values, next.to_usize());
                }
                sum = T::add(sum, T::mul(values[at.to_usize()].widen(), x[i.to_usize()].widen()));
            }
        } else {
            for (i, value) in a.idx[row.clone()].iter().zip(&values[row]) {
                sum = T::add(sum, T::mul(value.widen(), x[i.to_usize()].widen()));
            }
        }
        *out = T::narrow(sum);
    }
}
