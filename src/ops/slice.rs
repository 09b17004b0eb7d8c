//! Parts of a tensor: ranges, steps, single positions, and all parts of one size.

use crate::base::checks::expect;
use crate::base::kind::Kind;
use crate::pattern::cut::{self, Cut, Taken};
use crate::pattern::layout::Pattern;
use crate::tensor::sparse::SparseTensor;
use sparse_core::{Result, SparseError};
use std::ops::Range;

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// The elements `start .. start + length` along `axis`.
    ///
    /// Along a sparse axis the stored elements that lie there, in their order (a coalesced tensor stays coalesced, an
    /// uncoalesced one uncoalesced), along a dense one that part of every block and of the fill. Backward: each element
    /// that was kept gets its gradient. Cost: one pass over coordinates and values (along axis 0 of a coalesced tensor
    /// values are copied as one piece). The part's pattern is kept with this one, so that a loop over fixed ranges reads
    /// the device (once, for the number of elements) in its first step only: those of the last 64 ranges, or of as many
    /// (8 at least) as hold no more than eight copies of this one.
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
    /// `axis_out_of_range`; `index_out_of_range` if the part ends beyond the axis.
    pub fn try_narrow(&self, axis: isize, start: usize, length: usize) -> Result<Self> {
        const OP: &str = "narrow";
        let axis = self.axis(OP, axis)?;
        check_part(OP, axis, self.dims()[axis], start, length)?;
        Ok(self.cut_axis(axis, Cut { start, count: length, step: 1 }))
    }

    /// [`try_narrow`](Self::try_narrow), with a panic in place of an error.
    #[track_caller]
    pub fn narrow(&self, axis: isize, start: usize, length: usize) -> Self {
        expect(self.try_narrow(axis, start, length))
    }

    /// A range of every dim, all cut in one pass (see [`try_narrow`](Self::try_narrow)).
    ///
    /// # Errors
    ///
    /// `index_out_of_range` for a range that ends beyond its dim, `shape_mismatch` for one that ends before it starts.
    pub fn try_slice(&self, ranges: [Range<usize>; D]) -> Result<Self> {
        const OP: &str = "slice";
        let mut cuts = self.whole();
        for (axis, (range, size)) in ranges.iter().zip(self.dims()).enumerate() {
            let count = length_of(OP, range)?;
            check_part(OP, axis, size, range.start, count)?;
            cuts[axis] = Cut { start: range.start, count, step: 1 };
        }
        Ok(self.cut(&cuts))
    }

    /// [`try_slice`](Self::try_slice), with a panic in place of an error.
    #[track_caller]
    pub fn slice(&self, ranges: [Range<usize>; D]) -> Self {
        expect(self.try_slice(ranges))
    }

    /// Every `step`-th element of a range along `axis`, from its start; with a negative step from its last element
    /// backwards, as in Burn's slices.
    ///
    /// Cost and gradient as [`try_narrow`](Self::try_narrow); a negative step flips what is left
    /// (see [`try_flip`](Self::try_flip)).
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`, `index_out_of_range`, `shape_mismatch` for a range that ends before it starts, `invalid`
    /// for a step of 0.
    pub fn try_slice_step(&self, axis: isize, range: Range<usize>, step: isize) -> Result<Self> {
        const OP: &str = "slice_step";
        let axis = self.axis(OP, axis)?;
        let size = self.dims()[axis];
        let length = length_of(OP, &range)?;
        check_part(OP, axis, size, range.start, length)?;
        if step == 0 {
            return Err(SparseError::Invalid { op: OP, message: "the step must not be 0, got 0".into() });
        }
        // A step beyond the range takes its first element, whatever it is.
        let stride = step.unsigned_abs().min(length.max(1));
        let count = length.div_ceil(stride);
        let start = if step > 0 || count == 0 { range.start } else { range.end - 1 - (count - 1) * stride };
        let part = self.cut_axis(axis, Cut { start, count, step: stride });
        if step > 0 { Ok(part) } else { part.try_flip(&[axis as isize]) }
    }

    /// [`try_slice_step`](Self::try_slice_step), with a panic in place of an error.
    #[track_caller]
    pub fn slice_step(&self, axis: isize, range: Range<usize>, step: isize) -> Self {
        expect(self.try_slice_step(axis, range, step))
    }

    /// The elements at position `at`, in `[-size, size)`, of `axis`, without that axis.
    ///
    /// Cost and gradient as [`try_narrow`](Self::try_narrow).
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`, `index_out_of_range`; `shape_mismatch` if `D2` is not one less than the rank, or CSR has no
    /// such rank.
    pub fn try_select<const D2: usize>(&self, axis: isize, at: isize) -> Result<SparseTensor<P, D2, K>> {
        const OP: &str = "select";
        let axis = self.axis(OP, axis)?;
        self.check_rank::<D2>(OP, D - 1)?;
        let mut shape = self.pattern.shape().to_vec();
        if axis < shape.len() {
            shape.remove(axis);
        }
        P::check_shape(OP, &shape, self.pattern.memo().held())?;
        let size = self.dims()[axis];
        let start = if at < 0 { at as i128 + size as i128 } else { at as i128 };
        if start < 0 || start >= size as i128 {
            let (low, index) = (-(size as i64), at as i64);
            return Err(SparseError::IndexOutOfRange { op: OP, axis, low, size, index, position: 0 });
        }
        self.cut_axis(axis, Cut { start: start as usize, count: 1, step: 1 }).without(OP, axis)
    }

    /// [`try_select`](Self::try_select), with a panic in place of an error.
    #[track_caller]
    pub fn select<const D2: usize>(&self, axis: isize, at: isize) -> SparseTensor<P, D2, K> {
        expect(self.try_select(axis, at))
    }

    /// The tensor in parts of `size` along `axis`, the last one smaller where the axis is no multiple of it. An axis of
    /// size 0 is one part.
    ///
    /// Cost: one grouping of the stored elements and one read, however many parts; their patterns are kept with this
    /// one, unless there are more than 1024. Gradient as [`try_narrow`](Self::try_narrow).
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`; `invalid` for a size of 0.
    pub fn try_split(&self, size: usize, axis: isize) -> Result<Vec<Self>> {
        const OP: &str = "split";
        let axis = self.axis(OP, axis)?;
        if size == 0 {
            return Err(SparseError::Invalid {
                op: OP,
                message: "the size of a part must be at least 1, got 0".into(),
            });
        }
        Ok(self.parts(axis, size))
    }

    /// [`try_split`](Self::try_split), with a panic in place of an error.
    #[track_caller]
    pub fn split(&self, size: usize, axis: isize) -> Vec<Self> {
        expect(self.try_split(size, axis))
    }

    /// The tensor in at most `chunks` parts of one size along `axis`, the last one smaller where need be: a
    /// [`split`](Self::try_split) by the size divided by `chunks`, rounded up, as in PyTorch.
    ///
    /// # Errors
    ///
    /// `axis_out_of_range`; `invalid` for 0 chunks.
    pub fn try_chunk(&self, chunks: usize, axis: isize) -> Result<Vec<Self>> {
        const OP: &str = "chunk";
        let axis = self.axis(OP, axis)?;
        if chunks == 0 {
            return Err(SparseError::Invalid {
                op: OP,
                message: "the number of chunks must be at least 1, got 0".into(),
            });
        }
        Ok(self.parts(axis, self.dims()[axis].div_ceil(chunks).max(1)))
    }

    /// [`try_chunk`](Self::try_chunk), with a panic in place of an error.
    #[track_caller]
    pub fn chunk(&self, chunks: usize, axis: isize) -> Vec<Self> {
        expect(self.try_chunk(chunks, axis))
    }

    fn whole(&self) -> [Cut; D] {
        self.dims().map(Cut::whole)
    }

    fn cut_axis(&self, axis: usize, cut: Cut) -> Self {
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
    pub(super) fn part(&self, (pattern, taken): &(P, Taken)) -> Self {
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

fn length_of(op: &'static str, range: &Range<usize>) -> Result<usize> {
    range.end.checked_sub(range.start).ok_or(SparseError::ShapeMismatch {
        op,
        rule: "a range must not end before it starts",
        left: vec![range.start],
        right: vec![range.end],
    })
}

/// Checks that `start .. start + length` lies in an axis.
fn check_part(op: &'static str, axis: usize, size: usize, start: usize, length: usize) -> Result<()> {
    if start.checked_add(length).is_some_and(|end| end <= size) {
        return Ok(());
    }
    let index = start.saturating_add(length.saturating_sub(1)).min(i64::MAX as usize) as i64;
    Err(SparseError::IndexOutOfRange { op, axis, low: 0, size, index, position: 0 })
}
