//! Parts of a tensor: ranges, steps, single positions, and all parts of one size.

use crate::base::kind::Kind;
use crate::pattern::cut::{self, Cut, Taken};
use crate::pattern::layout::Pattern;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{AsIndex, Slice};
use sparse_core::{Result, SparseError};
use sparse_macros::{async_variant, or_panic};
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// What [`slice`](SparseTensor::slice) takes: one slice, or a list with one for each of the first dims.
///
/// These are the types of Burn's `SliceArg`, which cannot be used itself: it cuts a range that leaves its dim short.
pub trait Slices {
    /// One slice for each of the first dims.
    fn into_slices(self) -> Vec<Slice>;
}

impl<S: Into<Slice>, const N: usize> Slices for [S; N] {
    fn into_slices(self) -> Vec<Slice> {
        self.into_iter().map(Into::into).collect()
    }
}

impl<S: Into<Slice> + Clone> Slices for &[S] {
    fn into_slices(self) -> Vec<Slice> {
        self.iter().cloned().map(Into::into).collect()
    }
}

impl<S: Into<Slice> + Clone, const N: usize> Slices for &[S; N] {
    fn into_slices(self) -> Vec<Slice> {
        self.as_slice().into_slices()
    }
}

impl Slices for &Vec<Slice> {
    fn into_slices(self) -> Vec<Slice> {
        self.clone()
    }
}

macro_rules! one_slice {
    ($($one:ty),*) => {$(
        impl Slices for $one {
            fn into_slices(self) -> Vec<Slice> {
                vec![self.into()]
            }
        }
    )*};
}
one_slice!(Slice, usize, isize, i32, i64, RangeFull);

