//! Sums along lines, with the elements that are not stored.

use crate::base::exact::Exact;
use crate::base::float::in_float;
use crate::base::index::numbers;
use crate::base::kind::{Numeric, as_float, from_float, is_16_bit};
use crate::kernel;
use crate::ops::elementwise::powers::{wrapping, wrapping_mul};
use crate::pattern::layout::Pattern;
use crate::pattern::lines::Lines;
use crate::policy::step_of_sum;
use crate::rows::{RowSums, sum_dim};
use burn::tensor::{Float, FloatDType, Int, Shape, Tensor};
use sparse_autograd::{Erased, record};
use sparse_burn::BinaryOp;

/// Rows divided by a count. (Burn's own division by a number takes its slope in f32.)
pub(crate) fn divided<K: Numeric>(rows: Tensor<2, K>, count: u128) -> Tensor<2, K> {
    let by = Tensor::full(rows.dims(), count as f64, (&rows.device().inner(), rows.dtype()));
    rows / by
}

#[derive(Debug)]
struct Sums {
    sums: RowSums,
    stored: usize,
    missing: Option<Tensor<2>>,
    divisor: Option<Tensor<2>>,
}

/// Sums rows along lines. If the fill counts, it is added times the number of unspecified elements. A mean of the
/// stored elements is divided by their number. All this is linear, so the backward rule needs only counts.
pub(crate) fn line_sums<P: Pattern, K: Numeric>(
    rows: Tensor<2, K>,
    fill: Option<Tensor<2, K>>,
    lines: &Lines<P>,
    mean: bool,
) -> Tensor<2, K> {
    let dtype = rows.dtype();
    let mut out = added(&rows, lines);
    if let Some(fill) = &fill {
        let missing = lines.missing();
        let shape = Shape::from(out.dims());
        let fill: Tensor<2, K> = fill.clone().inner().expand(shape.clone());
        let times: Tensor<2, K> = numbers::<K>(missing.clone(), dtype).expand(shape.clone());
        // Without unspecified elements an infinite fill adds nothing, not NaN.
        let unspecified = wrapping_mul(times, fill).mask_fill(missing.equal_scalar(0).expand(shape), 0);
        out = wrapping(BinaryOp::Add, &out, &unspecified);
    }
    let (Some(rows), Some(mut result)) = (as_float(&rows), as_float(&out)) else { return out };
    let float = |counts| numbers::<Float>(counts, dtype);
    let divisor = mean.then(|| float(lines.counts().reshape(Exact([lines.len(), 1]))));
    if let Some(divisor) = &divisor {
        result = result / divisor.clone();
    }
    let stored = rows.dims()[0];
    let missing = fill.is_some().then(|| float(lines.missing()));
    let saved = Sums { sums: lines.sums.clone(), stored, missing, divisor };
    from_float(match fill.and_then(|fill| as_float(&fill)) {
        None => record(result, [Erased::from(rows)], saved, |saved, grad, _| {
            let [rows, _] = saved.backward(grad, [true, false]);
            [rows]
        }),
        Some(fill) => record(result, [Erased::from(rows), Erased::from(fill)], saved, |saved, grad, needs| {
            saved.backward(grad, needs)
        }),
    })
}

/// Sums rows along lines. One long line is summed in two steps, so that threads share it; 16-bit floats in f32, so that
/// they are rounded once.
fn added<P: Pattern, K: Numeric>(rows: &Tensor<2, K>, lines: &Lines<P>) -> Tensor<2, K> {
    let (stored, ptr) = (rows.dims()[0], lines.sums.ptr());
    let Some(step) = step_of_sum(lines.len(), stored) else {
        return kernel::segment_sum(rows, lines.sums.order(), ptr);
    };
    if is_16_bit(rows.dtype()) {
        let sums = added(&in_float(&rows.clone().inner(), FloatDType::F32), lines);
        return in_float(&sums, FloatDType::from(rows.dtype()));
    }
    let parts = stored.div_ceil(step) as i64;
    let starts = |end: i64| Tensor::<1, Int>::arange(0..end, (&ptr.device(), ptr.dtype()));
    let ends = Tensor::cat(vec![starts(parts).mul_scalar(step as i64), ptr.clone().narrow(0, 1, 1)], 0);
    let sums = kernel::segment_sum(rows, lines.sums.order(), &ends);
    kernel::segment_sum(&sums, None, starts(2).mul_scalar(parts))
}

impl Sums {
    fn backward(&self, grad: Tensor<2>, needs: [bool; 2]) -> [Option<Erased>; 2] {
        let grad = match &self.divisor {
            None => grad,
            Some(divisor) => grad / divisor.clone(),
        };
        let rows = needs[0].then(|| {
            let zero = Tensor::zeros([1, grad.dims()[1]], (&grad.device(), grad.dtype()));
            kernel::move_rows(&grad, &zero, self.sums.owner(self.stored)).into()
        });
        let fill = needs[1].then(|| {
            let missing = self.missing.clone().expect("saved with the fill");
            sum_dim(grad * missing, 0).into()
        });
        [rows, fill]
    }
}
