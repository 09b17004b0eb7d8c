//! Patterns of concatenated sparse tensors.
//!
//! Values are moved with an index map into the plain concatenation of the parts' values: element `j` of part `p` is at
//! `nnz_0 + .. + nnz_(p-1) + j`. No map is made where it would be the identity. Each part is already sorted along any
//! axis. So elements are moved in runs and never sorted.

mod coo;
mod csr;

pub use coo::{CooPart, concat_coo, concat_coo_values};
pub use csr::{CsrPart, concat_csr_cols, concat_csr_cols_values, concat_csr_rows, interleave_csr_rows};

use crate::{Index, Plain, memory::unwritten, par};
use core::ops::Range;

/// Runs of at most this many elements are moved as if they had exactly this many.
const SHORT_RUN: usize = 8;

/// The concatenation of slices, copied in parallel: `out = parts[0] ++ parts[1] ++ ..`.
pub fn concat_slices<T: Plain>(parts: &[&[T]]) -> Vec<T> {
    let mut out = unwritten(parts.iter().map(|p| p.len()).sum());
    copy_parts(parts, &mut out, &|_, src, dst| dst.copy_from_slice(src));
    out
}

/// Copies a piece of a part: `copy(part number, source, destination)`.
type CopyPiece<'a, T> = &'a (dyn Fn(usize, &[T], &mut [T]) + Sync);

/// Calls `copy(part number, source, destination)` for pieces of each part, in parallel. The destination is the piece's
/// place in `out`.
fn copy_parts<T: Plain>(parts: &[&[T]], out: &mut [T], copy: CopyPiece<'_, T>) {
    let mut pieces = Vec::new();
    for (p, part) in parts.iter().enumerate() {
        pieces.extend(par::even(part.len(), 1).into_iter().map(|range| (p, range)));
    }
    par::each(par::split_mut(out, &par::lens(&pieces, |(_, range)| range.len())), &|k, dst| {
        let (p, range) = &pieces[k];
        copy(*p, &parts[*p][range.clone()], dst);
    });
}

/// Runs with their places in the result: each with its part, and the position of its first element. They follow each
/// other from `start` on.
#[inline(always)]
fn placed<P>(
    runs: impl Iterator<Item = (P, Range<usize>)>,
    start: usize,
) -> impl Iterator<Item = (P, Range<usize>, usize)> {
    let mut end = start;
    runs.map(move |(part, run)| {
        let at = end;
        end += run.len();
        (part, run, at)
    })
}

/// Panics unless there is a value for each element of each part.
fn check_values<T>(lengths: &[usize], values: &[&[T]]) {
    assert_eq!(par::lens(values, |values| values.len()), lengths, "concat: each part must come with its values");
}

/// For each part, the number of elements before it. The last entry is the total.
fn bases<I: Index>(lengths: &[usize]) -> Vec<usize> {
    let mut bases = vec![0];
    let mut sum = 0;
    for n in lengths {
        sum += n;
        bases.push(sum);
    }
    assert!(sum <= I::limit(), "concat: nnz must fit the index type (at most {}), got {sum}", I::limit());
    bases
}

#[inline(always)]
fn shift<I: Index>(src: &[I], dst: &mut [I], offset: usize) {
    for (dst, src) in dst.iter_mut().zip(src) {
        *dst = I::from_usize(src.to_usize() + offset);
    }
}

/// `dst[k] = start + k`.
#[inline(always)]
fn count<I: Index>(start: usize, dst: &mut [I]) {
    for (dst, at) in dst.iter_mut().zip(start..) {
        *dst = I::from_usize(at);
    }
}

/// `dst[at..] = f(src[run])`. May also write up to [`SHORT_RUN`] elements of `dst` after the run; the next runs
/// overwrite them.
///
/// The rows of a graph are short and vary in length. A loop over such a row mispredicts its last branch almost every
/// time. That costs more than moving a fixed number of elements.
#[inline(always)]
fn move_run<A: Copy, B>(src: &[A], run: Range<usize>, dst: &mut [B], at: usize, f: impl Fn(A) -> B) {
    let (from, to) = (src.get(run.start..run.start + SHORT_RUN), dst.get_mut(at..at + SHORT_RUN));
    match (from, to) {
        (Some(from), Some(to)) if run.len() <= SHORT_RUN => {
            to.iter_mut().zip(from).for_each(|(to, &from)| *to = f(from))
        }
        _ => dst[at..at + run.len()].iter_mut().zip(&src[run]).for_each(|(to, &from)| *to = f(from)),
    }
}

pub(crate) mod dynamic {
    pub use super::coo::dynamic::*;
    pub use super::csr::dynamic::*;
    use crate::dynamic::slices::{AnyBits, BitVec, Bits, with_bits};

    /// See [`concat_slices`](crate::concat_slices()).
    pub fn concat_slices(parts: &[Bits<'_>]) -> BitVec {
        with_bits!(parts[0], T => {
            let parts: Vec<&[T]> = parts.iter().map(|part| T::bits(*part)).collect();
            T::bit_vec(super::concat_slices::<T>(&parts))
        })
    }
}
