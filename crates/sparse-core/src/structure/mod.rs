//! Structure without values: validation, grouping, sorting, compression.

pub(crate) mod check;
mod coalesce;
mod group;
mod partition;
mod ptr;
mod sort;

pub use check::{join_row_ptr, split_row_ptr, validate_coo, validate_csr};
pub use coalesce::{Coalesced, coalesce};
pub use group::{Segments, group_by, group_with};
pub use ptr::{cast_ids, compress, expand_ptr, extremes, scan};
pub use sort::sort_coords;

pub(crate) mod dynamic {
    pub use super::check::dynamic::*;
    pub use super::coalesce::dynamic::*;
    pub use super::group::dynamic::*;
    pub use super::ptr::dynamic::*;
}
