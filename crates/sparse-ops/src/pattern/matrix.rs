//! A pattern as a matrix.

use super::view::View;
use crate::base::coordinates::join_dims;
use crate::base::index::differences;
use crate::base::lazy::Lazy;
use crate::kernel::{self, Compressed};
use crate::policy::{joins_gradients, mostly_empty, plans_products};
use crate::rows::{RowMap, RowSums};
use burn::tensor::{Int, Tensor};
use sparse_burn::replay::lookup;
use sparse_core::ShiftedRows;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The pattern of a matrix by rows and by columns. A batch `[B, M, N]` is treated as the block-diagonal matrix
/// `[B*M, B*N]`, so products have only one case.
pub(crate) struct Matrix {
    rows: usize,
    cols: usize,
    row_ids: Arc<Lazy<Tensor<1, Int>>>,
    col_ids: Tensor<1, Int>,
    by_row: Lazy<Compressed>,
    by_col: Lazy<Compressed>,
    col_view: Lazy<View>,
    column_places: Lazy<Tensor<1, Int>>,
    columns: Lazy<RowMap>,
    row_sums: Lazy<RowSums>,
    /// Whether there was a product with a vector.
    multiplied: AtomicBool,
    shifted_rows: Lazy<Option<ShiftedRows>>,
    /// Whether elements are in the order of their rows.
    sorted: bool,
}

impl Matrix {
    /// The matrix `[rows, cols]` whose elements have these rows and columns, in storage order. `sorted`: by ascending
    /// rows.
    pub(super) fn new(
        [rows, cols]: [usize; 2],
        row_ids: Tensor<1, Int>,
        col_ids: Tensor<1, Int>,
        sorted: bool,
    ) -> Self {
        Self::of([rows, cols], Arc::new(row_ids.into()), Lazy::new(), col_ids, sorted)
    }

    /// The matrix with these row pointers. Its elements are in the order of their rows, which `row_ids` shares.
    pub(super) fn compressed(
        size: [usize; 2],
        ptr: Tensor<1, Int>,
        row_ids: Arc<Lazy<Tensor<1, Int>>>,
        col_ids: Tensor<1, Int>,
    ) -> Self {
        let by_row = Compressed { ptr, idx: col_ids.clone(), perm: None };
        Self::of(size, row_ids, by_row.into(), col_ids, true)
    }

    fn of(
        [rows, cols]: [usize; 2],
        row_ids: Arc<Lazy<Tensor<1, Int>>>,
        by_row: Lazy<Compressed>,
        col_ids: Tensor<1, Int>,
        sorted: bool,
    ) -> Self {
        Self {
            rows,
            cols,
            row_ids,
            col_ids,
            by_row,
            by_col: Lazy::new(),
            col_view: Lazy::new(),
            column_places: Lazy::new(),
            columns: Lazy::new(),
            row_sums: Lazy::new(),
            multiplied: AtomicBool::new(false),
            shifted_rows: Lazy::new(),
            sorted,
        }
    }

    fn nnz(&self) -> usize {
        self.col_ids.dims()[0]
    }

    /// Numbers of rows and columns; for a batch those of all matrices together.
    pub(crate) fn size(&self) -> [usize; 2] {
        [self.rows, self.cols]
    }

    /// Row of every element, in storage order. Of compressed rows they are written on first need: a product without
    /// gradients needs none.
    pub(crate) fn row_ids(&self) -> &Tensor<1, Int> {
        self.row_ids.get(|| kernel::expand_ptr(&self.by_row().ptr, self.nnz()))
    }

    /// Column of every element, in storage order.
    pub(crate) fn col_ids(&self) -> &Tensor<1, Int> {
        &self.col_ids
    }

    /// Compressed rows.
    pub(crate) fn by_row(&self) -> &Compressed {
        self.by_row.get(|| {
            if self.sorted {
                let ptr = kernel::compress(self.row_ids(), self.rows);
                return Compressed { ptr, idx: self.col_ids.clone(), perm: None };
            }
            compressed_by(self.row_ids(), &self.col_ids, self.rows)
        })
    }

    /// For every element in storage order, its position in the order by columns.
    pub(crate) fn column_places(&self) -> Option<&Tensor<1, Int>> {
        let order = self.by_col().perm.as_ref()?;
        // Grouping by a permutation inverts it.
        Some(self.column_places.get(|| kernel::group_by(order, order.dims()[0]).0))
    }

