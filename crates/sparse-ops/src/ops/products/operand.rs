//! The dense operand of a product with a sparse tensor: which sizes fit, and how kernels see it.
//!
//! Kernels multiply values `[nnz, heads]` by rows `[n, heads * f]`, where value `h` multiplies the columns of head `h`.
//! So the dims of the operand that count rows go to the front, those of the sparse tensor's dense dims follow, and all
//! others are features.

use crate::base::empty::nothing;
use crate::base::exact::Exact;
use crate::base::kind::{Kind, Numeric};
use crate::ops::reductions::folds::Blocks;
use crate::pattern::layout::Pattern;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{Shape, Tensor};
use sparse_core::{Result, SparseError};

/// A dense operand `[outer.., batch?, n, dense dims.., f]` of rank `E`. An operand of one rank less has no dim `f`.
pub(crate) struct Operand<const E: usize> {
    /// The operand's own sizes, and those after broadcasting.
    given: [usize; E],
    full: [usize; E],
    /// The sizes of the product.
    out: [usize; E],
    /// Number of leading dims that all elements share: they count features.
    outer: usize,
    /// The dim of the rows, and the one after the dense dims.
    at: usize,
    end: usize,
    /// Dense dims of the sparse tensor.
    own: Vec<usize>,
}

impl<const E: usize> Operand<E> {
    /// Checks that a sparse tensor has a product with a dense operand of these sizes. Dims of the batch and dense dims
    /// broadcast.
    pub(crate) fn new<P: Pattern, const D: usize, K: Numeric>(
        op: &'static str,
        sparse: &SparseTensor<P, D, K>,
        given: [usize; E],
    ) -> Result<Self> {
        Self::of(sparse.pattern.shape(), &sparse.dense_shape, given).ok_or_else(|| {
            let rule = if sparse.dense_dims() == 0 {
                "the right operand {right} must have as many rows as the left one {left} has columns, and its batch"
            } else {
                "the right operand {right} must have as many rows as the left one {left} has columns, its batch and \
                 its dense dims, then features"
            };
            SparseError::shape_mismatch(op, rule, sparse.dims(), given)
        })
    }

    /// The operand of a pattern of this shape, a matrix or a batch of matrices, with these dense dims.
    fn of(pattern: &[usize], own: &[usize], given: [usize; E]) -> Option<Self> {
        let batched = pattern.len() - 2;
        let features = usize::from(E + 1 != pattern.len() + own.len());
        let at = E.checked_sub(1 + own.len() + features).filter(|&at| at >= batched)?;
        let end = at + 1 + own.len();
        let mut full = given;
        for (full, &own) in full[at + 1..end].iter_mut().zip(own) {
            *full = broadcast(own, *full)?;
        }
        // A batch of one matrix is that matrix.
        let several = batched == 1 && pattern[0] != 1;
        if several {
            full[at - 1] = broadcast(pattern[0], full[at - 1]).filter(|&batch| batch == pattern[0])?;
        }
        let mut out = full;
        out[at] = pattern[batched];
        let fits = given[at] == pattern[batched + 1];
        fits.then(|| Self { given, full, out, outer: at - usize::from(several), at, end, own: own.to_vec() })
    }

    /// The sizes of the product.
    pub(crate) fn out(&self) -> [usize; E] {
        self.out
    }

    /// The sizes that number the rows of the sparse tensor in the product, all others 1.
    pub(crate) fn lines(&self) -> [usize; E] {
        std::array::from_fn(|dim| if (self.outer..=self.at).contains(&dim) { self.out[dim] } else { 1 })
    }

    /// The dim that the product sums over.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The order of dims that kernels see.
    fn axes(&self) -> [usize; E] {
        let mut axes = (self.outer..self.end).chain(0..self.outer).chain(self.end..E);
        std::array::from_fn(|_| axes.next().expect("each dim once"))
    }

    /// Whether elements change their places for that order.
    fn moves(&self, sizes: &[usize; E]) -> bool {
        sizes[..self.outer].iter().product::<usize>() > 1 && !sizes.contains(&0)
    }

    /// Rows and columns of an operand or product of these sizes, as kernels see it.
    fn flat(&self, sizes: &[usize; E]) -> [usize; 2] {
        let outer: usize = sizes[..self.outer].iter().product();
        let columns: usize = sizes[self.at + 1..].iter().product();
        [sizes[self.outer..=self.at].iter().product(), outer * columns]
    }

    /// The operand as rows `[n, heads * f]`.
    pub(crate) fn rows<K: Kind>(&self, dense: Tensor<E, K>) -> Tensor<2, K> {
        let dense = if self.full == self.given { dense } else { dense.expand(Shape::from(self.full)) };
        let dense = if self.moves(&self.full) { dense.permute(self.axes().map(|axis| axis as isize)) } else { dense };
        dense.reshape(Exact(self.flat(&self.full)))
    }

    /// The product, from rows `[m, heads * f]`.
    pub(crate) fn product<K: Kind>(&self, rows: Tensor<2, K>) -> Tensor<E, K> {
        if !self.moves(&self.out) {
            return rows.reshape(Exact(self.out));
        }
        let axes = self.axes();
        let mut back = [0isize; E];
        axes.iter().enumerate().for_each(|(place, &axis)| back[axis] = place as isize);
        rows.reshape(Exact(axes.map(|axis| self.out[axis]))).permute(back)
    }

    /// Number of operands that share the pattern. One that has no elements, or whose product has none, counts as one.
    pub(crate) fn batch(&self) -> usize {
        if self.moves(&self.full) && self.moves(&self.out) { self.full[..self.outer].iter().product() } else { 1 }
    }

    /// The operands one below the other, each as rows `[n, heads * f]`.
    pub(crate) fn below<K: Kind>(&self, dense: Tensor<E, K>) -> Tensor<2, K> {
        let dense = if self.full == self.given { dense } else { dense.expand(Shape::from(self.full)) };
        let ([rows, columns], batch) = (self.flat(&self.full), self.batch());
        dense.reshape(Exact([rows * batch, columns / batch]))
    }

    /// The values `[nnz, heads]` for these rows. Dense dims of size 1 at the end share their value among the columns.
    pub(crate) fn values<K: Kind>(&self, values: Tensor<2, K>) -> Tensor<2, K> {
        let heads = self.own.iter().rposition(|&size| size != 1).map_or(0, |last| last + 1);
        let joint = &self.full[self.at + 1..][..heads];
        if self.own[..heads] == *joint {
            return values;
        }
        let repeated: Vec<bool> = self.own[..heads].iter().map(|&size| size == 1).collect();
        if values.dims()[0] == 0 || joint.contains(&0) {
            return nothing([values.dims()[0], joint.iter().product()], values.dtype(), &[&values]);
        }
        Blocks::new(joint, &repeated).spread(values)
    }

    /// The fill's row `[1, block]`, for a product with sums over the rows of the operand.
    pub(crate) fn fill<K: Kind>(&self, row: Tensor<2, K>) -> Tensor<E, K> {
        let mut shape = [1; E];
        shape[self.at + 1..self.end].copy_from_slice(&self.own);
        row.reshape(Exact(shape))
    }
}

/// The size of a dim that is 1 in one of two operands, or the same in both.
pub(crate) fn broadcast(a: usize, b: usize) -> Option<usize> {
    match (a, b) {
        (1, size) | (size, 1) => Some(size),
        _ => (a == b).then_some(a),
    }
}
