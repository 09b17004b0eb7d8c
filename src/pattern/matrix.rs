//! A pattern as linear algebra sees it.

use super::{CooPattern, CsrPattern, Pattern, index_dtype, index_tensor};
use crate::kernel::{self, Compressed};
use crate::rows::RowMap;
use burn::tensor::{Int, Tensor};
use std::sync::OnceLock;

/// A matrix pattern by rows and by columns. A batch `[B, M, N]` is the block-diagonal matrix `[B*M, B*N]`, so products
/// know one case only.
#[derive(Debug)]
pub(crate) struct Matrix {
    rows: usize,
    cols: usize,
    row_ids: Tensor<1, Int>,
    col_ids: Tensor<1, Int>,
    by_row: OnceLock<Compressed>,
    by_col: OnceLock<Compressed>,
    column_places: OnceLock<Tensor<1, Int>>,
    columns: OnceLock<RowMap>,
    order: OnceLock<Tensor<1, Int>>,
    /// Whether elements stand by ascending rows.
    sorted: bool,
}

impl Matrix {
    pub(crate) fn from_csr(pattern: &CsrPattern) -> Self {
        let batch = pattern.batch();
        let row_ids = pattern.row_ids().clone();
        let mut col_ids = pattern.col_idx().clone();
        if batch > 1 {
            let block = row_ids.clone().div_scalar(pattern.rows() as i64);
            col_ids = col_ids + block.mul_scalar(pattern.cols() as i64);
        }
        let by_row = Compressed { ptr: pattern.row_ptr().clone(), idx: col_ids.clone(), perm: None };
        Self {
            rows: batch * pattern.rows(),
            cols: batch * pattern.cols(),
            row_ids,
            col_ids,
            by_row: by_row.into(),
            by_col: OnceLock::new(),
            column_places: OnceLock::new(),
            columns: OnceLock::new(),
            order: OnceLock::new(),
            sorted: true,
        }
    }

    pub(crate) fn from_coo(pattern: &CooPattern) -> Self {
        let shape = pattern.shape();
        let last = shape.len() - 1;
        let batch: usize = shape[..last - 1].iter().product();
        let [rows, cols] = [batch * shape[last - 1], batch * shape[last]];
        let dtype = index_dtype(&[rows, cols], pattern.nnz());
        let along = |dim| index_tensor(pattern.along(dim), dtype);
        let (mut row_ids, mut col_ids) = (along(last - 1), along(last));
        if last == 2 {
            row_ids = row_ids + along(0).mul_scalar(shape[1] as i64);
            col_ids = col_ids + along(0).mul_scalar(shape[2] as i64);
        }
        let sorted = pattern.is_coalesced();
        Self {
            rows,
            cols,
            row_ids,
            col_ids,
            by_row: OnceLock::new(),
            by_col: OnceLock::new(),
            column_places: OnceLock::new(),
            columns: OnceLock::new(),
            order: OnceLock::new(),
            sorted,
        }
    }

    /// Rows of all matrices of a batch, and their columns.
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
        self.by_row.get_or_init(|| {
            if self.sorted {
                let ptr = kernel::compress(&self.row_ids, self.rows);
                return Compressed { ptr, idx: self.col_ids.clone(), perm: None };
            }
            compressed_by(&self.row_ids, &self.col_ids, self.rows)
        })
    }

    /// For every element in storage order, where it stands by columns.
    pub(crate) fn column_places(&self) -> Option<&Tensor<1, Int>> {
        let order = self.by_col().perm.as_ref()?;
        // Grouping by a permutation inverts it.
        Some(self.column_places.get_or_init(|| kernel::group_by(order, order.dims()[0]).0))
    }

    /// Compressed columns: the transpose, with the permutation of its values.
    pub(crate) fn by_col(&self) -> &Compressed {
        self.by_col.get_or_init(|| compressed_by(&self.col_ids, &self.row_ids, self.cols))
    }

    /// The map that reads a dense operand's row at the column of every element.
    pub(crate) fn columns(&self) -> &RowMap {
        self.columns.get_or_init(|| RowMap::new(self.col_ids.clone(), self.cols))
    }

    /// Elements by rows, `(order, ptr)`, as `put` takes them.
    pub(crate) fn groups(&self) -> (Tensor<1, Int>, Tensor<1, Int>) {
        let Compressed { ptr, perm, .. } = self.by_row();
        let order = self.order.get_or_init(|| match perm {
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
