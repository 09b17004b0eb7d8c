//! Rows of values: moved by an index map, summed and normalised within segments.

pub(crate) mod contiguous;
mod cumsum;
mod join;
mod moves;
mod softmax;
mod sums;
mod swap;

pub use cumsum::segment_cumsum;
pub use join::join_rows;
pub use moves::{move_rows, place_rows};
pub use softmax::{segment_softmax, segment_softmax_backward};
pub use sums::{segment_any, segment_sum};
pub use swap::swap_blocks;

pub(crate) mod dynamic {
    pub use super::cumsum::dynamic::*;
    pub use super::join::dynamic::*;
    pub use super::moves::dynamic::*;
    pub use super::softmax::dynamic::*;
    pub use super::sums::dynamic::*;
    pub use super::swap::dynamic::*;
}
