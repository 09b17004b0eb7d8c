//! What layers and solvers do to dense arrays between products: one pass over memory, on all threads.

mod activation;
mod adam;
mod columns;
mod combine;
mod dropout;
mod relu;

pub use activation::{Activation, activate, activate_backward};
pub use adam::{AdamStep, adam_step};
pub use columns::{Column, ColumnPass, ColumnStep, Kept, column_pass};
pub use combine::combine_columns;
pub(crate) use dropout::dropout_at;
pub use dropout::{Dropout, dropout};
pub use relu::{bias_relu, relu_backward};

pub(crate) mod dynamic {
    pub use super::activation::dynamic::*;
    pub use super::adam::dynamic::*;
    pub use super::columns::dynamic::*;
    pub use super::combine::dynamic::*;
    pub use super::dropout::dynamic::*;
    pub use super::relu::dynamic::*;
}

use crate::source::{NEAR, prefetch_row};
use crate::{Plain, par};

/// Elements that are changed while they are in the first-level cache.
const BLOCK: usize = 2048;

/// What a change of a piece reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    Piece,
    OtherLists,
}

/// Runs `change(k, piece)` for pieces of `block` elements of `out`; the last may be shorter. Before that, piece `k` is
/// copied from `source`, if there is one; otherwise `out` is changed in place.
///
/// Where `change` reads no other list, the next piece of `out` is fetched first, because a store that misses the cache
/// stalls: that takes a tenth to a quarter off. With another list it adds a twentieth.
fn in_blocks<T: Plain>(
    source: Option<&[T]>,
    out: &mut [T],
    block: usize,
    reads: Reads,
    change: &(dyn Fn(usize, &mut [T]) + Sync),
) {
    let (len, far) = (out.len(), size_of_val(out) > NEAR);
    assert!(source.is_none_or(|source| source.len() == len), "the source must have as many elements as the result");
    let ranges = par::even(len.div_ceil(block), block);
    let fetched = reads == Reads::Piece && far;
    par::for_pieces(&ranges, out, &|r| (r.end * block).min(len) - r.start * block, &|range, mut rest| {
        for k in range {
            let out = rest.split_off_mut(..block.min(rest.len())).expect("a block is within the rest");
            if fetched {
                prefetch_row(rest, 0, BLOCK.min(rest.len()));
            }
            if let Some(source) = source {
                out.copy_from_slice(&source[k * block..][..out.len()]);
            }
            change(k, out);
        }
    });
}
