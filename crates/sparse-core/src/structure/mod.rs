//! Structure without values: grouping, sorting, compression, transposition.

mod coalesce;
mod group;
mod partition;
mod ptr;
mod sort;

pub use coalesce::{Coalesced, coalesce};
pub use group::{Segments, group_by};
pub use ptr::{Transposed, compress, expand_ptr, scan, transpose_csr};
pub use sort::sort_coords;
