//! Scans, stable sorts, and segments as pointers or as ids. Patterns are made with these.

mod radix;
mod scan;
mod segments;

pub(super) use radix::{group_by, sort};
pub(super) use scan::{scan, scan_to_ptr};
pub(super) use segments::{compress, expand_ptr};
