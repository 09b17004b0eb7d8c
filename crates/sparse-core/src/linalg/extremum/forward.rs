//! The largest or smallest products.

use crate::epilogue::Epilogue;
use crate::linalg::compressed::Compressed;
use crate::linalg::spmm::reduce_products;
use crate::reducer::Extreme;
use crate::source::Source;
use crate::{Element, Index};

/// Maximum or minimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extremum {
    /// The largest.
    Max,
    /// The smallest.
    Min,
}

/// The largest or smallest product of each row: `out[r, :] = max over k of value[k] * dense[idx[k], :]`.
///
/// Shapes, heads, threads and tiles are as in [`spmm`](crate::spmm). If any product is NaN, the result is NaN. An empty
/// row gives 0. Integer products wrap before they are compared. O(nnz * features) time, no extra memory.
///
/// # Panics
///
/// When lengths disagree, `heads` does not divide `features`, `ptr` descends or an index is out of range.
pub fn spmm_extremum<T: Element, I: Index>(
    extremum: Extremum,
    a: Compressed<'_, I>,
    values: &[T],
    dense: &[T],
    heads: usize,
    features: usize,
    out: &mut [T],
) {
    let a = a.view();
    assert_eq!(out.len(), a.ptr.rows() * features, "spmm_extremum: out must be [rows, features]");
    if features > 0 {
        let dense = Source::new(dense, features, "spmm_extremum: dense");
        reduce_products(reducer::<T>(extremum), a, values, dense, heads, Epilogue::default(), out);
    }
}

pub(super) fn reducer<T: Element>(extremum: Extremum) -> Extreme<T::Acc> {
    match extremum {
        Extremum::Max => Extreme::largest::<T>(),
        Extremum::Min => Extreme::smallest::<T>(),
    }
}

/// Whether a product, rounded like the stored result, is equal to the result. NaN is equal to itself.
#[inline(always)]
#[allow(clippy::eq_op)]
pub(super) fn is_result<T: Element>(product: T::Acc, out: T) -> bool {
    let (product, out) = (T::round(product), out.widen());
    (product == out) | ((product != product) & (out != out))
}
