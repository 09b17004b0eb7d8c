//! Shifting elements along dims: those that leave at one end come back at the other.

use crate::base::coordinates::{by_dim, join_dims};
use crate::base::index::{count_up_on, index_tensor};
use crate::base::kind::Kind;
use crate::pattern::layout::Pattern;
use crate::pattern::select::sorted;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{AsIndex, Int, Tensor};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// Shifts the elements along each of `dims`: element `i` goes to `(i + shift) mod size`.
    ///
    /// A shift may be negative, or larger than its dim. If a dim is named several times, its shifts add up. As for
    /// Burn's tensors there must be as many shifts as dims; both are arrays or lists. Works for every layout, kind and
    /// fill. Shape and dtype stay.
    ///
    /// A coalesced tensor stays coalesced; an uncoalesced one is neither sorted nor summed. Backward: rows move back.
    /// Cost: one pass over coordinates and values. If a sparse dim is shifted, the coordinates of a coalesced tensor
    /// are also sorted, but for rows of CSR. The new pattern is kept with this one, so a loop sorts once. The meaning
    /// is that of PyTorch's `roll`.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]], &Device::flex()));
    /// let b = a.roll([1, -1], [0, 1]);
    /// assert_eq!(b.to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), [3.0, 0.0, 0.0, 0.0, 2.0, 1.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`; `shape_mismatch` if there are not as many shifts as dims.
    #[or_panic]
    pub fn try_roll<Shift: AsIndex, Dim: AsIndex>(
        &self,
        shifts: impl AsRef<[Shift]>,
        dims: impl AsRef<[Dim]>,
    ) -> Result<Self> {
        const OP: &str = "roll";
        let (shifts, dims) = (shifts.as_ref(), dims.as_ref());
        if shifts.len() != dims.len() {
            let rule = "there must be as many shifts as dims: got {left:1} and {right:1}";
            return Err(SparseError::shape_mismatch(OP, rule, [shifts.len()], [dims.len()]));
        }
        let mut total = [0; D];
        for (shift, &dim) in shifts.iter().zip(dims) {
            let dim = self.axis(OP, dim)?;
            total[dim] = wrapped(shift.as_index(), total[dim], self.dims()[dim]);
        }
        let (sparse, dense) = total.split_at(self.sparse_dims());
        let mut out = self.roll_pattern(sparse);
        for dim in (0..dense.len()).filter(|&dim| dense[dim] > 0) {
            let shift = dense[dim];
            out = out.map_blocks(dim, self.dense_shape[dim], |rows| rows.roll_dim(shift, 1));
        }
        Ok(out)
    }

    /// Shifts the elements along one dim (see [`roll`](Self::roll)).
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CooTensor;
    ///
    /// let a = CooTensor::<1>::from_dense(Tensor::from_floats([0.0, 1.0, 2.0], &Device::flex()), 0);
    /// assert_eq!(a.roll_dim(4, -1).to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), [2.0, 0.0, 1.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`.
    #[or_panic]
    pub fn try_roll_dim(&self, shift: impl AsIndex, dim: impl AsIndex) -> Result<Self> {
        let dim = self.axis("roll_dim", dim)?;
        self.try_roll([shift], [dim])
    }

    fn roll_pattern(&self, shifts: &[usize]) -> Self {
        if shifts.iter().all(|&shift| shift == 0) || self.nnz() == 0 {
            return self.clone();
        }
        let (shape, nnz) = (self.pattern.shape(), self.nnz());
        if shifts[1..].iter().all(|&shift| shift == 0) {
            let index = || {
                let from = count_up_on(shape[0], &self.pattern.device(), self.pattern.index_dtype());
                rolled(from, shape[0] - shifts[0], shape[0])
            };
            if let Some(out) = self.slices_in_order(Rolled(shifts.to_vec()), index) {
                return out;
            }
        }
        let own = self.pattern.coordinates();
        let rolled = |_: &P| {
            let dims = by_dim(own).into_iter().enumerate();
            dims.map(|(dim, ids)| if shifts[dim] > 0 { rolled(ids, shifts[dim], shape[dim]) } else { ids }).collect()
        };
        self.relocated(Rolled(shifts.to_vec()), rolled, |dims| sorted(join_dims(dims, shape, nnz, own), shape))
    }
}

#[derive(PartialEq, Eq)]
struct Rolled(Vec<usize>);

/// `(start + shift) mod size`, for `start` below `size`; 0 for an empty dim.
fn wrapped(shift: isize, start: usize, size: usize) -> usize {
    // Sizes beyond `isize::MAX` do not occur: an index could not name their elements.
    if size == 0 { 0 } else { (start + shift.rem_euclid(size as isize) as usize) % size }
}

/// `(ids + shift) mod size`, for a shift in `1..size`. No intermediate result exceeds the index dtype, which holds
/// `size`.
fn rolled(ids: Tensor<1, Int>, shift: usize, size: usize) -> Tensor<1, Int> {
    let ids = ids.sub_scalar((size - shift) as i64);
    let back = index_tensor(ids.clone().lower_elem(0).int(), ids.dtype());
    ids + back.mul_scalar(size as i64)
}
