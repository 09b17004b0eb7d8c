//! Finds the elements of one pattern in another, and makes index maps from the result.

use super::super::fallback::supported;
use super::super::launch::{arg, count, empty, flat, holds, launch, number, runs, stored};
use super::super::sort::expand_ptr;
use crate::backend::Gpu;
use crate::kernel::Locate;
use crate::kernel_views::PatternArrays;
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;

#[allow(missing_docs)]
mod kernels {
    use super::super::super::parts::{bound, compare, search};
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    /// Adds to `at`, for each element of `a`, the number of elements of `b` before it (with `upper` also equal ones).
    /// `found` is whether `b` has the element.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn search_coo<I: Int>(
        a: &Tensor<I>,
        b: &Tensor<I>,
        at: &mut Tensor<I>,
        found: &mut Tensor<I>,
        n: usize,
        m: usize,
        #[comptime] dims: usize,
        #[comptime] upper: bool,
        #[define(I)] _type: ElemType,
    ) {
        let k = ABSOLUTE_POS;
        if k >= n {
            terminate!();
        }
        let mut key = Sequence::<I>::new();
        #[unroll]
        for d in 0..dims {
            key.push(a[d * n + k]);
        }
        let low = search::<I>(&key, b, m, 0, m, dims, upper);
        at[k] += I::cast_from(low);
        let mut has = I::from_int(0);
        if low < m && compare::<I>(&key, b, m, low, dims) == 0 {
            has = I::from_int(1);
        }
        found[k] = has;
    }

    /// The same for compressed rows.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn search_csr<I: Int>(
        rows: &Tensor<I>,
        col: &Tensor<I>,
        ptr: &Tensor<I>,
        other: &Tensor<I>,
        at: &mut Tensor<I>,
        found: &mut Tensor<I>,
        n: usize,
        #[define(I)] _type: ElemType,
    ) {
        let k = ABSOLUTE_POS;
        if k >= n {
            terminate!();
        }
        let row = usize::cast_from(rows[k]);
        let end = usize::cast_from(ptr[row + 1]);
        let low = bound::<I>(col[k], other, usize::cast_from(ptr[row]), end, false);
        at[k] = I::cast_from(low);
        let mut has = I::from_int(0);
        if low < end && other[low] == col[k] {
            has = I::from_int(1);
        }
        found[k] = has;
    }

    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn positions<I: Int>(out: &mut Tensor<I>, units: usize, #[define(I)] _type: ElemType) {
        if ABSOLUTE_POS >= units {
            terminate!();
        }
        out[ABSOLUTE_POS] = I::cast_from(ABSOLUTE_POS);
    }

    /// `at` where found, else `missing`.
    #[cube(launch, launch_unchecked, address_type = "dynamic")]
    pub fn pick<I: Int>(
        at: &mut Tensor<I>,
        found: &Tensor<I>,
        n: usize,
        missing: InputScalar,
        #[define(I)] _type: ElemType,
    ) {
        if ABSOLUTE_POS >= n {
            terminate!();
        }
        if found[ABSOLUTE_POS] == I::from_int(0) {
            at[ABSOLUTE_POS] = missing.get::<I>();
        }
    }
}

/// The arrays of a pattern: coordinates `[dims, nnz]`. If rows are compressed, these are the columns, and there are row
/// pointers and the row of each element too.
#[derive(Clone)]
pub struct Side {
    pub coordinates: CubeTensor,
    pub rows: Option<[CubeTensor; 2]>,
    pub dims: usize,
    pub nnz: usize,
}

impl Side {
    pub fn of(pattern: PatternArrays<CubeTensor>) -> Self {
        match pattern {
            PatternArrays::Coo(indices) => {
                let (dims, nnz) = (indices.meta.shape()[0], indices.meta.shape()[1]);
                Self { coordinates: flat(indices), rows: None, dims, nnz }
            }
            PatternArrays::Csr(ptr, col) => {
                let nnz = count(&col);
                let rows = expand_ptr(ptr.clone(), nnz);
                Self { coordinates: flat(col), rows: Some([flat(ptr), rows]), dims: 1, nnz }
            }
        }
    }
}

