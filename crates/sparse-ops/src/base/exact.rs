//! Reshapes that take sizes literally.

use burn::tensor::{ReshapeArgs, Shape};
use std::fmt::Debug;

/// Sizes of a reshape, taken literally. In Burn's own arguments a 0 means "keep this dim", so they cannot give the
/// shape of an empty tensor.
#[derive(Debug)]
pub struct Exact<const D: usize>(pub [usize; D]);

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
