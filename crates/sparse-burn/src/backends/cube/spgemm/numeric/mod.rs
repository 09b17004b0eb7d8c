//! The numeric phase: values at the elements of a known pattern.

use super::super::launch::{accumulated, arg, count, empty, flat, hardware, launch, stored};
use super::super::rows::move_rows;
use super::bins::{Bin, Lists, Matrix, Problem, bins, is_wide, mean, pieces, shares, spans};
use crate::kernel_views::RowsView;
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;

#[allow(missing_docs)]
mod kernels;

/// Units that share an element of a mask.
const LANES: usize = 8;

/// Cubes that share the mask's elements of a long row.
const PARTS: usize = 16;

/// Pointers, columns, and values in the order of the columns.
fn operand((view, values): Matrix) -> [CubeTensor; 3] {
    let RowsView { ptr, idx, perm } = view;
    let values = match perm {
        None => values,
        Some(perm) => {
            let fill = zeros(values.device.clone(), [1, 1].into(), values.dtype);
            move_rows(values, fill, perm)
        }
    };
    [flat(ptr), flat(idx), flat(values)]
}

/// The values `[nnz, 1]` of a product at the elements of its pattern, `cols` wide. `found` are the [`spans`], if they
/// are there already.
pub fn values((ptr, idx): Lists, a: Matrix, b: Matrix, found: Option<CubeTensor>, cols: usize) -> CubeTensor {
    let (nnz, dtype) = (count(&idx), a.1.dtype);
    if nnz == 0 || count(&a.1) == 0 || count(&b.1) == 0 {
        return zeros(a.1.device.clone(), [nnz, 1].into(), dtype);
    }
    let out = empty(&a.1, [nnz, 1], dtype);
    let mean = mean(count(&b.0.idx), count(&b.0.ptr) - 1);
    let ([a_ptr, a_idx, a_values], [b_ptr, b_idx, b_values]) = (operand(a), operand(b));
    let (ptr, idx, spans) = (flat(ptr), flat(idx), found.unwrap_or_else(|| spans(&a_idx, &b_ptr)));
    let (hardware, wide) = (hardware(&out), is_wide(cols));
    let types = [stored(dtype), accumulated(dtype), stored(idx.dtype)];
    // Two slots of a key and a sum.
    let bins = bins(&Problem { bytes: 2 * (4 + accumulated(dtype).size()), mean }, &hardware);
    for share in shares(nnz, &bins) {
        let (bin, tiled) = (share.bin, share.most > share.bin.cap);
        pieces(&a_ptr, &ptr, nnz, &share, |list, rows| {
            let grid = hardware.cubes(rows.div_ceil(bin.rows), bin.cube());
            let [p, s, v, i, w, c, o] = [list, &spans, &a_values, &b_idx, &b_values, &idx, &out].map(arg);
            let tensors = [list, &spans, &b_idx, &out];
            launch!(values, tensors, grid(grid), (p, s, v, i, w, c, o, rows, bin, tiled, wide), types);
        });
    }
    out
}

/// `X Y^T` at the elements of a mask. The rows of both are `cols` wide.
pub fn sampled((ptr, idx): Lists, x: Matrix, y: Matrix, cols: usize) -> CubeTensor {
    let (nnz, held, dtype) = (count(&idx), count(&x.1), x.1.dtype);
    if nnz == 0 || held == 0 || count(&y.1) == 0 {
        return zeros(x.1.device.clone(), [nnz, 1].into(), dtype);
    }
    let out = empty(&x.1, [nnz, 1], dtype);
    let ([x_ptr, x_idx, x_values], [y_ptr, y_idx, y_values]) = (operand(x), operand(y));
    let (ptr, spans) = (flat(ptr), spans(&flat(idx), &y_ptr));
    let (hardware, wide) = (hardware(&out), is_wide(cols));
    let types = [stored(dtype), accumulated(dtype), stored(ptr.dtype)];
    // Two slots of a key and a value.
    let bins = bins(&Problem { bytes: 2 * (4 + accumulated(dtype).size()), mean: LANES }, &hardware);
    for mut share in shares(held, &bins) {
        // No table holds a long row. It is searched instead.
        let searched = share.most > share.bin.cap;
        let parts = if searched { PARTS } else { 1 };
        if searched {
            share.tile = held;
        }
        let bin = Bin { lanes: LANES.min(share.bin.units), ..share.bin };
        pieces(&ptr, &x_ptr, held, &share, |list, rows| {
            let grid = hardware.cubes(rows.div_ceil(bin.rows) * parts, bin.cube());
            let [p, s, i, v, j, w, o] = [list, &spans, &x_idx, &x_values, &y_idx, &y_values, &out].map(arg);
            let tensors = [list, &spans, &x_idx, &y_idx, &out];
            launch!(sampled, tensors, grid(grid), (p, s, i, v, j, w, o, rows, parts, bin, searched, wide), types);
        });
    }
    out
}
