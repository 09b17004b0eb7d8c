//! The kernels for elements and indices whose types are known only at run time.
//!
//! Every function here matches the types once and calls the generic kernel of the same name. So all instances of a
//! kernel are compiled in this crate. Higher crates contain no kernel code, and their build does not wait for it. Some
//! arguments of a call must have the same type: all indices, or values and result. That type is read from the first
//! such argument. A later argument of another type is a bug of the caller and panics.

mod linalg;
mod merge;
mod moves;
mod scatter;
mod slices;
mod structure;

pub use crate::element::Ids;
pub use linalg::*;
pub use merge::*;
pub use moves::*;
pub use scatter::*;
pub use slices::{BitVec, Bits, ElementVec, Elements, ElementsMut, IdVec};
pub use structure::*;
