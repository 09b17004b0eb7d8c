//! Compressed row patterns.

use super::coo::CooPattern;
use super::dims::empty_pattern;
use super::layout::{FirstSlices, Pattern, Structure, describe};
use super::matrix::{Matrix, coordinates, split_rows};
use super::memo::Memo;
use super::select::{Expansion, expand, kept, lengths, total_dtype};
use crate::base::checks::same_device;
use crate::base::coordinates::along;
use crate::base::exact::Exact;
use crate::base::index::{count_up, differences, index_dtype, index_tensor, ints, read, read_all, signed};
use crate::base::lazy::Lazy;
use crate::base::limits::check_rows;
use crate::base::sizes::{check_sizes, offsets};
use crate::kernel::{self, Arrays, Compressed};
use crate::policy;
use crate::rows::{RowMap, RowSums};
use burn::tensor::{DType, Device, Int, Tensor};
use sparse_burn::ConcatAxis;
use sparse_core::narrow_limit;
use sparse_core::{Result, SparseError};
use sparse_macros::async_variant;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Compressed rows of a matrix `[rows, cols]`, or of a batch `[batch, rows, cols]` in which each matrix has its own
/// nnz.
///
/// A batch is stored as the rows of `[batch * rows, cols]`, one after the other. Columns ascend strictly in a row.
#[derive(Clone)]
pub struct CsrPattern(Arc<CsrData>);

struct CsrData {
    shape: Vec<usize>,
    row_ptr: Tensor<1, Int>,
    col_idx: Tensor<1, Int>,
    /// Shared with the matrix.
    row_ids: Arc<Lazy<Tensor<1, Int>>>,
    coordinates: Lazy<Tensor<2, Int>>,
    matrix: Lazy<Matrix>,
    memo: Memo,
}

impl CsrPattern {
    /// Checks row pointers and columns against `[rows, cols]` or `[batch, rows, cols]`. Reads one number from the
    /// device, for a batch two.
    ///
    /// `row_ptr` has `batch * (rows + 1)` entries, those of each matrix starting at 0.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if the rank is not 2 or 3, `length_mismatch`, `invalid_row_ptr`, `index_out_of_range`,
    /// `unsorted_columns`, `device_mismatch`, `overflow`.
    #[async_variant]
    pub fn new(row_ptr: Tensor<1, Int>, col_idx: Tensor<1, Int>, shape: &[usize]) -> Result<Self> {
        Self::in_order("CsrPattern::new", row_ptr, col_idx, shape)
    }

    /// [`checked`](Self::checked) for arguments that a person put in order. SciPy has another order, of lists of the
    /// same types: if its order was meant, the error says so.
    pub(crate) fn in_order(
        op: &'static str,
        row_ptr: Tensor<1, Int>,
        col_idx: Tensor<1, Int>,
        shape: &[usize],
    ) -> Result<Self> {
        let swapped = || Self::checked(op, col_idx.clone(), row_ptr.clone(), shape);
        Self::checked(op, row_ptr.clone(), col_idx.clone(), shape).map_err(|error| match error {
            // The second list has the length of the pointers: they are there. It has that of the first one: these are
            // the data and the indices.
            SparseError::LengthMismatch { what: "row_ptr", expected, got, .. }
                if [expected, got].contains(&col_idx.dims()[0]) =>
            {
                let what = "row_ptr, the first argument (SciPy's order is data, indices, indptr),";
                SparseError::length_mismatch(op, what, expected, got)
            }
            SparseError::InvalidRowPtr { got, position, .. } if swapped().is_ok() => {
                let rule = "be the first argument and col_idx the second (SciPy's order is data, indices, indptr)";
                SparseError::invalid_row_ptr(op, rule, got, position)
            }
            error => error,
        })
    }

