//! Patterns of two tensors put together: union, intersection, location.
//!
//! A merged pattern comes with two *index maps*, from its elements to those of each operand; the value `nnz` of the
//! operand means "missing there, take the fill". [`zip_rows`] applies an operation through them.
//!
//! Two phases, as in SciPy's `csr_binop_csr`: pieces of equal work are counted, then filled in parallel into
//! disjoint parts of exactly sized outputs. Pieces are ranges of rows (CSR) or of the merge path (COO; Green,
//! McColl and Bader, "GPU Merge Path", 2012), so no element order and no bit depends on the number of threads.

mod coo;
mod csr;
pub(crate) mod steps;
mod zip;

pub use coo::{MergedCoo, intersect_coo, locate_coo, union_coo};
pub use csr::{MergedCsr, intersect_csr, locate_csr, union_csr};
pub use zip::{BinaryOp, union_apply_csr, zip_rows};

use crate::Index;

/// Panics unless a number of elements fits the index type.
fn assert_fits<I: Index>(nnz: usize) {
    assert!(nnz <= I::MAX, "merge: nnz must fit the index type (at most {}), got {nnz}", I::MAX);
}
