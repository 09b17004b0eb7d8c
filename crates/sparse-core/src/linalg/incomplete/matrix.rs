//! The matrix that is factored.

use crate::linalg::compressed::Compressed;
use crate::{Element, Float, Index, Result, SparseError};
use core::ops::Range;

/// Compressed rows: pointers, columns, which ascend in each row, and values.
pub type RowsOf<T, I> = (Vec<I>, Vec<I>, Vec<T>);

/// A matrix, and the operation that errors name.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a, T, I> {
    pub op: &'static str,
    pub a: Compressed<'a, I>,
    pub values: &'a [T],
}

impl<'a, T: Float + Element<Acc = T>, I: Index> Matrix<'a, T, I> {
    pub fn rows(&self) -> usize {
        self.a.ptr.len().saturating_sub(1)
    }

    pub fn span(&self, r: usize) -> Range<usize> {
        self.a.ptr[r].to_usize()..self.a.ptr[r + 1].to_usize()
    }

    pub fn cols(&self, r: usize) -> &'a [I] {
        &self.a.idx[self.span(r)]
    }

    /// Columns and values of a row.
    pub fn row(&self, r: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.span(r).map(|k| {
            let at = self.a.perm.map_or(k, |perm| perm[k].to_usize());
            (self.a.idx[k].to_usize(), T::wide(self.values[at]))
        })
    }

    /// The number that the result has of `x`.
    pub fn rounded(x: f64) -> f64 {
        T::wide(T::nearest(x))
    }

    /// Checks that the result can have these numbers in row `r`.
    pub fn finite(&self, r: usize, numbers: impl IntoIterator<Item = f64>) -> Result<()> {
        match numbers.into_iter().map(Self::rounded).find(|x| !x.is_finite()) {
            None => Ok(()),
            Some(x) => Err(self.pivot("the elements must be finite", r, x)),
        }
    }

    /// About a number of row `r` that is no use, mostly its pivot.
    pub fn pivot(&self, what: &str, r: usize, pivot: f64) -> SparseError {
        SparseError::invalid(self.op, format!("{what}, got {pivot:e} in row {r}"))
    }

    /// Checks that an index can count the elements of the result.
    pub fn counts(&self, elements: usize) -> Result<()> {
        match elements <= I::limit() {
            true => Ok(()),
            false => Err(SparseError::overflow(self.op, "the number of elements", I::limit(), elements)),
        }
    }
}
