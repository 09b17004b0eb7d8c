//! Dropping stored elements by their size.

use crate::base::exact::Exact;
use crate::base::index::{count_up, index_tensor, ints};
use crate::base::kind::{Numeric, as_float};
use crate::kernel;
use crate::ops::elementwise::broadcast::read_rows;
use crate::ops::structure::stack::{check_matrix, check_vanishing};
use crate::pattern::layout::Pattern;
use crate::pattern::lines::Lines;
use crate::pattern::select::{kept, subset};
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{Bool, DType, Int, Tensor};
use sparse_burn::read_data;
use sparse_core::Result;
use sparse_macros::{async_variant, or_panic};

impl<P: Pattern, const D: usize, K: Numeric> SparseTensor<P, D, K> {
    /// Drops the stored elements with `|value| <= threshold`. With dense dims a block is dropped if all its elements
    /// are so small. NaN stays. A threshold of 0 drops stored zeros.
    ///
    /// Dropped elements become zero, so the fill must be zero. An `Undefined` fill stays, and dropped elements become
    /// unspecified. Duplicates are summed first.
    ///
    /// Backward: kept elements get their gradients. Cost: `O(nnz)`. The structure depends on the values, so every call
    /// reads the number of elements from the device.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.5, -2.0], [1.0, 0.0]], &Device::flex()));
    /// assert_eq!(a.prune(0.9).values::<1>().into_data().iter::<f32>().collect::<Vec<_>>(), [-2.0, 1.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// `would_densify` for another fill than `Zero` or `Undefined`.
    #[async_variant]
    #[or_panic]
    pub fn try_prune(&self, threshold: f64) -> Result<Self> {
        check_vanishing("prune", self, &self.dims())?;
        let own = self.coalesce();
        // No absolute value is below zero (or compares to NaN).
        if own.nnz() == 0 || own.block() == 0 || threshold.is_nan() || threshold < 0.0 {
            return Ok(own);
        }
        let large = large(own.values.clone().inner(), threshold);
        let nnz = own.nnz();
        let keep = if own.block() == 1 { large } else { large.any_dim(1) }.reshape(Exact([nnz]));
        Ok(own.at(&kept(keep, own.pattern.index_dtype())))
    }

    /// The stored elements at ascending positions.
    fn at(&self, positions: &Tensor<1, Int>) -> Self {
        let (pattern, map) = subset(&self.pattern, positions);
        let values = read_rows(self.values.clone(), &map);
        Self::from_parts(pattern, values, self.dense_shape.clone(), self.fill.clone())
    }
}

impl<P: Pattern, K: Numeric> SparseTensor<P, 2, K> {
    /// Keeps the `k` stored elements of largest `|value|` in each row of a matrix. A row with at most `k` elements
    /// keeps all of them. Of equal elements those in smaller columns are kept. NaN counts as infinite. (Burn's `topk`
    /// takes the largest values, not absolute values, and returns them without their places.)
    ///
    /// Dropped elements become zero, so the fill must be zero. An `Undefined` fill stays, and dropped elements become
    /// unspecified. Duplicates are summed first.
    ///
    /// Backward: kept elements get their gradients. Cost: a sort of the absolute values (by Burn, which sorts on the
    /// host for most devices) and stable groupings of integers. The structure depends on the values, so every call
    /// reads the device.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, -3.0, 2.0], [4.0, 4.0, 4.0]], &Device::flex()));
    /// let top = a.top_k_rows(2);
    /// assert_eq!(top.values::<1>().into_data().iter::<f32>().collect::<Vec<_>>(), [-3.0, 2.0, 4.0, 4.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// `shape_mismatch` for a hybrid tensor; `would_densify` for another fill than `Zero` or `Undefined`.
    #[or_panic]
    pub fn try_top_k_rows(&self, k: usize) -> Result<Self> {
        const OP: &str = "top_k_rows";
        check_matrix(OP, self)?;
        check_vanishing(OP, self, &self.dims())?;
        let own = self.coalesce();
        let (nnz, dtype) = (own.nnz(), own.pattern.index_dtype());
        if nnz == 0 {
            return Ok(own);
        }
        // Only rows that have elements: there may be many without any.
        let rows = Lines::of(&own.pattern, &[false, true]);
        let ids = index_tensor(rows.owner().clone(), dtype);
        // Two stable groupings, by size and then by row: in each row the largest come first, and equal ones keep their
        // order.
        let (by_size, _) = kernel::group_by(ranks(own.values.clone().inner(), dtype), nnz);
        let (by_row, ptr) = kernel::group_by(ids.clone().select(0, by_size.clone()), rows.len());
        let order = by_size.select(0, by_row);
        // Both orders are row by row: position `p` of either belongs to row `ids[p]`.
        let place = count_up(nnz, &ids) - ptr.select(0, ids);
        // Grouping by a permutation inverts it.
        let (inverse, _) = kernel::group_by(&order, nnz);
        let keep = place.select(0, inverse).lower_elem(k.min(nnz) as i64);
        Ok(own.at(&kept(keep, dtype)))
    }
}

/// Where `|value| > threshold`, or NaN; `threshold` is not negative.
fn large<K: Numeric>(values: Tensor<2, K>, threshold: f64) -> Tensor<2, Bool> {
    if let Some(values) = as_float(&values) {
        return values.abs().lower_equal_elem(threshold).bool_not();
    }
    let values = Tensor::<2, Int>::from_dispatch(values.into_dispatch());
    // The largest integer, and the absolute value of the smallest, which is no integer of its type.
    let (largest, smallest) = match values.dtype() {
        DType::U8 => (i64::from(u8::MAX), 0.0),
        DType::I32 => (i64::from(i32::MAX), 2.0_f64.powi(31)),
        _ => (i64::MAX, 2.0_f64.powi(63)),
    };
    let whole = threshold.floor() as i64;
    let above = values.clone().greater_elem(whole.min(largest));
    if threshold >= smallest { above } else { above.bool_or(values.lower_elem(-whole)) }
}

/// For every element of `[nnz, 1]` the number of different absolute values above its own. On the host: Burn's sort
/// reads the device as well, and could not be awaited.
fn ranks<K: Numeric>(values: Tensor<2, K>, dtype: DType) -> Tensor<1, Int> {
    let (nnz, device) = (values.dims()[0], values.device());
    let data = read_data(values);
    // Floats that are not negative have the order of their bits. NaN is as large as infinity.
    let bits = |value: f64| if value.is_nan() { f64::INFINITY.to_bits() } else { value.abs().to_bits() };
    let keys: Vec<u64> = match data.dtype().is_float() {
        true => data.convert::<f64>().iter::<f64>().map(bits).collect(),
        false => data.convert::<i64>().iter::<i64>().map(i64::unsigned_abs).collect(),
    };
    let mut different = keys.clone();
    different.sort_unstable_by(|a, b| b.cmp(a));
    different.dedup();
    let rank = |key: &u64| different.partition_point(|other| other > key) as i64;
    index_tensor(ints(keys.iter().map(rank).collect(), [nnz], &device), dtype)
}
