//! What a pattern keeps for factors: its rows on the host, and the symbolic phase.

use super::kind::Factorization;
use super::plan::{Family, Known, Plan, trouble};
use burn::tensor::{DType, Int, Tensor};
use faer::sparse::FaerError;
use sparse_ops::extend::{Derived, by_rows, kept_result, kernel, read_all};
use sparse_ops::pattern::{CsrPattern, Pattern};
use sparse_ops::{Result, SparseError, SparseTensor};
use std::sync::Arc;

/// The symbolic phase of a system, and its first element.
type Shared = (Option<Arc<Plan>>, usize);

/// Of a matrix, or of the matrices of a batch.
pub(super) struct Structure {
    /// Systems, and the rows and columns of each.
    pub sizes: [usize; 3],
    /// Of the matrix; of a batch that with the matrices as blocks on its diagonal.
    pub pattern: CsrPattern,
    /// The row and the column of each element of that.
    pub ends: [Tensor<1, Int>; 2],
    /// The symbolic phase and the first element of each system. Systems with one pattern share it. `None` without rows
    /// or columns.
    pub plans: Vec<Shared>,
}

/// What is known about the symbolic phase besides the pattern.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    Pattern,
    Order(Known<'a>),
    /// It must be that of the same elements on another pattern.
    Like(&'a Structure),
}

#[derive(Clone)]
struct Kept(Arc<Structure>);

impl Derived for Kept {
    fn held(&self) -> usize {
        let mut all = self.0.ends[0].dims()[0];
        let mut last: Option<&Arc<Plan>> = None;
        for plan in self.0.plans.iter().filter_map(|(plan, _)| plan.as_ref()) {
            if last.is_none_or(|last| !Arc::ptr_eq(last, plan)) {
                all += plan.held();
            }
            last = Some(plan);
        }
        all
    }
}

/// The key.
#[derive(PartialEq, Eq)]
struct Of(Family);

impl Factorization {
    /// What its factors share with those of others.
    pub(super) fn family(self) -> Family {
        match self {
            Self::Cholesky | Self::Ldlt => Family::Symmetric,
            Self::Lu => Family::Lu,
            Self::Qr => Family::Qr,
        }
    }
}

impl Structure {
    /// Kept with the pattern, which must be coalesced.
    ///
    /// # Errors
    ///
    /// `invalid` if the factors are too large, or if other elements are stored than in that which it must be like.
    pub(super) fn of<P: Pattern>(
        op: &'static str,
        pattern: &P,
        sizes: [usize; 3],
        family: Family,
        source: Source<'_>,
    ) -> Result<Arc<Self>> {
        let make = || Self::new(op, pattern, sizes, family, source).map(|own| Kept(Arc::new(own)));
        let own = kept_result(pattern, Of(family), make)?.0;
        match source {
            Source::Like(other) if !own.is_like(other) => Err(other_elements(op)),
            _ => Ok(own),
        }
    }

    pub(super) fn new<P: Pattern>(
        op: &'static str,
        pattern: &P,
        sizes: [usize; 3],
        family: Family,
        source: Source<'_>,
    ) -> Result<Self> {
        let [systems, rows, cols] = sizes;
        if matches!(source, Source::Like(other) if other.sizes != sizes) {
            return Err(other_elements(op));
        }
        let by_row = by_rows(pattern).expect("a matrix, or a batch of them");
        let list = |ids: &Tensor<1, Int>| read_all(ids.clone()).into_iter().map(|id| id as usize).collect::<Vec<_>>();
        let (ptr, idx) = (list(&by_row.ptr), list(&by_row.idx));
        let mut plans: Vec<Shared> = vec![];
        plans.try_reserve_exact(systems).map_err(|_| trouble(op, FaerError::OutOfMemory))?;
        for system in 0..systems {
            let ends = &ptr[system * rows..=(system + 1) * rows];
            if rows == 0 || cols == 0 {
                plans.push((None, ends[0]));
                continue;
            }
            let own: Vec<usize> = ends.iter().map(|end| end - ends[0]).collect();
            let columns = idx[ends[0]..ends[rows]].iter().map(|col| col - system * cols).collect::<Vec<_>>();
            let last = plans.last().and_then(|(plan, _)| plan.as_ref());
            let (known, order) = match source {
                Source::Pattern => (last, None),
                Source::Order(known) => (last, Some(known)),
                Source::Like(other) => (other.plans[system].0.as_ref(), None),
            };
            let plan = match known.filter(|known| known.ptr == own && known.idx == columns) {
                Some(plan) => plan.clone(),
                None if matches!(source, Source::Like(_)) => return Err(other_elements(op)),
                None => Arc::new(Plan::new(op, family, [rows, cols], own, columns, order)?),
            };
            plans.push((Some(plan), ends[0]));
        }
        let ends = [kernel::expand_ptr(by_row.ptr.clone(), idx.len()), by_row.idx.clone()];
        let pattern =
            CsrPattern::new_unchecked(by_row.ptr.clone(), by_row.idx.clone(), &[systems * rows, systems * cols]);
        Ok(Self { sizes, pattern, ends, plans })
    }

    /// Whether the same elements are stored.
    fn is_like(&self, other: &Self) -> bool {
        let same = |(one, two): (&Shared, &Shared)| match (&one.0, &two.0) {
            (Some(one), Some(two)) => Arc::ptr_eq(one, two) || (one.ptr == two.ptr && one.idx == two.idx),
            (one, two) => one.is_none() && two.is_none(),
        };
        self.sizes == other.sizes && self.plans.iter().zip(&other.plans).all(same)
    }

    /// The values of a system among all of them.
    pub(super) fn values(&self, system: usize) -> std::ops::Range<usize> {
        let end = self.plans.get(system + 1).map_or(self.ends[0].dims()[0], |(_, start)| *start);
        self.plans[system].1..end
    }
}

fn other_elements(op: &'static str) -> SparseError {
    SparseError::invalid(op, "the matrix must store the same elements, got others")
}

/// Systems, rows and columns of a matrix, or of a batch, that has factors of this kind.
///
/// # Errors
///
/// `shape_mismatch`, `unsupported_dtype`, `fill_mismatch`.
pub(super) fn sizes_of<P: Pattern, const D: usize>(
    op: &'static str,
    a: &SparseTensor<P, D>,
    how: Factorization,
) -> Result<[usize; 3]> {
    let dims = a.dims();
    let batched = D == 3 && by_rows(a.pattern()).is_some();
    if (D != 2 && !batched) || a.dense_dims() > 0 {
        let rule = "the matrix must be [M, N], or a batch [B, M, N], without dense dims";
        return Err(SparseError::shape_mismatch(op, rule, dims, [0, 0]));
    }
    let [rows, cols] = [dims[D - 2], dims[D - 1]];
    if rows != cols && how != Factorization::Qr {
        let rule = "the matrix must be square, or use Qr";
        return Err(SparseError::shape_mismatch(op, rule, dims, [cols; 2]));
    }
    if !matches!(a.dtype(), DType::F32 | DType::F64) {
        return Err(SparseError::unsupported_dtype(op, "a factorisation", format!("{:?}", a.dtype()).to_lowercase()));
    }
    match a.fill().is_zero() || a.fill().is_undefined() {
        true => Ok([if batched { dims[0] } else { 1 }, rows, cols]),
        false => Err(SparseError::wrong_fill(op, "zero or Undefined", a.fill(), "add the fill as another operator")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Factorization, Result, Source, Structure};
    use crate::{Boundary, laplacian};
    use burn::tensor::Device;
    use sparse_ops::CsrTensor;
    use std::sync::Arc;

    fn grid() -> CsrTensor<2> {
        laplacian(&[4, 3], Boundary::Dirichlet, &Device::flex()).unwrap()
    }

    fn of(a: &CsrTensor<2>, how: Factorization, source: Source<'_>) -> Result<Arc<Structure>> {
        Structure::of("test", a.pattern(), [1, 12, 12], how.family(), source)
    }

    /// Other values on a pattern find its symbolic phase, and so do both kinds of symmetric factors.
    #[test]
    fn kept_with_the_pattern() {
        let a = grid();
        let of = |a: &CsrTensor<2>, how| of(a, how, Source::Pattern).unwrap();
        let first = of(&a, Factorization::Cholesky);
        assert!(Arc::ptr_eq(&first, &of(&a.clone().mul_scalar(2.0), Factorization::Ldlt)));
        assert!(!Arc::ptr_eq(&first, &of(&a, Factorization::Lu)));
    }

    /// Matrices of a batch share it, where their patterns are equal.
    #[test]
    fn shared_in_a_batch() {
        let ones = burn::tensor::Tensor::<3>::ones([3, 2, 2], &Device::flex());
        let kept = burn::tensor::Tensor::from_floats(
            [[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]],
            &Device::flex(),
        );
        let a = CsrTensor::<3>::from_dense(ones * kept);
        let family = Factorization::Lu.family();
        let structure = Structure::of("test", a.pattern(), [3, 2, 2], family, Source::Pattern).unwrap();
        let plan = |at: usize| structure.plans[at].0.as_ref().unwrap();
        assert!(Arc::ptr_eq(plan(0), plan(1)) && !Arc::ptr_eq(plan(1), plan(2)));
    }
}
