//! Where the stored elements of a sparse tensor stand.
//!
//! Patterns are immutable and shared: cloning one copies a pointer, and what is derived from it (row ids, row pointers,
//! the transpose permutation) is computed on first need and kept for all who share it. Their index tensors live on the
//! device of the values and carry no autodiff association.

pub(crate) mod concat;
pub(crate) mod coo;
pub(crate) mod csr;
pub(crate) mod cut;
pub(crate) mod diagonal;
pub(crate) mod dims;
pub(crate) mod layout;
pub(crate) mod lines;
pub(crate) mod maps;
pub(crate) mod matrix;
pub(crate) mod memo;
pub(crate) mod merge;
pub(crate) mod select;

pub use coo::CooPattern;
pub use csr::CsrPattern;
pub use layout::Pattern;
