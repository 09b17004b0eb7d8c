//! Rows that are combined to rows: segment sums, products with a dense matrix (weighted sums), and products with an
//! extremum.
//!
//! A row is combined in one of three ways, by its own length and constants of the width (`strategy`):
//!
//! - Short (up to 256 elements, narrow rows up to 512): 1 to 8 units for each vector of the result. Narrow rows have
//!   many, so that units side by side read elements side by side.
//! - Long: a cube for each 32 vectors of the result, with 8 to 64 units for each vector.
//! - Longer than two chunks (of 1,024 to 4,096 elements): such a cube for each chunk, counted from the start of the
//!   row. A cube then combines the partial results.
//!
//! Units that share a vector take elements in turn, and a tree reduction combines what they have. So the bits of a row
//! depend only on its elements and on their number, the width, dtype and heads. They do not depend on other rows, on
//! how many units run at a time, or on strides of operands.
//!
//! Each way is a launch over the whole matrix. Long rows are found without a read: the first launch looks up the row of
//! every 256th (or 512th) element, and each long row has such an element. Launches for rows that are longer than all
//! elements together are skipped. So a sum or an extremum takes one launch, or two, or four. The gradients of an
//! extremum need all buffers of the first launch, and look up the rows in one more if any can be long. Memory for
//! partial results is limited: if it does not hold all columns, the last two launches repeat for the rest.
//!
//! Sharing a row by its length is from Bell and Garland ("Implementing sparse matrix-vector multiplication on
//! throughput-oriented processors", 2009) and Greathouse and Daga ("Efficient sparse matrix-vector multiplication on
//! GPUs using the CSR storage format", 2014). Merrill and Garland ("Merge-based parallel sparse matrix-vector
//! multiplication", 2016) cut all elements evenly. There the bits of a row depend on the rows before it.

use super::fallback::{gpu_or_host, supported};
use super::forced;
use super::launch::{
    Rows, accumulated, arg, binds, count, divisor, empty, flat, hardware, holds, holds_rows, launch, runs, stored,
    summed,
};
use super::parts::{ANY, MAX, MIN, SUM};
use super::rows::{move_rows, swap_rows};
use super::sort::compress;
use crate::backend::Gpu;
use crate::kernel::{PlaceRows, SegmentSum, Spmm};
use crate::kernel_views::{Epilogue, RowsView};
use burn::backend::ops::FloatTensorOps;
use burn_cubecl::CubeBackend;
use burn_cubecl::cubecl::prelude::{CubePrimitive, Int, Numeric, Size};
use burn_cubecl::ops::numeric::zeros;
use burn_cubecl::ops::reshape;
use burn_cubecl::tensor::CubeTensor;
use kernels::Stage;
use sparse_core::Extremum;
use strategy::{Problem, Strategy, strategy};
use terms::{How, MATCHED, SHARES};

#[allow(missing_docs, clippy::collapsible_if)]
mod kernels;
mod strategy;
#[allow(missing_docs)]
mod terms;

/// Buffers of a product with permuted weights and a bias, and of the gradient of an extremum with permuted weights,
/// without the one that has the sizes. All other kernels here bind at most seven.
const MOST_BUFFERS: usize = 8;

/// How the terms of a row are combined.
pub(super) enum Combine {
    /// They are added, and the epilogue follows. Of Bool: whether any is true.
    Sum(Epilogue<CubeTensor>),
    /// The largest or smallest. NaN wins. A row without terms gives 0.
    Extremum(Extremum),
    /// The gradient `grad` is divided by the number of terms that equal the result `out`.
    Shares { out: CubeTensor, grad: CubeTensor },
    /// Adds the terms for which weight * dense equals the result at the term's position.
    Matched { dense: CubeTensor, out: CubeTensor },
}

/// The operands of a kernel, as in [`terms::Operands`].
struct Operands {
    idx: Option<CubeTensor>,
    perm: Option<CubeTensor>,
    weights: Option<Rows>,
    dense: Rows,
    own: Option<Rows>,
    other: Option<Rows>,
}

fn matrix<E: CubePrimitive>(rows: &Rows, vector: usize) -> terms::MatrixLaunch<E> {
    terms::MatrixLaunch::new(arg(&rows.tensor), rows.stride / vector)
}

impl Operands {
    fn of(dense: Rows) -> Self {
        Self { idx: None, perm: None, weights: None, dense, own: None, other: None }
    }

