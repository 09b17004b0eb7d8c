//! Dims in reverse.

use crate::pattern::Pattern;
use crate::pattern::dims::{count_up, from_lines, lines, of_lines};
use crate::pattern::select::sorted;
use crate::rows::{RowMap, move_rows};
use crate::tensor::{Kind, SparseTensor, expect};
use sparse_core::{Result, SparseError};

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// The tensor with its elements in reverse order along each of `axes`.
    ///
    /// A coalesced tensor stays coalesced, an uncoalesced one is neither sorted nor summed. Backward: rows move back.
    /// Cost: a sort of the coordinates; none where all sparse dims are flipped (that reverses the order), where only
    /// dense ones are, or for an uncoalesced tensor.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let device = Device::flex();
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 2.0], [0.0, 3.0]], &device));
    /// assert_eq!(a.flip(&[-1]).to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), [2.0, 1.0, 3.0, 0.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`; `shape_mismatch` for an axis given twice.
    pub fn try_flip(&self, axes: &[isize]) -> Result<Self> {
        const OP: &str = "flip";
        let mut flipped = [false; D];
        for &axis in axes {
            let axis = self.axis(OP, axis)?;
            if std::mem::replace(&mut flipped[axis], true) {
                let rule = "axes must name each dim at most once";
                return Err(SparseError::ShapeMismatch { op: OP, rule, left: vec![axis], right: self.dims().to_vec() });
            }
        }
        let (sparse, dense) = flipped.split_at(self.sparse_dims());
        let mut out = self.flip_pattern(sparse);
        for dim in (0..dense.len()).filter(|&dim| dense[dim] && self.dense_shape[dim] > 1) {
            out = out.map_blocks(dim, self.dense_shape[dim], |rows| rows.flip([1]));
        }
        Ok(out)
    }

    /// [`try_flip`](Self::try_flip), with a panic in place of an error.
    #[track_caller]
    pub fn flip(&self, axes: &[isize]) -> Self {
        expect(self.try_flip(axes))
    }

    fn flip_pattern(&self, flipped: &[bool]) -> Self {
        let (shape, nnz, coordinates) = (self.pattern.shape(), self.nnz(), self.pattern.coordinates());
        let turned: Vec<usize> = (0..shape.len()).filter(|&dim| flipped[dim] && shape[dim] > 1).collect();
        if turned.is_empty() || nnz == 0 {
            return self.clone();
        }
        let mut lines = lines(coordinates);
        for dim in turned {
            lines[dim] = lines[dim].clone().neg().add_scalar(shape[dim] as i64 - 1);
        }
        if !self.is_coalesced() {
            let pattern = from_lines(lines, shape, nnz, false, coordinates);
            return Self::from_parts(pattern, self.values.clone(), self.dense_shape.clone(), self.fill.clone());
        }
        let (pattern, order) = if (0..shape.len()).all(|dim| flipped[dim] || shape[dim] == 1) {
            let order = count_up(nnz, coordinates).neg().add_scalar(nnz as i64 - 1);
            let lines = lines.into_iter().map(|line| line.select(0, order.clone())).collect();
            (from_lines(lines, shape, nnz, true, coordinates), order)
        } else {
            sorted(of_lines(lines, shape, nnz, coordinates), shape)
        };
        let values = move_rows(self.values.clone(), self.fill_row(), &RowMap::permutation(order));
        Self::from_parts(pattern, values, self.dense_shape.clone(), self.fill.clone())
    }
}
