//! The form of a sparse matrix that products read.

use crate::Index;
use crate::element::Ids;

/// The compressed rows of a sparse matrix. The elements of row `r` are `k` in `ptr[r]..ptr[r + 1]`. Element `k` is in
/// column `idx[k]` and has the value `values[perm[k]]`, or `values[k]` without a permutation.
///
/// The transpose of a CSR matrix is its elements grouped by column: `ptr` are the column pointers, `idx` the row of
/// each element, and `perm` the position of its value in the original values.
#[derive(Debug, Clone, Copy)]
pub struct Compressed<'a, I> {
    /// Where each row starts, then the end of the last row: `rows + 1` entries.
    pub ptr: &'a [I],
    /// Column of every element.
    pub idx: &'a [I],
    /// Position of the value of every element; `None` if the values are in order.
    pub perm: Option<&'a [I]>,
}

impl<'a, I: Index> Compressed<'a, I> {
    /// The same rows, with the index type erased.
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

/// For types that are known at run time.
pub(super) mod dynamic {
    use super::Compressed;
    use crate::dynamic::slices::{AnyIndex, Ids};
    use core::ops::Range;

    /// [`Compressed`] rows.
    #[derive(Clone, Copy, Debug)]
    pub struct DynCompressed<'a> {
        /// Where each row starts, then the end of the last row: `rows + 1` entries.
        pub ptr: Ids<'a>,
        /// Column of every element.
        pub idx: Ids<'a>,
        /// Position of the value of every element; `None` if the values are in order.
        pub perm: Option<Ids<'a>>,
    }

    impl<'a> DynCompressed<'a> {
        /// Some of the rows.
        ///
        /// # Panics
        ///
        /// If there are fewer rows.
        pub fn part(self, rows: Range<usize>) -> Self {
            let ptr = match self.ptr {
                Ids::I32(ptr) => Ids::I32(&ptr[rows.start..=rows.end]),
                Ids::I64(ptr) => Ids::I64(&ptr[rows.start..=rows.end]),
            };
            Self { ptr, ..self }
        }

        pub(crate) fn rows(&self) -> usize {
            self.ptr.len().saturating_sub(1)
        }

        pub(crate) fn of<I: AnyIndex>(self) -> Compressed<'a, I> {
            Compressed { ptr: I::ids(self.ptr), idx: I::ids(self.idx), perm: self.perm.map(I::ids) }
        }
    }
}
