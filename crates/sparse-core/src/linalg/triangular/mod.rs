//! Systems with a triangle of a sparse matrix.

mod levels;
mod solve;
mod triangle;

pub use levels::{Levels, TrianglePlan};
pub use solve::solve_triangular;
pub use triangle::Triangle;

/// For types that are known at run time.
pub(super) mod dynamic {
    pub use super::levels::dynamic::*;
    pub use super::solve::dynamic::*;
}