    /// [`new`](Self::new), with the name of the operation for errors.
    pub(crate) fn checked(
        op: &'static str,
        row_ptr: Tensor<1, Int>,
        col_idx: Tensor<1, Int>,
        shape: &[usize],
    ) -> Result<Self> {
        check_sizes(op, shape)?;
        let (batch, rows, cols) = batch_rows_cols(op, shape)?;
        let too_large = |what, size| SparseError::overflow(op, what, i64::MAX, batch as u128 * size as u128);
        // A batch is one block-diagonal matrix, so its transpose has a row for each column of each matrix.
        if batch as u128 * cols as u128 > i64::MAX as u128 {
            return Err(too_large("batch * columns", cols));
        }
        same_device(op, &row_ptr.device(), &col_idx.device())?;
        let total = batch.checked_mul(rows).filter(|&total| total <= i64::MAX as usize);
        let size = [total.ok_or_else(|| too_large("batch * rows", rows))?, cols];
        let (row_ptr, col_idx) = (signed(row_ptr), signed(col_idx));
        let (row_ptr, col_idx) = if shape.len() == 2 {
            of_one_matrix(op, row_ptr, col_idx, size)?
        } else {
            let on_host = || sparse_core::join_row_ptr(op, batch, rows, &read_all(row_ptr.clone()));
            let joined = match joined_row_ptr(&row_ptr, [batch, rows], col_idx.dims()[0]) {
                Some(joined) => joined,
                // Some may be larger than nnz, which is refused below.
                None => ints(on_host()?, [size[0] + 1], &row_ptr.device()),
            };
            // The error of a batch names the entry of `row_ptr`, so the host looks for it.
            of_one_matrix(op, joined, col_idx, size).map_err(|error| on_host().err().unwrap_or(error))?
        };
        Ok(Self::new_unchecked(row_ptr, col_idx, shape))
    }

    /// The pattern without a check of the indices. `row_ptr` has `batch * rows + 1` entries that run through the whole
    /// batch. Wrong indices cause wrong answers, a panic or a request for as much memory as they say later, never
    /// memory errors.
    ///
    /// # Panics
    ///
    /// If the rank is below 2.
    pub fn new_unchecked(row_ptr: Tensor<1, Int>, col_idx: Tensor<1, Int>, shape: &[usize]) -> Self {
        let batch: usize = shape[..shape.len() - 2].iter().product();
        let [rows, cols] = [shape[shape.len() - 2], shape[shape.len() - 1]];
        let nnz = col_idx.dims()[0];
        let dtype = index_dtype(&[batch * rows, batch * cols], nnz);
        Self(Arc::new(CsrData {
            shape: shape.to_vec(),
            row_ptr: index_tensor(row_ptr, dtype),
            col_idx: index_tensor(col_idx, dtype),
            row_ids: Arc::default(),
            coordinates: Lazy::new(),
            matrix: Lazy::new(),
            memo: Memo::new(nnz + batch * rows),
        }))
    }

    /// Row pointers `[batch * rows + 1]` that run through the batch.
    pub fn row_ptr(&self) -> &Tensor<1, Int> {
        &self.0.row_ptr
    }

    /// Row pointers `[batch * (rows + 1)]`, those of each matrix starting at 0; the same as `row_ptr` for rank 2.
    pub(crate) fn split_row_ptr(&self) -> Tensor<1, Int> {
        split_row_ptr(self.row_ptr(), &self.0.shape)
    }

    /// Columns `[nnz]`.
    pub fn col_idx(&self) -> &Tensor<1, Int> {
        &self.0.col_idx
    }

    /// The row, in `[0, batch * rows)`, of every element.
    pub fn row_ids(&self) -> &Tensor<1, Int> {
        self.0.row_ids.get(|| kernel::expand_ptr(&self.0.row_ptr, self.nnz()))
    }

    #[cfg(test)]
    pub(crate) fn has_row_ids(&self) -> bool {
        self.0.row_ids.known().is_some()
    }

    /// The coordinates as a pattern of their own.
    pub(crate) fn to_coo(&self) -> CooPattern {
        CooPattern::new_unchecked(self.coordinates().clone(), &self.0.shape, true)
    }

    /// The coordinates of elements in these rows, counted through the batch, and columns. There must be an element.
    fn placed(&self, rows: Tensor<1, Int>, cols: Tensor<1, Int>) -> Tensor<2, Int> {
        let count = rows.dims()[0];
        let dims = if self.0.shape.len() == 2 {
            vec![rows, cols]
        } else {
            let [batch, row] = split_rows(rows, self.rows());
            vec![batch, row, cols]
        };
        Tensor::cat(dims.into_iter().map(|ids| ids.reshape(Exact([1, count]))).collect(), 0)
    }

    fn to_matrix(&self) -> Matrix {
        let (batch, ptr, mut col_ids) = (self.batch(), self.0.row_ptr.clone(), self.0.col_idx.clone());
        if batch > 1 {
            let block = self.row_ids().clone().div_scalar(self.rows() as i64);
            col_ids = col_ids + block.mul_scalar(self.cols() as i64);
        }
        Matrix::compressed([batch * self.rows(), batch * self.cols()], ptr, self.0.row_ids.clone(), col_ids)
    }

    /// Number of matrices; 1 for rank 2.
    pub fn batch(&self) -> usize {
        self.0.shape[..self.0.shape.len() - 2].iter().product()
    }

