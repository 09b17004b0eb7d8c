//! The factors by name.

use super::blocks::blocks;
use super::cholesky::cholesky;
use super::lu::lu;
use super::matrix::{Matrix, RowsOf};
use super::threshold::threshold;
use crate::linalg::compressed::Compressed;
use crate::{Element, Float, Index, Result};

/// What is computed of a matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Incomplete {
    /// The lower factor of `L L^T`, at the stored elements of the lower triangle, IC(0); the upper one is not read.
    Cholesky {
        /// The diagonal is multiplied by `1 + shift` before.
        shift: f64,
    },
    /// Both factors of `L U` at the stored elements, ILU(0): `L` beside the diagonal, which is 1, and `U` from it on.
    Lu,
    /// The same with the largest elements of each row, wherever they are, ILUT.
    Threshold {
        /// Most elements of a row on each side of the diagonal.
        fill: usize,
        /// Elements that are smaller than this part of the Euclidean norm of their row of the matrix are left out,
        /// those of `L` by their size before they are divided by a pivot.
        drop: f64,
    },
    /// The inverses of the dense blocks on the diagonal; the last one may be smaller.
    Blocks {
        /// Rows of a block.
        size: usize,
    },
}

/// The factors or inverses of a square matrix whose columns ascend in each row, as one matrix.
///
/// IC(0): for each stored `k <= i` `l_ik = (a_ik - sum over j < k of l_ij l_kj) / l_kk`, and `l_ii` is the root of
/// that difference (Meijerink and van der Vorst 1977); a shift as Manteuffel (1980) has it. ILU(0) and ILUT: Saad,
/// "Iterative methods for sparse linear systems", 2003, algorithms 10.4 and 10.6. Time: for each element of the result
/// in row `i` and column `k < i`, the elements of row `k`; of ILUT also for those that row `i` has while it is
/// eliminated and that do not stay, so at most `rows^2 (fill + log rows)`. Blocks: `rows * size^2`. One thread, but for
/// blocks.
///
/// # Errors
///
/// `Invalid` with the row of a pivot that is zero, not stored or not finite, or of IC(0) not positive, and of another
/// element of the result, or of the matrix of ILUT, that is not finite; all of this in the element type. `Overflow` if
/// the result has more elements than an index can count.
///
/// # Panics
///
/// When lengths disagree, pointers descend, an index is out of range, or a block has no rows.
pub fn incomplete<T: Float + Element<Acc = T>, I: Index>(
    op: &'static str,
    a: Compressed<'_, I>,
    values: &[T],
    how: Incomplete,
) -> Result<RowsOf<T, I>> {
    let a = Matrix { op, a, values };
    match how {
        Incomplete::Cholesky { shift } => cholesky(a, shift),
        Incomplete::Lu => lu(a),
        Incomplete::Threshold { fill, drop } => threshold(a, fill, drop),
        Incomplete::Blocks { size } => blocks(a, size),
    }
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use super::Incomplete;
    use crate::Result;
    use crate::dynamic::slices::{AnyElement, AnyIndex, ElementVec, Elements, IdVec, Ids, with_ids};
    use crate::linalg::compressed::dynamic::DynCompressed;

    /// See [`incomplete`](crate::incomplete()): of f32 and f64.
    ///
    /// # Errors
    ///
    /// Those of [`incomplete`](crate::incomplete()).
    ///
    /// # Panics
    ///
    /// For other types.
    pub fn incomplete(
        op: &'static str,
        a: DynCompressed<'_>,
        values: Elements<'_>,
        how: Incomplete,
    ) -> Result<(IdVec, IdVec, ElementVec)> {
        macro_rules! factors {
            ($T:ty) => {
                with_ids!(a.ptr, I => {
                    let (ptr, idx, out) = super::incomplete::<$T, I>(op, a.of(), <$T>::elements(values), how)?;
                    Ok((I::id_vec(ptr), I::id_vec(idx), <$T>::element_vec(out)))
                })
            };
        }
        match values {
            Elements::F32(_) => factors!(f32),
            Elements::F64(_) => factors!(f64),
            other => panic!("{op}: values must be f32 or f64, got {}", other.type_name()),
        }
    }
}
