//! Arguments of backend methods that are not single tensors of a fixed kind.

use burn::backend::tensor::{BoolTensor, FloatTensor, IntTensor};
use burn::backend::{
    Backend, BackendTensor, DType, Dispatch, DispatchAutodiffContext, DispatchTensor, DispatchTensorKind,
    ExtensionType, TensorMetadata,
};
use burn::tensor::Tensor;
use burn::tensor::kind::Basic;
use std::convert::identity;

/// A tensor of any kind. Values of sparse tensors are moved and summed alike whatever their kind, so one backend method
/// serves all three.
#[derive(Clone, Debug, ExtensionType)]
pub enum AnyTensor<B: Backend> {
    /// f16, bf16, f32 or f64.
    Float(FloatTensor<B>),
    /// i32, i64 or u8.
    Int(IntTensor<B>),
    /// Bool in the backend's storage.
    Bool(BoolTensor<B>),
}

impl<B: Backend> AnyTensor<B> {
    /// The tensor that one of three functions makes of `source`: the one for the kind of `dtype`.
    pub(crate) fn of_dtype<S>(
        dtype: DType,
        source: S,
        float: impl FnOnce(S) -> FloatTensor<B>,
        int: impl FnOnce(S) -> IntTensor<B>,
        bool: impl FnOnce(S) -> BoolTensor<B>,
    ) -> Self {
        match dtype {
            dtype if dtype.is_float() => Self::Float(float(source)),
            dtype if dtype.is_bool() => Self::Bool(bool(source)),
            _ => Self::Int(int(source)),
        }
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        match self {
            Self::Float(tensor) => tensor.dtype(),
            Self::Int(tensor) => tensor.dtype(),
            Self::Bool(tensor) => tensor.dtype(),
        }
    }

    /// Device.
    pub fn device(&self) -> B::Device {
        match self {
            Self::Float(tensor) => tensor.device(),
            Self::Int(tensor) => tensor.device(),
            Self::Bool(tensor) => tensor.device(),
        }
    }

    /// Shape.
    pub fn dims(&self) -> Vec<usize> {
        let shape = match self {
            Self::Float(tensor) => tensor.shape(),
            Self::Int(tensor) => tensor.shape(),
            Self::Bool(tensor) => tensor.shape(),
        };
        (0..shape.num_dims()).map(|axis| shape[axis]).collect()
    }
}

impl AnyTensor<Dispatch> {
    /// Wraps a user's tensor. It must carry no autodiff association (`Tensor::inner`).
    pub fn from_tensor<const D: usize, K: Basic>(tensor: Tensor<D, K>) -> Self {
        let tensor: DispatchTensor = tensor.into_dispatch();
        Self::of_dtype(tensor.dtype(), tensor, identity, identity, identity)
    }

    /// Back to a user's tensor.
    ///
    /// # Panics
    ///
    /// If the kind or rank differs.
    pub fn into_tensor<const D: usize, K: Basic>(self) -> Tensor<D, K> {
        match self {
            Self::Float(tensor) | Self::Int(tensor) | Self::Bool(tensor) => Tensor::from_dispatch(tensor),
        }
    }
}

/// An index array that may be absent, which then means the identity.
#[derive(Clone, Debug, ExtensionType)]
pub enum OptionalInt<B: Backend> {
    /// Element `k` stands at `k`.
    Identity,
    /// Element `k` stands at entry `k` of the array.
    By(IntTensor<B>),
}

/// A sparse matrix by compressed rows: row `r` holds elements `ptr[r]..ptr[r + 1]`, element `k` has column `idx[k]` and
/// its value stands at `perm[k]`. The transpose of a pattern is the same thing with the roles swapped.
#[derive(Clone, Debug, ExtensionType)]
pub struct RowsView<B: Backend> {
    /// `[rows + 1]`.
    pub ptr: IntTensor<B>,
    /// `[nnz]`.
    pub idx: IntTensor<B>,
    /// Where the value of element `k` stands.
    #[extension_type]
    pub perm: OptionalInt<B>,
}

