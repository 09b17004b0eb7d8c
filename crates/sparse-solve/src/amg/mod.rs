//! Algebraic multigrid by smoothed aggregation.

mod coarsen;
mod config;
mod cycle;
mod hierarchy;
mod host;
mod matrix;
mod relax;
mod setup;

pub use config::{AmgConfig, Cycle, Smoother};
pub use cycle::Amg;
