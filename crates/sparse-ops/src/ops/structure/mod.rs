//! Operations that move stored elements: a new pattern, and an index map for the values.

pub(crate) mod coalesce;
pub(crate) mod compact;
pub(crate) mod concat;
pub(crate) mod convert;
pub(crate) mod csc;
pub(crate) mod diagonal;
pub(crate) mod expand;
pub(crate) mod flip;
pub(crate) mod graph;
pub(crate) mod indices;
pub(crate) mod mask;
pub(crate) mod permute;
pub(crate) mod prune;
pub(crate) mod roll;
pub(crate) mod select;
pub(crate) mod shape;
pub(crate) mod slice;
pub(crate) mod stack;
pub(crate) mod to_dense;
pub(crate) mod triangle;
