//! How a reduction is computed: along the dense dims within each block, then along lines, then the fill.

use crate::base::empty::{constant, nothing};
use crate::base::exact::Exact;
use crate::base::kind::Numeric;
use crate::base::scalar::host_apply;
use crate::ops::dense::put_along_axis::run;
use crate::ops::elementwise::cast::widened;
use crate::ops::elementwise::powers::{host_power, power};
use crate::ops::reductions::along::Along;
use crate::ops::reductions::extremum::{extremum, one_target};
use crate::ops::reductions::folds::Blocks;
use crate::ops::reductions::line_products::{line_products, with_zeros};
use crate::ops::reductions::line_sums::{divided, line_sums};
use crate::pattern::layout::{Pattern, is_full};
use crate::pattern::lines::Lines;
use crate::rows::sum_dim;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{DType, Int, Scalar, Tensor, kind};
use sparse_burn::{BinaryOp, Reduce};
use sparse_core::{Result, SparseError};

/// How the elements of a line become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fold {
    Sum,
    Mean,
    Prod,
    Max,
    Min,
}

/// `of` reduced along `axes`.
pub(crate) fn reduce<P: Pattern, const D: usize, K: Numeric + kind::Ordered>(
    op: &'static str,
    of: &SparseTensor<P, D, K>,
    axes: &[isize],
    fold: Fold,
) -> Result<SparseTensor<P, D, K>> {
    let along = Along::new(op, of, axes)?;
    if along.is_trivial() {
        return Ok(along.empty_result(of, of.dtype(), fill_of_nothing(op, of, &along, fold)?));
    }
    let undefined = of.fill.is_undefined();
    let linear = matches!(fold, Fold::Sum | Fold::Mean);
    let counted = !(undefined || linear && of.fill.is_zero());
    // The kernels compute 16-bit floats in f32 and round once. Where another step follows the first sum or product, f32
    // keeps its precision in between.
    let one_step = match fold {
        Fold::Max | Fold::Min => true,
        Fold::Sum => along.blocks.size == 1 && !counted,
        Fold::Mean | Fold::Prod => false,
    };
    if !one_step && let Some((own, back)) = widened(of) {
        return Ok(reduce(op, &own, axes, fold)?.in_float(back));
    }
    if counted && !of.fill.is_zero() && along.lines > i64::MAX as u128 {
        return Err(SparseError::overflow(op, "the number of elements along the dims", i64::MAX, along.lines));
    }
    // Without sparse dims all stored elements are duplicates of one element.
    let merged_anyway = linear && of.fill.is_zero() || fold == Fold::Sum && undefined;
    let own = if merged_anyway && of.sparse_dims() > 0 { of.clone() } else { of.coalesce() };
    let lines = along.of(&own.pattern);
    let pattern = lines.as_ref().map_or_else(|| own.pattern.clone(), |lines| lines.pattern.clone());
    let values = fold_rows(&own, &along, lines.as_deref(), counted, fold);
    // Without sparse dims the fill takes no part. It may be all that is on the tape.
    let values = if own.sparse_dims() == 0 && !undefined { constant(values, &[&own.fill_row()]) } else { values };
    let own = SparseTensor { fill: own.fill.counting(is_full(&pattern)), ..own };
    let fill = fold_fill(&own, &along, fold);
    Ok(SparseTensor::from_parts(pattern, values, along.blocks.shape, fill))
}

/// The fill of a result that has no elements, or of which each is the reduction of none.
fn fill_of_nothing<P: Pattern, const D: usize, K: Numeric>(
    op: &'static str,
    of: &SparseTensor<P, D, K>,
    along: &Along,
    fold: Fold,
) -> Result<Fill<K>> {
    let none = along.size() == 0;
    match fold {
        _ if of.fill.is_undefined() => Ok(Fill::Undefined),
        Fold::Max | Fold::Min if none => Err(along.empty_dim(op, &of.dims())),
        Fold::Prod => Ok(Fill::scalar(1)),
        Fold::Mean if none => Ok(Fill::scalar(f64::NAN)),
        _ => Ok(Fill::Zero),
    }
}

