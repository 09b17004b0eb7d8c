//! A pattern as a matrix.

use crate::base::exact::Exact;
use crate::base::index::{index_dtype, index_tensor};
use crate::base::lazy::Lazy;
use crate::kernel::{self, Compressed};
use crate::rows::RowMap;
use burn::tensor::{Int, Tensor};

/// The pattern of a matrix by rows and by columns. A batch `[B, M, N]` is the block-diagonal matrix `[B*M, B*N]`, so
/// products have only one case.
pub(crate) struct Matrix {
    rows: usize,
    cols: usize,
    row_ids: Tensor<1, Int>,
    col_ids: Tensor<1, Int>,
    by_row: Lazy<Compressed>,
    by_col: Lazy<Compressed>,
    column_places: Lazy<Tensor<1, Int>>,
    columns: Lazy<RowMap>,
    order: Lazy<Tensor<1, Int>>,
    /// Whether elements stand in the order of their rows.
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
        Self {
            rows,
            cols,
            row_ids,
            col_ids,
            by_row: Lazy::new(),
            by_col: Lazy::new(),
            column_places: Lazy::new(),
            columns: Lazy::new(),
            order: Lazy::new(),
            sorted,
        }
    }

    /// The matrix with these row pointers. Its elements stand in the order of their rows.
    pub(super) fn compressed(
        size: [usize; 2],
        ptr: Tensor<1, Int>,
        row_ids: Tensor<1, Int>,
        col_ids: Tensor<1, Int>,
    ) -> Self {
        let by_row = Compressed { ptr, idx: col_ids.clone(), perm: None };
        Self { by_row: by_row.into(), ..Self::new(size, row_ids, col_ids, true) }
    }

    /// The rows of all matrices of a batch together, and their columns.
    pub(crate) fn size(&self) -> [usize; 2] {
        [self.rows, self.cols]
    }

    /// Row of every element, in storage order.
    pub(crate) fn row_ids(&self) -> &Tensor<1, Int> {
        &self.row_ids
    }

    /// Column of every element, in storage order.
    pub(crate) fn col_ids(&self) -> &Tensor<1, Int> {
        &self.col_ids
    }

    /// Compressed rows.
    pub(crate) fn by_row(&self) -> &Compressed {
        self.by_row.get(|| {
            if self.sorted {
                let ptr = kernel::compress(&self.row_ids, self.rows);
                return Compressed { ptr, idx: self.col_ids.clone(), perm: None };
            }
            compressed_by(&self.row_ids, &self.col_ids, self.rows)
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
        self.by_col.get(|| compressed_by(&self.col_ids, &self.row_ids, self.cols))
    }

    /// The map that reads, for every element, the row of a dense operand at its column.
    pub(crate) fn columns(&self) -> &RowMap {
        self.columns.get(|| RowMap::new(self.col_ids.clone(), self.cols))
    }

    /// Elements by rows, `(order, ptr)`, as `put` takes them.
    pub(crate) fn groups(&self) -> (Tensor<1, Int>, Tensor<1, Int>) {
        let Compressed { ptr, perm, .. } = self.by_row();
        let order = self.order.get(|| match perm {
            Some(perm) => perm.clone(),
            None => Tensor::arange(0..self.row_ids.dims()[0] as i64, (&ptr.device(), ptr.dtype())),
        });
        (order.clone(), ptr.clone())
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

fn differences(ptr: &Tensor<1, Int>) -> Tensor<1, Int> {
    let count = ptr.dims()[0] - 1;
    if count == 0 {
        return Tensor::empty([0], (&ptr.device(), ptr.dtype()));
    }
    ptr.clone().narrow(0, 1, count) - ptr.clone().narrow(0, 0, count)
}

fn compressed_by(keys: &Tensor<1, Int>, others: &Tensor<1, Int>, groups: usize) -> Compressed {
    let (order, ptr) = kernel::group_by(keys, groups);
    let idx = others.clone().select(0, order.clone());
    Compressed { ptr, idx, perm: Some(order) }
}

/// The compressed rows of the one matrix that a batch makes, as coordinates of the batch.
pub(super) fn coordinates(view: &Compressed, shape: &[usize]) -> Tensor<2, Int> {
    let nnz = view.idx.dims()[0];
    let dtype = index_dtype(shape, nnz);
    let as_row = |ids: Tensor<1, Int>| index_tensor(ids, dtype).reshape(Exact([1, nnz]));
    if nnz == 0 {
        return Tensor::empty([shape.len(), 0], (&view.idx.device(), dtype));
    }
    let (row, col) = (kernel::expand_ptr(&view.ptr, nnz), view.idx.clone());
    match *shape {
        [_, rows, cols] => {
            let batch = row.clone().div_scalar(rows as i64);
            let row = row - batch.clone().mul_scalar(rows as i64);
            let col = col - batch.clone().mul_scalar(cols as i64);
            Tensor::cat(vec![as_row(batch), as_row(row), as_row(col)], 0)
        }
        _ => Tensor::cat(vec![as_row(row), as_row(col)], 0),
    }
}
