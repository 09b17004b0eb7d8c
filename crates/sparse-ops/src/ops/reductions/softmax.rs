//! `softmax` and `log_softmax` along a dim.

use crate::base::exact::Exact;
use crate::base::float::wide;
use crate::base::sizes::cells;
use crate::kernel;
use crate::ops::elementwise::cast::widened;
use crate::ops::reductions::along::Along;
use crate::ops::reductions::extremum::of_lines;
use crate::ops::reductions::folds::Blocks;
use crate::pattern::layout::Pattern;
use crate::pattern::lines::Lines;
use crate::policy;
use crate::rows::{RowSums, sum_dim};
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{AsIndex, Int, Shape, Tensor};
use sparse_autograd::{Erased, record};
use sparse_burn::Reduce;
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;
use std::sync::Arc;

macro_rules! normalized {
    ($fallible:ident $name:ident $log:literal $formula:literal $rule:literal $of_two:literal) => {
        #[doc = concat!("`", $formula, "` along `dim`, with the largest element subtracted first.")]
        /// The fill says which elements a line has:
        ///
        /// - `Undefined`: the stored elements. The pattern stays. Attention over the edges of a graph is one call on
        ///   its adjacency, with a dense dim for the heads.
        /// - `Zero` or `Value`, along a dense dim: those of each block. The fill is one more block.
        /// - `Zero` or `Value`, along the only sparse dim: all elements; the unspecified ones count with the fill. The
        ///   fill of the result has one number for each element of the dense dims. It is on the tape if the old fill or
        ///   the values are.
        ///
        /// Otherwise each line would need its own fill. This is an error, unless every element is stored or none is.
        /// Duplicates are summed first.
        ///
        #[doc = $rule]
        /// 16-bit floats are computed in f32.
        ///
        /// Cost: two passes over the values along the last sparse dims, on a GPU in at most four launches. Along others
        /// they are also moved to their lines and back. The lines are found once and kept with the pattern.
        ///
        /// ```
        /// use burn::tensor::{Device, Tensor};
        /// use sparse_tensor::{CsrTensor, Fill};
        ///
        /// let scores = Tensor::from_floats([[1.0, 0.0, 1.0], [0.0, 5.0, 0.0]], &Device::flex());
        /// let edges = CsrTensor::<2>::from_dense(scores).with_fill(Fill::Undefined);
        #[doc = concat!("let values = edges.", stringify!($name), "(1).values::<1>().into_data();")]
        /// let first = values.iter::<f32>().next().unwrap();
        #[doc = concat!("assert!((first - ", $of_two, ").abs() < 1e-6);")]
        /// ```
        ///
        /// # Errors
        ///
        /// `axis_out_of_range`; `would_densify` in the cases named above (`with_fill(Fill::Undefined)` asks for the
        /// stored elements alone).
        #[or_panic]
        pub fn $fallible(&self, dim: impl AsIndex) -> Result<Self> {
            normalize(stringify!($name), self, dim.as_index(), $log)
        }
    };
}

impl<P: Pattern, const D: usize> SparseTensor<P, D> {
    normalized! {
        try_softmax softmax false "exp(x) / sum(exp(x))"
        "Backward: `dx = y * (g - sum(g * y))` in one rule." "0.5"
    }
    normalized! {
        try_log_softmax log_softmax true "x - log(sum(exp(x)))"
        "Backward: `dx = g - exp(y) * sum(g)` in one rule." "0.5_f32.ln()"
    }
}

