//! Copies of a tensor along its dims.

use crate::base::coordinates::{by_dim, join_dims};
use crate::base::index::{count_up, index_dtype, index_tensor};
use crate::base::kind::Kind;
use crate::base::limits::check_copies;
use crate::ops::elementwise::broadcast::read_rows;
use crate::pattern::dims::from_dims;
use crate::pattern::layout::Pattern;
use crate::pattern::select::sorted;
use crate::policy;
use crate::rows::RowMap;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{AsIndex, Int, Tensor};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// Repeats dims of size 1 to the sizes of `shape`. Every other size of `shape` must be that of the tensor, or -1.
    ///
    /// `shape` may have more dims than the tensor; the additional ones come first, as in Burn. The result stores every
    /// copy: `nnz` times the sizes of the sparse dims that grow. Dims are expanded one by one, each as by
    /// [`repeat_dim`](Self::repeat_dim).
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let device = Device::flex();
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0], [0.0]], &device));
    /// let b: CsrTensor<2> = a.expand([-1, 3]);
    /// assert_eq!(b.nnz(), 3);
    /// assert_eq!(b.to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    /// let batch: CsrTensor<3> = b.expand([4, 2, 3]);
    /// assert_eq!(batch.nnz(), 12);
    /// ```
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if a dim that is not 1 would change, if a size below 0 is not -1, or if the layout has no such
    /// rank; `overflow`; `would_densify` for more copies than [the limit](crate::Limits), or as `repeat_dim`.
    #[or_panic]
    pub fn try_expand<const D2: usize>(&self, shape: [impl AsIndex; D2]) -> Result<SparseTensor<P, D2, K>> {
        const OP: &str = "expand";
        let mut dims = [1; D2];
        let asked = shape.map(|size| size.as_index());
        let sizes = if let Some(added) = D2.checked_sub(D) {
            dims[added..].copy_from_slice(&self.dims());
            let size = |dim: usize| match asked[dim] {
                -1 if dim >= added => Some(dims[dim]),
                size => usize::try_from(size).ok().filter(|&size| dims[dim] == 1 || dims[dim] == size),
            };
            (0..D2).map(size).collect::<Option<Vec<usize>>>()
        } else {
            None
        };
        let Some(sizes) = sizes else {
            let rule =
                "a dim must be 1, keep its size or be asked for as -1, and new dims come first, got {left} for {right}";
            let right: Vec<usize> = asked.iter().map(|&size| size.max(0) as usize).collect();
            return Err(SparseError::shape_mismatch(OP, rule, self.dims(), right));
        };
        let own = self.reshaped(OP, &dims[..D2 - self.dense_dims()], &self.dense_shape)?;
        // The first dim is expanded last: it needs no sort, and the sorts before it see fewer elements.
        let grown = (0..D2).rev().filter(|&dim| dims[dim] != sizes[dim]);
        grown.into_iter().try_fold(own, |tensor, dim| tensor.repeated(OP, dim, sizes[dim]))
    }

    /// Repeats the tensor `times` times along `dim`, one copy after the other.
    ///
    /// A coalesced tensor stays coalesced; an uncoalesced one is neither sorted nor summed. Backward: each element gets
    /// the sum of its copies' gradients. Cost: that of the copies, and a sort of their coordinates. No sort is needed
    /// along the first dim, along the last sparse dim if its size is 1, or for an uncoalesced tensor. The new pattern
    /// is kept with this one.
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`; `overflow`; `would_densify` for more copies than [the limit](crate::Limits), and for CSR
    /// with more rows than the limit that are almost all empty.
    #[or_panic]
    pub fn try_repeat_dim(&self, dim: impl AsIndex, times: usize) -> Result<Self> {
        const OP: &str = "repeat_dim";
        let axis = self.axis(OP, dim)?;
        self.repeated(OP, axis, times)
    }

    fn repeated(&self, op: &'static str, axis: usize, times: usize) -> Result<Self> {
        let product = |what: &'static str, a: usize| {
            let fits = a.checked_mul(times).filter(|&product| product <= i64::MAX as usize);
            let got = a as u128 * times as u128;
            fits.ok_or(SparseError::overflow(op, what, i64::MAX, got))
        };
        let size = product("the repeated dim", self.dims()[axis])?;
        if times == 1 {
            return Ok(self.clone());
        }
        if let Some(dim) = axis.checked_sub(self.sparse_dims()) {
            let block = product("a repeated block", self.block())?;
            // The fill may be a block as well.
            let blocks = self.nnz().saturating_add(usize::from(self.fill.host().is_none()));
            check_copies(op, blocks as u128 * block as u128, blocks.saturating_mul(self.block()))?;
            return Ok(self.map_blocks(dim, size, |rows| rows.repeat_dim(1, times)));
        }
        let mut shape = self.pattern.shape().to_vec();
        shape[axis] = size;
        let copies = product("the number of stored elements", self.nnz())?;
        let block = self.block().max(1);
        check_copies(op, copies as u128 * block as u128, self.pattern.memo().held().saturating_mul(block))?;
        P::check_shape(op, &shape, copies.saturating_add(self.pattern.memo().held()))?;
        let (pattern, values) = if copies == 0 {
            self.empty_parts(&shape)
        } else {
            let (pattern, map) = self.pattern.memo().get(Repeated { axis, times }, || {
                let (pattern, owner) = repeat(&self.pattern, axis, times, &shape);
                (pattern, RowMap::new(owner, self.nnz()))
            });
            (pattern, read_rows(self.values.clone(), &map))
        };
        Ok(Self::from_parts(pattern, values, self.dense_shape.clone(), self.fill.clone()))
    }
}

#[derive(PartialEq, Eq)]
struct Repeated {
    axis: usize,
    times: usize,
}

/// The pattern (not an empty one) repeated along an axis, and for each element of the result the element it copies.
fn repeat<P: Pattern>(pattern: &P, axis: usize, times: usize, shape: &[usize]) -> (P, Tensor<1, Int>) {
    let (nnz, own, coalesced) = (pattern.nnz(), pattern.shape()[axis], pattern.is_coalesced());
    let copies = nnz * times;
    let coordinates = index_tensor(pattern.coordinates().clone(), index_dtype(shape, copies));
    let at = count_up(copies, &coordinates);
    // Along the first axis the result is in order copy by copy, along the last element by element. Otherwise it is
    // sorted below.
    let (copy, owner) = if axis == 0 {
        let copy = at.clone().div_scalar(nnz as i64);
        (copy.clone(), at - copy.mul_scalar(nnz as i64))
    } else {
        let owner = at.clone().div_scalar(times as i64);
        (at - owner.clone().mul_scalar(times as i64), owner)
    };
    let mut dims: Vec<_> = by_dim(&coordinates).into_iter().map(|ids| policy::pick(&ids, &owner)).collect();
    dims[axis] = dims[axis].clone() + copy.mul_scalar(own as i64);
    if !coalesced || axis == 0 || (own == 1 && axis == shape.len() - 1) {
        return (from_dims(dims, shape, copies, coalesced, &coordinates), owner);
    }
    let (pattern, order) = sorted(join_dims(dims, shape, copies, &coordinates), shape);
    (pattern, policy::pick(&owner, &order))
}
