//! Values with tensors in them, and how they are converted from one type of tensor to another: from the tensors of a
//! user to those of the dispatch, of a backend and of host memory, and back.

use crate::any::AnyTensor;
use crate::options::{ConcatAxis, MergeRule, PutTarget};
use burn::backend::Dispatch;
use burn::tensor::kind::{self, Basic};
use burn::tensor::{Bool, DType, Tensor};
use sparse_core::{
    Activation, AdamStep, BinaryOp, ColumnPass, Dropout, Extremum, Incomplete, ProductPlan, Reduce, ShiftedRows,
    SparseError, Term, Triangle, TrianglePlan,
};
use std::any::{Any, TypeId};

#[cfg(feature = "remote")]
use crate::codec::{Decoder, Encoder, Plain};

/// A tensor that the dispatch routes to its backend.
pub(crate) type Sent = AnyTensor<Dispatch>;

/// The kind of the elements of a sparse tensor: [`Float`](burn::tensor::Float), [`Int`](burn::tensor::Int) or [`Bool`].
pub trait Kind: Basic + kind::Autodiff + 'static {}
impl<K: Basic + kind::Autodiff + 'static> Kind for K {}

/// An argument or the result of a kernel, as its declaration names it: with tensors of a user.
pub trait KernelValue: Sized {
    /// The same value with tensors of type `T`.
    type Of<T>;

    /// Whether it may be an error.
    #[cfg(feature = "remote")]
    const FAILS: bool = false;

    /// Whether it can be sent to another process. If not, an option of it is sent as `None`.
    #[cfg(feature = "remote")]
    const TRAVELS: bool = true;

    /// Adds all but the tensors to an encoder.
    #[cfg(feature = "remote")]
    fn encode<T>(value: &Self::Of<T>, encoder: &mut Encoder);

    /// The value that was encoded, with the tensors that came beside it.
    #[cfg(feature = "remote")]
    fn decode<T>(decoder: &mut Decoder<T>) -> Self::Of<T>;

    /// Converts every tensor to another type.
    fn map<T, U>(value: Self::Of<T>, f: &mut impl FnMut(T) -> U) -> Self::Of<U>;

    /// One of the tensors, if there are any.
    fn first<T>(value: &Self::Of<T>) -> Option<&T>;

    /// The value in the form that kernels take: no tensor has an autodiff association.
    fn send(self) -> Self::Of<Sent>;

    /// A kernel's result in the form that a user has it.
    fn receive(sent: Self::Of<Sent>) -> Self;
}

/// The declared value `C` with tensors of type `T`.
pub type Of<C, T> = <C as KernelValue>::Of<T>;

/// The tensor, of Bool's own dtype if it is a Bool one: Flex gives the results of some operations as u8.
pub fn of_kind<const D: usize, K: Kind>(tensor: Tensor<D, K>) -> Tensor<D, K> {
    if TypeId::of::<K>() != TypeId::of::<Bool>() || tensor.dtype().is_bool() {
        return tensor;
    }
    let stray: Box<dyn Any> = Box::new(tensor);
    let stray = stray.downcast::<Tensor<D, Bool>>().expect("the kind was compared");
    Tensor::from_dispatch(stray.int().bool().into_dispatch())
}

impl<const D: usize, K: Kind> KernelValue for Tensor<D, K> {
    type Of<T> = T;
    #[cfg(feature = "remote")]
    fn encode<T>(_: &T, _: &mut Encoder) {}
    #[cfg(feature = "remote")]
    fn decode<T>(decoder: &mut Decoder<T>) -> T {
        decoder.tensor()
    }
    fn map<T, U>(value: T, f: &mut impl FnMut(T) -> U) -> U {
        f(value)
    }
    fn first<T>(value: &T) -> Option<&T> {
        Some(value)
    }
    fn send(self) -> Sent {
        of_kind(self.inner()).into_dispatch().into()
    }
    fn receive(sent: Sent) -> Self {
        Tensor::from_dispatch(sent.into())
    }
}

