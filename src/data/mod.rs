//! Graphs to learn on: one that is built in, folders of files, and generated ones.

mod folder;
mod graph;
mod karate;
mod ogb;
mod pickle;
mod planetoid;
mod sbm;

pub use folder::read_folder;
pub use graph::{Graph, Splits};
pub use karate::karate;
pub use ogb::{OgbGraph, OgbOptions, read_ogb, read_ogb_with};
pub use planetoid::read_planetoid;
pub use sbm::stochastic_block_model;
