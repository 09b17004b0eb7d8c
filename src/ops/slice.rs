//! Parts of a tensor: ranges, steps, single positions, and all parts of one size.

use super::blocks::{check_layout, held};
use crate::kernel;
use crate::pattern::dims::{from_lines, lines};
use crate::pattern::select::{along, columns, kept, read};
use crate::pattern::{Pattern, index_tensor};
use crate::rows::{RowMap, move_rows};
use crate::tensor::{Kind, SparseTensor, expect, ints};
use burn::tensor::{Bool, Int, Tensor};
use sparse_core::{Result, SparseError};
use std::ops::Range;

/// Positions `start`, `start + step`, .. along a dim, `count` of them. `step` is at least 1.
#[derive(Clone, Copy, Debug)]
struct Cut {
    start: usize,
    count: usize,
    step: usize,
}

impl Cut {
    fn is_whole(&self, size: usize) -> bool {
        self.start == 0 && self.count == size && self.step == 1
    }

    /// Where the last position ends.
    fn end(&self) -> usize {
        self.start + (self.count.max(1) - 1) * self.step + usize::from(self.count > 0)
    }

    /// The positions of the middle dim.
    fn of<K: Kind>(&self, rows: Tensor<3, K>) -> Tensor<3, K> {
        if self.step == 1 {
            return rows.narrow(1, self.start, self.count);
        }
        let at = (0..self.count).map(|k| (self.start + k * self.step) as i64).collect();
        let device = rows.device().inner();
        // Each position once, so the backward pass adds nothing up.
        rows.select(1, ints(at, [self.count], &device))
    }
}

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// The elements `start .. start + length` along `axis`.
    ///
    /// Along a sparse axis the stored elements that lie there, in their order (a coalesced tensor stays coalesced, an
    /// uncoalesced one uncoalesced), along a dense one that part of every block and of the fill. Backward: each element
    /// that was kept gets its gradient. Cost: one pass over coordinates and values, and one number read (along axis 0
    /// of a coalesced tensor two, and values are copied as one piece).
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
        check_layout::<P>(OP, &shape, held(&self.pattern))?;
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
    /// Cost: one grouping of the stored elements and one read, however many parts. Gradient as
    /// [`try_narrow`](Self::try_narrow).
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
        self.dims().map(|size| Cut { start: 0, count: size, step: 1 })
    }

    fn cut_axis(&self, axis: usize, cut: Cut) -> Self {
        let mut cuts = self.whole();
        cuts[axis] = cut;
        self.cut(&cuts)
    }

    /// The elements at the positions that every dim keeps.
    fn cut(&self, cuts: &[Cut; D]) -> Self {
        let (sparse, dense) = cuts.split_at(self.sparse_dims());
        let (pattern, values) = self.cut_pattern(sparse);
        let mut out = Self::from_parts(pattern, values, self.dense_shape.clone(), self.fill.clone());
        for (dim, cut) in dense.iter().enumerate().filter(|(dim, cut)| !cut.is_whole(self.dense_shape[*dim])) {
            out = out.map_blocks(dim, cut.count, |rows| cut.of(rows));
        }
        out
    }

    fn cut_pattern(&self, cuts: &[Cut]) -> (P, Tensor<2, K>) {
        let (old, nnz, coordinates) = (self.pattern.shape(), self.nnz(), self.pattern.coordinates());
        let shape: Vec<usize> = cuts.iter().map(|cut| cut.count).collect();
        let cut: Vec<(usize, Cut)> =
            cuts.iter().copied().enumerate().filter(|(dim, cut)| !cut.is_whole(old[*dim])).collect();
        if cut.is_empty() {
            return (self.pattern.clone(), self.values.clone());
        }
        if nnz == 0 || shape.contains(&0) {
            return self.nothing(&shape);
        }
        let (taken, values) = match cut[..] {
            // They stand together.
            [(0, Cut { start, step: 1, .. })] if self.is_coalesced() => {
                let first = along(coordinates, 0);
                let below = |bound: usize| match bound {
                    0 => 0,
                    _ if bound == old[0] => nnz,
                    _ => count(first.clone().lower_elem(bound as i64), coordinates),
                };
                let (low, high) = (below(start), below(start + shape[0]));
                if low == high {
                    return self.nothing(&shape);
                }
                let taken = coordinates.clone().narrow(1, low, high - low);
                (taken, self.values.clone().narrow(0, low, high - low))
            }
            _ => {
                let lies = cut.iter().map(|(dim, cut)| lies_in(along(coordinates, *dim), cut, old[*dim]));
                let Some(keep) = lies.reduce(Tensor::bool_and) else { unreachable!("some dim is cut") };
                let positions = kept(keep, self.pattern.index_dtype());
                if positions.dims()[0] == 0 {
                    return self.nothing(&shape);
                }
                let taken = columns(coordinates, &positions);
                (taken, move_rows(self.values.clone(), self.fill_row(), &RowMap::new(positions, nnz)))
            }
        };
        let mut lines = lines(&taken);
        for (dim, cut) in cut {
            let from = lines[dim].clone().sub_scalar(cut.start as i64);
            lines[dim] = if cut.step == 1 { from } else { from.div_scalar(cut.step as i64) };
        }
        (from_lines(lines, &shape, taken.dims()[1], self.is_coalesced(), coordinates), values)
    }

    /// Parts of `size` (at least 1) along an axis.
    fn parts(&self, axis: usize, size: usize) -> Vec<Self> {
        let whole = self.dims()[axis];
        let size = size.min(whole.max(1));
        let starts: Vec<usize> = (0..whole.div_ceil(size).max(1)).map(|part| part * size).collect();
        let length = |start: usize| size.min(whole - start);
        if starts.len() == 1 {
            return vec![self.clone()];
        }
        if axis >= self.sparse_dims() || self.nnz() == 0 {
            let cut = |&start: &usize| self.cut_axis(axis, Cut { start, count: length(start), step: 1 });
            return starts.iter().map(cut).collect();
        }
        let coordinates = self.pattern.coordinates();
        let part = along(coordinates, axis).div_scalar(size as i64);
        // Along axis 0 of a coalesced tensor parts stand together.
        let (order, ptr) = if axis == 0 && self.is_coalesced() {
            (None, kernel::compress(&part, starts.len()))
        } else {
            let (order, ptr) = kernel::group_by(&part, starts.len());
            (Some(order), ptr)
        };
        let ptr: Vec<i64> = ptr.into_data().convert::<i64>().iter().collect();
        let made = starts.iter().zip(ptr.windows(2)).map(|(&start, ends)| {
            let (low, count) = (ends[0] as usize, (ends[1] - ends[0]) as usize);
            let mut shape = self.pattern.shape().to_vec();
            shape[axis] = length(start);
            let (pattern, values) = if count == 0 {
                self.nothing(&shape)
            } else {
                let (taken, values) = match &order {
                    None => (coordinates.clone().narrow(1, low, count), self.values.clone().narrow(0, low, count)),
                    Some(order) => {
                        let positions = order.clone().narrow(0, low, count);
                        let taken = columns(coordinates, &positions);
                        let map = RowMap::new(positions, self.nnz());
                        (taken, move_rows(self.values.clone(), self.fill_row(), &map))
                    }
                };
                let mut lines = lines(&taken);
                lines[axis] = lines[axis].clone().sub_scalar(start as i64);
                (from_lines(lines, &shape, count, self.is_coalesced(), coordinates), values)
            };
            Self::from_parts(pattern, values, self.dense_shape.clone(), self.fill.clone())
        });
        made.collect()
    }
}

/// Whether each index along a dim of `size` is one of the positions.
fn lies_in(line: Tensor<1, Int>, cut: &Cut, size: usize) -> Tensor<1, Bool> {
    let mut all = None;
    let mut and = |keep: Tensor<1, Bool>| {
        all = Some(match all.take() {
            None => keep,
            Some(before) => Tensor::bool_and(before, keep),
        });
    };
    if cut.start > 0 {
        and(line.clone().greater_equal_elem(cut.start as i64));
    }
    if cut.end() < size {
        and(line.clone().lower_elem(cut.end() as i64));
    }
    if cut.step > 1 {
        let step = cut.step as i64;
        let from = line.clone().sub_scalar(cut.start as i64);
        and(from.clone().equal(from.div_scalar(step).mul_scalar(step)));
    }
    all.unwrap_or_else(|| line.greater_equal_elem(0))
}

/// How many are true, read from the device.
fn count(hits: Tensor<1, Bool>, like: &Tensor<2, Int>) -> usize {
    read(index_tensor(hits.int(), like.dtype()).sum())
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
