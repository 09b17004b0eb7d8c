//! The matrices, right-hand sides and results of SciPy's own tests of `sparse.linalg`, as facts. Each case names the
//! test it is from. Random matrices are written out, or others with the same properties; complex ones are left out.
//! What SciPy tells by `info`, by a warning or by NaN is an error here, or with `accept_unsolved` a report.

mod breakdowns;
mod direct;
mod functions;
mod iterative;
mod least_squares;
mod matrices;
mod norms;
mod pencils;
mod singular;
mod spectra;
mod tolerances;
