//! Reductions into positions along one axis of a dense array, and reads from them.
//!
//! An array is a row-major `[outer, len, inner]`, values are `[outer, count, inner]`. Position `(o, k, i)` of the
//! values belongs to position `(o, index, i)` of the array, its *cell* ([`Target`]). Each cell takes its values in
//! row-major order, whatever the number of threads.
//!
//! The traversals:
//!
//! - `walk` finds the cell of each value. It is compiled once, for all element types and operations.
//! - `plan` shares the cells among threads.
//! - `cells` scatters values into cells; a `Step` (in `step`) updates a cell with a value.
//! - `groups` does the same for wide rows whose destinations are grouped.
//! - `hubs` adds the values of a cell that gets very many.
//! - `gather` reads cells: it computes a result for each value from its cell.
//! - `layout` orders the cells for the cache.
//!
//! The operations on top of them are `put` (the reductions), `backward` (their gradients), `record` (reductions that
//! record which value they chose, and their gradients) and `product` (the gradient of a product).

mod backward;
mod cells;
mod check;
mod gather;
mod groups;
mod hubs;
mod layout;
mod plan;
mod product;
mod put;
mod record;
mod step;
mod target;
mod ties;
mod walk;

pub use backward::{BackwardReads, backward_reads, put_backward};
pub use check::check_indices;
pub use gather::gather;
pub use put::{put, put_copied};
pub use record::{Record, Recorded, put_recorded, recorded_backward, records};
pub use target::{Reduce, Target, TargetIndex};

pub(crate) mod dynamic {
    pub use super::backward::dynamic::*;
    pub use super::check::dynamic::*;
    pub use super::gather::dynamic::*;
    pub use super::put::dynamic::*;
    pub use super::record::dynamic::*;
}
