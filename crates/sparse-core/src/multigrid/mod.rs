//! The parts of an algebraic multigrid method: diagonals, strong connections, relaxation, prolongation, the coarsest
//! matrix.
//!
//! A matrix is square, in compressed rows, with values of f32 or f64. Sums are taken in f64, over the same blocks of
//! rows for any number of threads.

mod coarse;
mod relax;
mod spectrum;
mod strength;
mod tentative;

pub use coarse::pseudo_inverse;
pub use relax::{Diagonal, Wrong, diagonal, relaxed};
pub use spectrum::{extremes_of_tridiagonal, spectral_radius};
pub use strength::{Strength, filtered_pattern, filtered_values, strength};
pub use tentative::{Tentative, tentative};

use crate::Float;
use core::ops::Range;

/// A value as f64.
fn wide<T: Float>(value: T) -> f64 {
    T::wide(value.widen())
}

/// The nearest value.
fn nearest<T: Float>(number: f64) -> T {
    T::narrow(T::nearest(number))
}

/// Runs `$body` with the values as a slice of f32 or f64.
macro_rules! with_reals {
    ($elements:expr, $values:ident => $body:expr) => {
        match $elements {
            $crate::dynamic::Elements::F32($values) => $body,
            $crate::dynamic::Elements::F64($values) => $body,
            other => panic!("multigrid takes values of f32 or f64, got {other:?}"),
        }
    };
}
pub(crate) use with_reals;

/// Blocks of rows. They do not depend on the number of threads, so sums over a block do not either.
pub(crate) fn blocks(rows: usize) -> Vec<Range<usize>> {
    const ROWS: usize = 1 << 13;
    (0..rows.div_ceil(ROWS)).map(|block| block * ROWS..((block + 1) * ROWS).min(rows)).collect()
}
