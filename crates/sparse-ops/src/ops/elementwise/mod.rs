//! Element by element: arithmetic of two tensors, with a number, a vector or a dense tensor; functions of one.

pub(crate) mod binary;
pub(crate) mod broadcast;
pub(crate) mod cast;
pub(crate) mod comparisons;
pub(crate) mod functions;
pub(crate) mod map;
pub(crate) mod mixed;
pub(crate) mod powers;
pub(crate) mod scalar;
pub(crate) mod unary;
