//! The same elements in another shape.

use crate::base::checks::resolve_axis;
use crate::base::coordinates::{by_dim, unravel};
use crate::base::index::index_tensor;
use crate::base::kind::Kind;
use crate::base::sizes::{cells, same_cells};
use crate::pattern::dims::{empty_pattern, from_dims, unsqueezed};
use crate::pattern::layout::Pattern;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{AsIndex, Int, Tensor};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;
use std::ops::Range;

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// The same elements, in row-major order, in another shape. One size may be -1; it is inferred.
    ///
    /// Sparse dims are reshaped among themselves, and dense dims among themselves. So the new shape of a hybrid tensor
    /// must split where the old one does: with as many dense dims as before if that fits, otherwise with as few as
    /// possible. CSR keeps rank 2 or 3. Values are not touched and their order is kept: a coalesced tensor stays
    /// coalesced, and an uncoalesced one uncoalesced. Dims that the two shapes share are copied, so only those between
    /// them need a flat index. Backward: the values are the same tensor. Cost: one pass over the coordinates. The new
    /// pattern is kept with this one.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CooTensor;
    ///
    /// let device = Device::flex();
    /// let a = CooTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]], &device), 0);
    /// let b = a.reshape([3, -1]);
    /// assert_eq!(b.to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), [0.0, 1.0, 0.0, 2.0, 0.0, 3.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// `shape_mismatch` for another number of elements, for sizes below 0 other than a single -1, for a shape that does
    /// not split at the boundary of sparse and dense dims, or for a rank that CSR does not have; `overflow` if a flat
    /// index of the dims that change exceeds 64 bits; `would_densify` for CSR with more than
    /// [the limit](crate::Limits) of rows that are almost all empty.
    #[or_panic]
    pub fn try_reshape<const D2: usize>(&self, shape: [impl AsIndex; D2]) -> Result<SparseTensor<P, D2, K>> {
        const OP: &str = "reshape";
        let shape = inferred(OP, shape.map(|size| size.as_index()), &self.dims())?;
        let (sparse, dense) = (self.pattern.shape(), &self.dense_shape);
        let mismatch = |rule| SparseError::shape_mismatch(OP, rule, shape, self.dims());
        if !same_cells(&shape, &self.dims()) {
            return Err(mismatch("the new shape {left} must have as many elements as the tensor {right}"));
        }
        let fits = |&at: &usize| same_cells(&shape[..at], sparse) && same_cells(&shape[at..], dense);
        let mut splits = D2.checked_sub(dense.len()).into_iter().chain((0..=D2).rev());
        let split = if dense.is_empty() { Some(D2) } else { splits.find(fits) };
        let Some(split) = split else {
            return Err(mismatch("sparse and dense dims must be reshaped among themselves, got {left} for {right}"));
        };
        self.reshaped(OP, &shape[..split], &shape[split..])
    }

    /// Joins the dims `start_dim ..= end_dim`, both in `[-rank, rank)`, into one. They must be all sparse or all dense.
    /// See [`try_reshape`](Self::try_reshape).
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`; `shape_mismatch` if `end_dim` is before `start_dim`, if `D2` is another rank, or if sparse
    /// dims would be joined with dense ones; `overflow`.
    #[or_panic]
    pub fn try_flatten<const D2: usize>(
        &self,
        start_dim: impl AsIndex,
        end_dim: impl AsIndex,
    ) -> Result<SparseTensor<P, D2, K>> {
        const OP: &str = "flatten";
        let (start, end) = (self.axis(OP, start_dim)?, self.axis(OP, end_dim)?);
        if end < start {
            let rule = "start_dim must not be after end_dim, got {left:1} and {right:1}";
            return Err(SparseError::shape_mismatch(OP, rule, [start], [end]));
        }
        self.check_rank::<D2>(OP, D - (end - start))?;
        let at = self.sparse_dims();
        if start < at && end >= at {
            let rule = "sparse and dense dims must be flattened among themselves, got dims {left} with [sparse, dense] \
                        dims {right}";
            return Err(SparseError::shape_mismatch(OP, rule, [start, end], [at, self.dense_dims()]));
        }
        let (mut sparse, mut dense) = (self.pattern.shape().to_vec(), self.dense_shape.clone());
        let (dims, range) =
            if end < at { (&mut sparse, start..end + 1) } else { (&mut dense, start - at..end + 1 - at) };
        let size = cells(&dims[range.clone()]);
        let size = usize::try_from(size)
            .ok()
            .filter(|&size| size <= i64::MAX as usize)
            .ok_or(SparseError::overflow(OP, "the flattened dim", i64::MAX, size))?;
        dims.splice(range, [size]);
        self.reshaped(OP, &sparse, &dense)
    }

    /// Removes `dim`, whose size must be 1. Cost and gradient as [`try_reshape`](Self::try_reshape).
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`; `shape_mismatch` if the size is not 1, `D2` is not one less than the rank, or CSR has no
    /// such rank.
    #[or_panic]
    pub fn try_squeeze_dim<const D2: usize>(&self, dim: impl AsIndex) -> Result<SparseTensor<P, D2, K>> {
        const OP: &str = "squeeze_dim";
        let axis = self.axis(OP, dim)?;
        if self.dims()[axis] != 1 {
            let (left, right) = (self.dims().to_vec(), vec![axis]);
            let rule = "dim {right:1} must have size 1, got shape {left}";
            return Err(SparseError::shape_mismatch(OP, rule, left, right));
        }
        self.without(OP, axis)
    }

    /// Inserts a dim of size 1, which is `dim` of the result, in `[-rank - 1, rank + 1)`.
    ///
    /// Between sparse and dense dims the new one is sparse, as in PyTorch. Cost and gradient as
    /// [`try_reshape`](Self::try_reshape).
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`; `shape_mismatch` if `D2` is not one more than the rank, or CSR has no such rank;
    /// `would_densify` as for a [`try_reshape`](Self::try_reshape).
    #[or_panic]
    pub fn try_unsqueeze_dim<const D2: usize>(&self, dim: impl AsIndex) -> Result<SparseTensor<P, D2, K>> {
        const OP: &str = "unsqueeze_dim";
        let axis = resolve_axis(OP, dim, D + 1)?;
        self.check_rank::<D2>(OP, D + 1)?;
        let (mut sparse, mut dense) = (self.pattern.shape().to_vec(), self.dense_shape.clone());
        if axis <= sparse.len() {
            sparse.insert(axis, 1)
        } else {
            dense.insert(axis - sparse.len(), 1)
        }
        self.reshaped(OP, &sparse, &dense)
    }

    /// The tensor without an axis that has size 1.
    pub(crate) fn without<const D2: usize>(&self, op: &'static str, axis: usize) -> Result<SparseTensor<P, D2, K>> {
        self.check_rank::<D2>(op, D - 1)?;
        let (mut sparse, mut dense) = (self.pattern.shape().to_vec(), self.dense_shape.clone());
        if axis < sparse.len() {
            sparse.remove(axis)
        } else {
            dense.remove(axis - sparse.len())
        };
        self.reshaped(op, &sparse, &dense)
    }

    /// Checks that the rank the caller names is the result's.
    pub(crate) fn check_rank<const D2: usize>(&self, op: &'static str, rank: usize) -> Result<()> {
        if D2 == rank && rank > 0 {
            return Ok(());
        }
        let rule = "the rank of the result, which must not be 0, is {right:1}: ask for that, got {left:1}";
        Err(SparseError::shape_mismatch(op, rule, [D2], [rank]))
    }

    /// The tensor with other shapes of its sparse dims and of its dense dims, each with as many elements as before.
    pub(crate) fn reshaped<const D2: usize>(
        &self,
        op: &'static str,
        sparse: &[usize],
        dense: &[usize],
    ) -> Result<SparseTensor<P, D2, K>> {
        P::check_shape(op, sparse, self.pattern.memo().held())?;
        let pattern = if self.pattern.shape() == sparse {
            self.pattern.clone()
        } else {
            self.pattern.memo().try_get(Shaped(sparse.to_vec()), || reshape_pattern(op, &self.pattern, sparse))?
        };
        Ok(SparseTensor::from_parts(pattern, self.values.clone(), dense.to_vec(), self.fill.clone()))
    }
}

#[derive(PartialEq, Eq)]
struct Shaped(Vec<usize>);

/// The sizes asked for. A -1 among them is replaced by the size that gives as many elements as `dims` have.
fn inferred<const D: usize>(op: &'static str, asked: [isize; D], dims: &[usize]) -> Result<[usize; D]> {
    let mut shape = asked.map(|size| size.max(0) as usize);
    let open: Vec<usize> = (0..D).filter(|&dim| asked[dim] < 0).collect();
    if open.is_empty() {
        return Ok(shape);
    }
    let known: Vec<usize> = (0..D).filter(|&dim| asked[dim] >= 0).map(|dim| shape[dim]).collect();
    let (all, known) = (cells(dims), cells(&known));
    // The number of elements may be cut off at the largest that can be counted. Such a number is not divided.
    let fits = open.len() == 1 && asked[open[0]] == -1 && known > 0 && all < u128::MAX && all % known == 0;
    let Some(size) = Some(all / known.max(1)).filter(|_| fits).and_then(|size| usize::try_from(size).ok()) else {
        let rule = "at most one size may be -1, and the others {left} must leave a whole number of {right} for it";
        return Err(SparseError::shape_mismatch(op, rule, shape, dims));
    };
    shape[open[0]] = size;
    Ok(shape)
}

/// The pattern in another shape with as many elements. Stored elements keep their order.
fn reshape_pattern<P: Pattern>(op: &'static str, pattern: &P, shape: &[usize]) -> Result<P> {
    let (old, nnz, coordinates) = (pattern.shape(), pattern.nnz(), pattern.coordinates());
    if nnz == 0 {
        return Ok(empty_pattern(pattern, shape));
    }
    if let Some(axis) = added(old, shape) {
        return Ok(unsqueezed(pattern, axis));
    }
    let given = by_dim(coordinates);
    let mut made = Vec::with_capacity(shape.len());
    for (from, to) in runs(op, old, shape)? {
        if from.len() == 1 && to.len() == 1 {
            made.push(given[from.start].clone());
            continue;
        }
        let size = cells(&shape[to.clone()]);
        if size > i64::MAX as u128 {
            return Err(SparseError::overflow(op, "a flat index of the dims that change", i64::MAX, size));
        }
        let dtype = sparse_burn::index_dtype_for(size as usize);
        let mut flat: Option<Tensor<1, Int>> = None;
        for dim in from {
            let ids = index_tensor(given[dim].clone(), dtype);
            flat = Some(flat.map_or(ids.clone(), |flat| flat.mul_scalar(old[dim] as i64) + ids));
        }
        let flat = flat.unwrap_or_else(|| Tensor::zeros([nnz], (&coordinates.device(), dtype)));
        made.extend(unravel(flat, &shape[to]));
    }
    Ok(from_dims(made, shape, nnz, pattern.is_coalesced(), coordinates))
}

/// The axis of size 1 that makes `new` from `old`, if one such axis does.
fn added(old: &[usize], new: &[usize]) -> Option<usize> {
    let axis = (0..new.len()).find(|&axis| old.get(axis) != Some(&new[axis]))?;
    (new[axis] == 1 && new[axis + 1..] == old[axis..]).then_some(axis)
}

/// Splits both shapes into the shortest runs of dims with equal numbers of elements. A reshape works run by run. No
/// size is 0.
fn runs(op: &'static str, old: &[usize], new: &[usize]) -> Result<Vec<(Range<usize>, Range<usize>)>> {
    let (mut runs, mut at) = (vec![], [0, 0]);
    while at[0] < old.len() || at[1] < new.len() {
        let start = at;
        let mut sizes = [1u128; 2];
        let mut take = |sizes: &mut [u128; 2], side: usize| -> Result<bool> {
            let Some(&size) = [old, new][side].get(at[side]) else { return Ok(false) };
            at[side] += 1;
            let product = sizes[side].checked_mul(size as u128);
            sizes[side] = product.ok_or(SparseError::overflow(op, "the dims that change", i64::MAX, u128::MAX))?;
            Ok(true)
        };
        take(&mut sizes, 0)?;
        take(&mut sizes, 1)?;
        while sizes[0] != sizes[1] {
            let side = usize::from(sizes[1] < sizes[0]);
            if !take(&mut sizes, side)? {
                let rule = "the new shape {left} must have as many elements as the tensor {right}";
                return Err(SparseError::shape_mismatch(op, rule, new, old));
            }
        }
        runs.push((start[0]..at[0], start[1]..at[1]));
    }
    Ok(runs)
}