    /// Rows of a matrix.
    pub fn rows(&self) -> usize {
        self.0.shape[self.0.shape.len() - 2]
    }

    /// Columns of a matrix.
    pub fn cols(&self) -> usize {
        self.0.shape[self.0.shape.len() - 1]
    }
}

/// Checks the row pointers and columns of one matrix, and returns them.
fn of_one_matrix(
    op: &'static str,
    row_ptr: Tensor<1, Int>,
    col_idx: Tensor<1, Int>,
    [rows, cols]: [usize; 2],
) -> Result<(Tensor<1, Int>, Tensor<1, Int>)> {
    // Wide pointers of few elements become narrow, so that the columns stay as they are. A pointer that is cut off here
    // is wrong before and after; then the wide arrays say what is wrong.
    let dtypes = (row_ptr.dtype(), col_idx.dtype());
    if dtypes == (DType::I64, DType::I32) && index_dtype(&[rows, cols], col_idx.dims()[0]) == DType::I32 {
        let narrow = index_tensor(row_ptr.clone().clamp(-1, i32::MAX), DType::I32);
        if kernel::validate_csr(op, &narrow, &col_idx, rows, cols).is_ok() {
            return Ok((narrow, col_idx));
        }
    }
    // The kernel takes both arrays in one dtype: the wider of the two.
    let wide = |list: Tensor<1, Int>| if dtypes.0 == dtypes.1 { list } else { index_tensor(list, DType::I64) };
    let (row_ptr, col_idx) = (wide(row_ptr), wide(col_idx));
    kernel::validate_csr(op, &row_ptr, &col_idx, rows, cols)?;
    Ok((row_ptr, col_idx))
}

/// Joins the row pointers `[batch * (rows + 1)]` of a batch to those of one matrix, `[batch * rows + 1]`. `None` if
/// they are wrong, if there are no rows, or if the sums could overflow. Reads one number from the device.
fn joined_row_ptr(row_ptr: &Tensor<1, Int>, [batch, rows]: [usize; 2], nnz: usize) -> Option<Tensor<1, Int>> {
    let length = batch.checked_mul(rows.checked_add(1)?)?;
    // No number of the sums below is larger.
    let largest = (batch as u128 + 1) * nnz as u128;
    let wide = largest > narrow_limit() as u128;
    let fits = !wide || largest <= i64::MAX as u128 && row_ptr.device().supports_dtype(DType::I64);
    if batch * rows == 0 || length != row_ptr.dims()[0] || !fits {
        return None;
    }
    let row_ptr = if wide { index_tensor(row_ptr.clone(), DType::I64) } else { row_ptr.clone() };
    let table = row_ptr.reshape(Exact([batch, rows + 1]));
    let wrong_starts = table.clone().narrow(1, 0, 1).not_equal_elem(0).int().sum();
    let out_of_range = table.clone().lower_elem(0).bool_or(table.clone().greater_elem(nnz as i64)).int().sum();
    if read(wrong_starts + out_of_range) > 0 {
        return None;
    }
    let before = kernel::scan(table.clone().narrow(1, rows, 1).reshape(Exact([batch])));
    let start = before.clone().narrow(0, 0, batch).reshape(Exact([batch, 1]));
    let starts = (table.narrow(1, 0, rows) + start).reshape(Exact([batch * rows]));
    Some(Tensor::cat(vec![starts, before.narrow(0, batch, 1)], 0))
}

/// The pointers of a batch of this shape, those of each matrix starting at 0.
pub(crate) fn split_row_ptr(joined: &Tensor<1, Int>, shape: &[usize]) -> Tensor<1, Int> {
    let &[batch, rows, _] = shape else { return joined.clone() };
    let (total, length) = (batch * rows, batch * (rows + 1));
    if total == 0 {
        return index_tensor(ints(vec![0; length], [length], &joined.device()), joined.dtype());
    }
    let [start, end] = [0, 1].map(|at| joined.clone().narrow(0, at, total).reshape(Exact([batch, rows])));
    let first = start.narrow(1, 0, 1);
    Tensor::cat(vec![first.zeros_like(), end - first], 1).reshape(Exact([length]))
}

fn batch_rows_cols(op: &'static str, shape: &[usize]) -> Result<(usize, usize, usize)> {
    match *shape {
        [rows, cols] => Ok((1, rows, cols)),
        [batch, rows, cols] => Ok((batch, rows, cols)),
        _ => {
            let rule = "CSR must have rank 2 or 3 (use COO for any other), got shape {left}";
            Err(SparseError::shape_mismatch(op, rule, shape, [2, 3]))
        }
    }
}