/// Values without tensors are passed on as they are.
macro_rules! plain {
    ($($plain:ty),* $(,)?) => {$(
        impl KernelValue for $plain {
            type Of<T> = Self;
            #[cfg(feature = "remote")]
            const TRAVELS: bool = <$plain as Plain>::TRAVELS;
            #[cfg(feature = "remote")]
            fn encode<T>(value: &Self, encoder: &mut Encoder) {
                value.put(&mut encoder.numbers);
            }
            #[cfg(feature = "remote")]
            fn decode<T>(decoder: &mut Decoder<T>) -> Self {
                decoder.plain()
            }
            fn map<T, U>(value: Self, _: &mut impl FnMut(T) -> U) -> Self {
                value
            }
            fn first<T>(_: &Self) -> Option<&T> {
                None
            }
            fn send(self) -> Self {
                self
            }
            fn receive(sent: Self) -> Self {
                sent
            }
        }
        impl IntoArg<$plain> for $plain {
            fn into_arg(self) -> $plain {
                self
            }
        }
    )*};
}

plain!(
    (),
    bool,
    usize,
    f64,
    &'static str,
    BinaryOp,
    ColumnPass,
    ConcatAxis,
    DType,
    Activation,
    AdamStep,
    Dropout,
    Extremum,
    Term,
    Incomplete,
    MergeRule,
    ProductPlan,
    PutTarget,
    Reduce,
    ShiftedRows,
    Triangle,
    TrianglePlan,
);

/// Values that have a method `map`. Those of the braces are how they are encoded.
macro_rules! mapped {
    ($([$($generic:tt)*] $own:ty, $of:ty { $($encoded:item)* })*) => {$(
        impl<C: KernelValue, $($generic)*> KernelValue for $own {
            type Of<T> = $of;
            $(
                #[cfg(feature = "remote")]
                $encoded
            )*
            fn map<T, U>(value: Self::Of<T>, f: &mut impl FnMut(T) -> U) -> Self::Of<U> {
                value.map(|value| C::map(value, f))
            }
            fn first<T>(value: &Self::Of<T>) -> Option<&T> {
                value.iter().find_map(C::first)
            }
            fn send(self) -> Self::Of<Sent> {
                self.map(C::send)
            }
            fn receive(sent: Self::Of<Sent>) -> Self {
                sent.map(C::receive)
            }
        }
    )*};
}

pub(crate) use mapped;

mapped! {
    [] Option<C>, Option<C::Of<T>> {
        fn encode<T>(value: &Option<C::Of<T>>, encoder: &mut Encoder) {
            let value = value.as_ref().filter(|_| C::TRAVELS);
            value.is_some().put(&mut encoder.numbers);
            value.inspect(|value| C::encode(value, encoder));
        }
        fn decode<T>(decoder: &mut Decoder<T>) -> Option<C::Of<T>> {
            decoder.plain::<bool>().then(|| C::decode(decoder))
        }
    }
    [] Result<C, SparseError>, Result<C::Of<T>, SparseError> {
        const FAILS: bool = true;
        fn encode<T>(value: &Result<C::Of<T>, SparseError>, encoder: &mut Encoder) {
            match value {
                Ok(value) => C::encode(value, encoder),
                Err(_) => encoder.failed = true,
            }
        }
        fn decode<T>(decoder: &mut Decoder<T>) -> Result<C::Of<T>, SparseError> {
            Ok(C::decode(decoder))
        }
    }
    [const N: usize] [C; N], [C::Of<T>; N] {
        fn encode<T>(value: &[C::Of<T>; N], encoder: &mut Encoder) {
            value.iter().for_each(|value| C::encode(value, encoder));
        }
        fn decode<T>(decoder: &mut Decoder<T>) -> [C::Of<T>; N] {
            std::array::from_fn(|_| C::decode(decoder))
        }
    }
}

