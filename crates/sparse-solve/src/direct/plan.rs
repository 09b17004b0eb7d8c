//! The symbolic phase: what the pattern of one matrix says about its factors.

use super::host::{Turned, inverted, turn};
use super::qr::QrPlan;
use faer::Side;
use faer::perm::PermRef;
use faer::sparse::linalg::SupernodalThreshold;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, SymbolicCholesky, SymbolicCholeskyRaw, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::linalg::lu::{SymbolicLu, factorize_symbolic_lu};
use faer::sparse::{FaerError, SparseColMatRef, SymbolicSparseColMatRef};
use sparse_ops::{Result, SparseError};

/// The kinds of factors that share a symbolic phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Symmetric,
    Lu,
    Qr,
}

/// The pattern of a matrix by rows, and the symbolic phase.
#[derive(Debug)]
pub(super) struct Plan {
    pub rows: usize,
    pub cols: usize,
    pub ptr: Vec<usize>,
    pub idx: Vec<usize>,
    pub symbolic: Symbolic,
}

#[derive(Debug)]
pub(super) enum Symbolic {
    /// Of the transposed matrix, whose columns are the rows. The upper triangle of it is read.
    Symmetric {
        symbolic: SymbolicCholesky<usize>,
        /// The position of the element on the other side of the diagonal, or `usize::MAX`.
        mirror: Vec<usize>,
    },
    /// Of the transposed matrix, whose columns are the rows.
    Lu(SymbolicLu<usize>),
    Qr(QrPlan),
}

/// An order of a symmetric matrix that is known, and whether its factors have blocks.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub order: &'a [usize],
    pub blocks: bool,
}

impl Plan {
    /// Neither dim may be 0.
    pub(super) fn new(
        op: &'static str,
        family: Family,
        [rows, cols]: [usize; 2],
        ptr: Vec<usize>,
        idx: Vec<usize>,
        known: Option<Known<'_>>,
    ) -> Result<Self> {
        let columns = SymbolicSparseColMatRef::new_checked(cols, rows, &ptr, None, &idx);
        let symbolic = match family {
            Family::Symmetric => {
                let symbolic = symmetric(columns, known).map_err(|own| trouble(op, own))?;
                let turned = turn(cols, &ptr, &idx).map_err(|own| trouble(op, own))?;
                Symbolic::Symmetric { symbolic, mirror: mirror(&ptr, &idx, &turned) }
            }
            Family::Lu => {
                let symbolic = factorize_symbolic_lu(columns, Default::default()).map_err(|own| trouble(op, own))?;
                Symbolic::Lu(symbolic)
            }
            Family::Qr => Symbolic::Qr(QrPlan::new([rows, cols], &ptr, &idx).map_err(|own| trouble(op, own))?),
        };
        Ok(Self { rows, cols, ptr, idx, symbolic })
    }

    /// The transposed matrix by columns.
    pub(super) fn columns<'a>(&'a self, values: &'a [f64]) -> SparseColMatRef<'a, usize, f64> {
        let pattern = SymbolicSparseColMatRef::new_checked(self.cols, self.rows, &self.ptr, None, &self.idx);
        SparseColMatRef::new(pattern, values)
    }

    /// The row of each element.
    pub(super) fn row_ids(&self) -> impl Iterator<Item = usize> + '_ {
        self.ptr.windows(2).enumerate().flat_map(|(row, ends)| std::iter::repeat_n(row, ends[1] - ends[0]))
    }

    /// About how many numbers it keeps in memory.
    pub(super) fn held(&self) -> usize {
        let own = self.ptr.len() + self.idx.len();
        own + match &self.symbolic {
            Symbolic::Symmetric { symbolic, mirror } => {
                let rows = match symbolic.raw() {
                    SymbolicCholeskyRaw::Simplicial(raw) => raw.row_idx().len(),
                    SymbolicCholeskyRaw::Supernodal(raw) => raw.row_idx().len(),
                };
                mirror.len() + rows + 3 * self.rows
            }
            Symbolic::Lu(_) => 4 * self.rows,
            Symbolic::Qr(plan) => plan.held(),
        }
    }
}

fn symmetric(
    columns: SymbolicSparseColMatRef<'_, usize>,
    known: Option<Known<'_>>,
) -> Result<SymbolicCholesky<usize>, FaerError> {
    let Some(Known { order, blocks }) = known else {
        return factorize_symbolic_cholesky(columns, Side::Upper, SymmetricOrdering::Amd, Default::default());
    };
    let supernodal_flop_ratio_threshold = match blocks {
        true => SupernodalThreshold::FORCE_SUPERNODAL,
        false => SupernodalThreshold::FORCE_SIMPLICIAL,
    };
    let params = CholeskySymbolicParams { supernodal_flop_ratio_threshold, ..Default::default() };
    let inverse = inverted(order);
    let order = PermRef::new_checked(order, &inverse, order.len());
    factorize_symbolic_cholesky(columns, Side::Upper, SymmetricOrdering::Custom(order), params)
}

fn mirror(ptr: &[usize], idx: &[usize], [starts, rows, from]: &Turned) -> Vec<usize> {
    let mut out = vec![usize::MAX; idx.len()];
    for row in 0..ptr.len() - 1 {
        // Both lists ascend.
        let mut other = starts[row];
        for at in ptr[row]..ptr[row + 1] {
            while other < starts[row + 1] && rows[other] < idx[at] {
                other += 1;
            }
            if other < starts[row + 1] && rows[other] == idx[at] {
                out[at] = from[other];
            }
        }
    }
    out
}

pub(super) fn trouble(op: &'static str, own: FaerError) -> SparseError {
    let message = match own {
        FaerError::IndexOverflow => "the factors must have fewer elements than an index can count, got more",
        _ => "there must be memory for the factors, got too little",
    };
    SparseError::invalid(op, message)
}
