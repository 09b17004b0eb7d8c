//! Structure without values: grouping, sorting, compression.

mod coalesce;
mod group;
mod partition;
mod ptr;
mod sort;

pub use coalesce::{Coalesced, coalesce};
pub use group::{Segments, group_by};
pub use ptr::{compress, expand_ptr, scan};
pub use sort::sort_coords;
