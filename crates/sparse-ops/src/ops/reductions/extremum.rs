//! The largest or smallest element of each line, with one rule that shares a gradient evenly among ties.

use crate::base::exact::Exact;
use crate::base::index::numbers;
use crate::base::kind::{Numeric, as_float, from_float, is_16_bit};
use crate::kernel::{self, Put};
use crate::ops::dense::put_along_axis::target;
use crate::ops::reductions::folds::Blocks;
use crate::pattern::layout::Pattern;
use crate::pattern::lines::Lines;
use crate::rows::{RowSums, sum_dim};
use burn::tensor::{Bool, DType, Float, FloatDType, Int, Shape, Tensor, kind};
use sparse_autograd::{Erased, record};
use sparse_burn::Reduce;

/// The reduction of `put` for this extreme.
pub(crate) fn end(greatest: bool) -> Reduce {
    if greatest { Reduce::Amax } else { Reduce::Amin }
}

/// The extreme elements `[lines, kept]` of rows `[n, block]`, at least one: of each line and dense position, or of each
/// row without `lines`. If unspecified elements count, `fill` `[1, block]` has their values. NaN wins.
///
/// Backward: the gradient of a line is shared evenly by all its elements that equal the extreme one. The part of
/// unspecified ones goes to `fill`. Saved: values, fill and result.
pub(crate) fn extremum<P: Pattern, K: Numeric + kind::Ordered>(
    values: Tensor<2, K>,
    fill: Option<Tensor<2, K>>,
    lines: Option<&Lines<P>>,
    blocks: &Blocks,
    greatest: bool,
) -> Tensor<2, K> {
    let reduce = end(greatest);
    let within = |rows: Tensor<2, K>| blocks.fold(rows.inner(), |rows| whole(rows, reduce));
    let mut out = within(values.clone());
    let mut missing = None;
    if let Some(lines) = lines {
        out = of_lines(lines, out, reduce);
        if let Some(fill) = &fill {
            let unspecified = lines.missing();
            out = with_fill(out, within(fill.clone()), unspecified.clone(), greatest);
            missing = Some(unspecified);
        }
    }
    let (Some(values), Some(result)) = (as_float(&values), as_float(&out)) else { return out };
    let fill = fill.filter(|_| missing.is_some()).and_then(|fill| as_float(&fill));
    let saved = Saved {
        blocks: blocks.clone(),
        sums: lines.map(|lines| lines.sums.clone()),
        values: values.clone().inner(),
        fill: fill.clone().map(Tensor::inner),
        missing: missing.map(|missing| numbers::<Float>(missing, counting(values.dtype()))),
        out: result.clone(),
    };
    from_float(match fill {
        None => record(result, [Erased::from(values)], saved, |saved, grad, [needed]| {
            let [values, _] = saved.backward(grad, [needed, false]);
            [values]
        }),
        Some(fill) => record(result, [Erased::from(values), Erased::from(fill)], saved, |saved, grad, needs| {
            saved.backward(grad, needs)
        }),
    })
}

/// Dim 1 of `[n, length, inner]` reduced to size 1; off the tape.
fn whole<K: Numeric>(rows: Tensor<3, K>, reduce: Reduce) -> Tensor<3, K> {
    let [outer, length, inner] = rows.dims();
    let (put, start) = one_target(&rows, reduce, [outer, length, inner]);
    kernel::put(&put, start, &rows, false).0
}

/// A `put` that reduces dim 1 to one element. The element's start value is not used.
pub(crate) fn one_target<K: Numeric>(
    rows: &Tensor<3, K>,
    reduce: Reduce,
    [outer, length, inner]: [usize; 3],
) -> (Put<3>, Tensor<3, K>) {
    let device = rows.device();
    let dtype = sparse_burn::index_dtype_for(length);
    let put = Put {
        index: Tensor::zeros([1, length, 1], (&device.clone().inner(), dtype)),
        target: target([outer, 1, inner], 1, length, true),
        reduce,
        include_self: false,
        groups: None,
    };
    (put, Tensor::zeros([outer, 1, inner], (&device, rows.dtype())))
}

/// A put of rows `[n, width]` into their lines.
pub(crate) fn into_lines<P: Pattern>(lines: &Lines<P>, reduce: Reduce, [stored, width]: [usize; 2]) -> Put<2> {
    Put {
        index: lines.owner().clone().reshape(Exact([stored, 1])),
        target: target([lines.len(), width], 0, stored, true),
        reduce,
        include_self: false,
        groups: Some(lines.groups()),
    }
}

