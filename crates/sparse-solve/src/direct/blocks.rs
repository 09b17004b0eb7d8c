//! The factor of a symmetric matrix, block of columns after block of columns.

use super::host::inverted;
use faer::sparse::linalg::cholesky::{SymbolicCholesky, SymbolicCholeskyRaw};
use faer::{Mat, MatRef};

/// Columns whose elements below their triangle are in the same rows.
#[derive(Clone, Copy)]
pub(super) struct Block<'a> {
    pub start: usize,
    /// The rows below the triangle, which ascend.
    pub rows: &'a [usize],
    /// The triangle, and the rows below it.
    pub values: MatRef<'a, f64>,
}

impl<'a> Block<'a> {
    pub(super) fn width(&self) -> usize {
        self.values.ncols()
    }

    pub(super) fn top(&self) -> MatRef<'a, f64> {
        self.values.subrows(0, self.width())
    }

    pub(super) fn below(&self) -> MatRef<'a, f64> {
        self.values.subrows(self.width(), self.rows.len())
    }

    /// The position of a row.
    fn find(&self, row: usize) -> Option<usize> {
        match row.checked_sub(self.start) {
            Some(at) if at < self.width() => Some(at),
            _ => self.rows.binary_search(&row).ok().map(|at| self.width() + at),
        }
    }
}

/// The factor of a matrix in the order of elimination.
pub(super) struct Blocks<'a> {
    pub list: Vec<Block<'a>>,
    /// The block of each column.
    pub of: Vec<usize>,
    /// The row of the matrix at each position, and the position of each row.
    pub order: Vec<usize>,
    pub inverse: Vec<usize>,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(symbolic: &'a SymbolicCholesky<usize>, values: &'a [f64]) -> Self {
        let list: Vec<_> = match symbolic.raw() {
            SymbolicCholeskyRaw::Simplicial(raw) => {
                let block = |col: usize| {
                    let own = raw.col_ptr()[col]..raw.col_ptr()[col + 1];
                    let values = MatRef::from_column_major_slice(&values[own.clone()], own.len(), 1);
                    Block { start: col, rows: &raw.row_idx()[own.start + 1..own.end], values }
                };
                (0..raw.ncols()).map(block).collect()
            }
            SymbolicCholeskyRaw::Supernodal(raw) => {
                let block = |at: usize| {
                    let (start, end) = (raw.supernode_begin()[at], raw.supernode_end()[at]);
                    let rows = raw.supernode(at).pattern();
                    let own = &values[raw.col_ptr_for_val()[at]..raw.col_ptr_for_val()[at + 1]];
                    let values = MatRef::from_column_major_slice(own, end - start + rows.len(), end - start);
                    Block { start, rows, values }
                };
                (0..raw.n_supernodes()).map(block).collect()
            }
        };
        debug_assert!(list.iter().all(|block| block.rows.is_sorted()));
        let of = list.iter().enumerate().flat_map(|(at, block)| std::iter::repeat_n(at, block.width())).collect();
        let order = match symbolic.perm() {
            Some(order) => order.arrays().0.to_vec(),
            None => (0..symbolic.nrows()).collect(),
        };
        Self { list, of, inverse: inverted(&order), order }
    }

    /// The diagonal of the factor, in the order of elimination.
    pub(super) fn diagonal(&self) -> impl Iterator<Item = f64> + '_ {
        self.list.iter().flat_map(|block| (0..block.width()).map(|at| block.values[(at, at)]))
    }

    /// The elements of a symmetric matrix on the pattern of the factor at rows and columns of the block `at`, below its
    /// triangle: those of blocks that come later.
    pub(super) fn gather(&self, at: usize, of: &[Mat<f64>], map: &mut [usize]) -> Mat<f64> {
        let rows = self.list[at].rows;
        let mut out = Mat::zeros(rows.len(), rows.len());
        let mut mapped = usize::MAX;
        for (col, &own) in rows.iter().enumerate() {
            let block = self.of[own];
            let Block { start, rows: below, values } = self.list[block];
            if block != mapped {
                (0..values.ncols()).for_each(|at| map[start + at] = at);
                below.iter().enumerate().for_each(|(at, &row)| map[row] = values.ncols() + at);
                mapped = block;
            }
            for (row, &other) in rows.iter().enumerate().filter(|(_, other)| **other >= start) {
                let value = of[block][(map[other], own - start)];
                out[(row, col)] = value;
                out[(col, row)] = value;
            }
        }
        out
    }

    /// An element of a symmetric matrix on the pattern of the factor, by the rows of the user.
    pub(super) fn element(&self, of: &[Mat<f64>], row: usize, col: usize) -> Option<f64> {
        let (row, col) = (self.inverse[row], self.inverse[col]);
        let (low, high) = (row.min(col), row.max(col));
        let block = self.of[low];
        self.list[block].find(high).map(|at| of[block][(at, low - self.list[block].start)])
    }

    /// `L^-1 b` of a factor `L L^T`, in place, in the order of elimination.
    pub(super) fn forward(&self, x: &mut [f64]) {
        for block in &self.list {
            for col in 0..block.width() {
                let own = block.values.col(col);
                let value = x[block.start + col] / own[col];
                x[block.start + col] = value;
                (col + 1..block.width()).for_each(|row| x[block.start + row] -= own[row] * value);
                let below = block.rows.iter().enumerate();
                below.for_each(|(at, &row)| x[row] -= own[block.width() + at] * value);
            }
        }
    }

    /// `L^-T b`, in the same way.
    pub(super) fn backward(&self, x: &mut [f64]) {
        for block in self.list.iter().rev() {
            for col in (0..block.width()).rev() {
                let own = block.values.col(col);
                let inside: f64 = (col + 1..block.width()).map(|row| own[row] * x[block.start + row]).sum();
                let below = block.rows.iter().enumerate();
                let below: f64 = below.map(|(at, &row)| own[block.width() + at] * x[row]).sum();
                x[block.start + col] = (x[block.start + col] - inside - below) / own[col];
            }
        }
    }
}
