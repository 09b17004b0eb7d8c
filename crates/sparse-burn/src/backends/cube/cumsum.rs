//! Running sums within segments, as a tree of a fixed shape: each unit sums a few rows, these sums are summed along in the
//! same way, and then each unit starts from what came before its rows. No unit walks a long segment alone.

use super::launch::{accumulated, arg, count, empty, flat, launch, runs, stored};
use super::sort::expand_ptr;
use crate::backend::{Declined, Gpu};
use crate::kernel::SegmentCumsum;
use burn::backend::DType;
use burn_cubecl::tensor::CubeTensor;

/// Elements that a unit sums.
const STEP: usize = 32;

#[allow(missing_docs)]
mod kernels {
    use super::STEP;
    use burn_cubecl::cubecl;
    use cubecl::prelude::*;

    /// An element of a level is the sum of `stride` rows, of which only those count that are in the segment of the last.
    /// This is that segment, which `owner` has for every row. With `reverse` the first element is of the last rows.
    #[cube]
    fn segment<I: Int>(owner: &Tensor<I>, k: usize, stride: usize, rows: usize, #[comptime] reverse: bool) -> I {
        let end = min((k + 1) * stride, rows);
        let at = if reverse { rows - end } else { end - 1 };
        owner[at]
    }

    /// The sum of each unit's elements since the last start of a segment.
    #[cube(launch)]
    pub fn tails<T: Numeric, A: Numeric, I: Int>(
        values: &Tensor<T>,
        order: &Tensor<I>,
        owner: &Tensor<I>,
        sums: &mut Tensor<A>,
        length: usize,
        columns: usize,
        stride: usize,
        rows: usize,
        units: usize,
        #[comptime] ordered: bool,
        #[comptime] flipped: bool,
        #[comptime] reverse: bool,
        #[define(T, A, I)] _types: [ElemType; 3],
    ) {
        if ABSOLUTE_POS >= units {
            terminate!();
        }
        let column = ABSOLUTE_POS % columns;
        let first = ABSOLUTE_POS / columns * STEP;
        let mut own = segment::<I>(owner, first, stride, rows, reverse);
        let mut sum = A::from_int(0);
        for k in first..min(first + STEP, length) {
            let next = segment::<I>(owner, k, stride, rows, reverse);
            if next != own {
                sum = A::from_int(0);
            }
            own = next;
            let at = if flipped { length - 1 - k } else { k };
            let row = if ordered { usize::cast_from(order[at]) } else { at };
            sum += A::cast_from(values[row * columns + column]);
        }
        sums[ABSOLUTE_POS] = sum;
    }

    /// The running sums, from the sums of the units `before` each.
    #[cube(launch)]
    pub fn running<T: Numeric, A: Numeric, I: Int>(
        values: &Tensor<T>,
        order: &Tensor<I>,
        owner: &Tensor<I>,
        before: &Tensor<A>,
        out: &mut Tensor<T>,
        length: usize,
        columns: usize,
        stride: usize,
        rows: usize,
        units: usize,
        #[comptime] ordered: bool,
        #[comptime] flipped: bool,
        #[comptime] reverse: bool,
        #[define(T, A, I)] _types: [ElemType; 3],
    ) {
        if ABSOLUTE_POS >= units {
            terminate!();
        }
        let column = ABSOLUTE_POS % columns;
        let unit = ABSOLUTE_POS / columns;
        let first = unit * STEP;
        let mut own = segment::<I>(owner, first, stride, rows, reverse);
        let mut sum = A::from_int(0);
        if unit > 0 {
            own = segment::<I>(owner, first - 1, stride, rows, reverse);
            sum = before[(unit - 1) * columns + column];
        }
        for k in first..min(first + STEP, length) {
            let next = segment::<I>(owner, k, stride, rows, reverse);
            if next != own {
                sum = A::from_int(0);
            }
            own = next;
            let at = if flipped { length - 1 - k } else { k };
            let row = if ordered { usize::cast_from(order[at]) } else { at };
            sum += A::cast_from(values[row * columns + column]);
            out[at * columns + column] = T::cast_from(sum);
        }
    }
}

impl SegmentCumsum<CubeTensor> {
    pub(crate) fn gpu(self) -> Gpu<CubeTensor, Self> {
        if !runs([&self.values, &self.ptr]) {
            return Err(Declined::NoKernel(self));
        }
        if count(&self.values) == 0 {
            return Ok(self.values);
        }
        let owner = expand_ptr(self.ptr, self.values.meta.shape()[0]);
        Ok(level(flat(self.values), self.order.map(flat), &owner, 1, self.reverse))
    }
}

/// The running sums of the elements of a level.
fn level(
    values: CubeTensor,
    order: Option<CubeTensor>,
    owner: &CubeTensor,
    stride: usize,
    reverse: bool,
) -> CubeTensor {
    let (length, columns, rows) = (values.meta.shape()[0], values.meta.shape()[1], count(owner));
    let (dtype, units) = (values.dtype, length.div_ceil(STEP));
    let types = [stored(dtype), accumulated(dtype), stored(owner.dtype)];
    // Rows are read from their end; the levels above are in that order.
    let flipped = reverse && stride == 1;
    let ordered = order.is_some();
    // What is not read is bound as something of its type.
    let order = order.unwrap_or_else(|| owner.clone());
    let wide = match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        DType::U8 => DType::I32,
        other => other,
    };
    let sums = empty(&values, [units, columns], wide);
    let before = if units == 1 {
        sums
    } else {
        launch!(
            tails,
            values,
            units * columns,
            (
                arg(&values),
                arg(&order),
                arg(owner),
                arg(&sums),
                length,
                columns,
                stride,
                rows,
                units * columns,
                ordered,
                flipped,
                reverse,
            ),
            types
        );
        level(sums, None, owner, stride * STEP, reverse)
    };
    let out = empty(&values, [length, columns], dtype);
    launch!(
        running,
        values,
        units * columns,
        (
            arg(&values),
            arg(&order),
            arg(owner),
            arg(&before),
            arg(&out),
            length,
            columns,
            stride,
            rows,
            units * columns,
            ordered,
            flipped,
            reverse,
        ),
        types
    );
    out
}
