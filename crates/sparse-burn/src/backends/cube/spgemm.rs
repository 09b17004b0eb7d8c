//! Sparse x sparse.
//!
//! To find the pattern, the positions of all products are written and sorted, and each is kept once (Dalton, Olson and
//! Bell, "Optimizing sparse matrix-matrix multiplication for the GPU", 2015). Then one unit computes the value of each
//! element of the result, by binary search in sorted rows. No addition is atomic.

use super::fallback::{last, supported};
use super::hardware::Hardware;
use super::launch::{
    accumulated, arg, binds, coordinates, count, empty, flat, hardware, holds, launch, number, runs, stored,
};
use super::rows::move_rows;
use super::sort::{compress, expand_ptr, scan_to_ptr};
use super::structure::coalesce;
use crate::backend::{Declined, Gpu};
use crate::carried::RowsView;
use crate::kernel::{Spgemm, SpgemmSampled, SpgemmValues};
use burn::backend::DType;
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;
use sparse_core::Result;

#[allow(missing_docs)]
mod kernels {
    use super::super::parts::bound;
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    /// The number of products of each element of A.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
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

    /// Sums of every `units`-th count, each at most `limit`. So no sum overflows, and the order does not matter.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
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
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
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

    /// A unit for each element `e` of the result. For a product it goes through row `rows[e]` of A. Each column there
    /// is a row of B, in which it searches for column `cols[e]`. With `sampled`, A is Y and B is X: it goes through row
    /// `rows[e]` of Y, and searches for each column in row `cols[e]` of X.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn lookups<T: Numeric, A: Numeric, I: Int>(
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
        #[comptime] sampled: bool,
        #[define(T, A, I)] _types: [ElemType; 3],
    ) {
        let e = ABSOLUTE_POS;
        if e >= units {
            terminate!();
        }
        let row = usize::cast_from(rows[e]);
        let mut key = cols[e];
        let mut start = 0usize;
        let mut stop = 0usize;
        if comptime!(sampled) {
            let row = usize::cast_from(key);
            start = usize::cast_from(b_ptr[row]);
            stop = usize::cast_from(b_ptr[row + 1]);
        }
        let mut sum = A::from_int(0);
        let mut q = usize::cast_from(a_ptr[row]);
        let end = usize::cast_from(a_ptr[row + 1]);
        while q < end {
            if comptime!(sampled) {
                key = a_idx[q];
            } else {
                let row = usize::cast_from(a_idx[q]);
                start = usize::cast_from(b_ptr[row]);
                stop = usize::cast_from(b_ptr[row + 1]);
            }
            let at = bound::<I>(key, b_idx, start, stop, false);
            if at < stop && b_idx[at] == key {
                sum += A::cast_from(a_values[q]) * A::cast_from(b_values[at]);
            }
            q += 1;
        }
        out[e] = T::cast_from(sum);
    }
}

/// Buffers that the kernel of values binds, without the one that has the sizes.
const BUFFERS: usize = 9;

/// Most products, so that 32-bit positions count them with a margin.
const LIMIT: usize = 1 << 30;

/// The number of products (at most [`LIMIT`] are counted), and the dtype of their positions.
#[derive(Clone, Copy, Debug)]
struct Problem {
    products: usize,
    dtype: DType,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strategy {
    /// There are no products.
    Nothing,
    /// The positions of all products are written and sorted.
    Expand,
    /// The host finds the pattern: 32-bit positions cannot count the products, or no buffer can hold them.
    Host,
}

fn strategy(problem: &Problem, hardware: &Hardware) -> Strategy {
    match problem.products {
        0 => Strategy::Nothing,
        products if products < LIMIT && hardware.holds(2 * products, problem.dtype.size()) => Strategy::Expand,
        _ => Strategy::Host,
    }
}

/// A sparse matrix: its pattern by rows, and its values.
type Matrix = (RowsView<CubeTensor>, CubeTensor);

/// Whether the device has kernels for two sparse factors.
fn multiply((a, a_values): &Matrix, (b, b_values): &Matrix) -> bool {
    // The scan of the products has one entry more than there are elements.
    runs(a.arrays().chain(b.arrays()).chain([a_values, b_values]))
        && binds(&a.ptr, BUFFERS)
        && holds(&a.idx, count(&a.idx) + 1, a.idx.dtype)
}

/// Whether the device has a kernel for values at the elements of `ptr` and `idx`, each from a row of two factors.
fn looks_up((ptr, idx): &(CubeTensor, CubeTensor), a: &Matrix, b: &Matrix) -> bool {
    runs([ptr, idx]) && multiply(a, b) && holds(idx, count(idx), a.1.dtype)
}

impl Spgemm<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<Result<Matrix>, Self> {
        let Self { a, b, cols } = supported(self, |args| multiply(&args.a, &args.b))?;
        let Some((ptr, idx)) = pattern(&a.0, &b.0, cols) else {
            return Err(Declined::NoKernel(Self { a, b, cols }));
        };
        let values = values(&ptr, &idx, a, b);
        Ok(Ok((RowsView { ptr, idx, perm: None }, values)))
    }
}

