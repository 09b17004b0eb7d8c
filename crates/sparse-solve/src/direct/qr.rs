//! Factors `Q R` of a matrix with no more columns than rows: of `A`, or of its transpose.

use super::host::{Turned, inverted, turn, zeros};
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::perm::PermRef;
use faer::sparse::linalg::cholesky::supernodal::SupernodalLltRef;
use faer::sparse::linalg::colamd;
use faer::sparse::linalg::qr::supernodal::{
    SupernodalQrRef, SymbolicSupernodalQr, factorize_supernodal_numeric_qr, factorize_supernodal_numeric_qr_scratch,
    factorize_supernodal_symbolic_qr, factorize_supernodal_symbolic_qr_scratch,
};
use faer::sparse::linalg::qr::{
    col_etree, col_etree_scratch, column_counts_aat_scratch, column_counts_ata, postorder, postorder_scratch,
};
use faer::sparse::{FaerError, SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, Mat, Par};

/// The symbolic phase of `M`, which is `A`, or `A^T` if `A` has more columns than rows.
#[derive(Debug)]
pub(super) struct QrPlan {
    /// Of `M`.
    rows: usize,
    cols: usize,
    pub wide: bool,
    symbolic: SymbolicSupernodalQr<usize>,
    order: Vec<usize>,
    inverse: Vec<usize>,
    /// The transpose of `A`.
    turned: Turned,
}

impl QrPlan {
    pub(super) fn new([rows, cols]: [usize; 2], ptr: &[usize], idx: &[usize]) -> Result<Self, FaerError> {
        let (turned, wide) = (turn(cols, ptr, idx)?, cols > rows);
        let [starts, turned_rows, _] = &turned;
        let by_row = SymbolicSparseColMatRef::new_checked(cols, rows, ptr, None, idx);
        let by_col = SymbolicSparseColMatRef::new_checked(rows, cols, starts, None, turned_rows);
        // The columns of `M`, and those of its transpose.
        let (own, other) = if wide { (by_row, by_col) } else { (by_col, by_row) };
        let (m, n) = (own.nrows(), own.ncols());
        let need = StackReq::any_of(&[
            colamd::order_scratch::<usize>(m, n, idx.len()),
            col_etree_scratch::<usize>(m, n),
            postorder_scratch::<usize>(n),
            column_counts_aat_scratch::<usize>(n, m),
            factorize_supernodal_symbolic_qr_scratch::<usize>(m, n),
        ]);
        let mut memory = MemBuffer::try_new(need).map_err(|_| FaerError::OutOfMemory)?;
        let stack = MemStack::new(&mut memory);
        let (mut order, mut inverse) = (zeros(n)?, zeros(n)?);
        colamd::order(&mut order, &mut inverse, own, Default::default(), stack)?;
        let perm = PermRef::new_checked(&order, &inverse, n);
        let (mut tree, mut post, mut counts, mut least) = (zeros(n)?, zeros(n)?, zeros(n)?, zeros(m)?);
        let tree = col_etree(own, Some(perm), &mut tree, stack);
        postorder(&mut post, tree, stack);
        column_counts_ata(&mut counts, &mut least, other, Some(perm), tree, &post, stack);
        let symbolic =
            factorize_supernodal_symbolic_qr(own, Some(perm), least, tree, &counts, stack, Default::default())?;
        debug_assert_eq!(inverse, inverted(&order));
        Ok(Self { rows: m, cols: n, wide, symbolic, order, inverse, turned })
    }

    pub(super) fn held(&self) -> usize {
        self.turned.iter().map(Vec::len).sum::<usize>() + self.symbolic.R_adjoint().row_idx().len() + 4 * self.rows
    }

    /// The factors for the values of `A`.
    pub(super) fn factor(
        &self,
        by_row: SparseColMatRef<'_, usize, f64>,
        values: &[f64],
        par: Par,
    ) -> Result<Qr, FaerError> {
        let [starts, rows, from] = &self.turned;
        let moved: Vec<f64>;
        let transposed = match self.wide {
            false => by_row,
            true => {
                moved = from.iter().map(|&at| values[at]).collect();
                let pattern = SymbolicSparseColMatRef::new_checked(self.cols, self.rows, starts, None, rows);
                SparseColMatRef::new(pattern, &moved)
            }
        };
        let householder = self.symbolic.householder();
        let indices = householder.len_householder_row_idx();
        let sizes = indices + householder.n_supernodes();
        let mut out = Qr {
            row_idx: vec![0; indices],
            blocks: [vec![0; sizes], vec![0; sizes], vec![0; sizes]],
            r: vec![0.0; self.symbolic.R_adjoint().len_val()],
            householder: vec![0.0; householder.len_householder_val()],
            tau: vec![0.0; householder.len_tau_val()],
        };
        let need = factorize_supernodal_numeric_qr_scratch::<usize, f64>(&self.symbolic, par, Default::default());
        let mut memory = MemBuffer::try_new(need).map_err(|_| FaerError::OutOfMemory)?;
        let [tau_sizes, heights, widths] = &mut out.blocks;
        factorize_supernodal_numeric_qr(
            &mut out.row_idx,
            tau_sizes,
            heights,
            widths,
            &mut out.r,
            &mut out.householder,
            &mut out.tau,
            transposed,
            Some(self.perm()),
            &self.symbolic,
            par,
            MemStack::new(&mut memory),
            Default::default(),
        );
        Ok(out)
    }

