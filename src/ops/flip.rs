//! Dims in reverse.

use super::broadcast::read_rows;
use crate::base::coordinates::{by_dim, join_dims};
use crate::base::index::count_up;
use crate::base::kind::Kind;
use crate::pattern::dims::from_dims;
use crate::pattern::layout::Pattern;
use crate::pattern::select::sorted;
use crate::rows::RowMap;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{AsIndex, Int, Tensor};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// The tensor with its elements in reverse order along each of `axes`: an array, as for Burn's, or a list.
    ///
    /// A coalesced tensor stays coalesced, an uncoalesced one is neither sorted nor summed. Backward: rows move back.
    /// Cost: a sort of the coordinates; none where all sparse dims are flipped (that reverses the order), where only
    /// dense ones are, or for an uncoalesced tensor. The pattern is kept with this one.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let device = Device::flex();
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 2.0], [0.0, 3.0]], &device));
    /// assert_eq!(a.flip([-1]).to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), [2.0, 1.0, 3.0, 0.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`; `shape_mismatch` for a dim given twice.
    #[or_panic]
    pub fn try_flip<I: AsIndex>(&self, axes: impl AsRef<[I]>) -> Result<Self> {
        const OP: &str = "flip";
        let mut flipped = [false; D];
        for &axis in axes.as_ref() {
            let axis = self.axis(OP, axis)?;
            if std::mem::replace(&mut flipped[axis], true) {
                let rule = "axes must name each dim at most once, got dim {left:1} twice for shape {right}";
                return Err(SparseError::ShapeMismatch { op: OP, rule, left: vec![axis], right: self.dims().to_vec() });
            }
        }
        Ok(self.flipped(&flipped))
    }

    /// The tensor in reverse order along the dims marked.
    pub(super) fn flipped(&self, dims: &[bool; D]) -> Self {
        let (sparse, dense) = dims.split_at(self.sparse_dims());
        let mut out = self.flip_pattern(sparse);
        for dim in (0..dense.len()).filter(|&dim| dense[dim] && self.dense_shape[dim] > 1) {
            out = out.map_blocks(dim, self.dense_shape[dim], |rows| rows.flip([1]));
        }
        out
    }

    fn flip_pattern(&self, flipped: &[bool]) -> Self {
        // Along a dim of size 1 nothing turns.
        let turns: Vec<bool> =
            self.pattern.shape().iter().zip(flipped).map(|(&size, &turns)| turns && size > 1).collect();
        if !turns.contains(&true) || self.nnz() == 0 {
            return self.clone();
        }
        let (memo, key) = (self.pattern.memo(), Flipped(turns.clone()));
        let (pattern, values) = if self.is_coalesced() {
            let (pattern, map) = memo.get(key, || {
                let (pattern, order) = flip_sorted(&self.pattern, &turns);
                (pattern, RowMap::permutation(order))
            });
            (pattern, read_rows(self.values.clone(), &map))
        } else {
            let pattern: P = memo.get(key, || {
                let (shape, coordinates) = (self.pattern.shape(), self.pattern.coordinates());
                from_dims(flip_dims(&self.pattern, &turns), shape, self.nnz(), false, coordinates)
            });
            (pattern, self.values.clone())
        };
        Self::from_parts(pattern, values, self.dense_shape.clone(), self.fill.clone())
    }
}

#[derive(PartialEq, Eq)]
struct Flipped(Vec<bool>);

fn flip_dims<P: Pattern>(pattern: &P, turns: &[bool]) -> Vec<Tensor<1, Int>> {
    let mut dims = by_dim(pattern.coordinates());
    for dim in (0..dims.len()).filter(|&dim| turns[dim]) {
        dims[dim] = dims[dim].clone().neg().add_scalar(pattern.shape()[dim] as i64 - 1);
    }
    dims
}

/// The pattern of a coalesced one flipped, and where its elements stood.
fn flip_sorted<P: Pattern>(pattern: &P, turns: &[bool]) -> (P, Tensor<1, Int>) {
    let (shape, nnz, coordinates) = (pattern.shape(), pattern.nnz(), pattern.coordinates());
    let dims = flip_dims(pattern, turns);
    if (0..shape.len()).any(|dim| !turns[dim] && shape[dim] > 1) {
        return sorted(join_dims(dims, shape, nnz, coordinates), shape);
    }
    let order = count_up(nnz, coordinates).neg().add_scalar(nnz as i64 - 1);
    let dims = dims.into_iter().map(|ids| ids.select(0, order.clone())).collect();
    (from_dims(dims, shape, nnz, true, coordinates), order)
}
