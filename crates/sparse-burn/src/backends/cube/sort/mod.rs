//! Scans, stable sorts, and segments as pointers or as ids. Patterns are made with these.
//!
//! | | launches | bytes for each 32-bit element |
//! |---|---|---|
//! | sort by `b` bits | 3 for each 8 bits, or 1 up to a tile | 21 for each 8 bits |
//! | prefix sums | 2, or 1 up to a tile | 12 |
//! | ids to pointers, and back | 1 | 4, and 4 for each group |
//!
//! A tile has 4096 elements, or as many as fit the shared memory of the device. Nothing depends on the size of a plane,
//! and no cube waits for another.

mod radix;
mod scan;
mod segments;
mod tile;

pub(super) use radix::{bits_below, group_by, sort, sort_bits};
pub(super) use scan::{number_groups, scan, scan_to_ptr};
pub(super) use segments::{compress, expand_ptr};
pub(super) use tile::scan_units;