/// Plain rows reduced line by line; off the tape.
pub(crate) fn of_lines<P: Pattern, K: Numeric>(lines: &Lines<P>, rows: Tensor<2, K>, reduce: Reduce) -> Tensor<2, K> {
    let [stored, width] = rows.dims();
    let start = Tensor::zeros([lines.len(), width], (&rows.device(), rows.dtype()));
    kernel::put(&into_lines(lines, reduce, [stored, width]), start, &rows, false).0
}

/// `out`, or the fill where that is more extreme and the line has unspecified elements.
fn with_fill<K: Numeric + kind::Ordered>(
    out: Tensor<2, K>,
    fill: Tensor<2, K>,
    missing: Tensor<2, Int>,
    greatest: bool,
) -> Tensor<2, K> {
    let shape = Shape::from(out.dims());
    let fill: Tensor<2, K> = fill.expand(shape.clone());
    let present: Tensor<2, Bool> = missing.greater_scalar(0).expand(shape);
    let (a, b) = (fill.clone(), out.clone());
    let behind = if greatest { a.lower_equal(b) } else { a.greater_equal(b) };
    // A fill that is NaN is not behind; a result that is NaN stays.
    let number = out.clone().equal(out.clone());
    out.mask_where(behind.bool_not().bool_and(number).bool_and(present), fill)
}

#[derive(Debug)]
struct Saved {
    blocks: Blocks,
    sums: Option<RowSums>,
    values: Tensor<2>,
    fill: Option<Tensor<2>>,
    missing: Option<Tensor<2>>,
    out: Tensor<2>,
}

impl Saved {
    fn backward(&self, grad: Tensor<2>, [to_values, to_fill]: [bool; 2]) -> [Option<Erased>; 2] {
        let (blocks, stored) = (&self.blocks, self.values.dims()[0]);
        let at_elements = |rows: Tensor<2>| {
            blocks.spread(match &self.sums {
                None => rows,
                Some(sums) => {
                    let none = Tensor::zeros([1, rows.dims()[1]], (&rows.device(), rows.dtype()));
                    kernel::move_rows(&rows, &none, sums.owner(stored))
                }
            })
        };
        let (dtype, wide) = (grad.dtype(), counting(grad.dtype()));
        let mine: Tensor<2> = same(self.values.clone(), at_elements(self.out.clone())).float().cast(wide);
        let mut ties = blocks.fold(mine.clone(), |rows| sum_dim(rows, 1));
        if let Some(sums) = &self.sums {
            ties = kernel::segment_sum(&ties, sums.order(), sums.ptr());
        }
        let filled = self.fill.as_ref().zip(self.missing.as_ref()).map(|(fill, missing)| {
            let out = blocks.spread(self.out.clone());
            let fill: Tensor<2> = fill.clone().expand(Shape::from(out.dims()));
            let tied: Tensor<2> = same(fill, out).float().cast(wide);
            (tied, missing.clone())
        });
        if let Some((tied, missing)) = &filled {
            ties = ties + blocks.fold(tied.clone(), |rows| sum_dim(rows, 1)) * missing.clone();
        }
        let share = cast(grad, wide) / ties;
        let values = to_values.then(|| (cast(mine, dtype) * at_elements(cast(share.clone(), dtype))).into());
        let fill = to_fill.then(|| {
            let (tied, missing) = filled.expect("saved with the fill");
            cast(sum_dim(tied * blocks.spread(share * missing), 0), dtype).into()
        });
        [values, fill]
    }
}

/// The dtype in which ties and unspecified elements are counted. 16-bit floats do not hold large counts.
fn counting(dtype: DType) -> DType {
    if is_16_bit(dtype) { DType::F32 } else { dtype }
}

fn cast(rows: Tensor<2>, dtype: DType) -> Tensor<2> {
    if rows.dtype() == dtype { rows } else { rows.cast(FloatDType::from(dtype)) }
}

/// Equal, with NaN equal to itself.
pub(crate) fn same(a: Tensor<2>, b: Tensor<2>) -> Tensor<2, Bool> {
    let nan = a.clone().is_nan().bool_and(b.clone().is_nan());
    a.equal(b).bool_or(nan)
}
