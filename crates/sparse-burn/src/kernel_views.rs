//! Arguments of kernels that are several tensors: rows, patterns, what follows a product, reductions into positions.

use crate::kernel_args::{KernelValue, Sent, mapped};
use crate::options::PutTarget;
use burn::tensor::{Int, Tensor};
use sparse_core::Reduce;

#[cfg(feature = "remote")]
use crate::codec::{Decoder, Encoder, Plain};

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

mapped! {
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
