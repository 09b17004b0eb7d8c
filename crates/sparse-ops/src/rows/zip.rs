//! Arithmetic on rows of two tensors.

use super::{RowMap, move_rows};
use crate::base::empty::{constant, nothing};
use crate::base::kind::{Numeric, as_float, from_float, is_tracked};
use crate::kernel;
use burn::tensor::Tensor;
use sparse_autograd::{Erased, record};
use sparse_burn::BinaryOp;

/// `op` of rows of one shape.
pub(crate) fn apply<K: Numeric>(op: BinaryOp, a: Tensor<2, K>, b: Tensor<2, K>) -> Tensor<2, K> {
    // An empty tensor is returned as it is: some devices cannot launch over it, here or in the backward pass.
    if a.shape().num_elements() == 0 {
        return constant(a, &[&b]);
    }
    match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div => a / b,
    }
}

/// Rows that are read through an index map: values, the fill, and the map (`None`: rows stay in place).
pub(crate) type Mapped<'a, K> = (&'a Tensor<2, K>, Tensor<2, K>, Option<RowMap>);

#[derive(Debug)]
struct Saved {
    op: BinaryOp,
    maps: [Option<RowMap>; 2],
    /// Values and fill of each side, if the gradient of the other side reads them.
    sides: [Option<(Tensor<2>, Tensor<2>)>; 2],
}

/// `op` of rows that are read through index maps. One kernel does this if no fill is tracked. A side with a tracked
/// fill has two parents, so then the rows are moved first.
pub(crate) fn zip<K: Numeric>(op: BinaryOp, a: Mapped<'_, K>, b: Mapped<'_, K>) -> Tensor<2, K> {
    let rows = |side: &Mapped<'_, K>| side.2.as_ref().map_or(side.0.dims()[0], |map| map.map().dims()[0]);
    if rows(&a) == 0
        && let (Some(values_a), Some(values_b)) = (as_float(a.0), as_float(b.0))
    {
        return nothing([0, values_a.dims()[1]], values_a.dtype(), &[&values_a, &values_b]);
    }
    if is_tracked(&a.1) || is_tracked(&b.1) {
        let moved = |(values, fill, map): Mapped<'_, K>| match map {
            None => values.clone(),
            Some(map) => move_rows(values.clone(), fill, &map),
        };
        return apply(op, moved(a), moved(b));
    }
    let side = |side: &Mapped<'_, K>| -> Option<(Tensor<2>, Tensor<2>)> {
        Some((as_float(side.0)?.inner(), as_float(&side.1)?.inner()))
    };
    let maps = [&a.2, &b.2].map(|map| map.as_ref().map(RowMap::map));
    let out = kernel::zip_rows(op, [a.0, b.0], [&a.1, &b.1], maps);
    let (Some(values_a), Some(values_b)) = (as_float(a.0), as_float(b.0)) else { return out };
    let out = as_float(&out).expect("the kind of the values");
    let nonlinear = matches!(op, BinaryOp::Mul | BinaryOp::Div);
    let reads_a = nonlinear && values_b.is_tracked();
    let reads_b = nonlinear && (values_a.is_tracked() || op == BinaryOp::Div);
    let sides = [if reads_a { side(&a) } else { None }, if reads_b { side(&b) } else { None }];
    let saved = Saved { op, maps: [a.2, b.2], sides };
    from_float(record(out, [Erased::from(values_a), Erased::from(values_b)], saved, backward))
}

fn backward(saved: &Saved, grad: Tensor<2>, needs: [bool; 2]) -> [Option<Erased>; 2] {
    let moved = |side: usize| {
        let (values, fill) = saved.sides[side].as_ref().expect("saved where the other side is tracked");
        saved.maps[side].as_ref().map_or(values.clone(), |map| kernel::move_rows(values, fill, map.map()))
    };
    let (to_a, to_b): (Option<Tensor<2>>, Option<Tensor<2>>) = match saved.op {
        BinaryOp::Add => (needs[0].then(|| grad.clone()), needs[1].then_some(grad)),
        BinaryOp::Sub => (needs[0].then(|| grad.clone()), needs[1].then(|| grad.neg())),
        BinaryOp::Mul => (needs[0].then(|| grad.clone() * moved(1)), needs[1].then(|| grad * moved(0))),
        BinaryOp::Div => {
            let divisor = moved(1);
            (
                needs[0].then(|| grad.clone() / divisor.clone()),
                needs[1].then(|| (grad * (moved(0) / divisor.clone() / divisor)).neg()),
            )
        }
    };
    let back = |grad: Option<Tensor<2>>, map: &Option<RowMap>| {
        let grad = grad?;
        match map {
            None => Some(Erased::from(grad)),
            Some(map) => map.back(&grad, true, false)[0].clone().map(Erased::from),
        }
    };
    [back(to_a, &saved.maps[0]), back(to_b, &saved.maps[1])]
}
