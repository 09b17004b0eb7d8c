//! Reductions into, and reads from, positions along one axis of a dense array.
//!
//! An array is a row-major `[outer, len, inner]`, values are `[outer, count, inner]`, and position `(o, k, i)` of the
//! values belongs to `(o, index, i)` of the array ([`Target`]). Everything rests on two traversals: [`cells`] visits
//! the array's cells with the values that belong to them, in row-major order of the values for each cell, whatever
//! the number of threads; its `gather_map` computes a result for each value from its cell. [`put()`] and the gradients
//! are closures given to these two.

mod backward;
mod cells;
mod check;
mod gather;
mod groups;
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
pub use record::{Record, Recorded, put_recorded, recorded_backward};
pub use target::{Reduce, Target, TargetIndex};
