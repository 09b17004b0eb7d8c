//! Every kernel and validator, compared with plain loops over its definition.

mod attend;
mod bits;
mod check;
mod concat;
mod dense;
mod extremum;
mod graph;
mod incomplete;
mod merge;
mod multigrid;
mod sampled_extremum;
mod scatter;
mod softmax;
mod spgemm;
mod spmm_backward;
mod store;
mod structure;
mod sums;
mod triangular;
mod values;
