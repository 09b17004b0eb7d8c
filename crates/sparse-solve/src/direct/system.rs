//! The numeric phase: the factors of one matrix.

use super::host::{columns, zeros};
use super::kind::Factorization;
use super::plan::{Plan, Symbolic, trouble};
use super::qr::{Product, Qr, QrPlan};
use super::unsymmetric::{Broken, Explicit};
use crate::report::of_system;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::ldlt::factor::LdltError;
use faer::linalg::cholesky::llt::factor::LltError;
use faer::sparse::linalg::LuError;
use faer::sparse::linalg::cholesky::{LdltRef, LltRef, SymbolicCholesky, SymbolicCholeskyRaw};
use faer::sparse::linalg::lu::{LuRef, NumericLu};
use faer::{Conj, Mat, Par, Side};
use sparse_ops::{Result, SparseError};
use std::sync::{Arc, OnceLock};

/// The factors of one matrix, and its values.
pub(super) struct System {
    pub plan: Arc<Plan>,
    pub values: Vec<f64>,
    pub numeric: Numeric,
    /// Of `Lu`, for what needs them element by element; made when it is first asked for.
    explicit: OnceLock<Explicit>,
}

impl std::fmt::Debug for System {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("System").field("rows", &self.plan.rows).field("cols", &self.plan.cols).finish_non_exhaustive()
    }
}

pub(super) enum Numeric {
    Llt(Vec<f64>),
    Ldlt(Vec<f64>),
    Lu(NumericLu<usize, f64>),
    Qr(Qr),
}

/// The names in an error: the operation, and which system it is about.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub op: &'static str,
    pub system: Option<usize>,
}

impl Place {
    /// `what`, and of which system.
    fn told(self, what: impl std::fmt::Display) -> SparseError {
        SparseError::invalid(self.op, format!("{what}{}", of_system(self.system)))
    }

    fn invalid(self, what: &str, row: usize) -> SparseError {
        self.told(format_args!("{what} in row {row}"))
    }

    fn broken(self, own: Broken) -> SparseError {
        match own {
            Broken::Singular(row) => self.invalid(SINGULAR, row),
            Broken::Infinite(row) => self.invalid(INFINITE, row),
            Broken::Memory(own) => trouble(self.op, own),
        }
    }
}

impl System {
    /// # Errors
    ///
    /// `invalid` that names the row that is wrong.
    pub(super) fn new(place: Place, plan: Arc<Plan>, how: Factorization, values: Vec<f64>, par: Par) -> Result<Self> {
        check(place, &plan, how, &values)?;
        let numeric = match (&plan.symbolic, how) {
            (Symbolic::Symmetric { symbolic, .. }, _) => symmetric(place, &plan, symbolic, how, &values, par)?,
            (Symbolic::Lu(symbolic), _) => {
                let mut numeric = NumericLu::new();
                let need = symbolic.factorize_numeric_lu_scratch::<f64>(par, Default::default());
                let mut memory = memory(place, need)?;
                let stack = MemStack::new(&mut memory);
                let columns = plan.columns(&values);
                match symbolic.factorize_numeric_lu(&mut numeric, columns, par, stack, Default::default()) {
                    Ok(_) => {}
                    Err(LuError::Generic(own)) => return Err(trouble(place.op, own)),
                    Err(LuError::SymbolicSingular { index }) => {
                        // Of a block of columns faer tells how many depend on others, and not which.
                        let broken = Explicit::new(columns, symbolic.col_perm()).err();
                        let row = symbolic.col_perm().arrays().0[index];
                        return Err(place.broken(broken.unwrap_or(Broken::Singular(row))));
                    }
                }
                Numeric::Lu(numeric)
            }
            (Symbolic::Qr(own), _) => {
                let qr = own.factor(plan.columns(&values), &values, par).map_err(|own| trouble(place.op, own))?;
                full_rank(place, own, &qr, &plan, &values)?;
                Numeric::Qr(qr)
            }
        };
        let out = Self { plan, values, numeric, explicit: OnceLock::new() };
        if matches!(out.numeric, Numeric::Lu(_)) {
            out.check_pivots(place)?;
        }
        Ok(out)
    }

    /// With the values of factors that were kept.
    pub(super) fn of_parts(plan: Arc<Plan>, values: Vec<f64>, numeric: Numeric) -> Self {
        Self { plan, values, numeric, explicit: OnceLock::new() }
    }