impl fmt::Debug for CsrPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(self, f)
    }
}

impl Pattern for CsrPattern {
    const LAYOUT: &'static str = "CSR";

    fn shape(&self) -> &[usize] {
        &self.0.shape
    }
    fn nnz(&self) -> usize {
        self.0.col_idx.dims()[0]
    }
    fn is_coalesced(&self) -> bool {
        true
    }
    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
    fn device(&self) -> Device {
        self.0.col_idx.device()
    }
    fn to_device(&self, device: &Device) -> Self {
        let (row_ptr, col_idx) = (self.0.row_ptr.clone(), self.0.col_idx.clone());
        Self::new_unchecked(row_ptr.to_device(device), col_idx.to_device(device), &self.0.shape)
    }
    fn index_dtype(&self) -> DType {
        self.0.col_idx.dtype()
    }
    fn coordinates(&self) -> &Tensor<2, Int> {
        self.0.coordinates.get(|| {
            if self.nnz() == 0 {
                return Tensor::empty([self.0.shape.len(), 0], (&self.0.col_idx.device(), self.0.col_idx.dtype()));
            }
            self.placed(self.row_ids().clone(), self.0.col_idx.clone())
        })
    }
}

impl Structure for CsrPattern {
    const HOLDS_DUPLICATES: bool = false;

    fn has_rank(rank: usize) -> bool {
        rank == 2 || rank == 3
    }

    fn check_shape(op: &'static str, shape: &[usize], held: usize) -> Result<()> {
        check_sizes(op, shape)?;
        let (batch, rows, cols) = batch_rows_cols(op, shape)?;
        let what = if shape.len() == 2 { "a dimension" } else { "batch * rows and batch * columns" };
        let got = batch as u128 * rows.max(cols) as u128;
        if got > i64::MAX as u128 {
            return Err(SparseError::overflow(op, what, i64::MAX, got));
        }
        check_rows(op, batch * rows, held)
    }

    fn from_coordinates(coordinates: Tensor<2, Int>, shape: &[usize], _coalesced: bool) -> Self {
        let nnz = coordinates.dims()[1];
        let coordinates = index_tensor(coordinates, index_dtype(shape, nnz));
        let last = shape.len() - 1;
        let batch: usize = shape[..last - 1].iter().product();
        let rows = shape[last - 1];
        let ids = match shape.len() {
            2 => along(&coordinates, 0),
            _ => {
                let dtype = index_dtype(&[batch * rows, batch * shape[last]], nnz);
                let [batch, row] = [0, 1].map(|dim| index_tensor(along(&coordinates, dim), dtype));
                batch.mul_scalar(rows as i64) + row
            }
        };
        let row_ptr = kernel::compress(&ids, batch * rows);
        Self::new_unchecked(row_ptr, along(&coordinates, last), shape)
    }

    fn from_rows(rows: &Compressed, shape: &[usize]) -> Self {
        match shape.len() {
            2 => Self::new_unchecked(rows.ptr.clone(), rows.idx.clone(), shape),
            _ => Self::from_coordinates(coordinates(rows, shape), shape, true),
        }
    }

    fn coalesce(&self) -> Option<(Self, RowSums)> {
        None
    }

    fn matrix(&self) -> Option<&Matrix> {
        Some(self.0.matrix.get(|| self.to_matrix()))
    }

    fn arrays(&self) -> Arrays {
        Arrays::Csr(self.0.row_ptr.clone(), self.0.col_idx.clone())
    }

    fn from_arrays(arrays: Arrays, shape: &[usize], _coalesced: bool) -> Self {
        let Arrays::Csr(row_ptr, col_idx) = arrays else { unreachable!("kernels keep the layout") };
        Self::new_unchecked(row_ptr, col_idx, shape)
    }

    fn memo(&self) -> &Memo {
        &self.0.memo
    }

    fn concat_axis(parts: &[Self], axis: usize, shape: &[usize]) -> (ConcatAxis, DType) {
        let nnz = parts.iter().map(Pattern::nnz).sum();
        let last = shape.len() - 1;
        let batch: usize = shape[..last - 1].iter().product();
        let dtype = index_dtype(&[batch * shape[last - 1], batch * shape[last]], nnz);
        let how = if axis == last {
            ConcatAxis::CsrCols { offsets: offsets(parts.iter().map(Self::cols)) }
        } else if axis == 0 {
            ConcatAxis::CsrRows
        } else {
            ConcatAxis::CsrBatchRows { batch, rows: parts.iter().map(Self::rows).collect() }
        };
        (how, dtype)
    }

