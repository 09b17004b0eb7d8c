//! Patterns: validation, coalescing, merging, joining. Each reads at most once: the size of its result.

mod coalesce;
mod concat;
mod merge;
mod pack;
mod search;
mod validate;

pub(super) use coalesce::coalesce;
