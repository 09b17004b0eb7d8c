//! ReLU of dense rows with a bias, and the gradient of ReLU.

use super::{BLOCK, Reads, in_blocks};
use crate::{Element, Epilogue, Float};

/// Adds a bias to rows of `width` elements, and applies ReLU, as the epilogue says. `out` gets the results of `values`;
/// without these it is changed in place.
///
/// # Panics
///
/// When lengths disagree.
pub fn bias_relu<T: Float>(values: Option<&[T]>, out: &mut [T], width: usize, then: Epilogue<'_, T>) {
    assert!(
        then.bias.is_none_or(|bias| bias.len() == width),
        "the bias must have a number for each of {width} columns"
    );
    assert!(out.len().is_multiple_of(width), "bias_relu: the result must hold whole rows");
    if !out.is_empty() {
        in_blocks(values, out, (BLOCK / width).max(1) * width, Reads::Piece, &|_, rows| then.apply(rows, width));
    }
}

/// The gradient of what ReLU took: 0 where its result `out` is not above zero, else the gradient of the result. Where
/// the result is NaN the gradient passes. `d_out` gets the results of `grad`; without that it is changed in place.
///
/// # Panics
///
/// When lengths disagree.
pub fn relu_backward<T: Float>(out: &[T], grad: Option<&[T]>, d_out: &mut [T]) {
    assert_eq!(out.len(), d_out.len(), "relu_backward: the gradient must have as many elements as the result");
    in_blocks(grad, d_out, BLOCK, Reads::OtherLists, &|k, grad| mask(&out[k * BLOCK..][..grad.len()], grad));
}

#[inline(never)]
fn mask<T: Element>(out: &[T], grad: &mut [T]) {
    grad.iter_mut().zip(out).for_each(|(grad, out)| *grad = if *out <= T::ZERO { T::ZERO } else { *grad });
}

pub(super) mod dynamic {
    use crate::Epilogue;
    use crate::dynamic::slices::{AnyElement, ElementVec, Elements, Values, with_values};

    /// See [`bias_relu`](crate::bias_relu()). Returns the result, unless the values are changed in place.
    pub fn bias_relu(values: Values<'_>, width: usize, bias: Option<Elements<'_>>, relu: bool) -> Option<ElementVec> {
        with_values!(values, (source, out) => {
            let bias = bias.map(AnyElement::elements);
            super::bias_relu(source, out, width, Epilogue { bias, relu })
        })
    }

    /// See [`relu_backward`](crate::relu_backward()). Returns the result, unless the gradient is changed in place.
    pub fn relu_backward(out: Elements<'_>, grad: Values<'_>) -> Option<ElementVec> {
        with_values!(grad, (source, d_out) => super::relu_backward(AnyElement::elements(out), source, d_out))
    }
}