/// The index arrays of a pattern.
#[derive(Clone, Debug, ExtensionType)]
pub enum PatternArrays<B: Backend> {
    /// Coordinates `[sparse_dims, nnz]`, coalesced unless a method says otherwise.
    Coo(IntTensor<B>),
    /// Row pointers `[rows + 1]` and columns `[nnz]`, columns ascending strictly in a row.
    Csr(IntTensor<B>, IntTensor<B>),
}

/// A merged pattern and where its rows come from on either side.
#[derive(Clone, Debug, ExtensionType)]
pub struct Merged<B: Backend> {
    /// The pattern.
    #[extension_type]
    pub pattern: PatternArrays<B>,
    /// New row to row of the first operand, its nnz where it has none.
    pub map_a: IntTensor<B>,
    /// New row to row of the second operand.
    pub map_b: IntTensor<B>,
}

/// A pattern made of several, and where its rows come from in the plain concatenation of theirs.
#[derive(Clone, Debug, ExtensionType)]
pub struct Joined<B: Backend> {
    /// The pattern.
    #[extension_type]
    pub pattern: PatternArrays<B>,
    /// New row to row of the concatenation.
    #[extension_type]
    pub map: OptionalInt<B>,
}

/// A float tensor that may be absent.
#[derive(Clone, Debug, ExtensionType)]
pub enum OptionalFloat<B: Backend> {
    /// Not given.
    Absent,
    /// Given.
    Given(FloatTensor<B>),
}

/// Steps along an axis by their destination, as `group_by` gives them: made once by a plan.
#[derive(Clone, Debug, ExtensionType)]
pub enum Groups<B: Backend> {
    /// Not made.
    Unknown,
    /// `order` and `ptr`.
    Given(IntTensor<B>, IntTensor<B>),
}

/// What a `put` notes for its gradient, read by the backend that made it alone. If the second array is empty, the gradient
/// needs neither the array nor the values nor the result.
#[derive(Clone, Debug, ExtensionType)]
pub enum PutRecord<B: Backend> {
    /// None was made.
    Absent,
    /// On the host, winners `[outer * len * inner]` and the steps where a tie was seen (`sparse_core::Record`); on GPUs the
    /// values grouped by cell, `order` and `ptr`.
    Given(IntTensor<B>, IntTensor<B>),
}

/// The extension macro takes no lists; the trait it derives can be written for one by hand.
macro_rules! list {
    ($(#[$doc:meta])* $list:ident, $item:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $list<B: Backend>(pub Vec<$item<B>>);

        impl<B: Backend> ExtensionType<B> for $list<B>
        where
            $item<B>: ExtensionType<B, Target = $item<Dispatch>>,
        {
            type Target = $list<Dispatch>;

            fn map_to_dispatch<F>(self, map_kind: F, autodiff: DispatchAutodiffContext) -> Self::Target
            where
                F: Fn(BackendTensor<B>) -> DispatchTensorKind,
            {
                $list(self.0.into_iter().map(|one| one.map_to_dispatch(&map_kind, autodiff)).collect())
            }

            fn map_from_dispatch<F>(target: Self::Target, unwrap_kind: F) -> Self
            where
                F: Fn(DispatchTensor) -> BackendTensor<B>,
            {
                Self(target.0.into_iter().map(|one| $item::map_from_dispatch(one, &unwrap_kind)).collect())
            }

            fn routing_tensor(target: &Self::Target) -> Option<&DispatchTensor> {
                target.0.first().and_then(|one| <$item<B> as ExtensionType<B>>::routing_tensor(one))
            }

            fn routing_float_tensor(_target: &Self::Target) -> Option<&DispatchTensor> {
                None
            }
        }
    };
}

list!(
    /// Several patterns.
    PatternList,
    PatternArrays
);
list!(
    /// Several tensors.
    TensorList,
    AnyTensor
);
