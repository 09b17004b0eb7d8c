//! What a layout is.

use super::matrix::Matrix;
use super::memo::{Made, Memo};
use crate::base::sizes::cells;
use crate::kernel::{Arrays, Compressed};
use crate::rows::{RowMap, RowSums};
use burn::tensor::{DType, Device, Int, Tensor};
use sparse_burn::ConcatAxis;
use sparse_core::Result;
use std::fmt::Debug;

/// A sparse layout. Implemented by [`CooPattern`](super::CooPattern) and [`CsrPattern`](super::CsrPattern); cannot be
/// implemented outside this crate.
pub trait Pattern: Clone + Debug + Send + Sync + 'static {
    /// Name of the layout.
    const LAYOUT: &'static str;

    /// Sizes of the sparse dims.
    fn shape(&self) -> &[usize];
    /// Number of stored elements (of blocks, where there are dense dims).
    fn nnz(&self) -> usize;
    /// Whether no coordinate is stored twice and all stand in lexicographic order.
    fn is_coalesced(&self) -> bool;
    /// Whether both are one and the same shared pattern.
    fn is_same(&self, other: &Self) -> bool;
    /// Device of the index tensors.
    fn device(&self) -> Device;
    /// A copy on another device.
    fn to_device(&self, device: &Device) -> Self;
    /// Dtype of the index tensors.
    fn index_dtype(&self) -> DType;
    /// The coordinates `[sparse_dims, nnz]` of every stored element, in storage order.
    fn coordinates(&self) -> &Tensor<2, Int>;

    // What operations ask of a layout. Structural operations work on coordinates and come back through
    // `from_coordinates`, so that each is written once. Nobody outside can implement this: its types cannot be named.

    /// Whether the kernels make the union of two such patterns, and an operation on single values, in one pass.
    #[doc(hidden)]
    const UNION_ZIP: bool;
    /// Whether the layout has tensors of so many sparse dims.
    #[doc(hidden)]
    fn has_rank(rank: usize) -> bool;
    /// Checks that the layout has tensors of this shape (of the sparse dims), where so many numbers are `held` already.
    #[doc(hidden)]
    fn check_shape(op: &'static str, shape: &[usize], held: usize) -> Result<()>;
    /// The layout's pattern of coordinates `[sparse_dims, nnz]` that are right by construction. A layout that is always
    /// coalesced is given coalesced ones only.
    #[doc(hidden)]
    fn from_coordinates(coordinates: Tensor<2, Int>, shape: &[usize], coalesced: bool) -> Self;
    /// The pattern of a matrix (or of a batch of them) of `shape` from its compressed rows, all matrices of a batch being
    /// one block-diagonal matrix.
    #[doc(hidden)]
    fn from_rows(rows: &Compressed, shape: &[usize]) -> Self;
    /// The merged pattern and its sums; `None` where it is coalesced already.
    #[doc(hidden)]
    fn coalesce(&self) -> Option<(Self, RowSums)>;
    /// The pattern of a matrix (or of a batch of them) by rows and by columns; `None` for other ranks.
    #[doc(hidden)]
    fn matrix(&self) -> Option<&Matrix>;
    /// The index arrays, for kernels that merge or join patterns.
    #[doc(hidden)]
    fn arrays(&self) -> Arrays;
    /// A pattern of the same layout from arrays that are right by construction.
    #[doc(hidden)]
    fn from_arrays(arrays: Arrays, shape: &[usize], coalesced: bool) -> Self;
    /// What is made of the pattern and kept with it.
    #[doc(hidden)]
    fn memo(&self) -> &Memo;
    /// How several are joined along a sparse dim, and the index dtype that the result needs.
    #[doc(hidden)]
    fn concat_axis(parts: &[Self], axis: usize, shape: &[usize]) -> (ConcatAxis, DType);
    /// The pattern with its dims in another order, and where its rows come from (`None`: they stay).
    #[doc(hidden)]
    fn permute(&self, axes: &[usize]) -> (Self, Option<RowMap>);
    /// The pattern with a sparse dim of size 1 more at `axis`, where its arrays stay what they are.
    #[doc(hidden)]
    fn unsqueezed(&self, axis: usize) -> Option<Self>;
}

impl<P: Pattern> Made for P {
    fn memos(&self) -> Vec<&Memo> {
        vec![self.memo()]
    }
}

/// A pattern, and how it follows from another one.
impl<P: Pattern, T: Clone + Send + Sync + 'static> Made for (P, T) {
    fn memos(&self) -> Vec<&Memo> {
        vec![self.0.memo()]
    }
}

/// Whether every element is stored, for a coalesced pattern.
pub(crate) fn is_full<P: Pattern>(pattern: &P) -> bool {
    pattern.nnz() as u128 == cells(pattern.shape())
}