    fn permute(&self, axes: &[usize]) -> (Self, Option<RowMap>) {
        if axes == [1, 0] {
            // The matrix keeps its compressed columns for backward passes anyway.
            let by_col = self.matrix().expect("CSR is a matrix").by_col();
            let shape = [self.cols(), self.rows()];
            let map = by_col.perm.clone().map(|order| RowMap::new(order, self.nnz()));
            return (Self::new_unchecked(by_col.ptr.clone(), by_col.idx.clone(), &shape), map);
        }
        let (pattern, map) = self.to_coo().permute(axes);
        (Self::from_coordinates(pattern.indices().clone(), pattern.shape(), true), map)
    }

    fn unsqueezed(&self, axis: usize) -> Option<Self> {
        // The result is a batch of one matrix, or of matrices of one row: the row pointers are the same.
        let mut shape = self.0.shape.clone();
        shape.insert(axis, 1);
        (axis < 2).then(|| Self::new_unchecked(self.0.row_ptr.clone(), self.0.col_idx.clone(), &shape))
    }

    fn filled_rows(&self) -> Option<(Tensor<2, Int>, Tensor<1, Int>)> {
        let row_ptr = &self.0.row_ptr;
        let mut rows = kept(differences(row_ptr).greater_elem(0), row_ptr.dtype());
        if rows.dims()[0] == 0 {
            // A run that is dropped read that there is none. It goes on with one.
            rows = Tensor::zeros([1], (&row_ptr.device(), row_ptr.dtype()));
        }
        let last = row_ptr.clone().narrow(0, self.batch() * self.rows(), 1);
        let ptr = Tensor::cat(vec![row_ptr.clone().select(0, rows.clone()), last], 0);
        let zeros = rows.zeros_like();
        Some((self.placed(rows, zeros), ptr))
    }

    fn first_slices(&self) -> Option<&dyn FirstSlices<Self>> {
        Some(self)
    }
}

impl FirstSlices<CsrPattern> for CsrPattern {
    fn take(&self, index: &Tensor<1, Int>, total: Option<usize>) -> (Self, Tensor<1, Int>) {
        let (count, dtype) = (index.dims()[0], self.0.row_ptr.dtype());
        let mut shape = self.0.shape.clone();
        shape[0] = count;
        let mut rows = index_tensor(index.clone(), dtype);
        if self.0.shape.len() == 3 {
            // The rows of each matrix.
            let (height, first) = (self.rows(), rows.mul_scalar(self.rows() as i64));
            let row = count_up(height, &self.0.row_ptr).reshape(Exact([1, height]));
            rows = (first.reshape(Exact([count, 1])) + row).reshape(Exact([count * height]));
        }
        let (starts, counts) = lengths(&self.0.row_ptr, &rows);
        let dtype = match total {
            Some(total) => index_dtype(&[rows.dims()[0]], total.max(self.nnz())),
            None => total_dtype(&counts, self.nnz(), self.nnz() as u128 * count as u128),
        };
        let Expansion { ptr, at, .. } = expand(&index_tensor(starts, dtype), &index_tensor(counts, dtype), total);
        if at.dims()[0] == 0 {
            return (empty_pattern(self, &shape), at);
        }
        (Self::new_unchecked(ptr, policy::pick(&self.0.col_idx, &at), &shape), at)
    }

    fn split(&self, bounds: &[usize]) -> Vec<(Self, Range<usize>)> {
        let height = if self.0.shape.len() == 3 { self.rows() } else { 1 };
        let at: Vec<i64> = bounds.iter().map(|bound| (bound * height) as i64).collect();
        let ends = read_all(self.0.row_ptr.clone().select(0, ints(at, [bounds.len()], &self.0.row_ptr.device())));
        let part = |(slices, ends): (&[usize], &[i64])| {
            let mut shape = self.0.shape.clone();
            shape[0] = slices[1] - slices[0];
            let [start, end] = [ends[0] as usize, ends[1] as usize];
            if start >= end {
                return (empty_pattern(self, &shape), start..start);
            }
            let ptr = self.0.row_ptr.clone().narrow(0, slices[0] * height, shape[0] * height + 1);
            let col_idx = self.0.col_idx.clone().narrow(0, start, end - start);
            (Self::new_unchecked(ptr.sub_scalar(start as i64), col_idx, &shape), start..end)
        };
        bounds.windows(2).zip(ends.windows(2)).map(part).collect()
    }
}