    fn args<T: Numeric, I: Int, N: Size>(&self, vector: usize) -> terms::OperandsLaunch<T, I, N> {
        let [idx, perm] = [&self.idx, &self.perm].map(|list| list.as_ref().map(arg).into());
        let weights = self.weights.as_ref().map(|rows| matrix(rows, 1)).into();
        let [own, other] = [&self.own, &self.other].map(|rows| rows.as_ref().map(|rows| matrix(rows, vector)).into());
        terms::OperandsLaunch::new(idx, perm, weights, matrix(&self.dense, vector), own, other)
    }

    /// Those whose elements are rows, of the width of the result.
    fn wide(&self) -> impl Iterator<Item = &Rows> {
        [Some(&self.dense), self.own.as_ref(), self.other.as_ref()].into_iter().flatten()
    }

    fn tensors(&self) -> impl Iterator<Item = &CubeTensor> {
        let lists = [&self.idx, &self.perm].into_iter().flatten();
        self.wide().chain(&self.weights).map(|rows| &rows.tensor).chain(lists)
    }
}

impl PlaceRows<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { values, rows, size } = supported(self, |Self { values, rows, size }| {
            runs([values, rows]) && holds(rows, size + 1, rows.dtype) && holds_rows(values, *size)
        })?;
        // Every row of the result is the sum of the one row, or of none, that belongs there.
        Ok(sum_rows(compress(rows, size), None, None, values, 1))
    }
}

impl SegmentSum<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let Self { values, order, ptr } = supported(self, |Self { values, order, ptr }| {
            runs([values, ptr].into_iter().chain(order)) && holds_rows(values, count(ptr) - 1)
        })?;
        Ok(sum_rows(ptr, order, None, values, usize::MAX))
    }
}

impl Spmm<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        let args = supported(self, Self::has_kernel)?;
        if args.batch > 1 {
            return Ok(args.side_by_side());
        }
        let Self { view: RowsView { ptr, idx, perm }, values, dense, epilogue, .. } = args;
        let weights = match perm {
            // The bias takes the place of one more buffer.
            Some(perm) if epilogue.bias.is_some() && !binds(&ptr, MOST_BUFFERS) => {
                (move_rows(values.clone(), values, perm), None)
            }
            perm => (values, perm),
        };
        Ok(combine_rows(Combine::Sum(epilogue), ptr, Some(idx), Some(weights), dense, usize::MAX))
    }

    fn has_kernel(&self) -> bool {
        let Self { view, values, dense, batch, epilogue, .. } = self;
        // Without elements there is nothing to bind: results are zeros, and the host computes what follows them.
        let follows = count(values) > 0 || epilogue.is_empty();
        let splits = *batch == 1 || *batch > 1 && count(dense) > 0;
        follows && splits && multiplies(view, values, dense) && runs(&epilogue.bias)
    }

    /// The operands are copied side by side within each head, so that one launch multiplies all of them.
    fn side_by_side(self) -> CubeTensor {
        let Self { view, values, dense, batch, epilogue: Epilogue { bias, relu }, .. } = self;
        let (rows, heads) = (count(&view.ptr) - 1, values.meta.shape()[1]);
        let [lines, features] = [0, 1].map(|d| dense.meta.shape()[d]);
        if rows == 0 || count(&values) == 0 {
            return without_terms(&dense, [batch * rows, features]);
        }
        let (part, wide) = (features / heads, batch * features);
        let dense = swap_rows(reshape(dense, [lines * heads, part].into()), batch);
        let dense = reshape(dense, [lines / batch, wide].into());
        let bias = bias.map(|bias| {
            let repeated = CubeBackend::float_repeat_dim(reshape(bias, [heads, part].into()), 1, batch);
            reshape(repeated, [1, wide].into())
        });
        let epilogue = Epilogue { bias, relu };
        let out = gpu_or_host::<Spmm<()>>(Spmm { view, plan: None, values, dense, batch: 1, epilogue });
        let out = swap_rows(reshape(out, [rows * heads * batch, part].into()), rows * heads);
        reshape(out, [batch * rows, features].into())
    }
}

/// Whether the device has a kernel for a sparse x dense product.
pub(super) fn multiplies(view: &RowsView<CubeTensor>, values: &CubeTensor, dense: &CubeTensor) -> bool {
    runs(view.arrays().chain([values, dense])) && holds_rows(dense, count(&view.ptr) - 1)
}

