//! Results without elements, and what Burn, or one of its devices, does not support for empty tensors.

use super::kind::{Kind, as_float, from_float};
use burn::tensor::{DType, Device, Tensor};
use sparse_autograd::{Erased, record};

/// Concatenates at least one tensor along dim 0. Empty ones are left out, for some devices cannot concatenate them;
/// they stay on the tape.
pub fn cat_rows<K: Kind>(parts: impl IntoIterator<Item = Tensor<2, K>>) -> Tensor<2, K> {
    let (mut full, mut none): (Vec<_>, Vec<_>) = parts.into_iter().partition(|rows| rows.dims()[0] > 0);
    let joined = match full.len() {
        0 => none.pop().expect("at least one part"),
        1 => full.pop().expect("one part"),
        _ => Tensor::cat(full, 0),
    };
    constant(joined, &none.iter().collect::<Vec<_>>())
}

/// A result of `shape`, which has no elements, on the tape of its operands.
pub fn nothing<const D: usize, const E: usize, K: Kind, K2: Kind>(
    shape: [usize; D],
    dtype: DType,
    operands: &[&Tensor<E, K>],
) -> Tensor<D, K2> {
    let device = operands[0].device().inner();
    constant(Tensor::empty(shape, (&device, dtype)), operands)
}

/// A result that does not depend on the elements of these operands, on their tape all the same: their gradients are
/// zero. Without it the backward pass of a step that finds nothing stored would panic.
pub(crate) fn constant<const D: usize, const E: usize, K: Kind, K2: Kind>(
    out: Tensor<D, K2>,
    operands: &[&Tensor<E, K>],
) -> Tensor<D, K2> {
    let Some(float) = as_float(&out) else { return out };
    let floats = operands.iter().filter_map(|operand| as_float(operand));
    from_float(floats.fold(float, |out, operand| {
        if out.device().is_autodiff() && !operand.is_tracked() {
            return out;
        }
        let saved = (operand.dims(), operand.dtype());
        let operand = Erased::from(operand);
        if !out.device().is_autodiff() {
            return record(out, [operand], saved, |saved, grad, _| [Some(zeros(saved, &grad.device()))]);
        }
        record(out.clone().inner(), [Erased::from(out), operand], saved, |saved, grad, needs| {
            [needs[0].then(|| grad.clone().into()), needs[1].then(|| zeros(saved, &grad.device()))]
        })
    }))
}

fn zeros<const E: usize>(&(shape, dtype): &([usize; E], DType), device: &Device) -> Erased {
    Tensor::<E>::zeros(shape, (device, dtype)).into()
}
