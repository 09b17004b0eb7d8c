//! The one list of keys that are known but not built yet.

pub const PENDING: &[&str] = &[
    "matmul/sparse",
    "matmul_reduce",
    "softmax",
    "softmax/fill",
    "log_softmax",
    "unary",
    "reduce",
    "index_select",
    "narrow",
];
