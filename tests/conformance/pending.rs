//! The one list of keys that are known but not built yet.

pub const PENDING: &[&str] = &[
    "concat",
    "concat/hybrid",
    "divide",
    "add",
    "sub",
    "mul",
    "put_along_axis",
    "gather",
    "scatter",
    "gather_nd",
    "scatter_nd",
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
