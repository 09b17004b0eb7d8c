//! Sparse x sparse.
//!
//! The pattern comes from expanding every product's position, sorting them and keeping each once (the structure of Dalton,
//! Olson and Bell, "Optimizing sparse matrix-matrix multiplication for the GPU", 2015). Values are found per element of the
//! result, by binary search in sorted rows: nothing is added atomically.

use super::fallback::last;
use super::launch::{accumulated, arg, count, empty, flat, launch, stored};
use super::rows::move_rows;
use super::sort::{compress, expand_ptr, scan_to_ptr};
use super::structure::{coalesce, number};
use crate::carried::RowsView;
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;

#[allow(missing_docs)]
mod kernels {
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    /// The number of products that each element of A takes part in.
    #[cube(launch)]
    pub fn lengths<I: Int>(
        idx: &Tensor<I>,
        ptr: &Tensor<I>,
        out: &mut Tensor<I>,
        units: usize,
        #[define(I)] _type: ElemType,
    ) {
        if ABSOLUTE_POS >= units {
            terminate!();
        }
        let row = usize::cast_from(idx[ABSOLUTE_POS]);
        out[ABSOLUTE_POS] = ptr[row + 1] - ptr[row];
    }

    /// Sums of every `units`-th count, none beyond `limit`: with that the order of the sums makes no difference.
    #[cube(launch)]
    pub fn limited_sums<I: Int>(
        counts: &Tensor<I>,
        out: &mut Tensor<I>,
        limit: InputScalar,
        length: usize,
        units: usize,
        #[define(I)] _type: ElemType,
    ) {
        if ABSOLUTE_POS >= units {
            terminate!();
        }
        let limit = limit.get::<I>();
        let mut sum = I::from_int(0);
        let mut k = ABSOLUTE_POS;
        while k < length {
            sum += min(counts[k], limit - sum);
            k += units;
        }
        out[ABSOLUTE_POS] = sum;
    }

    /// Row and column of every product.
    #[cube(launch)]
    pub fn products<I: Int>(
        owner: &Tensor<I>,
        first: &Tensor<I>,
        rows: &Tensor<I>,
        a_idx: &Tensor<I>,
        b_ptr: &Tensor<I>,
        b_idx: &Tensor<I>,
        out: &mut Tensor<I>,
        units: usize,
        #[define(I)] _type: ElemType,
    ) {
        let p = ABSOLUTE_POS;
        if p >= units {
            terminate!();
        }
        let e = usize::cast_from(owner[p]);
        let start = usize::cast_from(b_ptr[usize::cast_from(a_idx[e])]);
        out[p] = rows[e];
        out[units + p] = b_idx[start + p - usize::cast_from(first[e])];
    }

