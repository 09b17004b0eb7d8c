//! Factors of a square matrix element by element, and the inverse on their pattern.

use super::host::{turn, zeros};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::perm::PermRef;
use faer::sparse::linalg::LuError;
use faer::sparse::linalg::lu::simplicial::{
    SimplicialLu, factorize_simplicial_numeric_lu, factorize_simplicial_numeric_lu_scratch,
};
use faer::sparse::{FaerError, SparseColMatRef};
use std::collections::{BTreeMap, BTreeSet};

/// Why a matrix has no finite factors with pivots other than zero.
#[derive(Debug)]
pub(super) enum Broken {
    /// The row that depends on those before it.
    Singular(usize),
    /// The row whose elimination gives numbers that are not finite.
    Infinite(usize),
    Memory(FaerError),
}

impl From<FaerError> for Broken {
    fn from(own: FaerError) -> Self {
        Self::Memory(own)
    }
}

/// A list of columns or rows: pointers, indices that ascend in each, values.
struct Lists {
    ptr: Vec<usize>,
    idx: Vec<usize>,
    values: Vec<f64>,
}

impl Lists {
    fn of(&self, at: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let own = self.ptr[at]..self.ptr[at + 1];
        self.idx[own.clone()].iter().copied().zip(self.values[own].iter().copied())
    }

    /// Rows of columns, or columns of rows. The indices ascend, whatever they did.
    fn turned(&self) -> Result<Self, FaerError> {
        let [ptr, idx, from] = turn(self.ptr.len() - 1, &self.ptr, &self.idx)?;
        Ok(Self { ptr, idx, values: from.iter().map(|&at| self.values[at]).collect() })
    }
}

/// `P A^T Q = L U`: the columns of `L` and the rows of `U`, without the diagonals, which are 1 and `pivots`.
pub(super) struct Explicit {
    lower: Lists,
    upper: Lists,
    pub pivots: Vec<f64>,
    /// The position of each row of `A^T`, which is a column of `A`; and of each row of `A`.
    of_col: Vec<usize>,
    of_row: Vec<usize>,
    /// The determinant of both permutations.
    pub sign: f64,
}

impl Explicit {
    /// # Errors
    ///
    /// With the row of `A` of the first pivot that is zero, or of the first numbers that are not finite.
    pub(super) fn new(columns: SparseColMatRef<'_, usize, f64>, order: PermRef<'_, usize>) -> Result<Self, Broken> {
        let n = columns.ncols();
        let (mut forward, mut of_col, mut lu) = (zeros(n)?, zeros(n)?, SimplicialLu::new());
        let need = factorize_simplicial_numeric_lu_scratch::<usize, f64>(n, n);
        let mut memory = MemBuffer::try_new(need).map_err(|_| FaerError::OutOfMemory)?;
        let stack = MemStack::new(&mut memory);
        let (rows, positions) = order.arrays();
        factorize_simplicial_numeric_lu(&mut forward, &mut of_col, &mut lu, columns, order, stack).map_err(|own| {
            match own {
                LuError::SymbolicSingular { index } => {
                    Broken::Singular(dependent(columns, rows).unwrap_or(rows[index]))
                }
                LuError::Generic(own) => Broken::Memory(own),
            }
        })?;
        let mut pivots: Vec<f64> = zeros(n)?;
        let mut without = |matrix: SparseColMatRef<'_, usize, f64>, keep: bool| {
            let mut out = Lists { ptr: vec![0], idx: vec![], values: vec![] };
            for (col, pivot) in pivots.iter_mut().enumerate() {
                for (&row, &value) in matrix.row_idx_of_col_raw(col).iter().zip(matrix.val_of_col(col)) {
                    if row != col {
                        out.idx.push(row);
                        out.values.push(value);
                    } else if keep {
                        *pivot = value;
                    }
                }
                out.ptr.push(out.idx.len());
            }
            out
        };
        let lower = without(lu.l_factor_unsorted(), false).turned()?.turned()?;
        let by_col = without(lu.u_factor_unsorted(), true);
        for (at, pivot) in pivots.iter().enumerate() {
            if !pivot.is_finite() || by_col.of(at).any(|(_, value)| !value.is_finite()) {
                return Err(Broken::Infinite(rows[at]));
            }
            if *pivot == 0.0 {
                return Err(Broken::Singular(rows[at]));
            }
        }
        let upper = by_col.turned()?;
        let sign = sign(&of_col) * sign(positions);
        Ok(Self { lower, upper, pivots, of_col, of_row: positions.to_vec(), sign })
    }

    /// The inverse of `A` at the elements of the transposed factors (Erisman and Tinney 1975). For `Z = (L U)^-1`, from
    /// the last pivot `p` on: `z_pj = -sum_k u_pk z_kj / u_pp`, `z_kp = -sum_j z_kj l_jp`,
    /// `z_pp = 1 / u_pp - sum_k u_pk z_kp / u_pp`, over the elements of row `p` of `U` and column `p` of `L`.
    pub(super) fn inverse(&self) -> Inverse<'_> {
        let n = self.pivots.len();
        let mut out = Inverse {
            factors: self,
            diagonal: vec![0.0; n],
            right: vec![0.0; self.lower.idx.len()],
            below: vec![0.0; self.upper.idx.len()],
        };
        let mut work = vec![0.0; n];
        for p in (0..n).rev() {
            let (low, up) = (self.lower.ptr[p]..self.lower.ptr[p + 1], self.upper.ptr[p]..self.upper.ptr[p + 1]);
            let (rows, cols) = (&self.lower.idx[low.clone()], &self.upper.idx[up.clone()]);
            let (mut right, mut below) = (vec![0.0; rows.len()], vec![0.0; cols.len()]);
            let mut add = |k: usize, j: usize, z: f64| {
                right[j] -= self.upper.values[up.start + k] / self.pivots[p] * z;
                below[k] -= z * self.lower.values[low.start + j];
            };
            for (k, &row) in cols.iter().enumerate() {
                let own = self.lower.ptr[row]..self.lower.ptr[row + 1];
                own.for_each(|at| work[self.lower.idx[at]] = out.right[at]);
                for (j, &col) in rows.iter().enumerate().filter(|(_, col)| **col >= row) {
                    add(k, j, if col == row { out.diagonal[row] } else { work[col] });
                }
            }
            for (j, &col) in rows.iter().enumerate() {
                let own = self.upper.ptr[col]..self.upper.ptr[col + 1];
                own.for_each(|at| work[self.upper.idx[at]] = out.below[at]);
                for (k, &row) in cols.iter().enumerate().filter(|(_, row)| **row > col) {
                    add(k, j, work[row]);
                }
            }
            let sum: f64 = self.upper.of(p).zip(&below).map(|((_, value), z)| value * z).sum();
            out.diagonal[p] = (1.0 - sum) / self.pivots[p];
            out.right[low].copy_from_slice(&right);
            out.below[up].copy_from_slice(&below);
        }
        out
    }
}