impl SpgemmValues<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { c: (ptr, idx), a, b, .. } = supported(self, |args| looks_up(&args.c, &args.a, &args.b))?;
        Ok(values(&ptr, &idx, a, b))
    }
}

impl SpgemmSampled<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { mask: (ptr, idx), x, y, .. } = supported(self, |args| looks_up(&args.mask, &args.x, &args.y))?;
        Ok(sampled(&ptr, &idx, x, y))
    }
}

/// Row pointers and columns of the product, or `None` if the host must find them. Reads two numbers: how many products
/// there are, and how many elements.
fn pattern(a: &RowsView<CubeTensor>, b: &RowsView<CubeTensor>, cols: usize) -> Option<(CubeTensor, CubeTensor)> {
    let (rows, nnz, dtype) = (count(&a.ptr) - 1, count(&a.idx), a.ptr.dtype);
    let zeros = |length: usize| zeros(a.ptr.device.clone(), [length].into(), dtype);
    if nnz == 0 || count(&b.idx) == 0 {
        return Some((zeros(rows + 1), zeros(0)));
    }
    let (a_idx, b_ptr, b_idx) = (flat(a.idx.clone()), flat(b.ptr.clone()), flat(b.idx.clone()));
    let lengths = empty(&a_idx, [nnz], dtype);
    launch!(lengths, lengths, nnz, (arg(&a_idx), arg(&b_ptr), arg(&lengths), nnz), stored(dtype));
    let products = limited_sum(lengths.clone());
    match strategy(&Problem { products, dtype }, &hardware(&lengths)) {
        Strategy::Nothing => return Some((zeros(rows + 1), zeros(0))),
        Strategy::Host => return None,
        Strategy::Expand => {}
    }
    let first = scan_to_ptr(lengths);
    let (owner, row_ids) = (expand_ptr(first.clone(), products), expand_ptr(a.ptr.clone(), nnz));
    let out = empty(&first, [2, products], dtype);
    let [o, f, r, a, p, i, w] = [&owner, &first, &row_ids, &a_idx, &b_ptr, &b_idx, &out].map(arg);
    launch!(products, out, products, (o, f, r, a, p, i, w, products), stored(dtype));
    let [unique, ..] = coalesce(out, &[rows, cols]);
    Some((compress(coordinates(&unique, 0), rows), coordinates(&unique, 1)))
}

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

/// Pointers, columns, and values in the order of the columns.
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

/// The values of a product at the elements of its pattern.
fn values(ptr: &CubeTensor, idx: &CubeTensor, a: Matrix, b: Matrix) -> CubeTensor {
    let (rows, cols) = (expand_ptr(ptr.clone(), count(idx)), flat(idx.clone()));
    lookups([rows, cols], a, b, false)
}

/// `X Y^T` at the elements of a mask.
fn sampled(ptr: &CubeTensor, idx: &CubeTensor, x: Matrix, y: Matrix) -> CubeTensor {
    let (rows, cols) = (expand_ptr(ptr.clone(), count(idx)), flat(idx.clone()));
    lookups([cols, rows], y, x, true)
}

/// Computes the result for each pair of a row of `a` and a column of `b` (with `sampled` a row of `b`).
fn lookups([rows, cols]: [CubeTensor; 2], (a, a_values): Matrix, (b, b_values): Matrix, sampled: bool) -> CubeTensor {
    let (nnz, dtype) = (count(&rows), a_values.dtype);
    let out = empty(&a_values, [nnz, 1], dtype);
    if nnz == 0 {
        return out;
    }
    if count(&a_values) == 0 || count(&b_values) == 0 {
        return zeros(out.device.clone(), [nnz, 1].into(), dtype);
    }
    let types = [stored(dtype), accumulated(dtype), stored(rows.dtype)];
    let (r, c, o) = (arg(&rows), arg(&cols), arg(&out));
    let [[p, i, v], [q, j, w]] = [operand(a, a_values), operand(b, b_values)].map(|arrays| arrays.map(|own| arg(&own)));
    launch!(lookups, out, nnz, (r, c, p, i, v, q, j, w, o, nnz, sampled), types);
    out
}

#[cfg(test)]
mod tests {
    use super::super::hardware::tests::SMALL;
    use super::*;

    #[test]
    fn products_are_expanded_where_positions_and_a_buffer_hold_them() {
        let of = |products, dtype, hardware| strategy(&Problem { products, dtype }, hardware);
        assert_eq!(of(0, DType::I32, &SMALL), Strategy::Nothing);
        assert_eq!(of(16 << 20, DType::I32, &SMALL), Strategy::Expand);
        assert_eq!(of((16 << 20) + 1, DType::I32, &SMALL), Strategy::Host);
        assert_eq!(of(8 << 20, DType::I64, &SMALL), Strategy::Expand);
        assert_eq!(of((8 << 20) + 1, DType::I64, &SMALL), Strategy::Host);
        let large = Hardware { buffer: u64::MAX, ..SMALL };
        assert_eq!(of(LIMIT - 1, DType::I64, &large), Strategy::Expand);
        assert_eq!(of(LIMIT, DType::I64, &large), Strategy::Host);
    }
}
