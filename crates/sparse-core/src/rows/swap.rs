//! Exchanging two dims of blocks.

use crate::Plain;
use crate::par::{each, even, lens, split_mut, split_rows};

/// Blocks `[outer, inner]` in the order `[inner, outer]`: `out[j, i, :] = values[i, j, :]`.
///
/// `values` is `[outer, inner, block]` and `out` is `[inner, outer, block]`, both row-major. A dense operand of each of
/// several products becomes one operand of all of them in this way, and their result becomes several again.
/// O(values.len()), parallel over the longer dim.
///
/// # Panics
///
/// When lengths disagree, or `outer` and `block` do not divide them.
pub fn swap_blocks<T: Plain>(values: &[T], outer: usize, block: usize, out: &mut [T]) {
    assert_eq!(out.len(), values.len(), "swap_blocks: out must have as many elements as values");
    if values.is_empty() {
        return;
    }
    let row = outer * block;
    assert!(row > 0 && values.len().is_multiple_of(row), "swap_blocks: values must be [{outer}, inner, {block}]");
    let inner = values.len() / row;
    // Every thread copies a range of the longer dim, and reads or writes it in as many places as the other dim has.
    let ranges = even(outer.max(inner), outer.min(inner) * block);
    if inner >= outer {
        let pieces = split_mut(out, &lens(&ranges, |range| range.len() * row));
        each(pieces, &|k, out| {
            for (out, j) in out.chunks_exact_mut(row).zip(ranges[k].clone()) {
                for (i, out) in out.chunks_exact_mut(block).enumerate() {
                    copy(&values[(i * inner + j) * block..][..block], out);
                }
            }
        });
    } else {
        let pieces = split_rows(&mut [out], row, &lens(&ranges, |range| range.len() * block));
        each(pieces, &|k, mut outs| {
            for (at, i) in ranges[k].clone().enumerate() {
                for (values, out) in values[i * inner * block..].chunks_exact(block).zip(&mut outs) {
                    copy(values, &mut out[at * block..][..block]);
                }
            }
        });
    }
}

/// Copies a block. A call of `memcpy` takes longer than a loop over few elements.
#[inline(always)]
fn copy<T: Plain>(values: &[T], out: &mut [T]) {
    if let ([value], [out]) = (values, &mut *out) {
        *out = *value;
    } else {
        out.copy_from_slice(values);
    }
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use crate::dynamic::slices::{AnyBits, BitVec, Bits, with_bits};
    use crate::memory::unwritten;

    /// See [`swap_blocks`](crate::swap_blocks()): `[inner, outer, block]`.
    pub fn swap_blocks(values: Bits<'_>, outer: usize, block: usize) -> BitVec {
        with_bits!(values, T => {
            let values = T::bits(values);
            let mut out = unwritten::<T>(values.len());
            super::swap_blocks(values, outer, block, &mut out);
            T::bit_vec(out)
        })
    }
}
