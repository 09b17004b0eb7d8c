//! The one list of keys that are known but not built yet.

pub const PENDING: &[&str] =
    &["matmul_reduce", "softmax", "softmax/fill", "log_softmax", "reduce", "index_select", "narrow"];