    /// A pivot that is zero, or a number beside it that is infinite, makes the solution of a test system infinite or
    /// NaN. A pivot that is infinite makes a number of it 0, which leaves a residual.
    fn check_pivots(&self, place: Place) -> Result<()> {
        // Differences of such numbers are not 0 by chance.
        let b = Mat::from_fn(self.plan.rows, 1, |row, _| 1.0 + (row as f64 * 0.618_033_988_749_895).fract());
        let x = self.once(&b, false, Par::Seq);
        let good = |row: usize| {
            let (mut rest, mut size) = (-b[(row, 0)], b[(row, 0)]);
            for at in self.plan.ptr[row]..self.plan.ptr[row + 1] {
                let term = self.values[at] * x[(self.plan.idx[at], 0)];
                (rest, size) = (rest + term, size + term.abs());
            }
            rest.is_finite() && rest.abs() <= 1e-3 * size
        };
        if (0..self.plan.rows).all(good) {
            return Ok(());
        }
        self.explicit(place)?;
        // Pivots that are small or grow are no error.
        match (0..self.plan.cols).all(|row| x[(row, 0)].is_finite()) {
            true => Ok(()),
            false => Err(place.told(INFINITE)),
        }
    }

    /// The factors of `Lu` element by element, which faer makes once more: its own it does not let out.
    ///
    /// # Errors
    ///
    /// `invalid` that names the row of the first pivot that is zero, or of numbers that are not finite.
    pub(super) fn explicit(&self, place: Place) -> Result<&Explicit> {
        let Symbolic::Lu(symbolic) = &self.plan.symbolic else { unreachable!("of Lu only") };
        if let Some(own) = self.explicit.get() {
            return Ok(own);
        }
        let made = Explicit::new(self.plan.columns(&self.values), symbolic.col_perm());
        let made = made.map_err(|own| place.broken(own))?;
        Ok(self.explicit.get_or_init(|| made))
    }

    /// The solution, or of the transposed matrix; of `Qr` that of least squares. `steps` of refinement follow.
    pub(super) fn solve(&self, b: &Mat<f64>, transposed: bool, steps: usize, par: Par) -> Mat<f64> {
        let mut x = self.once(b, transposed, par);
        for _ in 0..steps {
            let rest = b - self.product().apply(&x, transposed);
            x += self.once(&rest, transposed, par);
        }
        x
    }

    /// The same of some rows of several systems' right-hand sides.
    pub(super) fn solve_rows(&self, b: &[f64], width: usize, at: [usize; 2], steps: usize, par: Par) -> Mat<f64> {
        let [system, transposed] = at;
        let rows = if transposed == 1 { self.plan.cols } else { self.plan.rows };
        self.solve(&columns(b, width, system * rows..(system + 1) * rows), transposed == 1, steps, par)
    }

    pub(super) fn product(&self) -> Product<'_> {
        let Plan { cols, ptr, idx, .. } = &*self.plan;
        Product { cols: *cols, ptr, idx, values: &self.values }
    }

    fn once(&self, b: &Mat<f64>, transposed: bool, par: Par) -> Mat<f64> {
        // With one column faer adds a partial sum for each thread.
        let par = if b.ncols() == 1 { Par::Seq } else { par };
        let width = b.ncols();
        match (&self.plan.symbolic, &self.numeric) {
            (Symbolic::Symmetric { symbolic, .. }, numeric) => {
                let mut x = b.clone();
                let mut memory = MemBuffer::new(symbolic.solve_in_place_scratch::<f64>(width, par));
                let stack = MemStack::new(&mut memory);
                match numeric {
                    Numeric::Llt(own) => {
                        LltRef::new(symbolic, own).solve_in_place_with_conj(Conj::No, x.as_mut(), par, stack);
                    }
                    Numeric::Ldlt(own) => {
                        LdltRef::new(symbolic, own).solve_in_place_with_conj(Conj::No, x.as_mut(), par, stack);
                    }
                    _ => unreachable!("of symmetric matrices"),
                }
                x
            }
            (Symbolic::Lu(symbolic), Numeric::Lu(numeric)) => {
                let mut x = b.clone();
                let factors = LuRef::new_unchecked(symbolic, numeric);
                let mut memory = MemBuffer::new(symbolic.solve_in_place_scratch::<f64>(width, par));
                let stack = MemStack::new(&mut memory);
                // The factors are those of the transposed matrix.
                match transposed {
                    true => factors.solve_in_place_with_conj(Conj::No, x.as_mut(), par, stack),
                    false => factors.solve_transpose_in_place_with_conj(Conj::No, x.as_mut(), par, stack),
                }
                x
            }
            (Symbolic::Qr(plan), Numeric::Qr(qr)) => match transposed == plan.wide {
                true => plan.plus(qr, b, par),
                false => plan.plus_transposed(&self.product(), qr, b, par),
            },
            _ => unreachable!("one family"),
        }
    }
}

const INFINITE: &str = "the numbers of the factors must be finite, got others";
const SINGULAR: &str = "the matrix must have full rank, got a row that depends on others";