    /// Where `column` stands in `idx[low..high]`, which ascends; `high` if it does not.
    #[cube]
    fn find<I: Int>(idx: &Tensor<I>, column: I, start: usize, end: usize) -> usize {
        let mut low = start;
        let mut high = end;
        while low < high {
            let middle = (low + high) / 2;
            if idx[middle] < column {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let mut at = end;
        if low < end && idx[low] == column {
            at = low;
        }
        at
    }

    /// A unit for each element of the result: the elements of A's row, each with its partner in B.
    #[cube(launch)]
    pub fn values<T: Numeric, A: Numeric, I: Int>(
        rows: &Tensor<I>,
        cols: &Tensor<I>,
        a_ptr: &Tensor<I>,
        a_idx: &Tensor<I>,
        a_values: &Tensor<T>,
        b_ptr: &Tensor<I>,
        b_idx: &Tensor<I>,
        b_values: &Tensor<T>,
        out: &mut Tensor<T>,
        units: usize,
        #[define(T, A, I)] _types: [ElemType; 3],
    ) {
        let e = ABSOLUTE_POS;
        if e >= units {
            terminate!();
        }
        let row = usize::cast_from(rows[e]);
        let column = cols[e];
        let mut sum = A::from_int(0);
        let mut q = usize::cast_from(a_ptr[row]);
        let end = usize::cast_from(a_ptr[row + 1]);
        while q < end {
            let k = usize::cast_from(a_idx[q]);
            let stop = usize::cast_from(b_ptr[k + 1]);
            let at = find::<I>(b_idx, column, usize::cast_from(b_ptr[k]), stop);
            if at < stop {
                sum += A::cast_from(a_values[q]) * A::cast_from(b_values[at]);
            }
            q += 1;
        }
        out[e] = T::cast_from(sum);
    }

    /// A unit for each element `(i, k)` of the mask: the elements of row `k` of Y, each with its partner in row `i` of X.
    #[cube(launch)]
    pub fn sampled<T: Numeric, A: Numeric, I: Int>(
        rows: &Tensor<I>,
        cols: &Tensor<I>,
        x_ptr: &Tensor<I>,
        x_idx: &Tensor<I>,
        x_values: &Tensor<T>,
        y_ptr: &Tensor<I>,
        y_idx: &Tensor<I>,
        y_values: &Tensor<T>,
        out: &mut Tensor<T>,
        units: usize,
        #[define(T, A, I)] _types: [ElemType; 3],
    ) {
        let e = ABSOLUTE_POS;
        if e >= units {
            terminate!();
        }
        let row = usize::cast_from(rows[e]);
        let other = usize::cast_from(cols[e]);
        let start = usize::cast_from(x_ptr[row]);
        let stop = usize::cast_from(x_ptr[row + 1]);
        let mut sum = A::from_int(0);
        let mut q = usize::cast_from(y_ptr[other]);
        let end = usize::cast_from(y_ptr[other + 1]);
        while q < end {
            let at = find::<I>(x_idx, y_idx[q], start, stop);
            if at < stop {
                sum += A::cast_from(x_values[at]) * A::cast_from(y_values[q]);
            }
            q += 1;
        }
        out[e] = T::cast_from(sum);
    }
}

/// Buffers that the kernels of values bind.
pub(super) const BUFFERS: usize = 9;

/// Row pointers and columns of the product; `None` where 32-bit positions do not count the products or no buffer holds
/// them. Reads two numbers: how many products there are, and how many elements.
pub(super) fn pattern(
    a: &RowsView<CubeTensor>,
    b: &RowsView<CubeTensor>,
    cols: usize,
) -> Option<(CubeTensor, CubeTensor)> {
    let (rows, nnz, dtype) = (count(&a.ptr) - 1, count(&a.idx), a.ptr.dtype);
    let nothing = || {
        let zeros = |length: usize| zeros(a.ptr.device.clone(), [length].into(), dtype);
        Some((zeros(rows + 1), zeros(0)))
    };
    if nnz == 0 || count(&b.idx) == 0 {
        return nothing();
    }
    let (a_idx, b_ptr, b_idx) = (flat(a.idx.clone()), flat(b.ptr.clone()), flat(b.idx.clone()));
    let lengths = empty(&a_idx, [nnz], dtype);
    launch!(lengths, lengths, nnz, (arg(&a_idx), arg(&b_ptr), arg(&lengths), nnz), stored(dtype));
    let total = limited_sum(lengths.clone());
    if total == LIMIT {
        return None;
    }
    if total == 0 {
        return nothing();
    }
    let first = scan_to_ptr(lengths);
    if (2 * total * dtype.size()) as u64 > first.client.properties().memory.max_page_size {
        return None;
    }
    let (owner, row_ids) = (expand_ptr(first.clone(), total), expand_ptr(a.ptr.clone(), nnz));
    let out = empty(&first, [2, total], dtype);
    let types = stored(dtype);
    let (o, f, r) = (arg(&owner), arg(&first), arg(&row_ids));
    launch!(products, out, total, (o, f, r, arg(&a_idx), arg(&b_ptr), arg(&b_idx), arg(&out), total), types);
    let [unique, ..] = coalesce(out, &[rows, cols]);
    let elements = unique.meta.shape()[1];
    let line = |d: usize| {
        let list = burn_cubecl::ops::reshape(unique.clone(), [2 * elements].into());
        let part = d * elements..(d + 1) * elements;
        flat(burn_cubecl::kernel::slice(list, std::slice::from_ref(&part)))
    };
    Some((compress(line(0), rows), line(1)))
}

/// Products that 32-bit positions count, with a margin.
const LIMIT: usize = 1 << 30;

/// The sum of counts, or [`LIMIT`] if that is less.
fn limited_sum(mut counts: CubeTensor) -> usize {
    while count(&counts) > 1 {
        let length = count(&counts);
        let units = length.div_ceil(64);
        let out = empty(&counts, [units], counts.dtype);
        let (kind, limit) = (stored(counts.dtype), number(LIMIT, &counts));
        launch!(limited_sums, counts, units, (arg(&counts), arg(&out), limit, length, units), kind);
        counts = out;
    }
    (last(&counts) as usize).min(LIMIT)
}

/// Pointers, columns, and values in their order.
fn operand(view: RowsView<CubeTensor>, values: CubeTensor) -> [CubeTensor; 3] {
    let values = match view.perm {
        None => values,
        Some(perm) => {
            let fill = zeros(values.device.clone(), [1, 1].into(), values.dtype);
            move_rows(values, fill, perm)
        }
    };
    [flat(view.ptr), flat(view.idx), flat(values)]
}

macro_rules! per_element {
    ($kernel:ident, $about:literal) => {
        #[doc = $about]
        pub(super) fn $kernel(
            ptr: &CubeTensor,
            idx: &CubeTensor,
            a: RowsView<CubeTensor>,
            a_values: CubeTensor,
            b: RowsView<CubeTensor>,
            b_values: CubeTensor,
        ) -> CubeTensor {
            let (nnz, types) = (count(idx), [stored(a_values.dtype), accumulated(a_values.dtype), stored(idx.dtype)]);
            let out = empty(&a_values, [nnz, 1], a_values.dtype);
            if nnz == 0 {
                return out;
            }
            if count(&a_values) == 0 || count(&b_values) == 0 {
                return zeros(out.device.clone(), [nnz, 1].into(), out.dtype);
            }
            let (rows, cols) = (expand_ptr(ptr.clone(), nnz), flat(idx.clone()));
            let ([p, i, v], [q, j, w]) = (operand(a, a_values), operand(b, b_values));
            let (r, c) = (arg(&rows), arg(&cols));
            let (left, right) = ((arg(&p), arg(&i), arg(&v)), (arg(&q), arg(&j), arg(&w)));
            launch!(
                $kernel,
                out,
                nnz,
                (r, c, left.0, left.1, left.2, right.0, right.1, right.2, arg(&out), nnz),
                types
            );
            out
        }
    };
}

per_element!(values, "The values of a product at the elements of its pattern.");
per_element!(sampled, "`X Y^T` at the elements of a mask.");
