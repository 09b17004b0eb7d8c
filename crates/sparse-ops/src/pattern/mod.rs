//! The positions of the stored elements of a sparse tensor.
//!
//! Patterns are immutable and shared. Cloning one copies a pointer. Row ids, row pointers, the transpose permutation
//! and other derived structure are computed on first need, and all clones share them. Index tensors are on the device
//! of the values and have no autodiff association.

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
pub(crate) mod transposed_values;
pub(crate) mod view;

pub use coo::CooPattern;
pub use csr::CsrPattern;
pub use layout::Pattern;
