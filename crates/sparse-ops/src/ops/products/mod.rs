//! Products: sparse x dense, sparse x sparse, sampled dense x dense, attention; systems that products solve.

pub(crate) mod addmm;
pub(crate) mod attention;
pub(crate) mod kron;
pub(crate) mod masked_matmul;
pub(crate) mod matmul;
pub(crate) mod matmul_reduce;
pub(crate) mod matmul_then;
pub(crate) mod operand;
pub(crate) mod semiring;
pub(crate) mod spgemm;
pub(crate) mod spgemm_masked;
pub(crate) mod spmm;
