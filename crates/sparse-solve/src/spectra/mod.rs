//! Eigenvalues and singular values.
//!
//! Vectors stay on the device; only matrices as small as the basis are read. An iteration ends with true residuals, and
//! gradients are those of the implicit function.

mod adjoint;
mod arnoldi;
mod bidiagonal;
mod block;
mod dense;
mod eigs;
mod eigs_gradient;
mod eigsh;
mod inner;
mod judge;
mod lanczos;
mod lobpcg;
mod low_rank;
mod pencil;
mod plain;
mod report;
mod shifted;
mod small;
mod space;
mod svds;
mod task;

pub use eigs::{ComplexPairs, EigsConfig, eigs, try_eigs};
pub use eigsh::{Eigenpairs, EigshConfig, EigshMethod, eigsh, try_eigsh};
pub use low_rank::{LowRankConfig, pca_lowrank, svd_lowrank, try_pca_lowrank, try_svd_lowrank};
pub use report::{SpectrumHints, SpectrumReport, Which};
pub use svds::{SingularTriplets, SvdsConfig, svds, try_svds};
