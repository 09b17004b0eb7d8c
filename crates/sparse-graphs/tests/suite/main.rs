//! Graphs of files, samplers, graphs larger than memory, graphs in parts, algorithms and measures.
#![allow(deprecated)] // NdArray is, and is tested all the same.

mod algorithms;
mod cases;
mod data;
#[cfg(feature = "dataset")]
mod data_loader;
mod delta_stepping;
mod diffusion;
mod embeddings;
mod explain;
mod generators;
mod hetero;
mod k_paths;
mod labelled;
mod last_neighbors;
mod link_loader;
mod links;
mod mapped;
mod measures;
mod partition;
mod paths;
mod ranking;
mod raw_graphs;
mod readers;
mod sampling;
mod sets;
mod spread;
mod subgraphs;
mod torch_files;
mod typed_sampling;
