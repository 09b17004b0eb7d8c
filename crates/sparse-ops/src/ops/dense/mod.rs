//! Operations on dense tensors.

pub(crate) mod activation;
pub(crate) mod add_scaled;
pub(crate) mod gather;
pub(crate) mod linear;
pub(crate) mod log_softmax;
pub(crate) mod matmul_linear;
pub(crate) mod plan;
pub(crate) mod put_along_axis;
pub(crate) mod unique;