    fn perm(&self) -> PermRef<'_, usize> {
        PermRef::new_checked(&self.order, &self.inverse, self.cols)
    }

    /// The diagonal of `R` with the columns of `M`.
    pub(super) fn diagonal(&self, qr: &Qr) -> Vec<(usize, f64)> {
        let factor = SupernodalLltRef::new(self.symbolic.R_adjoint(), &qr.r);
        let blocks = (0..self.symbolic.R_adjoint().n_supernodes()).map(|at| factor.supernode(at));
        let own = blocks
            .flat_map(|block| (0..block.val().ncols()).map(move |at| (block.start() + at, block.val()[(at, at)])));
        own.map(|(at, value)| (self.order[at], value)).collect()
    }

    /// `M^+ b`: `R^-1 Q^T b`.
    pub(super) fn plus(&self, qr: &Qr, b: &Mat<f64>, par: Par) -> Mat<f64> {
        let [tau_sizes, heights, widths] = &qr.blocks;
        // SAFETY: the arrays are those that `factorize_supernodal_numeric_qr` filled with this symbolic phase.
        let factors = unsafe {
            SupernodalQrRef::new_unchecked(
                &self.symbolic,
                &qr.row_idx,
                tau_sizes,
                heights,
                widths,
                &qr.r,
                &qr.householder,
                &qr.tau,
            )
        };
        let mut x = b.clone();
        let mut memory = MemBuffer::new(self.symbolic.solve_in_place_scratch::<f64>(b.ncols(), par));
        factors.solve_in_place_with_conj(Conj::No, x.as_mut(), par, MemStack::new(&mut memory));
        Mat::from_fn(self.cols, b.ncols(), |row, col| x[(self.inverse[row], col)])
    }

    /// `(M^+)^T c`: `M R^-1 R^-T c`, with one step of refinement (Björck 1987: the corrected seminormal equations).
    pub(super) fn plus_transposed(&self, own: &Product<'_>, qr: &Qr, c: &Mat<f64>, par: Par) -> Mat<f64> {
        let y = own.apply(&self.normal(qr, c, par), self.wide);
        let rest = c - own.apply(&y, !self.wide);
        y + own.apply(&self.normal(qr, &rest, par), self.wide)
    }

    /// `(M^T M)^-1 c`.
    fn normal(&self, qr: &Qr, c: &Mat<f64>, par: Par) -> Mat<f64> {
        let mut x = Mat::from_fn(self.cols, c.ncols(), |row, col| c[(self.order[row], col)]);
        let need = self.symbolic.R_adjoint().solve_in_place_scratch::<f64>(c.ncols(), par);
        let factor = SupernodalLltRef::new(self.symbolic.R_adjoint(), &qr.r);
        factor.solve_in_place_with_conj(Conj::No, x.as_mut(), par, MemStack::new(&mut MemBuffer::new(need)));
        Mat::from_fn(self.cols, c.ncols(), |row, col| x[(self.inverse[row], col)])
    }
}

/// The arrays of faer's factors.
#[derive(Debug)]
pub(super) struct Qr {
    row_idx: Vec<usize>,
    blocks: [Vec<usize>; 3],
    r: Vec<f64>,
    householder: Vec<f64>,
    tau: Vec<f64>,
}

/// Products with a matrix of compressed rows.
pub(super) struct Product<'a> {
    pub cols: usize,
    pub ptr: &'a [usize],
    pub idx: &'a [usize],
    pub values: &'a [f64],
}

impl Product<'_> {
    /// `A x`, or `A^T x`.
    pub(super) fn apply(&self, x: &Mat<f64>, transposed: bool) -> Mat<f64> {
        let rows = self.ptr.len() - 1;
        let mut out = Mat::zeros(if transposed { self.cols } else { rows }, x.ncols());
        for col in 0..x.ncols() {
            for row in 0..rows {
                for at in self.ptr[row]..self.ptr[row + 1] {
                    let (to, from) = if transposed { (self.idx[at], row) } else { (row, self.idx[at]) };
                    out[(to, col)] += self.values[at] * x[(from, col)];
                }
            }
        }
        out
    }
}
