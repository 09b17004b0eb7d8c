//! Comparisons of every element with a number.

use crate::base::kind::Numeric;
use crate::base::scalar::host_order;
use crate::pattern::layout::Pattern;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{Bool, Scalar, Shape, Tensor};
use std::cmp::Ordering;

macro_rules! comparisons {
    ($($name:ident $sign:literal $holds:expr;)*) => {$(
        #[doc = concat!("Whether each element is ", $sign, " a number (see [`map`](Self::map)).")]
        pub fn $name(&self, value: impl Into<Scalar>) -> SparseTensor<P, D, Bool> {
            let value: Scalar = value.into();
            let holds: fn(Option<Ordering>) -> bool = $holds;
            self.map_to_bool(
                |rows| {
                    let shape = Shape::from(rows.dims());
                    let other = Fill::<K>::scalar(value).row(1, rows.dtype(), &rows.device()).expand(shape);
                    compare::$name(rows, other)
                },
                |fill, dtype| holds(host_order(fill, value, dtype)),
            )
        }
    )*};
}

/// Comparisons of two tensors of rows, under the names of the comparisons with a number.
mod compare {
    use super::*;

    macro_rules! of_rows {
        ($($name:ident $burn:ident;)*) => {$(
            pub(crate) fn $name<K: Numeric>(a: Tensor<2, K>, b: Tensor<2, K>) -> Tensor<2, Bool> {
                a.$burn(b)
            }
        )*};
    }
    of_rows! {
        equal_elem equal;
        not_equal_elem not_equal;
        greater_elem greater;
        greater_equal_elem greater_equal;
        lower_elem lower;
        lower_equal_elem lower_equal;
    }
}

impl<P: Pattern, const D: usize, K: Numeric> SparseTensor<P, D, K> {
    comparisons! {
        equal_elem "equal to" |order| order == Some(Ordering::Equal);
        not_equal_elem "not equal to" |order| order != Some(Ordering::Equal);
        greater_elem "greater than" |order| order == Some(Ordering::Greater);
        greater_equal_elem "at least" |order| order.is_some_and(Ordering::is_ge);
        lower_elem "less than" |order| order == Some(Ordering::Less);
        lower_equal_elem "at most" |order| order.is_some_and(Ordering::is_le);
    }
}
