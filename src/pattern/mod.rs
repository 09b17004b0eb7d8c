//! Where the stored elements of a sparse tensor stand.
//!
//! Patterns are immutable and shared: cloning one copies a pointer, and what is derived from it (row ids, row pointers,
//! the transpose permutation) is computed on first need and kept for all who share it. Their index tensors live on the
//! device of the values and carry no autodiff association.

// The sealed half of `Pattern` is named in a public trait but speaks of types of this crate only.
#![allow(private_interfaces)]

mod concat;
mod coo;
mod csr;
pub(crate) mod cut;
mod derived;
mod diagonal;
pub(crate) mod dims;
mod lines;
mod matrix;
pub(crate) mod select;

pub use coo::CooPattern;
pub use csr::CsrPattern;
pub(crate) use matrix::Matrix;

use crate::kernel::Arrays;
use crate::rows::{RowMap, RowSums};
use burn::tensor::{DType, Device, Int, Tensor};
pub(crate) use concat::{block_diag, concat, concat_at_once, stack};
pub(crate) use derived::{
    Derived, Part, Product, Selection, Turn, axis_map, dense_map, flat_index, identity, keep_product, known_product,
    lines, located, merged, permuted, selected, try_turned, turned, union_zip,
};
use derived::{joined, keep_joined};
pub(crate) use diagonal::{diagonal, diagonal_line, off_diagonal, on_diagonal, with_diagonal};
pub(crate) use lines::Lines;
use sparse_burn::ConcatAxis;
use sparse_core::{Result, SparseError};
use std::fmt::Debug;

/// A sparse layout. Implemented by [`CooPattern`] and [`CsrPattern`]; cannot be implemented outside this crate.
pub trait Pattern: Clone + Debug + Send + Sync + 'static + sealed::Sealed {
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
}

pub(crate) mod sealed {
    use super::*;

    /// What operations ask of a layout. Structural operations work on coordinates and come back through `from_coo`, so
    /// that each is written once.
    pub trait Sealed: Sized {
        /// The layout's pattern of coalesced coordinates.
        fn from_coo(pattern: CooPattern) -> Self;
        /// The coordinates as a pattern of their own (the pattern itself where it is one).
        fn to_coo(&self) -> CooPattern;
        /// The merged pattern and its sums; `None` where it is coalesced already.
        fn coalesce(&self) -> Option<(Self, RowSums)>;
        /// The pattern of a matrix (or of a batch of them) by rows and by columns; `None` for other ranks.
        fn matrix(&self) -> Option<&Matrix>;
        /// The index arrays, for kernels that merge or join patterns.
        fn arrays(&self) -> Arrays;
        /// A pattern of the same layout from arrays that are right by construction.
        fn from_arrays(arrays: Arrays, shape: &[usize], coalesced: bool) -> Self;
        /// What is derived from the pattern and kept with it.
        fn derived(&self) -> &Derived<Self>;
        /// How several are joined along a sparse dim, and the index dtype that the result needs.
        fn concat_axis(parts: &[Self], axis: usize, shape: &[usize]) -> (ConcatAxis, DType);
        /// The pattern with its dims in another order, and where its rows come from (`None`: they stay).
        fn permute(&self, axes: &[usize]) -> (Self, Option<RowMap>);
    }
}

/// The index dtype of a pattern: i32 where every size fits, else i64.
pub(crate) fn index_dtype(shape: &[usize], nnz: usize) -> DType {
    sparse_burn::index_dtype_for(shape.iter().copied().chain([nnz]).max().unwrap_or(0))
}

/// Number of elements of a shape, at most 2^128 - 1: shapes may be far larger than what is stored.
pub(crate) fn cells(shape: &[usize]) -> u128 {
    if shape.contains(&0) {
        return 0;
    }
    shape.iter().fold(1, |cells: u128, &size| cells.saturating_mul(size as u128))
}

/// Whether two shapes have the same number of elements, however large it is.
pub(crate) fn same_cells(a: &[usize], b: &[usize]) -> bool {
    if a.contains(&0) || b.contains(&0) {
        return a.contains(&0) == b.contains(&0);
    }
    // What every pair has in common is divided out: equal products leave nothing.
    let (mut a, mut b) = (a.to_vec(), b.to_vec());
    for x in &mut a {
        for y in &mut b {
            let (mut common, mut rest) = (*x, *y);
            while rest > 0 {
                (common, rest) = (rest, common % rest);
            }
            (*x, *y) = (*x / common, *y / common);
        }
    }
    a.iter().chain(&b).all(|&left| left == 1)
}

/// Whether every element is stored, for a coalesced pattern.
pub(crate) fn is_full<P: Pattern>(pattern: &P) -> bool {
    pattern.nnz() as u128 == cells(pattern.shape())
}

/// Checks that sizes fit an index at all, and gives the largest product a flat index would need.
pub(crate) fn check_sizes(op: &'static str, shape: &[usize]) -> Result<()> {
    for &size in shape {
        if size as u128 > i64::MAX as u128 {
            return Err(SparseError::Overflow { op, what: "a dimension", limit: i64::MAX as u128, got: size as u128 });
        }
    }
    Ok(())
}

/// An index tensor as patterns keep them: without autodiff, of the given dtype.
///
/// One without elements is made anew: Burn 0.22's fusion joins a cast of nothing, or zeros of it, with operations that
/// follow, and then runs none of them.
pub(crate) fn index_tensor<const D: usize>(tensor: Tensor<D, Int>, dtype: DType) -> Tensor<D, Int> {
    let tensor = tensor.inner();
    match tensor.shape().num_elements() {
        _ if tensor.dtype() == dtype => tensor,
        0 => Tensor::empty(tensor.shape(), (&tensor.device(), dtype)),
        _ => tensor.cast(dtype),
    }
}

/// An index tensor that can be validated: i32 and i64 stay, narrower or unsigned ones are widened. A u64 that i64 lacks
/// becomes its largest number, which no dim has room for: cast as it is, it would be a negative one.
pub(crate) fn signed<const D: usize>(tensor: Tensor<D, Int>) -> Tensor<D, Int> {
    match tensor.dtype() {
        DType::I32 | DType::I64 => tensor.inner(),
        DType::U64 if tensor.shape().num_elements() > 0 => {
            let wrapped = index_tensor(tensor, DType::I64);
            let large = wrapped.clone().lower_elem(0);
            wrapped.mask_fill(large, i64::MAX)
        }
        _ => index_tensor(tensor, DType::I64),
    }
}

/// Sum of the sizes before each part.
pub(crate) fn offsets(sizes: impl Iterator<Item = usize>) -> Vec<usize> {
    sizes
        .scan(0, |end, size| {
            let start = *end;
            *end += size;
            Some(start)
        })
        .collect()
}
