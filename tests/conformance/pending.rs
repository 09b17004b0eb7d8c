//! The one list of keys that are known but not built yet.

pub const PENDING: &[&str] = &[];
