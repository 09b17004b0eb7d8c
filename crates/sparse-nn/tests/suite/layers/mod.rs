//! Layers against PyTorch Geometric and PyTorch, and their errors.

mod aggregations;
mod attention;
mod case;
mod clusters;
mod convolutions;
mod errors;
mod hetero;
mod in_two_lines;
mod knowledge;
mod links;
mod messages;
mod pools;
mod readouts;
mod temporal;
mod typed;
