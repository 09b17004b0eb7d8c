//! Dims in another order.

use crate::base::kind::Kind;
use crate::pattern::layout::Pattern;
use crate::rows::{RowMap, move_rows};
use crate::tensor::fill::{Fill, FillValue};
use crate::tensor::sparse::SparseTensor;
use burn::tensor::AsIndex;
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// The tensor with its dims reordered: dim `i` of the result is dim `axes[i]`.
    ///
    /// Sparse dims are permuted among themselves and dense dims among themselves. A coalesced tensor stays coalesced.
    /// Cost: a sort of the coordinates (CSR rank 2: a counting sort by column, kept with the pattern). Backward: rows
    /// move back.
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`, `shape_mismatch` for a dim given twice or one that would cross from sparse to dense;
    /// `would_densify` for CSR with more rows than [the limit](crate::Limits) of which almost all are empty.
    #[or_panic]
    pub fn try_permute(&self, axes: [impl AsIndex; D]) -> Result<Self> {
        const OP: &str = "permute";
        let axes = axes.iter().map(|axis| self.axis(OP, axis)).collect::<Result<Vec<_>>>()?;
        self.permuted(OP, &axes)
    }

    fn permuted(&self, op: &'static str, axes: &[usize]) -> Result<Self> {
        let sparse = self.sparse_dims();
        let mut seen = [false; D];
        for (to, &from) in axes.iter().enumerate() {
            if std::mem::replace(&mut seen[from], true) || (to < sparse) != (from < sparse) {
                let rule = "axes must name each dim once and keep sparse dims before dense ones, got {left} with \
                            [sparse, dense] dims {right}";
                return Err(SparseError::shape_mismatch(op, rule, axes, [sparse, self.dense_dims()]));
            }
        }
        let shape: Vec<usize> = axes[..sparse].iter().map(|&axis| self.pattern.shape()[axis]).collect();
        P::check_shape(op, &shape, self.pattern.memo().held())?;
        let (pattern, map) = permuted(&self.pattern, &axes[..sparse]);
        let moved = match map {
            None => self.values.clone(),
            Some(map) => move_rows(self.values.clone(), self.fill_row(), &map),
        };
        let dense: Vec<usize> = axes[sparse..].iter().map(|&axis| axis - sparse).collect();
        if dense.is_sorted() {
            return Ok(Self::from_parts(pattern, moved, self.dense_shape.clone(), self.fill.clone()));
        }
        let dense_shape: Vec<usize> = dense.iter().map(|&axis| self.dense_shape[axis]).collect();
        let turn = |rows| permute_blocks(rows, &self.dense_shape, &dense);
        // A fill of one number is the same in any order.
        let fill = match &self.fill {
            Fill::Value(FillValue::Block(own)) if own.row().dims()[1] > 1 => Fill::block(turn(own.row().clone())),
            fill => fill.clone(),
        };
        Ok(Self::from_parts(pattern, turn(moved), dense_shape, fill))
    }

    /// Two dims swapped (see [`permute`](Self::permute)).
    ///
    /// # Errors
    ///
    /// As [`try_permute`](Self::try_permute).
    #[or_panic]
    pub fn try_swap_dims(&self, dim1: impl AsIndex, dim2: impl AsIndex) -> Result<Self> {
        self.swapped("swap_dims", dim1, dim2)
    }

    /// The last two dims swapped: the transpose of a matrix, or of each matrix of a batch.
    ///
    /// # Errors
    ///
    /// As [`try_permute`](Self::try_permute); `axis_out_of_range` if there are no two dims.
    #[or_panic]
    pub fn try_transpose(&self) -> Result<Self> {
        self.swapped("transpose", -2, -1)
    }

    pub(crate) fn swapped(&self, op: &'static str, dim1: impl AsIndex, dim2: impl AsIndex) -> Result<Self> {
        let mut axes: [usize; D] = std::array::from_fn(|axis| axis);
        axes.swap(self.axis(op, dim1)?, self.axis(op, dim2)?);
        self.permuted(op, &axes)
    }
}

/// Reorders the dense dims inside value rows `[n, block]`, by one selection of columns.
fn permute_blocks<K: Kind>(
    rows: burn::tensor::Tensor<2, K>,
    dense_shape: &[usize],
    axes: &[usize],
) -> burn::tensor::Tensor<2, K> {
    let strides: Vec<usize> = (0..dense_shape.len()).map(|axis| dense_shape[axis + 1..].iter().product()).collect();
    let shape: Vec<usize> = axes.iter().map(|&axis| dense_shape[axis]).collect();
    let block: usize = shape.iter().product();
    let from = (0..block).map(|at| {
        let mut rest = at;
        let mut source = 0;
        for (&size, &axis) in shape.iter().zip(axes).rev() {
            source += rest % size * strides[axis];
            rest /= size;
        }
        source as i64
    });
    let device = rows.device().inner();
    let columns = crate::base::index::ints(from.collect(), [block], &device);
    rows.select(1, columns)
}

#[derive(PartialEq, Eq)]
struct Permuted(Vec<usize>);

/// The pattern with its dims reordered, and where its rows come from (`None`: they stay). It is kept with the pattern,
/// so a repeated transpose gives the same pattern.
fn permuted<P: Pattern>(pattern: &P, axes: &[usize]) -> (P, Option<RowMap>) {
    pattern.memo().get(Permuted(axes.to_vec()), || pattern.permute(axes))
}
