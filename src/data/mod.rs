//! Graphs to learn on: one that is built in, folders of plain text, and generated ones.

mod folder;
mod graph;
mod karate;
mod sbm;

pub use folder::read_folder;
pub use graph::{Graph, Splits};
pub use karate::karate;
pub use sbm::stochastic_block_model;