macro_rules! one_range {
    ($($range:ident),*) => {$(
        impl<I: AsIndex> Slices for $range<I>
        where
            Slice: From<Self>,
        {
            fn into_slices(self) -> Vec<Slice> {
                vec![self.into()]
            }
        }
    )*};
}
one_range!(Range, RangeInclusive, RangeFrom, RangeTo, RangeToInclusive);

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// The elements `start .. start + length` along `dim`.
    ///
    /// Along a sparse dim the result has the stored elements of that range, in their order: a coalesced tensor stays
    /// coalesced, and an uncoalesced one uncoalesced. Along a dense dim it has that part of every block and of the
    /// fill.
    ///
    /// Backward: each kept element gets its gradient. Cost: one pass over coordinates and values; along dim 0 of a
    /// coalesced tensor the values are copied as one piece. The pattern of the result is kept with this one. Finding it
    /// reads its number of elements from the device, so a loop over fixed ranges reads only in its first step. The
    /// patterns of the last 8 ranges are kept, and up to 64 if they are small.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let device = Device::flex();
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0, 4.0], [2.0, 0.0, 3.0]], &device));
    /// let b = a.narrow(1, 1, 2);
    /// assert_eq!(b.to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 4.0, 0.0, 3.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`; `index_out_of_range` if the range ends beyond the dim.
    #[async_variant]
    #[or_panic]
    pub fn try_narrow(&self, dim: impl AsIndex, start: usize, length: usize) -> Result<Self> {
        const OP: &str = "narrow";
        let axis = self.axis(OP, dim)?;
        check_part(OP, axis, self.dims()[axis], start, length)?;
        Ok(self.cut_axis(axis, Cut { start, count: length, step: 1 }))
    }

    /// Cuts a part out of every dim, in one pass (see [`narrow`](Self::narrow)). The argument is
    /// what Burn's `slice` takes: a slice or a list of them. Each is a range, a number (which leaves size 1) or Burn's
    /// `s![..]` with its steps. Dims after the last slice stay whole.
    ///
    /// Bounds below 0 count from the end. A step of `n` takes every `n`-th element of the range. A negative step starts
    /// at the last element of the range and goes backwards: what is left is [`flip`](Self::flip)ped. Unlike in Burn, a
    /// range beyond its dim is an error and is not cut short.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor, s};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let device = Device::flex();
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0, 4.0], [2.0, 0.0, 3.0]], &device));
    /// let b = a.slice(s![-1, ..;2]);
    /// assert_eq!(b.to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), [2.0, 3.0]);
    /// assert_eq!(a.slice(s![.., 1..]).dims(), [2, 2]);
    /// assert_eq!(a.slice(0..1).dims(), [1, 3]);
    /// ```
    ///
    /// # Errors
    ///
    /// `index_out_of_range` for a range that ends beyond its dim; `shape_mismatch` for one that ends before it starts,
    /// or for more slices than dims; `invalid` for a step of 0.
    #[or_panic]
    pub fn try_slice(&self, slices: impl Slices) -> Result<Self> {
        const OP: &str = "slice";
        let slices = slices.into_slices();
        if slices.len() > D {
            let rule = "there must be no more slices than dims, got {left:1} for rank {right:1}";
            return Err(SparseError::shape_mismatch(OP, rule, [slices.len()], [D]));
        }
        let mut cuts = self.whole();
        let mut reversed = [false; D];
        for (axis, slice) in slices.into_iter().enumerate() {
            (cuts[axis], reversed[axis]) = cut_of(OP, axis, self.dims()[axis], slice)?;
        }
        Ok(self.cut(&cuts).reversed(&reversed))
    }

    /// Cuts a part out of one dim (see [`slice`](Self::slice)).
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`, `index_out_of_range`, `shape_mismatch` for a range that ends before it starts, `invalid`
    /// for a step of 0.
    #[or_panic]
    pub fn try_slice_dim(&self, dim: impl AsIndex, slice: impl Into<Slice>) -> Result<Self> {
        const OP: &str = "slice_dim";
        let axis = self.axis(OP, dim)?;
        let (cut, backwards) = cut_of(OP, axis, self.dims()[axis], slice.into())?;
        let mut reversed = [false; D];
        reversed[axis] = backwards;
        Ok(self.cut_axis(axis, cut).reversed(&reversed))
    }

    fn reversed(self, dims: &[bool; D]) -> Self {
        if dims.contains(&true) { self.flipped(dims) } else { self }
    }

    /// The elements at position `index` of `dim`, in `[-size, size)`. The dim is removed.
    ///
    /// Cost and gradient as [`narrow`](Self::narrow).
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`, `index_out_of_range`; `shape_mismatch` if `D2` is not one less than the rank, or CSR has no
    /// such rank.
    #[or_panic]
    pub fn try_select_dim<const D2: usize>(
        &self,
        dim: impl AsIndex,
        index: impl AsIndex,
    ) -> Result<SparseTensor<P, D2, K>> {
        const OP: &str = "select_dim";
        let axis = self.axis(OP, dim)?;
        self.check_rank::<D2>(OP, D - 1)?;
        let mut shape = self.pattern.shape().to_vec();
        if axis < shape.len() {
            shape.remove(axis);
        }
        P::check_shape(OP, &shape, self.pattern.memo().held())?;
        let start = from_start(OP, axis, self.dims()[axis], index, 0)?;
        self.cut_axis(axis, Cut { start, count: 1, step: 1 }).without(OP, axis)
    }

    /// Splits the tensor into parts of `split_size` along `dim`. The last part is smaller if the size is no multiple of
    /// it. A dim of size 0 gives one part.
    ///
    /// Cost: one grouping of the stored elements and one read, for any number of parts. Their patterns are kept with
    /// this one, unless there are more than 1024. Gradient as [`try_narrow`](Self::try_narrow).
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`; `invalid` for a size of 0.
    #[or_panic]
    pub fn try_split(&self, split_size: usize, dim: impl AsIndex) -> Result<Vec<Self>> {
        const OP: &str = "split";
        let axis = self.axis(OP, dim)?;
        if split_size == 0 {
            return Err(SparseError::invalid(OP, "the size of a part must be at least 1, got 0"));
        }
        Ok(self.parts(axis, split_size))
    }

    /// Splits the tensor into at most `chunks` parts of one size along `dim`; the last part may be smaller. The size is
    /// that of the dim divided by `chunks`, rounded up, as in Burn and PyTorch. See [`split`](Self::try_split).
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`; `invalid` for 0 chunks.
    #[or_panic]
    pub fn try_chunk(&self, chunks: usize, dim: impl AsIndex) -> Result<Vec<Self>> {
        const OP: &str = "chunk";
        let axis = self.axis(OP, dim)?;
        if chunks == 0 {
            return Err(SparseError::invalid(OP, "the number of chunks must be at least 1, got 0"));
        }
        Ok(self.parts(axis, self.dims()[axis].div_ceil(chunks).max(1)))
    }

    fn whole(&self) -> [Cut; D] {
        self.dims().map(Cut::whole)
    }

    pub(crate) fn cut_axis(&self, axis: usize, cut: Cut) -> Self {
        let mut cuts = self.whole();
        cuts[axis] = cut;
        self.cut(&cuts)
    }

    /// The elements at the positions that every dim keeps.
    fn cut(&self, cuts: &[Cut; D]) -> Self {
        let (sparse, dense) = cuts.split_at(self.sparse_dims());
        let whole = sparse.iter().zip(self.pattern.shape()).all(|(cut, &size)| cut.is_whole(size));
        let mut out = if whole { self.clone() } else { self.part(&cut::cut(&self.pattern, sparse)) };
        for (dim, cut) in dense.iter().enumerate().filter(|(dim, cut)| !cut.is_whole(self.dense_shape[*dim])) {
            out = out.map_blocks(dim, cut.count, |rows| cut.of(rows));
        }
        out
    }

    /// The tensor at a part of its pattern.
    pub(crate) fn part(&self, (pattern, taken): &(P, Taken)) -> Self {
        Self::from_parts(pattern.clone(), taken.of(&self.values), self.dense_shape.clone(), self.fill.clone())
    }

    /// Parts of `size` (at least 1) along an axis.
    fn parts(&self, axis: usize, size: usize) -> Vec<Self> {
        let whole = self.dims()[axis];
        if size >= whole {
            return vec![self.clone()];
        }
        if axis < self.sparse_dims() {
            return cut::parts(&self.pattern, axis, size).iter().map(|part| self.part(part)).collect();
        }
        let part = |start| self.cut_axis(axis, Cut { start, count: size.min(whole - start), step: 1 });
        (0..whole).step_by(size).map(part).collect()
    }
}

