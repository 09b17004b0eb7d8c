//! The trait of sparse layouts.

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

    // What operations ask of a layout. Structural operations compute coordinates and come back through
    // `from_coordinates`, so that each is written once. Types in these methods cannot be named outside this crate, so
    // nobody else can implement the trait.

    /// Whether the layout has tensors of this number of sparse dims.
    #[doc(hidden)]
    fn has_rank(rank: usize) -> bool;
    /// Checks that the layout has tensors with sparse dims of this shape. `held` is how many numbers are in memory
    /// already.
    #[doc(hidden)]
    fn check_shape(op: &'static str, shape: &[usize], held: usize) -> Result<()>;
    /// The pattern of coordinates `[sparse_dims, nnz]` that are right by construction. For a layout that is always
    /// coalesced they must be coalesced.
    #[doc(hidden)]
    fn from_coordinates(coordinates: Tensor<2, Int>, shape: &[usize], coalesced: bool) -> Self;
    /// The pattern of a matrix, or of a batch of matrices, from its compressed rows. All matrices of a batch are one
    /// block-diagonal matrix there.
    #[doc(hidden)]
    fn from_rows(rows: &Compressed, shape: &[usize]) -> Self;
    /// The coalesced pattern, and how its rows are summed; `None` if this one is coalesced already.
    #[doc(hidden)]
    fn coalesce(&self) -> Option<(Self, RowSums)>;
    /// The matrix, or batch of matrices, by rows and by columns; `None` for other ranks.
    #[doc(hidden)]
    fn matrix(&self) -> Option<&Matrix>;
    /// The index arrays, for kernels that merge or join patterns.
    #[doc(hidden)]
    fn arrays(&self) -> Arrays;
    /// A pattern of the same layout from arrays that are right by construction.
    #[doc(hidden)]
    fn from_arrays(arrays: Arrays, shape: &[usize], coalesced: bool) -> Self;
    /// What is derived from the pattern and kept with it.
    #[doc(hidden)]
    fn memo(&self) -> &Memo;
    /// How several patterns are joined along a sparse dim, and the index dtype of the result.
    #[doc(hidden)]
    fn concat_axis(parts: &[Self], axis: usize, shape: &[usize]) -> (ConcatAxis, DType);
    /// The pattern with its dims in another order, and where its rows come from (`None`: they stay).
    #[doc(hidden)]
    fn permute(&self, axes: &[usize]) -> (Self, Option<RowMap>);
    /// The pattern with one more sparse dim, of size 1, at `axis`, if its arrays stay the same.
    #[doc(hidden)]
    fn unsqueezed(&self, axis: usize) -> Option<Self>;
}

impl<P: Pattern> Made for P {
    fn memos(&self) -> Vec<&Memo> {
        vec![self.memo()]
    }
}

/// A pattern, and how it is derived from another one.
impl<P: Pattern, T: Clone + Send + Sync + 'static> Made for (P, T) {
    fn memos(&self) -> Vec<&Memo> {
        vec![self.0.memo()]
    }
}

/// Whether every element is stored, for a coalesced pattern.
pub(crate) fn is_full<P: Pattern>(pattern: &P) -> bool {
    pattern.nnz() as u128 == cells(pattern.shape())
}
