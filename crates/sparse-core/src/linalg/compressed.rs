//! A sparse matrix as products read it.

use crate::Index;
use crate::element::Ids;

/// The compressed rows of a sparse matrix: element `k` of row `r`, for `k` in `ptr[r]..ptr[r + 1]`, lies in column
/// `idx[k]` and has the value `values[perm[k]]`, or `values[k]` without a permutation.
///
/// The transpose of a CSR matrix is its elements grouped by column: their pointers, rows and permutation, over the values
/// of the original.
#[derive(Debug, Clone, Copy)]
pub struct Compressed<'a, I> {
    /// Where each row starts, and the end: `rows + 1` entries.
    pub ptr: &'a [I],
    /// Column of every element.
    pub idx: &'a [I],
    /// Position of every element's value; `None` when they are in order.
    pub perm: Option<&'a [I]>,
}

impl<'a, I: Index> Compressed<'a, I> {
    /// The same without the type of the indices.
    pub(super) fn view(self) -> View<'a> {
        View { ptr: I::list(self.ptr), idx: I::list(self.idx), perm: self.perm.map(I::list) }
    }
}

/// [`Compressed`] rows with indices of either type.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) ptr: Ids<'a>,
    pub(super) idx: Ids<'a>,
    pub(super) perm: Option<Ids<'a>>,
}
