//! Lines: groups of stored elements that differ only in their coordinates along some axes. Reductions and softmax work
//! on them.

use super::layout::Pattern;
use super::memo::{Made, Memo};
use crate::base::coordinates::row;
use crate::base::exact::Exact;
use crate::base::index::{differences, index_tensor};
use crate::base::lazy::Lazy;
use crate::kernel;
use crate::rows::RowSums;
use burn::tensor::{Int, Tensor};
use std::sync::Arc;

#[derive(PartialEq, Eq)]
struct Along(Vec<bool>);

/// The lines of a pattern along some axes: its stored elements, grouped by their other coordinates. Lines without a
/// stored element are left out.
pub(crate) struct Lines<P> {
    /// One element for each line: the pattern with those axes of size 1. Coalesced.
    pub(crate) pattern: P,
    /// The stored elements of each line. If the axes are the last sparse dims, they are consecutive and need no order.
    pub(crate) sums: RowSums,
    /// Number of elements of a line, stored or not; at most `i64::MAX`.
    pub(crate) size: usize,
    stored: usize,
    missing: Lazy<Tensor<1, Int>>,
}

/// Whether a line is a row of a matrix, or of a batch.
fn along_rows(axes: &[bool]) -> bool {
    let marked = axes.iter().filter(|&&along| along).count();
    marked == 1 && axes.last() == Some(&true)
}

impl<P: Pattern> Made for Arc<Lines<P>> {
    fn memos(&self) -> Vec<&Memo> {
        vec![self.pattern.memo()]
    }
}

impl<P: Pattern> Lines<P> {
    /// The lines along the `axes` marked. Kept with the pattern.
    pub(crate) fn of(pattern: &P, axes: &[bool]) -> Arc<Self> {
        pattern.memo().get(Along(axes.to_vec()), || Arc::new(Self::new(pattern, axes)))
    }

    /// Reads the device once (how many lines there are), unless all axes are marked.
    fn new(pattern: &P, axes: &[bool]) -> Self {
        let (old, stored) = (pattern.shape(), pattern.nnz());
        let along = |&(dim, _): &(usize, &usize)| axes[dim];
        let size = old.iter().enumerate().filter(along).fold(1usize, |size, (_, &n)| size.saturating_mul(n));
        let shape: Vec<usize> = old.iter().zip(axes).map(|(&size, &along)| if along { 1 } else { size }).collect();
        let (device, dtype) = (pattern.device(), pattern.index_dtype());
        let (indices, order, ptr) = if stored == 0 {
            let none = Tensor::empty([axes.len(), 0], (&device, dtype));
            (none, None, Tensor::zeros([1], (&device, dtype)))
        } else if axes.iter().all(|&along| along) {
            let ptr = Tensor::<1, Int>::arange(0..2, (&device, dtype)).mul_scalar(stored as i64);
            (Tensor::zeros([axes.len(), 1], (&device, dtype)), None, ptr)
        } else if let Some((indices, ptr)) = along_rows(axes).then(|| pattern.filled_rows()).flatten() {
            (indices, None, ptr)
        } else {
            let coordinates = pattern.coordinates();
            let rows = axes.iter().enumerate().map(|(dim, &along)| {
                let own = row(coordinates, dim);
                if along { own.zeros_like() } else { own }
            });
            let (indices, order, ptr) = kernel::coalesce(Tensor::cat(rows.collect(), 0), &shape);
            // The elements are sorted already, and a stable sort keeps their order.
            let together = pattern.is_coalesced() && axes.is_sorted();
            (indices, (!together).then_some(order), ptr)
        };
        Self {
            pattern: P::from_coordinates(indices, &shape, true),
            sums: RowSums::new(order, ptr),
            size: size.min(i64::MAX as usize),
            stored,
            missing: Lazy::new(),
        }
    }

    /// Number of lines.
    pub(crate) fn len(&self) -> usize {
        self.pattern.nnz()
    }

    /// The line of every stored element.
    pub(crate) fn owner(&self) -> &Tensor<1, Int> {
        self.sums.owner(self.stored)
    }

    /// `(order, ptr)` of the lines, as `put` takes them.
    pub(crate) fn groups(&self) -> (Tensor<1, Int>, Tensor<1, Int>) {
        self.sums.groups(self.stored)
    }

    /// Number of stored elements of each line (duplicates count).
    pub(crate) fn counts(&self) -> Tensor<1, Int> {
        differences(self.sums.ptr())
    }

    /// Number of elements of each line that are not stored, `[lines, 1]`; for a coalesced pattern.
    pub(crate) fn missing(&self) -> Tensor<2, Int> {
        let missing = self.missing.get(|| {
            let dtype = sparse_burn::index_dtype_for(self.size.max(self.stored));
            index_tensor(self.counts(), dtype).mul_scalar(-1).add_scalar(self.size as i64)
        });
        missing.clone().reshape(Exact([self.len(), 1]))
    }
}
