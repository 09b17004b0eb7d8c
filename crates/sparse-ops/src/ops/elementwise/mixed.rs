//! `+ - * /` of a dense and a sparse tensor: there are none, and the compiler names what to write instead.

use crate::base::kind::Kind;
use crate::pattern::layout::Pattern;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{Element, ElementConversion, Tensor};

/// Nothing has this trait: only its message is wanted.
#[diagnostic::on_unimplemented(
    message = "no operator takes a dense and a sparse tensor: `a.add_dense(x)`, `sub_dense`, `mul_dense` and \
               `div_dense` work at the stored elements of `a`, and `a.to_dense() + x` at all",
    label = "one operand is dense, the other sparse",
    note = "a sum or a difference at the stored elements needs `a.with_fill(Fill::Undefined)`"
)]
trait Mixed {
    fn never() -> !;
}

macro_rules! operators {
    ($($operator:ident $method:ident)*) => {$(operators! {
        @of $operator $method, SparseTensor<P, D, K>;
        @of $operator $method, &SparseTensor<P, D, K>;
    })*};
    ($(@of $operator:ident $method:ident, $sparse:ty;)*) => {$(
        #[doc(hidden)]
        #[allow(private_bounds)]
        impl<P: Pattern, const D: usize, K: Kind, const E: usize, K2: Kind> std::ops::$operator<Tensor<E, K2>>
            for $sparse
        where
            Tensor<E, K2>: Mixed,
        {
            type Output = SparseTensor<P, D, K>;

            fn $method(self, _: Tensor<E, K2>) -> Self::Output {
                Tensor::<E, K2>::never()
            }
        }
    )*};
}

operators! { Add add Sub sub Mul mul Div div }

macro_rules! numbers {
    ($($sparse:ty)*) => {$(
        /// Burn's tensors take numbers by operators. So for `x + a` the compiler asks whether a sparse tensor is one.
        #[doc(hidden)]
        #[allow(private_bounds)]
        impl<P: Pattern, const D: usize, K: Kind> ElementConversion for $sparse
        where
            SparseTensor<P, D, K>: Mixed,
        {
            fn from_elem<E: burn::tensor::cast::ToElement>(_: E) -> Self {
                SparseTensor::<P, D, K>::never()
            }

            fn elem<E: Element>(self) -> E {
                SparseTensor::<P, D, K>::never()
            }
        }
    )*};
}

numbers! { SparseTensor<P, D, K> &SparseTensor<P, D, K> }
