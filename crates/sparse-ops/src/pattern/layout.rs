//! The trait of sparse layouts.

use super::matrix::Matrix;
use super::memo::{Made, Memo};
use crate::base::sizes::cells;
use crate::kernel::{Arrays, Compressed};
use crate::rows::{RowMap, RowSums};
use burn::tensor::{DType, Device, Int, Tensor};
use sparse_burn::ConcatAxis;
use sparse_core::Result;
use std::fmt::{self, Debug};
use std::ops::Range;

/// A sparse layout: [`CooPattern`](super::CooPattern) or [`CsrPattern`](super::CsrPattern). The trait is sealed: it
/// cannot be implemented outside this crate.
#[allow(private_bounds)] // Sealed.
pub trait Pattern: Structure + Clone + Debug + Send + Sync + 'static {
    /// Name of the layout.
    const LAYOUT: &'static str;

    /// Sizes of the sparse dims.
    fn shape(&self) -> &[usize];
    /// Number of stored elements (of blocks, where there are dense dims).
    fn nnz(&self) -> usize;
    /// Whether no coordinate is stored twice and all are in lexicographic order.
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
}

/// What operations ask of a layout. Structural operations compute coordinates and make the pattern by
/// [`from_coordinates`](Self::from_coordinates), so each is written once for all layouts.
///
/// The trait is private, so nobody else can implement [`Pattern`].
pub(crate) trait Structure: Sized {
    /// Whether the layout can store a coordinate twice.
    const HOLDS_DUPLICATES: bool;

    /// Whether the layout has tensors of this number of sparse dims.
    fn has_rank(rank: usize) -> bool;
    /// Checks that the layout has tensors with sparse dims of this shape. `held` is how many numbers are in memory
    /// already.
    fn check_shape(op: &'static str, shape: &[usize], held: usize) -> Result<()>;
    /// The pattern of coordinates `[sparse_dims, nnz]` that are right by construction. For a layout that is always
    /// coalesced they must be coalesced.
    fn from_coordinates(coordinates: Tensor<2, Int>, shape: &[usize], coalesced: bool) -> Self;
    /// The pattern of a matrix, or of a batch of matrices, from its compressed rows. There all matrices of a batch are
    /// one block-diagonal matrix.
    fn from_rows(rows: &Compressed, shape: &[usize]) -> Self;
    /// The coalesced pattern, and how its rows are summed; `None` if this one is coalesced already.
    fn coalesce(&self) -> Option<(Self, RowSums)>;
    /// The matrix, or batch of matrices, by rows and by columns; `None` for other ranks.
    fn matrix(&self) -> Option<&Matrix>;
    /// The index arrays, for kernels that merge or join patterns.
    fn arrays(&self) -> Arrays;
    /// A pattern of the same layout from arrays that are right by construction.
    fn from_arrays(arrays: Arrays, shape: &[usize], coalesced: bool) -> Self;
    /// The derived results that the pattern keeps.
    fn memo(&self) -> &Memo;
    /// How several patterns are joined along a sparse dim, and the index dtype of the result.
    fn concat_axis(parts: &[Self], axis: usize, shape: &[usize]) -> (ConcatAxis, DType);
    /// The pattern with its dims in another order, and its index map (`None`: rows stay in place).
    fn permute(&self, axes: &[usize]) -> (Self, Option<RowMap>);
    /// The pattern with one more sparse dim, of size 1, at `axis`, if its arrays stay the same.
    fn unsqueezed(&self, axis: usize) -> Option<Self>;
    /// The rows of a matrix, or of a batch, that have an element, found by pointers if the layout has them: their
    /// coordinates, of which the last one is 0, and where the elements of each start, then the number of all elements.
    /// Reads the device once. There must be an element.
    fn filled_rows(&self) -> Option<(Tensor<2, Int>, Tensor<1, Int>)> {
        None
    }
    /// The slices along axis 0, if the layout has pointers to them.
    fn first_slices(&self) -> Option<&dyn FirstSlices<Self>> {
        None
    }
}

/// The slices of a pattern along axis 0, found by pointers. The cost does not depend on nnz.
pub(crate) trait FirstSlices<P> {
    /// Those that an index names, and the position of each of their elements. The index is checked and has no negative
    /// numbers. Reads the device for the number of the elements, unless that is known (`total`).
    fn take(&self, index: &Tensor<1, Int>, total: Option<usize>) -> (P, Tensor<1, Int>);
    /// Those between each two of the ascending `bounds`, and the positions of their elements. Reads the device once.
    fn split(&self, bounds: &[usize]) -> Vec<(P, Range<usize>)>;
}

/// The first line of a tensor's `Display`, for a pattern: handles of index tensors would say nothing.
pub(super) fn describe<P: Pattern>(pattern: &P, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{} pattern {:?}, nnz {}", P::LAYOUT, pattern.shape(), pattern.nnz())?;
    if pattern.is_coalesced() { Ok(()) } else { f.write_str(", not coalesced") }
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

/// Whether every element is stored, once or several times.
pub(crate) fn stores_all<P: Pattern>(pattern: &P) -> bool {
    pattern.coalesce().map_or_else(|| is_full(pattern), |(merged, _)| is_full(&merged))
}

/// Whether every element is stored, for a coalesced pattern.
pub(crate) fn is_full<P: Pattern>(pattern: &P) -> bool {
    pattern.nnz() as u128 == cells(pattern.shape())
}
