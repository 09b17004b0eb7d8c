//! The rows or columns of a matrix, as products read them.

use crate::base::exact::Exact;
use crate::base::kind::Kind;
use crate::kernel::{self, Compressed, Epilogue};
use crate::pattern::transposed_values::TransposedValues;
use crate::policy;
use crate::rows::distinct;
use burn::tensor::{Int, Tensor};
use sparse_core::ShiftedRows;

/// The lines of a matrix, its rows or its columns: all of them, or those alone that have elements. Cloning copies
/// handles.
#[derive(Clone, Debug)]
pub(crate) struct View {
    lines: Compressed,
    occupied: Option<Occupied>,
    /// The position of each element of the matrix among those of the lines.
    places: Option<Tensor<1, Int>>,
}

/// The lines with elements, ascending, of `all` lines.
#[derive(Clone, Debug)]
struct Occupied {
    ids: Tensor<1, Int>,
    all: usize,
}

impl View {
    pub(super) fn all(lines: Compressed) -> Self {
        Self { lines, occupied: None, places: None }
    }

    /// All lines, for [`gradients`](Self::gradients). `places` invert their permutation.
    pub(super) fn with_places(lines: Compressed, places: Option<Tensor<1, Int>>) -> Self {
        Self { places, ..Self::all(lines) }
    }

    /// The lines that have elements, of `all`, where element `k` is in line `keys[k]` and addresses `others[k]`.
    pub(super) fn occupied(keys: &Tensor<1, Int>, others: &Tensor<1, Int>, all: usize) -> Self {
        let (ids, elements) = distinct(keys, all);
        let order = elements.order().expect("of a sort").clone();
        let idx = if order.dims()[0] == 0 { others.clone() } else { policy::pick(others, &order) };
        let lines = Compressed { ptr: elements.ptr().clone(), idx, perm: Some(order) };
        Self { lines, occupied: Some(Occupied { ids, all }), places: None }
    }

    /// All lines, if their values are in order.
    pub(crate) fn in_order(&self) -> Option<&Compressed> {
        (self.is_all() && self.lines.perm.is_none()).then_some(&self.lines)
    }

    /// Whether it has all lines.
    pub(crate) fn is_all(&self) -> bool {
        self.occupied.is_none()
    }

    /// A result with one row for each line of the matrix, from one with a row for each line of the view. Lines without
    /// elements get zeros.
    pub(crate) fn rows<K: Kind>(&self, of_lines: impl FnOnce(&Compressed) -> Tensor<2, K>) -> Tensor<2, K> {
        let out = of_lines(&self.lines);
        match &self.occupied {
            None => out,
            Some(Occupied { ids, all }) => kernel::place_rows(out, ids, *all),
        }
    }

    /// The products of the lines and each of `batch` dense operands, which lie one below the other.
    pub(crate) fn times<K: Kind>(&self, values: &Tensor<2, K>, dense: &Tensor<2, K>, batch: usize) -> Tensor<2, K> {
        let spmm = |dense, batch| {
            self.rows(|lines| kernel::spmm(lines, None::<ShiftedRows>, values, dense, batch, &Epilogue::default()))
        };
        if batch == 1 || self.is_all() {
            return spmm(dense, batch);
        }
        // Lines are placed among zeros once, for all operands.
        let heads = values.dims()[1];
        features_to_batch(spmm(&batch_to_features(dense.clone(), heads, batch), 1), heads, batch)
    }

    /// All lines with values that are kept in their order, if they are.
    pub(crate) fn transposed(&self, transposed: &TransposedValues, values: &Tensor<2>) -> Option<(Self, Tensor<2>)> {
        let (lines, values) = if self.is_all() { transposed.get(&self.lines, values)? } else { return None };
        Some((Self::all(lines), values))
    }

    /// For a view of the columns: the gradients of the values `[nnz, heads]` and of the dense operand of a product of
    /// the matrix, from that of the result. `ids` are the row and the column of each element.
    pub(crate) fn gradients(
        &self,
        values: &Tensor<2>,
        dense: &Tensor<2>,
        grad: &Tensor<2>,
        [rows, cols]: [&Tensor<1, Int>; 2],
    ) -> (Tensor<2>, Tensor<2>) {
        let known = self.places.is_some() || self.lines.perm.is_none();
        if known && self.is_all() && dense.dims()[1] >= policy::WIDE {
            let places = self.places.as_ref();
            let (of_dense, of_values) = kernel::spmm_backward(&self.lines, places, values, dense, grad, rows, cols);
            return (of_values, of_dense);
        }
        (kernel::sddmm(rows, cols, grad, dense, values.dims()[1]), self.times(values, grad, 1))
    }

    /// The rows of a dense tensor that belong to the lines of the view.
    pub(crate) fn pick<K: Kind>(&self, dense: &Tensor<2, K>) -> Tensor<2, K> {
        let Some(Occupied { ids, .. }) = &self.occupied else { return dense.clone() };
        let none = Tensor::zeros([1, dense.dims()[1]], (&dense.device(), dense.dtype()));
        kernel::move_rows(dense, &none, ids)
    }
}

/// Matrices `[n, heads * F]` that lie one below the other, side by side within each head: `[n, heads * batch * F]`.
pub(crate) fn batch_to_features<K: Kind>(below: Tensor<2, K>, heads: usize, batch: usize) -> Tensor<2, K> {
    let [rows, width] = below.dims();
    if batch == 1 {
        return below;
    }
    let blocks = kernel::swap_rows(below.reshape(Exact([rows * heads, width / heads])), batch);
    blocks.reshape(Exact([rows / batch, batch * width]))
}

/// The inverse of [`batch_to_features`].
pub(crate) fn features_to_batch<K: Kind>(features: Tensor<2, K>, heads: usize, batch: usize) -> Tensor<2, K> {
    let [rows, width] = features.dims();
    if batch == 1 {
        return features;
    }
    let part = width / heads / batch;
    let blocks = kernel::swap_rows(features.reshape(Exact([rows * heads * batch, part])), rows * heads);
    blocks.reshape(Exact([batch * rows, width / batch]))
}
