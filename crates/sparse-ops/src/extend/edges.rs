//! Rows at the elements of a matrix.

use crate::base::exact::Exact;
use crate::kernel::Put;
use crate::ops::dense::put_along_axis::{put, run, target};
use crate::ops::elementwise::broadcast::read_rows;
use crate::pattern::csr::CsrPattern;
use crate::pattern::layout::{Pattern, Structure};
use crate::pattern::maps::axis_map;
use crate::rows::zip::zip;
use burn::tensor::{Int, Tensor};
use sparse_burn::{BinaryOp, Reduce};

/// The row of `x` at the coordinate of each stored element along `axis`: `[n, F]` to `[nnz, F]`.
///
/// For an adjacency, axis 0 reads the features of targets, axis 1 those of sources. Backward: each row gets the sum
/// over its elements, by segments that are kept with the pattern, without atomics. (DGL's `copy_u`, `copy_v`.)
pub fn read_at<P: Pattern>(pattern: &P, axis: usize, x: Tensor<2>) -> Tensor<2> {
    read_rows(x, &axis_map(pattern, axis))
}

/// The sum of the rows of both ends of each stored element of a matrix: `rows [M, F]` and `cols [N, F]` to `[nnz, F]`.
///
/// One pass. Backward: as [`read_at`]. (DGL's `u_add_v`.)
pub fn read_ends<P: Pattern>(pattern: &P, rows: Tensor<2>, cols: Tensor<2>) -> Tensor<2> {
    let none = || Tensor::zeros([1, rows.dims()[1]], (&rows.device().inner(), rows.dtype()));
    let [row, col] = [0, 1].map(|axis| Some(axis_map(pattern, axis)));
    zip(BinaryOp::Add, (&rows, none(), row), (&cols, none(), col))
}

/// `out[i] = reduce` of the rows `[nnz, F]` of the elements of matrix row `i`: `[M, F]`, and 0 where there are none.
///
/// Any reduction but [`Reduce::Assign`]. Backward: that of [`put_along_axis`](crate::ops::put_along_axis). Cost: one
/// pass over the rows; the segments are kept with the pattern. (DGL's `copy_e` with a reducer, PyG's `aggregate`.)
pub fn reduce_rows(pattern: &CsrPattern, rows: Tensor<2>, reduce: Reduce) -> Tensor<2> {
    let [count, features] = rows.dims();
    let targets = pattern.shape()[0];
    let zeros = Tensor::zeros([targets, features], (&rows.device(), rows.dtype()));
    if count == 0 || features == 0 {
        return zeros;
    }
    let matrix = pattern.matrix().expect("a CSR pattern of rank 2 is a matrix");
    let put = Put {
        index: matrix.row_ids().clone().reshape(Exact([count, 1])),
        target: target([targets, features], 0, count, true),
        reduce,
        include_self: false,
        groups: Some(matrix.groups()),
    };
    run(put, zeros, rows)
}

/// The table `[n, F]` with other rows `[k, F]` at the distinct ids `[k]`, on a CPU in its own buffer if nobody else
/// holds it. Ids are in range and of the index dtype of `n`.
pub fn write_rows(table: Tensor<2>, ids: &Tensor<1, Int>, rows: Tensor<2>) -> Tensor<2> {
    let [count, width] = rows.dims();
    if count * width == 0 {
        return table;
    }
    let shape = table.dims();
    let index = ids.clone().reshape(Exact([count, 1]));
    put(table, index, rows, target(shape, 0, count, true), Reduce::Assign, true)
}
