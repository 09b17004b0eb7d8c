//! Combining the patterns of two tensors: union, intersection, and the position of the elements of one in the other.
//!
//! A merged pattern has two *index maps*, one from its elements to those of each operand. The entry `nnz` of the
//! operand means "missing there, use the fill". [`zip_rows`] applies an operation through the maps.
//!
//! There are two phases, as in SciPy's `csr_binop_csr`. First, the elements of pieces of equal work are counted. Then
//! the pieces are filled in parallel into disjoint parts of outputs of the exact size. Pieces are ranges of rows (CSR)
//! or of the merge path (COO; Green, McColl and Bader, "GPU Merge Path", 2012). So neither the order of the elements
//! nor any bit depends on the number of threads.
//!
//! Where one row or piece is much longer than the other, the elements of the shorter one are searched in it, and what
//! lies between is copied in runs.

mod coo;
mod csr;
mod expand;
pub(crate) mod steps;
#[cfg(target_arch = "x86_64")]
mod window;
mod zip;

pub use coo::{MergedCoo, intersect_coo, locate_coo, union_coo};
pub use csr::{MergedCsr, intersect_csr, locate_csr, union_csr};
pub use zip::{BinaryOp, union_apply_csr, zip_rows};

use crate::Index;

/// Panics unless a number of elements fits the index type.
fn assert_fits<I: Index>(nnz: usize) {
    assert!(nnz <= I::limit(), "merge: nnz must fit the index type (at most {}), got {nnz}", I::limit());
}

pub(crate) mod dynamic {
    pub use super::coo::dynamic::*;
    pub use super::csr::dynamic::*;
    pub use super::zip::dynamic::*;
    use crate::dynamic::slices::IdVec;

    /// A pattern merged from two patterns, with an index map into each. Entry `k` of a map is the position of element
    /// `k` in that operand, or the operand's number of elements if the operand does not have it.
    #[derive(Debug)]
    pub struct DynMerged {
        /// Row pointers of a CSR pattern; `None` for a COO pattern.
        pub row_ptr: Option<IdVec>,
        /// Columns, or coordinates `[sparse_dims, nnz]`.
        pub indices: IdVec,
        /// Position of each element in the first operand.
        pub map_a: IdVec,
        /// Position of each element in the second operand.
        pub map_b: IdVec,
    }
}
