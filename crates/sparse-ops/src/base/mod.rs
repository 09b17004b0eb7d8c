//! The basis of all other modules: kinds, sizes, index tensors, checks, limits, workarounds for Burn.

pub(crate) mod checks;
pub(crate) mod coordinates;
pub(crate) mod data;
pub(crate) mod empty;
pub(crate) mod exact;
pub(crate) mod float;
pub(crate) mod index;
pub(crate) mod kind;
pub(crate) mod lazy;
pub(crate) mod limits;
pub(crate) mod memory;
pub(crate) mod recent;
pub(crate) mod scalar;
pub(crate) mod sizes;
pub(crate) mod sync;