fn memory(place: Place, need: faer::dyn_stack::StackReq) -> Result<MemBuffer> {
    let none = "there must be memory for the factors, got too little";
    MemBuffer::try_new(need).map_err(|_| SparseError::invalid(place.op, none))
}

/// Numbers are finite, and of a symmetric matrix equal on both sides of the diagonal but for rounding.
pub(super) fn check(place: Place, plan: &Plan, how: Factorization, values: &[f64]) -> Result<()> {
    let largest =
        |row: usize| values[plan.ptr[row]..plan.ptr[row + 1]].iter().fold(0.0f64, |most, value| most.max(value.abs()));
    let most: Vec<f64> = (0..plan.rows).map(largest).collect();
    for row in 0..plan.rows {
        let own = plan.ptr[row]..plan.ptr[row + 1];
        if values[own.clone()].iter().any(|value| !value.is_finite()) {
            return Err(place.invalid("the numbers must be finite, got others", row));
        }
        let Symbolic::Symmetric { mirror, .. } = &plan.symbolic else { continue };
        for at in own {
            let other = if mirror[at] == usize::MAX { 0.0 } else { values[mirror[at]] };
            if (values[at] - other).abs() > 1e-6 * most[row].sqrt() * most[plan.idx[at]].sqrt() {
                let what = format!(
                    "{how:?} needs a symmetric matrix, got {:e} and {other:e} on the sides of the diagonal, column {}",
                    values[at], plan.idx[at]
                );
                return Err(place.invalid(&what, row));
            }
        }
    }
    Ok(())
}

fn symmetric(
    place: Place,
    plan: &Plan,
    symbolic: &SymbolicCholesky<usize>,
    how: Factorization,
    values: &[f64],
    par: Par,
) -> Result<Numeric> {
    let positive = how == Factorization::Cholesky;
    let need = match positive {
        true => symbolic.factorize_numeric_llt_scratch::<f64>(par, Default::default()),
        false => symbolic.factorize_numeric_ldlt_scratch::<f64>(par, Default::default()),
    };
    let mut out = zeros(symbolic.len_val()).map_err(|own| trouble(place.op, own))?;
    let mut memory = memory(place, need)?;
    let (stack, a) = (MemStack::new(&mut memory), plan.columns(values));
    let side = Side::Upper;
    if positive {
        let done =
            symbolic.factorize_numeric_llt(&mut out, a, side, Default::default(), par, stack, Default::default());
        let Err(LltError::NonPositivePivot { index }) = done else { return Ok(Numeric::Llt(out)) };
        let what = "Cholesky needs a positive definite matrix, got a pivot that is not positive (Lu takes any)";
        return Err(place.invalid(what, row_of(symbolic, index)));
    }
    let done = symbolic.factorize_numeric_ldlt(&mut out, a, side, Default::default(), par, stack, Default::default());
    let Err(LdltError::ZeroPivot { index }) = done else { return Ok(Numeric::Ldlt(out)) };
    let what = "Ldlt needs finite pivots that are not zero, got one of zero or not finite (Lu takes any)";
    Err(place.invalid(what, row_of(symbolic, index)))
}

/// The row of a pivot. faer counts it from 1 where it has no blocks.
fn row_of(symbolic: &SymbolicCholesky<usize>, index: usize) -> usize {
    let index = match symbolic.raw() {
        SymbolicCholeskyRaw::Simplicial(_) => index - 1,
        SymbolicCholeskyRaw::Supernodal(_) => index,
    };
    symbolic.perm().map_or(index, |order| order.arrays().0[index])
}

fn full_rank(place: Place, own: &QrPlan, qr: &Qr, plan: &Plan, values: &[f64]) -> Result<()> {
    // A pivot is a share of its own column (of a wide matrix, whose transpose is factored, of its row).
    let mut squares = vec![0.0f64; if own.wide { plan.rows } else { plan.cols }];
    let size = values.iter().fold(0.0f64, |most, value| most.max(value.abs())).max(f64::MIN_POSITIVE);
    for row in 0..plan.rows {
        for at in plan.ptr[row]..plan.ptr[row + 1] {
            squares[if own.wide { row } else { plan.idx[at] }] += (values[at] / size).powi(2);
        }
    }
    let share = f64::EPSILON * plan.rows.max(plan.cols) as f64 * size;
    let least = |at: usize| share * squares[at].sqrt();
    let dependent = |&(at, value): &(usize, f64)| value.is_nan() || value.abs() <= least(at);
    let Some((at, _)) = own.diagonal(qr).into_iter().find(dependent) else {
        return Ok(());
    };
    if own.wide {
        return Err(place.invalid(SINGULAR, at));
    }
    Err(place.told(format_args!("the matrix must have full rank, got a column that depends on others: column {at}")))
}
