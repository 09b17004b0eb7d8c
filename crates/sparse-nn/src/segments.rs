//! The rows of segments: how many, in order, side by side, their softmax.

use burn::tensor::{DType, FloatDType, Int, Shape, Tensor, TensorData};
use sparse_ops::extend::{Exact, Parts, RowMap, index_dtype_for, index_tensor, kernel, move_rows, read_all, read_rows};
use sparse_ops::pattern::{CsrPattern, Pattern};
use sparse_ops::{CsrTensor, Fill, Result, SparseTensor};

/// How many rows each segment has, `[M, 1]`, as floats for rows of this dtype: in f32 where it has 16 bits, which do
/// not hold large counts.
pub(super) fn degrees(segments: &CsrPattern, dtype: DType) -> Tensor<2> {
    counts(segments).cast(counting(dtype)).reshape(Exact([segments.rows(), 1]))
}

fn counting(dtype: DType) -> FloatDType {
    if dtype == DType::F64 { FloatDType::F64 } else { FloatDType::F32 }
}

fn counts(segments: &CsrPattern) -> Tensor<1, Int> {
    let (ptr, count) = (segments.row_ptr(), segments.rows());
    if count == 0 {
        return Tensor::zeros([0], (&ptr.device(), ptr.dtype()));
    }
    ptr.clone().narrow(0, 1, count) - ptr.clone().narrow(0, 0, count)
}

/// The quantile `q` of each feature in each segment, `[M, F]`; 0 in a segment without rows. Between two rows it is
/// interpolated, or the `lower` one. Backward: to the rows that it is read from.
pub(super) fn quantile(segments: &CsrPattern, rows: Tensor<2>, q: f64, lower: bool) -> Tensor<2> {
    let (count, [nnz, width]) = (segments.rows(), rows.dims());
    let dtype = rows.dtype();
    if nnz * width == 0 || count == 0 {
        return Tensor::zeros([count, width], (&rows.device(), dtype));
    }
    let sorted = rows.clone().gather(0, ascending(segments, rows.inner()));
    let counts = counts(segments);
    // From the start of the segment; there may be none after the last row.
    let last: Tensor<1> = counts.clone().sub_scalar(1).clamp_min(0).cast(counting(dtype));
    let at = last.mul_scalar(q);
    let below = at.clone().floor();
    let start = segments.row_ptr().clone().narrow(0, 0, count);
    let read = |place: Tensor<1>| {
        let place = index_tensor(place.int(), start.dtype()) + start.clone();
        sorted.clone().select(0, place.clamp_max(nnz as i64 - 1))
    };
    let low = read(below.clone());
    let out = if lower {
        low
    } else {
        let part: Tensor<2> = (at.clone() - below).cast(dtype).reshape(Exact([count, 1]));
        (read(at.ceil()) - low.clone()) * part.expand(Shape::from([count, width])) + low
    };
    let empty = counts.equal_scalar(0).reshape(Exact([count, 1]));
    out.mask_fill(empty.expand(Shape::from([count, width])), 0.0)
}

/// For each feature the order of the rows by segments, and by their values within a segment: `[nnz, F]`.
fn ascending(segments: &CsrPattern, rows: Tensor<2>) -> Tensor<2, Int> {
    let (count, [nnz, width]) = (segments.rows(), rows.dims());
    let flat = |order: Tensor<2, Int>| order.swap_dims(0, 1).reshape(Exact([nnz * width]));
    let dtype = index_dtype_for(nnz.max(count) * width);
    let ids = index_tensor(segments.row_ids().clone(), dtype);
    // By their values in all segments; then, in a stable way, by segments.
    let order = index_tensor(flat(rows.argsort(0)), dtype);
    let places = Tensor::<1, Int>::arange(0..(nnz * width) as i64, (&ids.device(), dtype));
    let first = places.div_scalar(nnz as i64).mul_scalar(count as i64);
    let (grouped, _) = kernel::group_by(ids.select(0, order.clone()) + first, count * width);
    let by_feature: Tensor<2, Int> = order.select(0, grouped).reshape(Exact([width, nnz]));
    by_feature.swap_dims(0, 1)
}

/// The first rows of each segment by falling last feature, side by side, with zeros after them: `[M, most * F]`.
pub(super) fn largest(segments: &CsrPattern, rows: Tensor<2>, most: usize) -> Tensor<2> {
    let [nnz, width] = rows.dims();
    let rows = if nnz * width == 0 {
        rows
    } else {
        let order = ascending(segments, rows.clone().inner().narrow(1, width - 1, 1).neg());
        read_rows(rows, &RowMap::new(order.reshape(Exact([nnz])), nnz))
    };
    padded(segments, rows, Some(most)).reshape(Exact([segments.rows(), most * width]))
}

/// The first rows of each segment, with zeros after them: `[M, most, F]`, or as many as the longest one has. Reads the
/// pointers from the device.
pub(super) fn padded(segments: &CsrPattern, rows: Tensor<2>, most: Option<usize>) -> Tensor<3> {
    let (count, [nnz, width]) = (segments.rows(), rows.dims());
    let ptr = read_all(segments.row_ptr().clone());
    let longest = ptr.windows(2).map(|ends| (ends[1] - ends[0]) as usize).max().unwrap_or(0);
    let longest = most.unwrap_or(longest);
    if count * longest * width == 0 || nnz == 0 {
        return Tensor::zeros([count, longest, width], (&rows.device(), rows.dtype()));
    }
    let places = ptr.windows(2).flat_map(|ends| {
        (0..longest as i64).map(move |k| if ends[0] + k < ends[1] { ends[0] + k } else { nnz as i64 })
    });
    let map = Tensor::<1, Int>::from_data(
        TensorData::new(places.collect(), [count * longest]),
        (&segments.device(), segments.row_ptr().dtype()),
    );
    let none = Tensor::zeros([1, width], (&rows.device(), rows.dtype()));
    move_rows(rows, none, &RowMap::new(map, nnz)).reshape(Exact([count, longest, width]))
}

/// Softmax of scores `[nnz, H]` over the edges of each target, as a tensor `[M, N, H]` with the fill 0.
pub(super) fn edge_softmax(pattern: &CsrPattern, scores: Tensor<2>) -> Result<CsrTensor<3>> {
    softmax(pattern, scores, 1)
}

/// The same over the edges of each source.
pub(super) fn node_softmax(pattern: &CsrPattern, scores: Tensor<2>) -> Result<CsrTensor<3>> {
    softmax(pattern, scores, 0)
}

fn softmax(pattern: &CsrPattern, scores: Tensor<2>, dim: usize) -> Result<CsrTensor<3>> {
    let heads = vec![scores.dims()[1]];
    // With this fill the lines of a row are its stored elements, and each block element is on its own.
    let hybrid = SparseTensor::<CsrPattern, 3>::from_parts(pattern.clone(), scores, heads, Fill::Undefined);
    hybrid.try_softmax(dim)?.try_with_fill(Fill::Zero)
}