impl<C: KernelValue> KernelValue for Vec<C> {
    type Of<T> = Vec<C::Of<T>>;
    #[cfg(feature = "remote")]
    fn encode<T>(value: &Vec<C::Of<T>>, encoder: &mut Encoder) {
        value.len().put(&mut encoder.numbers);
        value.iter().for_each(|value| C::encode(value, encoder));
    }
    #[cfg(feature = "remote")]
    fn decode<T>(decoder: &mut Decoder<T>) -> Vec<C::Of<T>> {
        (0..decoder.length()).map(|_| C::decode(decoder)).collect()
    }
    fn map<T, U>(value: Self::Of<T>, f: &mut impl FnMut(T) -> U) -> Self::Of<U> {
        value.into_iter().map(|value| C::map(value, f)).collect()
    }
    fn first<T>(value: &Self::Of<T>) -> Option<&T> {
        value.iter().find_map(C::first)
    }
    fn send(self) -> Self::Of<Sent> {
        self.into_iter().map(C::send).collect()
    }
    fn receive(sent: Self::Of<Sent>) -> Self {
        sent.into_iter().map(C::receive).collect()
    }
}

macro_rules! tuple {
    ($($part:ident),*) => {
        #[allow(non_snake_case)]
        impl<$($part: KernelValue),*> KernelValue for ($($part,)*) {
            type Of<T> = ($($part::Of<T>,)*);
            #[cfg(feature = "remote")]
            fn encode<T>(($($part,)*): &Self::Of<T>, encoder: &mut Encoder) {
                $($part::encode($part, encoder);)*
            }
            #[cfg(feature = "remote")]
            fn decode<T>(decoder: &mut Decoder<T>) -> Self::Of<T> {
                ($($part::decode(decoder),)*)
            }
            fn map<T, U>(($($part,)*): Self::Of<T>, f: &mut impl FnMut(T) -> U) -> Self::Of<U> {
                ($($part::map($part, f),)*)
            }
            fn first<T>(($($part,)*): &Self::Of<T>) -> Option<&T> {
                None$(.or($part::first($part)))*
            }
            fn send(self) -> Self::Of<Sent> {
                let ($($part,)*) = self;
                ($($part.send(),)*)
            }
            fn receive(($($part,)*): Self::Of<Sent>) -> Self {
                ($($part::receive($part),)*)
            }
        }
    };
}

tuple!(A, B);
tuple!(A, B, C);

/// An argument of a typed call for a `C`: the value itself, or a reference if a clone costs no more than a handle or a
/// few numbers.
pub trait IntoArg<C> {
    /// The value.
    fn into_arg(self) -> C;
}

impl<const D: usize, K: Kind> IntoArg<Tensor<D, K>> for Tensor<D, K> {
    fn into_arg(self) -> Self {
        self
    }
}

impl<C: Clone> IntoArg<C> for &C {
    fn into_arg(self) -> C {
        self.clone()
    }
}

/// Of each by itself: with one rule for all of them the type of a `None` would have to be written in every call.
macro_rules! optional {
    ($($plan:ty),*) => {$(
        impl IntoArg<Option<$plan>> for Option<$plan> {
            fn into_arg(self) -> Self {
                self
            }
        }
    )*};
}

optional!(ProductPlan, ShiftedRows, TrianglePlan);

impl<C: Clone> IntoArg<Option<C>> for Option<&C> {
    fn into_arg(self) -> Option<C> {
        self.cloned()
    }
}

impl<C, G: IntoArg<C> + Clone> IntoArg<Vec<C>> for &[G] {
    fn into_arg(self) -> Vec<C> {
        self.iter().cloned().map(G::into_arg).collect()
    }
}

/// A kernel may use the memory of these.
impl<C, G: IntoArg<C>> IntoArg<Vec<C>> for Vec<G> {
    fn into_arg(self) -> Vec<C> {
        self.into_iter().map(G::into_arg).collect()
    }
}

impl<C, G: IntoArg<C>, const N: usize> IntoArg<[C; N]> for [G; N] {
    fn into_arg(self) -> [C; N] {
        self.map(G::into_arg)
    }
}

impl<A, B, G: IntoArg<A>, H: IntoArg<B>> IntoArg<(A, B)> for (G, H) {
    fn into_arg(self) -> (A, B) {
        (self.0.into_arg(), self.1.into_arg())
    }
}
