//! Patterns: validation, coalescing, merging, joining. Each reads at most one number: the size of its result.

mod coalesce;
mod concat;
mod merge;
mod search;
mod validate;

pub(super) use coalesce::coalesce;
pub(super) use concat::{concat_coo, concat_csr};
pub(super) use merge::merge;
pub(super) use search::{Side, locate, missing, positions};
pub(super) use validate::{validate_coo, validate_csr};
