//! The kernels for elements and indices whose types are known only at run time.
//!
//! Every function here matches the types once and calls the generic kernel of the same name. So all instances of a
//! kernel are compiled in this crate. Higher crates contain no kernel code, and their build does not wait for it. Some
//! arguments of a call must have the same type: all indices, or values and result. That type is read from the first
//! such argument. A later argument of another type is a bug of the caller and panics.

pub(crate) mod slices;

pub use crate::concat::dynamic::*;
pub use crate::dense::dynamic::*;
pub use crate::linalg::dynamic::*;
pub use crate::merge::dynamic::*;
pub use crate::rows::dynamic::*;
pub use crate::scatter::dynamic::*;
pub use crate::structure::dynamic::*;
pub use slices::{BitVec, Bits, ElementVec, Elements, ElementsMut, IdVec, Ids, Values};