fn normalize<P: Pattern, const D: usize>(
    op: &'static str,
    of: &SparseTensor<P, D>,
    axis: isize,
    log: bool,
) -> Result<SparseTensor<P, D>> {
    let along = Along::new(op, of, &[axis])?;
    let own = of.coalesce();
    let (nnz, block) = (own.nnz(), own.block());
    let places = cells(own.pattern.shape());
    let unspecified = nnz as u128 != places && !own.fill.is_undefined();
    let lines = along.of(&own.pattern);
    let fused = |lines: &Arc<Lines<P>>| !unspecified && fuses(&own.values, &lines.sums);
    // The exponentials and their sum are used again, so 16-bit floats are computed in f32. The fused kernel does so
    // itself.
    if !lines.as_ref().is_some_and(fused)
        && let Some((own, back)) = widened(&own)
    {
        return Ok(normalize(op, &own, axis, log)?.in_float(back));
    }
    let Some(lines) = lines else {
        // One softmax for each block, the fill's block among them.
        let fill = own.fill.map_row(block, own.dtype(), &own.device(), |row| in_blocks(row, &along.blocks, log));
        let values = if nnz == 0 { own.values.clone() } else { in_blocks(own.values.clone(), &along.blocks, log) };
        return Ok(own.with_rows(values, fill));
    };
    let one_line = own.sparse_dims() == 1;
    if nnz == 0 {
        // All elements of a line equal the fill, whatever its value is.
        let share = if log { -(along.lines as f64).ln() } else { 1.0 / along.lines as f64 };
        let fill = match own.fill.host() {
            _ if !unspecified => own.fill.clone(),
            Some(value) if value.elem::<f64>().is_finite() => Fill::scalar(share),
            Some(_) => Fill::scalar(f64::NAN),
            // A fill that is not finite gives NaN: it is subtracted from itself.
            None => own.fill.map_row(block, own.dtype(), &own.device(), |row| (row.clone() - row).add_scalar(share)),
        };
        return Ok(own.with_rows(own.values.clone(), fill));
    }
    if !unspecified || block == 0 {
        let values = own.fill.without_gradient(in_lines(own.values.clone(), &lines, log));
        // If nothing is unspecified, the fill is never read.
        let fill = if own.fill.is_undefined() { Fill::Undefined } else { Fill::Zero };
        return Ok(own.with_rows(values, fill));
    }
    if !one_line {
        let hint = "use with_fill(Fill::Undefined) to normalise the stored elements alone: with this fill every line \
                    would have one of its own";
        return Err(SparseError::would_densify(op, own.num_elements(), hint));
    }
    let rows = with_fill(own.values.clone(), own.fill_row(), (places - nnz as u128) as f64, log);
    let (values, fill) = (rows.clone().narrow(0, 0, nnz), rows.narrow(0, nnz, 1));
    Ok(own.with_rows(values, Fill::block(fill)))
}

/// What a backward rule reads: the result, and how elements are grouped into lines.
#[derive(Debug)]
struct Saved<M> {
    out: Tensor<2>,
    log: bool,
    groups: M,
}

/// The gradient of the input. `total` sums over each line, and gives each element the sum of its line.
fn back(out: &Tensor<2>, log: bool, grad: Tensor<2>, total: impl FnOnce(Tensor<2>) -> Tensor<2>) -> Tensor<2> {
    if log {
        return grad.clone() - out.clone().exp() * total(grad);
    }
    let sums = total(grad.clone() * out.clone());
    out.clone() * (grad - sums)
}

/// Along dense dims: rows (not none) of blocks that are normalized on their own.
fn in_blocks(rows: Tensor<2>, blocks: &Blocks, log: bool) -> Tensor<2> {
    if rows.dims()[1] == 0 {
        return rows;
    }
    let plain = rows.clone().inner();
    let largest = blocks.fold(plain.clone(), |rows| rows.max_dim(1));
    let shifted = plain - blocks.spread(largest);
    let exp = shifted.clone().exp();
    let sums = blocks.fold(exp.clone(), |rows| sum_dim(rows, 1));
    let out = if log { shifted - blocks.spread(sums.log()) } else { exp / blocks.spread(sums) };
    let saved = Saved { out: out.clone(), log, groups: blocks.clone() };
    record(out, [Erased::from(rows)], saved, |saved, grad, _| {
        let blocks = &saved.groups;
        let total = |rows| blocks.spread(blocks.fold(rows, |rows| sum_dim(rows, 1)));
        [Some(back(&saved.out, saved.log, grad, total).into())]
    })
}

/// Over the stored elements of each line.
fn in_lines<P: Pattern>(rows: Tensor<2>, lines: &Lines<P>, log: bool) -> Tensor<2> {
    if rows.dims()[1] == 0 {
        return rows;
    }
    let out = normalized_lines(rows.clone().inner(), lines, log);
    let saved = Saved { out: out.clone(), log, groups: lines.sums.clone() };
    record(out, [Erased::from(rows)], saved, |saved, grad, _| {
        [Some(lines_backward(&saved.out, saved.log, grad, &saved.groups).into())]
    })
}