/// Row `s` of the result is the sum of rows `idx[k]` (or `k`) of `dense` for `k` in `ptr[s]..ptr[s + 1]`, each times
/// the weight at `perm[k]` (or `k`). If weights are `[n, heads]`, each multiplies the columns of its head. Of Bool:
/// whether any is true. No row has more than `longest` elements.
fn sum_rows(
    ptr: CubeTensor,
    idx: Option<CubeTensor>,
    weights: Option<(CubeTensor, Option<CubeTensor>)>,
    dense: CubeTensor,
    longest: usize,
) -> CubeTensor {
    combine_rows(Combine::Sum(Epilogue::default()), ptr, idx, weights, dense, longest)
}

/// Combines the terms of [`sum_rows`]. Only a sum may have no weights.
pub(super) fn combine_rows(
    combine: Combine,
    ptr: CubeTensor,
    idx: Option<CubeTensor>,
    weights: Option<(CubeTensor, Option<CubeTensor>)>,
    dense: CubeTensor,
    longest: usize,
) -> CubeTensor {
    let terms = idx.as_ref().map_or(dense.meta.shape()[0], count);
    let (rows, width, dtype) = (count(&ptr) - 1, dense.meta.shape()[1], dense.dtype);
    if terms == 0 || rows * width == 0 {
        return without_terms(&dense, [rows, width]);
    }
    let (adds, relu) = match &combine {
        Combine::Sum(Epilogue { bias, relu }) => (bias.is_some(), *relu),
        _ => (false, false),
    };
    let (rule, own, other, after) = match combine {
        Combine::Sum(_) if dtype.is_bool() => (ANY, None, None, None),
        Combine::Sum(Epilogue { bias, .. }) => (SUM, None, None, bias),
        Combine::Extremum(Extremum::Max) => (MAX, None, None, None),
        Combine::Extremum(Extremum::Min) => (MIN, None, None, None),
        Combine::Shares { out, grad } => (SHARES, Some(out), None, Some(grad)),
        Combine::Matched { dense, out } => (MATCHED, Some(dense), Some(out), None),
    };
    let heads = weights.as_ref().map_or(1, |(weights, _)| weights.meta.shape()[1]);
    let (weights, perm) = match weights {
        Some((weights, Some(perm))) if rule == MATCHED && !binds(&ptr, MOST_BUFFERS) => {
            (Some(move_rows(weights.clone(), weights, perm)), None)
        }
        Some((weights, perm)) => (Some(weights), perm),
        None => (None, None),
    };
    let [idx, perm] = [idx, perm].map(|list| list.map(flat));
    let [weights, own, other, after] = [weights, own, other, after].map(|matrix| matrix.map(Rows::of));
    // The bias is one row for all.
    let after = after.map(|rows| Rows { stride: if adds { 0 } else { rows.stride }, ..rows });
    let operands = Operands { idx, perm, weights, dense: Rows::of(dense), own, other };
    let divisor = divisor(width / heads, operands.wide().chain(&after));
    let problem = Problem { rows, terms, longest: longest.min(terms), width, heads, dtype, divisor };
    let strategy = strategy(&problem, &hardware(&ptr)).forced();
    let how = How { rule, several: heads > 1, float: dtype.is_float(), adds, relu };
    Launches { problem, strategy, how, ptr: flat(ptr), operands, after }.run()
}

/// The result of rows that have no terms.
fn without_terms(dense: &CubeTensor, shape: [usize; 2]) -> CubeTensor {
    if shape.contains(&0) {
        return empty(dense, shape, dense.dtype);
    }
    zeros(dense.device.clone(), shape.into(), dense.dtype)
}

/// The launches for a result.
struct Launches {
    problem: Problem,
    strategy: Strategy,
    how: How,
    ptr: CubeTensor,
    operands: Operands,
    /// What the result of a row meets last: a bias, or the gradient that is shared.
    after: Option<Rows>,
}

