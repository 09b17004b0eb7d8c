//! Graphs of points in space.

use burn::tensor::{Tensor, TensorData};
use sparse_core::graph::{Neighbors, Points, nearest, within};
use sparse_macros::or_panic;
use sparse_ops::extend::{Parts, index_below, read_data};
use sparse_ops::pattern::CsrPattern;
use sparse_ops::{CsrTensor, Fill, Result, SparseError};

/// The graph of `k` nearest neighbours of points `[N, dims]`: row `i` of the result `[N, N]` has the `k` nearest other
/// points of point `i`, with their Euclidean distances as values. A point with fewer than `k` others has all of them.
///
/// Exact. Of equally near points those with smaller ids are taken. `graph_ids` gives the graph of each point,
/// ascending, as in a [`GraphBatch`](super::GraphBatch): points of other graphs are no neighbours. The result is Float,
/// of the element type of the points (which are compared as f32), and not on the autodiff tape.
///
/// Cost: the points are read to the host. Up to 12 dims a k-d tree (Friedman, Bentley and Finkel 1977) finds neighbours
/// in `O(N log N)` for points that are spread evenly; in more dims all pairs of a graph are compared, `O(N^2 dims)`.
/// Parallel. (PyG's `knn_graph`.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::data::knn_graph;
///
/// let points = Tensor::<2>::from_floats([[0.0], [1.0], [3.0]], &Device::flex());
/// let graph = knn_graph(points, 1, None);
/// let ends: Vec<i64> = graph.col_idx().into_data().iter().collect();
/// assert_eq!(ends, [1, 0, 1]);
/// ```
///
/// # Errors
///
/// `invalid` for a coordinate that is not finite, `k` = 0, or graph ids that descend; `length_mismatch` for another
/// number of graph ids than points; `overflow` for 2^31 points or more.
#[or_panic]
pub fn try_knn_graph(points: Tensor<2>, k: usize, graph_ids: Option<&[usize]>) -> Result<CsrTensor<2>> {
    const OP: &str = "knn_graph";
    if k == 0 {
        return Err(SparseError::invalid(OP, "k must be above 0, got 0"));
    }
    graph(OP, points, graph_ids, &|points| nearest(points, k, false))
}

/// The graph of points `[N, dims]` that are at most `radius` apart: row `i` of the result `[N, N]` has the nearest of
/// them, at most `most`, with their Euclidean distances as values. See [`try_knn_graph`]. (PyG's `radius_graph`.)
///
/// # Errors
///
/// `invalid` for a radius that is negative or NaN, otherwise as [`try_knn_graph`].
#[or_panic]
pub fn try_radius_graph(
    points: Tensor<2>,
    radius: f64,
    most: usize,
    graph_ids: Option<&[usize]>,
) -> Result<CsrTensor<2>> {
    const OP: &str = "radius_graph";
    if radius.is_nan() || radius < 0.0 {
        return Err(SparseError::invalid(OP, format!("the radius must not be negative, got {radius}")));
    }
    if most == 0 {
        return Err(SparseError::invalid(OP, "the most neighbours must be above 0, got 0"));
    }
    graph(OP, points, graph_ids, &|points| within(points, radius, most, false))
}

fn graph(
    op: &'static str,
    points: Tensor<2>,
    graph_ids: Option<&[usize]>,
    search: &dyn Fn(&Points<'_>) -> Neighbors,
) -> Result<CsrTensor<2>> {
    let ([count, dims], device, dtype) = (points.dims(), points.device(), points.dtype());
    if count > i32::MAX as usize {
        return Err(SparseError::overflow(op, "the number of points", i32::MAX, count));
    }
    if let Some(ids) = graph_ids {
        if ids.len() != count {
            return Err(SparseError::length_mismatch(op, "the graph ids", count, ids.len()));
        }
        if let Some(at) = (1..count).find(|&at| ids[at] < ids[at - 1]) {
            let message = format!("graph ids must not descend, got {} and then {} at {at}", ids[at - 1], ids[at]);
            return Err(SparseError::invalid(op, message));
        }
    }
    let data: Vec<f32> = read_data(points).convert::<f32>().iter().collect();
    if let Some(at) = data.iter().position(|x| !x.is_finite()) {
        let message = format!("a coordinate must be finite, got {} of point {}", data[at], at / dims);
        return Err(SparseError::invalid(op, message));
    }
    // Points without coordinates are all at one place.
    let (data, dims) = if dims == 0 { (vec![0.0; count], 1) } else { (data, dims) };
    let (mut ptr, mut cols, mut distances) = (vec![0usize], Vec::new(), Vec::new());
    let mut row: Vec<(usize, f64)> = Vec::new();
    let mut start = 0;
    while start < count {
        let end = graph_ids.map_or(count, |ids| ids.partition_point(|&id| id <= ids[start]));
        let found = search(&Points::new(&data[start * dims..end * dims], dims));
        for ends in found.ptr.windows(2) {
            let span = ends[0] as usize..ends[1] as usize;
            row.clear();
            row.extend(span.map(|at| (start + found.ids[at] as usize, found.squared[at].sqrt())));
            row.sort_unstable_by_key(|&(col, _)| col);
            cols.extend(row.iter().map(|&(col, _)| col));
            distances.extend(row.iter().map(|&(_, distance)| distance));
            ptr.push(cols.len());
        }
        start = end;
    }
    let nnz = cols.len();
    let row_ptr = index_below(&ptr, nnz + 1, &device);
    let pattern = CsrPattern::new_unchecked(row_ptr, index_below(&cols, count, &device), &[count, count]);
    let values = Tensor::from_data(TensorData::new(distances, [nnz, 1]).convert_dtype(dtype), (&device, dtype));
    Ok(CsrTensor::from_parts(pattern, values, vec![], Fill::Zero))
}