impl Locate<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { a, b } = supported(self, |args| merges(&args.a, &args.b))?;
        if elements(&a) == 0 || elements(&b) == 0 {
            return Ok(missing(elements(&a), indices(&a)));
        }
        Ok(locate(&Side::of(a), &Side::of(b)))
    }
}

/// Whether the device has kernels for two patterns that are merged.
pub fn merges(a: &PatternArrays<CubeTensor>, b: &PatternArrays<CubeTensor>) -> bool {
    let like = indices(a);
    // The sums of a merge have one entry more than there are elements, and positions in a union are 32-bit.
    runs(a.arrays().chain(b.arrays()))
        && holds(like, elements(a).max(elements(b)) + 1, like.dtype)
        && elements(a) + elements(b) < sparse_core::narrow_limit()
}

/// The coordinates of a pattern, or its columns if its rows are compressed.
pub fn indices(pattern: &PatternArrays<CubeTensor>) -> &CubeTensor {
    let (PatternArrays::Coo(indices) | PatternArrays::Csr(_, indices)) = pattern;
    indices
}

/// Number of elements of a pattern.
pub fn elements(pattern: &PatternArrays<CubeTensor>) -> usize {
    indices(pattern).meta.shape().last().copied().unwrap_or(0)
}

/// The map of so many elements that stay in place.
pub fn positions(length: usize, like: &CubeTensor) -> CubeTensor {
    let out = empty(like, [length], like.dtype);
    if length > 0 {
        launch!(positions, like, length, (arg(&out), length), stored(like.dtype));
    }
    out
}

/// The map of so many elements into an empty pattern: all are missing.
pub fn missing(length: usize, like: &CubeTensor) -> CubeTensor {
    zeros(like.device.clone(), [length].into(), like.dtype)
}

/// Adds to `at`, for each element of coordinates `a`, the number of elements of `b` before it (with `upper` also equal
/// ones). Only the first `dims` are compared. Returns whether `b` has the element.
pub fn count_before(a: &CubeTensor, b: &CubeTensor, at: &CubeTensor, dims: usize, upper: bool) -> CubeTensor {
    let (n, m) = (a.meta.shape()[1], b.meta.shape()[1]);
    let found = empty(a, [n], a.dtype);
    let (l, r, p, f) = (arg(a), arg(b), arg(at), arg(&found));
    launch!(search_coo, [a, b], n, (l, r, p, f, n, m, dims, upper), stored(a.dtype));
    found
}

/// The position of each element of `a` in `b`, or where it would be inserted, and whether it is there.
pub fn search(a: &Side, b: &Side) -> [CubeTensor; 2] {
    let (like, n) = (&a.coordinates, a.nnz);
    let at = zeros(like.device.clone(), [n].into(), like.dtype);
    let found = match (&a.rows, &b.rows) {
        (Some([_, rows]), Some([ptr, _])) => {
            let found = empty(like, [n], like.dtype);
            let [r, c, p, o, k, f] = [rows, like, ptr, &b.coordinates, &at, &found].map(arg);
            launch!(search_csr, [ptr, &b.coordinates], n, (r, c, p, o, k, f, n), stored(like.dtype));
            found
        }
        _ => count_before(like, &b.coordinates, &at, a.dims, false),
    };
    [at, found]
}

/// The position of each element of `a` in `b`, or the number of elements of `b` if it is not there.
fn locate(a: &Side, b: &Side) -> CubeTensor {
    let [at, found] = search(a, b);
    launch!(pick, at, a.nnz, (arg(&at), arg(&found), a.nnz, number(b.nnz, &at)), stored(at.dtype));
    at
}
