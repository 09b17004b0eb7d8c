//! The positions of the stored elements of a sparse tensor.
//!
//! Patterns are immutable and shared. Cloning one copies a pointer. Row ids, row pointers, the transpose permutation
//! and other derived structure are computed on first need, and all clones share them. Index tensors are on the device
//! of the values and have no autodiff association.

pub mod concat;
pub mod coo;
pub mod csr;
pub mod cut;
pub mod diagonal;
pub mod dims;
pub mod layout;
pub mod lines;
pub mod maps;
pub mod matrix;
pub mod memo;
pub mod merge;
pub mod select;
pub mod transposed_values;
pub mod view;

pub use coo::CooPattern;
pub use csr::CsrPattern;
pub use layout::Pattern;