/// An index in `[-size, size)` from the start.
pub(crate) fn from_start(
    op: &'static str,
    axis: usize,
    size: usize,
    index: impl AsIndex,
    position: usize,
) -> Result<usize> {
    let index = index.as_index();
    let start = if index < 0 { index as i128 + size as i128 } else { index as i128 };
    if (0..size as i128).contains(&start) {
        return Ok(start as usize);
    }
    Err(SparseError::IndexOutOfRange { op, axis, low: -(size as i64), size, index: index as i64, position })
}

/// What a slice keeps of a dim, and whether in reverse order.
fn cut_of(op: &'static str, axis: usize, size: usize, slice: Slice) -> Result<(Cut, bool)> {
    if slice.step == 0 {
        return Err(SparseError::invalid(op, "the step must not be 0, got 0"));
    }
    // From the start; what is still below 0 is out of range.
    let bound = |index: isize| if index < 0 { index as i128 + size as i128 } else { index as i128 };
    let (start, end) = (bound(slice.start), slice.end.map_or(size as i128, bound));
    if end < start {
        let rule = "a range must not end before it starts, got {left:1}..{right:1}";
        let [left, right] = [start, end].map(|bound| vec![bound.max(0) as usize]);
        return Err(SparseError::shape_mismatch(op, rule, left, right));
    }
    let Ok(start) = usize::try_from(start) else {
        let (low, index) = (-(size as i64), slice.start as i64);
        return Err(SparseError::IndexOutOfRange { op, axis, low, size, index, position: 0 });
    };
    let length = end as usize - start;
    check_part(op, axis, size, start, length)?;
    // A step beyond the range takes only its first element.
    let stride = slice.step.unsigned_abs().min(length.max(1));
    let count = length.div_ceil(stride);
    let reversed = slice.step < 0;
    let start = if !reversed || count == 0 { start } else { start + length - 1 - (count - 1) * stride };
    Ok((Cut { start, count, step: stride }, reversed))
}

/// Checks that `start .. start + length` lies in an axis.
fn check_part(op: &'static str, axis: usize, size: usize, start: usize, length: usize) -> Result<()> {
    if start.checked_add(length).is_some_and(|end| end <= size) {
        return Ok(());
    }
    let index = start.saturating_add(length.saturating_sub(1)).min(i64::MAX as usize) as i64;
    Err(SparseError::index_out_of_range(op, axis, size, index, 0))
}
