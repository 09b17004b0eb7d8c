//! Reshapes that take sizes as they are.

use burn::tensor::{ReshapeArgs, Shape};
use std::fmt::Debug;

/// Sizes of a reshape, taken literally: in Burn's own arguments a 0 means "keep this dim", and empty tensors cannot say
/// what they are.
#[derive(Debug)]
pub(crate) struct Exact<const D: usize>(pub(crate) [usize; D]);

impl<const D: usize> ReshapeArgs<D> for Exact<D> {
    fn into_shape<const S: usize>(self, source: Shape) -> Shape {
        let shape = Shape::from(self.0);
        assert_eq!(
            source.num_elements(),
            shape.num_elements(),
            "reshape: {source:?} must have the elements of {shape:?}"
        );
        shape
    }
}
