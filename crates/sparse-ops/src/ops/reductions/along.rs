//! The dims of a reduction.

use crate::base::empty::nothing;
use crate::base::kind::Kind;
use crate::base::sizes::cells;
use crate::ops::reductions::folds::Blocks;
use crate::pattern::layout::Pattern;
use crate::pattern::lines::Lines;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{DType, Tensor};
use sparse_core::{Result, SparseError};
use std::sync::Arc;

/// The dims of a reduction.
pub(crate) struct Along {
    axes: Vec<usize>,
    /// Which sparse dims.
    pub(crate) sparse: Vec<bool>,
    pub(crate) blocks: Blocks,
    /// Product of the sparse dims among them.
    pub(crate) lines: u128,
}

impl Along {
    pub(crate) fn new<P: Pattern, const D: usize, K: Kind>(
        op: &'static str,
        of: &SparseTensor<P, D, K>,
        axes: &[isize],
    ) -> Result<Self> {
        let axes = axes.iter().map(|&axis| of.axis(op, axis)).collect::<Result<Vec<usize>>>()?;
        let mut along = [false; D];
        if axes.iter().any(|&axis| std::mem::replace(&mut along[axis], true)) {
            let rule = "dims must be named at most once, got {left} for shape {right}";
            return Err(SparseError::shape_mismatch(op, rule, axes, of.dims()));
        }
        let (sparse, dense) = along.split_at(of.sparse_dims());
        let sizes: Vec<usize> =
            of.pattern.shape().iter().zip(sparse).filter(|(_, along)| **along).map(|s| *s.0).collect();
        Ok(Self { axes, sparse: sparse.to_vec(), blocks: Blocks::new(&of.dense_shape, dense), lines: cells(&sizes) })
    }

    /// How many elements become one.
    pub(crate) fn size(&self) -> u128 {
        self.lines.saturating_mul(self.blocks.size as u128)
    }

    /// The error of a maximum or minimum along a dim of size 0.
    pub(crate) fn empty_dim(&self, op: &'static str, shape: &[usize]) -> SparseError {
        let dim = self.axes.iter().find(|&&axis| shape[axis] == 0).expect("a dim of size 0");
        SparseError::empty_input(op, format!("dim {dim} must not be empty, got shape {shape:?}"))
    }

    /// Whether there are no elements to reduce, or no elements in the result.
    pub(crate) fn is_trivial(&self) -> bool {
        self.size() == 0 || self.blocks.kept() == 0
    }

    /// The lines of a pattern, where sparse dims are reduced.
    pub(crate) fn of<P: Pattern>(&self, pattern: &P) -> Option<Arc<Lines<P>>> {
        self.sparse.contains(&true).then(|| Lines::of(pattern, &self.sparse))
    }

    /// A result of the right shape that stores nothing.
    pub(crate) fn empty_result<P: Pattern, const D: usize, K: Kind, K2: Kind>(
        &self,
        of: &SparseTensor<P, D, K>,
        dtype: DType,
        fill: Fill<K2>,
    ) -> SparseTensor<P, D, K2> {
        let shape = of.pattern.shape().iter().zip(&self.sparse).map(|(&size, &along)| if along { 1 } else { size });
        let shape: Vec<usize> = shape.collect();
        let none = Tensor::empty([shape.len(), 0], (&of.pattern.device(), of.pattern.index_dtype()));
        let pattern = P::from_coordinates(none, &shape, true);
        let values = of.fill.without_gradient(nothing([0, self.blocks.kept()], dtype, &[&of.values]));
        SparseTensor::from_parts(pattern, values, self.blocks.shape.clone(), fill)
    }
}
