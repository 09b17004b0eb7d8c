//! Makes a graph ready for training: edges and features of CSV or Parquet files become dense ids, without duplicates,
//! sorted, cut into parts, in arrays that are mapped and not loaded.
//!
//! [`prepare`] does what the binary does. The work is a few plans ([`plan`]) that DataFusion runs: what memory does not
//! hold goes to the disk. What is written is described in [`sparse_shards`].

#![forbid(unsafe_code)]

#[cfg(feature = "ballista")]
mod cluster;
mod columns;
mod engine;
mod error;
mod generate;
mod input;
mod labels;
mod memory;
mod options;
pub mod plan;
mod prepare;
mod progress;
mod stages;
mod state;

pub use error::{PrepareError, Result};
pub use generate::generate;
pub use options::{
    By, Duplicates, FeatureTable, Files, Format, IdType, LEAST_MEMORY, MOST_PARTS, Missing, Options, SelfLoops, Stage,
    When, bytes,
};
pub use prepare::prepare;
pub use progress::{Progress, Silent};
