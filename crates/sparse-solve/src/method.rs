//! The methods by name.

use serde::{Deserialize, Serialize};

/// How a system is solved.
///
/// | method | for | products an iteration | vectors kept |
/// |---|---|---|---|
/// | `Cg` | symmetric positive definite | `A` | 4 |
/// | `Minres` | symmetric | `A` | 7 |
/// | `BiCgStab` | square | 2 `A` | 6 |
/// | `BiCg`, `Qmr` | square | `A`, `A^T` | 6, 8 |
/// | `Cgs`, `Tfqmr` | square | 2 `A` | 6 |
/// | `Gmres`, `Fgmres` | square | `A` | one (two) for each of `restart` directions |
/// | `Idr` | square | `A` | 3 for each of `shadows` |
/// | `Lsqr`, `Lsmr`, `Cgls` | any shape, least squares | `A`, `A^T` | 4 to 6 |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Method {
    /// Conjugate gradients (Hestenes and Stiefel 1952). Of a matrix that is not symmetric a solution may be found, but
    /// no gradient: that is an error if something is tracked.
    Cg,
    /// Minimal residuals (Paige and Saunders 1975). No gradient of a matrix that is not symmetric, as with `Cg`.
    Minres,
    /// Stabilised bi-conjugate gradients (van der Vorst 1992).
    BiCgStab,
    /// Bi-conjugate gradients (Fletcher 1976). `BiCgStab` is nearly always the better one.
    BiCg,
    /// Quasi-minimal residuals (Freund and Nachtigal 1991): `BiCg`, whose residuals jump, smoothed (Zhou and Walker
    /// 1994). `Tfqmr` needs no transposed product.
    Qmr,
    /// Conjugate gradients squared (Sonneveld 1989). `BiCgStab` is nearly always the better one.
    Cgs,
    /// Quasi-minimal residuals without the transpose (Freund 1993).
    Tfqmr,
    /// Generalised minimal residuals (Saad and Schultz 1986).
    Gmres {
        /// Directions before it starts anew.
        restart: usize,
    },
    /// The same with a preconditioner that may be another one in each iteration (Saad 1993).
    Fgmres {
        /// Directions before it starts anew.
        restart: usize,
    },
    /// Induced dimension reduction, IDR(s) (van Gijzen and Sonneveld 2011).
    Idr {
        /// The `s` of the name; 4 is usual.
        shadows: usize,
    },
    /// Least squares (Paige and Saunders 1982).
    Lsqr,
    /// Least squares whose `A^T r` falls in each iteration (Fong and Saunders 2011).
    Lsmr,
    /// Conjugate gradients on the normal equations; the preconditioner is one of `A^T A`.
    Cgls,
}

impl Method {
    pub(crate) fn is_least_squares(self) -> bool {
        matches!(self, Self::Lsqr | Self::Lsmr | Self::Cgls)
    }

    pub(crate) fn needs_transposed(self) -> bool {
        self.is_least_squares() || matches!(self, Self::BiCg | Self::Qmr)
    }

    /// Whether the matrix is taken as symmetric.
    pub(crate) fn is_symmetric(self) -> bool {
        matches!(self, Self::Cg | Self::Minres)
    }

    /// Whether `|b - A x|` falls in each iteration, so that the last point is the best one.
    pub(crate) fn is_monotone(self) -> bool {
        !matches!(self, Self::Cg) && !self.is_random()
    }

    /// Whether another try takes another way.
    pub(crate) fn is_random(self) -> bool {
        matches!(self, Self::BiCg | Self::Qmr | Self::BiCgStab | Self::Cgs | Self::Tfqmr | Self::Idr { .. })
    }
}
