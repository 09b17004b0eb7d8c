//! The basis of all other modules: kinds, sizes, index tensors, checks, limits, workarounds for Burn.

pub mod checks;
pub mod coordinates;
pub mod data;
pub mod empty;
pub mod exact;
pub mod float;
pub mod index;
pub mod kind;
pub mod lazy;
pub mod limits;
pub mod memory;
pub mod scalar;
pub mod sizes;
pub mod sync;