/// See [`Explicit::inverse`].
pub(super) struct Inverse<'a> {
    factors: &'a Explicit,
    diagonal: Vec<f64>,
    /// Right of the diagonal, as the columns of `L`; and below it, as the rows of `U`.
    right: Vec<f64>,
    below: Vec<f64>,
}

impl Inverse<'_> {
    /// An element of the inverse of `A`, if it is known.
    pub(super) fn element(&self, row: usize, col: usize) -> Option<f64> {
        // The inverse of `A` is that of `A^T`, transposed.
        let (row, col) = (self.factors.of_row[col], self.factors.of_col[row]);
        let (lists, values, at, other) = match row.cmp(&col) {
            std::cmp::Ordering::Equal => return Some(self.diagonal[row]),
            std::cmp::Ordering::Less => (&self.factors.lower, &self.right, row, col),
            std::cmp::Ordering::Greater => (&self.factors.upper, &self.below, col, row),
        };
        let own = lists.ptr[at]..lists.ptr[at + 1];
        lists.idx[own.clone()].binary_search(&other).ok().map(|at| values[own.start + at])
    }
}

/// The first row of `A`, in the order of elimination, of which those before it leave nothing but rounding. (faer goes
/// on after a pivot of zero, until a later row has no place for one.) `None` also where numbers overflow. Cost: about
/// that of the factors.
fn dependent(rows: SparseColMatRef<'_, usize, f64>, order: &[usize]) -> Option<usize> {
    // Each row of `U` over its pivot, with the column of that; and which row has its pivot in a column.
    let mut upper: Vec<(usize, Vec<(usize, f64)>)> = vec![];
    let mut of_col = vec![usize::MAX; rows.nrows()];
    for &row in order {
        let own = rows.row_idx_of_col_raw(row).iter().copied().zip(rows.val_of_col(row).iter().copied());
        let mut work: BTreeMap<usize, f64> = own.collect();
        let mut size = work.values().fold(0.0f64, |most, value| most.max(value.abs()));
        let mut open: BTreeSet<usize> = work.keys().map(|&col| of_col[col]).filter(|&at| at < upper.len()).collect();
        while let Some(at) = open.pop_first() {
            let factor = work.remove(&upper[at].0).expect("it was found there");
            for &(col, value) in &upper[at].1 {
                *work.entry(col).or_default() -= factor * value;
                size = size.max((factor * value).abs());
                if of_col[col] < upper.len() {
                    open.insert(of_col[col]);
                }
            }
        }
        if work.values().any(|value| !value.is_finite()) {
            return None;
        }
        let most = work.iter().max_by(|one, two| one.1.abs().total_cmp(&two.1.abs()));
        let Some((&pivot_col, &pivot)) = most.filter(|(_, pivot)| pivot.abs() > 1e-14 * size) else {
            return Some(row);
        };
        work.remove(&pivot_col);
        of_col[pivot_col] = upper.len();
        upper.push((pivot_col, work.into_iter().map(|(col, value)| (col, value / pivot)).collect()));
    }
    None
}

/// The determinant of a permutation.
fn sign(order: &[usize]) -> f64 {
    let (mut seen, mut sign) = (vec![false; order.len()], 1.0);
    for start in 0..order.len() {
        let (mut at, mut length) = (start, 0);
        while !seen[at] {
            (seen[at], at, length) = (true, order[at], length + 1);
        }
        if length > 0 && length % 2 == 0 {
            sign = -sign;
        }
    }
    sign
}
