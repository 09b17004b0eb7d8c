//! Sparse x sparse: rows in bins by their work, hash tables in shared memory, first the pattern and then the values.
//!
//! # Pattern
//!
//! 1. A row's *work* is its number of products, with 1 for an element of A that has none. It bounds whatever the row
//!    needs. Rows are sorted by the bin of their work: at most 32, 128, 512 or 2,048, as far as shared memory goes.
//! 2. Each bin has a launch. The units of a cube insert the columns of a row's products into a hash table in shared
//!    memory, with twice as many slots as the row has work, by compare-and-swap of u32. Which slot a column gets
//!    depends on timing. How many there are does not, nor does their order after a sort in shared memory.
//! 3. A *long* row has more work. Its columns are cut into tiles, and a cube marks those of a tile in a bitmap in
//!    shared memory. A tile has 32,768 columns, or more (up to 8 bits for each byte of shared memory) where that makes
//!    over 64 of them. Were there still more, the columns of B are first numbered anew, as far as they occur. So no row
//!    is too long, and nothing is expanded. The cost: a binary search for each element of the row of A and each tile.
//! 4. Both run twice: to count, and after the scan of the counts to write.
//!
//! # Values
//!
//! Rows of C are in bins by their length. Row pointers show it, so nothing is read back. A cube has a table of the
//! row's columns, with a sum beside each. It goes through the elements of A's row in order; units add the products of
//! one row of B at a time, whose columns differ, and a barrier follows. So sums are in the order of A's row, as on the
//! CPU, without an atomic addition, and do not depend on the bin. The reads are ahead of that order: groups of units
//! read as many rows of B at once as the cube has room for. A row of C longer than a table is cut into pieces that a
//! table holds, and each row of B is searched for the piece's first and last column.
//!
//! In the gradient, `X Y^T` at a mask, the table has a row of X. Eight units share the row of Y of an element of the
//! mask: each sums every eighth term, and a tree of fixed shape adds their sums. This order depends on that row of Y
//! alone. A row of X that no table holds is searched instead.
//!
//! # Cost
//!
//! Let A have n elements, C c, and let there be p products; take 4 bytes for an index and for a value. The spans (where
//! each element's row of B begins and ends) take 12n bytes to read and 8n to write. The pattern reads 8n + 4p bytes
//! twice and writes 4c, and the values read 12n + 8p + 4c and write 4c. Memory for products is needed nowhere, and
//! there is no search or sort for each product outside long rows.
//!
//! Launches: 1 for the spans; 1 for the bins and 5 to 9 to sort rows by them; 2 for each bin that has rows, and 4 for
//! long rows; 4 to 8 for the row pointers; then 2 for each bin that rows of C can have. That is 17 to 35, where
//! expanding and sorting products took about 100. It reads two numbers (three or four in rare cases, see `pattern`),
//! and none if the pattern is known: then there are 3 to 11 launches.
//!
//! The host takes over if no buffer holds the spans, the result or the counts of all tiles, or if indices have 32 bits
//! and the result has 2^31 elements or more. A kernel binds at most 7 buffers besides the one of sizes.
//!
//! Arithmetic for an H200 (4.8 TB/s, 132 processors of 2,048 threads): the square of a matrix of 100,000 rows with 10
//! random elements each has p = c = 10 million, so 20 + 96 + 40 MB for the pattern and 172 MB for the values. That is
//! 0.07 ms of bandwidth. Rows are in the bin of 128, whose cubes have 64 units, so 4,224 of them run at a time. Each
//! pass waits for about five dependent reads, 3 microseconds, 24 times: 0.07 ms, and there are three passes. So 0.2 to
//! 0.4 ms is what to expect, 50 to 100 GFLOP/s. This has not been measured, and no figure of cuSPARSE for this device
//! is at hand: which is faster is open until both ran on one.
//!
//! # Sources
//!
//! Demouth, "Sparse matrix-matrix multiplication on the GPU", 2012 (tables in shared memory). Liu and Vinter, "An
//! efficient GPU general sparse matrix-matrix multiplication for irregular data", 2014 (bins by an upper bound). Anh,
//! Fan and Wen, "Balanced hashing and efficient GPU sparse general matrix-matrix multiplication", 2016. Nagasaka,
//! Nukada and Matsuoka, "High-performance and memory-saving sparse general matrix-matrix multiplication for NVIDIA
//! Pascal GPU", 2017 (two phases, a kernel for each bin). Parger, Winter, Mlakar and Steinberger, "spECK: accelerating
//! GPU sparse matrix-matrix multiplication through lightweight analysis", 2020 (groups of units by the length of B's
//! rows, a dense path for long rows). Winter and others, "Adaptive sparse matrix-matrix multiplication on the GPU",
//! 2019, get the same bits in every run by sorting the products; the sums in the order of A's row are this library's
//! own.

