//! The stages: each writes its files, then hands back what is recorded of them.

pub(crate) mod edges;
pub(crate) mod features;
pub(crate) mod ids;
pub(crate) mod nodes;
#[cfg(feature = "metis")]
pub(crate) mod parts;