/// The rows (not none, at least one column), normalized over the stored elements of each line. Not on the tape.
pub(crate) fn normalized_lines<P: Pattern>(rows: Tensor<2>, lines: &Lines<P>, log: bool) -> Tensor<2> {
    let (sums, stored, dtype) = (&lines.sums, rows.dims()[0], rows.dtype());
    if fuses(&rows, sums) {
        let out = kernel::segment_softmax(placed(rows, sums.order()), sums.ptr(), log);
        return placed(out, sums.places());
    }
    let rows = wide(rows);
    let largest = of_lines(lines, rows.clone(), Reduce::Amax);
    let shifted = rows - at_elements(&largest, sums, stored);
    let exp = shifted.clone().exp();
    let total = kernel::segment_sum(&exp, sums.order(), sums.ptr());
    let total = if log { total.log() } else { total };
    let total = at_elements(&total, sums, stored);
    if log { shifted - total } else { exp / total }.cast(dtype)
}

/// The gradient of what `normalized_lines` gets, from the gradient of its result `out`.
pub(crate) fn lines_backward(out: &Tensor<2>, log: bool, grad: Tensor<2>, sums: &RowSums) -> Tensor<2> {
    if fuses(out, sums) {
        let [out, grad] = [out.clone(), grad].map(|rows| placed(rows, sums.order()));
        return placed(kernel::segment_softmax_backward(out, grad, sums.ptr(), log), sums.places());
    }
    let stored = out.dims()[0];
    let total = |rows| at_elements(&kernel::segment_sum(&rows, sums.order(), sums.ptr()), sums, stored);
    back(&wide(out.clone()), log, wide(grad), total).cast(out.dtype())
}

/// The rows at these places, or as they are.
fn placed(rows: Tensor<2>, places: Option<&Tensor<1, Int>>) -> Tensor<2> {
    let Some(places) = places else { return rows };
    let none = Tensor::zeros([1, rows.dims()[1]], (&rows.device(), rows.dtype()));
    kernel::move_rows(rows, none, places)
}

/// Whether one kernel computes the softmax of rows within these segments.
fn fuses(rows: &Tensor<2>, sums: &RowSums) -> bool {
    policy::fuses_softmax(rows.dims()[0], sums.order(), sums.ptr())
}

/// Each line's row, at each of its elements.
fn at_elements(rows: &Tensor<2>, sums: &RowSums, stored: usize) -> Tensor<2> {
    placed(rows.clone(), Some(sums.owner(stored)))
}

/// Over one line: the rows of its stored elements, and a last row for the `times` elements that equal the fill:
/// `[nnz + 1, block]`.
fn with_fill(values: Tensor<2>, fill: Tensor<2>, times: f64, log: bool) -> Tensor<2> {
    let rows = Tensor::cat(vec![values.clone().inner(), fill.clone().inner()], 0);
    let shape = Shape::from(rows.dims());
    let spread = |row: Tensor<2>| -> Tensor<2> { row.expand(shape.clone()) };
    let shifted = rows.clone() - spread(rows.max_dim(0));
    let exp = shifted.clone().exp();
    let sums = weighted_sum(exp.clone(), times);
    let out = if log { shifted - spread(sums.log()) } else { exp / spread(sums) };
    let saved = Saved { out: out.clone(), log, groups: times };
    record(out, [Erased::from(values), Erased::from(fill)], saved, |saved, grad, needs| {
        let Saved { out, log, groups: times } = saved;
        let (stored, width) = (out.dims()[0] - 1, out.dims()[1]);
        // The gradient of the fill's row is already the sum over all unspecified elements. So it counts once in the sum
        // over the line, and the second term of the rule counts once for each of these elements.
        let weights = |rows: Tensor<2>| {
            let fill = rows.clone().narrow(0, stored, 1).mul_scalar(*times);
            Tensor::cat(vec![rows.narrow(0, 0, stored), fill], 0)
        };
        let shape = Shape::from([stored + 1, width]);
        let exp = if *log { out.clone().exp() } else { out.clone() };
        let product = if *log { grad.clone() } else { grad.clone() * out.clone() };
        let sums: Tensor<2> = sum_dim(product, 0).expand(shape);
        let own = if *log { grad } else { grad * out.clone() };
        let back = own - weights(exp) * sums;
        [needs[0].then(|| back.clone().narrow(0, 0, stored).into()), needs[1].then(|| back.narrow(0, stored, 1).into())]
    })
}

/// The sum of rows, the last of which counts `times` times; `[1, width]`.
fn weighted_sum(rows: Tensor<2>, times: f64) -> Tensor<2> {
    let stored = rows.dims()[0] - 1;
    let width = rows.dims()[1];
    let fill = rows.clone().narrow(0, stored, 1).mul_scalar(times);
    (sum_dim(rows.narrow(0, 0, stored), 0) + fill).reshape(Exact([1, width]))
}
