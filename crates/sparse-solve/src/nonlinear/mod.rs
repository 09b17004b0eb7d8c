//! Non-linear equations, with implicit gradients.

mod anderson;
mod coloring;
mod equation;
mod fixed_point;
mod implicit;
mod jacobian;
mod newton;
mod report;

pub use coloring::{color_columns, color_rows};
pub use fixed_point::FixedPointConfig;
pub use jacobian::{Jacobian, sparse_jacobian, try_sparse_jacobian};
pub use newton::NewtonConfig;
pub use report::{NonlinearReport, Root};
