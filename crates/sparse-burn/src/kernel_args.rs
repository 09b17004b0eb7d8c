//! Values with tensors in them, and how they are converted from one type of tensor to another: from the tensors of a
//! user to those of the dispatch, of a backend and of host memory, and back.

use crate::any::AnyTensor;
use crate::options::{ConcatAxis, MergeRule, PutTarget};
use burn::backend::Dispatch;
use burn::tensor::kind::{self, Basic};
use burn::tensor::{Bool, DType, Int, Tensor};
use sparse_core::{
    Activation, BinaryOp, ColumnPass, Dropout, Extremum, Incomplete, ProductPlan, Reduce, ShiftedRows, SparseError,
    Term, Triangle, TrianglePlan,
};
use std::any::{Any, TypeId};

#[cfg(feature = "remote")]
use crate::codec::{Decoder, Encoder, Plain};

/// A tensor that the dispatch routes to its backend.
pub(crate) type Sent = AnyTensor<Dispatch>;

/// The kind of the elements of a sparse tensor: [`Float`](burn::tensor::Float), [`Int`] or [`Bool`].
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
    [] Epilogue<C>, Epilogue<C::Of<T>> {
        fn encode<T>(value: &Epilogue<C::Of<T>>, encoder: &mut Encoder) {
            value.relu.put(&mut encoder.numbers);
            <Option<C> as KernelValue>::encode(&value.bias, encoder);
        }
        fn decode<T>(decoder: &mut Decoder<T>) -> Epilogue<C::Of<T>> {
            let relu = decoder.plain();
            Epilogue { bias: <Option<C> as KernelValue>::decode(decoder), relu }
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

/// A sparse matrix by compressed rows. Row `r` has the elements `ptr[r]..ptr[r + 1]`. Element `k` has column `idx[k]`,
/// and its value is at `perm[k]`, or at `k` if there is no `perm`. The transpose of a pattern has the same form with
/// the roles swapped.
#[derive(Clone, Debug)]
pub struct RowsView<T> {
    /// `[rows + 1]`.
    pub ptr: T,
    /// `[nnz]`.
    pub idx: T,
    /// The position of the value of element `k`.
    pub perm: Option<T>,
}

impl<T> RowsView<T> {
    /// Converts each of the arrays.
    pub fn map<U>(self, mut f: impl FnMut(T) -> U) -> RowsView<U> {
        RowsView { ptr: f(self.ptr), idx: f(self.idx), perm: self.perm.map(f) }
    }

    /// The arrays.
    #[cfg(feature = "gpu")]
    pub(crate) fn arrays(&self) -> impl Iterator<Item = &T> {
        [&self.ptr, &self.idx].into_iter().chain(&self.perm)
    }
}

impl KernelValue for RowsView<Tensor<1, Int>> {
    type Of<T> = RowsView<T>;
    #[cfg(feature = "remote")]
    fn encode<T>(value: &RowsView<T>, encoder: &mut Encoder) {
        value.perm.is_some().put(&mut encoder.numbers);
    }
    #[cfg(feature = "remote")]
    fn decode<T>(decoder: &mut Decoder<T>) -> RowsView<T> {
        let permuted = decoder.plain::<bool>();
        RowsView { ptr: decoder.tensor(), idx: decoder.tensor(), perm: permuted.then(|| decoder.tensor()) }
    }
    fn map<T, U>(value: RowsView<T>, f: &mut impl FnMut(T) -> U) -> RowsView<U> {
        value.map(f)
    }
    fn first<T>(value: &RowsView<T>) -> Option<&T> {
        Some(&value.ptr)
    }
    fn send(self) -> RowsView<Sent> {
        self.map(KernelValue::send)
    }
    fn receive(sent: RowsView<Sent>) -> Self {
        sent.map(KernelValue::receive)
    }
}

/// What follows a product in the same pass.
#[derive(Clone, Debug)]
pub struct Epilogue<T> {
    /// Added to each row, `[1, features]`.
    pub bias: Option<T>,
    /// Whether ReLU follows, which leaves NaN.
    pub relu: bool,
}

impl<T> Default for Epilogue<T> {
    fn default() -> Self {
        Self { bias: None, relu: false }
    }
}

impl<T> Epilogue<T> {
    /// Whether nothing follows.
    #[cfg(feature = "gpu")]
    pub(crate) fn is_empty(&self) -> bool {
        self.bias.is_none() && !self.relu
    }

    fn map<U>(self, f: impl FnMut(T) -> U) -> Epilogue<U> {
        Epilogue { bias: self.bias.map(f), relu: self.relu }
    }

    fn iter(&self) -> impl Iterator<Item = &T> {
        self.bias.iter()
    }
}

/// The index arrays of a pattern.
#[derive(Clone, Debug)]
pub enum PatternArrays<T, C = T> {
    /// Coordinates `[sparse_dims, nnz]`, coalesced unless a kernel says otherwise.
    Coo(C),
    /// Row pointers `[rows + 1]` and columns `[nnz]`, columns ascending strictly in a row.
    Csr(T, T),
}

#[cfg(feature = "gpu")]
impl<T> PatternArrays<T> {
    /// The arrays: coordinates, or row pointers and columns.
    pub(crate) fn arrays(&self) -> impl Iterator<Item = &T> {
        let (first, second) = match self {
            Self::Coo(indices) => (indices, None),
            Self::Csr(ptr, col) => (ptr, Some(col)),
        };
        [first].into_iter().chain(second)
    }
}

impl KernelValue for PatternArrays<Tensor<1, Int>, Tensor<2, Int>> {
    type Of<T> = PatternArrays<T>;
    #[cfg(feature = "remote")]
    fn encode<T>(value: &PatternArrays<T>, encoder: &mut Encoder) {
        matches!(value, PatternArrays::Coo(_)).put(&mut encoder.numbers);
    }
    #[cfg(feature = "remote")]
    fn decode<T>(decoder: &mut Decoder<T>) -> PatternArrays<T> {
        match decoder.plain::<bool>() {
            true => PatternArrays::Coo(decoder.tensor()),
            false => PatternArrays::Csr(decoder.tensor(), decoder.tensor()),
        }
    }
    fn map<T, U>(value: PatternArrays<T>, f: &mut impl FnMut(T) -> U) -> PatternArrays<U> {
        match value {
            PatternArrays::Coo(indices) => PatternArrays::Coo(f(indices)),
            PatternArrays::Csr(ptr, col) => PatternArrays::Csr(f(ptr), f(col)),
        }
    }
    fn first<T>(value: &PatternArrays<T>) -> Option<&T> {
        let (PatternArrays::Coo(first) | PatternArrays::Csr(first, _)) = value;
        Some(first)
    }
    fn send(self) -> PatternArrays<Sent> {
        match self {
            Self::Coo(indices) => PatternArrays::Coo(indices.send()),
            Self::Csr(ptr, col) => PatternArrays::Csr(ptr.send(), col.send()),
        }
    }
    fn receive(sent: PatternArrays<Sent>) -> Self {
        match sent {
            PatternArrays::Coo(indices) => Self::Coo(KernelValue::receive(indices)),
            PatternArrays::Csr(ptr, col) => Self::Csr(KernelValue::receive(ptr), KernelValue::receive(col)),
        }
    }
}

/// A reduction into positions along an axis, without the tensors of values.
#[derive(Clone, Debug)]
pub struct Put<I, T = I> {
    /// The position of each value along the axis. Checked before.
    pub index: I,
    /// Sizes.
    pub target: PutTarget,
    /// How values that go to the same place are combined.
    pub reduce: Reduce,
    /// Whether the array's own elements take part.
    pub include_self: bool,
    /// Steps along the axis grouped by their destination, as `group_by` gives them: `(order, ptr)`. A plan makes this
    /// once. Only for indices with one entry for each step.
    pub groups: Option<(T, T)>,
}

impl<const D: usize> KernelValue for Put<Tensor<D, Int>, Tensor<1, Int>> {
    type Of<T> = Put<T>;
    #[cfg(feature = "remote")]
    fn encode<T>(value: &Put<T>, encoder: &mut Encoder) {
        value.target.put(&mut encoder.numbers);
        value.reduce.put(&mut encoder.numbers);
        value.include_self.put(&mut encoder.numbers);
        value.groups.is_some().put(&mut encoder.numbers);
    }
    #[cfg(feature = "remote")]
    fn decode<T>(decoder: &mut Decoder<T>) -> Put<T> {
        let (target, reduce, include_self) = (decoder.plain(), decoder.plain(), decoder.plain());
        let grouped = decoder.plain::<bool>();
        let index = decoder.tensor();
        Put { index, target, reduce, include_self, groups: grouped.then(|| (decoder.tensor(), decoder.tensor())) }
    }
    fn map<T, U>(value: Put<T>, f: &mut impl FnMut(T) -> U) -> Put<U> {
        let Put { index, target, reduce, include_self, groups } = value;
        let index = f(index);
        Put { index, target, reduce, include_self, groups: groups.map(|(order, ptr)| (f(order), f(ptr))) }
    }
    fn first<T>(value: &Put<T>) -> Option<&T> {
        Some(&value.index)
    }
    fn send(self) -> Put<Sent> {
        let Self { index, target, reduce, include_self, groups } = self;
        Put { index: index.send(), target, reduce, include_self, groups: groups.send() }
    }
    fn receive(sent: Put<Sent>) -> Self {
        let Put { index, target, reduce, include_self, groups } = sent;
        let index = KernelValue::receive(index);
        Put { index, target, reduce, include_self, groups: KernelValue::receive(groups) }
    }
}

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
