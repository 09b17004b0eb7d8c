//! Rows of values: moved by an index map, summed within segments.

mod contiguous;
mod cumsum;
mod join;
mod moves;
mod sums;

pub use cumsum::segment_cumsum;
pub use join::join_rows;
pub use moves::{move_rows, place_rows};
pub use sums::{segment_any, segment_sum};

pub(crate) mod dynamic {
    pub use super::cumsum::dynamic::*;
    pub use super::join::dynamic::*;
    pub use super::moves::dynamic::*;
    pub use super::sums::dynamic::*;
}
