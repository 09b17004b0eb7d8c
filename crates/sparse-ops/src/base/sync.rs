//! What threads share derived data by. `tests/loom` has this module in another form, which tries all orders in which
//! threads can take turns.

pub(crate) use std::sync::atomic::{AtomicU32, Ordering};
pub(crate) use std::sync::{Mutex, MutexGuard, OnceLock};