use super::fallback::supported;
use super::launch::{count, flat, holds, runs};
use crate::backend::{Declined, Gpu};
use crate::kernel::{Spgemm, SpgemmPlan, SpgemmSampled, SpgemmValues};
use crate::kernel_views::RowsView;
use bins::{Lists, Matrix};
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::tensor::CubeTensor;
use sparse_core::{ProductPlan, Result};

mod bins;
mod numeric;
mod pattern;
mod table;

/// Whether the device has kernels for two sparse factors.
fn multiply((a, a_values): &Matrix, (b, b_values): &Matrix) -> bool {
    runs(a.arrays().chain(b.arrays()).chain([a_values, b_values])) && spans(&a.idx)
}

/// Whether the device can hold two numbers for each element.
fn spans(idx: &CubeTensor) -> bool {
    holds(idx, 2 * count(idx), idx.dtype)
}

/// Whether the device has a kernel for values at the elements of `ptr` and `idx`, each from a row of two factors.
fn looks_up((ptr, idx): &Lists, a: &Matrix, b: &Matrix) -> bool {
    runs([ptr, idx]) && multiply(a, b) && holds(idx, count(idx), a.1.dtype)
}

impl Spgemm<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<Result<Matrix>, Self> {
        let Self { a, b, cols } = supported(self, |args| multiply(&args.a, &args.b))?;
        let (rows, dtype) = (count(&a.0.ptr) - 1, a.0.ptr.dtype);
        if count(&a.0.idx) == 0 || count(&b.0.idx) == 0 {
            let [ptr, idx] = [rows + 1, 0].map(|length| zeros(a.1.device.clone(), [length].into(), dtype));
            let values = zeros(a.1.device.clone(), [0, 1].into(), a.1.dtype);
            return Ok(Ok((RowsView { ptr, idx, perm: None }, values)));
        }
        let spans = bins::spans(&flat(a.0.idx.clone()), &flat(b.0.ptr.clone()));
        let found = pattern::pattern(&a.0, &b.0, &spans, cols);
        let Some((ptr, idx)) = found.filter(|(_, idx)| holds(idx, count(idx), a.1.dtype)) else {
            return Err(Declined::NoKernel(Self { a, b, cols }));
        };
        let values = numeric::values((ptr.clone(), idx.clone()), a, b, Some(spans), cols);
        Ok(Ok((RowsView { ptr, idx, perm: None }, values)))
    }
}

impl SpgemmValues<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { c, a, b, cols, .. } = supported(self, |args| looks_up(&args.c, &args.a, &args.b))?;
        Ok(numeric::values(c, a, b, None, cols))
    }
}

impl SpgemmPlan<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<Option<ProductPlan>, Self> {
        Err(Declined::NoKernel(self))
    }
}

impl SpgemmSampled<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { mask, x, y, cols, .. } =
            supported(self, |args| looks_up(&args.mask, &args.x, &args.y) && spans(&args.mask.1))?;
        Ok(numeric::sampled(mask, x, y, cols))
    }
}
