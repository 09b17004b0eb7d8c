//! Dims in reverse.

use crate::base::coordinates::{by_dim, join_dims};
use crate::base::index::{count_up, count_up_on};
use crate::base::kind::Kind;
use crate::ops::elementwise::broadcast::read_rows;
use crate::pattern::dims::from_dims;
use crate::pattern::layout::Pattern;
use crate::pattern::memo::Key;
use crate::pattern::select::sorted;
use crate::policy;
use crate::rows::RowMap;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{AsIndex, Int, Tensor};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// Reverses the order of the elements along each of `axes`, an array or a list.
    ///
    /// A coalesced tensor stays coalesced; an uncoalesced one is neither sorted nor summed. Backward: rows move back.
    /// Cost: a sort of the coordinates. No sort is needed if all sparse dims are flipped (this reverses the storage
    /// order), if only dense dims are, for rows of CSR, or for an uncoalesced tensor. The new pattern is kept with this
    /// one.
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
                return Err(SparseError::shape_mismatch(OP, rule, [axis], self.dims()));
            }
        }
        Ok(self.flipped(&flipped))
    }

    /// The tensor in reverse order along the dims marked.
    pub(crate) fn flipped(&self, dims: &[bool; D]) -> Self {
        let (sparse, dense) = dims.split_at(self.sparse_dims());
        let mut out = self.flip_pattern(sparse);
        for dim in (0..dense.len()).filter(|&dim| dense[dim] && self.dense_shape[dim] > 1) {
            out = out.map_blocks(dim, self.dense_shape[dim], |rows| rows.flip([1]));
        }
        out
    }

    fn flip_pattern(&self, flipped: &[bool]) -> Self {
        // Flipping a dim of size 1 changes nothing.
        let turns: Vec<bool> =
            self.pattern.shape().iter().zip(flipped).map(|(&size, &turns)| turns && size > 1).collect();
        if !turns.contains(&true) || self.nnz() == 0 {
            return self.clone();
        }
        if turns[0] && !turns[1..].contains(&true) {
            let index = || {
                let size = self.pattern.shape()[0];
                count_up_on(size, &self.pattern.device(), self.pattern.index_dtype()).neg().add_scalar(size as i64 - 1)
            };
            if let Some(out) = self.slices_in_order(Flipped(turns.clone()), index) {
                return out;
            }
        }
        let dims = |pattern: &P| flip_dims(pattern, &turns);
        self.relocated(Flipped(turns.clone()), dims, |dims| flip_sorted(&self.pattern, dims, &turns))
    }

    /// The slices along the first dim in the order of an index, a permutation, if the layout has pointers to them. The
    /// pattern and the positions are kept with this pattern, under `key`.
    pub(crate) fn slices_in_order(&self, key: impl Key, index: impl FnOnce() -> Tensor<1, Int>) -> Option<Self> {
        let slices = self.pattern.first_slices()?;
        let (pattern, map) = self.pattern.memo().get(key, || {
            let (pattern, order) = slices.take(&index(), Some(self.nnz()));
            (pattern, RowMap::permutation(order))
        });
        let values = read_rows(self.values.clone(), &map);
        Some(Self::from_parts(pattern, values, self.dense_shape.clone(), self.fill.clone()))
    }

    /// Moves every stored element to other coordinates; distinct coordinates stay distinct. For a coalesced tensor
    /// `sort` makes the pattern of the new coordinates and gives the old position of each element. Both are kept with
    /// this pattern, under `key`.
    pub(crate) fn relocated(
        &self,
        key: impl Key,
        coordinates: impl FnOnce(&P) -> Vec<Tensor<1, Int>>,
        sort: impl FnOnce(Vec<Tensor<1, Int>>) -> (P, Tensor<1, Int>),
    ) -> Self {
        let (own, memo) = (&self.pattern, self.pattern.memo());
        let (pattern, values) = if self.is_coalesced() {
            let (pattern, map) = memo.get(key, || {
                let (pattern, order) = sort(coordinates(own));
                (pattern, RowMap::permutation(order))
            });
            (pattern, read_rows(self.values.clone(), &map))
        } else {
            let pattern: P =
                memo.get(key, || from_dims(coordinates(own), own.shape(), self.nnz(), false, own.coordinates()));
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

/// The pattern of the flipped coordinates `dims` of a coalesced pattern, and the old place of each element.
fn flip_sorted<P: Pattern>(pattern: &P, dims: Vec<Tensor<1, Int>>, turns: &[bool]) -> (P, Tensor<1, Int>) {
    let (shape, nnz, coordinates) = (pattern.shape(), pattern.nnz(), pattern.coordinates());
    if (0..shape.len()).any(|dim| !turns[dim] && shape[dim] > 1) {
        return sorted(join_dims(dims, shape, nnz, coordinates), shape);
    }
    let order = count_up(nnz, coordinates).neg().add_scalar(nnz as i64 - 1);
    let dims = dims.into_iter().map(|ids| policy::pick(&ids, &order)).collect();
    (from_dims(dims, shape, nnz, true, coordinates), order)
}