/// The rows of the result. The fill takes part in lines with unspecified elements if it is `counted`.
fn fold_rows<P: Pattern, const D: usize, K: Numeric + kind::Ordered>(
    of: &SparseTensor<P, D, K>,
    along: &Along,
    lines: Option<&Lines<P>>,
    counted: bool,
    fold: Fold,
) -> Tensor<2, K> {
    let (rows, blocks) = (of.values.clone(), &along.blocks);
    if of.nnz() == 0 {
        return nothing([0, blocks.kept()], of.dtype(), &[&rows]);
    }
    let fill = (counted && lines.is_some()).then(|| of.fill_row());
    match fold {
        Fold::Max | Fold::Min => extremum(rows, fill, lines, blocks, fold == Fold::Max),
        // Along dense dims last. If they came first, their product could overflow before it meets a zero fill.
        Fold::Prod => multiplied(
            match (lines, fill) {
                (None, _) => rows,
                (Some(lines), Some(zero)) if of.fill.is_zero() => with_zeros(rows, zero, lines),
                (Some(lines), fill) => line_products(rows, fill, lines),
            },
            blocks,
        ),
        Fold::Sum | Fold::Mean => {
            let of_specified = fold == Fold::Mean && of.fill.is_undefined();
            let (rows, fill) = (added(rows, blocks), fill.map(|fill| added(fill, blocks)));
            let sums = match lines {
                None => rows,
                Some(lines) => line_sums(rows, fill, lines, of_specified),
            };
            match fold {
                Fold::Sum => sums,
                // `line_sums` divided by the number of specified blocks.
                _ if of_specified => divided(sums, blocks.size as u128),
                _ => divided(sums, along.size()),
            }
        }
    }
}

/// The sum of rows along dense dims.
fn added<K: Numeric>(rows: Tensor<2, K>, blocks: &Blocks) -> Tensor<2, K> {
    blocks.fold(rows, |rows| sum_dim(rows, 1))
}

/// The product of rows along dense dims.
fn multiplied<K: Numeric>(rows: Tensor<2, K>, blocks: &Blocks) -> Tensor<2, K> {
    blocks.fold(rows, |rows| {
        let (put, start) = one_target(&rows, Reduce::Mul, rows.dims());
        run(put, start, rows)
    })
}

/// What the unspecified elements of the result are.
fn fold_fill<P: Pattern, const D: usize, K: Numeric + kind::Ordered>(
    of: &SparseTensor<P, D, K>,
    along: &Along,
    fold: Fold,
) -> Fill<K> {
    match (&of.fill, of.fill.host()) {
        (Fill::Undefined, _) => Fill::Undefined,
        (Fill::Zero, _) => Fill::Zero,
        (_, Some(value)) => Fill::scalar(fold_number(value, along.size(), of.dtype(), fold)),
        _ => Fill::block(fold_fill_row::<P, K>(of.fill_row(), along, fold)),
    }
}

/// The reduction of `count` times the same number.
fn fold_number(value: Scalar, count: u128, dtype: DType, fold: Fold) -> Scalar {
    match fold {
        Fold::Sum if dtype.is_float() => host_apply(BinaryOp::Mul, value, Scalar::Float(count as f64), dtype),
        Fold::Sum => host_apply(BinaryOp::Mul, value, Scalar::Int(count as i64), dtype),
        Fold::Prod => host_power(value, count, dtype),
        Fold::Mean | Fold::Max | Fold::Min => value,
    }
}

/// The reduction of lines that consist of the fill's row, on the tape.
fn fold_fill_row<P: Pattern, K: Numeric + kind::Ordered>(row: Tensor<2, K>, along: &Along, fold: Fold) -> Tensor<2, K> {
    let (lines, blocks) = (along.lines as usize, &along.blocks);
    match fold {
        Fold::Sum if row.dtype().is_float() => added(row, blocks).mul_scalar(along.lines as f64),
        Fold::Sum => added(row, blocks).mul_scalar(along.lines as i64),
        Fold::Mean => divided(added(row, blocks), blocks.size as u128),
        Fold::Prod => {
            let options = (&row.device().inner(), sparse_burn::index_dtype_for(lines));
            let times = Tensor::<2, Int>::full([1, 1], lines as i64, options);
            power(multiplied(row, blocks), times, lines)
        }
        Fold::Max | Fold::Min => extremum::<P, K>(row, None, None, blocks, fold == Fold::Max),
    }
}

/// The reduction of everything.
pub(crate) fn total<P: Pattern, const D: usize, K: Numeric + kind::Ordered>(
    op: &'static str,
    of: &SparseTensor<P, D, K>,
    fold: Fold,
) -> Result<Tensor<1, K>> {
    let axes: Vec<isize> = (0..D as isize).collect();
    let out = reduce(op, of, &axes, fold)?;
    if out.nnz() == 1 && out.block() == 1 {
        return Ok(out.values.reshape(Exact([1])));
    }
    let fill = match (fold, out.fill.is_undefined()) {
        (Fold::Max | Fold::Min, true) => {
            return Err(SparseError::empty_input(op, "at least one stored element is needed, got none"));
        }
        (Fold::Prod, true) => Fill::scalar(1),
        (Fold::Mean, true) => Fill::scalar(f64::NAN),
        _ => out.fill,
    };
    let row = constant(fill.row(1, of.dtype(), &of.device()), &[&out.values]);
    Ok(of.fill.without_gradient(row).reshape(Exact([1])))
}