impl Launches {
    fn run(self) -> CubeTensor {
        let Problem { rows, terms, width, dtype, .. } = self.problem;
        let out = empty(&self.ptr, [rows, width], dtype);
        let probes = self.strategy.probes(&self.problem);
        let list = (probes > 0).then(|| empty(&self.ptr, [probes, 3], self.ptr.dtype));
        // The kernel of the others binds as many buffers as it may.
        let in_the_first_launch = self.operands.own.is_none();
        if let Some(list) = list.as_ref().filter(|_| !in_the_first_launch) {
            let (ptr, kind) = (&self.ptr, stored(self.ptr.dtype));
            launch!(find, [ptr, list], probes, (arg(ptr), arg(list), self.sizes(), probes), kind);
        }
        self.short(list.as_ref().filter(|_| in_the_first_launch), &out);
        let Some(list) = list else { return out };
        let Strategy { columns, most, chunk, .. } = self.strategy;
        let after = self.after.as_ref();
        self.long(Stage::Row, most, (0, columns), (&self.operands, &list, after), &out);
        if self.strategy.cuts(&self.problem) {
            forced::note("rows in chunks");
            let partial = summed(dtype);
            let block = self.strategy.block(terms, partial.size(), &hardware(&out));
            if block < columns {
                forced::note("chunks of some columns at a time");
            }
            for first in (0..columns).step_by(block) {
                let part = (first, columns.min(first + block));
                let width = (part.1 - first) * self.strategy.vector;
                let sums = empty(&out, [terms.div_ceil(chunk), width], partial);
                self.long(Stage::Chunk, chunk, part, (&self.operands, &list, None), &sums);
                let operands = Operands::of(Rows::of(sums));
                self.long(Stage::Fold, chunk, part, (&operands, &list, after), &out);
            }
        }
        out
    }

    fn sizes(&self) -> kernels::SizesLaunch {
        let Problem { rows, terms, heads, .. } = self.problem;
        let Strategy { columns, most, chunk, .. } = self.strategy;
        // If no row can be long, all are short, also where that is wrong.
        let most = if self.strategy.probes(&self.problem) > 0 { most } else { terms };
        kernels::SizesLaunch::new(rows, terms, columns, heads, most, chunk)
    }

    /// The tensors that a kernel binds.
    fn bound<'a>(
        &self,
        operands: &'a Operands,
        lists: impl IntoIterator<Item = &'a CubeTensor>,
        after: Option<&'a Rows>,
    ) -> Vec<&'a CubeTensor> {
        let tensors: Vec<_> = operands.tensors().chain(lists).chain(after.map(|rows| &rows.tensor)).collect();
        debug_assert!(binds(&self.ptr, tensors.len()), "{} buffers, {:?}", tensors.len(), self.how);
        tensors
    }

    /// The short rows, and the list of rows that may be long.
    fn short(&self, list: Option<&CubeTensor>, out: &CubeTensor) {
        let (operands, Strategy { vector, short, .. }) = (&self.operands, self.strategy);
        let types = [stored(out.dtype), accumulated(out.dtype), stored(self.ptr.dtype)];
        let grid = self.strategy.grid(self.problem.rows, list.map_or(0, |list| count(list) / 3), &hardware(out));
        let tensors = self.bound(operands, list.into_iter().chain([&self.ptr, out]), self.after.as_ref());
        let after = self.after.as_ref().map(|rows| matrix(rows, vector)).into();
        let (ptr, list) = (arg(&self.ptr), list.map(arg).into());
        launch!(
            short,
            tensors,
            grid(grid),
            (vector, operands.args(vector), ptr, list, after, arg(out), self.sizes(), short, self.how),
            types
        );
    }

    /// A stage of the long rows, for columns `first..last`.
    fn long(
        &self,
        stage: Stage,
        step: usize,
        (first, last): (usize, usize),
        (operands, list, after): (&Operands, &CubeTensor, Option<&Rows>),
        out: &CubeTensor,
    ) {
        let (Problem { terms, dtype, .. }, Strategy { vector, long, .. }) = (self.problem, self.strategy);
        let grid = self.strategy.cubes(terms, step, last - first, &hardware(out));
        let types = [stored(operands.dense.tensor.dtype), stored(out.dtype), accumulated(dtype), stored(list.dtype)];
        let how = match stage {
            // The terms are found, and only their partial results are left.
            Stage::Fold => How { rule: self.how.combines(), several: false, ..self.how },
            Stage::Chunk => How { relu: false, ..self.how },
            _ => self.how,
        };
        let tensors = self.bound(operands, [list, out], after);
        let after = after.map(|rows| matrix(rows, vector)).into();
        let (args, sizes) = (operands.args(vector), self.sizes());
        launch!(
            long,
            tensors,
            grid(grid),
            (vector, args, arg(list), after, arg(out), sizes, first, last, long, stage, how),
            types
        );
    }
}