    /// Compressed columns: the transpose, with the permutation of its values.
    pub(crate) fn by_col(&self) -> &Compressed {
        self.by_col.get(|| compressed_by(&self.col_ids, self.row_ids(), self.cols))
    }

    /// The plan of products with vectors, from the second one on: many matrices have only one.
    pub(crate) fn shifted_rows(&self) -> Option<ShiftedRows> {
        if !plans_products(&self.col_ids.device()) {
            return None;
        }
        lookup(|| self.multiplied.swap(true, Ordering::Relaxed).then_some(())).ok()?;
        self.shifted_rows.read(|| kernel::shifted_rows(self.by_row()))
    }

    /// The rows, for products.
    pub(crate) fn row_view(&self) -> View {
        View::all(self.by_row().clone())
    }

    /// The columns, for products: those that have elements, if most have none. Then nothing has the size of a column.
    pub(crate) fn col_view(&self) -> View {
        let nnz = self.nnz();
        if self.by_col.known().is_some() || !mostly_empty(self.cols, nnz, &self.col_ids.device()) {
            return View::all(self.by_col().clone());
        }
        self.col_view.get(|| View::occupied(&self.col_ids, self.row_ids(), self.cols)).clone()
    }

    /// The columns, for the gradients of a product: of its dense operand, or of its values too.
    pub(crate) fn gradient_view(&self, of_values: bool) -> View {
        let view = self.col_view();
        if !of_values || !view.is_all() || !joins_gradients(&self.col_ids.device()) {
            return view;
        }
        View::with_places(self.by_col().clone(), self.column_places().cloned())
    }

    /// The map that reads, for every element, the row of a dense operand at its column.
    pub(crate) fn columns(&self) -> &RowMap {
        self.columns.get(|| RowMap::new(self.col_ids.clone(), self.cols))
    }

    /// Elements by rows, `(order, ptr)`, as `put` takes them.
    pub(crate) fn groups(&self) -> (Tensor<1, Int>, Tensor<1, Int>) {
        let sums = self.row_sums.get(|| {
            let Compressed { ptr, perm, .. } = self.by_row();
            RowSums::new(perm.clone(), ptr.clone())
        });
        sums.groups(self.nnz())
    }

    /// How many elements each row has, `[rows]`.
    pub(crate) fn row_counts(&self) -> Tensor<1, Int> {
        differences(&self.by_row().ptr)
    }

    /// How many elements each column has, `[cols]`.
    pub(crate) fn column_counts(&self) -> Tensor<1, Int> {
        differences(&self.by_col().ptr)
    }
}

fn compressed_by(keys: &Tensor<1, Int>, others: &Tensor<1, Int>, groups: usize) -> Compressed {
    let (order, ptr, idx) = kernel::group_with(keys, others, groups);
    Compressed { ptr, idx, perm: Some(order) }
}

/// The coordinates of a matrix, or of a batch of matrices, from compressed rows. Those of a batch are of its one
/// block-diagonal matrix.
pub(super) fn coordinates(rows: &Compressed, shape: &[usize]) -> Tensor<2, Int> {
    let nnz = rows.idx.dims()[0];
    let row_ids = if nnz == 0 { rows.idx.clone() } else { kernel::expand_ptr(&rows.ptr, nnz) };
    let dims = match *shape {
        [_, rows_of_one, cols_of_one] if nnz > 0 => {
            let [batch, row] = split_rows(row_ids, rows_of_one);
            let col = rows.idx.clone() - batch.clone().mul_scalar(cols_of_one as i64);
            vec![batch, row, col]
        }
        _ => vec![row_ids, rows.idx.clone()],
    };
    join_dims(dims, shape, nnz, &rows.idx)
}

/// The matrix of a batch that each row belongs to, and the row in that matrix, for ids of rows in `[0, batch * rows)`.
pub(super) fn split_rows(row_ids: Tensor<1, Int>, rows: usize) -> [Tensor<1, Int>; 2] {
    // Unchecked rows may be in matrices without rows.
    let rows = rows.max(1) as i64;
    let batch = row_ids.clone().div_scalar(rows);
    let row = row_ids - batch.clone().mul_scalar(rows);
    [batch, row]
}
